"""The rule for pending decisions: how decisions that have no reward yet change the next choice.

A policy learns from rewards only. Between a decision and its reward nothing changes for the policy, so it would choose the same
arm again and again. With `pending="shrink"`, pending decisions therefore shrink the width of an arm's index:

- No arm is chosen a second time before every arm has been chosen once.
- The policy chooses among the arms without pending decisions. The arms with pending decisions (the waiting arms) then compete
  with its choice. Each has the index that it would have if its pending decisions had paid what its window paid: `mean + width
  sqrt(h / (h + pending))`, where h is the length of the window.
- The leader keeps the policy's own index once it has at least as many rewards as pending decisions: it is chosen because it is
  good, not in order to learn about it. The leader is the arm with the highest mean among those that compete: the arms with
  pending decisions, and the arm that the policy chose. No other arm can win, so no other mean has to be computed.
- An arm without any reward gets the mean of the arms' means, plus the width of a window as long as its pending decisions:
  `level / sqrt(pending)`, where `level = width sqrt(h)` is taken from the best of the other arms.
- The arm with the largest index wins, the lowest slot on a tie. If no arm has a reward, the arm with the fewest pending
  decisions wins.

A policy that draws, or that has no index, chooses among the arms that have a reward or were never chosen, as long as there are
any. Two kinds of policies need no rule: those that divide rewards by propensities, and `Uniform`. docs/delays.md measures the
regret that this rule saves, and compares it with other rules.
"""

import math
from typing import NamedTuple

from rotting.common.arrays import Ints
from rotting.kernels.policy_slots import choose, explain
from rotting.live.learner_functions import SlotAndReason
from rotting.parts.tournament import MANY
from rotting.policy import Params, Reason


class Counts(NamedTuple):
    """The counts of each slot that the rule reads."""

    pending: Ints  # [K] decisions without a reward
    rewards: Ints  # [K]


def is_waiting(pending: int, rewards: int, by_index: bool) -> bool:
    """Return whether an arm with these counts waits: it has pending decisions, and competes by its index or has no reward."""
    return pending > 0 and (by_index or rewards == 0)


def is_new(counts: Counts, i: int) -> bool:
    """Return whether an arm was never chosen."""
    return bool(counts.pending[i] == 0 and counts.rewards[i] == 0)


def split_waiting(counts: Counts, arms: Ints, by_index: bool, new_first: bool, out: Ints) -> int:
    """Write to `out` first the arms that the policy chooses from, then the waiting arms; return the number of the first.

    The policy chooses from the arms that do not wait. If some arms are new and some wait, it chooses from the new arms only,
    unless it chooses new arms first by itself (`new_first`).
    """
    n, new = 0, 0
    for i in arms:
        if not is_waiting(counts.pending[i], counts.rewards[i], by_index):
            out[n] = i
            n += 1
            new += is_new(counts, i)
    place = n
    for i in arms:
        if is_waiting(counts.pending[i], counts.rewards[i], by_index):
            out[place] = i
            place += 1
    if new_first or new == 0 or n == arms.size:
        return n
    n = 0
    for i in arms:
        if is_new(counts, i):
            out[n] = i
            n += 1
    return n


def _width(reason: Reason) -> float:
    return reason.width if abs(reason.width) < math.inf else 0.0


def _level(reason: Reason) -> float:
    return _width(reason) * math.sqrt(reason.window)


def shrinks_width(leads: bool, pending: int, rewards: int) -> bool:
    """Return whether the pending decisions of an arm shrink its width."""
    return not leads or rewards < pending


def pending_index(reason: Reason, pending: int) -> float:
    """Return the index of an arm as if its pending decisions had paid what its window paid."""
    return reason.mean + _width(reason) * math.sqrt(reason.window / (reason.window + pending))


def _mean_of_means(p: Params, s: object, t: int, arms: Ints) -> float:
    """Return the mean of the means of the arms that have rewards."""
    total, number = 0.0, 0
    for i in arms:
        reason = explain(p, s, t, arms, i)
        if reason.value < math.inf:
            total += reason.mean
            number += 1
    return total / number if number > 0 else math.nan


class Entrant(NamedTuple):
    """An arm that competes: one with pending decisions, or the one that the policy chose."""

    slot: int
    value: float  # its index
    level: float  # its width times sqrt(h)


