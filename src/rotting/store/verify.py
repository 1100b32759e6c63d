"""Verifies a store: every event is what was written, and replaying the log gives the same decisions and snapshots."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from rotting.errors import RottingError, StoreDamagedError, brief
from rotting.live.bandit_state import BanditState
from rotting.live.saved_state import StateParts, restore
from rotting.store.descriptions import initial_state
from rotting.store.protocol import Payload, Snapshot, Store, StoredEvent
from rotting.store.records import event_in
from rotting.store.restoring import UNREADABLE
from rotting.store.writers import Writer


@dataclass(frozen=True)
class Verification:
    """The result of `verify`."""

    events: int
    """The number of events that were read: all of them, or those before a damage."""
    problems: tuple[str, ...]
    """A sentence for each damage."""
    notes: tuple[str, ...] = ()
    """Which other code wrote which epochs, and how many of its decisions the present code would not make."""


def verify(store: Store, replay: bool = False, progress: Callable[[], object] | None = None) -> Verification:
    """Read the whole log, and check every page, every event and every snapshot.

    Every event must be what was written and follow the one before it, and no epoch may be lower than one before it.

    Args:
        store: any store; a reader is enough.
        replay: also apply the events again, and compare decisions and snapshots with what the present code makes.
        progress: called after each event.

    Example:
        >>> import tempfile
        >>> from rotting.store.sqlite import SQLiteStore
        >>> folder = tempfile.TemporaryDirectory()
        >>> with SQLiteStore(f"{folder.name}/songs.rot") as store:
        ...     _ = store.append([("songs", {"decided": arm}) for arm in "ab"], bandits=[("songs", {})])
        ...     verify(store)
        Verification(events=2, problems=(), notes=())
        >>> folder.cleanup()
    """
    replayed = _Replay(store) if replay else None
    problems = store.damages()
    events, epoch = 0, 0
    try:
        for event in store.read():
            events = event.number
            if event.epoch < epoch:
                problems.append(f"event {event.number}: its epoch is {event.epoch}, but that of the event before is {epoch}")
            epoch = event.epoch
            if replayed is not None:
                problems += replayed.apply(event)
            if progress is not None:
                progress()
        if epoch > store.epoch:
            problems.append(f"event {events}: its epoch is {epoch}, but that of the latest writer is {store.epoch}")
        if replayed is not None:
            problems += replayed.finish()
    except StoreDamagedError as error:
        problems.append(str(error))
    return Verification(events, tuple(problems), () if replayed is None else tuple(replayed.notes))


class _Replay:
    """Applies the events of a store again, and compares decisions and snapshots with what the present code makes.

    A difference is a problem if the present code wrote it, from a state that the present code made. Otherwise, it is a note:
    after an upgrade of the library or of a policy, decisions may differ. Of each bandit, only the first problem is reported,
    since the later ones may follow from it. A snapshot is compared when the log has passed its number, whichever bandit the
    next event belongs to.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        descriptions = store.bandits()
        self._states = {name: initial_state(description) for name, description in descriptions.items()}
        self._present = {name: Writer.of(state.policy) for name, state in self._states.items()}
        self._writers = {name: Writer.from_json(description) for name, description in descriptions.items()}
        self._epochs: dict[tuple[str, Writer | None], set[int]] = {}  # by name of the policy and writer
        self._inherited: set[str] = set()  # bandits whose state may have been made by other code
        self._decisions: Counter[tuple[str, Writer | None]] = Counter()  # by bandit and writer
        self._different: Counter[tuple[str, Writer | None]] = Counter()  # those that the present code would not make
        self._first_difference: dict[tuple[str, Writer | None], str] = {}
        self.notes: list[str] = []
        """Differences that are no problems; complete after `finish`."""
        # Only their numbers: the states of many bandits may need more memory than there is.
        self._due = [(snapshot.number, name) for name in self._states for snapshot in store.snapshots(name)]
        self._due.sort(reverse=True)

    def apply(self, event: StoredEvent) -> list[str]:
        """Apply the next event; return a sentence for each problem."""
        problems = self._compare_snapshots(before=event.number)
        name, change = event.bandit, event_in(event.payload)
        if event.payload.get("note") == Writer.NOTE:
            self._writers[name] = Writer.from_json(event.payload)
        state = self._states.get(name)
        if state is None or change is None:
            return problems
        writer = self._writers.get(name)
        self._epochs.setdefault((state.policy.name, writer), set()).add(event.epoch)
        if writer != self._present[name]:
            self._inherited.add(name)
        try:
            decision = state.apply(change)
        except RottingError as error:
            del self._states[name]
            return [*problems, f"event {event.number}: {error}"]
        if decision is not None:
            self._decisions[name, writer] += 1
            if decision.differs:
                what = f"the decision of round {change['round']} was {decision.recorded!r}, and is {decision.chosen!r} now"
                if name in self._inherited:
                    self._different[name, writer] += 1
                    self._first_difference.setdefault((name, writer), what)
                else:
                    del self._states[name]
                    problems.append(f"event {event.number}: {what}; epoch {event.epoch} was written by {writer}, as this is")
        return problems

    def finish(self) -> list[str]:
        """Compare the snapshots at the end of the log, and complete the notes."""
        problems = self._compare_snapshots()
        present = set(self._present.values())
        if any(writer not in present for _, writer in self._epochs):
            writers = []
            for (policy, writer), epochs in self._epochs.items():
                by = "an unknown version" if writer is None else f"{writer}{', as this is' if writer in present else ''}"
                writers.append(f"{policy}: {_ranges(epochs)} written by {by}")
            self.notes[:0] = writers
        for (name, writer), first in self._first_difference.items():
            whose = "this code in a state that other code left" if writer == self._present[name] else "other code"
            share = f"{self._different[name, writer]} of {self._decisions[name, writer]} decisions of {whose} would differ"
            self.notes.append(f"bandit {brief(name)}: {share} today; first, {first}")
        return problems

    def _compare_snapshots(self, before: int | None = None) -> list[str]:
        """Compare the snapshots whose number is lower than `before`, and that were not compared yet."""
        problems = []
        while self._due and (before is None or self._due[-1][0] < before):
            number, name = self._due.pop()
            if (state := self._states.get(name)) is not None:
                for snapshot in (each for each in self._store.snapshots(name) if each.number == number):
                    problems += self._compare_snapshot(name, snapshot, state)
        return problems

    def _compare_snapshot(self, name: str, snapshot: Snapshot, state: BanditState) -> list[str]:
        """Compare a snapshot with the state that the events up to its number make.

        If other code wrote some of the events, the replay continues from the snapshot, as the bandit itself did: from there on,
        the present code makes the same decisions again.
        """
        found: list[str] = []
        what = f"event {snapshot.number}: the snapshot of bandit {brief(name)}"
        try:
            if not _is_same(snapshot.state, state):
                found.append(f"{what} is not the state that the events up to it make")
                if name in self._inherited:
                    self._states[name] = restore(snapshot.state)
        except UNREADABLE as error:
            found.append(f"{what} cannot be read back: {error}")
        if name not in self._inherited:
            return found
        self.notes += [f"{each}; other code wrote some of them" for each in found]
        if not found or self._states[name] is not state:
            self._inherited.discard(name)
        return []


def _is_same(saved: Payload, state: BanditState) -> bool:
    """Return whether a saved state is equal to a state; an earlier version may have saved it in another form."""
    made = StateParts.of(state)
    if saved == made.to_json():
        return True
    parts = StateParts.of(restore(saved))
    if parts.learner.updates >= made.learner.updates:  # an earlier version made other room for the same content
        parts.learner.match_room(made.learner)
    return parts.to_json() == made.to_json()


def _ranges(epochs: set[int]) -> str:
    """Return a short list of epochs with a verb.

    Example:
        >>> _ranges({4}), _ranges({1, 2, 3, 5})
        ('epoch 4 was', 'epochs 1-3, 5 were')
    """
    firsts = sorted(epochs - {each + 1 for each in epochs})
    lasts = sorted(epochs - {each - 1 for each in epochs})
    listed = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in zip(firsts, lasts, strict=True))
    return f"epoch {listed} was" if len(epochs) == 1 else f"epochs {listed} were"
