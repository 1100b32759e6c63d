"""Statistics of a sample of runs: the mean, 95 % intervals, quantiles. NumPy only."""

import math
from collections.abc import Callable, Iterator
from functools import cache
from statistics import NormalDist
from typing import NamedTuple, Self

import numpy as np

from rotting.common.arrays import Floats
from rotting.errors import InvalidValueError

LEVEL = 0.95
GROUPS = 20  # of a jackknife, at most
FLIPPED = 200  # groups of runs, at most, whose signs are flipped
RESAMPLES = 999  # of a bootstrap; 95 % of (999 + 1) is the whole number 950
DRAWN_AT_ONCE = 2**21  # random numbers for resamples that are in memory at a time
SERIES_UP_TO = 200  # the largest number of degrees of freedom for the finite sum; above, the expansion is as accurate
NO_SPREAD = 1e-9  # variances and distances of statistics below this, relative to the largest value, may be rounding
ONE_RUN = "there is only one run"


class Interval(NamedTuple):
    """A mean and its 95 % interval; the ends are None if they are unknown."""

    mean: float
    low: float | None
    high: float | None


class NoInterval(Interval):
    """A mean without an interval, and the reason.

    Example:
        >>> mean, low, high = NoInterval(7.0, "there is only one run")
        >>> mean, low, high
        (7.0, None, None)
    """

    reason: str

    def __new__(cls, mean: float, reason: str) -> Self:
        """Return a mean whose ends are None."""
        found = super().__new__(cls, mean, None, None)
        found.reason = reason
        return found

    def __repr__(self) -> str:
        """Show the reason instead of the ends."""
        return f"NoInterval(mean={self.mean!r}, reason={self.reason!r})"


