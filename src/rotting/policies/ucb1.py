"""UCB1: the stationary baseline."""

import math
from typing import Literal, NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import SCALE
from rotting.policies.kernels.exact_sums import add
from rotting.policies.parts.indices import by_index, width
from rotting.policies.parts.noise_scale import NoiseScale, forget, new_noise_scale, observe_noise, sigma_of
from rotting.policy import Kernel, Params, Policy, Reason, parameter


class UCB1(Policy):
    """UCB1: the largest `mean_i + sigma sqrt(2 ln(t) / N_i)` over all rewards ever seen.

    Args:
        sigma: sub-Gaussian scale of the rewards, or "estimate": see docs/unknown-noise.md. For rewards in [0, 1], the index of
            Auer et al., `mean_i + sqrt(2 ln(t) / N_i)`, has sigma = 1, although the scale of such rewards is at most 0.5.

    Needs to know sigma, or estimates it, and nothing else; there is nothing to tune. Never forgets: not sound for rested nor
    for restless rotting, with linear regret once an arm that led has worn out.

    Example:
        >>> UCB1(sigma=0.5)
        UCB1(sigma=0.5)

    Reference: Auer, Cesa-Bianchi, Fischer, "Finite-time analysis of the multiarmed bandit problem", Machine Learning 2002.
    """

    sigma: float | Literal["estimate"] = parameter(SCALE, "sub-Gaussian scale of the rewards, or 'estimate'", default=1.0)

    name = "ucb1"
    title = "UCB1"
    has_index = True


class State(NamedTuple):
    pulls: Ints  # [K] N_i
    high: Floats  # [K] sum of the rewards, as high + low
    low: Floats
    noise: NoiseScale  # what sigma is estimated from


def init(p: Params, n_arms: int, capacity: int) -> State:
    return State(pulls=np.zeros(n_arms, np.int64), high=np.zeros(n_arms), low=np.zeros(n_arms), noise=new_noise_scale(n_arms))


def index(p: Params, s: State, t: int, i: int) -> Reason:
    """Return `mean_i + sigma sqrt(2 ln(t) / N_i)`."""
    n = s.pulls[i]
    if n == 0:
        return Reason(math.inf, math.nan, 0, math.inf)
    mean, c = s.high[i] / n, width(1.0, sigma_of(p, s.noise, i), t, n)
    return Reason(mean + c, mean, n, c)


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    s.high[arm], s.low[arm] = add(s.high[arm], s.low[arm], reward)
    s.pulls[arm] += 1
    observe_noise(p, s.noise, arm, reward)


UCB1.kernel = Kernel(init, update=update, forget=forget, **by_index(index))