class Leader(NamedTuple):
    """The competing arm with the highest mean so far, the lowest slot on a tie."""

    mean: float
    leads: Entrant  # the arm if it stays the leader
    follows: Entrant  # the arm if another one has a higher mean


def _entrant(reason: Reason, i: int, leads: bool, pending: int, rewards: int) -> Entrant:
    """Return an arm with the index that it competes with."""
    value = reason.value
    if pending > 0 and shrinks_width(leads, pending, rewards):
        value = pending_index(reason, pending)
    return Entrant(i, value, _level(reason))


_NO_ARM = Entrant(-1, -math.inf, 0.0)


def _better(one: Entrant, other: Entrant) -> Entrant:
    """Return the arm with the larger index, the lower slot on a tie."""
    if one.slot < 0 or other.value > one.value or (other.value == one.value and 0 <= other.slot < one.slot):
        return other
    return one


def compete(p: Params, s: object, t: int, arms: Ints, counts: Counts, chosen: int, waiting: Ints) -> tuple[int, float]:
    """Let the waiting arms compete with the arm that the policy chose.

    Returns the arm that wins, or -1 if no arm has a reward, and its index, which only counts if a waiting arm wins. `chosen` is
    -1 if all of the available arms wait. `waiting` is in increasing order, and is overwritten.
    """
    best, leader, n_unknown = _NO_ARM, Leader(-math.inf, _NO_ARM, _NO_ARM), 0
    k, chosen_is_next = 0, chosen >= 0
    while k < waiting.size or chosen_is_next:
        if chosen_is_next and (k == waiting.size or chosen < waiting[k]):  # in the order of the slots
            i, chosen_is_next = chosen, False
        else:
            i, k = int(waiting[k]), k + 1
        reason, pending, rewards = explain(p, s, t, arms, i), counts.pending[i], counts.rewards[i]
        if reason.value < math.inf:
            entrant = _entrant(reason, i, False, pending, rewards)
            if reason.mean > leader.mean:  # the former leader competes now, and this arm after the last one
                former, leader = leader.follows, Leader(reason.mean, _entrant(reason, i, True, pending, rewards), entrant)
                entrant = former
            best = _better(best, entrant)
        elif i == chosen:  # the policy chose an arm without a reward, which goes first
            return chosen, math.nan
        else:  # the arm has no reward, or none that the policy still remembers
            waiting[n_unknown] = i
            n_unknown += 1
    best = _better(best, leader.leads)
    if n_unknown > 0 and best.slot >= 0:
        mean, level = _mean_of_means(p, s, t, arms), best.level
        for i in waiting[:n_unknown]:
            best = _better(best, Entrant(int(i), mean + level / math.sqrt(counts.pending[i]), level))
    return best.slot, best.value


def fewest_pending(counts: Counts, arms: Ints) -> int:
    """Return the arm with the fewest pending decisions, the lowest slot on a tie."""
    found = arms[0]
    for i in arms:
        if counts.pending[i] < counts.pending[found]:
            found = i
    return int(found)


def choose_and_compete(
    p: Params, s: object, t: int, key: int, arms: Ints, counts: Counts, new_first: bool, out: Ints
) -> SlotAndReason:
    """Choose one of `arms` by the whole rule, for a policy that has an index; return the arm with the reason.

    Returns -1 as the arm if the policy has to choose from so many arms that it must be prepared for them. `out` is as long as
    `arms`, and is overwritten.
    """
    value, chosen = math.nan, -1
    n = split_waiting(counts, arms, True, new_first, out)
    offered, waiting = out[:n], out[n:]
    if n >= MANY:
        return -1, math.nan, math.nan, 0, math.nan
    if n > 0:
        chosen = int(choose(p, s, t, key, offered))
    slot = chosen
    if waiting.size > 0 and (chosen < 0 or not is_new(counts, chosen)):
        slot, value = compete(p, s, t, arms, counts, chosen, waiting)
    if slot < 0:  # no arm has a reward
        return fewest_pending(counts, arms), math.nan, math.nan, 0, math.nan
    reason = explain(p, s, t, offered if slot == chosen else arms, slot)
    if slot == chosen:
        value = reason.value
    # The conversions are for interpreted code, where a policy explains with numbers of NumPy.
    return int(slot), float(value), float(reason.mean), int(reason.window), float(reason.width)
