"""`diagnose`: does anything wear out, which arms, and along which clock.

A policy that learns stops pulling an arm after bad luck, so the last pulls of an arm look worse than they are, and a plain
interval around their mean is wrong. The launch of an arm is compared with its recent pulls at pull counts that were fixed
before any reward was seen: at the largest number n of a fixed grid that the arm has reached, the first quarter of these n pulls
is compared with the last quarter. The interval holds for all arms and for all numbers of the grid at once (Bonferroni), so it
does not matter why the policy stopped.
"""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from rotting.common.arrays import Floats
from rotting.common.display.figures import Curve, Figure, Panel
from rotting.common.display.plots import plot_figure
from rotting.common.display.tables import Column, FormattedTable, interval_text, number_format
from rotting.common.html_parts import block
from rotting.common.statistics import Interval
from rotting.logs import clocks
from rotting.logs.clocks import CANNOT_TELL, Clock, Decay
from rotting.logs.log import Log, check_log, rewards_by_arm

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

NO_FALL = 0.2  # arms that together fell by less than this share of their level do not wear out
# The probability at which a clock is named. Among 477 logs on which this test was developed, at 0.8 up to 8 % of a cell of
# docs/diagnosis.md were wrong; at 0.95 hardly fewer than at 0.9, but in one cell only 72 % right.
SURE = 0.9
SMALLEST = 2.0**-400  # rewards whose squares keep all their digits, also those of their differences
STANDARD_ERRORS = 2.0  # on each side of a mean, for an interval of at least 95 %
MOST_HETEROGENEITY = NormalDist().inv_cdf(0.99)  # of units for which two clocks are named: a test at 1 %
REASONS = {
    "pulls": "Units that pulled an arm more often wore it out faster at the same time",
    "time": "Arms wore out in busy and quiet units at the same times",
    "both": "Pulls matter beyond time, and time beyond pulls",
}
ERROR = 0.05  # probability that the interval of any arm is wrong
FEWEST_REWARDS = 40  # of an arm to be judged
GRID = 2 ** (1 / 8)  # ratio of neighbouring numbers of the grid: at most 8 % of the pulls are left out
QUARTER = 4
MARGIN = 0.25  # of the level: a change below it is not worth acting on
ArmVerdict = Literal["wears out", "steady", "rises", "too few"]
BINS = 12  # of a curve, each with at least ten rewards
SHOWN = 8  # arms in one figure
_BAND = 1.96  # on each side of a mean, for a 95 % interval


class Plotted(ABC):
    """A result with a figure that can be plotted."""

    @abstractmethod
    def figure(self) -> Figure:
        """Return what `plot` draws, as data."""

    def plot(self, path: str | Path | None = None) -> "Picture":
        """Draw what `figure` returns.

        Needs the extra `rotting[plot]`.

        Args:
            path: a new image file (.png, .pdf, .svg); None makes a figure that pyplot shows.

        Returns:
            The Matplotlib figure.
        """
        return plot_figure(self.figure(), path)


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


