"""A store in one SQLite file, with a write-ahead log (WAL) that is synchronised at every commit.

Beside `songs.rot` there are, while it is open, `songs.rot-wal` and `songs.rot-shm`, which belong to SQLite, an empty file that
the writer locks, `songs.rot-lock`, and `songs.rot-mark`, which says how many events were acknowledged (see `marks`). To copy a
store while it is written to, see `rotting.store.backup`.

What is checked, and when:

- Whenever events are read, of one bandit or of all: that each is what was written, and that none between them is missing. An
  event knows its number in the log and its place among those of its bandit, and its digest covers both and the digest before.
  Only `contents` reads them without these checks, unless it is asked to check them.
- When a store is opened: its name, its bandits, its last event, that the last places of all bandits add up to the number of
  events, and that there are as many events as were acknowledged. This takes as long for a large store as for a small one, also
  after a crash: the WAL is short.
- When a store is written to: that its files are still those that were opened, after every commit with durability "disk", else
  about once a second.
- When a store is verified: every page, every event and every snapshot.
"""

import logging
import os
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, NamedTuple, Self

from rotting.common.rules import nonnegative_int, option
from rotting.errors import (
    StoreDamagedError,
    StoreError,
    StoreFailedError,
    StoreFullError,
    StoreLockedError,
    StoreReadOnlyError,
    brief,
)
from rotting.store.files import (
    IS_NOTE,
    NOTE_NAME,
    PATIENCE_MS,
    empty_wal,
    lock,
    look,
    make,
    missing,
    open_file,
    resolved,
    sync_wal,
    to_store_error,
)
from rotting.store.marks import Mark, MarkWriter, owner, read_mark
from rotting.store.open_files import OpenFile
from rotting.store.protocol import DURABILITIES, Durability, Event, Payload, Snapshot
from rotting.store.records import check_bandit, check_new, check_snapshot, decode, digest, encode, encode_in_pieces

import apsw  # isort: skip - after `files`, which says what to install

WAL_LIMIT_BYTES = 2**30
"""How large the WAL may grow behind a reader that keeps it from being reset, before appends are refused."""

_APPEND = "INSERT INTO events SELECT ?1, ?2, ?3, ?4, ?5, ?6 FROM writer WHERE epoch = ?2"
_MOST_ROWS = 128  # in one statement; a power of two
_ROW = "(?, ?, ?, ?, ?, ?)"
_INSERT_ROWS = {
    count: f"INSERT INTO events VALUES {', '.join([_ROW] * count)}"  # noqa: S608 - no value of a user is in it
    for count in (2**power for power in range(_MOST_ROWS.bit_length()))
}
_ADD_PIECE = "INSERT INTO pieces SELECT ?1, ?2, ?3 FROM writer WHERE epoch = ?4"
_DIGEST_BEFORE = "(SELECT digest FROM events AS last WHERE last.number = events.number - 1)"
_EVENTS = f"SELECT number, epoch, bandit, place, payload, digest, {_DIGEST_BEFORE} FROM events"  # noqa: S608
_OF_BANDIT = "INDEXED BY events_of WHERE bandit = ?3 AND number > ?1 ORDER BY number LIMIT ?2"
_CONTENTS = f"SELECT number, epoch, bandit, place, payload, NULL, NULL FROM events {_OF_BANDIT}"  # noqa: S608
_LAST_PLACE = "SELECT place FROM events INDEXED BY events_of WHERE bandit = ?2 AND number <= ?1 ORDER BY number DESC LIMIT 1"
_LAST_PLACES = f"SELECT bandit, ({_LAST_PLACE.replace('?2', 'bandits.bandit')}) FROM bandits"  # noqa: S608
_NOTE_NAMES = f"""
SELECT DISTINCT {NOTE_NAME} FROM events INDEXED BY notes WHERE {IS_NOTE} AND bandit = ?1 AND {NOTE_NAME} > ?2
ORDER BY {NOTE_NAME} LIMIT ?3"""  # noqa: S608 - no value of a user is in it
_NOTES = f"{_EVENTS} INDEXED BY notes WHERE {IS_NOTE} AND bandit = ?1 AND {NOTE_NAME} = ?2"  # ORDER BY costs 5 us
_OLDER_SNAPSHOT = """
SELECT snapshot, number, digest FROM snapshots WHERE bandit = ?1 AND (number, snapshot) < (?2, ?3)
ORDER BY number DESC, snapshot DESC LIMIT 1"""

