"""Limits of arms: those that are paused, and the most and the least share of the decisions of the last hour that an arm gets.

A paused arm and one that has reached its cap are not available, so that the log says what could be chosen. A cap counts only as
long as another arm is available. An arm below its floor is chosen in place of the policy's choice, unless the decision is held
out; of several such arms, the one that is furthest below. Shares are counted in minutes, from the moment on that an arm has a
cap or a floor.
"""

import math
from collections import deque
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from rotting.common.arrays import Ints
from rotting.common.rules import Rule
from rotting.errors import InvalidTypeError, InvalidValueError

_SHARE = Rule("a share above 0, at most 1", low=0.0, high=1.0, open_low=True)
_MINUTE, _HOUR = 60.0, 60  # seconds, minutes


def check_shares(name: str, shares: object) -> list[tuple[Hashable, float]]:
    """Return pairs of an arm and its share, or raise an error that calls them `name`."""
    if not isinstance(shares, Mapping):
        raise InvalidTypeError(name, "be shares by arm, such as {'c07': 0.2}", shares)
    pairs = [(arm, _SHARE.check(f"{name}[{arm!r}]", share)) for arm, share in shares.items()]
    total = math.fsum(share for _, share in pairs)
    if name == "floors" and total > 1.0:
        raise InvalidValueError("floors", "sum to at most 1", shares, got=f"{total:g}")
    return pairs


class Limits:
    """The limits of a bandit's arms, by slot, and the decisions of the last hour."""

    def __init__(self) -> None:
        self.paused: set[int] = set()
        self.caps: dict[int, float] = {}
        self.floors: dict[int, float] = {}
        self._minutes: deque[tuple[int, dict[int, int]]] = deque()  # the decisions of each slot in a minute, oldest first
        self._counts: dict[int, int] = {}  # their sums
        self._total = 0

    def copy(self) -> "Limits":
        """Return an independent copy."""
        return Limits.from_json(self.to_json())

    def to_json(self) -> list[Any]:
        """Return the limits and the counts as JSON-able data."""
        minutes = [[minute, sorted(counts.items())] for minute, counts in self._minutes]
        return [sorted(self.paused), sorted(self.caps.items()), sorted(self.floors.items()), minutes]

    @classmethod
    def from_json(cls, data: list[Any]) -> "Limits":
        """Return what `to_json` wrote."""
        limits = cls()
        limits.paused, limits.caps, limits.floors = set(data[0]), dict(data[1]), dict(data[2])
        for minute, counts in data[3]:
            for slot, count in counts:
                limits._add(minute, slot, count)
        return limits

    def _add(self, minute: int, slot: int, count: int) -> None:
        if not self._minutes or self._minutes[-1][0] < minute:
            self._minutes.append((minute, {}))
        newest = self._minutes[-1][1]
        newest[slot] = newest.get(slot, 0) + count
        self._counts[slot] = self._counts.get(slot, 0) + count
        self._total += count

    def decided(self, slot: int, time: float) -> None:
        """Count a decision."""
        self._drop_old(time)
        if self.caps or self.floors:
            self._add(int(time // _MINUTE), slot, 1)

    def forget(self, slot: int) -> None:
        """Drop the limits of a slot, whose next arm is another one; its decisions stay counted for the shares of the others."""
        self.paused.discard(slot)
        self.caps.pop(slot, None)
        self.floors.pop(slot, None)
        for counts in (self._counts, *(each for _, each in self._minutes)):
            if slot in counts:
                counts[-1] = counts.get(-1, 0) + counts.pop(slot)

    def _drop_old(self, time: float) -> None:
        if not (self.caps or self.floors):
            self._minutes.clear()
            self._counts.clear()
            self._total = 0
        while self._minutes and self._minutes[0][0] <= time // _MINUTE - _HOUR:
            for slot, count in self._minutes.popleft()[1].items():
                self._counts[slot] -= count
                self._total -= count

    def capped(self, slots: Iterable[int], time: float) -> list[int]:
        """Return the slots that one more decision would bring above their cap."""
        self._drop_old(time)
        total = self._total + 1
        return [slot for slot in slots if self._counts.get(slot, 0) + 1 > self.caps.get(slot, math.inf) * total]

    def without_capped(self, among: Ints, time: float) -> Ints:
        """Return the slots that have not reached their cap; all if none is left."""
        if not self.caps:
            return among
        free = np.setdiff1d(among, self.capped(among.tolist(), time), assume_unique=True)
        return free if free.size else among

    def due(self, among: Ints, time: float) -> int | None:
        """Return the slot that is furthest below its floor, the lowest one on a tie; None if none is below."""
        if not self.floors:
            return None
        self._drop_old(time)
        missing = {slot: self.floors[slot] * (self._total + 1) - self._counts.get(slot, 0) for slot in self.floors}
        below = [slot for slot in among.tolist() if missing.get(slot, 0.0) > 0.0]
        return max(below, key=missing.__getitem__, default=None)
