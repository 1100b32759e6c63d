"""A store in one SQLite file, with a write-ahead log (WAL) that is synchronised at every commit.

While `songs.rot` is open, there are also `songs.rot-wal` and `songs.rot-shm`, which belong to SQLite; `songs.rot-lock`, an
empty file that the writer locks; and `songs.rot-mark`, which records how many events were acknowledged (see
`high_water_mark`). While a writer has the store open, `songs.rot` says so: if it is then found without its WAL and its mark,
because the writer was killed and only this file was moved, it is refused (see `opening`). To copy a store while it is written
to, see `backup`.

What is checked, and when:

- Whenever events are read: that each is what was written, and that none is missing between them (see `event_reader`). Only
  `encoded_events` reads them without these checks, unless it is asked to check them.
- When a store is opened: that it is complete (see `opening`).
- When a store is written to: about once a second, that its files are still those that were opened; with durability "disk",
  also after every commit that its main file is in its place.
- When a store is verified: every page, every event and every snapshot.
"""

import atexit
import logging
import os
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Self

from rotting.common.rules import option
from rotting.errors import StoreError, StoreFailedError, StoreFullError, StoreLockedError
from rotting.store.bandit_table import BanditTable
from rotting.store.database import Database
from rotting.store.event_appender import EventAppender
from rotting.store.event_reader import EncodedEvents
from rotting.store.files import resolve
from rotting.store.opening import open_reader, open_writer
from rotting.store.protocol import DURABILITIES, Durability, Payload, Snapshot, StoredEvent
from rotting.store.snapshots import Snapshots

_log = logging.getLogger("rotting.store")


