"""D-UCB: UCB on discounted rewards."""

import math
from typing import Literal, NamedTuple

import numpy as np

from rotting.common.arrays import Ints
from rotting.common.rules import FRACTION, INDEX, POSITIVE, RANGE_SCALE
from rotting.errors import InvalidValueError
from rotting.policies.kernels.elementary import log
from rotting.policies.parts.forgetting import (
    Discounted,
    add_discounted,
    discount_to,
    forget_discounted,
    new_discounted,
    start_discounted,
)
from rotting.policies.parts.indices import by_index
from rotting.policies.parts.noise_scale import NoiseScale, forget_noise, new_noise_scale, observe_noise, range_of, reset_noise
from rotting.policy import Kernel, Params, Policy, Reason, parameter

_NEGLIGIBLE = 1e-290  # a discounted count below this loses digits: the arm goes first again


class DUCB(Policy):
    """Discounted UCB: a reward that came k rounds before the last one counts `gamma^k`, for every arm.

    Pulls the arm with the largest `mean_i + 2 B sqrt(xi ln(n) / N_i)`: `N_i` is the sum of `gamma^(t - 1 - s)` over the rounds
    s in which arm i was pulled, the mean is weighted alike, and n is the sum of `N_i` over all arms (the logarithm is cut at
    0). Every arm is discounted in every round, pulled or not. With gamma = 1 it is a UCB that never forgets. An arm without a
    reward goes first.

    Args:
        gamma: discount of a round, in (0, 1]; not to be given with a horizon.
        xi: confidence level; the theory asks for more than 1/2; 0.6 is our choice.
        B: rewards lie in [0, B]. It scales the bound; rewards outside are not refused.
        horizon: number of rounds T to tune for; 0 for gamma as given.
        breakpoints: Y, the number of rounds at which some mean changes, with a horizon.
        sigma: "range", for `B / 2`, the sub-Gaussian scale of rewards in [0, B]; another scale, which takes the place of B / 2
            in the bound; or "estimate": see docs/unknown-noise.md.

    Tuning: `DUCB(horizon=T, breakpoints=Y)`: `gamma = 1 - sqrt(Y / T) / (4 B)`, which must come out positive.
    The publication's constant follows from the width, which is below half a gap once a bad arm has
    `16 B^2 xi ln(n) / gap^2` discounted rewards. Every `1 / (1 - gamma)` rounds cost so many, and it takes as many rounds to
    forget each of the Y breakpoints. With 1 for xi / gap^2 and without the logarithms, that is
    `16 B^2 T (1 - gamma) + Y / (1 - gamma)` rounds, least at this gamma.
    Needs the horizon, the number of breakpoints and the scale of the rewards. Sound for restless rotting in few steps, not for
    rested.

    Example:
        >>> DUCB(horizon=10_000, breakpoints=4)
        DUCB(xi=0.6, B=1.0, horizon=10000, breakpoints=4, sigma='range')
        >>> DUCB(gamma=0.99)
        DUCB(gamma=0.99, xi=0.6, B=1.0, horizon=0, sigma='range')

    Reference: Garivier, Moulines, "On upper-confidence bound policies for switching bandit problems", ALT 2011; the idea is
    from Kocsis, Szepesvári, "Discounted UCB", PASCAL workshop 2006.
    """

    gamma: float = parameter(FRACTION, "discount of a round, without a horizon", default=0.999)
    xi: float = parameter(POSITIVE, "confidence level; above 1/2 in theory", default=0.6)
    B: float = parameter(POSITIVE, "rewards lie in [0, B]", default=1.0)
    horizon: int = parameter(INDEX, "number of rounds to tune gamma for; 0 = gamma as given", default=0)
    breakpoints: int = parameter(INDEX, "number of rounds at which the means change, with a horizon", default=1)
    sigma: float | Literal["estimate", "range"] = parameter(
        RANGE_SCALE, "sub-Gaussian scale of the rewards, 'estimate', or 'range' for B / 2", default="range"
    )

    name = "d-ucb"
    title = "D-UCB"
    has_index = True
    manual_params = ("gamma",)
    tuning_params = ("breakpoints",)
    needs_horizon = True
    needs_changes = True
    restless = True

    def check(self) -> None:
        """Refuse a tuning without a discount."""
        p = self.params
        if p.horizon > 0 and tuned_discount(p.horizon, p.breakpoints, p.B) <= 0.0:
            raise InvalidValueError(
                "breakpoints",
                "be below 16 B^2 horizon, where gamma = 1 - sqrt(breakpoints / horizon) / (4 B) is positive",
                p.breakpoints,
                hint=f" with B={p.B!r} and horizon={p.horizon}",
            )


class State(NamedTuple):
    sums: Discounted  # the discounted number and sum of the rewards of each arm
    noise: NoiseScale  # what sigma is estimated from
    epoch: Ints  # [2] rounds before the game that this state is tuned to, and its length (0 = not tuned)


def init(p: Params, n_arms: int, capacity: int) -> State:
    s = State(sums=new_discounted(n_arms), noise=new_noise_scale(n_arms), epoch=np.zeros(2, np.int64))
    reset(p, s, p.horizon)
    return s


def begin_round(s: State, t: int) -> None:
    discount_to(s.sums, t)


def index(p: Params, s: State, t: int, i: int) -> Reason:
    """Return `mean_i + 2 B sqrt(xi ln(n) / N_i)` over the discounted rewards."""
    n = s.sums.pulls_high[i]
    if n < _NEGLIGIBLE:
        return Reason(math.inf, math.nan, 0, math.inf)
    mean, c = s.sums.high[i] / n, 2.0 * range_of(p, s.noise, i) * math.sqrt(p.xi * max(0.0, log(s.sums.total[0])) / n)
    return Reason(mean + c, mean, 0, c)


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    add_discounted(s.sums, t, arm, reward)
    observe_noise(p, s.noise, arm, reward)


def forget(p: Params, s: State, arm: int) -> None:
    forget_discounted(s.sums, arm)
    forget_noise(s.noise, arm)


def tuned_discount(horizon: int, breakpoints: int, B: float) -> float:
    """Return `1 - sqrt(Y / T) / (4 B)`."""
    return 1.0 - math.sqrt(breakpoints / horizon) / (4.0 * B)


def reset(p: Params, s: State, horizon: int) -> None:
    start_discounted(s.sums, tuned_discount(horizon, p.breakpoints, p.B) if horizon > 0 else p.gamma)
    reset_noise(s.noise)
    s.epoch[0], s.epoch[1] = 0, horizon


DUCB.kernel = Kernel(init, update=update, forget=forget, reset=reset, **by_index(index, begin_round))
