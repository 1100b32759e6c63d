"""What was acknowledged is there, once, after a process was killed, the power was cut, or the disk failed."""

import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

import rotting
from rotting.errors import StoreError, StoreFailedError, StoreFullError, StoreLockedError
from rotting.store.sqlite import SQLiteStore
from rotting.store.verify import verify
from tests.conftest import STRESS
from tests.helpers.disks import failing_disk
from tests.helpers.stores import appending, newest_snapshot, numbered_events, read_numbers

KILLS = 200 if STRESS else 5


def checked(path: Path, readonly: bool = False) -> list[int]:
    """Return the numbers in a store that must be complete."""
    with SQLiteStore(path, readonly) as store:
        assert verify(store).problems == ()
        numbers = read_numbers(store)
        assert of_songs(store) == numbers
        snapshot = newest_snapshot(store, "songs") if numbers else None
        assert snapshot is None or snapshot.state["n"] == snapshot.number <= len(numbers)
        return numbers


def of_songs(store: SQLiteStore) -> list[int]:
    """Return the numbers in the events of one bandit, found by the index."""
    return [event.payload["n"] for event in store.read("songs")] if store.bandits() else []


def new_store(path: Path, events: int) -> SQLiteStore:
    store = SQLiteStore(path)
    store.add_bandit("songs", {})
    for number in range(1, events + 1):
        store.append(numbered_events(number, number))
    return store


def copied(path: Path, folder: Path) -> Path:
    """The files of a store as they are now: what a crash of its process leaves."""
    folder.mkdir(exist_ok=True)
    for each in ("", "-wal"):
        source = path.with_name(path.name + each)
        if source.exists():
            shutil.copyfile(source, folder / source.name)
    for each in ("-shm", "-mark"):
        (folder / f"{path.name}{each}").unlink(missing_ok=True)
    return folder / path.name


@pytest.mark.parametrize("durability", ["disk", "os"])
def test_a_killed_process_loses_and_repeats_no_event(tmp_path: Path, durability: str) -> None:
    path, chance, before = tmp_path / "songs.rot", random.Random(7), 0
    for _ in range(KILLS):
        with appending(path, durability) as process:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(chance.randrange(1, 60))]
            process.kill()
            lines += process.stdout.readlines()
        acknowledged = [int(line) for line in lines if line.endswith("\n")]
        numbers = checked(path, readonly=chance.random() < 0.5)
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(numbers) >= max([before, *acknowledged])
        before = len(numbers)
    assert before > KILLS


