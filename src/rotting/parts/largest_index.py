"""What index policies share: pull the arm with the largest index."""

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


def _choose(p: Any, s: Any, t: int, key: int, arms: Ints) -> int:
    best, best_index = arms[0], -math.inf
    for i in arms:
        value = index(p, s, t, i).value
        if value > best_index:  # strictly: ties go to the lowest arm
            best, best_index = i, value
    return int(best)


def _explain(p: Any, s: Any, t: int, arms: Ints, i: int) -> Reason:
    return index(p, s, t, i)


def by_index(policy_index: Callable[..., Reason]) -> dict[str, Callable[..., Any]]:
    """Return `choose` and `explain` of the policy that pulls the largest `policy_index(p, s, t, i)`.

    An arm whose index is infinite, as an arm never pulled should have, goes first.
    """
    return bind_all({"choose": _choose, "explain": _explain}, {index: policy_index})
