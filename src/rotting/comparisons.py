"""How policies compare over several problems: ratios of regrets and of their spreads, with intervals.

Every array has the axes [problem, run]; runs of one number were paid the same rewards, so they are left out together.
"""

from collections.abc import Callable

import numpy as np

from rotting.arrays import Floats
from rotting.statistics import LEVEL, Interval, jackknife, jackknife_error, t_critical

Combine = Callable[[Floats], float]
"""Makes one number of one per problem."""


def geometric_mean(values: Floats) -> float:
    """Return the geometric mean, the natural one of ratios.

    Example:
        >>> geometric_mean(np.array([1.0, 4.0]))
        2.0
    """
    with np.errstate(divide="ignore", invalid="ignore"):  # a ratio of 0 makes it 0, and none that is known makes it unknown
        return float(np.exp(np.log(values).mean()))


def mean_ratio(upper: Floats, lower: Floats, combine: Combine = geometric_mean) -> Interval:
    """Return how many times larger the mean regret `upper` is than `lower`, over all problems.

    Args:
        upper: regret at the end `[problem, run]`.
        lower: that of the policy to compare with.
        combine: of the problems' ratios; their geometric mean by default.

    Example:
        >>> mean_ratio(np.array([[2.0, 2.0], [8.0, 8.0]]), np.ones((2, 2)))
        Interval(mean=4.0, low=4.0, high=4.0)
    """
    return _positive(lambda runs: combine(_over(*runs.mean(axis=2))), np.stack([upper, lower]))


def smallest_ratio(upper: Floats, lower: Floats) -> Interval:
    """Return the smallest over the problems of the ratio of mean regrets, for claims that hold on all of them.

    Above the interval's low end is every problem's ratio, each at 95 %: when it is above 1, all are. Below its high end is the
    smallest ratio, at 95 % for all problems together (Bonferroni): when it is below 1, some problem's ratio surely is. (Leaving
    out runs from the smallest itself would not do: the smallest of many noisy ratios is too small.)

    Args:
        upper: regret at the end `[problem, run]`.
        lower: that of the policy to compare with.

    Example:
        >>> smallest_ratio(np.array([[2.0, 2.0], [8.0, 8.0]]), np.ones((2, 2)))
        Interval(mean=2.0, low=2.0, high=2.0)
    """
    together = 1 - (1 - LEVEL) / len(upper)
    ratios, lows, highs = [], [], []
    for runs in np.stack([upper, lower], axis=1):
        ratio, error, degrees = _log_error(lambda left: float(_over(*left.mean(axis=1))), runs)
        ratios.append(_exp(ratio))
        if degrees:
            lows.append(_exp(ratio - t_critical(degrees) * error))
            highs.append(_exp(ratio + t_critical(degrees, together) * error))
    return Interval(min(ratios), min(lows, default=None), min(highs, default=None))


def spread_ratio(upper: Floats, lower: Floats, combine: Combine = geometric_mean) -> Interval:
    """Return how many times larger the standard deviation of `upper` over the runs is than that of `lower`.

    Example:
        >>> spread_ratio(np.array([[2.0, 4.0, 6.0]]), np.array([[1.0, 2.0, 3.0]]))
        Interval(mean=2.0, low=2.0, high=2.0)
    """
    return _positive(lambda runs: combine(_over(*runs.std(axis=2))), np.stack([upper, lower]))


def growth(early: Floats, middle: Floats, late: Floats) -> Interval:
    """Return what the mean regret gains from the middle to the late round, over what it gains from the early to the middle one.

    Rounds t, 2 t and 4 t tell 1 (it grows like log t), sqrt(2) (like its root) and 2 (like t) apart; rounds T / 2, 3 T / 4
    and T tell 0.71, 0.84 and 1.

    Args:
        early: regret of each run at the early round.
        middle: at the middle one.
        late: at the late one.

    Example:
        >>> growth(np.full(3, 1.0), np.full(3, 2.0), np.full(3, 4.0))
        Interval(mean=2.0, low=2.0, high=2.0)
    """
    return jackknife(lambda runs: float(_over(*np.diff(runs, axis=0)[::-1].mean(axis=1))), np.stack([early, middle, late]))


def _positive(statistic: Callable[[Floats], float], values: Floats) -> Interval:
    log, error, degrees = _log_error(statistic, values)
    if not degrees:
        return Interval(_exp(log), None, None)
    half = t_critical(degrees) * error
    return Interval(_exp(log), _exp(log - half), _exp(log + half))


def _log_error(statistic: Callable[[Floats], float], values: Floats) -> tuple[float, float, int]:
    """Leave out runs on the logarithmic scale, on which a ratio can move either way, and below zero nothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return jackknife_error(lambda runs: float(np.log(statistic(runs))), values)


def _exp(log: float) -> float:
    with np.errstate(over="ignore"):  # an end too far to be told is infinite
        return float(np.exp(log))


def _over(upper: Floats, lower: Floats) -> Floats:
    """Divide; what cannot be told, as in a game too short to regret anything, is not a number, and decides nothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(lower == 0, np.nan, upper / lower))
