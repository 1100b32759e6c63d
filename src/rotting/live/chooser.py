"""Chooses arms, and settles pending decisions: with the policy's state and the counts of pending decisions."""

from collections.abc import Callable

import numpy as np

from rotting.common.arrays import Ints
from rotting.live.arms import Complement
from rotting.live.explanations import ArmExplanation
from rotting.live.learner import UNKNOWN, Learner
from rotting.live.learner_functions import SlotAndReason
from rotting.live.ledger import Entry
from rotting.live.pages import Page
from rotting.live.pending_decisions import PendingDecisions

ChosenArm = tuple[int, float | None, ArmExplanation | None]
"""The slot of an arm that was chosen, its propensity (None if neither the caller nor the policy needs it), and the reason."""

# Calls `tuple.__new__` directly: half the time of calling the class.
_explanation: Callable[[type[ArmExplanation], tuple[object, ...]], ArmExplanation] = tuple.__new__


class Chooser:
    """Chooses arms for a bandit, and settles its pending decisions. It knows slots and rounds, but no ids.

    Args:
        learner: the policy with the rewards that it has learned.
        pending: the counts of pending decisions.
    """

    __slots__ = ("_draws", "_propensity", "learner", "pending")

    def __init__(self, learner: Learner, pending: PendingDecisions) -> None:
        self.learner, self.pending = learner, pending
        self._propensity = None if learner.policy.randomised else 1.0
        # Whether the policy draws without writing the propensity of its choice into its state.
        self._draws = learner.policy.randomised and not learner.uses_propensity

    def copy(self) -> "Chooser":
        """Return an independent copy."""
        return Chooser(self.learner.copy(), self.pending.copy())

    def choose(self, t: int, key: int, among: Ints | Complement | Page, explained: bool) -> ChosenArm:
        """Choose one of the slots `among` in round t; `explained`: with its propensity and the reason."""
        learner = self.learner
        if self.pending.waiting or type(among) is Page or (explained and self._draws):
            return self._choose_with_pending(t, key, among, explained)
        # No arm waits: the policy alone decides. Most decisions end here.
        if type(among) is Complement:
            hidden = learner.hide(among.every, among.hidden)
            offered = among.slots if hidden is None else hidden
        else:
            offered = among
        reason = None
        if explained:
            found = learner.choose_and_explain(t, key, offered)
            slot, reason = found[0], self._reason(found)
        else:
            slot = learner.choose(t, key, offered)
        propensity = self._propensity
        if propensity is None and learner.uses_propensity:
            propensity = float(learner.state.propensity[slot])
        return slot, propensity, reason

    def _choose_with_pending(self, t: int, key: int, among: Ints | Complement | Page, explained: bool) -> ChosenArm:
        """Choose where arms may wait, or where the propensity must be computed before the choice."""
        learner, pending, draws = self.learner, self.pending, self._draws
        # Needed even if the policy is not called: `BanditState.apply` makes room for every decision, and both must leave the
        # same state.
        learner.make_room(t)
        in_one_call = pending.choose_and_explain(learner, t, key, among) if type(among) is not Page else None
        if in_one_call is not None:
            return in_one_call[0], self._propensity, self._reason(in_one_call) if explained else None
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
            reason = self._reason((slot, float(index), float(mean), int(window), float(width)))
        propensity = self._propensity
        if draws and explained:  # 1 if the policy did not draw, since all arms wait
            propensity = 1.0 if drawn is None else float(drawn[np.searchsorted(candidates.offered, slot)])
        elif propensity is None and learner.uses_propensity:
            propensity = float(learner.state.propensity[slot])
        return slot, propensity, reason

    def settle(self, entry: Entry, reward: float | None, rounds: int) -> None:
        """End a pending decision after so many rounds: learn its reward; nothing if that is None."""
        if reward is None:
            self.pending.ended(entry.slot)
        else:
            self.learner.learn(rounds, entry.slot, reward, entry.propensity)
            self.pending.learned(entry.slot, reward, True)

    def _reason(self, found: SlotAndReason) -> ArmExplanation:
        slot, index, mean, window, width = found
        pending = self.pending
        return _explanation(ArmExplanation, (index, mean, window, width, pending.rewards[slot], pending.pending[slot]))
