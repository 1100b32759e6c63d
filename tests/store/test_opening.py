"""Opening a store: beside readers, after failures, at the same time as another writer, and as fast if it is large."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from rotting.errors import StoreFailedError, StoreLockedError
from rotting.store import limits, opening
from rotting.store.files import empty_wal
from rotting.store.sqlite import SQLiteStore
from rotting.store.verify import verify
from tests.helpers.disks import failing_disk
from tests.helpers.stores import lose_lock, numbered_events, read_numbers, sql, view_held_open


def test_a_writer_starts_beside_a_reader_that_holds_its_view(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TAKE_OVER_MS", 20)
    store = SQLiteStore(path)
    store.append(numbered_events(91, 91))
    with view_held_open(path):
        store.append(numbered_events(92, 92))
        store.close()
        with SQLiteStore(path) as store:
            assert store.append(numbered_events(93, 93)) == 93
    with SQLiteStore(path) as store:
        assert read_numbers(store) == list(range(1, 94))
        assert verify(store).problems == ()


def test_a_writer_does_not_start_beside_a_reader_after_a_failed_sync(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BUSY_MS", 20)
    with failing_disk() as disk:
        store = SQLiteStore(path)
        store.append(numbered_events(91, 91))
        with view_held_open(path):
            disk.syncs_fail = True
            with pytest.raises(StoreFailedError, match="could not be read or written"):
                store.append(numbered_events(92, 92))
            store.close()
            disk.syncs_fail = False
            why = "is locked: the last writer could not synchronise it, and a reader keeps its -wal file from being copied$"
            with pytest.raises(StoreLockedError, match=why):
                SQLiteStore(path)
        with SQLiteStore(path) as store:
            assert read_numbers(store)[:91] == list(range(1, 92))


@pytest.fixture
def before_take_over(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Let something happen once, when the next writer has read the store and is about to take it over."""

    def use(act: Callable[[], object]) -> None:
        def meanwhile(connection: apsw.Connection, timeout_ms: int) -> bool:
            monkeypatch.setattr(opening, "empty_wal", empty_wal)
            act()
            return empty_wal(connection, timeout_ms)

        monkeypatch.setattr(opening, "empty_wal", meanwhile)

    return use


def test_a_writer_that_lost_its_lock_and_goes_on_is_not_overtaken(path: Path, before_take_over: Any) -> None:
    with SQLiteStore(path, durability="os") as first:
        lose_lock(path)
        before_take_over(lambda: first.append(numbered_events(91, 91)))
        with pytest.raises(StoreLockedError, match="is locked: another writer has it$"):
            SQLiteStore(path)
        first.append(numbered_events(92, 92))
    with SQLiteStore(path) as store:
        assert read_numbers(store) == list(range(1, 93))


def test_two_writers_that_open_a_store_at_once_do_not_share_an_epoch(path: Path, before_take_over: Any) -> None:
    others = list[SQLiteStore]()

    def overtake() -> None:
        lose_lock(path)
        others.append(SQLiteStore(path))

    before_take_over(overtake)
    with pytest.raises(StoreLockedError, match="another writer has it$"):
        SQLiteStore(path)
    with others[0] as store:
        assert store.append(numbered_events(91, 91)) == 91


def crashed(path: Path, events: int) -> None:
    """The file of a writer with many bandits, that died."""
    with SQLiteStore(path, durability="os") as store:
        for k in range(10):
            store.add_bandit(f"songs {k}", {})
        for start in range(0, events, 1_000):
            store.append((f"songs {n % 10}", {"n": n}) for n in range(start, start + 1_000))
    sql(path, "UPDATE writer SET bandits = 0, last = 0")


def reads(path: Path) -> tuple[int, int]:
    """How often the disk is asked when a store is opened after a crash, and when the last events of a bandit are read."""
    with failing_disk() as disk:
        with SQLiteStore(path) as store:
            opened = disk.reads
            last = [event.payload["n"] for event in store.read("songs 3", store.last - 100)]
        assert len(last) == 10
        return opened, disk.reads - opened


def test_opening_and_resuming_take_no_longer_in_a_large_store(tmp_path: Path) -> None:
    small, large = tmp_path / "small.rot", tmp_path / "large.rot"
    crashed(small, 3_000)
    crashed(large, 40_000)
    assert large.stat().st_size > 10 * small.stat().st_size
    for few, many in zip(reads(small), reads(large), strict=True):
        assert many <= few + 20