def _expansion(degrees: int, level: float) -> float:
    """Return the Cornish-Fisher expansion of the quantile in powers of 1 / degrees (Abramowitz and Stegun 26.7.5)."""
    x = NormalDist().inv_cdf((1 + level) / 2)  # the limit of many degrees of freedom
    terms = (
        (x**3 + x) / 4,
        (5 * x**5 + 16 * x**3 + 3 * x) / 96,
        (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384,
        (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / 92160,
    )
    return x + math.fsum(term / degrees**power for power, term in enumerate(terms, start=1))


def _inside(degrees: int, angle: float) -> float:
    """Return P(|T| < sqrt(degrees) * tan(angle)), a finite sum (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    cos = math.cos(angle)
    odd = degrees % 2
    term = cos if odd else 1.0
    terms = [term] if degrees > 1 else []
    for power in range(2 + odd, degrees - 1, 2):
        term *= (power - 1) / power * cos * cos
        terms.append(term)
    total = math.sin(angle) * math.fsum(terms)
    return 2 / math.pi * (angle + total) if odd else total


@cache
def t_critical(degrees: int, level: float = LEVEL) -> float:
    """Return c with P(|T| < c) = level for Student's t.

    One and two degrees of freedom have closed forms, `tan(level pi / 2)` and `level sqrt(2 / (1 - level^2))`.
    Up to 200, Newton's method inverts the exact finite sum for P(|T| < c); above, the expansion in powers of
    1 / degrees is used, whose first term left out is below 1e-11 at 95 %.

    Args:
        degrees: degrees of freedom, 1 or more; one less than the number of values.
        level: of the interval, between 0 and 1.

    Example:
        >>> round(t_critical(1), 6), round(t_critical(9), 6), round(t_critical(1999), 6)
        (12.706205, 2.262157, 1.961151)
        >>> round(t_critical(10, 0.99), 5)
        3.16927

    Reference:
        Abramowitz and Stegun, Handbook of Mathematical Functions, section 26.7.
    """
    if degrees < 1:
        raise InvalidValueError("degrees", "be a whole number, 1 or more", degrees)
    if not 0 < level < 1:
        raise InvalidValueError("level", "be between 0 and 1", level)
    if degrees == 1:
        return math.tan(level * math.pi / 2)
    if degrees == 2:
        return level * math.sqrt(2 / (1 - level**2))
    start = _expansion(degrees, level)
    if degrees > SERIES_UP_TO:
        return start
    # In the angle atan(t / sqrt(degrees)) the probability is concave and its slope is a power of the cosine:
    # Newton's method cannot leave (0, pi / 2) and gains all digits in a few steps.
    angle = math.atan(start / math.sqrt(degrees))
    scale = 2 / math.sqrt(math.pi) * math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2))
    for _ in range(50):
        step = (level - _inside(degrees, angle)) / (scale * math.cos(angle) ** (degrees - 1))
        angle += step
        if abs(step) < 1e-15:
            break
    return math.sqrt(degrees) * math.tan(angle)


def mean_interval(values: Floats) -> Interval:
    """Return the mean of independent values and its 95 % interval: at each end the wider of Student's and Hall's.

    With s the standard deviation and g the skewness of n values, and t the quantile of Student's distribution, Student's ends
    are `mean -+ t s / sqrt(n)`. Hall's transformation corrects them for skewness: `mean - s h(t / sqrt(n))` and
    `mean - s h(-t / sqrt(n))`, where `h(y) = 3 ((1 + g y - g^2 / (6 n))^(1/3) - 1) / g`. If a few regrets are much larger
    than the others, the interval reaches further up than down. Hall's ends alone would be too close for values that are
    symmetric with long tails, as differences of regrets often are, since the skewness of a sample is itself uncertain. No
    interval can account for failures that are missing from the sample, as `what_runs_can_miss` says beside it.
    docs/intervals.md shows how often the interval contains the mean.

    Args:
        values: one number per run, at least one.

    Example:
        >>> mean, low, high = mean_interval(np.array([1.0, 2.0, 3.0]))  # 2 -+ 4.302653 / sqrt(3)
        >>> mean, round(low, 6), round(high, 6)
        (2.0, -0.484138, 4.484138)
        >>> mean, low, high = mean_interval(np.array([1.0, 1.0, 1.0, 1.0, 6.0]))
        >>> mean, round(low, 1), round(high, 1)
        (2.0, -0.8, 10.8)
        >>> mean_interval(np.array([7.0]))
        NoInterval(mean=7.0, reason='there is only one run')

    Reference:
        Hall (1992), On the removal of skewness by transformation.
    """
    runs = len(values)
    if runs == 0:
        raise InvalidValueError("values", "hold at least one number", values, got="none")
    # Centred on a value: equal values then give exactly that mean and an interval of width zero.
    centred = values - values[0]
    mean = float(values[0] + centred.mean())
    if runs == 1:
        return NoInterval(mean, ONE_RUN)
    scale = float(np.abs(centred).max())
    if scale == 0:
        return Interval(mean, mean, mean)
    centred = centred / scale  # squares of tiny or huge values would underflow or overflow
    spread = float(centred.std())
    skewness = float((((centred - centred.mean()) / spread) ** 3).mean())
    step, unit = t_critical(runs - 1) / math.sqrt(runs), scale * spread * math.sqrt(runs / (runs - 1))

    def h(y: float) -> float:
        u = y - skewness / (6 * runs)
        root = math.cbrt(1 + skewness * u)
        return 3 * u / (1 + root + root**2)  # the same as above, and no division by a skewness of 0

    return Interval(mean, mean - unit * max(step, h(step)), mean + unit * max(step, -h(-step)))


def what_runs_can_miss(runs: int) -> str:
    """Return a sentence about failures that may be missing from a number of runs, to be shown beside their intervals.

    A failure in one run of m is missing from a share `(1 - 1 / m)^n` of all samples of n runs. The sentence has the smallest m
    for which that is 5 % or more, about n / 3. No interval that is computed from the runs can account for such failures.

    Example:
        >>> what_runs_can_miss(500)
        '500 runs can miss failures of 1 run in 168, or rarer: if those decide the mean, the intervals are too narrow.'

    Reference:
        Hanley and Lippman-Hand (1983), If nothing goes wrong, is everything all right?
    """
    rare = math.ceil(1 / (1 - (1 - LEVEL) ** (1 / runs)))
    failures = f"{runs:,} runs can miss failures of 1 run in {rare:,}, or rarer"
    return f"{failures}: if those decide the mean, the intervals are too narrow."


def jackknife_error(statistic: Callable[[Floats], float], values: Floats, groups: int = GROUPS) -> tuple[float, float, int]:
    """Return a statistic of independent runs, its standard error, and the error's degrees of freedom.

    With T the statistic of all runs and T_g that of all but group g of G, the error is `(G - 1) s / sqrt(G)`, where s is the
    standard deviation of the T_g. This works for smooth statistics, such as ratios of means, not for the smallest of several.

    Args:
        statistic: computes a number from an array like `values`, with fewer runs.
        values: the measurements, with the runs on the last axis.
        groups: the largest G; with fewer runs, every run is a group. A single run has an unknown error, and 0 degrees.

    Reference:
        Tukey (1958), Bias and confidence in not quite large samples.
    """
    runs = values.shape[-1]
    whole = float(statistic(values))
    count = min(groups, runs)
    if count < 2:
        return whole, math.nan, 0
    group = np.arange(runs) % count
    without = np.array([statistic(values[..., group != g]) for g in range(count)])
    return whole, (count - 1) * float(without.std(ddof=1)) / math.sqrt(count), count - 1


def quotient_interval(upper: Floats, lower: Floats) -> Interval:
    """Return the mean of `upper` over the mean of `lower`, which are paired, and the 95 % interval of Fieller.

    It contains the quotients q for which the mean of `upper - q lower` does not differ significantly from 0 by Student's test,
    which is exact for normal values. There is none if the mean of `lower` may be 0: the quotient may be anything.

    Args:
        upper: one number per run.
        lower: one number per run.

    Example:
        >>> quotient_interval(np.array([6.0, 8.0, 10.0]), np.array([3.0, 4.0, 5.0]))
        Interval(mean=2.0, low=2.0, high=2.0)
        >>> quotient_interval(np.array([2.0, 4.0, 6.0]), np.array([-1.0, 0.0, 4.0]))
        NoInterval(mean=4.0, reason='the divisor may be 0')

    Reference:
        Fieller (1954), Some problems in interval estimation.
    """
    runs, divisor = len(lower), float(lower.mean())
    if not np.isfinite([upper, lower]).all():
        return NoInterval(math.nan, "a value is not a finite number")
    if divisor == 0:
        return NoInterval(math.nan, "the divisor is 0")
    quotient = float(upper.mean()) / divisor
    if runs == 1:
        return NoInterval(quotient, ONE_RUN)
    # The ends are quotient + d with (divisor d)^2 = factor * variance of (rest - d lower): a quadratic equation in d.
    rest = upper - quotient * lower
    (var_rest, both), (_, var_lower) = np.cov(rest, lower).tolist()
    factor = t_critical(runs - 1) ** 2 / runs
    leading = divisor**2 - factor * var_lower
    if leading <= 0:
        return NoInterval(quotient, "the divisor may be 0")
    root = math.sqrt((factor * both) ** 2 + leading * factor * var_rest)
    return Interval(quotient, quotient - (factor * both + root) / leading, quotient - (factor * both - root) / leading)


def resamples(runs: int) -> Iterator[Floats]:
    """Yield how often each run is drawn in each bootstrap resample, as blocks `[resample, run]`; every call yields the same.

    Example:
        >>> blocks = list(resamples(4))
        >>> sum(len(block) for block in blocks) == RESAMPLES, set(blocks[0].sum(axis=1).tolist())
        (True, {4.0})

    Reference:
        Efron (1979), Bootstrap methods: another look at the jackknife.
    """
    rng = np.random.default_rng(0)
    rows = max(1, DRAWN_AT_ONCE // runs)
    for first in range(0, RESAMPLES, rows):
        count = min(rows, RESAMPLES - first)
        places = rng.integers(runs, size=(count, runs)) + runs * np.arange(count)[:, None]
        yield np.bincount(places.ravel(), minlength=count * runs).reshape(count, runs).astype(np.float64)


def quantiles(values: Floats, *probabilities: float) -> tuple[Floats, ...]:
    """Return quantiles over the first axis, interpolated linearly between the sorted values.

    Args:
        values: one entry (a number or an array) per run.
        *probabilities: numbers in [0, 1].

    Example:
        >>> low, high = quantiles(np.arange(11.0), 0.1, 0.9)
        >>> float(low), float(high)
        (1.0, 9.0)

    Reference:
        Hyndman and Fan (1996), Sample quantiles in statistical packages, definition 7.
    """
    return tuple(np.quantile(values, probabilities, axis=0))


def t_tail(size: float, degrees: int) -> float:
    """Return P(|T| >= size) for Student's t, the inverse of `t_critical`.

    Example:
        >>> round(t_tail(t_critical(9), 9), 12)
        0.05
    """
    return 1.0 if size <= 0 else max(0.0, 1 - _inside(degrees, math.atan(size / math.sqrt(degrees))))


def holm(p_values: Floats) -> Floats:
    """Return p-values corrected for their number: testing them at 5 % gives a false finding in at most 5 % of all cases.

    The smallest of m is multiplied by m, the next one by m - 1, and so on; none is then smaller than one before it. This needs
    no assumption about how the tests depend on each other.

    Example:
        >>> holm(np.array([0.03, 0.01, 0.04])).tolist()
        [0.06, 0.03, 0.06]

    Reference:
        Holm (1979), A simple sequentially rejective multiple test procedure.
    """
    order = np.argsort(p_values, kind="stable")
    times = len(p_values) - np.arange(len(p_values))
    corrected = np.empty(len(p_values))
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(p_values[order] * times))
    return corrected


def sign_flip_test(differences: Floats, flips: int = 9_999) -> Floats:
    """Return the p-value of each row of paired differences `[test, run]`, by flipping the signs of runs.

    If two policies have the same distribution of regret, it does not matter which of the two is subtracted from the other in a
    run: each difference may as well have the other sign. So the p-value is the share of all ways to set the signs whose
    statistic is at least as far from 0 as the observed one, and it is exact at every number of runs, however heavy the tails.
    The statistic is Student's, with Hall's correction for skewness: with m the mean of the differences, s their standard
    deviation, g their skewness and `w = m / s`, it is `w + g w^2 / 3 + g^2 w^3 / 27 + g / (6 n)`. (Without the correction,
    flips would test the mean alone: the squares do not change.) The correction makes the test approximately right where the
    means are equal but the differences are skewed; docs/intervals.md measures how far.

    Signs are drawn by a generator with a fixed seed, the same for all tests; if there are few runs, all are tried. Of more than
    200 runs, several in a row are flipped together, which is as exact, and takes as long for any number of runs.

    Args:
        differences: one row per test, of at least one run.
        flips: how many ways to set the signs are drawn.

    Example:
        >>> sign_flip_test(np.array([[1.0, 2.0, 3.0, 4.0, 5.0], [1.0, -1.0, 2.0, -2.0, 0.0]])).tolist()
        [0.0625, 1.0]

    References:
        Fisher (1935), The design of experiments, section 21; Hall (1992), On the removal of skewness by transformation.
    """
    together = -(-differences.shape[1] // FLIPPED)
    summed = np.add.reduceat(differences, np.arange(0, differences.shape[1], together), axis=1)
    runs = summed.shape[1]
    scale = np.abs(summed).max(axis=1, keepdims=True)
    d = np.divide(summed, scale, out=np.zeros(summed.shape), where=scale > 0)
    powers = np.concatenate([d, d**3])
    squares = (d**2).sum(axis=1)

    def statistic(signs: Floats) -> Floats:
        ones, cubes = np.split(signs @ powers.T / runs, 2, axis=1)
        second = squares / runs
        spread = np.sqrt(np.maximum(second - ones**2, NO_SPREAD))  # equal differences are as far from 0 as can be
        w, g = ones / spread, (cubes - 3 * ones * second + 2 * ones**3) / spread**3
        return np.asarray(np.abs(w + g * w**2 / 3 + g**2 * w**3 / 27 + g / (6 * runs)))

    observed = statistic(np.ones((1, runs))) * (1 - NO_SPREAD)  # equal up to rounding is equal
    every = 2 ** (runs - 1) if runs < 60 else math.inf  # all signs; those of the first run need not be flipped
    if every <= flips + 1:
        flipped = (np.arange(every)[:, None] >> np.arange(runs)) & 1
        return np.asarray((statistic(np.where(flipped, -1.0, 1.0)) >= observed).mean(axis=0))
    rng, reached = np.random.default_rng(0), np.ones(len(d))  # the observed signs are one of the ways
    rows = max(1, DRAWN_AT_ONCE // max(runs, len(powers)))
    for first in range(0, flips, rows):
        drawn = np.frombuffer(rng.bytes(min(rows, flips - first) * runs), np.uint8).reshape(-1, runs)
        reached += (statistic(np.where(drawn & 1, 1.0, -1.0)) >= observed).sum(axis=0)
    return reached / (flips + 1)
