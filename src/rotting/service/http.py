"""HTTP/1.1 on one event loop: connections that parse requests, hand them on, and send the answers in order.

The parser is that of `httptools`. What is here is what a decision needs and no more: a request costs a tenth of a decision's
time, where a general server costs more than the decision itself.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable
from email.utils import formatdate
from http import HTTPStatus
from typing import Any, NamedTuple, cast
from urllib.parse import unquote

from rotting.errors import MissingExtraError

try:
    import httptools
except ImportError as error:
    raise MissingExtraError("the service needs httptools: pip install 'rotting[service]'") from error

_MAX_HEAD = 65_536  # bytes of the request line and the headers
_MAX_WAITING = 16  # requests that one connection may send ahead
_PATIENCE = 20.0  # seconds for a request to arrive whole
_IDLE = 75.0  # seconds between two requests
_LINGER = 2.0  # seconds in which who was refused can read why

JSON, TEXT, EVENTS = b"application/json", b"text/plain; charset=utf-8", b"text/event-stream"

_PHRASES = {each.value: f"{each.value} {each.phrase}".encode() for each in HTTPStatus}


class Limits(NamedTuple):
    """What one connection may ask for.

    Args:
        body: bytes of a request.
        connections: at a time.
    """

    body: int = 4 << 20
    connections: int = 1_024


class Exchange:
    """A request, and the way back to who sent it."""

    __slots__ = ("_connection", "answered", "body", "headers", "keep_alive", "method", "path", "query", "refusal")

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection
        self.method, self.path, self.query = "", "", ""
        self.headers: dict[bytes, bytes] = {}
        self.body = b""
        self.keep_alive = True
        self.answered = False
        self.refusal: tuple[int, str] | None = None  # why it could not be understood

    @property
    def peer(self) -> str:
        """The address of who asks."""
        return self._connection.peer

    @property
    def notes(self) -> dict[str, Any]:
        """What is remembered of the connection from one request to the next."""
        return self._connection.notes

    def answer(self, status: int, body: bytes = b"", kind: bytes = JSON, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
        """Send the answer; who is gone does not get it."""
        if self.answered:
            return
        self.answered = True
        connection = self._connection
        head = [b"HTTP/1.1 ", _PHRASES[status], b"\r\ncontent-type: ", kind, b"\r\ncontent-length: ", b"%d" % len(body)]
        head.append(connection.server.common)
        if not self.keep_alive or connection.server.closing:
            self.keep_alive = False
            head.append(b"connection: close\r\n")
        for name, value in headers:
            head += (name, b": ", value, b"\r\n")
        head.append(b"\r\n")
        if self.method != "HEAD":
            head.append(body)
        connection.send(self, b"".join(head))

    def stream(self) -> Callable[[bytes], bool] | None:
        """Begin an answer without an end; return what sends a part of it, and tells whether the reader keeps up.

        What is sent to one who does not keep up is not kept for him: the part is dropped. None: he is gone.
        """
        connection, self.answered, self.keep_alive = self._connection, True, False
        head = (b"HTTP/1.1 200 OK\r\ncontent-type: ", EVENTS, connection.server.common, b"connection: close\r\n\r\n")
        return connection.send_part if connection.begin_stream(b"".join(head)) else None

    def on_gone(self, call: Callable[[], None]) -> None:
        """Call when the connection is lost."""
        self._connection.when_lost.append(call)


class Server:
    """All connections, and what they share.

    Args:
        handle: gets every request, and answers it now or later.
        refuse: answers a request that could not be understood.
        limits: what one connection may ask for.
    """

    def __init__(self, handle: Callable[[Exchange], None], refuse: Callable[[Exchange], None], limits: Limits) -> None:
        self.handle, self.refuse, self.limits = handle, refuse, limits
        self.connections: set[Connection] = set()
        self.closing = False
        self.common = b""
        self.tick()

    def tick(self) -> None:
        """Once a second: note the date, and end connections that keep others waiting."""
        self.common = (
            b"\r\ncache-control: no-store\r\nx-content-type-options: nosniff\r\ndate: "
            + formatdate(time.time(), usegmt=True).encode()
            + b"\r\n"
        )
        now = time.monotonic()
        for connection in list(self.connections):
            connection.check_patience(now)

    def stop_listening(self) -> None:
        """End what is idle; the rest ends with the next answer."""
        self.closing = True
        for connection in list(self.connections):
            connection.end_if_idle()


class Connection(asyncio.Protocol):
    """One connection: requests in, answers out, in the same order."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.peer = ""
        self.notes: dict[str, Any] = {}
        self.when_lost: list[Callable[[], None]] = []
        self._transport: Any = None
        self._parser: Any = httptools.HttpRequestParser(self)
        self._now: Exchange | None = None  # is being answered
        self._waiting: deque[Exchange] = deque()
        self._arriving: Exchange | None = None
        self._url = b""
        self._head, self._size, self._body = 0, 0, 0  # bytes so far: that came, of the headers, of the body
        self._parts: list[bytes] = []
        self._since = time.monotonic()
        self._streaming, self._behind, self._broken, self._lingering = False, False, False, False

    # --- Called by the event loop -----------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = transport
        peer = cast("asyncio.Transport", transport).get_extra_info("peername")
        self.peer = str(peer[0]) if isinstance(peer, tuple) else ""
        if self.server.closing or len(self.server.connections) >= self.server.limits.connections:
            self._transport.close()
            return
        self.server.connections.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        """End."""
        self.server.connections.discard(self)
        self._transport = None
        for call in self.when_lost:
            call()

    def data_received(self, data: bytes) -> None:
        """Parse what has come."""
        if self._broken or self._streaming:
            return  # after a mistake there is no telling where the next request begins
        if self._arriving is None or self._head >= 0:
            self._head += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._broken = True  # the request is answered as if it had not asked for another protocol, and is the last one
        except httptools.HttpParserError as error:
            self._refuse(400, f"the request must be HTTP/1.1, got something else: {error}")
        else:
            if self._arriving is not None and self._head > _MAX_HEAD:
                self._refuse(431, f"the headers must be at most {_MAX_HEAD} bytes, got more")

    def pause_writing(self) -> None:
        """The reader is slow."""
        self._behind = True
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        """The reader has caught up."""
        self._behind = False
        self._read_on()

    # --- Called by the parser ---------------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """A request begins."""
        self._arriving = Exchange(self)
        self._url, self._size, self._body, self._parts = b"", 0, 0, []
        self._since = time.monotonic()

    def on_url(self, url: bytes) -> None:
        """A part of the target came."""
        self._url += url
        self._size += len(url)
        self._check_head()

    def _check_head(self) -> None:
        if self._size > _MAX_HEAD:
            self._refuse(431, f"the headers must be at most {_MAX_HEAD} bytes, got more")

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header came."""
        exchange = self._arriving
        if exchange is None:  # it was refused
            return
        self._size += len(name) + len(value)
        headers, key = exchange.headers, name.lower()
        headers[key] = b"%b, %b" % (headers[key], value) if key in headers else value

    def on_headers_complete(self) -> None:
        """All headers are there: is the body too long, and does it wait to be asked for?"""
        exchange = self._arriving
        if exchange is None:  # it was refused
            return
        self._head = -1 << 62  # what comes now is the body
        self._check_head()
        if self._broken:
            return
        limit, headers = self.server.limits.body, exchange.headers
        length = headers.get(b"content-length", b"")
        if length.isdigit() and (len(length) > 18 or int(length) > limit):
            self._refuse(413, f"the body must be at most {limit} bytes, got {length[:20].decode()}")
        elif headers.get(b"expect", b"").lower() == b"100-continue" and self._now is None:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        """A part of the body came."""
        self._body += len(body)
        if self._body > self.server.limits.body:
            self._refuse(413, f"the body must be at most {self.server.limits.body} bytes, got more")
        elif not self._broken:
            self._parts.append(body)

    def on_message_complete(self) -> None:
        """A request is there."""
        exchange = self._arriving
        if exchange is None or self._broken:
            return
        self._arriving, self._head = None, 0
        exchange.method = self._parser.get_method().decode("latin-1")
        exchange.keep_alive = self._parser.should_keep_alive() and not self._parser.should_upgrade()
        parts = self._parts
        exchange.body = parts[0] if len(parts) == 1 else b"".join(parts)
        path, _, query = self._url.decode("latin-1").partition("?")
        exchange.path, exchange.query = path, query
        if self._now is None:
            self._turn_to(exchange)
        else:
            self._waiting.append(exchange)
            if len(self._waiting) >= _MAX_WAITING:
                self._transport.pause_reading()

    # --- Answers ----------------------------------------------------------------------------------------------------------

    def _turn_to(self, exchange: Exchange) -> None:
        self._now = exchange
        (self.server.handle if exchange.refusal is None else self.server.refuse)(exchange)

    def _refuse(self, status: int, why: str) -> None:
        """Answer what cannot be understood, after what came before it, and hang up."""
        if self._broken:
            return
        self._broken = True
        exchange = self._arriving or Exchange(self)
        exchange.keep_alive, exchange.refusal, self._arriving = False, (status, why), None
        if self._now is None:
            self._turn_to(exchange)
        else:
            self._waiting.append(exchange)

    def send(self, exchange: Exchange, data: bytes) -> None:
        """Send the answer to the request whose turn it is, and turn to the next."""
        if self._transport is None:
            return
        self._transport.write(data)
        self._now, self._since = None, time.monotonic()
        if not exchange.keep_alive:
            self._broken = True
            self._waiting.clear()
            if exchange.refusal is None:
                self._transport.close()
            else:  # what is still under way is read and thrown away for a while, or the answer would be lost with it
                self._lingering = True
                self._transport.write_eof()
        elif self._waiting:
            self._turn_to(self._waiting.popleft())
            self._read_on()

    def _read_on(self) -> None:
        if self._transport is not None and not self._behind and len(self._waiting) < _MAX_WAITING:
            self._transport.resume_reading()

    def begin_stream(self, head: bytes) -> bool:
        """Send the head of an answer without an end."""
        if self._transport is None:
            return False
        self._streaming = True
        self._transport.write(head)
        return True

    def send_part(self, part: bytes) -> bool:
        """Send a part of a stream, unless the reader is behind."""
        if self._transport is None or self._behind:
            return False
        self._transport.write(part)
        return True

    def check_patience(self, now: float) -> None:
        """End a connection on which nothing comes."""
        waited = now - self._since
        if self._transport is None or self._now is not None or self._streaming:
            return
        if self._arriving is not None and waited > _PATIENCE:
            self._refuse(408, f"the request must arrive within {_PATIENCE:g} s, got a part of it")
        elif waited > (_LINGER if self._lingering else _IDLE):
            self._transport.close()

    def end_if_idle(self) -> None:
        """Hang up, unless an answer is due."""
        if self._transport is not None and (self._streaming or (self._now is None and self._arriving is None)):
            self._transport.close()


def decoded(text: str) -> str:
    """Return a part of a path or of a query as it was meant; what is no UTF-8 raises a `UnicodeDecodeError`."""
    return unquote(text, errors="strict")
