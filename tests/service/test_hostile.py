"""Hostile clients: whatever they send or do not read, honest clients are served, and memory is bounded.

`ROTTING_STRESS=1` adds the slow attacks in full and ten minutes at 70 % of capacity with 200 hostile connections.
"""

import random
import socket
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import STRESS
from tests.helpers.chaos import ServiceProcess, wait_for
from tests.helpers.command import run_command
from tests.helpers.hostile_clients import (
    DECISIONS,
    MEGABYTE,
    REWARDS,
    Honest,
    Response,
    connect,
    connections,
    exchange,
    parse,
    receive,
    request,
    send_what_fits,
)
from tests.helpers.services import SONGS, Client, free_port
from tests.helpers.soak import soak

MEMORY = 64 * MEGABYTE
"""How much the memory of a service may grow in an attack."""


class Target(NamedTuple):
    """A service under attack, and the client that must be served meanwhile."""

    port: int
    token: str | None
    honest: Honest

    def authorization(self) -> list[str]:
        return [] if self.token is None else [f"Authorization: Bearer {self.token}"]

    def wait_until_served(self, more: int = 20) -> None:
        """Wait until the honest client has so many more decisions."""
        goal = self.honest.served + more
        wait_for(lambda: self.honest.served >= goal or bool(self.honest.failures), "decisions of the honest client", 30.0)


@contextmanager
def attacked(folder: Path, with_token: bool = False, memory: int = MEMORY) -> Iterator[Target]:
    """A service to attack. Afterwards its memory has not grown, it is ready and decides, and the honest client was served."""
    port, token, options = free_port(), None, []
    if with_token:
        tokens = folder / "tokens"
        scopes = "decide,reward,admin,read"
        token = run_command("token", str(tokens), "--name", "test", "--scopes", scopes).stdout.strip()
        options = ["--token-file", str(tokens)]
    with ServiceProcess(folder / "songs.rot", port, *options) as service:
        service.wait_until_ready()
        with closing(Client(port, token)) as client:
            assert client("PUT", "/v1/bandits/songs", {**SONGS, "max_pending": 1_000_000}).status == 201
            for path in ("/metrics", "/openapi.json", "/v1/bandits/songs/history"):  # what is made once
                assert client("GET", path).status == 200
        with Honest(port, token) as honest:
            target = Target(port, token, honest)
            target.wait_until_served()
            before = service.peak_memory
            yield target
            target.wait_until_served()
        assert honest.failures == []
        grown = service.peak_memory - before
        assert grown < memory, f"memory has grown by {grown / MEGABYTE:.0f} MiB"
        wait_for(service.is_ready, "ready after the attack", 20.0)
        with closing(Client(port, token)) as client:
            assert client("POST", DECISIONS).status == 200
        service.stop()


def statuses(responses: list[Response]) -> list[int]:
    return [each.status for each in responses]


# --- Requests that are sent ahead ---------------------------------------------------------------------------------------------


def test_requests_sent_ahead_of_a_decision_do_not_stop_the_writer(tmp_path: Path) -> None:
    with attacked(tmp_path) as target:
        found = exchange(target.port, request("POST", DECISIONS) + request("GET", "/nope") * 1_000, responses=1_001)
        assert statuses(found)[:1] == [200]
        assert set(statuses(found)[1:]) <= {404}


def test_all_requests_that_are_sent_ahead_are_answered(tmp_path: Path) -> None:
    with attacked(tmp_path) as target:
        found = exchange(target.port, request("POST", DECISIONS) + request("GET", "/livez") * 400, responses=401)
        assert statuses(found) == [200] * 401
        found = exchange(target.port, request("GET", "/livez") * 401, responses=401)
        assert statuses(found) == [200] * 401


# --- Trailers and headers -----------------------------------------------------------------------------------------------------


def chunked(target: str, trailers: str, *headers: str, host: str = "127.0.0.1") -> bytes:
    """Return a request with an empty object as body, in a chunk, and trailers."""
    head = request("POST", target, b"", *headers, "Content-Type: application/json", "Transfer-Encoding: chunked", host=host)
    return head + f"2\r\n{{}}\r\n0\r\n{trailers}\r\n".encode()


