"""Pages: several distinct arms that are chosen one after the other, each without the arms before it.

Listing the remaining arms before each choice would take time for every arm. A page instead keeps track of what changes from one
choice to the next: the arm that was chosen, and the arms whose decisions have expired meanwhile.
"""

from bisect import insort
from collections.abc import Hashable
from typing import final

import numpy as np

from rotting.common.arrays import Ints
from rotting.live.arms import Arms, Complement, to_complement
from rotting.live.learner import Learner
from rotting.live.pending_decisions import Candidates, PendingDecisions


class SortedSlots:
    """Slots in increasing order, from which one can be removed quickly."""

    def __init__(self, slots: Ints) -> None:
        self._buffer, self._start, self._end = slots.copy(), 0, slots.size

    @property
    def array(self) -> Ints:
        """The slots; the array is valid until the next change."""
        return self._buffer[self._start : self._end]

    def remove(self, slot: int) -> None:
        """Remove a slot, and move those before it or those after it, whichever are fewer."""
        buffer, start, end = self._buffer, self._start, self._end
        place = start + int(buffer[start:end].searchsorted(slot))
        if place - start < end - place:
            buffer[start + 1 : place + 1] = buffer[start:place]
            self._start += 1
        else:
            buffer[place : end - 1] = buffer[place + 1 : end]
            self._end -= 1

    def insert(self, slot: int) -> None:
        """Insert a slot that is not there yet."""
        slots = self.array
        self._buffer = np.insert(slots, int(slots.searchsorted(slot)), slot)
        self._start, self._end = 0, self._buffer.size


@final
class Page:
    """The arms that can still be chosen for a page.

    Args:
        among: the arms to choose from.
        pending: the pending decisions. After they change, `take` or `recount` must be called.
    """

    def __init__(self, among: Ints | Complement, pending: PendingDecisions) -> None:
        available = to_complement(among)
        self._every, self._pending = available.every, pending
        self._taken = set(available.hidden)  # active arms that cannot be chosen
        self.size = available.size
        waiting = available.kept(np.fromiter(pending.waiting, np.int64, len(pending.waiting)))
        self._waiting, self._waiting_set = SortedSlots(waiting), set(waiting.tolist())
        # Each of these three is made when it is first needed, and kept up to date from then on.
        self._available: SortedSlots | None = None  # the arms that can be chosen
        self._offered: SortedSlots | None = None  # those of them that the policy chooses from
        self._left_out: list[int] | None = None  # active arms that cannot be chosen, in increasing order
        self._hiding_in: Learner | None = None  # the learner that hides all other arms, except for these changes:
        self._to_show: list[int] = []
        self._to_hide: list[int] = []

    @property
    def slots(self) -> Ints:
        """The arms that can be chosen, in increasing order; the array is valid until the next change."""
        if self._available is None:
            self._available = SortedSlots(Complement(self._every, frozenset(self._taken)).slots)
        return self._available.array

    def take(self, slot: int) -> None:
        """Leave out an arm that was chosen."""
        self._taken.add(slot)
        self.size -= 1
        if self._available is not None:
            self._available.remove(slot)
        if slot in self._waiting_set:
            self._waiting_set.remove(slot)
            self._waiting.remove(slot)
        else:
            self._to_hide.append(slot)
            if self._offered is not None:
                self._offered.remove(slot)
        if self._left_out is not None:
            insort(self._left_out, slot)

    def recount(self, slot: int) -> None:
        """Stop treating an arm as waiting once it has no pending decision."""
        if slot in self._waiting_set and slot not in self._pending.waiting:
            self._waiting_set.remove(slot)
            self._waiting.remove(slot)
            self._to_show.append(slot)
            if self._offered is not None:
                self._offered.insert(slot)

    def candidates(self, learner: Learner) -> Candidates:
        """Return the arms that the policy chooses from, and the waiting ones."""
        if self._waiting_set and not self._pending.new_first:
            return self._pending.candidates(self.slots)
        waiting = self._waiting.array.copy()
        offered = self._hide(learner) if self._pending.by_index or not self._waiting_set else None
        return Candidates(self._list_offered() if offered is None else offered, waiting)

    def _hide(self, learner: Learner) -> Ints | None:
        """Return an array that stands for the arms that the policy chooses from, if the learner can hide the others."""
        to_show, to_hide, self._to_show, self._to_hide = self._to_show, self._to_hide, [], []
        if self._hiding_in is learner:
            offered = learner.change_hidden(to_show, to_hide)
        else:
            offered = learner.hide(self._every, frozenset(self._taken | self._waiting_set))
        self._hiding_in = None if offered is None else learner
        if offered is not None:
            self._offered = None  # so that it need not be kept up to date
        return offered

    def _list_offered(self) -> Ints:
        if self._offered is None:
            self._offered = SortedSlots(Complement(self._every, frozenset(self._taken | self._waiting_set)).slots)
        return self._offered.array

    def describe(self, arms: Arms) -> tuple[list[Hashable] | None, list[Hashable] | None]:
        """Return for the slots that can be chosen what `Arms.describe` returns."""
        if self.size == arms.slots.size:
            return None, None
        if 2 * self.size <= arms.slots.size:
            return [*map(arms.names.__getitem__, self.slots.tolist())], None
        if self._left_out is None:
            self._left_out = np.setdiff1d(arms.slots, self.slots, assume_unique=True).tolist()
        return None, [*map(arms.names.__getitem__, self._left_out)]
