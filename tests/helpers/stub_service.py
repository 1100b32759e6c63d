"""An HTTP server that responds as a test tells it to, for tests of the client."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Received(NamedTuple):
    """A request; `port` is that of the client's end of the connection."""

    method: str
    path: str
    body: Any
    port: int

    @property
    def bandit(self) -> str:
        return self.path.split("/")[3]

    @property
    def verb(self) -> str:
        return self.path.split("/")[4].partition("?")[0]


Response = tuple[int, Any] | bytes | None
"""Status and JSON; or the bytes to send before closing the connection; or None to close it without a response."""


def decisions(received: Received) -> Response:
    """Respond like the service, with decisions whose arm and id name the bandit that was asked."""
    if received.verb != "decisions":
        return 200, {"results": [{"id": "?", "outcome": "applied"}]}
    reason = {"index": None, "mean": None, "window": 0, "width": None, "pulls": 0, "pending": 0, "rule": ""}
    key = f"{received.bandit} {received.body['idempotency_key']}"
    made = {"id": key, "arm": received.bandit, "round": 1, "propensity": 1.0, "reason": reason}
    return 200, {"decisions": [made] * received.body.get("count", 1)}


class Stub:
    """A running server; `received` lists the requests in order of arrival."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.received: list[Received] = []
        self._arrived = threading.Condition()

    def add(self, received: Received) -> None:
        with self._arrived:
            self.received.append(received)
            self._arrived.notify_all()

    def wait(self, count: int) -> None:
        """Wait until `count` requests have arrived."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: len(self.received) >= count, 60)

    @property
    def cancelled_keys(self) -> list[str]:
        return [key for each in self.received if each.verb == "cancellations" for key in each.body["keys"]]

    @property
    def decided_keys(self) -> list[str]:
        return [each.body["idempotency_key"] for each in self.received if each.verb == "decisions"]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing when a client disconnects."""


@contextmanager
def stub_service(respond: Callable[[Received], Response]) -> Iterator[Stub]:
    """Run a server that responds with `respond(received)`, each connection in a thread."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _respond(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body = json.loads(content) if content else None
            received = Received(self.command, self.path, body, self.client_address[1])
            found.add(received)
            response = respond(received)
            if isinstance(response, tuple):
                content = json.dumps(response[1]).encode()
                self.send_response(response[0])
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
                return
            self.close_connection = True
            if response is not None:
                self.wfile.write(response)
                with suppress(OSError):
                    self.connection.shutdown(socket.SHUT_WR)

        do_GET = do_PUT = do_POST = do_DELETE = _respond  # noqa: N815 - the names that http.server looks for

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as http.server calls it
            """Log nothing."""

    with _Server(("127.0.0.1", 0), Handler) as server:
        found = Stub(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield found
        finally:
            server.shutdown()
            thread.join(60)