def test_another_process_has_the_lock_until_it_dies(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    with appending(path) as process:
        assert process.stdout is not None
        acknowledged = int(process.stdout.readline())
        with pytest.raises(StoreLockedError, match="songs.rot is locked: another writer has it$"):
            SQLiteStore(path)
        with SQLiteStore(path, readonly=True) as reader:
            assert read_numbers(reader)[: acknowledged + 1][:acknowledged] == list(range(1, acknowledged + 1))
    assert len(checked(path)) >= acknowledged


def test_a_wal_that_is_cut_anywhere_in_the_last_write_loses_that_write_or_nothing(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    with new_store(path, 3) as store:
        wal = path.with_name("songs.rot-wal")
        before = wal.stat().st_size
        store.append(numbered_events(4, 5))
        twin = copied(path, tmp_path / "cut")
    log = twin.with_name(wal.name)
    complete = log.read_bytes()
    assert len(complete) > before
    found = set()
    cuts = {*range(before, len(complete), 1 if STRESS else 7), before + 1, len(complete) - 1, len(complete)}
    for cut in sorted(cuts, reverse=True):
        os.truncate(log, cut)
        with SQLiteStore(twin, readonly=True) as reader:
            found.add(tuple(read_numbers(reader)))
        if cut % 499 < 7:  # for a writer too, which goes on from there
            with SQLiteStore(copied(twin, tmp_path / "on")) as writer:
                left = writer.last
                writer.append(numbered_events(left + 1, left + 2))
            assert checked(tmp_path / "on" / path.name) == list(range(1, left + 3))
    assert found == {(1, 2, 3), (1, 2, 3, 4, 5)}


def store_with_snapshot(path: Path) -> bytes:
    """Make a store of 90 events with a snapshot, and return its bytes."""
    with new_store(path, 3) as store:
        store.append(numbered_events(4, 90))
        store.save_snapshot("songs", 90, {"n": 90})
    return path.read_bytes()


def test_a_truncated_file_is_refused_or_complete(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    complete = store_with_snapshot(path)
    outcomes = {True: 0, False: 0}
    cuts = {*range(0, len(complete), 1 if STRESS else 67), 1, 15, 16, 99, 100, len(complete) - 4_096, len(complete) - 1}
    for cut in sorted(cuts, reverse=True):
        os.truncate(path, cut)
        try:
            with SQLiteStore(path, readonly=True) as reader:
                assert read_numbers(reader) == of_songs(reader) == list(range(1, 91))
                assert list(reader.bandits()) == ["songs"]
                snapshot = newest_snapshot(reader, "songs")
                assert snapshot is None or snapshot == (90, {"n": 90})
                outcomes[True] += 1
        except StoreError:
            outcomes[False] += 1
        for each in ("-wal", "-shm"):
            path.with_name(path.name + each).unlink(missing_ok=True)
    assert outcomes[False] > 0


def test_a_byte_that_flips_is_found_or_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    complete = store_with_snapshot(path)
    places = [*range(100), *range(100, len(complete), 1 if STRESS else 97)]
    refused = 0
    for place in places:
        with path.open("r+b") as file:
            file.seek(place)
            file.write(bytes([complete[place] ^ (1 << place % 8)]))
        try:
            with SQLiteStore(path, readonly=True) as reader:
                assert read_numbers(reader) == of_songs(reader) == list(range(1, 91)), place
                assert reader.bandits() == {"songs": {}}
                snapshot = newest_snapshot(reader, "songs")
                assert snapshot is None or snapshot == (90, {"n": 90})
        except StoreError:
            refused += 1
        for each in ("-wal", "-shm"):
            path.with_name(path.name + each).unlink(missing_ok=True)
        path.write_bytes(complete)
    assert refused > len(places) // 10


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("events", "payload = CAST(payload AS TEXT) WHERE number = 5"),
        ("events", "payload = 7 WHERE number = 5"),
        ("events", "digest = CAST(digest AS TEXT) WHERE number = 5"),
        ("events", "digest = 'text' WHERE number = 5"),
        ("events", "bandit = 1.5 WHERE number = 5"),
        ("bandits", "name = CAST(name AS BLOB)"),
        ("bandits", "meta = CAST(meta AS TEXT)"),
    ],
)
def test_a_value_whose_type_changed_is_found(table: str, change: str, tmp_path: Path) -> None:
    """One bit of a record says whether a value is text or bytes; SQLite reads either."""
    path = tmp_path / "songs.rot"
    store_with_snapshot(path)
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA writable_schema = on; UPDATE sqlite_schema SET sql = replace(sql, ' STRICT', '')")
    connection.close()
    connection = apsw.Connection(str(path))
    connection.execute(f"UPDATE {table} SET {change}")
    connection.close()
    for readonly in (True, False):
        with pytest.raises(StoreError), SQLiteStore(path, readonly=readonly) as store:
            assert read_numbers(store) == of_songs(store)


def test_what_is_acknowledged_outlives_a_power_cut(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    new_store(path, 1).close()
    with failing_disk() as disk, SQLiteStore(path) as store:
        for number in range(2, 30):
            store.append(numbered_events(number, number))
            after = tmp_path / f"after-{number}"
            after.mkdir()
            disk.after_power_cut(after)
            assert checked(after / path.name) == list(range(1, number + 1))


def test_the_operating_system_alone_may_lose_the_end_but_nothing_before_it(tmp_path: Path) -> None:
    path, after = tmp_path / "songs.rot", tmp_path / "after"
    new_store(path, 1).close()
    after.mkdir()
    with failing_disk() as disk, SQLiteStore(path, durability="os") as store:
        store.append(numbered_events(2, 9))
        disk.after_power_cut(after)
        assert checked(after / path.name) == [1]  # as promised, and the disk does forget
        assert read_numbers(store) == list(range(1, 10))
    assert checked(path) == list(range(1, 10))


def test_a_failed_synchronisation_ends_the_writer_and_its_successor_makes_sure(tmp_path: Path) -> None:
    path, after = tmp_path / "songs.rot", tmp_path / "after"
    new_store(path, 3).close()
    after.mkdir()
    with failing_disk() as disk:
        store = SQLiteStore(path)
        store.append(numbered_events(4, 4))
        disk.syncs_fail = True
        for _ in range(2):
            with pytest.raises(StoreFailedError, match="songs.rot could not be read or written .*: open it again$"):
                store.append(numbered_events(5, 5))
        store.close()
        with pytest.raises(StoreError):
            SQLiteStore(path)
        disk.syncs_fail = False
        with SQLiteStore(path) as store:
            seen = read_numbers(store)
            assert seen in ([1, 2, 3, 4], [1, 2, 3, 4, 5])
            store.append(numbered_events(store.last + 1, store.last + 1))
            disk.after_power_cut(after)
        assert checked(after / path.name) == list(range(1, len(seen) + 2))


def test_a_full_disk_takes_nothing_and_the_same_can_be_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    with failing_disk() as disk, new_store(path, 3) as store:
        disk.full = True
        for batch in (numbered_events(4, 4), numbered_events(4, 9)):
            with pytest.raises(StoreFullError, match="songs.rot cannot grow: the disk is full, and nothing was written$"):
                store.append(batch)
        with pytest.raises(StoreFullError):
            store.save_snapshot("songs", 3, {"n": 3})
        assert read_numbers(store) == [1, 2, 3]
        after = tmp_path / "after"
        after.mkdir()
        disk.after_power_cut(after)
        disk.full = False
        assert checked(after / path.name) == [1, 2, 3]
        assert store.append(numbered_events(4, 9)) == 9
    assert checked(path) == list(range(1, 10))


def test_what_is_held_back_is_not_lost_when_the_disk_is_full(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    new_store(path, 1).close()
    with failing_disk() as disk, SQLiteStore(path, durability="memory") as store:
        disk.full = True
        store.append(numbered_events(2, 900))
        with pytest.raises(StoreFullError):
            store.append(numbered_events(901, 1_100))
        disk.full = False
        assert store.append(numbered_events(901, 1_100)) == 1_100
    assert checked(path) == list(range(1, 1_101))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a megabyte."""
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("to mount a small disk one must be root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def fill(store: SQLiteStore) -> None:
    """Append until that is refused."""
    while True:
        store.append(numbered_events(store.last + 1, store.last + 50))


def test_a_real_disk_fills_up(small_disk: Path) -> None:
    path, ballast = small_disk / "songs.rot", small_disk / "ballast"
    ballast.write_bytes(bytes(200_000))
    with new_store(path, 0) as store:
        with pytest.raises(StoreFullError):
            fill(store)
        last = store.last
        assert last > 1_000
        with pytest.raises(StoreFullError):
            store.append(numbered_events(last + 1, last + 50))
    assert checked(path, readonly=True) == list(range(1, last + 1))
    with pytest.raises(StoreFullError):
        SQLiteStore(path)
    ballast.unlink()
    with SQLiteStore(path) as store:
        assert store.append(numbered_events(last + 1, last + 50)) == last + 50
    assert checked(path) == list(range(1, last + 51))


def reward_on(bandit: rotting.Bandit, rewarded: list[str]) -> None:
    """Decide and reward until that is refused."""
    while True:
        decision = bandit.decide()
        assert bandit.reward(decision.id, 1.0) == "applied"
        rewarded.append(decision.id)


def test_a_bandit_goes_on_when_a_real_disk_has_room_again(small_disk: Path) -> None:
    path, ballast = small_disk / "songs.rot", small_disk / "ballast"
    ballast.write_bytes(bytes(600_000))
    rewarded: list[str] = []
    with rotting.open(path, rotting.UCB1(), arms=["a", "b"]) as bandit, pytest.raises(StoreFullError):
        reward_on(bandit, rewarded)
    ballast.unlink()
    with rotting.open(path) as bandit:
        assert {bandit.reward(each, 1.0) for each in rewarded} == {"duplicate"}
        assert bandit.rounds - len(rewarded) in {0, 1}
        assert bandit.reward(bandit.decide().id, 1.0) == "applied"
    with SQLiteStore(path, readonly=True) as store:
        assert verify(store, replay=True).problems == ()


def test_the_wal_stays_short_while_somebody_reads_slowly(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    with SQLiteStore(path, durability="os") as store, SQLiteStore(path, readonly=True) as reader:
        store.add_bandit("songs", {})
        store.append(numbered_events(1, 3_000))
        slow = reader.read()
        pages = 0
        for number in range(3_001, 7_001):
            next(slow)
            store.append(numbered_events(number, number))
            pages = max(pages, path.with_name("songs.rot-wal").stat().st_size // 4_096)
    assert 900 < pages < 1_100


def test_the_test_disk_forgets_what_was_not_synchronised(tmp_path: Path) -> None:
    with failing_disk() as disk:
        connection = apsw.Connection(str(tmp_path / "x.db"))
        connection.pragma("journal_mode", "wal")
        connection.pragma("synchronous", "full")
        connection.execute("CREATE TABLE t (a)")
        synced = bytes(disk.on_disk[str(tmp_path / "x.db-wal")])
        connection.pragma("synchronous", "off")
        connection.execute("INSERT INTO t VALUES (1)")
        assert disk.on_disk[str(tmp_path / "x.db-wal")] == synced
        connection.close()


def test_a_new_store_on_a_disk_that_is_almost_full_is_complete_or_missing(small_disk: Path) -> None:
    path, other = small_disk / "songs.rot", small_disk / "other"
    made = []
    for pages in range(45):
        other.write_bytes(bytes(2**20 - 4096 * pages))
        try:
            SQLiteStore(path).close()
            made.append(pages)
        except (StoreFullError, StoreFailedError):
            pass
        other.unlink()
        SQLiteStore(path).close()  # as soon as there is room
        for each in small_disk.iterdir():
            each.unlink()
    assert made
    assert made[0] > 0
