"""Kullback-Leibler divergences between reward distributions, and the upper bounds that they give on a mean."""

import math

from rotting.common.rules import option
from rotting.policies.kernels.elementary import expm1, log, log1p

KIND = option("bernoulli", "gaussian")
BERNOULLI, GAUSSIAN = 0, 1  # what kernels see of it

_STEPS = 100  # far more than Newton's method takes
_ERROR = 2.0**-50  # of a divergence as computed, relative to 2 + d: four times what rounding can do


def kl_bernoulli(x: float, y: float) -> float:
    """Return `x ln(x / y) + (1 - x) ln((1 - x) / (1 - y))` for x and y in [0, 1], with `0 ln 0 = 0`.

    Example:
        >>> kl_bernoulli(0.0, 0.5) == math.log(2.0), kl_bernoulli(0.5, 1.0)
        (True, inf)
    """
    total = 0.0
    if x > 0.0:
        if y <= 0.0:
            return math.inf
        total += x * log(x / y)
    if x < 1.0:
        if y >= 1.0:
            return math.inf
        total += (1.0 - x) * log((1.0 - x) / (1.0 - y))
    return total


def kl_gaussian(x: float, y: float, sigma: float) -> float:
    """Return `(x - y)^2 / (2 sigma^2)`: the divergence of two Gaussians of standard deviation sigma.

    Example:
        >>> kl_gaussian(0.0, 3.0, 1.5)
        2.0
    """
    return (x - y) * (x - y) / (2.0 * sigma * sigma)


def _newton_upper(x: float, d: float) -> float:
    """Return the root q > x of `kl_bernoulli(x, q) = d`, within a few units in the last place, for x in (0, 1).

    Newton's method in `v = ln((1 - x) / (1 - q))`, where the divergence is convex and its slope `1 - x / q` bounded: it starts
    above the root, at the better of two bounds, and comes down without crossing it.
    """
    # kl(x, q) = (1 - x) v - x ln(q / x) is at least (1 - x) v + x ln x and, by Pinsker's inequality, 2 (q - x)^2.
    v = (d - x * log(x)) / (1.0 - x)
    gap = math.sqrt(0.5 * d)
    if gap < 1.0 - x:
        v = min(v, -log1p(-gap / (1.0 - x)))
    gap = -(1.0 - x) * expm1(-v)
    for _ in range(_STEPS):
        if gap <= 0.0:
            break
        excess = (1.0 - x) * v - x * log1p(gap / x) - d
        lower = v - excess * (x + gap) / gap
        if not 0.0 < lower < v:
            break
        v = lower
        gap = -(1.0 - x) * expm1(-v)
    return x + gap


def kl_bernoulli_upper(x: float, d: float) -> float:
    """Return `sup{q in [x, 1]: kl_bernoulli(x, q) <= d}`: the number at which a bisection to the last bit ends.

    Newton's method finds the root; the bisection computes divergences only next to it. So the bound equals that of the plain
    bisection, bit for bit, in half the time: ties stay ties.

    Args:
        x: a mean; below 0 counts as 0, above 1 as 1.
        d: zero or more.

    Example:
        >>> round(kl_bernoulli_upper(0.3, 0.1), 10)
        0.5210276121
    """
    if x >= 1.0:
        return 1.0
    x = max(0.0, x)
    near = -expm1(-d) if x == 0.0 else _newton_upper(x, d)
    # Within `doubt` of the root, rounding can decide: there the divergence, which is convex, is within `error` of d.
    error = _ERROR * (2.0 + d)
    doubt = math.sqrt(error)
    if d > error:
        doubt = min(doubt, error * (near - x) / d)
    doubt = 2.0 * doubt + _ERROR
    low, high = x, 1.0
    q = 0.5 * (low + high)
    while abs(q - near) > doubt and low < q < high:
        low, high = (q, high) if q < near else (low, q)
        q = 0.5 * (low + high)
    while low < q < high:
        if q < near - doubt or (q <= near + doubt and kl_bernoulli(x, q) <= d):
            low = q
        else:
            high = q
        q = 0.5 * (low + high)
    return low


def upper(kind: int, x: float, d: float, sigma: float) -> float:
    """Return the largest mean whose divergence from x is at most d: `sup{q: kl(x, q) <= d}`.

    Args:
        kind: `BERNOULLI` or `GAUSSIAN`.
        x: a mean.
        d: zero or more.
        sigma: standard deviation of the Gaussians.

    Example:
        >>> upper(GAUSSIAN, 1.0, 2.0, 0.5)
        2.0
    """
    if kind == BERNOULLI:
        return kl_bernoulli_upper(x, d)
    return x + sigma * math.sqrt(2.0 * d)


def exploration(n: int, c: float) -> float:
    """Return `ln n + c ln ln n`, the second logarithm cut at 0 where it is negative or undefined (n < e)."""
    first = log(n)
    return first + c * log(max(1.0, first))
