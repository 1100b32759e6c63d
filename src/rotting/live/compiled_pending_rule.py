"""The functions of `rotting.live.pending_rule` as Python calls them: interpreted until their machine code is ready."""

from collections.abc import Callable
from functools import cache, partial
from typing import TypeVar

import numpy as np

from rotting.engines.entry_points import EntryPoint
from rotting.engines.tiers import CompileMode, Entries, Functions
from rotting.kernels.binding import bind
from rotting.kernels.nested_state import new_state
from rotting.kernels.policy_slots import choose, explain
from rotting.live import pending_rule
from rotting.live.learner import Learner
from rotting.live.learner_functions import SlotAndReason, is_trusted
from rotting.live.pending_rule import Counts
from rotting.live.shared_functions import shared
from rotting.policy import Policy

T = TypeVar("T")

# Examples of arguments, for their types.
_ARMS = np.zeros(1, np.int64)
_COUNTS = Counts(_ARMS, _ARMS)


class ForAllPolicies(Functions):
    """The functions that are the same for all policies."""

    split_waiting: Callable[..., int]
    fewest_pending: Callable[..., int]


class Compete(Functions):
    """`compete` for a policy that has an index."""

    compete: Callable[..., tuple[int, float]]

    def __init__(self, policy: Policy, mode: CompileMode) -> None:
        super().__init__(partial(_compete_entries, policy), mode)


class ChooseAndCompete(Functions):
    """`choose_and_compete` for a policy that has an index."""

    choose_and_compete: Callable[..., SlotAndReason]

    def __init__(self, policy: Policy, mode: CompileMode) -> None:
        super().__init__(partial(_choose_and_compete_entries, policy), mode)


def _entries_for_all() -> Entries:
    return {
        "split_waiting": EntryPoint(pending_rule.split_waiting, None, (_COUNTS, _ARMS, True, True, _ARMS)),
        "fewest_pending": EntryPoint(pending_rule.fewest_pending, None, (_COUNTS, _ARMS)),
    }


def _compete_entries(policy: Policy) -> Entries:
    bound = bind(pending_rule.compete, {explain: policy.kernel.explain})
    state = new_state(policy, 1, 1)  # of the types of every state of the policy
    arguments = (policy.params, state, 1, _ARMS, _COUNTS, 0, _ARMS)
    return {"compete": EntryPoint(bound, policy, arguments, not is_trusted(policy))}


def _choose_and_compete_entries(policy: Policy) -> Entries:
    bound = bind(pending_rule.choose_and_compete, {choose: policy.kernel.choose, explain: policy.kernel.explain})
    state = new_state(policy, 1, 1)  # of the types of every state of the policy
    return {"choose_and_compete": EntryPoint(bound, policy, (policy.params, state, 1, 1, _ARMS, _COUNTS, True, _ARMS))}


@cache
def functions_for_all(mode: CompileMode) -> ForAllPolicies:
    """Return the functions that are the same for all policies."""
    return ForAllPolicies(_entries_for_all, mode)


def functions_for(learner: Learner, kind: Callable[[Policy, CompileMode], T]) -> T:
    """Return functions of a kind, `Compete` or `ChooseAndCompete`, for the policy of a learner."""
    return shared(learner.policy, learner.state, learner.compile, kind)
