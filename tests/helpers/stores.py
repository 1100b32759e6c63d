"""Places of each kind that keep stores, for tests of what every store must do."""

import fcntl
import shutil
import subprocess
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw

from rotting.store import open_files
from rotting.store.protocol import DURABILITIES, Durability, Snapshot, Store
from rotting.store.sqlite import SQLiteStore
from rotting.store.verify import verify
from tests.helpers.memory_store import Medium, MemoryStore


class Place(ABC):
    """A place that keeps a store from one opening to the next."""

    @abstractmethod
    def open(self, readonly: bool = False) -> Store:
        """Open the store that is there."""

    @abstractmethod
    def lose_lock(self) -> None:
        """Release the lock of the writer, as may happen on a network drive: another writer can then open the store."""

    @abstractmethod
    def crashed(self, folder: Path) -> "Place":
        """Return a copy of the place as it would be if the writer died now; files are copied into `folder`."""


class InMemory(Place):
    def __init__(self) -> None:
        self.medium = Medium()

    def open(self, readonly: bool = False) -> Store:
        return MemoryStore(self.medium, readonly)

    def lose_lock(self) -> None:
        self.medium.written = False

    def crashed(self, folder: Path) -> Place:
        left = InMemory()
        left.medium = replace(self.medium, written=False, log=list(self.medium.log), lock=threading.RLock())
        return left


class InFile(Place):
    def __init__(self, path: Path, durability: Durability) -> None:
        self.path, self.durability = path, durability

    def open(self, readonly: bool = False) -> Store:
        return SQLiteStore(self.path, readonly, self.durability)

    def lose_lock(self) -> None:
        lose_lock(self.path)

    def crashed(self, folder: Path) -> Place:
        for path in self.path.parent.glob(f"{self.path.name}*"):
            if path.name in {self.path.name, f"{self.path.name}-wal"}:  # the others mean nothing without their process
                shutil.copy(path, folder)
        return InFile(folder / self.path.name, self.durability)


def lose_lock(path: Path) -> None:
    """Release the locks of the writer in this process, as may happen on a network drive."""
    path.with_name(f"{path.name}-lock").unlink()
    found = path.stat()
    shared = open_files._descriptors[found.st_dev, found.st_ino]
    fcntl.flock(shared.handles[0], fcntl.LOCK_UN)
    shared.is_locked = False


KINDS: tuple[str, ...] = ("memory", *(f"sqlite-{durability}" for durability in DURABILITIES))


def place(kind: str, folder: Path) -> Place:
    """Return a new place of a kind."""
    if kind == "memory":
        return InMemory()
    return InFile(folder / "songs.rot", next(each for each in DURABILITIES if kind.endswith(f"-{each}")))


def numbered_events(first: int, last: int) -> list[tuple[str, dict[str, Any]]]:
    """Return events whose payloads hold their numbers."""
    return [("songs", {"n": number}) for number in range(first, last + 1)]


def read_numbers(store: Store, after: int = 0) -> list[Any]:
    """Return the numbers in the payloads of a store's events, and check that the events are in order."""
    events = list(store.read(after=after))
    assert [event.number for event in events] == list(range(after + 1, after + len(events) + 1))
    return [event.payload["n"] for event in events]


def newest_snapshot(store: Store, bandit: str) -> Snapshot | None:
    """Return the newest intact snapshot of a bandit; None if there is none."""
    return next(store.snapshots(bandit), None)


def sql(path: Path, *statements: str) -> list[Any]:
    """Run SQL statements on the file, as another program would; return the rows."""
    connection = apsw.Connection(str(path))
    rows = [row for statement in statements for row in connection.execute(statement)]
    connection.close()
    return rows


@contextmanager
def view_held_open(path: Path) -> Iterator[None]:
    """Hold a read transaction open, as a program does that reads for a long time."""
    reader = apsw.Connection(str(path))
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM events").fetchall()
    try:
        yield
    finally:
        reader.close()


def run(code: str, *arguments: object, **options: Any) -> str:
    """Return what a program prints; fail unless its exit code is 0."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


_OPEN_WITHOUT_PRIVILEGES = """
import os, sys
from rotting.errors import StoreError
from rotting.store.sqlite import SQLiteStore
if os.geteuid() == 0:  # root may write everywhere, so it becomes `nobody`
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    with SQLiteStore(sys.argv[1], readonly=len(sys.argv) > 2) as store:
        print(store.last)
except StoreError as error:
    print(type(error).__name__, error)
"""


def open_without_privileges(path: Path, readonly: bool = False) -> str:
    """Open a store in a process that may not write everywhere; return the number of its last event, or the error."""
    return run(_OPEN_WITHOUT_PRIVILEGES, path, *(["readonly"] if readonly else []))


@contextmanager
def appending(path: Path, durability: str = "disk") -> Iterator["subprocess.Popen[str]"]:
    """Run a process that appends; kill it when the context ends."""
    command = [sys.executable, "-m", "tests.helpers.appender", str(path), durability]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as process:
        try:
            yield process
        finally:
            process.kill()


def checked(path: Path) -> int:
    """Fail unless the store is intact; return the number of its events."""
    with SQLiteStore(path, readonly=True) as store:
        found = verify(store, replay=True)
    assert found.problems == ()
    return found.events
