"""Many durable bandits in one store, for one process that serves them all.

A bandit is loaded when it is first used, and stays in memory until so many others are used that it is unloaded. Its events are
collected in a batch: the events of many calls, of any of the bandits, are written in one transaction. A response must wait
until the batch with its events is written: `take` returns the batch, and `write` writes it, in a worker thread if need be.

After a failed write, bandits in memory may be ahead of the store. So `fail` drops all of them, `recover` opens the store
again, and `resume_writing` reads everything anew.
"""

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Hashable, Iterable
from contextlib import AbstractContextManager, suppress
from itertools import islice
from os import PathLike
from typing import Unpack

from rotting.common.rules import positive_int
from rotting.engines.tiers import CompileMode
from rotting.errors import RottingError, StoreError, StoreFailedError, StoreFullError
from rotting.live.bandit_state import BanditOptions, BanditState
from rotting.live.saved_state import StateParts
from rotting.policy import Policy
from rotting.store.descriptions import Descriptions, describe
from rotting.store.event_reader import EncodedEvents
from rotting.store.files import resolve
from rotting.store.hosted import Batch, Hosted
from rotting.store.name_filter import NameFilter
from rotting.store.open_files import OpenFile
from rotting.store.protocol import Durability, Payload
from rotting.store.reader_pool import ReaderPool
from rotting.store.records import check_bandit, check_name
from rotting.store.restoring import Resumed, resume, snapshot_is_due
from rotting.store.sqlite import SQLiteStore
from rotting.store.writers import Writer, last_writer

ARCHIVED = "archived"
"""The name of the note that marks a bandit as archived: it makes no more decisions."""

MAX_LOADED = 10_000
"""The number of bandits in memory beyond which idle ones are unloaded."""

_SAVE_SECONDS = 5.0  # how long `close` saves snapshots; without one, the next load replays the log
_IDLE_SECONDS = 5.0  # a bandit that was used more recently is not unloaded: a request may still hold it