_LARGEST = 2**63 - 1  # that SQLite can carry
_KEPT = 2  # snapshots of each bandit
_CHUNK = 1_000  # events that are read at once: no reader holds its view of the file for long, and the WAL stays short
_HELD = 1_000  # events that are held back with durability "memory", at most
_WAL_PAGES = 1_000  # after so many the WAL is copied into the file, and begins anew
_PIECE = 2**16  # bytes of a snapshot that are written at once: others need not wait long for their turn
_PIECES = 16  # that are written before the WAL is copied, and removed at once
_CHECK_SECONDS = 1.0  # between two checks of the files: one takes 10 us, and an append 20 us
_CHECK_BYTES = 2**22  # that are written without such a check, at most
_TAKE_OVER_PATIENCE_MS = 500  # to wait for readers before starting beside them

_log = logging.getLogger("rotting.store")
_EventRow = tuple[int, int, int, int, bytes, bytes]


class _Row(NamedTuple):
    """An event as it is in the file."""

    number: int
    epoch: int
    bandit: int
    place: int
    payload: bytes
    digest: bytes
    before: bytes | None
    """The digest of the event before it."""


class Contents(NamedTuple):
    """Some events of a bandit, as they are in the file."""

    rows: list[tuple[int, int, bytes]]
    """The number, the epoch and the payload of each, as JSON."""
    last: int
    """The number of the last of them."""
    left: int
    """How many events of the bandit come after it."""


