"""The client against a service in a process of its own, over connections that break."""

import asyncio
import inspect
import math
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import rotting
from rotting.errors import InvalidTypeError, InvalidValueError, ServiceDeniedError, ServiceUnreachableError
from rotting.service import calls
from rotting.service.client import AsyncRemoteBandit, RemoteBandit
from rotting.service.routes import ROUTES, match
from rotting.service.tokens import Tokens, new_token
from tests.helpers.services import Running, running, said, serving

ARMS = ["jazz", "rock", "folk"]


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A service in a process."""
    with serving(tmp_path_factory.mktemp("client") / "songs.rot", 0) as process:
        yield int(said(process, "serving").split("http://127.0.0.1:")[1].split(",")[0])


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A bandit for each test."""
    return str(request.node.name)[:100].replace("[", "-").replace("]", "")


def at(port: int) -> str:
    return f"http://127.0.0.1:{port}"


class Breaking:
    """A line to a service that breaks: of each connection, so many bytes of the replies come through.

    Args:
        port: where the service is.
        bytes_: how many bytes of each connection; None: all.
    """

    def __init__(self, port: int, bytes_: list[int | None]) -> None:
        self._service, self._left = port, list(bytes_)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.cut = 0
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self._service))
            self._sockets += [near, far]
            limit = self._left.pop(0) if self._left else None
            for work in ((near, far, None), (far, near, limit)):
                self._threads.append(threading.Thread(target=self._pass, args=work))
                self._threads[-1].start()

    def _pass(self, source: socket.socket, target: socket.socket, limit: int | None) -> None:
        with suppress(OSError):
            while part := source.recv(65_536):
                if limit is not None:
                    part, limit = part[:limit], limit - len(part)
                    target.sendall(part)
                    if limit <= 0:
                        self.cut += 1
                        break
                else:
                    target.sendall(part)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._threads[0].join(30)
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(30)
        for each in self._sockets:
            each.close()


@contextmanager
def breaking(port: int, bytes_: list[int | None]) -> Iterator[Breaking]:
    found = Breaking(port, bytes_)
    try:
        yield found
    finally:
        found.close()


def events(client: rotting.Client, name: str) -> Counter[str]:
    return Counter(event.payload["event"] for event in client.bandit(name).log() if "event" in event.payload)


def test_every_verb(port: int, name: str) -> None:
    with rotting.Client(at(port)) as client:
        client.create(name, rotting.UCB1(sigma=0.5), arms=ARMS, seed=3)
        client.create(name, rotting.UCB1(sigma=0.5), arms=ARMS, seed=3)
        client.create(f"{name}.2", like=name, seed=4)
        assert {name, f"{name}.2"} <= set(client.bandits().names)
        assert client.bandits(limit=1).next == client.bandits(limit=1).names[0]
        bandit = client.bandit(name)
        here = rotting.Bandit(rotting.UCB1(sigma=0.5), arms=ARMS, seed=3)
        for k in range(20):  # as if it were here
            there, mine = bandit.decide(), here.decide()
            assert (there.arm, there.round, there.propensity) == (mine.arm, mine.round, mine.propensity)
            assert (there.reason.mean, there.reason.pulls) == pytest.approx((mine.reason.mean, mine.reason.pulls), nan_ok=True)
            assert bandit.reward(there.id, k % 3) == here.reward(mine.id, k % 3) == "applied"
        assert bandit.reward(there.id, 19 % 3) == "duplicate"
        assert bandit.reward_many([(there.id, 0.5), ("?", 1.0)]) == ["conflict", "unknown"]
        page = bandit.decide(["jazz", "rock"], count=2)
        assert sorted(str(each.arm) for each in page) == ["jazz", "rock"]
        assert bandit.decide(without=["jazz", "rock"]).arm == "folk"
        assert bandit.cancel(page[0].id) == "applied"
        assert bandit.expire(page[1].id, missing=0.0) == "applied"
        assert bandit.expire(older_than_rounds=0) == 0
        assert bandit.decide(key="mine").id == bandit.decide(key="mine").id
        with pytest.raises(InvalidValueError, match="^count must be"):
            bandit.decide(count=0)
        before, tried = bandit.log()[-1].number, bandit.decide(["jazz", "rock"], count=2, dry_run=True)
        assert [(each.id, each.round) for each in tried] == [("", 25), ("", 26)]
        assert bandit.decide(dry_run=True) == bandit.decide(dry_run=True)
        assert bandit.log()[-1].number == before
        bandit.add_arm("soul", prior=(0.5, 2))
        bandit.retire("folk")
        assert bandit.show()["retired"] == ["folk"]
        bandit.revive("folk")
        bandit.forget("folk")
        bandit.remove_arm("rock", keep=True)
        explained = bandit.explain()
        assert list(explained) == ["jazz", "soul"]
        assert explained["soul"].pulls == 2
        assert "jazz" in str(explained)
        log = bandit.log(limit=3)
        assert [event.bandit for event in log] == [name] * 3
        assert bandit.log(after=log[-1].number, limit=1)[0].number == log[-1].number + 1
        bandit.archive()
        with pytest.raises(InvalidValueError, match="which is archived"):
            bandit.decide()


