"""Posterior distributions of the arms' means: drawing one value from each, and the probability that an arm's is the largest.

A posterior is two numbers, `first` and `second`: a and b of a Beta distribution, or the mean and the standard deviation of a
Gaussian. Beta posteriors live on the scale of the log-odds `ln(x / (1 - x))`, which orders them in the same way, never rounds
to 0 or 1, and makes the density smooth and log-concave for every a and b.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import option
from rotting.policies.kernels.binding import KernelFunction, allocates_nothing, bind, bind_all, slot
from rotting.policies.kernels.elementary import exp, expm1, log, log1p
from rotting.policies.kernels.random_numbers import normal_quantile, reward_uniform, uniform
from rotting.policies.parts.indices import first_new, pulled
from rotting.policies.parts.reward_scale import BOUNDED, GAUSSIAN, in_reward_units
from rotting.policy import Params, Reason
from rotting.problems.noise import log_gamma_variate

POSTERIOR = option("beta", "gaussian")


@slot
def evidence(p: Params, s: object, t: int, i: int) -> tuple[float, float]:
    """Slot: N_i and S_i, the number and the sum of arm i's rewards that count at round t."""
    raise NotImplementedError


def posterior(p: Params, n: float, total: float) -> tuple[float, float]:
    """Return the posterior after n rewards of this total: Beta(a + total, b + n - total), or N(total / n, sigma^2 / n)."""
    if p.kind == BOUNDED:
        return p.a + total, p.b + max(0.0, n - total)
    return total / n, p.sigma / math.sqrt(n)


def _policy_uniform(key: int, run: int, arm: int, clock: int, draw: int) -> float:
    return uniform(key, clock, draw)


_log_gamma = bind(log_gamma_variate, {reward_uniform: _policy_uniform})


def sample(kind: int, first: float, second: float, key: int, t: int, draw: int) -> tuple[float, int]:
    """Return a value drawn from a posterior, and the next free draw of round t.

    A Gaussian takes one draw. A Beta takes those of two gamma variates (Marsaglia and Tsang 2000), a's and then b's, and is
    returned as log-odds.
    """
    if kind == GAUSSIAN:
        return first + second * normal_quantile(uniform(key, t, draw)), draw + 1
    x, draw = _log_gamma(first, key, 0, 0, t, draw)
    y, draw = _log_gamma(second, key, 0, 0, t, draw)
    return x - y, draw


def unknown_arm(p: Params, s: object, t: int, arms: Ints) -> int:
    """Return the first arm never pulled, else the first one without evidence for its Gaussian; or -1."""
    arm = first_new(s, arms)
    if arm < 0 and p.kind == GAUSSIAN:
        for i in arms:
            if not evidence(p, s, t, i)[0] > 0.0:
                return int(i)
    return arm


def _choose(p: Params, s: object, t: int, key: int, arms: Ints) -> int:
    best = unknown_arm(p, s, t, arms)
    if best >= 0:
        return best
    largest, draw = -math.inf, 0
    for i in arms:
        n, total = evidence(p, s, t, i)
        first, second = posterior(p, n, total)
        value, draw = sample(p.kind, first, second, key, t, draw)
        if value > largest or best < 0:  # strictly: ties go to the lowest arm
            best, largest = int(i), value
    return best


def _propensities(p: Params, s: object, t: int, arms: Ints, out: Floats) -> None:
    unknown = unknown_arm(p, s, t, arms)
    if unknown >= 0:
        for k in range(arms.size):
            out[k] = 1.0 if arms[k] == unknown else 0.0
        return
    posteriors = np.empty((arms.size, 2))
    for k in range(arms.size):
        n, total = evidence(p, s, t, arms[k])
        posteriors[k, 0], posteriors[k, 1] = posterior(p, n, total)
    probabilities_of_largest(p.kind, posteriors, out)


def _explain(p: Params, s: object, t: int, arms: Ints, i: int) -> Reason:
    n, total = evidence(p, s, t, i)
    if not pulled(s, i) or (p.kind == GAUSSIAN and not n > 0.0):
        return Reason(math.nan, math.nan, 0, math.inf)
    first, second = posterior(p, n, total)
    if p.kind == GAUSSIAN:
        return Reason(math.nan, first, int(n), second)
    size = first + second
    deviation = math.sqrt(first * second / (size + 1.0)) / size
    return in_reward_units(p, Reason(math.nan, first / size, int(n), deviation))


