"""Comparisons of policies over several problems: ratios of regrets and of their standard deviations, with intervals.

Every array has the axes [problem, run]. Run r has the same rewards for every policy, so the jackknife and the bootstrap leave
out or draw whole runs. The coverage of the intervals is measured in docs/intervals.md.
"""

import math
from collections.abc import Callable

import numpy as np

from rotting.common.arrays import Floats
from rotting.common.statistics import (
    LEVEL,
    ONE_RUN,
    RESAMPLES,
    Interval,
    NoInterval,
    jackknife_error,
    quotient_interval,
    resamples,
    t_critical,
)
from rotting.simulation.result import TIE

# From fewer runs, also in units of the kurtosis, a standard deviation has no interval that can be trusted. Runs that happen to
# show a small kurtosis happen to show a small spread, too: the intervals of those that pass cover less often than of all.
LEAST_RUNS, RUNS_PER_KURTOSIS = 200, 25
CAUTIOUS = 0.99  # share of the resamples that the interval of a spread holds: 95 % of the intervals, and more, hold the truth
NO_WIDTH = 1e-12  # what rounding leaves of a logarithm, or of its error, that is 0

Combine = Callable[[Floats], float]
"""Combines one number per problem into one number."""
Comparison = Callable[[Floats, Floats], Interval]
"""Compares the regret `[problem, run]` of one policy with that of another."""


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

    A ratio is one of positive numbers: where a mean regret is not, it is undefined (not a number), and has no interval.

    Args:
        upper: regret at the end `[problem, run]`.
        lower: the same for the policy to compare with.
        combine: combines the problems' ratios; by default their geometric mean.

    Example:
        >>> mean_ratio(np.array([[2.0, 2.0], [8.0, 8.0]]), np.ones((2, 2)))
        Interval(mean=4.0, low=4.0, high=4.0)
    """
    log, error, degrees = _log_error(lambda runs: combine(_over(*runs.mean(axis=2))), np.stack([upper, lower]))
    ratio = _exp(log)
    reason = _why_none(ratio, error, degrees)
    if reason:
        return NoInterval(ratio, reason)
    half = t_critical(degrees) * error
    return Interval(ratio, _exp(log - half), _exp(log + half))


def smallest_ratio(upper: Floats, lower: Floats) -> Interval:
    """Return the smallest over the problems of the ratio of mean regrets, for claims that hold on all of them.

    Above the interval's low end is every problem's ratio, each at 95 %: when it is above 1, all are. Below its high end is the
    smallest ratio, at 95 % for all problems together (Bonferroni): when it is below 1, some problem's ratio surely is. (Leaving
    out runs from the smallest itself would not do: the smallest of many noisy ratios is too small.) Where one problem's ratio
    is undefined, as in `mean_ratio`, so is the smallest.

    Args:
        upper: regret at the end `[problem, run]`.
        lower: the same for the policy to compare with.

    Example:
        >>> smallest_ratio(np.array([[2.0, 2.0], [8.0, 8.0]]), np.ones((2, 2)))
        Interval(mean=2.0, low=2.0, high=2.0)
    """
    together = 1 - (1 - LEVEL) / len(upper)
    found = [_log_error(lambda left: float(_over(*left.mean(axis=1))), runs) for runs in np.stack([upper, lower], axis=1)]
    logs, errors = np.array([each[:2] for each in found]).T
    degrees = found[0][2]
    ratio = _exp(logs.min())
    reason = _why_none(ratio, errors.max(), degrees)
    if reason:
        return NoInterval(ratio, reason)
    lows, highs = logs - t_critical(degrees) * errors, logs + t_critical(degrees, together) * errors
    return Interval(ratio, _exp(lows.min()), _exp(highs.min()))


def from_runs(least: int, comparison: Comparison) -> Comparison:
    """Return the comparison, without an interval where the runs are fewer than `least`.

    For policies of which one run in a hundred, say, regrets many times as much as the others. Few runs may hold none of these,
    and look harmless then: those that pass a test of their own skewness cover less often than all, and no interval that we
    tried covers. So the number is not taken from the runs at hand, but from many, once: docs/intervals.md.

    Example:
        >>> compare = from_runs(3, mean_ratio)
        >>> compare(np.full((1, 3), 2.0), np.ones((1, 3)))
        Interval(mean=2.0, low=2.0, high=2.0)
        >>> compare(np.full((1, 2), 2.0), np.ones((1, 2)))
        NoInterval(mean=2.0, reason='2 runs are too few to show the rare ones that regret much more: it takes 3')
    """

    def compare(upper: Floats, lower: Floats) -> Interval:
        found, runs = comparison(upper, lower), upper.shape[1]
        if runs >= least or isinstance(found, NoInterval):
            return found
        few = f"{runs:,} runs are too few to show the rare ones that regret much more: it takes {least:,}"
        return NoInterval(found.mean, few)

    return compare


def spread_ratio(upper: Floats, lower: Floats) -> Interval:
    """Return how many times larger the standard deviation of `upper` over the runs is than that of `lower`.

    The ratio is the geometric mean over the problems. The interval is a studentised bootstrap's, symmetric on the logarithmic
    scale: with r the logarithm of the ratio, e its standard error by the influence of each run, and r*, e* those of a resample
    of the runs, it is `r -+ c e`, where `|r* - r| <= c e*` in 99 % of the resamples: with 95 %, too few intervals cover.

    Rare large regrets make most of a standard deviation, and runs that hold few of them cannot tell how many there are. No
    interval that we tried covers then, so there is none unless the runs are at least 200, and 25 times the kurtosis of every
    policy's regrets on every problem. A spread of at most 1e-9 of the largest regret is none, as it may be rounding: the ratio
    is undefined then.

    Example:
        >>> runs = np.arange(200.0)
        >>> spread_ratio(np.array([2 * runs]), np.array([runs]))
        Interval(mean=2.0, low=2.0, high=2.0)
        >>> spread_ratio(np.array([2 * runs[:9]]), np.array([runs[:9]]))
        NoInterval(mean=2.0, reason='9 runs are too few to tell a spread: with a kurtosis of 1.8, it takes 200')

    Reference:
        Hall (1988), Theoretical comparison of bootstrap confidence intervals.
    """
    problems, runs = upper.shape
    values = np.concatenate([upper, lower])
    _, powers = np.frexp(np.abs(values).max(axis=1))
    values = np.ldexp(values, -powers[:, None])  # exact, and the squares of large regrets do not overflow
    spreads = values.std(axis=1)
    spreads[spreads <= TIE * np.abs(values).max(axis=1)] = 0.0  # equal regrets, up to rounding
    ratio = geometric_mean(_over(*np.ldexp(spreads, powers).reshape(2, problems)))
    if runs == 1:
        return NoInterval(ratio, ONE_RUN)
    if not spreads.all():
        return NoInterval(ratio, "a ratio is undefined, as a spread is 0")
    scores = (values - values.mean(axis=1, keepdims=True)) / spreads[:, None]
    kurtosis = float((scores**4).mean(axis=1).max())
    needed = max(LEAST_RUNS, math.ceil(RUNS_PER_KURTOSIS * kurtosis))
    if runs < needed:
        few = f"{runs:,} runs are too few to tell a spread: with a kurtosis of {kurtosis:,.1f}, it takes {needed:,}"
        return NoInterval(ratio, few)
    signs = np.repeat([1 / problems, -1 / problems], problems)
    _, (error,) = _log_spread(scores, signs, np.ones((1, runs)))
    with np.errstate(divide="ignore", invalid="ignore"):  # a resample without an error is further away than can be told
        logs, errors = np.hstack([_log_spread(scores, signs, times) for times in resamples(runs)])
        far = np.sort(np.abs(logs) / errors)  # what is not a number comes last
    if error > NO_WIDTH:
        half = float(far[round(CAUTIOUS * (RESAMPLES + 1)) - 1] * error)
        return Interval(ratio, ratio * _exp(-half), ratio * _exp(half))
    if np.abs(logs).max() <= NO_WIDTH:
        return Interval(ratio, ratio, ratio)
    # Runs at two values, half of them at each, are all as far from their mean: none moves the spread, and all of them could.
    return NoInterval(ratio, "every run is as far from the mean, so that the error of the spread cannot be told")


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
    log = np.log(variances) @ signs / 2
    # A run's influence: the sum over the rows of sign * ((score - mean)^2 / variance - 1) / 2, up to a constant.
    weights = signs / variances / 2
    influence = weights @ squares - 2 * (weights * means) @ scores
    mean = (times * influence).sum(axis=1, keepdims=True) / runs
    return log, np.sqrt((times * (influence - mean) ** 2).sum(axis=1) / (runs * (runs - 1)))


def growth(early: Floats, middle: Floats, late: Floats) -> Interval:
    """Return the growth of the mean regret from the middle to the late round, over its growth from the early to the middle one.

    Rounds t, 2 t and 4 t tell 1 (it grows like log t), sqrt(2) (like its root) and 2 (like t) apart; rounds T / 2, 3 T / 4
    and T tell 0.71, 0.84 and 1. The interval is Fieller's: there is none when what is gained early may be nothing, and none
    when all runs gain the same late, up to rounding, and not early: they say nothing of runs that would gain more.

    Args:
        early: regret of each run at the early round.
        middle: at the middle one.
        late: at the late one.

    Example:
        >>> growth(np.full(3, 1.0), np.full(3, 2.0), np.full(3, 4.0))
        Interval(mean=2.0, low=2.0, high=2.0)
    """
    regrets = np.stack([early, middle, late])
    first, second = np.diff(regrets, axis=0)
    rounding = TIE * np.abs(regrets).max()
    found = quotient_interval(second, first)
    if np.ptp(second) <= rounding < np.ptp(first):
        return NoInterval(found.mean, "all runs gain the same late, which says nothing of those that would not")
    return found


def _why_none(ratio: float, error: float, degrees: int) -> str:
    """Return why a ratio of means has no interval, or nothing where it has one."""
    if math.isnan(ratio):
        return "a ratio is undefined, as a mean regret is not positive"
    if not degrees:
        return ONE_RUN
    return "a mean regret is not positive without some of the runs" if math.isnan(error) else ""


def _log_error(statistic: Callable[[Floats], float], values: Floats) -> tuple[float, float, int]:
    """Return the jackknife's error of the logarithm, which keeps the interval of a ratio above zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return jackknife_error(lambda runs: float(np.log(statistic(runs))), values)


def _exp(log: float) -> float:
    with np.errstate(over="ignore"):  # an end too large for a float is infinite
        return float(np.exp(log))


def _over(upper: Floats, lower: Floats) -> Floats:
    """Divide positive numbers; the ratio of others, as in a game too short to regret anything, is not a number."""
    return np.asarray(np.divide(upper, lower, out=np.full(np.shape(upper), math.nan), where=(upper > 0) & (lower > 0)))
