"""Clients that misbehave, on raw sockets, and an honest client that must be served meanwhile.

`python -m tests.helpers.hostile_clients PORT COUNT SEED` holds many hostile connections of all kinds until it is killed.
"""

import asyncio
import http.client
import os
import random
import socket
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

ADDRESS = "127.0.0.1"
OTHER_ADDRESS = "127.0.0.2"  # another client, as far as the service can see
DECISIONS = "/v1/bandits/songs/decisions"
REWARDS = "/v1/bandits/songs/rewards"
MEGABYTE = 1 << 20

_HUGE_PAUSE = 40.0  # seconds between two huge requests of a hostile client

_Kind = Callable[[socket.socket], Awaitable[None]]


class Response(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


def request(method: str, path: str, body: bytes = b"", *headers: str, version: str = "1.1", host: str = ADDRESS) -> bytes:
    """Return the bytes of a request."""
    lines = [f"{method} {path} HTTP/{version}", f"Host: {host}", *headers]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


def connect(port: int, source: str = ADDRESS, receive_buffer: int | None = None, timeout: float = 20.0) -> socket.socket:
    """Open a connection. With a small receive buffer, the service must soon wait for a client that does not read."""
    opened = socket.socket()
    try:
        if receive_buffer is not None:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        opened.settimeout(timeout)
        opened.bind((source, 0))
        opened.connect((ADDRESS, port))
    except OSError:
        opened.close()
        raise
    return opened


@contextmanager
def connections(
    port: int, count: int, receive_buffer: int | None = None, timeout: float = 20.0
) -> Iterator[list[socket.socket]]:
    """Open up to `count` connections, as many as the service accepts; close them when the context ends."""
    found: list[socket.socket] = []
    try:
        for _ in range(count):
            with suppress(OSError):
                found.append(connect(port, ADDRESS, receive_buffer, timeout))
        yield found
    finally:
        for each in found:
            each.close()


def receive(connection: socket.socket, seconds: float = 20.0, responses: int | None = None) -> bytes:
    """Return what arrives until the connection is closed, `responses` responses are complete, or the time is up."""
    deadline, data = time.monotonic() + seconds, bytearray()
    while (left := deadline - time.monotonic()) > 0:
        connection.settimeout(left)
        try:
            part = connection.recv(1 << 18)
        except OSError:
            break
        if not part:
            break
        data += part
        if responses is not None and data.count(b"HTTP/1.1 ") >= responses and len(parse(bytes(data))) >= responses:
            break
    return bytes(data)


def parse(data: bytes) -> list[Response]:
    """Return the complete responses at the beginning of what a service has sent."""
    found = []
    while (end := data.find(b"\r\n\r\n")) >= 0:
        status, *lines = data[:end].decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        size = end + 4 + int(headers.get("content-length", 0))
        if len(data) < size:
            break
        found.append(Response(int(status.split()[1]), headers, data[end + 4 : size]))
        data = data[size:]
    return found


def exchange(port: int, data: bytes, seconds: float = 20.0, responses: int | None = None) -> list[Response]:
    """Send bytes on a new connection, and return the responses, even if the service does not read all bytes."""
    with connect(port) as connection:
        sender = threading.Thread(target=send, args=(connection, data))
        sender.start()
        found = receive(connection, seconds, responses)
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)  # ends the sender too
        sender.join()
    return parse(found)


def send(connection: socket.socket, data: bytes) -> None:
    """Send bytes; the service may close the connection meanwhile."""
    with suppress(OSError):
        connection.sendall(data)


def send_what_fits(connections: Iterable[socket.socket], data: bytes) -> None:
    """Send the data on many connections at once, until all is sent or no connection accepts more."""
    left = {connection: memoryview(data) for connection in connections}
    for connection in left:
        connection.setblocking(False)
    quiet = time.monotonic() + 1.0  # a second in which no connection takes anything ends it
    while left and time.monotonic() < quiet:
        for connection, rest in list(left.items()):
            try:
                sent = connection.send(rest[: 1 << 16])
            except BlockingIOError:
                continue
            except OSError:
                del left[connection]
                continue
            quiet = time.monotonic() + 1.0
            left[connection] = rest[sent:]
            if not left[connection]:
                del left[connection]
        time.sleep(0.001)


