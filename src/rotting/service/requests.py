"""Requests and responses, and how they are read from and sent over the ASGI interface."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import quote

from rotting.service.problem_documents import ProblemError, broken_rule
from rotting.service.tokens import ANYBODY

JSON, TEXT, EVENTS = b"application/json", b"text/plain; charset=utf-8", b"text/event-stream"

Message = MutableMapping[str, Any]
Scope = Message
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

LARGE_BODY = 65_536
"""Bytes above which a body counts towards its `ByteBudget`; a request body above it is decoded in a worker thread."""
_PIECE = 65_536  # bytes of a response that are sent at once, which limits the buffer for a slow client
_COMMON = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
_NOT_REPEATED = frozenset({b"authorization", b"content-length", b"content-type", b"host", b"if-match", b"origin"})
_DRAIN = 4 << 20  # bytes of a refused body that are read and dropped, so that the client can read the response
_DRAIN_SECONDS = 2.0  # to read and drop a refused body


class Response(NamedTuple):
    """A response: its body, status, headers and content type."""

    body: bytes
    status: int = 200
    headers: tuple[tuple[bytes, bytes], ...] = ()
    content_type: bytes = JSON


class ClientGoneError(Exception):
    """The client closed the connection before its request was complete."""


class Request:
    """A request. Its body is None until it is read and decoded."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._receive = receive
        self.method: str = scope["method"]
        self.path = _route_path(scope)
        """The path below the mount point of the application, with its escapes."""
        self.query_string: str = scope["query_string"].decode("latin-1")
        client = scope.get("client")
        self.peer: str = client[0] if client else ""
        """The address of the client."""
        self._head: list[tuple[bytes, bytes]] = scope["headers"]
        self.headers: dict[bytes, bytes] = dict(self._head)
        self.has_body = self.headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in self.headers
        """Whether a body follows the head."""
        self.holder = ANYBODY
        """The holder of the token that the client sent."""
        self.parameters: dict[str, str] = {}
        """The parameters in the path, such as the name of the bandit."""
        self.query: Any = None
        """The decoded query."""
        self.body: Any = None
        """The decoded body."""
        self.body_read = False
        self.timed_out = False
        self.is_stream = False

    def check_headers(self) -> None:
        """Refuse a header that must not be repeated, and a body that an upgrade of the protocol hides."""
        if self.has_body and b"upgrade" in self.headers:
            raise broken_rule("bad-request", "Upgrade", "be left out of a request with a body", got="both")
        if len(self.headers) == len(self._head):
            return
        sent = Counter(name for name, _ in self._head)  # a proxy may use the first of two headers, and this server the last
        for name in _NOT_REPEATED:
            if sent[name] > 1:
                raise broken_rule("bad-request", name.decode(), "be sent once", sent[name], got=f"it {sent[name]} times")

    async def read_body(self, limit: int, memory: "ByteBudget") -> bytes:
        """Read a body of at most `limit` bytes.

        If it has more than `LARGE_BODY` bytes, they stay reserved in `memory`, and the caller releases them.
        """
        self._check_body_length(limit)
        part = self._read_part(await self._receive())
        if self.body_read and len(part) <= LARGE_BODY and len(part) <= limit:
            return part  # like most bodies, it came in one piece
        return await self._read_parts(part, limit, memory)

    def _check_body_length(self, limit: int) -> None:
        """Refuse a body whose declared length is above the limit."""
        length = self.headers.get(b"content-length", b"0")
        if not _is_whole_number(length):
            raise broken_rule("bad-request", "Content-Length", "be a whole number", length[:20])
        if int(length) > limit:
            raise broken_rule("too-large", "body", f"be at most {limit} bytes", int(length))

    async def _read_parts(self, first: bytes, limit: int, memory: "ByteBudget") -> bytes:
        """Read the body after its first part, and return it as a whole."""
        parts: list[bytes] = []
        size, part = 0, first
        try:
            while True:
                memory.take(len(part))
                size += len(part)
                parts.append(part)
                if self.body_read or size > limit:
                    break
                part = self._read_part(await self._receive())
        except BaseException:
            memory.give_back(size)
            raise
        if size > limit or size <= LARGE_BODY:
            memory.give_back(size)
        if size > limit:
            raise broken_rule("too-large", "body", f"be at most {limit} bytes", got="more")
        return b"".join(parts)

    def _read_part(self, message: Message) -> bytes:
        """Return the part of the body in a message."""
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        self.body_read = not message.get("more_body", False)
        part: bytes = message.get("body", b"")
        return part

    async def drop_body(self) -> bool:
        """Read and drop the rest of a refused body; return False if it is too long or too slow."""
        length = self.headers.get(b"content-length", b"")
        if self.body_read or not self.has_body:
            return True
        is_short = _is_whole_number(length) and int(length) <= _DRAIN
        if self.timed_out or not is_short or b"expect" in self.headers:
            return False
        with suppress(TimeoutError):
            async with asyncio.timeout(_DRAIN_SECONDS):
                while not self.body_read:
                    message = await self._receive()
                    self.body_read = message["type"] == "http.disconnect" or not message.get("more_body", False)
        return self.body_read

    async def disconnected(self) -> None:
        """Wait until the client closes the connection."""
        while (await self._receive())["type"] != "http.disconnect":
            pass


def _is_whole_number(text: bytes) -> bool:
    """Return whether a header is a whole number of at most 18 digits: `int` refuses thousands of them."""
    return text.isdigit() and len(text) <= 18


def _route_path(scope: Scope) -> str:
    """Return the path below the mount point of the application, with its escapes."""
    root: str = scope.get("root_path", "")
    raw = scope.get("raw_path")
    path: str = quote(scope["path"], safe="/~!$&'()*+,;=:@-._") if raw is None else raw.decode("latin-1")
    if not root:
        return path
    prefix = root.rstrip("/")
    return path.removeprefix(quote(prefix)) if raw is not None and path.startswith(quote(prefix)) else path.removeprefix(prefix)


async def send_response(send: Send, response: Response, close: bool = False) -> None:
    """Send a response."""
    body = response.body
    headers = [(b"content-type", response.content_type), (b"content-length", b"%d" % len(body)), *_COMMON, *response.headers]
    if close:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    if len(body) <= _PIECE:
        await send({"type": "http.response.body", "body": body})
        return
    for start in range(0, len(body), _PIECE):
        more = start + _PIECE < len(body)
        await send({"type": "http.response.body", "body": body[start : start + _PIECE], "more_body": more})


async def start_stream(send: Send) -> None:
    """Begin a stream of server-sent events."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", EVENTS), *_COMMON]})


class ByteBudget:
    """Limits the bytes of large request and response bodies that are in memory at the same time.

    Args:
        limit: bytes.
    """

    def __init__(self, limit: int) -> None:
        self._limit, self._used = limit, 0

    def take(self, size: int) -> None:
        """Reserve bytes, or refuse the request because the server is too busy."""
        if self._used + size > self._limit:
            raise ProblemError("overloaded", "the memory for large request and response bodies is used up", retry_after="1")
        self._used += size

    def give_back(self, size: int) -> None:
        """Release bytes."""
        self._used -= size
