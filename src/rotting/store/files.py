"""Creates, locks and opens the file of a store, and translates the errors of SQLite.

SQLite comes with `apsw`, which brings a current version; Python's own `sqlite3` uses the version that the system ships. Before
3.51.3, SQLite can damage a file with a write-ahead log (WAL) if one connection writes while another one copies the WAL.
"""

import errno
import os
import secrets
from pathlib import Path

from rotting.common.atomic_files import partial_path
from rotting.common.version import __version__
from rotting.errors import (
    InvalidTypeError,
    InvalidValueError,
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
from rotting.store import limits
from rotting.store.records import digest

try:
    import apsw
except ImportError as error:
    raise MissingExtraError("a store needs apsw, which brings SQLite: pip install 'rotting[store]'") from error

APPLICATION_ID = 0x524F5421  # "ROT!"
FORMAT = 2
LEAST_SCHEMA_VERSION = 2**16
"""The schema version of a store that a writer has opened is at least this; see `set_schema_version`."""
# Notes are looked up by name: SQLite keeps an index of the payloads that begin with `{"note":`.
IS_NOTE = "substr(payload, 1, 8) = x'7b226e6f7465223a'"
NOTE_NAME = "json_extract(CAST(payload AS TEXT), '$.note')"
# The column `meta` holds the description of a bandit: another name would be another format. For `unclosed`, see `opening`.
_SCHEMA = f"""
CREATE TABLE store (id TEXT NOT NULL, made_by TEXT NOT NULL, digest BLOB NOT NULL) STRICT;
CREATE TABLE writer (
  epoch INTEGER NOT NULL, bandits INTEGER NOT NULL, last INTEGER NOT NULL, unclosed INTEGER NOT NULL DEFAULT 0
) STRICT;
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
INSERT INTO writer VALUES (0, 0, 0, 0);
"""  # noqa: S608 - it holds no input of users


def resolve(path: object, name: str = "path") -> Path:
    """Return the path of a file with links followed, so that one store has one lock under all its names."""
    try:
        resolved = Path(os.fspath(path)).resolve()  # type: ignore[call-overload]
    except (TypeError, ValueError, RuntimeError):  # not a path, one with a null character, a link to itself
        raise InvalidTypeError(name, "be the path of a file", path) from None
    # The files beside a store have longer names, and a new store has a longer name until it is complete.
    longest = resolved if os.path.lexists(resolved) else partial_path(resolved)
    try:
        os.stat(f"{longest}-journal")  # noqa: PTH116 - Path.exists hides some errors
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise InvalidValueError(name, "be short enough for the file system", path) from None
    return resolved


def to_store_error(path: Path, error: Exception) -> StoreError:
    """Return the error of the library for an error of SQLite."""
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return StoreLockedError("is locked by another program", path)
    if isinstance(error, apsw.FullError):
        return StoreFullError("cannot grow: the disk is full, and nothing was written", path)
    if isinstance(error, apsw.ReadOnlyError | apsw.PermissionsError | apsw.CantOpenError):
        return StoreReadOnlyError(f"cannot be opened: {error}", path)
    if isinstance(error, apsw.NotADBError):
        return NotAStoreError("is not a store: it is not a database", path)
    return StoreDamagedError(f"is damaged: {error}", path)


def missing_file_error(path: Path) -> Exception:
    """Return the error for a file that does not exist. If its WAL does, the store lost its file."""
    if has_wal(path):
        reason = "is missing, but its -wal file holds events: restore the file, or move the -wal file away"
        return StoreDamagedError(reason, path)
    return PathMissingError(f"no such store: {path}")


def connect_for_reading(path: Path) -> apsw.Connection:
    """Open a file for reading; raise an error if it is not a store."""
    if path.is_dir():
        raise NotAStoreError("is not a store: it is a folder", path)
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        raise missing_file_error(path) from None
    if size == 0:  # SQLite would take it for a new database, and delete the WAL
        raise NotAStoreError("is not a store: it is an empty file", path)
    connection = connect(str(path), apsw.SQLITE_OPEN_READONLY)
    try:
        _check_header(path, connection)
    except BaseException as error:
        connection.close(True)
        if not isinstance(error, apsw.CantOpenError | apsw.ReadOnlyError) or path.with_name(f"{path.name}-wal").exists():
            raise
        # In a read-only folder SQLite cannot create a WAL. Nobody else can write there either, so the file is complete.
        connection = connect(f"{path.as_uri()}?immutable=1", apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        _check_header(path, connection)
    return connection


def connect(name: str, flags: int) -> apsw.Connection:
    """Open a file that exists, without trusting its content."""
    connection = apsw.Connection(name, flags=flags)
    connection.set_busy_timeout(limits.BUSY_MS)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.pragma("cell_size_check", 1)
    return connection


def _check_header(path: Path, connection: apsw.Connection) -> None:
    application, version = connection.pragma("application_id"), connection.pragma("user_version")
    if application != APPLICATION_ID:
        raise NotAStoreError(f"is not a store: it is another program's database (application id {application})", path)
    if version != FORMAT:
        age = "a newer" if version > FORMAT else "an older"
        raise StoreFormatError(f"has format {version}, of {age} version; rotting {__version__} reads format {FORMAT}", path)


def create_store(path: Path) -> None:
    """Create an empty store, completely or not at all."""
    partial = partial_path(path)
    try:
        connection = apsw.Connection(str(partial))
        connection.pragma("journal_mode", "wal")
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", FORMAT)
        store_id = secrets.token_hex(16)
        with connection:
            connection.execute(_SCHEMA)
            row = (store_id, __version__, digest(store_id, __version__))
            connection.execute("INSERT INTO store VALUES (?, ?, ?)", row)
        empty_wal(connection, timeout_ms=0)  # closing the connection does so too, but does not say if the disk is full
        connection.close()
        partial.rename(path)
        sync_folder(path.parent)
    finally:
        remove_database(partial)


def set_schema_version(connection: apsw.Connection) -> None:
    """Give a file a random schema version, which no copy of it has by chance.

    SQLite's backup API gives a copy the schema version of the file that it overwrites, plus one. So copies count from one.
    """
    version = LEAST_SCHEMA_VERSION + secrets.randbelow(2**30)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    try:
        connection.pragma("schema_version", version)
    finally:
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)


def empty_wal(connection: apsw.Connection, timeout_ms: int) -> bool:
    """Copy the WAL into the file, synchronise the file, and truncate the WAL.

    Returns False if a reader holds its view of the file longer than the timeout.
    """
    return _checkpoint(connection, "TRUNCATE", timeout_ms)


def copy_wal(connection: apsw.Connection, timeout_ms: int) -> bool:
    """Copy the WAL into the file and synchronise the file, but leave the WAL as long as it is.

    Returns False if a reader holds its view of the file longer than the timeout.
    """
    return _checkpoint(connection, "FULL", timeout_ms)


def _checkpoint(connection: apsw.Connection, mode: str, timeout_ms: int) -> bool:
    connection.set_busy_timeout(timeout_ms)
    try:
        ((is_busy, _, _),) = connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchall()
    finally:
        connection.set_busy_timeout(limits.BUSY_MS)
    return not is_busy


def has_wal(path: Path) -> bool:
    """Return whether the WAL of a store is beside it. SQLite also leaves empty files, which hold nothing."""
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size > 0
    except OSError:
        return False


def sync_wal(path: Path) -> None:
    """Synchronise the WAL of a store."""
    try:
        _sync(path.with_name(f"{path.name}-wal"), os.O_RDWR)
    except OSError as error:
        raise StoreFailedError(f"could not be synchronised ({error.strerror})", path) from error


def sync_folder(folder: Path) -> None:
    """Make sure that a new name in a folder survives a power cut, on systems that can synchronise folders."""
    if os.name == "posix":
        _sync(folder, os.O_RDONLY)


def _sync(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_database(path: Path) -> None:
    """Remove a file and the files of SQLite beside it."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def lock_for_writing(path: Path) -> apsw.Connection:
    """Take the lock of the writer and return the connection that holds it. The lock ends with the process at the latest.

    The lock is on an empty file beside the store. SQLite locks it, since it can do so on every system. On Linux the writer also
    locks the store itself; see `open_files`.
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
