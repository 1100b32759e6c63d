"""A policy with its state: calls its compiled functions to choose and to learn, and makes room as rounds and arms come."""

import copy
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.engines.compile import guarded_for
from rotting.engines.game import is_full, state_is_full
from rotting.engines.kernel_errors import check_choice, check_reason
from rotting.errors import InvalidTypeError
from rotting.kernels.binding import bind, slot
from rotting.kernels.mistakes import is_own_work
from rotting.kernels.policy_slots import choose, explain, update
from rotting.live import policy_state as states
from rotting.live.admitted_arms import AdmittedArms
from rotting.policy import Policy, Reason

FIRST_CAPACITY = 64
UNKNOWN = Reason(math.nan, math.nan, 0, math.nan)
"""The reason if the policy explains nothing or did not choose."""

SlotAndReason = tuple[int, float, float, int, float]
"""A slot, and its index, mean, window and width: compiled code makes a plain tuple in a tenth of the time of a `Reason`."""


def choose_and_explain(p: Any, s: Any, t: int, key: int, arms: Ints) -> SlotAndReason:
    """Choose an arm and explain it in one call: passing the state to compiled code takes as long as a choice."""
    arm = choose(p, s, t, key, arms)
    reason = explain(p, s, t, arms, arm)
    return int(arm), float(reason.value), float(reason.mean), int(reason.window), float(reason.width)


@slot
def set_propensity(s: Any, arm: int, propensity: float) -> None:
    """Slot: write the propensity of the decision whose reward is learned next into the state."""
    raise NotImplementedError


def _ignore_propensity(s: Any, arm: int, propensity: float) -> None:
    pass


def _write_propensity(s: Any, arm: int, propensity: float) -> None:
    s.propensity[arm] = propensity


def learn(p: Any, s: Any, t: int, arm: int, reward: float) -> bool:
    """Learn a reward; return True if the state has no room for it, in which case nothing is learned."""
    update(p, s, t, arm, reward)
    return is_full(s)


def learn_all(p: Any, s: Any, first: int, rounds: Ints, slots: Ints, rewards: Floats, propensities: Floats) -> int:
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


class _Functions(NamedTuple):
    choose: Callable[..., Any]
    choose_and_explain: Callable[..., Any] | None
    learn: Callable[..., Any]
    learn_all: Callable[..., Any]
    explain: Callable[..., Any] | None
    propensities: Callable[..., Any] | None
    admit: Callable[..., Any] | None
    readmit: Callable[..., Any] | None


