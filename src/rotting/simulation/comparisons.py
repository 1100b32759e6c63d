"""Comparisons of policies over several problems: ratios of regrets and of their standard deviations, with intervals.

All arrays have the axes [problem, run]. In run r all policies have the same rewards, so the jackknife and the bootstrap leave
out or draw whole runs. docs/intervals.md measures the coverage of the intervals.
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
from rotting.simulation.regret_tables import TIE

# With fewer runs, in total or per unit of kurtosis, the interval of a standard deviation cannot be trusted. Samples with a
# small kurtosis tend to have a small spread as well, so intervals of samples that pass this test cover less often than others.
LEAST_RUNS, RUNS_PER_KURTOSIS = 200, 25
CAUTIOUS = 0.99  # share of the resamples in the interval of a spread; at least 95 % of such intervals cover
QUANTILE = 0.9
BEYOND = 20  # smallest expected number of runs beyond the quantile
NO_WIDTH = 1e-12  # a logarithm, or its standard error, below this is 0 up to rounding

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
    """Return the ratio of the mean regrets `upper` and `lower`, over all problems.

    If a mean regret is not positive, the ratio is undefined (NaN) and has no interval.

    Args:
        upper: regret at the end `[problem, run]`.
        lower: the same for the policy to compare with.
        combine: combines the problems' ratios; by default their geometric mean.

    Example:
        >>> mean_ratio(np.array([[2.0, 2.0], [8.0, 8.0]]), np.ones((2, 2)))
        Interval(mean=4.0, low=4.0, high=4.0)
    """
    log, error, degrees = _log_error(lambda runs: combine(_ratios(*runs.mean(axis=2))), np.stack([upper, lower]))
    return _interval_of_log(log, error, degrees, _why_none(log, error, degrees))


def smallest_ratio(upper: Floats, lower: Floats) -> Interval:
    """Return the smallest over the problems of the ratio of mean regrets, for claims that hold on all of them.

    The ratio of each problem is above the low end of the interval, at 95 % for each. The smallest ratio is below the high end,
    at 95 % for all problems together (Bonferroni). So all ratios are above 1 if the low end is, and some ratio is below 1 if
    the high end is. (A jackknife of the smallest ratio would not do: the smallest of many noisy ratios is biased downwards.) If
    the ratio of a problem is undefined, as in `mean_ratio`, so is the smallest.

    Args:
        upper: regret at the end `[problem, run]`.
        lower: the same for the policy to compare with.

    Example:
        >>> smallest_ratio(np.array([[2.0, 2.0], [8.0, 8.0]]), np.ones((2, 2)))
        Interval(mean=2.0, low=2.0, high=2.0)
    """
    together = 1 - (1 - LEVEL) / len(upper)
    found = [_log_error(lambda left: float(_ratios(*left.mean(axis=1))), runs) for runs in np.stack([upper, lower], axis=1)]
    logs, errors = np.array([each[:2] for each in found]).T
    degrees = found[0][2]
    ratio = _exp(logs.min())
    reason = _why_none(ratio, errors.max(), degrees)
    if reason:
        return NoInterval(ratio, reason)
    lows, highs = logs - t_critical(degrees) * errors, logs + t_critical(degrees, together) * errors
    return Interval(ratio, _exp(lows.min()), _exp(highs.min()))


def requiring_runs(least: int, comparison: Comparison) -> Comparison:
    """Return the comparison, without an interval if there are fewer than `least` runs.

    Use it for policies whose regret is many times larger in about one run of a hundred. A small sample may contain no such run,
    and then no interval covers, whatever test of skewness the sample passes. The number of runs that are needed was therefore
    measured with many runs, in docs/intervals.md.

    Example:
        >>> compare = requiring_runs(3, mean_ratio)
        >>> compare(np.full((1, 3), 2.0), np.ones((1, 3)))
        Interval(mean=2.0, low=2.0, high=2.0)
        >>> compare(np.full((1, 2), 2.0), np.ones((1, 2)))
        NoInterval(mean=2.0, reason='needs 3 runs (here 2): about 1 run in 100 fails badly, and decides the ratio')
    """

    def compare(upper: Floats, lower: Floats) -> Interval:
        found, runs = comparison(upper, lower), upper.shape[1]
        if runs >= least or isinstance(found, NoInterval):
            return found
        reason = f"needs {least:,} runs (here {runs:,}): about 1 run in 100 fails badly, and decides the ratio"
        return NoInterval(found.mean, reason)

    return compare


def spread_ratio(upper: Floats, lower: Floats) -> Interval:
    """Return the ratio of the standard deviations over the runs of `upper` and `lower`.

    The ratio is the geometric mean over the problems. The interval is that of a studentised bootstrap, symmetric on the
    logarithmic scale: with r the logarithm of the ratio, e its standard error by the influence of each run, and r*, e* those of
    a resample of the runs, it is `r -+ c e`, where `|r* - r| <= c e*` in 99 % of the resamples: with 95 %, too few intervals
    cover.

    Rare large regrets dominate a standard deviation, and a sample with few of them cannot tell how frequent they are. No
    interval that we tried covers then. So there is one only with at least 200 runs, and 25 times the kurtosis of the regrets of
    every policy on every problem. A spread of at most 1e-9 of the largest regret may be rounding and counts as zero, which
    makes the ratio undefined.

    Example:
        >>> runs = np.arange(200.0)
        >>> spread_ratio(np.array([2 * runs]), np.array([runs]))
        Interval(mean=2.0, low=2.0, high=2.0)
        >>> spread_ratio(np.array([2 * runs[:9]]), np.array([runs[:9]]))
        NoInterval(mean=2.0, reason='needs at least 200 runs (here 9)')

    Reference:
        Hall (1988), Theoretical comparison of bootstrap confidence intervals.
    """
    problems, runs = upper.shape
    values = np.concatenate([upper, lower])
    _, powers = np.frexp(np.abs(values).max(axis=1))
    values = np.ldexp(values, -powers[:, None])  # exact, and the squares of large regrets do not overflow
    spreads = values.std(axis=1)
    spreads[spreads <= TIE * np.abs(values).max(axis=1)] = 0.0  # equal regrets, up to rounding
    ratio = geometric_mean(_ratios(*np.ldexp(spreads, powers).reshape(2, problems)))
    if runs == 1:
        return NoInterval(ratio, ONE_RUN)
    if not spreads.all():
        return NoInterval(ratio, "a ratio is undefined, as a spread is 0")
    scores = _scores(values)
    few = _too_few(runs, _kurtosis(scores))
    if few:
        return NoInterval(ratio, few)
    signs = np.repeat([1 / problems, -1 / problems], problems)
    _, (error,) = _log_spread(scores, signs, np.ones((1, runs)))
    with np.errstate(divide="ignore", invalid="ignore"):  # a resample without an error is infinitely far away
        logs, errors = np.hstack([_log_spread(scores, signs, times) for times in resamples(runs)])
        far = np.sort(np.abs(logs) / errors)  # NaN comes last
    if error > NO_WIDTH:
        half = float(far[round(CAUTIOUS * (RESAMPLES + 1)) - 1] * error)
        return Interval(ratio, ratio * _exp(-half), ratio * _exp(half))
    if np.abs(logs).max() <= NO_WIDTH:
        return Interval(ratio, ratio, ratio)
    # If half of the runs have one value and half another, no single run changes the spread: its error cannot be estimated.
    return NoInterval(ratio, "all runs are equally far from the mean, so that the error of the spread is unknown")


def _scores(values: Floats) -> Floats:
    """Return the regrets of each problem, standardised to mean 0 and standard deviation 1."""
    return np.asarray((values - values.mean(axis=1, keepdims=True)) / values.std(axis=1, keepdims=True))


def _kurtosis(scores: Floats) -> float:
    """Return the largest kurtosis over the problems."""
    return float((scores**4).mean(axis=1).max())


def _too_few(runs: int, kurtosis: float) -> str:
    """Return why there are too few runs for the interval of a spread; empty if there are enough."""
    needed = math.ceil(RUNS_PER_KURTOSIS * kurtosis)
    if runs >= max(LEAST_RUNS, needed):
        return ""
    if needed <= LEAST_RUNS:
        return f"needs at least {LEAST_RUNS} runs (here {runs:,})"
    return f"needs {needed:,} runs, {RUNS_PER_KURTOSIS} x the kurtosis of {kurtosis:,.1f} (here {runs:,})"


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


def relative_spread(values: Floats) -> Interval:
    """Return the standard deviation over the runs divided by the mean, as the geometric mean over the problems.

    The interval is the jackknife's, of the logarithm. There is none if `spread_ratio` would need more runs.

    Example:
        >>> relative_spread(np.array([np.repeat([1.0, 3.0], 100)]))
        Interval(mean=0.5, low=0.5, high=0.5)
    """
    runs = values.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        log, error, degrees = _log_error(lambda left: geometric_mean(_ratios(left.std(axis=1), left.mean(axis=1))), values)
    reason = _why_none(log, error, degrees) or _too_few(runs, _kurtosis(_scores(values)))
    return _interval_of_log(log, error, degrees, reason)


def quantile_ratio(upper: Floats, lower: Floats) -> Interval:
    """Return the ratio of the 90 % quantiles over the runs of `upper` and `lower`.

    The ratio is the geometric mean over the problems. The quantile is the smallest regret that 90 % of the runs do not
    exceed. The interval contains 95 % of the ratios of bootstrap resamples; a jackknife leaves out only a few runs, which
    hardly moves a quantile. There is no interval unless twenty runs lie beyond the quantile, which takes 200 runs.

    Example:
        >>> runs = np.arange(1.0, 201.0)
        >>> quantile_ratio(np.array([2 * runs]), np.array([runs]))
        Interval(mean=2.0, low=2.0, high=2.0)
    """
    problems, runs = upper.shape
    values = np.concatenate([upper, lower])
    orders = np.argsort(values, axis=1, kind="stable")
    rank = QUANTILE * runs - NO_WIDTH

    def log_ratio(times: Floats) -> Floats:
        places = [(times[:, order].cumsum(axis=1) >= rank).argmax(axis=1) for order in orders]
        found = np.stack([row[order[place]] for row, order, place in zip(values, orders, places, strict=True)], axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):  # a mean is not a number if a ratio is not
            return np.asarray(np.log(_ratios(found[:, :problems], found[:, problems:])).mean(axis=1))

    (whole,) = log_ratio(np.ones((1, runs)))
    ratio = _exp(float(whole))
    least = math.ceil(BEYOND / (1 - QUANTILE) - NO_WIDTH)
    if runs < least:
        return NoInterval(ratio, f"needs at least {least:,} runs (here {runs:,})")
    logs = np.sort(np.concatenate([log_ratio(times) for times in resamples(runs)]))
    if math.isnan(ratio) or math.isnan(logs[-1]):  # NaN comes last
        return NoInterval(ratio, "a ratio is undefined, as a quantile of the regret is not positive")
    outside = round((1 - LEVEL) / 2 * (RESAMPLES + 1))
    return Interval(ratio, _exp(float(logs[outside - 1])), _exp(float(logs[-outside])))


def share_ahead(upper: Floats, lower: Floats) -> Interval:
    """Return the share of the problems, or rounds, on which the mean of `lower` is below that of `upper`.

    The low end is the share on which it is significantly below, the high end the share on which it is not significantly above,
    by Student's paired test at 95 % for each problem. The interval is wide if many differences are small, and covers more often
    than in 95 % of all cases.

    Example:
        >>> share_ahead(np.array([[2.0, 3.0], [0.0, 0.5]]), np.array([[1.0, 2.0], [1.0, 1.5]]))
        Interval(mean=0.5, low=0.5, high=0.5)
    """
    differences = upper - lower
    runs = differences.shape[1]
    mean = differences.mean(axis=1)
    if runs == 1:
        return NoInterval(float((mean > 0).mean()), ONE_RUN)
    half = t_critical(runs - 1) * differences.std(axis=1, ddof=1) / math.sqrt(runs)
    return Interval(float((mean > 0).mean()), float((mean - half > 0).mean()), float((mean + half >= 0).mean()))


def quotient_of(upper: Interval, lower: Interval) -> Interval:
    """Return the quotient of two ratios that were measured on independent runs: the squared errors of the logarithms add up.

    Example:
        >>> quotient_of(Interval(6.0, 3.0, 12.0), Interval(2.0, 2.0, 2.0))
        Interval(mean=3.0, low=1.5, high=6.0)
    """
    quotient = upper.mean / lower.mean
    for interval in (upper, lower):
        if isinstance(interval, NoInterval):
            return NoInterval(quotient, interval.reason)
    ends = [
        (math.log(each.mean / (each.low or math.nan)), math.log((each.high or math.nan) / each.mean)) for each in (upper, lower)
    ]
    down, up = math.hypot(ends[0][0], ends[1][1]), math.hypot(ends[0][1], ends[1][0])
    return Interval(quotient, quotient * math.exp(-down), quotient * math.exp(up))


def growth(early: Floats, middle: Floats, late: Floats) -> Interval:
    """Return the growth of the mean regret from the middle to the late round, over its growth from the early to the middle one.

    At rounds t, 2 t and 4 t it is 1 if regret grows like log t, sqrt(2) if it grows like sqrt(t), and 2 if it grows like t. At
    rounds T / 2, 3 T / 4 and T these are 0.71, 0.84 and 1. The interval is Fieller's. There is none if the early growth may be
    0, or if the late growth is the same in all runs, up to rounding, while the early growth is not: the error of the late
    growth is then unknown.

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
        return NoInterval(
            found.mean, "the regret of all runs grows by the same amount late in the game, so that the error is unknown"
        )
    return found


