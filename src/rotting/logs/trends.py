"""Does the reward of an arm fall? Its launch against its recent pulls, with an interval that an adaptive log cannot mislead.

A policy that learns stops pulling an arm after bad luck, so the last pulls of an arm look worse than they are, and a plain
interval around their mean is wrong. The comparison here is made at pull counts that were fixed before any reward was seen: at
the largest number n of a fixed grid that the arm has reached, the first quarter of these n pulls is compared with the last
quarter. The interval holds for all arms and for all numbers of the grid at once (Bonferroni), so it does not matter why the
policy stopped.
"""

import math
from collections.abc import Hashable, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats
from rotting.common.statistics import Interval
from rotting.display.tables import interval_text, number_format
from rotting.logs.log import Log, rewards_by_arm
from rotting.logs.verdicts import ArmVerdict

ERROR = 0.05  # probability that the interval of any arm is wrong
FEWEST_REWARDS = 40  # of an arm to be judged
GRID = 2 ** (1 / 8)  # ratio of neighbouring numbers of the grid: at most 8 % of the pulls are left out
QUARTER = 4
MARGIN = 0.25  # of the level: a change below it is not worth acting on


class ArmTrend(NamedTuple):
    """What a log says about one arm.

    `pulls` counts all its rows, also those without a reward; the verdict rests on its known rewards. `launch` and `recent` are
    the means of the first and the last quarter of these; `low` and `high` are the 95 % interval of the change from `launch` to
    `recent`, which holds for all arms at once. They are NaN if there are too few rewards.
    """

    name: Hashable
    pulls: int
    launch: float
    recent: float
    low: float
    high: float
    verdict: ArmVerdict

    def change_text(self, style: str) -> str:
        """Return the change from launch to recent with its interval as text, in the format of the levels; - without one."""
        change = Interval(self.recent - self.launch, self.low, self.high)
        # An end that is rounded to 0 keeps its sign: an arm wears out if the whole interval is below 0.
        return "-" if math.isnan(self.low) else interval_text(change, f"+{style}")


def level_format(arms: Sequence[ArmTrend]) -> str:
    """Return one format for the levels of arms and their changes, with as many digits as the intervals support.

    Example:
        >>> level_format([ArmTrend("a", 9_000, 0.034211, 0.021053, -0.026211, -0.000105, "wears out")])
        ',.4f'
    """
    judged = [each for each in arms if not math.isnan(each.low)]
    levels = [level for each in judged for level in (each.launch, each.recent)]
    # Levels are known about three times as well as changes, whose intervals are of a difference, and hold for all arms at once.
    return number_format(levels, [(each.high - each.low) / 6 for each in judged])


def grid_up_to(rows: int) -> list[int]:
    """Return the numbers of rewards at which an arm may be judged in a log of this many rows, each a multiple of four.

    Example:
        >>> grid_up_to(60)
        [40, 44, 48, 56]
    """
    steps = range(math.floor(math.log(max(rows, FEWEST_REWARDS) / FEWEST_REWARDS, GRID)) + 1)
    numbers = {QUARTER * math.floor(FEWEST_REWARDS * GRID**k / QUARTER) for k in steps}
    return sorted(numbers & set(range(FEWEST_REWARDS, rows + 1)))


def arm_trends(log: Log) -> list[ArmTrend]:
    """Return the trend of every arm, in the order of `log.arms`."""
    grid = grid_up_to(len(log))
    comparisons = max(1, len(grid)) * len(log.arms)
    width = NormalDist().inv_cdf(1 - ERROR / comparisons / 2)
    rewards = rewards_by_arm(log)
    level = float(np.mean([abs(each.mean()) for each in rewards if each.size])) if any(each.size for each in rewards) else 0.0
    arms = zip(log.arms, log.pulls.tolist(), rewards, strict=True)
    return [_trend(name, pulls, each, grid, width, level) for name, pulls, each in arms]


def _trend(name: Hashable, pulls: int, rewards: Floats, grid: list[int], width: float, level: float) -> ArmTrend:
    reached = [n for n in grid if n <= rewards.size]
    if not reached:
        return ArmTrend(name, pulls, math.nan, math.nan, math.nan, math.nan, "too few")
    quarter = reached[-1] // QUARTER
    first, last = rewards[:quarter], rewards[reached[-1] - quarter : reached[-1]]
    launch, recent = float(first.mean()), float(last.mean())
    # The variance of both together as well: one window of clicks may have none, and then no variance of its own.
    spread = max(first.var() + last.var(), 2 * np.concatenate([first, last]).var() * quarter / (2 * quarter - 1))
    half = width * math.sqrt(spread / quarter)
    low, high = recent - launch - half, recent - launch + half
    margin = MARGIN * max(abs(launch), level)
    verdict: ArmVerdict
    if high < 0:
        verdict = "wears out"
    elif low > 0:
        verdict = "rises"
    elif -margin <= low and high <= margin:
        verdict = "steady"
    else:
        verdict = "too few"
    return ArmTrend(name, pulls, launch, recent, low, high, verdict)
