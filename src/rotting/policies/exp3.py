"""Exp3: exponential weights against an adversary."""

from typing import Literal, Self, Unpack

from rotting.common.rules import FINITE, FRACTION, INDEX, positive_int
from rotting.parts.exponential_weights import (
    Weights,
    choose,
    forget,
    gamma_of_horizon,
    new_weights,
    propensities,
    starting,
    update,
)
from rotting.parts.reward_scale import OUTSIDE, RangeOptions, check_range
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

    Tuning: `Exp3.from_horizon(T)`, with the total gain bounded by T.
    Needs the horizon to be tuned, and the range of the rewards. Not sound for rotting of either kind: it competes with the best
    single arm. `Exp3S` and `Rexp3` follow changes.

    Example:
        >>> Exp3.from_horizon(10_000, high=10)
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
    manual_params = ("gamma",)
    needs_horizon = True
    randomised = True

    def check(self) -> None:
        """Refuse an empty range."""
        check_range(self)

    @classmethod
    def from_horizon(cls, horizon: int, **options: Unpack[RangeOptions]) -> Self:
        """Return the policy tuned for `horizon` rounds."""
        return cls(horizon=positive_int("horizon", horizon), **options)


def tune(p: Params, s: Weights) -> None:
    horizon = int(s.epoch[1])
    s.rates[0] = gamma_of_horizon(s.presence.number[0], horizon) if horizon > 0 else p.gamma


reset = starting(tune)


def init(p: Params, n_arms: int, capacity: int) -> Weights:
    s = new_weights(n_arms)
    reset(p, s, p.horizon)
    return s


Exp3.kernel = Kernel(init, choose, update, propensities=propensities, forget=forget, reset=reset, tune=tune)
