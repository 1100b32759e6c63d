"""FEWA: filter the arms on expanding windows, and pull the first that runs out of samples."""

import math
from typing import Annotated, NamedTuple

from rotting.common.arrays import Ints
from rotting.common.rules import POSITIVE
from rotting.kernels.binding import bind_all
from rotting.parts.arm_filter import keep_close, least_pulled
from rotting.parts.arm_filter import window_mean as filtered_mean
from rotting.parts.prefix_blocks import FAN, History, mean_range, new_history, record, window_mean
from rotting.policies.raw_ucb import level, width
from rotting.policy import Kernel, Policy, Reason


class Params(NamedTuple):
    alpha: Annotated[float, POSITIVE, "confidence level: delta_t = 2 / t**alpha"] = 0.06
    sigma: Annotated[float, POSITIVE, "sub-Gaussian scale of the rewards"] = 1.0


def init(p: Params, n_arms: int, capacity: int) -> History:
    return new_history(n_arms, capacity)


def all_stay(p: Params, s: History, lev: float, size: int, shortest: int, longest: int) -> bool:
    """Whether bounds alone show that every arm passes all windows between `shortest` and `longest`."""
    low, high = math.inf, -math.inf
    for k in range(size):
        arm_low, arm_high = mean_range(s, s.scratch[k], shortest, longest)
        low, high = min(low, arm_low), max(high, arm_high)
    return low >= high - 2.0 * width(p, lev, longest, math.sqrt(longest))


def expanding_filter(p: Params, s: History, t: int, arms: Ints, watched: int) -> tuple[int, int]:
    """Return the arm to pull, and the largest window on which the arm `watched` was compared."""
    kept, size = s.scratch, arms.size
    for k in range(size):
        kept[k] = arms[k]
    lev = level(p, t, arms.size)
    h, seen, stride = 0, 0, FAN
    while True:
        for k in range(size):
            if kept[k] == watched:
                seen = h
        short = least_pulled(s, size)
        if s.pulls[short] <= h:
            return short, seen
        if size == 1:  # it passes every window it has
            return short, s.pulls[short] if short == watched else seen
        last = min(h + stride, s.pulls[short])
        if h >= FAN and last - h >= FAN and all_stay(p, s, lev, size, h + 1, last):
            h = last
            stride = min(2 * stride, h)
        elif stride > FAN:
            stride //= 2
        else:
            before = size
            while h < last and size == before:
                h += 1
                size = keep_close(s, size, h, 2.0 * width(p, lev, h, math.sqrt(h)))


def choose(p: Params, s: History, t: int, key: int, arms: Ints) -> int:
    return int(expanding_filter(p, s, t, arms, -1)[0])


def explain(p: Params, s: History, t: int, arms: Ints, i: int) -> Reason:
    _, h = expanding_filter(p, s, t, arms, i)
    if h == 0:
        return Reason(math.nan, math.nan, 0, math.inf)
    return Reason(math.nan, window_mean(s, i, h), h, width(p, level(p, t, arms.size), h, math.sqrt(h)))


def update(p: Params, s: History, t: int, arm: int, reward: float) -> None:
    record(s, arm, reward)


class FEWA(Policy):
    """Filtering on Expanding Window Average, exact: every window h.

    Starts with all arms. At window h = 1, 2, ... it keeps arm i if `mean_i^h >= max over kept of mean_j^h - 2 c(h, delta_t)`,
    with `c(h, delta_t) = sigma sqrt(2 alpha ln(t) / h)`, and stops as soon as a kept arm has fewer samples than the next
    window: that arm is pulled (the least pulled, then the lowest).

    Args:
        alpha: confidence level, `delta_t = 2 / t**alpha`. The theory asks for 4 (restless) or 5 (rested); 0.06 in practice.
        sigma: sub-Gaussian scale of the rewards.

    Needs to know sigma in advance, and neither the horizon nor the number of changes. Sound for rested and for restless
    rotting.

    Example:
        >>> FEWA(alpha=4)
        FEWA(alpha=4.0, sigma=1.0)

    Reference: Seznec, Locatelli, Carpentier, Lazaric, Valko, "Rotting bandits are no harder than stochastic ones",
    AISTATS 2019.
    """

    name = "fewa"
    kernel = Kernel(
        Params, init, update=update, **bind_all({"choose": choose, "explain": explain}, {filtered_mean: window_mean})
    )
    rested = True
    restless = True
    cost = "O(K log t)"
    memory = "O(K t)"
