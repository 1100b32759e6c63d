"""Previews the next decisions of a bandit on copies of its state."""

from typing import Generic, NamedTuple

from rotting.common.arrays import Ints
from rotting.live.arms import Arm, Complement
from rotting.live.choosing import Chooser
from rotting.live.decisions import Decision
from rotting.live.ledger import Expiry
from rotting.live.pages import Page


class Preview(NamedTuple, Generic[Arm]):
    """Copies of everything that decides the next page of a bandit."""

    chooser: Chooser
    key: int
    rounds: int
    names: list[Arm]
    free: int  # the number of decisions that can be made before the oldest expires
    expiries: list[Expiry]  # the decisions that expire after that, oldest first

    def decisions(self, among: Ints | Complement, count: int) -> tuple[Decision[Arm], ...]:
        """Return the decisions of the page. This changes the copies."""
        page, free, expiries = Page(among, self.chooser.pending), self.free, iter(self.expiries)
        made: list[Decision[Arm]] = []
        for t in range(self.rounds + 1, self.rounds + count + 1):
            while free <= 0:
                free += self._expire(next(expiries), t - 1, page)
            slot, propensity, reason = self.chooser.choose(t, self.key, page, True)
            made.append(Decision("", self.names[slot], t, propensity, reason))  # type: ignore[arg-type]
            self.chooser.pending.decided(slot)
            page.take(slot)
            free -= 1
        return tuple(made)

    def _expire(self, expiry: Expiry, rounds: int, page: Page) -> int:
        """End a decision; return how many places become free."""
        chooser, slot = self.chooser, expiry.slot
        chooser.pending.ended(slot)
        page.recount(slot)
        for decided, reward in expiry.followers:
            chooser.learner.learn(rounds, slot, reward)
            chooser.early.remove(decided)
        return 1 + len(expiry.followers)
