"""Measures the latency of honest clients at a fixed rate, without and with hostile connections beside them."""

import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.load import post
from tests.helpers.chaos import ROOT, ServiceProcess
from tests.helpers.hostile_clients import DECISIONS, REWARDS
from tests.helpers.services import SONGS, Client, free_port

_CONNECTIONS = 64  # as many as the capacity is measured with
_REWARDS = 100  # in one request
_PATIENCE = 30.0  # seconds that the last responses have to arrive
_SHARE = 0.7  # of the capacity


class Latencies(NamedTuple):
    """How long durable decisions took, in seconds from the moment at which they were due."""

    made: int
    failed: int
    p50: float
    p99: float


class Round(NamedTuple):
    """The latencies of honest clients at one rate, first without and then with hostile clients."""

    rate: float
    calm: Latencies
    hostile: Latencies

    @property
    def ratio(self) -> float:
        """How many times longer the 99th percentile was with hostile clients."""
        return self.hostile.p99 / self.calm.p99

    def text(self) -> str:
        """Return the findings in one line."""
        calm, hostile = self.calm, self.hostile
        return (
            f"{self.rate:.0f} decisions a second: p50 {calm.p50 * 1e3:.3g} ms, p99 {calm.p99 * 1e3:.3g} ms of {calm.made}; "
            f"with hostile clients p50 {hostile.p50 * 1e3:.3g} ms, p99 {hostile.p99 * 1e3:.3g} ms of {hostile.made} "
            f"({self.ratio:.3g} times), failed {calm.failed} and {hostile.failed}"
        )


class Soak(NamedTuple):
    """The rounds, and by how many bytes the peak memory of the service grew after the first calm measurement."""

    rounds: list[Round]
    memory: int

    @property
    def ratio(self) -> float:
        """The median of the ratios of the rounds."""
        return statistics.median(each.ratio for each in self.rounds)

    def text(self) -> str:
        """Return the findings, one line for each round."""
        total = f"median {self.ratio:.3g} times; memory grew by {self.memory / 2**20:.0f} MiB"
        return "\n".join([*(each.text() for each in self.rounds), total])


def soak(
    folder: Path, *, rounds: int, seconds: float, rate: float | None = None, hostile: int = 200, compiled: bool = False
) -> Soak:
    """Measure a new service without and with hostile clients in turns; without a rate, at 70 % of its capacity.

    On a shared machine the capacity changes by a third within minutes, and a rate that was 70 % of it may soon be all of it.
    So each round measures the capacity anew, and compares its own two measurements.
    """
    port = free_port()
    with ServiceProcess(folder / "songs.rot", port, compiled=compiled) as service:
        service.wait_until_ready()
        with closing(Client(port)) as client:
            assert client("PUT", "/v1/bandits/songs", SONGS).status == 201
        found, before = [], 0
        for number in range(rounds):
            used = _SHARE * capacity(port) if rate is None else rate
            calm = asyncio.run(_measure(port, used, seconds))
            before = before or service.peak_memory
            with hostile_crowd(port, hostile, number):
                time.sleep(1.0)  # until most of them are there
                found.append(Round(used, calm, asyncio.run(_measure(port, used, seconds))))
        memory = service.peak_memory - before
        assert service.is_ready(), service.output
        service.stop()
    return Soak(found, memory)


def capacity(port: int, seconds: float = 5.0) -> float:
    """Return the maximum number of durable decisions per second."""
    command = [sys.executable, "-m", "benchmarks.load", str(port), "songs", "64", str(seconds)]
    output = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, timeout=120).stdout
    load = json.loads(output)
    return float(load["decisions"] / load["seconds"])


@contextmanager
def hostile_crowd(port: int, count: int, seed: int) -> Iterator[None]:
    """Keep hostile connections of all kinds open, from a process of their own."""
    command = [sys.executable, "-m", "tests.helpers.hostile_clients", str(port), str(count), str(seed)]
    crowd = subprocess.Popen(command, cwd=ROOT)
    try:
        yield
        assert crowd.poll() is None, "the hostile clients have ended"
    finally:
        crowd.kill()
        crowd.wait()


