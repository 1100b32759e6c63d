"""SWA: round-robin, then the largest mean of the last M pulls."""

import math
from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import COUNT, INDEX, POSITIVE
from rotting.policies.kernels.elementary import ceil, log, power
from rotting.policies.parts.prefix_sums import append, window_mean
from rotting.policies.parts.presence import Presence, new_presence
from rotting.policy import Kernel, Params, Policy, Reason, parameter


class SWA(Policy):
    """Sliding Window Average: M pulls of each arm in turn, then always the largest mean of the last M pulls.

    The window is over an arm's own pulls. While some available arm has fewer than M, the least pulled one is pulled (then the
    lowest).

    Args:
        M: pulls in the window, 1 or more; not to be given with a horizon.
        horizon: number of rounds T to tune for; 0 for M as given.
        alpha: scale of the tuned window, with a horizon. The authors' runs of RAW-UCB have 0.002, 0.02 and 0.2.
        sigma: sub-Gaussian scale of the rewards, with a horizon.

    Tuning: `SWA(horizon=T)`: `M = ceil(alpha 4^(2/3) sigma^(2/3) K^(-2/3) T^(2/3) ln^(1/3)(sqrt(2) T))`, at most T.
    Needs the horizon and the scale of the rewards; `WSWA` does without the horizon. Sound for rested rotting, where each arm's
    mean never rises; not for restless, since an arm that has lost once is never tried again.

    Example:
        >>> SWA(horizon=10_000, alpha=0.02)
        SWA(horizon=10000, alpha=0.02, sigma=1.0)
        >>> SWA(M=50)
        SWA(M=50, horizon=0)

    Reference: Levine, Crammer, Mannor, "Rotting bandits", NeurIPS 2017.
    """

    M: int = parameter(COUNT, "pulls in the window, without a horizon", default=20)
    horizon: int = parameter(INDEX, "number of rounds to tune M for; 0 = M as given", default=0)
    alpha: float = parameter(POSITIVE, "scale of the tuned window, with a horizon", default=0.2)
    sigma: float = parameter(POSITIVE, "sub-Gaussian scale of the rewards, with a horizon", default=1.0)

    name = "swa"
    title = "SWA"
    has_index = True
    manual_params = ("M",)
    tuning_params = ("alpha", "sigma")
    needs_horizon = True
    rested = True
    memory = "O(K t)"


class State(NamedTuple):
    pulls: Ints  # [K] N_i
    high: Floats  # [K, capacity + 1] sum of the first n rewards, as high + low
    low: Floats
    window: Ints  # [1] M
    epoch: Ints  # [2] rounds before the game that this state is tuned to, and its length (0 = not tuned)
    presence: Presence  # K, for the tuning


def new_state(n_arms: int, capacity: int) -> State:
    """Return a state without a window yet: `reset` sets it."""
    return State(
        pulls=np.zeros(n_arms, np.int64),
        high=np.zeros((n_arms, capacity + 1)),
        low=np.zeros((n_arms, capacity + 1)),
        window=np.zeros(1, np.int64),
        epoch=np.zeros(2, np.int64),
        presence=new_presence(n_arms),
    )


def init(p: Params, n_arms: int, capacity: int) -> State:
    s = new_state(n_arms, capacity)
    reset(p, s, p.horizon)
    return s


def choose(p: Params, s: State, t: int, key: int, arms: Ints) -> int:
    """Return the least pulled arm while one has fewer than M pulls, then the arm with the largest mean of its last M."""
    M = s.window[0]
    short = -1
    for i in arms:
        if s.pulls[i] < M and (short < 0 or s.pulls[i] < s.pulls[short]):
            short = i
    if short >= 0:
        return int(short)
    best, top = arms[0], -math.inf
    for i in arms:
        mean = window_mean(s, i, M)
        if mean > top:
            best, top = i, mean
    return int(best)


def explain(p: Params, s: State, t: int, arms: Ints, i: int) -> Reason:
    n = min(s.pulls[i], s.window[0])
    mean = window_mean(s, i, n) if n > 0 else math.nan
    return Reason(mean if n == s.window[0] else math.inf, mean, n, math.nan)


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    append(s, arm, reward)


def tuned_window(n_arms: int, horizon: int, alpha: float, sigma: float) -> int:
    """Return `M = ceil(alpha 4^(2/3) sigma^(2/3) K^(-2/3) T^(2/3) ln^(1/3)(sqrt(2) T))`, at most T."""
    length = log(math.sqrt(2.0) * horizon)
    scale = power(4.0, 2.0 / 3.0) * power(sigma, 2.0 / 3.0) * power(n_arms, -2.0 / 3.0)
    return ceil(min(float(horizon), alpha * scale * power(horizon, 2.0 / 3.0) * power(length, 1.0 / 3.0)))


def tune(p: Params, s: State) -> None:
    horizon = int(s.epoch[1])
    s.window[0] = tuned_window(s.presence.number[0], horizon, p.alpha, p.sigma) if horizon > 0 else p.M


def reset(p: Params, s: State, horizon: int) -> None:
    s.pulls[:] = 0
    s.epoch[0], s.epoch[1] = 0, horizon
    tune(p, s)


SWA.kernel = Kernel(init, choose, update, explain, reset=reset, tune=tune)
