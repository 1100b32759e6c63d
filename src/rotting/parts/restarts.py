"""What policies that restart on an alarm share: new arms first, then forced exploration, then the largest index."""

from collections.abc import Callable
from typing import Any

from rotting.common.arrays import Ints
from rotting.common.rules import option
from rotting.kernels.binding import bind, slot
from rotting.kernels.exact_sums import add
from rotting.parts.largest_index import by_index
from rotting.parts.presence import Presence, arm_of_rank
from rotting.policy import Reason

RESTART = option("local", "global")
GLOBAL = 1


@slot
def explore(p: Any, s: Any, t: int, key: int, arms: Ints) -> int:
    """Slot: the policy's forced exploration: an arm, or -1 for none; `restarting` binds it."""
    raise NotImplementedError


@slot
def leader(p: Any, s: Any, t: int, key: int, arms: Ints) -> int:
    """Slot: the arm of the largest index; `restarting` binds it."""
    raise NotImplementedError


def has_sample(s: Any, i: int) -> bool:
    """Return whether arm i has a sample since its restart, by the state's `pulls`; `restarting` may bind another."""
    return bool(s.pulls[i] > 0)


def first_new(s: Any, arms: Ints) -> int:
    """Return the lowest of `arms` without a sample since its restart, or -1."""
    for i in arms:
        if not has_sample(s, i):
            return int(i)
    return -1


def append(s: Any, i: int, sample: float) -> None:
    """Append a sample to the prefix sums `high + low` [K, capacity + 1] of arm i."""
    n = s.pulls[i]
    s.high[i, n + 1], s.low[i, n + 1] = add(s.high[i, n], s.low[i, n], sample)
    s.pulls[i] = n + 1


def round_robin(s: Presence, period: float, elapsed: int, arms: Ints) -> int:
    """Return arm `a = elapsed mod period` of those that are there if it is one of `arms`, or -1.

    Args:
        s: which arms are there.
        period: a whole number, of any size.
        elapsed: rounds since the exploration began.
        arms: the available arms.
    """
    a = elapsed if elapsed < period else elapsed % int(period)
    a = arm_of_rank(s, a)
    for i in arms:
        if i == a:
            return int(i)
    return -1


def _choose(p: Any, s: Any, t: int, key: int, arms: Ints) -> int:
    arm = first_new(s, arms)
    if arm < 0:
        arm = explore(p, s, t, key, arms)
    if arm < 0:
        arm = leader(p, s, t, key, arms)
    return arm


def restarting(
    index: Callable[..., Reason], forced: Callable[..., int], sampled: Callable[..., bool] = has_sample
) -> dict[str, Callable[..., Any]]:
    """Return `choose` and `explain` of a policy that restarts.

    Args:
        index: `index(p, s, t, i)`, of the samples since the restart.
        forced: `forced(p, s, t, key, arms)`, the arm to explore in this round, or -1.
        sampled: `sampled(s, i)`, whether arm i has a sample since its restart.
    """
    parts = by_index(index)
    choose = bind(_choose, {explore: forced, leader: parts["choose"], has_sample: sampled})
    return {"choose": choose, "explain": parts["explain"]}
