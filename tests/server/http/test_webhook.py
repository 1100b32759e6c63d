"""The webhook: what is told, that it is signed, and that it is repeated."""

import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

import rotting
from rotting.errors import InvalidValueError
from rotting.server.http.history import Histories
from rotting.server.http.observer import Observer
from rotting.server.http.webhook import Webhook
from rotting.server.store.database import open_database
from rotting.server.store.durable import create
from rotting.server.store.turns import FoldedBandit, Turns


class Receiver(HTTPServer):
    """Refuses the first request, and keeps the others."""

    def __init__(self) -> None:
        self.refused = 0
        self.received: list[tuple[str, bytes]] = []
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not self.server.refused:
            self.server.refused += 1
            self.send_response(503)
        else:
            self.server.received.append((self.headers["Rotting-Signature"], body))
            self.send_response(204)
        self.end_headers()

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as found:
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def test_what_wears_out_falls_silent_or_starves_is_told_once(tmp_path: Path, receiver: Receiver) -> None:
    turns = Turns(open_database(tmp_path / "songs.rot"), "never")
    create(turns, "songs", rotting.Uniform(), ["fading", "steady", "broken", "unseen"])
    webhook = Webhook(f"http://127.0.0.1:{receiver.server_port}/hook?a=1", "secret", pauses=(0.01, 0.01))
    observer = Observer(turns.database, Histories(turns.database, 60.0), webhook.tell)

    def work(folded: FoldedBandit) -> None:
        for k in range(50):
            for arm, rate in ("fading", 0.9 - 0.8 * turn / 29), ("steady", 0.5), ("broken", 0.5 if turn < 26 else 0.0):
                folded.bandit.reward(folded.bandit.decide([arm]), float((k * 37) % 100 < 100 * rate))

    for turn in range(30):  # all decisions of a turn have the same time
        turns.change("songs", work)
        if turn in {0, 29}:
            observer.look(at_once=True)
    until = time.monotonic() + 30
    while len(receiver.received) < 4 and time.monotonic() < until:  # the broken one has also worn out
        time.sleep(0.01)
    observer.look(at_once=True)
    webhook.close()
    turns.close()
    told = [json.loads(body) for _, body in receiver.received]
    assert {(each["bandit"], each["event"], each["arm"]) for each in told} >= {
        ("songs", "worn", "fading"), ("songs", "silent", "broken"), ("songs", "starved", "unseen"),
    }  # fmt: skip
    assert "steady" not in {each["arm"] for each in told}
    assert len({each["id"] for each in told}) == len(told)
    assert receiver.refused == 1
    for signature, body in receiver.received:
        assert signature == hmac.new(b"secret", body, hashlib.sha256).hexdigest()


def test_a_webhook_that_cannot_be_is_refused() -> None:
    for url in ("ftp://a", "songs", "http://", "http://a:b", "http://[::1", "http://a:99999", "http://a/\xe9", "http://a/ b"):
        with pytest.raises(InvalidValueError, match="^webhook must be an address that begins with http"):
            Webhook(url, "secret")
    with pytest.raises(InvalidValueError, match="^ROTTING_WEBHOOK_SECRET must hold the secret"):
        Webhook("https://example.com", "")
