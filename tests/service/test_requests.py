"""Requests and responses as ASGI gives and takes them."""

import asyncio
from collections.abc import Callable, MutableMapping
from contextlib import nullcontext
from typing import Any

import pytest

from rotting.service import requests
from rotting.service.decoding import BodyDecoder
from rotting.service.problem_documents import ProblemError
from rotting.service.requests import ByteBudget, ClientGoneError, Request, Response, send_response
from rotting.service.routes import match


@pytest.mark.parametrize("size", [0, 1, 9, 10, 11, 20, 21, 35])
def test_a_long_body_is_sent_in_pieces_and_a_short_one_whole(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "_PIECE", 10)
    sent: list[MutableMapping[str, Any]] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    body = bytes(range(size))
    asyncio.run(send_response(send, Response(body)))
    head, *parts = sent
    assert (b"content-length", b"%d" % size) in head["headers"]
    assert b"".join(part["body"] for part in parts) == body
    assert [len(part["body"]) for part in parts[:-1]] == [10] * (len(parts) - 1)
    assert [part.get("more_body", False) for part in parts] == [True] * (len(parts) - 1) + [False]
    assert len(parts) == max(1, -(-size // 10))


PART = 40_000
BODIES = {
    "one part": [100],
    "several small parts": [0, 1, 99],
    "one large part": [PART + PART],
    "several large parts": [PART, PART, 0],
}


def request_with(parts: list[bytes], then: str = "") -> Request:
    """A request whose body comes in these parts; after the last one, it has ended, or it is disconnected or cancelled."""
    messages: list[Any] = [{"type": "http.request", "body": each, "more_body": True} for each in parts]
    messages[-1]["more_body"] = bool(then)

    async def receive() -> Any:
        if messages:
            return messages.pop(0)
        if then == "cancelled":
            raise asyncio.CancelledError
        return {"type": "http.disconnect"}

    headers = [(b"transfer-encoding", b"chunked"), (b"content-type", b"application/json")]
    return Request({"method": "POST", "path": "/", "query_string": b"", "headers": headers}, receive)


async def read(parts: list[int], limit: int, memory: ByteBudget, then: str = "") -> tuple[bytes, Request]:
    request = request_with([b"x" * size for size in parts], then)
    return await request.read_body(limit, memory), request


def is_free(memory: ByteBudget, size: int) -> bool:
    """Return whether exactly so many bytes can be taken."""
    memory.take(size)
    try:
        memory.take(1)
    except ProblemError:
        return True
    return False


@pytest.mark.parametrize("parts", BODIES.values(), ids=BODIES)
def test_a_body_is_read_whole_and_only_a_large_one_stays_reserved(parts: list[int]) -> None:
    size, memory = sum(parts), ByteBudget(1_000_000)
    body, request = asyncio.run(read(parts, size, memory))
    assert (body, request.body_read) == (b"x" * size, True)
    assert is_free(memory, 1_000_000 - (size if size > requests.LARGE_BODY else 0))


@pytest.mark.parametrize("parts", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("then", ["too long", "disconnected", "cancelled"])
def test_a_body_that_is_not_read_to_its_end_leaves_nothing_reserved(parts: list[int], then: str) -> None:
    size, memory = sum(parts), ByteBudget(1_000_000)
    with pytest.raises((ProblemError, ClientGoneError, asyncio.CancelledError)) as caught:
        asyncio.run(read(parts, size - 1 if then == "too long" else size, memory, "" if then == "too long" else then))
    expected = {"too long": ProblemError, "disconnected": ClientGoneError, "cancelled": asyncio.CancelledError}
    assert caught.type is expected[then]
    assert is_free(memory, 1_000_000)


@pytest.mark.parametrize("size", [requests.LARGE_BODY, requests.LARGE_BODY + 1])
@pytest.mark.parametrize("end", ["]", "!"])
def test_the_memory_of_a_body_is_released_when_it_is_decoded(end: str, size: int) -> None:
    async def in_thread(work: Callable[[], object]) -> object:
        return work()

    body = b'[{"id": "a", "reward": 1}'.ljust(size - 1) + end.encode()
    memory = ByteBudget(1_000_000)
    route, _ = match("POST", "/v1/bandits/songs/rewards")
    with nullcontext() if end == "]" else pytest.raises(ProblemError, match="^body must be JSON"):
        asyncio.run(BodyDecoder(1 << 20, memory, in_thread).read(request_with([body]), route))
    assert is_free(memory, 1_000_000)


def test_large_bodies_beyond_the_memory_are_refused_and_small_ones_are_not() -> None:
    memory = ByteBudget(2 * PART)
    asyncio.run(read([2 * PART], 2 * PART, memory))
    with pytest.raises(ProblemError, match="the memory for large request and response bodies is used up"):
        asyncio.run(read([2 * PART], 2 * PART, memory))
    assert asyncio.run(read([100], 100, memory))[0] == b"x" * 100
