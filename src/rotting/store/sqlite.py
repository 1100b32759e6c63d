"""A store in one SQLite file, written ahead (WAL) and synchronised at every commit.

SQLite comes with `apsw`, which brings a current one. The one of Python's own `sqlite3` is whatever the system ships: those
before 3.51.3 can damage a file that is written ahead when one connection writes while another one copies its log back.

Beside `songs.rot` there are, while it is open, `songs.rot-wal` and `songs.rot-shm`, which belong to SQLite, and an empty file
that the writer holds, `songs.rot-lock`. To make a backup, copy the file while nobody writes, or let SQLite do it.
"""

import os
import secrets
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rotting.common.atomic_files import partial_path
from rotting.common.rules import nonnegative_int, option
from rotting.common.version import __version__
from rotting.errors import (
    MissingExtraError,
    NotAStoreError,
    PathMissingError,
    StoreDamagedError,
    StoreFailedError,
    StoreFormatError,
    StoreFullError,
    StoreLockedError,
    StoreReadOnlyError,
)
from rotting.store.protocol import DURABILITIES, Durability, Event, Payload, Snapshot
from rotting.store.records import check_bandit, check_new, check_snapshot, decode, digest, encode

try:
    import apsw
except ImportError as error:
    raise MissingExtraError("a store needs apsw, which brings SQLite: pip install 'rotting[store]'") from error

APPLICATION_ID = 0x524F5421  # "ROT!"
FORMAT = 1
_SCHEMA = """
CREATE TABLE store (id TEXT NOT NULL, made_by TEXT NOT NULL, digest BLOB NOT NULL) STRICT;
CREATE TABLE writer (epoch INTEGER NOT NULL, clean INTEGER NOT NULL, bandits INTEGER NOT NULL, last INTEGER NOT NULL) STRICT;
CREATE TABLE bandits (bandit INTEGER PRIMARY KEY, name TEXT NOT NULL, meta BLOB NOT NULL, digest BLOB NOT NULL) STRICT;
CREATE TABLE events (
  number INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, bandit INTEGER NOT NULL, payload BLOB NOT NULL, digest BLOB NOT NULL
) STRICT;
CREATE TABLE snapshots (
  bandit INTEGER NOT NULL, number INTEGER NOT NULL, state BLOB NOT NULL, digest BLOB NOT NULL, PRIMARY KEY (bandit, number)
) STRICT;
INSERT INTO writer VALUES (0, 1, 0, 0);
"""

# Notes are found by their names: SQLite keeps an index of the events that begin as they do, `{"note":`.
_IS_NOTE = "substr(payload, 1, 8) = x'7b226e6f7465223a'"
_NOTE = "json_extract(CAST(payload AS TEXT), '$.note')"
_NOTES = f"CREATE INDEX notes ON events (bandit, {_NOTE}) WHERE {_IS_NOTE};"
_FIND_NOTE = (
    f"SELECT number, epoch, bandit, payload, digest FROM events WHERE {_IS_NOTE} AND bandit = ? AND {_NOTE} = ? "  # noqa: S608
    "ORDER BY number DESC LIMIT 1"
)

_APPEND_ONE = "INSERT INTO events SELECT ?1, ?2, ?3, ?4, ?5 FROM writer WHERE epoch = ?2"

_KEPT = 2  # snapshots of each bandit
_FEW = 20  # events that are checked at once: some tenths of a millisecond
_CHUNK = 1_000  # events that are read at once: no reader holds its view of the file for long, and the log ahead stays short
_HELD = 1_000  # events that are held back with durability "memory", at most
_WAL_PAGES = 1_000  # after so many the log ahead is copied into the file, and begins anew
_PATIENCE_MS = 5_000  # how long to wait for a reader who is in the way


