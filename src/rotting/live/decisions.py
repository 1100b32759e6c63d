"""Decisions, and the ledger of those whose reward has not been learned yet.

The decisions of one arm are learned in their order. So each arm has a tail: its decisions from the oldest one that is still
open. A reward that comes before its turn waits in the tail, at its place.
"""

import os
from collections import OrderedDict, deque
from collections.abc import Hashable, Iterable
from typing import Any, Literal, NamedTuple

from rotting.live.explanations import ArmExplanation

Outcome = Literal["applied", "duplicate", "conflict", "unknown", "expired"]
"""What became of a reward.

`applied`: it counts. `duplicate`: the same reward came before, and nothing happens. `conflict`: another reward came before,
which stays. `unknown`: there is no such decision, or it was answered too long ago to be remembered. `expired`: the decision was
cancelled, or expired, or its arm was forgotten.
"""

Key = str | int
"""The id of a decision; the number of its round if it was made by `pull`, which tells nobody an id."""


class Decision(NamedTuple):
    """A choice that waits for its reward.

    Args:
        id: what `Bandit.reward` asks for; nobody can guess it, and no other decision ever has it.
        arm: the arm to play.
        round: the number of the decision, from 1.
        propensity: the probability with which this arm was chosen.
        reason: what decided: index, mean, window, width, rewards so far (`pulls`), and decisions under way (`pending`).
    """

    id: str
    arm: Hashable
    round: int
    propensity: float
    reason: ArmExplanation


class Ids:
    """Ids that nobody can guess, from the system's random bytes, many at a time: to ask for them takes longer than a round."""

    _SIZE, _MANY = 32, 256  # digits of an id, and ids at a time

    def __init__(self) -> None:
        self._digits, self._place = "", 0

    def new(self) -> str:
        """Return an id that was never used, by this process or another."""
        place = self._place
        if place == len(self._digits):
            self._digits, place = os.urandom(self._SIZE * self._MANY // 2).hex(), 0
        end = self._place = place + self._SIZE
        return self._digits[place:end]


_SHORT = 50  # decisions of one arm


class Entry:
    """A decision whose reward is not learned yet."""

    __slots__ = ("came", "key", "lapsed", "propensity", "reward", "round", "slot")

    def __init__(
        self,
        key: Key,
        slot: int,
        round: int,  # noqa: A002 - the name that decisions have for it
        propensity: float | None,
        reward: float | None = None,
        came: int = 0,
        lapsed: bool = False,
    ) -> None:
        self.key, self.slot = key, slot
        self.round, self.propensity = round, propensity
        # Of a reward that waits for its turn: its value, the round in which it came, whether it stands for one that never did.
        self.reward, self.came, self.lapsed = reward, came, lapsed

    @property
    def answer(self) -> float | None:
        """The reward, if it came."""
        return None if self.lapsed else self.reward

    def to_json(self) -> list[Any]:
        """Return the arguments."""
        return [self.key, self.slot, self.round, self.propensity, self.reward, self.came, self.lapsed]


class Ledger:
    """The decisions in flight, oldest first, and the last answers."""

    def __init__(self, max_pending: int) -> None:
        self.max_pending = max_pending
        self.entries: OrderedDict[Key, Entry] = OrderedDict()
        self.tails: dict[int, dict[Key, Entry]] = {}
        self.early = 0  # rewards that wait for their turn
        self.answers: dict[Key, float | None] = {}  # the reward of each id; None: it is expired
        self._answered: deque[Key] = deque()  # the ids, oldest first: a dict takes long to find its first one

    @property
    def is_full(self) -> bool:
        """Whether there is no place for another decision."""
        return len(self.entries) >= self.max_pending

    def add(self, entry: Entry) -> None:
        """Append a decision."""
        key, slot = entry.key, entry.slot
        self.entries[key] = entry
        tail = self.tails.get(slot)
        if tail is None:
            tail = self.tails[slot] = {}
        elif len(tail) == _SHORT:  # a dict is the faster one, but it passes by all that were taken out to find its first
            tail = self.tails[slot] = OrderedDict(tail)
        tail[key] = entry
        if entry.reward is not None:
            self.early += 1

    def first(self, slot: int) -> Entry | None:
        """Return the oldest decision of a slot."""
        tail = self.tails.get(slot)
        return next(iter(tail.values())) if tail else None

    def is_first(self, entry: Entry) -> bool:
        """Return whether a decision is the oldest of its slot."""
        tail = self.tails[entry.slot]
        return len(tail) == 1 or next(iter(tail.values())) is entry

    def of(self, slot: int) -> list[Entry]:
        """Return all decisions of a slot, oldest first."""
        return list(self.tails.get(slot, {}).values())

    def oldest(self) -> Entry | None:
        """Return the oldest decision of all; it is open."""
        return next(iter(self.entries.values())) if self.entries else None

    def waiting(self) -> list[Entry]:
        """Return the rewards that wait for their turn, in the order of their decisions."""
        return [each for each in self.entries.values() if each.reward is not None]

    def close(self, entry: Entry, answer: float | None) -> None:
        """Take a decision out, and remember its answer if its id is known to somebody."""
        key = entry.key
        del self.entries[key]
        del self.tails[entry.slot][key]
        if entry.reward is not None:
            self.early -= 1
        if type(key) is str:
            self.answers[key] = answer
            self._answered.append(key)
            if len(self._answered) > self.max_pending:
                del self.answers[self._answered.popleft()]

    def remember(self, answers: Iterable[tuple[str, float | None]]) -> None:
        """Remember the answers of decisions that were closed before, oldest first."""
        self.answers.update(answers)
        self._answered.extend(self.answers)

    def remembered(self, key: Key, reward: float) -> Outcome:
        """Return what a second reward of a decision is, if it is not open."""
        entry = self.entries.get(key)
        if entry is None and key not in self.answers:
            return "unknown"
        known = self.answers[key] if entry is None else entry.answer
        if known is None:
            return "expired"
        return "duplicate" if known == reward else "conflict"
