"""A server whose every byte is written by a test, for tests of the client's connections."""

import json
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


class RawConnection:
    """A connection of a client; `number` counts the connections of a service from 0."""

    def __init__(self, sock: socket.socket, number: int) -> None:
        self.socket, self.number = sock, number
        self._rest = b""

    def request(self) -> bytes:
        """Return the next request; raises EOFError if the client closes the connection first."""
        while (head := self._rest.find(b"\r\n\r\n")) < 0:
            self._receive()
        length = re.search(rb"content-length: ([0-9]+)", self._rest[:head], re.IGNORECASE)
        end = head + 4 + (int(length[1]) if length else 0)
        while len(self._rest) < end:
            self._receive()
        request, self._rest = self._rest[:end], self._rest[end:]
        return request

    def _receive(self) -> None:
        data = self.socket.recv(65_536)
        if not data:
            raise EOFError
        self._rest += data

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def respond(self, request: bytes, extra: bytes = b"") -> None:
        """Send the response of `names` to a request, and then the bytes `extra`."""
        self.send(names(request) + extra)


def names(request: bytes) -> bytes:
    """Return the response to a request for the names of bandits: one name, equal to the parameter `after` of the request."""
    after = re.search(rb"after=([a-z0-9]*)", request)
    assert after is not None
    body = json.dumps({"bandits": [{"name": after[1].decode()}], "next": None}).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body


class RawService:
    """A running service; `connections` lists the connections that clients have opened."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.connections: list[RawConnection] = []


@contextmanager
def raw_service(
    serve: Callable[[RawConnection], None], tls: ssl.SSLContext | None = None, host: str = "127.0.0.1"
) -> Iterator[RawService]:
    """Run a server that calls `serve` for each connection, in a thread, and closes the connection when it returns."""
    threads: list[threading.Thread] = []
    family = socket.AF_INET6 if ":" in host else socket.AF_INET

    def work(sock: socket.socket, number: int) -> None:
        with suppress(OSError, EOFError):
            if tls is not None:
                sock = tls.wrap_socket(sock, server_side=True)
            with sock:
                connection = RawConnection(sock, number)
                service.connections.append(connection)
                serve(connection)
        sock.close()

    def accept() -> None:
        with suppress(OSError):
            while True:
                sock, _ = listener.accept()
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threads.append(threading.Thread(target=work, args=(sock, len(threads))))
                threads[-1].start()

    with socket.create_server((host, 0), family=family, backlog=256) as listener:
        service = RawService(listener.getsockname()[1])
        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield service
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            accepting.join(60)
            for connection in service.connections:
                with suppress(OSError):
                    connection.socket.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join(60)
