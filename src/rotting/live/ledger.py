"""The ledger of a bandit: the pending decisions, and the rewards of the last closed ones."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import NamedTuple

from rotting.live.values import Key, Outcome

FinalReward = float | None
"""The reward of a closed decision; None if it ended without one."""


class Entry(NamedTuple):
    """A pending decision."""

    key: Key  # its id, or its round if `pull` made it
    slot: int  # the slot of its arm
    round: int
    propensity: float | None  # the probability of its arm
    held_out: bool = False  # whether it was taken uniformly
    time: float = 0.0  # when it was made
    reward: float | None = None  # with a reward window, the reward that came before the window closes


class Ledger:
    """The pending decisions, oldest first, and the rewards of closed ones: a second reward is compared with them.

    Args:
        remembered: how many closed decisions are remembered; more if more are pending.
        closed: the ids and rewards of closed decisions, oldest first.
    """

    def __init__(self, remembered: int, closed: Iterable[tuple[str, FinalReward]] = ()) -> None:
        self.remembered = remembered
        self.entries: OrderedDict[Key, Entry] = OrderedDict()
        self.closed: OrderedDict[str, FinalReward] = OrderedDict(closed)

    def copy(self) -> "Ledger":
        """Return an independent copy."""
        twin = Ledger(self.remembered)
        twin.entries, twin.closed = self.entries.copy(), self.closed.copy()
        return twin

    @property
    def size(self) -> int:
        """The number of decisions that are pending or remembered."""
        return len(self.entries) + len(self.closed)

    def add(self, entry: Entry) -> None:
        """Append a decision."""
        self.entries[entry.key] = entry

    def hold(self, entry: Entry, reward: float) -> None:
        """Keep the reward of a decision until its window closes."""
        self.entries[entry.key] = entry._replace(reward=reward)  # at the same place

    def first(self, slot: int) -> Entry | None:
        """Return the oldest decision of a slot without a reward."""
        return next((entry for entry in self.entries.values() if entry.slot == slot and entry.reward is None), None)

    def entries_of(self, slot: int) -> list[Entry]:
        """Return all decisions of a slot, oldest first."""
        return [entry for entry in self.entries.values() if entry.slot == slot]

    def oldest(self) -> Entry | None:
        """Return the oldest decision of all."""
        return next(iter(self.entries.values())) if self.entries else None

    def find_open(self, key: Key) -> Entry | None:
        """Return a pending decision that has no reward yet, or None."""
        entry = self.entries.get(key)
        return entry if entry is not None and entry.reward is None else None

    def until(self, last: int) -> Iterator[Entry]:
        """Yield the decisions up to round `last`, oldest first, without looking at newer ones."""
        return takewhile(lambda entry: entry.round <= last, self.entries.values())  # the entries are in order of rounds

    def made_until(self, time: float) -> Iterator[Entry]:
        """Yield the decisions up to a time, oldest first."""
        return takewhile(lambda entry: entry.time <= time, self.entries.values())

    def close(self, entry: Entry, reward: FinalReward) -> None:
        """Remove a decision, and remember its reward if the decision has an id."""
        del self.entries[entry.key]
        if isinstance(entry.key, str):
            self.closed[entry.key] = reward
            while len(self.closed) > max(self.remembered, len(self.entries)):
                self.closed.popitem(last=False)

    def outcome_if_not_open(self, key: Key, reward: float) -> Outcome:
        """Return the outcome of a reward for a decision that has a reward or is not pending."""
        if key in self.entries:
            known = self.entries[key].reward
        elif isinstance(key, str) and key in self.closed:
            known = self.closed[key]
        else:
            return "unknown"
        if known is None:
            return "expired"
        return "duplicate" if known == reward else "conflict"
