"""The values that the methods of a bandit take and return: decisions with their reasons, outcomes, durations, rewards."""

import math
import numbers
import os
import re
from base64 import urlsafe_b64encode
from datetime import timedelta
from typing import Generic, Literal, NamedTuple

import numpy as np

from rotting.common.display.tables import Column, FormattedTable
from rotting.common.rules import LARGEST
from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.live.arms import Arm
from rotting.policy import Policy, how_to_accept, range_error

# --- Decisions ----------------------------------------------------------------------------------------------------------------

Outcome = Literal["applied", "duplicate", "conflict", "unknown", "expired"]
"""The outcome of a reward.

`applied`: the reward counts. `duplicate`: the decision already has this reward; nothing changes. `conflict`: the decision
already has another reward, which stays. `unknown`: there is no such decision, or its reward came too long ago to be remembered.
`expired`: the decision was cancelled or has expired, or its arm was forgotten.
"""

Key = str | int
"""The id of a decision; the number of its round if it was made by `pull`, which returns no id."""


class ArmExplanation(NamedTuple):
    """Why one arm is or is not chosen; numbers that the policy does not compute are NaN or 0.

    `pulls` is the number of rewards that were learned, `pending` the number of decisions without a reward. `rule` is what
    overrules the policy: "holdout" (the arm was drawn uniformly), "floor" (it had less than its floor), "cap" (the policy would
    have chosen an arm that had reached its cap), or "" if nothing does. Of an arm in `Bandit.explain`, it is "paused", "cap" or
    "floor".
    """

    index: float  # type: ignore[assignment]  # hides a method of tuples that nobody needs here
    mean: float
    window: int
    width: float
    pulls: int
    pending: int = 0
    rule: str = ""


class Explanation(dict[Arm, ArmExplanation]):
    """One `ArmExplanation` for each arm, in a dict; printed as a table."""

    def __str__(self) -> str:
        return str(self._table())

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()

    def _table(self) -> FormattedTable:
        def number(name: str) -> Column:
            return Column(name, lambda row: f"{row[name]:.6g}")

        rows = [{"arm": arm, **explanation._asdict()} for arm, explanation in self.items()]
        columns = (Column("arm", lambda row: repr(row["arm"])), *map(number, ArmExplanation._fields[:-1]))
        rules = (Column("rule", lambda row: row["rule"]),) if any(row["rule"] for row in rows) else ()
        return FormattedTable((), (*columns, *rules), rows)


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
    if isinstance(decision, str):
        return decision
    if isinstance(decision, Decision) and isinstance(decision.id, str):
        return decision.id
    raise InvalidTypeError("id", "be a Decision or its id, a string", decision)


def new_id() -> str:
    """Return a new id of a decision, which cannot be guessed: 96 random bits as 16 letters, digits, `-` and `_`."""
    return urlsafe_b64encode(os.urandom(12)).decode()


# --- Durations ----------------------------------------------------------------------------------------------------------------

Duration = str | float | timedelta
"""A duration: "45s", "30min", "2h" or "1d", a `timedelta`, or a number of seconds."""

_SECONDS = {"s": 1.0, "min": 60.0, "h": 3_600.0, "d": 86_400.0}
_TEXT = re.compile(rf"(\d+(?:\.\d+)?)\s*({'|'.join(_SECONDS)})")
_LONGEST = 1e12  # seconds: later times cannot be stored
_RULE = 'be a positive duration: "30min", "2h", "1d", a timedelta or seconds'


def seconds_in(field: str, duration: object) -> float:
    """Return a duration in seconds, or raise an error that names the field.

    Example:
        >>> [seconds_in("reward_window", each) for each in ("30min", "2h", timedelta(days=1), 45)]
        [1800.0, 7200.0, 86400.0, 45.0]
        >>> seconds_in("age", "?")
        Traceback (most recent call last):
        ...
        rotting.errors.InvalidValueError: age must be a positive duration: "30min", "2h", "1d", a timedelta or seconds, got '?'
    """
    if isinstance(duration, str):
        match = _TEXT.fullmatch(duration.strip())
        seconds = float(match[1]) * _SECONDS[match[2]] if match else math.nan
    elif isinstance(duration, timedelta):
        seconds = duration.total_seconds()
    elif isinstance(duration, numbers.Real) and not isinstance(duration, bool):
        seconds = float(duration)
    else:
        raise InvalidTypeError(field, _RULE, duration)
    if not 0.0 < seconds <= _LONGEST:
        raise InvalidValueError(field, _RULE, duration, hint="; the longest is 1e12 s" if seconds > _LONGEST else "")
    return seconds


def check_text(name: str, text: object) -> str:
    """Return a text that logs can carry, or raise an error that calls it `name`."""
    if not isinstance(text, str):
        raise InvalidTypeError(name, "be a string", text)
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InvalidValueError(name, "be valid Unicode without null characters", text)
    return text


# --- Rewards ------------------------------------------------------------------------------------------------------------------


class RewardRule:
    """The rule for the rewards of a policy: they must be in its `reward_range`."""

    __slots__ = ("_policy", "least", "most")

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        low, high = policy.reward_range or (-math.inf, math.inf)
        self.least, self.most = max(low, -LARGEST), min(high, LARGEST)
        """The smallest and the largest reward that `check` accepts."""

    @property
    def middle(self) -> float:
        """A reward that `check` accepts."""
        low, high = (each if math.isfinite(each) else 0.0 for each in self._policy.reward_range or (0.0, 0.0))
        return (low + high) / 2.0

    def check(self, reward: object, name: str = "reward") -> float:
        """Return the reward as a float, or raise an error that calls it `name`."""
        value = check_number(reward, name)
        if not self.least <= value <= self.most:
            raise range_error(self._policy, name, reward, how_to_accept(self._policy, value, value))
        return value


def check_number(reward: object, name: str) -> float:
    """Return a reward of any policy as a float, or raise an error that calls it `name`."""
    if type(reward) is not float and (isinstance(reward, bool | np.bool_) or not isinstance(reward, numbers.Real)):
        raise InvalidTypeError(name, "be a finite number", reward, hint=_hint(reward))
    try:
        value = float(reward)
    except OverflowError:
        value = math.inf
    if not abs(value) <= LARGEST:
        raise InvalidValueError(name, f"be a finite number of at most {LARGEST:g} in size", reward)
    return value


def _hint(reward: object) -> str:
    """Return a hint for a value that could be converted to a reward."""
    if isinstance(reward, bool | np.bool_):
        return "; pass 1.0 or 0.0 if that is the reward"
    return "; write float(reward)" if hasattr(reward, "__float__") else ""
