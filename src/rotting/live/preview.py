"""Previews the next decisions of a bandit on copies of its state."""

from collections.abc import Hashable
from typing import NamedTuple

from rotting.common.arrays import Ints
from rotting.live.arms import Complement
from rotting.live.choosing import Chooser
from rotting.live.decisions import Decision
from rotting.live.pages import Page


class Preview(NamedTuple):
    """Copies of everything that decides the next page of a bandit."""

    chooser: Chooser
    key: int
    rounds: int
    names: list[Hashable]
    free: int  # the number of decisions that can be made before the oldest expires
    expiring: list[int]  # the slots of the decisions that expire after that, oldest first

    def decisions(self, among: Ints | Complement, count: int) -> tuple[Decision, ...]:
        """Return the decisions of the page. This changes the copies."""
        pending = self.chooser.pending
        page, free, expiring = Page(among, pending), self.free, iter(self.expiring)
        made: list[Decision] = []
        for t in range(self.rounds + 1, self.rounds + count + 1):
            if free == 0:
                oldest = next(expiring)
                pending.ended(oldest)
                page.recount(oldest)
                free = 1
            slot, propensity, reason = self.chooser.choose(t, self.key, page, True)
            made.append(Decision("", self.names[slot], t, propensity, reason))  # type: ignore[arg-type]
            pending.decided(slot)
            page.take(slot)
            free -= 1
        return tuple(made)
