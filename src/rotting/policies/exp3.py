"""Exp3: exponential weights against an adversary."""

import math
from typing import Literal

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import FINITE, FRACTION, INDEX
from rotting.policies.kernels.elementary import log
from rotting.policies.parts.exponential_weights import (
    Weights,
    boost,
    draw_arm,
    equalise,
    forget,
    new_weights,
    probabilities,
    rescale,
)
from rotting.policies.parts.reward_scale import OUTSIDE, check_range
from rotting.policy import Kernel, Params, Policy, parameter


class Exp3(Policy):
    """Exp3: draws arms by exponential weights; no assumption on how rewards come about, but the best arm must not change.

    Draws arm i with probability `p_i = (1 - gamma) w_i / W + gamma / K`, where W is the sum of the weights, and after its
    reward x, mapped from [low, high] to [0, 1], does `w_i *= exp(gamma x / (p_i K))`. Weights start equal. When only some arms
    are available, W and the exploration `gamma / K` are over those. A reward that comes late is divided by the probability with
    which its arm was drawn.

    Args:
        gamma: rate of exploration, in (0, 1]; not to be given with a horizon.
        horizon: number of rounds T to tune for, `gamma = min(1, sqrt(K ln K / ((e - 1) T)))`; 0 for gamma as given.
        low: smallest reward.
        high: largest reward.
        outside: "refuse" rewards outside [low, high], or "clip" them.

    Tuning: `Exp3(horizon=T)`, with the total gain bounded by T.
    Needs the horizon to be tuned, and the range of the rewards. Not sound for rotting of either kind: it competes with the best
    single arm. `Exp3S` and `Rexp3` follow changes.

    Example:
        >>> Exp3(horizon=10_000, high=10)
        Exp3(horizon=10000, low=0.0, high=10.0, outside='refuse')
        >>> Exp3(gamma=0.05)
        Exp3(gamma=0.05, horizon=0, low=0.0, high=1.0, outside='refuse')

    Reference: Auer, Cesa-Bianchi, Freund, Schapire, "The nonstochastic multiarmed bandit problem", SIAM Journal on Computing
    2002, section 3.
    """

    gamma: float = parameter(FRACTION, "rate of exploration, without a horizon", default=0.1)
    horizon: int = parameter(INDEX, "number of rounds to tune gamma for; 0 = gamma as given", default=0)
    low: float = parameter(FINITE, "smallest reward", default=0.0)
    high: float = parameter(FINITE, "largest reward", default=1.0)
    outside: Literal["refuse", "clip"] = parameter(OUTSIDE, "what to do with rewards outside [low, high]", default="refuse")

    name = "exp3"
    title = "Exp3"
    first_pulls = False
    check = check_range
    manual_params = ("gamma",)
    needs_horizon = True
    randomised = True


def init(p: Params, n_arms: int, capacity: int) -> Weights:
    s = new_weights(n_arms)
    reset(p, s, p.horizon)
    return s


def choose(p: Params, s: Weights, t: int, key: int, arms: Ints) -> int:
    """Draw arm i with probability `p_i = (1 - gamma) w_i / W + gamma / K`."""
    return draw_arm(s, t, key, arms)


def propensities(p: Params, s: Weights, t: int, arms: Ints, out: Floats) -> None:
    probabilities(s, arms, out)


def update(p: Params, s: Weights, t: int, arm: int, reward: float) -> None:
    """Multiply the weight of the arm by `exp(gamma x / (p_i K))`."""
    boost(p, s, arm, reward)
    if s.log_weights[arm] > 0.0:
        rescale(s)


def tuned_gamma(n_arms: int, horizon: int) -> float:
    """Return `min(1, sqrt(K ln K / ((e - 1) T)))`."""
    return min(1.0, math.sqrt(n_arms * log(n_arms) / ((math.e - 1.0) * horizon)))


def tune(p: Params, s: Weights) -> None:
    horizon = int(s.epoch[1])
    s.rates[0] = tuned_gamma(s.presence.number[0], horizon) if horizon > 0 else p.gamma


def reset(p: Params, s: Weights, horizon: int) -> None:
    equalise(s, horizon)
    tune(p, s)


Exp3.kernel = Kernel(init, choose, update, propensities=propensities, forget=forget, reset=reset, tune=tune)
