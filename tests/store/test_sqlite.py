"""A store in a file: damage is found, and nothing is acknowledged that is not in the file."""

import shutil
from pathlib import Path
from typing import Any

import apsw
import pytest

from rotting.errors import (
    InvalidTypeError,
    InvalidValueError,
    StoreDamagedError,
    StoreFailedError,
    StoreFullError,
    StoreLockedError,
)
from rotting.store import limits
from rotting.store.protocol import Durability
from rotting.store.sqlite import SQLiteStore
from rotting.store.verify import verify
from tests.helpers.disks import failing_disk
from tests.helpers.stores import lose_lock, newest_snapshot, numbered_events, read_numbers, run, sql, view_held_open


@pytest.mark.parametrize(("durability", "error"), [("tape", InvalidValueError), (3, InvalidTypeError)])
def test_durability_is_one_of_three(tmp_path: Path, durability: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="^durability must be one of 'disk', 'os', 'memory', got "):
        SQLiteStore(tmp_path / "songs.rot", durability=durability)


def test_only_the_store_its_lock_and_its_mark_stay(path: Path) -> None:
    assert {each.name for each in path.parent.iterdir()} == {"songs.rot", "songs.rot-lock", "songs.rot-mark"}
    assert path.with_name("songs.rot-lock").stat().st_size == 0


def test_events_are_read_to_their_end_although_nothing_else_refers_to_the_store(path: Path) -> None:
    assert [event.number for event in SQLiteStore(path).read()] == list(range(1, 91))


TAMPERED = [
    ("UPDATE events SET payload = CAST('{\"n\":8}' AS BLOB) WHERE number = 7", "event 7 is not what was written"),
    ("UPDATE events SET epoch = 2 WHERE number = 7", "event 7 is not what was written"),
    ("DELETE FROM events WHERE number = 7", "event 7 is missing"),
    ("DELETE FROM events WHERE number > 80", "the last of its 90 events are missing"),
    ("DELETE FROM events WHERE number = 89", "event 89 is missing"),
    ("DELETE FROM events", "the last of its 90 events are missing"),
    ("UPDATE events SET number = 91 WHERE number = 90", "event 90 is missing"),
    ("UPDATE bandits SET meta = CAST('{}' AS BLOB)", "bandit 1 is not what was written"),
    ("UPDATE bandits SET name = 'films'", "bandit 1 is not what was written"),
    ("DELETE FROM bandits", "the last of its 1 bandits are missing"),
    ("UPDATE store SET id = 'another'", "its id is not what was written"),
    ("DELETE FROM writer", "a table is empty"),
    ("DROP TABLE events", "no such table: events"),
]


@pytest.mark.parametrize(("change", "why"), TAMPERED)
def test_what_another_program_changed_is_found(path: Path, change: str, why: str) -> None:
    sql(path, change)
    with (
        pytest.raises(StoreDamagedError, match=f"^{path} is damaged: .*{why}"),
        SQLiteStore(path, readonly=True) as store,
    ):
        read_numbers(store)


def test_events_of_another_store_are_found(path: Path, tmp_path: Path) -> None:
    twin = tmp_path / "twin.rot"
    with SQLiteStore(twin) as store:
        store.add_bandit("songs", {"seed": 1})
        store.append(numbered_events(1, 90))
    sql(path, f"ATTACH '{twin}' AS twin", "DELETE FROM events", "INSERT INTO events SELECT * FROM twin.events")
    with pytest.raises(StoreDamagedError, match="event 1 is not"), SQLiteStore(path, readonly=True) as store:
        read_numbers(store)


def lose_a_row(path: Path) -> None:
    """Make the page that holds the last events say that it holds fewer."""
    ((page,),) = sql(path, "SELECT max(pageno) FROM dbstat WHERE name = 'events' AND pagetype = 'leaf'")
    content = bytearray(path.read_bytes())
    place = (page - 1) * 4_096 + 3
    count = int.from_bytes(content[place : place + 2], "big")
    content[place : place + 2] = (count - 1).to_bytes(2, "big")
    path.write_bytes(content)


