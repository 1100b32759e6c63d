"""How policies compare over several problems: ratios of regrets and of their spreads, with intervals.

Every array has the axes [problem, run]; runs of one number were paid the same rewards, so they are left out or drawn together.
How often the intervals hold what they should is measured in docs/intervals.md.
"""

import math
from collections.abc import Callable

import numpy as np

from rotting.common.arrays import Floats
from rotting.common.statistics import LEVEL, RESAMPLES, Interval, jackknife_error, quotient_interval, resamples, t_critical
from rotting.simulation.result import TIE

RUNS_PER_KURTOSIS = 10  # a standard deviation from fewer runs, in units of the kurtosis, has no interval that can be trusted
NO_WIDTH = 1e-12  # what rounding leaves of a variance or an error that is 0

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
    out runs from the smallest itself would not do: the smallest of many noisy ratios is too small.) Where one problem's ratio
    is undefined, as its mean regrets are not both positive, so is the smallest.

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
    if not lows:
        return Interval(_smallest(ratios), None, None)
    return Interval(_smallest(ratios), _smallest(lows), _smallest(highs))


def spread_ratio(upper: Floats, lower: Floats) -> Interval:
    """Return how many times larger the standard deviation of `upper` over the runs is than that of `lower`.

    It is the geometric mean over the problems. The interval is that of a studentised bootstrap, symmetric on the logarithmic
    scale: with r the logarithm of the ratio, e its standard error by the influence of each run, and r*, e* those of a resample
    of the runs, it is `r -+ c e`, where `|r* - r| <= c e*` in 95 % of the resamples.

    Rare large regrets make most of a standard deviation, and runs that hold few of them cannot tell how many there are. No
    interval that we tried covers then, so there is none (the ends are None) unless the runs are ten times the kurtosis of
    every policy's regrets on every problem: for normal regrets, 30.

    Example:
        >>> runs = np.arange(40.0)
        >>> spread_ratio(np.array([2 * runs]), np.array([runs]))
        Interval(mean=2.0, low=2.0, high=2.0)
        >>> spread_ratio(np.array([2 * runs[:9]]), np.array([runs[:9]]))
        Interval(mean=2.0, low=None, high=None)

    Reference:
        Hall (1988), Theoretical comparison of bootstrap confidence intervals.
    """
    problems, runs = upper.shape
    values = np.concatenate([upper, lower])
    spreads = values.std(axis=1)
    spreads[spreads <= TIE * np.abs(values).max(axis=1)] = 0.0  # equal regrets, up to rounding
    ratio = geometric_mean(_over(spreads[:problems], spreads[problems:]))
    if runs == 1:
        return Interval(ratio, None, None)
    if not spreads.all():
        return Interval(ratio, math.nan, math.nan)
    scores = (values - values.mean(axis=1, keepdims=True)) / spreads[:, None]
    if runs < RUNS_PER_KURTOSIS * float((scores**4).mean(axis=1).max()):
        return Interval(ratio, None, None)
    signs = np.repeat([1 / problems, -1 / problems], problems)
    _, error = _log_spread(scores, signs, np.ones((1, runs)))
    with np.errstate(divide="ignore", invalid="ignore"):  # a resample of equal runs is further away than can be told
        drawn = [np.abs(log) / each for log, each in (_log_spread(scores, signs, times) for times in resamples(runs))]
    far = np.nan_to_num(np.concatenate(drawn), nan=math.inf)
    half = float(np.sort(far)[round(LEVEL * (RESAMPLES + 1)) - 1] * error[0]) if error[0] > NO_WIDTH else 0.0
    return Interval(ratio, ratio * _exp(-half), ratio * _exp(half))


def _log_spread(scores: Floats, signs: Floats, times: Floats) -> tuple[Floats, Floats]:
    """Return for each resample the logarithm of the ratio of spreads, and its standard error.

    Args:
        scores: regrets `[row, run]`, of mean 0 and standard deviation 1 over all runs, so that the logarithm of all is 0.
        signs: how much the logarithm of each row's standard deviation counts.
        times: how often each run was drawn `[resample, run]`.
    """
    runs = scores.shape[1]
    squares = scores**2
    means = times @ scores.T / runs
    variances = times @ squares.T / runs - means**2
    variances[variances < NO_WIDTH] = 0.0  # of equal runs, up to rounding
    log = np.log(variances) @ signs / 2
    # A run's influence: the sum over the rows of sign * ((score - mean)^2 / variance - 1) / 2, up to a constant.
    weights = signs / variances / 2
    influence = weights @ squares - 2 * (weights * means) @ scores
    mean = (times * influence).sum(axis=1, keepdims=True) / runs
    return log, np.sqrt((times * (influence - mean) ** 2).sum(axis=1) / (runs * (runs - 1)))


def growth(early: Floats, middle: Floats, late: Floats) -> Interval:
    """Return what the mean regret gains from the middle to the late round, over what it gains from the early to the middle one.

    Rounds t, 2 t and 4 t tell 1 (it grows like log t), sqrt(2) (like its root) and 2 (like t) apart; rounds T / 2, 3 T / 4
    and T tell 0.71, 0.84 and 1. The interval is Fieller's: unbounded when what is gained early may be nothing. It has no ends
    when the runs gain the same late and not early: so few say nothing of those that would gain more.

    Args:
        early: regret of each run at the early round.
        middle: at the middle one.
        late: at the late one.

    Example:
        >>> growth(np.full(3, 1.0), np.full(3, 2.0), np.full(3, 4.0))
        Interval(mean=2.0, low=2.0, high=2.0)
    """
    first, second = np.diff(np.stack([early, middle, late]), axis=0)
    found = quotient_interval(second, first)
    return Interval(found.mean, None, None) if np.ptp(second) == 0 < np.ptp(first) else found


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


def _smallest(values: list[float]) -> float:
    return float(np.min(values))  # the built-in min would take or leave an unknown one by its place


def _exp(log: float) -> float:
    with np.errstate(over="ignore"):  # an end too far to be told is infinite
        return float(np.exp(log))


def _over(upper: Floats, lower: Floats) -> Floats:
    """Divide; what cannot be told, as in a game too short to regret anything, is not a number, and decides nothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(lower == 0, np.nan, upper / lower))
