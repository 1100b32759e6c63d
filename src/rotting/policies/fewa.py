"""FEWA: filter the arms on expanding windows, and pull the first that runs out of samples.

In round t all arms are kept at first. For h = 1, 2, ...:

- if a kept arm has fewer than h samples, pull it (the least pulled, then the lowest);
- keep arm i if `mean_i^h >= max over kept of mean_j^h - 2 c(h, delta_t)`.

`expanding_filter` does that, with one shortcut: `skip_windows` passes over windows on which bounds show that no arm is dropped.
"""

import math
from typing import Literal, NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import POSITIVE, SCALE
from rotting.policies.kernels.binding import bind_all
from rotting.policies.parts import arm_filter
from rotting.policies.parts.arm_filter import is_kept, keep_all, keep_close, least_pulled, skip_windows
from rotting.policies.parts.indices import window_width
from rotting.policies.parts.noise_scale import NoiseScale, forget, new_noise_scale, observe_noise
from rotting.policies.parts.prefix_sums import PrefixSums, new_prefix_sums, record, window_mean
from rotting.policies.raw_ucb import level_at
from rotting.policy import Kernel, Params, Policy, Reason, parameter


class FEWA(Policy):
    """Filtering on Expanding Window Average, exact: every window h.

    Starts with all arms. At window h = 1, 2, ... it keeps arm i if `mean_i^h >= max over kept of mean_j^h - 2 c(h, delta_t)`,
    with `c(h, delta_t) = sigma sqrt(2 alpha ln(t) / h)`, and stops as soon as a kept arm has fewer samples than the next
    window: that arm is pulled (the least pulled, then the lowest).

    Args:
        alpha: confidence level, `delta_t = 2 / t**alpha`. The theory asks for 4 (restless) or 5 (rested); 0.06 in practice.
        sigma: sub-Gaussian scale of the rewards, or "estimate": see docs/unknown-noise.md.

    Needs to know sigma, or estimates it; neither the horizon nor the number of changes. Sound for rested and for restless
    rotting.

    Example:
        >>> FEWA(alpha=4)
        FEWA(alpha=4.0, sigma=1.0)

    Reference: Seznec, Locatelli, Carpentier, Lazaric, Valko, "Rotting bandits are no harder than stochastic ones",
    AISTATS 2019.
    """

    alpha: float = parameter(POSITIVE, "confidence level: delta_t = 2 / t**alpha", default=0.06)
    sigma: float | Literal["estimate"] = parameter(SCALE, "sub-Gaussian scale of the rewards, or 'estimate'", default=1.0)

    name = "fewa"
    title = "FEWA"
    rested = True
    restless = True
    cost = "O(K log t)"
    memory = "O(K t)"


class State(NamedTuple):
    history: PrefixSums  # all windows of each arm
    noise: NoiseScale  # what sigma is estimated from
    kept: Ints  # [K] working space of the filter
    scale: Floats  # [K] the same: estimated scale of each arm's noise, 1 if sigma is given


def init(p: Params, n_arms: int, capacity: int) -> State:
    return State(
        history=new_prefix_sums(n_arms, capacity),
        noise=new_noise_scale(n_arms),
        kept=np.zeros(n_arms, np.int64),
        scale=np.ones(n_arms),
    )


def mean(s: State, i: int, h: int) -> float:
    return window_mean(s.history, i, h)


def expanding_filter(p: Params, s: State, t: int, arms: Ints, watched: int) -> tuple[int, int]:
    """Return the arm to pull, and the largest window that the arm `watched` passed."""
    level = level_at(p, t)
    size, h, passed = keep_all(p, s, arms), 0, -1
    while True:
        short, before = least_pulled(s, s.history.pulls, size), size
        end = s.history.pulls[short]
        while h < end and size == before:
            h = skip_windows(p, s, level, size, h, end)
            if h < end:
                h += 1
                size = keep_close(p, s, size, h, window_width(p, level, h, math.sqrt(h)))
        if passed < 0 and not is_kept(s, size, watched):
            passed = h - 1
        if size == before:
            return short, passed if passed >= 0 else h


def choose(p: Params, s: State, t: int, key: int, arms: Ints) -> int:
    """Filter on longer and longer windows until a kept arm has too few rewards for the next one; return that arm."""
    return int(expanding_filter(p, s, t, arms, -1)[0])


def explain(p: Params, s: State, t: int, arms: Ints, i: int) -> Reason:
    """Return the mean of arm i over the largest window that it passed, without an index: FEWA has none."""
    _, h = expanding_filter(p, s, t, arms, i)
    if h <= 0:
        return Reason(math.nan, math.nan, 0, math.inf)
    c = s.scale[i] * window_width(p, level_at(p, t), h, math.sqrt(h))
    return Reason(math.nan, mean(s, i, h), h, c)


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    record(s.history, arm, reward)
    observe_noise(p, s.noise, arm, reward)


FEWA.kernel = Kernel(
    init,
    update=update,
    forget=forget,
    **bind_all({"choose": choose, "explain": explain}, {arm_filter.window_mean: mean}),
)
