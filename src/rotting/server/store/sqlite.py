"""A database in one SQLite file, with a write-ahead log.

SQLite comes with `apsw`, which brings a current version; Python's own `sqlite3` uses the one that the system ships.

Any number of processes may write. SQLite lets them take turns, but not fairly: a process that asks again at once mostly gets
the lock again, and another one can starve. So a writer first waits at a gate, a file beside the database that one process at a
time locks, and leaves it as soon as its transaction has begun. The gate serves fairness alone: after half a second a process
goes on without it.
"""

import fcntl
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from rotting.common.rules import option
from rotting.errors import (
    InvalidTypeError,
    MissingExtraError,
    NotAStoreError,
    OutcomeUnknownError,
    PathMissingError,
    StoreBusyError,
    StoreDamagedError,
    StoreError,
    StoreFailedError,
    StoreFullError,
    StoreReadOnlyError,
)
from rotting.server.store.database import (
    EVENTS,
    FORMAT,
    KEY,
    MAX_EVENTS,
    RECORD,
    TABLES,
    Database,
    Durability,
    Reading,
    Transaction,
    to_events,
    to_record,
)
from rotting.server.store.events import BanditRecord, StoredEvent, StoredKey

try:
    import apsw
except ImportError as error:
    raise MissingExtraError("a store needs apsw, which brings SQLite: pip install 'rotting[store]'") from error

APPLICATION_ID = 0x524F5421  # "ROT!"
_SCHEMA = """
CREATE TABLE bandits (
  row INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, name TEXT NOT NULL UNIQUE, description BLOB NOT NULL,
  archived INTEGER NOT NULL, keep REAL, base INTEGER NOT NULL, base_digest BLOB NOT NULL
) STRICT;
CREATE TABLE events (
  bandit INTEGER, number INTEGER, time INTEGER NOT NULL, caller TEXT NOT NULL, payload BLOB NOT NULL, digest BLOB NOT NULL,
  PRIMARY KEY (bandit, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE keys (
  bandit INTEGER, key TEXT, request BLOB NOT NULL, time INTEGER NOT NULL, answer BLOB NOT NULL, PRIMARY KEY (bandit, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX keys_by_time ON keys (time);
CREATE TABLE snapshots (
  bandit INTEGER, revision INTEGER, number INTEGER, digest BLOB NOT NULL, state BLOB NOT NULL,
  PRIMARY KEY (bandit, revision, number)
) STRICT;
CREATE TABLE deleted (row INTEGER PRIMARY KEY) STRICT;
CREATE TABLE due (bandit INTEGER PRIMARY KEY, time INTEGER NOT NULL) STRICT;
"""
_BUSY_SECONDS = 10.0  # for which a transaction waits for others
_GATE_SECONDS = 0.5  # for which it waits at the gate
_POLL = 0.0002  # seconds between two attempts
_NETWORK = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "fuse.sshfs", "fuse.glusterfs"}


def resolve(path: object) -> Path:
    """Return the path of a file with links followed."""
    try:
        return Path(os.fspath(path)).resolve()  # type: ignore[call-overload]
    except (TypeError, ValueError, RuntimeError):  # not a path, one with a null character, a link to itself
        raise InvalidTypeError("store", "be the path of a file", path) from None


