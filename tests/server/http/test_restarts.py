"""Two servers behind nginx are restarted and killed while clients decide; no call fails.

`ROTTING_STRESS=1` does it several times with more clients.
"""

import itertools
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import rotting
from rotting.server.store.database import open_database
from rotting.server.store.rows import decision_rows
from rotting.server.store.verify import verify
from tests.conftest import STRESS
from tests.helpers.nginx import nginx
from tests.helpers.ports import free_port
from tests.helpers.services import wait_for_line

ROOT = Path(__file__).parents[3]
BANDITS = ("songs", "films", "books", "games")
CLIENTS, TIMES = (16, 6) if STRESS else (4, 1)
LONGEST = 3.0  # seconds, of which 1.5 are promised; the rest is for other programs on the same processors


class Server:
    """A server that is started again on the same port."""

    def __init__(self, place: str) -> None:
        self.port = free_port()
        self._command = [sys.executable, "-m", "rotting", "serve", place, "--port", str(self.port), "--compile", "never"]
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it, and wait until it listens."""
        self._process = subprocess.Popen(self._command, stderr=subprocess.PIPE, text=True)
        wait_for_line(self._process, "serving")

    def stop(self, by: signal.Signals) -> None:
        """End it."""
        if self._process is not None:
            self._process.send_signal(by)
            self._process.communicate()
            self._process = None


@contextmanager
def two_servers(place: str, folder: Path) -> Iterator[tuple[list[Server], str]]:
    """Run two servers behind nginx as `compose.yaml` has them; yield them and the address of nginx."""
    servers, port = [Server(place), Server(place)], free_port()
    text = (ROOT / "deploy" / "nginx.conf").read_text().replace("listen 8080", f"listen 127.0.0.1:{port}")
    for name, server in zip(("one", "two"), servers, strict=True):
        assert f"{name}:8000" in text
        text = text.replace(f"{name}:8000", f"127.0.0.1:{server.port}")
    try:
        for server in servers:
            server.start()
        with nginx(folder, text, port):
            yield servers, f"http://127.0.0.1:{port}"
    finally:
        for server in servers:
            server.stop(signal.SIGKILL)


class Load:
    """Threads that decide and reward with the clients of the library, until they are stopped."""

    def __init__(self, url: str) -> None:
        self.decisions: list[tuple[str, str]] = []
        """The bandit and the id of each decision that got its reward; to append is safe among threads."""
        self.failed: list[Exception] = []
        self.longest = 0.0
        self._url, self._stop = url, threading.Event()
        self._threads = [threading.Thread(target=self._work, args=(k,)) for k in range(CLIENTS)]

    def _work(self, k: int) -> None:
        with rotting.Client(self._url) as client:
            for number in itertools.count(k):
                if self._stop.is_set():
                    return
                name = BANDITS[number % len(BANDITS)]
                bandit = client.bandit(name)
                try:
                    began = time.monotonic()
                    decision = bandit.decide()
                    decided = time.monotonic()
                    bandit.reward(decision.id, 0.5)
                    self.longest = max(self.longest, decided - began, time.monotonic() - decided)
                except rotting.errors.RottingError as error:
                    self.failed.append(error)
                    return
                self.decisions.append((name, decision.id))

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        self.wait(20 * CLIENTS)
        return self

    def wait(self, more: int) -> None:
        """Wait for more decisions."""
        wanted, until = len(self.decisions) + more, time.monotonic() + 60
        while len(self.decisions) < wanted and not self.failed:
            assert time.monotonic() < until
            time.sleep(0.02)

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


def test_no_call_fails_while_servers_are_restarted_or_killed(place: str, tmp_path: Path) -> None:
    with two_servers(place, tmp_path) as (servers, url):
        with rotting.Client(url) as client:
            for name in BANDITS:
                client.create(name, rotting.UCB1(), arms=["a", "b", "c"])
        with Load(url) as load:
            ways = (signal.SIGTERM, signal.SIGKILL, signal.SIGKILL, signal.SIGTERM)
            for server, by in zip(servers * TIMES, ways * TIMES, strict=False):
                server.stop(by)
                load.wait(10 * CLIENTS)
                server.start()
                load.wait(10 * CLIENTS)
    print(f"{len(load.decisions)} decisions; longest call: {load.longest:.3f} s")
    assert load.failed == []
    assert load.longest < LONGEST
    database = open_database(place, readonly=True)
    rows: list[tuple[str, str]] = []
    for name in BANDITS:
        record = database.find(name)
        assert record is not None
        rows += [(name, row.id) for row in decision_rows(database, record) if row.reward is not None]
    assert sorted(rows) == sorted(load.decisions)
    assert verify(database).problems == ()
    database.close()