@dataclass(frozen=True)
class Diagnosis(Plotted):
    """What a log says about the wear of its arms. `diagnose` returns it.

    Args:
        log: the log.
        decay: "none", "pulls", "time", "both" or "cannot tell".
        reason: why, in a sentence.
        arms: a row for each arm, with `name`, `pulls`, `launch`, `recent`, `low`, `high` and `verdict`: "wears out", "steady",
            "rises" or "too few". `low` and `high` are the interval of the change from launch to recent.
        entanglement: the share of the variance of own pulls that time explains, within arms. If it is close to 1, the log
            cannot tell pulls and time apart.
        change: the change of all arms together from launch to recent, relative to launch, with its 95 % interval: (mean, low,
            high).
    """

    log: Log
    decay: Decay
    reason: str
    arms: tuple[ArmTrend, ...]
    entanglement: float
    change: tuple[float, float, float]

    def __repr__(self) -> str:
        return f"Diagnosis(decay={self.decay!r}, entanglement={self.entanglement:.2f}, {self._counts()})"

    def _counts(self) -> str:
        counts = Counter(each.verdict for each in self.arms)
        return ", ".join(f"{number} of {len(self.arms)} arms: {verdict}" for verdict, number in counts.most_common())

    def table(self) -> FormattedTable:
        """Return the arms as a formatted table, with the verdict on the clocks above it."""
        style = level_format(self.arms)
        columns = (
            Column("arm", lambda row: str(row["name"])),
            Column("verdict", lambda row: row["verdict"]),
            Column("change [95 % interval]", lambda row: ArmTrend(**row).change_text(style)),
            Column("launch", lambda row: _level(row["launch"], style)),
            Column("recent", lambda row: _level(row["recent"], style)),
            Column("pulls", lambda row: f"{row['pulls']:,}"),
        )
        lines = (f"Decay: {self.decay}. {self.reason}",)
        notes = (
            "launch, recent: mean reward of the first and of the last quarter of an arm's pulls.",
            "The intervals hold for all arms at once, also if the policy that wrote the log learned from the rewards.",
        )
        return FormattedTable(lines, columns, [each._asdict() for each in self.arms], left=2, notes=notes)

    def figure(self) -> Figure:
        """Return the rewards of the arms against their own pulls and against time, with 95 % bands, as a figure."""
        return arm_figure(self.log)

    def _repr_html_(self) -> str:
        return block(repr(self), self.table()._repr_html_())


def diagnose(log: Log) -> Diagnosis:
    """Return whether the arms of a log wear out, which of them, and along which clock.

    An arm is judged by comparing its launch, the first quarter of its pulls, with its recent pulls, the last quarter. A clock
    is named only if the log can tell pulls and time apart. For that, it needs units that saw the same arms at different rates.
    Otherwise the verdict is "none" if all arms together did not fall, or else "cannot tell".

    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> arms = rng.integers(0, 2, 4_000)
        >>> rewards = np.where(arms == 0, np.linspace(1.0, 0.2, 4_000), 0.5) + rng.normal(0.0, 0.3, 4_000)
        >>> diagnosis = diagnose(Log({"arm": arms, "reward": rewards}))
        >>> diagnosis.decay, [(arm.name, arm.verdict) for arm in diagnosis.arms]
        ('cannot tell', [(1, 'steady'), (0, 'wears out')])
    """
    shift = _shift(check_log(log))
    judged = copy(log)
    judged.reward = np.ldexp(log.reward, shift)
    arms = tuple(arm_trends(judged))
    change = _common_change(judged)
    entangled = clocks.entanglement(log)
    decay, reason = _clock(judged, arms, change, entangled)
    return Diagnosis(log, decay, reason, tuple(_shifted(arm, -shift) for arm in arms), entangled, change)


def _shift(log: Log) -> int:
    """Return the power of two by which rewards are multiplied to be judged: not 0 if their squares would underflow."""
    largest = float(np.abs(log.reward[log.known]).max(initial=0.0))
    return -math.frexp(largest)[1] if 0 < largest < SMALLEST else 0


def _shifted(arm: ArmTrend, shift: int) -> ArmTrend:
    launch, recent, low, high = (math.ldexp(each, shift) for each in (arm.launch, arm.recent, arm.low, arm.high))
    return arm._replace(launch=launch, recent=recent, low=low, high=high)


