"""A sample of the decisions of a bandit, by which the service judges what wears out."""

from collections.abc import Collection, Hashable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from rotting.common.arrays import AnyArray
    from rotting.logs.diagnosis import Diagnosis

_ROWS = 100_000  # decisions that are judged
_AT_ONCE = 10_000  # decisions that are added to the others together
_KINDS = np.int64, np.int64, np.float64, np.float64, object  # of the round, the arm, the reward, the time and the unit
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # multiplied by it, the upper bits of neighbouring numbers are unlike (Knuth)
_NOT_SEEN = "how long it lasts is not known: too little is seen of it since it fell"
_NOT_COUNTED = "how long it lasts is not known here: rotting.diagnose counts its pulls in the whole log"


class Sample:
    """The settled decisions of a bandit that are judged: all of arms that are shown rarely, and a part of the others.

    An arm that fell long ago would look steady without the decisions from before it fell.

    Args:
        is_whole: whether it gets all decisions from the first one on.
        size: the largest number of decisions that it keeps.
    """

    def __init__(self, is_whole: bool = True, size: int = _ROWS) -> None:
        self._is_whole, self._size = is_whole, size
        self._new: list[tuple[int, int, float, float, str]] = []
        self._columns: tuple[AnyArray, ...] = tuple(np.zeros(0, kind) for kind in _KINDS)

    def add(self, round: int, arm: int, reward: float, time: float, unit: str | None) -> bool:
        """Add a decision that has settled; return whether to call `collect`."""
        self._new.append((round, arm, reward, time, unit or ""))
        return len(self._new) >= _AT_ONCE

    def collect(self, offered: Collection[int]) -> None:
        """Keep the new decisions with the others. `offered`: the arms that can be chosen now.

        If there are too many, those of arms that are gone are left out, and half of those of the arm that has most, again and
        again. A hash of its round says whether a decision is one of them: whatever it paid, and whenever it was made.
        """
        new = zip(*self._new, strict=True) if self._new else [()] * len(_KINDS)
        pairs = zip(self._columns, new, _KINDS, strict=True)
        self._columns = tuple(np.concatenate([old, np.array(each, kind)]) for old, each, kind in pairs)
        self._new = []
        rounds, arms = self._columns[:2]
        if rounds.size <= self._size:
            return
        self._is_whole = False
        kept = np.isin(arms, list(offered))
        counts = np.bincount(arms[kept])
        halvings = np.zeros_like(counts)
        hashed = rounds.astype(np.uint64) * _GOLDEN >> np.uint64(32)
        while counts.sum() > self._size:
            most = int(counts.argmax())
            halvings[most] += 1
            own = kept & (arms == most)
            kept[own] = hashed[own] % (1 << int(halvings[most])) == 0
            counts[most] = kept[own].sum()
        self._columns = tuple(each[kept] for each in self._columns)

    def taken(self, names: Mapping[int, Hashable], offered: Collection[int]) -> "Taken":
        """Return the decisions of the arms that have a name: those that were not forgotten."""
        self.collect(offered)
        kept = np.isin(self._columns[1], list(names))
        return Taken(tuple(each[kept] for each in self._columns), names, self._is_whole)


class Taken(NamedTuple):
    """A sample at some time."""

    columns: "tuple[AnyArray, ...]"
    names: Mapping[int, Hashable]
    is_whole: bool
    """Whether it has all decisions of these arms."""

    def wearing_out(self) -> dict[Hashable, str]:
        """Return the arms that wear out, with how long they last.

        They are those of which `rotting.diagnose` says so, and those that `fallen` finds.
        """
        found = self.diagnosis()
        if found is None:
            return {}
        from rotting.logs.diagnosis import fallen  # noqa: PLC0415 - as soon as there is something to judge

        lasts = {int(str(found.log.arms[place])): _NOT_SEEN for place in fallen(found.log)}
        for each in found.arms:
            if each.verdict == "wears out":
                is_counted = self.is_whole or found.decay != "pulls" or each.half_life_reason
                lasts[int(str(each.name))] = found.lifetime(each) if is_counted else _NOT_COUNTED
        return {self.names[arm]: text for arm, text in lasts.items()}

    def diagnosis(self) -> "Diagnosis | None":
        """Return what `rotting.diagnose` says; the names of its arms are the numbers in `names`. None without decisions."""
        if not self.columns[0].size:
            return None
        from rotting.logs.diagnosis import diagnose  # noqa: PLC0415 - as soon as there is something to judge
        from rotting.logs.log import Log  # noqa: PLC0415

        _, arm, reward, time, unit = self.columns
        columns = {"arm": arm, "reward": reward, "time": (time * 1e6).astype("datetime64[us]"), "unit": unit}
        return diagnose(Log(columns, time="time", unit="unit" if (unit != "").any() else None))
