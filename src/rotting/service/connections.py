"""Guards the connections of the server against clients that would use up its memory, time or connections.

uvicorn parses requests and has flow control, but no limit for the size of a head or of trailers, no timeout for a client that
sends or reads slowly, and no limit for the connections of one client. This module adds them. It is the only one that knows how
uvicorn's HTTP protocol works inside; the tests in `tests/service/test_connections.py` fail when that changes.
"""

import asyncio
import ipaddress
import time
from collections import Counter
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, ClassVar, NamedTuple, cast

from rotting.errors import InvalidValueError, MissingExtraError
from rotting.service.problem_documents import ProblemError, broken_rule

try:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
except ImportError as error:
    raise MissingExtraError("the service needs uvicorn and httptools: pip install 'rotting[service]'") from error

_PIECE = 4_096  # bytes parsed at a time, since a client may pipeline many requests
_MAX_PIPELINED = 16  # requests of a connection that wait for their turn; bytes after them are not parsed yet
_MAX_TRAILERS = 8_192  # bytes
_MAX_BACKLOG = 1 << 20  # bytes received while earlier requests are still running
_SENT_AT_ONCE = 16_384  # bytes: a smaller part of a response waits for the next part

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class ConnectionLimits(NamedTuple):
    """Limits on connections."""

    connections: int = 1_024  # at the same time
    per_client: int = 256  # connections of one address at the same time
    head_bytes: int = 65_536  # of the request line and the headers
    head_seconds: float = 10.0  # until the head of a request is complete, from its first byte or the start of the connection
    idle_seconds: float = 75.0  # between two requests
    write_seconds: float = 20.0  # for which a client reads nothing of a response that waits for it


def parse_networks(addresses: Iterable[str]) -> tuple[Network, ...]:
    """Return addresses of proxies as networks."""
    found = []
    for address in addresses:
        try:
            found.append(ipaddress.ip_network(address))
        except ValueError:
            raise InvalidValueError("trusted proxy", "be an IP address or a network", address) from None
    return tuple(found)


class ConnectionGuard:
    """All connections of a server, and the limits they share; trusted proxies may have any number of connections."""

    def __init__(self, limits: ConnectionLimits, proxies: Iterable[Network] = ()) -> None:
        self.limits = limits
        self.refused = 0
        """Connections that were refused or dropped because there were too many."""
        self.timed_out = 0
        """Connections that were closed because the client was too slow."""
        self._proxies = tuple(proxies)
        self._connections: set[GuardedProtocol] = set()
        self._per_client: Counter[str] = Counter()

    def admit(self, connection: "GuardedProtocol") -> bool:
        """Admit a new connection, closing an idle one if there are too many; return whether it was admitted."""
        address = connection.address
        if self._per_client[address] >= self.limits.per_client and not self._is_proxy(address):
            if not self._drop_idle(address):
                return False
        elif len(self._connections) >= self.limits.connections and not self._drop_idle(None):
            return False
        self._connections.add(connection)
        self._per_client[address] += 1
        return True

    def _is_proxy(self, address: str) -> bool:
        if not (self._proxies and address):
            return False
        found = ipaddress.ip_address(address)
        return any(found in network for network in self._proxies)

    def _drop_idle(self, address: str | None) -> bool:
        """Close the connection that has been idle for longest, of one client or of all; return whether there was one."""
        self.refused += 1
        idle = [each for each in self._connections if each.idle_since is not None and address in {None, each.address}]
        if not idle:
            return False
        oldest = min(idle, key=lambda each: cast("float", each.idle_since))
        self.release(oldest)
        oldest.transport.abort()
        return True

    def release(self, connection: "GuardedProtocol") -> None:
        """Stop counting a connection; a second call does nothing."""
        if connection in self._connections:
            self._connections.discard(connection)
            self._per_client[connection.address] -= 1
            if not self._per_client[connection.address]:
                del self._per_client[connection.address]

    def sweep(self) -> None:
        """Close connections whose clients are too slow; to be called every second."""
        now = time.monotonic()
        for connection in list(self._connections):
            self.timed_out += connection.close_if_slow(now)

    def protocol(self) -> "type[GuardedProtocol]":
        """Return the protocol class that uvicorn makes for each connection."""
        return cast("type[GuardedProtocol]", type("GuardedProtocol", (GuardedProtocol,), {"guard": self}))


class _Trailers(list[tuple[bytes, bytes]]):
    """Counts the bytes of trailers and drops them, so that they never become headers."""

    size = 0

    def append(self, item: tuple[bytes, bytes]) -> None:
        self.size += len(item[0]) + len(item[1])
        if self.size > _MAX_TRAILERS:
            raise ValueError("the trailers are too long")  # the parser stops, and the client gets status 400


class _JoiningTransport:
    """A transport that sends the head and the body of a response together: one system call instead of two."""

    __slots__ = ("_loop", "_parts", "_transport")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._parts: list[bytes] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def write(self, data: bytes) -> None:
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)
        if len(data) >= _SENT_AT_ONCE:  # so that the transport notices in time that the client does not read
            self._flush()

    def _flush(self) -> None:
        if self._parts:
            data, self._parts = b"".join(self._parts), []
            self._transport.write(data)

    def close(self) -> None:
        self._flush()
        self._transport.close()


