"""The holdout: a share of the decisions is taken uniformly at random, which shows what the policy is worth.

With `holdout=0.05`, one decision in twenty draws each available arm with the same probability. A decision with a `unit` is held
out if a hash of the unit falls into the share, so that the same user stays on one side; any other decision if a hash of its
round does. In both cases an arm has the propensity `(1 - holdout) p + holdout / K`: that with which the policy chooses it,
mixed with that of a uniform draw among the K available arms.

`bandit.uplift()` compares the mean rewards of the two sides. Its interval is a confidence sequence: it holds the truth at all
times at once with the given probability, so it may be looked at after every decision. For each side, the sum of the differences
between rewards and their expected values is bounded by a mixture of the empirical Bernstein supermartingales

    exp(l S - psi(l) V),  psi(l) = (-log(1 - c l) - c l) / c**2,  0 < l < 1 / c,

where c is the length of the range of rewards, S the sum of the differences, and V the sum of the squared differences between
each reward and the mean of those before it (Howard, Ramdas, McAuliffe, Sekhon, "Time-uniform, nonparametric, nonasymptotic
confidence sequences", Annals of Statistics 2021, Theorem 4; the mean may change with time). By Ville's inequality, the mixture
exceeds 1 / error at any time with a probability of at most `error`.
"""

import math
from dataclasses import astuple, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from rotting.common.arrays import Ints
from rotting.common.rules import Rule, finite
from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.policies.kernels.random_numbers import derive_key

SHARE = Rule("a share from 0 to below 1", low=0.0, high=1.0, open_high=True)
"""The rule for a holdout."""
_CONFIDENCE = Rule("a number between 0 and 1", low=0.0, high=1.0, open_low=True, open_high=True)
_STEPS = np.arange(20)
_RATES = 0.5 * 0.5**_STEPS  # the l of the mixture, in units of 1 / c
_WEIGHTS = 1.0 / ((_STEPS + 1.0) * (_STEPS + 2.0))  # which sum to less than one


def is_held_out(share: float, key: int, t: int, unit: str | None) -> bool:
    """Return whether the decision of round t is taken uniformly.

    Example:
        >>> [t for t in range(100) if is_held_out(0.05, 7, t, None)]
        [17, 38, 53]
    """
    if share <= 0.0:
        return False
    return derive_key(key, f"holdout of round {t}" if unit is None else f"holdout/{unit}") < share * 2.0**63


def uniform_slot(key: int, t: int, among: Ints) -> int:
    """Return the slot that a decision in round t draws if it is held out."""
    return int(among[derive_key(key, f"holdout slot of round {t}") % among.size])


@dataclass
class Side:
    """What the decisions of one side have paid."""

    rewards: int = 0  # their number
    total: float = 0.0
    squares: float = 0.0  # the V of the module, without the first reward
    least: float = math.inf
    most: float = -math.inf

    def add(self, reward: float) -> None:
        """Count a reward."""
        if self.rewards:
            self.squares += (reward - self.total / self.rewards) ** 2
        self.rewards += 1
        self.total += reward
        self.least, self.most = min(self.least, reward), max(self.most, reward)

    @property
    def mean(self) -> float:
        """The mean reward; NaN without one."""
        return self.total / self.rewards if self.rewards else math.nan

    def width(self, span: float, error: float) -> float:
        """Return how far the mean may be above the expected one, or below it, at any time, with this probability of an error.

        Example:
            >>> side = Side()
            >>> for k in range(10_000):
            ...     side.add(float(k % 20 == 0))
            >>> round(side.width(1.0, 0.025), 4)
            0.0081
        """
        if not self.rewards:
            return math.inf
        variance = self.squares / span**2 + 1.0  # the first reward may have been as far as the range is long
        growth = np.log(_WEIGHTS) + (np.log1p(-_RATES) + _RATES) * variance
        low, high = 0.0, float(self.rewards)
        for _ in range(60):  # the mixture grows with the sum: bisect
            middle = (low + high) / 2.0
            exponents = growth + _RATES * middle
            largest = exponents.max()
            is_below = largest + math.log(np.exp(exponents - largest).sum()) < -math.log(error)
            low, high = (middle, high) if is_below else (low, middle)
        return span * high / self.rewards