def _interval_of_log(log: float, error: float, degrees: int, why_none: str) -> Interval:
    """Return the interval of a number whose logarithm has a standard error, unless there is a reason against it."""
    if why_none:
        return NoInterval(_exp(log), why_none)
    half = t_critical(degrees) * error
    return Interval(_exp(log), _exp(log - half), _exp(log + half))


def _why_none(ratio: float, error: float, degrees: int) -> str:
    """Return why a ratio of means, or its logarithm, has no interval; empty if it has one."""
    if math.isnan(ratio):
        return "a ratio is undefined, as a mean regret is not positive"
    if not degrees:
        return ONE_RUN
    return "a mean regret is not positive without some of the runs" if math.isnan(error) else ""


def _log_error(statistic: Callable[[Floats], float], values: Floats) -> tuple[float, float, int]:
    """Return the logarithm of a statistic, its jackknife error and the degrees of freedom.

    On the logarithmic scale, the interval of a ratio stays above zero.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return jackknife_error(lambda runs: float(np.log(statistic(runs))), values)


def _exp(log: float) -> float:
    with np.errstate(over="ignore"):  # an end too large for a float is infinite
        return float(np.exp(log))


def _ratios(upper: Floats, lower: Floats) -> Floats:
    """Return the ratios of positive numbers; NaN for others, such as regrets of a very short game."""
    return np.asarray(np.divide(upper, lower, out=np.full(np.shape(upper), math.nan), where=(upper > 0) & (lower > 0)))
