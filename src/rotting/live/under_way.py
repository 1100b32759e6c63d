"""Decisions under way: how those whose reward has not come yet enter the next choice.

A policy knows rewards. An arm that is chosen often before its first rewards come would be chosen again and again, since nothing
changes meanwhile. So with `pending="young"` an arm is young while it has fewer rewards than decisions under way, and

- the policy chooses among the arms that are not young; an arm that was never chosen is not, so it comes first;
- then the young arms join, with their index as if the decisions under way had paid what the rewards of the window did:
  `mean + width sqrt(h / (h + pending))`, where h is the arm's window;
- a young arm without any reward has the mean of all rewards, plus the width of a window of its decisions under way:
  `level / sqrt(pending)`, where `level = width sqrt(h)` is that of the best of the others;
- the largest index wins, the lowest slot on a tie. If no arm has a reward, the one with the fewest decisions does.

A policy that draws, or has no index, chooses among the arms that have a reward or were never chosen, as long as there are any.
A policy that weighs rewards by propensities learns each when it comes, and needs none of this. Nor does `Uniform`, which says
no reason for its choices.
"""

import math
from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.errors import KernelError
from rotting.live.learner import Learner
from rotting.policy import Policy, Reason


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
        self._young: set[int] = set()
        self._new_first = learner.policy.first_pulls
        p = learner.policy.params
        clips = learner.policy.reward_range is None and hasattr(p, "low") and hasattr(p, "high")
        self._least: float = p.low if clips else -math.inf
        self._most: float = p.high if clips else math.inf
        self._counts = counts and learner.explains and not learner.weighs
        self._by_index = self._counts and has_index(learner.policy, learner)

    @property
    def is_quiet(self) -> bool:
        """Whether the policy chooses as if nothing were under way."""
        return not self._young

    def copy(self) -> "UnderWay":
        """Return one of its own with the same content."""
        twin = UnderWay.__new__(UnderWay)
        vars(twin).update(vars(self))
        twin.pending, twin.rewards, twin._young = self.pending.copy(), self.rewards.copy(), self._young.copy()
        return twin

    def refresh(self, slot: int) -> None:
        """Note whether a slot is young, after its counts have changed."""
        if not self._counts:
            return
        pending, rewards = self.pending[slot], self.rewards[slot]
        if pending > 0 and (rewards < pending if self._by_index else rewards == 0):
            self._young.add(slot)
        else:
            self._young.discard(slot)

    def decided(self, slot: int) -> None:
        """Count a decision."""
        self.pending[slot] += 1
        self.refresh(slot)

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
        if was_decided:
            self.refresh(slot)

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

    def forget(self, slot: int) -> None:
        """Count from zero for the next arm in a slot."""
        self.pending[slot], self.rewards[slot] = 0, 0
        self.refresh(slot)

    def settled(self, arms: Ints) -> Ints:
        """Return the arms that the policy chooses from: those that are not young, and those never chosen before others."""
        if not self._young:
            return arms
        young = np.fromiter(self._young, np.int64, len(self._young))
        settled: Ints = arms[~np.isin(arms, young)]
        if not self._new_first and settled.size < arms.size:
            new = [slot for slot in settled if self.rewards[slot] == self.pending[slot] == 0]
            return np.array(new, np.int64) if new else settled
        return settled

    def choose(self, learner: Learner, t: int, key: int, arms: Ints) -> Choice:
        """Choose one of `arms` in round t."""
        settled = self.settled(arms)
        if settled.size == arms.size:
            return Choice(learner.choose(t, key, arms), None, arms)
        chosen = learner.choose(t, key, settled) if settled.size else -1
        if not self._by_index:
            return Choice(chosen, None, settled) if settled.size else Choice(self._fewest(arms), None, None)
        return self._join(learner, t, arms, settled, chosen)

    def probabilities(self, learner: Learner, t: int, key: int, arms: Ints) -> Floats:
        """Return the probability of each of `arms` in round t; it changes the learner's state."""
        out, settled = np.zeros(arms.size), self.settled(arms)
        drawn = learner.probabilities(t, settled) if settled.size else None
        if drawn is None:
            out[np.searchsorted(arms, self.choose(learner, t, key, arms).slot)] = 1.0
        else:
            out[np.searchsorted(arms, settled)] = drawn
        return out

    def _fewest(self, arms: Ints) -> int:
        return min(map(int, arms), key=lambda slot: (self.pending[slot], slot))

    def _join(self, learner: Learner, t: int, arms: Ints, settled: Ints, chosen: int) -> Choice:
        """Let the young arms join the one that the policy chose, or -1."""
        best, level, changed = -math.inf, 0.0, False
        if chosen >= 0:
            reason = learner.explain(t, settled, chosen)
            best, level = reason.value, _level(reason)
            if best == math.inf:
                return Choice(chosen, None, settled)
        bare = []
        for slot in map(int, arms[~np.isin(arms, settled)]):
            reason = learner.explain(t, arms, slot)
            if not reason.value < math.inf:  # no reward, or none that the policy still knows
                bare.append(slot)
                continue
            index = reason.mean + _width(reason) * math.sqrt(reason.window / (reason.window + self.pending[slot]))
            if chosen < 0 or index > best or (index == best and slot < chosen):
                chosen, best, changed = slot, index, True
                level = _level(reason) if settled.size == 0 else level
        if chosen < 0:
            return Choice(self._fewest(arms), None, None)
        for slot in bare:
            index = self.total / self.number + level / math.sqrt(self.pending[slot])
            if index > best or (index == best and slot < chosen):
                chosen, best, changed = slot, index, True
        return Choice(chosen, best if changed else None, arms if changed else settled)


def _width(reason: Reason) -> float:
    return reason.width if math.isfinite(reason.width) else 0.0


def _level(reason: Reason) -> float:
    return _width(reason) * math.sqrt(reason.window)
