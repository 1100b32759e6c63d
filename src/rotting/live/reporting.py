"""Are rewards of 0 reported? Who reports only the clicks teaches a bandit to prefer the worst arm.

A decision that paid nothing must be answered with a reward of 0: one without an answer is still waited for. This cannot be told
from rewards that are late, but two signs are plain, as long as no reward is 0 and most decisions have no answer: all rewards
are the same (clicks), or decisions wait four times as long as any answer took.
"""

from typing import Any

_ENOUGH = 20  # answers
_LONG = 4  # times the longest delay of an answer


class Reporting:
    """What the rewards of decisions had in common so far."""

    def __init__(
        self, answers: int = 0, value: float | None = None, differ: bool = False, longest: int | None = None, told: bool = False
    ) -> None:
        self._answers, self._value, self._differ, self._longest, self.told = answers, value, differ, longest, told

    def to_json(self) -> list[Any]:
        """Return the arguments."""
        return [self._answers, self._value, self._differ, self._longest, self.told]

    def note(self, reward: float, delay: int | None, waiting: int) -> bool:
        """Note the reward of a decision, and return whether so few are answered that `seems_partial` has something to tell.

        Args:
            reward: what it paid.
            delay: how many rounds it took, if it came with its id.
            waiting: decisions without an answer.
        """
        if reward == 0.0:
            self.told = True  # zeros are reported: there is nothing to tell
        if not self._differ:
            self._differ = self._value is not None and self._value != reward
            self._value = reward
        if delay is not None and (self._longest is None or delay > self._longest):
            self._longest = delay
        answers = self._answers = self._answers + 1
        return waiting > answers >= _ENOUGH and not self.told

    def seems_partial(self, age: int) -> bool:
        """Tell once that zeros seem not to be reported.

        Args:
            age: rounds since the oldest decision without an answer.
        """
        if self._differ and (self._longest is None or age <= _LONG * (self._longest + 1)):
            return False
        self.told = True
        return True
