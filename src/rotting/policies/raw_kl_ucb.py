"""RAW-klUCB: the tightest of the kl bounds over every window that ends with the last pull."""

import math
from typing import Literal, NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import FINITE, POSITIVE
from rotting.policies.kernels.binding import bind_all
from rotting.policies.kernels.elementary import log
from rotting.policies.parts import hull, indices
from rotting.policies.parts.divergences import BERNOULLI, KIND, kl_bernoulli, upper
from rotting.policies.parts.hull import (
    HullLines,
    Stacks,
    enlarged,
    line_window,
    lowest_bound,
    new_hull_lines,
    new_stacks,
    record_on_hull,
    release,
    search_hull,
    was_pulled,
)
from rotting.policies.parts.indices import largest_index, pulled
from rotting.policies.parts.reward_scale import OUTSIDE, check_range, declared_range, in_reward_units, to_policy_scale
from rotting.policy import Kernel, Params, Policy, Reason, parameter

_SLACK = 1e-9  # more than the error of a bound, relative to it or to the scale of the rewards


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

    kind: Literal["bernoulli", "gaussian"] = parameter(KIND, "divergence", default="bernoulli")
    alpha: float = parameter(POSITIVE, "confidence level: bounds at alpha ln(t) / h", default=1.4)
    sigma: float = parameter(POSITIVE, "gaussian: standard deviation of the rewards", default=1.0)
    low: float = parameter(FINITE, "bernoulli: smallest reward", default=0.0)
    high: float = parameter(FINITE, "bernoulli: largest reward", default=1.0)
    outside: Literal["refuse", "clip"] = parameter(OUTSIDE, "bernoulli: rewards outside [low, high]", default="refuse")

    name = "raw-kl-ucb"
    title = "RAW-klUCB"
    has_index = True
    check = check_range
    reward_range = property(declared_range)
    rested = True
    restless = True
    cost = "O(K + log t)"
    memory = "O(K log t)"


class Tangents(NamedTuple):
    """The bound of each arm's window at one level, and its slope there.

    The bound is concave in the level, so that it lies under its tangent. The tangent is what the arms are compared by: the
    bound itself, which takes a dozen logarithms, is computed only for the arm in front.
    """

    value: Floats  # [K] the bound, infinite if the window has changed since
    level: Floats  # [K]
    slope: Floats  # [K]


class State(NamedTuple):
    hull: Stacks  # the windows of each arm that can have the tightest bound
    lines: HullLines  # the window of each arm that had it last
    tangents: Tangents  # upper bounds of the index, from those windows
    full: Ints  # [1] 1 if the hull had no room for a reward (`Kernel.enlarge`)


def init(p: Params, n_arms: int, capacity: int) -> State:
    return State(
        hull=new_stacks(n_arms, capacity),
        lines=new_hull_lines(n_arms),
        tangents=Tangents(value=np.full(n_arms, math.inf), level=np.zeros(n_arms), slope=np.zeros(n_arms)),
        full=np.zeros(1, np.int64),
    )


def level_at(p: Params, t: int) -> float:
    """Return alpha ln(t), computed once per round."""
    return float(p.alpha) * log(t)


def index(p: Params, s: State, t: int, arms: Ints, i: int) -> Reason:
    """Return the minimum over h <= N_i of sup{q: h kl(mean_i^h, q) <= alpha ln(t)}, in the unit of the rewards."""
    return in_reward_units(p, lowest_bound(p, s, level_at(p, t), i))


def choose(p: Params, s: State, t: int, key: int, arms: Ints) -> int:
    """Return the arm with the largest index, the lowest on a tie; each arm once first. Few of the indices are computed."""
    return largest_index(p, s, level_at(p, t), arms)


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    """Record the reward, on the scale of the divergence."""
    if record_on_hull(s, arm, to_policy_scale(p, reward)):
        s.tangents.value[arm] = math.inf


def forget(p: Params, s: State, arm: int) -> None:
    release(s.hull, arm)


def enlarge(p: Params, s: State, capacity: int) -> State:
    return State(enlarged(s.hull, capacity), s.lines, s.tangents, full=np.zeros(1, np.int64))


# --- The bound of a window, and what the search for the smallest needs to know of it ------------------------------------------


def line(p: Params, s: State, level: float, i: int) -> float:
    """Return the tangent of arm i's bound, which is not below the bound."""
    value, more = s.tangents.value[i], level - s.tangents.level[i]
    if more == 0.0 or value == math.inf:
        return float(value)
    unit = 1.0 if p.kind == BERNOULLI else p.sigma
    return float(value + s.tangents.slope[i] * more + _SLACK * (abs(value) + unit))


def bound(p: Params, level: float, mean: float, h: float, best: float) -> float:
    """Return sup{q: h kl(mean, q) <= level}, or `best` if that is not below it."""
    if p.kind == BERNOULLI and best < math.inf and (mean >= best or kl_bernoulli(mean, best) <= level / h):
        return best  # one divergence shows that `best` is not ruled out; most windows need no more
    return upper(p.kind, mean, level / h, p.sigma)


def line_bound(p: Params, s: State, level: float, i: int) -> float:
    return upper(p.kind, s.lines.mean[i], level / line_window(s, i), p.sigma)


def square(p: Params, level: float, limit: float) -> float:
    # The divergence of x from y is at most (x - y)^2 / (y (1 - y)), the chi-square distance, or it is (x - y)^2 / (2 sigma^2).
    return level * (max(0.0, limit * (1.0 - limit)) if p.kind == BERNOULLI else 2.0 * (p.sigma * p.sigma))


def search(p: Params, s: State, level: float, i: int, threshold: float) -> float:
    value = search_hull(p, s, level, i, threshold)
    s.tangents.value[i], s.tangents.level[i], s.tangents.slope[i] = value, level, slope_at(p, s, level, i, value)
    return value


def slope_at(p: Params, s: State, level: float, i: int, value: float) -> float:
    mean = s.lines.mean[i]
    if level == 0.0:  # round 1, which is not a first pull if there are priors; the bound rises from the mean like a square root
        return math.inf
    if p.kind != BERNOULLI:
        return float((value - mean) / (2.0 * level))
    return float(value * (1.0 - value) / ((value - mean) * line_window(s, i))) if value > mean else 0.0


RAWKLUCB.kernel = Kernel(
    init,
    update=update,
    forget=forget,
    enlarge=enlarge,
    **bind_all(
        {"choose": choose, "explain": index},
        {
            pulled: was_pulled,
            indices.line: line,
            indices.search: search,
            hull.bound: bound,
            hull.line_bound: line_bound,
            hull.square: square,
        },
    ),
)
