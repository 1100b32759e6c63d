"""Detects programs that do not report rewards of 0: if only clicks are reported, every arm looks equally good.

A decision that paid nothing must get a reward of 0; a decision without a reward stays pending. As long as no reward was 0, only
time can tell missing zeros from late rewards. A decision is overdue when it has been pending for more than twice as long as any
reward took so far. The bandit warns once most decisions are overdue, after 20 rewards, or after 8 if all of them are equal, as
clicks are. It stops watching once it has 1,000 rewards that differ, and nearly all decisions have one: then rewards are never 0
by nature.

`Bandit.update` names an arm and not a decision, so its reward goes to the oldest decision of the arm. If some rewards never
come, these delays mean nothing. Then only the delay of the first reward counts, and only equal rewards lead to a warning.
"""

from dataclasses import astuple, dataclass

_OVERDUE = 2  # times the longest delay of a reward
_ENOUGH_EQUAL, _ENOUGH = 8, 20  # rewards before a warning: if all are equal, and otherwise
_TRUSTED = 1_000  # rewards


@dataclass(slots=True)
class MissingZeros:
    """What the rewards of decisions have in common so far."""

    rewards: int = 0  # their number
    last: float | None = None
    differ: bool = False
    longest: int = 0  # the longest delay, in rounds
    by_arm: bool = False  # whether a reward named an arm instead of a decision
    done: bool = False  # whether rewards need no longer be watched

    def to_json(self) -> list[float | None]:
        """Return the arguments that restore this object."""
        return list(astuple(self))

    def add_reward(self, reward: float, delay: int, by_id: bool, n_pending: int) -> bool:
        """Record the reward of a decision, and return whether to warn now that rewards of 0 seem to be missing.

        Args:
            reward: the reward.
            delay: rounds between the decision and the reward.
            by_id: whether the reward named the decision by its id.
            n_pending: decisions without a reward.
        """
        if reward == 0.0:
            self.done = True
            return False
        if delay > self.longest and (by_id or self.last is None):
            self.longest = delay
        self.by_arm = self.by_arm or not by_id
        if reward != self.last:
            self.differ, self.last = self.last is not None, reward
        self.rewards += 1
        if self.rewards >= _TRUSTED and self.differ and 10 * n_pending <= self.rewards:
            self.done = True
            return False
        # At most `_OVERDUE (longest + 1)` pending decisions are not overdue; there must be more overdue ones than all others.
        if n_pending <= self.rewards + 2 * _OVERDUE * (self.longest + 1) or self.rewards < _ENOUGH_EQUAL:
            return False
        if self.differ and (self.by_arm or self.rewards < _ENOUGH):
            return False
        self.done = True
        return True
