"""A policy with its state, ready to choose and to learn: the compiled functions, and room for what comes."""

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
from rotting.live.arms import NOTHING
from rotting.parts.tournament import MANY, is_played
from rotting.policy import Policy, Reason

FIRST_CAPACITY = 64
UNKNOWN = Reason(math.nan, math.nan, 0, math.nan)
"""Of a policy that does not say, or was not asked."""


Chosen = tuple[int, float, float, int, float]
"""A slot, and its index, mean, window and width: compiled code makes a plain tuple in a tenth of the time of a `Reason`."""


def choose_and_explain(p: Any, s: Any, t: int, key: int, arms: Ints) -> Chosen:
    """Choose an arm, and say why, in one call: to read the state takes as long as to choose."""
    arm = choose(p, s, t, key, arms)
    reason = explain(p, s, t, arms, arm)
    return int(arm), float(reason.value), float(reason.mean), int(reason.window), float(reason.width)


@slot
def weigh(s: Any, arm: int, propensity: float) -> None:
    """Stand for how a state is told the probability of the decision whose reward comes next."""
    raise NotImplementedError


def _does_not_weigh(s: Any, arm: int, propensity: float) -> None:
    pass


def _weighs(s: Any, arm: int, propensity: float) -> None:
    s.propensity[arm] = propensity


def learn(p: Any, s: Any, t: int, arm: int, reward: float) -> bool:
    """Learn a reward, unless this returns that there is no room for it."""
    update(p, s, t, arm, reward)
    return is_full(s)


