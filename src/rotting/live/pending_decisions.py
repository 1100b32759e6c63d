"""Pending decisions: how decisions that have no reward yet change the next choice.

A policy knows rewards only. Between a decision and its reward nothing changes for the policy, so it would choose the same arm
again and again. With `pending="shrink"`, pending decisions therefore shrink the width of an arm's index:

- No arm is chosen a second time before every arm has been chosen once.
- The policy chooses among the arms without pending decisions. The arms with pending decisions then join, with the index that
  they would have if their pending decisions had paid what the window paid: `mean + width sqrt(h / (h + pending))`, where h is
  the length of the window.
- The leader keeps the policy's own index once it has at least as many rewards as pending decisions: it is chosen because it is
  good, not in order to learn about it. The leader is the arm with the highest mean among those that compete: the arms with
  pending decisions, and the arm that the policy chose. No other arm can win, so no other mean has to be computed.
- An arm without any reward gets the mean of the arms' means, plus the width of a window as long as its pending decisions:
  `level / sqrt(pending)`, where `level = width sqrt(h)` is that of the best of the other arms.
- The arm with the largest index wins, the lowest slot on a tie. If no arm has a reward, the arm with the fewest pending
  decisions wins.

A policy that draws, or that has no index, chooses among the arms that have a reward or were never chosen, as long as there are
any. A policy that divides rewards by propensities learns each reward when it comes and needs no rule, nor does `Uniform`, which
gives no reason for its choices. docs/delays.md measures what this rule saves, and what other rules would.
"""

import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.engines.compile import compiled, guarded_for
from rotting.errors import KernelError
from rotting.kernels.binding import bind, slot
from rotting.kernels.policy_slots import explain
from rotting.live.arms import NOTHING, Complement, HasSlots, to_slots
from rotting.live.learner import Learner
from rotting.parts.tournament import MANY
from rotting.policy import Reason

_FEW = 30  # times as many arms as waiting ones: from there on, hiding the waiting ones is faster than listing the others


# --- The rule, compiled around a policy's `explain` ---------------------------------------------------------------------------


class Counts(NamedTuple):
    """What the rule knows of each slot."""

    pending: Ints  # [K] decisions without a reward
    rewards: Ints  # [K]


@slot
def waits(pending: int, rewards: int) -> bool:
    """Slot: whether the policy does not choose among arms with so many pending decisions and rewards."""
    raise NotImplementedError


def _waits_with_index(pending: int, rewards: int) -> bool:
    return True


def _waits_without_index(pending: int, rewards: int) -> bool:
    return rewards == 0


def waiting_rule(has_index: bool) -> Callable[[int, int], bool]:
    """Return the function for `waits`."""
    return _waits_with_index if has_index else _waits_without_index


def is_new(counts: Counts, i: int) -> bool:
    """Return whether an arm was never chosen."""
    return bool(counts.pending[i] == 0 and counts.rewards[i] == 0)


def list_asked(counts: Counts, arms: Ints, new_first: bool, asked: Ints) -> int:
    """Write the arms that the policy chooses from to `asked`, the waiting arms behind them, and return how many come first.

    The policy chooses from the arms that do not wait. If some arms are new and some wait, a policy that does not choose new
    arms first by itself (`new_first`) chooses from the new arms only.
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
    """Return whether the pending decisions of an arm shrink its width."""
    return not leads or rewards < pending


def pending_index(reason: Reason, pending: int) -> float:
    """Return the index of an arm as if its pending decisions had paid what its window did."""
    return reason.mean + _width(reason) * math.sqrt(reason.window / (reason.window + pending))


def _mean_of_means(p: Any, s: Any, t: int, arms: Ints) -> float:
    """Return the average of the means of the arms that have one."""
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
    level: float  # width sqrt(h) of its index


class Leader(NamedTuple):
    """The competing arm with the highest mean, the lowest slot on a tie."""

    mean: float
    leads: Entrant
    follows: Entrant  # what the arm is once another one has a higher mean


def _entrant(reason: Reason, i: int, leads: bool, pending: int, rewards: int) -> Entrant:
    """Return an arm with the index that it competes with."""
    value = reason.value
    if pending > 0 and counts_for(leads, pending, rewards):
        value = pending_index(reason, pending)
    return Entrant(i, value, _level(reason))


_NOBODY = Entrant(-1, -math.inf, 0.0)


def _better(one: Entrant, other: Entrant) -> Entrant:
    """Return the arm with the larger index, the lower slot on a tie."""
    if one.slot < 0 or other.value > one.value or (other.value == one.value and 0 <= other.slot < one.slot):
        return other
    return one


def join(p: Any, s: Any, t: int, arms: Ints, counts: Counts, chosen: int, waiting: Ints) -> tuple[int, float]:
    """Let the waiting arms compete with the one that the policy chose.

    Return the arm that wins and, if it is not the chosen one, its index; -1 if no arm has a reward.

    Args:
        p: parameters of the policy.
        s: its state.
        t: round.
        arms: available arms.
        counts: of all slots.
        chosen: the arm that the policy chose, or -1 if all arms wait.
        waiting: the waiting arms in increasing order; overwritten.
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


