"""Decisions over HTTP: how many a second, and how long they take."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import rotting
from benchmarks import ROOT, load
from benchmarks.measure import Size, figure
from docs.page_tables import table

CONNECTIONS = 64


def measured(size: Size) -> str:
    """Start `rotting serve` on the disk of the project, load it from this machine, and return the table."""
    build = ROOT / "build"
    build.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=build) as folder:
        command = [sys.executable, "-m", "rotting", "serve", str(Path(folder, "songs.rot")), "--port", "0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:  # noqa: S603 - written here
            try:
                found = [_loaded(server, size.seconds, keys) for keys in (False, True)]
            finally:
                server.send_signal(signal.SIGTERM)
    rows = [
        [what, figure(each.decisions / each.seconds), f"{each.median_ms:.3g}", f"{each.p99_ms:.3g}"]
        for what, each in zip(("durable decisions", "the same with idempotency keys"), found, strict=True)
    ]
    return table(["requests", "a second", "median, ms", "99 %, ms"], rows, "lrrr")


def _loaded(server: "subprocess.Popen[str]", seconds: float, keys: bool) -> load.Load:
    """Load a bandit of its own, in a process of its own."""
    name = "keys" if keys else "plain"
    with rotting.Client(f"http://127.0.0.1:{_port(server)}") as client:
        client.create(name, rotting.EffRAWUCB(sigma=0.5), arms=[f"song-{k}" for k in range(10)])
        bandit = client.bandit(name)
        for k in range(100):  # so that every arm has more rewards than decisions under way
            bandit.reward_many([(each.id, float((k + at) % 2)) for at, each in enumerate(bandit.decide(count=10))])
        command = [sys.executable, "-m", "benchmarks.load", str(_port(server)), name, str(CONNECTIONS), str(seconds)]
        done = subprocess.run(  # noqa: S603 - written here
            [*command, *(["keys"] if keys else [])], cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, check=True
        )
    found = load.Load(**json.loads(done.stdout))
    if found.failed:
        raise RuntimeError(f"{found.failed} requests failed")
    return found


_PORTS: dict[int, int] = {}


def _port(server: "subprocess.Popen[str]") -> int:
    """Return the port of the service, as soon as it is ready."""
    if server.pid not in _PORTS:
        assert server.stderr is not None
        line = next(line for line in server.stderr if line.startswith("serving"))
        _PORTS[server.pid] = int(line.partition("http://127.0.0.1:")[2].partition(",")[0])
    return _PORTS[server.pid]
