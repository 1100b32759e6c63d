"""The protocol, byte by byte."""

import random
import socket
import threading
from pathlib import Path

import pytest

from rotting.service.http import Limits
from tests.helpers.services import SONGS, Client, Running, running

GET = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
DECIDE = b"POST /v1/bandits/songs/decisions HTTP/1.1\r\nHost: localhost\r\n"


def statuses(answers: bytes) -> list[int]:
    return [int(part.split(b" ", 1)[0]) for part in answers.split(b"HTTP/1.1 ")[1:]]


def test_requests_sent_ahead_are_answered_in_order(service: Running, songs: Client) -> None:
    asked = [GET, DECIDE + b"\r\n", GET.replace(b"livez", b"nowhere"), DECIDE + b"\r\n"] * 20
    found = service.raw(b"".join(asked[:-1]) + GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), until_closed=True)
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


def test_who_waits_to_be_asked_for_the_body_is_asked(service: Running, songs: Client) -> None:
    head = DECIDE + b"Content-Type: application/json\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
    with socket.create_connection(("127.0.0.1", service.port)) as connection:
        connection.sendall(head)
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"{}")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200 OK\r\n")


def test_an_old_client_gets_an_answer_and_is_let_go(service: Running) -> None:
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
        (b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 404),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
        (b"GET /" + b"a" * 70_000, 431),
        (b"GET / HTTP/1.1\r\nA: " + b"a" * 70_000, 431),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000\r\n\r\n", 413),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n", 400),
    ],
)
def test_what_is_no_request_is_refused_once_and_ends_the_connection(shared: Running, data: bytes, status: int) -> None:
    found = shared.raw(data + GET, until_closed=True)
    assert statuses(found) == [status]
    assert b"application/problem+json" in found
    assert shared.client()("GET", "/livez").status == 200


def test_another_protocol_is_not_spoken(shared: Running) -> None:
    asked = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    assert statuses(shared.raw(asked + GET, until_closed=True)) == [200]


def test_a_long_body_in_chunks_is_refused(tmp_path: Path) -> None:
    with running(tmp_path / "songs.rot", limits=Limits(body=10)) as service:
        client = service.client()
        head = b"POST /v1/bandits/a/rewards HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        assert statuses(service.raw(head + b"6\r\n123456\r\n6\r\n123456\r\n", until_closed=True)) == [413]
        assert client("POST", "/v1/bandits/a/rewards", b"[         ]").status == 413
        client.close()
        assert client("POST", "/v1/bandits/a/rewards", b"[        ]").status == 422


def test_too_many_connections_are_closed(tmp_path: Path) -> None:
    with running(tmp_path / "songs.rot", limits=Limits(connections=2)) as service:
        clients = [service.client(), service.client()]
        assert [each("GET", "/livez").status for each in clients] == [200, 200]
        assert service.raw(GET, until_closed=True) == b""
        clients[0].close()
        while service.raw(GET) == b"":  # until the server has seen it
            pass
        assert clients[1]("GET", "/livez").status == 200


def test_who_goes_before_the_answer_harms_nobody(service: Running, songs: Client) -> None:
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


def test_many_clients_at_once_get_each_their_own_answer(service: Running) -> None:
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
