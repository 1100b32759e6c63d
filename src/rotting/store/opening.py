"""Opens the file of a store for a reader or for its writer.

Opening a store checks its id, its bandits and its last event. It also checks that the last places of all bandits add up to the
number of events, and that no acknowledged event is missing. This takes no longer for a store with more events, even after a
crash, since the write-ahead log (WAL) is short.

A main file that lost its WAL looks complete. So the column `unclosed` says whether a writer has the store open:

- A new writer sets it and copies the WAL into the main file before the first event. The WAL keeps its length. If a reader is in
  the way, the writer tries again about once a second.
- Closing a store copies the WAL into the main file, then resets the column, then copies that too and removes the WAL. The
  column is also reset in this order before a WAL is emptied that a killed writer left, that has grown too long, or that a
  program left open at its end.

Therefore, whenever a process is killed, the main file is complete, or it is recorded as unclosed and a WAL that is not empty is
beside it. The exception: as long as a reader is in the way, a main file with a writer is not yet recorded as unclosed.
"""

from typing import NamedTuple

from rotting.errors import StoreDamagedError, StoreLockedError, StoreReadOnlyError
from rotting.store import limits
from rotting.store.bandit_table import BanditTable
from rotting.store.database import Database
from rotting.store.event_appender import EventAppender
from rotting.store.event_reader import EventReader
from rotting.store.files import (
    connect_for_reading,
    create_store,
    empty_wal,
    has_wal,
    lock_for_writing,
    missing_file_error,
    sync_wal,
)
from rotting.store.high_water_mark import Mark, MarkProblem, MarkWriter, find_loss, is_emptied, read_mark, unusable_mark
from rotting.store.records import digest


class Opened(NamedTuple):
    """The parts of an open store."""

    id: str
    bandits: BanditTable
    reader: EventReader
    appender: EventAppender
    mark_problem: MarkProblem | None
    """Why acknowledged events are or may be missing; None if they are not."""


def open_reader(database: Database, known: BanditTable | None = None) -> Opened:
    """Open a store for reading; `known`: the bandits of the writer, if it is in this process and has checked the store."""
    mark, problem = _read_mark(database)
    database.connection = database.file.add_connection(connect_for_reading(database.path))
    database.file.attach()
    opened = _load(database, mark, problem) if known is None else _load_beside_writer(database, known)
    database.watch_files()
    return opened


def open_writer(database: Database, create: bool) -> Opened:
    """Open a store as its writer, in a new epoch; `create` it if it does not exist."""
    path, file = database.path, database.file
    if path.exists():  # a file of another program is only read, and gets no lock file beside it
        connect_for_reading(path).close(True)
    else:
        _check_may_create(database, create)
    file.add_connection(lock_for_writing(path))
    if not path.exists():
        _check_may_create(database, create)
        create_store(path)
    file.attach()
    file.lock()
    mark, problem = _read_mark(database)
    database.connection = database.connect_for_writing()
    opened = _load(database, mark, problem)
    _take_over(database, opened, is_unsynced=mark is not None and mark.sync_failed)
    database.watch_files()
    # The new mark replaces one that could not be used; but a loss is still reported.
    found = opened.mark_problem
    return opened if found is None or found.is_loss else opened._replace(mark_problem=None)


def _check_may_create(database: Database, create: bool) -> None:
    error = missing_file_error(database.path)
    if not create or isinstance(error, StoreDamagedError):
        raise error


def _read_mark(database: Database) -> tuple[Mark | None, MarkProblem | None]:
    """Return the high-water mark, or why it cannot be read. It must be read before the file, since a writer may be at work."""
    try:
        return read_mark(database.path), None
    except ValueError as error:
        return None, unusable_mark(str(error))


def _read_id(database: Database) -> str:
    store_id, made_by, found = database.row("SELECT id, made_by, digest FROM store")
    if found != digest(store_id, made_by):
        raise database.damaged("its id is not what was written")
    return str(store_id)


def _load_beside_writer(database: Database, known: BanditTable) -> Opened:
    """Read the id only: the writer of this process has checked the rest, and knows the bandits."""
    store_id = _read_id(database)
    bandits = BanditTable(database, store_id, known)
    reader, appender = EventReader(database, store_id, bandits), EventAppender(database, bandits, 0, b"", {})
    return Opened(store_id, bandits, reader, appender, mark_problem=None)


