"""Index policies: pull the arm with the largest index."""

import math
from collections.abc import Callable
from typing import Any

from rotting.common.arrays import Ints
from rotting.kernels.binding import bind_all, slot
from rotting.policy import Reason


@slot
def index(p: Any, s: Any, t: int, i: int) -> Reason:
    """Slot: the policy's own index; `by_index` binds it."""
    raise NotImplementedError


def _begin_round(s: Any, t: int) -> None:
    """Do nothing: the indices need no preparation."""


def _choose(p: Any, s: Any, t: int, key: int, arms: Ints) -> int:
    _begin_round(s, t)
    best, best_index = arms[0], -math.inf
    for i in arms:
        value = index(p, s, t, i).value
        if value > best_index:  # strictly: ties go to the lowest arm
            best, best_index = i, value
    return int(best)


def _explain(p: Any, s: Any, t: int, arms: Ints, i: int) -> Reason:
    _begin_round(s, t)
    return index(p, s, t, i)


def by_index(
    policy_index: Callable[..., Reason], begin_round: Callable[..., None] = _begin_round
) -> dict[str, Callable[..., Any]]:
    """Return `choose` and `explain` of the policy that pulls the arm with the largest index, the lowest on a tie.

    Args:
        policy_index: `policy_index(p, s, t, i)`. An arm never pulled should have an infinite index: it goes first.
        begin_round: `begin_round(s, t)`, called once before the indices of round t are computed.
    """
    return bind_all({"choose": _choose, "explain": _explain}, {index: policy_index, _begin_round: begin_round})