@pytest.mark.parametrize("megabytes", [1, 2])
@pytest.mark.parametrize("name", ["X", "X-{}"])
def test_megabytes_of_trailers_delay_nobody(tmp_path: Path, megabytes: int, name: str) -> None:
    line = f"{name}: {'x' * 80}\r\n"
    trailers = "".join(line.format(number) for number in range(megabytes * MEGABYTE // len(line)))
    with attacked(tmp_path) as target:
        found = exchange(target.port, chunked(DECISIONS, trailers), responses=1)
        assert set(statuses(found)) <= {200, 400, 413, 431}


def test_a_token_in_a_trailer_is_not_believed(tmp_path: Path) -> None:
    with attacked(tmp_path, with_token=True) as target:
        trailers = "".join(f"{each}\r\n" for each in target.authorization())
        found = exchange(target.port, chunked(DECISIONS, trailers), responses=1)
        assert found[0].status in {400, 401}
        wrong = exchange(target.port, chunked(DECISIONS, trailers, "Authorization: Bearer wrong"), responses=1)
        assert wrong[0].status in {400, 401}


def test_a_host_in_a_trailer_is_not_believed(tmp_path: Path) -> None:
    with attacked(tmp_path) as target:
        data = chunked(DECISIONS, f"Host: 127.0.0.1:{target.port}\r\n", host="evil.example")
        found = exchange(target.port, data, responses=1)
        assert found[0].status in {400, 403}


@pytest.mark.parametrize(
    "header", ["X: " + "x" * MEGABYTE, "\r\n".join(f"X-{k}: {k}" for k in range(50_000))], ids=["one", "many"]
)
def test_huge_headers_are_refused(tmp_path: Path, header: str) -> None:
    with attacked(tmp_path) as target:
        found = exchange(target.port, request("GET", "/livez", b"", header), responses=1)
        assert set(statuses(found)) <= {400, 431}


# --- Clients that do not read -------------------------------------------------------------------------------------------------


def test_responses_that_are_never_read_do_not_pile_up(tmp_path: Path) -> None:
    with attacked(tmp_path) as target, connections(target.port, 10, receive_buffer=4_096) as opened:
        send_what_fits(opened, request("GET", "/openapi.json") * 2_000)
        target.wait_until_served(100)


def test_event_readers_that_never_read_use_little_memory_and_free_their_places(tmp_path: Path) -> None:
    with attacked(tmp_path) as target:
        with connections(target.port, 100, receive_buffer=4_096) as opened:
            send_what_fits(opened, request("GET", "/v1/events"))
            with closing(Client(target.port)) as client:
                for _ in range(400):  # more events than buffers hold
                    assert client("POST", DECISIONS, {"count": 3}).status == 200
            target.wait_until_served(50)
        wait_for(lambda: can_watch(target.port), "a place for another watcher", 20.0)


def can_watch(port: int) -> bool:
    with connect(port, timeout=10.0) as connection:
        connection.sendall(request("GET", "/v1/events"))
        return connection.recv(12) == b"HTTP/1.1 200"


# --- Bodies -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("header", [(), ("Authorization: Bearer wrong",)], ids=["no token", "a wrong token"])
def test_bodies_without_a_valid_token_are_not_held_in_memory(tmp_path: Path, header: tuple[str, ...]) -> None:
    complete = request("POST", REWARDS, b"[" + b" " * (4 * MEGABYTE - 2) + b"]", *header)
    # The bodies have 1.2 GB. Of each connection the server holds what it received at once, 256 KiB, and 64 KiB of the body
    # before it stops reading: 94 MiB in all. The copies that parsing makes leave holes in the heap, as large as what is held.
    with attacked(tmp_path, with_token=True, memory=3 * MEMORY) as target, connections(target.port, 300) as opened:
        send_what_fits(opened, complete[: -MEGABYTE // 4])
        target.wait_until_served(20)
        statuses = {each.status for connection in opened[:20] for each in parse(receive(connection, 0.05))}
        assert statuses <= {401, 413, 429, 503}


def test_a_large_body_delays_nobody_and_is_answered(tmp_path: Path) -> None:
    body = b"[" + b",".join([b'{"id":"x","reward":1}'] * (4 * MEGABYTE // 23)) + b"]"
    with attacked(tmp_path, memory=2 * MEMORY) as target:  # it is decoded
        for _ in range(5):
            found = exchange(target.port, request("POST", REWARDS, body), responses=1)
            assert statuses(found) in ([422], [413])


# --- Slow and idle clients ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["headers", "body"])
def test_clients_that_send_byte_by_byte_delay_nobody(tmp_path: Path, part: str) -> None:
    data = request("POST", DECISIONS, b" " * 100_000, "X-Slow: yes")
    start = data.index(b"\r\n\r\n") + 4 if part == "body" else 0
    with attacked(tmp_path) as target, connections(target.port, 100) as opened:
        for connection in opened:
            connection.sendall(data[:start])
        for byte in data[start : start + 20]:
            for connection in opened:
                connection.sendall(bytes([byte]))
            time.sleep(0.02)
        target.wait_until_served(20)
        if STRESS:  # in the end the service closes the connections of clients that are too slow
            assert all(is_closed_slowly(connection) for connection in opened[:3])


def is_closed_slowly(connection: socket.socket) -> bool:
    """Send a byte a second for two minutes; return whether the service closes the connection."""
    deadline = time.monotonic() + 120.0
    connection.settimeout(1.0)
    while time.monotonic() < deadline:
        try:
            connection.sendall(b" ")
            if not connection.recv(4_096):
                return True
        except TimeoutError:
            continue
        except OSError:
            return True
    return False


def test_idle_connections_of_one_client_do_not_lock_others_out(tmp_path: Path) -> None:
    with attacked(tmp_path) as target, connections(target.port, 1_024, timeout=5.0):
        with Honest(target.port) as newcomer:  # from another address
            target.wait_until_served(50)
        assert newcomer.failures == []
        assert newcomer.served > 0


# --- Requests that are unusual, or none at all --------------------------------------------------------------------------------


def test_an_upgrade_with_a_body_is_one_request(tmp_path: Path) -> None:
    inner = request("GET", "/livez")
    upgrade = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: eA==")
    with attacked(tmp_path) as target:
        for headers in (upgrade, ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk")):
            found = exchange(target.port, request("POST", DECISIONS, inner, *headers), 3.0)
            assert len(found) == 1
            assert found[0].status in {400, 422}  # the body is no JSON, and it is a body


def test_an_absolute_uri_is_the_path_in_it(tmp_path: Path) -> None:
    with attacked(tmp_path) as target:
        base = f"http://127.0.0.1:{target.port}"
        assert statuses(exchange(target.port, request("GET", f"{base}/livez"), responses=1)) == [200]
        assert statuses(exchange(target.port, request("POST", base + DECISIONS), responses=1)) == [200]
        assert statuses(exchange(target.port, request("GET", f"{base}/nope"), responses=1)) == [404]


def test_an_old_client_is_answered_and_the_connection_closed(tmp_path: Path) -> None:
    with attacked(tmp_path) as target, connect(target.port) as connection:
        connection.sendall(request("GET", "/livez", version="1.0"))
        found = receive(connection)  # until the service closes it
        assert statuses(parse(found)) == [200]


def post(*headers: str, body: str = "") -> bytes:
    return "\r\n".join([f"POST {DECISIONS} HTTP/1.1", "Host: localhost", *headers, "", body]).encode()


GARBAGE = {
    "nothing": b"",
    "zeros": bytes(100_000),
    "line ends": b"\r\n" * 100_000,
    "TLS": bytes.fromhex("16030100c8010000c40303") + bytes(200),
    "random": random.Random(25).randbytes(100_000),
    "no version": b"GET /livez\r\n\r\n",
    "negative length": post("Content-Length: -1"),
    "two lengths": post("Content-Length: 2", "Content-Length: 3", body="{}"),
    "length and chunks": post("Content-Length: 5", "Transfer-Encoding: chunked", body="0\r\n\r\n"),
    "endless chunk": post("Transfer-Encoding: chunked", body="f" * 17 + "\r\n"),
    "long target": b"GET /" + b"x" * 1_000_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}


def test_garbage_is_refused(tmp_path: Path) -> None:
    with attacked(tmp_path) as target:
        for name, data in GARBAGE.items():
            found = exchange(target.port, data, 1.0, responses=1)
            assert all(400 <= each.status < 500 for each in found), (name, found)
        target.wait_until_served()


# --- All at a time ------------------------------------------------------------------------------------------------------------


def test_honest_clients_are_served_among_200_hostile_connections(tmp_path: Path) -> None:
    """In full ten minutes at 70 % of capacity: the 99th percentile is at most three times that without hostile clients."""
    if STRESS:
        found = soak(tmp_path, rounds=10, seconds=60.0, compiled=True)
    else:
        found = soak(tmp_path, rounds=1, seconds=2.0, rate=50.0)
    print(found.text())
    assert not any(each.calm.failed or each.hostile.failed for each in found.rounds)
    assert found.memory < 256 * MEGABYTE
    assert not STRESS or found.ratio <= 3.0
