"""The rule for pending decisions: how decisions that have no reward yet change the next choice.

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
regret that this rule saves.
"""

import copy
import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Self

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.live.learner import UNKNOWN, Learner, is_trusted
from rotting.live.ledger import Entry
from rotting.live.policy_state import shared
from rotting.live.values import ArmExplanation
from rotting.policies.kernels.binding import bind
from rotting.policies.kernels.policy_functions import explain, new_state
from rotting.policy import Params, Policy, Reason
from rotting.simulation.engines.tiers import CompileMode, Entries, EntryPoint, Functions


class Counts(NamedTuple):
    """The counts of each slot."""

    pending: Ints  # [K] decisions without a reward
    rewards: Ints  # [K]


# --- The compiled part of the rule --------------------------------------------------------------------------------------------


def is_new(counts: Counts, i: int) -> bool:
    """Return whether an arm was never chosen."""
    return bool(counts.pending[i] == 0 and counts.rewards[i] == 0)


def _width(reason: Reason) -> float:
    return reason.width if abs(reason.width) < math.inf else 0.0


def shrinks_width(leads: bool, pending: int, rewards: int) -> bool:
    """Return whether the pending decisions of an arm shrink its width."""
    return not leads or rewards < pending


def pending_index(reason: Reason, pending: int) -> float:
    """Return the index of an arm as if its pending decisions had paid what its window paid."""
    return reason.mean + _width(reason) * math.sqrt(reason.window / (reason.window + pending))


def _mean_of_means(p: Params, s: object, t: int, arms: Ints) -> float:
    """Return the mean of the means of the arms that have rewards."""
    total, number = 0.0, 0
    for i in arms:
        reason = explain(p, s, t, arms, i)
        if reason.value < math.inf:
            total += reason.mean
            number += 1
    return total / number if number > 0 else math.nan


def _wins(i: int, value: float, best: int, largest: float) -> bool:
    """Return whether arm i has a larger value than the best arm so far, or the same and a lower slot."""
    return best < 0 or value > largest or (value == largest and i < best)


def compete(p: Params, s: object, t: int, arms: Ints, counts: Counts, chosen: int, waiting: Ints) -> tuple[int, float]:
    """Let the waiting arms compete with the arm that the policy chose.

    Returns the arm that wins, or -1 if no arm has a reward, and its index, which only counts if a waiting arm wins. `chosen` is
    -1 if all of the available arms wait. `waiting` is overwritten.
    """
    leader, highest = -1, -math.inf
    for k in range(-1 if chosen >= 0 else 0, waiting.size):
        i = chosen if k < 0 else int(waiting[k])
        reason = explain(p, s, t, arms, i)
        if reason.value < math.inf:
            if reason.mean > highest or (reason.mean == highest and i < leader):
                leader, highest = i, reason.mean
        elif i == chosen:  # the policy chose an arm without a reward, which goes first
            return chosen, math.nan
    best, largest, level, n_unknown = -1, -math.inf, 0.0, 0
    for k in range(-1 if chosen >= 0 else 0, waiting.size):
        i = chosen if k < 0 else int(waiting[k])
        reason = explain(p, s, t, arms, i)
        if reason.value < math.inf:
            value, pending = reason.value, counts.pending[i]
            if pending > 0 and shrinks_width(i == leader, pending, counts.rewards[i]):
                value = pending_index(reason, pending)
            if _wins(i, value, best, largest):
                best, largest, level = i, value, _width(reason) * math.sqrt(reason.window)
        else:  # the arm has no reward, or none that the policy still remembers
            waiting[n_unknown] = i
            n_unknown += 1
    if n_unknown > 0 and best >= 0:
        mean = _mean_of_means(p, s, t, arms)
        for k in range(n_unknown):
            i = int(waiting[k])
            value = mean + level / math.sqrt(counts.pending[i])
            if _wins(i, value, best, largest):
                best, largest = i, value
    return best, largest


class _RuleFunctions(Functions):
    """`compete` for a policy that has an index, interpreted until its machine code is ready."""

    compete: Callable[..., tuple[int, float]]

    def __init__(self, policy: Policy, mode: CompileMode) -> None:
        super().__init__(partial(_entries, policy), mode)