async def _measure(port: int, rate: float, seconds: float) -> Latencies:
    """Ask for decisions at a fixed rate, whether or not earlier ones are answered (an open loop)."""
    loop = asyncio.get_running_loop()
    pool = _Pool(port)
    await pool.open()
    began = loop.time()
    due, step = began, 1.0 / rate
    while due < began + seconds:
        now = loop.time()
        while due <= now:
            pool.ask(due)
            due += step
        await asyncio.sleep(max(due - loop.time(), 0.001))
    deadline = loop.time() + _PATIENCE
    while pool.is_waiting and loop.time() < deadline:
        await asyncio.sleep(0.01)
    pool.send_last_rewards()  # decisions without a reward would slow down those of the next measurement
    while pool.is_waiting and loop.time() < deadline:
        await asyncio.sleep(0.01)
    pool.close()
    took = sorted(pool.took)
    assert took, f"no decision was made: {pool.failures[:3]}"
    p50, p99 = (took[int(share * (len(took) - 1))] for share in (0.5, 0.99))
    return Latencies(len(took), len(pool.failures) + pool.unanswered, p50, p99)


class _Pool:
    """Connections that share the requests; each decision uses the first connection that is free."""

    def __init__(self, port: int) -> None:
        self.took: list[float] = []
        self.failures: list[bytes] = []
        self._port = port
        self._due: deque[float] = deque()
        self._free: deque[_Connection] = deque()
        self._all: list[_Connection] = []
        self._ids: list[bytes] = []
        self._enough = _REWARDS

    async def open(self) -> None:
        for _ in range(_CONNECTIONS):
            _, connection = await asyncio.get_running_loop().create_connection(
                lambda: _Connection(self), "127.0.0.1", self._port
            )
            self._all.append(connection)
            self._free.append(connection)

    def close(self) -> None:
        for each in self._all:
            each.transport.abort()

    @property
    def unanswered(self) -> int:
        return len(self._due) + sum(each.is_waiting for each in self._all)

    @property
    def is_waiting(self) -> bool:
        return self.unanswered > 0 and len(self._all) > 0

    def ask(self, due: float) -> None:
        self._due.append(due)
        self._send()

    def send_last_rewards(self) -> None:
        """Send the rewards that are left."""
        self._enough = 1
        self._send()

    def _send(self) -> None:
        while self._free and (len(self._ids) >= self._enough or self._due):
            connection = self._free.popleft()
            if len(self._ids) >= self._enough:
                rewards = b",".join(b'{"id":"%b","reward":%d}' % (each, each[0] % 2) for each in self._ids)
                connection.send(post(REWARDS, b"[%b]" % rewards), None)
                self._ids.clear()
            else:
                connection.send(_DECIDE, self._due.popleft())

    def receive(self, connection: "_Connection", response: bytes, due: float | None) -> None:
        """Count a response, and use its connection for the next request."""
        if not response.startswith(b"HTTP/1.1 200 "):
            self.failures.append(response)
        elif due is not None:
            self.took.append(asyncio.get_running_loop().time() - due)
            at = response.index(b'"id":"') + 6
            self._ids.append(response[at : response.index(b'"', at)])
        self._free.append(connection)
        self._send()

    def lost(self, connection: "_Connection", why: str) -> None:
        """Remove a lost connection; its unanswered request has failed."""
        self._all.remove(connection)
        if connection.is_waiting:
            self.failures.append(why.encode())
        else:
            self._free.remove(connection)


class _Connection(asyncio.Protocol):
    """A connection with at most one unanswered request."""

    transport: asyncio.Transport

    def __init__(self, pool: _Pool) -> None:
        self._pool, self._data = pool, b""
        self._due: float | None = None
        self.is_waiting = False  # for a response

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def send(self, data: bytes, due: float | None) -> None:
        self._due, self.is_waiting = due, True
        self.transport.write(data)

    def data_received(self, data: bytes) -> None:
        self._data += data
        head = self._data.find(b"\r\n\r\n")
        if head < 0:
            return
        at = self._data.lower().index(b"content-length:") + 15
        if len(self._data) >= head + 4 + int(self._data[at : self._data.index(b"\r\n", at)]):
            response, self._data, self.is_waiting = self._data, b"", False
            self._pool.receive(self, response, self._due)

    def connection_lost(self, error: Exception | None) -> None:
        self._pool.lost(self, f"connection lost: {error}")


_DECIDE = post(DECISIONS)
