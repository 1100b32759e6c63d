"""RAW-klUCB: the tightest of the kl bounds over every window that ends with the last pull."""

import math
from typing import Annotated, NamedTuple

from rotting.common.arrays import Ints
from rotting.common.rules import FINITE, POSITIVE
from rotting.parts.divergences import BERNOULLI, KIND, kl_bernoulli, upper
from rotting.parts.lazy_choice import choose_lazily
from rotting.parts.lazy_choice import level as level_slot
from rotting.parts.lazy_choice import line as line_slot
from rotting.parts.lazy_choice import search as search_slot
from rotting.parts.prefix_blocks import History, extend_line, new_history, record, window_mean
from rotting.parts.reward_scale import OUTSIDE, check_range, declared_range, in_reward_units, read
from rotting.policy import Kernel, Policy, Reason


class Params(NamedTuple):
    kind: Annotated[int, KIND, "divergence"] = 0
    alpha: Annotated[float, POSITIVE, "confidence level: bounds at alpha ln(t) / h"] = 1.4
    sigma: Annotated[float, POSITIVE, "gaussian: standard deviation of the rewards"] = 1.0
    low: Annotated[float, FINITE, "bernoulli: smallest reward"] = 0.0
    high: Annotated[float, FINITE, "bernoulli: largest reward"] = 1.0
    outside: Annotated[int, OUTSIDE, "bernoulli: what to do with rewards outside [low, high]"] = 0


def init(p: Params, n_arms: int, capacity: int) -> History:
    return new_history(n_arms, capacity)


def level(p: Params, t: int, n_arms: int) -> float:
    return p.alpha * math.log(t)


def line(p: Params, s: History, lev: float, i: int) -> float:
    return upper(p.kind, s.line_mean[i], lev / s.line_window[i], p.sigma)


def search(p: Params, s: History, lev: float, i: int, threshold: float) -> float:
    best = line(p, s, lev, i)
    for h in range(1, s.pulls[i] + 1):
        mean, d = window_mean(s, i, h), lev / h
        # A bound is below `best` only if `best` itself is ruled out: one divergence tells, and most windows need no more.
        if mean < best and not (p.kind == BERNOULLI and kl_bernoulli(mean, best) <= d):
            value = upper(p.kind, mean, d, p.sigma)
            if value < best:
                best, s.line_mean[i], s.line_window[i] = value, mean, h
    return best


def explain(p: Params, s: History, t: int, arms: Ints, i: int) -> Reason:
    if s.pulls[i] == 0:
        return Reason(math.inf, math.nan, 0, math.inf)
    value = search(p, s, level(p, t, arms.size), i, math.inf)
    return in_reward_units(p, Reason(value, s.line_mean[i], s.line_window[i], value - s.line_mean[i]))


def update(p: Params, s: History, t: int, arm: int, reward: float) -> None:
    record(s, arm, read(p, reward))
    extend_line(s, arm)


class RAWKLUCB(Policy):
    """RAW-klUCB, exact: RAW-UCB with the kl bound of every window h <= N_i.

    Pulls the arm with the largest index `min over h <= N_i of sup{q: h kl(mean_i^h, q) <= alpha ln(t)}`, where `mean_i^h` is
    the mean of the last h rewards of arm i and kl the divergence of two Bernoulli distributions, for rewards in a declared
    range, mapped to [0, 1]; or of two Gaussians, which makes it RAW-UCB. Each arm once first; ties to the lowest arm.

    Args:
        kind: divergence, "bernoulli" (sound for any rewards in [low, high]) or "gaussian".
        alpha: confidence level; 1.4 in practice, as for RAW-UCB.
        sigma: standard deviation of the rewards ("gaussian" only).
        low: smallest reward ("bernoulli" only).
        high: largest reward ("bernoulli" only).
        outside: "refuse" rewards outside [low, high], or "clip" them ("bernoulli" only).

    Needs to know the range, or sigma, in advance; neither the horizon nor the number of changes. Meant for rested and for
    restless rotting, as RAW-UCB is: tighter where means are close to an end of the range.

    Example:
        >>> RAWKLUCB(high=10)
        RAWKLUCB(kind='bernoulli', alpha=1.4, sigma=1.0, low=0.0, high=10.0, outside='refuse')

    Reference: Seznec, "Sequential machine learning for intelligent tutoring systems", PhD thesis, Université de Lille, 2020.
    """

    name = "raw-kl-ucb"
    kernel = Kernel(
        Params,
        init,
        update=update,
        explain=explain,
        **choose_lazily({level_slot: level, line_slot: line, search_slot: search}),
    )
    check = check_range
    reward_range = property(declared_range)
    rested = True
    restless = True
    cost = "O(K + t)"
    memory = "O(K t)"
