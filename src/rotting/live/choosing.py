"""What chooses an arm: a policy's state, the rewards that came early, and the decisions under way."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.live.arms import Complement, to_slots
from rotting.live.explanations import ArmExplanation
from rotting.live.learner import UNKNOWN, Learner
from rotting.live.ledger import EarlyRewards
from rotting.live.pages import Page
from rotting.live.pending_decisions import Candidates, PendingDecisions

# Calls `tuple.__new__` directly: half the time of calling the class.
_explanation: Callable[[type[ArmExplanation], tuple[object, ...]], ArmExplanation] = tuple.__new__


class Chosen(NamedTuple):
    """An arm that was chosen."""

    slot: int
    propensity: float | None  # None if it was not asked for, and the policy does not need it
    reason: ArmExplanation | None


class Chooser:
    """Chooses arms for a bandit; it knows slots and rounds, and no ids.

    Args:
        learner: the policy's state with all rewards whose turn has come.
        pending: counts of the decisions without a reward.
        early: the rewards that wait for those of older decisions.
    """

    def __init__(self, learner: Learner, pending: PendingDecisions, early: EarlyRewards) -> None:
        self.learner, self.pending, self.early = learner, pending, early
        self._propensity = None if learner.policy.randomised else 1.0
        self._with_early: Learner | None = None  # the learner after the early rewards, as of these versions of the two:
        self._versions = (0, 0)

    def copy(self) -> "Chooser":
        """Return an independent copy."""
        return Chooser(self.learner.copy(), self.pending.copy(), self.early.copy())

    def trial(self) -> Learner:
        """Return a copy of what decides: the learner after the early rewards."""
        learner = self.learner.copy()
        if self.early.number:
            learner.learn_all(*self.early.to_learn())
        return learner

    def _current(self) -> Learner:
        """Return the learner that decides, cached until the next reward if choosing does not change it."""
        if not self.early.number:
            self._with_early = None
            return self.learner
        versions = (self.learner.version, self.early.version)
        if self._with_early is None or self._versions != versions or not self.learner.leaves_no_trace:
            self._with_early, self._versions = self.trial(), versions
        return self._with_early

    def choose(self, t: int, key: int, among: Ints | Complement | Page, wanted: bool) -> Chosen:
        """Choose one of the slots `among` in round t; `wanted`: with its propensity and the reason."""
        pending = self.pending
        learner = self._current() if self.early.number else self.learner
        hides = learner is self.learner or learner.leaves_no_trace
        if not pending.waiting and type(among) is not Page and (self._propensity is not None or learner.weighs or not wanted):
            return self._choose_alone(learner, t, key, among, wanted, hides)
        if not hides:
            among = to_slots(among) if type(among) is not Page else among.slots
        candidates = among.candidates(learner) if type(among) is Page else pending.find_candidates(learner, among)
        propensity, drawn = self._propensity, None
        if propensity is None and wanted and not learner.weighs:
            drawn = learner.to_ask().probabilities(t, candidates.asked) if candidates.asked.size else None
        slot, joined, asked = pending.choose_from(candidates, learner, t, key, among)
        reason = None
        if wanted:
            index, mean, window, width = UNKNOWN if asked is None else learner.explain(t, asked, slot)
            # Where nothing is compiled, a policy explains with numbers of NumPy.
            reason = self._reason(slot, float(index if joined is None else joined), float(mean), int(window), float(width))
        self._leave_trace(learner, t, key, asked)
        if propensity is None:
            propensity = self._drawn_with(learner, slot, wanted, candidates, drawn)
        return Chosen(slot, propensity, reason)

    def _choose_alone(self, learner: Learner, t: int, key: int, among: Ints | Complement, wanted: bool, hides: bool) -> Chosen:
        """Choose where no arm waits: the policy alone decides."""
        if type(among) is Complement:
            hidden = learner.hide(among.every, among.hidden) if hides else None
            asked = among.slots if hidden is None else hidden
        else:
            asked = among
        reason = None
        if wanted:
            slot, index, mean, window, width = learner.choose_and_explain(t, key, asked)
            reason = self._reason(slot, index, mean, window, width)
        else:
            slot = learner.choose(t, key, asked)
        self._leave_trace(learner, t, key, asked)
        propensity = self._propensity
        if propensity is None and learner.weighs:
            propensity = float(learner.state.propensity[slot])
        return Chosen(slot, propensity, reason)

    def _leave_trace(self, learner: Learner, t: int, key: int, asked: Ints | None) -> None:
        """Repeat a choice that a copy made, if choosing changes the policy's state."""
        if learner is not self.learner and asked is not None and not learner.leaves_no_trace:
            self.learner.choose(t, key, asked)

    def _reason(self, slot: int, index: float, mean: float, window: int, width: float) -> ArmExplanation:
        pending = self.pending
        return _explanation(ArmExplanation, (index, mean, window, width, pending.rewards[slot], pending.pending[slot]))

    def _drawn_with(
        self, learner: Learner, slot: int, wanted: bool, candidates: Candidates, drawn: Floats | None
    ) -> float | None:
        """Return the probability of a choice that was drawn; 1 if the policy was not asked, since all arms wait."""
        if learner.weighs:
            return float(learner.state.propensity[slot])
        if not wanted:
            return None
        return 1.0 if drawn is None else float(drawn[np.searchsorted(candidates.asked, slot)])
