"""Requests and responses as bytes: what the reader accepts, refuses, and says about the connection."""

import pytest

from rotting.service import http1, retries
from rotting.service.http1 import MalformedResponseError, ResponseReader, encode_request
from rotting.service.retries import ClientRequest, ClientResponse

OK = b"HTTP/1.1 200 OK\r\n"
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"


def read(data: bytes, at_once: int = 10**9, ended: bool = False) -> tuple[ClientResponse | None, bool]:
    """Feed bytes, so many at once, until there is a response; return it, and whether the connection can be used again."""
    reader = ResponseReader()
    for begin in range(0, len(data), at_once):
        response = reader.feed(data[begin : begin + at_once])
        if response is not None:
            return response, reader.is_reusable
    return (reader.feed_end() if ended else None), reader.is_reusable


@pytest.mark.parametrize(
    ("data", "status", "content"),
    [
        (OK + b"Content-Length: 5\r\n\r\nhello", 200, b"hello"),
        (OK + b"content-length:\t5 \r\nX-Empty:\r\n\r\nhello", 200, b"hello"),
        (b"HTTP/1.1 503\r\nContent-Length: 0\r\n\r\n", 503, b""),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
        (OK + CHUNKED + b"\r\n5\r\nhello\r\n0\r\n\r\n", 200, b"hello"),
        (OK + CHUNKED + b"\r\n2\r\nhe\r\n003\r\nllo\r\n0\r\n\r\n", 200, b"hello"),
        (INTERIM + OK + b"Content-Length: 1\r\n\r\nx", 200, b"x"),
    ],
)
def test_a_response_is_the_same_however_its_bytes_arrive_and_incomplete_without_the_last(
    data: bytes, status: int, content: bytes
) -> None:
    for at_once in range(1, len(data) + 1):
        response, is_reusable = read(data, at_once)
        assert response is not None
        assert (response.status, response.content) == (status, content)
        assert is_reusable
    for end in range(len(data)):
        assert read(data[:end])[0] is None
        with pytest.raises(MalformedResponseError, match="^the connection was closed before the response was complete$"):
            read(data[:end], ended=True)


@pytest.mark.parametrize(
    ("data", "ended"),
    [
        (OK + b"Content-Length: 5\r\n\r\nhello!", False),
        (OK + b"Content-Length: 5\r\n\r\nhello\r\n", False),
        (OK + CHUNKED + b"\r\n5\r\nhello\r\n0\r\n\r\n!", False),
        (OK + b"Content-Length: 5\r\nConnection: close\r\n\r\nhello", False),
        (OK + b"Content-Length: 5\r\nConnection: keep-alive\r\nConnection: close\r\n\r\nhello", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", False),
        (OK + b"\r\nhello", True),
    ],
)
def test_a_connection_is_not_used_again_after_a_response_whose_end_is_in_doubt(data: bytes, ended: bool) -> None:
    response, is_reusable = read(data, ended=ended)
    assert response is not None
    assert response.content == b"hello"
    assert not is_reusable


def test_a_byte_after_the_response_is_noticed_in_its_last_piece() -> None:
    reader = ResponseReader()
    assert reader.feed(OK + b"Content-Length: 5\r\n\r\nh") is None
    response = reader.feed(b"ello!")
    assert response is not None
    assert response.content == b"hello"
    assert not reader.is_reusable


@pytest.mark.parametrize(
    "data",
    [
        b"garbage",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1 099 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\nContent-Length: 0\n\n\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        b" " + OK + b"\r\n",
        OK + b"no colon\r\n\r\n",
        OK + b"Content-Length : 1\r\n\r\nx",
        OK + b"X: 1\r\n folded\r\nContent-Length: 1\r\n\r\nx",
        OK + b"X: \0\r\nContent-Length: 1\r\n\r\nx",
        OK + b"Content-Length: -1\r\n\r\n",
        OK + b"Content-Length: +1\r\n\r\nx",
        OK + b"Content-Length: \xb2\r\n\r\nxx",
        OK + b"Content-Length: 1, 1\r\n\r\nx",
        OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
        OK + b"Content-Length: 1\r\n" + CHUNKED + b"\r\n1\r\nx\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n" + CHUNKED + b"\r\n0\r\n\r\n",
        OK + CHUNKED + b"\r\n-1\r\n",
        OK + CHUNKED + b"\r\n1;extension\r\nx\r\n0\r\n\r\n",
        OK + CHUNKED + b"\r\n1\r\nxy\r\n0\r\n\r\n",
        OK + CHUNKED + b"\r\n0\r\nTrailer: x\r\n\r\n",
        OK + CHUNKED + b"\r\n" + b"0" * 17,
    ],
)
def test_a_malformed_response_is_refused_however_its_bytes_arrive(data: bytes) -> None:
    for at_once in (1, 7, len(data)):
        with pytest.raises(MalformedResponseError):
            read(data, at_once)


@pytest.mark.parametrize("data", [b"X: y\r\n", b"y"])
def test_headers_without_end_are_not_read_to_their_end(data: bytes) -> None:
    with pytest.raises(MalformedResponseError, match=f"more than {http1.MAX_HEAD} bytes$"):
        read(OK + b"X: " + data * http1.MAX_HEAD, at_once=1_000)


def test_1xx_responses_without_end_are_not_read_to_their_end() -> None:
    with pytest.raises(MalformedResponseError, match=f"more than {http1.MAX_HEAD} bytes$"):
        read(b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000)


@pytest.mark.parametrize("head", [b"Content-Length: 100000000\r\n\r\n", b"\r\n", CHUNKED + b"\r\n5F5E100\r\n"])
def test_a_body_that_is_too_long_is_not_read_to_its_end(head: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "MAX_CONTENT", 1_000)
    reader = ResponseReader()
    assert reader.feed(OK + head) is None
    read = 0
    while (response := reader.feed(b" " * 100)) is None:
        read += 1
    assert read <= 10
    assert len(response.content) > retries.MAX_CONTENT
    assert not reader.is_reusable


def test_a_proxy_that_opens_a_tunnel_sends_no_body() -> None:
    reader = ResponseReader(opens_tunnel=True)
    response = reader.feed(b"HTTP/1.1 200 Connection established\r\n\r\n")
    assert response == ClientResponse(200, b"", {})
    refusing = ResponseReader(opens_tunnel=True)
    assert refusing.feed(b"HTTP/1.1 407 No\r\nContent-Length: 2\r\n\r\n") is None


def test_headers_that_repeat_are_joined_and_their_names_are_in_lower_case() -> None:
    response, _ = read(OK + b"Content-Length: 0\r\nVary: a\r\nVARY: b\r\nX: \xe9\r\n\r\n")
    assert response is not None
    assert response.headers == {"content-length": "0", "vary": "a, b", "x": "\u00e9"}


def test_a_request_that_may_have_a_body_says_how_long_it_is() -> None:
    assert encode_request(ClientRequest("POST", "/x", None), "", "") == b"POST /x HTTP/1.1\r\nContent-Length: 0\r\n\r\n"
    assert encode_request(ClientRequest("DELETE", "/x", None), "", "") == b"DELETE /x HTTP/1.1\r\n\r\n"
    request = encode_request(ClientRequest("PUT", "/x", b"{}"), "/y", "C: d\r\n")
    assert request == b"PUT /y/x HTTP/1.1\r\nC: d\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
