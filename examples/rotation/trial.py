"""Try the advertising server: four workers on one store, creatives that come and go, late and lost clicks, and kills.

    python -m examples.rotation.trial [impressions]

Time is compressed: an "hour" is two seconds, and a click may take one and a half. At the end, what the store says is compared
to the last digit: the history, the metrics and the uplift of `rotting serve`, the bandit itself, and a recount of its exported
log.
"""

import csv
import http.client
import io
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import rotting
from examples.rotation.app import FIRST_ARMS

WORKERS, CLIENTS, KILLS = 4, 8, 3
WINDOW, HOUR = 1.5, 2.0  # seconds


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def call(port: int, method: str, path: str) -> Any:
    """Make a request; return the body of the response."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(method, path)
        response = connection.getresponse()
        text = response.read()
        if response.status >= 400:
            raise OSError(f"{path}: {response.status} {text[:200]!r}")
        return json.loads(text) if "json" in response.headers["content-type"] else text.decode()
    finally:
        connection.close()


class Fleet:
    """The workers, each a process on a port of its own."""

    def __init__(self, store: str) -> None:
        self.environment = {**os.environ, "ROTATION_STORE": store, "ROTATION_WINDOW": f"{WINDOW}s"}
        self.ports = [free_port() for _ in range(WORKERS)]
        self.processes = [self._start(port) for port in self.ports]
        for port in self.ports:
            wait_for(port, "/rotate?old=none&new=c00", "POST")

    def _start(self, port: int) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "uvicorn", "--port", str(port), "--log-level", "error", "examples.rotation.app:app"]
        return subprocess.Popen(command, env=self.environment)

    def kill(self, k: int) -> None:
        """Kill a worker in the middle of what it does, and start it again."""
        self.processes[k].send_signal(signal.SIGKILL)
        self.processes[k].wait()
        self.processes[k] = self._start(self.ports[k])

    def stop(self) -> None:
        """Stop all workers."""
        for each in self.processes:
            each.terminate()
        for each in self.processes:
            each.wait(20)


def wait_for(port: int, path: str, method: str = "GET") -> Any:
    """Repeat a request until it succeeds, for at most a minute."""
    until = time.monotonic() + 60
    while True:
        try:
            return call(port, method, path)
        except (OSError, http.client.HTTPException):
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def visit(fleet: Fleet, impressions: int, seed: int, log: list[tuple[str, str]]) -> None:
    """Show creatives to users, who click late, or never; a click that fails is sent again to another worker."""
    rng, late = random.Random(seed), list[tuple[float, str]]()

    def send(due: float) -> None:
        while late and late[0][0] <= due:
            _, key = late.pop(0)
            for port in rng.sample(fleet.ports, WORKERS):
                with suppress(OSError, http.client.HTTPException):
                    log.append((key, call(port, "POST", f"/click/{key}")["outcome"]))
                    break

    for _ in range(impressions):
        time.sleep(0.05)
        with suppress(OSError, http.client.HTTPException):  # a worker was killed: the page shows something else
            made = call(rng.choice(fleet.ports), "GET", f"/show?user={rng.randrange(2_000)}")
            creative = int(made["creative"][1:])
            is_clicked, is_lost = rng.random() < 0.1 + 0.4 * (creative % 5 == 0), rng.random() < 0.1
            if is_clicked and not is_lost:
                late.append((time.monotonic() + rng.uniform(0.0, 1.3 * WINDOW), made["id"]))  # some come too late
                late.sort()
        send(time.monotonic())
    send(time.monotonic() + 2 * WINDOW)


@contextmanager
def service(store: str) -> Iterator[int]:
    """Serve the store, for its history, metrics and uplift."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "rotting", "serve", store, "--port", str(port)], stderr=subprocess.DEVNULL
    )
    try:
        wait_for(port, "/readyz")
        yield port
    finally:
        process.terminate()
        process.wait(20)


def recount(store: str) -> dict[str, Any]:
    """Count the exported log."""
    text = subprocess.run(
        [sys.executable, "-m", "rotting", "log", store, "--to", "csv"], check=True, capture_output=True, text=True
    ).stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    settled = [row for row in rows if row["state"] == "settled"]
    sides = {held: [float(row["reward"]) for row in settled if (row["rule"] == "holdout") == held] for held in (False, True)}
    rewards = [float(row["reward"]) for row in settled]
    return {
        "decisions": len(rows), "rewards": len(rewards), "mean": sum(rewards) / len(rewards),
        "pending": sum(row["state"] == "pending" for row in rows), "lost": sum(row["state"] == "expired" for row in rows),
        "policy": sum(sides[False]) / len(sides[False]), "uniform": sum(sides[True]) / len(sides[True]),
    }  # fmt: skip


def trial(store: str, impressions: int) -> dict[str, Any]:
    """Run the trial; return the counts on which all views agree, or raise an `AssertionError`."""
    outcomes: list[tuple[str, str]] = []
    fleet = Fleet(store)
    with ExitStack() as stack:
        stack.callback(fleet.stop)
        each = impressions // CLIENTS
        clients = [threading.Thread(target=visit, args=(fleet, each, seed, outcomes)) for seed in range(CLIENTS)]
        for client in clients:
            client.start()
        kills, hour = KILLS, 0
        while any(client.is_alive() for client in clients):
            time.sleep(HOUR)
            old, new = FIRST_ARMS[hour % len(FIRST_ARMS)] if hour < len(FIRST_ARMS) else f"c{hour:02d}", f"c{hour + 10:02d}"
            with suppress(OSError, http.client.HTTPException):
                call(fleet.ports[hour % WORKERS], "POST", f"/rotate?old={old}&new={new}")
            if kills:
                kills -= 1
                fleet.kill((hour + 1) % WORKERS)
            hour += 1
        for client in clients:
            client.join()
    with service(store) as port:
        until = time.monotonic() + 60
        pending = "1"
        while pending != "0.0" and time.monotonic() < until:  # the service closes the last windows, and looks at the logs
            time.sleep(0.2)
            series = dict(re.findall(r'rotting_log_(\w+){bandit="bandit"} (.+)', call(port, "GET", "/metrics")))
            pending = series.get("pending", "1")
        found = recount(store)
        totals = call(port, "GET", "/v1/bandits/bandit/history")["totals"]
        uplift = call(port, "GET", "/v1/bandits/bandit/uplift")
    with rotting.open(store) as bandit:
        own = bandit.uplift()
    assert totals == {name: found[name] for name in ("decisions", "rewards", "mean", "pending", "lost")}, (totals, found)
    assert float(series["mean"]) == found["mean"]
    assert float(series["settled"]) == found["rewards"]
    assert (uplift["policy"], uplift["uniform"]) == (own.policy, own.uniform) == (found["policy"], found["uniform"])
    lost = [key for key, outcome in outcomes if outcome not in {"applied", "duplicate", "expired", "unknown", "conflict"}]
    assert not lost
    return {**found, "clicks": len(outcomes), "late": sum(outcome != "applied" for _, outcome in outcomes), "hours": hour}


def main() -> None:
    """Run the trial in a folder of its own."""
    impressions = int(sys.argv[1]) if len(sys.argv) > 1 else 4_000
    with tempfile.TemporaryDirectory() as folder:
        found = trial(str(Path(folder) / "ads.rot"), impressions)
    sys.stdout.write("All views agree: " + ", ".join(f"{name} {value:.6g}" for name, value in found.items()) + "\n")


if __name__ == "__main__":
    main()