class SQLiteDatabase(Database):
    """A database in a file; see `Database`.

    Args:
        path: the file.
        durability: whether a commit waits for the disk.
        create: create the file if it is missing.
        readonly: only read.
    """

    one_lane = True
    _writer: apsw.Connection | None
    _reader: apsw.Connection | None

    def __init__(
        self, path: str | os.PathLike[str], durability: Durability = "disk", *, create: bool = True, readonly: bool = False
    ) -> None:
        option("disk", "os").check("durability", durability)
        self.path = resolve(path)
        self.place = str(self.path)
        self._synchronous = "FULL" if durability == "disk" else "NORMAL"
        self._readonly, self._create = readonly, create and not readonly
        self._closed = False
        self._forget_connections()
        self._check_path()
        if not readonly:
            with self._errors():
                self._writer = self._connect_writer()
        else:
            self.count()
        found = self.path.stat()
        self._identity = found.st_dev, found.st_ino

    def _forget_connections(self) -> None:
        self._writer = self._reader = None
        self._gate: int | None = None
        self._writing, self._reading = threading.Lock(), threading.Lock()  # held while a connection is used

    # --- Connections --------------------------------------------------------------------------------------------------------

    def _check_path(self) -> None:
        path = self.path
        try:
            if path.is_dir():
                raise NotAStoreError("is not a store: it is a folder", path)
            if not path.exists():
                if not self._create:
                    raise PathMissingError(f"no such store: {path}")
                if not path.parent.is_dir():
                    raise PathMissingError(f"no such folder: {path.parent}")
            elif path.stat().st_size == 0 and not self._create:
                raise NotAStoreError("is not a store: it is an empty file", path)
        except PermissionError as error:
            raise StoreReadOnlyError("is in a folder that this user may not open", path) from error
        kind = _file_system(path.parent)
        if kind in _NETWORK:
            reason = f"is on a network file system ({kind}), where SQLite's locks do not work: use PostgreSQL, or a local disk"
            raise StoreFailedError(reason, path)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn the errors of SQLite into those of the library."""
        try:
            yield
        except apsw.Error as error:
            raise self._translated(error) from error

    def _translated(self, error: apsw.Error) -> StoreError:
        path = self.path
        if isinstance(error, apsw.BusyError | apsw.LockedError):
            return StoreBusyError(f"is busy: another process has been writing to it for {_BUSY_SECONDS:g} s", path)
        if isinstance(error, apsw.FullError):
            return StoreFullError("cannot grow: the disk is full, and nothing was written", path)
        if isinstance(error, apsw.ReadOnlyError | apsw.PermissionsError | apsw.CantOpenError):
            return StoreReadOnlyError(f"cannot be opened or written to: {error}", path)
        if isinstance(error, apsw.NotADBError):
            return NotAStoreError("is not a store: it is not a database", path)
        if isinstance(error, apsw.IOError):
            return StoreFailedError(f"could not be read or written: {error}", path)
        return StoreDamagedError(f"is damaged: {error}", path)

    def _connect(self, flags: int) -> apsw.Connection:
        connection = apsw.Connection(str(self.path), flags=flags)
        try:
            connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
            connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
            connection.set_busy_handler(_wait_for_others())
        except BaseException:
            connection.close(True)
            raise
        return connection

    def _check_header(self, connection: apsw.Connection) -> None:
        application, version = connection.pragma("application_id"), connection.pragma("user_version")
        if application != APPLICATION_ID:
            raise NotAStoreError(f"is not a store: it is another program's database (application id {application})", self.path)
        self.check_format(version)

    def _connect_writer(self) -> apsw.Connection:
        create = apsw.SQLITE_OPEN_CREATE if self._create else 0
        connection = self._connect(apsw.SQLITE_OPEN_READWRITE | create)
        try:
            if self._create and connection.pragma("application_id") == 0:
                connection.pragma("journal_mode", "wal")
                self._create_tables(connection)
            self._check_header(connection)
            connection.pragma("synchronous", self._synchronous)
        except BaseException:
            connection.close(True)
            raise
        return connection

    def _create_tables(self, connection: apsw.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        try:
            found = list(connection.execute("SELECT count(*) FROM sqlite_schema"))
            if found == [(0,)] and connection.pragma("application_id") == 0:
                connection.execute(_SCHEMA)
                connection.pragma("application_id", APPLICATION_ID)
                connection.pragma("user_version", FORMAT)
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise

    def _check_open(self) -> None:
        if self._closed:
            raise StoreFailedError("is closed: open it again", self.path)

    @contextmanager
    def _read(self) -> Iterator[apsw.Connection]:
        """Lend the connection for reading."""
        self._check_open()
        with self._errors(), self._reading:
            if self._reader is None:
                self._reader = self._connect_reader()
            try:
                yield self._reader
            except BaseException:
                self._reader.close(True)
                self._reader = None
                raise

    def _connect_reader(self) -> apsw.Connection:
        connection = self._connect(apsw.SQLITE_OPEN_READONLY)
        try:
            self._check_header(connection)
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            connection.close(True)
            if self.path.with_name(f"{self.path.name}-wal").exists():
                raise
            # In a read-only folder SQLite cannot create a WAL. Nobody else can write there either, so the file is complete.
            flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
            connection = apsw.Connection(f"{self.path.as_uri()}?immutable=1", flags=flags)
            self._check_header(connection)
        except BaseException:
            connection.close(True)
            raise
        return connection

    # --- Transactions -------------------------------------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator["SQLiteTransaction"]:
        """Return a transaction."""
        self._check_open()
        if self._readonly:
            raise StoreReadOnlyError("was opened for reading only", self.path)
        with self._writing:
            with self._errors():
                if self._writer is None:
                    self._writer = self._connect_writer()
                connection = self._writer
                with self._at_the_gate():
                    connection.execute("BEGIN IMMEDIATE")
            try:
                with self._errors():
                    self.check_format(connection.pragma("user_version"))
                    yield SQLiteTransaction(connection)
            except BaseException:
                self._roll_back(connection)
                raise
            self._commit(connection)

    def _commit(self, connection: apsw.Connection) -> None:
        try:
            connection.execute("COMMIT")
        except apsw.Error as error:
            if not connection.in_transaction and not isinstance(error, apsw.FullError):
                raise OutcomeUnknownError(f"may have committed: {error}", self.path) from error
            self._roll_back(connection)
            raise self._translated(error) from error

    def _roll_back(self, connection: apsw.Connection) -> None:
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except apsw.Error:  # a connection that cannot even roll back is not used again
            connection.close(True)
            self._writer = None

    @contextmanager
    def _at_the_gate(self) -> Iterator[None]:
        if self._gate is None:
            gate = self.path.with_name(f"{self.path.name}-gate")
            with suppress(OSError):  # then without
                self._gate = os.open(gate, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        entered = False
        until = time.monotonic() + _GATE_SECONDS
        while self._gate is not None and not entered and time.monotonic() < until:
            try:
                fcntl.lockf(self._gate, fcntl.LOCK_EX | fcntl.LOCK_NB)
                entered = True
            except OSError:
                time.sleep(_POLL)
        try:
            yield
        finally:
            if entered and self._gate is not None:
                fcntl.lockf(self._gate, fcntl.LOCK_UN)

    # --- Reading ------------------------------------------------------------------------------------------------------------

    def rows(self, statement: str, *values: object) -> list[Any]:
        """Return the rows of a statement that only reads."""
        with self._read() as connection:
            return list(connection.execute(_statement(statement), values))

    def now(self) -> int:
        """Return the time, in microseconds since 1970."""
        return time.time_ns() // 1_000

    # --- Upkeep -------------------------------------------------------------------------------------------------------------

    def size(self) -> int:
        """Return the bytes of the file and its write-ahead log."""
        return sum(path.stat().st_size for path in (self.path, Path(f"{self.path}-wal")) if path.exists())

    def check(self) -> list[str]:
        """Check every page of the file."""
        with self._read() as connection:
            ((result,),) = connection.execute("PRAGMA integrity_check(1)")
            return [] if result == "ok" else [f"{self.path} is damaged: {' '.join(str(result).split())}"]

    def copy_to(self, target: Path) -> None:
        """Write a copy of the file as it is at this moment into a new file."""
        with self._read() as connection:
            connection.execute("VACUUM INTO ?", (str(target),))

    def check_ready(self) -> None:
        """Raise a `StoreError` if the file is not the one that was opened."""
        try:
            found = self.path.stat()
        except OSError as error:
            raise StoreFailedError(f"cannot be found: {error.strerror}", self.path) from error
        if (found.st_dev, found.st_ino) != self._identity:
            raise StoreFailedError("was replaced by another file: start again", self.path)
        self.count()

    def before_fork(self) -> None:
        """Close all connections: SQLite counts the locks of a process, and a child would take the parent's for its own."""
        self._writing.acquire()
        self._reading.acquire()
        self._close_connections()

    def after_fork_in_parent(self) -> None:
        """Go on; connections are opened when they are needed."""
        self._reading.release()
        self._writing.release()

    def after_fork(self) -> None:
        """Begin anew; there are no connections."""
        gate = self._gate
        self._forget_connections()
        if gate is not None:  # closing drops only the locks of this process
            os.close(gate)

    def _close_connections(self) -> None:
        for connection in (self._reader, self._writer):
            if connection is not None:
                connection.close(True)
        self._reader = self._writer = None

    def close(self) -> None:
        """Close all connections."""
        self._closed = True
        with self._writing, self._reading:
            self._close_connections()
            if self._gate is not None:
                os.close(self._gate)
                self._gate = None