def thompson(
    policy_evidence: Callable[..., tuple[float, float]], ever_pulled: Callable[..., bool] = pulled
) -> dict[str, KernelFunction]:
    """Return `choose`, `propensities` and `explain` of the policy that draws from each posterior and pulls the largest.

    Args:
        policy_evidence: `policy_evidence(p, s, t, i)` returns N_i and S_i, the number and the sum of arm i's rewards that count
            at round t; both may be discounted.
        ever_pulled: `ever_pulled(s, i)` returns whether arm i was ever pulled.
    """
    roots = {"choose": _choose, "propensities": _propensities, "explain": _explain}
    return bind_all(roots, {evidence: policy_evidence, pulled: ever_pulled})


# --- The probability that one value is the largest ----------------------------------------------------------------------------
#
# It is the integral of f_i times the product of the other arms' F_j. We integrate from left to right, in panels that are short
# for every density, with a Gauss-Legendre rule in each. The same values of the densities also give the F_j at those points. The
# densities need no constants: those of all arms together are one factor of every probability, and the probabilities sum to 1.


def _rule(order: int) -> tuple[Floats, Floats, Floats]:
    """Return points and weights on [0, 1], and `areas[m, n]`: the weight of point m in the integral from 0 to point n."""
    x, w = np.polynomial.legendre.leggauss(order)
    p = np.polynomial.legendre.legvander(x, order)
    k = np.arange(1, order)
    below = np.empty((order, order))
    below[:, 0] = x + 1.0
    below[:, 1:] = (p[:, 2:] - p[:, :-2]) / (2 * k + 1)
    areas = below * (np.arange(order) + 0.5) @ (p[:, :order] * w[:, None]).T
    return (x + 1.0) / 2.0, w / 2.0, areas.T.copy() / 2.0


_ORDER = 16
_POINTS, _WEIGHTS, _AREAS = _rule(_ORDER)
for _table in (_POINTS, _WEIGHTS, _AREAS):  # as in compiled code, where constants cannot be written to
    _table.setflags(write=False)
_DEPTH = 28.0  # where the log of a density has fallen by this much, what lies beyond is below 1e-13
_LENGTH = 2.5  # of a panel in standard deviations: 16 points integrate it to 1e-12, and all of its parts
_LONG = 4.0  # of a panel whose parts do not count
_CLEAR = 1e4  # the size a + b up to which the log-density of a Beta is accurate to 1e-11 as a sum of two large terms
_LEAST = 1e-300  # what is divided by


def _fall(kind: int, first: float, second: float, peak: float, y: float) -> float:
    """Return how far the log-density at y is below its peak."""
    d = y - peak
    if kind == GAUSSIAN:
        return 0.5 * (d / second) * (d / second)
    size = first + second  # the two forms are equal, and neither overflows
    if d < 0.0:
        return size * log1p(first / size * expm1(d)) - first * d
    return size * log1p(second / size * expm1(-d)) + second * d


def _left_end(kind: int, first: float, second: float) -> float:
    """Return where the log-density is _DEPTH below its peak, or a little further left."""
    if kind == GAUSSIAN:
        return first - second * math.sqrt(2.0 * _DEPTH)
    # A step of Newton's method, which ends on the left of the root of a convex function, from two guesses close to it.
    size, d = first + second, -math.sqrt(2.0 * _DEPTH * (1.0 / first + 1.0 / second))
    d = max(d, (size * log(second / size) - _DEPTH) / first)
    risen = first * expm1(d)
    d += (_DEPTH - size * log1p(risen / size) + first * d) / (risen * second / (size + risen))
    return log(first / second) + d


def _right_end(kind: int, first: float, second: float) -> float:
    if kind == GAUSSIAN:
        return first + second * math.sqrt(2.0 * _DEPTH)
    return -_left_end(kind, second, first)


def _rough_integral(kind: int, first: float, second: float) -> float:
    """Return about the integral of a density whose peak is 1, to some percent: a Beta's is Stirling's formula, corrected.

    The product of many integrals is then neither too small nor too large for a number.
    """
    if kind == GAUSSIAN:
        return math.sqrt(2.0 * math.pi) * second
    turn = 2.0 * math.pi
    a, b = turn * first, turn * second
    return turn * math.sqrt((1.0 / a + 1.0 / b) * (1.0 + 1.0 / a)) * math.sqrt((1.0 + 1.0 / b) / (1.0 + 1.0 / (a + b)))


