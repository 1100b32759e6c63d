"""The ledger of a bandit: the pending decisions, and the rewards of the last closed ones."""

from collections import OrderedDict, deque
from collections.abc import Hashable, Iterable, Iterator
from itertools import chain, islice, takewhile
from typing import Any

from rotting.live.arms import arm_to_json
from rotting.live.decisions import Key, Outcome

_CHUNK = 256  # closed decisions

FinalReward = float | None
"""The reward of a closed decision; None if it ended without one."""


class Entry:
    """A pending decision."""

    def __init__(self, key: Key, slot: int, round: int, propensity: float | None) -> None:  # noqa: A002 - as in `Decision`
        self.key = key
        self.slot = slot
        self.round = round
        self.propensity = propensity

    def to_json(self) -> list[Any]:
        """Return the arguments that make this entry."""
        return [self.key, self.slot, self.round, self.propensity]


class Ledger:
    """The pending decisions, oldest first, and the rewards of closed ones."""

    def __init__(self, max_pending: int, closed: Iterable[tuple[str, FinalReward]] = ()) -> None:
        self.max_pending = max_pending
        self.entries: OrderedDict[Key, Entry] = OrderedDict()
        self._single: dict[int, Entry] = {}  # the decision of each slot that has exactly one
        self._several: dict[int, OrderedDict[Key, Entry]] = {}  # the decisions of each slot that had more than one
        self.closed = ClosedDecisions(max_pending, closed)

    @property
    def size(self) -> int:
        """The number of decisions that are pending or remembered."""
        return len(self.entries) + len(self.closed)

    @property
    def is_full(self) -> bool:
        """Whether there is no room for another decision."""
        return len(self.entries) >= self.max_pending

    def add(self, entry: Entry) -> None:
        """Append a decision."""
        key, slot, single = entry.key, entry.slot, self._single
        self.entries[key] = entry
        if slot in self._several:
            self._several[slot][key] = entry
        elif slot in single:
            other = single.pop(slot)
            self._several[slot] = OrderedDict({other.key: other, key: entry})
        else:
            single[slot] = entry

    def first(self, slot: int) -> Entry | None:
        """Return the oldest decision of a slot."""
        several = self._several.get(slot)
        return self._single.get(slot) if several is None else next(iter(several.values()))

    def entries_of(self, slot: int) -> list[Entry]:
        """Return all decisions of a slot, oldest first."""
        return [self._single[slot]] if slot in self._single else list(self._several.get(slot, {}).values())

    def oldest(self) -> Entry | None:
        """Return the oldest decision of all."""
        return next(iter(self.entries.values())) if self.entries else None

    def until(self, last: int, limit: int | None) -> list[Entry]:
        """Return at most `limit` decisions up to round `last`, oldest first, without looking at newer ones."""
        old = takewhile(lambda entry: entry.round <= last, self.entries.values())  # the entries are in order of rounds
        return list(islice(old, limit))

    def next_to_expire(self, number: int) -> list[int]:
        """Return the slots of the `number` oldest decisions."""
        return [entry.slot for entry in islice(self.entries.values(), number)]

    def close(self, entry: Entry, reward: FinalReward) -> None:
        """Remove a decision, and remember its reward if the decision has an id."""
        key = entry.key
        del self.entries[key]
        if self._single.pop(entry.slot, None) is None:
            several = self._several[entry.slot]
            del several[key]
            if not several:
                del self._several[entry.slot]
        if type(key) is str:
            self.closed.add(key, reward)

    def outcome_if_closed(self, key: Key, reward: float) -> Outcome:
        """Return the outcome of a reward for a decision that is not pending."""
        found = self.closed.find(key) if isinstance(key, str) else None
        if found is None:
            return "unknown"
        (known,) = found
        if known is None:
            return "expired"
        return "duplicate" if known == reward else "conflict"


class ClosedDecisions:
    """The rewards of the last `most` closed decisions, by id: a second reward is compared with them.

    They are kept in chunks, which are filled one after the other and dropped as a whole. So adding a decision and copying all
    of them are fast. Only a second reward searches the chunks.
    """

    def __init__(self, most: int, rewards: Iterable[tuple[str, FinalReward]] = ()) -> None:
        self._most = most
        self._chunks: deque[dict[str, FinalReward]] = deque([{}])  # oldest first; all but the last are full and do not change
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
                self._chunks.popleft()

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
