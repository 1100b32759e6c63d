"""EFF-RAW-UCB: RAW-UCB on the delayed windows of EFF_UPDATE (Algorithm 2), which is `delayed_windows.eff_update`."""

from typing import Literal, NamedTuple

import numpy as np

from rotting.kit import (
    ABOVE_ONE,
    DELAYED_WINDOWS,
    POSITIVE,
    SCALE,
    Grid,
    Ints,
    Kernel,
    NoiseScale,
    Params,
    Policy,
    Reason,
    arm_noise,
    arm_scale,
    bind_all,
    eff_update,
    forget_noise,
    largest_index,
    new_grid,
    new_noise_scale,
    observe_noise,
    parameter,
    tightest_delayed,
)
from rotting.policies.raw_ucb import level_at


class EffRAWUCB(Policy):
    """RAW-UCB on O(log t) windows an arm: about as good, with constant memory and time in practice.

    Pulls the arm with the largest `min over h_j <= N_i of mean_i^{h_j} + c(h_j, delta_t)` on the grid `h_0 = 1,
    h_{j+1} = ceil(m h_j)`, where the mean of window h_j is refreshed with a delay of less than h_j pulls (EFF_UPDATE) and
    `c(h, delta_t) = sigma sqrt(2 alpha ln(t) / h)`. With `m <= 1 + 1/T` it is RAW-UCB.

    Args:
        alpha: confidence level, `delta_t = 2 / t**alpha`. The theory (m = 2) asks for 3 (restless) or 4 (rested); 1.4 in
            practice.
        sigma: sub-Gaussian scale of the rewards, or "estimate": see docs/unknown-noise.md.
        m: ratio of neighbouring windows, above 1; larger is faster and coarser.

    Needs to know sigma, or estimates it; neither the horizon nor the number of changes. Sound for rested and for restless
    rotting.

    Example:
        >>> EffRAWUCB(m=1.1)
        EffRAWUCB(alpha=1.4, sigma=1.0, m=1.1)

    Reference: Seznec, Ménard, Lazaric, Valko, AISTATS 2020, Algorithm 2 and the appendix on efficient algorithms.
    """

    alpha: float = parameter(POSITIVE, "confidence level: delta_t = 2 / t**alpha", default=1.4)
    sigma: float | Literal["estimate"] = parameter(SCALE, "sub-Gaussian scale of the rewards, or 'estimate'", default=1.0)
    m: float = parameter(ABOVE_ONE, "ratio of neighbouring windows", default=2.0)

    name = "eff-raw-ucb"
    title = "EFF-RAW-UCB"
    has_index = True
    rested = True
    restless = True
    cost = "O(K + log t)"
    memory = "O(K log t)"


class State(NamedTuple):
    grid: Grid  # the delayed windows of each arm
    line: Ints  # [K] the number of the window that had the tightest bound last: its bound is at least the index
    noise: NoiseScale  # what sigma is estimated from


def init(p: Params, n_arms: int, capacity: int) -> State:
    return State(
        grid=new_grid(p.m, n_arms, capacity),
        line=np.zeros(n_arms, np.int64),
        noise=new_noise_scale(n_arms),
    )


def index(p: Params, s: State, t: int, arms: Ints, i: int) -> Reason:
    """Return the minimum over h_j <= N_i of mean_i^{h_j} + c(h_j, delta_t)."""
    return tightest_delayed(p, s, level_at(p, t), i)


def choose(p: Params, s: State, t: int, key: int, arms: Ints) -> int:
    """Return the arm with the largest index, the lowest on a tie; each arm once first. Few of the indices are computed."""
    return largest_index(p, s, level_at(p, t), arms)


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    """Record the reward by EFF_UPDATE, and learn from it the scale of the noise if sigma is estimated."""
    eff_update(s, arm, reward)
    observe_noise(p, s.noise, arm, reward)


def forget(p: Params, s: State, arm: int) -> None:
    forget_noise(s.noise, arm)


EffRAWUCB.kernel = Kernel(
    init,
    update=update,
    forget=forget,
    **bind_all({"choose": choose, "explain": index}, {**DELAYED_WINDOWS, arm_scale: arm_noise}),
)
