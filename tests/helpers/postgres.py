"""A PostgreSQL server for tests, from the programs that are installed: nothing of it is simulated."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.helpers.missing_tools import skip_or_fail
from tests.helpers.ports import free_port

FAST = "fsync=off synchronous_commit=on full_page_writes=off shared_buffers=32MB max_connections=200"


def programs() -> Path:
    """Return the folder of PostgreSQL's programs; skip the test if there is none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if found:
        return found[-1].parent
    on_path = shutil.which("postgres")
    if on_path is None:
        skip_or_fail("PostgreSQL is not installed")
    return Path(on_path).resolve().parent


class Postgres:
    """A server with its data in a folder.

    Args:
        folder: an empty folder, which belongs to an unprivileged user afterwards.
        settings: more settings, such as `fsync=on`.
    """

    def __init__(self, folder: Path, settings: str = FAST) -> None:
        self.folder, self.port = folder, free_port()
        self._settings = settings
        self._programs = programs()
        self._user = _unprivileged(folder)

    @property
    def url(self) -> str:
        return f"postgresql://rotting@127.0.0.1:{self.port}/postgres"

    def run(self, program: str, *arguments: str) -> None:
        """Run one of PostgreSQL's programs as an unprivileged user."""
        command = [str(self._programs / program), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, user=self._user, cwd=self.folder)
        assert done.returncode == 0, done.stdout + done.stderr

    def create(self) -> None:
        """Create the files of a new database."""
        self.run("initdb", "-D", str(self.folder / "data"), "-A", "trust", "-U", "rotting", "--no-sync", "-E", "UTF8")

    def start(self) -> None:
        """Start the server and wait until it answers."""
        settings = " ".join(f"-c {each}" for each in self._settings.split())
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 {settings}"
        log = str(self.folder / "log")
        self.run("pg_ctl", "-D", str(self.folder / "data"), "-o", options, "-l", log, "-w", "-t", "60", "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop the server: "immediate" is how a crash ends it."""
        self.run("pg_ctl", "-D", str(self.folder / "data"), "-m", mode, "-w", "stop")

    def replicated(self, folder: Path) -> "Postgres":
        """Copy a running server into an empty folder, and start the copy as its standby."""
        standby = Postgres(folder, self._settings)
        source = ["-h", "127.0.0.1", "-p", str(self.port), "-U", "rotting", "-X", "stream", "--checkpoint=fast", "--no-sync"]
        standby.run("pg_basebackup", "-D", str(folder / "data"), "-R", *source)
        standby.start()
        return standby

    def promote(self) -> None:
        """Make a standby a primary."""
        self.run("pg_ctl", "-D", str(self.folder / "data"), "-w", "-t", "60", "promote")

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the server and all its processes, as if its machine had stopped or died."""
        main = int((self.folder / "data" / "postmaster.pid").read_text().splitlines()[0])
        children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
        for process in (main, *map(int, children)):
            with suppress(ProcessLookupError):
                os.kill(process, number)


def _unprivileged(folder: Path) -> int | None:
    """Give a folder to a user who may run PostgreSQL, which refuses to run as root; return the user, or None for this one."""
    if os.getuid() != 0:
        return None
    user = pwd.getpwnam("nobody").pw_uid
    os.chown(folder, user, -1)
    return user


@contextmanager
def shared_folder() -> Iterator[Path]:
    """Return a temporary folder that other users may enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory(prefix="rotting-pg-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@contextmanager
def postgres(settings: str = FAST) -> Iterator[Postgres]:
    """Run a server for some tests."""
    with shared_folder() as shared:
        folder = shared / "server"
        folder.mkdir()
        server = Postgres(folder, settings)
        server.create()
        server.start()
        try:
            yield server
        finally:
            server.stop()
            time.sleep(0.1)  # its last files