# --- The counts, and a choice with them ---------------------------------------------------------------------------------------


class Candidates(NamedTuple):
    """The arms of a choice."""

    asked: Ints  # the arms that the policy chooses from, or an array that stands for them
    waiting: Ints  # the arms with pending decisions, which join


class Choice(NamedTuple):
    """What was chosen, and why."""

    slot: int
    joined: float | None  # the index with which a waiting arm won
    asked: Ints | None  # the arms that the policy chose from, if it did


class PendingDecisions:
    """The pending decisions and the rewards of each slot, and the rule for the next choice.

    Args:
        learner: the policy with its state.
        counts: whether pending decisions count at all.
    """

    def __init__(self, learner: Learner, counts: bool) -> None:
        self.pending = [0] * learner.n_slots  # decisions of each slot without a reward
        self.rewards = [0] * learner.n_slots
        self.total, self.number = 0.0, 0  # of all rewards
        self.waiting: set[int] = set()
        """Slots that the policy does not choose from; if there are none, the policy chooses alone."""
        self.counted = Counts(*(np.zeros(learner.n_slots, np.int64) for _ in Counts._fields))  # the same for compiled code,
        self.stale: set[int] = set()  # except for these slots: as long as the policy chooses alone, nothing reads them
        self.new_first = learner.policy.first_pulls
        p = learner.policy.params
        clips = learner.policy.reward_range is None and hasattr(p, "low") and hasattr(p, "high")
        self._least: float = p.low if clips else -math.inf
        self._most: float = p.high if clips else math.inf
        self.counts = counts and learner.explains and not learner.weighs
        self.by_index = self.counts and learner.policy.has_index
        self._list_asked = compiled(bind(list_asked, {waits: waiting_rule(self.by_index)})) if self.counts else None
        if self._list_asked is not None:
            self._list_asked(self._known, np.zeros(1, np.int64), True, np.zeros(1, np.int64))  # compiles now, not later
        self._join: Callable[..., tuple[int, float]] | None = None
        if self.by_index:
            with suppress(KernelError):  # reported when the policy chooses
                self._join = self._compiled_join(learner)

    def _compiled_join(self, learner: Learner) -> Callable[..., tuple[int, float]]:
        policy, arms = learner.policy, np.zeros(1, np.int64)
        bound = bind(join, {explain: policy.kernel.explain})
        return guarded_for(bound, policy, policy.params, learner.state, 1, arms, self._known, 0, arms, allocates=True)

    @property
    def _known(self) -> Counts:
        """The counts of each slot, up to date."""
        for i in self.stale:
            self.counted.pending[i], self.counted.rewards[i] = self.pending[i], self.rewards[i]
        self.stale.clear()
        return self.counted

    def copy(self) -> "PendingDecisions":
        """Return an independent copy."""
        twin = PendingDecisions.__new__(PendingDecisions)
        vars(twin).update(vars(self))
        twin.pending, twin.rewards, twin.waiting = self.pending.copy(), self.rewards.copy(), self.waiting.copy()
        twin.counted, twin.stale = Counts(*(each.copy() for each in self.counted)), self.stale.copy()
        return twin

    def refresh(self, slot: int) -> None:
        """Update what depends on the counts of a slot, after they have changed."""
        if not self.counts:
            return
        self.stale.add(slot)
        if self.pending[slot] > 0 and (self.by_index or self.rewards[slot] == 0):
            self.waiting.add(slot)
        else:
            self.waiting.discard(slot)

    def restore(self, slot: int, rewards: int) -> None:
        """Set the number of rewards of a slot, from a saved state."""
        self.rewards[slot] = rewards
        self.refresh(slot)

    def decided(self, slot: int) -> None:
        """Count a decision."""
        self.pending[slot] += 1
        if self.counts:  # as `refresh` does, without the call
            self.stale.add(slot)
            if self.by_index or self.rewards[slot] == 0:
                self.waiting.add(slot)

    def ended(self, slot: int) -> None:
        """Count a decision that ended without a reward."""
        self.pending[slot] -= 1
        self.refresh(slot)

    def learned(self, slot: int, reward: float, was_decided: bool) -> None:
        """Count a reward, of a decision or without one."""
        self.pending[slot] -= was_decided
        self.rewards[slot] += 1
        self.total += reward if self._least <= reward <= self._most else min(max(reward, self._least), self._most)
        self.number += 1
        if self.counts:  # as `refresh` does, without the call
            self.stale.add(slot)
            if self.pending[slot] == 0 or not self.by_index:
                self.waiting.discard(slot)

    def learned_all(self, slots: Ints, rewards: Floats) -> None:
        """Count rewards without a decision, as `learned` does one after the other."""
        numbers = np.bincount(slots)
        for i in np.flatnonzero(numbers).tolist():
            self.rewards[i] += int(numbers[i])
            self.refresh(i)
        sums = np.add.accumulate(np.concatenate([[self.total], np.clip(rewards, self._least, self._most)]))
        self.total, self.number = float(sums[-1]), self.number + rewards.size

    def add_slot(self) -> None:
        """Count for one more slot."""
        self.pending.append(0)
        self.rewards.append(0)
        self.counted = Counts(*(np.append(each, 0) for each in self.counted))

    def forget(self, slot: int) -> None:
        """Count from zero for the next arm in a slot."""
        self.pending[slot], self.rewards[slot] = 0, 0
        self.refresh(slot)

    def candidates(self, arms: Ints) -> Candidates:
        """Return the arms that the policy chooses from, and the waiting ones."""
        if not self.waiting or self._list_asked is None:
            return Candidates(arms, arms[:0])
        listed = np.empty_like(arms)
        n = self._list_asked(self._known, arms, self.new_first, listed)
        return Candidates(arms, arms[:0]) if n == arms.size else Candidates(listed[:n], listed[n:])

    def _candidates_of_many(self, learner: Learner, among: Complement) -> Candidates | None:
        """Return the candidates of many arms without listing them, if the learner can hide the waiting ones."""
        if among.every.size < MANY + _FEW * len(self.waiting) or not (self.by_index and self.new_first):
            return None
        waiting = among.kept(np.fromiter(self.waiting, np.int64, len(self.waiting)))
        asked = learner.hide(among.every, among.hidden.union(waiting.tolist()))
        return None if asked is None else Candidates(asked, waiting)

    def find_candidates(self, learner: Learner, among: Ints | Complement) -> Candidates:
        """Return what `candidates` does, in the fastest way."""
        found = self._candidates_of_many(learner, among if isinstance(among, Complement) else Complement(among, NOTHING))
        return self.candidates(to_slots(among)) if found is None else found

    def choose(self, learner: Learner, t: int, key: int, among: Ints | Complement) -> Choice:
        """Choose one of the arms `among` in round t."""
        return self.choose_from(self.find_candidates(learner, among), learner, t, key, among)

    def choose_from(self, candidates: Candidates, learner: Learner, t: int, key: int, among: Ints | HasSlots) -> Choice:
        """Choose one of the arms `among` in round t, given its candidates."""
        asked, waiting = candidates
        chosen = learner.choose(t, key, asked) if asked.size else -1
        if waiting.size == 0 or (chosen >= 0 and (not self.by_index or is_new(self._known, chosen))):
            return Choice(chosen, None, asked)
        arms = to_slots(among)
        slot, value = -1, math.nan
        if self.by_index:
            if self._join is None:
                self._join = self._compiled_join(learner)
            slot, value = learner.ask(self._join, t, arms, self._known, chosen, waiting)
        if slot < 0:
            return Choice(int(arms[np.argmin(self._known.pending[arms])]), None, None)  # the fewest, the lowest on a tie
        return Choice(chosen, None, asked) if slot == chosen else Choice(int(slot), float(value), arms)

    def probabilities(self, learner: Learner, t: int, key: int, arms: Ints) -> Floats:
        """Return the probability of each of `arms` in round t; it changes the learner's state."""
        out, asked = np.zeros(arms.size), arms if self.by_index else self.candidates(arms).asked
        drawn = learner.probabilities(t, asked) if asked.size else None
        if drawn is None:
            out[np.searchsorted(arms, self.choose(learner, t, key, arms).slot)] = 1.0
        else:
            out[np.searchsorted(arms, asked)] = drawn
        return out