class _Densities(NamedTuple):
    """The densities of the arms' values, and their integrals up to the current panel."""

    first: Floats  # [K] a of a Beta, or the mean of a Gaussian
    second: Floats  # [K] b of a Beta, or the standard deviation of a Gaussian
    log_size: Floats  # [K] the logarithm of a + b, of a Beta
    peak: Floats  # [K] where the density is largest
    height: Floats  # [K] the log-density there, of a Beta up to the size _CLEAR; else NaN
    left: Floats  # [K] where the density begins to matter
    right: Floats  # [K] where it ceases to
    scale: Floats  # [K] roughly 1 over the integral of exp(-fall); 0 for an arm that cannot have the largest value
    below: Floats  # [K] integral before the panel
    density: Floats  # [K, _ORDER] at the points of the panel
    share: Floats  # [K, _ORDER] integral up to the points of the panel
    chance: Floats  # [K, _ORDER] the probability, added up over the panels, for each of their points


def _new_densities(kind: int, posteriors: Floats) -> tuple[_Densities, float]:
    """Return the densities, and the left end of the one that begins last: smaller values are not the largest."""
    n = len(posteriors)
    d = _Densities(
        first=posteriors[:, 0].copy(),
        second=posteriors[:, 1].copy(),
        log_size=np.zeros(n),
        peak=np.empty(n),
        height=np.full(n, math.nan),
        left=np.empty(n),
        right=np.empty(n),
        scale=np.zeros(n),
        below=np.zeros(n),
        density=np.zeros((n, _ORDER)),
        share=np.zeros((n, _ORDER)),
        chance=np.zeros((n, _ORDER)),
    )
    last = 0
    for k in range(n):
        d.left[k] = _left_end(kind, d.first[k], d.second[k])
        if d.left[k] > d.left[last]:
            last = k
    if kind == GAUSSIAN:
        # From here on relative to the arm that begins last: the differences of large means are exact.
        centre = d.first[last]
        for k in range(n):
            d.first[k] -= centre
            d.left[k] = _left_end(kind, d.first[k], d.second[k])
    start = d.left[last]
    for k in range(n):
        a, b = d.first[k], d.second[k]
        d.peak[k] = a if kind == GAUSSIAN else log(a / b)
        if kind != GAUSSIAN:
            d.log_size[k] = log(a + b)
            if a + b <= _CLEAR:
                d.height[k] = a * log(a / (a + b)) + b * log(b / (a + b))
        d.right[k] = _right_end(kind, a, b)
        if d.right[k] > start:
            d.scale[k] = 1.0 / _rough_integral(kind, a, b)
    return d, start


def _log_odds(kind: int, y: float) -> tuple[float, float]:
    """Return the logarithms of `1 / (1 + exp(-y))` and `1 / (1 + exp(y))`, for a Beta."""
    if kind == GAUSSIAN:
        return 0.0, 0.0
    tail = log1p(exp(-abs(y)))
    return min(0.0, y) - tail, min(0.0, -y) - tail


@allocates_nothing
def _panel_end(kind: int, d: _Densities, y: float, end: float, most: float) -> float:
    """Return the end of a panel from y on over which every density is easy to integrate."""
    stop, here = end, _log_odds(kind, y)
    x, rest = exp(here[0]), exp(here[1])
    for k in range(d.scale.size):
        if d.scale[k] > 0.0 and y < d.right[k] and d.left[k] < stop:
            begin = max(y, d.left[k])
            if kind == GAUSSIAN:
                stop = min(stop, begin + most * d.second[k])
            elif begin == y:
                stop = _beta_end(d, k, y, stop, most, here, x, rest)
            else:
                there = _log_odds(kind, begin)
                stop = _beta_end(d, k, begin, stop, most, there, exp(there[0]), exp(there[1]))
    return stop


def _beta_end(
    d: _Densities, k: int, y: float, stop: float, most: float, log_odds: tuple[float, float], x: float, rest: float
) -> float:
    """Return the end of a panel that was to end at `stop`: nearer to y = log(x / rest) if arm k's Beta asks for it."""
    first, second, room = d.first[k], d.second[k], stop - y
    bend = (first + second) * x * rest
    if room * room * (1.0 + bend) <= most * most:
        return stop
    length = most / math.sqrt(1.0 + bend)
    if bend < 1.0:
        # In its tails, a log-density is a line, a long one for a small a or b: it bends about -log_bend further on.
        log_bend = d.log_size[k] + log_odds[0] + log_odds[1]
        length = max(length, min(-0.5 * log_bend, 12.0 / max(abs(first * rest - second * x), _LEAST)))
    return min(stop, y + length)