def _load(database: Database, mark: Mark | None, mark_problem: MarkProblem | None) -> Opened:
    """Read the id, the bandits and the last event, and check that the store is complete."""
    with database.view():
        store_id = _read_id(database)
        epoch, counted_bandits, counted_events = database.writer_row()
        # A mark says what was acknowledged, unless it was left by an earlier writer, beside an older copy of the file.
        if mark is None or mark.store != digest(store_id) or mark.epoch < epoch:
            _check_wal(database)
        bandits = BanditTable(database, store_id)
        # A page that lost its last rows is still a valid page, so the counts of the last writer are compared.
        if len(bandits) < counted_bandits:
            raise database.damaged(f"the last of its {counted_bandits} bandits are missing")
        reader = EventReader(database, store_id, bandits)
        last, last_digest, last_epoch = reader.last_event()
        if last < counted_events:
            raise database.damaged(f"the last of its {counted_events} events are missing")
        places = reader.last_places()
        if sum(places.values()) != last:
            raise database.damaged(f"some of its {last} events are missing at the end of a bandit")
        database.epoch = max(epoch, last_epoch)
    if mark is not None:
        mark_problem = find_loss(mark, database.path, store_id, last, len(bandits))
    return Opened(store_id, bandits, reader, EventAppender(database, bandits, last, last_digest, places), mark_problem)


def _check_wal(database: Database) -> None:
    """Refuse a file that its last writer did not close, and whose WAL is missing: the latest events may be in the WAL.

    The file may have been moved or copied without its WAL, or be opened through a hard link. This must be called within a view:
    a writer may close the store at any moment, but as long as a view shows the store as unclosed, its WAL stays in place.
    """
    if database.is_unclosed() and not has_wal(database.path) and not is_emptied(database.path):
        what = (
            "has not been closed by its last writer, and its -wal file, which may hold acknowledged events, is missing or empty"
        )
        hint = "open it where its -wal file is, or restore a backup; to go on without them, put an empty -mark file beside it"
        raise StoreDamagedError(f"{what}: {hint}", database.path)


def _take_over(database: Database, opened: Opened, is_unsynced: bool) -> None:
    """Become the writer, in a new epoch; `is_unsynced`: the last writer failed to synchronise the WAL."""
    connection, last = database.connection, opened.appender.last
    if connection.readonly("main"):
        raise StoreReadOnlyError("is read-only: it cannot be written to", database.path)
    connection.pragma("journal_mode", "wal")
    database.writer_row()  # the WAL of a copy by VACUUM INTO stays locked until the file was read once in this mode
    database.set_durability(connection, "full" if database.durability == "disk" else "normal")
    connection.wal_autocheckpoint(limits.WAL_PAGES)
    timeout_ms = limits.BUSY_MS if is_unsynced else limits.TAKE_OVER_MS
    # If the last writer was killed, its file is recorded as unclosed, and must not be left with an empty WAL.
    is_closed = not database.is_unclosed() or database.mark_closed(len(opened.bandits), last, timeout_ms)
    if not (is_closed and empty_wal(connection, timeout_ms)):
        _secure_wal(database, is_unsynced)
    connection.execute("BEGIN IMMEDIATE")
    if opened.reader.last_event()[0] != last or database.writer_row()[0] > database.epoch:
        # Another writer lost the lock, but still writes.
        raise StoreLockedError("is locked: another writer has it", database.path)
    database.epoch += 1
    connection.execute("UPDATE writer SET epoch = ?", (database.epoch,))
    connection.execute("COMMIT")
    database.mark_unclosed(limits.TAKE_OVER_MS)
    counts = (last, len(opened.bandits))
    mark = Mark(digest(opened.id), *counts, *counts, epoch=database.epoch)
    database.mark = MarkWriter(database.path, mark, synced=database.durability == "disk")


def _secure_wal(database: Database, is_unsynced: bool) -> None:
    """Make sure that everything that can be read from a WAL is on the disk, although a reader keeps it from being emptied.

    After a failed synchronisation, the WAL may hold pages that can be read but are not on the disk, and later pages would be
    lost with them. Synchronising it again does not help: the operating system does not write the same pages again.
    """
    if is_unsynced:
        reason = "is locked: the last writer could not synchronise it, and a reader keeps its -wal file from being copied"
        raise StoreLockedError(reason, database.path)
    database.row("PRAGMA wal_checkpoint(PASSIVE)")
    sync_wal(database.path)
