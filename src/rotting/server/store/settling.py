"""When decisions settle, read from the events of a log: by the rules of `BanditState`, without its policy.

A decision is *pending* until it ends. It ends as *settled* if a reward counts for it: with a reward window when all older
decisions have ended and it has a reward, or when its window closes; without one when its reward comes. It ends as *expired* if
nothing counts for it, or as *cancelled* if it was never shown.
"""

from collections import OrderedDict
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from rotting.live.arms import arm_to_json
from rotting.live.bandit_state import BanditState
from rotting.live.events import one_by_one
from rotting.live.values import Key
from rotting.server.store.database import Database
from rotting.server.store.events import BanditRecord, decode, initial_state

T = TypeVar("T")


class CountedEvent(msgspec.Struct, gc=False):
    """The fields of an event that say what was decided, and what became of it."""

    event: str = ""
    id: Key = ""
    round: int = 0
    arm: Any = None
    reward: float | None = None
    propensity: float | None = 1.0
    arms: msgspec.Raw = msgspec.Raw(b"null")  # not decoded: mostly it only matters whether these two are null
    without: msgspec.Raw = msgspec.Raw(b"null")
    missing: float | None = None
    unit: str | None = None
    rule: str = ""
    reward_window: float | UnsetType | None = UNSET
    paused: list[Any] | None = None

    @property
    def restricted(self) -> bool:
        """Whether only some of the arms could be chosen."""
        return bytes(self.arms) != b"null" or bytes(self.without) != b"null"


_decode = msgspec.json.Decoder(CountedEvent).decode


def counted_events(payload: bytes) -> list[CountedEvent]:
    """Return the event in a payload, or a `learned` event for each row of a `learned_many`."""
    event = _decode(payload)
    if event.event == "learned_many":
        rows = one_by_one({"propensities": None, **decode(payload)})
        return [CountedEvent("learned", arm=row["arm"], reward=row["reward"], propensity=row["propensity"]) for row in rows]
    if event.event == "learned":
        event.propensity = None
    return [event]


def state_at_the_base(database: Database, record: BanditRecord) -> BanditState:
    """Return the state of a bandit before the first event that its log still has."""
    if not record.base:
        return initial_state(record, "never")
    from rotting.server.store.turns import base_of  # noqa: PLC0415 - which would be loaded to read a log

    return base_of(database, record, "never").bandit.state


@dataclass(slots=True)
class _Entry(Generic[T]):
    item: T | None
    arm: object  # as in the log
    round: int
    time: float
    reward: float | None = None


class Pending(Generic[T]):
    """The pending decisions of a log up to an event, each with an item of the caller.

    Args:
        windowed: whether the bandit has a reward window.

    Example:
        >>> pending = Pending[str](windowed=True)
        >>> for kind, key in ("decided", "4f"), ("decided", "5a"), ("rewarded", "5a"):
        ...     _ = pending.take(CountedEvent(kind, key, round=len(pending) + 1, reward=1.0), key)
        >>> pending.take(CountedEvent("settled", round=1, missing=0.0))
        [('4f', 0.0), ('5a', 1.0)]
    """

    def __init__(self, windowed: bool) -> None:
        self.windowed = windowed
        self._entries: OrderedDict[Key, _Entry[T]] = OrderedDict()

    @classmethod
    def of(cls, state: BanditState) -> "Pending[T]":
        """Return what is pending in a state: decisions that have no item."""
        pending = cls(state.window is not None)
        for entry in state.ledger.entries.values():
            arm = arm_to_json(state.arms.names[entry.slot])
            pending._entries[entry.key] = _Entry(None, arm, entry.round, entry.time, entry.reward)
        return pending

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def oldest(self) -> float | None:
        """The time of the oldest pending decision; None without one."""
        return next((entry.time for entry in self._entries.values()), None)

    def older_than(self, moment: float) -> int:
        """Return how many decisions were made before a moment."""
        return sum(1 for _ in takewhile(lambda entry: entry.time < moment, self._entries.values()))

    def take(self, event: CountedEvent, item: T | None = None, time: float = 0.0) -> list[tuple[T, float | None]]:
        """Take an event; return the items of the decisions that end with it, and what counts for each.

        Args:
            event: the event.
            item: the item of a decision that is made.
            time: when it is made.
        """
        kind, entries, ended = event.event, self._entries, list[tuple[T, float | None]]()
        if kind == "decided":
            entries[event.id] = _Entry(item, event.arm, event.round, time)
            return ended
        if kind == "rewarded" and event.id in entries:
            entries[event.id].reward = event.reward
            if not self.windowed:
                self._end(event.id, event.reward, ended)
        elif kind in {"expired", "cancelled"}:
            self._end(event.id, event.reward, ended)
        elif kind == "settled":
            while entries and (oldest := next(iter(entries.items())))[1].round <= event.round:
                self._end(oldest[0], event.missing if oldest[1].reward is None else oldest[1].reward, ended)
        elif kind == "changed" and event.reward_window is not UNSET:
            self.windowed = event.reward_window is not None
            for key in [] if self.windowed else [key for key, entry in entries.items() if entry.reward is not None]:
                self._end(key, entries[key].reward, ended)
        elif kind in {"added", "forgotten"}:  # an added arm is new, even if an arm of this name was removed before
            for key in [key for key, entry in entries.items() if entry.arm == event.arm]:
                self._end(key, None, ended)
        # With a window, the oldest decisions settle as long as they have a reward.
        while self.windowed and entries and (oldest := next(iter(entries.items())))[1].reward is not None:
            self._end(oldest[0], oldest[1].reward, ended)
        return ended

    def _end(self, key: Key, reward: float | None, ended: list[tuple[T, float | None]]) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None and entry.item is not None:
            ended.append((entry.item, reward))
