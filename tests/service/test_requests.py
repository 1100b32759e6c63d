"""Requests and responses as ASGI gives and takes them."""

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

from rotting.service import requests
from rotting.service.requests import Response, send_response


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