def test_a_page_that_lost_a_row_is_found_after_a_crash_too(path: Path) -> None:
    sql(path, "UPDATE writer SET last = 0")  # as if the writer had died before it counted
    lose_a_row(path)
    for readonly in (True, False):
        with pytest.raises(StoreDamagedError, match=f"^{path} is damaged: some of its 89 events are missing|malformed"):
            SQLiteStore(path, readonly)


def test_closing_records_the_number_of_events(path: Path) -> None:
    assert sql(path, "SELECT last FROM writer") == [(90,)]
    with SQLiteStore(path) as store:
        store.append(numbered_events(91, 92))
    assert sql(path, "SELECT bandits, last FROM writer") == [(1, 92)]


def test_a_child_process_leaves_the_store_to_its_parent(path: Path) -> None:
    code = """
import os, sys
from rotting.errors import StoreFailedError
from rotting.store.protocol import Durability
from rotting.store.sqlite import SQLiteStore
store = SQLiteStore(sys.argv[1])
store.append([("songs", {"n": 91})])
child = os.fork()
if child == 0:
    try:
        store.append([("songs", {"n": 0})])
    except StoreFailedError as error:
        print(error)
    store.close()
    sys.exit()
os.waitpid(child, 0)
print(store.append([("songs", {"n": 92})]))
try:
    SQLiteStore(sys.argv[1])
except OSError as error:
    print(error)
store.close()
"""
    assert run(code, path).splitlines() == [
        f"{path} was opened by the parent of this process: open it again",
        "92",
        f"{path} is locked: another writer has it",
    ]
    with SQLiteStore(path) as store:
        assert read_numbers(store) == list(range(1, 93))


def lose_an_entry(path: Path, which: int) -> None:
    """Let the index forget one of the events: a page that holds them says that it holds one fewer."""
    ((page, cells),) = sql(path, "SELECT pageno, ncell FROM dbstat WHERE name = 'events_of' AND pagetype = 'leaf'")
    content = bytearray(path.read_bytes())
    start = (page - 1) * 4_096
    content[start + 3 : start + 5] = (cells - 1).to_bytes(2, "big")
    pointers = start + 8 + 2 * which
    content[pointers : start + 8 + 2 * cells - 2] = content[pointers + 2 : start + 8 + 2 * cells]
    path.write_bytes(content)


@pytest.mark.parametrize("which", [0, 1, 50, 88])
def test_an_event_that_the_index_lost_is_missed(path: Path, which: int) -> None:
    lose_an_entry(path, which)
    with SQLiteStore(path, readonly=True) as store:
        assert read_numbers(store) == list(range(1, 91))  # which does not ask the index
        for after in {0, which - 1, which} - {-1}:
            why = f"before event {which + 2} one of 'songs' is missing$"
            with pytest.raises(StoreDamagedError, match=f"^{path} is damaged: {why}"):
                list(store.read("songs", after))
        assert any("is damaged" in problem for problem in verify(store).problems)


def test_the_last_event_that_the_index_lost_is_missed_at_once(path: Path) -> None:
    lose_an_entry(path, 89)
    for readonly in (True, False):
        with pytest.raises(StoreDamagedError, match="some of its 90 events are missing at the end of a bandit$"):
            SQLiteStore(path, readonly)


