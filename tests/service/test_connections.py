"""The protocol, byte by byte."""

import random
import re
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from rotting.service.connections import ConnectionLimits, _JoiningTransport
from rotting.service.tokens import new_token
from tests.helpers.services import SONGS, Client, Running, running

GET = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
REWARDS = b"POST /v1/bandits/a/rewards HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
DECIDE = b"POST /v1/bandits/songs/decisions HTTP/1.1\r\nHost: localhost\r\n"


def statuses(responses: bytes) -> list[int]:
    return [int(part.split(b" ", 1)[0]) for part in responses.split(b"HTTP/1.1 ")[1:]]


def test_pipelined_requests_are_answered_in_order(service: Running, songs: Client) -> None:
    requests = [GET, DECIDE + b"\r\n", GET.replace(b"livez", b"nowhere"), DECIDE + b"\r\n"] * 20
    found = service.raw(b"".join(requests[:-1]) + GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), until_closed=True)
    assert statuses(found) == [*([200, 200, 404, 200] * 20)[:-1], 200]
    assert songs("GET", "/v1/bandits/songs").body["rounds"] == 39


def test_a_request_may_come_byte_by_byte(service: Running, songs: Client) -> None:
    body = b'{"count": 2}'
    head = DECIDE + b"Content-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
    with socket.create_connection(("127.0.0.1", service.port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in head + body:
            connection.sendall(bytes([byte]))
        found = b""
        while part := connection.recv(65_536):
            found += part
    assert statuses(found) == [200]
    assert songs("GET", "/v1/bandits/songs").body["rounds"] == 2


def test_a_body_may_come_in_chunks(service: Running, songs: Client) -> None:
    head = DECIDE + b"Content-Type: application/json\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    found = service.raw(head + b'5\r\n{"cou\r\n7\r\nnt": 2}\r\n0\r\n\r\n', until_closed=True)
    assert statuses(found) == [200]
    assert songs("GET", "/v1/bandits/songs").body["rounds"] == 2


def test_expect_100_continue_is_answered(service: Running, songs: Client) -> None:
    head = DECIDE + b"Content-Type: application/json\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
    with socket.create_connection(("127.0.0.1", service.port)) as connection:
        connection.sendall(head)
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"{}")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200 OK\r\n")


def test_http_1_0_gets_a_response_and_the_connection_closes(service: Running) -> None:
    found = service.raw(b"GET /livez HTTP/1.0\r\nHost: localhost\r\n\r\n", until_closed=True)
    assert statuses(found) == [200]
    assert b"\r\nconnection: close\r\n" in found


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"hello\r\n\r\n", 400),
        (b"GET / HTTP/9.9\r\n\r\n", 400),
        (b"GET /livez HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", 400),
        (b"GET /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
        (b"GET /" + b"a" * 70_000, 431),
        (b"GET / HTTP/1.1\r\nA: " + b"a" * 70_000, 431),
        (REWARDS + b"Content-Length: 5000000\r\n\r\n", 413),
        (REWARDS + b"Content-Length: 999999999999999999\r\n\r\n", 413),  # a number of 18 digits is read, a longer one is not
        (REWARDS + b"Content-Length: 9999999999999999999\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n", 400),
    ],
)
def test_bytes_that_are_not_http_are_refused_once_and_end_the_connection(shared: Running, data: bytes, status: int) -> None:
    found = shared.raw(data + GET, until_closed=True)
    assert statuses(found) == [status]
    assert b"application/problem+json" in found
    assert shared.client()("GET", "/livez").status == 200