class SQLiteStore:
    """A store in a file.

    Args:
        path: the file.
        readonly: open it as a reader: it must be there.
        durability: what it means that an append returned; see `Durability`.
        create: make the file if it is not there; otherwise a `PathMissingError` is raised.

    Raises:
        StoreDamagedError: among other reasons, if acknowledged events are missing, or if the file is missing while its WAL is
            there. Nothing is changed then.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> with SQLiteStore(f"{folder.name}/songs.rot") as store:
        ...     events = [("songs", {"decided": "a"}), ("songs", {"decided": "b"})]
        ...     store.append(events, bandits=[("songs", {"arms": ["a", "b"]})])
        2
        >>> with SQLiteStore(f"{folder.name}/songs.rot", readonly=True) as store:
        ...     [event.payload for event in store.read("songs", after=1)]
        [{'decided': 'b'}]
        >>> folder.cleanup()
    """

    def __init__(
        self, path: str | os.PathLike[str], readonly: bool = False, durability: Durability = "disk", create: bool = True
    ) -> None:
        option(*DURABILITIES).check("durability", durability)
        self._path = resolved(path)
        self._readonly, self._durability = readonly, durability
        self._mutex = threading.RLock()
        self._saving = threading.RLock()  # held while a snapshot is saved; taken before the mutex
        self._process = os.getpid()
        self._failure: StoreError | None = None  # why the store cannot be used any more
        self._leave_files = False  # whether closing must not change the files
        self._held: list[_EventRow] = []
        self._file = OpenFile(self._path)
        self._mark: MarkWriter | None = None
        self._mark_problem = ""
        self._next_check, self._unchecked = time.monotonic() + _CHECK_SECONDS, 0
        try:
            with self._use():
                if readonly:
                    self._open_reader()
                else:
                    self._open_writer(create)
            if not readonly:
                self._sweep()
        except BaseException:
            self._release()
            raise

    # --- Opening ----------------------------------------------------------------------------------------------------------

    def _open_reader(self) -> None:
        mark = self._read_mark()
        self._db = self._file.keep(look(self._path))
        self._file.attach()
        self._load_header()
        self._check_mark(mark)
        self._watch()

    def _open_writer(self, create: bool) -> None:
        if self._path.exists():  # another program's file is only looked at, and gets no lock beside it
            look(self._path).close(True)
        else:
            self._check_may_create(create)
        self._file.keep(lock(self._path))
        if not self._path.exists():
            self._check_may_create(create)
            make(self._path)
        self._file.attach()
        self._file.lock()
        mark = self._read_mark()
        self._db = self._file.keep(open_file(str(self._path), apsw.SQLITE_OPEN_READWRITE))
        self._load_header()
        self._check_mark(mark)
        self._take_over(is_unsynced=mark is not None and mark.sync_failed)
        self._watch()

    def _check_may_create(self, create: bool) -> None:
        error = missing(self._path)
        if not create or isinstance(error, StoreDamagedError):
            raise error

    def _load_header(self) -> None:
        """Check that the store is whole, and read what is small."""
        self._id: str
        self._epoch: int
        with self._view():
            self._id, made_by, found = self._row("SELECT id, made_by, digest FROM store")
            if found != digest(self._id, made_by):
                raise self._damaged("its name is not what was written")
            self._epoch, bandits, last = self._writer()
            self._load_bandits()
            # A page that lost its last rows is still a page: what the last writer counted must be there.
            if len(self._bandits) < bandits:
                raise self._damaged(f"the last of its {bandits} bandits are missing")
            self._last, self._digest, latest = self._tail()
            if self._last < last:
                raise self._damaged(f"the last of its {last} events are missing")
            self._places: dict[int, int] = {slot: _whole(place) for slot, place in self._all(_LAST_PLACES, (_LARGEST,))}
            if sum(self._places.values()) != self._last:
                raise self._damaged(f"of its {self._last} events some are missing at the end of a bandit")
            self._epoch = max(self._epoch, latest)

    def _read_mark(self) -> Mark | None:
        """Return the high-water mark. It must be read before the file: a writer may be at work."""
        try:
            return read_mark(self._path)
        except ValueError as error:
            self._mark_problem = f"its -mark file {error}: it is not known whether acknowledged events are missing"
            return None

    def _check_mark(self, mark: Mark | None) -> None:
        """Check that there is as much as was acknowledged."""
        if mark is None:
            return
        if mark.store != owner(self._id):
            self._mark_problem = (
                "its -mark file belongs to another store: it is not known whether acknowledged events are missing"
            )
            return
        counts = (
            ("events", mark.events, mark.synced_events, self._last),
            ("bandits", mark.bandits, mark.synced_bandits, len(self._bandits)),
        )
        for what, acknowledged, synced, there in counts:
            lost = f"lost the last {acknowledged - there} of its {acknowledged} {what}, which were acknowledged"
            if there < synced:
                hint = "restore its -wal file or a backup; to go on without them, remove its -mark file"
                raise StoreDamagedError(f"{lost}: {hint}", self._path)
            if there < acknowledged:
                self._mark_problem = f'it {lost}, but not synchronised to the disk (durability "os" or "memory")'
                _log.warning("%s: %s", self._path, self._mark_problem)

    def _take_over(self, is_unsynced: bool) -> None:
        """Become the writer, in a new epoch."""
        if self._db.readonly("main"):
            raise StoreReadOnlyError("is read-only: it cannot be written to", self._path)
        self._db.pragma("journal_mode", "wal")
        self._writer()  # a copy by VACUUM INTO was in another mode: unless it is read once in this one, its WAL is locked
        self._set_durability(self._db, "full" if self._durability == "disk" else "normal")
        self._db.wal_autocheckpoint(_WAL_PAGES)
        self._secure_wal(is_unsynced)
        self._db.execute("BEGIN IMMEDIATE")
        if self._tail()[0] != self._last or self._writer()[0] > self._epoch:  # the lock was lost, and its owner goes on
            raise StoreLockedError("is locked: another writer has it", self._path)
        self._epoch += 1
        self._db.execute("UPDATE writer SET epoch = ?", (self._epoch,))
        self._db.execute("COMMIT")
        known = (self._last, len(self._bandits))
        self._mark = MarkWriter(self._path, Mark(owner(self._id), *known, *known), synced=self._durability == "disk")
        if "lost" not in self._mark_problem:  # the new mark is intact
            self._mark_problem = ""
        # Snapshots have a connection of their own: their pieces are not synchronised one by one, and it copies the WAL while
        # others append.
        self._snapshot_db = self._file.keep(open_file(str(self._path), apsw.SQLITE_OPEN_READWRITE))
        self._set_durability(self._snapshot_db, "normal")
        self._snapshot_db.wal_autocheckpoint(0)

    def _set_durability(self, connection: apsw.Connection, synchronous: str) -> None:
        connection.pragma("synchronous", synchronous)
        on_disk = int(self._durability == "disk")
        connection.pragma("fullfsync", on_disk)  # macOS: through the cache of the drive
        connection.pragma("checkpoint_fullfsync", on_disk)

    def _secure_wal(self, is_unsynced: bool) -> None:
        """Make sure that all that can be read is on the disk.

        Where a synchronisation failed, what can be read from the WAL may not be on the disk, and what is appended to it would
        be lost with it. So the file gets all of it, synchronised, and the WAL begins anew. If a reader is in the way, it is
        enough to synchronise the WAL, unless that is what failed: the operating system does not write the same pages again.
        """
        patience = PATIENCE_MS if is_unsynced else _TAKE_OVER_PATIENCE_MS
        if empty_wal(self._db, patience):
            return
        if is_unsynced:
            reason = "is locked: the last writer could not synchronise it, and a reader keeps its -wal file from being copied"
            raise StoreLockedError(reason, self._path)
        self._row("PRAGMA wal_checkpoint(PASSIVE)")
        sync_wal(self._path)

    def _watch(self) -> None:
        (page,) = self._row("SELECT rootpage FROM sqlite_schema WHERE name = 'store'")
        self._file.watch(page, self._db.pragma("page_size"), is_writer=not self._readonly)

    def _writer(self) -> tuple[int, int, int]:
        """Return the epoch of the latest writer, and how many bandits and events it counted."""
        epoch, bandits, last = self._row("SELECT epoch, bandits, last FROM writer")
        if not all(isinstance(each, int) for each in (epoch, bandits, last)):
            raise self._damaged("what its writer counted is not what was written")
        return epoch, bandits, last

    def _tail(self) -> tuple[int, bytes, int]:
        """Return the number, the digest and the epoch of the last event, which is checked."""
        rows = self._rows(f"{_EVENTS} ORDER BY number DESC LIMIT 1")
        if not rows:
            return 0, digest(self._id), 0
        self._check(rows[0])
        return rows[0].number, rows[0].digest, rows[0].epoch

    def _load_bandits(self) -> None:
        bandits: dict[str, int] = {}
        metas: dict[str, bytes] = {}
        for number, name, meta, found in self._all("SELECT bandit, name, meta, digest FROM bandits ORDER BY bandit"):
            if found != digest(self._id, number, name, meta) or number != len(bandits) + 1:
                raise self._damaged(f"bandit {number} is not what was written")
            bandits[name], metas[name] = number, meta
        self._bandits, self._metas = bandits, metas
        self._names = {number: name for name, number in bandits.items()}

    def _look_again(self) -> None:
        """Learn of the bandits that another process has added; a writer knows them all."""
        if self._readonly:
            self._load_bandits()

    def _check_there(self, bandit: object) -> None:
        if bandit not in self._bandits:
            self._look_again()
            check_bandit(bandit, self._bandits)

    @property
    def id(self) -> str:
        """A unique id, assigned when the store was created."""
        return self._id

    @property
    def epoch(self) -> int:
        """The epoch of this writer; for a reader, that of the latest writer."""
        if self._readonly:
            with self._use():
                self._epoch = self._writer()[0]
        return self._epoch

    @property
    def last(self) -> int:
        """The number of the last event; 0 before the first."""
        with self._use():
            return self._tail()[0] if self._readonly else self._last

    def bandits(self) -> dict[str, Payload]:
        """Return the description of each bandit, by name."""
        with self._use():
            self._look_again()
            return {name: decode(meta) for name, meta in self._metas.items()}

    # --- Appending --------------------------------------------------------------------------------------------------------

    def add_bandit(self, name: str, meta: Payload) -> None:
        """Add a bandit whose events will follow."""
        self.append((), [(name, meta)])

    def append(self, events: Iterable[tuple[str, Payload]], bandits: Iterable[tuple[str, Payload]] = ()) -> int:
        """Add bandits and append events in one transaction, all of them or none; return the number of the last event.

        With durability "disk" they are on the disk when this returns. If the disk is full, nothing was appended, and the same
        can be tried again.

        Args:
            events: the name of its bandit and the payload of each event.
            bandits: the name and the description of each bandit that is new; events of it may follow in the same call.

        Raises:
            StoreFullError: the disk is full, or a reader has kept the WAL from being reset until it grew to its limit.
            StoreLockedError: another writer has replaced this one, which cannot be used any more.
            StoreError: the file was deleted, replaced or truncated. This is noticed within a second or so.
        """
        metas = [(name, encode("meta", meta)) for name, meta in bandits]
        given = [(name, encode("payload", payload)) for name, payload in events]
        with self._use(writing=True):
            added = self._numbered(metas)
            rows, places = self._chained(given, added)
            if added or self._durability != "memory":
                self._commit(self._held + rows, added)
                self._held = []
            else:
                if len(self._held) + len(rows) > _HELD:
                    self.flush()  # first: what is refused now must not be written later
                self._held += rows
            self._places.update(places)
            if rows:
                self._last, self._digest = rows[-1][0], rows[-1][5]
            return self._last

    def _numbered(self, metas: list[tuple[str, bytes]]) -> dict[str, tuple[int, bytes]]:
        """Return the number and the description of each new bandit, by name."""
        added: dict[str, tuple[int, bytes]] = {}
        for name, content in metas:
            check_new(name, added)
            added[check_new(name, self._bandits)] = len(self._bandits) + len(added) + 1, content
        return added

    def _chained(
        self, given: list[tuple[str, bytes]], added: dict[str, tuple[int, bytes]]
    ) -> tuple[list[_EventRow], dict[int, int]]:
        """Return the rows of events, and the last place of each bandit after them."""
        rows: list[_EventRow] = []
        places: dict[int, int] = {slot: 0 for slot, _ in added.values()}
        last, before = self._last, self._digest
        for name, content in given:
            slot = added[name][0] if name in added else self._bandits.get(name)
            if slot is None:
                check_bandit(name, {*self._bandits, *added})
            assert slot is not None
            last, place = last + 1, (places[slot] if slot in places else self._places[slot]) + 1
            before = digest(before, last, self._epoch, slot, place, content)
            rows.append((last, self._epoch, slot, place, content, before))
            places[slot] = place
        return rows, places

    def _commit(self, rows: list[_EventRow], added: dict[str, tuple[int, bytes]] | None = None) -> None:
        """Write bandits and events, then the mark; what this object knows of the bandits follows the file."""
        if not (rows or added):
            return
        self._before_writing(len(rows[0][4]) if len(rows) == 1 else sum(len(row[4]) for row in rows))
        last = rows[-1][0] if rows else self._written
        if len(rows) == 1 and not added:  # in one statement, which is a transaction of its own: half the time of the others
            self._db.execute(_APPEND, rows[0])
            if self._db.changes() != 1:
                self._check_epoch()
                raise self._damaged("an event could not be inserted")
        else:
            with self._transaction():
                self._insert_events(rows)
                if added:
                    self._insert_bandits(added)
                    self._count(len(self._bandits) + len(added), last)
            for name, (slot, content) in (added or {}).items():
                self._bandits[name], self._metas[name], self._names[slot], self._places[slot] = slot, content, name, 0
        if self._mark is not None:
            self._mark.advance(last, len(self._bandits))
        if self._durability == "disk":  # what went into a file that was deleted meanwhile must not be acknowledged
            self._check_files()

    def _insert_events(self, rows: list[_EventRow]) -> None:
        """Insert events in as few statements as possible.

        Each statement gives up the interpreter while it runs, and must wait for a busy event loop to get it back. With one
        statement per event, a batch of a hundred would wait a hundred times.
        """
        start, count = 0, _MOST_ROWS
        while start < len(rows):
            if count <= len(rows) - start:
                self._db.execute(_INSERT_ROWS[count], [value for row in rows[start : start + count] for value in row])
                start += count
            else:
                count //= 2

    def _insert_bandits(self, added: dict[str, tuple[int, bytes]]) -> None:
        rows = [(slot, name, content, digest(self._id, slot, name, content)) for name, (slot, content) in added.items()]
        self._db.executemany("INSERT INTO bandits VALUES (?, ?, ?, ?)", rows)

    @property
    def _written(self) -> int:
        """The number of the last event in the file."""
        return self._last - len(self._held)

    def flush(self) -> None:
        """Hand over to the operating system what was appended with durability "memory"."""
        with self._use():
            if self._held:
                self._commit(self._held)
                self._held = []

    # --- Reading ----------------------------------------------------------------------------------------------------------

    def read(self, bandit: str | None = None, after: int = 0) -> Iterator[Event]:
        """Yield the events after a number, of one bandit or of all, in order; each is checked to be as it was written."""
        start = nonnegative_int("after", after)
        with self._use():
            self.flush()
            if bandit is None:
                return self._events(None, start, start, 0)
            self._check_there(bandit)
            slot = self._bandits[bandit]
            return self._events(slot, start, self._place(slot, start), self._place(slot))

    def _place(self, slot: int, number: int = _LARGEST) -> int:
        """Return the place of the last event of a bandit up to a number."""
        found = self._all(_LAST_PLACE, (min(number, _LARGEST), slot))
        return _whole(found[0][0]) if found else 0

    def _events(self, slot: int | None, start: int, seen: int, due: int) -> Iterator[Event]:
        """Yield the events after number `start`, of a slot or of all; `seen` are before it, and at least `due` there are."""
        asked, one = ("WHERE number > ?1 ORDER BY number LIMIT ?2", ()) if slot is None else (_OF_BANDIT, (slot,))
        while True:
            with self._use():
                rows = self._rows(f"{_EVENTS} {asked}", (min(start, _LARGEST), _CHUNK, *one))
                if any(row.bandit not in self._names for row in rows):
                    self._load_bandits()
            for row in rows:  # outside of the mutex
                seen += 1
                if slot is None and row.number != seen:
                    raise self._damaged(f"event {seen} is missing")
                if slot is not None:
                    self._check_place(row, seen)
                self._check(row)
                if row.bandit not in self._names:
                    raise self._damaged(f"the bandit of event {row.number} is missing")
                yield Event(row.number, row.epoch, self._names[row.bandit], decode(row.payload))
            if rows:
                start = rows[-1].number
                continue
            if slot is not None and seen < due:
                raise self._damaged(f"after event {start} one of {brief(self._names[slot])} is missing")
            return

    def contents(self, bandit: str, after: int, limit: int, max_bytes: int | None = None, checked: bool = False) -> Contents:
        """Return some events of a bandit after a number, as they are in the file.

        Args:
            bandit: the bandit.
            after: the number of an event, or 0.
            limit: return at most so many events.
            max_bytes: return at most so many bytes of payloads, but at least one event; None for no limit.
            checked: compare the events with their digests, which takes longer than all the rest.
        """
        with self._use():
            self.flush()
            self._check_there(bandit)
            slot = self._bandits[bandit]
            with self._view():
                rows = self._page(f"{_EVENTS} {_OF_BANDIT}" if checked else _CONTENTS, (after, limit, slot), max_bytes)
                if not rows:
                    return Contents([], after, 0)
                if checked:
                    for place, row in enumerate(rows, start=1 + self._place(slot, after)):
                        self._check_place(row, place)
                        self._check(row)
                left = self._place(slot) - _whole(rows[-1].place)
        return Contents([(row.number, row.epoch, row.payload) for row in rows], rows[-1].number, left)

    def _page(self, asked: str, values: tuple[int, int, int], max_bytes: int | None) -> list[_Row]:
        """Return rows until there are too many bytes."""
        found: list[_Row] = []
        size, cursor = 0, self._db.execute(asked, (min(values[0], _LARGEST), *values[1:]))
        each: Any
        for each in cursor:
            row = _Row(*each)
            size += len(row.payload)
            if found and max_bytes is not None and size > max_bytes:
                break
            found.append(row)
        cursor.close(True)  # it would keep its view of the file
        return found

    def note(self, bandit: str, name: str) -> Event | None:
        """Return the newest note of a bandit that has this name, or None."""
        with self._use():
            if self._held:  # asked here, since each call costs
                self.flush()
            self._check_there(bandit)
            found = self._all(_NOTES, (self._bandits[bandit], name))
        if not found:
            return None
        row = _Row(*max(found))
        self._check(row)
        return Event(row.number, row.epoch, bandit, decode(row.payload))

    def note_names(self, bandit: str, after: str, limit: int) -> list[str]:
        """Return names of notes of a bandit, in their order, after one of them."""
        with self._use():
            self.flush()
            self._check_there(bandit)
            return [name for (name,) in self._all(_NOTE_NAMES, (self._bandits[bandit], after, limit))]

    def _rows(self, asked: str, values: tuple[int | str, ...] = ()) -> list[_Row]:
        return [_Row(*row) for row in self._all(asked, values)]

    def _all(self, asked: str, values: tuple[object, ...] = ()) -> list[Any]:
        return self._db.execute(asked, values).fetchall()

    def _check(self, row: _Row) -> None:
        """Check that an event is what was written after the one before it."""
        before = digest(self._id) if row.number == 1 else row.before
        if before is None:
            raise self._damaged(f"event {row.number - 1} is missing")
        if row.digest != digest(before, row.number, row.epoch, row.bandit, row.place, row.payload):
            raise self._damaged(f"event {row.number} is not what was written")

    def _check_place(self, row: _Row, place: int) -> None:
        """Check that no event of a bandit is missing before this one."""
        if row.place != place:
            raise self._damaged(f"before event {row.number} one of {brief(self._names[row.bandit])} is missing")

    # --- Snapshots --------------------------------------------------------------------------------------------------------

    def save_snapshot(self, bandit: str, number: int, state: Payload) -> None:
        """Keep the state of a bandit after all its events up to `number`; the newest two of each bandit are kept.

        It is written in pieces. Others append in between, and it counts when the last piece is there.
        """
        with self._saving:
            with self._use(writing=True):
                check_bandit(bandit, self._bandits)
                place, slot = check_snapshot(number, self._last), self._bandits[bandit]
                self.flush()
                (new,) = self._row(
                    "SELECT 1 + max(ifnull(max(snapshot), 0), (SELECT ifnull(max(snapshot), 0) FROM pieces)) FROM snapshots"
                )
            found = []
            try:
                for piece, content in enumerate(encode_in_pieces("state", state, _PIECE)):
                    with self._use(writing=True):
                        self._before_writing(len(content))
                        self._snapshot_db.execute(_ADD_PIECE, (new, piece, content, self._epoch))
                        if self._snapshot_db.changes() != 1:
                            self._check_epoch()
                    found.append(digest(content))
                    if piece % _PIECES == _PIECES - 1:
                        self._copy_wal()
                row = (new, slot, place, digest(self._id, slot, place, *found))
                kept = "SELECT max(snapshot) FROM snapshots WHERE bandit = ?1 GROUP BY number ORDER BY number DESC LIMIT ?2"
                with self._use(writing=True), self._transaction():
                    self._db.execute("INSERT INTO snapshots VALUES (?, ?, ?, ?)", row)
                    self._db.execute(f"DELETE FROM snapshots WHERE bandit = ?1 AND snapshot NOT IN ({kept})", (slot, _KEPT))  # noqa: S608
                    self._count(len(self._bandits), self._written)
            except BaseException:
                with suppress(StoreError):  # the first error is the one that is raised
                    self._sweep()
                raise
            self._sweep()

    def _sweep(self) -> None:
        """Remove the pieces of snapshots that were replaced or not finished; if the disk is full, another time."""
        with self._saving, suppress(StoreFullError):
            with self._use(writing=True):
                left = self._snapshot_db.execute(
                    "SELECT DISTINCT snapshot FROM pieces EXCEPT SELECT snapshot FROM snapshots"
                ).fetchall()
            some = "SELECT rowid FROM pieces WHERE snapshot = ? LIMIT ?"
            for (snapshot,) in left:
                gone = _PIECES
                while gone == _PIECES:
                    with self._use(writing=True):
                        self._check_epoch()
                        self._snapshot_db.execute(f"DELETE FROM pieces WHERE rowid IN ({some})", (snapshot, _PIECES))  # noqa: S608
                        gone = self._snapshot_db.changes()

    def _copy_wal(self) -> None:
        """Copy the WAL into the file, as far as no reader is in the way, while others may append."""
        with _TranslatingErrors(self), suppress(apsw.BusyError):  # an append may be copying it now
            self._snapshot_db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)

    def snapshots(self, bandit: str) -> Iterator[Snapshot]:
        """Yield the snapshots that are intact, the newest first."""
        with self._use():
            self.flush()
            self._check_there(bandit)
            return self._intact_snapshots(self._bandits[bandit])

    def _intact_snapshots(self, slot: int) -> Iterator[Snapshot]:
        place = (_LARGEST, _LARGEST)
        while True:
            with self._use(), self._view():  # a writer may replace the snapshot after this
                rows = self._all(_OLDER_SNAPSHOT, (slot, *place))
                if not rows:
                    return
                snapshot, number, found = rows[0]
                state, place = self._state(snapshot, slot, number, found), (number, snapshot)
            if state is not None:
                yield Snapshot(number, decode(state))

    def snapshot(self, bandit: str) -> Snapshot | None:
        """Return the newest snapshot that is intact, or None: the log makes up for those that are not."""
        return next(self.snapshots(bandit), None)

    def _state(self, snapshot: int, slot: int, number: int, found: bytes) -> bytes | None:
        """Return the state of a snapshot, or None if it is not what was written."""
        asked = "SELECT content FROM pieces WHERE snapshot = ? ORDER BY piece"
        pieces = [content for (content,) in self._all(asked, (snapshot,))]
        intact = all(isinstance(each, bytes) for each in pieces) and found == digest(
            self._id, slot, number, *map(digest, pieces)
        )
        return b"".join(pieces) if intact else None

    # --- The files --------------------------------------------------------------------------------------------------------

    def damages(self) -> list[str]:
        """Look at every page and every snapshot, and return a sentence for each damage."""
        self.flush()
        with self._use(), self._view():
            found = [self._mark_problem] if self._mark_problem else []
            for snapshot, slot, number, written in self._all("SELECT snapshot, bandit, number, digest FROM snapshots"):
                if self._state(snapshot, slot, number, written) is None:
                    found.append(f"the snapshot at event {number} is not what was written")
            (said,) = self._row("PRAGMA integrity_check(1)")
            if said != "ok":
                found.append(str(self._damaged(" ".join(str(said).split()))))
            return found

    def probe(self) -> None:
        """Write some bytes and remove them: raises a `StoreFullError` if there is no room for more events."""
        with self._use(writing=True), self._transaction():
            self._db.execute("INSERT INTO pieces VALUES (0, 0, zeroblob(65536))")
            self._db.execute("DELETE FROM pieces WHERE snapshot = 0")

    def check_file(self) -> None:
        """Raise a `StoreError` if the files at the path are not those that this store has open.

        They were deleted, replaced or truncated by somebody else. A writer that meets this cannot be used any more. Takes a few
        microseconds, does not wait for a write, and may be called from any thread.
        """
        self._check_usable(writing=False)
        self._check_files()

    def _check_files(self) -> int:
        """Check the files, and return the size of the WAL."""
        try:
            return self._file.check()
        except StoreError as error:
            if not self._readonly:
                self._latch(error)
                self._leave_files = True
            raise

    def _before_writing(self, size: int) -> None:
        """Check the files now and then, and that the WAL is not too large; `size` bytes are about to be written."""
        self._unchecked += size
        now = time.monotonic()
        if now < self._next_check and self._unchecked < _CHECK_BYTES:
            return
        if self._check_files() > WAL_LIMIT_BYTES:
            with self._file.resetting_wal():
                is_empty = empty_wal(self._db, 0)
            if not is_empty:
                self._next_check = 0.0  # so that the next write tries again
                reason = "cannot grow: a reader keeps its write-ahead log from being reset, and nothing was written"
                raise StoreFullError(reason, self._path)
        self._next_check, self._unchecked = now + _CHECK_SECONDS, 0

    def close(self) -> None:
        """Close the store and release its lock. A second call does nothing."""
        if os.getpid() != self._process:
            self._file.close()
            return
        try:
            with self._mutex:
                try:
                    if self._failure is None and not self._readonly:
                        self.flush()
                        # All events are written; the counts only help the next open to notice a loss.
                        with suppress(StoreLockedError, StoreFullError), self._use(writing=True), self._transaction():
                            self._count(len(self._bandits), self._last)
                finally:
                    self._latch(StoreFailedError("is closed: open it again", self._path))
        finally:
            self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _release(self) -> None:
        with self._saving, self._mutex:  # a snapshot that is being saved ends first, since the store cannot be used any more
            if self._leave_files:
                self._leave_wal()
            self._file.close()
            if self._mark is not None:
                self._mark.close()

    def _leave_wal(self) -> None:
        """Keep SQLite from copying and removing the WAL when the last connection is closed.

        It may be that of another writer by now. But where only the name of the WAL was deleted, its events exist nowhere else,
        and are copied into the file.
        """
        with suppress(apsw.Error, StoreError):
            if self._file.lost_wal:
                self._db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        for connection in (self._db, self._snapshot_db):
            with suppress(apsw.Error):
                connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)

    # --- Transactions and errors ------------------------------------------------------------------------------------------

    def _count(self, bandits: int, last: int) -> None:
        """Store the counts that `_load_header` checks."""
        self._db.execute("UPDATE writer SET bandits = ?, last = ?", (bandits, last))

    def _check_epoch(self) -> None:
        epoch = self._writer()[0]
        if epoch != self._epoch:
            reason = f"is locked: the writer of epoch {epoch} has replaced that of epoch {self._epoch}"
            self._latch(StoreLockedError(reason, self._path))
            self._leave_files = True
            raise StoreLockedError(reason, self._path)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Write all or nothing, and only as long as no later writer has come."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._check_epoch()
            yield
            self._db.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        if self._db.in_transaction:
            with suppress(apsw.Error):
                self._db.execute("ROLLBACK")

    def _use(self, writing: bool = False) -> "_Use":
        """Hold the store, if it can be used, and turn errors of SQLite into those of the library."""
        return _Use(self, writing)

    def _check_usable(self, writing: bool) -> None:
        """Refuse to work in another process, for writing by a reader, or after a failure."""
        if os.getpid() != self._process:
            raise StoreFailedError("was opened by the parent of this process: open it again", self._path)
        if writing and self._readonly:
            raise StoreReadOnlyError("was opened for reading: it cannot be written to", self._path)
        if self._failure is not None:
            raise type(self._failure)(self._failure.reason, self._path)

    def _latch(self, error: StoreError) -> None:
        """Make every later call fail; the first error is kept."""
        self._failure = self._failure or error

    def _translate(self, error: BaseException) -> None:
        """Raise the library's own error for one of SQLite."""
        if isinstance(error, apsw.IOError):
            raise self._failed(error) from error
        if isinstance(error, apsw.Error | UnicodeDecodeError):
            raise to_store_error(self._path, error) from error

    def _failed(self, error: apsw.IOError) -> StoreError:
        """Return the error for one of the disk; a reader may try again."""
        if self._readonly:
            return StoreFailedError(f"could not be read ({error})", self._path)
        # It is not known what the disk has. The next writer reads what is there, and makes sure of it.
        if self._mark is not None:
            self._mark.note_failed_sync()
        failure = StoreFailedError(f"could not be read or written ({error}): open it again", self._path)
        self._latch(failure)
        return failure

    @contextmanager
    def _view(self) -> Iterator[None]:
        """See one state of the file, also while another process writes."""
        self._db.execute("BEGIN")
        try:
            yield
        finally:
            self._roll_back()

    def _row(self, asked: str) -> Any:
        row = self._db.execute(asked).fetchone()
        if row is None:
            raise self._damaged("a table is empty")
        return row

    def _damaged(self, what: str) -> StoreDamagedError:
        return StoreDamagedError(f"is damaged: {what}", self._path)


class _TranslatingErrors:
    """Turns errors of SQLite into those of the library, if the store can be used.

    A class, since a generator would take longer than a small query.
    """

    __slots__ = ("_store", "_writing")

    def __init__(self, store: SQLiteStore, writing: bool = False) -> None:
        self._store, self._writing = store, writing

    def __enter__(self) -> None:
        self._store._check_usable(self._writing)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is not None:
            self._store._translate(error)


class _Use(_TranslatingErrors):
    """Holds the mutex as well."""

    __slots__ = ()

    def __enter__(self) -> None:
        store = self._store
        store._check_usable(self._writing)  # before the mutex, which a thread of the parent process may have held
        store._mutex.acquire()
        if store._failure is not None:  # meanwhile
            store._mutex.release()
            store._check_usable(self._writing)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._store._mutex.release()
        if error is not None:
            self._store._translate(error)


def _whole(place: object) -> int:
    """Return a place as it is in the file, 0 if there is none or if it is damaged: then it does not fit the others."""
    return place if isinstance(place, int) else 0
