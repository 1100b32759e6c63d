"""How policies compare over several problems: ratios of regrets and of their spreads, with intervals.

Every array has the axes [problem, run]; runs of one number were paid the same rewards, so they are left out together.
"""

from collections.abc import Callable

import numpy as np

from rotting.arrays import Floats
from rotting.statistics import Interval, jackknife

Combine = Callable[[Floats], float]
"""Makes one number of one per problem."""


def geometric_mean(values: Floats) -> float:
    """Return the geometric mean, the natural one of ratios.

    Example:
        >>> geometric_mean(np.array([1.0, 4.0]))
        2.0
    """
    return float(np.exp(np.log(values).mean()))


def smallest(values: Floats) -> float:
    """Return the smallest value.

    Example:
        >>> smallest(np.array([1.0, 4.0]))
        1.0
    """
    return float(values.min())


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
    return jackknife(lambda runs: combine(_over(*runs.mean(axis=2))), np.stack([upper, lower]))


def spread_ratio(upper: Floats, lower: Floats, combine: Combine = geometric_mean) -> Interval:
    """Return how many times larger the standard deviation of `upper` over the runs is than that of `lower`.

    Example:
        >>> spread_ratio(np.array([[2.0, 4.0, 6.0]]), np.array([[1.0, 2.0, 3.0]]))
        Interval(mean=2.0, low=2.0, high=2.0)
    """
    return jackknife(lambda runs: combine(_over(*runs.std(axis=2))), np.stack([upper, lower]))


def growth(early: Floats, middle: Floats, late: Floats) -> Interval:
    """Return what the second doubling of the rounds adds to the mean regret, over what the first one adds.

    It is 1 for a regret that grows like log t, sqrt(2) like sqrt(t), and 2 like t.

    Args:
        early: regret of each run at a round t.
        middle: at 2 t.
        late: at 4 t.

    Example:
        >>> growth(np.full(3, 1.0), np.full(3, 2.0), np.full(3, 4.0))
        Interval(mean=2.0, low=2.0, high=2.0)
    """
    return jackknife(lambda runs: float(_over(*np.diff(runs, axis=0)[::-1].mean(axis=1))), np.stack([early, middle, late]))


def _over(upper: Floats, lower: Floats) -> Floats:
    """Divide; what cannot be told, as in a game too short to regret anything, is not a number, and decides nothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(lower == 0, np.nan, upper / lower))
