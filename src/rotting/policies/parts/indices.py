"""Index policies pull the arm with the largest index: `by_index` computes every index, `largest_index` few of them.

The indices of RAW-UCB and related policies are minima of upper bounds over windows. The bound of any one window is at least the
index. So each arm keeps one window, and the bound of that window is called its line. Only the arm with the highest line is
searched, and only for a window whose bound is below the highest line of the others. About one arm per round is searched instead
of all, and the choice is that of computing every index, ties included.

Widths depend on the round through one number, its level: `c(1, delta_t)` for RAW-UCB.
"""

import math
from collections.abc import Callable
from typing import Any

from rotting.common.arrays import Ints
from rotting.policies.kernels.binding import KernelFunction, bind_all, slot
from rotting.policies.kernels.elementary import log
from rotting.policy import Params, Reason


def width(alpha: float, sigma: float, t: int, h: int) -> float:
    """Return `c(h, delta_t) = sigma sqrt(2 alpha ln(t) / h)`, with `delta_t = 2 t**-alpha`."""
    return sigma * math.sqrt(2.0 * alpha * log(t) / h)


def window_width(p: Params, level: float, h: float, root: float) -> float:
    """Return the width of a window of h rewards, with root = sqrt(h), for policies that compute a level once per round.

    With the level `c(1, delta_t)` this is `c(h, delta_t)`. A policy with other widths binds its own function here; the width
    must not increase with h.
    """
    return level / root


def pulled(s: Any, i: int) -> bool:
    """Return whether arm i has a reward, by the state's `pulls`; bind another function for a state that counts elsewhere."""
    return bool(s.pulls[i] > 0)


def first_new(s: object, arms: Ints) -> int:
    """Return the lowest of `arms` without a reward, or -1."""
    for i in arms:
        if not pulled(s, i):
            return int(i)
    return -1


# --- Every index --------------------------------------------------------------------------------------------------------------


@slot
def index(p: Params, s: object, t: int, i: int) -> Reason:
    """Slot: the policy's own index; `by_index` binds it."""
    raise NotImplementedError


def _begin_round(s: object, t: int) -> None:
    """Do nothing: the indices need no preparation."""


def _choose(p: Params, s: object, t: int, key: int, arms: Ints) -> int:
    _begin_round(s, t)
    best, best_index = arms[0], -math.inf
    for i in arms:
        value = index(p, s, t, i).value
        if value > best_index:  # strictly: ties go to the lowest arm
            best, best_index = i, value
    return int(best)


def _explain(p: Params, s: object, t: int, arms: Ints, i: int) -> Reason:
    _begin_round(s, t)
    return index(p, s, t, i)


def by_index(policy_index: Callable[..., Reason], begin_round: Callable[..., None] = _begin_round) -> dict[str, KernelFunction]:
    """Return `choose` and `explain` of the policy that pulls the arm with the largest index, the lowest on a tie.

    Args:
        policy_index: `policy_index(p, s, t, i)`. An arm never pulled should have an infinite index: it goes first.
        begin_round: `begin_round(s, t)`, called once before the indices of round t are computed.
    """
    return bind_all({"choose": _choose, "explain": _explain}, {index: policy_index, _begin_round: begin_round})


# --- Few indices --------------------------------------------------------------------------------------------------------------


@slot
def line(p: Params, s: object, level: float, i: int) -> float:
    """Slot: return the bound of the window that arm i keeps, which is at least its index."""
    raise NotImplementedError


@slot
def search(p: Params, s: object, level: float, i: int, threshold: float) -> float:
    """Slot: return the index of arm i if that is at most `threshold`, else the bound of some window above the threshold.

    The arm keeps the window whose bound is returned, so that its `line` is that bound from now on.
    """
    raise NotImplementedError


def arm_scale(p: Params, s: object, i: int) -> float:
    """Return the factor of arm i's widths: 1. A policy that can estimate its sigma binds `noise_scale.arm_noise` here."""
    return 1.0


def largest_index(p: Params, s: object, level: float, arms: Ints) -> int:
    """Return the arm with the largest index, the lowest on a tie; before that, the lowest arm that was never pulled."""
    leader = first_new(s, arms)
    if leader >= 0:
        return leader
    # A search either settles the choice or lowers the leader's line to its index, so that a second search of the same arm would
    # settle it. So K + 1 searches suffice. The limit stops the loop if a value is NaN, which no comparison settles.
    for _ in range(arms.size + 1):
        leader, before, after = _in_front(p, s, level, arms)
        value = search(p, s, level, leader, max(before, after))
        if value > before and value >= after:
            break
    return leader


def _in_front(p: Params, s: object, level: float, arms: Ints) -> tuple[int, float, float]:
    """Return the arm with the highest line, and the highest lines of the arms before and after it."""
    leader, first, before, after = arms[0], -math.inf, -math.inf, -math.inf
    for i in arms:
        value = line(p, s, level, i)
        if value > first:
            # The highest line so far belongs to a lower arm, which wins a tie with the new leader.
            leader, first, before, after = i, value, first, -math.inf
        else:
            after = max(after, value)
    return int(leader), before, after
