"""The functions of a policy as a learner calls them: interpreted until their machine code is ready."""

from collections.abc import Callable
from functools import partial

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.engines.entry_points import EntryPoint
from rotting.engines.game import full_parts, is_full, set_propensity, write_propensity
from rotting.engines.tiers import CompileMode, Functions
from rotting.kernels.binding import Bindings, KernelFunction, bind
from rotting.kernels.nested_state import new_state
from rotting.kernels.policy_slots import choose, explain, update
from rotting.kernels.readable_errors import is_library_code
from rotting.policy import Params, Policy, Reason

SlotAndReason = tuple[int, float, float, int, float]
"""A slot, and its index, mean, window and width: compiled code makes a plain tuple in a tenth of the time of a `Reason`."""


def choose_and_explain(p: Params, s: object, t: int, key: int, arms: Ints) -> SlotAndReason:
    """Choose an arm and explain it in one call: passing the state to compiled code takes as long as a choice."""
    arm = choose(p, s, t, key, arms)
    reason = explain(p, s, t, arms, arm)
    return int(arm), float(reason.value), float(reason.mean), int(reason.window), float(reason.width)


def learn(p: Params, s: object, t: int, arm: int, reward: float) -> bool:
    """Learn a reward; return True if the state has no room for it, in which case nothing is learned."""
    update(p, s, t, arm, reward)
    return is_full(s)


def learn_all(p: Params, s: object, first: int, rounds: Ints, slots: Ints, rewards: Floats, propensities: Floats) -> int:
    """Learn the rewards from position `first` on; return the position of the first one without room, or their number.

    If `propensities` is empty, those in the state are used.
    """
    for k in range(first, slots.size):
        if propensities.size > 0:
            set_propensity(s, slots[k], propensities[k])
        update(p, s, rounds[k], slots[k], rewards[k])
        if is_full(s):
            return k
    return slots.size


class LearnerFunctions(Functions):
    """The functions of a policy: each is compiled when it is first called, and `learn` at once."""

    choose: Callable[..., int]
    choose_and_explain: Callable[..., SlotAndReason] | None
    learn: Callable[..., bool]
    learn_all: Callable[..., int]
    explain: Callable[..., Reason] | None
    propensities: Callable[..., None] | None
    admit: Callable[..., None] | None
    readmit: Callable[..., None] | None

    def __init__(self, policy: Policy, mode: CompileMode) -> None:
        super().__init__(partial(_entries, policy), mode, at_once=("learn",))
        propensities = policy.kernel.propensities
        self.are_trusted = is_trusted(policy)
        """Whether choices and reasons need no checks."""
        self.propensities_are_trusted = propensities is None or is_library_code(propensities)


def is_trusted(policy: Policy) -> bool:
    """Return whether a policy is part of the library, so that its return values need no checks."""
    kernel = policy.kernel
    return is_library_code(kernel.choose) and (kernel.explain is None or is_library_code(kernel.explain))


def _entries(policy: Policy) -> dict[str, EntryPoint | None]:
    """Return the functions that a learner calls, by their names in `LearnerFunctions`."""
    kernel, arms, numbers = policy.kernel, np.zeros(1, np.int64), np.zeros(1)
    state = new_state(policy, 1, 1)  # of the types of every state of the policy

    def entry(function: KernelFunction | None, *rest: object, allocates: bool = False) -> EntryPoint | None:
        return None if function is None else EntryPoint(function, policy, (policy.params, state, *rest), allocates)

    both = None  # the functions of a user's policy are called one by one, with checks after each
    if kernel.explain is not None and is_trusted(policy):
        both = bind(choose_and_explain, {choose: kernel.choose, explain: kernel.explain})
    parts: Bindings = {update: kernel.update, **full_parts(kernel)}
    divides = {set_propensity: write_propensity} if "propensity" in state._fields else {}
    return {
        "choose": entry(kernel.choose, 1, 1, arms),
        "choose_and_explain": entry(both, 1, 1, arms),
        "learn": entry(bind(learn, parts), 1, 0, 0.0),
        "learn_all": entry(bind(learn_all, {**parts, **divides}), 0, arms, arms, numbers, numbers),
        "explain": entry(kernel.explain, 1, arms, 0, allocates=both is None),  # else as in `choose_and_explain`
        "propensities": entry(kernel.propensities, 1, arms, numbers, allocates=True),
        "admit": entry(kernel.admit, arms),
        "readmit": entry(kernel.readmit, arms, arms),
    }
