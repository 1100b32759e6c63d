"""FEWA: filter the arms on expanding windows, and pull the first that runs out of samples."""

import math
from typing import Annotated, NamedTuple

from rotting.arrays import Ints
from rotting.policy import Kernel, Policy, Reason
from rotting.rules import POSITIVE
from rotting.windows import History, new_history, record, width
from rotting.windows import history_length as length
from rotting.windows import history_mean as window_mean
from rotting.windows import history_reach as reach


class Params(NamedTuple):
    alpha: Annotated[float, POSITIVE, "confidence level: delta_t = 2 / t**alpha"] = 0.06
    sigma: Annotated[float, POSITIVE, "sub-Gaussian scale of the rewards"] = 1.0


def init(p: Params, n_arms: int, capacity: int) -> History:
    return new_history(n_arms, capacity)


def expanding_filter(p: Params, s: History, t: int, arms: Ints, watched: int) -> tuple[int, int]:
    """Return the arm to pull, and the number of windows at which the arm `watched` was still compared."""
    kept, size = s.scratch, arms.size
    for k in range(size):
        kept[k] = arms[k]
    j, seen = 0, 0
    while True:
        short = -1
        for k in range(size):
            i = kept[k]
            if i == watched:
                seen = min(j + 1, reach(s, i))
            if reach(s, i) <= j and (short < 0 or s.pulls[i] < s.pulls[short]):
                short = i
        if short >= 0:
            return short, seen
        if size == 1:  # it passes every window it has
            return kept[0], reach(s, kept[0]) if kept[0] == watched else seen
        top = -math.inf
        for k in range(size):
            top = max(top, window_mean(s, kept[k], j))
        threshold = top - 2.0 * width(p.alpha, p.sigma, t, length(s, j))
        passed = 0
        for k in range(size):
            if window_mean(s, kept[k], j) >= threshold:
                kept[passed] = kept[k]
                passed += 1
        size = passed
        j += 1


def choose(p: Params, s: History, t: int, key: int, arms: Ints) -> int:
    return int(expanding_filter(p, s, t, arms, -1)[0])


def explain(p: Params, s: History, t: int, arms: Ints, i: int) -> Reason:
    _, seen = expanding_filter(p, s, t, arms, i)
    if seen == 0:
        return Reason(math.nan, math.nan, 0, math.inf)
    h = length(s, seen - 1)
    return Reason(math.nan, window_mean(s, i, seen - 1), h, width(p.alpha, p.sigma, t, h))


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

    Needs neither the horizon nor the number of changes. Sound for rested and for restless rotting.

    Example:
        >>> FEWA(alpha=4)
        FEWA(alpha=4.0, sigma=1.0)

    Reference: Seznec, Locatelli, Carpentier, Lazaric, Valko, "Rotting bandits are no harder than stochastic ones",
    AISTATS 2019.
    """

    name = "fewa"
    kernel = Kernel(Params, init, choose, update, explain)
