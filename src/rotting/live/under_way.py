"""Decisions under way: how those whose reward has not come yet enter the next choice.

A policy knows rewards. An arm that is chosen often before its first rewards come would be chosen again and again, since nothing
changes meanwhile. So with `pending="young"`

- no arm is chosen a second time before each has been once;
- the policy chooses among the arms with nothing under way, and those that have something join: with their index as if the
  decisions under way had paid what the rewards of the window did, `mean + width sqrt(h / (h + pending))`, where h is the arm's
  window;
- but not so the leader, the arm with the highest mean of those that compete, which are the arms with something under way and
  the one that the policy chose. The leader is chosen because it is good, not in order to learn. Its index is that of the
  policy, once it has as many rewards as decisions under way; before, it is young, and joins as the others do. The other arms
  with nothing under way cannot win, so their means do not count, and need not be computed;
- an arm without any reward has the mean of the arms' means, plus the width of a window of its decisions under way:
  `level / sqrt(pending)`, where `level = width sqrt(h)` is that of the best of the others;
- the largest index wins, the lowest slot on a tie. If no arm has a reward, the one with the fewest decisions does.

A policy that draws, or has no index, chooses among the arms that have a reward or were never chosen, as long as there are any.
A policy that weighs rewards by propensities learns each when it comes, and needs none of this. Nor does `Uniform`, which says
no reason for its choices. What this rule saves, and what others do, is measured in docs/delays.md.
"""

import math
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.engines.compile import compiled, guarded_for
from rotting.engines.log import explain
from rotting.errors import KernelError
from rotting.kernels.binding import bind
from rotting.live.arms import NOTHING, AllBut, HasSlots, listed_slots
from rotting.live.learner import Learner
from rotting.live.young_arms import Counts, is_new, join, list_asked, waiting_rule, waits
from rotting.parts.tournament import MANY
from rotting.policy import Policy

_FEW = 30  # times as many arms: then it is faster to hide those that wait than to list the others


class Candidates(NamedTuple):
    """The arms of a choice."""

    asked: Ints  # those that the policy is asked about, or what stands for them
    waiting: Ints  # those that have decisions under way, and join


class Choice(NamedTuple):
    """What was chosen, and why."""

    slot: int
    joined: float | None  # the index with which a young arm joined and won
    asked: Ints | None  # the arms that the policy was asked about, if it was


def has_index(policy: Policy, learner: Learner) -> bool:
    """Tell whether the policy chooses by an index alone, which a trial with one reward shows."""
    if policy.randomised or not learner.explains:
        return False
    low, high = policy.reward_range or (0.0, 1.0)
    trial, arms = Learner.new(policy, 1), np.zeros(1, np.int64)
    try:
        trial.learn(1, 0, (low + high) / 2.0)
        return not math.isnan(trial.explain(1, arms, 0).value)  # of round 1: another may begin an epoch, which knows nothing
    except KernelError:  # which is told where it matters: when the bandit learns, or explains
        return False


