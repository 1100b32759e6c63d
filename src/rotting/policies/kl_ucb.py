"""KL-UCB: the largest mean that the rewards seen do not rule out, in Kullback-Leibler divergence."""

import math
from typing import Literal

from rotting.common.arrays import Ints
from rotting.common.rules import FINITE, NONNEGATIVE, POSITIVE
from rotting.policies.kernels.exact_sums import add
from rotting.policies.parts.divergences import KIND, exploration, upper
from rotting.policies.parts.indices import by_index
from rotting.policies.parts.reward_scale import OUTSIDE, check_range, declared_range, in_reward_units, to_policy_scale
from rotting.policies.ucb1 import State, init  # its field noise stays unused: sigma is given
from rotting.policy import Kernel, Params, Policy, Reason, parameter


class KLUCB(Policy):
    """KL-UCB: the largest `sup{q: N_i kl(mean_i, q) <= ln(t) + c ln ln(t)}` over all rewards ever seen.

    `kl(x, y)` is the divergence of two Bernoulli distributions, `x ln(x / y) + (1 - x) ln((1 - x) / (1 - y))`, for rewards in
    a declared range, mapped to [0, 1]; or of two Gaussians, `(x - y)^2 / (2 sigma^2)`, which makes the index
    `mean_i + sigma sqrt(2 (ln(t) + c ln ln(t)) / N_i)`. `ln ln(t)` counts as 0 where t < e.

    Args:
        kind: divergence, "bernoulli" (sound for any rewards in [low, high]) or "gaussian".
        c: weight of `ln ln(t)`: 3 in theory, 0 in practice.
        sigma: standard deviation of the rewards ("gaussian" only).
        low: smallest reward ("bernoulli" only).
        high: largest reward ("bernoulli" only).
        outside: "refuse" rewards outside [low, high], or "clip" them ("bernoulli" only).

    Needs to know the range, or sigma, in advance, and nothing else. Never forgets: not sound for rotting, rested or restless.

    Example:
        >>> KLUCB(c=3)
        KLUCB(kind='bernoulli', c=3.0, sigma=1.0, low=0.0, high=1.0, outside='refuse')

    Reference: Garivier, Cappé, "The KL-UCB algorithm for bounded stochastic bandits and beyond", COLT 2011.
    """

    kind: Literal["bernoulli", "gaussian"] = parameter(KIND, "divergence", default="bernoulli")
    c: float = parameter(NONNEGATIVE, "weight of ln ln t: 3 in theory, 0 in practice", default=0.0)
    sigma: float = parameter(POSITIVE, "gaussian: standard deviation of the rewards", default=1.0)
    low: float = parameter(FINITE, "bernoulli: smallest reward", default=0.0)
    high: float = parameter(FINITE, "bernoulli: largest reward", default=1.0)
    outside: Literal["refuse", "clip"] = parameter(OUTSIDE, "bernoulli: rewards outside [low, high]", default="refuse")

    name = "kl-ucb"
    title = "KL-UCB"
    has_index = True
    check = check_range
    reward_range = property(declared_range)


def index(p: Params, s: State, t: int, i: int) -> Reason:
    """Return `sup{q: N_i kl(mean_i, q) <= ln(t) + c ln ln(t)}`, on the scale of the divergence."""
    n = s.pulls[i]
    if n == 0:
        return Reason(math.inf, math.nan, 0, math.inf)
    mean = s.high[i] / n
    value = upper(p.kind, mean, exploration(t, p.c) / n, p.sigma)
    return Reason(value, mean, n, value - mean)


def explain(p: Params, s: State, t: int, arms: Ints, i: int) -> Reason:
    """Return the index in the units of the rewards."""
    return in_reward_units(p, index(p, s, t, i))


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    s.high[arm], s.low[arm] = add(s.high[arm], s.low[arm], to_policy_scale(p, reward))
    s.pulls[arm] += 1


KLUCB.kernel = Kernel(init, by_index(index)["choose"], update, explain)
