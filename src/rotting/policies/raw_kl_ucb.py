"""RAW-klUCB: the tightest of the kl bounds over every window that ends with the last pull."""

import math
from typing import Annotated, NamedTuple

from rotting.common.arrays import Ints
from rotting.common.rules import FINITE, POSITIVE
from rotting.parts import lazy_choice
from rotting.parts.divergences import BERNOULLI, KIND, kl_bernoulli, upper
from rotting.parts.exact_windows import Lines, new_lines, record_and_extend, was_pulled
from rotting.parts.lazy_choice import choose_lazily
from rotting.parts.prefix_blocks import History, new_history, window_mean
from rotting.parts.reward_scale import OUTSIDE, check_range, declared_range, in_reward_units, to_policy_scale
from rotting.policy import Kernel, Policy, Reason


class Params(NamedTuple):
    kind: Annotated[int, KIND, "divergence"] = 0
    alpha: Annotated[float, POSITIVE, "confidence level: bounds at alpha ln(t) / h"] = 1.4
    sigma: Annotated[float, POSITIVE, "gaussian: standard deviation of the rewards"] = 1.0
    low: Annotated[float, FINITE, "bernoulli: smallest reward"] = 0.0
    high: Annotated[float, FINITE, "bernoulli: largest reward"] = 1.0
    outside: Annotated[int, OUTSIDE, "bernoulli: what to do with rewards outside [low, high]"] = 0


class State(NamedTuple):
    history: History
    lines: Lines


def init(p: Params, n_arms: int, capacity: int) -> State:
    return State(history=new_history(n_arms, capacity), lines=new_lines(n_arms))


def level_at(p: Params, t: int, n_arms: int) -> float:
    return p.alpha * math.log(t)


def line(p: Params, s: State, level: float, i: int) -> float:
    return upper(p.kind, s.lines.mean[i], level / s.lines.window[i], p.sigma)


def search(p: Params, s: State, level: float, i: int, threshold: float) -> float:
    best = line(p, s, level, i)
    for h in range(1, s.history.pulls[i] + 1):
        mean, d = window_mean(s.history, i, h), level / h
        # A bound is below `best` only if `best` itself is ruled out: one divergence tells, and most windows need no more.
        if mean < best and not (p.kind == BERNOULLI and kl_bernoulli(mean, best) <= d):
            value = upper(p.kind, mean, d, p.sigma)
            if value < best:
                best, s.lines.mean[i], s.lines.window[i] = value, mean, h
    return best


def explain(p: Params, s: State, t: int, arms: Ints, i: int) -> Reason:
    if s.history.pulls[i] == 0:
        return Reason(math.inf, math.nan, 0, math.inf)
    value = search(p, s, level_at(p, t, arms.size), i, math.inf)
    return in_reward_units(p, Reason(value, s.lines.mean[i], s.lines.window[i], value - s.lines.mean[i]))


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    record_and_extend(s, arm, to_policy_scale(p, reward))


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
        **choose_lazily(
            {
                lazy_choice.pulled: was_pulled,
                lazy_choice.level_at: level_at,
                lazy_choice.line: line,
                lazy_choice.search: search,
            }
        ),
    )
    check = check_range
    reward_range = property(declared_range)
    rested = True
    restless = True
    cost = "O(K + t)"
    memory = "O(K t)"