def test_infinite_and_unknown_numbers_are_nan(port: int, name: str) -> None:
    with rotting.Client(at(port)) as client:
        client.create(name, rotting.UCB1(), arms=ARMS)
        assert math.isnan(client.bandit(name).explain()["jazz"].index)


def test_what_is_refused_names_the_field_the_rule_and_the_value(port: int, name: str) -> None:
    with rotting.Client(at(port)) as client:
        with pytest.raises(InvalidValueError, match=r"^bandit must be one that was made, got 'nobody'$"):
            client.bandit("nobody").decide()
        client.create(name, rotting.UCB1(), arms=ARMS)
        with pytest.raises(InvalidValueError, match=r"^allow must name arms of the bandit, got \"blues\"$"):
            client.bandit(name).decide(["blues"])
        with pytest.raises(InvalidValueError, match=r"^count must be at most 3, .*got 4$"):
            client.bandit(name).decide(count=4)
        assert events(client, name) == {}


@pytest.mark.parametrize("cut", [0, 1, 17, 100, 200])
def test_a_reply_that_is_cut_is_asked_for_again_and_there_is_one_decision(port: int, name: str, cut: int) -> None:
    with rotting.Client(at(port)) as sure:
        sure.create(name, rotting.UCB1(), arms=ARMS)
        with breaking(port, [cut, cut, None, cut, None]) as line:
            with rotting.Client(at(line.port), retries=9) as client:
                decision = client.bandit(name).decide()
            with rotting.Client(at(line.port), retries=9) as client:
                outcome = client.bandit(name).reward(decision.id, 0.5)
            assert line.cut == 3
        assert outcome == "duplicate"  # the first attempt was heard, and its reply was lost
        assert events(sure, name) == {"decided": 1, "rewarded": 1}
        assert sure.bandit(name).log()[0].payload["id"] == decision.id


def test_an_arm_whose_removal_was_not_confirmed_is_removed(port: int, name: str) -> None:
    with rotting.Client(at(port)) as sure, breaking(port, [20]) as line, rotting.Client(at(line.port)) as client:
        sure.create(name, rotting.UCB1(), arms=ARMS)
        client.bandit(name).retire("rock")
        assert line.cut == 1
        assert sure.bandit(name).show()["arms"] == ["jazz", "folk"]


