"""The pending decisions and the rewards of each slot, and which slots wait."""

import copy
import math
from typing import Self

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.live.pending_rule import Counts
from rotting.policy import Policy


class SlotCounts:
    """Counts the pending decisions and the rewards of each slot.

    Args:
        policy: the policy that learns the rewards.
        n_slots: the number of slots.
        has_rule: whether pending decisions change the choices of the policy (`rotting.live.pending_rule`).
        by_index: whether waiting arms compete by their index.
    """

    def __init__(self, policy: Policy, n_slots: int, has_rule: bool, by_index: bool) -> None:
        self.pending = [0] * n_slots  # decisions of each slot without a reward
        self.rewards = [0] * n_slots
        self.reward_sum, self.n_rewards = 0.0, 0  # of all slots
        self.has_rule, self.by_index = has_rule, by_index
        self.waiting: set[int] = set()
        """Slots that the policy does not choose from; if there are none, the policy chooses alone."""
        # The same counts for compiled code, except for stale slots: as long as the policy chooses alone, nothing reads them.
        self.arrays = Counts(np.zeros(n_slots, np.int64), np.zeros(n_slots, np.int64))
        self.stale: set[int] = set()
        p = policy.params
        clips = policy.reward_range is None and hasattr(p, "low") and hasattr(p, "high")
        self._least: float = p.low if clips else -math.inf
        self._most: float = p.high if clips else math.inf

    @property
    def counts(self) -> Counts:
        """The counts of each slot as arrays, for compiled code."""
        for i in self.stale:
            self.arrays.pending[i], self.arrays.rewards[i] = self.pending[i], self.rewards[i]
        self.stale.clear()
        return self.arrays

    def copy(self) -> Self:
        """Return an independent copy."""
        twin = copy.copy(self)
        twin.pending, twin.rewards, twin.waiting = self.pending.copy(), self.rewards.copy(), self.waiting.copy()
        twin.arrays, twin.stale = Counts(*(each.copy() for each in self.arrays)), self.stale.copy()
        return twin

    def _changed(self, slot: int) -> None:
        """Update what depends on the counts of a slot, after they have changed."""
        if not self.has_rule:
            return
        self.stale.add(slot)
        if self.pending[slot] != 0 and (self.by_index or self.rewards[slot] == 0):  # as `is_waiting` says, without the call
            self.waiting.add(slot)
        else:
            self.waiting.discard(slot)

    def restore(self, slot: int, rewards: int) -> None:
        """Set the number of rewards of a slot, from a saved state."""
        self.rewards[slot] = rewards
        self._changed(slot)

    def decided(self, slot: int) -> None:
        """Count a decision."""
        self.pending[slot] += 1
        if self.has_rule:  # as `_changed` does, without the call: every decision pays for it
            self.stale.add(slot)
            if self.by_index or self.rewards[slot] == 0:
                self.waiting.add(slot)

    def ended(self, slot: int) -> None:
        """Count a decision that ended without a reward."""
        self.pending[slot] -= 1
        self._changed(slot)

    def learned(self, slot: int, reward: float, was_decided: bool) -> None:
        """Count a reward; `was_decided`: it belongs to a decision, which is no longer pending."""
        self.pending[slot] -= was_decided
        self.rewards[slot] += 1
        self.reward_sum += reward if self._least <= reward <= self._most else min(max(reward, self._least), self._most)
        self.n_rewards += 1
        if self.has_rule:  # as `_changed` does
            self.stale.add(slot)
            if not self.by_index or self.pending[slot] == 0:
                self.waiting.discard(slot)

    def learned_all(self, slots: Ints, rewards: Floats) -> None:
        """Count rewards without a decision, as `learned` would one after the other."""
        numbers = np.bincount(slots)
        for i in np.flatnonzero(numbers).tolist():
            self.rewards[i] += int(numbers[i])
            self._changed(i)
        sums = np.add.accumulate(np.concatenate([[self.reward_sum], np.clip(rewards, self._least, self._most)]))
        self.reward_sum, self.n_rewards = float(sums[-1]), self.n_rewards + rewards.size

    def add_slot(self) -> None:
        """Add a slot with counts of zero."""
        self.pending.append(0)
        self.rewards.append(0)
        self.arrays = Counts(*(np.append(each, 0) for each in self.arrays))

    def forget(self, slot: int) -> None:
        """Set the counts of a slot to zero, for the next arm in it."""
        self.pending[slot], self.rewards[slot] = 0, 0
        self._changed(slot)
