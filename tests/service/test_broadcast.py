"""Events as they happen; a slow reader misses some, and nobody waits for him."""

import asyncio
import http.client
import json
import socket
import time
from typing import Any

import pytest

from rotting.service import broadcast as broadcast_module
from rotting.service.broadcast import MAX_READERS, Broadcast
from rotting.store.hosted import Batch
from tests.helpers.services import SONGS, Client, Running

BANDIT = "/v1/bandits/songs"


def open_stream(service: Running, query: str = "") -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=30)
    connection.request("GET", f"/v1/events{query}")
    response = connection.getresponse()
    assert (response.status, response.getheader("content-type")) == (200, "text/event-stream")
    assert response.readline() == b"retry: 1000\n"
    assert response.readline() == b"\n"
    return connection, response


def next_event(response: http.client.HTTPResponse) -> dict[str, Any]:
    """The fields of the next event; its data as JSON."""
    found: dict[str, Any] = {}
    while line := response.readline().decode().rstrip("\n"):
        name, _, value = line.partition(": ")
        found[name] = json.loads(value) if name == "data" else value
    return found


def test_events_are_streamed_as_they_happen(service: Running, songs: Client) -> None:
    songs("PUT", "/v1/bandits/more", SONGS)
    connection, response = open_stream(service)
    other, only_more = open_stream(service, "?bandit=more")
    (made,) = songs("POST", f"{BANDIT}/decisions", {"idempotency_key": "k"}).body["decisions"]
    songs("POST", f"{BANDIT}/rewards", [{"id": made["id"], "reward": 1}])
    songs("POST", "/v1/bandits/more/decisions")
    events = [next_event(response) for _ in range(3)]
    assert [each["event"] for each in events] == ["decided", "rewarded", "decided"]
    assert [each["id"] for each in events] == ["1", "2", "3"]
    assert events[0]["data"] == {"number": 1, "bandit": "songs", "payload": events[0]["data"]["payload"]}
    assert events[0]["data"]["payload"]["id"] == made["id"]
    assert next_event(only_more)["data"]["number"] == 3
    connection.close()
    other.close()
    response.close()
    only_more.close()
    assert songs("GET", "/v1/events?bandit=none").status == 404
    assert songs("HEAD", "/v1/events").status == 200


def test_a_stalled_reader_delays_no_other_client(service: Running, songs: Client) -> None:
    with socket.create_connection(("127.0.0.1", service.port)) as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        slow.sendall(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for _ in range(30):
            assert songs("POST", f"{BANDIT}/decisions", {"count": 3}).status == 200
    assert songs("GET", BANDIT).body["rounds"] == 90


def batch(first: int, number: int) -> Batch:
    return Batch(first, events=[("songs", {"event": "decided", "n": first + k}) for k in range(number)])


def test_events_dropped_for_a_slow_reader_are_bounded_and_counted() -> None:
    async def take() -> list[bytes]:
        broadcast = Broadcast()
        broadcast.publish(batch(1, 50))  # nobody watches yet
        reader, other = broadcast.add_reader(None), broadcast.add_reader("more")
        for first in range(51, 10_051, 100):
            broadcast.publish(batch(first, 100))
        found = [await reader.next_part()]
        broadcast.publish(Batch(10_051, events=[("more", {"event": "decided"}), ("songs", {"note": "key:a"})]))
        return [*found, await reader.next_part(), await other.next_part()]

    taken, second, third = asyncio.run(take())
    parts = taken.split(b"\n\n")[:-1]
    assert parts[0] == b'event: skipped\ndata: {"count":9500}'
    assert [int(part.split(b"\n")[0][4:]) for part in parts[1:]] == list(range(9_551, 10_051))
    assert [part.split(b"\n")[:2] for part in second.split(b"\n\n")[:-1]] == [
        [b"id: 10051", b"event: decided"],
        [b"id: 10052", b"event: note"],
    ]
    assert third == b'id: 10051\nevent: decided\ndata: {"number":10051,"bandit":"more","payload":{"event":"decided"}}\n\n'


def test_an_event_with_many_arms_is_sent_without_them() -> None:
    async def take() -> bytes:
        broadcast = Broadcast()
        reader = broadcast.add_reader("songs")
        broadcast.publish(Batch(1, events=[("songs", {"event": "decided", "arms": ["a"] * 1_001})]))
        return await reader.next_part()

    assert asyncio.run(take()) == b'id: 1\nevent: decided\ndata: {"number":1,"bandit":"songs","payload":null}\n\n'


def test_all_readers_are_served_at_the_same_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five times a second, whenever the events came."""
    moments = []

    async def serve() -> None:
        loop, broadcast = asyncio.get_running_loop(), Broadcast()
        readers = [broadcast.add_reader(None) for _ in range(3)]
        broadcast.publish(batch(1, 1))

        async def noted(delay: float) -> None:
            assert 0.0 < delay <= 0.2
            moments.append(loop.time() + delay)

        monkeypatch.setattr(asyncio, "sleep", noted)
        for reader, now in zip(readers, (8.01, 8.07, 8.19), strict=True):
            monkeypatch.setattr(loop, "time", lambda now=now: now)
            await reader.next_part()

    asyncio.run(serve())
    assert moments == pytest.approx([8.2] * 3)


def test_an_idle_stream_sends_comments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broadcast_module, "_SILENCE", 0.01)
    assert asyncio.run(Broadcast().add_reader("songs").next_part()) == b":\n\n"


def test_disconnected_readers_free_their_places(service: Running) -> None:
    for _ in range(3):
        streams = [open_stream(service)[0] for _ in range(MAX_READERS)]
        refused = service.client()("GET", "/v1/events")
        assert refused.status == 429
        for each in streams:
            each.close()
        deadline = time.monotonic() + 30.0
        while service.application.broadcast.readers:
            assert time.monotonic() < deadline
            time.sleep(0.02)
