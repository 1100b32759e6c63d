"""Pages: several distinct arms for one page, each chosen without those before it.

To list the arms that are left before each choice takes as long as there are arms. A page instead keeps track of what changes
from one choice to the next: the arm that was chosen, and arms whose decisions have expired meanwhile.
"""

from bisect import insort
from collections.abc import Hashable
from typing import final

import numpy as np

from rotting.common.arrays import Ints
from rotting.live.arms import Arms, Complement
from rotting.live.learner import Learner
from rotting.live.pending_decisions import Candidates, PendingDecisions


class SortedSlots:
    """Slots in increasing order; one can be removed or inserted without a new array."""

    def __init__(self, slots: Ints) -> None:
        self._room, self._start, self._end = slots.copy(), 0, slots.size

    @property
    def array(self) -> Ints:
        """The slots, until the next change."""
        return self._room[self._start : self._end]

    def remove(self, slot: int) -> None:
        """Remove one that is there, and move the fewer of those before and after it."""
        room, start, end = self._room, self._start, self._end
        place = start + int(room[start:end].searchsorted(slot))
        if place - start < end - place:
            room[start + 1 : place + 1] = room[start:place]
            self._start += 1
        else:
            room[place : end - 1] = room[place + 1 : end]
            self._end -= 1

    def insert(self, slot: int) -> None:
        """Insert one that is not there."""
        slots = self.array
        self._room = np.insert(slots, int(slots.searchsorted(slot)), slot)
        self._start, self._end = 0, self._room.size


@final
class Page:
    """The arms that can still be chosen for a page.

    Args:
        among: the arms to choose from.
        pending: the decisions without a reward, which it counts; `take` and `recount` report what changes there.
    """

    def __init__(self, among: Ints | Complement, pending: PendingDecisions) -> None:
        all_but = among if isinstance(among, Complement) else Complement(among, frozenset())
        self._every, self._pending = all_but.every, pending
        self._hidden = set(all_but.hidden)
        self.size = all_but.size
        waiting = all_but.kept(np.fromiter(pending.waiting, np.int64, len(pending.waiting)))
        self._waiting, self._waits = SortedSlots(waiting), set(waiting.tolist())
        self._listed: SortedSlots | None = None  # all that can be chosen, once somebody has asked for them
        self._asked: SortedSlots | None = None  # those that do not wait, likewise
        self._left_out: list[int] | None = None  # active arms that cannot be chosen, likewise
        self._hider: Learner | None = None  # the learner that hides all others, but for these changes:
        self._come: list[int] = []
        self._go: list[int] = []

    @property
    def slots(self) -> Ints:
        """All that can be chosen, in increasing order, until the next change."""
        if self._listed is None:
            self._listed = SortedSlots(Complement(self._every, frozenset(self._hidden)).slots)
        return self._listed.array

    def take(self, slot: int) -> None:
        """Leave out an arm that was chosen."""
        self._hidden.add(slot)
        self.size -= 1
        for each in (self._listed, None if slot in self._waits else self._asked):
            if each is not None:
                each.remove(slot)
        if slot in self._waits:
            self._waits.remove(slot)
            self._waiting.remove(slot)
        else:
            self._go.append(slot)
        if self._left_out is not None:
            insort(self._left_out, slot)

    def recount(self, slot: int) -> None:
        """Stop treating an arm as waiting once it has no pending decision."""
        if slot in self._waits and slot not in self._pending.waiting:
            self._waits.remove(slot)
            self._waiting.remove(slot)
            self._come.append(slot)
            if self._asked is not None:
                self._asked.insert(slot)

    def candidates(self, learner: Learner) -> Candidates:
        """Return the arms that the policy is asked about, and those that wait."""
        if self._waits and not self._pending.new_first:
            return self._pending.candidates(self.slots)
        waiting = self._waiting.array.copy()
        hidden = self._hide(learner) if self._pending.by_index or not self._waits else None
        return Candidates(self._list_asked() if hidden is None else hidden, waiting)

    def _hide(self, learner: Learner) -> Ints | None:
        """Return what stands for the arms that the policy is asked about, if the learner can hide the others."""
        come, go, self._come, self._go = self._come, self._go, [], []
        if self._hider is learner:
            asked = learner.hide_more(come, go)
        else:
            asked = learner.hide(self._every, frozenset(self._hidden | self._waits))
        self._hider = None if asked is None else learner
        if asked is not None:
            self._asked = None  # no list has to be kept up to date
        return asked

    def _list_asked(self) -> Ints:
        if self._asked is None:
            self._asked = SortedSlots(Complement(self._every, frozenset(self._hidden | self._waits)).slots)
        return self._asked.array

    def describe(self, arms: Arms) -> tuple[list[Hashable] | None, list[Hashable] | None]:
        """Return what `Arms.describe` does for the slots that can be chosen."""
        if self.size == arms.slots.size:
            return None, None
        if 2 * self.size <= arms.slots.size:
            return [*map(arms.names.__getitem__, self.slots.tolist())], None
        if self._left_out is None:
            self._left_out = np.setdiff1d(arms.slots, self.slots, assume_unique=True).tolist()
        return None, [*map(arms.names.__getitem__, self._left_out)]
