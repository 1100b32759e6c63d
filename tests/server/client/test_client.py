"""The client against a service in a process of its own, over connections that break."""

import asyncio
import gc
import inspect
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import rotting
from rotting.errors import (
    InvalidValueError,
    RottingError,
    ServiceDeniedError,
    ServiceError,
    ServiceUnreachableError,
)
from rotting.server.client import retries
from rotting.server.client.client import AsyncRemoteBandit, RemoteBandit
from rotting.server.http.routes import ROUTES
from rotting.server.http.tokens import new_token
from tests.helpers.calls import bandits, call_of, create
from tests.helpers.services import Running, running, service_process, wait_for_line
from tests.helpers.stub_service import Received, Response, Stub, decisions, stub_service

if TYPE_CHECKING:
    from rotting.server.client.retries import ClientCall

ARMS = ["jazz", "rock", "folk"]


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A service in a process."""
    with service_process(tmp_path_factory.mktemp("client") / "songs.rot", 0) as process:
        yield int(wait_for_line(process, "serving").split("http://127.0.0.1:")[1].split(",")[0])


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses are tested on a fake clock, in `test_retries`."""
    monkeypatch.setattr(retries, "PAUSE_UNIT", 0.01)


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A bandit for each test."""
    return str(request.node.name)[:100].replace("[", "-").replace("]", "")


def url_of(port: int) -> str:
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


def test_remote_bandits_behave_as_local_ones(port: int, name: str) -> None:
    with rotting.Client(url_of(port)) as client:
        client.create(name, rotting.UCB1(sigma=0.5), arms=ARMS, seed=3)
        client.create(name, rotting.UCB1(sigma=0.5), arms=ARMS, seed=3)
        client.create(f"{name}.2", rotting.UCB1(sigma=0.5), arms=ARMS, seed=4, keep="90d")
        assert client.bandit(f"{name}.2").show()["keep"] == 90 * 86_400
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
        bandit.retire("rock")
        explained = bandit.explain()
        assert list(explained) == ["jazz", "soul"]
        assert explained["soul"].pulls == 2
        assert "jazz" in str(explained)
        log = bandit.log(limit=3)
        assert [(event.number, event.caller) for event in log] == [(1, ""), (2, ""), (3, "")]
        assert bandit.log(after=log[-1].number, limit=1)[0].number == log[-1].number + 1
        bandit.archive()
        with pytest.raises(InvalidValueError, match="which is archived"):
            bandit.decide()


def test_what_is_refused_names_the_field_the_rule_and_the_value(port: int, name: str) -> None:
    with rotting.Client(url_of(port)) as client:
        with pytest.raises(InvalidValueError, match=r"^bandit must exist, got 'nobody'$"):
            client.bandit("nobody").decide(fallback=["jazz"])
        client.create(name, rotting.UCB1(), arms=ARMS)
        bandit, long = client.bandit(name), "x" * 101
        with pytest.raises(InvalidValueError, match=r"^arm must be one of 'jazz', .*, got .*blues"):
            bandit.decide(["blues"], fallback=["jazz"])
        with pytest.raises(InvalidValueError, match=r"^count must be at most 3, .*got 4$"):
            bandit.decide(count=4)
        refused: list[Callable[[str], object]] = [lambda id: bandit.reward(id, 1.0), bandit.cancel, bandit.expire]
        for call in refused:
            with pytest.raises(InvalidValueError, match=r"^id must be a string of length <= 100, got"):
                call(long)
        with pytest.raises(InvalidValueError, match="^id, older_than_rounds or older_than must be given, and only one"):
            bandit.expire()
        with pytest.raises(InvalidValueError, match=r"^rewards\[2\].id must be a string of length <= 100, got"):
            bandit.reward_many([("a", 1.0), ("", 1.0), (long, 1.0)])
        assert events(client, name) == {}


@pytest.mark.parametrize("cut", [0, 1, 17, 100, 200])
def test_a_reply_that_is_cut_is_asked_for_again_and_there_is_one_decision(port: int, name: str, cut: int) -> None:
    with rotting.Client(url_of(port)) as sure:
        sure.create(name, rotting.UCB1(), arms=ARMS)
        with breaking(port, [cut, cut, None, cut, None]) as line:
            with rotting.Client(url_of(line.port), retries=9) as client:
                decision = client.bandit(name).decide()
            with rotting.Client(url_of(line.port), retries=9) as client:
                outcome = client.bandit(name).reward(decision.id, 0.5)
            assert line.cut == 3
        assert outcome == "duplicate"  # the first attempt succeeded, and its response was lost
        assert events(sure, name) == {"decided": 1, "rewarded": 1}
        assert sure.bandit(name).log()[0].payload["id"] == decision.id


def test_an_arm_whose_removal_was_not_confirmed_is_removed(port: int, name: str) -> None:
    with rotting.Client(url_of(port)) as sure, breaking(port, [20]) as line, rotting.Client(url_of(line.port)) as client:
        sure.create(name, rotting.UCB1(), arms=ARMS)
        client.bandit(name).retire("rock")
        assert line.cut == 1
        assert sure.bandit(name).show()["arms"] == ["jazz", "folk"]


def test_many_async_calls_over_a_line_that_breaks(port: int, name: str) -> None:
    async def work(line: int) -> list[str]:
        async with rotting.AsyncClient(url_of(line), retries=20) as client:
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
    with rotting.Client(url_of(port)) as client:
        decided = [event.payload["id"] for event in client.bandit(name).log() if event.payload.get("event") == "decided"]
        assert sorted(decided) == sorted(ids)


def test_a_client_without_the_token_or_scope_is_denied(tmp_path: Path) -> None:
    token = new_token(tmp_path / "tokens", "reader", ["read"])
    found: Running
    with running(tmp_path / "songs.rot", token_file=str(tmp_path / "tokens")) as found:
        with rotting.Client(url_of(found.port), token) as client:
            assert client.bandits().names == []
            with pytest.raises(ServiceDeniedError, match="^scope must be admin"):
                client.create("songs", rotting.UCB1(), arms=ARMS)
        with rotting.Client(url_of(found.port)) as client, pytest.raises(ServiceDeniedError, match="got no token$"):
            client.bandits()


@pytest.mark.parametrize("name", ["timeout", "deadline", "retries"])
def test_wrong_limits(name: str) -> None:
    limits: dict[str, Any] = {name: -1}
    for kind in (rotting.Client, rotting.AsyncClient):
        with pytest.raises(InvalidValueError, match=f"^{name} must be"):
            kind("http://x", **limits)


def test_the_client_needs_its_extra_and_no_other() -> None:
    others = ("apsw", "h11", "httptools", "httpx", "prometheus_client", "starlette", "uvicorn", "uvloop")
    start = "import sys; sys.modules.update(dict.fromkeys(sys.argv[1:])); import rotting; rotting."
    subprocess.run([sys.executable, "-c", f"{start}Client; rotting.AsyncClient", *others], check=True)
    failed = subprocess.run([sys.executable, "-c", f"{start}Client", "pyreqwest"], capture_output=True, text=True, check=False)
    assert "MissingExtraError: the client needs pyreqwest and msgspec: pip install 'rotting[client]'" in failed.stderr


@pytest.mark.parametrize("kind", [RemoteBandit, AsyncRemoteBandit])
def test_verbs_are_those_of_a_bandit(kind: type) -> None:
    verbs = ("decide", "reward", "reward_many", "cancel", "expire", "add_arm", "remove_arm", "retire", "revive", "forget")
    for verb in (*verbs, "explain"):
        here, there = (inspect.signature(getattr(each, verb)).parameters.values() for each in (rotting.Bandit, kind))
        wanted = [(each.name, each.kind, each.default) for each in here]
        assert [(each.name, each.kind, each.default) for each in there][: len(wanted)] == wanted, verb


def test_every_route_has_a_method() -> None:
    made: list[ClientCall[Any]] = [
        create("n", rotting.UCB1(), ["a"]),
        bandits(),
        call_of(lambda bandit: bandit.show()),
        call_of(lambda bandit: bandit.archive()),
        call_of(lambda bandit: bandit.delete()),
        call_of(lambda bandit: bandit.decide()),
        call_of(lambda bandit: bandit.reward("id", 1.0)),
        call_of(lambda bandit: bandit.cancel("id")),
        call_of(lambda bandit: bandit.expire("id")),
        call_of(lambda bandit: bandit.add_arm("a")),
        call_of(lambda bandit: bandit.remove_arm("a")),
        call_of(lambda bandit: bandit.explain()),
        call_of(lambda bandit: bandit.learn([("a", 1.0)])),
        call_of(lambda bandit: bandit.change(alpha=1.0)),
        call_of(lambda bandit: bandit.pause("a")),
        call_of(lambda bandit: bandit.resume("a")),
        call_of(lambda bandit: bandit.uplift()),
        call_of(lambda bandit: bandit.log()),
    ]
    requests = [each.request for each in made if each.request is not None]
    patterns = [(route, re.compile(re.sub(r"{\w+}", "[^/]+", route.path))) for route in ROUTES if not route.is_page]
    found = {
        route.operation
        for each in requests
        for route, pattern in patterns
        if each.method == route.method and pattern.fullmatch(each.path.partition("?")[0])
    }
    for_pages, for_operators = {"show_history", "list_arms", "watch"}, {"live", "ready", "show_metrics", "show_openapi"}
    assert {route.operation for route, _ in patterns} - found == for_pages | for_operators


def test_methods_have_docstrings_and_signatures() -> None:
    for kind in (rotting.Client, rotting.AsyncClient):
        assert "Repeating the call changes nothing" in (kind.create.__doc__ or "")
        assert list(inspect.signature(kind.create).parameters)[:4] == ["self", "name", "policy", "arms"]


# --- Forks --------------------------------------------------------------------------------------------------------------------

forking = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
forks_among_threads = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


def start_child(work: Callable[[], bool]) -> int:
    """Fork a process that ends with status 0 if the work returns True; a child that hangs is killed."""
    process = os.fork()
    if process == 0:
        status = 1
        try:
            signal.alarm(60)
            status = 0 if work() else 1
        finally:
            os._exit(status)
    return process


def all_succeeded(processes: list[int]) -> bool:
    return [os.waitpid(each, 0)[1] for each in processes] == [0] * len(processes)


def respond_slowly(received: Received) -> Response:
    """Respond after a moment, so that requests of different processes overlap."""
    time.sleep(0.001)
    return decisions(received)


def gets_its_own_responses(client: rotting.Client, name: str, count: int = 60) -> bool:
    return all(client.bandit(name).decide().arm == name for _ in range(count))


@forking
@forks_among_threads
def test_forked_processes_get_their_own_responses() -> None:
    with stub_service(respond_slowly) as stub, rotting.Client(stub.url, timeout=20.0, retries=0) as client:
        assert gets_its_own_responses(client, "parent", 1)

        def work(name: str) -> bool:
            found = gets_its_own_responses(client, name)
            client.close()
            return found

        children = [start_child(lambda name=f"child-{k}": work(name)) for k in range(4)]  # type: ignore[misc]
        mine = gets_its_own_responses(client, "parent")
        assert all_succeeded(children)
        assert mine
        assert gets_its_own_responses(client, "parent", 1)
    assert len(stub.received) == 302
    ports = {(each.bandit, each.port) for each in stub.received}
    assert len(ports) == len({port for _, port in ports})  # no connection has carried requests of two processes


@forking
@forks_among_threads
def test_a_grandchild_can_connect_unless_its_parents_both_did() -> None:
    with stub_service(respond_slowly) as stub, rotting.Client(stub.url, timeout=20.0, retries=0) as client:
        assert gets_its_own_responses(client, "parent", 1)

        def is_refused() -> bool:
            with pytest.raises(ServiceError, match="^the client cannot connect in a process whose parent and grandparent did"):
                client.bandit("grandchild").decide(fallback=["a"])
            return True

        def child() -> bool:
            before = all_succeeded([start_child(lambda: gets_its_own_responses(client, "grandchild"))])
            mine = gets_its_own_responses(client, "child")
            return before and mine and all_succeeded([start_child(is_refused)])

        assert all_succeeded([start_child(child)])


@forking
@forks_among_threads
def test_a_client_that_threads_use_can_be_forked_at_any_moment() -> None:
    with stub_service(respond_slowly) as stub, rotting.Client(stub.url, timeout=20.0, retries=0) as client:
        with ThreadPoolExecutor(12) as pool:  # more connections than the threads below need: some are idle when it forks
            assert all(pool.map(lambda _: gets_its_own_responses(client, "warm-up", 10), range(12)))
        stop, wrong = threading.Event(), []

        def keep_calling(name: str) -> None:
            while not stop.is_set():
                if not gets_its_own_responses(client, name, 1):
                    wrong.append(name)

        threads = [threading.Thread(target=keep_calling, args=(f"thread-{k}",)) for k in range(4)]
        for thread in threads:
            thread.start()
        stub.wait(140)

        def work(name: str) -> bool:
            found: list[bool] = []
            mine = [threading.Thread(target=lambda: found.append(gets_its_own_responses(client, name, 10))) for _ in range(3)]
            for thread in mine:
                thread.start()
            for thread in mine:
                thread.join()
            return found == [True] * 3

        children = [start_child(lambda name=f"child-{k}": work(name)) for k in range(6)]  # type: ignore[misc]
        succeeded = all_succeeded(children)
        stop.set()
        for thread in threads:
            thread.join(60)
        assert succeeded
        assert wrong == []


async def async_gets_its_own_responses(client: rotting.AsyncClient, name: str, count: int = 60) -> bool:
    bandit = client.bandit(name)
    return all(each.arm == name for each in await asyncio.gather(*(bandit.decide() for _ in range(count))))


@forking
@forks_among_threads
def test_forked_processes_with_event_loops_of_their_own_get_their_own_responses() -> None:
    with stub_service(respond_slowly) as stub:
        client = rotting.AsyncClient(stub.url, timeout=20.0, retries=0)

        async def work(name: str) -> bool:
            async with client:
                return await async_gets_its_own_responses(client, name)

        loop = asyncio.new_event_loop()
        try:
            assert loop.run_until_complete(async_gets_its_own_responses(client, "parent"))
            children = [start_child(lambda name=f"child-{k}": asyncio.run(work(name))) for k in range(4)]  # type: ignore[misc]
            mine = loop.run_until_complete(async_gets_its_own_responses(client, "parent"))
            assert all_succeeded(children)
            assert mine
            loop.run_until_complete(client.close())
        finally:
            loop.close()


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_an_async_client_may_be_used_in_one_event_loop_after_another() -> None:
    with stub_service(decisions) as stub:
        client = rotting.AsyncClient(stub.url, retries=0)
        for _ in range(3):
            assert asyncio.run(async_gets_its_own_responses(client, "songs", 2))
        asyncio.run(client.close())
        gc.collect()  # the connections of the loops that are closed


# --- Calls that are given up --------------------------------------------------------------------------------------------------


@contextmanager
def stuck_service(before: Callable[[], object] = lambda: None) -> Iterator[Stub]:
    """A service that makes decisions and never says so; `before` is called when a request for one has arrived."""
    end = threading.Event()

    def respond(received: Received) -> Response:
        if received.verb != "decisions":
            return decisions(received)
        before()
        end.wait(60)
        return None

    with stub_service(respond) as stub:
        try:
            yield stub
        finally:
            end.set()


async def time_out(bandit: AsyncRemoteBandit, stub: Stub) -> None:
    """Ask for 20 decisions; the time is up when all requests have arrived."""
    async with asyncio.timeout(None) as limit:
        waiting = asyncio.gather(*(bandit.decide() for _ in range(20)))
        await asyncio.to_thread(stub.wait, 20)
        limit.reschedule(0.0)
        await waiting


@pytest.mark.parametrize("how", ["cancel", "timeout"])
def test_cancelled_async_decisions_are_cancelled_on_the_service(how: str) -> None:
    async def give_up(client: rotting.AsyncClient, stub: Stub) -> None:
        bandit = client.bandit("songs")
        if how == "timeout":
            with pytest.raises(TimeoutError):
                await time_out(bandit, stub)
            return
        tasks = [asyncio.create_task(bandit.decide()) for _ in range(20)]
        await asyncio.to_thread(stub.wait, 20)
        for task in tasks:
            task.cancel()
        for task in tasks:
            with pytest.raises(asyncio.CancelledError):
                await task

    async def work(stub: Stub) -> None:
        async with rotting.AsyncClient(stub.url) as client:
            await give_up(client, stub)

    with stuck_service() as stub:
        asyncio.run(work(stub))
        assert len(stub.decided_keys) == 20
        assert sorted(stub.cancelled_keys) == sorted(stub.decided_keys)


def test_a_cancelled_decision_with_a_key_of_the_caller_stays() -> None:
    async def work(stub: Stub) -> None:
        async with rotting.AsyncClient(stub.url) as client:
            task = asyncio.create_task(client.bandit("songs").decide(key="mine"))
            await asyncio.to_thread(stub.wait, 1)
            task.cancel()
            await asyncio.wait([task])

    with stuck_service() as stub:
        asyncio.run(work(stub))
        assert [each.verb for each in stub.received] == ["decisions"]


def test_closing_does_not_wait_for_cleanups_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rotting.server.client.transport._CLOSING", 0.1)
    end = threading.Event()

    def respond(received: Received) -> Response:
        end.wait(60)
        return None

    async def work(stub: Stub) -> None:
        async with rotting.AsyncClient(stub.url) as client:
            task = asyncio.create_task(client.bandit("songs").decide())
            await asyncio.to_thread(stub.wait, 1)
            task.cancel()
            await asyncio.wait([task])
        assert asyncio.all_tasks() == {asyncio.current_task()}

    with stub_service(respond) as stub:
        began = time.monotonic()
        asyncio.run(work(stub))
        with rotting.Client(stub.url, deadline=0.1) as client, pytest.raises(ServiceUnreachableError):
            client.bandit("songs").decide()
        assert time.monotonic() - began < 5.0
        end.set()


def test_no_more_cleanups_are_started_than_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rotting.server.client.transport._MAX_CLEANUPS", 2)
    given_up = threading.Event()  # before that, no cleanup ends and makes room for another one

    def respond(received: Received) -> Response:
        given_up.wait(60)
        return None if received.verb == "decisions" else decisions(received)

    async def work(stub: Stub) -> None:
        async with rotting.AsyncClient(stub.url, deadline=0.1) as client:
            await asyncio.gather(*(client.bandit("songs").decide(fallback=["a"]) for _ in range(10)))
            given_up.set()

    with stub_service(respond) as stub:
        asyncio.run(work(stub))
        assert (len(stub.decided_keys), len(set(stub.cancelled_keys))) == (10, 2)  # each may be tried again


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let SIGINT raise KeyboardInterrupt, also where a shell runs the tests in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="there are no signals for threads")
def test_an_interrupted_decision_is_cancelled_on_the_service(interruptible: None) -> None:
    main = threading.main_thread().ident
    assert threading.get_ident() == main

    def interrupt() -> None:
        signal.pthread_kill(main, signal.SIGINT)

    with stuck_service(interrupt) as stub:
        began = time.monotonic()
        with rotting.Client(stub.url) as client:
            with pytest.raises(KeyboardInterrupt):
                client.bandit("songs").decide(key="mine")
            with pytest.raises(KeyboardInterrupt):
                client.bandit("songs").decide()
        assert time.monotonic() - began < 5.0
        assert len(stub.decided_keys) == 2
        assert stub.cancelled_keys == stub.decided_keys[1:]


def in_this_thread(work: Callable[[], float]) -> float:
    return work()


def in_another_thread(work: Callable[[], float]) -> float:
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(work).result(60)


@pytest.mark.parametrize("run", [in_this_thread, in_another_thread])
def test_a_call_returns_at_its_deadline_and_its_decision_is_cancelled_afterwards(run: Callable[..., float]) -> None:
    message = r"within the deadline of 0.1 s \(1 attempt\); no response: no complete response within 0\.\d+ s$"

    def work() -> float:
        with pytest.raises(ServiceUnreachableError, match=message):
            bandit.decide()
        began = time.monotonic()
        chosen, page = bandit.decide(fallback=ARMS), bandit.decide(count=3, fallback=ARMS)
        took = time.monotonic() - began
        assert (chosen.id, chosen.round, chosen.arm in ARMS) == ("", 0, True)
        assert sorted(str(each.arm) for each in page) == sorted(ARMS)
        assert bandit.reward(chosen, 1.0) == "unknown"
        return took

    with stuck_service() as stub:
        with rotting.Client(stub.url, deadline=0.1) as client:
            bandit = client.bandit("songs")
            assert 0.2 <= run(work) < 0.7
        assert len(stub.decided_keys) == 3
        assert sorted(stub.cancelled_keys) == sorted(stub.decided_keys)


def test_an_awaited_call_returns_at_its_deadline_and_its_decision_is_cancelled_afterwards() -> None:
    async def work(stub: Stub) -> float:
        async with rotting.AsyncClient(stub.url, deadline=0.1) as client:
            bandit = client.bandit("songs")
            with pytest.raises(ServiceUnreachableError, match=r"within the deadline of 0.1 s \(1 attempt\); no response: "):
                await bandit.decide()
            began = time.monotonic()
            chosen, page = await bandit.decide(fallback=ARMS), await bandit.decide(count=3, fallback=ARMS)
            took = time.monotonic() - began
            assert (chosen.id, chosen.arm in ARMS, {each.id for each in page}) == ("", True, {""})
            assert await bandit.reward_many([(chosen, 1.0)]) == ["unknown"]
            return took

    with stuck_service() as stub:
        assert 0.2 <= asyncio.run(work(stub)) < 0.7
        assert sorted(stub.cancelled_keys) == sorted(stub.decided_keys)


def test_the_wait_that_a_busy_service_asks_for_is_honoured() -> None:
    times: list[float] = []

    def respond(received: Received) -> Response:
        times.append(time.monotonic())
        busy = b"HTTP/1.1 503 No\r\nRetry-After: 1\r\nContent-Length: 18\r\n\r\n" + b'{"detail": "full"}'
        return busy if len(times) == 1 else decisions(received)

    with stub_service(respond) as stub, rotting.Client(stub.url, deadline=3.0) as client:
        assert client.bandit("songs").decide().arm == "songs"
        assert times[1] - times[0] >= 1.0
        times.clear()
        with pytest.raises(ServiceUnreachableError, match=r"1 attempt\); last response: status 503: full$"):
            rotting.Client(stub.url, deadline=0.9).bandit("songs").decide()
        assert len(set(stub.decided_keys[:2])) == 1


def test_a_program_that_ends_right_after_a_call_is_not_aborted() -> None:
    code = """
