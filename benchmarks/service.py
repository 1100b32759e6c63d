"""Decisions over HTTP: how many a second, how long they take, and what each of them costs."""

import http.client
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rotting
from benchmarks import ROOT, processes
from benchmarks.measure import Finding, Size

_CONNECTIONS = 64
_BATCH = 32  # decisions in one transaction: about half of the connections wait for the other half
_BANDIT = {"policy": "eff-raw-ucb", "params": {"sigma": 0.5}, "arms": [f"song-{k}" for k in range(10)]}
_EXTRA = "rotting[service] is not installed"
_RATE = f"durable decisions a second, {_CONNECTIONS} connections"
_LATENCY = f"99 % of durable decisions, {_CONNECTIONS} connections"
_COST = "CPU time of the server for a decision and its reward"
_CLIENTS = {
    name: f"CPU time of {name} for a decision and its reward, {_CONNECTIONS} calls at once"
    for name in ("Client", "AsyncClient")
}
_KEYS = "durable decisions a second with idempotency keys, over those without"


def measure(size: Size) -> list[Finding]:
    """Start the service on the disk of the project, and load it."""
    try:
        import rotting.service.server  # noqa: F401, PLC0415 - an extra
    except ImportError:
        return [
            Finding(_RATE, None, "at least", 8_000, 15_000, "/s", _EXTRA),
            Finding(_LATENCY, None, "at most", 20, None, "ms", _EXTRA),
            Finding(_COST, None, "at most", 140, None, "us", _EXTRA),
            Finding(_KEYS, None, "at least", 0.8, None, "x", _EXTRA),
            *(Finding(what, None, "at most", 150, None, "us", _EXTRA) for what in _CLIENTS.values()),
        ]
    build = ROOT / "build"  # on the disk of the project: a temporary folder may be in memory
    build.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=build) as folder:
        path = Path(folder, "songs.rot")
        command = [sys.executable, "-m", "rotting", "serve", str(path), "--port", "0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:  # noqa: S603 - written here
            try:
                port = processes.port(server)
                seconds, turns = (0.5, 1) if size.repeats == 1 else (2.5, 2 * size.repeats)
                found = _loaded(server.pid, port, seconds, turns)
                clients = _clients(port, 3 if size.repeats == 1 else 60, size.repeats)
            finally:
                server.send_signal(signal.SIGTERM)
        shares = _shares(Path(folder), 20 if size.repeats == 1 else 500)
    best, with_keys = (max(each, key=lambda load: float(load["rate"])) for each in found)
    # The rates of the turns drift by a fifth on a shared machine, so each turn with keys is compared with the turn before it.
    ratios = [keys["rate"] / plain["rate"] for plain, keys in zip(*found, strict=True)]
    pairs = (
        f"median of {len(ratios)} pairs of turns, {min(ratios):.3g} to {max(ratios):.3g}; {with_keys['rate']:,.0f} /s with keys"
    )
    cost = best["server_us"]
    told = ", ".join(f"{name} {us:.3g} us" for name, us in shares.items())
    rest = max(0.0, cost - sum(shares.values()))
    light = f"best of {len(found[0])}; the clients took {best['cpu_us']:.3g} us of CPU time for each"
    return [
        Finding(_RATE, best["rate"], "at least", 8_000, 15_000, "/s", light),
        Finding(_LATENCY, best["p99_ms"], "at most", 20, None, "ms", f"median {best['median_ms']:.3g} ms"),
        Finding(_COST, cost, "at most", 140, None, "us", f"{told}, HTTP and all else {rest:.3g} us"),
        Finding(_KEYS, statistics.median(ratios), "at least", 0.8, None, "x", pairs),
        *(Finding(_CLIENTS[kind], min(each), "at most", 150, None, "us", _spread(each)) for kind, each in clients.items()),
    ]


def _spread(values: list[float]) -> str:
    return f"best of {len(values)}; the worst {max(values):.3g} us"


def cpu_time(process: int) -> float:
    """Return the seconds of CPU time that a process has taken."""
    fields = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _clients(port: int, rounds: int, repeats: int) -> dict[str, list[float]]:
    """Return the CPU time of the clients of the library in each repeat, in microseconds."""
    found = [processes.run("benchmarks.client_load", port, "songs", _CONNECTIONS, rounds) for _ in range(repeats)]
    return {kind: [each[kind] for each in found] for kind in _CLIENTS}


def _loaded(server: int, port: int, seconds: float, turns: int) -> tuple[list[dict[str, float]], ...]:
    """Return what the clients saw in each turn, without and with idempotency keys; `server` is a process id."""
    client = http.client.HTTPConnection("127.0.0.1", port)

    def call(method: str, path: str, body: object) -> Any:
        client.request(method, f"/v1/bandits/songs{path}", json.dumps(body), {"Content-Type": "application/json"})
        return json.loads(client.getresponse().read())

    call("PUT", "", _BANDIT)
    for k in range(100):  # so that every arm has more rewards than decisions under way
        made = call("POST", "/decisions", {"count": 10})["decisions"]
        call("POST", "/rewards", [{"id": each["id"], "reward": (k + at) % 2} for at, each in enumerate(made)])
    client.close()
    processes.run("benchmarks.load", port, "songs", _CONNECTIONS, seconds)  # a new store is faster for a few seconds
    found: tuple[list[dict[str, float]], ...] = ([], [])
    for turn in range(2 * turns):
        before = cpu_time(server)
        load = processes.run("benchmarks.load", port, "songs", _CONNECTIONS, seconds, *(["keys"] if turn % 2 else []))
        if load["failed"]:
            raise RuntimeError(f"{load['failed']} requests failed")
        spent = (cpu_time(server) - before) / load["decisions"] * 1e6
        found[turn % 2].append({**load, "rate": load["decisions"] / load["seconds"], "server_us": spent})
    return found


def _shares(folder: Path, repeats: int) -> dict[str, float]:
    """Return the CPU time of the parts of a decision and its reward, in microseconds, each measured by itself."""
    from rotting.service import messages  # noqa: PLC0415 - an extra
    from rotting.service.decision_handlers import encode_decisions  # noqa: PLC0415
    from rotting.service.routes import decoders  # noqa: PLC0415
    from rotting.store.host import Host  # noqa: PLC0415
    from rotting.store.hosted import Batch  # noqa: PLC0415

    bandit = rotting.Bandit(rotting.EffRAWUCB(sigma=0.5), arms=_BANDIT["arms"])

    def decide() -> None:
        for _ in range(_BATCH):
            decision = bandit.decide()
            bandit.reward(decision.id, decision.round % 2)

    decision, decode = bandit.decide(), decoders()["reward"].decode
    bandit.reward(decision.id, 1.0)
    rewards = json.dumps([{"id": decision.id, "reward": 1}] * _BATCH).encode()

    def speak() -> None:
        for _ in range(_BATCH):
            encode_decisions([decision])
        messages.encode(messages.ResultsResponse([messages.DecisionOutcome(each.id, "applied") for each in decode(rewards)]))

    host = Host(folder / "shares.rot")
    hosted = host.adopt(host.make("songs", rotting.EffRAWUCB(sigma=0.5), _BANDIT["arms"]))
    for _ in range(_BATCH):
        hosted.bandit.reward(hosted.bandit.decide().id, 1.0)
    host.collect(hosted)
    events = host.take()
    host.write(events)
    batch = Batch(1, events=events.events)
    try:
        parts: dict[str, Callable[[], object]] = {"policy": decide, "JSON": speak, "commit": lambda: host.write(batch)}
        return {name: _thread_time(call, repeats) for name, call in parts.items()}
    finally:
        host.close()


def _thread_time(call: Callable[[], object], repeats: int) -> float:
    call()
    began = time.thread_time()
    for _ in range(repeats):
        call()
    return (time.thread_time() - began) / repeats / _BATCH * 1e6
