"""RAW-UCB (Algorithm 1): the tightest of the UCBs over every window that ends with the last pull.

Algorithm 1 pulls each arm once, and then in every round t the arm with the largest index

    index_i = min over h <= N_i of mean_i^h + c(h, delta_t),    c(h, delta_t) = sigma sqrt(2 alpha ln(t) / h).

The functions `index`, `choose` and `update` below are the algorithm. The state does not keep all windows, only those that can
ever have the tightest bound: the vertices of a hull (`policies/parts/hull.py`).
"""

import math
from typing import Literal, NamedTuple

import numpy as np

from rotting.kit import (
    HULL_WINDOWS,
    POSITIVE,
    SCALE,
    HullLines,
    Ints,
    Kernel,
    NoiseScale,
    Params,
    Policy,
    Reason,
    Stacks,
    arm_noise,
    arm_scale,
    bind_all,
    enlarged,
    forget_noise,
    given_sigma,
    largest_index,
    log,
    new_hull_lines,
    new_noise_scale,
    new_stacks,
    observe_noise,
    parameter,
    record_on_hull,
    release,
    tightest_on_hull,
)


class RAWUCB(Policy):
    """Rotting Adaptive Window Upper Confidence Bound, exact: every window h <= N_i.

    Pulls the arm with the largest index `min over h <= N_i of mean_i^h + c(h, delta_t)`, where `mean_i^h` is the mean of the
    last h rewards of arm i and `c(h, delta_t) = sigma sqrt(2 alpha ln(t) / h)`. Each arm once first; ties to the lowest arm.

    Args:
        alpha: confidence level, `delta_t = 2 / t**alpha`. The theory asks for 4 (restless) or 5 (rested); 1.4 in practice.
        sigma: sub-Gaussian scale of the rewards, or "estimate": see docs/unknown-noise.md.

    Needs to know sigma, or estimates it; neither the horizon nor the number of changes. Sound for rested and for restless
    rotting.

    Example:
        >>> RAWUCB(alpha=1.4)
        RAWUCB(alpha=1.4, sigma=1.0)

    Reference: Seznec, Ménard, Lazaric, Valko, "A single algorithm for both restless and rested rotting bandits",
    AISTATS 2020, Algorithm 1.
    """

    alpha: float = parameter(POSITIVE, "confidence level: delta_t = 2 / t**alpha", default=1.4)
    sigma: float | Literal["estimate"] = parameter(SCALE, "sub-Gaussian scale of the rewards, or 'estimate'", default=1.0)

    name = "raw-ucb"
    title = "RAW-UCB"
    has_index = True
    rested = True
    restless = True
    cost = "O(K + log t)"
    memory = "O(K log t)"


class State(NamedTuple):
    hull: Stacks  # the windows of each arm that can have the tightest bound
    lines: HullLines  # the window of each arm that had it last: its bound is at least the index
    noise: NoiseScale  # what sigma is estimated from
    full: Ints  # [1] 1 if the hull had no room for a reward (`Kernel.enlarge`)


def init(p: Params, n_arms: int, capacity: int) -> State:
    return State(
        hull=new_stacks(n_arms, capacity),
        lines=new_hull_lines(n_arms),
        noise=new_noise_scale(n_arms),
        full=np.zeros(1, np.int64),
    )


def level_at(p: Params, t: int) -> float:
    """Return c(1, delta_t), computed once per round: a window of h rewards has c(h, delta_t) = level / sqrt(h)."""
    return given_sigma(p) * math.sqrt(2.0 * p.alpha * log(t))


def index(p: Params, s: State, t: int, arms: Ints, i: int) -> Reason:
    """Return the minimum over h <= N_i of mean_i^h + c(h, delta_t)."""
    return tightest_on_hull(p, s, level_at(p, t), i)


def choose(p: Params, s: State, t: int, key: int, arms: Ints) -> int:
    """Return the arm with the largest index, the lowest on a tie; each arm once first. Few of the indices are computed."""
    return largest_index(p, s, level_at(p, t), arms)


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    """Record the reward, and learn from it the scale of the noise if sigma is estimated."""
    if record_on_hull(s, arm, reward):
        observe_noise(p, s.noise, arm, reward)


def forget(p: Params, s: State, arm: int) -> None:
    release(s.hull, arm)
    forget_noise(s.noise, arm)


def enlarge(p: Params, s: State, capacity: int) -> State:
    return State(enlarged(s.hull, capacity), s.lines, s.noise, full=np.zeros(1, np.int64))


RAWUCB.kernel = Kernel(
    init,
    update=update,
    forget=forget,
    enlarge=enlarge,
    **bind_all({"choose": choose, "explain": index}, {**HULL_WINDOWS, arm_scale: arm_noise}),
)
