"""The ledger of a bandit: the pending decisions, and the rewards of the last closed ones."""

from collections import OrderedDict, deque
from collections.abc import Hashable, Iterable, Iterator
from itertools import takewhile
from typing import NamedTuple

from rotting.live.arms import arm_to_json
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


class Orphans:
    """Pulls whose arm was forgotten before their reward came.

    The reward of a pull names its arm only, and a new arm may have the same id by now. Then the rewards of the orphans are
    expected before those of the new arm, and nothing is learned from them.

    Args:
        most: how many pulls are remembered.
        rounds: the rounds of each id, oldest first.
    """

    def __init__(self, most: int, rounds: Iterable[tuple[Hashable, list[int]]] = ()) -> None:
        self._most, self._number = most, 0
        self.rounds: dict[Hashable, deque[int]] = {}
        """The rounds of the pulls of each id, in the order in which the ids were forgotten."""
        for arm, each in rounds:
            self.add(arm, each)

    def add(self, arm: Hashable, rounds: list[int]) -> None:
        """Add the rounds of pulls of a forgotten arm; the oldest are dropped if there are too many."""
        if rounds:
            self.rounds.setdefault(arm, deque()).extend(rounds)
            self._number += len(rounds)
        while self._number > self._most:
            self.take(next(iter(self.rounds)))

    def take(self, arm: Hashable) -> None:
        """Remove the oldest pull of an id."""
        rounds = self.rounds[arm]
        rounds.popleft()
        self._number -= 1
        if not rounds:
            del self.rounds[arm]

    def until(self, last: int) -> list[Hashable]:
        """Return the id of each pull up to round `last`."""
        return [arm for arm, rounds in self.rounds.items() for each in rounds if each <= last]

    def copy(self) -> "Orphans":
        """Return an independent copy."""
        return Orphans(self._most, ((arm, list(rounds)) for arm, rounds in self.rounds.items()))

    def to_json(self) -> list[object]:
        """Return the rounds of each id as JSON-able data."""
        return [[arm_to_json(arm), list(rounds)] for arm, rounds in self.rounds.items()]