class SQLiteStore:
    """A store in a file, which is made if it is not there.

    Args:
        path: the file.
        readonly: open it as a reader: it must be there.
        durability: what the reply to a writer means; see `Durability`.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> with SQLiteStore(Path(folder.name, "songs.rot")) as store:
        ...     store.add_bandit("songs", {"arms": ["a", "b"]})
        ...     store.append([("songs", {"decided": "a"}), ("songs", {"decided": "b"})])
        2
        >>> with SQLiteStore(Path(folder.name, "songs.rot"), readonly=True) as store:
        ...     [event.payload for event in store.read("songs", after=1)]
        [{'decided': 'b'}]
        >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str], readonly: bool = False, durability: Durability = "disk") -> None:
        option(*DURABILITIES).check("durability", durability)
        self._path = Path(path).resolve()
        self._readonly, self._durability = readonly, durability
        self._mutex = threading.RLock()
        self._process = os.getpid()
        self._why_not = ""  # why the store cannot be used any more
        self._held: list[tuple[int, int, int, bytes, bytes]] = []
        self._guard: apsw.Connection | None = None
        try:
            with self._using():
                if readonly:
                    self._db = _look(self._path)
                else:
                    if self._path.exists():  # a stranger's file is only looked at, and gets no lock beside it
                        _look(self._path).close(True)
                    self._guard = _lock(self._path)
                    if not self._path.exists():
                        _make(self._path)
                    self._db = _open(str(self._path), apsw.SQLITE_OPEN_READWRITE)
                self._recognise()
                if not readonly:
                    self._take_over()
        except BaseException:
            self._release()
            raise

    def _recognise(self) -> None:
        """Check that the store is whole, and read what is small."""
        self._id: str
        self._epoch: int
        self._id, made_by, found = self._row("SELECT id, made_by, digest FROM store")
        if found != digest(self._id, made_by):
            raise self._damaged("its name is not what was written")
        self._epoch, clean, bandits, last = self._writer()
        self._load_bandits()
        # A page that lost its last rows is still a page: what the last writer counted must be there.
        if len(self._bandits) < bandits:
            raise self._damaged(f"the last of its {bandits} bandits are missing")
        if self._tail()[0] < last:
            raise self._damaged(f"the last of its {last} events are missing")
        if not (self._readonly or clean):
            self._check_pages("quick_check")

    def _take_over(self) -> None:
        """Become the writer, in a new epoch."""
        if self._db.readonly("main"):
            raise StoreReadOnlyError(f"{self._path} is read-only: it cannot be written to")
        self._db.pragma("journal_mode", "wal")
        self._db.pragma("synchronous", "full" if self._durability == "disk" else "normal")
        self._db.wal_autocheckpoint(_WAL_PAGES)
        # Where a synchronisation failed, what can be read of the log ahead may not be on the disk, and what is appended to it
        # would be lost with it. So the file gets all of it, synchronised, and the log ahead begins anew.
        busy, _, _ = self._row("PRAGMA wal_checkpoint(TRUNCATE)")
        if busy:
            raise StoreLockedError(f"{self._path} is locked: a reader has been reading for {_PATIENCE_MS // 1000} s")
        self._last, self._digest, latest = self._tail()
        self._epoch = max(self._epoch, latest) + 1
        self._db.execute("UPDATE writer SET epoch = ?, clean = 0", (self._epoch,))

    def _writer(self) -> tuple[int, int, int, int]:
        """Return the epoch of the latest writer, whether it closed in order, and how many bandits and events it counted."""
        epoch, clean, bandits, last = self._row("SELECT epoch, clean, bandits, last FROM writer")
        if not all(isinstance(each, int) for each in (epoch, clean, bandits, last)):
            raise self._damaged("what its writer counted is not what was written")
        return epoch, clean, bandits, last

    def _tail(self) -> tuple[int, bytes, int]:
        """Return the number, the digest and the epoch of the last event, which is checked."""
        row = self._db.execute("SELECT number, epoch, digest FROM events ORDER BY number DESC LIMIT 1").fetchone()
        if row is None:
            return 0, digest(self._id), 0
        number, epoch, found = row
        before = self._digest_of(number - 1)
        if before is None:
            raise self._damaged(f"event {number - 1} is missing")
        _, damage = self._checked(before, number - 1, self._rows_after(number - 1))
        if damage is not None:
            raise damage
        return number, found, epoch

    def _load_bandits(self) -> None:
        self._bandits: dict[str, int] = {}
        self._metas: dict[str, bytes] = {}
        for number, name, meta, found in self._db.execute("SELECT bandit, name, meta, digest FROM bandits ORDER BY bandit"):
            if found != digest(self._id, number, name, meta) or number != len(self._bandits) + 1:
                raise self._damaged(f"bandit {number} is not what was written")
            self._bandits[name], self._metas[name] = number, meta
        self._names = {number: name for name, number in self._bandits.items()}

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
            self._load_bandits()
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
            self._bandits[name], self._metas[name], self._names[number] = number, content, name

    def append(self, events: Iterable[tuple[str, Payload]]) -> int:
        """Append events, all of them or none; return the number of the last event.

        With durability "disk" they are on the disk when this returns. If the disk is full, nothing was appended.
        """
        given = [(name, encode("payload", payload)) for name, payload in events]
        with self._using(writing=True):
            rows, last, before = [], self._last, self._digest
            for name, content in given:
                check_bandit(name, self._bandits)
                last, bandit = last + 1, self._bandits[name]
                before = digest(before, last, self._epoch, bandit, content)
                rows.append((last, self._epoch, bandit, content, before))
            if self._durability != "memory":
                self._write(rows)
            else:
                if len(self._held) + len(rows) > _HELD:
                    self.flush()  # first: what is refused now must not be written later
                self._held += rows
            self._last, self._digest = last, before
            return last

    def _write(self, rows: list[tuple[int, int, int, bytes, bytes]]) -> None:
        if len(rows) == 1:  # in one statement, which is a transaction of its own: half the time of the four below
            self._db.execute(_APPEND_ONE, rows[0])
            if self._db.changes() != 1:
                self._check_epoch()
        elif rows:
            with self._transaction():
                self._db.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?)", rows)

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
            if bandit is not None:
                self._load_bandits()
                check_bandit(bandit, self._bandits)
            before = self._digest_of(start)
            if before is None and start <= self._tail()[0]:
                raise self._damaged(f"event {start} is missing")
        return iter(()) if before is None else self._events(bandit, start, before)

    def _events(self, bandit: str | None, start: int, before: bytes) -> Iterator[Event]:
        while True:
            with self._using():
                rows = self._rows_after(start)
                if any(row[2] not in self._names for row in rows):
                    self._load_bandits()
            if not rows:
                return
            for few in (rows[k : k + _FEW] for k in range(0, len(rows), _FEW)):  # so that a reader may rest in between
                events, damage = self._checked(before, start, few)
                yield from (event for event in events if bandit in {None, event.bandit})
                if damage is not None:
                    raise damage
                start, before = events[-1].number, few[-1][4]

    def note(self, bandit: str, name: str) -> Event | None:
        """Return the newest note of a bandit that has this name, or None."""
        with self._using():
            self.flush()
            if bandit not in self._bandits:
                self._load_bandits()
                check_bandit(bandit, self._bandits)
            row = self._db.execute(_FIND_NOTE, (self._bandits[bandit], name)).fetchone()
            if row is None:
                return None
            before = self._digest_of(row[0] - 1)
            if before is None:
                raise self._damaged(f"event {row[0] - 1} is missing")
            events, damage = self._checked(before, row[0] - 1, [row])
            if damage is not None:
                raise damage
            return events[0]

    def _rows_after(self, number: int) -> list[Any]:
        asked = "SELECT number, epoch, bandit, payload, digest FROM events WHERE number > ? ORDER BY number LIMIT ?"
        return self._db.execute(asked, (number, _CHUNK)).fetchall()

    def _checked(self, before: bytes, start: int, rows: list[Any]) -> tuple[list[Event], StoreDamagedError | None]:
        """Return rows as events, if they follow the event `start`, whose digest is `before`: those up to the first damage."""
        events: list[Event] = []
        for due, (number, epoch, bandit, payload, found) in enumerate(rows, start + 1):
            if number != due:
                return events, self._damaged(f"event {due} is missing")
            before = digest(before, number, epoch, bandit, payload)
            if before != found or bandit not in self._names:
                return events, self._damaged(f"event {number} is not what was written")
            events.append(Event(number, epoch, self._names[bandit], decode(payload)))
        return events, None

    def _digest_of(self, number: int) -> bytes | None:
        """Return the digest of an event, or None if it is not there; that before the first event is the store's own."""
        if number == 0:
            return digest(self._id)
        row = self._db.execute("SELECT digest FROM events WHERE number = ?", (number,)).fetchone()
        if row is not None and not isinstance(row[0], bytes):
            raise self._damaged(f"event {number} is not what was written")
        return None if row is None else row[0]

    def save_snapshot(self, bandit: str, number: int, state: Payload) -> None:
        """Keep the state of a bandit after all its events up to `number`; the newest two of each bandit are kept."""
        content = encode("state", state, gently=True)
        with self._using(writing=True):
            check_bandit(bandit, self._bandits)
            place = check_snapshot(number, self._last)
            self.flush()
            slot = self._bandits[bandit]
            old = "SELECT number FROM snapshots WHERE bandit = ?1 ORDER BY number DESC LIMIT -1 OFFSET ?2"
            with self._transaction():
                row = (slot, place, content, digest(self._id, slot, place, content))
                self._db.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?)", row)
                self._db.execute(f"DELETE FROM snapshots WHERE bandit = ?1 AND number IN ({old})", (slot, _KEPT))  # noqa: S608
                self._count(len(self._bandits))

    def snapshot(self, bandit: str) -> Snapshot | None:
        """Return the newest snapshot that is intact, or None: the log makes up for those that are not."""
        with self._using():
            self.flush()
            self._load_bandits()
            check_bandit(bandit, self._bandits)
            slot = self._bandits[bandit]
            asked = "SELECT number, state, digest FROM snapshots WHERE bandit = ? ORDER BY number DESC"
            for number, state, found in self._db.execute(asked, (slot,)):
                if found == digest(self._id, slot, number, state):
                    return Snapshot(number, decode(state))
            return None

    def damages(self) -> list[str]:
        """Look at every page and every snapshot, and return a sentence for each damage."""
        with self._using():
            self.flush()
            found = []
            for slot, number, state, written in self._db.execute("SELECT bandit, number, state, digest FROM snapshots"):
                if written != digest(self._id, slot, number, state):
                    found.append(f"the snapshot at event {number} is not what was written")
            try:
                self._check_pages("integrity_check")
            except StoreDamagedError as error:
                found.append(str(error))
            return found

    def close(self) -> None:
        """End the work with this store, and give it free for another writer. A second call does nothing."""
        if os.getpid() != self._process:
            _INHERITED.append((self._db, self._guard))  # they are the parent's, to be closed there
            return
        with self._mutex:
            try:
                if not (self._why_not or self._readonly):
                    self.flush()
                    with suppress(StoreLockedError), self._using(writing=True), self._transaction():
                        self._count(len(self._bandits))
                        self._db.execute("UPDATE writer SET clean = 1")
            finally:
                self._why_not = self._why_not or f"{self._path} is closed: open it again"
                self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _release(self) -> None:
        for connection in (getattr(self, "_db", None), self._guard):
            if connection is not None:
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
            if self._db.in_transaction:
                with suppress(apsw.Error):
                    self._db.execute("ROLLBACK")
            raise

    @contextmanager
    def _using(self, writing: bool = False) -> Iterator[None]:
        """Hold the store, if it can be used, and say in one sentence what SQLite finds meanwhile."""
        if os.getpid() != self._process:  # before the mutex, which a thread of the parent may have held
            raise StoreFailedError(f"{self._path} was opened by the parent of this process: open it again")
        if writing and self._readonly:
            raise StoreReadOnlyError(f"{self._path} was opened for reading: it cannot be written to")
        with self._mutex:
            if self._why_not:
                raise StoreFailedError(self._why_not)
            try:
                yield
            except apsw.IOError as error:
                # What the disk has is not known. The next writer reads what is there, and makes sure of it.
                self._why_not = f"{self._path} could not be read or written ({error}): open it again"
                raise StoreFailedError(self._why_not) from error
            except (apsw.Error, UnicodeDecodeError) as error:
                raise _told(self._path, error) from error

    def _row(self, asked: str) -> Any:
        row = self._db.execute(asked).fetchone()
        if row is None:
            raise self._damaged("a table is empty")
        return row

    def _check_pages(self, how: str) -> None:
        (found,) = self._row(f"PRAGMA {how}(1)")
        if found != "ok":
            raise self._damaged(" ".join(str(found).split()))

    def _damaged(self, what: str) -> StoreDamagedError:
        return StoreDamagedError(f"{self._path} is damaged: {what}")


