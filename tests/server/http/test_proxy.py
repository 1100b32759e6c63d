"""The service behind nginx, with the configuration of the guide, and inside another ASGI application."""

import asyncio
import json
import socket
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.routing import Mount

from rotting.server.http.application import create_application
from rotting.server.http.tokens import new_token
from tests.helpers.blocks import blocks
from tests.helpers.nginx import nginx
from tests.helpers.ports import free_port
from tests.helpers.services import SONGS, Client, running

BANDIT = "/v1/bandits/songs"


def configured(port: int, behind: int) -> str:
    """Return the configuration of the guide, for a port of nginx and one of the service."""
    (text,) = [each.text for each in blocks("docs/guides/serving.md") if each.language == "nginx"]
    return text.replace("127.0.0.1:8080", f"127.0.0.1:{port}").replace("127.0.0.1:8000", f"127.0.0.1:{behind}")


def test_the_service_works_behind_nginx_as_the_guide_configures_it(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    token = new_token(tokens, "me", ["admin", "decide", "reward", "read"])
    with (
        running(tmp_path / "songs.rot", token_file=str(tokens)) as service,
        nginx(tmp_path, configured(port := free_port(), service.port), port),
    ):
        client = Client(port, token)
        assert client("PUT", BANDIT, SONGS).status == 201
        (made,) = client("POST", f"{BANDIT}/decisions").body["decisions"]
        assert client("POST", f"{BANDIT}/rewards", [{"id": made["id"], "reward": 1}]).status == 200
        assert client("GET", f"{BANDIT}/arms?search=a%2Fb").status == 200
        assert client("PUT", f"{BANDIT}/arms/a%2Fb").body["arms"][-1] == "a/b"
        assert client("POST", f"{BANDIT}/rewards", b"[" + b" " * (5 << 20) + b"]").status == 413
        with socket.create_connection(("127.0.0.1", port), timeout=30) as watcher:
            head = f"GET /v1/events?bandit=songs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
            watcher.sendall(head.encode())
            found = b""
            while b"retry: 1000" not in found:
                found += watcher.recv(65_536)
            other = Client(port, token)
            assert other("POST", f"{BANDIT}/decisions").status == 200
            while b"event: event" not in found:  # it is not buffered
                found += watcher.recv(65_536)
            other.close()
        client.close()


def test_one_client_cannot_take_all_connections_of_nginx(tmp_path: Path) -> None:
    with running(tmp_path / "songs.rot") as service, nginx(tmp_path, configured(port := free_port(), service.port), port):
        unfinished = b"POST /v1/bandits/a/rewards HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n["
        slow: list[socket.socket] = []
        try:
            deadline = time.monotonic() + 30.0
            with closing(Client(port)) as refused:
                while refused("GET", "/livez").status != 429:  # until none of the hundred connections is left
                    assert time.monotonic() < deadline
                    refused.close()
                    for _ in range(40):  # nginx ends those whose bodies it has waited for too long
                        slow.append(socket.create_connection(("127.0.0.1", port)))
                        slow[-1].sendall(unfinished)
                    time.sleep(0.05)
            direct = service.client()
            assert direct("GET", "/livez").status == 200  # the service does not notice
        finally:
            for each in slow:
                each.close()


def test_the_application_can_be_mounted(tmp_path: Path) -> None:
    inner = create_application(tmp_path / "songs.rot")
    outer = Starlette(routes=[Mount("/mine", app=inner)])

    async def use() -> list[Any]:
        made = await call(outer, "PUT", "/mine/v1/bandits/songs", json.dumps(SONGS).encode())
        decided = await call(outer, "POST", "/mine/v1/bandits/songs/decisions")
        page = await call(outer, "GET", "/mine/")
        await inner.state.service.stop()
        return [made[0], decided[0], json.loads(decided[1])["decisions"][0]["round"], page[0]]

    assert asyncio.run(use()) == [201, 200, 1, 200]


async def call(app: Any, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
    """Send a request to an application that no server runs."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    scope = {"type": "http", "method": method, "path": path, "root_path": "", "query_string": b"", "headers": headers}
    await app(scope, receive, send)
    return sent[0]["status"], b"".join(each.get("body", b"") for each in sent[1:])
