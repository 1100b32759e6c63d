"""Services in processes of their own that are stopped, killed and deprived of their files, under load from other processes."""

import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.helpers.chaos_audit import Call, acknowledged, read_journal

ROOT = Path(__file__).parents[2]
WORKERS = 4
PATIENCE = 60.0  # seconds that a test waits for anything; on a busy machine everything takes long


def wait_for(condition: Callable[[], bool], what: str, seconds: float = PATIENCE) -> None:
    """Wait until a condition holds; fail after some seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}"
        time.sleep(0.02)


class ServiceProcess:
    """A running `rotting serve`, which is killed when the context ends.

    Args:
        path: the store.
        port: where it listens.
        arguments: more arguments of `rotting serve`.
        disk: the settings of a slow disk, see `chaos_serve`; None: the disk as it is.
        locks: whether the process can lock files.
        compiled: whether policies are compiled; interpreted ones start quickly.
    """

    def __init__(
        self, path: Path, port: int, *arguments: str, disk: Path | None = None, locks: bool = True, compiled: bool = False
    ) -> None:
        self.port = port
        environment = {name: value for name, value in os.environ.items() if name != "NUMBA_DISABLE_JIT"}
        environment |= {} if compiled else {"NUMBA_DISABLE_JIT": "1"}
        environment |= {} if disk is None else {"CHAOS_DISK": str(disk)}
        environment |= {} if locks else {"CHAOS_NO_LOCKS": "1"}
        module = "rotting" if disk is None and locks else "tests.helpers.chaos_serve"
        command = [sys.executable, "-m", module, "serve", str(path), "--port", str(port), *arguments]
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self.process = subprocess.Popen(command, stderr=self._output, stdout=self._output, cwd=ROOT, env=environment)

    def __enter__(self) -> "ServiceProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._output.close()

    @property
    def output(self) -> str:
        """All that the service has printed so far."""
        return os.pread(self._output.fileno(), 1 << 24, 0).decode(errors="replace")

    @property
    def has_saved(self) -> bool:
        """Whether the service has printed that everything is saved."""
        return any(line.startswith("saved ") for line in self.output.splitlines())

    @property
    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def call(self, method: str, path: str, body: Any = None, timeout: float = PATIENCE) -> tuple[int, Any]:
        """Return the status and the JSON of a response; 0 and None if there is none."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            headers = {} if body is None else {"Content-Type": "application/json"}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError):
            return 0, None
        finally:
            connection.close()

    def is_ready(self) -> bool:
        return self.call("GET", "/readyz", timeout=10.0)[0] == 200

    def wait_until_ready(self) -> "ServiceProcess":
        deadline = time.monotonic() + PATIENCE
        while not self.is_ready():
            assert not self.has_ended, f"the service did not start: {self.output}"
            assert time.monotonic() < deadline, f"the service did not become ready: {self.output}"
            time.sleep(0.02)
        return self

    @property
    def peak_memory(self) -> int:
        """The most memory that the process has had at any time, in bytes (the peak of its resident set)."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1_024

    def kill(self) -> None:
        """Kill the process, if it runs, and wait until it is gone."""
        self.process.kill()
        self.process.wait()

    def terminate(self) -> None:
        """Ask the process to end."""
        self.process.send_signal(signal.SIGTERM)

    def wait(self) -> int:
        """Return the exit code once the process has ended."""
        return self.process.wait(PATIENCE)

    def stop(self) -> None:
        """Terminate the process and wait for it; fail unless its exit code is 0."""
        self.terminate()
        code = self.wait()
        assert code == 0, f"exit code {code}: {self.output}"


class Load:
    """Client processes that call a service at random, until they are killed."""

    def __init__(self, port: int, folder: Path, bandits: list[str], seed: int, name: str = "w") -> None:
        folder.mkdir(exist_ok=True)
        self._journals = [folder / f"{name}{number}.jsonl" for number in range(WORKERS)]
        self._processes = []
        for number, journal in enumerate(self._journals):
            arguments = [str(port), str(journal), str(seed * WORKERS + number), f"{name}{number}", *bandits]
            command = [sys.executable, "-m", "tests.helpers.chaos_load", *arguments]
            self._processes.append(subprocess.Popen(command, cwd=ROOT))

    def __enter__(self) -> "Load":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Kill the clients. Their journals hold the calls that were acknowledged."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Suspend the clients, so that they send nothing inside this context."""
        for process in self._processes:
            process.send_signal(signal.SIGSTOP)
        time.sleep(0.3)  # until their requests are done
        try:
            yield
        finally:
            for process in self._processes:
                process.send_signal(signal.SIGCONT)

    @property
    def calls(self) -> list[Call]:
        """All lines of the journals, each journal in its order."""
        return [call for journal in self._journals for call in read_journal(journal)]

    @property
    def size(self) -> int:
        """Bytes of all journals: a cheap measure of progress."""
        return sum(journal.stat().st_size for journal in self._journals if journal.exists())

    def wait_for_calls(self, count: int) -> None:
        """Wait until about `count` more calls are recorded."""
        goal = self.size + 150 * count  # bytes of a line, on average
        wait_for(lambda: self.size >= goal, f"{count} more calls")
        assert all(process.poll() is None for process in self._processes), "a client ended by itself"

    def wait_for_acknowledged(self, count: int) -> None:
        """Wait until `count` calls in all are acknowledged; fail if there is an unexpected response."""

        def is_reached() -> bool:
            calls = self.calls
            unexpected = [call for call in calls if call["call"] == "unexpected"]
            assert not unexpected, unexpected[0]
            return len(acknowledged(calls)) >= count

        wait_for(is_reached, f"{count} acknowledged calls")

    def acknowledged_after(self, moment: float) -> list[Call]:
        """Return the calls that were acknowledged after a moment of `time.monotonic`."""
        return [call for call in acknowledged(self.calls) if call["time"] > moment]


def set_disk(settings: Path, longest: float, once: float | None = None) -> None:
    """Let each sync take up to `longest` seconds, and the next one `once` seconds more."""
    content = {"longest": longest} if once is None else {"longest": longest, "once": once}
    partial = settings.with_suffix(".new")
    partial.write_text(json.dumps(content))
    partial.replace(settings)


def repeat_keys(service: ServiceProcess, calls: list[Call], most: int = 50) -> None:
    """Fail unless the newest idempotency keys still give the decisions that were acknowledged."""
    keyed = [call for call in calls if call["call"] == "decide" and call["key"] is not None]
    for call in sorted(keyed, key=lambda each: each["time"])[-most:]:
        body = {"idempotency_key": call["key"], "count": len(call["decisions"])}
        status, response = service.call("POST", f"/v1/bandits/{call['bandit']}/decisions", body)
        assert status == 200, response
        assert [[each["id"], each["arm"], each["round"]] for each in response["decisions"]] == call["decisions"]
