"""The arms with decisions under way: which of them wait, and how they join, as compiled code around a policy's `explain`.

What the rule is, and why, is told in `under_way.py`, which keeps the counts.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from rotting.common.arrays import Ints
from rotting.engines.log import explain
from rotting.kernels.binding import slot
from rotting.policy import Reason


class Counts(NamedTuple):
    """What is known of each slot."""

    pending: Ints  # [K] decisions without a reward
    rewards: Ints  # [K]


@slot
def waits(pending: int, rewards: int) -> bool:
    """Stand for whether the policy is not asked about an arm with decisions under way."""
    raise NotImplementedError


def _waits_with_index(pending: int, rewards: int) -> bool:
    return True


def _waits_without_index(pending: int, rewards: int) -> bool:
    return rewards == 0


def is_new(counts: Counts, i: int) -> bool:
    """Tell whether an arm was never chosen."""
    return bool(counts.pending[i] == 0 and counts.rewards[i] == 0)


def list_asked(counts: Counts, arms: Ints, new_first: bool, asked: Ints) -> int:
    """Write the arms that the policy is asked about to `asked`, those that wait behind them, and return how many are asked.

    Those are the arms that do not wait; of a policy that does not choose new arms first by itself (`new_first`), the new ones,
    if some arms are new and some wait.
    """
    n, new = 0, 0
    for i in arms:
        if counts.pending[i] == 0 or not waits(counts.pending[i], counts.rewards[i]):
            asked[n] = i
            n += 1
            new += is_new(counts, i)
    place = n
    for i in arms:
        if counts.pending[i] != 0 and waits(counts.pending[i], counts.rewards[i]):
            asked[place] = i
            place += 1
    if new_first or new == 0 or n == arms.size:
        return n
    n = 0
    for i in arms:
        if is_new(counts, i):
            asked[n] = i
            n += 1
    return n


def _width(reason: Reason) -> float:
    return reason.width if abs(reason.width) < math.inf else 0.0


def _level(reason: Reason) -> float:
    return _width(reason) * math.sqrt(reason.window)


def counts_for(leads: bool, pending: int, rewards: int) -> bool:
    """Tell whether the decisions under way to an arm count in its width."""
    return not leads or rewards < pending


def _mean_of_means(p: Any, s: Any, t: int, arms: Ints) -> float:
    """Return what the arms that the policy knows pay, on average over them."""
    total, number = 0.0, 0
    for i in arms:
        reason = explain(p, s, t, arms, i)
        if reason.value < math.inf:
            total += reason.mean
            number += 1
    return total / number if number > 0 else math.nan


class Entrant(NamedTuple):
    """An arm that competes: one with decisions under way, or the one that the policy chose of the others."""

    slot: int
    value: float  # its index
    level: float  # of its index: width sqrt(h)


class Leader(NamedTuple):
    """The arm with the highest mean of those that compete, the lowest on a tie."""

    mean: float
    leads: Entrant
    follows: Entrant  # what it is if another one has a higher mean


def _entrant(reason: Reason, i: int, leads: bool, pending: int, rewards: int) -> Entrant:
    """Return an arm with the policy's index or, where decisions under way count, as if they had paid what its window did."""
    value = reason.value
    if pending > 0 and counts_for(leads, pending, rewards):
        value = reason.mean + _width(reason) * math.sqrt(reason.window / (reason.window + pending))
    return Entrant(i, value, _level(reason))


_NOBODY = Entrant(-1, -math.inf, 0.0)


def _better(one: Entrant, other: Entrant) -> Entrant:
    """Return who has the larger index, the lower slot on a tie."""
    if one.slot < 0 or other.value > one.value or (other.value == one.value and 0 <= other.slot < one.slot):
        return other
    return one


def join(p: Any, s: Any, t: int, arms: Ints, counts: Counts, chosen: int, waiting: Ints) -> tuple[int, float]:
    """Let the arms that wait join the one that the policy chose.

    Return who wins and, if it is not the chosen one, with which index; -1 if nobody has a reward.

    Args:
        p: parameters of the policy.
        s: its state.
        t: round.
        arms: available.
        counts: of all slots.
        chosen: the arm that the policy chose among the others, or -1 if there are none.
        waiting: the arms that wait, in increasing order; it is written to.
    """
    best, leader, bare = _NOBODY, Leader(-math.inf, _NOBODY, _NOBODY), 0
    k, is_due = 0, chosen >= 0
    while k < waiting.size or is_due:
        if is_due and (k == waiting.size or chosen < waiting[k]):  # all in the order of their slots
            i, is_due = chosen, False
        else:
            i, k = int(waiting[k]), k + 1
        reason, pending, rewards = explain(p, s, t, arms, i), counts.pending[i], counts.rewards[i]
        if reason.value < math.inf:
            entrant = _entrant(reason, i, False, pending, rewards)
            if reason.mean > leader.mean:
                was, leader = leader.follows, Leader(reason.mean, _entrant(reason, i, True, pending, rewards), entrant)
                entrant = was
            best = _better(best, entrant)
        elif i == chosen:
            return chosen, math.nan
        else:  # no reward, or none that the policy still knows
            waiting[bare] = i
            bare += 1
    best = _better(best, leader.leads)
    if bare > 0 and best.slot >= 0:
        mean, level = _mean_of_means(p, s, t, arms), best.level
        for i in waiting[:bare]:
            best = _better(best, Entrant(int(i), mean + level / math.sqrt(counts.pending[i]), level))
    return best.slot, best.value


def waiting_rule(has_index: bool) -> Callable[[int, int], bool]:
    """Return whether the policy is not asked about an arm with decisions under way."""
    return _waits_with_index if has_index else _waits_without_index
