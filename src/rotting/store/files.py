"""The file of a store: made, locked, recognised and opened; and what SQLite says of it, in one sentence.

SQLite comes with `apsw`, which brings a current one. The one of Python's own `sqlite3` is whatever the system ships: those
before 3.51.3 can damage a file that is written ahead when one connection writes while another one copies its log back.
"""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from rotting.common.atomic_files import partial_path
from rotting.common.version import __version__
from rotting.errors import (
    InvalidTypeError,
    MissingExtraError,
    NotAStoreError,
    PathMissingError,
    StoreDamagedError,
    StoreError,
    StoreFailedError,
    StoreFormatError,
    StoreFullError,
    StoreLockedError,
    StoreReadOnlyError,
)
from rotting.store.records import digest

try:
    import apsw
except ImportError as error:
    raise MissingExtraError("a store needs apsw, which brings SQLite: pip install 'rotting[store]'") from error

APPLICATION_ID = 0x524F5421  # "ROT!"
FORMAT = 2
PATIENCE_MS = 5_000  # how long to wait for another connection that is in the way
# Notes are found by their names: SQLite keeps an index of the events that begin as they do, `{"note":`.
IS_NOTE = "substr(payload, 1, 8) = x'7b226e6f7465223a'"
NOTE_NAME = "json_extract(CAST(payload AS TEXT), '$.note')"
_SCHEMA = f"""
CREATE TABLE store (id TEXT NOT NULL, made_by TEXT NOT NULL, digest BLOB NOT NULL) STRICT;
CREATE TABLE writer (epoch INTEGER NOT NULL, bandits INTEGER NOT NULL, last INTEGER NOT NULL) STRICT;
CREATE TABLE bandits (bandit INTEGER PRIMARY KEY, name TEXT NOT NULL, meta BLOB NOT NULL, digest BLOB NOT NULL) STRICT;
CREATE TABLE events (
  number INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, bandit INTEGER NOT NULL, place INTEGER NOT NULL, payload BLOB NOT NULL,
  digest BLOB NOT NULL
) STRICT;
CREATE INDEX events_of ON events (bandit);
CREATE INDEX notes ON events (bandit, {NOTE_NAME}) WHERE {IS_NOTE};
CREATE TABLE snapshots (
  snapshot INTEGER PRIMARY KEY, bandit INTEGER NOT NULL, number INTEGER NOT NULL, digest BLOB NOT NULL
) STRICT;
CREATE TABLE pieces (snapshot INTEGER NOT NULL, piece INTEGER NOT NULL, content BLOB NOT NULL, UNIQUE (snapshot, piece)) STRICT;
INSERT INTO writer VALUES (0, 0, 0);
"""  # noqa: S608 - no value of a user is in it


def resolved(path: object, name: str = "path") -> Path:
    """Return where a file is, links followed: one store has one lock, whatever it is called by."""
    try:
        return Path(os.fspath(path)).resolve()  # type: ignore[call-overload]
    except (TypeError, ValueError, RuntimeError):  # none, one with a null character, a link to itself
        raise InvalidTypeError(name, "be the path of a file", path) from None


def to_store_error(path: Path, error: Exception) -> StoreError:
    """Return the library's own error for one of SQLite."""
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return StoreLockedError("is locked by another program", path)
    if isinstance(error, apsw.FullError):
        return StoreFullError("cannot grow: the disk is full, and nothing was written", path)
    if isinstance(error, apsw.ReadOnlyError | apsw.PermissionsError | apsw.CantOpenError):
        return StoreReadOnlyError(f"cannot be opened for this: {error}", path)
    if isinstance(error, apsw.NotADBError):
        return NotAStoreError("must be a store, but it is no database", path)
    return StoreDamagedError(f"is damaged: {error}", path)


def missing(path: Path) -> Exception:
    """Return the error for a store that is not there; one whose write-ahead log is there was lost."""
    with suppress(OSError):
        if path.with_name(f"{path.name}-wal").stat().st_size > 0:
            reason = (
                "is missing, but its -wal file holds events that belong to it: restore the file, or move the -wal file away"
            )
            return StoreDamagedError(reason, path)
    return PathMissingError(f"no such store: {path}")


