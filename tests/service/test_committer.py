"""Concurrent requests share a commit; when it fails, nothing of it happened."""

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rotting
from rotting.service import committer
from rotting.store.host import Host
from rotting.store.hosted import Batch, Hosted
from tests.helpers.disks import Disk, failing_disk
from tests.helpers.services import SONGS, Client, Running, SimultaneousRequests, running
from tests.helpers.stores import checked

BANDIT = "/v1/bandits/songs"


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be written is tried again soon."""
    monkeypatch.setattr(committer, "_RETRY", 0.05)


@pytest.fixture
def disk() -> Iterator[Disk]:
    with failing_disk() as found:
        yield found


def wait_until(what: Any) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + 60.0
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_concurrent_requests_share_a_commit(service: Running, songs: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    write, gate = service.host.write, threading.Event()
    sizes: list[int] = []

    def slow(batch: Any) -> None:
        if not sizes:
            assert gate.wait(60)  # until the others have come
        sizes.append(len(batch.events))
        write(batch)

    monkeypatch.setattr(service.host, "write", slow)
    rounds: list[int] = []

    def decide() -> None:
        own = Client(service.port)
        rounds.append(own("POST", f"{BANDIT}/decisions").body["decisions"][0]["round"])
        own.close()

    threads = [threading.Thread(target=decide) for _ in range(20)]
    for thread in threads:
        thread.start()
    wait_until(lambda: service.host.loaded["songs"].bandit.rounds == 20)
    assert rounds == []  # nobody has an answer before it is written
    gate.set()
    for thread in threads:
        thread.join()
    assert sorted(rounds) == list(range(1, 21))
    assert sum(sizes) == 20
    assert len(sizes) == 2


def test_a_full_disk_refuses_writes_and_recovers_by_itself(tmp_path: Path, disk: Disk) -> None:
    path = tmp_path / "songs.rot"
    with running(path) as service:
        client = service.client()
        assert client("PUT", BANDIT, SONGS).status == 201
        (made,) = client("POST", f"{BANDIT}/decisions").body["decisions"]
        disk.full = True
        requests: list[tuple[str, str, Any]] = [
            ("POST", f"{BANDIT}/decisions", {"idempotency_key": "k"}),
            ("POST", f"{BANDIT}/rewards", [{"id": made["id"], "reward": 1}]),
            ("PUT", f"{BANDIT}/arms/pop", None),
            ("PUT", "/v1/bandits/more", SONGS),
            ("POST", f"{BANDIT}/archive", None),
        ]
        for request in requests:
            refused = client(*request)
            assert (refused.status, refused.body["type"]) == (507, "urn:rotting:problem:store-full")
            assert refused.headers["retry-after"] == "1"
        shown = client("GET", BANDIT).body  # reads go on, and show what is written
        assert (shown["rounds"], shown["pending"], shown["arms"], shown["archived"]) == (1, 1, SONGS["arms"], False)
        assert len(client("GET", f"{BANDIT}/log").body["events"]) == 1
        assert len(client("GET", f"{BANDIT}/explain").body["arms"]) == 3
        assert client("GET", "/v1/bandits/more").status == 404
        assert client("GET", "/readyz").status == 507
        assert client("GET", "/livez").status == 200
        time.sleep(0.2)  # it is tried again, in vain
        assert client("POST", f"{BANDIT}/decisions").status == 507
        disk.full = False
        wait_until(lambda: client("GET", "/readyz").status == 200)
        (second,) = client("POST", f"{BANDIT}/decisions", {"idempotency_key": "k"}).body["decisions"]
        assert (second["round"], second["arm"]) == (2, "rock")
        outcome = client("POST", f"{BANDIT}/rewards", [{"id": made["id"], "reward": 1}]).body["results"][0]["outcome"]
        assert outcome == "applied"  # the refused one was not
        assert client("PUT", "/v1/bandits/more", SONGS).status == 201
    assert checked(path) == 3


def test_requests_collected_during_a_failing_commit_fail_too(
    service: Running, songs: Client, disk_full: threading.Event
) -> None:
    requests = SimultaneousRequests(service, 10, "POST", f"{BANDIT}/decisions")
    wait_until(lambda: service.host.loaded["songs"].bandit.rounds == 10)
    disk_full.set()
    requests.join()
    assert requests.statuses == [507] * 10
    wait_until(lambda: songs("GET", "/readyz").status == 200)
    assert songs("GET", BANDIT).body["rounds"] == 0


@pytest.fixture
def disk_full(service: Running, monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Let the next batch wait until this is set, and fail then."""
    from rotting.errors import StoreFullError

    write, released = service.host.write, threading.Event()

    def fail(batch: Any) -> None:
        if batch.events and not released.is_set():
            assert released.wait(60)
            raise StoreFullError("the disk is full")
        write(batch)

    monkeypatch.setattr(service.host, "write", fail)
    return released


def test_a_disk_that_fails_is_opened_again(tmp_path: Path, disk: Disk) -> None:
    path = tmp_path / "songs.rot"
    with running(path) as service:
        client = service.client()
        client("PUT", BANDIT, SONGS)
        client("POST", f"{BANDIT}/decisions")
        disk.syncs_fail = True
        refused = client("POST", f"{BANDIT}/decisions")
        assert (refused.status, refused.body["type"]) == (503, "urn:rotting:problem:store-failed")
        assert client("GET", BANDIT).status == 200
        disk.syncs_fail = False
        wait_until(lambda: client("GET", "/readyz").status == 200)
        rounds = client("GET", BANDIT).body["rounds"]
        assert rounds in {1, 2}  # what was refused may have come to the disk all the same
        assert client("POST", f"{BANDIT}/decisions").body["decisions"][0]["round"] == rounds + 1
    checked(path)


def test_a_response_waits_until_the_changes_it_shows_are_written(
    service: Running, songs: Client, disk_full: threading.Event
) -> None:
    requests = SimultaneousRequests(service, 2, "POST", f"{BANDIT}/decisions", {"idempotency_key": "k"})
    wait_until(lambda: service.host.loaded["songs"].bandit.rounds == 1)
    time.sleep(0.1)
    assert requests.statuses == []  # the second has the same decision, which is not written yet
    disk_full.set()
    requests.join()
    assert requests.statuses == [507, 507]


def test_a_report_that_fails_is_logged_and_stops_no_commit(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    reported: list[int] = []

    def report(batch: Batch, seconds: float, due: list[Hosted]) -> None:
        reported.append(len(batch.events))
        raise RuntimeError("out of order")

    async def use() -> None:
        host = Host(tmp_path / "songs.rot")
        writing = committer.Committer(host, report)
        hosted = host.adopt(host.make("songs", rotting.UCB1(), ["jazz", "rock"]))
        for _ in range(2):
            hosted.bandit.decide()
            host.collect(hosted)
            await writing.commit()
        await writing.close()
        host.close()

    asyncio.run(use())
    assert reported == [1, 1]
    assert caplog.messages.count("the report of a batch failed") == 2
    assert checked(tmp_path / "songs.rot") == 2
