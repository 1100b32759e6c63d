"""Events as they happen; a slow reader misses some, and nobody waits for him."""

import http.client
import json
import socket
from typing import Any

from rotting.service.broadcast import Broadcast, Reader
from rotting.store.host import Batch
from tests.helpers.services import SONGS, Client, Running

BANDIT = "/v1/bandits/songs"


def watching(service: Running, query: str = "") -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=30)
    connection.request("GET", f"/v1/events{query}")
    answer = connection.getresponse()
    assert (answer.status, answer.getheader("content-type")) == (200, "text/event-stream")
    assert answer.readline() == b"retry: 1000\n"
    assert answer.readline() == b"\n"
    return connection, answer


def next_event(answer: http.client.HTTPResponse) -> dict[str, Any]:
    """The fields of the next event; its data as JSON."""
    found: dict[str, Any] = {}
    while line := answer.readline().decode().rstrip("\n"):
        name, _, value = line.partition(": ")
        found[name] = json.loads(value) if name == "data" else value
    return found


def test_events_are_told_as_they_happen(service: Running, songs: Client) -> None:
    songs("PUT", "/v1/bandits/more", SONGS)
    connection, answer = watching(service)
    other, only_more = watching(service, "?bandit=more")
    (made,) = songs("POST", f"{BANDIT}/decisions", {"idempotency_key": "k"}).body["decisions"]
    songs("POST", f"{BANDIT}/rewards", [{"id": made["id"], "value": 1}])
    songs("POST", "/v1/bandits/more/decisions")
    events = [next_event(answer) for _ in range(4)]
    assert [each["event"] for each in events] == ["decided", "note", "rewarded", "decided"]
    assert [each["id"] for each in events] == ["1", "2", "3", "4"]
    assert events[0]["data"] == {"number": 1, "bandit": "songs", "payload": events[0]["data"]["payload"]}
    assert events[0]["data"]["payload"]["id"] == made["id"]
    assert next_event(only_more)["data"]["number"] == 4
    connection.close()
    other.close()
    answer.close()
    only_more.close()
    assert songs("GET", "/v1/events?bandit=none").status == 404
    assert songs("HEAD", "/v1/events").status == 200


def test_a_reader_who_never_reads_slows_nobody(service: Running, songs: Client) -> None:
    with socket.create_connection(("127.0.0.1", service.port)) as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        slow.sendall(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for _ in range(30):
            assert songs("POST", f"{BANDIT}/decisions", {"count": 3}).status == 200
    assert songs("GET", BANDIT).body["rounds"] == 90


def batch(first: int, number: int) -> Batch:
    return Batch(first, events=[("songs", {"event": "decided", "n": first + k}) for k in range(number)])


def test_what_a_reader_does_not_take_is_bounded_and_counted() -> None:
    sent: list[bytes] = []
    keeps_up = False

    def send(part: bytes) -> bool:
        if keeps_up:
            sent.append(part)
        return keeps_up

    broadcast = Broadcast()
    reader = Reader(None, send)
    broadcast.readers.add(reader)
    for first in range(1, 10_001, 100):
        broadcast.publish(batch(first, 100))
        broadcast.deliver()
    assert sent == []
    keeps_up = True
    broadcast.deliver()
    parts = sent[0].split(b"\n\n")[:-1]
    assert parts[0] == b'event: skipped\ndata: {"count":9500}'
    assert [int(part.split(b"\n")[0][4:]) for part in parts[1:]] == list(range(9_501, 10_001))
    broadcast.publish(batch(10_001, 1))
    broadcast.deliver()
    assert sent[1].startswith(b"id: 10001\nevent: decided\ndata: {")


def test_a_silent_stream_says_that_it_is_there() -> None:
    sent: list[bytes] = []

    def send(part: bytes) -> bool:
        sent.append(part)
        return True

    reader = Reader("songs", send)
    reader.put(1, [("more", {"event": "decided"})])
    for _ in range(100):
        reader.deliver()
    assert sent == [b":\n\n", b":\n\n"]
