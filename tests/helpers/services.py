"""A service in a thread of the test, and clients that speak to it."""

import asyncio
import http.client
import json
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn

from rotting.server.http.application import create_application
from rotting.server.http.server import bind_socket
from rotting.server.http.service import Service
from rotting.server.store.database import Durability
from rotting.server.store.turns import FoldedBandit

SONGS = {"policy": "ucb1", "params": {"sigma": 0.5}, "arms": ["jazz", "rock", "folk"]}


class Response(NamedTuple):
    status: int
    body: Any
    headers: dict[str, str]


class Client:
    """A client that sends and receives JSON on one connection."""

    def __init__(self, port: int, token: str | None = None, timeout: float = 30.0) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
        self._token = token

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Response:
        """Send a request, and return the response; a body of bytes is sent as it is."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self._token is not None:
            sent.setdefault("Authorization", f"Bearer {self._token}")
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        if content is not None:
            sent.setdefault("Content-Type", "application/json")
        self._connection.request(method, path, content, sent)
        response = self._connection.getresponse()
        text = response.read()
        found = {name.lower(): value for name, value in response.getheaders()}
        is_json = found.get("content-type", "").endswith("json")
        return Response(response.status, json.loads(text) if is_json and text else text, found)

    def close(self) -> None:
        self._connection.close()


class Running:
    """A running service."""

    def __init__(self, service: Service, port: int) -> None:
        self.service, self.port = service, port
        self._clients: list[Client] = []

    def client(self, token: str | None = None) -> Client:
        self._clients.append(Client(self.port, token))
        return self._clients[-1]

    def close_clients(self) -> None:
        for client in self._clients:
            client.close()

    def raw(self, data: bytes, until_closed: bool = False) -> bytes:
        """Send bytes; return all that arrives until the service closes the connection.

        Unless `until_closed` is true, the client first closes its own side, so that the service expects no more requests.
        """
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            connection.sendall(data)
            if not until_closed:
                connection.shutdown(socket.SHUT_WR)
            found = b""
            with suppress(ConnectionResetError):
                while part := connection.recv(65_536):
                    found += part
            return found


@contextmanager
def running(place: str | Path, *, port: int = 0, durability: Durability = "disk", **options: Any) -> Iterator[Running]:
    """Run a service on a store."""
    socket_ = bind_socket("127.0.0.1", port)
    application = create_application(place, durability=durability, **options)
    options = {"timeout_graceful_shutdown": 5, "timeout_keep_alive": 75}
    config = uvicorn.Config(application, ws="none", log_config=None, access_log=False, **options)
    server = uvicorn.Server(config)
    failed: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(server.serve([socket_]))
        except BaseException as error:
            failed.append(error)
            raise

    thread = threading.Thread(target=run)
    thread.start()
    try:
        while not (server.started or failed):
            time.sleep(0.005)
        assert not failed
        found = Running(application.state.service, socket_.getsockname()[1])
        try:
            yield found
        finally:
            found.close_clients()
    finally:
        server.should_exit = True
        thread.join(60)
        assert not thread.is_alive()
        assert not failed


@contextmanager
def service_process(
    path: str | Path, port: int, *arguments: str, program: tuple[str, ...] = ("-m", "rotting")
) -> Iterator["subprocess.Popen[str]"]:
    """Run a service in a process of its own; kill it when the context ends."""
    command = [sys.executable, *program, "serve", str(path), "--port", str(port), *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as found:
        try:
            yield found
        finally:
            found.kill()


def wait_for_line(running: "subprocess.Popen[str]", pattern: str) -> str:
    """Return the first line on standard error that matches a pattern; fail if the process ends without one."""
    assert running.stderr is not None
    lines = []
    for line in running.stderr:
        lines.append(line)
        if re.search(pattern, line):
            return line
    raise AssertionError(f"{pattern!r} is not in the output: {lines}")


def wear_out(service: "Running", name: str, fading: str, steady: str) -> None:
    """Play two arms of a bandit in turn: the clicks of one become rare, those of the other do not."""

    def work(turn: int, folded: FoldedBandit) -> None:
        for k in range(50):
            for arm, rate in (fading, 0.9 - 0.8 * turn / 29), (steady, 0.5):
                folded.bandit.reward(folded.bandit.decide([arm]), float((k * 37) % 100 < 100 * rate))

    for turn in range(30):  # all decisions of a turn have the same time
        service.service.turns.change(name, partial(work, turn))
    turns, observer = service.service.turns, service.service.observer
    record, last = turns.read(name, lambda folded: (folded.record, folded.number))
    while (found := observer.verdicts(record)) is None or found.number < last:  # a look reads as much as there is time for
        observer.look(at_once=True)
