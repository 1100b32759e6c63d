"""When decisions settle, read from the events of a log: by the rules of `BanditState`, without its policy.

A decision is *pending* until it ends. It ends as *settled* if a reward counts for it: with a reward window when all older
decisions have ended and it has a reward, or when its window closes; without one when its reward comes. It ends as *expired* if
nothing counts for it, or as *cancelled* if it was never shown.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from rotting.live.values import Key
from rotting.server.store.database import Database
from rotting.server.store.events import BanditRecord, decode

T = TypeVar("T")


@dataclass(slots=True)
class _Entry(Generic[T]):
    item: T | None
    round: int
    reward: float | None = None


class Pending(Generic[T]):
    """The pending decisions of a log up to an event, each with an item of the caller.

    The methods take events one by one, and yield the items of the decisions that end with them, and what counts for these.

    Args:
        windowed: whether the bandit has a reward window.

    Example:
        >>> pending = Pending[str](windowed=True)
        >>> pending.decided("4f", 1, "first")
        >>> pending.decided("5a", 2, "second")
        >>> list(pending.rewarded("5a", 1.0)), list(pending.settled(1, 0.0))
        ([], [('first', 0.0), ('second', 1.0)])
    """

    def __init__(self, windowed: bool) -> None:
        self.windowed = windowed
        self._entries: OrderedDict[Key, _Entry[T]] = OrderedDict()

    @classmethod
    def at_the_base(cls, database: Database, record: BanditRecord) -> "Pending[T]":
        """Return what was pending before the first event that a log still has: decisions that have no item."""
        if not record.base:
            return cls("reward_window" in decode(record.description))
        from rotting.server.store.turns import base_of  # noqa: PLC0415 - which would be loaded to read a log

        state = base_of(database, record, "never").bandit.state
        pending = cls(state.window is not None)
        pending._entries.update((entry.key, _Entry(None, entry.round, entry.reward)) for entry in state.ledger.entries.values())
        return pending

    def __len__(self) -> int:
        return len(self._entries)

    def decided(self, key: Key, round: int, item: T) -> None:
        """Add a decision."""
        self._entries[key] = _Entry(item, round)

    def rewarded(self, key: Key, reward: float) -> Iterator[tuple[T, float | None]]:
        """Take a reward."""
        entry = self._entries.get(key)
        if entry is not None:
            entry.reward = reward
            if not self.windowed:
                yield from self.ended(key, reward)
        yield from self._ready()

    def ended(self, key: Key, reward: float | None) -> Iterator[tuple[T, float | None]]:
        """End a decision that was expired or cancelled."""
        entry = self._entries.pop(key, None)
        if entry is not None and entry.item is not None:
            yield entry.item, reward
        yield from self._ready()

    def settled(self, last: int, missing: float | None) -> Iterator[tuple[T, float | None]]:
        """End all decisions up to a round, whose window has closed."""
        while self._entries and (oldest := next(iter(self._entries.values()))).round <= last:
            self._entries.popitem(last=False)
            if oldest.item is not None:
                yield oldest.item, missing if oldest.reward is None else oldest.reward
        yield from self._ready()

    def changed(self, windowed: bool) -> Iterator[tuple[T, float | None]]:
        """Set whether there is a reward window."""
        self.windowed = windowed
        for key in [] if windowed else [key for key, entry in self._entries.items() if entry.reward is not None]:
            yield from self.ended(key, self._entries[key].reward)

    def forgotten(self, belongs: Callable[[T], bool]) -> Iterator[tuple[T, float | None]]:
        """End the decisions of an arm that was forgotten."""
        for key in [key for key, entry in self._entries.items() if entry.item is not None and belongs(entry.item)]:
            item = self._entries.pop(key).item
            if item is not None:
                yield item, None
        yield from self._ready()

    def _ready(self) -> Iterator[tuple[T, float | None]]:
        """With a window, settle the oldest decisions as long as they have a reward."""
        while self.windowed and self._entries and (oldest := next(iter(self._entries.values()))).reward is not None:
            self._entries.popitem(last=False)
            if oldest.item is not None:
                yield oldest.item, oldest.reward
