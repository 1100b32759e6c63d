"""Are rewards of 0 reported? Who reports only the clicks teaches a bandit to prefer the worst arm.

A decision that paid nothing must be answered with a reward of 0: one without an answer is still waited for. As long as no
reward was 0, only time can tell this from rewards that are late. A decision is overdue when it waits more than twice as long as
any answer took so far. It is told when most decisions are overdue, after so many answers that a slow one would have been among
them. Fewer will do as long as all are the same: those are clicks. Who answered nearly all of a thousand decisions, with rewards
that differ, is not watched any more: such rewards are never 0 by nature.

Rewards that come with an arm, and not with an id, answer the oldest decision of the arm, so their delays say nothing if some
never come. Then only clicks are told, by the delay of the first one.
"""

from typing import Any

_LONG = 2  # times the longest delay of an answer
_CLICKS, _ENOUGH = 8, 20  # answers: if all are the same, and else
_SURE = 1_000  # answers, of which nearly all decisions had one


class Reporting:
    """What the rewards of decisions had in common so far."""

    def __init__(
        self,
        answers: int = 0,
        value: float | None = None,
        differ: bool = False,
        longest: int = 0,
        by_arm: bool = False,
        told: bool = False,
    ) -> None:
        self._answers, self._value, self._differ, self._longest, self._by_arm = answers, value, differ, longest, by_arm
        self.told = told
        """Whether there is nothing to tell any more."""

    def to_json(self) -> list[Any]:
        """Return the arguments."""
        return [self._answers, self._value, self._differ, self._longest, self._by_arm, self.told]

    def note(self, reward: float, delay: int, by_id: bool, waiting: int) -> bool:
        """Note the reward of a decision, and return, once, whether rewards of 0 seem not to be reported.

        Args:
            reward: what it paid.
            delay: how many rounds it took.
            by_id: whether the decision has an id.
            waiting: decisions without an answer.
        """
        if reward == 0.0:
            self.told = True
            return False
        if delay > self._longest and (by_id or self._value is None):
            self._longest = delay
        self._by_arm = self._by_arm or not by_id
        if reward != self._value:
            self._differ, self._value = self._value is not None, reward
        self._answers += 1
        if self._answers >= _SURE and self._differ and 10 * waiting <= self._answers:
            self.told = True
            return False
        # Of those that wait, at most `_LONG (longest + 1)` are not overdue; the others must be more than those and the answers.
        if waiting <= self._answers + 2 * _LONG * (self._longest + 1) or self._answers < _CLICKS:
            return False
        if self._differ and (self._by_arm or self._answers < _ENOUGH):
            return False
        self.told = True
        return True
