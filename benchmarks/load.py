"""A load generator: connections that each send a request, wait for the answer, and send the next; `python -m benchmarks.load`.

It runs beside the server on the same machine, so it must be light: sockets and `epoll`, the request made once, and of an answer
only its status and its length.
"""

import json
import select
import socket
import sys
import time
from typing import NamedTuple


class Load(NamedTuple):
    """What the clients saw."""

    requests: int
    failed: int  # answers that were not 200
    seconds: float
    median_ms: float
    p99_ms: float
    cpu_us: float  # of this process, for each request


def _whole(answer: bytes) -> int:
    """Return how many bytes the first answer has, or 0 if it is not there yet."""
    head = answer.find(b"\r\n\r\n")
    if head < 0:
        return 0
    begin = answer.index(b"content-length: ") + 16
    length = head + 4 + int(answer[begin : answer.index(b"\r\n", begin)])
    return length if len(answer) >= length else 0


def run(port: int, request: bytes, connections: int, seconds: float) -> Load:
    """Keep so many requests under way for so long."""
    poll = select.epoll()
    clients: dict[int, socket.socket] = {}
    sent, rest = {}, {}
    for _ in range(connections):
        client = socket.create_connection(("127.0.0.1", port))
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        clients[client.fileno()] = client
        poll.register(client.fileno(), select.EPOLLIN)
    began, cpu, failed = time.perf_counter(), time.process_time(), 0
    until, took = began + seconds, []
    for number, client in clients.items():
        sent[number], rest[number] = time.perf_counter(), b""
        client.sendall(request)
    while True:
        ready = poll.poll(1.0)
        now = time.perf_counter()
        for number, _ in ready:
            answer = rest[number] + clients[number].recv(65_536)
            if not _whole(answer):
                rest[number] = answer
                continue
            took.append(now - sent[number])
            failed += not answer.startswith(b"HTTP/1.1 200 ")
            sent[number], rest[number] = now, b""
            clients[number].send(request)
        if now >= until:
            break
    spent = time.perf_counter() - began
    cpu = time.process_time() - cpu
    for client in clients.values():
        client.close()
    took.sort()
    median, p99 = (took[int(share * (len(took) - 1))] * 1e3 for share in (0.5, 0.99))
    return Load(len(took), failed, spent, median, p99, cpu / len(took) * 1e6)


def post(path: str, body: bytes = b"") -> bytes:
    """Return a request."""
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


if __name__ == "__main__":
    port, path, connections, seconds = sys.argv[1:]
    sys.stdout.write(json.dumps(run(int(port), post(path), int(connections), float(seconds))._asdict()) + "\n")
