"""The ledger of a bandit: the decisions whose reward has not been learned yet, and the rewards of the last that are closed.

The rewards of one arm are learned in the order of its decisions. So the ledger keeps the decisions of each slot from the oldest
open one on. A reward that arrives before its turn is early: it waits at the place of its decision.
"""

from collections import OrderedDict, deque
from collections.abc import Hashable, Iterable, Iterator
from itertools import chain, islice, takewhile
from typing import Any, NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.live.arms import arm_to_json
from rotting.live.decisions import Key, Outcome

_PAGE = 256  # closed decisions

Answer = float | None
"""The reward of a closed decision; None if it ended without one."""


class Entry:
    """A decision whose reward is not learned yet."""

    # Of an early reward: its value, the round in which it came, and whether it was assumed when the decision expired.
    reward: float | None = None
    came = 0
    lapsed = False

    def __init__(self, key: Key, slot: int, round: int, propensity: float | None) -> None:  # noqa: A002 - as in `Decision`
        self.key = key
        self.slot = slot
        self.round = round
        self.propensity = propensity

    @classmethod
    def restored(cls, saved: list[Any]) -> "Entry":
        """Return the entry that `to_json` wrote."""
        entry = cls(*saved[:4])
        entry.reward, entry.came, entry.lapsed = saved[4:]
        return entry

    @property
    def answer(self) -> Answer:
        """The reward, if it came."""
        return None if self.lapsed else self.reward

    def to_json(self) -> list[Any]:
        """Return all fields as a list."""
        return [self.key, self.slot, self.round, self.propensity, self.reward, self.came, self.lapsed]


def _is_early(entry: Entry) -> bool:
    return entry.reward is not None


class Expiry(NamedTuple):
    """The end of an open decision: its slot, and the early rewards whose turn comes then."""

    slot: int
    followers: list[tuple[int, float]]  # rounds and rewards


class Ledger:
    """The decisions whose reward is not learned yet, oldest first, and the answers of closed ones."""

    def __init__(self, max_pending: int, answers: Iterable[tuple[str, Answer]] = ()) -> None:
        self.max_pending = max_pending
        self.entries: OrderedDict[Key, Entry] = OrderedDict()
        self.alone: dict[int, Entry] = {}
        """The decision of each slot that has one decision only."""
        self._tails: dict[int, OrderedDict[Key, Entry]] = {}  # the decisions of each slot that had several at a time
        self.early_rewards = EarlyRewards()
        self.answers = Answers(max_pending, answers)

    @property
    def early(self) -> int:
        """The number of early rewards."""
        return self.early_rewards.number

    @property
    def is_full(self) -> bool:
        """Whether there is no room for another decision."""
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
        """Append a decision to the others of its slot."""
        other = self.alone.pop(entry.slot, None)
        if other is not None:
            self._tails[entry.slot] = OrderedDict({other.key: other})
        self._tails[entry.slot][entry.key] = entry

    def hold(self, entry: Entry, reward: float, came: int, lapsed: bool = False) -> None:
        """Keep an early reward until its turn."""
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
        """Return the oldest decision of all, which is always open."""
        return next(iter(self.entries.values())) if self.entries else None

    def find_open(self, key: Key) -> Entry | None:
        """Return a decision that has no reward yet, or None."""
        entry = self.entries.get(key)
        return entry if entry is not None and entry.reward is None else None

    def open_until(self, last: int, limit: int | None) -> list[Entry]:
        """Return at most `limit` open decisions up to round `last`, oldest first, without looking at newer ones."""
        old = takewhile(lambda entry: entry.round <= last, self.entries.values())  # the rounds never fall
        return list(islice((entry for entry in old if entry.reward is None), limit))

    def next_to_expire(self, number: int) -> list[Expiry]:
        """Return what would happen if the oldest open decision ended, `number` times in a row."""
        runs: dict[int, Iterator[Entry]] = {}
        ends: list[Expiry] = []
        for entry in islice((each for each in self.entries.values() if each.reward is None), number):
            if entry.slot not in runs:
                runs[entry.slot] = iter(self._tails[entry.slot].values() if entry.slot in self._tails else (entry,))
                next(runs[entry.slot])  # the decision itself: the oldest of its slot is open
            followers = [(each.round, float(each.reward)) for each in takewhile(_is_early, runs[entry.slot])]  # type: ignore[arg-type]
            ends.append(Expiry(entry.slot, followers))
        return ends

    def close(self, entry: Entry, answer: Answer) -> None:
        """Remove a decision, and remember its answer if the decision has an id."""
        key = entry.key
        del self.entries[key]
        if self.alone.pop(entry.slot, None) is None:
            tail = self._tails[entry.slot]
            del tail[key]
            if not tail:
                del self._tails[entry.slot]
        if entry.reward is not None:
            self.early_rewards.remove(entry.round)
        if type(key) is str:
            self.answers.add(key, answer)

    def remembered(self, key: Key, reward: float) -> Outcome:
        """Return the outcome of a reward for a decision that is not open."""
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


