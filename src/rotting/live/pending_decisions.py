"""Pending decisions: their counts, and choices that take them into account by `rotting.live.pending_rule`."""

import math
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.engines.tiers import Functions, resolve_mode
from rotting.errors import KernelError
from rotting.live.arms import Complement, HasSlots, to_complement, to_slots
from rotting.live.compiled_pending_rule import ChooseAndCompete, Compete, functions_for, functions_for_all
from rotting.live.learner import Learner
from rotting.live.learner_functions import SlotAndReason
from rotting.live.pending_rule import is_new
from rotting.live.slot_counts import SlotCounts
from rotting.parts.tournament import MANY

# With this many times as many arms as waiting ones, hiding the waiting arms is faster than listing the others.
_ARMS_PER_WAITING = 30


class Candidates(NamedTuple):
    """The arms of a choice."""

    offered: Ints  # the arms that the policy chooses from, or an array that stands for them (`Learner.hide`)
    waiting: Ints  # the arms with pending decisions, which compete with its choice


class Choice(NamedTuple):
    """A slot that was chosen."""

    slot: int
    waiting_index: float | None  # the index with which a waiting arm won
    offered: Ints | None  # the arms that the policy chose from; None if it did not choose


class PendingDecisions(SlotCounts):
    """The counts of each slot; if `shrink`, they change the next choice by the rule for pending decisions."""

    def __init__(self, learner: Learner, shrink: bool) -> None:
        policy = learner.policy
        has_rule = shrink and learner.explains and not learner.uses_propensity
        super().__init__(policy, learner.n_slots, has_rule, has_rule and policy.has_index)
        self.new_first = policy.first_pulls
        """Whether the policy itself chooses new arms first."""
        self._for_all = functions_for_all(resolve_mode(learner.compile)) if has_rule else None
        # A policy of the library chooses among few arms in one call; the return values of others are checked in between.
        self._compete: Compete | None = None
        self._choose_and_compete: ChooseAndCompete | None = None
        if self.by_index and learner.is_trusted and not policy.randomised:
            self._choose_and_compete = functions_for(learner, ChooseAndCompete)
        elif self.by_index:
            with suppress(KernelError):  # reported when the policy chooses
                self._compete = functions_for(learner, Compete)

    @property
    def _functions(self) -> list[Functions]:
        return [each for each in (self._for_all, self._compete, self._choose_and_compete) if each is not None]

    @property
    def is_compiled(self) -> bool:
        """Whether the functions of the rule that were called are machine code."""
        return all(each.is_compiled for each in self._functions)

    def warm_up(self, learner: Learner) -> None:
        """Load the machine code of the rule, as `Functions.warm_up` describes."""
        if self.by_index and self._compete is None:
            self._compete = functions_for(learner, Compete)
        for each in self._functions:
            each.warm_up()

    def candidates(self, arms: Ints) -> Candidates:
        """Return the arms that the policy chooses from, and the waiting ones."""
        if not self.waiting or self._for_all is None:
            return Candidates(arms, arms[:0])
        listed = np.empty_like(arms)
        n = self._for_all.split_waiting(self.counts, arms, self.by_index, self.new_first, listed)
        return Candidates(arms, arms[:0]) if n == arms.size else Candidates(listed[:n], listed[n:])

    def find_candidates(self, learner: Learner, among: Ints | Complement) -> Candidates:
        """Return what `candidates` returns; of many arms, without listing them if the learner can hide the waiting ones."""
        available = to_complement(among)
        if available.every.size >= MANY + _ARMS_PER_WAITING * len(self.waiting) and self.by_index and self.new_first:
            waiting = available.kept(np.fromiter(self.waiting, np.int64, len(self.waiting)))
            offered = learner.hide(available.every, available.hidden.union(waiting.tolist()))
            if offered is not None:
                return Candidates(offered, waiting)
        return self.candidates(available.slots)

    def choose(self, learner: Learner, t: int, key: int, among: Ints | Complement) -> Choice:
        """Choose one of the arms `among` in round t."""
        return self.choose_from(self.find_candidates(learner, among), learner, t, key, among)

    def choose_from(self, candidates: Candidates, learner: Learner, t: int, key: int, among: Ints | HasSlots) -> Choice:
        """Choose one of the arms `among` in round t, given the candidates among them."""
        offered, waiting = candidates
        chosen = learner.choose(t, key, offered) if offered.size else -1
        if waiting.size == 0 or self._for_all is None:
            return Choice(chosen, None, offered)
        if chosen >= 0 and (not self.by_index or is_new(self.counts, chosen)):
            return Choice(chosen, None, offered)
        arms = to_slots(among)
        slot, value = -1, math.nan
        if self.by_index:
            if self._compete is None:
                self._compete = functions_for(learner, Compete)
            slot, value = learner.call(self._compete.compete, t, arms, self.counts, chosen, waiting)
        if slot < 0:  # no arm has a reward
            return Choice(int(self._for_all.fewest_pending(self.counts, arms)), None, None)
        return Choice(chosen, None, offered) if slot == chosen else Choice(int(slot), float(value), arms)

    def choose_and_explain(self, learner: Learner, t: int, key: int, among: Ints | Complement) -> SlotAndReason | None:
        """Choose one of the arms `among` in round t in one call of compiled code; None if that is not possible."""
        if self._choose_and_compete is None or among.size - len(self.waiting) >= MANY:
            return None
        arms = to_slots(among)
        made: SlotAndReason = learner.call(
            self._choose_and_compete.choose_and_compete, t, key, arms, self.counts, self.new_first, np.empty_like(arms)
        )
        return None if made[0] < 0 else made

    def probabilities(self, learner: Learner, t: int, key: int, arms: Ints) -> Floats:
        """Return the probability of each of `arms` in round t. This changes the learner's state."""
        out, offered = np.zeros(arms.size), arms if self.by_index else self.candidates(arms).offered
        drawn = learner.probabilities(t, offered) if offered.size else None
        if drawn is None:
            out[np.searchsorted(arms, self.choose(learner, t, key, arms).slot)] = 1.0
        else:
            out[np.searchsorted(arms, offered)] = drawn
        return out
