"""The ledger of a bandit: the decisions whose reward is not learned yet, and the rewards of the last closed decisions.

The rewards of one arm are learned in the order of its decisions. So the ledger keeps the decisions of each slot from the oldest
open one on. A reward that comes before its turn is early: it waits in the entry of its decision.
"""

from collections import OrderedDict, deque
from collections.abc import Hashable, Iterable, Iterator
from itertools import chain, islice, takewhile
from typing import Any, NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.live.arms import arm_to_json
from rotting.live.decisions import Key, Outcome

_CHUNK = 256  # closed decisions

FinalReward = float | None
"""The reward of a closed decision; None if it ended without one."""


class Entry:
    """A decision whose reward is not learned yet."""

    # Of an early reward: its value, the round in which it came, and whether it replaces the reward of an expired decision.
    reward: float | None = None
    came = 0
    expired = False

    def __init__(self, key: Key, slot: int, round: int, propensity: float | None) -> None:  # noqa: A002 - as in `Decision`
        self.key = key
        self.slot = slot
        self.round = round
        self.propensity = propensity

    @classmethod
    def restored(cls, saved: list[Any]) -> "Entry":
        """Return the entry that `to_json` wrote."""
        entry = cls(*saved[:4])
        entry.reward, entry.came, entry.expired = saved[4:]
        return entry

    @property
    def final_reward(self) -> FinalReward:
        """The early reward, unless the decision has expired."""
        return None if self.expired else self.reward

    def to_json(self) -> list[Any]:
        """Return all fields as a list."""
        return [self.key, self.slot, self.round, self.propensity, self.reward, self.came, self.expired]


def _is_early(entry: Entry) -> bool:
    return entry.reward is not None


class Expiry(NamedTuple):
    """The end of an open decision: its slot, and the early rewards whose turn comes then."""

    slot: int
    followers: list[tuple[int, float]]  # rounds and rewards