class GuardedProtocol(HttpToolsProtocol):
    """A connection that keeps to the limits of its guard."""

    guard: ClassVar[ConnectionGuard]
    cycle: Any  # the current request, or None before the first one

    address = ""
    _backlog = b""  # bytes that were received and not parsed yet
    _head_bytes = 0
    _in_head = True
    _waiting_since: float | None = None  # for the head of a request
    _paused_since: float | None = None  # because the client does not read

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Register the connection, or refuse it."""
        super().connection_made(cast("asyncio.Transport", _JoiningTransport(transport, self.loop)))
        self.address = self.client[0] if self.client else ""
        self._waiting_since = time.monotonic()
        if not self.guard.admit(self):
            limits = self.guard.limits
            reason = f"too many connections: at most {limits.connections} can be open, and {limits.per_client} per client"
            self._refuse(ProblemError("overloaded", reason, retry_after="1"))

    def connection_lost(self, exc: Exception | None) -> None:
        """Release the connection."""
        self.guard.release(self)
        super().connection_lost(exc)

    @property
    def idle_since(self) -> float | None:
        """Since when the connection has been waiting for a request; None while one is under way."""
        return self._waiting_since if self.cycle is None or self.cycle.response_complete else None

    def _refuse(self, problem: ProblemError) -> None:
        """Send a problem document and close the connection."""
        self._backlog = b""
        body = problem.body()
        headers = [
            (b"content-type", b"application/problem+json"),
            (b"content-length", b"%d" % len(body)),
            *problem.headers,
            *self.server_state.default_headers,
            (b"connection", b"close"),
        ]
        head = b"".join(b"%b: %b\r\n" % header for header in headers)
        phrase = HTTPStatus(problem.status).phrase.encode()
        self.transport.write(b"HTTP/1.1 %d %b\r\n%b\r\n%b" % (problem.status, phrase, head, body))
        self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Send a problem document for a request that is not HTTP."""
        self._refuse(broken_rule("bad-request", "request", "be HTTP/1.1", got="something else"))

    # --- Reading --------------------------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Parse received bytes as long as there is room for requests."""
        if len(self._backlog) > _MAX_BACKLOG:
            self.transport.abort()
        elif self._backlog:
            self._backlog += data
        elif len(data) <= _PIECE:
            self._parse(data)
        else:
            self._parse_all(data)

    def _parse(self, data: bytes) -> None:
        if self._in_head:
            if self._head_bytes == 0:
                self._waiting_since = time.monotonic()
            self._head_bytes += len(data)
            if self._head_bytes > self.guard.limits.head_bytes:
                rule = f"be at most {self.guard.limits.head_bytes} bytes"
                self._refuse(broken_rule("headers-too-large", "head of the request", rule, got="more"))
                return
        super().data_received(data)

    def _parse_all(self, data: bytes) -> None:
        """Parse piece by piece; if requests wait for their turn, keep the rest for later."""
        for start in range(0, len(data), _PIECE):
            if self.transport.is_closing():
                return
            if len(self.pipeline) >= _MAX_PIPELINED:
                self._backlog = data[start:]
                self.flow.pause_reading()
                return
            self._parse(data[start : start + _PIECE])

    def on_headers_complete(self) -> None:
        """Start the request. Headers that the parser reports from now on are trailers."""
        super().on_headers_complete()
        if self.parser.should_upgrade():  # to a protocol that this server does not speak: this request is the last one
            self.cycle.keep_alive = False
        self.headers = _Trailers()
        self._in_head, self._head_bytes, self._waiting_since = False, 0, None

    def on_message_complete(self) -> None:
        """Wait for the next request."""
        super().on_message_complete()
        self._in_head = True

    # --- Writing --------------------------------------------------------------------------------------------------------------

    def on_response_complete(self) -> None:
        """Parse the next pipelined requests, or wait for the next request."""
        super().on_response_complete()
        if self._backlog and not self.transport.is_closing():
            data, self._backlog = self._backlog, b""
            self._parse_all(data)
        if not self.pipeline and (self.cycle is None or self.cycle.response_complete):
            self._waiting_since = time.monotonic()

    def pause_writing(self) -> None:
        """Record when the client stopped reading."""
        self._paused_since = time.monotonic()
        super().pause_writing()

    def resume_writing(self) -> None:
        """Record that the client reads again."""
        self._paused_since = None
        super().resume_writing()

    def close_if_slow(self, now: float) -> bool:
        """Close the connection if the client sends or reads too slowly; return whether it was closed."""
        limits = self.guard.limits
        if self._paused_since is not None and now - self._paused_since > limits.write_seconds:
            self.transport.abort()
            return True
        if self._waiting_since is None:
            return False
        is_idle = self.cycle is not None and self._in_head and self._head_bytes == 0
        if now - self._waiting_since <= (limits.idle_seconds if is_idle else limits.head_seconds):
            return False
        if self.cycle is not None and not self.cycle.response_complete:
            return False  # the request before it is still running
        if self._head_bytes:
            rule = f"be complete within {limits.head_seconds:g} s"
            self._refuse(broken_rule("too-slow", "head of the request", rule, got="a part of it"))
        else:
            self.transport.abort()
        return True