class UnderWay:
    """What is under way in each slot, and the rule for it.

    Args:
        learner: what chooses.
        counts: whether decisions under way count at all.
    """

    def __init__(self, learner: Learner, counts: bool) -> None:
        self.pending = [0] * learner.n_slots  # decisions of each slot without a reward
        self.rewards = [0] * learner.n_slots
        self.total, self.number = 0.0, 0  # of all rewards
        self.waiting: set[int] = set()
        """Slots that the policy is not asked about; if there are none, it chooses as if nothing were under way."""
        self._counted = Counts(*(np.zeros(learner.n_slots, np.int64) for _ in Counts._fields))  # the same for the rule,
        self._stale: set[int] = set()  # but for these slots: a policy alone does not ask for them
        self.new_first = learner.policy.first_pulls
        p = learner.policy.params
        clips = learner.policy.reward_range is None and hasattr(p, "low") and hasattr(p, "high")
        self._least: float = p.low if clips else -math.inf
        self._most: float = p.high if clips else math.inf
        self.counts = counts and learner.explains and not learner.weighs
        self.by_index = self.counts and has_index(learner.policy, learner)
        self._list_asked = compiled(bind(list_asked, {waits: waiting_rule(self.by_index)})) if self.counts else None
        if self._list_asked is not None:
            self._list_asked(self._known, np.zeros(1, np.int64), True, np.zeros(1, np.int64))  # is compiled now, not later
        self._join: Callable[..., tuple[int, float]] | None = None
        if self.by_index:
            with suppress(KernelError):  # which is told where it matters: when the policy chooses
                self._join = self._compiled_join(learner)

    def _compiled_join(self, learner: Learner) -> Callable[..., tuple[int, float]]:
        policy, arms = learner.policy, np.zeros(1, np.int64)
        bound = bind(join, {explain: policy.kernel.explain})
        return guarded_for(bound, policy, policy.params, learner.state, 1, arms, self._known, 0, arms, allocates=True)

    @property
    def _known(self) -> Counts:
        """What the rule knows of each slot."""
        for slot in self._stale:
            self._counted.pending[slot], self._counted.rewards[slot] = self.pending[slot], self.rewards[slot]
        self._stale.clear()
        return self._counted

    def copy(self) -> "UnderWay":
        """Return an independent copy."""
        twin = UnderWay.__new__(UnderWay)
        vars(twin).update(vars(self))
        twin.pending, twin.rewards, twin.waiting = self.pending.copy(), self.rewards.copy(), self.waiting.copy()
        twin._counted, twin._stale = Counts(*(each.copy() for each in self._counted)), self._stale.copy()
        return twin

    def refresh(self, slot: int) -> None:
        """Note the counts of a slot after they have changed."""
        if not self.counts:
            return
        self._stale.add(slot)
        if self.pending[slot] > 0 and (self.by_index or self.rewards[slot] == 0):
            self.waiting.add(slot)
        else:
            self.waiting.discard(slot)

    def restore(self, slot: int, rewards: int) -> None:
        """Count the rewards that a saved slot has."""
        self.rewards[slot] = rewards
        self.refresh(slot)

    def decided(self, slot: int) -> None:
        """Count a decision."""
        self.pending[slot] += 1
        if self.counts:  # what `refresh` does, without the call
            self._stale.add(slot)
            if self.by_index or self.rewards[slot] == 0:
                self.waiting.add(slot)

    def ended(self, slot: int) -> None:
        """Count a decision that will have no reward."""
        self.pending[slot] -= 1
        self.refresh(slot)

    def learned(self, slot: int, reward: float, was_decided: bool) -> None:
        """Count a reward: one of a decision, or another."""
        self.pending[slot] -= was_decided
        self.rewards[slot] += 1
        self.total += reward if self._least <= reward <= self._most else min(max(reward, self._least), self._most)
        self.number += 1
        if self.counts:  # what `refresh` does, without the call
            self._stale.add(slot)
            if self.pending[slot] == 0 or not self.by_index:
                self.waiting.discard(slot)

    def learned_all(self, slots: Ints, rewards: Floats) -> None:
        """Count rewards without a decision, as `learned` does one after the other."""
        numbers = np.bincount(slots)
        for slot in np.flatnonzero(numbers).tolist():
            self.rewards[slot] += int(numbers[slot])
            self.refresh(slot)
        sums = np.add.accumulate(np.concatenate([[self.total], np.clip(rewards, self._least, self._most)]))
        self.total, self.number = float(sums[-1]), self.number + rewards.size

    def add_slot(self) -> None:
        """Count for one more arm."""
        self.pending.append(0)
        self.rewards.append(0)
        self._counted = Counts(*(np.append(each, 0) for each in self._counted))

    def forget(self, slot: int) -> None:
        """Count from zero for the next arm in a slot."""
        self.pending[slot], self.rewards[slot] = 0, 0
        self.refresh(slot)

    def candidates(self, arms: Ints) -> Candidates:
        """Return the arms that the policy is asked about, and those that wait."""
        if not self.waiting or self._list_asked is None:
            return Candidates(arms, arms[:0])
        listed = np.empty_like(arms)
        n = self._list_asked(self._known, arms, self.new_first, listed)
        return Candidates(arms, arms[:0]) if n == arms.size else Candidates(listed[:n], listed[n:])

    def _candidates_of_many(self, learner: Learner, among: AllBut) -> Candidates | None:
        """Return the same of many arms, if the learner can do with what stands for them: only those that wait are looked at."""
        if among.every.size < MANY + _FEW * len(self.waiting) or not (self.by_index and self.new_first):
            return None
        waiting = among.kept(np.fromiter(self.waiting, np.int64, len(self.waiting)))
        asked = learner.hide(among.every, among.hidden.union(waiting.tolist()))
        return None if asked is None else Candidates(asked, waiting)

    def find_candidates(self, learner: Learner, among: Ints | AllBut) -> Candidates:
        """Return what `candidates` does, in the quickest way."""
        found = self._candidates_of_many(learner, among if isinstance(among, AllBut) else AllBut(among, NOTHING))
        return self.candidates(listed_slots(among)) if found is None else found

    def choose(self, learner: Learner, t: int, key: int, among: Ints | AllBut) -> Choice:
        """Choose one of the arms `among` in round t."""
        return self.choose_from(self.find_candidates(learner, among), learner, t, key, among)

    def choose_from(self, candidates: Candidates, learner: Learner, t: int, key: int, among: Ints | HasSlots) -> Choice:
        """Choose one of the arms `among` in round t, given which of them the policy is asked about."""
        asked, waiting = candidates
        chosen = learner.choose(t, key, asked) if asked.size else -1
        if waiting.size == 0 or (chosen >= 0 and (not self.by_index or is_new(self._known, chosen))):
            return Choice(chosen, None, asked)
        arms = listed_slots(among)
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
