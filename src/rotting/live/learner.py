"""A policy with its state: calls its compiled functions to choose and to learn, and makes room as rounds and arms come."""

import copy
import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any, TypeVar

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.errors import InvalidTypeError
from rotting.live import policy_state as states
from rotting.live.policy_state import shared
from rotting.policies.kernels.binding import Bindings, KernelFunction, bind
from rotting.policies.kernels.policy_functions import explain, new_state, update
from rotting.policies.kernels.readable_errors import is_library_code
from rotting.policies.parts.hull import longer, longer_at_once
from rotting.policy import Params, Policy, Reason
from rotting.simulation.engines.game import full_parts, is_full, set_propensity, write_propensity
from rotting.simulation.engines.kernel_errors import check_choice, check_reason
from rotting.simulation.engines.tiers import CompileMode, EntryPoint, Functions

T = TypeVar("T")

FIRST_CAPACITY = 16  # rounds; most of the memory of an idle bandit is the state of its policy
UNKNOWN = Reason(math.nan, math.nan, 0, math.nan)
"""The reason if the policy explains nothing or did not choose."""


# --- The functions of a policy as a learner calls them ------------------------------------------------------------------------


def plain_reason(p: Params, s: object, t: int, arms: Ints, arm: int) -> tuple[float, float, int, float]:
    """Return the reason for an arm as a plain tuple: Python gets it in a tenth of the time of a `Reason`."""
    reason = explain(p, s, t, arms, arm)
    return float(reason.value), float(reason.mean), int(reason.window), float(reason.width)


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
    """The functions of a policy: each is compiled when it is first called, and `learn` at once; interpreted until then."""

    choose: Callable[..., int]
    learn: Callable[..., bool]
    learn_all: Callable[..., int]
    explain: Callable[..., tuple[float, float, int, float]] | None
    propensities: Callable[..., None] | None

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

    parts: Bindings = {update: kernel.update, **full_parts(kernel)}
    # The reason of a user's policy is checked before it is converted.
    has_reason = kernel.explain is not None and is_trusted(policy)
    reason = bind(plain_reason, {explain: kernel.explain}) if has_reason else kernel.explain
    divides = {set_propensity: write_propensity} if "propensity" in state._fields else {}
    return {
        "choose": entry(kernel.choose, 1, 1, arms),
        "learn": entry(bind(learn, parts), 1, 0, 0.0),
        "learn_all": entry(bind(learn_all, {**parts, **divides}), 0, arms, arms, numbers, numbers),
        "explain": entry(reason, 1, arms, 0, allocates=not is_trusted(policy)),
        "propensities": entry(kernel.propensities, 1, arms, numbers, allocates=True),
    }


# --- The learner --------------------------------------------------------------------------------------------------------------


@cache
def _interpreted_enlarge(enlarge: KernelFunction) -> KernelFunction:
    return bind(enlarge, {longer: longer_at_once})


