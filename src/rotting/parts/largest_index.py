"""Index policies: pull the arm with the largest index."""

import math
from collections.abc import Callable

from rotting.common.arrays import Ints
from rotting.kernels.binding import KernelFunction, bind_all, slot
from rotting.policy import Params, Reason


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
