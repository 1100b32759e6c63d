"""What a search of an arm's windows learns and later searches can use: floors below the upper bounds of its windows.

There is one floor for the blocks of each size (`prefix_blocks.py`). If at N pulls all windows that start in those blocks had
`mean + w / sqrt(h) >= floor`, and the m rewards since then add up to G, then with any w' >= w

    (h mean + G) / (h + m) + w' / sqrt(h + m)  >=  (h floor + G) / (h + m) + w (sqrt(h + m) - sqrt(h)) / (h + m),

whose last term is not negative: a bound falls no faster than the mean of h rewards of `floor` would. The first term is smallest
at the shortest or at the longest of the windows.
"""

from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.parts.prefix_blocks import FAN, SHIFT, SLACK, History


class Floors(NamedTuple):
    """The floors of every arm, for blocks of 8, 64, 512, ... starts."""

    value: Floats  # [K, sizes] no upper bound of a window that starts in blocks of this size was below it
    pulls: Ints  # [K, sizes] at so many pulls of the arm,
    end: Ints  # [K, sizes] for starts before this one


def new_floors(n_arms: int, capacity: int) -> Floors:
    """Return floors for histories of `capacity` rewards; none is known yet."""
    sizes = 1
    while FAN << (SHIFT * sizes) <= capacity:
        sizes += 1
    return Floors(
        value=np.zeros((n_arms, sizes)), pulls=np.zeros((n_arms, sizes), np.int64), end=np.zeros((n_arms, sizes), np.int64)
    )


def keep_floor(floors: Floors, history: History, i: int, k: int, end: int, floor: float) -> None:
    """Keep that no window that starts in the blocks of size number k before `end` has an upper bound below `floor` now."""
    floors.value[i, k], floors.pulls[i, k], floors.end[i, k] = floor, history.pulls[i], end


def floor_now(floors: Floors, history: History, i: int, k: int, first: int, level: float, limit: float) -> float:
    """Return what the floor has become, for widths `level / sqrt(h)` of a level that never falls.

    Args:
        floors: the floors.
        history: the rewards.
        i: the arm.
        k: the number of the size.
        first: the first start in blocks of that size.
        level: that of now.
        limit: what the floor is to be compared with; rounding is allowed for at its size.
    """
    n, then, floor = history.pulls[i], floors.pulls[i, k], floors.value[i, k]
    total, before, more = history.high[i, n], history.high[i, then], n - then
    gain = total - before - SLACK * (abs(total) + abs(before))
    h = then - first if gain > more * floor else then - floors.end[i, k] + 1
    return float((h * floor + gain) / (h + more) - SLACK * (abs(floor) + abs(limit) + level))
