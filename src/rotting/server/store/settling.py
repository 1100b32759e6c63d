"""When decisions settle, read from the events of a log: by the rules of `BanditState`, without its policy.

A decision is *pending* until it ends. It ends as *settled* if a reward counts for it: with a reward window when all older
decisions have ended and it has a reward, or when its window closes; without one when its reward comes. It ends as *expired* if
nothing counts for it, or as *cancelled* if it was never shown.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from rotting.live.values import Key
from rotting.server.store.database import Database
from rotting.server.store.events import BanditRecord, decode

T = TypeVar("T")


class CountedEvent(msgspec.Struct, gc=False):
    """The fields of an event that say what was decided, and what became of it."""

    event: str = ""
    id: Key = ""
    round: int = 0
    arm: Any = None
    reward: float | None = None
    propensity: float | None = None
    arms: msgspec.Raw = msgspec.Raw(b"null")  # not decoded: it only matters whether these two are null
    without: msgspec.Raw = msgspec.Raw(b"null")
    missing: float | None = None
    unit: str | None = None
    rule: str = ""
    reward_window: float | UnsetType | None = UNSET

    @property
    def restricted(self) -> bool:
        """Whether only some of the arms could be chosen."""
        return bytes(self.arms) != b"null" or bytes(self.without) != b"null"


counted_event = msgspec.json.Decoder(CountedEvent).decode
"""Decodes the payload of an event."""


@dataclass(slots=True)
class _Entry(Generic[T]):
    item: T | None
    round: int
    time: float = 0.0
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
        for entry in state.ledger.entries.values():
            pending._entries[entry.key] = _Entry(None, entry.round, entry.time, entry.reward)
        return pending

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def oldest(self) -> float | None:
        """The time of the oldest pending decision; None without one."""
        return next((entry.time for entry in self._entries.values()), None)

    def decided(self, key: Key, round: int, item: T, time: float = 0.0) -> None:
        """Add a decision."""
        self._entries[key] = _Entry(item, round, time)

    def take(self, event: CountedEvent) -> Iterator[tuple[T, float | None]]:
        """Take any event but `decided`, and those of arms that are forgotten."""
        kind = event.event
        if kind == "rewarded" and event.reward is not None:
            return self.rewarded(event.id, event.reward)
        if kind in {"expired", "cancelled"}:
            return self.ended(event.id, event.reward)
        if kind == "settled":
            return self.settled(event.round, event.missing)
        if kind == "changed" and event.reward_window is not UNSET:
            return self.changed(event.reward_window is not None)
        return iter(())

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
