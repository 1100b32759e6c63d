"""Thousands of bandits in one service, and its start after a crash: `python -m benchmarks.many WHAT ARGUMENTS`.

CPU time is measured where it can be, since it depends less on what else the machine does than the time on the clock. Memory
is measured in a process of its own.
"""

import gc
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

import rotting
from benchmarks import processes
from benchmarks.drift import resident
from benchmarks.durable import NO_STORE, project_folder
from benchmarks.measure import Finding, Size
from benchmarks.service import cpu_time

_ARMS = [f"arm-{k:02d}" for k in range(20)]
_NO_SERVICE = "rotting[service] is not installed"
_BATCH = 50  # bandits or events in one transaction


# --- In a new process -------------------------------------------------------------------------------------------------


def hosted(folder: str, count: int) -> dict[str, float]:
    """Return milliseconds of CPU time to create, first use and load one of `count` bandits, and the bytes of an idle one."""
    from rotting.store.host import Host  # noqa: PLC0415 - needs an extra

    host = Host(Path(folder, "many.rot"), durability="os")

    def write() -> None:
        batch = host.take()
        host.write(batch)
        host.finish(batch)

    def timed(work: Callable[[str], object], names: list[str]) -> float:
        began = time.process_time()
        for k, name in enumerate(names):
            work(name)
            if k % _BATCH == 0:
                write()
        write()
        return (time.process_time() - began) * 1e3 / len(names)

    def create(name: str) -> None:
        host.adopt(host.make(name, rotting.EffRAWUCB(), json.loads(json.dumps(_ARMS))))

    def decide(name: str) -> None:
        host.loaded[name].bandit.decide()
        host.collect(host.loaded[name])

    names = [f"bandit-{k:05d}" for k in range(count)]
    for work in (create, decide, host.load):  # compiles, and leaves little memory to reuse
        timed(work, ["first"])
    gc.collect()
    before = resident()
    found = {"create": timed(create, names), "first decision": timed(decide, names)}
    gc.collect()
    found["bytes"] = (resident() - before) / count
    found["load"] = timed(host.load, names)
    host.close()
    return found


def write_log(path: str, bandits: int, decisions: int) -> None:
    """Write a log of decisions with rewards as a service does, and kill this process."""
    from rotting.live.saved_state import StateParts  # noqa: PLC0415 - needs an extra
    from rotting.store.host import Host  # noqa: PLC0415

    host = Host(path, durability="os")
    all_bandits = [host.adopt(host.make(f"bandit-{k:05d}", rotting.EffRAWUCB(), _ARMS)) for k in range(bandits)]
    made = 0
    for each in cycle(all_bandits):
        for _ in range(_BATCH):
            decision = each.bandit.decide()
            each.bandit.reward(decision.id, float(decision.round % 3 == 0))
        made += _BATCH
        host.collect(each)
        batch = host.take()
        host.write(batch)
        for due in host.finish(batch):
            host.save_snapshot(due, due.last_number, StateParts.of(due.state))
            due.is_saving = False
        if made >= decisions:
            break
    os.kill(os.getpid(), signal.SIGKILL)


# --- In the benchmark -------------------------------------------------------------------------------------------------


