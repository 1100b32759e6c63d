"""Claims of a paper as statements that numbers decide: an estimate, its 95 % interval, the region claimed, a verdict."""

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from rotting.arrays import Floats
from rotting.statistics import Interval, mean_interval, t_critical


class Verdict(StrEnum):
    """What an interval says of a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "undecided"


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, and what was measured.

    Args:
        id: its stable name.
        source: where the paper makes it.
        words: what it says.
        quantity: what was measured to decide it.
        estimate: the measured value and its 95 % interval.
        low: the claim holds for values of at least this,
        high: and of at most this.
        decimals: of the numbers when written.

    Example:
        >>> Claim("four", "appendix", "four times better", "ratio", Interval(3.9, 3.7, 4.1), low=2.0, high=8.0).verdict
        <Verdict.HOLDS: 'holds'>
        >>> Claim("better", "appendix", "is better", "ratio", Interval(1.1, 0.9, 1.3), low=1.0).verdict
        <Verdict.OPEN: 'undecided'>
    """

    id: str
    source: str
    words: str
    quantity: str
    estimate: Interval
    low: float = -math.inf
    high: float = math.inf
    decimals: int = 2

    @property
    def verdict(self) -> Verdict:
        """Holds if the whole interval is in the claimed region, does not if none of it is, else undecided."""
        _, low, high = self.estimate
        if low is None or high is None or math.isnan(low) or math.isnan(high):
            return Verdict.OPEN
        if self.low <= low and high <= self.high:
            return Verdict.HOLDS
        return Verdict.FAILS if high < self.low or low > self.high else Verdict.OPEN

    @property
    def region(self) -> str:
        """The claimed region in words."""
        if math.isinf(self.high):
            return f"at least {self.low:,g}"
        if math.isinf(self.low):
            return f"at most {self.high:,g}"
        return f"between {self.low:,g} and {self.high:,g}"

    @property
    def measured(self) -> str:
        """The estimate and its interval, written."""
        style = f",.{self.decimals}f"
        mean, low, high = self.estimate
        interval = "" if low is None or high is None else f" [{low:{style}}, {high:{style}}]"
        return f"{mean:{style}}{interval}"


def ratio(upper: Floats, lower: Floats) -> Interval:
    """Return the ratio of two means over the same runs, with its 95 % interval.

    The interval is Fieller's: all r for which `upper - r lower` has a mean that Student's test cannot tell from zero. Runs are
    paired, so what a run gives to both cancels. Its ends are unknown when the mean of `lower` itself cannot be told from zero.

    Args:
        upper: one number per run.
        lower: one number per run, in the same order.

    Example:
        >>> mean, low, high = ratio(np.array([4.0, 6.0, 8.0]), np.array([2.0, 3.0, 4.1]))
        >>> round(mean, 2), round(low, 2), round(high, 2)
        (1.98, 1.93, 2.45)

    Reference:
        Fieller (1954), Some problems in interval estimation.
    """
    a, b, n = float(upper.mean()), float(lower.mean()), len(upper)
    if b == 0 or n < 2:
        return Interval(math.nan if b == 0 else a / b, None, None)
    (aa, ab), (_, bb) = np.cov(upper, lower) / n * t_critical(n - 1) ** 2
    if b * b <= bb:
        return Interval(a / b, None, None)
    root = math.sqrt(max(0.0, (a * b - ab) ** 2 - (a * a - aa) * (b * b - bb)))
    ends = ((a * b - ab - root) / (b * b - bb), (a * b - ab + root) / (b * b - bb))
    return Interval(a / b, float(min(ends)), float(max(ends)))


def difference(upper: Floats, lower: Floats) -> Interval:
    """Return the mean difference over the same runs, with its 95 % interval.

    Example:
        >>> difference(np.array([2.0, 2.0]), np.array([1.0, 1.0]))
        Interval(mean=1.0, low=1.0, high=1.0)
    """
    return mean_interval(upper - lower)