class Ledger:
    """The decisions whose reward is not learned yet, oldest first, and the rewards of closed ones."""

    def __init__(self, max_pending: int, closed: Iterable[tuple[str, FinalReward]] = ()) -> None:
        self.max_pending = max_pending
        self.entries: OrderedDict[Key, Entry] = OrderedDict()
        self.single: dict[int, Entry] = {}
        """The decision of each slot that has exactly one."""
        self._several: dict[int, OrderedDict[Key, Entry]] = {}  # the decisions of each slot that had more than one
        self.early_rewards = EarlyRewards()
        self.closed = ClosedDecisions(max_pending, closed)

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
        key, slot, single = entry.key, entry.slot, self.single
        self.entries[key] = entry
        if slot in self._several:
            self._several[slot][key] = entry
        elif slot in single:
            other = single.pop(slot)
            self._several[slot] = OrderedDict({other.key: other, key: entry})
        else:
            single[slot] = entry
        if entry.reward is not None:
            self.hold(entry, entry.reward, entry.came, entry.expired)

    def hold(self, entry: Entry, reward: float, came: int, expired: bool = False) -> None:
        """Keep an early reward until its turn."""
        entry.reward, entry.came, entry.expired = reward, came, expired
        self.early_rewards.add(entry.round, came, entry.slot, reward)

    def first(self, slot: int) -> Entry | None:
        """Return the oldest decision of a slot."""
        several = self._several.get(slot)
        return self.single.get(slot) if several is None else next(iter(several.values()))

    def is_first(self, entry: Entry) -> bool:
        """Return whether a decision is the oldest of its slot."""
        return entry.slot in self.single or self.first(entry.slot) is entry

    def entries_of(self, slot: int) -> list[Entry]:
        """Return all decisions of a slot, oldest first."""
        return [self.single[slot]] if slot in self.single else list(self._several.get(slot, {}).values())

    def oldest(self) -> Entry | None:
        """Return the oldest decision of all, which is always open."""
        return next(iter(self.entries.values())) if self.entries else None

    def find_open(self, key: Key) -> Entry | None:
        """Return a decision that has no reward yet, or None."""
        entry = self.entries.get(key)
        return entry if entry is not None and entry.reward is None else None

    def open_until(self, last: int, limit: int | None) -> list[Entry]:
        """Return at most `limit` open decisions up to round `last`, oldest first, without looking at newer ones."""
        old = takewhile(lambda entry: entry.round <= last, self.entries.values())  # the entries are in order of rounds
        return list(islice((entry for entry in old if entry.reward is None), limit))

    def next_to_expire(self, number: int) -> list[Expiry]:
        """Return what would happen if the oldest open decision ended, `number` times in a row."""
        later: dict[int, Iterator[Entry]] = {}  # the decisions of each slot after those that ended
        ends: list[Expiry] = []
        for entry in islice((each for each in self.entries.values() if each.reward is None), number):
            if entry.slot not in later:
                later[entry.slot] = iter(self._several.get(entry.slot, {entry.key: entry}).values())
                next(later[entry.slot])  # the decision itself, since the oldest of a slot is open
            followers = [(each.round, float(each.reward)) for each in takewhile(_is_early, later[entry.slot])]  # type: ignore[arg-type]
            ends.append(Expiry(entry.slot, followers))
        return ends

    def close(self, entry: Entry, reward: FinalReward) -> None:
        """Remove a decision, and remember its reward if the decision has an id."""
        key = entry.key
        del self.entries[key]
        if self.single.pop(entry.slot, None) is None:
            several = self._several[entry.slot]
            del several[key]
            if not several:
                del self._several[entry.slot]
        if entry.reward is not None:
            self.early_rewards.remove(entry.round)
        if type(key) is str:
            self.closed.add(key, reward)

    def outcome_if_not_open(self, key: Key, reward: float) -> Outcome:
        """Return the outcome of a reward for a decision that is not open."""
        entry = self.entries.get(key)
        if entry is not None:
            known = entry.final_reward
        elif isinstance(key, str) and (found := self.closed.find(key)) is not None:
            (known,) = found
        else:
            return "unknown"
        if known is None:
            return "expired"
        return "duplicate" if known == reward else "conflict"


_NO_PLACES, _NO_REWARDS = np.zeros((3, 0), np.int64), np.zeros(0)  # shared, since most bandits have no early rewards


class EarlyRewards:
    """The early rewards as arrays, in the order of their decisions, for a policy that learns from them at once."""

    def __init__(self) -> None:
        self.number = 0
        self.version = 0
        """Increases with every change."""
        self._places = _NO_PLACES  # rounds of the decisions, increasing; rounds of the rewards; slots
        self._rewards = _NO_REWARDS

    def _position(self, round: int) -> int:  # noqa: A002 - as in `Decision`
        return int(self._places[0, : self.number].searchsorted(round))

    def add(self, round: int, came: int, slot: int, reward: float) -> None:  # noqa: A002
        """Insert the reward of the decision in `round`, which `came` in a later one."""
        n, k = self.number, self._position(round)
        if n == self._rewards.size:
            room = max(16, n)
            self._places = np.concatenate([self._places, np.zeros((3, room), np.int64)], axis=1)
            self._rewards = np.concatenate([self._rewards, np.zeros(room)])
        for array, value in ((self._places, (round, came, slot)), (self._rewards, reward)):
            array[..., k + 1 : n + 1] = array[..., k:n]
            array[..., k] = value
        self.number, self.version = n + 1, self.version + 1

    def remove(self, round: int) -> None:  # noqa: A002
        """Remove the reward of the decision in `round`."""
        n, k = self.number, self._position(round)
        for array in (self._places, self._rewards):
            array[..., k : n - 1] = array[..., k + 1 : n]
        self.number, self.version = n - 1, self.version + 1

    def copy(self) -> "EarlyRewards":
        """Return an independent copy."""
        twin = EarlyRewards()
        twin.number, twin._places, twin._rewards = self.number, self._places.copy(), self._rewards.copy()
        return twin

    def to_learn(self) -> tuple[Ints, Ints, Floats]:
        """Return rounds, slots and rewards in the order of the decisions, as if the turn of all came with the last reward."""
        n = self.number
        _, came, slots = self._places[:, :n]
        return np.full(n, came.max()), slots, self._rewards[:n]