class Honest:
    """A client that asks for one decision after the other, from an address of its own, while others misbehave."""

    def __init__(self, port: int, token: str | None = None, source: str = OTHER_ADDRESS) -> None:
        self._port, self._source = port, source
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.served = 0
        self.failures: list[str] = []

    def __enter__(self) -> "Honest":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            connection = http.client.HTTPConnection(ADDRESS, self._port, timeout=10, source_address=(self._source, 0))
            try:
                for _ in range(10):  # then as a new client
                    self._ask(connection)
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(repr(error))
            finally:
                connection.close()

    def _ask(self, connection: http.client.HTTPConnection) -> None:
        connection.request("POST", DECISIONS, headers=self._headers)
        response = connection.getresponse()
        body = response.read()
        if response.status == 200:
            self.served += 1
        else:
            self.failures.append(f"{response.status} {body[:200]!r}")
        time.sleep(0.005)


# --- Many at a time, for as long as wanted ------------------------------------------------------------------------------------


class _Crowd:
    """Hostile connections in one event loop. They need little CPU time, since a test measures the service meanwhile."""

    def __init__(self, port: int, seed: int) -> None:
        self._port, self._random, self._loop = port, random.Random(seed), asyncio.get_running_loop()
        self._huge_body = request("POST", REWARDS, b"[" + b'{"id":"x","reward":1},' * (4 * MEGABYTE // 23) + b"0]")

    async def run(self, count: int) -> None:
        kinds = [self.idle, self.slow_headers, self.slow_body, self.huge_headers, self.huge_body, self.never_read, self.watch]
        await asyncio.gather(*(self._repeat(kinds[number % len(kinds)]) for number in range(count)))

    async def _repeat(self, kind: _Kind) -> None:
        # A body of 4 MiB costs the service 0.1 s of CPU time: all of them at a time would be a load test, not an attack.
        await asyncio.sleep(self._random.random() * (_HUGE_PAUSE if kind == self.huge_body else 2.0))
        while True:
            opened = socket.socket()
            opened.setblocking(False)
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            with opened, suppress(OSError, TimeoutError):
                await self._loop.sock_connect(opened, (ADDRESS, self._port))
                await asyncio.wait_for(kind(opened), 60.0)
            await asyncio.sleep(self._random.random() * 2.0)

    async def idle(self, opened: socket.socket) -> None:
        await self._loop.sock_recv(opened, 1)  # until the service closes the connection

    async def slow_headers(self, opened: socket.socket) -> None:
        for byte in request("POST", DECISIONS, b"{}"):
            await self._loop.sock_sendall(opened, bytes([byte]))
            await asyncio.sleep(1.0)

    async def slow_body(self, opened: socket.socket) -> None:
        await self._loop.sock_sendall(opened, self._huge_body[:1_000])
        for start in range(1_000, len(self._huge_body), 100):
            await self._loop.sock_sendall(opened, self._huge_body[start : start + 100])
            await asyncio.sleep(0.5)

    async def huge_headers(self, opened: socket.socket) -> None:
        await self._loop.sock_sendall(opened, request("GET", "/livez", b"", f"X: {'x' * MEGABYTE}"))
        await self._read_and_wait(opened)

    async def huge_body(self, opened: socket.socket) -> None:
        await self._loop.sock_sendall(opened, self._huge_body)
        await self._read_and_wait(opened)

    async def never_read(self, opened: socket.socket) -> None:
        await self._loop.sock_sendall(opened, request("GET", "/openapi.json") * 1_000)
        await asyncio.sleep(20.0)

    async def watch(self, opened: socket.socket) -> None:
        await self._loop.sock_sendall(opened, request("GET", "/v1/events"))
        await asyncio.sleep(20.0)

    async def _read_and_wait(self, opened: socket.socket) -> None:
        await self._loop.sock_recv(opened, 65_536)
        await asyncio.sleep(_HUGE_PAUSE)


async def _attack(port: int, count: int, seed: int) -> None:
    parent = os.getppid()
    crowd = asyncio.ensure_future(_Crowd(port, seed).run(count))
    while os.getppid() == parent and not crowd.done():
        await asyncio.sleep(0.2)


if __name__ == "__main__":
    asyncio.run(_attack(*map(int, sys.argv[1:])))