_INHERITED: list[Any] = []  # connections of a parent process, kept from being closed


def _told(path: Path, error: Exception) -> Exception:
    """Return the library's own error for one of SQLite."""
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return StoreLockedError(f"{path} is locked by another program")
    if isinstance(error, apsw.FullError):
        return StoreFullError(f"{path} cannot grow: the disk is full, and nothing was written")
    if isinstance(error, apsw.ReadOnlyError | apsw.PermissionsError | apsw.CantOpenError):
        return StoreReadOnlyError(f"{path} cannot be opened for this: {error}")
    if isinstance(error, apsw.NotADBError):
        return NotAStoreError(f"{path} must be a store, but it is no database")
    return StoreDamagedError(f"{path} is damaged: {error}")


def _look(path: Path) -> apsw.Connection:
    """Open a file for reading, if it is a store."""
    if path.is_dir():
        raise NotAStoreError(f"{path} must be a store, but it is a folder")
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        raise PathMissingError(f"no such store: {path}") from None
    if size == 0:  # SQLite would take it for a new database, and drop the log ahead
        raise NotAStoreError(f"{path} must be a store, but it is an empty file")
    connection = _open(str(path), apsw.SQLITE_OPEN_READONLY)
    try:
        _check_header(path, connection)
    except BaseException as error:
        connection.close(True)
        if not isinstance(error, apsw.CantOpenError | apsw.ReadOnlyError) or path.with_name(f"{path.name}-wal").exists():
            raise
        # In a folder that cannot be written to there is no room for a log ahead: nobody writes, and the file is all there is.
        connection = _open(f"{path.as_uri()}?immutable=1", apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        _check_header(path, connection)
    return connection


def _open(name: str, flags: int) -> apsw.Connection:
    """Open a file that is there, without trusting what is in it."""
    connection = apsw.Connection(name, flags=flags)
    connection.set_busy_timeout(_PATIENCE_MS)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.pragma("cell_size_check", 1)
    return connection


def _check_header(path: Path, connection: apsw.Connection) -> None:
    application, version = connection.pragma("application_id"), connection.pragma("user_version")
    if application != APPLICATION_ID:
        raise NotAStoreError(f"{path} must be a store, but it is another program's database (application id {application})")
    if version != FORMAT:
        age = "a newer" if version > FORMAT else "an older"
        raise StoreFormatError(f"{path} has format {version}, of {age} version; rotting {__version__} reads format {FORMAT}")


def _make(path: Path) -> None:
    """Make an empty store that appears whole or not at all."""
    partial = partial_path(path)
    try:
        connection = apsw.Connection(str(partial))
        connection.pragma("journal_mode", "wal")
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", FORMAT)
        name = secrets.token_hex(16)
        with connection:
            connection.execute(_SCHEMA + _NOTES)
            connection.execute("INSERT INTO store VALUES (?, ?, ?)", (name, __version__, digest(name, __version__)))
        connection.close()
        partial.rename(path)
        _sync_folder(path.parent)
    finally:
        for each in ("", "-wal", "-shm", "-journal"):
            partial.with_name(partial.name + each).unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Make sure that a new name in a folder outlives a power cut, where folders can be synchronised."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _lock(path: Path) -> apsw.Connection:
    """Take the lock of the writer, which the operating system takes back when the process ends, however it ends.

    It is a file of its own, locked by way of SQLite, which knows how on every system. The file stays empty.
    """
    if not path.parent.is_dir():
        raise PathMissingError(f"no such folder: {path.parent}")
    beside = path.with_name(path.name + "-lock")
    try:
        guard = apsw.Connection(str(beside))
        guard.pragma("journal_mode", "memory")  # no second file beside the lock
        guard.execute("BEGIN EXCLUSIVE")
    except apsw.BusyError:
        raise StoreLockedError(f"{path} is locked: another writer has it") from None
    except apsw.Error as error:
        raise StoreReadOnlyError(f"{path} cannot be written to: its lock {beside} cannot be had ({error})") from error
    return guard
