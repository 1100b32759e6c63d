"""Pending decisions: how decisions that have no reward yet change the next choice.

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

import copy
import math
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.engines.entry_points import EntryPoint
from rotting.engines.tiers import CompileMode, Entries, Functions, check_mode
from rotting.errors import KernelError
from rotting.kernels.binding import bind
from rotting.kernels.nested_state import new_state
from rotting.kernels.policy_slots import choose, explain
from rotting.live.arms import NOTHING, Complement, HasSlots, to_slots
from rotting.live.learner import Learner, SlotAndReason, is_trusted
from rotting.live.shared_functions import shared
from rotting.parts.tournament import MANY
from rotting.policy import Policy, Reason

_ARMS = np.zeros(1, np.int64)  # an example of arms, for their type
_ARMS_PER_WAITING = (
    30  # with this many times as many arms as waiting ones, hiding the waiting ones is faster than listing the others
)


# --- The rule, compiled around a policy's `explain` ---------------------------------------------------------------------------


class Counts(NamedTuple):
    """The counts of each slot that the rule reads."""

    pending: Ints  # [K] decisions without a reward
    rewards: Ints  # [K]


def _no_counts(n_slots: int) -> Counts:
    return Counts(*(np.zeros(n_slots, np.int64) for _ in Counts._fields))


def _waits(counts: Counts, i: int, by_index: bool) -> bool:
    """Return whether an arm waits: it has pending decisions, and competes by its index or has no reward."""
    return bool(counts.pending[i] != 0 and (by_index or counts.rewards[i] == 0))


def is_new(counts: Counts, i: int) -> bool:
    """Return whether an arm was never chosen."""
    return bool(counts.pending[i] == 0 and counts.rewards[i] == 0)


def split_waiting(counts: Counts, arms: Ints, by_index: bool, new_first: bool, out: Ints) -> int:
    """Write to `out` first the arms that the policy chooses from, then the waiting arms; return the number of the first.

    The policy chooses from the arms that do not wait. If some arms are new and some wait, a policy that does not choose new
    arms first by itself (`new_first`) chooses from the new arms only.
    """
    n, new = 0, 0
    for i in arms:
        if not _waits(counts, i, by_index):
            out[n] = i
            n += 1
            new += is_new(counts, i)
    place = n
    for i in arms:
        if _waits(counts, i, by_index):
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


def _mean_of_means(p: Any, s: Any, t: int, arms: Ints) -> float:
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


_NOBODY = Entrant(-1, -math.inf, 0.0)


def _better(one: Entrant, other: Entrant) -> Entrant:
    """Return the arm with the larger index, the lower slot on a tie."""
    if one.slot < 0 or other.value > one.value or (other.value == one.value and 0 <= other.slot < one.slot):
        return other
    return one


def compete(p: Any, s: Any, t: int, arms: Ints, counts: Counts, chosen: int, waiting: Ints) -> tuple[int, float]:
    """Let the waiting arms compete with the arm that the policy chose.

    Returns the arm that wins, or -1 if no arm has a reward, and its index, which only counts if a waiting arm wins. `chosen` is
    -1 if all of the available arms wait. `waiting` is in increasing order, and is overwritten.
    """
    best, leader, bare = _NOBODY, Leader(-math.inf, _NOBODY, _NOBODY), 0
    k, is_due = 0, chosen >= 0
    while k < waiting.size or is_due:
        if is_due and (k == waiting.size or chosen < waiting[k]):  # in the order of the slots
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
        else:  # the arm has no reward, or none that the policy still remembers
            waiting[bare] = i
            bare += 1
    best = _better(best, leader.leads)
    if bare > 0 and best.slot >= 0:
        mean, level = _mean_of_means(p, s, t, arms), best.level
        for i in waiting[:bare]:
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
    p: Any, s: Any, t: int, key: int, arms: Ints, counts: Counts, new_first: bool, out: Ints
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
    if n < arms.size and (n == 0 or not is_new(counts, chosen)):
        slot, value = compete(p, s, t, arms, counts, chosen, waiting)
    if slot < 0:  # no arm has a reward
        return fewest_pending(counts, arms), math.nan, math.nan, 0, math.nan
    reason = explain(p, s, t, offered if slot == chosen else arms, slot)
    if slot == chosen:
        value = reason.value
    # The conversions are for interpreted code, where a policy explains with numbers of NumPy.
    return int(slot), float(value), float(reason.mean), int(reason.window), float(reason.width)


_COUNTS = Counts(_ARMS, _ARMS)  # an example, for its type


class _Split(Functions):
    call: Callable[..., int]  # `split_waiting`


class _Compete(Functions):
    call: Callable[..., tuple[int, float]]  # `compete`


class _Choose(Functions):
    call: Callable[..., SlotAndReason]  # `choose_and_compete`


# --- The counts, and a choice with them ---------------------------------------------------------------------------------------


class Candidates(NamedTuple):
    """The arms of a choice."""

    offered: Ints  # the arms that the policy chooses from, or an array that stands for them (`Learner.hide`)
    waiting: Ints  # the arms with pending decisions, which compete with its choice


class Choice(NamedTuple):
    """A slot that was chosen."""

    slot: int
    waiting_index: float | None  # the index with which a waiting arm won
    offered: Ints | None  # the arms that the policy chose from; None if it did not choose


def _split_entries() -> Entries:
    return {"call": EntryPoint(split_waiting, None, (_COUNTS, _ARMS, True, True, _ARMS))}


def _compete_entries(policy: Policy) -> Entries:
    bound = bind(compete, {explain: policy.kernel.explain})
    state = new_state(policy, 1, 1)  # of the types of every state of the policy
    return {"call": EntryPoint(bound, policy, (policy.params, state, 1, _ARMS, _COUNTS, 0, _ARMS), not is_trusted(policy))}


def _choose_entries(policy: Policy) -> Entries:
    bound = bind(choose_and_compete, {choose: policy.kernel.choose, explain: policy.kernel.explain})
    state = new_state(policy, 1, 1)  # of the types of every state of the policy
    return {"call": EntryPoint(bound, policy, (policy.params, state, 1, 1, _ARMS, _COUNTS, True, _ARMS))}


@cache
def _split_functions(mode: CompileMode) -> _Split:
    """Return `split_waiting`, which is the same for all policies."""
    return _Split(_split_entries, mode)


def _make_compete(policy: Policy, mode: CompileMode) -> _Compete:
    """Return `compete` for a policy."""
    return _Compete(partial(_compete_entries, policy), mode)


def _make_choose(policy: Policy, mode: CompileMode) -> _Choose:
    """Return `choose_and_compete` for a policy."""
    return _Choose(partial(_choose_entries, policy), mode)


def _shared_compete(learner: Learner) -> _Compete:
    return shared(learner.policy, learner.state, check_mode(learner.compile), _make_compete)


class PendingDecisions:
    """Counts the pending decisions and the rewards of each slot; if `shrink`, they change the next choice by the rule above."""

    def __init__(self, learner: Learner, shrink: bool) -> None:
        self.pending = [0] * learner.n_slots  # decisions of each slot without a reward
        self.rewards = [0] * learner.n_slots
        self.total, self.number = 0.0, 0  # sum and number of all rewards
        self.waiting: set[int] = set()
        """Slots that the policy does not choose from; if there are none, the policy chooses alone."""
        # The same counts for compiled code, except for stale slots: as long as the policy chooses alone, nothing reads them.
        self.arrays = _no_counts(learner.n_slots)
        self.stale: set[int] = set()
        self.new_first = learner.policy.first_pulls
        p = learner.policy.params
        clips = learner.policy.reward_range is None and hasattr(p, "low") and hasattr(p, "high")
        self._least: float = p.low if clips else -math.inf
        self._most: float = p.high if clips else math.inf
        self.has_rule = shrink and learner.explains and not learner.uses_propensity
        self.by_index = self.has_rule and learner.policy.has_index
        self._split = _split_functions(check_mode(learner.compile)) if self.has_rule else None
        # A policy of the library chooses among few arms in one call; the return values of others are checked in between.
        self._compete: _Compete | None = None
        self._choose_and_compete: _Choose | None = None
        if self.by_index and learner.is_trusted and not learner.policy.randomised:
            self._choose_and_compete = shared(learner.policy, learner.state, check_mode(learner.compile), _make_choose)
        elif self.by_index:
            with suppress(KernelError):  # reported when the policy chooses
                self._compete = _shared_compete(learner)

    @property
    def _counts(self) -> Counts:
        """The counts of each slot as arrays."""
        for i in self.stale:
            self.arrays.pending[i], self.arrays.rewards[i] = self.pending[i], self.rewards[i]
        self.stale.clear()
        return self.arrays

    @property
    def _functions(self) -> list[Functions]:
        return [each for each in (self._split, self._compete, self._choose_and_compete) if each is not None]

    @property
    def is_compiled(self) -> bool:
        """Whether the functions of the rule that were called are machine code."""
        return all(each.is_compiled for each in self._functions)

    def warm_up(self, learner: Learner) -> None:
        """Load the machine code of the rule, as `Functions.warm_up` describes."""
        if self.by_index and self._compete is None:
            self._compete = _shared_compete(learner)
        for each in self._functions:
            each.warm_up()

    def change_over(self) -> None:
        """Replace interpreted functions by machine code."""
        for each in self._functions:
            each.change_over()

    def copy(self) -> "PendingDecisions":
        """Return an independent copy."""
        twin = copy.copy(self)
        twin.pending, twin.rewards, twin.waiting = self.pending.copy(), self.rewards.copy(), self.waiting.copy()
        twin.arrays, twin.stale = Counts(*(each.copy() for each in self.arrays)), self.stale.copy()
        return twin

    def _refresh(self, slot: int) -> None:
        """Update what depends on the counts of a slot, after they have changed."""
        if not self.has_rule:
            return
        self.stale.add(slot)
        if self.pending[slot] > 0 and (self.by_index or self.rewards[slot] == 0):
            self.waiting.add(slot)
        else:
            self.waiting.discard(slot)

    def restore(self, slot: int, rewards: int) -> None:
        """Set the number of rewards of a slot, from a saved state."""
        self.rewards[slot] = rewards
        self._refresh(slot)

    def decided(self, slot: int) -> None:
        """Count a decision."""
        self.pending[slot] += 1
        if self.has_rule:  # as `_refresh` does, without the call
            self.stale.add(slot)
            if self.by_index or self.rewards[slot] == 0:
                self.waiting.add(slot)

    def ended(self, slot: int) -> None:
        """Count a decision that ended without a reward."""
        self.pending[slot] -= 1
        self._refresh(slot)

    def learned(self, slot: int, reward: float, was_decided: bool) -> None:
        """Count a reward; `was_decided`: it belongs to a decision, which is no longer pending."""
        self.pending[slot] -= was_decided
        self.rewards[slot] += 1
        self.total += reward if self._least <= reward <= self._most else min(max(reward, self._least), self._most)
        self.number += 1
        if self.has_rule:  # as `_refresh` does, without the call
            self.stale.add(slot)
            if self.pending[slot] == 0 or not self.by_index:
                self.waiting.discard(slot)

    def learned_all(self, slots: Ints, rewards: Floats) -> None:
        """Count rewards without a decision, as `learned` would one after the other."""
        numbers = np.bincount(slots)
        for i in np.flatnonzero(numbers).tolist():
            self.rewards[i] += int(numbers[i])
            self._refresh(i)
        sums = np.add.accumulate(np.concatenate([[self.total], np.clip(rewards, self._least, self._most)]))
        self.total, self.number = float(sums[-1]), self.number + rewards.size

    def add_slot(self) -> None:
        """Add a slot with counts of zero."""
        self.pending.append(0)
        self.rewards.append(0)
        self.arrays = Counts(*(np.append(each, 0) for each in self.arrays))

    def forget(self, slot: int) -> None:
        """Set the counts of a slot to zero, for the next arm in it."""
        self.pending[slot], self.rewards[slot] = 0, 0
        self._refresh(slot)

    def candidates(self, arms: Ints) -> Candidates:
        """Return the arms that the policy chooses from, and the waiting ones."""
        if not self.waiting or self._split is None:
            return Candidates(arms, arms[:0])
        listed = np.empty_like(arms)
        n = self._split.call(self._counts, arms, self.by_index, self.new_first, listed)
        return Candidates(arms, arms[:0]) if n == arms.size else Candidates(listed[:n], listed[n:])

    def find_candidates(self, learner: Learner, among: Ints | Complement) -> Candidates:
        """Return what `candidates` returns; of many arms, without listing them if the learner can hide the waiting ones."""
        available = among if isinstance(among, Complement) else Complement(among, NOTHING)
        if available.every.size >= MANY + _ARMS_PER_WAITING * len(self.waiting) and self.by_index and self.new_first:
            waiting = available.kept(np.fromiter(self.waiting, np.int64, len(self.waiting)))
            offered = learner.hide(available.every, available.hidden.union(waiting.tolist()))
            if offered is not None:
                return Candidates(offered, waiting)
        return self.candidates(available.slots)

    def choose(self, learner: Learner, t: int, key: int, among: Ints | Complement) -> Choice:
        """Choose one of the arms `among` in round t."""
        return self.choose_from(self.find_candidates(learner, among), learner, t, key, among)

    def choose_from(self, candidates: Candidates, learner: Learner, t: int, key: int, among: Ints | HasSlots) -> Choice:
        """Choose one of the arms `among` in round t, given the candidates among them."""
        offered, waiting = candidates
        chosen = learner.choose(t, key, offered) if offered.size else -1
        if waiting.size == 0 or (chosen >= 0 and (not self.by_index or is_new(self._counts, chosen))):
            return Choice(chosen, None, offered)
        arms = to_slots(among)
        slot, value = -1, math.nan
        if self.by_index:
            if self._compete is None:
                self._compete = _shared_compete(learner)
            slot, value = learner.call(self._compete.call, t, arms, self._counts, chosen, waiting)
        if slot < 0:  # no arm has a reward: the fewest pending decisions, the lowest slot on a tie
            return Choice(int(arms[np.argmin(self._counts.pending[arms])]), None, None)
        return Choice(chosen, None, offered) if slot == chosen else Choice(int(slot), float(value), arms)

    def choose_and_explain(self, learner: Learner, t: int, key: int, among: Ints | Complement) -> SlotAndReason | None:
        """Choose one of the arms `among` in round t in one call of compiled code; None if that is not possible."""
        compiled_choice = self._choose_and_compete
        if compiled_choice is None or among.size - len(self.waiting) >= MANY:
            return None
        arms = to_slots(among)
        learner.make_room(t)
        made: SlotAndReason = learner.call(
            compiled_choice.call, t, key, arms, self._counts, self.new_first, np.empty_like(arms)
        )
        return None if made[0] < 0 else made

    def probabilities(self, learner: Learner, t: int, key: int, arms: Ints) -> Floats:
        """Return the probability of each of `arms` in round t. This changes the learner's state."""
        out, offered = np.zeros(arms.size), arms if self.by_index else self.candidates(arms).offered
        drawn = learner.probabilities(t, offered) if offered.size else None
        if drawn is None:
            out[np.searchsorted(arms, self.choose(learner, t, key, arms).slot)] = 1.0
        else:
            out[np.searchsorted(arms, offered)] = drawn
        return out
