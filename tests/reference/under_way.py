"""The rule for decisions under way, arm by arm and word by word: what `rotting.live.young_arms` is compared with."""

import math
from collections.abc import Sequence

import numpy as np

from rotting.common.arrays import Ints
from rotting.live.learner import Learner
from rotting.live.under_way import Choice
from rotting.policy import Reason


class SlowRule:
    """What is under way, and the rule for it.

    Args:
        pending: decisions of each slot without a reward.
        rewards: rewards of each slot.
        total: of all rewards.
        number: of all rewards.
        by_index: whether the policy chooses by an index alone.
        new_first: whether the policy itself chooses arms without rewards first.
    """

    def __init__(
        self, pending: Sequence[int], rewards: Sequence[int], total: float, number: int, by_index: bool, new_first: bool
    ) -> None:
        self.pending, self.rewards, self.total, self.number = pending, rewards, total, number
        self.by_index, self.new_first = by_index, new_first

    def is_young(self, slot: int) -> bool:
        pending, rewards = self.pending[slot], self.rewards[slot]
        return pending > 0 and (rewards < pending if self.by_index else rewards == 0)

    def choose(self, learner: Learner, t: int, key: int, arms: Ints) -> Choice:
        settled = np.array([slot for slot in arms.tolist() if not self.is_young(slot)], np.int64)
        if settled.size == arms.size:
            return Choice(learner.choose(t, key, arms), None, arms)
        new = [slot for slot in settled.tolist() if self.rewards[slot] == self.pending[slot] == 0]
        if new and not self.new_first:
            asked = np.array(new, np.int64)
            return Choice(learner.choose(t, key, asked), None, asked)
        chosen = learner.choose(t, key, settled) if settled.size else -1
        if not self.by_index:
            return Choice(chosen, None, settled) if settled.size else Choice(self._fewest(arms), None, None)
        return self._join(learner, t, arms, settled, chosen)

    def _fewest(self, arms: Ints) -> int:
        return min(map(int, arms), key=lambda slot: (self.pending[slot], slot))

    def _join(self, learner: Learner, t: int, arms: Ints, settled: Ints, chosen: int) -> Choice:
        best, level, changed = -math.inf, 0.0, False
        if chosen >= 0:
            reason = learner.explain(t, settled, chosen)
            best, level = reason.value, _level(reason)
            if best == math.inf:
                return Choice(chosen, None, settled)
        bare = []
        for slot in arms[~np.isin(arms, settled)].tolist():
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