class Wire:
    """Stands for a transport and its event loop."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.later: list[Any] = []
        self.write, self.call_soon = self.sent.append, self.later.append

    def turn(self) -> None:
        """Do what the event loop does next."""
        while self.later:
            self.later.pop(0)()


def test_small_parts_of_a_response_are_sent_together_and_large_ones_at_once() -> None:
    """Else a client that does not read would be noticed too late, and each small response would take two system calls."""
    wire: Any = Wire()
    joining, large = _JoiningTransport(wire, wire), b"x" * 65_536
    joining.write(b"head ")
    joining.write(b"body")
    assert wire.sent == []
    wire.turn()
    assert wire.sent == [b"head body"]
    joining.write(b"head ")
    joining.write(large)
    assert wire.sent == [b"head body", b"head " + large]
    joining.write(b"end")
    wire.turn()
    assert wire.sent[2:] == [b"end"]


def test_an_upgrade_request_is_answered_over_http(shared: Running) -> None:
    request = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    assert statuses(shared.raw(request + GET, until_closed=True)) == [200]


def test_an_upgrade_with_a_body_is_refused(service: Running, songs: Client) -> None:
    head = DECIDE + b"Content-Type: application/json\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 12\r\n\r\n"
    assert statuses(service.raw(head + b'{"count": 2}' + GET, until_closed=True)) == [400]
    assert songs("GET", "/v1/bandits/songs").body["rounds"] == 0


def test_a_target_may_be_an_absolute_uri(shared: Running) -> None:
    request = b"GET http://localhost/livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    assert statuses(shared.raw(request, until_closed=True)) == [200]


def test_many_pipelined_requests_are_all_answered(service: Running, songs: Client) -> None:
    last = GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    assert statuses(service.raw(GET * 400 + last, until_closed=True)) == [200] * 401
    nowhere = GET.replace(b"livez", b"nope")
    found = statuses(service.raw(DECIDE + b"\r\n" + nowhere * 1_000 + last, until_closed=True))
    assert found == [200, *[404] * 1_000, 200]
    assert songs("POST", "/v1/bandits/songs/decisions").status == 200


@pytest.mark.parametrize("part", [700, 60_000, 10_000_000])
def test_pipelined_requests_sent_in_parts_get_their_own_responses(shared: Running, part: int) -> None:
    """More than waits for its turn at once, in parts that end anywhere: what was received and not parsed keeps its order."""
    bodies = [b'[{"id": "%d",%b"reward": 1}]' % (number, b" " * (number * 37 % 2_000)) for number in range(300)]
    head = REWARDS.replace(b"/a/", b"/songs/")
    requests = b"".join(head + b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies)
    requests += GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    found = b""
    with socket.create_connection(("127.0.0.1", shared.port), timeout=30) as connection:
        for start in range(0, len(requests), part):
            connection.sendall(requests[start : start + part])
        while received := connection.recv(1 << 20):
            found += received
    assert statuses(found) == [200] * 301
    assert [int(each) for each in re.findall(rb'"id":"(\d+)"', found)] == list(range(300))


def test_trailers_are_no_headers(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    token = new_token(file, "me", ["decide"]).encode()
    chunked = (
        DECIDE + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\n{}\r\n0\r\n"
    )
    with running(tmp_path / "songs.rot", token_file=file) as service:
        trailer = b"Authorization: Bearer %b\r\n\r\n" % token
        assert statuses(service.raw(chunked + trailer, until_closed=True)) == [401]
    with running(tmp_path / "more.rot") as service:
        foreign = chunked.replace(b"Host: localhost", b"Host: evil.example")
        assert statuses(service.raw(foreign + b"Host: localhost\r\n\r\n", until_closed=True)) == [403]
        began = time.process_time()
        service.raw(chunked + b"a: b\r\n" * 200_000 + b"\r\n", until_closed=True)
        assert time.process_time() - began < 10.0  # 1 MB of them took 28 s
        assert service.client()("GET", "/livez").status == 200


def test_idle_connections_make_room_for_others(tmp_path: Path) -> None:
    with running(tmp_path / "songs.rot", limits=ConnectionLimits(connections=6, per_client=4)) as service:
        idle = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(20)]
        try:
            client = service.client()
            for _ in range(3):
                assert client("GET", "/livez").status == 200
            dropped = 0
            for each in idle:
                each.settimeout(0.2)
                try:
                    dropped += each.recv(1) == b""
                except ConnectionResetError:
                    dropped += 1
                except TimeoutError:
                    pass
            assert dropped == 17
        finally:
            for each in idle:
                each.close()


def test_a_busy_server_says_so_to_one_connection_too_many(service: Running, tmp_path: Path) -> None:
    with running(tmp_path / "more.rot", limits=ConnectionLimits(connections=2)) as busy:
        streams = [socket.create_connection(("127.0.0.1", busy.port)) for _ in range(2)]
        try:
            for each in streams:
                each.sendall(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert each.recv(100).startswith(b"HTTP/1.1 200 ")
            found = busy.raw(GET, until_closed=True)
            assert statuses(found) == [503]
            assert b"\r\nretry-after: 1\r\n" in found
        finally:
            for each in streams:
                each.close()


def test_a_head_that_comes_too_slowly_is_refused(tmp_path: Path) -> None:
    with running(tmp_path / "songs.rot", limits=ConnectionLimits(head_seconds=0.5)) as service:
        assert statuses(service.raw(b"GET /livez HTTP/1.1\r\nHost:", until_closed=True)) == [408]
        assert service.raw(b"", until_closed=True) == b""  # nothing was sent at all


def test_a_client_that_does_not_read_is_dropped(tmp_path: Path) -> None:
    with running(tmp_path / "songs.rot", limits=ConnectionLimits(write_seconds=0.5)) as service:
        client = service.client()
        arms = [f"{'long ' * 30}{k}" for k in range(2_000)]
        assert client("PUT", "/v1/bandits/songs", {**SONGS, "arms": arms}).status == 201
        with socket.create_connection(("127.0.0.1", service.port), timeout=30) as connection:
            connection.sendall(b"GET /v1/bandits/songs HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100)
            time.sleep(2.5)
            found = 0
            with suppress(ConnectionResetError):
                while part := connection.recv(1 << 20):
                    found += len(part)
        assert found < 100 * 300_000  # not all of the responses were kept for it
        assert client("GET", "/livez").status == 200


def test_a_body_is_not_read_before_the_token_is_checked(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    new_token(file, "me", ["reward"])
    head = REWARDS + b"Content-Length: 4000000\r\nExpect: 100-continue\r\n\r\n"
    with running(tmp_path / "songs.rot", token_file=file) as service:
        assert statuses(service.raw(head, until_closed=True)) == [401]  # and not 100 Continue


def test_a_long_body_in_chunks_is_refused(tmp_path: Path) -> None:
    with running(tmp_path / "songs.rot", max_body=10) as service:
        client = service.client()
        head = REWARDS + b"Transfer-Encoding: chunked\r\n\r\n"
        assert statuses(service.raw(head + b"6\r\n123456\r\n6\r\n123456\r\n", until_closed=True)) == [413]
        assert client("POST", "/v1/bandits/a/rewards", b"[         ]").status == 413
        client.close()
        assert client("POST", "/v1/bandits/a/rewards", b"[        ]").status == 422


def test_a_client_that_disconnects_early_affects_no_other(service: Running, songs: Client) -> None:
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", service.port)) as connection:
            connection.sendall(DECIDE + b"\r\n")
    assert songs("POST", "/v1/bandits/songs/decisions").status == 200
    assert 1 <= songs("GET", "/v1/bandits/songs").body["rounds"] <= 21


def test_random_bytes_bring_no_error_of_the_server(service: Running, songs: Client) -> None:
    chance = random.Random(3)
    valid = DECIDE + b'Content-Type: application/json\r\nContent-Length: 12\r\n\r\n{"count": 2}'
    for _ in range(150):
        data = bytearray(valid)
        for _ in range(chance.randrange(1, 8)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        assert all(status < 500 for status in statuses(service.raw(bytes(data)))), bytes(data)
    assert songs("GET", "/livez").status == 200


def test_concurrent_clients_get_their_own_responses(service: Running) -> None:
    client = service.client()
    for name in "abcd":
        assert client("PUT", f"/v1/bandits/{name}", SONGS).status == 201
    found: dict[str, list[int]] = {name: [] for name in "abcd"}

    def decide(name: str) -> None:
        own = Client(service.port)
        for _ in range(25):
            found[name].append(own("POST", f"/v1/bandits/{name}/decisions").body["decisions"][0]["round"])
        own.close()

    threads = [threading.Thread(target=decide, args=(name,)) for name in "abcd" * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(sorted(rounds) == list(range(1, 76)) for rounds in found.values())
