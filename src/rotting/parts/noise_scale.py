"""The scale of the noise, given or estimated: what `sigma` and `sigma="estimate"` mean to a policy.

Neighbouring rewards of an arm have nearly the same mean, however it changes in the long run. So half the mean square of their
differences estimates the variance of the noise. With D_i the sum of the squared differences of arm i and n_i their number, the
arms are drawn towards the pool of all by a few pairs that are made up:

    v_i = (D_i + 2 c V) / (2 (n_i + c)),    V = sum of D / (2 sum of n),    c = 20.

Until two neighbours differ, V is the variance of the arms' first rewards, or the square of the largest of them if they are all
alike, or 1 if they are all 0: some scale, so that no width is 0. All of it scales with the rewards: none is assumed.

No theorem covers an index with an estimated scale.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import ESTIMATE, HALF_RANGE

PRIOR_PAIRS = 20.0  # fewer, and arms of rare successes, which seem to have no noise, are given up too soon
_LEAST = 1e-300  # of a variance, where the square of a reward is rounded to 0


class NoiseScale(NamedTuple):
    """What the scale is estimated from."""

    seen: Ints  # [K] rewards of each arm
    first: Floats  # [K] its first reward
    last: Floats  # [K] its last one
    squares: Floats  # [K] D_i
    pool: Floats  # [3] sum of D, sum of n, V


def new_noise_scale(n_arms: int) -> NoiseScale:
    """Return the state of an estimate that has seen nothing."""
    return NoiseScale(
        seen=np.zeros(n_arms, np.int64),
        first=np.zeros(n_arms),
        last=np.zeros(n_arms),
        squares=np.zeros(n_arms),
        pool=np.zeros(3),
    )


def reset_noise(s: NoiseScale) -> None:
    """Forget everything."""
    for i in range(s.seen.size):
        s.seen[i], s.first[i], s.last[i], s.squares[i] = 0, 0.0, 0.0, 0.0
    s.pool[:] = 0.0


def is_estimated(p: Any) -> bool:
    """Tell whether the policy was not told its sigma."""
    return bool(p.sigma == ESTIMATE)


def given_sigma(p: Any) -> float:
    """Return the sigma that was given, or 1 for a policy that multiplies by `scale_of` what it estimates."""
    return 1.0 if is_estimated(p) else float(p.sigma)


def observe_noise(p: Any, s: NoiseScale, i: int, reward: float) -> None:
    """Take a reward of arm i into account, if the scale is estimated."""
    if not is_estimated(p):
        return
    if s.seen[i] == 0:
        s.first[i] = reward
    else:
        square = (reward - s.last[i]) * (reward - s.last[i])
        s.squares[i] += square
        s.pool[0] += square
        s.pool[1] += 1.0
    s.last[i] = reward
    s.seen[i] += 1
    _pool(s)


def forget_noise(s: NoiseScale, arm: int) -> None:
    """Take what an arm contributed out of the pool."""
    s.seen[arm], s.squares[arm] = 0, 0.0
    s.pool[0], s.pool[1] = 0.0, 0.0
    for i in range(s.seen.size):
        s.pool[0] += s.squares[i]
        s.pool[1] += max(0, s.seen[i] - 1)
    _pool(s)


def _first_variance(s: NoiseScale) -> float:
    """Return the variance that the arms' first rewards suggest."""
    count, total, largest = 0, 0.0, 0.0
    for i in range(s.seen.size):
        if s.seen[i] > 0:
            count += 1
            total += s.first[i]
            largest = max(largest, abs(s.first[i]))
    spread = 0.0
    for i in range(s.seen.size):
        if s.seen[i] > 0:
            spread += (s.first[i] - total / count) * (s.first[i] - total / count)
    if spread > 0.0:
        return max(_LEAST, spread / (count - 1))
    return max(_LEAST, largest * largest) if largest > 0.0 else 1.0


def _pool(s: NoiseScale) -> None:
    """Compute V anew."""
    s.pool[2] = s.pool[0] / (2.0 * s.pool[1]) if s.pool[0] > 0.0 else _first_variance(s)


def scale_of(p: Any, s: NoiseScale, i: int) -> float:
    """Return what `given_sigma` is multiplied by for arm i: the estimate, or 1 if sigma was given."""
    if not is_estimated(p):
        return 1.0
    pairs = max(0, s.seen[i] - 1)
    return math.sqrt((s.squares[i] + 2.0 * PRIOR_PAIRS * s.pool[2]) / (2.0 * (pairs + PRIOR_PAIRS)))


def range_of(p: Any, s: NoiseScale, i: int) -> float:
    """Return `2 sigma` for a policy that is told its sigma or, as B, the range of the rewards."""
    return float(p.B) if p.sigma == HALF_RANGE else 2.0 * sigma_of(p, s, i)


def sigma_of(p: Any, s: NoiseScale, i: int) -> float:
    """Return the scale of arm i's noise, given or estimated."""
    return given_sigma(p) * scale_of(p, s, i)
