"""The arms of a bandit: their ids, and the slots of the policy's state that they live in.

An arm is active (it may be chosen), retired (it keeps its slot and what was learned), or forgotten: then its slot is free for
the next arm. An id that is used again after that is another arm.
"""

import copy
import heapq
import math
from collections.abc import Hashable, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar

import numpy as np

from rotting.common.arrays import Ints
from rotting.common.rules import suggest
from rotting.errors import InvalidTypeError, InvalidValueError, brief

if TYPE_CHECKING:
    # Type checkers know defaults of type variables; `typing` has them only from Python 3.13 on.
    from typing_extensions import TypeVar as TypeVarWithDefault

    Arm = TypeVarWithDefault("Arm", bound=Hashable, default=Any)
else:
    Arm = TypeVar("Arm", bound=Hashable)
"""The type of the ids of a bandit's arms: `Bandit(policy, arms=["a", "b"])` is a `Bandit[str]`, `Bandit` alone any bandit."""
UnknownArms = Literal["refuse", "add", "skip"]
"""What `Bandit.learn` does with arms that the bandit does not have."""

_SHOWN_ARMS = 6  # arms in an error message
_MAX_BITS = 4_096  # of a number: Python refuses to print numbers that are much longer
_MAX_DEPTH = 50  # of tuples in tuples: JSON parsers refuse values that are nested much deeper
MAX_PRIOR_WEIGHT = 10_000
"""The largest weight of a `prior`: adding the arm learns that many rewards, one by one."""
_SEARCHED = 500  # a misspelt arm gets a suggestion if there are at most so many arms: searching them takes a millisecond


def check_arm(arm: object, depth: int = _MAX_DEPTH) -> None:
    """Check the id of an arm: a str, int, float, bool or None, or a tuple of these, which JSON can store and a dict look up."""
    if isinstance(arm, tuple):
        if depth == 0:
            rule = f"be nested at most {_MAX_DEPTH} tuples deep, so that JSON can carry it"
            raise InvalidValueError("arm", rule, arm, got="more")
        for part in arm:
            check_arm(part, depth - 1)
        return
    if type(arm) is str:
        if not arm.isascii() and any("\ud800" <= each <= "\udfff" for each in arm):
            raise InvalidValueError("arm", "be a string of whole characters, so that JSON can carry it", arm)
        return
    if type(arm) is int and arm.bit_length() > _MAX_BITS:
        bits = arm.bit_length()
        raise InvalidValueError("arm", f"be a whole number of at most {_MAX_BITS} bits", arm, got=f"one of {bits} bits")
    if arm is None or type(arm) in {int, bool} or (type(arm) is float and math.isfinite(arm)):
        return
    raise InvalidTypeError("arm", "be a string, a number, None or a tuple of these, so that JSON can carry it", arm)


def check_iterable(arms: object, name: str = "arms") -> None:
    """Check that `arms` is a list of arms."""
    if isinstance(arms, str | bytes) or not isinstance(arms, Iterable):
        raise InvalidTypeError(name, "be a list of arms", arms)


def arm_to_json(arm: object) -> object:
    """Return an arm as JSON represents it: lists instead of tuples."""
    return [arm_to_json(part) for part in arm] if isinstance(arm, tuple) else arm


def _to_tuples(value: object) -> object:
    return tuple(map(_to_tuples, value)) if isinstance(value, list | tuple) else value


def restore_arm(arm: object) -> Any:
    """Return the arm that `arm_to_json` wrote. Its type is known only to the program that gave the arm its id."""
    restored = _to_tuples(arm)
    check_arm(restored)
    return restored


