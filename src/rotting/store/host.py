"""Many durable bandits in one store, for one process that serves them all.

A bandit stays a row of the store until it is used; then it is loaded and kept in memory. Its events are collected in a batch:
the events of many calls, of any of the bandits, are written in one transaction. A response must wait until the batch that holds
its events is written (`take`, then `write`, which may run in a worker thread while the next batch collects).

After a failed write, no bandit in memory may be ahead of the store. So `fail` drops all of them, and `recover` opens the store
again and reads everything anew.
"""

import logging
import os
import threading
import time
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from rotting.errors import RottingError, StoreError, StoreFailedError, StoreFullError
from rotting.live.arms import restore_arm
from rotting.live.bandit import Bandit
from rotting.live.processes import Guard
from rotting.live.saved_state import Parts
from rotting.live.state import BanditState
from rotting.policy import Policy
from rotting.registry import from_json as policy_from_json
from rotting.store.durable import describe, resume, with_current_words
from rotting.store.files import resolved
from rotting.store.name_filter import NameFilter
from rotting.store.open_files import OpenFile
from rotting.store.protocol import Durability, Payload
from rotting.store.records import check_bandit, check_name
from rotting.store.sqlite import Contents, SQLiteStore
from rotting.store.writers import Writer, last_writer

ARCHIVED = "archived"
"""The name of the note that says that a bandit makes no more decisions."""

_log = logging.getLogger("rotting.service")
_NAMES = 2_000  # of notes that are read at once
_SNAPSHOT_EVERY = 100_000  # events of one bandit
_SAVING = 5.0  # seconds that `close` spends on snapshots; what is not saved is replayed from the log


