"""A store in one SQLite file, written ahead (WAL) and synchronised at every commit.

Beside `songs.rot` there are, while it is open, `songs.rot-wal` and `songs.rot-shm`, which belong to SQLite, and an empty file
that the writer holds, `songs.rot-lock`. To copy a store while somebody writes, see `rotting.store.backup`.

What is checked, and when:

- Whenever events are read, of one bandit or of all: that each is what was written, and that none between them is missing. An
  event knows its number in the log and its place among those of its bandit, and its digest covers both and the digest before.
  Only who counts them for a picture (`contents`) takes them as they are.
- When a store is opened: its name, its bandits, its last event, and that the last places of all bandits add up to the number of
  events. This takes as long for a large store as for a small one, also after a crash: the log ahead is short.
- When a store is verified: every page, every event and every snapshot.
"""

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, NamedTuple, Self

from rotting.common.rules import brief, nonnegative_int, option
from rotting.errors import (
    StoreDamagedError,
    StoreError,
    StoreFailedError,
    StoreFullError,
    StoreLockedError,
    StoreReadOnlyError,
)
from rotting.store.files import IS_NOTE, NOTE_NAME, PATIENCE_MS, lock, look, make, open_file, resolved, told
from rotting.store.protocol import DURABILITIES, Durability, Event, Payload, Snapshot
from rotting.store.records import check_bandit, check_new, check_snapshot, decode, digest, encode, encode_in_pieces

import apsw  # isort: skip - after `files`, which says what to install

_APPEND = "INSERT INTO events SELECT ?1, ?2, ?3, ?4, ?5, ?6 FROM writer WHERE epoch = ?2"
_ADD_PIECE = "INSERT INTO pieces SELECT ?1, ?2, ?3 FROM writer WHERE epoch = ?4"
_EVENTS = """
SELECT number, epoch, bandit, place, payload, digest, (SELECT digest FROM events AS last WHERE last.number = events.number - 1)
FROM events"""
_CONTENTS = """
SELECT number, place, payload FROM events INDEXED BY events_of WHERE bandit = ?3 AND number > ?1 ORDER BY number LIMIT ?2"""
_LAST_PLACE = "SELECT place FROM events INDEXED BY events_of WHERE bandit = ?2 AND number <= ?1 ORDER BY number DESC LIMIT 1"
_LAST_PLACES = f"SELECT bandit, ({_LAST_PLACE.replace('?2', 'bandits.bandit')}) FROM bandits"  # noqa: S608
_NOTE = f"INDEXED BY notes WHERE {IS_NOTE} AND bandit = ?1 AND {NOTE_NAME} = ?2 ORDER BY number DESC LIMIT 1"

_LARGEST = 2**63 - 1  # that SQLite can carry
_KEPT = 2  # snapshots of each bandit
_CHUNK = 1_000  # events that are read at once: no reader holds its view of the file for long, and the log ahead stays short
_HELD = 1_000  # events that are held back with durability "memory", at most
_WAL_PAGES = 1_000  # after so many the log ahead is copied into the file, and begins anew
_PIECE = 2**16  # bytes of a snapshot that are written at once: nobody waits long for their turn
_PIECES = 16  # that are written before the log ahead is copied, and removed at once


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

    payloads: list[bytes]
    last: int
    """The number of the last of them."""
    left: int
    """How many of the bandit come after it."""