def test_many_async_calls_over_a_line_that_breaks(port: int, name: str) -> None:
    async def work(line: int) -> list[str]:
        async with rotting.AsyncClient(at(line), retries=20) as client:
            bandit = client.bandit(name)
            await client.create(name, rotting.UCB1(), arms=ARMS)

            async def one() -> str:
                decision = await bandit.decide()
                assert await bandit.reward(decision.id, 0.25) in {"applied", "duplicate"}
                return decision.id

            ids = await asyncio.gather(*(one() for _ in range(30)))
            page = await bandit.decide(count=2)
            assert await bandit.cancel(page[0].id) in {"applied", "expired"}
            assert list(await bandit.explain()) == ARMS
            return [*ids, *(each.id for each in page)]

    with breaking(port, [None, *range(0, 250, 10)]) as line:
        ids = asyncio.run(work(line.port))
        assert line.cut >= 10
    with rotting.Client(at(port)) as client:
        decided = [event.payload["id"] for event in client.bandit(name).log() if event.payload.get("event") == "decided"]
        assert sorted(decided) == sorted(ids)


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = at(silent.getsockname()[1])
        told = "^the service gave no answer in 2 attempts: ReadTimeout"
        with (
            rotting.Client(address, timeout=0.05, retries=1) as client,
            pytest.raises(ServiceUnreachableError, match=told),
        ):
            client.bandits()
    with rotting.Client(address, retries=0) as client, pytest.raises(ServiceUnreachableError, match="1 attempts: ConnectError"):
        client.bandits()


def test_tokens(tmp_path: Path) -> None:
    token = new_token(tmp_path / "tokens", "reader", ["read"])
    found: Running
    with running(tmp_path / "songs.rot", tokens=Tokens.load(tmp_path / "tokens")) as found:
        with rotting.Client(at(found.port), token) as client:
            assert client.bandits().names == []
            with pytest.raises(ServiceDeniedError, match="^scope must be admin"):
                client.create("songs", rotting.UCB1(), arms=ARMS)
        with rotting.Client(at(found.port)) as client, pytest.raises(ServiceDeniedError, match="got no token$"):
            client.bandits()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [(("127.0.0.1",), InvalidValueError), ((8000,), InvalidTypeError), (("http://x", b"t"), InvalidTypeError)],
)
def test_wrong_arguments(arguments: tuple[Any, ...], error: type[Exception]) -> None:
    with pytest.raises(error, match="^(url|token) must be"):
        rotting.Client(*arguments)


def test_without_httpx_one_sentence_says_what_to_install() -> None:
    code = "import sys; sys.modules['httpx'] = None; import rotting; rotting.Client"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.stderr.splitlines()[-1] == (
        "rotting.errors.MissingExtraError: the client needs httpx: pip install 'rotting[service]'"
    )


@pytest.mark.parametrize("kind", [RemoteBandit, AsyncRemoteBandit])
def test_verbs_are_those_of_a_bandit(kind: type) -> None:
    verbs = ("decide", "reward", "reward_many", "cancel", "expire", "add_arm", "remove_arm", "retire", "revive", "forget")
    for verb in (*verbs, "explain"):
        here, there = (inspect.signature(getattr(each, verb)).parameters.values() for each in (rotting.Bandit, kind))
        wanted = [(each.name, each.kind, each.default) for each in here]
        assert [(each.name, each.kind, each.default) for each in there][: len(wanted)] == wanted, verb


def test_every_route_has_a_verb() -> None:
    asked: list[calls.Call[Any]] = [
        calls.create("n"),
        calls.bandits(),
        calls.show("n"),
        calls.archive("n"),
        calls.decide("n", None, None, None, None),
        calls.reward("n", [("id", 1.0)]),
        calls.cancel("n", "id"),
        calls.expire("n", "id", None, "drop"),
        calls.add_arm("n", "a"),
        calls.remove_arm("n", "a", keep=True),
        calls.explain("n"),
        calls.log("n"),
    ]
    found = {match(each.request.method, each.request.path.partition("?")[0])[0].handler for each in asked}
    for_pages, for_operators = {"show_history", "list_arms", "watch"}, {"live", "ready", "show_metrics", "show_openapi"}
    assert {route.handler for route in ROUTES} - found == for_pages | for_operators


def test_verbs_have_words_and_signatures() -> None:
    for kind in (rotting.Client, rotting.AsyncClient):
        assert "the same again does nothing" in (kind.create.__doc__ or "")
        assert list(inspect.signature(kind.create).parameters)[:4] == ["self", "name", "policy", "arms"]
