"""Many durable bandits in one store, for one process that serves them all.

A bandit is a row of the store until it is used; then it is resumed, and stays in memory. What changes is gathered: the events
of many calls, of any of the bandits, are one transaction. So a reply must wait until the batch that holds its events is written
(`take`, then `write`, which may run in a thread while the next batch gathers). If that fails, nothing of the batch was kept,
and nothing that was gathered since can stand on it: `undo` drops the bandits that are ahead of the store, and they are resumed
when they are used again.
"""

import logging
from collections import OrderedDict
from collections.abc import Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from rotting.errors import InvalidValueError, RottingError, StoreError, StoreFullError
from rotting.live.arms import restore_arm
from rotting.policy import Policy
from rotting.registry import from_json as policy_from_json
from rotting.store.durable import DurableBandit, describe, resume
from rotting.store.protocol import Durability, Event, Payload, Store
from rotting.store.records import check_bandit, check_name
from rotting.store.sqlite import SQLiteStore

ARCHIVED = "archived"
"""The name of the note that says that a bandit decides no more."""

_log = logging.getLogger("rotting.service")
_RECENT = 10_000  # notes that are found without asking the store


@dataclass
class Batch:
    """What one transaction writes."""

    first: int
    """The number of the first event."""
    made: list[tuple[str, Payload]] = field(default_factory=list)
    events: list[tuple[str, Payload]] = field(default_factory=list)
    snapshots: list[tuple[str, int, Payload]] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write."""
        return not (self.made or self.events or self.snapshots)


class _Gatherer:
    """What a bandit takes for its store: it gathers what the store shall write."""

    def __init__(self, last: int) -> None:
        self.batch = Batch(last + 1)

    @property
    def last(self) -> int:
        return self.batch.first + len(self.batch.events) - 1

    def append(self, events: Iterable[tuple[str, Payload]]) -> int:
        self.batch.events.extend(events)
        return self.last

    def save_snapshot(self, bandit: str, number: int, state: Payload) -> None:
        self.batch.snapshots.append((bandit, number, state))


class _HostedBandit(DurableBandit):
    """A bandit whose callers are elsewhere: what should be known of their rewards goes to the log of the process."""

    def _warn(self) -> None:
        while self._warnings:
            _log.warning("bandit %s: %s", self._name, self._warnings.pop())


@dataclass
class Hosted:
    """A bandit in use."""

    name: str
    bandit: DurableBandit
    archived: bool
    meta: Payload
    """What makes it again as it was at first."""

    @property
    def retired(self) -> list[Hashable]:
        """The arms that are not chosen any more, and of which is known what was learned."""
        return list(self.bandit._arms.retired)

    @property
    def oldest_round(self) -> int | None:
        """The round of the oldest decision that is waited for."""
        oldest = self.bandit._ledger.oldest()
        return None if oldest is None else oldest.round

    @property
    def is_saved(self) -> bool:
        """Whether the last snapshot has it all."""
        return not self.bandit._unsaved


class Host:
    """The bandits of a store, of which this process is the writer.

    Args:
        path: the file, which is made if it is not there.
        durability: what it means that a batch is written, as for `rotting.open`.

    Example:
        >>> import tempfile
        >>> import rotting
        >>> folder = tempfile.TemporaryDirectory()
        >>> host = Host(f"{folder.name}/songs.rot")
        >>> hosted = host.adopt(host.make("songs", rotting.UCB1(), ["jazz", "rock"]))
        >>> [hosted.bandit.decide().arm for _ in range(2)]
        ['jazz', 'rock']
        >>> host.write(host.take())  # both decisions are on the disk now
        >>> host.close()
        >>> folder.cleanup()
    """

    def __init__(self, path: str | PathLike[str], durability: Durability = "disk") -> None:
        self._path, self._durability = path, durability
        self._store: Store = SQLiteStore(path, durability=durability)
        self._reader: Store = SQLiteStore(path, readonly=True)
        self._gatherer: Any = _Gatherer(self._store.last)  # a bandit asks nothing else of its store
        self.metas = self._store.bandits()
        """What was said of each bandit when it was made, by name; also of those that are not written yet."""
        self.live: dict[str, Hosted] = {}
        self.trouble: StoreError | None = None
        """Why nothing can be written, until `mend` finds that it can."""
        self._lost: set[str] = set()  # bandits that were dropped
        self._notes: OrderedDict[tuple[str, str], Payload] = OrderedDict()

    # --- Bandits ----------------------------------------------------------------------------------------------------------

    def load(self, name: str) -> Hosted:
        """Return a bandit as it is in the store, ready to decide; it may take seconds. `adopt` lets it be used."""
        with self.reader() as reader:
            bandit = resume(reader, name, self.metas[name], _HostedBandit)
            archived = reader.note(name, ARCHIVED) is not None
        bandit.warm_up()
        return Hosted(name, bandit, archived, self.metas[name])

    def make(self, name: str, policy: Policy, arms: Iterable[Hashable], seed: int = 0, **options: Any) -> Hosted:
        """Return a new bandit, ready to decide; it may take seconds. `adopt` puts it into the next batch."""
        bandit = _HostedBandit(policy, arms, seed, **options)
        bandit.warm_up()
        return Hosted(check_name(name), bandit, False, describe(bandit, seed))

    def adopt(self, hosted: Hosted) -> Hosted:
        """Let a bandit be used, and return it; the one that is in use, if there is one."""
        name = hosted.name
        if name not in self.live:
            if name not in self.metas:
                self.metas[name] = hosted.meta
                self._gatherer.batch.made.append((name, hosted.meta))
            hosted.bandit._live_in(self._gatherer, name)
            self.live[name] = hosted
        return self.live[name]

    def is_same(self, name: str, policy: Policy, arms: list[Hashable], options: dict[str, Any]) -> bool:
        """Tell whether a bandit was made with these arguments."""
        meta = self.metas[name]
        made_with = [restore_arm(arm) for arm in meta["arms"]]
        same = policy == policy_from_json(meta["policy"]) and arms == made_with
        return same and all(meta[key] == value for key, value in options.items())

    # --- Notes ------------------------------------------------------------------------------------------------------------

    def note(self, name: str, note: str) -> Payload | None:
        """Return the newest note of a bandit with this name; also one that is not written yet."""
        check_bandit(name, self.metas)
        if (name, note) in self._notes:
            return self._notes[name, note]
        if any(name == made for made, _ in self._gatherer.batch.made):  # the store does not know it yet
            return None
        try:
            found = self._reader.note(name, note)
        except InvalidValueError:  # its row is under way
            return None
        return None if found is None else found.payload

    def add_note(self, name: str, note: str, **more: Any) -> None:
        """Keep a note of a bandit with what was gathered for it."""
        payload = {"note": note, **more}
        self._gatherer.append([(name, payload)])
        self._notes[name, note] = payload
        if len(self._notes) > _RECENT:
            self._notes.popitem(last=False)

    def archive(self, hosted: Hosted) -> None:
        """Let a bandit decide no more."""
        if not hosted.archived:
            hosted.archived = True
            self.add_note(hosted.name, ARCHIVED)

    # --- Reading ----------------------------------------------------------------------------------------------------------

    def reader(self) -> SQLiteStore:
        """Open the store for reading, in any thread: it has what is written."""
        return SQLiteStore(self._path, readonly=True)

    def read(self, name: str, after: int, limit: int) -> tuple[list[Event], int]:
        """Return the events of a bandit after a number, so many at most, and the number up to which there are no others."""
        check_bandit(name, self.metas)
        with self.reader() as reader:
            last, found = reader.last, []
            if name in reader.bandits():
                for event in reader.read(name, after):
                    found.append(event)
                    if len(found) == limit:
                        return found, event.number
        return found, max(last, after)

    def is_archived(self, name: str) -> bool:
        """Tell whether a bandit decides no more."""
        hosted = self.live.get(name)
        return self.note(name, ARCHIVED) is not None if hosted is None else hosted.archived

    # --- Writing ----------------------------------------------------------------------------------------------------------

    def take(self) -> Batch:
        """Return what was gathered, and begin the next batch."""
        batch: Batch = self._gatherer.batch
        self._gatherer.batch = Batch(batch.first + len(batch.events))
        return batch

    def write(self, batch: Batch) -> None:
        """Write a batch, all events of it or none; the batches are written in the order in which they were taken."""
        for name, meta in batch.made:
            self._store.add_bandit(name, meta)
        if batch.events:
            self._store.append(batch.events)
        for snapshot in batch.snapshots:
            with suppress(StoreFullError):  # the events are kept, which is what counts
                self._store.save_snapshot(*snapshot)

    def undo(self, batch: Batch, trouble: StoreError) -> None:
        """Go back to what the store has, after a batch was not written."""
        since: Batch = self._gatherer.batch
        self._gatherer = _Gatherer(0)  # a snapshot that is still being made goes to the old one, and is lost
        for name, _ in (*batch.events, *since.events, *batch.made, *since.made):
            if self.live.pop(name, None) is not None:
                self._lost.add(name)
        for hosted in self.live.values():
            hosted.bandit._store = self._gatherer
        self._notes.clear()
        self.trouble = trouble

    def mend(self) -> list[Hosted]:
        """Find out whether the store can be written to again; return the bandits that were dropped, as they are in the store.

        They are saved, to see whether there is room, and because they had to be resumed. Nothing may be written meanwhile.
        """
        if not isinstance(self.trouble, StoreFullError):
            self._store.close()
            self._store = SQLiteStore(self._path, durability=self._durability)
        known, last = self._store.bandits(), self._store.last
        found = [self.load(name) for name in sorted(self._lost & set(known))]
        for hosted in found:
            self._store.save_snapshot(hosted.name, last, hosted.bandit.get_state())
        self.metas, self._gatherer.batch = known, Batch(last + 1)
        self._lost, self.trouble = set(), None
        return found

    def close(self) -> None:
        """Save the states of all bandits and close the store; what was gathered and not taken is lost."""
        try:
            with suppress(RottingError):  # no room for a snapshot: the log has all that was told
                last = self._store.last
                for hosted in self.live.values():
                    if not hosted.is_saved:
                        self._store.save_snapshot(hosted.name, last, hosted.bandit.get_state())
        finally:
            self._reader.close()
            self._store.close()