class SQLiteStore:
    """A store in a file, which is made if it is not there.

    Args:
        path: the file.
        readonly: open it as a reader: it must be there.
        durability: what the reply to a writer means; see `Durability`.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> with SQLiteStore(f"{folder.name}/songs.rot") as store:
        ...     store.add_bandit("songs", {"arms": ["a", "b"]})
        ...     store.append([("songs", {"decided": "a"}), ("songs", {"decided": "b"})])
        2
        >>> with SQLiteStore(f"{folder.name}/songs.rot", readonly=True) as store:
        ...     [event.payload for event in store.read("songs", after=1)]
        [{'decided': 'b'}]
        >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str], readonly: bool = False, durability: Durability = "disk") -> None:
        option(*DURABILITIES).check("durability", durability)
        self._path = resolved(path)
        self._readonly, self._durability = readonly, durability
        self._mutex = threading.RLock()
        self._saving = threading.RLock()  # who saves a snapshot; taken before the mutex
        self._process = os.getpid()
        self._why_not = ""  # why the store cannot be used any more
        self._held: list[tuple[int, int, int, int, bytes, bytes]] = []
        self._connections: list[apsw.Connection] = []
        try:
            with self._using():
                if readonly:
                    self._db = self._keep(look(self._path))
                    self._recognise()
                else:
                    if self._path.exists():  # a stranger's file is only looked at, and gets no lock beside it
                        look(self._path).close(True)
                    self._keep(lock(self._path))
                    if not self._path.exists():
                        make(self._path)
                    self._db = self._keep(open_file(str(self._path), apsw.SQLITE_OPEN_READWRITE))
                    self._recognise()
                    self._take_over()
            if not readonly:
                self._sweep()
        except BaseException:
            self._release()
            raise

    def _keep(self, connection: apsw.Connection) -> apsw.Connection:
        """Remember to close a connection."""
        self._connections.insert(0, connection)
        return connection

    def _recognise(self) -> None:
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

    def _take_over(self) -> None:
        """Become the writer, in a new epoch."""
        if self._db.readonly("main"):
            raise StoreReadOnlyError(f"{self._path} is read-only: it cannot be written to")
        self._db.pragma("journal_mode", "wal")
        self._writer()  # a copy by VACUUM INTO was in another mode: unless it is read once in this one, its log is locked
        self._db.pragma("synchronous", "full" if self._durability == "disk" else "normal")
        self._db.wal_autocheckpoint(_WAL_PAGES)
        # Where a synchronisation failed, what can be read of the log ahead may not be on the disk, and what is appended to it
        # would be lost with it. So the file gets all of it, synchronised, and the log ahead begins anew.
        busy, _, _ = self._row("PRAGMA wal_checkpoint(TRUNCATE)")
        if busy:
            raise StoreLockedError(f"{self._path} is locked: a reader has been reading for {PATIENCE_MS // 1000} s")
        self._epoch += 1
        self._db.execute("BEGIN IMMEDIATE")
        if self._tail()[0] != self._last:  # the lock was lost, and its owner goes on
            raise StoreLockedError(f"{self._path} is locked: another writer has it")
        self._db.execute("UPDATE writer SET epoch = ?", (self._epoch,))
        self._db.execute("COMMIT")
        # Snapshots are written by the way: their pieces are not synchronised one by one, and the log ahead is copied from here
        # while others append.
        self._aside = self._keep(open_file(str(self._path), apsw.SQLITE_OPEN_READWRITE))
        self._aside.pragma("synchronous", "normal")
        self._aside.wal_autocheckpoint(0)

    def _writer(self) -> tuple[int, int, int]:
        """Return the epoch of the latest writer, and how many bandits and events it counted."""
        epoch, bandits, last = self._row("SELECT epoch, bandits, last FROM writer")
        if not all(isinstance(each, int) for each in (epoch, bandits, last)):
            raise self._damaged("what its writer counted is not what was written")
        return epoch, bandits, last

    def _tail(self) -> tuple[int, bytes, int]:
        """Return the number, the digest and the epoch of the last event, which is checked."""
        rows = self._rows("ORDER BY number DESC LIMIT 1")
        if not rows:
            return 0, digest(self._id), 0
        self._check(rows[0])
        return rows[0].number, rows[0].digest, rows[0].epoch

    def _load_bandits(self) -> None:
        self._bandits: dict[str, int] = {}
        self._metas: dict[str, bytes] = {}
        for number, name, meta, found in self._db.execute("SELECT bandit, name, meta, digest FROM bandits ORDER BY bandit"):
            if found != digest(self._id, number, name, meta) or number != len(self._bandits) + 1:
                raise self._damaged(f"bandit {number} is not what was written")
            self._bandits[name], self._metas[name] = number, meta
        self._names = {number: name for name, number in self._bandits.items()}

    def _look_again(self) -> None:
        """Learn of the bandits that another process has added; nobody adds one beside the writer."""
        if self._readonly:
            self._load_bandits()

    def _check_there(self, bandit: object) -> None:
        if bandit not in self._bandits:
            self._look_again()
        check_bandit(bandit, self._bandits)

    @property
    def id(self) -> str:
        """The name of this store alone, given when it was made."""
        return self._id

    @property
    def epoch(self) -> int:
        """The epoch of this writer; for a reader, that of the latest writer."""
        if self._readonly:
            with self._using():
                self._epoch = self._writer()[0]
        return self._epoch

    @property
    def last(self) -> int:
        """The number of the last event; 0 before the first."""
        with self._using():
            return self._tail()[0] if self._readonly else self._last

    def bandits(self) -> dict[str, Payload]:
        """Return what was said of each bandit when it was added, by name."""
        with self._using():
            self._look_again()
            return {name: decode(meta) for name, meta in self._metas.items()}

    def add_bandit(self, name: str, meta: Payload) -> None:
        """Add a bandit whose events will follow."""
        content = encode("meta", meta)
        with self._using(writing=True):
            check_new(name, self._bandits)
            number = len(self._bandits) + 1
            row = (number, name, content, digest(self._id, number, name, content))
            with self._transaction():
                self._db.execute("INSERT INTO bandits VALUES (?, ?, ?, ?)", row)
                self._count(number)
            self._bandits[name], self._metas[name], self._names[number], self._places[number] = number, content, name, 0

    def append(self, events: Iterable[tuple[str, Payload]]) -> int:
        """Append events, all of them or none; return the number of the last event.

        With durability "disk" they are on the disk when this returns. If the disk is full, nothing was appended.
        """
        given = [(name, encode("payload", payload)) for name, payload in events]
        with self._using(writing=True):
            rows, last, before = [], self._last, self._digest
            places: dict[int, int] = {}
            for name, content in given:
                check_bandit(name, self._bandits)
                last, bandit = last + 1, self._bandits[name]
                place = places.get(bandit, self._places[bandit]) + 1
                before = digest(before, last, self._epoch, bandit, place, content)
                rows.append((last, self._epoch, bandit, place, content, before))
                places[bandit] = place
            if self._durability != "memory":
                self._write(rows)
            else:
                if len(self._held) + len(rows) > _HELD:
                    self.flush()  # first: what is refused now must not be written later
                self._held += rows
            self._last, self._digest = last, before
            self._places.update(places)
            return last

    def _write(self, rows: list[tuple[int, int, int, int, bytes, bytes]]) -> None:
        if len(rows) == 1:  # in one statement, which is a transaction of its own: half the time of the four below
            self._db.execute(_APPEND, rows[0])
            if self._db.changes() != 1:
                self._check_epoch()
        elif rows:
            with self._transaction():
                self._db.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", rows)

    def flush(self) -> None:
        """Hand over to the operating system what was appended with durability "memory"."""
        with self._using():
            if self._held:
                self._write(self._held)
                self._held = []

    def read(self, bandit: str | None = None, after: int = 0) -> Iterator[Event]:
        """Yield the events after a number, of one bandit or of all, in order; each is checked to be as it was written."""
        start = nonnegative_int("after", after)
        with self._using():
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
        asked, one = ("WHERE", ()) if slot is None else ("INDEXED BY events_of WHERE bandit = ?3 AND", (slot,))
        while True:
            with self._using():
                rows = self._rows(f"{asked} number > ?1 ORDER BY number LIMIT ?2", (min(start, _LARGEST), _CHUNK, *one))
                if any(row.bandit not in self._names for row in rows):
                    self._load_bandits()
            for row in rows:  # nobody waits meanwhile
                seen += 1
                if slot is None and row.number != seen:
                    raise self._damaged(f"event {seen} is missing")
                if slot is not None and row.place != seen:
                    raise self._damaged(f"before event {row.number} one of {brief(self._names[slot])} is missing")
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

    def contents(self, bandit: str, after: int, limit: int) -> Contents:
        """Return some events of a bandit after a number, as they are in the file, for who counts them.

        They are not compared with their digests, which would take longer than all the rest.
        """
        with self._using():
            self.flush()
            self._check_there(bandit)
            slot = self._bandits[bandit]
            rows = self._all(_CONTENTS, (min(after, _LARGEST), limit, slot))
            if not rows:
                return Contents([], after, 0)
            number, place, _ = rows[-1]
            return Contents([row[2] for row in rows], number, self._place(slot) - _whole(place))

    def note(self, bandit: str, name: str) -> Event | None:
        """Return the newest note of a bandit that has this name, or None."""
        with self._using():
            self.flush()
            self._check_there(bandit)
            rows = self._rows(_NOTE, (self._bandits[bandit], name))
            for row in rows:
                self._check(row)
            return Event(rows[0].number, rows[0].epoch, bandit, decode(rows[0].payload)) if rows else None

    def _rows(self, asked: str, values: tuple[int | str, ...] = ()) -> list[_Row]:
        return [_Row(*row) for row in self._all(f"{_EVENTS} {asked}", values)]

    def _all(self, asked: str, values: tuple[object, ...] = ()) -> list[Any]:
        return self._db.execute(asked, values).fetchall()

    def _check(self, row: _Row) -> None:
        """Check that an event is what was written after the one before it."""
        before = digest(self._id) if row.number == 1 else row.before
        if before is None:
            raise self._damaged(f"event {row.number - 1} is missing")
        if row.digest != digest(before, row.number, row.epoch, row.bandit, row.place, row.payload):
            raise self._damaged(f"event {row.number} is not what was written")

    def save_snapshot(self, bandit: str, number: int, state: Payload) -> None:
        """Keep the state of a bandit after all its events up to `number`; the newest two of each bandit are kept.

        It is written in pieces. Others append in between, and it counts when the last piece is there.
        """
        with self._saving:
            with self._using(writing=True):
                check_bandit(bandit, self._bandits)
                place, slot = check_snapshot(number, self._last), self._bandits[bandit]
                self.flush()
                (new,) = self._row(
                    "SELECT 1 + max(ifnull(max(snapshot), 0), (SELECT ifnull(max(snapshot), 0) FROM pieces)) FROM snapshots"
                )
            found = []
            try:
                for piece, content in enumerate(encode_in_pieces("state", state, _PIECE)):
                    with self._using(writing=True):
                        self._aside.execute(_ADD_PIECE, (new, piece, content, self._epoch))
                        if self._aside.changes() != 1:
                            self._check_epoch()
                    found.append(digest(content))
                    if piece % _PIECES == _PIECES - 1:
                        self._copy_ahead()
                row = (new, slot, place, digest(self._id, slot, place, *found))
                kept = "SELECT max(snapshot) FROM snapshots WHERE bandit = ?1 GROUP BY number ORDER BY number DESC LIMIT ?2"
                with self._using(writing=True), self._transaction():
                    self._db.execute("INSERT INTO snapshots VALUES (?, ?, ?, ?)", row)
                    self._db.execute(f"DELETE FROM snapshots WHERE bandit = ?1 AND snapshot NOT IN ({kept})", (slot, _KEPT))  # noqa: S608
                    self._count(len(self._bandits))
            except BaseException:
                with suppress(StoreError):  # what went wrong first is told
                    self._sweep()
                raise
            self._sweep()

    def _sweep(self) -> None:
        """Remove the pieces of snapshots that were replaced or not finished; if the disk is full, another time."""
        with self._saving, suppress(StoreFullError):
            with self._using(writing=True):
                left = self._aside.execute(
                    "SELECT DISTINCT snapshot FROM pieces EXCEPT SELECT snapshot FROM snapshots"
                ).fetchall()
            some = "SELECT rowid FROM pieces WHERE snapshot = ? LIMIT ?"
            for (snapshot,) in left:
                gone = _PIECES
                while gone == _PIECES:
                    with self._using(writing=True):
                        self._check_epoch()
                        self._aside.execute(f"DELETE FROM pieces WHERE rowid IN ({some})", (snapshot, _PIECES))  # noqa: S608
                        gone = self._aside.changes()

    def _copy_ahead(self) -> None:
        """Copy the log ahead into the file, as far as no reader is in the way, without keeping anybody from appending."""
        with self._naming(), suppress(apsw.BusyError):  # who appends may be copying it now
            self._aside.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)

    def snapshot(self, bandit: str) -> Snapshot | None:
        """Return the newest snapshot that is intact, or None: the log makes up for those that are not."""
        with self._using():
            self.flush()
            self._check_there(bandit)
            slot = self._bandits[bandit]
            with self._view():
                asked = "SELECT snapshot, number, digest FROM snapshots WHERE bandit = ? ORDER BY number DESC"
                for snapshot, number, found in self._all(asked, (slot,)):
                    state = self._state(snapshot, slot, number, found)
                    if state is not None:
                        break
                else:
                    return None
        return Snapshot(number, decode(state))

    def _state(self, snapshot: int, slot: int, number: int, found: bytes) -> bytes | None:
        """Return the state of a snapshot, or None if it is not what was written."""
        asked = "SELECT content FROM pieces WHERE snapshot = ? ORDER BY piece"
        pieces = [content for (content,) in self._all(asked, (snapshot,))]
        intact = all(isinstance(each, bytes) for each in pieces) and found == digest(
            self._id, slot, number, *map(digest, pieces)
        )
        return b"".join(pieces) if intact else None

    def damages(self) -> list[str]:
        """Look at every page and every snapshot, and return a sentence for each damage."""
        self.flush()
        with self._using(), self._view():
            found = []
            for snapshot, slot, number, written in self._all("SELECT snapshot, bandit, number, digest FROM snapshots"):
                if self._state(snapshot, slot, number, written) is None:
                    found.append(f"the snapshot at event {number} is not what was written")
            (said,) = self._row("PRAGMA integrity_check(1)")
            if said != "ok":
                found.append(str(self._damaged(" ".join(str(said).split()))))
            return found

    def close(self) -> None:
        """End the work with this store, and give it free for another writer. A second call does nothing."""
        if os.getpid() != self._process:
            _INHERITED.append(self._connections)  # they are the parent's, to be closed there
            return
        with self._mutex:
            try:
                if not (self._why_not or self._readonly):
                    self.flush()
                    # All is written; that it is counted too would be nice.
                    with suppress(StoreLockedError, StoreFullError), self._using(writing=True), self._transaction():
                        self._count(len(self._bandits))
            finally:
                self._why_not = self._why_not or f"{self._path} is closed: open it again"
        self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _release(self) -> None:
        with self._saving, self._mutex:  # a snapshot that is being saved ends first, since the store cannot be used any more
            for connection in self._connections:
                with suppress(apsw.Error):
                    connection.close(True)

    def _count(self, bandits: int) -> None:
        """Write down how much there is, which `_recognise` looks for."""
        self._db.execute("UPDATE writer SET bandits = ?, last = ?", (bandits, self._last))

    def _check_epoch(self) -> None:
        epoch = self._writer()[0]
        if epoch != self._epoch:
            raise StoreLockedError(
                f"{self._path} is locked: the writer of epoch {epoch} has replaced that of epoch {self._epoch}"
            )

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

    @contextmanager
    def _using(self, writing: bool = False) -> Iterator[None]:
        """Hold the store, if it can be used, and say in one sentence what SQLite finds meanwhile."""
        if os.getpid() != self._process:  # before the mutex, which a thread of the parent may have held
            raise StoreFailedError(f"{self._path} was opened by the parent of this process: open it again")
        if writing and self._readonly:
            raise StoreReadOnlyError(f"{self._path} was opened for reading: it cannot be written to")
        with self._mutex, self._naming():
            yield

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Say in one sentence what SQLite finds meanwhile, if the store can be used."""
        if self._why_not:
            raise StoreFailedError(self._why_not)
        try:
            yield
        except apsw.IOError as error:
            # What the disk has is not known. The next writer reads what is there, and makes sure of it.
            self._why_not = f"{self._path} could not be read or written ({error}): open it again"
            raise StoreFailedError(self._why_not) from error
        except (apsw.Error, UnicodeDecodeError) as error:
            raise told(self._path, error) from error

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
        return StoreDamagedError(f"{self._path} is damaged: {what}")


def _whole(place: object) -> int:
    """Return a place as it is in the file, 0 if there is none or if it is damaged: then it does not fit the others."""
    return place if isinstance(place, int) else 0


_INHERITED: list[Any] = []  # connections of a parent process, kept from being closed
