"""Decisions, and the ledger of those whose reward has not been learned yet.

The decisions of one arm are learned in their order. So each arm has a tail: its decisions from the oldest one that is still
open. A reward that comes before its turn waits in the tail, at its place.
"""

import os
from collections import OrderedDict, deque
from collections.abc import Hashable, Iterable, Iterator
from itertools import islice, takewhile
from typing import Any, Literal, NamedTuple

from rotting.errors import InvalidTypeError
from rotting.live.answers import Answer, Answers
from rotting.live.arms import arm_to_json
from rotting.live.early_rewards import EarlyRewards
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
        id: what to keep until the reward comes; nobody can guess it, and no other decision ever has it. All that asks for the
            id of a decision, such as `Bandit.reward`, takes the decision itself, too.
        arm: the arm to play.
        round: the number of the decision, from 1.
        propensity: the probability with which this arm was chosen.
        reason: what decided: index, mean, window, width, rewards so far (`pulls`), and decisions under way (`pending`).

    Example:
        >>> import rotting
        >>> bandit = rotting.Bandit(rotting.UCB1(), arms=["jazz", "rock"])
        >>> decision = bandit.decide()
        >>> decision.arm, decision.round, decision.propensity, decision.reason.pending
        ('jazz', 1, 1.0, 0)
        >>> bandit.reward(decision.id, 1.0), bandit.reward(decision, 1.0)
        ('applied', 'duplicate')
    """

    id: str
    arm: Hashable
    round: int
    propensity: float
    reason: ArmExplanation


def id_of(decision: object) -> str:
    """Return the id of a decision, which may be given as such or by its id.

    Example:
        >>> id_of(Decision("4f", "jazz", 1, 1.0, ArmExplanation(0.0, 0.0, 0, 0.0, 0, 0))), id_of("4f")
        ('4f', '4f')
    """
    key = decision.id if isinstance(decision, Decision) else decision
    if not isinstance(key, str):
        raise InvalidTypeError("id", "be a Decision or its id, a string", decision)
    return key


class Ids:
    """Ids that nobody can guess, from the system's random bytes, many at a time: to ask for them takes longer than a round."""

    _SIZE, _MANY = 32, 32  # digits of an id, and ids at a time

    def __init__(self) -> None:
        self._digits, self._place = "", 0

    def new(self) -> str:
        """Return an id that was never used, by this process or another."""
        place = self._place
        if place == len(self._digits):
            self._digits, place = os.urandom(self._SIZE * self._MANY // 2).hex(), 0
        end = self._place = place + self._SIZE
        return self._digits[place:end]


class Entry:
    """A decision whose reward is not learned yet."""

    # Of a reward that waits for its turn: its value, the round in which it came, whether it stands for one that never did.
    reward: float | None = None
    came = 0
    lapsed = False

    def __init__(self, key: Key, slot: int, round: int, propensity: float | None) -> None:  # noqa: A002 - as decisions call it
        self.key = key
        self.slot = slot
        self.round = round
        self.propensity = propensity

    @classmethod
    def restored(cls, saved: list[Any]) -> "Entry":
        """Return what `to_json` wrote."""
        entry = cls(*saved[:4])
        entry.reward, entry.came, entry.lapsed = saved[4:]
        return entry

    @property
    def answer(self) -> float | None:
        """The reward, if it came."""
        return None if self.lapsed else self.reward

    def to_json(self) -> list[Any]:
        """Return all that is known."""
        return [self.key, self.slot, self.round, self.propensity, self.reward, self.came, self.lapsed]


def _is_early(entry: Entry) -> bool:
    return entry.reward is not None


class Expiry(NamedTuple):
    """What happens when an open decision ends: its slot, and the rewards whose turn has come then."""

    slot: int
    followers: list[tuple[int, float]]  # rounds and rewards


class Ledger:
    """The decisions in flight, oldest first, and the last answers."""

    def __init__(self, max_pending: int, answers: Iterable[tuple[str, Answer]] = ()) -> None:
        self.max_pending = max_pending
        self.entries: OrderedDict[Key, Entry] = OrderedDict()
        self.alone: dict[int, Entry] = {}
        """The only decision of a slot."""
        self._tails: dict[int, OrderedDict[Key, Entry]] = {}  # those of a slot that had several at a time
        self.early_rewards = EarlyRewards()
        self.answers = Answers(max_pending, answers)

    @property
    def early(self) -> int:
        """Rewards that wait for their turn."""
        return self.early_rewards.number

    @property
    def is_full(self) -> bool:
        """Whether there is no place for another decision."""
        return len(self.entries) >= self.max_pending

    def add(self, entry: Entry) -> None:
        """Append a decision."""
        key, slot, alone = entry.key, entry.slot, self.alone
        self.entries[key] = entry
        if slot not in alone and slot not in self._tails:
            alone[slot] = entry
        else:
            self._append(entry)
        if entry.reward is not None:
            self.hold(entry, entry.reward, entry.came, entry.lapsed)

    def _append(self, entry: Entry) -> None:
        """Put a decision behind the others of its slot."""
        other = self.alone.pop(entry.slot, None)
        if other is not None:
            self._tails[entry.slot] = OrderedDict({other.key: other})
        self._tails[entry.slot][entry.key] = entry

    def hold(self, entry: Entry, reward: float, came: int, lapsed: bool = False) -> None:
        """Let a reward wait for its turn."""
        entry.reward, entry.came, entry.lapsed = reward, came, lapsed
        self.early_rewards.add(entry.round, came, entry.slot, reward)

    def first(self, slot: int) -> Entry | None:
        """Return the oldest decision of a slot."""
        tail = self._tails.get(slot)
        return self.alone.get(slot) if tail is None else next(iter(tail.values()))

    def is_first(self, entry: Entry) -> bool:
        """Return whether a decision is the oldest of its slot."""
        return entry.slot in self.alone or self.first(entry.slot) is entry

    def of(self, slot: int) -> list[Entry]:
        """Return all decisions of a slot, oldest first."""
        return [self.alone[slot]] if slot in self.alone else list(self._tails.get(slot, {}).values())

    def oldest(self) -> Entry | None:
        """Return the oldest decision of all; it is open."""
        return next(iter(self.entries.values())) if self.entries else None

    def open_until(self, last: int, limit: int | None) -> list[Entry]:
        """Return the open decisions up to round `last`, oldest first and at most `limit`; younger ones are not looked at."""
        old = takewhile(lambda entry: entry.round <= last, self.entries.values())  # the rounds never fall
        return list(islice((entry for entry in old if entry.reward is None), limit))

    def next_to_expire(self, number: int) -> list[Expiry]:
        """Return what happens if the oldest open decision ends, `number` times, without ending any."""
        runs: dict[int, Iterator[Entry]] = {}
        ends: list[Expiry] = []
        for entry in islice((each for each in self.entries.values() if each.reward is None), number):
            if entry.slot not in runs:
                runs[entry.slot] = iter(self._tails[entry.slot].values() if entry.slot in self._tails else (entry,))
                next(runs[entry.slot])  # the decision itself: the oldest of its slot is open
            followers = [(each.round, float(each.reward)) for each in takewhile(_is_early, runs[entry.slot])]  # type: ignore[arg-type]
            ends.append(Expiry(entry.slot, followers))
        return ends

    def close(self, entry: Entry, answer: float | None) -> None:
        """Take a decision out, and remember its answer if its id is known to somebody."""
        key = entry.key
        del self.entries[key]
        if self.alone.pop(entry.slot, None) is None:
            self._take(entry)
        if entry.reward is not None:
            self.early_rewards.remove(entry.round)
        if type(key) is str:
            self.answers.add(key, answer)

    def _take(self, entry: Entry) -> None:
        """Take a decision from among the others of its slot."""
        tail = self._tails[entry.slot]
        del tail[entry.key]
        if not tail:
            del self._tails[entry.slot]

    def remembered(self, key: Key, reward: float) -> Outcome:
        """Return what a second reward of a decision is, if it is not open."""
        entry = self.entries.get(key)
        if entry is not None:
            known = entry.answer
        elif isinstance(key, str) and (found := self.answers.find(key)) is not None:
            (known,) = found
        else:
            return "unknown"
        if known is None:
            return "expired"
        return "duplicate" if known == reward else "conflict"


class Orphans:
    """Pulls whose arm was forgotten before their reward came.

    A pull has no id but that of its arm, and that may be used again. Then the rewards of these come before those of the new
    arm, and are not its own.

    Args:
        most: how many are remembered.
        rounds: those of each id, oldest first.
    """

    def __init__(self, most: int, rounds: Iterable[tuple[Hashable, list[int]]] = ()) -> None:
        self._most, self._number = most, 0
        self._rounds: dict[Hashable, deque[int]] = {}  # of each id; the ids in the order in which they were forgotten
        for arm, each in rounds:
            self.add(arm, each)

    def __contains__(self, arm: Hashable) -> bool:
        return arm in self._rounds

    def add(self, arm: Hashable, rounds: list[int]) -> None:
        """Note the rounds of such pulls; the first are given up if there are too many."""
        if rounds:
            self._rounds.setdefault(arm, deque()).extend(rounds)
            self._number += len(rounds)
        while self._number > self._most:
            self.take(next(iter(self._rounds)))

    def take(self, arm: Hashable) -> None:
        """Give up the oldest of an id."""
        rounds = self._rounds[arm]
        rounds.popleft()
        self._number -= 1
        if not rounds:
            del self._rounds[arm]

    def until(self, last: int) -> list[Hashable]:
        """Return the id of each pull up to a round."""
        return [arm for arm, rounds in self._rounds.items() for each in rounds if each <= last]

    def to_json(self) -> list[Any]:
        """Return the rounds of each id."""
        return [[arm_to_json(arm), list(rounds)] for arm, rounds in self._rounds.items()]
