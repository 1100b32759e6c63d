"""The rule for decisions under way, arm by arm and word by word: what `rotting.live.pending` is compared with."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Ints
from rotting.live.learner import Learner
from rotting.policy import Reason


class Choice(NamedTuple):
    """What is chosen."""

    slot: int
    waiting_index: float | None  # the index with which a waiting arm won
    offered: Ints | None  # the arms that the policy chose from; None if it did not choose


class SlowRule:
    """What is under way, and the rule for it.

    The leader has the highest mean of the arms that compete: those with decisions under way, and the one that the policy chose
    of the others.

    Args:
        pending: decisions of each slot without a reward.
        rewards: rewards of each slot.
        by_index: whether the policy chooses by an index alone.
        new_first: whether the policy itself chooses arms without rewards first.
    """

    def __init__(self, pending: Sequence[int], rewards: Sequence[int], by_index: bool, new_first: bool) -> None:
        self.pending = pending
        self.rewards = rewards
        self.by_index = by_index
        self.new_first = new_first

    def waits(self, slot: int) -> bool:
        return self.pending[slot] > 0 and (self.by_index or self.rewards[slot] == 0)

    def choose(self, learner: Learner, t: int, key: int, arms: Ints) -> Choice:
        asked = np.array([slot for slot in arms.tolist() if not self.waits(slot)], np.int64)
        if asked.size == arms.size:
            return Choice(learner.choose(t, key, arms), None, arms)
        new = [slot for slot in asked.tolist() if self.rewards[slot] == self.pending[slot] == 0]
        if new and not self.new_first:
            asked = np.array(new, np.int64)
        chosen = learner.choose(t, key, asked) if asked.size else -1
        if not self.by_index:
            return Choice(chosen, None, asked) if asked.size else Choice(self._fewest(arms), None, None)
        return Choice(chosen, None, asked) if chosen in new else self._join(learner, t, arms, asked, chosen)

    def _fewest(self, arms: Ints) -> int:
        return min(map(int, arms), key=lambda slot: (self.pending[slot], slot))

    def _join(self, learner: Learner, t: int, arms: Ints, asked: Ints, chosen: int) -> Choice:
        reasons = {slot: learner.explain(t, arms, slot) for slot in arms.tolist()}
        known = {slot: reason for slot, reason in reasons.items() if reason.value < math.inf}
        if chosen >= 0 and chosen not in known:
            return Choice(chosen, None, asked)
        entrants = [slot for slot in known if slot == chosen or self.pending[slot] > 0]
        if not entrants:
            return Choice(self._fewest(arms), None, None)
        leader = min(entrants, key=lambda slot: (-known[slot].mean, slot))
        indices = {}
        for slot in entrants:
            reason, pending = known[slot], self.pending[slot]
            counts = pending > 0 and (slot != leader or self.rewards[slot] < pending)
            narrow = reason.mean + _width(reason) * math.sqrt(reason.window / (reason.window + pending)) if counts else 0.0
            indices[slot] = narrow if counts else reason.value
        best = min(indices, key=lambda slot: (-indices[slot], slot))
        level = _width(known[best]) * math.sqrt(known[best].window)
        mean = float(np.cumsum([reason.mean for reason in known.values()])[-1]) / len(known)
        for slot in arms.tolist():
            if slot not in known and self.pending[slot] > 0:
                indices[slot] = mean + level / math.sqrt(self.pending[slot])
        best = min(indices, key=lambda slot: (-indices[slot], slot))
        return Choice(chosen, None, asked) if best == chosen else Choice(best, indices[best], arms)


def _width(reason: Reason) -> float:
    return reason.width if math.isfinite(reason.width) else 0.0