def test_a_lock_of_another_program_is_waited_for_and_then_reported(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BUSY_MS", 20)
    other = apsw.Connection(str(path))
    with SQLiteStore(path) as store:
        other.execute("BEGIN IMMEDIATE")
        for batch in (numbered_events(91, 91), numbered_events(91, 95)):
            with pytest.raises(StoreLockedError, match=f"^{path} is locked by another program$"):
                store.append(batch)
        with pytest.raises(StoreLockedError):
            store.save_snapshot("songs", 90, {})
        other.execute("ROLLBACK")
        assert store.append(numbered_events(91, 95)) == 95
    other.close()
    with SQLiteStore(path) as store:
        assert read_numbers(store) == list(range(1, 96))


def test_a_stalled_reader_bounds_the_write_ahead_log_and_appends_go_on_after_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "WAL_BYTES", 400_000)
    monkeypatch.setattr(limits, "CHECK_BYTES", 1)
    wal = path.with_name("songs.rot-wal")
    with SQLiteStore(path, durability="os") as store:
        with view_held_open(path):
            last = append_until_full(store)
            assert last == store.last
            with pytest.raises(StoreFullError, match="a reader keeps its write-ahead log from being reset"):
                store.append(numbered_events(last + 1, last + 2))
            with pytest.raises(StoreFullError):
                store.save_snapshot("songs", last, {"n": last})
            assert 400_000 < wal.stat().st_size < 600_000
        assert store.append(numbered_events(last + 1, last + 1)) == last + 1
        assert wal.stat().st_size < 100_000
        store.check_file()
    with SQLiteStore(path, readonly=True) as store:
        assert read_numbers(store) == list(range(1, last + 2))
        assert verify(store).problems == ()


def append_until_full(store: SQLiteStore) -> int:
    """Append until that is refused; return the number of the last event."""
    while True:
        before = store.last
        try:
            store.append(numbered_events(before + 1, before + 1))
        except StoreFullError:
            return before


def test_the_events_of_one_bandit_come_in_pieces_as_they_are(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "songs.rot") as store:
        for name in ("a", "b", "none"):
            store.add_bandit(name, {})
        store.append([("ab"[k % 2], {"k": k}) for k in range(10)])
        found, after, left = [], 0, [5]
        while left[-1]:
            rows, after, more = store.encoded_events("b", after, 2)
            found += rows
            left.append(more)
        assert found == [(k + 1, 1, b'{"k":%d}' % k) for k in (1, 3, 5, 7, 9)]
        assert (after, left) == (10, [5, 3, 1, 0])
        assert store.encoded_events("b", 10, 2) == ([], 10, 0)
        assert store.encoded_events("none", 0, 2) == ([], 0, 0)
        with pytest.raises(InvalidValueError, match="^bandit must be one of"):
            store.encoded_events("c", 0, 2)


def test_a_page_of_events_ends_at_a_number_of_bytes(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "songs.rot") as store:
        store.append([("songs", {"k": "x" * size}) for size in (10, 10, 500, 10)], bandits=[("songs", {})])
        for checked in (False, True):
            pages, last, left = [], 0, 1
            while left:
                rows, last, left = store.encoded_events("songs", last, 10, max_bytes=40, checked=checked)
                pages.append([number for number, _, _ in rows])
            assert pages == [[1, 2], [3], [4]]
            assert len(store.encoded_events("songs", 0, 3, checked=checked).rows) == 3
        store.append([("songs", {"n": 5})])  # no page holds its view of the file
        assert store.encoded_events("songs", 4, 9, max_bytes=0) == ([(5, 1, b'{"n":5}')], 5, 0)


@pytest.mark.parametrize(("change", "why"), TAMPERED[:3])
def test_a_page_of_events_is_checked_on_request(path: Path, change: str, why: str) -> None:
    sql(path, change)
    with SQLiteStore(path, readonly=True) as store:
        assert len(store.encoded_events("songs", 0, 20).rows) == 20
        with pytest.raises(StoreDamagedError, match=f"{why}|before event 8 one of 'songs' is missing"):
            store.encoded_events("songs", 0, 20, checked=True)


def test_one_failed_read_of_a_reader_is_not_for_ever(path: Path) -> None:
    with failing_disk() as disk, SQLiteStore(path, readonly=True) as reader:
        assert reader.last == 90
        disk.reads_fail = True
        with pytest.raises(StoreFailedError, match=f"^{path} could not be read \\("):
            newest_snapshot(reader, "songs")  # on pages that were not read before
        disk.reads_fail = False
        assert newest_snapshot(reader, "songs") == (90, {"n": 90})
        assert read_numbers(reader) == list(range(1, 91))


