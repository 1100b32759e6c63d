"""The ledger of a bandit: the pending decisions, and the rewards of the last closed ones."""

from collections import OrderedDict, deque
from collections.abc import Hashable, Iterable, Iterator
from itertools import chain, islice, takewhile

from rotting.live.arms import arm_to_json
from rotting.live.decisions import Key, Outcome

_CHUNK = 256  # closed decisions

FinalReward = float | None
"""The reward of a closed decision; None if it ended without one."""


class Entry:
    """A pending decision. It never changes, so that a list of entries can be saved while the ledger changes.

    Args:
        key: its id, or its round if `pull` made it.
        slot: the slot of its arm.
        round: its round.
        propensity: the probability of its arm.
        time: when it was made; None if that is not known.
        reward: with a reward window, the reward that came before the window closes.
    """

    __slots__ = ("key", "propensity", "reward", "round", "slot", "time")

    def __init__(
        self,
        key: Key,
        slot: int,
        round: int,
        propensity: float | None,
        time: float | None = None,
        reward: float | None = None,
    ) -> None:
        self.key = key
        self.slot = slot
        self.round = round
        self.propensity = propensity
        self.time = time
        self.reward = reward

    def to_json(self, timed: bool) -> list[object]:
        """Return the arguments that make this entry. `timed`: with time and reward, which only a reward window needs."""
        known: list[object] = [self.key, self.slot, self.round, self.propensity]
        return [*known, self.time, self.reward] if timed else known


class Ledger:
    """The pending decisions, oldest first, and the rewards of closed ones."""

    __slots__ = ("_rewarded", "_several", "_single", "closed", "entries", "max_pending")

    def __init__(self, max_pending: int, closed: Iterable[tuple[str, FinalReward]] = ()) -> None:
        self.max_pending = max_pending
        self.entries: OrderedDict[Key, Entry] = OrderedDict()
        self._single: dict[int, Entry] = {}  # the decision of each slot that has exactly one
        self._several: dict[int, OrderedDict[Key, Entry]] = {}  # the decisions of each slot that had more than one
        # The two above have the decisions without a reward; these are the others, which wait until their window closes.
        self._rewarded: dict[int, dict[Key, Entry]] = {}
        self.closed = ClosedDecisions(max_pending, closed)

    @property
    def size(self) -> int:
        """The number of decisions that are pending or remembered."""
        return len(self.entries) + len(self.closed)

    def add(self, entry: Entry) -> None:
        """Append a decision."""
        key, slot, single = entry.key, entry.slot, self._single
        self.entries[key] = entry
        if entry.reward is not None:
            self._rewarded.setdefault(slot, {})[key] = entry
        elif slot in self._several:
            self._several[slot][key] = entry
        elif slot in single:
            other = single.pop(slot)
            self._several[slot] = OrderedDict({other.key: other, key: entry})
        else:
            single[slot] = entry

    def hold(self, entry: Entry, reward: float) -> None:
        """Keep the reward of a decision until its window closes."""
        if self._single.pop(entry.slot, None) is None:
            self._take_from_several(entry)
        held = Entry(entry.key, entry.slot, entry.round, entry.propensity, entry.time, reward)
        self.entries[entry.key] = held  # at the same place
        self._rewarded.setdefault(entry.slot, {})[entry.key] = held

    def first(self, slot: int) -> Entry | None:
        """Return the oldest decision of a slot without a reward."""
        several = self._several.get(slot)
        return self._single.get(slot) if several is None else next(iter(several.values()))

    def entries_of(self, slot: int) -> list[Entry]:
        """Return all decisions of a slot, those without a reward first."""
        several = [self._single[slot]] if slot in self._single else list(self._several.get(slot, {}).values())
        return several + list(self._rewarded.get(slot, {}).values())

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

    def made_until(self, time: float, otherwise: float) -> Iterator[Entry]:
        """Yield the decisions up to a time, oldest first; `otherwise` is the time of those whose time is not known."""
        return takewhile(lambda entry: (otherwise if entry.time is None else entry.time) <= time, self.entries.values())

    def oldest_entries(self, number: int) -> list[Entry]:
        """Return the `number` oldest decisions."""
        return list(islice(self.entries.values(), number))

    def close(self, entry: Entry, reward: FinalReward) -> None:
        """Remove a decision, and remember its reward if the decision has an id."""
        key = entry.key
        del self.entries[key]
        if entry.reward is None:
            if self._single.pop(entry.slot, None) is None:
                self._take_from_several(entry)
        else:
            rewarded = self._rewarded[entry.slot]
            del rewarded[key]
            if not rewarded:
                del self._rewarded[entry.slot]
        if type(key) is str:
            self.closed.add(key, reward)

    def _take_from_several(self, entry: Entry) -> None:
        several = self._several[entry.slot]
        del several[entry.key]
        if not several:
            del self._several[entry.slot]

    def outcome_if_not_open(self, key: Key, reward: float) -> Outcome:
        """Return the outcome of a reward for a decision that has a reward or is not pending."""
        entry = self.entries.get(key)
        if entry is not None:
            known = entry.reward
        elif isinstance(key, str) and (found := self.closed.find(key)) is not None:
            (known,) = found
        else:
            return "unknown"
        if known is None:
            return "expired"
        return "duplicate" if known == reward else "conflict"


class ClosedDecisions:
    """The rewards of the last `most` closed decisions, by id: a second reward is compared with them.

    They are kept in chunks, which are filled one after the other and dropped as a whole. So adding a decision and copying all
    of them are fast. Only a second reward searches the chunks.
    """

    __slots__ = ("_chunks", "_last", "_most")

    def __init__(self, most: int, rewards: Iterable[tuple[str, FinalReward]] = ()) -> None:
        self._most = most
        self._chunks: list[dict[str, FinalReward]] = [{}]  # oldest first; all but the last are full and do not change
        self._last = self._chunks[-1]
        for id, reward in rewards:
            self.add(id, reward)

    def add(self, id: str, reward: FinalReward) -> None:
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

    def find(self, id: str) -> tuple[FinalReward] | None:
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

    __slots__ = ("_most", "_number", "rounds")

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

    def to_json(self) -> list[object]:
        """Return the rounds of each id as JSON-able data."""
        return [[arm_to_json(arm), list(rounds)] for arm, rounds in self.rounds.items()]
