"""The arms of a bandit: their ids, and the slots of the policy's state that they live in.

An arm is active (it may be chosen), retired (it keeps its slot and what was learned), or forgotten: then its slot is free for
the next arm. An id that is used again after that is another arm.
"""

import heapq
import math
from collections.abc import Hashable, Iterable
from itertools import islice
from sys import intern
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, final
from weakref import WeakValueDictionary

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

_SHOWN_ARMS = 6  # arms in an error message
_MAX_BITS = 4_096  # of a number: Python refuses to print numbers that are much longer
_MAX_DEPTH = 50  # of tuples in tuples: JSON parsers refuse values that are nested much deeper
MAX_PRIOR_WEIGHT = 10_000
"""The largest weight of a `prior`: adding the arm learns that many rewards, one by one."""
_MANY_SLOTS = 1_000  # slots: sorting more of them is faster with an array than with a set
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


def _interned(arm: Arm) -> Arm:
    """Return an arm, as the one string of its text if it is a string: thousands of bandits often have the same arms."""
    return intern(arm) if type(arm) is str else arm  # type: ignore[call-overload]


_FIRST_SLOTS: WeakValueDictionary[int, Ints] = WeakValueDictionary()


def _first_slots(number: int) -> Ints:
    """Return the slots 0, 1, ...; all bandits with as many arms share the array, which nobody may change."""
    found: Ints | None = _FIRST_SLOTS.get(number)
    if found is None:
        found = _FIRST_SLOTS[number] = np.arange(number)
    return found


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


NO_SLOTS: frozenset[int] = frozenset()


@final
class Complement:
    """All active arms except a few hidden ones. Its slots are listed on demand only, which takes time for every arm."""

    __slots__ = ("_slots", "every", "hidden", "size")

    def __init__(self, every: Ints, hidden: frozenset[int]) -> None:
        self.every, self.hidden, self.size = every, hidden, every.size - len(hidden)
        self._slots: Ints | None = None

    @property
    def slots(self) -> Ints:
        """The slots, in increasing order."""
        if not self.hidden:
            return self.every
        if self._slots is None:
            places = np.searchsorted(self.every, np.fromiter(self.hidden, np.int64, len(self.hidden)))
            self._slots = np.delete(self.every, places)
        return self._slots

    def kept(self, slots: Ints) -> Ints:
        """Return those of the given slots that belong to this set, in increasing order."""
        slots = np.sort(slots)
        places = np.minimum(np.searchsorted(self.every, slots), self.every.size - 1)
        left: Ints = slots[self.every[places] == slots]
        return left[[slot not in self.hidden for slot in left.tolist()]] if self.hidden else left


class HasSlots(Protocol):
    """A set of slots that lists them on demand."""

    @property
    def slots(self) -> Ints:
        """The slots, in increasing order."""


def to_slots(among: Ints | HasSlots) -> Ints:
    """Return a set of slots as an array."""
    return among if isinstance(among, np.ndarray) else among.slots


def to_complement(among: Ints | Complement) -> Complement:
    """Return a set of slots as all of them without hidden ones, unless it is a complement already."""
    return among if type(among) is Complement else Complement(among, NO_SLOTS)


class Arms(Generic[Arm]):
    """The slot of each arm."""

    __slots__ = ("_last_available", "active", "free", "names", "retired", "slots")

    def __init__(self, names: Iterable[Arm]) -> None:
        check_iterable(names)
        self.names = [_interned(arm) for arm in names]  # the id in each slot; meaningless for a free slot
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
        self.set_slots(_first_slots(len(self.names)))

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
        arms.set_slots(np.array(sorted(active.values()), np.int64))
        return arms

    def set_slots(self, slots: Ints) -> None:
        """Set the slots of the active arms. Every change makes a new array, since callers keep the old one."""
        self.slots = slots
        # The last arguments of `available` that were tuples or None, and what it returned.
        self._last_available: tuple[object, object, Ints | Complement] = (None, None, slots)

    def _activate(self, arm: Hashable, slot: int) -> None:
        self.active[arm] = slot
        self.set_slots(np.insert(self.slots, int(np.searchsorted(self.slots, slot)), slot))

    def _deactivate(self, arm: Hashable) -> int:
        slot = self.active.pop(arm)
        self.set_slots(np.delete(self.slots, int(np.searchsorted(self.slots, slot))))
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

    def _sorted(self, slots: list[int], hidden: frozenset[int]) -> Ints:
        """Return the distinct slots that are not hidden, in increasing order."""
        if len(slots) < _MANY_SLOTS:
            return np.array(sorted({*slots} - hidden), np.int64)
        here = np.zeros(len(self.names), np.bool_)
        here[slots] = True
        here[list(hidden)] = False
        return np.flatnonzero(here)

    def _names_for_error(self) -> str:
        """Return the active arms for an error message: the first few, and how many others there are."""
        names, more = ", ".join(brief(arm) for arm in islice(self.active, _SHOWN_ARMS)), len(self.active) - _SHOWN_ARMS
        return names if more <= 0 else f"{names} and {more} others"

    def _suggestion(self, arm: Hashable) -> str:
        if not isinstance(arm, str) or len(self.active) > _SEARCHED:
            return ""
        return suggest(arm, [each for each in self.active if isinstance(each, str)])

    def available(self, arms: Iterable[Hashable] | None, without: Iterable[Hashable] | None = None) -> "Ints | Complement":
        """Return the slots of `arms` (None: of all active arms) except those of `without`, in increasing order."""
        if without is None and arms is None:
            return self.slots
        last = self._last_available  # a tuple cannot change, so the slots that were found for it are still right
        if arms is last[0] and without is last[1]:
            return last[2]
        hidden = NO_SLOTS
        if without is not None:
            check_iterable(without, "without")
            hidden = frozenset(self._active_slots(without, retired=True))
        found: Ints | Complement
        if arms is None:
            found = Complement(self.slots, hidden) if hidden else self.slots
        else:
            check_iterable(arms)
            listed = self._active_slots(arms)
            if not listed:
                raise InvalidValueError("arms", "hold at least one arm", listed, got="none")
            found = self._sorted(listed, hidden)
        if not found.size:
            raise InvalidValueError("without", "leave at least one arm to choose from", without, got=f"all {len(hidden)}")
        if all(each is None or type(each) is tuple for each in (arms, without)):
            self._last_available = (arms, without, found)
        return found

    def describe(self, slots: "Ints | Complement") -> tuple[list[Hashable] | None, list[Hashable] | None]:
        """Return the shortest arguments with which `available` returns these slots: `arms` and `without`, at least one None."""
        if slots.size == self.slots.size:
            return None, None
        if 2 * slots.size <= self.slots.size:
            return [self.names[slot] for slot in to_slots(slots)], None
        hidden = sorted(slots.hidden) if isinstance(slots, Complement) else np.setdiff1d(self.slots, slots)
        return None, [self.names[slot] for slot in hidden]

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