class SQLiteTransaction(Transaction):
    """A transaction, which holds the lock of the whole file; see `Transaction`."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def record(self, name: str) -> BanditRecord | None:
        """Return a bandit, or None."""
        return next((to_record(row) for row in self.rows(f"{RECORD} WHERE name = %s", name)), None)

    def read(self, record: BanditRecord, first: int, keys: Collection[str]) -> Reading:
        """Return the events from number `first` on, the keys that are known, and the time."""
        found = [StoredKey(*row) for key in keys for row in self.rows(f"{KEY} AND key = %s", record.row, key)]
        events = to_events(self._connection.execute(_statement(EVENTS), (record.row, first, MAX_EVENTS + 1)))
        return Reading(events, {each.key: each for each in found}, time.time_ns() // 1_000)

    def append(self, record: BanditRecord, events: Iterable[StoredEvent], keys: Iterable[StoredKey]) -> None:
        """Append events, and store keys."""
        rows = ((record.row, *event) for event in events)
        self._connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", rows)
        self._connection.executemany("INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?, ?)", ((record.row, *key) for key in keys))

    def rows(self, statement: str, *values: object) -> list[Any]:
        """Return the rows of a statement."""
        return list(self._connection.execute(_statement(statement), values))

    def write(self, statement: str, *values: object) -> None:
        """Carry out a statement."""
        self._connection.execute(_statement(statement), values)

    def raise_format(self) -> None:
        """Raise the format."""
        self._connection.pragma("user_version", FORMAT)


@cache
def _statement(text: str) -> str:
    """Return a statement of `database` for SQLite."""
    return text.replace("%s", "?").format(unlocked="", **{name: name for name in TABLES})


def _wait_for_others() -> Callable[[int], bool]:
    """Return a busy handler that tries again every fifth of a millisecond, for at most `_BUSY_SECONDS`."""
    began = 0.0

    def wait(attempts: int) -> bool:
        nonlocal began
        if attempts == 0:
            began = time.monotonic()
        time.sleep(_POLL)
        return time.monotonic() - began < _BUSY_SECONDS

    return wait


def _file_system(folder: Path) -> str:
    """Return the kind of the file system that holds a folder; "" where the system does not say."""
    try:
        mounts = Path("/proc/self/mounts").read_text("utf-8").splitlines()
    except OSError:
        return ""
    best = ("", "")
    for line in mounts:
        _, place, kind, *_ = line.split()
        place = place.replace("\\040", " ")
        inside = place == "/" or str(folder) == place or str(folder).startswith(f"{place}/")
        if inside and len(place) >= len(best[0]):
            best = (place, kind)
    return best[1]