def _entries(policy: Policy) -> Entries:
    arms, state = np.zeros(1, np.int64), new_state(policy, 1, 1)  # examples, for the types of the arguments
    arguments = (policy.params, state, 1, arms, Counts(arms, arms), 0, arms)
    return {"compete": EntryPoint(bind(compete, {explain: policy.kernel.explain}), policy, arguments, not is_trusted(policy))}


# --- The choices of a bandit --------------------------------------------------------------------------------------------------


Choice = tuple[int, float | None, Ints | None]
"""A slot that was chosen, the index with which it won if it waits, and the arms it was compared with; None if with none."""

ChosenArm = tuple[int, float | None, ArmExplanation | None]
"""The slot of an arm that was chosen, its propensity (None if neither the caller nor the policy needs it), and the reason."""


class Chooser:
    """Chooses arms for a bandit, and settles its pending decisions. It knows slots and rounds, but no ids.

    Args:
        learner: the policy with the rewards that it has learned.
        shrink: whether pending decisions change the choices of the policy, by the rule of this module.
    """

    def __init__(self, learner: Learner, shrink: bool) -> None:
        policy = learner.policy
        self.learner = learner
        self.counts = Counts(np.zeros(learner.n_slots, np.int64), np.zeros(learner.n_slots, np.int64))
        self.n_pending = 0
        """The number of decisions without a reward."""
        self.reward_sum, self.n_rewards = 0.0, 0
        """The sum and the number of the rewards of all slots."""
        learns_in_order = (learner.explains or policy.first_pulls) and not learner.uses_propensity  # `Uniform` learns nothing
        self._applies_rule = shrink and learns_in_order
        self._by_index = self._applies_rule and policy.has_index
        self._functions: _RuleFunctions | None = None  # made when they are first needed
        # Whether the policy draws without writing the propensity of its choice into its state.
        self._draws = policy.randomised and not learner.uses_propensity
        p = policy.params
        clips = policy.reward_range is None and hasattr(p, "low") and hasattr(p, "high")
        self._range: tuple[float, float] | None = (p.low, p.high) if clips else None  # in which the policy learns rewards

    def copy(self) -> Self:
        """Return an independent copy."""
        twin = copy.copy(self)
        twin.learner, twin.counts = self.learner.copy(), Counts(*(each.copy() for each in self.counts))
        return twin

    # --- Compiled functions ---------------------------------------------------------------------------------------------------

    def _rule_functions(self) -> _RuleFunctions:
        if self._functions is None:
            self._functions = shared(self.learner.policy, self.learner.state, self.learner.compile, _RuleFunctions)
        return self._functions

    @property
    def is_compiled(self) -> bool:
        """Whether the functions of the policy and of the rule that were called are machine code."""
        return self.learner.is_compiled and (self._functions is None or self._functions.is_compiled)

    def warm_up(self) -> None:
        """Load the machine code of the policy and of the rule, as `Functions.warm_up` describes."""
        self.learner.warm_up()
        if self._by_index:
            self._rule_functions().warm_up()

    # --- Choices --------------------------------------------------------------------------------------------------------------

    def candidates(self, arms: Ints) -> tuple[Ints, Ints]:
        """Return the arms that the policy chooses from, and the waiting ones.

        An arm waits if it has pending decisions, and competes by its index or has no reward. The policy chooses from the arms
        that do not wait. If some arms are new and some wait, it chooses from the new arms only, unless it chooses new arms
        first by itself.
        """
        if not (self._applies_rule and self.n_pending):
            return arms, arms[:0]
        waits = self.counts.pending[arms] > 0
        if not self._by_index:
            waits &= self.counts.rewards[arms] == 0
        offered, waiting = arms[~waits], arms[waits]
        if waiting.size and not self.learner.policy.first_pulls:
            new = offered[(self.counts.pending[offered] == 0) & (self.counts.rewards[offered] == 0)]
            offered = new if new.size else offered
        return offered, waiting

    def choice(self, t: int, key: int, arms: Ints, offered: Ints, waiting: Ints) -> Choice:
        """Choose one of `arms` in round t, given the candidates among them."""
        chosen = self.learner.choose(t, key, offered) if offered.size else -1
        if chosen >= 0 and (waiting.size == 0 or not self._by_index or is_new(self.counts, chosen)):
            return chosen, None, offered
        slot, value = -1, math.nan
        if self._by_index:
            # `compete` overwrites the waiting arms.
            arguments = t, arms, self.counts, chosen, waiting.copy()
            slot, value = self.learner.call(self._rule_functions().compete, *arguments)
        if slot < 0:  # no arm has a reward: the one with the fewest pending decisions, the lowest slot on a tie
            return int(arms[np.argmin(self.counts.pending[arms])]), None, None
        return (chosen, None, offered) if slot == chosen else (int(slot), float(value), arms)

    def choose(self, t: int, key: int, arms: Ints, explained: bool) -> ChosenArm:
        """Choose one of `arms` in round t; `explained`: with its propensity and the reason."""
        learner, propensity, drawn = self.learner, None, None
        offered, waiting = self.candidates(arms)
        if not offered.size:  # the policy is not called, but `BanditState.apply` calls it: both must leave the same state
            learner.make_room(t)
        if explained and self._draws and offered.size:
            drawn = learner.probabilities_before_choice(t, offered)
        slot, waiting_index, chosen_from = self.choice(t, key, arms, offered, waiting)
        if learner.uses_propensity:
            propensity = float(learner.state.propensity[slot])
        elif not self._draws:
            propensity = 1.0
        elif explained:  # 1 if the policy did not draw, since all arms wait
            propensity = 1.0 if drawn is None else float(drawn[np.searchsorted(offered, slot)])
        if not explained:
            return slot, propensity, None
        reason = UNKNOWN if chosen_from is None else learner.explain(t, chosen_from, slot)
        if waiting_index is not None:
            reason = reason._replace(value=waiting_index)
        return slot, propensity, self.explanation(slot, reason)

    def explanation(self, slot: int, reason: Reason) -> ArmExplanation:
        """Return the reason for an arm, with its counts."""
        return ArmExplanation(*reason, self.counts.rewards.item(slot), self.counts.pending.item(slot))

    def probabilities(self, t: int, key: int, arms: Ints) -> Floats:
        """Return the probability of each of `arms` in round t. This changes the state of the policy."""
        out, (offered, waiting) = np.zeros(arms.size), self.candidates(arms)
        drawn = self.learner.probabilities(t, offered) if offered.size else None
        if drawn is None:
            out[np.searchsorted(arms, self.choice(t, key, arms, offered, waiting)[0])] = 1.0
        else:
            out[np.searchsorted(arms, offered)] = drawn
        return out

    # --- Counts ---------------------------------------------------------------------------------------------------------------

    def decided(self, slot: int) -> None:
        """Count a decision."""
        self.counts.pending[slot] += 1
        self.n_pending += 1

    def settle(self, entry: Entry, reward: float | None, rounds: int) -> None:
        """End a pending decision after so many rounds: learn its reward; nothing if that is None."""
        if reward is not None:
            self.learn(rounds, entry.slot, reward, entry.propensity)
        self.counts.pending[entry.slot] -= 1
        self.n_pending -= 1

    def learn(self, t: int, slot: int, reward: float, propensity: float | None = None) -> None:
        """Learn a reward in round t, and count it."""
        self.learner.learn(t, slot, reward, propensity)
        self.counts.rewards[slot] += 1
        self.reward_sum += reward if self._range is None else min(max(reward, self._range[0]), self._range[1])
        self.n_rewards += 1

    def learn_many(self, first: int, slots: Ints, rewards: Floats, propensities: Floats | None) -> None:
        """Learn the rewards of round `first` and the next ones, as `learn` would one after the other."""
        self.learner.learn_rounds(first, slots, rewards, propensities)
        self.counts.rewards[:] += np.bincount(slots, minlength=self.counts.rewards.size)
        clipped = rewards if self._range is None else np.clip(rewards, *self._range)
        sums = np.add.accumulate(np.concatenate([[self.reward_sum], clipped]))
        self.reward_sum, self.n_rewards = float(sums[-1]), self.n_rewards + rewards.size

    def add_slot(self) -> None:
        """Make room for one more arm."""
        self.learner.add_slot()
        self.counts = Counts(*(np.append(each, 0) for each in self.counts))

    def forget(self, slot: int) -> None:
        """Forget what was learned about an arm, and its pending decisions."""
        self.learner.forget(slot)
        self.n_pending -= self.counts.pending.item(slot)
        self.counts.pending[slot] = self.counts.rewards[slot] = 0