class Host:
    """The bandits of a store, of which this process is the writer.

    All methods but `load`, `note_names`, `make`, `read`, `reader`, `write`, `save_snapshot`, `check_file` and `recover` must
    be called from one thread. `note` and `is_archived` only read, and may be called from any thread, too.

    Args:
        path: the file.
        durability: what is safe when a batch is written, as for `rotting.open`; "memory" is the same as "os" here.
        create: create the file if it does not exist; it is never created later.
        max_loaded: the number of bandits in memory beyond which idle ones are unloaded (`find_idle`, `unload`).
        compile: when the policies are compiled, as for `Bandit`.

    Example:
        >>> import tempfile
        >>> import rotting
        >>> folder = tempfile.TemporaryDirectory()
        >>> host = Host(f"{folder.name}/songs.rot")
        >>> hosted = host.adopt(host.make("songs", rotting.UCB1(), ["jazz", "rock"]))
        >>> [hosted.bandit.decide().arm for _ in range(2)]
        ['jazz', 'rock']
        >>> host.collect(hosted)
        >>> host.write(host.take())  # both decisions are on the disk now
        >>> host.close()
        >>> folder.cleanup()
    """

    def __init__(
        self,
        path: str | PathLike[str],
        durability: Durability = "disk",
        create: bool = True,
        max_loaded: int = MAX_LOADED,
        compile: CompileMode = "auto",
    ) -> None:
        self._path, self.compile = path, compile
        # A store with "memory" holds events back, and the readers, which have their own connections, would not see them.
        self._durability: Durability = "os" if durability == "memory" else durability
        self._max_loaded = positive_int("max_loaded", max_loaded)
        self.is_new = create and not os.path.lexists(path)
        """Whether the store was created just now."""
        self._store = SQLiteStore(path, durability=self._durability, create=create)
        self._file = OpenFile(resolve(path))
        try:
            self._file.attach()  # so that no other file can get its inode
        except BaseException:
            self._store.close()
            raise
        self._readers = ReaderPool(path, self._store)
        self._note_reader = self._readers.new_reader()  # kept open, so that the event loop does not wait for a new one
        self.descriptions = Descriptions(self._store.encoded_bandits)
        """The description of each bandit, by name; also of bandits that are not written yet."""
        self.loaded: OrderedDict[str, Hosted] = OrderedDict()
        """The bandits in memory, by name; the one that was used last comes last."""
        self.trouble: StoreError | None = None
        """Why nothing can be written at present; `resume_writing` clears it."""
        self.generation = 0
        """How often all bandits were dropped; a bandit of an earlier generation must not be used."""
        self._last_written = self._store.last
        self._batch = Batch(self._last_written + 1)

    # --- Bandits ----------------------------------------------------------------------------------------------------------

    def load(self, name: str) -> Hosted:
        """Read a bandit from the store, which may take seconds; `adopt` then puts it to use."""
        generation, description = self.generation, self.descriptions[name]
        with self.reader() as reader:
            resumed = resume(reader, name, description, self.compile)
            archived, writer = reader.note(name, ARCHIVED) is not None, last_writer(reader, name, description)
        hosted = Hosted(name, resumed, generation, archived=archived, writer=writer)
        hosted.bandit.warm_up()
        return hosted

    def make(self, name: str, policy: Policy, arms: Iterable[Hashable], **options: Unpack[BanditOptions]) -> Hosted:
        """Make a new bandit, which may take seconds; `adopt` then adds it to the next batch."""
        generation = self.generation
        state = BanditState.new(policy, arms, **options, compile=self.compile)
        description = describe(state, options.get("seed", 0))
        hosted = Hosted(check_name(name), Resumed(state), generation, writer=Writer.of(policy), description=description)
        hosted.bandit.warm_up()
        return hosted

    def adopt(self, hosted: Hosted) -> Hosted:
        """Put a bandit to use and return it, or return the bandit of this name that is in use already."""
        name, description = hosted.name, hosted.description
        if name in self.loaded:
            return self.loaded[name]
        if description is not None and name in self.descriptions:
            raise StoreFailedError(f"got bandit {name!r} from another request meanwhile: try again", self._path)
        if hosted.generation != self.generation:
            raise StoreFailedError("was opened again while the bandit was loaded: try again", self._path)
        if description is not None:
            self._check_trouble()
            self.descriptions.unwritten[name], hosted.description = description, None
            self._batch.bandits.append((name, description))
        self.loaded[name] = hosted
        hosted.last_used = time.monotonic()
        return hosted

    def find(self, name: str) -> Hosted | None:
        """Return a bandit for a request if it is in memory."""
        hosted = self.loaded.get(name)
        if hosted is not None:
            self.loaded.move_to_end(name)
            hosted.last_used = time.monotonic()
        return hosted

    def find_idle(self, now: float) -> list[Hosted]:
        """Return the bandits to unload at this time, those first that were used longest ago.

        There are none as long as at most `max_loaded` bandits are in memory, and only bandits that no request may still hold.
        """
        idle: list[Hosted] = []
        for hosted in islice(self.loaded.values(), max(0, len(self.loaded) - self._max_loaded)):
            if now - hosted.last_used < _IDLE_SECONDS:
                break
            idle.append(hosted)
        return idle

    def unload(self, hosted: Hosted) -> None:
        """Remove a bandit from memory, unless it was used again, or has events that are not written. It is then refused."""
        is_written = not hosted.events and hosted.last_number <= self._last_written
        is_written = is_written and hosted.name not in self.descriptions.unwritten
        is_idle = not hosted.is_saving and time.monotonic() - hosted.last_used >= _IDLE_SECONDS
        if is_written and is_idle and self.loaded.get(hosted.name) is hosted:
            del self.loaded[hosted.name]
            hosted.generation = -1  # of no host, so that it is refused

    def check_current(self, hosted: Hosted) -> None:
        """Raise a `StoreError` if a bandit was dropped: it must not be used any more."""
        if hosted.generation != self.generation:
            self._check_trouble()
            what = "was opened again" if hosted.generation >= 0 else f"had bandit {hosted.name!r} unloaded"
            raise StoreFailedError(f"{what} meanwhile: try again", self._path)

    def _check_trouble(self) -> None:
        if self.trouble is not None:
            raise self.trouble.with_traceback(None)

    def archive(self, hosted: Hosted) -> None:
        """Archive a bandit: it makes no more decisions."""
        if not hosted.archived:
            hosted.archived = True
            self.add_note(hosted, ARCHIVED)

    def is_archived(self, name: str) -> bool:
        """Return whether a bandit makes no more decisions."""
        hosted = self.loaded.get(name)
        return self.note(name, ARCHIVED) is not None if hosted is None else hosted.archived

    # --- Collecting events and notes --------------------------------------------------------------------------------------

    def collect(self, hosted: Hosted, note: Payload | None = None) -> None:
        """Add the events of a bandit to the batch that is written next.

        Args:
            hosted: the bandit.
            note: a note to attach to the last event, which can then be looked up by the name of the note (field `note`).

        Raises:
            StoreError: if the bandit was dropped meanwhile; then its events are lost.
        """
        self.check_current(hosted)
        events = hosted.events
        if not events:
            return
        self._check_trouble()
        name = hosted.name
        if note is not None:
            events[-1] = {**note, **events[-1]}  # the name comes first, where the store looks for it
            hosted.remember_note(note)
        if hosted.writer_note is not None:
            events.insert(0, hosted.writer_note)
            hosted.writer_note = None
        self._batch.events += [(name, event) for event in events]
        hosted.last_number = self._batch.last
        hosted.unsaved += len(events)
        events.clear()

    def add_note(self, hosted: Hosted, note: str, **more: object) -> None:
        """Add a note of a bandit to the batch, after the events that were collected."""
        self._check_trouble()
        payload: Payload = {"note": note, **more}
        self._batch.events.append((hosted.name, payload))
        hosted.last_number = self._batch.last
        hosted.remember_note(payload)

    def note(self, name: str, note: str) -> Payload | None:
        """Return the newest note of a bandit that has this name, or None; it may not be written yet."""
        hosted = self.loaded.get(name)
        if hosted is not None:
            found = hosted.unwritten_notes.get(note)
            if found is not None or hosted.has_no_note(note):
                return found
        check_bandit(name, self.descriptions)
        if name in self.descriptions.unwritten:
            return None
        event = self._note_reader.note(name, note)
        return None if event is None else event.payload

    # --- Reading, in any thread -------------------------------------------------------------------------------------------

    def reader(self) -> AbstractContextManager[SQLiteStore]:
        """Lend a reader, which sees what is written."""
        return self._readers.reader()

    def read(self, name: str, after: int, limit: int, max_bytes: int) -> EncodedEvents:
        """Return events of a bandit after a number, as they are in the file: at least one, and as many as fit `max_bytes`."""
        check_bandit(name, self.descriptions)
        if name in self.descriptions.unwritten:
            return EncodedEvents([], after, 0)
        with self.reader() as reader:
            return reader.encoded_events(name, after, limit, max_bytes, checked=True)

    def note_names(self, name: str) -> NameFilter:
        """Return the names of all notes of a bandit that are written, for `Hosted.learn_notes`."""
        with self.reader() as reader:
            return NameFilter(reader.note_names(name))

    # --- Writing ----------------------------------------------------------------------------------------------------------

    def take(self) -> Batch:
        """Return the batch that was collected, and start the next one."""
        batch, self._batch = self._batch, Batch(self._batch.last + 1)
        return batch

    def write(self, batch: Batch) -> None:
        """Write a batch, all of it or nothing. Batches must be written in the order in which they were taken."""
        self._store.append(batch.events, bandits=batch.bandits)

    def finish(self, batch: Batch) -> list[Hosted]:
        """Forget what was kept until the batch was written; return the bandits whose snapshot is due (`save_snapshot`)."""
        self._last_written = batch.last
        for name, _ in batch.bandits:
            self.descriptions.unwritten.pop(name, None)  # the store has it now
        for name, payload in batch.events:
            if "note" in payload and (hosted := self.loaded.get(name)) is not None:
                hosted.forget_note(payload)
        due = []
        for name in {name for name, _ in batch.events}:
            hosted = self.loaded.get(name)
            if hosted is not None and not hosted.is_saving and snapshot_is_due(hosted.state, hosted.unsaved):
                hosted.unsaved, hosted.is_saving = 0, True
                due.append(hosted)
        return due

    def save_snapshot(self, hosted: Hosted, number: int, parts: StateParts) -> None:
        """Save the state of a bandit after the event with a number, which must be written; for a worker thread."""
        if hosted.generation == self.generation:
            self._store.save_snapshot(hosted.name, number, parts.to_json())

    def check_file(self) -> None:
        """Raise a `StoreError` if the store's file was deleted, replaced or truncated."""
        self._store.check_file()

    # --- Failure, recovery and the end ------------------------------------------------------------------------------------

    def fail(self, trouble: StoreError) -> None:
        """Drop all bandits after a failed write: some of them are ahead of the store."""
        self.trouble = trouble
        self._drop_all()
        self._batch = Batch(0)

    def _drop_all(self) -> None:
        """Forget everything that was read from the store. Dropped bandits that are still in use are refused."""
        self.generation += 1
        self.loaded.clear()
        self.descriptions.unwritten.clear()
        self._readers.close()

    def recover(self) -> None:
        """Open the store again, or raise an error that says why that is not possible yet.

        This may run in a worker thread, while nothing else is written. Then `resume_writing` ends the trouble.
        """
        if not isinstance(self.trouble, StoreFullError):
            self._store.close()
            if not self._file.is_in_place:  # it may be a backup, which lacks events that were acknowledged
                raise StoreFailedError("is not the file that was opened at the start: put that back, or restart", self._path)
            self._store = self._readers.check_id(SQLiteStore(self._path, durability=self._durability, create=False))
            self._readers.writer = self._store
        self._store.check_file()
        self._store.check_room()
        reader, self._note_reader = self._note_reader, self._readers.new_reader()
        reader.close()

    def resume_writing(self) -> None:
        """End the trouble after `recover`. Everything is read anew, since a failed batch may have been written after all."""
        self._drop_all()
        self.descriptions = Descriptions(self._store.encoded_bandits)
        self._last_written = self._store.last
        self._batch = Batch(self._last_written + 1)
        self.trouble = None

    def close(self) -> None:
        """Save snapshots as far as time allows, and close the store; raise an error if a collected event was not written."""
        try:
            if self.trouble is None:
                saving = threading.Thread(target=self._save_all, args=(time.monotonic() + _SAVE_SECONDS,), daemon=True)
                saving.start()
                saving.join(2.0 * _SAVE_SECONDS)  # a large state may take longer; then closing the store ends the thread
        finally:
            self._readers.close()
            self._note_reader.close()
            self._store.close()
            self._file.close()
        if self.trouble is not None:
            raise self.trouble
        if not self._batch.is_empty:
            raise StoreFailedError("lacks the last changes, which were not acknowledged", self._path)

    def _save_all(self, deadline: float) -> None:
        """Save the states of all bandits whose events are all written, those with the most events first."""
        written = self._store.last
        unsaved = [each for each in self.loaded.values() if each.unsaved and not each.events and each.last_number <= written]
        with suppress(RottingError):  # nothing is lost: the log has all events
            for hosted in sorted(unsaved, key=lambda each: -each.unsaved):
                if time.monotonic() > deadline:
                    return
                self._store.save_snapshot(hosted.name, hosted.last_number, hosted.bandit.get_state())
