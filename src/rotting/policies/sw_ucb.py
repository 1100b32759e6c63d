"""SW-UCB: UCB on the rounds of a sliding window."""

import math
from typing import Literal, NamedTuple

import numpy as np

from rotting.common.arrays import Ints
from rotting.common.rules import COUNT, INDEX, POSITIVE, RANGE_SCALE
from rotting.policies.kernels.elementary import ceil, log
from rotting.policies.parts.forgetting import Recent, add_recent, forget_recent, new_recent, recent_sum, slide_to, start_recent
from rotting.policies.parts.indices import by_index
from rotting.policies.parts.noise_scale import NoiseScale, forget_noise, new_noise_scale, observe_noise, range_of, reset_noise
from rotting.policy import Kernel, Params, Policy, Reason, parameter


class SWUCB(Policy):
    """Sliding-window UCB: only the last tau rounds count, for every arm.

    Pulls the arm with the largest `mean_i + B sqrt(xi ln(min(t, tau)) / N_i)`, with the mean and the number N_i of arm i's
    rewards in rounds t - tau, ..., t - 1. An arm with none there goes first (the lowest of them, so tau should be at least the
    number of arms). Sums are exact: a reward that has left the window leaves no trace, whatever its size.

    Args:
        tau: rounds in the window, 1 or more; not to be given with a horizon.
        xi: confidence level; the theory asks for more than 1/2; 0.6 is our choice.
        B: rewards lie in [0, B]. It scales the bound; rewards outside are not refused.
        horizon: number of rounds T to tune for; 0 for tau as given.
        breakpoints: Y, the number of rounds at which some mean changes, with a horizon.
        sigma: "range", for `B / 2`, the sub-Gaussian scale of rewards in [0, B]; another scale, which takes the place of B / 2
            in the bound; or "estimate": see docs/unknown-noise.md.

    Tuning: `SWUCB(horizon=T, breakpoints=Y)`: `tau = ceil(2 B sqrt(T ln(T) / Y))`, cut to 1, ..., T, and T where Y = 0.
    The publication's constant follows from the width, which is below half a gap once a bad arm has `4 B^2 xi ln(tau) / gap^2`
    rewards in the window. Each of `T / tau` windows costs so many rounds, and each of the Y breakpoints costs a window. With 1
    for xi / gap^2 and ln T for ln tau, that is `4 B^2 ln(T) T / tau + Y tau` rounds, least at `tau = 2 B sqrt(T ln(T) / Y)`.
    Needs the horizon, the number of breakpoints and the scale of the rewards. Sound for restless rotting in few steps, not for
    rested.

    Example:
        >>> SWUCB(horizon=10_000, breakpoints=4)
        SWUCB(xi=0.6, B=1.0, horizon=10000, breakpoints=4, sigma='range')
        >>> SWUCB(tau=500)
        SWUCB(tau=500, xi=0.6, B=1.0, horizon=0, sigma='range')

    Reference: Garivier, Moulines, "On upper-confidence bound policies for switching bandit problems", ALT 2011.
    """

    tau: int = parameter(COUNT, "rounds in the window, without a horizon", default=1000)
    xi: float = parameter(POSITIVE, "confidence level; above 1/2 in theory", default=0.6)
    B: float = parameter(POSITIVE, "rewards lie in [0, B]", default=1.0)
    horizon: int = parameter(INDEX, "number of rounds to tune tau for; 0 = tau as given", default=0)
    breakpoints: int = parameter(INDEX, "number of rounds at which the means change, with a horizon", default=1)
    sigma: float | Literal["estimate", "range"] = parameter(
        RANGE_SCALE, "sub-Gaussian scale of the rewards, 'estimate', or 'range' for B / 2", default="range"
    )

    name = "sw-ucb"
    title = "SW-UCB"
    has_index = True
    manual_params = ("tau",)
    tuning_params = ("breakpoints",)
    needs_horizon = True
    needs_changes = True
    restless = True
    memory = "O(K + t)"


class State(NamedTuple):
    recent: Recent  # the rewards of the last tau rounds
    noise: NoiseScale  # what sigma is estimated from
    epoch: Ints  # [2] rounds before the game that this state is tuned to, and its length (0 = not tuned)


def init(p: Params, n_arms: int, capacity: int) -> State:
    s = State(recent=new_recent(n_arms, capacity), noise=new_noise_scale(n_arms), epoch=np.zeros(2, np.int64))
    reset(p, s, p.horizon)
    return s


def begin_round(s: State, t: int) -> None:
    slide_to(s.recent, t)


def index(p: Params, s: State, t: int, i: int) -> Reason:
    """Return `mean_i + B sqrt(xi ln(min(t, tau)) / N_i)` over the rewards in the window."""
    n = s.recent.pulls[i]
    if n == 0:
        return Reason(math.inf, math.nan, 0, math.inf)
    mean, c = recent_sum(s.recent, i) / n, range_of(p, s.noise, i) * math.sqrt(p.xi * log(min(t, s.recent.tau[0])) / n)
    return Reason(mean + c, mean, n, c)


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    add_recent(s.recent, t, arm, reward)
    observe_noise(p, s.noise, arm, reward)


def forget(p: Params, s: State, arm: int) -> None:
    forget_recent(s.recent, arm)
    forget_noise(s.noise, arm)


def tuned_window(horizon: int, breakpoints: int, B: float) -> int:
    """Return `ceil(2 B sqrt(T ln(T) / Y))`, cut to 1, ..., T."""
    if breakpoints == 0:
        return horizon
    return max(1, ceil(min(float(horizon), 2.0 * B * math.sqrt(horizon * log(horizon) / breakpoints))))


def reset(p: Params, s: State, horizon: int) -> None:
    start_recent(s.recent, tuned_window(horizon, p.breakpoints, p.B) if horizon > 0 else p.tau)
    reset_noise(s.noise)
    s.epoch[0], s.epoch[1] = 0, horizon


SWUCB.kernel = Kernel(init, update=update, forget=forget, reset=reset, **by_index(index, begin_round))
