"""A TCP proxy between servers and their database, which cuts connections while a transaction commits."""

import socket
import threading
import time
from contextlib import suppress
from typing import Literal

Moment = Literal["before", "during", "after"]
"""When a connection is cut: before the database gets the message that commits, with it, or after its answer."""


class Proxy:
    """Passes connections on to a port, which may change.

    Args:
        target: the port of the database.
    """

    def __init__(self, target: int) -> None:
        self.target = target
        self.cuts: list[Moment] = []
        """When to cut the connections of the next transactions; each is used once."""
        self._open: set[socket.socket] = set()
        self._mutex = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(("127.0.0.1", self.target), timeout=5)
        except OSError:
            client.close()
            return
        server.settimeout(None)
        for each in (client, server):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._mutex:
            self._open |= {client, server}
        answer = threading.Thread(target=self._answer, args=(server, client), daemon=True)
        answer.start()
        with suppress(OSError):
            while data := client.recv(65_536):
                moment = self._moment() if b"COMMIT" in data else None
                if moment == "before":
                    break
                if moment == "after":  # the answer is lost, though there is one
                    with self._mutex:
                        self._open.discard(client)
                    client.shutdown(socket.SHUT_WR)
                    server.sendall(data)
                    time.sleep(0.05)
                    break
                server.sendall(data)
                if moment == "during":
                    break
        self._end(client, server)
        answer.join()
        client.close()
        server.close()

    def _answer(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(65_536):
                client.sendall(data)
        self._end(client, server)

    def _moment(self) -> Moment | None:
        with self._mutex:
            return self.cuts.pop() if self.cuts else None

    def _end(self, *ends: socket.socket) -> None:
        with self._mutex:
            self._open -= set(ends)
        for each in ends:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def cut_all(self) -> None:
        """Cut all connections now."""
        with self._mutex:
            ends = list(self._open)
        self._end(*ends)

    def close(self) -> None:
        """Accept no more connections, and cut those that are open."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut_all()