def test_nothing_in_memory_is_ahead_of_the_file_after_a_failed_write(path: Path) -> None:
    with failing_disk() as disk, SQLiteStore(path) as store:
        disk.full = True
        for events in ([], numbered_events(91, 91), [("films", {"n": 91})]):
            with pytest.raises(StoreFullError):
                store.append(events, bandits=[("films", {})])
            assert (store.last, list(store.bandits())) == (90, ["songs"])
        with pytest.raises(InvalidValueError, match="bandit must be one of"):
            store.append([("films", {"n": 91})])
        disk.full = False
        assert store.append([("films", {"n": 91}), ("songs", {"n": 92})], bandits=[("films", {})]) == 92
        assert [event.number for event in store.read("films")] == [91]
    with SQLiteStore(path) as store:
        assert read_numbers(store) == list(range(1, 93))
        assert verify(store).problems == ()


def test_a_bandit_that_is_added_while_events_are_held_back_counts_what_is_in_the_file(path: Path, tmp_path: Path) -> None:
    with SQLiteStore(path, durability="memory") as store:
        store.append(numbered_events(91, 95))
        store.add_bandit("films", {})
        store.append(numbered_events(96, 99))
        twin = tmp_path / "died" / "songs.rot"  # what is left if the process dies now
        twin.parent.mkdir()
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{path}{suffix}", f"{twin}{suffix}")
    with SQLiteStore(twin) as store:
        assert (store.last, list(store.bandits())) == (95, ["songs", "films"])


def test_a_replaced_writer_is_refused_for_ever_and_writes_nothing_when_it_is_closed(path: Path) -> None:
    first = SQLiteStore(path, durability="memory")
    first.append(numbered_events(91, 91))
    lose_lock(path)
    with SQLiteStore(path) as second:
        second.append(numbered_events(91, 92))
        for use in (
            first.flush,
            lambda: first.append(numbered_events(93, 93)),
            lambda: first.append([], bandits=[("films", {})]),
            lambda: first.save_snapshot("songs", 90, {}),
            lambda: first.last,
            first.check_file,
        ):
            with pytest.raises(StoreLockedError, match="the writer of epoch 3 has replaced that of epoch 2$"):
                use()
    before = {each.name: each.read_bytes() for each in path.parent.iterdir()}
    with pytest.raises(StoreLockedError):  # also when the second one is gone
        first.append(numbered_events(93, 93))
    first.close()
    after = {each.name: each.read_bytes() for each in path.parent.iterdir()}
    assert {name: after[name] for name in after if not name.endswith("-shm")} == {
        name: before[name] for name in before if not name.endswith("-shm")
    }
    with SQLiteStore(path) as third:
        assert read_numbers(third) == list(range(1, 93))
        assert verify(third).problems == ()


@pytest.mark.parametrize("durability", ["disk", "os", "memory"])
def test_on_the_disk_means_through_the_cache_of_the_drive(
    path: Path, durability: Durability, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "PIECES", 1)  # the WAL is copied after each piece of a snapshot
    with failing_disk() as disk:
        with SQLiteStore(path, durability=durability) as store:
            store.append(numbered_events(91, 91))
            store.save_snapshot("songs", 91, {"rewards": ["x" * 1_000] * 100})
        assert disk.syncs > 2
        assert disk.sync_flags == {apsw.SQLITE_SYNC_FULL if durability == "disk" else apsw.SQLITE_SYNC_NORMAL}


@pytest.mark.parametrize("count", [1, 2, 3, 127, 128, 129, 300])
def test_batches_of_any_size_are_read_back_in_order(tmp_path: Path, count: int) -> None:
    with SQLiteStore(tmp_path / "songs.rot") as store:
        store.add_bandit("songs", {})
        store.append([("songs", {"n": n}) for n in range(count)])
        found = list(store.read())
        assert [event.number for event in found] == list(range(1, count + 1))
        assert [event.payload for event in found] == [{"n": n} for n in range(count)]
        assert verify(store).problems == ()
