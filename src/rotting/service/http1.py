"""HTTP/1.1 as bytes: `encode_request` writes a request, and a `ResponseReader` reads its response. Nothing here does I/O.

The reader is strict, because a connection is used for one call after another: if the client and the service disagreed about
where a response ends, a call could get the response of another one.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from rotting.service import retries
from rotting.service.retries import ClientRequest, ClientResponse

MAX_HEAD = 2**16
"""The most bytes of a status line and headers that are read, with those of any 1xx responses before them."""

_START = b"HTTP/1."
_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_HEAD = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: [^\r\n\0]*)?\r\n((?:" + _TOKEN + rb":[^\r\n\0]*\r\n)*)\r\n")
_FIELD = re.compile(r"([^:\r\n]+):([^\r\n]*)\r\n")  # of headers that match the pattern above
_LENGTH = re.compile(r"[0-9]{1,18}", re.ASCII)
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})\r\n")


class MalformedResponseError(Exception):
    """The service sent something else than a complete response in HTTP/1.1."""


def encode_request(request: ClientRequest, prefix: str, headers: str) -> bytes:
    r"""Return a request as bytes.

    Args:
        request: the request, whose path contains no character that has to be quoted.
        prefix: what comes before its path, such as the path of the service behind a proxy.
        headers: lines of headers that all requests have, each with its line end.

    Example:
        >>> encode_request(ClientRequest("GET", "/livez", None), "/songs", "Host: example.org\r\n")
        b'GET /songs/livez HTTP/1.1\r\nHost: example.org\r\n\r\n'
    """
    method, path, content = request
    head = f"{method} {prefix}{path} HTTP/1.1\r\n{headers}"
    if content is not None:
        head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n"
    elif method in {"POST", "PUT"}:
        head += "Content-Length: 0\r\n"
    return f"{head}\r\n".encode("ascii") + (content or b"")


class _Head(NamedTuple):
    status: int
    headers: dict[str, str]
    length: int | None  # of the body; None if it is chunked, or extends to the end of the connection
    is_chunked: bool
    keeps_alive: bool


@lru_cache(maxsize=32)  # the heads of most responses are the same
def _parse_head(head: bytes) -> _Head:
    matched = _HEAD.fullmatch(head)
    if matched is None:
        raise MalformedResponseError(f"the response begins with {head[:60]!r}")
    is_latest_version, status = matched[1] == b"1", int(matched[2])
    headers: dict[str, str] = {}
    for name, value in _FIELD.findall(matched[3].decode("latin-1")):
        key, text = name.lower(), value.strip(" \t")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    length, coding = headers.get("content-length"), headers.get("transfer-encoding")
    if length is not None and _LENGTH.fullmatch(length) is None:
        raise MalformedResponseError(f"the response has the Content-Length {length[:60]!r}")
    if coding is not None and (coding.lower() != "chunked" or length is not None or not is_latest_version):
        raise MalformedResponseError(f"the response has the Transfer-Encoding {coding[:60]!r}, which is not understood")
    keeps_alive = is_latest_version and headers.get("connection", "keep-alive").lower() == "keep-alive"
    if status in {204, 304}:
        return _Head(status, headers, 0, False, keeps_alive)
    return _Head(status, headers, None if length is None else int(length), coding is not None, keeps_alive)


class ResponseReader:
    r"""Reads one response from the bytes of a connection.

    Args:
        opens_tunnel: whether the request was CONNECT: a response that accepts it has no body.

    Attributes:
        is_reusable: whether the connection can carry another request once the response is complete.

    Example:
        >>> reader = ResponseReader()
        >>> reader.feed(b"HTTP/1.1 200 OK\r\nContent-Le")
        >>> reader.feed(b"ngth: 2\r\n\r\n{}")
        ClientResponse(status=200, content=b'{}', headers={'content-length': '2'})
        >>> reader.is_reusable
        True
    """

    __slots__ = ("_buffer", "_bytes_of_heads", "_content", "_head", "_opens_tunnel", "is_reusable")

    def __init__(self, opens_tunnel: bool = False) -> None:
        self._opens_tunnel = opens_tunnel
        self._buffer = bytearray()  # a part of a head, or of a chunk
        self._bytes_of_heads = 0
        self._head: _Head | None = None
        self._content = bytearray()
        self.is_reusable = False

    def feed(self, data: bytes) -> ClientResponse | None:
        """Read more bytes; return the response once it is complete."""
        while (head := self._head) is None:
            if self._buffer:
                data = bytes(self._buffer + data)
                self._buffer.clear()
            end = data.find(b"\r\n\r\n")
            if self._bytes_of_heads + (len(data) if end < 0 else end) > MAX_HEAD:
                raise MalformedResponseError(f"the headers of the response have more than {MAX_HEAD} bytes")
            if not data.startswith(_START[: len(data)]):
                raise MalformedResponseError(f"the response begins with {data[:60]!r}")
            if end < 0:
                self._buffer += data
                return None
            self._take_head(_parse_head(data[: end + 4]))
            self._bytes_of_heads += end + 4
            data = data[end + 4 :]
        return self._take_chunks(head, data) if head.is_chunked else self._take_content(head, data)

    def feed_end(self) -> ClientResponse:
        """Return the response if it is complete because the connection has ended."""
        if self._head is None or self._head.is_chunked or self._head.length is not None:
            raise MalformedResponseError("the connection was closed before the response was complete")
        return self._response(self._head, self._content)

    def _take_head(self, head: _Head) -> None:
        if head.status == 101:
            raise MalformedResponseError("the service switches to another protocol")
        if head.status >= 200:  # after the others, another response follows
            accepts_tunnel = self._opens_tunnel and head.status < 300
            self._head = head._replace(length=0, is_chunked=False) if accepts_tunnel else head

    def _take_content(self, head: _Head, data: bytes) -> ClientResponse | None:
        content, length = self._content, head.length
        if len(data) == length and not content:  # most responses come in one piece
            return self._response(head, data, is_whole=True)
        content += data
        if length is not None and len(content) >= length:
            is_whole = len(content) == length
            del content[length:]
            return self._response(head, content, is_whole)
        return self._response(head, content) if len(content) > retries.MAX_CONTENT else None

    def _take_chunks(self, head: _Head, data: bytes) -> ClientResponse | None:
        """Read chunks; those with extensions or trailers are refused, which no service needs."""
        buffer = self._buffer
        buffer += data
        while size := _CHUNK_SIZE.match(buffer):
            begin, end = size.end(), size.end() + int(size[1], 16)
            if len(buffer) < end + 2:
                break
            if buffer[end : end + 2] != b"\r\n":
                raise MalformedResponseError("a chunk of the response does not end where it should")
            self._content += buffer[begin:end]
            del buffer[: end + 2]
            if begin == end:
                return self._response(head, self._content, is_whole=not buffer)
        if size is None and (len(buffer) > 16 or b"\n" in buffer):
            raise MalformedResponseError(f"a chunk of the response begins with {bytes(buffer[:60])!r}")
        if len(self._content) + len(buffer) > retries.MAX_CONTENT:
            self._content += buffer
            return self._response(head, self._content)
        return None

    def _response(self, head: _Head, content: bytes | bytearray, is_whole: bool = False) -> ClientResponse:
        """Return the response; `is_whole` says that its end is known and that no byte came after it."""
        self.is_reusable = is_whole and head.keeps_alive
        return ClientResponse(head.status, bytes(content), head.headers)


def check_tunnel(response: ClientResponse) -> None:
    """Refuse the response of a proxy that does not open a tunnel."""
    if not 200 <= response.status < 300:
        raise MalformedResponseError(f"the proxy did not connect: status {response.status}")
