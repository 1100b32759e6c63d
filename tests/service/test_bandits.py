"""What takes long for one bandit does not keep the others waiting."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import rotting
from rotting.errors import StoreFullError
from rotting.service.bandits import Bandits
from rotting.service.committer import Committer
from rotting.service.compile_report import CompileReport
from rotting.store.host import Host
from rotting.store.hosted import Hosted
from rotting.store.sqlite import SQLiteStore
from rotting.store.verify import verify
from tests.helpers.services import SONGS, Client, Running, SimultaneousRequests, running

BANDIT = "/v1/bandits/songs"


def test_a_long_request_keeps_only_its_own_bandit_waiting(
    service: Running, songs: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert songs("PUT", "/v1/bandits/more", {**SONGS, "arms": [f"a{k}" for k in range(30)]}).status == 201
    hosted, started, go_on = service.host.loaded["more"], threading.Event(), threading.Event()
    decide = hosted.bandit.decide

    def slow(*args: Any, **options: Any) -> Any:
        if options.get("count"):
            started.set()
            assert go_on.wait(30)
        return decide(*args, **options)

    monkeypatch.setattr(hosted.bandit, "decide", slow)
    rounds: dict[str, list[int]] = {}

    def ask(name: str, body: dict[str, Any]) -> None:
        own = Client(service.port)
        made = own("POST", "/v1/bandits/more/decisions", body).body["decisions"]
        rounds[name] = [each["round"] for each in made]
        own.close()

    page = threading.Thread(target=ask, args=("page", {"count": 25, "idempotency_key": "k"}))
    page.start()
    assert started.wait(30)
    others = [
        threading.Thread(target=ask, args=(name, body))
        for name, body in (("one", {}), ("same", {"count": 25, "idempotency_key": "k"}))
    ]
    for each in others:
        each.start()
    for k in range(5):
        assert songs("POST", f"{BANDIT}/decisions").body["decisions"][0]["round"] == k + 1
    assert rounds == {}
    go_on.set()
    for each in (page, *others):
        each.join()
    assert rounds["page"] == rounds["same"] == list(range(1, 26))  # the second request with the key got the same page
    assert rounds["one"] == [26]


def test_a_request_that_takes_too_long_is_refused_and_carried_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(tmp_path / "songs.rot", deadline=1.5) as service:
        client = service.client()
        assert client("PUT", BANDIT, SONGS).status == 201
        write, slow = service.host.write, threading.Event()

        def write_slowly(batch: Any) -> None:
            if not slow.is_set():
                slow.set()
                time.sleep(4.0)
            write(batch)

        monkeypatch.setattr(service.host, "write", write_slowly)
        refused = client("POST", f"{BANDIT}/decisions", {"idempotency_key": "k"})
        assert (refused.status, refused.body["type"]) == (503, "urn:rotting:problem:timed-out")
        assert refused.headers["retry-after"] == "1"
        deadline = time.monotonic() + 30.0
        while (again := client("POST", f"{BANDIT}/decisions", {"idempotency_key": "k"})).status != 200:
            assert time.monotonic() < deadline
        assert again.body["decisions"][0]["round"] == 1
        assert client("GET", BANDIT).body["rounds"] == 1


def test_a_body_that_comes_too_slowly_is_refused(tmp_path: Path) -> None:
    with running(tmp_path / "songs.rot", deadline=0.3) as service:
        head = b"POST /v1/bandits/a/rewards HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        found = service.raw(head + b"Content-Length: 10\r\n\r\n[", until_closed=True)
        assert found.startswith(b"HTTP/1.1 408 ")


def test_the_service_is_not_ready_while_a_write_does_not_end(
    service: Running, songs: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rotting.service import application

    monkeypatch.setattr(application, "_STALLED", 0.2)
    write, go_on = service.host.write, threading.Event()

    def stuck(batch: Any) -> None:
        assert go_on.wait(30)
        write(batch)

    monkeypatch.setattr(service.host, "write", stuck)
    thread = threading.Thread(target=lambda: songs("POST", f"{BANDIT}/decisions"))
    thread.start()
    other = service.client()
    deadline = time.monotonic() + 30.0
    while other("GET", "/readyz").status != 503:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    go_on.set()
    thread.join()
    assert other("GET", "/readyz").status == 200


def test_requests_for_a_bandit_wait_for_all_that_came_before_them(
    service: Running, songs: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three pages and single decisions in between: what a worker thread does is never mixed with the rest."""
    assert songs("PUT", "/v1/bandits/more", {**SONGS, "arms": [f"a{k}" for k in range(30)]}).status == 201
    hosted = service.host.loaded["more"]
    decide, inside = hosted.bandit.decide, threading.Lock()

    def alone(*args: Any, **options: Any) -> Any:
        assert inside.acquire(blocking=False), "two requests use the bandit at the same time"
        try:
            time.sleep(0.05 if options.get("count") else 0.0)
            return decide(*args, **options)
        finally:
            inside.release()

    monkeypatch.setattr(hosted.bandit, "decide", alone)
    found: list[tuple[int, list[int]]] = []

    def ask(body: dict[str, Any]) -> None:
        own = Client(service.port)
        for _ in range(5):
            response = own("POST", "/v1/bandits/more/decisions", body)
            found.append((response.status, [each["round"] for each in response.body["decisions"]]))
        own.close()

    threads = [threading.Thread(target=ask, args=({"count": count},)) for count in (21, 1, 22, 1, 23, 2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert {status for status, _ in found} == {200}
    assert sorted(number for _, rounds in found for number in rounds) == list(range(1, 5 * (21 + 1 + 22 + 1 + 23 + 2) + 1))
    assert all(rounds == list(range(rounds[0], rounds[0] + len(rounds))) for _, rounds in found)


def test_states_are_saved_while_pages_are_decided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rotting.store.limits.SNAPSHOT_EVENTS", 20)
    path = tmp_path / "songs.rot"
    with running(path) as service:
        client = service.client()
        assert client("PUT", BANDIT, {**SONGS, "arms": [f"a{k}" for k in range(60)]}).status == 201

        def ask(count: int) -> None:
            own = Client(service.port)
            for _ in range(10):
                assert own("POST", f"{BANDIT}/decisions", {"count": count}).status == 200
            own.close()

        threads = [threading.Thread(target=ask, args=(count,)) for count in (1, 30, 2, 50)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    with SQLiteStore(path, readonly=True) as store:
        assert len(list(store.snapshots("songs"))) == 2
        assert verify(store, replay=True).problems == ()
        assert store.last == 10 * (1 + 30 + 2 + 50)


def test_a_snapshot_that_was_not_saved_is_followed_by_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rotting.store.limits.SNAPSHOT_EVENTS", 20)
    path, saved = tmp_path / "songs.rot", []  # type: tuple[Path, list[int]]
    with running(path, durability="memory") as service:

        def save(hosted: Hosted, number: int, parts: Any) -> None:
            saved.append(number)
            if len(saved) == 1:
                raise StoreFullError("is full", path)

        monkeypatch.setattr(service.host, "save_snapshot", save)
        client, deadline = service.client(), time.monotonic() + 30.0
        assert client("PUT", BANDIT, {**SONGS, "arms": [f"a{k}" for k in range(20)]}).status == 201
        while len(saved) < 3:
            assert client("POST", f"{BANDIT}/decisions", {"count": 20}).status == 200
            assert time.monotonic() < deadline
    assert saved[0] < saved[1] < saved[2]


@pytest.mark.parametrize("few", [1, 100], ids=["with snapshots", "without snapshots"])
def test_idle_bandits_are_unloaded_and_go_on_where_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    monkeypatch.setattr("rotting.store.host._IDLE_SECONDS", 0.0)
    monkeypatch.setattr("rotting.store.hosted._FEW_EVENTS", few)
    path, names = tmp_path / "songs.rot", [f"songs-{k}" for k in range(5)]
    twins = {name: rotting.Bandit(rotting.UCB1(), SONGS["arms"]) for name in names}
    with running(path, max_loaded=2) as service:
        client, deadline = service.client(), time.monotonic() + 30.0
        for name in names:
            assert client("PUT", f"/v1/bandits/{name}", {**SONGS, "policy": "ucb1", "params": {}}).status == 201
        for turn in range(3):
            for name in names:
                made = client("POST", f"/v1/bandits/{name}/decisions").body["decisions"]
                assert [(each["round"], each["arm"]) for each in made] == [(turn + 1, twins[name].pull())]
            while len(service.host.loaded) > 2:
                assert time.monotonic() < deadline
                time.sleep(0.01)
    with SQLiteStore(path, readonly=True) as store:
        assert verify(store, replay=True).problems == ()
        assert store.last == 15


def test_too_many_long_requests_are_refused(service: Running, songs: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rotting.service.workers._QUEUE", 2)
    hosted, go_on = service.host.loaded["songs"], threading.Event()
    explain = hosted.bandit.explain

    def slow() -> Any:
        assert go_on.wait(30)
        return explain()

    monkeypatch.setattr(hosted.bandit, "explain", slow)
    requests = SimultaneousRequests(service, 6, "GET", f"{BANDIT}/explain")
    deadline = time.monotonic() + 30.0
    while len(requests.statuses) < 4:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert songs("POST", f"{BANDIT}/decisions").status == 200
    go_on.set()
    requests.join()
    assert sorted(requests.statuses) == [200, 200, 503, 503, 503, 503]


@asynccontextmanager
async def one_bandit(path: Path) -> AsyncIterator[tuple[Bandits, Hosted]]:
    """A bandit, and those of the service, without a server."""
    host = Host(path)
    bandits, committer = Bandits(host, CompileReport(lambda _: None)), Committer(host, lambda *_: None)
    bandits.commit = committer.commit
    yield bandits, host.adopt(host.make("songs", rotting.UCB1(), ["jazz", "rock"]))
    await bandits.finish()
    await committer.close()
    await bandits.close()
    host.close()


def count_turns() -> list[int]:
    """Return a list with the number of turns of the event loop, which grows."""
    loop, turns = asyncio.get_running_loop(), [0]

    def count() -> None:
        turns[0] += 1
        loop.call_soon(count)

    count()
    return turns


def test_a_long_queue_gives_the_event_loop_turns_and_does_not_pause(tmp_path: Path) -> None:
    async def run() -> tuple[list[int], float]:
        async with one_bandit(tmp_path / "songs.rot") as (bandits, hosted):
            turns = count_turns()

            def slow() -> int:
                time.sleep(0.01)  # longer than the queue may keep the event loop
                return turns[0]

            long = asyncio.ensure_future(bandits.change(hosted, lambda: None, heavy=True))
            await asyncio.sleep(0)
            others = [asyncio.ensure_future(bandits.change(hosted, slow)) for _ in range(5)]
            await long
            began = time.monotonic()
            return await asyncio.gather(*others), time.monotonic() - began

    turns, seconds = asyncio.run(run())
    assert all(before < after for before, after in pairwise(turns))
    assert seconds < 3.0  # five changes of 0.01 s


def test_requests_no_longer_wait_in_line_once_a_long_one_has_ended(tmp_path: Path) -> None:
    """Sixteen clients that never pause: their requests take the short way again, on which nothing else runs in between."""

    async def run() -> list[bool]:
        async with one_bandit(tmp_path / "songs.rot") as (bandits, hosted):
            turns = count_turns()

            async def ask() -> list[bool]:
                waited = []
                for _ in range(50):
                    before = turns[0]
                    await bandits.change(hosted, hosted.bandit.decide)
                    waited.append(turns[0] > before)
                    await asyncio.sleep(0)
                return waited

            long = asyncio.ensure_future(bandits.change(hosted, lambda: time.sleep(0.05), heavy=True))
            await asyncio.sleep(0)
            clients = [asyncio.ensure_future(ask()) for _ in range(16)]
            await long
            found = await asyncio.gather(*clients)
        return [any(waited[-40:]) for waited in found]

    assert not any(asyncio.run(run()))
