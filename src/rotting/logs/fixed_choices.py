"""What a fixed choice would have earned: one arm in every round, or an arm at random, by inverse propensities.

For each arm, a row weighs 1 / propensity if it shows the arm, and 0 otherwise. If the propensities are right, the weights of an
arm average 1, and b + weight * (reward - b) averages what the arm pays, for any number b that was known before the row
(Horvitz and Thompson 1952). Here b is the mean of the rewards before. This holds whichever policy wrote the log, also if it
learned from the rewards.

The weights check the propensities: those of an arm that could not be chosen in some rounds do not average 1, and then the arm
has no value here.

The value of an arm is that of the state in which each row found it. If arms wear out with their pulls, an arm that is always
chosen pays less.
"""

import math
from collections.abc import Hashable, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rotting.common.arrays import Floats, Ints
from rotting.common.statistics import LEVEL, Interval, NoInterval
from rotting.display.tables import NO_INTERVAL, Column, FormattedTable, interval_text, number_format
from rotting.logs.log import Log

_FALSE_ALARM = 0.001  # the chance that the right propensities of a log fail their check
_FEWEST_ROWS = 30  # rows of equal weight, below which a mean is not nearly normal


class FixedChoice(NamedTuple):
    """What a fixed choice would have earned.

    Args:
        arm: the arm of every round; None for an arm at random, every available one with the same chance.
        rounds: the number of rows in which the arm was available, and whose reward and propensity are known.
        weight: the mean weight of these rows, about 1 if the propensities are right.
        value: the mean reward of a round, with its 95 % interval.
    """

    arm: Hashable | None
    rounds: int
    weight: float
    value: Interval


def fixed_choices(log: Log) -> tuple[FixedChoice, ...]:
    """Return the value of each arm and of a random arm; nothing without propensities.

    Example:
        >>> columns = {"arm": ["a", "b"] * 50, "reward": [1.0, 0.5] * 50, "p": [0.5] * 100}
        >>> [(each.arm, round(each.value.mean, 2)) for each in fixed_choices(Log(columns, propensity="p"))]
        [('a', 1.0), ('b', 0.49), (None, 0.75)]
    """
    if log.propensity is None:
        return ()
    used = log.known & ~np.isnan(log.propensity)
    if used.sum() < 2:
        return ()
    arm, reward, weight = log.arm[used], log.reward[used], 1 / log.propensity[used]
    before = np.cumsum(reward)[:-1] / np.arange(1, reward.size)  # there is none before the first row, which is left out
    arm, reward, weight = arm[1:], reward[1:], weight[1:]
    masks, which = _availability(log)
    which = which[used][1:]
    alarm = NormalDist().inv_cdf(1 - _FALSE_ALARM / 2 / (len(log.arms) + 1))
    found = []
    for i, name in enumerate(log.arms):
        there = masks[which, i]
        if there.any():
            found.append(_choice(name, np.where(arm == i, weight, 0.0)[there], reward[there], before[there], alarm))
    return *found, _choice(None, weight / masks.sum(axis=1)[which], reward, before, alarm)


def _availability(log: Log) -> tuple[NDArray[np.bool_], Ints]:
    """Return different sets of available arms [set, arm], and the set of each row."""
    if log.available is None:
        return np.ones((1, len(log.arms)), bool), np.zeros(len(log), np.int64)
    numbers: dict[frozenset[Hashable], int] = {}
    which = np.array([numbers.setdefault(each, len(numbers)) for each in log.available])
    return np.array([[name in each for name in log.arms] for each in numbers]), which


def _choice(arm: Hashable | None, weight: Floats, reward: Floats, before: Floats, alarm: float) -> FixedChoice:
    rounds, mean = weight.size, float(weight.mean())
    scores = before + weight * (reward - before)
    return FixedChoice(arm, rounds, mean, _value(_name(arm), weight, scores, alarm))


def _value(name: str, weight: Floats, scores: Floats, alarm: float) -> Interval:
    """Return the mean of the scores with its interval, unless the weights are wrong or too few."""
    off = float(weight.mean()) - 1
    if abs(off) > alarm * float(weight.std()) / math.sqrt(weight.size):
        return NoInterval(math.nan, f"the weights of {name} average {1 + off:.2g}, not 1, so its propensities cannot be right")
    rows = float(weight.sum() ** 2 / (weight**2).sum())
    if rows < _FEWEST_ROWS:
        return NoInterval(float(scores.mean()), f"the weights of {name} are worth {rows:.0f} rows, fewer than {_FEWEST_ROWS}")
    half = NormalDist().inv_cdf((1 + LEVEL) / 2) * float(scores.std(ddof=1)) / math.sqrt(scores.size)
    mean = float(scores.mean())
    return Interval(mean, mean - half, mean + half)


def fixed_table(choices: Sequence[FixedChoice]) -> FormattedTable:
    """Return fixed choices as a formatted table."""
    values = [each.value for each in choices if not math.isnan(each.value.mean)]
    style = number_format([each.mean for each in values], [each.high - each.mean for each in values if each.high is not None])
    columns = (
        Column("always", lambda row: _name(row["arm"])),
        Column("rounds", lambda row: f"{row['rounds']:,}"),
        Column("mean weight", lambda row: f"{row['weight']:.3f}"),
        Column("reward per round", lambda row: _value_text(row["value"], style)),
    )
    lines = ("What one arm, or an arm at random, would have earned in every round, by the propensities of the log.",)
    notes = ("The arm as each round found it: if arms wear out with their pulls, an arm that is always chosen pays less.",)
    return FormattedTable(lines, columns, [each._asdict() for each in choices], left=1, notes=notes)


def _value_text(value: Interval, style: str) -> str:
    return NO_INTERVAL if math.isnan(value.mean) else interval_text(value, style)


def _name(arm: Hashable | None) -> str:
    return "a random arm" if arm is None else str(arm)
