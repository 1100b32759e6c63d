"""A policy with its state, ready to choose and to learn: the compiled functions, and room for what comes."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.engines.compile import guarded_for
from rotting.engines.kernel_errors import check_choice, check_reason, is_own_work
from rotting.errors import InvalidTypeError
from rotting.kernels.binding import bind, slot
from rotting.live import policy_state as states
from rotting.parts.tournament import MANY
from rotting.policy import Policy, Reason

FIRST_CAPACITY = 64
UNKNOWN = Reason(math.nan, math.nan, 0, math.nan)
"""Of a policy that does not say, or was not asked."""


@slot
def update(p: Any, s: Any, t: int, arm: int, reward: float) -> None:
    """Stand for the policy's own `update`."""
    raise NotImplementedError


@slot
def is_full(s: Any) -> bool:
    """Stand for whether the last update found no room."""
    raise NotImplementedError


def has_no_room(s: Any) -> bool:
    """Tell whether the last update found no room, for a state that can be enlarged."""
    return bool(s.full[0] != 0)


def has_room(s: Any) -> bool:
    """Tell that there always is room."""
    return False


def learn_all(p: Any, s: Any, first: int, rounds: Ints, slots: Ints, rewards: Floats) -> int:
    """Learn many rewards from number `first` on, and return the number of the one that found no room, or how many there are."""
    for k in range(first, slots.size):
        update(p, s, rounds[k], slots[k], rewards[k])
        if is_full(s):
            return k
    return slots.size


class _Functions(NamedTuple):
    choose: Callable[..., Any]
    update: Callable[..., Any]
    learn_all: Callable[..., Any]
    explain: Callable[..., Any] | None
    propensities: Callable[..., Any] | None
    admit: Callable[..., Any] | None


