"""EFF-FEWA: FEWA on the delayed windows of EFF_UPDATE (Algorithm 2)."""

import math
from typing import Literal, NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import ABOVE_ONE, POSITIVE, SCALE
from rotting.policies.kernels.binding import bind_all
from rotting.policies.parts import arm_filter
from rotting.policies.parts.arm_filter import is_kept, keep_all, keep_close, least_pulled
from rotting.policies.parts.delayed_windows import Grid, eff_update, new_grid
from rotting.policies.parts.indices import window_width
from rotting.policies.parts.noise_scale import NoiseScale, forget, new_noise_scale, observe_noise
from rotting.policies.raw_ucb import level_at
from rotting.policy import Kernel, Params, Policy, Reason, parameter


class EffFEWA(Policy):
    """FEWA on O(log t) windows an arm: about as good, with constant memory and time in practice.

    The filter of FEWA on the grid `h_0 = 1, h_{j+1} = ceil(m h_j)`, where the mean of window h_j is refreshed with a delay of
    less than h_j pulls (EFF_UPDATE).

    Args:
        alpha: confidence level, `delta_t = 2 / t**alpha`. The theory (m = 2) asks for 3 (restless) or 4 (rested); 0.06 in
            practice.
        sigma: sub-Gaussian scale of the rewards, or "estimate": see docs/unknown-noise.md.
        m: ratio of neighbouring windows, above 1; larger is faster and coarser.

    Needs to know sigma, or estimates it; neither the horizon nor the number of changes. Sound for rested and for restless
    rotting.

    Example:
        >>> EffFEWA()
        EffFEWA(alpha=0.06, sigma=1.0, m=2.0)

    Reference: Seznec, Ménard, Lazaric, Valko, AISTATS 2020, Algorithm 2 and the appendix on efficient algorithms.
    """

    alpha: float = parameter(POSITIVE, "confidence level: delta_t = 2 / t**alpha", default=0.06)
    sigma: float | Literal["estimate"] = parameter(SCALE, "sub-Gaussian scale of the rewards, or 'estimate'", default=1.0)
    m: float = parameter(ABOVE_ONE, "ratio of neighbouring windows", default=2.0)

    name = "eff-fewa"
    title = "EFF-FEWA"
    rested = True
    restless = True
    cost = "O(K log t)"
    memory = "O(K log t)"


class State(NamedTuple):
    grid: Grid  # the delayed windows of each arm
    noise: NoiseScale  # what sigma is estimated from
    kept: Ints  # [K] working space of the filter
    scale: Floats  # [K] the same: estimated scale of each arm's noise, 1 if sigma is given


def init(p: Params, n_arms: int, capacity: int) -> State:
    return State(
        grid=new_grid(p.m, n_arms, capacity),
        noise=new_noise_scale(n_arms),
        kept=np.zeros(n_arms, np.int64),
        scale=np.ones(n_arms),
    )


def mean(s: State, i: int, j: int) -> float:
    return float(s.grid.mean[i, j])


def expanding_filter(p: Params, s: State, t: int, arms: Ints, watched: int) -> tuple[int, int]:
    """Return the arm to pull, and the number of windows that the arm `watched` passed."""
    level = level_at(p, t)
    size, j, passed = keep_all(p, s, arms), 0, 0
    while True:
        if is_kept(s, size, watched):
            passed = j
        short = least_pulled(s, s.grid.pulls, size)
        if s.grid.known[short] <= j:  # the least pulled arm has the fewest windows
            return short, passed
        size = keep_close(p, s, size, j, window_width(p, level, s.grid.windows[j], s.grid.root[j]))
        j += 1


def choose(p: Params, s: State, t: int, key: int, arms: Ints) -> int:
    """Filter on longer and longer windows until a kept arm has too few rewards for the next one; return that arm."""
    return int(expanding_filter(p, s, t, arms, -1)[0])


def explain(p: Params, s: State, t: int, arms: Ints, i: int) -> Reason:
    """Return the mean of arm i over the largest window that it passed, without an index: FEWA has none."""
    _, passed = expanding_filter(p, s, t, arms, i)
    if passed == 0:
        return Reason(math.nan, math.nan, 0, math.inf)
    h = s.grid.windows[passed - 1]
    c = s.scale[i] * window_width(p, level_at(p, t), h, math.sqrt(h))
    return Reason(math.nan, mean(s, i, passed - 1), h, c)


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    eff_update(s, arm, reward)
    observe_noise(p, s.noise, arm, reward)


EffFEWA.kernel = Kernel(
    init,
    update=update,
    forget=forget,
    **bind_all({"choose": choose, "explain": explain}, {arm_filter.window_mean: mean}),
)