class EarlyRewards:
    """The early rewards as arrays, in the order of their decisions, for a policy that learns from them at once."""

    def __init__(self) -> None:
        self.number = 0
        self.version = 0
        """Increases with every change."""
        self.rounds = np.zeros(16, np.int64)  # of the decisions, increasing
        self.came = np.zeros(16, np.int64)
        self.slots = np.zeros(16, np.int64)
        self.rewards = np.zeros(16)

    @property
    def _arrays(self) -> tuple[Ints, Ints, Ints, Floats]:
        return self.rounds, self.came, self.slots, self.rewards

    def add(self, round: int, came: int, slot: int, reward: float) -> None:  # noqa: A002 - as in `Decision`
        """Insert the reward of the decision in `round`, which `came` in a later one."""
        n = self.number
        if n == self.rounds.size:
            self.rounds, self.came, self.slots = (np.resize(each, 2 * n) for each in (self.rounds, self.came, self.slots))
            self.rewards = np.resize(self.rewards, 2 * n)
        place = int(self.rounds[:n].searchsorted(round))
        for array, value in zip(self._arrays, (round, came, slot, reward), strict=True):
            array[place + 1 : n + 1] = array[place:n]
            array[place] = value
        self.number, self.version = n + 1, self.version + 1

    def remove(self, round: int) -> None:  # noqa: A002
        """Remove the reward of the decision in `round`."""
        n = self.number
        place = int(self.rounds[:n].searchsorted(round))
        for array in self._arrays:
            array[place : n - 1] = array[place + 1 : n]
        self.number, self.version = n - 1, self.version + 1

    def copy(self) -> "EarlyRewards":
        """Return an independent copy."""
        twin = EarlyRewards()
        twin.number = self.number
        twin.rounds, twin.came, twin.slots = self.rounds.copy(), self.came.copy(), self.slots.copy()
        twin.rewards = self.rewards.copy()
        return twin

    def to_learn(self) -> tuple[Ints, Ints, Floats]:
        """Return rounds, slots and rewards in the order of the decisions, as if the turn of all came with the last reward."""
        n = self.number
        return np.full(n, self.came[:n].max()), self.slots[:n], self.rewards[:n]


class Answers:
    """The answers of the last `most` closed decisions, by id: a second reward is compared with them.

    Answers are kept in pages that are filled one after the other and dropped as a whole, so adding an answer and copying all of
    them are fast. Only a second reward searches the pages.
    """

    def __init__(self, most: int, answers: Iterable[tuple[str, Answer]] = ()) -> None:
        self._most = most
        self.pages: deque[dict[str, Answer]] = deque([{}])  # oldest first; all but the last are full and do not change
        self.page = self.pages[-1]
        for id, answer in answers:  # noqa: A001 - as in `Decision`
            self.add(id, answer)

    def add(self, id: str, answer: Answer) -> None:  # noqa: A002
        """Remember the answer of an id that has none yet."""
        page = self.page
        page[id] = answer
        if len(page) == _PAGE:
            self._start_page()

    def _start_page(self) -> None:
        self.page = {}
        self.pages.append(self.page)
        if self._too_many >= _PAGE:
            self.pages.popleft()

    @property
    def _too_many(self) -> int:
        """How many of the oldest answers are forgotten, although their page is still there."""
        return max(0, (len(self.pages) - 1) * _PAGE + len(self.page) - self._most)

    def __len__(self) -> int:
        return (len(self.pages) - 1) * _PAGE + len(self.page) - self._too_many

    def __iter__(self) -> Iterator[tuple[str, Answer]]:
        """Yield ids and answers, oldest first."""
        return islice(chain.from_iterable(page.items() for page in self.pages), self._too_many, None)

    def find(self, id: str) -> tuple[Answer] | None:  # noqa: A002
        """Return the answer of an id, in a tuple, or None if it is not known."""
        forgotten = self._too_many
        for page in self.pages:
            if id in page:
                return None if id in islice(page, forgotten) else (page[id],)
            forgotten = max(0, forgotten - len(page))
        return None

    def copy(self) -> "Answers":
        """Return an independent copy, which shares the full pages."""
        twin = Answers(self._most)
        twin.pages = self.pages.copy()
        twin.page = twin.pages[-1] = self.page.copy()
        return twin


class Orphans:
    """Pulls whose arm was forgotten before their reward came.

    A pull has no id other than that of its arm, which a new arm may have by now. The rewards of orphans then come before those
    of the new arm, and nothing is learned from them.

    Args:
        most: how many are remembered.
        rounds: the rounds of each id, oldest first.
    """

    def __init__(self, most: int, rounds: Iterable[tuple[Hashable, list[int]]] = ()) -> None:
        self._most, self._number = most, 0
        self._rounds: dict[Hashable, deque[int]] = {}  # by id, in the order in which the ids were forgotten
        for arm, each in rounds:
            self.add(arm, each)

    def __contains__(self, arm: Hashable) -> bool:
        return arm in self._rounds

    def add(self, arm: Hashable, rounds: list[int]) -> None:
        """Add the rounds of such pulls; the oldest are dropped if there are too many."""
        if rounds:
            self._rounds.setdefault(arm, deque()).extend(rounds)
            self._number += len(rounds)
        while self._number > self._most:
            self.take(next(iter(self._rounds)))

    def take(self, arm: Hashable) -> None:
        """Remove the oldest of an id."""
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