def _common_change(log: Log) -> tuple[float, float, float]:
    """Return the change of all arms together from launch to recent relative to launch, and its 95 % interval.

    Every arm counts with as many first pulls as last pulls, so a policy that moves to better arms does not show.
    """
    rewards = rewards_by_arm(log)
    quarters = [each.size // QUARTER for each in rewards]
    first = np.concatenate([each[:n] for each, n in zip(rewards, quarters, strict=True)])
    last = np.concatenate([each[each.size - n :] for each, n in zip(rewards, quarters, strict=True)])
    if first.size == 0:
        return math.nan, -math.inf, math.inf
    half = STANDARD_ERRORS * math.sqrt((first.var() + last.var()) / first.size)
    scale = abs(float(first.mean())) or 1.0
    change = float(last.mean() - first.mean())
    return change / scale, (change - half) / scale, (change + half) / scale


def _clock(log: Log, arms: tuple[ArmTrend, ...], change: tuple[float, float, float], entangled: float) -> tuple[Decay, str]:
    """Return the clock along which arms wear out, and the reason."""
    named = _named_clock(log) if entangled <= clocks.MOST_ENTANGLED else None
    if named is not None:
        return named
    moving = [each for each in arms if each.verdict in {"wears out", "rises"}]
    if not moving and change[1] > -NO_FALL:
        return "none", f"All arms together fell by less than {-min(change[1], 0.0):.0%} (95 % interval), and no arm changed."
    if len(log.units) < clocks.FEWEST_UNITS:
        why = f"The pulls of an arm grow with time (entanglement {entangled:.2f}), so either clock explains the same rewards."
        return CANNOT_TELL, f"{why} At least {clocks.FEWEST_UNITS} units of unequal traffic could tell."
    return CANNOT_TELL, f"The units do not tell pulls and time apart clearly enough (entanglement {entangled:.2f})."


def _named_clock(log: Log) -> tuple[Clock, str] | None:
    """Return the clock that the units of a log name, and the reason; None if they name none."""
    if len(log.units) < clocks.FEWEST_UNITS or clocks.effective_rewards(log) < clocks.FEWEST_EFFECTIVE_REWARDS:
        return None
    found = clocks.compare_clocks(log)
    name, chance = max(found.probabilities.items(), key=lambda each: each[1])
    if name == "none" or chance < SURE:
        return None
    along: tuple[Clock, ...] = ("pulls", "time") if name == "both" else (name,)
    if min(found.falls[each] for each in along) <= 0:  # rewards that rise are no wear
        return None
    # One clock that runs faster in some units than in others looks like two clocks.
    if name == "both" and found.heterogeneity > MOST_HETEROGENEITY:
        return None
    return name, f"{REASONS[name]} (probability {'above 99 %' if chance > 0.99 else f'{chance:.0%}'})."


def _level(value: float, style: str) -> str:
    return "-" if math.isnan(value) else f"{value:{style}}"


# --- The trend of each arm ----------------------------------------------------------------------------------------------------


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


# --- Figures ------------------------------------------------------------------------------------------------------------------


def binned(clock: Floats, rewards: Floats, label: str) -> Curve:
    """Return the mean reward in bins with equally many rows along a clock, with 95 % intervals."""
    order = np.argsort(clock, kind="stable")
    bins = [part for part in np.array_split(order, min(BINS, max(1, order.size // 10))) if part.size]
    x = np.array([clock[part].mean() for part in bins])
    y = np.array([rewards[part].mean() for part in bins])
    # The spread of all rewards of the arm: a bin of clicks may have none, and then no spread of its own.
    half = np.array([_BAND * max(rewards[part].std(), rewards.std() / 2) / np.sqrt(part.size) for part in bins])
    return Curve(label, x, y, y - half, y + half)


def panels(log: Log, arm: int) -> tuple[Panel, Panel]:
    """Return the rewards of one arm over its own pulls, and over time."""
    rows = log.known & (log.arm == arm)
    label, rewards = str(log.arms[arm]), log.reward[rows]
    pulls = "pulls of the arm by its unit" if log.has_units else "pulls of the arm"
    time, unit = log.time[rows], "row"
    if log.has_times:
        unit = "time"
    if log.has_dates:
        time, unit = (time - log.time[0]) / 86_400, "days since the first row"
    return (
        Panel(f"{label}: over its pulls", pulls, "mean reward", (binned(log.own_pulls[rows].astype(float), rewards, label),)),
        Panel(f"{label}: over time", unit, "mean reward", (binned(time, rewards, label),)),
    )


def arm_figure(log: Log, arms: Sequence[int] | None = None) -> Figure:
    """Return the rewards of arms over their pulls and over time, by default of those with the most pulls."""
    chosen = np.argsort(-log.pulls, kind="stable")[:SHOWN] if arms is None else arms
    known = np.bincount(log.arm[log.known], minlength=len(log.arms))
    drawn = [panel for arm in chosen if known[arm] for panel in panels(log, int(arm))]
    caption = "Mean rewards in bins of equally many pulls; the bands are 95 % intervals of these means."
    return Figure("arms", "Rewards over pulls and over time", caption, tuple(drawn), columns=2)
