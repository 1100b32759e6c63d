"""Chooses arms: with the policy's state, the rewards that came early, and the pending decisions."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Ints
from rotting.live.arms import Complement, to_slots
from rotting.live.explanations import ArmExplanation
from rotting.live.learner import UNKNOWN, Learner
from rotting.live.ledger import EarlyRewards
from rotting.live.pages import Page
from rotting.live.pending_decisions import PendingDecisions

# Calls `tuple.__new__` directly: half the time of calling the class.
_explanation: Callable[[type[ArmExplanation], tuple[object, ...]], ArmExplanation] = tuple.__new__


class ChosenArm(NamedTuple):
    """An arm that was chosen."""

    slot: int
    propensity: float | None  # None if the caller does not want it and the policy does not need it
    reason: ArmExplanation | None


class Chooser:
    """Chooses arms for a bandit. It knows slots and rounds, but no ids.

    Args:
        learner: the policy with all rewards whose turn has come.
        pending: the pending decisions.
        early: the rewards that wait for those of older decisions.
    """

    def __init__(self, learner: Learner, pending: PendingDecisions, early: EarlyRewards) -> None:
        self.learner, self.pending, self.early = learner, pending, early
        self._propensity = None if learner.policy.randomised else 1.0
        self._with_early: Learner | None = None  # a copy of the learner that has learned the early rewards
        self._versions = (0, 0)  # of the learner and the early rewards, when the copy was made

    def copy(self) -> "Chooser":
        """Return an independent copy."""
        return Chooser(self.learner.copy(), self.pending.copy(), self.early.copy())

    def trial(self) -> Learner:
        """Return a copy of the learner that has learned the early rewards, too."""
        learner = self.learner.copy()
        if self.early.number:
            learner.learn_all(*self.early.to_learn())
        return learner

    def _learner_with_early(self) -> Learner:
        """Return a copy of the learner with the early rewards; it is kept until the next reward if choices are pure."""
        versions = (self.learner.version, self.early.version)
        if self._with_early is None or self._versions != versions or not self.learner.choice_is_pure:
            self._with_early, self._versions = self.trial(), versions
        return self._with_early

    def choose(self, t: int, key: int, among: Ints | Complement | Page, explained: bool) -> ChosenArm:
        """Choose one of the slots `among` in round t; `explained`: with its propensity and the reason."""
        pending = self.pending
        learner = self._learner_with_early() if self.early.number else self.learner
        can_hide = learner is self.learner or learner.choice_is_pure
        draws = self._propensity is None and not learner.uses_propensity  # without writing the propensity into the state
        if not pending.waiting and type(among) is not Page and not (draws and explained):
            return self._choose_alone(learner, t, key, among, explained, can_hide)
        if not can_hide:
            among = to_slots(among)
        candidates = among.candidates(learner) if type(among) is Page else pending.find_candidates(learner, among)
        drawn = None
        if draws and explained and candidates.offered.size:
            drawn = learner.probabilities_before_choice(t, candidates.offered)
        slot, waiting_index, offered = pending.choose_from(candidates, learner, t, key, among)
        reason = None
        if explained:
            index, mean, window, width = UNKNOWN if offered is None else learner.explain(t, offered, slot)
            index = index if waiting_index is None else waiting_index
            # The conversions are for policies that are not compiled, which explain with numbers of NumPy.
            reason = self._reason(slot, float(index), float(mean), int(window), float(width))
        self._repeat_choice(learner, t, key, offered)
        propensity = self._propensity
        if draws and explained:  # 1 if the policy did not draw, since all arms wait
            propensity = 1.0 if drawn is None else float(drawn[np.searchsorted(candidates.offered, slot)])
        elif propensity is None and learner.uses_propensity:
            propensity = float(learner.state.propensity[slot])
        return ChosenArm(slot, propensity, reason)

    def _choose_alone(
        self, learner: Learner, t: int, key: int, among: Ints | Complement, explained: bool, can_hide: bool
    ) -> ChosenArm:
        """Choose where no arm waits: the policy alone decides."""
        if type(among) is Complement:
            hidden = learner.hide(among.every, among.hidden) if can_hide else None
            offered = among.slots if hidden is None else hidden
        else:
            offered = among
        reason = None
        if explained:
            slot, index, mean, window, width = learner.choose_and_explain(t, key, offered)
            reason = self._reason(slot, index, mean, window, width)
        else:
            slot = learner.choose(t, key, offered)
        self._repeat_choice(learner, t, key, offered)
        propensity = self._propensity
        if propensity is None and learner.uses_propensity:
            propensity = float(learner.state.propensity[slot])
        return ChosenArm(slot, propensity, reason)

    def _repeat_choice(self, learner: Learner, t: int, key: int, offered: Ints | None) -> None:
        """Make a choice of the copy with early rewards in the original, too, if choosing changes the policy's state."""
        if learner is not self.learner and offered is not None and not learner.choice_is_pure:
            self.learner.choose(t, key, offered)

    def _reason(self, slot: int, index: float, mean: float, window: int, width: float) -> ArmExplanation:
        pending = self.pending
        return _explanation(ArmExplanation, (index, mean, window, width, pending.rewards[slot], pending.pending[slot]))