import asyncio, sys, rotting
async def main():
    client = rotting.AsyncClient(sys.argv[1])
    await asyncio.gather(*(client.bandit("songs").decide() for _ in range(20)))
asyncio.run(main())
"""
    with stub_service(decisions) as stub:
        for _ in range(5):
            subprocess.run([sys.executable, "-c", code, stub.url], check=True)


# --- Answers of other programs ------------------------------------------------------------------------------------------------


def garbage(chance: random.Random) -> Response:
    """Responses of something that is not the service."""
    made: dict[str, Any] = {
        "decisions": chance.choice([None, [], [{}], {"id": 1}, "no"]),
        "detail": chance.choice([None, "no", ["no"]]),
    }
    body = chance.choice([b"", b"[]", b"null", b"<html>not here</html>", chance.randbytes(99), json.dumps(made).encode()])
    status = chance.choice([b"200 OK", b"302 Found", b"404 x", b"%d x" % chance.randrange(100, 1000), chance.randbytes(5)])
    length = chance.choice([*[b"%d" % len(body)] * 5, b"%d" % (len(body) + 10), b"-1", b"many", b"9" * 30])
    wrong = [b"Location: http://[\r\n", b"Content-Encoding: gzip\r\n", b"Transfer-Encoding: chunked\r\n"]
    wrong += [b"Retry-After: \xb2\r\n", b"Set-Cookie: \xff=;;=\r\n", b"X: " + b"y" * 2_000_000 + b"\r\n", b"no colon\r\n"]
    extra = chance.choice([*[b""] * 9, *wrong])
    complete = b"HTTP/1.1 " + status + b"\r\nContent-Length: " + length + b"\r\n" + extra + b"\r\n" + body
    return chance.choice([*[complete] * 9, complete[: chance.randrange(len(complete) + 1)], chance.randbytes(100), None])


def test_whatever_the_response_is_only_exceptions_of_the_library_are_raised() -> None:
    chance = random.Random(7)
    met: Counter[str] = Counter()

    def note(error: RottingError) -> None:
        assert str(error)
        met[type(error).__name__] += 1

    async def work(stub: Stub) -> None:
        async with rotting.AsyncClient(stub.url, retries=0) as client:
            for _ in range(300):
                with pytest.raises(RottingError) as caught:
                    await client.bandit("songs").decide(key="mine")
                note(caught.value)

    with stub_service(lambda _: garbage(chance)) as stub:
        with rotting.Client(stub.url, retries=0) as client:
            for _ in range(300):
                with pytest.raises(RottingError) as caught:
                    client.bandit("songs").decide(key="mine")
                note(caught.value)
        asyncio.run(work(stub))
    assert min(met["ServiceError"], met["ServiceUnreachableError"]) > 100


# --- Closing ------------------------------------------------------------------------------------------------------------------


def test_closing_twice_is_fine_and_a_closed_client_says_so() -> None:
    async def work(stub: Stub) -> None:
        client = rotting.AsyncClient(stub.url)
        await client.bandit("songs").decide()
        await client.close()
        await client.close()
        with pytest.raises(ServiceError, match="^the client is closed: make a new one$"):
            await client.bandit("songs").decide()
        unused = rotting.AsyncClient(stub.url)
        await unused.close()
        with pytest.raises(ServiceError, match="^the client is closed"):
            await unused.bandits()

    with stub_service(decisions) as stub:
        client = rotting.Client(stub.url)
        client.bandit("songs").decide()
        client.close()
        client.close()
        with pytest.raises(ServiceError, match="^the client is closed: make a new one$"):
            client.bandit("songs").decide()
        asyncio.run(work(stub))
        assert len(stub.received) == 2


def close_during_calls(stub: Stub) -> list[str]:
    """Close a client that eight threads use; return what they raise."""
    client = rotting.Client(stub.url)
    errors: list[str] = []

    def keep_calling() -> None:
        try:
            gets_its_own_responses(client, "songs", 100_000)
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            errors.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=keep_calling) for _ in range(8)]
    for thread in threads:
        thread.start()
    stub.wait(100)
    client.close()
    for thread in threads:
        thread.join(60)
    return errors


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_calls_during_which_another_thread_closes_the_client_raise_a_service_error() -> None:
    with stub_service(respond_slowly) as stub:
        assert close_during_calls(stub) == ["ServiceError: the client is closed: make a new one"] * 8
        gc.collect()  # connections that were being opened when the client was closed
