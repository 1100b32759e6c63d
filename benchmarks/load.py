"""A load generator: `python -m benchmarks.load PORT BANDIT CONNECTIONS SECONDS [keys]`.

Each connection asks for a decision, waits for the answer, and asks again; one more sends the rewards of all of them. It runs
beside the server on the same machine, so it must be light: sockets and `epoll`, a request made once, and of an answer only its
status, its length and the id.
"""

import itertools
import json
import secrets
import select
import socket
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

_FEWEST, _MOST = 100, 1_000  # rewards in one request


class Load(NamedTuple):
    """What the clients saw."""

    decisions: int
    failed: int  # answers that were not 200
    seconds: float
    median_ms: float
    p99_ms: float
    cpu_us: float  # of this process, for each decision


def post(path: str, body: bytes = b"") -> bytes:
    """Return a request."""
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def _is_whole(answer: bytes) -> bool:
    head = answer.find(b"\r\n\r\n")
    if head < 0:
        return False
    begin = answer.index(b"content-length: ") + 16
    return len(answer) >= head + 4 + int(answer[begin : answer.index(b"\r\n", begin)])


def _connected(port: int) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", port))
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return client


def _requests(bandit: str, with_keys: bool) -> Iterator[bytes]:
    """Yield requests for decisions; each with an idempotency key of its own, or all the same."""
    path = f"/v1/bandits/{bandit}/decisions"
    same, run = post(path), secrets.token_hex(4)
    for number in itertools.count():
        yield post(path, b'{"idempotency_key":"%b-%012d"}' % (run.encode(), number)) if with_keys else same


def run(port: int, bandit: str, connections: int, seconds: float, with_keys: bool = False) -> Load:
    """Keep so many requests for decisions running for so long."""
    requests = _requests(bandit, with_keys)
    poll = select.epoll()
    opened = [_connected(port) for _ in range(connections + 1)]
    clients = {client.fileno(): client for client in opened}
    for number in clients:
        poll.register(number, select.EPOLLIN)
    rewarder, free = opened[-1].fileno(), True
    ids: list[bytes] = []
    rest = dict.fromkeys(clients, b"")
    took: list[float] = []
    failed, began, cpu = 0, time.perf_counter(), time.process_time()
    sent = dict.fromkeys(clients, began)
    for client in opened[:-1]:
        client.sendall(next(requests))
    now, under_way = began, connections
    while under_way or ids or not free:  # in the end every decision has its reward
        ready = poll.poll(1.0)
        now = time.perf_counter()
        for number, _ in ready:
            answer = rest[number] + clients[number].recv(65_536)
            rest[number] = answer
            if not _is_whole(answer):
                continue
            rest[number] = b""
            failed += not answer.startswith(b"HTTP/1.1 200 ")
            if number == rewarder:
                free = True
                continue
            took.append(now - sent[number])
            sent[number] = now
            if now < began + seconds:
                clients[number].send(next(requests))
            else:
                under_way -= 1
            at = answer.index(b'"id":"') + 6
            ids.append(answer[at : answer.index(b'"', at)])
        if free and (len(ids) >= _FEWEST or (ids and not under_way)):
            body = b",".join(b'{"id":"%b","reward":%d}' % (each, each[0] % 2) for each in ids[:_MOST])
            clients[rewarder].sendall(post(f"/v1/bandits/{bandit}/rewards", b"[%b]" % body))
            free, ids = False, ids[_MOST:]
    cpu = time.process_time() - cpu
    for client in opened:
        client.close()
    took.sort()
    median, p99 = (took[int(share * (len(took) - 1))] * 1e3 for share in (0.5, 0.99))
    return Load(len(took), failed, now - began, median, p99, cpu / len(took) * 1e6)


if __name__ == "__main__":
    found = run(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), with_keys="keys" in sys.argv[5:])
    sys.stdout.write(json.dumps(found._asdict()) + "\n")