class _Server:
    """A service in another process, as soon as it is ready."""

    def __init__(self, path: Path) -> None:
        began = time.perf_counter()
        command = [sys.executable, "-m", "rotting", "serve", str(path), "--port", "0", "--durability", "os"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)  # noqa: S603 - written here
        self._client = http.client.HTTPConnection("127.0.0.1", processes.port(self.process))
        self("GET", "/readyz")
        self.seconds = time.perf_counter() - began
        """From the start of the process until it is ready."""

    def __call__(self, method: str, path: str, body: object = None) -> bytes:
        """Send a request; return the body of the response."""
        text, headers = (None, {}) if body is None else (json.dumps(body), {"Content-Type": "application/json"})
        self._client.request(method, path, text, headers)
        response = self._client.getresponse()
        content = response.read()
        if response.status >= 300:
            raise RuntimeError(content.decode())
        return content

    @property
    def cpu(self) -> float:
        """Seconds of CPU time so far."""
        return cpu_time(self.process.pid)

    @property
    def peak(self) -> float:
        """The most memory so far, in megabytes."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text("ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1e3

    def kill(self) -> None:
        """End the process as a crash does."""
        self.process.kill()
        self.process.wait()


@contextmanager
def _serving(path: Path) -> Iterator[_Server]:
    server = _Server(path)
    try:
        yield server
    finally:
        server.kill()


def _skipped(reason: str, *goals: tuple[str, float, str]) -> list[Finding]:
    return [Finding(what, None, "at most", limit, None, unit, reason) for what, limit, unit in goals]


def _missing_service() -> str:
    try:
        import rotting.service.server  # noqa: F401, PLC0415 - an extra
    except ImportError:
        return _NO_SERVICE
    return NO_STORE


def measure(size: Size) -> list[Finding]:
    """Measure what one of many bandits costs."""
    count = 50 if size.repeats == 1 else 10_000
    what = f"one of {count:,} bandits, K = 20"
    goals = {
        "create": (f"{what}: CPU time to create it", 2.0, "ms"),
        "first decision": (f"{what}: CPU time of its first decision", 2.0, "ms"),
        "load": (f"{what}: CPU time to load it", 2.0, "ms"),
        "bytes": (f"{what}: memory when idle", 20.0, "kB"),
        "http create": (f"{what}: CPU time of the server to create it over HTTP", 2.0, "ms"),
        "http first": (f"{what}: CPU time of the server for its first decision over HTTP", 2.0, "ms"),
        "metrics ms": (f"{count:,} bandits: time of /metrics", 20.0, "ms"),
        "metrics kB": (f"{count:,} bandits: size of /metrics", 200.0, "kB"),
    }
    missing = _missing_service()
    if missing:
        return _skipped(missing, *goals.values())
    with project_folder() as folder:
        found = processes.run("benchmarks.many", "hosted", folder, count)
        found["bytes"] /= 1e3
        with _serving(folder / "served.rot") as server:
            found |= _over_http(server, count)
    return [Finding(text, found[name], "at most", limit, None, unit) for name, (text, limit, unit) in goals.items()]


def _over_http(server: _Server, count: int) -> dict[str, float]:
    body, times = {"policy": "eff-raw-ucb", "arms": _ARMS}, {}
    server("PUT", "/v1/bandits/first", body)  # compiles
    server("POST", "/v1/bandits/first/decisions", {})
    for name, method, path, sent in (("http create", "PUT", "", body), ("http first", "POST", "/decisions", {})):
        before = server.cpu
        for k in range(count):
            server(method, f"/v1/bandits/bandit-{k:05d}{path}", sent)
        times[name] = (server.cpu - before) * 1e3 / count
    spent = []
    for _ in range(5):
        began = time.perf_counter()
        text = server("GET", "/metrics")
        spent.append((time.perf_counter() - began) * 1e3)
    return {**times, "metrics ms": min(spent), "metrics kB": len(text) / 1e3}


def restart(size: Size) -> list[Finding]:
    """Measure the start of a service after kill -9."""
    decisions = size.live_rounds
    logs = {1: f"{decisions:,} decisions of one bandit", 100: f"{decisions:,} decisions of 100 bandits"}
    texts = [(f"{log}: {what} after kill -9", log, what) for log in logs.values() for what in ("ready", "one bandit loaded")]
    missing = _missing_service()
    if missing:
        return _skipped(missing, *((text, 1.5, "s") for text, _, _ in texts))
    found: dict[str, Finding] = {}
    with project_folder() as folder:
        for bandits, log in logs.items():
            path = folder / f"{bandits}.rot"
            # Most of the events come after the last snapshot.
            processes.run("benchmarks.many", "write_log", path, bandits, decisions + 9_000)
            for _ in range(max(2, size.repeats)):
                with _serving(path) as server:
                    began, cpu = time.perf_counter(), server.cpu
                    server("GET", "/v1/bandits/bandit-00000")
                    first = server.seconds + time.perf_counter() - began
                    for what, value, spent in (("ready", server.seconds, cpu), ("one bandit loaded", first, server.cpu)):
                        detail = f"CPU time {spent:.3g} s, peak memory {server.peak:.0f} MB"
                        each = Finding(f"{log}: {what} after kill -9", value, "at most", 1.5, None, "s", detail)
                        best = found.setdefault(each.what, each)
                        if value < (best.value or 0.0):
                            found[each.what] = each
    return [found[text] for text, _, _ in texts]


if __name__ == "__main__":
    processes.answer(hosted, write_log)
