"""The scale of the noise, given or estimated: what `sigma` and `sigma="estimate"` mean to a policy.

The default is `sigma = 1`, the scale of `Gaussian(1.0)`, the standard noise of problems. Policies that were published for
rewards in a declared range, which is [0, 1] by default, take the scale from that range instead: SW-UCB and D-UCB have
`sigma = "range"`, which is `B / 2` for rewards in [0, B] (Hoeffding); the others have no sigma, or none for such rewards.

An estimated scale is learned from the differences of an arm's successive rewards. No theorem covers an index with it.

Successive rewards of an arm have nearly the same mean, however it changes in the long run. So half the mean square of their
differences estimates the variance of the noise. With D_i the sum of the squared differences of arm i and n_i their number, the
arms are shrunk towards the pool of all, which weighs as much as c pairs of their own:

    v_i = (D_i + 2 c V) / (2 (n_i + c)),    V = sum of D / (2 sum of n),    c = 150.

Until two neighbours differ, V is the variance of the arms' first rewards; if these are all alike, the square of their value; if
they are all 0, 1. So V is never 0.

The estimate scales with the rewards, if they are 0 or between 1e-100 and 1e100 in size. Larger rewards are refused; the squares
of much smaller ones are rounded to 0, and no scale is taken to be below 1e-150.
"""

import math
from typing import NamedTuple, Protocol

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import ESTIMATE, HALF_RANGE
from rotting.policies.kernels.exact_sums import add
from rotting.policy import Params

_LEAST = 1e-300  # of a variance, where the squares of tiny rewards are rounded to 0


class NoiseScale(NamedTuple):
    """What the scale is estimated from."""

    seen: Ints  # [K] rewards of each arm
    first: Floats  # [K] its first reward
    last: Floats  # [K] its last one
    high: Floats  # [K] D_i, as high + low: arms with the same differences in another order have the same scale
    low: Floats  # [K]
    pool: Floats  # [2] sum of D, as high + low
    pairs: Ints  # [1] sum of n
    variance: Floats  # [1] V


class HasNoise(Protocol):
    """A state of a policy that can estimate its sigma."""

    @property
    def noise(self) -> NoiseScale:
        """What sigma is estimated from."""


def new_noise_scale(n_arms: int) -> NoiseScale:
    """Return the state of an estimate that has seen nothing."""
    return NoiseScale(
        seen=np.zeros(n_arms, np.int64),
        first=np.zeros(n_arms),
        last=np.zeros(n_arms),
        high=np.zeros(n_arms),
        low=np.zeros(n_arms),
        pool=np.zeros(2),
        pairs=np.zeros(1, np.int64),
        variance=np.ones(1),
    )


def reset_noise(s: NoiseScale) -> None:
    """Forget everything."""
    for i in range(s.seen.size):
        s.seen[i], s.first[i], s.last[i], s.high[i], s.low[i] = 0, 0.0, 0.0, 0.0, 0.0
    s.pool[:] = 0.0
    s.pairs[0], s.variance[0] = 0, 1.0


def is_estimated(p: Params) -> bool:
    """Return whether the policy estimates its sigma."""
    return bool(p.sigma == ESTIMATE)


def given_sigma(p: Params) -> float:
    """Return the sigma that was given, or 1 if it is estimated: then `scale_of` is the estimate."""
    return 1.0 if is_estimated(p) else float(p.sigma)


def observe_noise(p: Params, s: NoiseScale, i: int, reward: float) -> None:
    """Take a reward of arm i into account, if the scale is estimated."""
    if not is_estimated(p):
        return
    s.seen[i] += 1
    if s.seen[i] == 1:
        s.first[i] = reward
    else:
        square = (reward - s.last[i]) * (reward - s.last[i])
        s.high[i], s.low[i] = add(s.high[i], s.low[i], square)
        s.pool[0], s.pool[1] = add(s.pool[0], s.pool[1], square)
        s.pairs[0] += 1
    s.last[i] = reward
    if s.pool[0] > 0.0 or s.seen[i] == 1:  # else it stays
        s.variance[0] = _pooled(s)


def forget_noise(s: NoiseScale, arm: int) -> None:
    """Take what an arm contributed out of the pool."""
    s.seen[arm], s.high[arm], s.low[arm] = 0, 0.0, 0.0
    s.pool[:] = 0.0
    s.pairs[0] = 0
    for i in range(s.seen.size):
        high, low = add(s.pool[0], s.pool[1], s.high[i])
        s.pool[0], s.pool[1] = add(high, low, s.low[i])
        s.pairs[0] += max(0, s.seen[i] - 1)
    s.variance[0] = _pooled(s)


def forget(p: Params, s: HasNoise, arm: int) -> None:
    """Forget an arm: `Kernel.forget` of a policy whose state has no other sums over all arms."""
    forget_noise(s.noise, arm)


def prior_pairs() -> float:
    """Return c. With a smaller c, arms of rare successes, which seem to have no noise, are given up too soon.

    This is a function so that another can be bound in its place: docs/unknown-noise.md compares several values.
    """
    return 150.0


def _first_variance(s: NoiseScale) -> float:
    """Return the variance that the arms' first rewards suggest."""
    count, one, largest, total, squares = 0, 0.0, 0.0, 0.0, 0.0
    for i in range(s.seen.size):
        if s.seen[i] > 0:
            if count == 0:
                one = s.first[i]
            count += 1
            largest = max(largest, abs(s.first[i]))
            total += s.first[i] - one  # from one of them: rewards that are all alike have no spread, not even rounding's
    for i in range(s.seen.size):
        if s.seen[i] > 0:
            apart = s.first[i] - one - total / count
            squares += apart * apart
    if squares > 0.0:
        return squares / (count - 1)
    return largest * largest if largest > 0.0 else 1.0


def _pooled(s: NoiseScale) -> float:
    return float(s.pool[0] / (2.0 * s.pairs[0])) if s.pool[0] > 0.0 else _first_variance(s)


def scale_of(p: Params, s: NoiseScale, i: int) -> float:
    """Return what `given_sigma` is multiplied by for arm i: the estimate, or 1 if sigma was given."""
    if not is_estimated(p):
        return 1.0
    pairs, c = max(0, s.seen[i] - 1), prior_pairs()
    return math.sqrt(max(_LEAST, (s.high[i] + 2.0 * c * s.variance[0]) / (2.0 * (pairs + c))))


def arm_noise(p: Params, s: HasNoise, i: int) -> float:
    """Return `scale_of` arm i for a state with a field `noise`: to be bound to `indices.arm_scale`."""
    return scale_of(p, s.noise, i)


def range_of(p: Params, s: NoiseScale, i: int) -> float:
    """Return `2 sigma` for a policy that is told its sigma or, as B, the range of the rewards."""
    return float(p.B) if p.sigma == HALF_RANGE else 2.0 * sigma_of(p, s, i)


def sigma_of(p: Params, s: NoiseScale, i: int) -> float:
    """Return the scale of arm i's noise, given or estimated."""
    return given_sigma(p) * scale_of(p, s, i)