class ClosedDecisions:
    """The rewards of the last `most` closed decisions, by id: a second reward is compared with them.

    They are kept in chunks, which are filled one after the other and dropped as a whole. So adding a decision and copying all
    of them are fast. Only a second reward searches the chunks.
    """

    def __init__(self, most: int, rewards: Iterable[tuple[str, FinalReward]] = ()) -> None:
        self._most = most
        self._chunks: list[dict[str, FinalReward]] = [{}]  # oldest first; all but the last are full and do not change
        self._last = self._chunks[-1]
        for id, reward in rewards:  # noqa: A001 - as in `Decision`
            self.add(id, reward)

    def add(self, id: str, reward: FinalReward) -> None:  # noqa: A002
        """Remember the reward of a decision that was not closed before."""
        self._last[id] = reward
        if len(self._last) == _CHUNK:
            self._last = {}
            self._chunks.append(self._last)
            if self._forgotten >= _CHUNK:
                del self._chunks[0]

    @property
    def _forgotten(self) -> int:
        """How many of the oldest decisions count as forgotten, although their chunk is still there."""
        return max(0, (len(self._chunks) - 1) * _CHUNK + len(self._last) - self._most)

    def __len__(self) -> int:
        return (len(self._chunks) - 1) * _CHUNK + len(self._last) - self._forgotten

    def __iter__(self) -> Iterator[tuple[str, FinalReward]]:
        """Yield ids and rewards, oldest first."""
        return islice(chain.from_iterable(chunk.items() for chunk in self._chunks), self._forgotten, None)

    def find(self, id: str) -> tuple[FinalReward] | None:  # noqa: A002
        """Return the reward of a decision, in a tuple, or None if the decision is not remembered."""
        forgotten = self._forgotten
        for chunk in self._chunks:
            if id in chunk:
                return None if id in islice(chunk, forgotten) else (chunk[id],)
            forgotten = max(0, forgotten - len(chunk))
        return None

    def copy(self) -> "ClosedDecisions":
        """Return an independent copy, which shares the full chunks."""
        twin = ClosedDecisions(self._most)
        twin._chunks = self._chunks.copy()
        twin._last = twin._chunks[-1] = self._last.copy()
        return twin


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
        self._rounds: dict[Hashable, deque[int]] = {}  # by id, in the order in which the ids were forgotten
        for arm, each in rounds:
            self.add(arm, each)

    def __contains__(self, arm: Hashable) -> bool:
        return arm in self._rounds

    def add(self, arm: Hashable, rounds: list[int]) -> None:
        """Add the rounds of pulls of a forgotten arm; the oldest are dropped if there are too many."""
        if rounds:
            self._rounds.setdefault(arm, deque()).extend(rounds)
            self._number += len(rounds)
        while self._number > self._most:
            self.take(next(iter(self._rounds)))

    def take(self, arm: Hashable) -> None:
        """Remove the oldest pull of an id."""
        rounds = self._rounds[arm]
        rounds.popleft()
        self._number -= 1
        if not rounds:
            del self._rounds[arm]

    def until(self, last: int) -> list[Hashable]:
        """Return the id of each pull up to round `last`."""
        return [arm for arm, rounds in self._rounds.items() for each in rounds if each <= last]

    def to_json(self) -> list[Any]:
        """Return the rounds of each id as JSON-able data."""
        return [[arm_to_json(arm), list(rounds)] for arm, rounds in self._rounds.items()]
