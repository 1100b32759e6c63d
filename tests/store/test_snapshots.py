"""Snapshots: they do not delay appends, and one that is damaged or not finished is not used."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw
import pytest

from rotting.errors import InvalidValueError, StoreFailedError
from rotting.store import database, limits
from rotting.store.sqlite import SQLiteStore
from rotting.store.verify import verify
from tests.helpers.stores import newest_snapshot, numbered_events, sql


def test_two_snapshots_are_kept(path: Path) -> None:
    assert sql(path, "SELECT number FROM snapshots ORDER BY number") == [(60,), (90,)]


def test_a_damaged_snapshot_is_skipped_and_reported(path: Path) -> None:
    last = "SELECT snapshot FROM snapshots WHERE number = 90"
    sql(path, f"UPDATE pieces SET content = CAST('{{}}' AS BLOB) WHERE snapshot = ({last})")
    with SQLiteStore(path) as store:
        assert newest_snapshot(store, "songs") == (60, {"n": 60})
        assert verify(store).problems == ("the snapshot at event 90 is not what was written",)


def test_a_piece_that_became_text_is_damaged(path: Path) -> None:
    sql(path, "CREATE TABLE loose (snapshot, piece, content)", "INSERT INTO loose SELECT * FROM pieces", "DROP TABLE pieces")
    sql(path, "UPDATE loose SET content = CAST(content AS TEXT)", "ALTER TABLE loose RENAME TO pieces")
    with SQLiteStore(path, readonly=True) as store:
        assert newest_snapshot(store, "songs") is None


def long(n: int) -> dict[str, Any]:
    """A state of several pieces."""
    return {"n": n, "rewards": [n + 1 / 7] * 30_000}


class Watched(list[float]):
    """The rewards of a long state; something happens each time some of them were encoded."""

    def __init__(self, rewards: list[float], act: Callable[[], object]) -> None:
        super().__init__(rewards)
        self.act, self.slices = act, 0

    def __getitem__(self, key: Any) -> Any:
        self.slices += 1
        if self.slices % 300 == 0:
            self.act()
        return super().__getitem__(key)


def test_others_append_while_a_snapshot_is_saved(path: Path) -> None:
    appended: list[int] = []

    def append() -> None:
        other = threading.Thread(target=lambda: appended.append(store.append(numbered_events(store.last + 1, store.last + 1))))
        other.start()
        other.join(30)  # it need not wait

    with SQLiteStore(path) as store:
        store.save_snapshot("songs", 90, {**long(90), "rewards": Watched(long(90)["rewards"], append)})
        assert len(appended) > 3
        assert appended == list(range(91, 91 + len(appended)))
        assert newest_snapshot(store, "songs") == (90, long(90))


def test_a_snapshot_is_saved_while_another_connection_copies_the_wal(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copies: list[bool] = []

    class Busy(apsw.Connection):
        """A connection that finds another one copying."""

        def wal_checkpoint(self, *arguments: Any, **options: Any) -> tuple[int, int]:
            copies.append(True)
            raise apsw.BusyError

    monkeypatch.setattr(database, "connect", lambda name, flags: Busy(name, flags=flags))
    monkeypatch.setattr(limits, "PIECES", 2)
    with SQLiteStore(path) as store:
        store.save_snapshot("songs", 90, long(1))
        assert copies
        assert newest_snapshot(store, "songs") == (90, long(1))


def test_a_snapshot_is_written_in_pieces_of_64_kib(path: Path) -> None:
    """A longer piece would keep others waiting for the file."""
    with SQLiteStore(path) as store:
        store.save_snapshot("songs", 90, long(90))
        last = "snapshot = (SELECT max(snapshot) FROM snapshots)"
        sizes = [size for (size,) in sql(path, f"SELECT length(content) FROM pieces WHERE {last} ORDER BY piece")]
        assert len(sizes) > 3
        assert sizes[:-1] == [65_536] * (len(sizes) - 1)
        assert 0 <= sizes[-1] < 65_536
        assert newest_snapshot(store, "songs") == (90, long(90))


def test_a_snapshot_that_cannot_be_finished_leaves_the_one_before(path: Path) -> None:
    with SQLiteStore(path) as store:
        before = sql(path, "SELECT snapshot, piece FROM pieces")
        with pytest.raises(InvalidValueError, match="state must hold finite numbers only"):
            store.save_snapshot("songs", 90, {**long(1), "last": float("nan")})
        assert newest_snapshot(store, "songs") == (90, {"n": 90})
        assert sql(path, "SELECT snapshot, piece FROM pieces") == before
        store.save_snapshot("songs", 90, long(2))
        assert newest_snapshot(store, "songs") == (90, long(2))
        assert verify(store).problems == ()


def test_what_a_dead_writer_left_of_a_snapshot_is_removed(path: Path) -> None:
    left = " UNION ALL ".join(f"SELECT 99, {k}, zeroblob(100)" for k in range(40))
    sql(path, f"INSERT INTO pieces {left}")
    with SQLiteStore(path) as store:
        assert sql(path, "SELECT count(*) FROM pieces WHERE snapshot = 99") == [(0,)]
        assert newest_snapshot(store, "songs") == (90, {"n": 90})


def test_pieces_of_old_snapshots_are_removed_and_the_file_stays_as_large(path: Path) -> None:
    sizes = []
    with SQLiteStore(path, durability="os") as store:
        for n in range(1, 7):
            store.append(numbered_events(90 + n, 90 + n))
            store.save_snapshot("songs", 90 + n, long(n))
            sizes.append(sql(path, "PRAGMA page_count")[0][0])
        assert sql(path, "SELECT count(DISTINCT snapshot) FROM pieces") == [(2,)]
    assert max(sizes[3:]) == sizes[3]


def test_the_wal_stays_short_while_a_large_snapshot_is_saved(path: Path) -> None:
    with SQLiteStore(path) as store:
        state = {"rewards": ["x" * 1_000] * 20_000}
        store.save_snapshot("songs", 90, state)
        assert path.stat().st_size > 12_000_000
        assert path.with_name("songs.rot-wal").stat().st_size < 8_000_000
        assert newest_snapshot(store, "songs") == (90, state)


def test_closing_ends_a_snapshot_that_is_being_saved(path: Path) -> None:
    store, began, closed = SQLiteStore(path), threading.Event(), threading.Event()
    messages: list[str] = []

    def wait() -> None:
        began.set()
        closed.wait(0.2)

    def save() -> None:
        try:
            store.save_snapshot("songs", 90, {**long(90), "rewards": Watched(long(90)["rewards"], wait)})
        except StoreFailedError as error:
            messages.append(str(error))

    thread = threading.Thread(target=save)
    thread.start()
    began.wait()
    store.close()
    closed.set()
    thread.join()
    assert messages == [f"{path} is closed: open it again"]
    with SQLiteStore(path) as store:
        assert newest_snapshot(store, "songs") == (90, {"n": 90})
        assert verify(store).problems == ()


def test_a_store_can_be_closed_while_a_thread_saves_a_snapshot(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while the thread copies the write-ahead log, which it does here after every piece."""
    monkeypatch.setattr(limits, "PIECE_BYTES", 4_096)
    monkeypatch.setattr(limits, "PIECES", 1)
    state = {"n": ["x" * 1_000] * 3_000}
    for k in range(12):
        store = SQLiteStore(path)
        last = store.append(numbered_events(store.last + 1, store.last + 1))

        def save(store: SQLiteStore = store, last: int = last) -> None:
            with suppress(StoreFailedError):  # it is closed
                store.save_snapshot("songs", last, state)

        thread = threading.Thread(target=save)
        thread.start()
        time.sleep(0.003 * (k + 1))
        store.close()
        thread.join()
        with SQLiteStore(path, readonly=True) as reader:
            assert reader.last == last
