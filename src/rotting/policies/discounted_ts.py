"""Discounted Thompson sampling: old rewards count less and less."""

from typing import Literal, NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import FINITE, FRACTION, POSITIVE
from rotting.policies.kernels.elementary import power
from rotting.policies.kernels.exact_sums import add
from rotting.policies.parts.posteriors import POSTERIOR, thompson
from rotting.policies.parts.reward_scale import OUTSIDE, check_range, declared_range, to_policy_scale
from rotting.policy import Kernel, Params, Policy, parameter


class DiscountedTS(Policy):
    """Discounted Thompson sampling: a reward of round s counts `gamma**(t - 1 - s)` at round t, whatever was played since.

    Draws a mean for each arm from its posterior and plays the arm with the largest. With `N_i` and `S_i` the discounted number
    and sum of arm i's rewards, the posterior is Beta(a + S_i, b + N_i - S_i) for rewards in a declared range, mapped to [0, 1],
    or N(S_i / N_i, sigma^2 / N_i). The prior a, b is not discounted: an arm long unplayed returns to it. Each arm once first.

    Args:
        gamma: discount, in (0, 1]; about `1 / (1 - gamma)` rounds are remembered. 1 is Thompson sampling.
        kind: posterior, "beta" or "gaussian".
        a: prior successes ("beta" only).
        b: prior failures ("beta" only).
        sigma: standard deviation of the rewards ("gaussian" only).
        low: smallest reward ("beta" only).
        high: largest reward ("beta" only).
        outside: "refuse" rewards outside [low, high], or "clip" them ("beta" only).

    Needs to know the range, or sigma, in advance, and how fast means change, for gamma. Meant for restless arms; not sound for
    rested rotting, where an arm is as good after a rest as before. Propensities are integrals over the posteriors, to about
    1e-9.

    Example:
        >>> DiscountedTS(gamma=0.95).gamma
        0.95

    Reference: Raj, Kalyani, "Taming non-stationary bandits: a Bayesian approach", 2017 (beta); Qi, Wang, Zhu, "Discounted
    Thompson sampling for non-stationary bandit problems", 2023 (gaussian).
    """

    gamma: float = parameter(FRACTION, "discount: a reward of k rounds ago counts gamma**(k - 1)", default=0.999)
    kind: Literal["beta", "gaussian"] = parameter(POSTERIOR, "posterior", default="beta")
    a: float = parameter(POSITIVE, "beta: prior successes", default=1.0)
    b: float = parameter(POSITIVE, "beta: prior failures", default=1.0)
    sigma: float = parameter(POSITIVE, "gaussian: standard deviation of the rewards", default=1.0)
    low: float = parameter(FINITE, "beta: smallest reward", default=0.0)
    high: float = parameter(FINITE, "beta: largest reward", default=1.0)
    outside: Literal["refuse", "clip"] = parameter(OUTSIDE, "beta: rewards outside [low, high]", default="refuse")

    name = "discounted-ts"
    title = "Discounted TS"
    check = check_range
    reward_range = property(declared_range)
    needs_changes = True
    randomised = True
    restless = True


class State(NamedTuple):
    pulls: Ints  # [K] number of rewards
    last: Ints  # [K] round of the last reward
    weight_high: Floats  # [K] N_i as of that round, as high + low
    weight_low: Floats
    high: Floats  # [K] S_i as of that round; by the arithmetic of N_i, so that S_i = N_i if all rewards are 1
    low: Floats


def init(p: Params, n_arms: int, capacity: int) -> State:
    return State(
        pulls=np.zeros(n_arms, np.int64),
        last=np.zeros(n_arms, np.int64),
        weight_high=np.zeros(n_arms),
        weight_low=np.zeros(n_arms),
        high=np.zeros(n_arms),
        low=np.zeros(n_arms),
    )


def evidence(p: Params, s: State, t: int, i: int) -> tuple[float, float]:
    """Return N_i and S_i, discounted to round t."""
    discount = power(p.gamma, float(t - 1 - s.last[i]))
    return discount * s.weight_high[i], discount * s.high[i]


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    discount = power(p.gamma, float(t - s.last[arm]))
    s.weight_high[arm], s.weight_low[arm] = add(discount * s.weight_high[arm], discount * s.weight_low[arm], 1.0)
    s.high[arm], s.low[arm] = add(discount * s.high[arm], discount * s.low[arm], to_policy_scale(p, reward))
    s.last[arm] = t
    s.pulls[arm] += 1


DiscountedTS.kernel = Kernel(init, update=update, **thompson(evidence))
