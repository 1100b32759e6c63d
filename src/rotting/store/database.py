"""The connection to the SQLite file of a store: locking between threads, transactions, errors, and checks of the files."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rotting.errors import (
    StoreDamagedError,
    StoreError,
    StoreFailedError,
    StoreFullError,
    StoreLockedError,
    StoreReadOnlyError,
)
from rotting.store import limits
from rotting.store.files import LEAST_SCHEMA_VERSION, connect, copy_wal, empty_wal, set_schema_version, to_store_error
from rotting.store.open_files import OpenFile
from rotting.store.protocol import Durability

import apsw  # isort: skip - after `files`, which says what to install

if TYPE_CHECKING:
    from rotting.store.high_water_mark import MarkWriter

_CLOSE = "UPDATE writer SET unclosed = 0"
_UNCLOSED = 3  # the position of the column `unclosed` in the table `writer`
_SQLITE_ERRORS = (apsw.Error, UnicodeDecodeError)  # the second if text is damaged


class Database:
    """The open file of a store.

    After a failure that leaves the content of the disk unknown, or after another writer has taken over, every call raises the
    same error again: the store must be opened anew.

    Args:
        path: the file, links followed.
        readonly: whether this is a reader.
        durability: what is safe when a commit returns.
    """

    def __init__(self, path: Path, readonly: bool, durability: Durability) -> None:
        self.path, self.readonly, self.durability = path, readonly, durability
        self.connection: apsw.Connection
        """Set when the store is opened."""
        self.file = OpenFile(path)
        self.mark: MarkWriter | None = None
        self.epoch = 0
        self.mutex = threading.RLock()
        self.snapshot_lock = threading.RLock()
        """Held while a snapshot is saved; it must be acquired before the mutex."""
        self.copying = threading.Lock()
        """Held while the WAL is copied without the mutex; no other lock may be acquired meanwhile."""
        self.failure: StoreError | None = None
        """Why the store cannot be used any more."""
        self._process = os.getpid()
        self._is_closed_in_file = False  # whether this writer has recorded that it closes the store
        self._must_mark_unclosed = False  # whether the main file does not say yet that a writer has it open
        self._next_check, self._unchecked_bytes = time.monotonic() + limits.CHECK_SECONDS, 0

    # --- Use by one thread at a time ------------------------------------------------------------------------------------------

    def use(self, writing: bool = False) -> "_Use":
        """Hold the mutex in a `with` block, and translate the errors of SQLite."""
        return _Use(self, writing)

    @property
    def is_inherited(self) -> bool:
        """Whether the store was opened by the parent of this process."""
        return os.getpid() != self._process

    def check_usable(self, writing: bool) -> None:
        """Raise an error in a forked child, after a failure, or if a reader is asked to write."""
        if os.getpid() != self._process:
            raise StoreFailedError("was opened by the parent of this process: open it again", self.path)
        if writing and self.readonly:
            raise StoreReadOnlyError("was opened for reading: it cannot be written to", self.path)
        if self.failure is not None:
            raise type(self.failure)(self.failure.reason, self.path)

    def fail(self, error: StoreError) -> None:
        """Make every later call raise an error; the first error counts."""
        self.failure = self.failure or error

    def translate(self, error: Exception) -> StoreError:
        """Return the error of the library for an error of SQLite."""
        if not isinstance(error, apsw.IOError):
            return to_store_error(self.path, error)
        if self.readonly:  # a reader may try again
            return StoreFailedError(f"could not be read ({error})", self.path)
        # It is unknown what is on the disk. The next writer reads what can be read, and synchronises it.
        if self.mark is not None:
            self.mark.note_failed_sync()
        failure = StoreFailedError(f"could not be read or written ({error}): open it again", self.path)
        self.fail(failure)
        return failure

    def damaged(self, what: str) -> StoreDamagedError:
        """Return the error for damage in the file."""
        return StoreDamagedError(f"is damaged: {what}", self.path)

    def set_durability(self, connection: apsw.Connection, synchronous: str) -> None:
        """Set how a connection to the file synchronises what it writes."""
        connection.pragma("synchronous", synchronous)
        on_disk = int(self.durability == "disk")
        connection.pragma("fullfsync", on_disk)  # macOS: through the cache of the drive
        connection.pragma("checkpoint_fullfsync", on_disk)

    # --- Queries and transactions ---------------------------------------------------------------------------------------------

    def rows(self, query: str, values: tuple[object, ...] = ()) -> list[Any]:
        """Return all rows of a query."""
        return self.connection.execute(query, values).fetchall()

    def row(self, query: str) -> Any:
        """Return the first row of a query, which must have one."""
        row = self.connection.execute(query).fetchone()
        if row is None:
            raise self.damaged("a table is empty")
        return row

    def writer_row(self) -> tuple[int, int, int]:
        """Return the epoch of the latest writer, and the number of bandits and of events that it counted."""
        epoch, bandits, last = self.row("SELECT epoch, bandits, last FROM writer")
        if not all(isinstance(each, int) for each in (epoch, bandits, last)):
            raise self.damaged("the counts of its writer are not what was written")
        return epoch, bandits, last

    def write_counts(self, bandits: int, last: int) -> None:
        """Write the number of bandits and of events, which are checked when the store is opened."""
        self.connection.execute("UPDATE writer SET bandits = ?, last = ?", (bandits, last))

    def is_unclosed(self) -> bool:
        """Return whether the latest writer has the store open, or ended without closing it. Earlier versions do not say so."""
        row = self.row("SELECT * FROM writer")
        return len(row) > _UNCLOSED and row[_UNCLOSED] == self._unclosed_value(row[0])

    def _unclosed_value(self, epoch: int) -> int:
        """Return what the column `unclosed` holds while the writer of an epoch has the store open.

        It contains the schema version of the file. SQLite gives another schema version to a copy that it makes with VACUUM INTO
        or its backup API: such a copy is complete, although a writer had the store open. The epoch is there since a writer of
        an earlier version closes the store without resetting the column.
        """
        version: int = self.connection.pragma("schema_version")
        return version << 32 | epoch & 0xFFFFFFFF

    def mark_unclosed(self, timeout_ms: int) -> None:
        """Record in the main file that a writer has the store open. While a reader is in the way, later writes try again."""
        with self.copying:
            self._keep_wal(True)
        with self.transaction():
            if len(self.row("SELECT * FROM writer")) <= _UNCLOSED:
                self.connection.execute("ALTER TABLE writer ADD COLUMN unclosed INTEGER NOT NULL DEFAULT 0")
            if self.connection.pragma("schema_version") < LEAST_SCHEMA_VERSION:  # of an earlier version, or a restored copy
                set_schema_version(self.connection)
            self.connection.execute("UPDATE writer SET unclosed = ?", (self._unclosed_value(self.epoch),))
        self._must_mark_unclosed = not copy_wal(self.connection, timeout_ms)

    def mark_closed(self, bandits: int, last: int, timeout_ms: int) -> bool:
        """Record that the store is closed, with its counts. While a reader is in the way, record the counts and return False.

        The WAL is copied first: otherwise a process that is killed while SQLite copies it could leave a main file that is
        recorded as closed and lacks events.
        """
        is_copied = copy_wal(self.connection, timeout_ms)
        with self.transaction():
            self.write_counts(bandits, last)
            if is_copied:
                self.connection.execute(_CLOSE)
        return is_copied

    def check_epoch(self) -> None:
        """Raise a `StoreLockedError` if a later writer has taken over."""
        epoch = self.writer_row()[0]
        if epoch != self.epoch:
            reason = f"is locked: the writer of epoch {epoch} has replaced that of epoch {self.epoch}"
            self.fail(StoreLockedError(reason, self.path))
            raise StoreLockedError(reason, self.path)

    @contextmanager
    def view(self) -> Iterator[None]:
        """Read one state of the file in the block, even while another process writes."""
        self.connection.execute("BEGIN")
        try:
            yield
        finally:
            self._roll_back()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write everything in the block or nothing, and only if no later writer has taken over."""
        try:
            self.connection.execute("BEGIN IMMEDIATE")
            self.check_epoch()
            yield
            self.connection.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        if self.connection.in_transaction:
            with suppress(apsw.Error):
                self.connection.execute("ROLLBACK")

    # --- The files ------------------------------------------------------------------------------------------------------------

    def connect_for_writing(self) -> apsw.Connection:
        """Open another connection of the writer. Closing it leaves the WAL in place, unless `close_in_file` was called.

        A main file that is recorded as unclosed needs its WAL. After a failure, the WAL may also belong to another writer.
        """
        connection = self.file.add_connection(connect(str(self.path), apsw.SQLITE_OPEN_READWRITE))
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        return connection

    def close_in_file(self, bandits: int, last: int) -> None:
        """Record that the store is closed, so that closing the connections copies the WAL and removes it.

        If a reader holds an older view of the file, the WAL stays in place, as after a crash.
        """
        with self.copying:
            if not self.mark_closed(bandits, last, timeout_ms=0):
                return
            copy_wal(self.connection, timeout_ms=0)  # SQLite itself does so only if no reader is connected
            self._keep_wal(False)
            self._is_closed_in_file = True

    def settle(self, bandits: int, last: int) -> None:
        """Record that the store is closed and empty the WAL, but leave the store open: the next write records that it is."""
        with self.copying:
            if not self.mark_closed(bandits, last, timeout_ms=0):
                return
            self._must_mark_unclosed, self._next_check = True, 0.0
            with self.file.resetting_wal():
                empty_wal(self.connection, timeout_ms=0)
            self._keep_wal(False)

    def _keep_wal(self, keep: bool) -> None:
        """Set whether SQLite leaves the WAL in place when the last connection is closed."""
        for connection in self.file.connections:
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, int(keep))

    def watch_files(self) -> None:
        """Remember the files as they are now, for `check_files`."""
        (page,) = self.row("SELECT rootpage FROM sqlite_schema WHERE name = 'store'")
        self.file.watch(page, self.connection.pragma("page_size"), is_writer=not self.readonly)

    def check_files(self) -> int:
        """Raise a `StoreError` if the files at the path are not those that were opened; return the size of the WAL."""
        try:
            return self.file.check()
        except StoreError as error:
            if not self.readonly:
                self.fail(error)
            raise

    def check_before_writing(self, size: int) -> None:
        """Check the files from time to time, and that the WAL is not too large, before `size` bytes are written."""
        self._unchecked_bytes += size
        now = time.monotonic()
        if now < self._next_check and self._unchecked_bytes < limits.CHECK_BYTES:
            return
        if self.check_files() > limits.WAL_BYTES and not self._reset_wal():
            self._next_check = 0.0  # so that the next write tries again
            reason = "cannot grow: a reader keeps its write-ahead log from being reset, and nothing was written"
            raise StoreFullError(reason, self.path)
        if self._must_mark_unclosed:
            self.mark_unclosed(timeout_ms=0)
        self._next_check, self._unchecked_bytes = now + limits.CHECK_SECONDS, 0

    def _reset_wal(self) -> bool:
        """Empty the WAL; return False if a reader is in the way. An unclosed file must not be left with an empty WAL."""
        if not copy_wal(self.connection, timeout_ms=0):
            return False
        self._must_mark_unclosed = True
        with self.transaction():
            self.connection.execute(_CLOSE)
        with self.file.resetting_wal():
            return empty_wal(self.connection, timeout_ms=0)

    def close(self) -> None:
        """Close all files and release the locks."""
        with self.snapshot_lock, self.mutex:  # a snapshot that is being saved ends first: its next piece fails
            if not (self.readonly or self._is_closed_in_file):
                self._rescue_deleted_wal()
            self.file.close()
            if self.mark is not None:
                self.mark.close()

    def _rescue_deleted_wal(self) -> None:
        """Copy the WAL into the file if only the name of the WAL was deleted: its events exist nowhere else."""
        with suppress(apsw.Error, StoreError):
            if self.file.lost_wal:
                self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)


class _Use:
    """Holds the mutex of a database. A class, since a generator would take longer than a small query."""

    __slots__ = ("_database", "_writing")

    def __init__(self, database: Database, writing: bool) -> None:
        self._database, self._writing = database, writing

    def __enter__(self) -> None:
        database = self._database
        database.check_usable(self._writing)  # before the mutex, which a thread of the parent process may have held
        database.mutex.acquire()
        if database.failure is not None:  # while this thread waited
            database.mutex.release()
            database.check_usable(self._writing)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._database.mutex.release()
        if isinstance(error, _SQLITE_ERRORS):
            raise self._database.translate(error) from error