class Learner:
    """A policy with its state."""

    # Without slots, the first copy would turn the attributes into a dict, and a decision would take 10 % longer.
    __slots__ = (
        "_functions",
        "_may_be_full",
        "_params",
        "_propensities_are_trusted",
        "admitted",
        "capacity",
        "choice_is_pure",
        "is_trusted",
        "n_slots",
        "policy",
        "state",
        "updates",
        "uses_propensity",
        "version",
    )

    def __init__(self, policy: Policy, n_slots: int, capacity: int, state: Any, updates: int = 0) -> None:
        self.policy, self.n_slots, self.capacity, self.state = policy, n_slots, capacity, state
        self.updates = updates
        """How many rewards the state has recorded. A prior adds rewards without rounds, so there may be more than rounds."""
        self._params = policy.params
        kernel, arms = policy.kernel, np.zeros(1, np.int64)
        self.uses_propensity = "propensity" in state._fields
        """Whether the policy divides rewards by the propensity of their decision."""
        self.is_trusted = is_own_work(kernel.choose) and (kernel.explain is None or is_own_work(kernel.explain))
        """Whether the policy is part of the library, so that its return values need no checks."""
        self.choice_is_pure = self.is_trusted and kernel.readmit is not None
        """Whether a choice changes no later choice: of the state it changes the tournament only, which saves time."""
        self.version = 0
        """Changes with every reward and with every change of the arms, but not with a choice."""
        both = None  # the functions of a user's policy are called one by one, with checks after each
        if self.is_trusted and kernel.explain is not None:
            bound = bind(choose_and_explain, {choose: kernel.choose, explain: kernel.explain})
            both = guarded_for(bound, policy, policy.params, state, 1, 1, arms)
        parts: dict[Any, Any] = {update: kernel.update} | ({} if kernel.enlarge is None else {is_full: state_is_full})
        many = bind(learn_all, {**parts, set_propensity: _write_propensity if self.uses_propensity else _ignore_propensity})
        self._functions = _Functions(
            guarded_for(kernel.choose, policy, policy.params, state, 1, 1, arms),
            both,
            guarded_for(bind(learn, parts), policy, policy.params, state, 1, 0, 0.0),
            guarded_for(many, policy, policy.params, state, 0, arms, arms, np.zeros(1), np.zeros(1)),
            self._optional(kernel.explain, arms, 0),
            self._optional(kernel.propensities, arms, np.zeros(1)),
            None if kernel.admit is None else guarded_for(kernel.admit, policy, policy.params, state, arms),
            None if kernel.readmit is None else guarded_for(kernel.readmit, policy, policy.params, state, arms, arms),
        )
        self.admitted = AdmittedArms(self._functions.admit, self._functions.readmit if self.is_trusted else None)
        """The arms that the state is ready to choose among."""
        self._may_be_full = kernel.enlarge is not None
        self._propensities_are_trusted = kernel.propensities is None or is_own_work(kernel.propensities)

    @classmethod
    def new(cls, policy: Policy, n_slots: int) -> "Learner":
        """Return a learner without rewards."""
        capacity = states.first_capacity(policy, n_slots, FIRST_CAPACITY)
        return cls(policy, n_slots, capacity, states.new_state(policy, n_slots, capacity))

    def _optional(self, kernel: Callable[..., Any] | None, *rest: object) -> Callable[..., Any] | None:
        if kernel is None:
            return None
        return guarded_for(kernel, self.policy, self.policy.params, self.state, 1, *rest, allocates=True)

    def copy(self) -> "Learner":
        """Return an independent copy."""
        twin = copy.copy(self)
        twin.state, twin.admitted = states.copy(self.state), self.admitted.copy()
        return twin

    def make_room(self, t: int, rewards: int = 1) -> None:
        """Make room for the rounds up to t, and for this many more rewards.

        Compiled code does not check its indices, so a policy must never record more rewards than its capacity.
        """
        needed = max(t, self.updates + rewards)
        if needed > self.capacity and not self._may_be_full:
            self.grow(max(needed, 2 * self.capacity))

    def grow(self, capacity: int) -> None:
        """Give the state a larger capacity."""
        self.state = states.grow(self.policy, self.state, self.n_slots, capacity)
        self.capacity = capacity

    def match_room(self, other: "Learner") -> None:
        """Give this learner and another one the larger of their capacities and counts of updates, to compare the rest."""
        capacity, updates = max(self.capacity, other.capacity), max(self.updates, other.updates)
        for each in (self, other):
            each.updates = updates
            if each.capacity < capacity:
                each.grow(capacity)

    def choose(self, t: int, key: int, arms: Ints) -> int:
        """Return the slot that the policy chooses in round t. The caller must not change the array `arms` afterwards."""
        if t > self.capacity or self.updates >= self.capacity:
            self.make_room(t)
        if arms is not self.admitted.ready_for:
            self.admitted.admit(self._params, self.state, self.n_slots, arms)
        slot = self._functions.choose(self._params, self.state, t, key, arms)
        if not self.is_trusted:
            check_choice(self.policy, slot, arms)
        return int(slot)

    def choose_and_explain(self, t: int, key: int, arms: Ints) -> SlotAndReason:
        """Return the slot that `choose` returns, with the reason."""
        both = self._functions.choose_and_explain
        if both is None:
            slot = self.choose(t, key, arms)
            return slot, *self.explain(t, arms, slot)
        if t > self.capacity or self.updates >= self.capacity:
            self.make_room(t)
        if arms is not self.admitted.ready_for:
            self.admitted.admit(self._params, self.state, self.n_slots, arms)
        return both(self._params, self.state, t, key, arms)  # type: ignore[no-any-return]

    def hide(self, arms: Ints, hidden: frozenset[int]) -> Ints | None:
        """Return an array that stands for `arms` without the `hidden` ones in the next choice; None if that is not possible.

        Only the length of the array counts: the policy's tournament knows which arms are hidden. So no arm is listed, which
        would take time for every arm.
        """
        return self.admitted.hide(self._params, self.state, self.n_slots, arms, hidden)

    def change_hidden(self, shown: list[int], hidden: list[int]) -> Ints | None:
        """Show some slots of the last `hide` again and hide others; return an array as `hide` does.

        Since then, nothing may have been called but `change_hidden` and choices from the arrays that were returned.
        """
        return self.admitted.change_hidden(self._params, self.state, shown, hidden)

    def call(self, function: Callable[..., Any], t: int, *more: object) -> Any:
        """Call a compiled function that takes the policy's parameters, its state and the round first."""
        return function(self._params, self.state, t, *more)

    def learn(self, t: int, slot: int, reward: float, propensity: float | None = None) -> None:
        """Learn a reward in round t. If there is no memory for it, nothing is learned."""
        if t > self.capacity or self.updates >= self.capacity:
            self.make_room(t)
        self.version += 1
        if propensity is not None and self.uses_propensity:
            self.state.propensity[slot] = propensity
        while self._functions.learn(self._params, self.state, t, slot, reward):
            self._double_room()
        self.updates += 1

    def _double_room(self) -> None:
        self.state.full[0] = 0  # first, since growing may fail for lack of memory; then the reward is not learned
        self.grow(2 * self.capacity)

    def learn_all(self, rounds: Ints, slots: Ints, rewards: Floats, propensities: Floats | None = None) -> None:
        """Learn many rewards, as `learn` would one after the other."""
        self.version += 1
        self.make_room(int(rounds.max(initial=0)), slots.size)
        learn, known, done = self._functions.learn_all, np.zeros(0) if propensities is None else propensities, 0
        while (done := learn(self._params, self.state, done, rounds, slots, rewards, known)) < slots.size:
            self._double_room()
        self.updates += slots.size

    def learn_rounds(self, first: int, slots: Ints, rewards: Floats, propensities: Floats | None = None) -> None:
        """Learn the rewards of round `first` and the next ones, as `learn` would. If there is no memory, none is learned."""
        trial, last = self.copy(), first + slots.size - 1
        while trial.capacity < max(last, self.updates + slots.size) and not self._may_be_full:
            trial.make_room(trial.capacity + 1)  # step by step, so that the state gets the same size as row by row
        trial.learn_all(np.arange(first, last + 1), slots, rewards, propensities)
        self.state, self.capacity, self.updates, self.version = trial.state, trial.capacity, trial.updates, trial.version

    @property
    def explains(self) -> bool:
        """Whether the policy explains its choices."""
        return self._functions.explain is not None

    def explain(self, t: int, arms: Ints, slot: int) -> Reason:
        """Return why one of `arms` is or is not chosen in round t. This may change the working space of the state."""
        if self._functions.explain is None:
            return UNKNOWN
        reason: Reason = self._functions.explain(self._params, self.state, t, arms, slot)
        if not self.is_trusted:
            check_reason(self.policy, reason)
        return reason

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
        self.version += 1

    def set_present(self, slots: Ints) -> None:
        """Tell the policy which arms are present."""
        states.set_present(self.policy, self.state, slots)
        self.version += 1

    def forget(self, slot: int) -> None:
        """Reset a slot, as if its arm had never been pulled."""
        states.forget_arm(self.policy, self.state, slot, self.capacity)
        self.version += 1
        self.admitted.reset()  # the slot is as in a new state, where every arm is admitted
