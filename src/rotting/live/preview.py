"""Previews the next decisions of a bandit on copies of its state."""

from collections import deque
from typing import Generic, NamedTuple

from rotting.common.arrays import Ints
from rotting.live.arms import Arm, Complement
from rotting.live.chooser import Chooser
from rotting.live.decisions import Decision
from rotting.live.ledger import Entry
from rotting.live.pages import Page


class Preview(NamedTuple, Generic[Arm]):
    """Copies of everything that decides the next page of a bandit."""

    chooser: Chooser
    random_key: int
    rounds: int
    names: list[Arm]
    missing: float | None  # the reward of a decision whose reward window closes without one; None: nothing is learned
    closed: int  # how many of the oldest decisions have a reward window that has closed
    free: int  # the number of decisions that can be made before the oldest ends
    oldest: deque[Entry]  # the decisions that may end meanwhile, oldest first

    def decisions(self, among: Ints | Complement, count: int) -> tuple[Decision[Arm], ...]:
        """Return the decisions of the page. This changes the copies."""
        pending, free = self.chooser.pending, self.free
        for _ in range(self.closed):
            free += self._end_oldest(self.rounds, None)
        page = Page(among, pending)
        made: list[Decision[Arm]] = []
        for t in range(self.rounds + 1, self.rounds + count + 1):
            if free == 0:
                free += self._end_oldest(t - 1, page)
            slot, propensity, reason = self.chooser.choose(t, self.random_key, page, True)
            made.append(Decision("", self.names[slot], t, propensity, reason))  # type: ignore[arg-type]
            pending.decided(slot)
            page.take(slot)
            free -= 1
        return tuple(made)

    def _end_oldest(self, rounds: int, page: Page | None) -> int:
        """End the oldest decision as a bandit would after so many rounds, with those that settle then; return how many."""
        ended = 0
        while self.oldest and (ended == 0 or self.oldest[0].reward is not None):
            entry = self.oldest.popleft()
            self.chooser.settle(entry, self.missing if entry.reward is None else entry.reward, rounds)
            if page is not None:
                page.recount(entry.slot)
            ended += 1
        return ended
