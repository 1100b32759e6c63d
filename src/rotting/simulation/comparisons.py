"""Comparisons of policies over several problems: ratios of regrets and of their standard deviations, with intervals.

Every array has the axes [problem, run]. Run r has the same rewards for every policy, so the jackknife and the bootstrap leave
out or draw whole runs. The coverage of the intervals is measured in docs/intervals.md.
"""

import math
from collections.abc import Callable

import numpy as np

from rotting.common.arrays import Floats
from rotting.common.statistics import LEVEL, RESAMPLES, Interval, jackknife_error, quotient_interval, resamples, t_critical
from rotting.simulation.result import TIE

RUNS_PER_KURTOSIS = 10  # with fewer runs per unit of kurtosis, no interval of a standard deviation can be trusted
NO_WIDTH = 1e-12  # the size of a variance or an error that is 0 but for rounding

Combine = Callable[[Floats], float]
"""Combines one number per problem into one number."""


def geometric_mean(values: Floats) -> float:
    """Return the geometric mean, the natural mean of ratios.

    Example:
        >>> geometric_mean(np.array([1.0, 4.0]))
        2.0
    """
    with np.errstate(divide="ignore", invalid="ignore"):  # the mean is 0 if a ratio is 0, and NaN if one is NaN
        return float(np.exp(np.log(values).mean()))


def mean_ratio(upper: Floats, lower: Floats, combine: Combine = geometric_mean) -> Interval:
    """Return how many times larger the mean regret `upper` is than `lower`, over all problems.

    Args:
        upper: regret at the end `[problem, run]`.
        lower: the same for the policy to compare with.
        combine: combines the problems' ratios; by default their geometric mean.

    Example:
        >>> mean_ratio(np.array([[2.0, 2.0], [8.0, 8.0]]), np.ones((2, 2)))
        Interval(mean=4.0, low=4.0, high=4.0)
    """
    return _positive(lambda runs: combine(_over(*runs.mean(axis=2))), np.stack([upper, lower]))


def smallest_ratio(upper: Floats, lower: Floats) -> Interval:
    """Return the smallest over the problems of the ratio of mean regrets, for claims that hold on all of them.

    Every problem's ratio is above the interval's low end, each at 95 %: if the low end is above 1, all ratios are. The smallest
    ratio is below the high end, at 95 % for all problems together (Bonferroni): if the high end is below 1, so is the ratio of
    some problem. (A jackknife of the smallest ratio itself is biased: the smallest of many noisy ratios is too small.) Where
    one problem's ratio is undefined, because its mean regrets are not both positive, so is the smallest.

    Args:
        upper: regret at the end `[problem, run]`.
        lower: the same for the policy to compare with.

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

    The ratio is the geometric mean over the problems. The interval is a studentised bootstrap's, symmetric on the logarithmic
    scale: with r the logarithm of the ratio, e its standard error by the influence of each run, and r*, e* those of a resample
    of the runs, it is `r -+ c e`, where `|r* - r| <= c e*` in 95 % of the resamples.

    A few large regrets can make up most of a standard deviation, and a small sample does not show how frequent they are. No
    interval that we tried has the right coverage then. So there is none (the ends are None) unless the number of runs is at
    least ten times the kurtosis of every policy's regrets on every problem: 30 for normal regrets.

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
    with np.errstate(divide="ignore", invalid="ignore"):  # equal runs have no error: infinitely far
        drawn = [np.abs(log) / each for log, each in (_log_spread(scores, signs, times) for times in resamples(runs))]
    far = np.nan_to_num(np.concatenate(drawn), nan=math.inf)
    half = float(np.sort(far)[round(LEVEL * (RESAMPLES + 1)) - 1] * error[0]) if error[0] > NO_WIDTH else 0.0
    return Interval(ratio, ratio * _exp(-half), ratio * _exp(half))


def _log_spread(scores: Floats, signs: Floats, times: Floats) -> tuple[Floats, Floats]:
    """Return for each resample the logarithm of the ratio of spreads, and its standard error.

    Args:
        scores: regrets `[row, run]`, scaled to mean 0 and standard deviation 1 over all runs, so that their log-ratio is 0.
        signs: the weight of the logarithm of each row's standard deviation.
        times: how often each run was drawn, `[resample, run]`.
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
    """Return the growth of the mean regret from the middle to the late round, over its growth from the early to the middle one.

    At rounds t, 2 t and 4 t it is 1 for a regret that grows like log t, sqrt(2) for sqrt(t) and 2 for t; at rounds T / 2, 3 T /
    4 and T it is 0.71, 0.84 and 1. The interval is Fieller's, unbounded when the early growth may be 0. It has no ends when the
    late growth is the same in all runs and the early growth is not: the sample then holds none of the runs that would grow
    more.

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
    """Return the jackknife's error of the logarithm, which keeps the interval of a ratio above zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return jackknife_error(lambda runs: float(np.log(statistic(runs))), values)


def _smallest(values: list[float]) -> float:
    return float(np.min(values))  # unlike the built-in min, NaN if any value is NaN


def _exp(log: float) -> float:
    with np.errstate(over="ignore"):  # an end too large for a float is infinite
        return float(np.exp(log))


def _over(upper: Floats, lower: Floats) -> Floats:
    """Divide; NaN where the denominator is 0, as in a game too short for any regret."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(lower == 0, np.nan, upper / lower))
