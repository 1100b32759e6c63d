"""Intervals of mean rewards that also hold if there are few events, or none.

The interval of clicks and counts around their mean has no width where no click was seen, and may reach below 0. These ones come
from the score test with a correction for continuity (Wilson 1927, Blyth and Still 1983), which are close to the exact ones and
hold the mean at least as often as they say in every case that docs/diagnosis.md measures. Amounts count as so many events as
explain their variance.
"""

import math
from statistics import NormalDist

import numpy as np

from rotting.common.arrays import Floats
from rotting.common.statistics import LEVEL, Interval
from rotting.logs.cells import Scale

Z = NormalDist().inv_cdf((1 + LEVEL) / 2)


_ENOUGH = 30  # rewards that have a standard deviation of their own


class RewardScale:
    """The rewards of a log, from which the noise of each of its means is known.

    Args:
        reward: all known rewards.
        scale: how they are compared.
    """

    def __init__(self, reward: Floats, scale: Scale) -> None:
        self.scale = scale
        largest = float(np.abs(reward).max(initial=0.0)) or 1.0  # squares of tiny or huge rewards would have no digits
        relative = reward / largest
        self.deviation = largest * float(relative.std()) if reward.size else 0.0
        self.size = largest * float((relative**2).sum() / relative.sum()) if scale.ratios else 1.0

    def interval(self, reward: Floats, z: float = Z) -> Interval:
        """Return the mean of some of the rewards, at least one, and its interval; z is that of its level.

        Example:
            >>> clicks = RewardScale(np.array([0.0, 1.0]), Scale(ratios=True, is_binary=True))
            >>> mean, low, high = clicks.interval(np.zeros(100))
            >>> mean, low, round(high, 3)
            (0.0, 0.0, 0.046)
        """
        rows, mean = reward.size, float(reward.mean())
        if self.scale.is_binary:
            return Interval(mean, *_share_interval(float(reward.sum()), rows, z))
        if self.scale.ratios:
            low, high = _count_interval(float(reward.sum()) / self.size, z)
            return Interval(mean, low * self.size / rows, high * self.size / rows)
        largest = float(np.abs(reward).max()) or 1.0
        deviation = largest * float((reward / largest).std(ddof=1)) if rows > 1 else 0.0
        deviation = max(deviation, self.deviation / 2) if rows < _ENOUGH else deviation
        half = z * deviation / math.sqrt(rows)
        return Interval(mean, mean - half, mean + half)

    def change(self, before: Floats, after: Floats, z: float = Z) -> Interval:
        """Return the difference of two means and its interval, from the intervals of both (Newcombe 1998)."""
        (first, low, high), (last, low_last, high_last) = self.interval(before, z), self.interval(after, z)
        assert low is not None and high is not None and low_last is not None and high_last is not None  # noqa: PT018
        change = last - first
        return Interval(
            change, change - math.hypot(last - low_last, high - first), change + math.hypot(high_last - last, first - low)
        )


def _share_interval(successes: float, rows: int, z: float) -> tuple[float, float]:
    """Return the score interval of a share, corrected for continuity."""
    share, square = successes / rows, z * z

    def end(p: float, side: float) -> float:
        root = math.sqrt(max(square - 1 / rows + 4 * rows * p * (1 - p) + side * (4 * p - 2), 0.0))
        return (2 * rows * p + square - side * (z * root + 1)) / (2 * (rows + square))

    low = 0.0 if successes == 0 else max(end(share, 1.0), 0.0)
    high = 1.0 if successes == rows else min(1 - max(end(1 - share, 1.0), 0.0), 1.0)
    return low, high


def _count_interval(events: float, z: float) -> tuple[float, float]:
    """Return the score interval of the mean of a Poisson count, corrected for continuity."""
    middle, quarter = z * z / 2, z * z / 4
    fewer = max(events - 0.5, 0.0)
    low = max(fewer + middle - z * math.sqrt(fewer + quarter), 0.0)
    return low, events + 0.5 + middle + z * math.sqrt(events + 0.5 + quarter)


def weighted_interval(parts: Floats, heaviest: float, z: float = Z) -> tuple[float, float]:
    """Return the interval of the mean of a sum of events with weights (Fay and Feuer 1997).

    Args:
        parts: the weight times the size of each event.
        heaviest: the largest that any event could have had, also one that did not happen.
        z: of the level of the interval.

    Example:
        >>> low, high = weighted_interval(np.ones(4), heaviest=1.0)  # four events, each of weight 1: Garwood's interval
        >>> round(low, 1), round(high, 1)
        (1.1, 10.2)
    """
    total, square = float(parts.sum()), float((parts**2).sum())
    low = 0.0 if total == 0 else square / (2 * total) * _chi_square(2 * total**2 / square, -z)
    more, wider = total + heaviest, square + heaviest**2
    return low, wider / (2 * more) * _chi_square(2 * more**2 / wider, z)


def _chi_square(degrees: float, z: float) -> float:
    """Return the quantile of a chi-square variable at the level of a standard normal one (Wilson and Hilferty 1931)."""
    return degrees * max(1 - 2 / (9 * degrees) + z * math.sqrt(2 / (9 * degrees)), 0.0) ** 3
