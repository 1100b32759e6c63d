"""The generalised likelihood ratio test for a change of the mean, exact, on a few splits.

With n samples, their mean m and prefix sums P, the statistic of split k is

    G(k) = k kl(P_k / k, m) + (n - k) kl((P_n - P_k) / (n - k), m).

`k kl(P / k, m)` is the perspective of a convex function, so G is convex in (k, P_k): its largest value is at a vertex of the
upper or of the lower hull of the points (k, P_k) (`hull.py`; the lower hull is the upper one of the negated samples). Romano,
Eckley, Fearnhead, Rigaill, "Fast online changepoint detection via functional pruning CUSUM statistics", JMLR 2023, found it
for the Gaussian test, Ward, Romano, Eckley, Fearnhead 2024 for exponential families. So the test looks at O(log n) splits on
average instead of n, and raises the alarms of the full scan, but for the last digit of a statistic.

With `D = P_k - k m`, and for every v with `kl(x, m) <= (x - m)^2 / v`, which is `2 sigma^2` for the Gaussian divergence and
`m (1 - m)` for Bernoulli's, G is at most `D^2 n / (k (n - k) v)`. That rules out most vertices without a division or a
logarithm. What is not ruled out is computed as the definition says; the bound is widened by more than all rounding errors.

The state of a policy with this test has the fields `upper` and `lower`, the hulls (`Stacks`); `least` [K], a lower bound of the
threshold, computed when the number of samples has doubled; and `full` [1].
"""

from collections.abc import Callable
from typing import Protocol

from rotting.common.arrays import Floats, Ints
from rotting.policies.kernels.binding import bind, slot
from rotting.policies.parts.hull import Stacks, ensure_room, pulls, push, release, top, window_mean
from rotting.policy import Params

_SLACK = 2.0**-48  # of the sums: more than the roundings of D, and of the means in G, together
_MARGIN = 1.0 - 1e-6  # more than the roundings of the products and divergences


class HasSamples(Protocol):
    """A state with the samples of each arm since its restart."""

    @property
    def upper(self) -> Stacks:
        """The upper hull of the prefix sums of the samples."""

    @property
    def lower(self) -> Stacks:
        """The lower hull, as the upper hull of the samples times -1."""

    @property
    def least(self) -> Floats:
        """[K] a lower bound of the threshold."""

    @property
    def full(self) -> Ints:
        """[1] 1 if the hulls had no room for a sample."""


@slot
def kl(p: Params, x: float, y: float) -> float:
    """Slot: the divergence."""
    raise NotImplementedError


@slot
def curvature(p: Params, mean: float) -> float:
    """Slot: a v with `kl(x, mean) <= (x - mean)^2 / v` for every x."""
    raise NotImplementedError


@slot
def beta(p: Params, n: int, delta: float) -> float:
    """Slot: the threshold for n samples."""
    raise NotImplementedError


@slot
def units(p: Params, s: object, i: int) -> float:
    """Slot: the number that the statistic of arm i is divided by: the variance of its noise if `kl` assumes a variance of 1."""
    raise NotImplementedError


def record_sample(s: HasSamples, i: int, sample: float) -> bool:
    """Record a sample of arm i if there is room for it. Return whether there was; else `s.full` asks for a larger state."""
    if not (ensure_room(s.upper, i) and ensure_room(s.lower, i)):
        s.full[0] = 1
        return False
    push(s.upper, i, sample)
    push(s.lower, i, -sample)
    return True


def discard_samples(s: HasSamples, i: int) -> None:
    """Discard the samples of arm i."""
    release(s.upper, i)
    release(s.lower, i)


def _none_can_fire(start: Floats, high: Floats, n: float, mean: float, total: float, bar: float) -> bool:
    """Return whether the bound rules out an alarm at all these splits."""
    found = False
    for k in range(start.size):
        d = abs(high[k] - start[k] * mean) + _SLACK * (abs(total) + abs(high[k]))
        found |= d * d * n >= bar * start[k] * (n - start[k])
    return not found


def _is_quiet(s: Stacks, i: int, bar: float) -> bool:
    first, newest = s.first[i] + 1, top(s, i)
    n, total = s.start[newest], s.high[newest]
    return _none_can_fire(s.start[first:newest], s.high[first:newest], n, total / n, total, bar)


def _fires(p: Params, s: Stacks, i: int, sign: float, threshold: float) -> bool:
    """Return whether a split at a vertex raises the alarm, where the samples of the hull were multiplied by `sign`."""
    newest = top(s, i)
    n, whole = s.start[newest], sign * (s.high[newest] / s.start[newest])
    for place in range(s.first[i] + 1, newest):
        k = s.start[place]
        left, right = sign * (s.high[place] / k), sign * window_mean(s, newest, place)
        if k * kl(p, left, whole) + (n - k) * kl(p, right, whole) >= threshold:
            return True
    return False


def _alarm(p: Params, s: HasSamples, i: int, delta: float) -> bool:
    n = pulls(s.upper, i)
    if n < 2:
        return False
    if n & (n - 1) == 0:  # a power of two
        s.least[i] = _MARGIN * beta(p, n, delta) / (1.0 + 1.0 / n)
    unit = units(p, s, i)
    bar = unit * s.least[i] * curvature(p, s.upper.high[top(s.upper, i)] / n)
    # The bar is 0 for Bernoulli's divergence if all samples are 0, or all are 1.
    if bar <= 0.0 or (_is_quiet(s.upper, i, bar) and _is_quiet(s.lower, i, bar)):
        return False
    threshold = unit * beta(p, n, delta)
    return _fires(p, s.upper, i, 1.0, threshold) or _fires(p, s.lower, i, -1.0, threshold)


def glr_test(
    divergence: Callable[..., float],
    its_curvature: Callable[..., float],
    threshold: Callable[..., float],
    variance: Callable[..., float],
) -> Callable[..., bool]:
    """Return the function `alarm(p, s, i, delta)`: whether G of a split of arm i's samples reaches the threshold.

    It must be called after every sample: it renews a lower bound of the threshold when their number is a power of two.

    Args:
        divergence: `kl(p, x, y)`.
        its_curvature: `curvature(p, mean)`, a v with `kl(p, x, mean) <= (x - mean)^2 / v` for every x.
        threshold: `beta(p, n, delta)`, positive; `beta / (1 + 1 / n)` must not be above the beta of more samples.
        variance: `units(p, s, i)`, what G is divided by.
    """
    return bind(_alarm, {kl: divergence, curvature: its_curvature, beta: threshold, units: variance})