@allocates_nothing
def _advance(kind: int, d: _Densities, k: int, points: Floats, length: float, adds: bool) -> None:
    """Write arm k's density and integral at the points of a panel, and the integral up to its end.

    Args:
        kind: of the posteriors.
        d: the densities.
        k: the arm.
        points: [5, _ORDER] the points y, their `_log_odds`, and how far these are above those of the last point.
        length: of the panel.
        adds: whether the panel adds to the probabilities; else the integral up to its end suffices.
    """
    if d.scale[k] == 0.0 or points[0, 0] >= d.right[k]:
        return  # `_add_panel` does not read them
    if points[0, _ORDER - 1] <= d.left[k]:
        return  # density and share are still 0
    a, b, height, scale, before = d.first[k], d.second[k], d.height[k], d.scale[k], d.below[k]
    density, share = d.density[k], d.share[k]
    size = density.size  # not the constant: the compiler would unroll loops that a processor can do several steps of at once
    if not math.isnan(height):
        for m in range(size):
            density[m] = a * points[1, m] + b * points[2, m] - height
    elif kind == GAUSSIAN:
        for m in range(size):
            density[m] = -_fall(kind, a, b, d.peak[k], points[0, m])
    else:  # from the last point of the panel, from which no difference is large
        last = -_fall(kind, a, b, d.peak[k], points[0, size - 1])
        for m in range(size):
            density[m] = last + (a * points[3, m] + b * points[4, m])
    for m in range(size):
        density[m] = scale * exp(density[m])
    for m in range(size):
        share[m] = before
    total = 0.0
    for m in range(_ORDER):
        total += _WEIGHTS[m] * density[m]
    d.below[k] = before + length * total
    if adds:
        for m in range(_ORDER):
            mass = length * density[m]
            for n in range(size):
                share[n] += _AREAS[m, n] * mass


@allocates_nothing
def _add_panel(d: _Densities, first: float, product: Floats, length: float) -> None:
    """Add the probability that each arm's value is the largest and lies in the panel, whose first point is given."""
    for k in range(d.scale.size):
        if d.scale[k] > 0.0 and first >= d.right[k]:
            length *= d.below[k]
    for m in range(_ORDER):
        product[m] = length * _WEIGHTS[m]
    for k in range(d.scale.size):
        if d.scale[k] > 0.0 and first < d.right[k]:
            for m in range(product.size):
                product[m] *= max(0.0, d.share[k, m])
    for k in range(d.scale.size):
        if d.scale[k] > 0.0 and first < d.right[k]:
            for m in range(product.size):
                d.chance[k, m] += d.density[k, m] * (product[m] / max(d.share[k, m], _LEAST))


def probabilities_of_largest(kind: int, posteriors: Floats, out: Floats) -> None:
    """Write into `out` the probability that the value of each of `posteriors` [K, 2] is the largest of all.

    Deterministic; the error is below 1e-9. Allocates, unlike `choose` and `update`.
    """
    d, start = _new_densities(kind, posteriors)
    points, product = np.zeros((5, _ORDER)), np.zeros(_ORDER)
    y, end, large = start, start, False
    for k in range(out.size):
        large = large or (kind != GAUSSIAN and math.isnan(d.height[k]))
        if d.right[k] > start:
            y, end = min(y, d.left[k]), max(end, d.right[k])
    while y < end:
        adds = y >= start
        stop = _panel_end(kind, d, y, end, _LENGTH) if adds else _panel_end(kind, d, y, start, _LONG)
        length = stop - y
        if not length > 0.0:  # too short to go on from y, or NaN
            break
        for m in range(_ORDER):
            points[0, m] = y + length * _POINTS[m]
            points[1, m], points[2, m] = _log_odds(kind, points[0, m])
        if large:
            x, rest = exp(points[1, _ORDER - 1]), exp(points[2, _ORDER - 1])
            for m in range(_ORDER):
                before = points[0, m] - points[0, _ORDER - 1]
                points[3, m], points[4, m] = -log1p(rest * expm1(-before)), -log1p(x * expm1(before))
        for k in range(out.size):
            _advance(kind, d, k, points, length, adds)
        if adds:
            _add_panel(d, points[0, 0], product, length)
        y = stop
    total = 0.0
    for k in range(out.size):
        out[k] = 0.0
        for m in range(_ORDER):  # in this order also when compiled, unlike `sum`
            out[k] += d.chance[k, m]
        total += out[k]
    for k in range(out.size):
        out[k] /= total
