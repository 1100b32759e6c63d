"""The arms that the state of a policy with a tournament is ready to choose among."""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from rotting.common.arrays import Ints
from rotting.live.arms import NO_SLOTS
from rotting.parts.tournament import MANY, HasTournament, is_played


class TournamentFunctions(Protocol):
    """Functions of a policy with a tournament; None if the policy has none."""

    @property
    def admit(self) -> Callable[..., object] | None:
        """The policy's function, as `Kernel` describes it."""

    @property
    def readmit(self) -> Callable[..., object] | None:
        """The policy's function, as `Kernel` describes it."""


class AdmittedArms:
    """Tells a policy's tournament which arms are available before a choice, and remembers what it told.

    A policy with a tournament has a function `admit`: it lists all available arms. If it has `readmit` as well, a few of the
    admitted arms can be hidden and shown again, which takes no time for the others. Other policies need neither.

    Before each choice from an array of slots, the caller calls `admit` unless the array is `ready_for`. `hide` and
    `change_hidden` return an array that stands for the admitted arms without the hidden ones: only its length counts. Arrays
    are recognized by identity, so nobody may change them. After a change of the state that the tournament does not know of,
    the caller calls `reset`.

    Args:
        functions: the policy's functions `admit` and `readmit`, which machine code may replace between two calls.
        can_hide: whether arms can be hidden.
    """

    __slots__ = ("_admitted", "_can_hide", "_functions", "_hidden", "_hidden_as", "ready_for")

    def __init__(self, functions: TournamentFunctions, can_hide: bool) -> None:
        self._functions = functions
        self._can_hide = can_hide
        self.ready_for: Ints | None = None
        """The array that the state is ready for; None if that is not known."""
        self._admitted: Ints | None = None  # the arms that were told to `admit`
        self._hidden: set[int] | frozenset[int] = NO_SLOTS  # those of them that are hidden; a set once they have changed
        self._hidden_as: frozenset[int] | None = NO_SLOTS  # the argument of `hide` that the hidden ones were given as

    @property
    def _readmit(self) -> Callable[..., object] | None:
        return self._functions.readmit if self._can_hide else None

    def copy(self) -> "AdmittedArms":
        """Return an independent copy, for a copy of the state."""
        twin = AdmittedArms(self._functions, self._can_hide)
        twin.ready_for, twin._admitted = self.ready_for, self._admitted
        twin._hidden, twin._hidden_as = self._hidden.copy(), self._hidden_as
        return twin

    def reset(self) -> None:
        """Forget what the state is ready for."""
        self.ready_for = None

    def admit(self, p: object, s: object, n_slots: int, arms: Ints, hidden: frozenset[int] = NO_SLOTS) -> None:
        """Make the state ready for a choice among these arms without the hidden ones."""
        admit, readmit, before = self._functions.admit, self._readmit, self._hidden
        if admit is not None and n_slots >= MANY:
            if arms.size < MANY:
                return  # the policy compares so few arms one by one, without its tournament
            if readmit is None or self.ready_for is None or arms is not self._admitted:
                admit(p, s, arms)
                before = NO_SLOTS
            if readmit is not None and hidden != before:
                changes = (np.fromiter(each, np.int64, len(each)) for each in (before - hidden, hidden - before))
                readmit(p, s, *changes)
        self.ready_for, self._admitted, self._hidden, self._hidden_as = arms, arms, hidden, hidden

    def hide(self, p: object, s: HasTournament, n_slots: int, arms: Ints, hidden: frozenset[int]) -> Ints | None:
        """Return an array that stands for `arms` without the `hidden` ones; None if the policy must list them."""
        left = arms.size - len(hidden)
        if self._readmit is None or left < MANY or not is_played(s):
            return None
        if self.ready_for is None or arms is not self._admitted or hidden is not self._hidden_as:
            self.admit(p, s, n_slots, arms, hidden)
            self.ready_for = arms[:left]
        return self.ready_for

    def change_hidden(self, p: object, s: HasTournament, shown: list[int], hidden: list[int]) -> Ints | None:
        """Show some slots of the last `hide` again and hide others; return an array as `hide` does."""
        arms, readmit = self._admitted, self._readmit
        if arms is None or self.ready_for is None:
            return None
        left = arms.size - len(self._hidden) + len(shown) - len(hidden)
        if readmit is None or left < MANY or not is_played(s):
            self.ready_for = None
            return None
        if shown or hidden:
            readmit(p, s, np.array(shown, np.int64), np.array(hidden, np.int64))
            if isinstance(self._hidden, frozenset):
                self._hidden = set(self._hidden)
            self._hidden.difference_update(shown)
            self._hidden.update(hidden)
            self.ready_for, self._hidden_as = arms[:left], None
        return self.ready_for