@dataclass
class Comparison:
    """The rewards of both sides, of the decisions after round `since`."""

    since: int = 0
    policy: Side = field(default_factory=Side)
    uniform: Side = field(default_factory=Side)

    def add(self, round: int, held_out: bool, reward: float) -> None:
        """Count the reward of a decision."""
        if round > self.since:
            (self.uniform if held_out else self.policy).add(reward)

    def copy(self) -> "Comparison":
        """Return an independent copy."""
        return Comparison.from_json(self.to_json())

    def to_json(self) -> list[Any]:
        """Return the numbers that `from_json` takes; without the smallest and the largest of no rewards."""
        sides = (self.policy, self.uniform)
        return [self.since, *(list(astuple(side)) if side.rewards else [] for side in sides)]

    @classmethod
    def from_json(cls, data: list[Any]) -> "Comparison":
        """Return the comparison that `to_json` wrote."""
        return cls(data[0], Side(*data[1]), Side(*data[2]))


class Uplift(NamedTuple):
    """What the policy earns above uniform choices per decision; `bandit.uplift()` returns one.

    Means are NaN without rewards.
    """

    difference: float
    """The mean reward of the policy's decisions minus that of the uniform ones."""
    low: float
    high: float
    """The interval for the difference, which may be looked at any time."""
    policy: float
    uniform: float
    rewards: tuple[int, int]
    """The number of rewards on both sides."""

    @property
    def verdict(self) -> str:
        """What the interval says: "the policy earns more", "the policy earns less" or "too early to tell"."""
        if self.low > 0.0:
            return "the policy earns more"
        return "the policy earns less" if self.high < 0.0 else "too early to tell"

    def __str__(self) -> str:
        numbers = f"{self.policy:.6g} with the policy, {self.uniform:.6g} without, difference {self.difference:.6g}"
        return f"{self.verdict}: {numbers} [{self.low:.6g}, {self.high:.6g}]"


def uplift(comparison: Comparison | None, declared: object, reward_range: object, confidence: object) -> Uplift:
    """Compare both sides.

    Args:
        comparison: the rewards; None without a holdout.
        declared: the range of rewards that the policy declares, or None.
        reward_range: the range that the caller gives, or None.
        confidence: the probability with which all intervals hold the truth.
    """
    if comparison is None:
        raise InvalidValueError("holdout", "be positive, so that there is something to compare with", 0.0)
    error = (1.0 - _CONFIDENCE.check("confidence", confidence)) / 4.0  # two sides, above and below
    one, other = comparison.policy, comparison.uniform
    low, high = _checked_range(declared, reward_range, min(one.least, other.least), max(one.most, other.most))
    span, difference = high - low, one.mean - other.mean
    width = one.width(span, error) + other.width(span, error)
    # `max` and `min` return their first argument if the other one is NaN.
    least, most = max(-span, difference - width), min(span, difference + width)
    return Uplift(difference, least, most, one.mean, other.mean, (one.rewards, other.rewards))


def _checked_range(declared: object, given: object, least: float, most: float) -> tuple[float, float]:
    """Return the range of rewards, which must hold those from `least` to `most`."""
    pair = given if given is not None else declared if declared is not None else (0.0, 1.0)
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise InvalidTypeError("reward_range", "be a pair of the smallest and the largest possible reward", pair)
    low, high = (finite("reward_range", each) for each in pair)
    if not low < high or least < low or most > high:
        hint = f"; rewards were from {least:g} to {most:g}" if least <= most else ""
        raise InvalidValueError("reward_range", "hold the smallest and the largest possible reward", (low, high), hint=hint)
    return low, high
