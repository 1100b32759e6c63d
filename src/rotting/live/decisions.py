"""Decisions of a bandit, their ids, and the outcomes of their rewards."""

import os
from collections import deque
from typing import Generic, Literal, NamedTuple

from rotting.errors import InvalidTypeError
from rotting.live.arms import Arm
from rotting.live.explanations import ArmExplanation

Outcome = Literal["applied", "duplicate", "conflict", "unknown", "expired"]
"""The outcome of a reward.

`applied`: the reward counts. `duplicate`: the decision already has this reward; nothing changes. `conflict`: the decision
already has another reward, which stays. `unknown`: there is no such decision, or its reward came too long ago to be remembered.
`expired`: the decision was cancelled or has expired, or its arm was forgotten.
"""

Key = str | int
"""The id of a decision; the number of its round if it was made by `pull`, which returns no id."""


class Decision(NamedTuple, Generic[Arm]):
    """An arm that was chosen, with the id to report its reward under.

    Args:
        id: a unique id that cannot be guessed; keep it until the reward comes. Methods that take the id of a decision, such as
            `Bandit.reward`, also take the decision itself.
        arm: the arm to play.
        round: the round of the decision, from 1.
        propensity: the probability with which this arm was chosen.
        reason: why it was chosen: its index, mean, window, width, rewards so far (`pulls`), and pending decisions (`pending`).

    Example:
        >>> import rotting
        >>> bandit = rotting.Bandit(rotting.UCB1(), arms=["jazz", "rock"])
        >>> decision = bandit.decide()
        >>> decision.arm, decision.round, decision.propensity, decision.reason.pending
        ('jazz', 1, 1.0, 0)
        >>> bandit.reward(decision.id, 1.0), bandit.reward(decision, 1.0)
        ('applied', 'duplicate')
    """

    id: str
    arm: Arm
    round: int
    propensity: float
    reason: ArmExplanation


def id_of(decision: object) -> str:
    """Return the id of a decision, given the decision or its id.

    Example:
        >>> id_of(Decision("4f", "jazz", 1, 1.0, ArmExplanation(0.0, 0.0, 0, 0.0, 0, 0))), id_of("4f")
        ('4f', '4f')
    """
    key = decision.id if isinstance(decision, Decision) else decision
    if not isinstance(key, str):
        raise InvalidTypeError("id", "be a Decision or its id, a string", decision)
    return key


class Ids:
    """Makes ids that cannot be guessed, 32 at a time: reading random bytes from the system takes longer than a decision.

    More at a time would cost less on average, and more for the decision that has to wait for them.

    Any number of threads may use it, and no lock is needed: the methods of a deque are atomic.
    """

    _BYTES_PER_ID, _IDS_AT_ONCE = 16, 32

    def __init__(self) -> None:
        self._unused: deque[str] = deque()
        if hasattr(os, "register_at_fork"):  # not on Windows
            os.register_at_fork(after_in_child=self._unused.clear)  # a child must not use the ids of its parent

    def new(self) -> str:
        """Return a new id."""
        try:
            return self._unused.pop()
        except IndexError:
            size = self._BYTES_PER_ID
            first, *others = os.urandom(size * self._IDS_AT_ONCE).hex(" ", size).split()
            self._unused.extend(others)
            return first