class Arms(Generic[Arm]):
    """The slot of each arm."""

    def __init__(self, names: Iterable[Arm]) -> None:
        check_iterable(names)
        self.names = list(names)  # the id in each slot; meaningless for a free slot
        for arm in self.names:
            check_arm(arm)
        if not self.names:
            raise InvalidValueError("arms", "hold at least one arm", self.names, got="none")
        self.active: dict[Hashable, int] = {arm: slot for slot, arm in enumerate(self.names)}
        if len(self.active) < len(self.names):
            twice = next(arm for slot, arm in enumerate(self.names) if self.active[arm] != slot)
            raise InvalidValueError("arms", "be distinct", twice, hint=" twice")
        self.retired: dict[Hashable, int] = {}
        self.free: list[int] = []  # a heap: the lowest free slot is used next
        self.slots: Ints = np.arange(len(self.names))
        """The slots of the active arms, in increasing order. Every change makes a new array, since callers keep the old one."""

    @classmethod
    def restored(cls, n_slots: int, active: dict[Hashable, int], retired: dict[Hashable, int]) -> "Arms[Hashable]":
        """Return the arms of a saved state, given their slots."""
        arms: Arms[Hashable] = Arms.__new__(Arms)
        arms.names = [None] * n_slots
        for group in (active, retired):
            for arm, slot in group.items():
                arms.names[slot] = arm
        arms.active, arms.retired = active, retired
        arms.free = sorted(set(range(n_slots)).difference(active.values(), retired.values()))
        arms.slots = np.array(sorted(active.values()), np.int64)
        return arms

    def copy(self) -> Self:
        """Return an independent copy."""
        twin = copy.copy(self)
        twin.names, twin.free = self.names.copy(), self.free.copy()
        twin.active, twin.retired = self.active.copy(), self.retired.copy()
        return twin

    def _activate(self, arm: Hashable, slot: int) -> None:
        self.active[arm] = slot
        self.slots = np.insert(self.slots, np.searchsorted(self.slots, slot), slot)

    def _deactivate(self, arm: Hashable) -> int:
        slot = self.active.pop(arm)
        self.slots = np.delete(self.slots, np.searchsorted(self.slots, slot))
        return slot

    def known(self, arm: Hashable, retired: bool = False) -> int:
        """Return the slot of an active arm or, with `retired`, of an active or retired one."""
        try:
            slot = self.active.get(arm)
            if slot is None and retired:
                slot = self.retired.get(arm)
        except TypeError:  # not hashable
            slot = None
        if slot is None:
            raise InvalidValueError("arm", f"be one of {self._names_for_error()}", arm, hint=self._suggestion(arm))
        return slot

    def _active_slots(self, arms: Iterable[Hashable], retired: bool = False) -> list[int]:
        """Return the slots of active arms; with `retired`, retired arms are allowed and skipped."""
        given = tuple(arms)
        try:
            return [*map(self.active.__getitem__, given)]
        except (KeyError, TypeError):  # one by one: an unknown arm raises the error that names it
            found, skipped = [self.known(arm, retired) for arm in given], {*self.retired.values()}
            return [slot for slot in found if slot not in skipped]

    def _names_for_error(self) -> str:
        """Return the active arms for an error message: the first few, and how many others there are."""
        names, more = ", ".join(brief(arm) for arm in islice(self.active, _SHOWN_ARMS)), len(self.active) - _SHOWN_ARMS
        return names if more <= 0 else f"{names} and {more} others"

    def _suggestion(self, arm: Hashable) -> str:
        if not isinstance(arm, str) or len(self.active) > _SEARCHED:
            return ""
        return suggest(arm, [each for each in self.active if isinstance(each, str)])

    def available(self, arms: Iterable[Hashable] | None, without: Iterable[Hashable] | None = None) -> Ints:
        """Return the slots of `arms` (None: of all active arms) except those of `without`, in increasing order."""
        if arms is None and without is None:
            return self.slots
        hidden: list[int] = []
        if without is not None:
            check_iterable(without, "without")
            hidden = self._active_slots(without, retired=True)
        found = self.slots
        if arms is not None:
            check_iterable(arms)
            found = np.unique(np.array(self._active_slots(arms), np.int64))
            if not found.size:
                raise InvalidValueError("arms", "hold at least one arm", [], got="none")
        if hidden:
            found = np.setdiff1d(found, hidden, assume_unique=True)
            if not found.size:
                got = f"all {len(set(hidden))}"
                raise InvalidValueError("without", "leave at least one arm to choose from", without, got=got)
        return found

    def describe(self, slots: Ints) -> tuple[list[Hashable] | None, list[Hashable] | None]:
        """Return the shortest arguments with which `available` returns these slots: `arms` and `without`, at least one None."""
        if slots.size == self.slots.size:
            return None, None
        if 2 * slots.size <= self.slots.size:
            return [self.names[slot] for slot in slots], None
        return None, [self.names[slot] for slot in np.setdiff1d(self.slots, slots, assume_unique=True)]

    def check_not_last(self, arm: Hashable) -> None:
        """Check that another active arm is left without this one."""
        if len(self.active) == 1 and arm in self.active:
            raise InvalidValueError("arm", "not be the last one", arm)

    def add(self, arm: Arm) -> int:
        """Put a new arm into the lowest free slot, or into one more; return the slot."""
        slot = heapq.heappop(self.free) if self.free else len(self.names)
        if slot == len(self.names):
            self.names.append(arm)
        self.names[slot] = arm
        self._activate(arm, slot)
        return slot

    def retire(self, arm: Hashable) -> None:
        """Retire an active arm: it keeps its slot and is no longer chosen."""
        self.retired[arm] = self._deactivate(arm)

    def revive(self, arm: Hashable) -> None:
        """Make a retired arm active again."""
        self._activate(arm, self.retired.pop(arm))

    def forget(self, arm: Hashable) -> int:
        """Free the slot of an arm; return the slot."""
        slot = self.retired.pop(arm) if arm in self.retired else self._deactivate(arm)
        heapq.heappush(self.free, slot)
        return slot