class Learner:
    """A policy with its state."""

    def __init__(
        self,
        policy: Policy,
        n_slots: int,
        capacity: int,
        state: Any,
        updates: int = 0,
        compile: CompileMode = "now",
    ) -> None:
        self.policy, self.n_slots, self.capacity, self.state = policy, n_slots, capacity, state
        self.updates = updates
        """How many rewards the state has recorded. A prior adds rewards without rounds, so there may be more than rounds."""
        self._params = policy.params
        self.compile: CompileMode = compile
        """When the functions are compiled."""
        self._functions = functions = shared(policy, state, compile, LearnerFunctions)
        kernel = policy.kernel
        self.uses_propensity = "propensity" in state._fields
        """Whether the policy divides rewards by the propensity of their decision."""
        self.is_trusted = functions.are_trusted
        """Whether the policy is part of the library, so that its return values need no checks."""
        self._may_be_full = kernel.enlarge is not None
        self._enlarge: KernelFunction | None = None
        if kernel.enlarge is not None and is_library_code(kernel.enlarge):
            self._enlarge = _interpreted_enlarge(kernel.enlarge)
        self._propensities_are_trusted = functions.propensities_are_trusted

    @classmethod
    def new(cls, policy: Policy, n_slots: int, compile: CompileMode = "now") -> "Learner":
        """Return a learner without rewards."""
        capacity = states.first_capacity(policy, n_slots, FIRST_CAPACITY)
        return cls(policy, n_slots, capacity, states.new_state(policy, n_slots, capacity), compile=compile)

    def copy(self) -> "Learner":
        """Return an independent copy."""
        twin = copy.copy(self)
        twin.state = states.copy(self.state)
        return twin

    def make_room(self, t: int, rewards: int = 1) -> None:
        """Make room for the rounds up to t, and for this many more rewards.

        Compiled code does not check its indices, so a policy must never record more rewards than its capacity.
        """
        if (t > self.capacity or self.updates + rewards > self.capacity) and not self._may_be_full:
            self.grow(max(t, self.updates + rewards, 2 * self.capacity))

    def grow(self, capacity: int) -> None:
        """Give the state a larger capacity."""
        self.state = states.grow(self.policy, self.state, self.n_slots, capacity)
        self.capacity = capacity

    def choose(self, t: int, key: int, arms: Ints) -> int:
        """Return the slot that the policy chooses in round t."""
        self.make_room(t)
        slot = self._functions.choose(self._params, self.state, t, key, arms)
        if not self.is_trusted:
            check_choice(self.policy, slot, arms)
        return int(slot)  # interpreted policies may return integers of NumPy

    def call(self, function: Callable[..., T], t: int, *more: object) -> T:
        """Call a compiled function that takes the policy's parameters, its state and the round first."""
        return function(self._params, self.state, t, *more)

    def learn(self, t: int, slot: int, reward: float, propensity: float | None = None) -> None:
        """Learn a reward in round t. If there is no memory for it, nothing is learned."""
        self.make_room(t)
        if propensity is not None and self.uses_propensity:
            self.state.propensity[slot] = propensity
        while self._functions.learn(self._params, self.state, t, slot, reward):
            self._double_room()
        self.updates += 1

    def _double_room(self) -> None:
        self.state.full[0] = 0  # first, since growing may fail for lack of memory; then the reward is not learned
        if self._enlarge is None:
            self.grow(2 * self.capacity)
        else:
            self.state = self._enlarge(self._params, self.state, 2 * self.capacity)
            self.capacity *= 2

    def learn_all(self, rounds: Ints, slots: Ints, rewards: Floats, propensities: Floats | None = None) -> None:
        """Learn many rewards, as `learn` would one after the other."""
        self.make_room(int(rounds.max(initial=0)), slots.size)
        known = np.zeros(0) if propensities is None else propensities
        learn, done = self._functions.learn_all, 0
        while (done := learn(self._params, self.state, done, rounds, slots, rewards, known)) < slots.size:
            self._double_room()
        self.updates += slots.size

    def learn_rounds(self, first: int, slots: Ints, rewards: Floats, propensities: Floats | None = None) -> None:
        """Learn the rewards of round `first` and the next ones, as `learn` would. If there is no memory, none is learned."""
        trial, last = self.copy(), first + slots.size - 1
        while trial.capacity < max(last, self.updates + slots.size) and not self._may_be_full:
            trial.make_room(trial.capacity + 1)  # step by step, so that the state gets the same size as row by row
        trial.learn_all(np.arange(first, last + 1), slots, rewards, propensities)
        self.state, self.capacity, self.updates = trial.state, trial.capacity, trial.updates

    @property
    def is_compiled(self) -> bool:
        """Whether the functions of the policy that were called are machine code."""
        return self._functions.is_compiled

    def warm_up(self) -> None:
        """Load the machine code of the policy's functions, as `Functions.warm_up` describes."""
        self._functions.warm_up()

    @property
    def explains(self) -> bool:
        """Whether the policy explains its choices."""
        return self._functions.explain is not None

    def explain(self, t: int, arms: Ints, slot: int) -> Reason:
        """Return why one of `arms` is or is not chosen in round t. This may change the working space of the state."""
        if self._functions.explain is None:
            return UNKNOWN
        reason = self._functions.explain(self._params, self.state, t, arms, slot)
        if self.is_trusted:
            return Reason(*reason)
        check_reason(self.policy, reason)
        value, mean, window, width = reason
        return Reason(float(value), float(mean), int(window), float(width))  # interpreted, it may return numbers of NumPy

    def probabilities_before_choice(self, t: int, arms: Ints) -> Floats | None:
        """Return what `probabilities` returns, without changing the choice that follows.

        The functions of the library may be called on the state itself: they write only what `choose` writes again.
        """
        return (self if self._propensities_are_trusted else self.copy()).probabilities(t, arms)

    def probabilities(self, t: int, arms: Ints) -> Floats | None:
        """Return the probability of each of `arms` in round t; None if the policy does not draw. This may change the state."""
        if self._functions.propensities is None:
            if self.policy.randomised:
                hint = ", which draws and does not; see rotting.Kernel"
                raise InvalidTypeError("policy", "give its propensities", self.policy, hint=hint)
            return None
        self.make_room(t)
        out = np.zeros(arms.size)
        self._functions.propensities(self._params, self.state, t, arms, out)
        return out

    def add_slot(self) -> None:
        """Make room for one more arm."""
        # One slot at a time, since some policies take the number of slots for the number of arms.
        n_slots = self.n_slots + 1
        capacity = max(self.capacity, states.first_capacity(self.policy, n_slots, FIRST_CAPACITY))
        self.state = states.grow(self.policy, self.state, n_slots, capacity)
        self.n_slots, self.capacity = n_slots, capacity

    def set_present(self, slots: Ints) -> None:
        """Tell the policy which arms are present."""
        states.set_present(self.policy, self.state, slots)

    def forget(self, slot: int) -> None:
        """Reset a slot, as if its arm had never been pulled."""
        states.forget_arm(self.policy, self.state, slot, self.capacity)
