"""Rexp3: Exp3 that starts afresh every so many rounds."""

from typing import Literal

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import COUNT, FINITE, FRACTION, INDEX, POSITIVE
from rotting.policies.exp3 import tuned_gamma
from rotting.policies.exp3 import update as update_weights
from rotting.policies.kernels.elementary import ceil, log, power
from rotting.policies.parts.exponential_weights import Weights, draw_arm, equalise, forget, new_weights, probabilities
from rotting.policies.parts.reward_scale import OUTSIDE, check_range
from rotting.policy import Kernel, Params, Policy, parameter


class Rexp3(Policy):
    """Rexp3: Exp3 that forgets everything after each batch of rounds.

    Draws arm i with probability `p_i = (1 - gamma) w_i / W + gamma / K`, does `w_i *= exp(gamma x / (p_i K))` after its reward
    x, mapped from [low, high] to [0, 1], and sets all weights to 1 after every `batch` rounds. A reward that comes late is
    divided by the probability with which its arm was drawn, and counts in the batch in which it comes.

    Args:
        gamma: rate of exploration, in (0, 1]; not to be given with a horizon.
        batch: rounds between two restarts; not to be given with a horizon.
        horizon: number of rounds T to tune for; 0 for gamma and batch as given.
        budget: V, the total variation of the means in units of high - low, with a horizon; 1 if not known.
        low: smallest reward.
        high: largest reward.
        outside: "refuse" rewards outside [low, high], or "clip" them.

    Tuning: `Rexp3(horizon=T, budget=V)`: `batch = ceil((K ln K)^(1/3) (T / V)^(2/3))`, cut to 1, ..., T, and
    `gamma = min(1, sqrt(K ln K / ((e - 1) batch)))`.
    Needs the horizon and the total variation of the means, and the range of the rewards. Sound for restless rotting, not for
    rested: the means must not depend on its choices.

    Example:
        >>> Rexp3(horizon=10_000, budget=2)
        Rexp3(horizon=10000, budget=2.0, low=0.0, high=1.0, outside='refuse')
        >>> Rexp3(gamma=0.1, batch=500)
        Rexp3(gamma=0.1, batch=500, horizon=0, low=0.0, high=1.0, outside='refuse')

    Reference: Besbes, Gur, Zeevi, "Stochastic multi-armed-bandit problem with non-stationary rewards", NeurIPS 2014.
    """

    gamma: float = parameter(FRACTION, "rate of exploration, without a horizon", default=0.1)
    batch: int = parameter(COUNT, "rounds between two restarts, without a horizon", default=1000)
    horizon: int = parameter(INDEX, "number of rounds to tune for; 0 = gamma and batch as given", default=0)
    budget: float = parameter(POSITIVE, "total variation of the means, in units of the range, with a horizon", default=1.0)
    low: float = parameter(FINITE, "smallest reward", default=0.0)
    high: float = parameter(FINITE, "largest reward", default=1.0)
    outside: Literal["refuse", "clip"] = parameter(OUTSIDE, "what to do with rewards outside [low, high]", default="refuse")

    name = "rexp3"
    title = "Rexp3"
    first_pulls = False
    check = check_range
    manual_params = ("gamma", "batch")
    tuning_params = ("budget",)
    needs_horizon = True
    needs_changes = True
    randomised = True
    restless = True


def init(p: Params, n_arms: int, capacity: int) -> Weights:
    s = new_weights(n_arms)
    reset(p, s, p.horizon)
    return s


def choose(p: Params, s: Weights, t: int, key: int, arms: Ints) -> int:
    """Draw arm i with probability `p_i = (1 - gamma) w_i / W + gamma / K`, after each batch from equal weights."""
    begin_batch(s, t)
    return draw_arm(s, t, key, arms)


def propensities(p: Params, s: Weights, t: int, arms: Ints, out: Floats) -> None:
    if is_over(s, t):
        for k in range(arms.size):
            out[k] = 1.0 / arms.size
    else:
        probabilities(s, arms, out)


def update(p: Params, s: Weights, t: int, arm: int, reward: float) -> None:
    """Multiply the weight of the arm by `exp(gamma x / (p_i K))`."""
    begin_batch(s, t)
    update_weights(p, s, t, arm, reward)


def is_over(s: Weights, t: int) -> bool:
    """Return whether round t lies beyond the batch that the weights belong to."""
    return bool((t - 1) // s.batch[0] > s.batch[1])


def begin_batch(s: Weights, t: int) -> None:
    """Make all weights equal if round t begins a new batch."""
    if is_over(s, t):
        s.log_weights[:] = 0.0
        s.batch[1] = (t - 1) // s.batch[0]


def tuned_batch(n_arms: int, horizon: int, budget: float) -> int:
    """Return `ceil((K ln K)^(1/3) (T / V)^(2/3))`, cut to 1, ..., T."""
    scale = power(n_arms * log(n_arms), 1.0 / 3.0)
    return max(1, ceil(min(float(horizon), scale * power(horizon / budget, 2.0 / 3.0))))


def tune(p: Params, s: Weights) -> None:
    n_arms, horizon = s.presence.number[0], int(s.epoch[1])
    batch, gamma = p.batch, p.gamma
    if horizon > 0:
        batch = tuned_batch(n_arms, horizon, p.budget)
        gamma = tuned_gamma(n_arms, batch)
    s.batch[1] = s.batch[1] * s.batch[0] // batch  # the batch of the last restart, counted in batches of the new length
    s.batch[0], s.rates[0] = batch, gamma


def reset(p: Params, s: Weights, horizon: int) -> None:
    equalise(s, horizon)
    tune(p, s)


Rexp3.kernel = Kernel(init, choose, update, propensities=propensities, forget=forget, reset=reset, tune=tune)
