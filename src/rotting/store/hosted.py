"""A bandit in the memory of a service, and the batch of events that is written next."""

import logging
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rotting.live.bandit import Bandit
from rotting.live.locks import Guard
from rotting.store.name_filter import NameFilter
from rotting.store.protocol import Payload
from rotting.store.restoring import Resumed
from rotting.store.writers import Writer

if TYPE_CHECKING:
    from rotting.live.decisions import Decision

_log = logging.getLogger("rotting.service")
_FEW_EVENTS = 100  # replaying fewer takes less time than saving and reading a snapshot


@dataclass
class Batch:
    """The bandits and events that one transaction writes."""

    first: int
    """The number of the first event."""
    bandits: list[tuple[str, Payload]] = field(default_factory=list)
    """The name and the description of each new bandit."""
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
    """A bandit in memory. Only one thread may use `bandit` at a time; `Host.collect` then takes its events.

    Args:
        name: its name in the store.
        resumed: its state.
        generation: the generation of the host when it was loaded or made.
        archived: whether it makes no more decisions.
        writer: the last writer of its events that the store names; None if it names none.
        description: the description of a new bandit; None if the bandit was loaded.
    """

    def __init__(
        self,
        name: str,
        resumed: Resumed,
        generation: int,
        *,
        archived: bool = False,
        writer: Writer | None = None,
        description: Payload | None = None,
    ) -> None:
        self.name, self.generation, self.archived = name, generation, archived
        self.description = description
        """The description of a new bandit until `Host.adopt` takes it; None otherwise."""
        self.state = state = resumed.state
        """For reading; changes are made through `bandit`."""
        self.events: list[Payload] = []
        """The events that were not collected yet."""
        self.bandit = Bandit.holding(Guard(state, self.events.extend), self._log_warning)
        """The bandit. Its warnings go to the log, since its callers are clients of the service."""
        present = Writer.of(state.policy)
        self.writer_note = None if writer == present else present.to_note()
        """The note that must be written before the next event, if the store names another writer."""
        self.last_number = resumed.last
        """The number of its last event that was collected."""
        self.unsaved = resumed.replayed
        """The number of events since its last snapshot."""
        self.is_saving = False
        self.last_used = 0.0
        """When a request asked for the bandit last, on a monotonic clock."""
        self.latest: Decision | None = None
        """The latest decision since the bandit was loaded."""
        self.unwritten_notes: dict[str, Payload] = {}
        """The notes that the store does not have yet, by name."""
        self._note_names = NameFilter()  # of the notes since the bandit was loaded, and of all older ones after `learn_notes`
        self._knows_all_notes = description is not None  # a bandit that was loaded may have older ones

    def _log_warning(self, message: str) -> None:
        _log.warning("bandit %s: %s", self.name, message)

    @property
    def retired(self) -> list[Hashable]:
        """The arms that are kept but not chosen any more."""
        return list(self.state.arms.retired)

    @property
    def n_arms(self) -> int:
        """The number of arms that may be chosen."""
        return len(self.state.arms.active)

    def is_active(self, arm: Hashable) -> bool:
        """Return whether an arm may be chosen."""
        return arm in self.state.arms.active

    def is_retired(self, arm: Hashable) -> bool:
        """Return whether an arm is kept but not chosen any more."""
        return arm in self.state.arms.retired

    @property
    def needs_snapshot(self) -> bool:
        """Whether the bandit needs a snapshot before it is unloaded, so that loading it again is fast."""
        return self.unsaved >= _FEW_EVENTS

    def remember_note(self, note: Payload) -> None:
        """Keep a note in memory until it is written, so that it can be looked up."""
        self.unwritten_notes[note["note"]] = note
        self._note_names.add(note["note"])

    def forget_note(self, written: Payload) -> None:
        """Forget the note in a payload that was written, unless another note has replaced it since."""
        name = written["note"]
        kept = self.unwritten_notes.get(name)
        if kept is not None and kept.get("cancelled") == written.get("cancelled"):
            del self.unwritten_notes[name]

    def learn_notes(self, written: NameFilter) -> None:
        """Learn the names of all notes that are written (`Host.note_names`). From then on, most new names need no look-up."""
        self._note_names.include(written)
        self._knows_all_notes = True

    def has_no_note(self, note: str) -> bool:
        """Return whether there is certainly no note of this name; False if the store must be asked."""
        return self._knows_all_notes and not self._note_names.may_have(note)

    @property
    def oldest_round(self) -> int | None:
        """The round of the oldest pending decision."""
        oldest = self.state.ledger.oldest()
        return None if oldest is None else oldest.round