def learn_all(p: Any, s: Any, first: int, rounds: Ints, slots: Ints, rewards: Floats, propensities: Floats) -> int:
    """Learn many rewards from number `first` on, and return the number of the one that found no room, or how many there are.

    Where there are no `propensities`, the state has them.
    """
    for k in range(first, slots.size):
        if propensities.size > 0:
            weigh(s, slots[k], propensities[k])
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
    """The state of a policy, and what changes it."""

    __slots__ = (
        "_admitted",
        "_base",
        "_draws_openly",
        "_functions",
        "_hidden_as",
        "_may_be_full",
        "_params",
        "capacity",
        "hidden_slots",
        "is_own",
        "leaves_no_trace",
        "n_slots",
        "policy",
        "state",
        "updates",
        "version",
        "weighs",
    )

    def __init__(self, policy: Policy, n_slots: int, capacity: int, state: Any, updates: int = 0) -> None:
        self.policy, self.n_slots, self.capacity, self.state = policy, n_slots, capacity, state
        self.updates = updates
        """How many rewards the state has recorded. A prior adds rewards without rounds, so there may be more than rounds."""
        self._params = policy.params
        kernel, arms = policy.kernel, np.zeros(1, np.int64)
        self.weighs = "propensity" in state._fields
        """Whether it divides rewards by the probability of their decision."""
        self.is_own = is_own_work(kernel.choose) and (kernel.explain is None or is_own_work(kernel.explain))
        """Whether the policy is the library's own, so that what it returns need not be checked."""
        self.leaves_no_trace = self.is_own and kernel.readmit is not None
        """Whether choosing changes no later choice: a tournament only saves time."""
        self.version = 0
        """Changes with every reward and every arm, and not with a choice."""
        both = None  # of others' code, each has its own checks
        if self.is_own and kernel.explain is not None:
            bound = bind(choose_and_explain, {choose: kernel.choose, explain: kernel.explain})
            both = guarded_for(bound, policy, policy.params, state, 1, 1, arms)
        parts: dict[Any, Any] = {update: kernel.update} | ({} if kernel.enlarge is None else {is_full: state_is_full})
        weighing = bind(learn_all, {**parts, weigh: _weighs if self.weighs else _does_not_weigh})
        self._functions = _Functions(
            guarded_for(kernel.choose, policy, policy.params, state, 1, 1, arms),
            both,
            guarded_for(bind(learn, parts), policy, policy.params, state, 1, 0, 0.0),
            guarded_for(weighing, policy, policy.params, state, 0, arms, arms, np.zeros(1), np.zeros(1)),
            self._optional(kernel.explain, arms, 0),
            self._optional(kernel.propensities, arms, np.zeros(1)),
            None if kernel.admit is None else guarded_for(kernel.admit, policy, policy.params, state, arms),
            None if kernel.readmit is None else guarded_for(kernel.readmit, policy, policy.params, state, arms, arms),
        )
        self._admitted: Ints | None = None  # what stands for the arms that the state is ready for, if that is known:
        self._base: Ints | None = None  # these
        self.hidden_slots: set[int] = set()  # but for those,
        self._hidden_as: frozenset[int] | None = NOTHING  # which were given as this
        self._draws_openly = kernel.propensities is None or is_own_work(kernel.propensities)
        self._may_be_full = kernel.enlarge is not None

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
        twin.state, twin.hidden_slots = states.copy(self.state), self.hidden_slots.copy()
        return twin

    def make_room(self, t: int, rewards: int = 1) -> None:
        """Make room for the rounds up to t, and for so many more rewards.

        Compiled code does not check its indices, so a policy must never record more than its capacity.
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
        """Return the slot that the policy chooses in round t; `arms` must not change as long as it is used again."""
        if t > self.capacity or self.updates >= self.capacity:
            self.make_room(t)
        if arms is not self._admitted:
            self._admit(arms)
        slot = self._functions.choose(self._params, self.state, t, key, arms)
        if not self.is_own:
            check_choice(self.policy, slot, arms)
        return int(slot)

    def choose_and_explain(self, t: int, key: int, arms: Ints) -> Chosen:
        """Return what `choose` does, and why."""
        both = self._functions.choose_and_explain
        if both is None:
            slot = self.choose(t, key, arms)
            return slot, *self.explain(t, arms, slot)
        if t > self.capacity or self.updates >= self.capacity:
            self.make_room(t)
        if arms is not self._admitted:
            self._admit(arms)
        return both(self._params, self.state, t, key, arms)  # type: ignore[no-any-return]

    def _can_hide(self, left: int) -> bool:
        return self._functions.readmit is not None and self.is_own and left >= MANY and is_played(self.state)

    def hide(self, arms: Ints, hidden: frozenset[int]) -> Ints | None:
        """Return an array for the next choice that stands for `arms` but for those that are `hidden`; None if there is none.

        It has their number, and not the arms themselves: a tournament keeps track of those by itself.
        """
        left = arms.size - len(hidden)
        if not self._can_hide(left):
            return None
        if self._admitted is None or arms is not self._base or hidden is not self._hidden_as:
            self._admit(arms, hidden)
            self._admitted = arms[:left]
        return self._admitted

    def hide_more(self, come: list[int], go: list[int]) -> Ints | None:
        """Return what `hide` does for the arms of its last call, where some `come` back and others `go`.

        Nothing but `hide`, `hide_more` and choices among what they returned may have come between.
        """
        base = self._base
        if base is None or self._admitted is None:
            return None
        left = base.size - len(self.hidden_slots) + len(come) - len(go)
        if not self._can_hide(left):
            self._admitted = None
            return None
        if come or go:
            self._functions.readmit(self._params, self.state, np.array(come, np.int64), np.array(go, np.int64))  # type: ignore[misc]
            self.hidden_slots.difference_update(come)
            self.hidden_slots.update(go)
            self._admitted, self._hidden_as = base[:left], None
        return self._admitted

    def _admit(self, arms: Ints, hidden: frozenset[int] = NOTHING) -> None:
        """Make the state ready for these arms, but for those that are hidden."""
        admit, readmit, before = self._functions.admit, self._functions.readmit, self.hidden_slots
        if admit is not None and self.n_slots >= MANY:
            if arms.size < MANY:
                return  # they are looked at one by one
            if readmit is None or self._admitted is None or arms is not self._base:
                admit(self._params, self.state, arms)
                before = set()
            if readmit is not None and hidden != before:
                come, go = (np.fromiter(each, np.int64, len(each)) for each in (before - hidden, hidden - before))
                readmit(self._params, self.state, come, go)
        self._admitted, self._base, self.hidden_slots, self._hidden_as = arms, arms, set(hidden), hidden

    def ask(self, rule: Callable[..., Any], t: int, *more: object) -> Any:
        """Return what a compiled rule finds out by asking the policy to explain."""
        return rule(self._params, self.state, t, *more)

    def learn(self, t: int, slot: int, reward: float, propensity: float | None = None) -> None:
        """Learn a reward in round t, all of it or, if there is no memory, nothing."""
        if t > self.capacity or self.updates >= self.capacity:
            self.make_room(t)
        self.version += 1
        if propensity is not None and self.weighs:
            self.state.propensity[slot] = propensity
        while self._functions.learn(self._params, self.state, t, slot, reward):
            self._double_room()
        self.updates += 1

    def _double_room(self) -> None:
        self.state.full[0] = 0  # also if there is no memory for more room, and the reward is not learned
        self.grow(2 * self.capacity)

    def learn_all(self, rounds: Ints, slots: Ints, rewards: Floats, propensities: Floats | None = None) -> None:
        """Learn many rewards, one after the other, as `learn` would."""
        self.version += 1
        self.make_room(int(rounds.max(initial=0)), slots.size)
        learn, known, done = self._functions.learn_all, np.zeros(0) if propensities is None else propensities, 0
        while (done := learn(self._params, self.state, done, rounds, slots, rewards, known)) < slots.size:
            self._double_room()
        self.updates += slots.size

    def learn_rounds(self, first: int, slots: Ints, rewards: Floats, propensities: Floats | None = None) -> None:
        """Learn the rewards of rounds `first` and after, as `learn` would, all of them or, if there is no memory, none."""
        trial, last = self.copy(), first + slots.size - 1
        while trial.capacity < max(last, self.updates + slots.size) and not self._may_be_full:
            trial.make_room(trial.capacity + 1)  # step by step: the state has the size that it would have row by row
        trial.learn_all(np.arange(first, last + 1), slots, rewards, propensities)
        self.state, self.capacity, self.updates, self.version = trial.state, trial.capacity, trial.updates, trial.version

    @property
    def explains(self) -> bool:
        """Whether the policy says what decides."""
        return self._functions.explain is not None

    def explain(self, t: int, arms: Ints, slot: int) -> Reason:
        """Return what decides about one of `arms` in round t; it may change the working space of the state."""
        if self._functions.explain is None:
            return UNKNOWN
        reason: Reason = self._functions.explain(self._params, self.state, t, arms, slot)
        if not self.is_own:
            check_reason(self.policy, reason)
        return reason

    def to_ask(self) -> "Learner":
        """Return one whose `probabilities` may be asked before it chooses: itself, if they only note what `choose` would."""
        return self if self._draws_openly else self.copy()

    def probabilities(self, t: int, arms: Ints) -> Floats | None:
        """Return the probability of each of `arms` in round t, or None if the policy does not draw; it may change the state."""
        if self._functions.propensities is None:
            if self.policy.randomised:
                raise InvalidTypeError(
                    "policy", "give its propensities", self.policy, hint=", which draws and does not; see rotting.Kernel"
                )
            return None
        self.make_room(t)
        out = np.zeros(arms.size)
        self._functions.propensities(self._params, self.state, t, arms, out)
        return out

    def add_slot(self) -> None:
        """Make room for one more arm."""
        # One at a time: some policies use the number of slots as the number of arms.
        n_slots = self.n_slots + 1
        capacity = max(self.capacity, states.first_capacity(self.policy, n_slots, FIRST_CAPACITY))
        self.state = states.grow(self.policy, self.state, n_slots, capacity)
        self.n_slots, self.capacity = n_slots, capacity
        self.version += 1

    def set_present(self, slots: Ints) -> None:
        """Tell the policy which arms are there."""
        states.set_present(self.policy, self.state, slots)
        self.version += 1

    def forget(self, slot: int) -> None:
        """Make a slot as if its arm had never been pulled."""
        states.forget_arm(self.policy, self.state, slot, self.capacity)
        self.version += 1
        self._admitted = None  # the slot is as in a new state, where every arm is admitted