class Learner:
    """The state of a policy, and what changes it."""

    __slots__ = ("_admitted", "_functions", "_may_be_full", "capacity", "is_own", "n_slots", "policy", "state", "weighs")

    def __init__(self, policy: Policy, n_slots: int, capacity: int, state: Any) -> None:
        self.policy, self.n_slots, self.capacity, self.state = policy, n_slots, capacity, state
        kernel, arms = policy.kernel, np.zeros(1, np.int64)
        bound = bind(learn_all, {update: kernel.update, is_full: has_room if kernel.enlarge is None else has_no_room})
        self._functions = _Functions(
            guarded_for(kernel.choose, policy, policy.params, state, 1, 1, arms),
            guarded_for(kernel.update, policy, policy.params, state, 1, 0, 0.0),
            guarded_for(bound, policy, policy.params, state, 0, arms, arms, np.zeros(1)),
            self._optional(kernel.explain, arms, 0),
            self._optional(kernel.propensities, arms, np.zeros(1)),
            None if kernel.admit is None else guarded_for(kernel.admit, policy, policy.params, state, arms),
        )
        self._admitted: Ints | None = None  # the arms that the state is ready for
        self.is_own = is_own_work(kernel.choose) and (kernel.explain is None or is_own_work(kernel.explain))
        """Whether the policy is the library's own, so that what it returns need not be checked."""
        self._may_be_full = kernel.enlarge is not None
        self.weighs = "propensity" in state._fields
        """Whether it divides rewards by the probability of their decision."""

    @classmethod
    def new(cls, policy: Policy, n_slots: int) -> "Learner":
        """Return one that has seen nothing."""
        capacity = states.first_capacity(policy, n_slots, FIRST_CAPACITY)
        return cls(policy, n_slots, capacity, states.new_state(policy, n_slots, capacity))

    def _optional(self, kernel: Callable[..., Any] | None, *rest: object) -> Callable[..., Any] | None:
        if kernel is None:
            return None
        return guarded_for(kernel, self.policy, self.policy.params, self.state, 1, *rest, allocates=True)

    def copy(self) -> "Learner":
        """Return one of its own that has seen the same."""
        twin = Learner.__new__(Learner)
        for name in self.__slots__:
            setattr(twin, name, getattr(self, name))
        twin.state = states.copy(self.state)
        return twin

    def make_room(self, rounds: int) -> None:
        """Make sure that so many rounds can be recorded."""
        if rounds > self.capacity and not self._may_be_full:
            capacity = max(rounds, 2 * self.capacity)
            self.state = states.grow(self.policy, self.state, self.n_slots, capacity)
            self.capacity = capacity

    def choose(self, t: int, key: int, arms: Ints) -> int:
        """Return the slot that the policy chooses in round t; `arms` must not change as long as it is used again."""
        if t > self.capacity:
            self.make_room(t)
        admit = self._functions.admit
        if admit is not None and arms is not self._admitted and arms.size >= MANY:
            admit(self.policy.params, self.state, arms)
            self._admitted = arms
        slot = self._functions.choose(self.policy.params, self.state, t, key, arms)
        if not self.is_own:
            check_choice(self.policy, slot, arms)
        return int(slot)

    def choose_by(self, rule: Callable[..., Any], t: int, key: int, arms: Ints, *more: object) -> Any:
        """Return what a compiled rule says, which may ask the policy about some of `arms`."""
        if t > self.capacity:
            self.make_room(t)
        self._admitted = None  # whom the rule lets in, it alone knows
        return rule(self.policy.params, self.state, t, key, arms, *more)

    def learn(self, t: int, slot: int, reward: float, propensity: float | None = None) -> None:
        """Learn a reward in round t, all of it or, if there is no memory, nothing."""
        if t > self.capacity:
            self.make_room(t)
        if propensity is not None and self.weighs:
            self.state.propensity[slot] = propensity
        self._functions.update(self.policy.params, self.state, t, slot, reward)
        while self._may_be_full and self.state.full[0]:
            self._double_room()
            self._functions.update(self.policy.params, self.state, t, slot, reward)

    def _double_room(self) -> None:
        self.state.full[0] = 0  # also if there is no memory for more room, and the reward is not learned
        capacity = 2 * self.capacity
        self.state = states.grow(self.policy, self.state, self.n_slots, capacity)
        self.capacity = capacity

    def learn_all(self, rounds: Ints, slots: Ints, rewards: Floats) -> None:
        """Learn many rewards, one after the other, as `learn` would."""
        self.make_room(int(rounds.max(initial=0)))
        done = self._functions.learn_all(self.policy.params, self.state, 0, rounds, slots, rewards)
        while done < slots.size:
            self._double_room()
            done = self._functions.learn_all(self.policy.params, self.state, done, rounds, slots, rewards)

    @property
    def explains(self) -> bool:
        """Whether the policy says what decides."""
        return self._functions.explain is not None

    def explain(self, t: int, arms: Ints, slot: int) -> Reason:
        """Return what decides about one of `arms` in round t; it may change the working space of the state."""
        if self._functions.explain is None:
            return UNKNOWN
        reason: Reason = self._functions.explain(self.policy.params, self.state, t, arms, slot)
        if not self.is_own:
            check_reason(self.policy, reason)
        return reason

    def probabilities(self, t: int, arms: Ints) -> Floats | None:
        """Return the probability of each of `arms` in round t, or None if the policy does not draw; it may change the state."""
        if self._functions.propensities is None:
            if self.policy.randomised:
                raise InvalidTypeError(
                    f"policy must give its propensities, got {self.policy!r}, which draws and does not; see rotting.Kernel"
                )
            return None
        self.make_room(t)
        out = np.zeros(arms.size)
        self._functions.propensities(self.policy.params, self.state, t, arms, out)
        return out

    def add_slot(self) -> None:
        """Make room for one more arm."""
        # One at a time: some policies use the number of slots as the number of arms.
        n_slots = self.n_slots + 1
        capacity = max(self.capacity, states.first_capacity(self.policy, n_slots, FIRST_CAPACITY))
        self.state = states.grow(self.policy, self.state, n_slots, capacity)
        self.n_slots, self.capacity = n_slots, capacity

    def set_present(self, slots: Ints) -> None:
        """Tell the policy which arms are there."""
        states.set_present(self.policy, self.state, slots)

    def forget(self, slot: int) -> None:
        """Make a slot as if its arm had never been pulled."""
        states.forget_arm(self.policy, self.state, slot, self.capacity)
