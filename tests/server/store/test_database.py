"""What both databases do: records, events, keys, snapshots, and transactions."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from rotting.errors import NotAStoreError, PathMissingError, StoreFormatError, StoreReadOnlyError
from rotting.live.bandit_state import REVISION
from rotting.server.store import database as store
from rotting.server.store.database import FORMAT, MAX_BYTES, Database, open_database
from rotting.server.store.events import BanditRecord, StoredEvent, StoredKey, StoredSnapshot, chained, new_record
from tests.helpers.postgres import Postgres


def add(database: Database, name: str = "songs") -> BanditRecord:
    with database.transaction() as transaction:
        created = transaction.create(new_record(name, {"seed": 1}))
        assert created is not None
        return created


def write(database: Database, record: BanditRecord, count: int, size: int = 10) -> list[StoredEvent]:
    with database.transaction() as transaction:
        locked = transaction.record(record.name)
        assert locked is not None
        last = database.last(record)
        before, number = (record.first_digest, 0) if last is None else (last.digest, last.number)
        events = chained(before, number, 5, "shop", [b'{"event":"x%d"}' % k + b" " * size for k in range(count)])
        transaction.append(locked, events, ())
    return events


def test_records_come_back_in_the_order_of_their_names(database: Database) -> None:
    made = [add(database, name) for name in ("b", "a", "Z", "ä", "c")]
    names = [each.name for each in database.records()]
    assert names == ["Z", "a", "b", "c", "ä"]
    assert [each.name for each in database.records("a", 2)] == ["b", "c"]
    assert database.find("b") == made[0]
    assert database.find("none") is None
    assert database.count() == 5


def test_a_name_is_taken_once(database: Database) -> None:
    add(database)
    with database.transaction() as transaction:
        assert transaction.create(new_record("songs", {})) is None


def test_events_come_back_as_they_were_written(database: Database) -> None:
    first, second = add(database), add(database, "other")
    events = write(database, first, 3) + write(database, first, 2)
    others = write(database, second, 1)
    assert database.events(first, 1) == events
    assert database.events(first, 3, 2) == events[2:4]
    assert database.events(second, 1) == others
    assert database.last(first) == events[-1]
    assert database.last(add(database, "empty")) is None


def test_large_events_are_read_a_few_at_a_time(database: Database) -> None:
    record = add(database)
    events = write(database, record, 6, MAX_BYTES // 2)
    found = database.events(record, 1)
    assert 1 <= len(found) < 6
    assert found == events[: len(found)]
    assert database.events(record, len(found) + 1)[0] == events[len(found)]


def test_postgresql_sends_few_bytes_to_a_turn(server: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    database, sent = open_database(f"{server.url}?schema=few_bytes"), []
    record = add(database)
    write(database, record, 40, MAX_BYTES // 4)

    def take(rows: Any) -> None:
        sent.append(sum(len(row[3]) for row in rows))

    monkeypatch.setattr("rotting.server.store.postgres.to_events", take)
    with database.transaction() as transaction:
        assert transaction.record("songs") == record
        transaction.read(record, 1, ())
    assert MAX_BYTES <= sent[0] <= 3 * MAX_BYTES
    database.close()


def test_a_transaction_reads_events_keys_and_the_time(database: Database) -> None:
    record = add(database)
    events = write(database, record, 3)
    key = StoredKey("k", b"request", 7, b"answer")
    with database.transaction() as transaction:
        locked = transaction.record("songs")
        assert locked == record
        transaction.append(locked, (), [key, key._replace(key="other")])
    with database.transaction() as transaction:
        locked = transaction.record("songs")
        assert locked is not None
        reading = transaction.read(locked, 2, ["k", "new"])
    assert reading.events == events[1:]
    assert reading.keys == {"k": key}
    assert reading.now > 1_700_000_000_000_000
    assert [each.key for each in database.keys(record)] == ["k", "other"]


_ODD = ("it's", 'a"b', "back\\slash", "\\'", "%s %(x)s %%", "é😀", "NULL", "{}", ",", "\\x41", "$1;--", "x" * 200)


@pytest.fixture(params=["", "standard_conforming_strings=off", "client_encoding=LATIN1", "client_encoding=SQL_ASCII"])
def odd_place(server: Postgres, request: pytest.FixtureRequest) -> str:
    """The address of an empty database for a role with settings of its own."""
    name = f"odd_{len(request.param)}"
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {name} SUPERUSER LOGIN")
        if request.param:
            connection.execute(f"ALTER ROLE {name} SET {request.param}")
    return server.url.replace("rotting@", f"{name}@") + f"?schema={name}"


def test_odd_text_and_bytes_come_back_from_postgresql_whatever_the_settings_of_a_role_are(odd_place: str) -> None:
    database = open_database(odd_place)
    for name in _ODD:
        record = add(database, name)
        payloads = [name.encode(), b"\xff\x00'\\\"", b"", b"\\x00"]
        for some in (payloads, payloads[1:2]):  # many at once are written in another way than one
            last = database.last(record)
            before, number = (record.first_digest, 0) if last is None else (last.digest, last.number)
            events = chained(before, number, 5, name, some)
            keys = [StoredKey(each, each.encode(), 7, b"\x00'\\") for each in _ODD]
            with database.transaction() as transaction:
                assert transaction.record(name) == record
                transaction.append(record, events, keys)
            with database.transaction() as transaction:
                assert transaction.record(name) == record
                reading = transaction.read(record, number + 1, [*_ODD, "none"])
            assert (reading.events, reading.keys) == (events, {each.key: each for each in keys})
    database.close()


def test_two_processes_make_the_tables_at_once_with_any_isolation(server: Postgres) -> None:
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("CREATE ROLE careful SUPERUSER LOGIN")
        connection.execute("ALTER ROLE careful SET default_transaction_isolation = 'repeatable read'")
        connection.execute("SELECT pg_advisory_lock(hashtext('rotting tables'))")
        place = server.url.replace("rotting@", "careful@") + "?schema=at_once"
        with ThreadPoolExecutor(2) as threads:
            opened = [threads.submit(open_database, place) for _ in range(2)]
            waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            while connection.execute(waiting).fetchone() != (2,):
                assert not any(each.done() for each in opened)
            connection.execute("SELECT pg_advisory_unlock(hashtext('rotting tables'))")
            for each in opened:
                each.result().close()


def test_a_key_that_is_stored_again_replaces_the_first(database: Database) -> None:
    record = add(database)
    for answer in (b"made", b""):
        with database.transaction() as transaction:
            assert transaction.record("songs") is not None
            transaction.append(record, (), [StoredKey("k", b"", 7, answer)])
    assert [each.answer for each in database.keys(record)] == [b""]


def test_an_exception_rolls_everything_back(database: Database) -> None:
    record = add(database)

    def fail() -> None:
        with database.transaction() as transaction:
            assert transaction.record("songs") is not None
            transaction.append(record, chained(record.first_digest, 0, 1, "", [b"{}"]), [StoredKey("k", b"", 1, b"")])
            transaction.update(record._replace(archived=True))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert (database.events(record, 1), database.keys(record), database.find("songs")) == ([], [], record)


def test_archived_and_keep_are_written(database: Database) -> None:
    record = add(database)._replace(archived=True, keep=86_400.0)
    with database.transaction() as transaction:
        assert transaction.record("songs") is not None
        transaction.update(record)
    assert database.find("songs") == record


def test_a_snapshot_needs_its_event(database: Database) -> None:
    record = add(database)
    events = write(database, record, 4)
    for event in events:
        database.save_snapshot(record, StoredSnapshot(event.number, event.digest, b"state"))
    database.save_snapshot(record, StoredSnapshot(2, b"not this", b"state"))
    database.save_snapshot(record, StoredSnapshot(9, events[-1].digest, b"state"))
    assert [each.number for each in database.snapshots(record)] == [4, 3]


def test_a_base_stays_and_its_events_are_swept(database: Database) -> None:
    record = add(database)
    events = write(database, record, 6)
    base = StoredSnapshot(3, events[2].digest, b"base")
    with database.transaction() as transaction:
        locked = transaction.record("songs")
        assert locked is not None
        transaction.save_base(locked, base)
    based = database.find("songs")
    assert based is not None
    assert (based.base, based.first_digest) == (3, base.digest)
    assert database.sweep(0, 2) == 2
    assert database.sweep(0, 2) == 1
    assert database.sweep(0, 2) == 0
    assert database.events(based, 1) == events[3:]
    for event in events[3:]:
        database.save_snapshot(based, StoredSnapshot(event.number, event.digest, b"newer"))
    assert [each.number for each in database.snapshots(based)] == [6, 5, 3]


def test_snapshots_of_two_revisions_live_side_by_side(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    record = add(database)
    events = write(database, record, 6)
    with database.transaction() as transaction:
        locked = transaction.record("songs")
        assert locked is not None
        transaction.save_base(locked, StoredSnapshot(2, events[1].digest, b"base"))
    based = database.find("songs")
    assert based is not None
    for revision in (REVISION, REVISION + 1, REVISION):
        monkeypatch.setattr(store, "REVISION", revision)
        for event in events:
            database.save_snapshot(based, StoredSnapshot(event.number, event.digest, b"of %d" % revision))
    of_each = {}
    for revision in (REVISION, REVISION + 1):
        monkeypatch.setattr(store, "REVISION", revision)
        of_each[revision] = [(each.number, each.state) for each in database.snapshots(based)]
    assert of_each == {k: [(6, b"of %d" % k), (5, b"of %d" % k), (2, b"base")] for k in of_each}
    database.migrate()  # by the newer version
    assert len(database.snapshots(based)) == 3
    monkeypatch.setattr(store, "REVISION", REVISION)
    assert [each.state for each in database.snapshots(based)] == [b"base"]


def test_old_keys_are_swept(database: Database) -> None:
    record = add(database)
    with database.transaction() as transaction:
        assert transaction.record("songs") is not None
        transaction.append(record, (), [StoredKey(f"k{time}", b"", time, b"") for time in range(5)])
    assert database.sweep(3, 100) == 3
    assert [each.key for each in database.keys(record)] == ["k3", "k4"]


def test_a_deleted_bandit_leaves_nothing_behind(database: Database) -> None:
    record, other = add(database), add(database, "other")
    events = write(database, record, 3)
    write(database, other, 1)
    database.save_snapshot(record, StoredSnapshot(3, events[-1].digest, b"state"))
    with database.transaction() as transaction:
        assert transaction.record("songs") is not None
        transaction.delete(record)
    assert database.find("songs") is None
    while database.sweep(0, 2):
        pass
    again = add(database)
    assert again.id != record.id
    assert (database.events(record, 1), database.snapshots(record)) == ([], [])
    assert len(database.events(other, 1)) == 1


def test_a_reader_writes_nothing(database: Database, place: str) -> None:
    record = add(database)
    reader = open_database(place, readonly=True)
    assert reader.find("songs") == record
    with pytest.raises(StoreReadOnlyError, match="reading"), reader.transaction():
        pass
    reader.close()


def test_the_size_grows_with_the_log(database: Database) -> None:
    record = add(database)
    before = database.size()
    for _ in range(10):
        write(database, record, 50, 1_000)
    assert database.size() > before + 100_000
    assert database.check() == []


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PathMissingError, match="no such store"):
        open_database(tmp_path / "none.rot", create=False)
    with pytest.raises(PathMissingError, match="no such folder"):
        open_database(tmp_path / "none" / "songs.rot")
    with pytest.raises(NotAStoreError, match="folder"):
        open_database(tmp_path)
    (tmp_path / "text.rot").write_text("not a database, but long enough to look like one\n" * 40)
    with pytest.raises(NotAStoreError, match="not a database"):
        open_database(tmp_path / "text.rot")
    (tmp_path / "empty.rot").touch()
    with pytest.raises(NotAStoreError, match="empty"):
        open_database(tmp_path / "empty.rot", create=False)


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    import apsw

    connection = apsw.Connection(str(tmp_path / "other.db"))
    connection.execute("CREATE TABLE things (name TEXT)")
    connection.close()
    with pytest.raises(NotAStoreError, match="another program"):
        open_database(tmp_path / "other.db")


@pytest.mark.parametrize(("version", "age"), [(2, "an older"), (99, "a newer")])
def test_another_format_is_refused(place: str, version: int, age: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = open_database(place)
    with monkeypatch.context() as another_version:
        set_formats(another_version, 0, 100, version)
        made.migrate()
    for attempt in (lambda: open_database(place), lambda: add(made)):
        with pytest.raises(StoreFormatError, match=f"{version}, of {age} version"):
            attempt()
    made.close()


def test_a_newer_version_uses_a_store_as_it_is_until_it_is_migrated(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    older = open_database(place)
    with monkeypatch.context() as newer_version:
        set_formats(newer_version, FORMAT, FORMAT + 1, FORMAT + 1)
        newer = open_database(place)
        add(newer, "a")
    add(older, "b")
    with monkeypatch.context() as newer_version:
        set_formats(newer_version, FORMAT, FORMAT + 1, FORMAT + 1)
        newer.migrate()
        add(newer, "c")
        assert newer.count() == 3
    with pytest.raises(StoreFormatError, match="a newer version"):
        add(older, "d")
    newer.close()
    older.close()


def set_formats(patch: pytest.MonkeyPatch, oldest: int, newest: int, written: int) -> None:
    """Let the library be a version that uses some formats, and migrates to one of them."""
    patch.setattr("rotting.server.store.sqlite.FORMAT", written)
    patch.setattr("rotting.server.store.postgres.FORMAT", written)
    patch.setattr("rotting.server.store.database.FORMAT", newest)
    patch.setattr("rotting.server.store.database.OLDEST_FORMAT", oldest)


def test_two_sweeps_at_once_do_not_wait_for_each_other(database: Database, place: str) -> None:
    record = add(database)
    with database.transaction() as transaction:
        assert transaction.record("songs") is not None
        transaction.append(record, (), [StoredKey(f"k{time:03}", b"", time, b"") for time in range(100)])
    other = open_database(place)
    with ThreadPoolExecutor(2) as threads:
        swept = sum(threads.map(lambda each: sum(iter(lambda: each.sweep(100, 7), 0)), (database, other)))
    assert swept == 100
    assert database.keys(record) == []
    other.close()