@dataclass
class Batch:
    """What one transaction writes."""

    first: int
    """The number of the first event."""
    bandits: list[tuple[str, Payload]] = field(default_factory=list)
    """New bandits: name, and what describes it."""
    events: list[tuple[str, Payload]] = field(default_factory=list)

    @property
    def last(self) -> int:
        """The number of the last event."""
        return self.first + len(self.events) - 1

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write."""
        return not (self.bandits or self.events)


class Hosted:
    """A bandit in use. Only one thread may use `bandit` at a time; `Host.collect` then takes over its events.

    Args:
        name: its name in the store.
        state: what the store's events make.
        meta: its description.
        generation: which reading of the store it comes from; see `Host.generation`.
        archived: whether it makes no more decisions.
        writer: the last writer that the store names; None if it names none.
        is_new: whether the bandit was made just now, and not loaded.
    """

    def __init__(
        self,
        name: str,
        state: BanditState,
        meta: Payload,
        generation: int,
        *,
        archived: bool = False,
        writer: Writer | None = None,
        is_new: bool = False,
    ) -> None:
        self.name, self.archived, self.meta, self.is_new = name, archived, meta, is_new
        self.state = state
        """For reading; changes are made through `bandit`."""
        self.bandit = Bandit.holding(Guard(state, self._keep_events), self._log_warning)
        """The bandit. Its callers are elsewhere, so its warnings go to the log of this process."""
        present = Writer.of(state.policy)
        self.writer_note = None if writer == present else present.to_note()
        """The note that must be written before the next event, if the store names another writer."""
        self.generation = generation
        self.events: list[Payload] = []
        """The events that were not collected yet."""
        self.last_number = 0
        """The number of its last event that was collected."""
        self.unsaved = 0
        """Events since its last snapshot."""
        self.is_saving = False
        self.new_notes = NameFilter()
        """The notes that were added since the bandit was loaded."""
        self.old_notes: NameFilter | None = None
        """The notes that were there before; None until they are known."""

    def _keep_events(self, events: list[Payload]) -> None:
        self.events += events

    def _log_warning(self, message: str) -> None:
        _log.warning("bandit %s: %s", self.name, message)

    @property
    def retired(self) -> list[Hashable]:
        """The arms that are kept but not chosen any more."""
        return list(self.state.arms.retired)

    @property
    def n_arms(self) -> int:
        """How many arms may be chosen."""
        return len(self.state.arms.active)

    def is_active(self, arm: Hashable) -> bool:
        """Return whether an arm may be chosen."""
        return arm in self.state.arms.active

    def is_retired(self, arm: Hashable) -> bool:
        """Return whether an arm is kept but not chosen any more."""
        return arm in self.state.arms.retired

    def has_no_note(self, note: str) -> bool:
        """Return whether it is certain that there is no note of a name; False if the store must be asked."""
        return self.old_notes is not None and not (self.new_notes.may_have(note) or self.old_notes.may_have(note))

    @property
    def oldest_round(self) -> int | None:
        """The round of the oldest pending decision."""
        oldest = self.state.ledger.oldest()
        return None if oldest is None else oldest.round


class Host:
    """The bandits of a store, of which this process is the writer.

    All methods but `load`, `learn_notes`, `make`, `read`, `reader`, `write`, `save_snapshot`, `check_file` and `recover` must
    be called from one thread.

    Args:
        path: the file.
        durability: what it means that a batch is written, as for `rotting.open`.
        create: make the file if it is missing; it is never made later.

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

    def __init__(self, path: str | PathLike[str], durability: Durability = "disk", create: bool = True) -> None:
        self._path, self._durability = path, durability
        self.is_new = create and not os.path.lexists(path)
        """Whether the store was made just now."""
        self._store = SQLiteStore(path, durability=durability, create=create)
        self._id = self._store.id
        self._file = OpenFile(resolved(path))
        try:
            self._file.attach()  # so that no other file can get its inode
        except BaseException:
            self._store.close()
            raise
        self._note_reader = self._new_reader()  # always open: the event loop must not wait for a new one
        self._readers: list[SQLiteStore] = []
        self._readers_lock = threading.Lock()
        self.metas = self._described()
        """What describes each bandit, by name, as it was made; also of bandits that are not written yet."""
        self.live: dict[str, Hosted] = {}
        """The bandits in memory, by name."""
        self.trouble: StoreError | None = None
        """Why nothing can be written at present; `recover` clears it."""
        self.generation = 0
        """How often everything was dropped: what was loaded before must not be used."""
        self._batch = Batch(self._store.last + 1)
        self._unwritten: set[str] = set()  # bandits that the store does not have yet
        self._notes: dict[tuple[str, str], Payload] = {}  # those that are not written yet

    def _described(self) -> dict[str, Payload]:
        return {name: with_current_words(meta) for name, meta in self._store.bandits().items()}

    # --- Bandits ----------------------------------------------------------------------------------------------------------

    def load(self, name: str) -> Hosted:
        """Read a bandit from the store, which may take seconds; `adopt` then puts it to use."""
        generation, meta = self.generation, self.metas[name]
        with self.reader() as reader:
            state = resume(reader, name, meta)
            archived, writer = reader.note(name, ARCHIVED) is not None, last_writer(reader, name)
        hosted = Hosted(name, state, meta, generation, archived=archived, writer=writer)
        hosted.bandit.warm_up()
        return hosted

    def make(self, name: str, policy: Policy, arms: Iterable[Hashable], seed: int = 0, **options: Any) -> Hosted:
        """Make a new bandit, which may take seconds; `adopt` then adds it to the next batch."""
        generation = self.generation
        state = BanditState.new(policy, arms, seed, **options)
        hosted = Hosted(check_name(name), state, describe(state, seed), generation, writer=Writer.of(policy), is_new=True)
        hosted.bandit.warm_up()
        hosted.old_notes = NameFilter()
        return hosted

    def adopt(self, hosted: Hosted) -> Hosted:
        """Put a bandit to use and return it, or the one of this name that is in use already."""
        name = hosted.name
        if name in self.live:
            return self.live[name]
        if hosted.is_new and name in self.metas:
            raise StoreFailedError(f"got bandit {name!r} from another request meanwhile: try again", self._path)
        if hosted.generation != self.generation:
            raise StoreFailedError("was opened again while the bandit was loaded: try again", self._path)
        if name not in self.metas:
            self._check_trouble()
            self.metas[name] = hosted.meta
            self._batch.bandits.append((name, hosted.meta))
            self._unwritten.add(name)
        self.live[name] = hosted
        return hosted

    def is_same(self, name: str, policy: Policy, arms: list[Hashable], options: dict[str, Any]) -> bool:
        """Return whether a bandit was made with these arguments."""
        meta = self.metas[name]
        made_with = [restore_arm(arm) for arm in meta["arms"]]
        same = policy == policy_from_json(meta["policy"]) and arms == made_with
        return same and all(meta[key] == value for key, value in options.items())

    def check_current(self, hosted: Hosted) -> None:
        """Raise a `StoreError` if a bandit was dropped: it must not be used any more."""
        if hosted.generation != self.generation:
            self._check_trouble()
            raise StoreFailedError("was opened again meanwhile: try again", self._path)

    def _check_trouble(self) -> None:
        if self.trouble is not None:
            raise self.trouble.with_traceback(None)

    def collect(self, hosted: Hosted, note: Payload | None = None) -> None:
        """Add what happened to a bandit to the batch that is written next.

        Args:
            hosted: the bandit.
            note: a note to attach to the last event, which is then found by the note's name (field `note`).

        Raises:
            StoreError: if the bandit was dropped meanwhile; then nothing that happened to it counts.
        """
        self.check_current(hosted)
        events = hosted.events
        if not events:
            return
        self._check_trouble()
        name = hosted.name
        if note is not None:
            events[-1] = {**note, **events[-1]}  # the name comes first, where the store looks for it
            self._remember(name, note)
        if hosted.writer_note is not None:
            events.insert(0, hosted.writer_note)
            hosted.writer_note = None
        self._batch.events += [(name, event) for event in events]
        hosted.last_number = self._batch.last
        hosted.unsaved += len(events)
        events.clear()

    @property
    def last_collected(self) -> int:
        """The number of the last event that was collected; it may not be written yet."""
        return self._batch.last

    # --- Notes ------------------------------------------------------------------------------------------------------------

    def note(self, name: str, note: str) -> Payload | None:
        """Return the newest note of a bandit with this name; also one that is not written yet."""
        found = self._notes.get((name, note))
        if found is not None:
            return found
        hosted = self.live.get(name)
        if hosted is not None and hosted.has_no_note(note):
            return None
        check_bandit(name, self.metas)
        if name in self._unwritten:
            return None
        event = self._note_reader.note(name, note)
        return None if event is None else event.payload

    def add_note(self, name: str, note: str, **more: Any) -> None:
        """Add a note of a bandit to the batch, after the events that were collected."""
        self._check_trouble()
        payload = {"note": note, **more}
        self._batch.events.append((name, payload))
        if name in self.live:
            self.live[name].last_number = self._batch.last
        self._remember(name, payload)

    def _remember(self, name: str, note: Payload) -> None:
        """Remember a note until it is written, so that it can be found."""
        self._notes[name, note["note"]] = note
        if name in self.live:
            self.live[name].new_notes.add(note["note"])

    def learn_notes(self, hosted: Hosted) -> None:
        """Read the names of all notes of a bandit that was loaded, in a worker thread: new names then need no look-up."""
        found, after = NameFilter(), ""
        while True:
            with self.reader() as reader:
                names = reader.note_names(hosted.name, after, _NAMES)
            for name in names:
                found.add(name)
            if len(names) < _NAMES:
                break
            after = names[-1]
        hosted.old_notes = found

    def archive(self, hosted: Hosted) -> None:
        """Archive a bandit: it makes no more decisions."""
        if not hosted.archived:
            hosted.archived = True
            self.add_note(hosted.name, ARCHIVED)

    def is_archived(self, name: str) -> bool:
        """Return whether a bandit makes no more decisions."""
        hosted = self.live.get(name)
        return self.note(name, ARCHIVED) is not None if hosted is None else hosted.archived

    # --- Reading ----------------------------------------------------------------------------------------------------------

    @contextmanager
    def reader(self) -> Iterator[SQLiteStore]:
        """Lend a reader of the store, in any thread: it sees what is written. A reader that fails is not lent again."""
        generation = self.generation
        with self._readers_lock:
            reader = self._readers.pop() if self._readers else None
        reader = reader or self._new_reader()
        try:
            yield reader
        except StoreError:
            reader.close()
            raise
        except BaseException:
            self._give_back(reader, generation)
            raise
        else:
            self._give_back(reader, generation)

    def _new_reader(self) -> SQLiteStore:
        return self._checked(SQLiteStore(self._path, readonly=True))

    def _checked(self, store: SQLiteStore) -> SQLiteStore:
        """Return a store that was opened, unless another one has taken the place of the one that is served."""
        if store.id != self._id:
            store.close()
            raise StoreFailedError("is another store than the one that is served: it is not used", self._path)
        return store

    def _give_back(self, reader: SQLiteStore, generation: int) -> None:
        with self._readers_lock:
            if generation == self.generation:
                self._readers.append(reader)
                return
        reader.close()

    def read(self, name: str, after: int, limit: int, max_bytes: int) -> Contents:
        """Return events of a bandit after a number, as they are in the file: at least one, and as many as fit `max_bytes`."""
        check_bandit(name, self.metas)
        if name in self._unwritten:
            return Contents([], after, 0)
        with self.reader() as reader:
            return reader.contents(name, after, limit, max_bytes, checked=True)

    # --- Writing ----------------------------------------------------------------------------------------------------------

    def take(self) -> Batch:
        """Return the batch that was collected, and begin the next one."""
        batch = self._batch
        self._batch = Batch(batch.last + 1)
        return batch

    def write(self, batch: Batch) -> None:
        """Write a batch, all of it or nothing. Batches are written in the order in which they were taken."""
        self._store.append(batch.events, bandits=batch.bandits)

    def written(self, batch: Batch) -> list[Hosted]:
        """Note that a batch is written; return the bandits whose states should be saved, with `save_snapshot`."""
        self._unwritten.difference_update(name for name, _ in batch.bandits)
        if self._notes:
            self._forget_notes(batch)
        due = []
        for name in {name for name, _ in batch.events}:
            hosted = self.live.get(name)
            if hosted is not None and hosted.unsaved >= _SNAPSHOT_EVERY and not hosted.is_saving:
                hosted.unsaved, hosted.is_saving = 0, True
                due.append(hosted)
        return due

    def _forget_notes(self, batch: Batch) -> None:
        """Leave the notes of a batch to the store, but for those that were replaced meanwhile."""
        for name, payload in batch.events:
            note = payload.get("note")
            if note is not None:
                kept = self._notes.get((name, note))
                if kept is not None and kept.get("cancelled") == payload.get("cancelled"):
                    del self._notes[name, note]

    def save_snapshot(self, hosted: Hosted, number: int, parts: Parts) -> None:
        """Save the state of a bandit after the event with a number, which must be written; for a worker thread."""
        if hosted.generation == self.generation:
            self._store.save_snapshot(hosted.name, number, parts.to_json())

    def check_file(self) -> None:
        """Raise a `StoreError` if the store's file was deleted, replaced or truncated."""
        self._store.check_file()

    def fail(self, trouble: StoreError) -> None:
        """Drop everything in memory after a failed write: some of it is ahead of the store."""
        self.trouble = trouble
        for name in self._unwritten:
            del self.metas[name]
        self._drop_all()
        self._batch = Batch(0)

    def _drop_all(self) -> None:
        """Forget everything that was read from the store; what still uses it is refused."""
        self.generation += 1
        self.live.clear()
        self._notes.clear()
        self._unwritten.clear()
        self._close_readers()

    def recover(self) -> None:
        """Open the store again, or raise an error that says why that is not possible yet.

        It may run in a worker thread, while nothing else is written. Then `resume_writing` ends the trouble.
        """
        if not isinstance(self.trouble, StoreFullError):
            self._store.close()
            if not self._file.is_in_place:  # a backup, perhaps, which lacks events that were acknowledged
                raise StoreFailedError("is not the file that was opened at the start: put that back, or restart", self._path)
            self._store = self._checked(SQLiteStore(self._path, durability=self._durability, create=False))
        self._store.check_file()
        self._store.probe()
        reader, self._note_reader = self._note_reader, self._new_reader()
        reader.close()

    def resume_writing(self) -> None:
        """End the trouble after `recover`: what the store has is what counts, also if it got more of it meanwhile."""
        self._drop_all()
        self.metas = self._described()
        self._batch = Batch(self._store.last + 1)
        self.trouble = None

    def close(self) -> None:
        """Save snapshots of the bandits, as far as time allows, and close the store.

        A state that holds events which were never written is not saved. Raises a `StoreError` if something that was collected
        was not written.
        """
        try:
            if self.trouble is None:
                saving = threading.Thread(target=self._save_all, args=(time.monotonic() + _SAVING,), daemon=True)
                saving.start()
                saving.join(2.0 * _SAVING)  # one large state may take longer: closing the store then ends it
        finally:
            self._close_readers()
            self._note_reader.close()
            self._store.close()
            self._file.close()
        if self.trouble is not None:
            raise self.trouble
        if not self._batch.is_empty:
            raise StoreFailedError("lacks the last changes, which were not acknowledged", self._path)

    def _save_all(self, deadline: float) -> None:
        written = self._store.last
        unsaved = [each for each in self.live.values() if each.unsaved and not each.events and each.last_number <= written]
        with suppress(RottingError):  # the log has all events, which is what counts
            for hosted in sorted(unsaved, key=lambda each: -each.unsaved):
                if time.monotonic() > deadline:
                    return
                self._store.save_snapshot(hosted.name, hosted.last_number, hosted.bandit.get_state())

    def _close_readers(self) -> None:
        with self._readers_lock:
            readers, self._readers = self._readers, []
        for reader in readers:
            reader.close()
