"""`diagnose`: does anything wear out, which arms, and along which clock."""

import math
from collections import Counter
from copy import copy
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from rotting.common.html_parts import block
from rotting.display.figures import Figure
from rotting.display.tables import Column, FormattedTable
from rotting.logs import clocks
from rotting.logs.curves import Plotted, arm_figure
from rotting.logs.log import Log, check_log, rewards_by_arm
from rotting.logs.pauses import FEWEST_PAUSES, PauseTest, compare_pauses
from rotting.logs.trends import QUARTER, ArmTrend, arm_trends, level_format
from rotting.logs.verdicts import CANNOT_TELL, Clock, Decay

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
    is named only if the log can tell pulls and time apart. For that, it needs units that saw the same arms at different rates,
    or random pauses (`Bandit(probe=...)`), which suffice only if many arms wear out a lot. Otherwise the verdict is "none" if
    all arms together did not fall, or else "cannot tell".

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
    pauses = None if log.paused is None else compare_pauses(log)
    if pauses is not None and pauses.clock is not None:
        return pauses.clock, _reason_of(pauses)
    moving = [each for each in arms if each.verdict in {"wears out", "rises"}]
    if not moving and change[1] > -NO_FALL:
        return "none", f"All arms together fell by less than {-min(change[1], 0.0):.0%} (95 % interval), and no arm changed."
    if len(log.units) < clocks.FEWEST_UNITS:
        why = f"The pulls of an arm grow with time (entanglement {entangled:.2f}), so either clock explains the same rewards."
        could = f"At least {clocks.FEWEST_UNITS} units of unequal traffic could tell"
        may = "random pauses may, but need many arms that wear out a lot (docs/probe.md)"
        return CANNOT_TELL, f"{why} {could}; {may}." if pauses is None else f"{why}{_silence_of(pauses)} {could}."
    why = f"The units do not tell pulls and time apart clearly enough (entanglement {entangled:.2f})."
    return CANNOT_TELL, why if pauses is None else why + _silence_of(pauses)


def _reason_of(pauses: PauseTest) -> str:
    """Return why random pauses name a clock."""
    like = "went on where they had been" if pauses.clock == "pulls" else "had worn as much as without the pause"
    why = f"{pauses.pauses} random pauses: after them, arms {like} (share of time {pauses.share_of_time:.0%})."
    return f"{why} This assumes that arms do not recover while they are paused."


def _silence_of(pauses: PauseTest) -> str:
    """Return a sentence about random pauses that name no clock."""
    if pauses.pauses < FEWEST_PAUSES:
        return f" As for random pauses, it takes at least {FEWEST_PAUSES} to tell, and the log has {pauses.pauses}."
    return f" The {pauses.pauses} random pauses do not tell, either."


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