class SQLiteStore:
    """A store in a file.

    Args:
        path: the file.
        readonly: open it as a reader; the file must exist.
        durability: what is safe when an append returns; see `Durability`.
        create: create the file if it does not exist; otherwise a `PathMissingError` is raised.
        known: for `new_reader`.

    Raises:
        StoreDamagedError: among other reasons, if acknowledged events are missing, or if the file is missing while its WAL
            exists. Nothing is changed then.

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
        self,
        path: str | os.PathLike[str],
        readonly: bool = False,
        durability: Durability = "disk",
        create: bool = True,
        known: BanditTable | None = None,
    ) -> None:
        option(*DURABILITIES).check("durability", durability)
        self._database = database = Database(resolve(path), readonly, durability)
        try:
            with database.use():
                opened = open_reader(database, known) if readonly else open_writer(database, create)
                self._id, self._bandits, self._reader, self._appender, self._mark_problem = opened
                self._snapshots = Snapshots(database, self._id, self._bandits, self._appender)
            if not readonly:
                self._snapshots.remove_unused()
                # A program that forgets to close its store leaves a complete file behind.
                weakref.finalize(self, _close, database, self._bandits, self._appender).atexit = False
                _writers.add(self)
        except BaseException:
            database.close()
            raise

    def new_reader(self) -> "SQLiteStore":
        """Open a reader of this store in the process of its writer.

        The writer has checked the store, and tells the reader about new bandits. So the reader reads neither the table of
        bandits nor the last event of each of them: it opens in the same time for any number of bandits.
        """
        return SQLiteStore(self._database.path, readonly=True, known=self._bandits)

    @property
    def id(self) -> str:
        """A unique id, assigned when the store was created."""
        return self._id

    @property
    def epoch(self) -> int:
        """The epoch of this writer; for a reader, that of the latest writer."""
        if self._database.readonly:
            with self._database.use():
                self._database.epoch = self._database.writer_row()[0]
        return self._database.epoch

    @property
    def last(self) -> int:
        """The number of the last event; 0 before the first."""
        with self._database.use():
            return self._reader.last_event()[0] if self._database.readonly else self._appender.last

    def bandits(self) -> dict[str, Payload]:
        """Return the description of each bandit, by name."""
        with self._database.use():
            return self._bandits.descriptions()

    @property
    def encoded_bandits(self) -> Mapping[str, bytes]:
        """The description of each bandit as JSON, by name; a writer adds new bandits to it."""
        return self._bandits.encoded

    def add_bandit(self, name: str, description: Payload) -> None:
        """Add a bandit with its description."""
        self.append((), [(name, description)])

    def append(self, events: Iterable[tuple[str, Payload]], bandits: Iterable[tuple[str, Payload]] = ()) -> int:
        """Add bandits and append events in one transaction, all of them or none; return the number of the last event.

        With durability "disk" they are on the disk when this returns. If the disk is full, nothing was appended, and the same
        call can be tried again.

        Args:
            events: the name of its bandit and the payload of each event.
            bandits: the name and the description of each new bandit; `events` may already belong to it.

        Raises:
            StoreFullError: the disk is full, or a reader has kept the WAL from being reset until it grew to its limit.
            StoreLockedError: another writer has taken over; this one cannot be used any more.
            StoreError: the file was deleted, replaced or truncated. This is noticed within about a second.
        """
        return self._appender.append(events, bandits)

    def flush(self) -> None:
        """Write what was held back with durability "memory", without waiting for the disk."""
        self._appender.flush()

    def read(self, bandit: str | None = None, after: int = 0) -> Iterator[StoredEvent]:
        """Yield the events after a number, of one bandit or of all, in order; each is checked to be as it was written."""
        self.flush()
        return self._keep_open(self._reader.read(bandit, after))

    def _keep_open(self, events: Iterator[StoredEvent]) -> Iterator[StoredEvent]:
        """Yield the events. A store that nothing else refers to is closed only after the last of them."""
        yield from events

    def encoded_events(
        self, bandit: str, after: int, limit: int, max_bytes: int | None = None, checked: bool = False
    ) -> EncodedEvents:
        """Return some events of a bandit after a number, as they are in the file.

        Args:
            bandit: the bandit.
            after: the number of an event, or 0.
            limit: the largest number of events to return.
            max_bytes: the largest number of bytes of payloads to return, though at least one event; None for no limit.
            checked: compare the events with their digests, which takes longer than all the rest.
        """
        self.flush()
        return self._reader.encoded_events(bandit, after, limit, max_bytes, checked)

    def note(self, bandit: str, name: str) -> StoredEvent | None:
        """Return the newest note of a bandit that has this name, or None."""
        if self._appender.held:  # checked here, to save most look-ups a call
            self.flush()
        return self._reader.note(bandit, name)

    def note_names(self, bandit: str) -> Iterator[str]:
        """Yield the names of all notes of a bandit."""
        self.flush()
        return self._reader.note_names(bandit)

    def save_snapshot(self, bandit: str, number: int, state: Payload) -> None:
        """Save the state of a bandit after all its events up to `number`; the newest two of each bandit are kept.

        It is written in pieces; others append in between.
        """
        self._snapshots.save(bandit, number, state)

    def snapshots(self, bandit: str) -> Iterator[Snapshot]:
        """Yield the intact snapshots, the newest first."""
        self.flush()
        return self._snapshots.read(bandit)

    def damages(self) -> list[str]:
        """Check every page and every snapshot, and return a sentence for each damage."""
        self.flush()
        with self._database.use(), self._database.view():
            found = [] if self._mark_problem is None else [self._mark_problem.text]
            found += self._snapshots.damages()
            (result,) = self._database.row("PRAGMA integrity_check(1)")
            if result != "ok":
                found.append(str(self._database.damaged(" ".join(str(result).split()))))
            return found

    def check_room(self) -> None:
        """Write some bytes and remove them: raises a `StoreFullError` if there is no room for more events."""
        with self._database.use(writing=True), self._database.transaction():
            self._database.connection.execute("INSERT INTO pieces VALUES (0, 0, zeroblob(65536))")
            self._database.connection.execute("DELETE FROM pieces WHERE snapshot = 0")

    def check_file(self) -> None:
        """Raise a `StoreError` if the files at the path are not those that this store has open.

        Somebody has deleted, replaced or truncated them. After that, a writer cannot be used any more. The check takes a few
        microseconds, does not wait for a write, and may be called from any thread.
        """
        self._database.check_usable(writing=False)
        self._database.check_files()

    def close(self) -> None:
        """Close the store and release its lock. A second call does nothing."""
        _close(self._database, self._bandits, self._appender)

    def _settle(self) -> None:
        """Complete the main file, so that it can be copied alone, and leave the store open. Does nothing if it is closed."""
        database = self._database
        if database.is_inherited or database.failure is not None:
            return
        with database.mutex:  # a thread may go on appending
            self._appender.flush()
            with suppress(StoreLockedError, StoreFullError), database.use(writing=True):
                database.settle(len(self._bandits), self._appender.last)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _close(database: Database, bandits: BanditTable, appender: EventAppender) -> None:
    if database.is_inherited:
        database.file.close()
        return
    try:
        with database.mutex:
            try:
                if database.failure is None and not database.readonly:
                    appender.flush()
                    # All events are written. If this fails, the WAL stays in place, as after a crash.
                    with suppress(StoreLockedError, StoreFullError), database.use(writing=True):
                        database.close_in_file(len(bandits), appender.last)
            finally:
                database.fail(StoreFailedError("is closed: open it again", database.path))
    finally:
        database.close()


_writers: weakref.WeakSet[SQLiteStore] = weakref.WeakSet()


@atexit.register
def _settle_all() -> None:
    """Complete the files of all writers at the end of the program, whose threads and exit functions may still use them."""
    for store in list(_writers):
        try:
            store._settle()  # noqa: SLF001
        except StoreError as error:
            _log.warning("at the end of the program: %s", error)