def look(path: Path) -> apsw.Connection:
    """Open a file for reading, if it is a store."""
    if path.is_dir():
        raise NotAStoreError("must be a store, but it is a folder", path)
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        raise missing(path) from None
    if size == 0:  # SQLite would take it for a new database, and drop the write-ahead log
        raise NotAStoreError("must be a store, but it is an empty file", path)
    connection = open_file(str(path), apsw.SQLITE_OPEN_READONLY)
    try:
        _check_header(path, connection)
    except BaseException as error:
        connection.close(True)
        if not isinstance(error, apsw.CantOpenError | apsw.ReadOnlyError) or path.with_name(f"{path.name}-wal").exists():
            raise
        # In a folder that cannot be written to there is no room for a write-ahead log: nobody writes, and the file has all.
        connection = open_file(f"{path.as_uri()}?immutable=1", apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        _check_header(path, connection)
    return connection


def open_file(name: str, flags: int) -> apsw.Connection:
    """Open a file that is there, without trusting what is in it."""
    connection = apsw.Connection(name, flags=flags)
    connection.set_busy_timeout(PATIENCE_MS)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.pragma("cell_size_check", 1)
    return connection


def _check_header(path: Path, connection: apsw.Connection) -> None:
    application, version = connection.pragma("application_id"), connection.pragma("user_version")
    if application != APPLICATION_ID:
        raise NotAStoreError(f"must be a store, but it is another program's database (application id {application})", path)
    if version != FORMAT:
        age = "a newer" if version > FORMAT else "an older"
        raise StoreFormatError(f"has format {version}, of {age} version; rotting {__version__} reads format {FORMAT}", path)


def make(path: Path) -> None:
    """Make an empty store that appears whole or not at all."""
    partial = partial_path(path)
    try:
        connection = apsw.Connection(str(partial))
        connection.pragma("journal_mode", "wal")
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", FORMAT)
        name = secrets.token_hex(16)
        with connection:
            connection.execute(_SCHEMA)
            connection.execute("INSERT INTO store VALUES (?, ?, ?)", (name, __version__, digest(name, __version__)))
        connection.close()
        partial.rename(path)
        sync_folder(path.parent)
    finally:
        remove(partial)


def empty_wal(connection: apsw.Connection, patience_ms: int) -> bool:
    """Copy the write-ahead log into the file, synchronised, and truncate it; return whether that was possible.

    It is not while a reader has a view of the file that is longer than the patience.
    """
    connection.set_busy_timeout(patience_ms)
    try:
        ((is_busy, _, _),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        connection.set_busy_timeout(PATIENCE_MS)
    return not is_busy


def sync_wal(path: Path) -> None:
    """Synchronise the write-ahead log of a store."""
    try:
        handle = os.open(path.with_name(f"{path.name}-wal"), os.O_RDWR)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise StoreFailedError(f"could not be synchronised ({error.strerror})", path) from error


def remove(path: Path) -> None:
    """Remove a file, and what SQLite keeps beside it."""
    for each in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + each).unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make sure that a new name in a folder outlives a power cut, where folders can be synchronised."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def lock(path: Path) -> apsw.Connection:
    """Take the lock of the writer, which the operating system takes back when the process ends, however it ends.

    It is a file of its own, locked by way of SQLite, which knows how on every system. The file stays empty. On Linux the writer
    also locks the store itself, see `open_files`.
    """
    if not path.parent.is_dir():
        raise PathMissingError(f"no such folder: {path.parent}")
    beside = path.with_name(path.name + "-lock")
    guard = None
    try:
        guard = apsw.Connection(str(beside))
        guard.pragma("journal_mode", "memory")  # no second file beside the lock
        guard.execute("BEGIN EXCLUSIVE")
    except apsw.Error as error:
        if guard is not None:
            guard.close(True)
        if isinstance(error, apsw.BusyError):
            raise StoreLockedError("is locked: another writer has it", path) from None
        raise StoreReadOnlyError(f"cannot be written to: its -lock file cannot be created or locked ({error})", path) from error
    return guard
