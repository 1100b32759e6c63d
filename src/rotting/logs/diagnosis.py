"""`diagnose`: does anything wear out, which arms, and along which clock; nothing that the log cannot know is said.

`trends.py` asks the questions; here are the rules by which their answers become verdicts. A verdict is only given if it is the
only explanation that is left, otherwise it is "cannot tell". docs/diagnosis.md shows how often verdicts are right and wrong, on
logs of worlds in which much else moves.
"""

import copy
import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from rotting.common.arrays import Floats
from rotting.common.display.figures import Curve, Figure, Panel
from rotting.common.display.html_parts import block
from rotting.common.display.plots import plot_figure
from rotting.common.display.tables import Column, FormattedTable, interval_text, number_format
from rotting.common.short_numbers import word_list
from rotting.common.statistics import LEVEL, Interval
from rotting.logs.cells import (
    CANNOT_TELL,
    FEWEST_EVENTS,
    FEWEST_UNITS,
    Cells,
    Decay,
    cells_of,
    entanglement,
    scale_of,
    winsorised,
)
from rotting.logs.half_life import half_life
from rotting.logs.log import Log, check_log, rewards_by_arm
from rotting.logs.rates import RewardScale
from rotting.logs.regression import Estimate, critical
from rotting.logs.trends import (
    ALONE,
    AgeEffect,
    ArmChanges,
    CommonChange,
    Gap,
    PullsEffect,
    Step,
    Targeting,
    age_effect,
    arm_changes,
    common_change,
    drops,
    gap_of,
    newest_fall,
    pulls_effect,
    sudden_step,
    targeting,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# The rules below were set on other seeds of the worlds of docs/diagnosis.md.
LOSS = math.log(0.75)  # "steady" and "none" exclude a loss of a quarter
SMALL = math.log(0.90)  # a smaller fall is not called wear
_ALIKE = 1.28  # two estimates agree if they differ by fewer standard errors
_LIKELY = 2.2
_CLEAR = 2.5
_REFUTED = 1.645  # standard errors by which a fall is larger than what own pulls explain, at 95 %
QUARTER = 4
_WATCHED = 0.017  # the chance that `fallen` names an arm that does not fall, in one look
ArmVerdict = Literal["wears out", "steady", "rises", "too few", "cannot tell"]
BINS = 12  # of a curve, each with at least ten rewards
NAMED = 5  # arms that a sentence names
PICTURED = 10  # arms in the figure at most: those with a verdict


class ArmTrend(NamedTuple):
    """What a log says about one arm.

    `pulls` counts all its rows, also those without a reward. `launch` and `recent` are the means of the first and the last
    quarter of its known rewards; `low` and `high` are the ends of the interval of their difference, which hold for all arms at
    once. They are NaN if there are fewer than four rewards. The difference contains whatever moves all arms; the verdict does
    not rest on it, but on comparisons with the other arms at the same time, within units.

    `half_life` says after how many pulls by a unit, or how much time since its launch, an arm that wears out pays half of what
    it paid at first; `half_life_low` and `half_life_high` are its 95 % interval. Time counts in days if the log has dates,
    otherwise as its times do. They are NaN if the log cannot tell, and `half_life_reason` says why.
    """

    name: Hashable
    pulls: int
    launch: float
    recent: float
    low: float
    high: float
    verdict: ArmVerdict
    half_life: float = math.nan
    half_life_low: float = math.nan
    half_life_high: float = math.nan
    half_life_reason: str = ""

    def change_text(self, style: str) -> str:
        """Return the change from launch to recent with its interval as text, in the format of the levels; - without one."""
        change = Interval(self.recent - self.launch, self.low, self.high)
        # An end that is rounded to 0 keeps its sign.
        return "-" if math.isnan(self.low) else interval_text(change, f"+{style}")

    @property
    def half_life_text(self) -> str:
        """The half-life with its interval, to two digits; - without one."""
        value, low, high = (f"{float(f'{x:.1e}'):,.10g}" for x in (self.half_life, self.half_life_low, self.half_life_high))
        return "-" if math.isnan(self.half_life) else f"{value} [{low}, {high}]"

    def note(self, style: str) -> str:
        """Return the verdict and the change in a line."""
        verdict = {"too few": "too few rewards for a verdict", "cannot tell": "may move as all arms do"}.get(
            self.verdict, self.verdict
        )
        return verdict if math.isnan(self.low) else f"{verdict}: change {self.change_text(style)}"


def level_format(arms: Sequence[ArmTrend]) -> str:
    """Return one format for the levels of arms and their changes, with as many digits as the intervals support.

    Example:
        >>> level_format([ArmTrend("a", 9_000, 0.034211, 0.021053, -0.026211, -0.000105, "wears out")])
        ',.4f'
    """
    known = [each for each in arms if not math.isnan(each.low)]
    levels = [level for each in known for level in (each.launch, each.recent)]
    # Levels are known about three times as well as changes, whose intervals are of a difference, and hold for all arms at once.
    return number_format(levels, [(each.high - each.low) / 6 for each in known])


@dataclass(frozen=True)
class Diagnosis:
    """What a log says about the wear of its arms. `diagnose` returns it.

    Args:
        log: the log.
        decay: "none", "pulls", "time", "both" or "cannot tell".
        reason: why, in a sentence.
        arms: a row for each arm, with `name`, `pulls`, `launch`, `recent`, `low`, `high` and `verdict`: "wears out", "steady",
            "rises", "too few" or "cannot tell". `low` and `high` are the interval of the change from launch to recent.
            `half_life`, `half_life_low` and `half_life_high` say how long an arm lasts, on the clock that `decay` names.
        entanglement: the share of the variance of own pulls that time explains, within arms. If it is close to 1, the log
            cannot tell pulls and time apart.
        notes: what else moves the rewards, a sentence for each.
        lacks: what would tell more, a sentence for each.
        tested: the number of arms with enough rewards to be tested.
        targeted: whether choices depend on the unit.
        learned: whether arms did not keep their shares of the choices, as under a policy that learns.
        rises: whether an arm rises, or all of them together.
    """

    log: Log
    decay: Decay
    reason: str
    arms: tuple[ArmTrend, ...]
    entanglement: float
    notes: tuple[str, ...]
    lacks: tuple[str, ...]
    tested: int
    targeted: bool
    learned: bool = False
    rises: bool = False

    def __repr__(self) -> str:
        return f"Diagnosis(decay={self.decay!r}, entanglement={self.entanglement:.2f}, {self._counts()})"

    def _counts(self) -> str:
        counts = Counter(each.verdict for each in self.arms)
        return ", ".join(f"{number} of {len(self.arms)} arms: {verdict}" for verdict, number in counts.most_common())

    def table(self) -> FormattedTable:
        """Return the arms as a formatted table, with the verdict on the clocks above it."""
        style = level_format(self.arms)
        columns: tuple[Column, ...] = (
            Column("arm", lambda row: str(row["name"])),
            Column("verdict", lambda row: row["verdict"]),
            Column("change [95 % interval]", lambda row: ArmTrend(**row).change_text(style)),
            Column("launch", lambda row: _level(row["launch"], style)),
            Column("recent", lambda row: _level(row["recent"], style)),
            Column("pulls", lambda row: f"{row['pulls']:,}"),
        )
        if any(not math.isnan(each.half_life) for each in self.arms):
            columns += (Column("half-life", lambda row: ArmTrend(**row).half_life_text),)
        lines = (f"Decay: {self.decay}. {self.reason}",)
        notes = (
            f"{self.tested} of {len(self.arms)} arms had at least {FEWEST_EVENTS} rewards other than 0, and were tested.",
            "wears out, rises: also compared with other arms at the same time, or explained by its own pulls.",
            "steady: a change by a quarter is excluded. cannot tell: it may move as all arms do.",
            "launch, recent: mean reward of the first and of the last quarter of an arm's pulls, whatever moved it.",
            *self.notes,
        )
        return FormattedTable(lines, columns, [each._asdict() for each in self.arms], left=2, notes=notes)

    def figure(self) -> Figure:
        """Return the rewards of all arms over time, and those of the arms that matter over what wears them out, as a figure."""
        return _figure(self)

    def plot(self, path: str | Path | None = None) -> "Picture":
        """Draw what `figure` returns.

        Needs the extra `rotting[plot]`.

        Args:
            path: a new image file (.png, .pdf, .svg); None makes a figure that pyplot shows.

        Returns:
            The Matplotlib figure.
        """
        return plot_figure(self.figure(), path)

    @property
    def order(self) -> list[int]:
        """The arms as positions: first those that wear out, then those with another verdict, the most pulled ones first."""
        ranks = {"wears out": 0, "rises": 1, "steady": 2, "cannot tell": 2, "too few": 3}
        return sorted(range(len(self.arms)), key=lambda arm: (ranks[self.arms[arm].verdict], -self.arms[arm].pulls))

    def lifetime(self, arm: ArmTrend) -> str:
        """Return how long one of the arms lasts, or why that is not known: the end of a sentence that begins with its name."""
        if arm.half_life_reason:
            return f"how long it lasts is not known: {arm.half_life_reason}"
        unit = "days" if self.log.has_dates else "units of time" if self.log.has_times else "rows of the log"
        clock = f"{unit} since its launch" if self.decay == "time" else f"pulls in one {self.log.unit_name}"
        value, ends = arm.half_life_text.split(maxsplit=1)
        return f"earns half of what it did at first after about {value} {clock} {ends}"

    @property
    def lifetimes(self) -> tuple[str, ...]:
        """How long each arm lasts that wears out, or why the log cannot tell, a sentence for each."""
        known, unknown = [], defaultdict[str, list[str]](list)
        for arm in (self.arms[place] for place in self.order):
            if arm.verdict == "wears out" and arm.half_life_reason:
                unknown[arm.half_life_reason].append(str(arm.name))
            elif arm.verdict == "wears out":
                known.append(f"{arm.name} {self.lifetime(arm)}.")
        words = [
            f"How long {word_list(names, NAMED)} last{'s' * (len(names) == 1)} is not known: {why}."
            for why, names in unknown.items()
        ]
        return *known, *words

    def _repr_html_(self) -> str:
        return block(repr(self), self.table()._repr_html_())


def diagnose(log: Log) -> Diagnosis:
    """Return whether the arms of a log wear out, which of them, and along which clock.

    All arms may rise and fall together, with the season or the audience: this is no wear that a log can show. An arm is said to
    wear out if it falls within its units, and behind the other arms at the same time. Own pulls are named if, at the same time,
    units that had pulled an arm more often got less from it; time, if arms fall apart and own pulls cannot be why.

    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> arms = rng.integers(0, 3, 6_000)
        >>> rewards = np.where(arms == 0, np.linspace(1.0, 0.2, 6_000), 0.5) + rng.normal(0.0, 0.3, 6_000)
        >>> diagnosis = diagnose(Log({"arm": arms, "reward": rewards}))
        >>> diagnosis.decay, {arm.name: arm.verdict for arm in diagnosis.arms}
        ('cannot tell', {2: 'steady', 1: 'steady', 0: 'wears out'})
    """
    check_log(log)
    trends = _plain_trends(log)
    entangled = entanglement(log)
    if not log.known.any():
        return Diagnosis(
            log,
            decay=CANNOT_TELL,
            reason="The log has no known reward.",
            arms=tuple(trends),
            entanglement=entangled,
            notes=(),
            lacks=(),
            tested=0,
            targeted=False,
        )
    findings = _find(log)
    decay, reason = findings.decay()
    verdicts = [each._replace(verdict=findings.verdict(i)) for i, each in enumerate(trends)]
    arms = tuple(_with_half_life(log, each, i, decay, findings) for i, each in enumerate(verdicts))
    choices = findings.targeting
    rises = any(each.verdict == "rises" for each in arms) or findings.common.trend.value > 3 * findings.common.trend.error
    return Diagnosis(
        log,
        decay=decay,
        reason=reason,
        arms=arms,
        entanglement=entangled,
        notes=findings.notes(),
        lacks=findings.lacks(log),
        tested=len(findings.arms.arms),
        targeted=choices.depends,
        learned=not choices.is_static,
        rises=rises,
    )


def _with_half_life(log: Log, arm: ArmTrend, place: int, decay: Decay, findings: "_Findings") -> ArmTrend:
    """Return a row with how long the arm lasts, if the log can tell."""
    if arm.verdict != "wears out":
        why = "the log does not show that it wears out"
    elif decay not in {"pulls", "time"}:
        why = "both clocks have a part in its fall" if decay == "both" else "the log cannot tell what wears it out"
    elif decay == "time" and findings.all_move and not findings.ages_matter:
        why = "the other arms move, too"
    elif not findings.cells.scale.ratios:
        why = "half a level means something only for clicks, counts and amounts"
    else:
        rows = log.known & (log.arm == place)
        age = (log.time - log.time[log.arm == place][0]) / (86_400 if log.has_dates else 1)
        clock = log.own_pulls if decay == "pulls" else age
        reward = winsorised(log.reward[rows], np.zeros(int(rows.sum()), np.int64), findings.cells.scale)
        value, low, high, why = half_life(clock[rows].astype(float), log.unit[rows], reward)
        return arm._replace(half_life=value, half_life_low=low, half_life_high=high, half_life_reason=why)
    return arm._replace(half_life_reason=why)


def _plain_trends(log: Log) -> list[ArmTrend]:
    """Return the means of the first and the last quarter of each arm, and the interval of their difference for all at once."""
    known = log.reward[log.known]
    scale = RewardScale(known, scale_of(known))
    z = NormalDist().inv_cdf(1 - (1 - LEVEL) / 2 / len(log.arms))
    found = []
    for name, pulls, rewards in zip(log.arms, log.pulls.tolist(), rewards_by_arm(log), strict=True):
        quarter = rewards.size // QUARTER
        if quarter == 0:
            found.append(ArmTrend(name, pulls, math.nan, math.nan, math.nan, math.nan, "too few"))
            continue
        first, last = rewards[:quarter], rewards[rewards.size - quarter :]
        _, low, high = scale.change(first, last, z)
        assert low is not None and high is not None  # noqa: PT018
        found.append(ArmTrend(name, pulls, float(first.mean()), float(last.mean()), low, high, "too few"))
    return found


# --- The rules ----------------------------------------------------------------------------------------------------------------


def fallen(log: Log) -> list[int]:
    """Return the positions of the arms that fell at some time, by themselves and against the others.

    `diagnose` names an arm that does not fall in one log of twenty or fewer, however many arms there are. Whoever watches a
    bandit would rather look at one steady arm of twenty in a month than miss those that fell, and that the policy has left.
    """
    check_log(log)
    if not log.known.any():
        return []
    cells = cells_of(log)
    choices, arms = targeting(cells), np.flatnonzero(cells.events >= _fewest_events(cells))
    if arms.size < 2 or choices.learns:
        return []
    if cells.has_units and not choices.depends:  # then units need no levels, which leave little of users who come rarely
        log = copy.copy(log)
        log.units, log.unit = ("",), np.zeros_like(log.unit)
        cells = cells_of(log)
    found = drops(replace(cells, targeted=choices.depends), arms, _WATCHED * arms.size)
    return [
        i
        for i, drop in found.items()
        if drop.own.value + drop.own.reach(ALONE) < 0 and max(drop.own.value, drop.behind.value) < SMALL
    ]


def _fewest_events(cells: Cells) -> int:
    return FEWEST_EVENTS if cells.scale.ratios else 2 * FEWEST_EVENTS


def _find(log: Log) -> "_Findings":
    """Ask all questions of a log with a known reward."""
    cells = cells_of(log)
    choices = targeting(cells)
    cells = replace(cells, targeted=choices.depends)
    changes = arm_changes(cells, _fewest_events(cells), choices.is_static)
    falling = [i for i in changes.arms if changes.falls(i, SMALL)]
    rising = [i for i in changes.arms if changes.rises(i)]
    gap = gap_of(cells, [i for i in changes.arms if i not in rising], falling) if falling else None
    support = [i for i in changes.arms if i in falling or changes.may_fall(i)] if falling else []
    step = sudden_step(cells, support)
    everywhere = pulls_effect(cells)
    own = pulls_effect(cells, falling) if 0 < len(falling) < len(changes.arms) else everywhere
    ages = age_effect(cells, changes.arms)
    common = common_change(cells, [])
    others = common_change(cells, falling + rising) if falling or rising else common
    return _Findings(
        cells,
        arms=changes,
        common=common,
        others=others,
        targeting=choices,
        newest=newest_fall(cells),
        everywhere=everywhere,
        own=own,
        ages=ages,
        falling=falling,
        gap=gap,
        step=step,
    )


@dataclass(frozen=True, eq=False)
class _Findings:
    """The answers to all questions, and the verdicts that follow."""

    cells: Cells
    arms: ArmChanges
    common: CommonChange
    others: CommonChange  # of the arms that do not fall or rise against the others
    targeting: Targeting
    newest: float  # how far the newest rows fell below the trend before
    everywhere: PullsEffect | None  # wear with own pulls in all arms
    own: PullsEffect | None  # in the arms that fall, if others do not
    ages: AgeEffect | None
    falling: list[int]  # arms that fall, and behind the others
    gap: Gap | None  # between them and the others
    step: Step

    # --- What is found

    @property
    def jumps(self) -> bool:
        """Whether one sudden step explains the falling arms better than curves of their own."""
        return self.step.gain > 0

    @cached_property
    def pulls(self) -> PullsEffect | None:
        """The wear with own pulls, if it is found."""
        if self.targeting.learns:
            return None
        tests = 1 if self.own is self.everywhere else 2
        return next((each for each in (self.everywhere, self.own) if each is not None and self._is_found(each, tests)), None)

    def _is_found(self, effect: PullsEffect, tests: int) -> bool:
        """Return whether wear with own pulls is clear by single rewards, and by units."""
        if not self.falling and self.common.trend.z > -2:
            return False  # nothing falls that they could explain
        by_unit = effect.wear.z < -critical(1 - 0.15 / tests, effect.wear.clusters)
        clear = effect.z < -critical(1 - 0.006 / tests)  # at 0.3 %, one-sided, for each pace; neighbouring ones are alike
        if self.common.trend.z < -3 and abs(self._left_by_pulls.z) < _ALIKE:
            # All arms fall, and by just as much as these pulls explain: the odds are 10 to 1 and more.
            clear = effect.z < -_LIKELY
        return clear and by_unit and abs(effect.wear.value * effect.mean) > 0.05

    @property
    def refutes_pulls(self) -> bool:
        """Whether own pulls cannot be why some arms fall behind the others."""
        if self.own is None or self.everywhere is None or self.gap is None:
            return False
        if min(self.own.z, self.everywhere.z) < -_CLEAR:
            return False
        return self.own.misfit(self.gap) > (_REFUTED if self.own.z > -_REFUTED else _CLEAR)

    @property
    def ages_matter(self) -> bool:
        """Whether arms fall after their launches, while later ones start as high as earlier ones."""
        ages = self.ages
        return (
            ages is not None
            and ages.age.value + ages.age.reach(0.99) < 0
            and ages.within.value + 3 * ages.within.error < 0
            and ages.age.value < 2 * SMALL
        )

    @cached_property
    def time_matters(self) -> bool:
        """Whether arms fall apart along time, beyond what own pulls explain."""
        pulls = self.pulls
        if self.ages_matter and self._pulls_do_not_age:
            return True
        several = sum(map(self.arms.may_fall, self.arms.arms)) >= min(2, len(self.arms.arms) - 1)
        if self.jumps or self.targeting.learns or not self.falling or not several:
            return False
        if pulls is None:
            return self.refutes_pulls
        return self.own is not None and self.gap is not None and self.own.misfit(self.gap) > _CLEAR

    def _worn_by_pulls(self, arm: int) -> bool:
        """Return whether an arm wears out with its pulls, by its units and by the other arms together."""
        by_unit, behind = {} if self.pulls is None else self.pulls.by_arm, self.arms.behind.get(arm)
        return arm in by_unit and behind is not None and (by_unit[arm] + behind.z) / math.sqrt(2) < -2.3

    def _spared_by_pulls(self, arm: int) -> bool:
        """Return whether wear with own pulls, if it is found at all, does not show in an arm."""
        return self.pulls is None or self.pulls.by_arm.get(arm, -math.inf) > -1

    @property
    def _pulls_do_not_age(self) -> bool:
        """Whether own pulls cannot be why arms fall after their launches."""
        if self.everywhere is None or self.ages is None:
            return False
        fall = self.ages.age.times(float(np.median(self.cells.life[self.arms.arms])))
        found = self.pulls is not None  # then they are a part of it, and the rest must be clear
        return (found or self.everywhere.z > -_CLEAR) and self.everywhere.misfit_of_all(fall) > (_CLEAR if found else _REFUTED)

    @property
    def _left_by_pulls(self) -> Estimate:
        """Return the fall of all arms together that own pulls do not explain."""
        trend = self.common.trend
        if self.everywhere is None:
            return trend
        drawn = self.everywhere.wear.times(self.everywhere.drift)
        return Estimate(trend.value - drawn.value, math.hypot(trend.error, drawn.error), min(trend.clusters, drawn.clusters))

    @property
    def all_move(self) -> bool:
        """Whether the level of all arms changes, but for those that go their own way."""
        return self.others.trend.value + 3 * self.others.trend.error < 0 or self.others.moves > critical(0.98)

    def _nothing_falls(self) -> bool:
        """Return whether a loss of a quarter is excluded: of all arms, of single arms on average, and with own pulls."""
        trend, arms = self.common.trend, list(self.arms.own.values())
        if self.all_move or self.falling or not arms:
            return False
        mean = float(np.mean([each.value for each in arms]))
        error = math.sqrt(sum(each.error**2 for each in arms)) / len(arms)
        lowest = min(each.value - 1.96 * each.error for each in arms) if len(arms) == len(self.arms.arms) else -math.inf
        if not self.targeting.is_static and lowest < 1.5 * LOSS:
            return False  # a logger that learns leaves arms that wear out: their last rows count, however few
        judged = self.cells.events[list(self.arms.own)].sum() > 0.8 * self.cells.events.sum()
        everywhere = self.everywhere
        pulls_matter = everywhere is not None and (
            (everywhere.wear.value - everywhere.wear.reach(0.95)) * everywhere.mean <= -0.3
            and not (self.cells.stay > 0.6 and everywhere.z > -2.0)
        )
        return bool(trend.value - 1.96 * trend.error > LOSS and mean - 1.96 * error > LOSS and judged and not pulls_matter)

    # --- What is said

    def decay(self) -> tuple[Decay, str]:
        """Return the clock along which arms wear out, and the reason."""
        if not self.arms.arms:
            return CANNOT_TELL, f"No arm has {FEWEST_EVENTS} rewards other than 0: too few to see wear."
        pulls, time = self.pulls, self.time_matters
        if pulls is not None:
            why = "At the same time, units that had pulled an arm more often got less from it"
            if time:
                return "both", f"{why}, and arms fell apart along time beyond that."
            if self._left_by_pulls.z < -_ALIKE:
                return CANNOT_TELL, f"{why}, but this explains only a part of the fall: time, or a season, adds to it."
            return "pulls", f"{why}. The log neither shows nor excludes that time adds to it."
        if time and self.ages_matter and self.ages is not None:
            found = f"Arms fell after their launches, and the {self.ages.launches} that were launched later began afresh"
            return "time", f"{found}. Own pulls explain only a part of this."
        if time:
            found = f"{len(self.falling)} of {len(self.arms.arms)} tested arms fell behind the others"
            return "time", f"{found}, by more than their own pulls explain."
        if self._nothing_falls():
            return "none", "No arm fell behind the others, and a loss of a quarter is excluded for all arms together (95 %)."
        return CANNOT_TELL, self._why_unknown()

    def _why_unknown(self) -> str:
        """Return why no clock is named."""
        if self.targeting.learns:
            return "Choices within units change, as if they followed rewards: an arm then seems to wear out once its luck ends."
        if self.jumps:
            return (
                f"Arms fell suddenly after {self.step.at:.0%} of the log, at once: look first for a change of placement or of "
                "what is counted at that time."
            )
        if self.falling:
            number = len(self.falling)
            verb = f"{number} arm{'s' * (number > 1)} fell behind the others"
            if self.cells.n_units < FEWEST_UNITS:
                return f"{verb}, but without {FEWEST_UNITS} units the log cannot tell whether with pulls or with time."
            return f"{verb}, but units do not tell clearly enough whether with pulls or with time."
        if self.common.trend.value + 3 * self.common.trend.error < 0:
            return "All arms fall together: season, audience, or all of them age alike; the log cannot tell."
        if self.all_move:
            return "All arms move together: season, audience, or all of them wear out alike; the log cannot tell."
        return "The rewards are too few to exclude that arms lose a quarter, and show no arm that does."

    def lacks(self, log: Log) -> tuple[str, ...]:
        """Return what would tell more."""
        found = []
        if self.decay()[0] == CANNOT_TELL:
            if self.cells.n_units < FEWEST_UNITS:
                found.append(
                    "A column that says who sees the arm, such as a country or a placement, could tell use from time, if some "
                    "of these units have much more traffic than others."
                )
            if not log.has_times:
                found.append("The time of every decision would show seasons, and what changed when.")
            if self.all_move and self.ages is None:
                found.append("Arms that are launched at different times would tell age from season: new ones start afresh.")
            if self.targeting.learns:
                found.append("Random choices in a share of the rows, with their propensities, would show arms as they are.")
            elif not self.targeting.is_static:
                found.append(
                    "The shares of arms changed: a policy that learns leaves arms that wear out, and its log shows little of "
                    "that. Random choices in a share of the rows would."
                )
        if len(self.arms.arms) < self.cells.n_arms or (self.decay()[0] == CANNOT_TELL and not found):
            found.append(
                "More rows would tell more: an arm is tested from 15 rewards other than 0 on, and clear after some 100."
            )
        return tuple(found)

    def notes(self) -> tuple[str, ...]:
        """Return what else moves the rewards."""
        found = []
        if self.cells.pattern:
            found.append(f"All arms share a {self.cells.pattern} pattern.")
        if self.newest:
            found.append(
                f"The newest rows pay {self.newest:.0%} less than the trend before, for all arms: rewards may still "
                'come. Log(..., delay="2d") leaves out rows that are younger than a reward may take.'
            )
        if self.targeting.depends:
            found.append(f"Choices depend on the unit (Cramér's V {self.targeting.strength:.2f}).")
        return tuple(found)

    def verdict(self, arm: int) -> ArmVerdict:
        """Return the verdict on an arm."""
        change = self.arms.own.get(arm)
        if change is None:
            return "too few"
        reach = change.reach(self.arms.together)
        low, high = change.value - reach, change.value + reach
        if arm in self.falling:
            # A policy that learns plays the best arms side by side, so that their own pulls may wear them out at the same time.
            is_cause_common = self.jumps and self.targeting.is_static and not self.pulls
            return CANNOT_TELL if self.targeting.learns or is_cause_common else "wears out"
        if self._worn_by_pulls(arm) and high < 0.2 and change.value < 0:
            return "wears out"
        if self.ages_matter and self.time_matters and high < 0 and change.value < SMALL:
            return "wears out"
        flat_halves = all(
            half[arm].value - 1.96 * half[arm].error > 1.5 * LOSS and half[arm].value + 1.96 * half[arm].error < -1.5 * LOSS
            for half in self.arms.halves
            if arm in half
        )
        if low > LOSS and high < -LOSS and flat_halves and not self.all_move and self._spared_by_pulls(arm):
            return "steady"
        if self.arms.rises(arm) and not (self.all_move or self.targeting.learns or self.jumps):
            return "rises"
        return "too few" if change.error > -LOSS / 1.96 and high > 0 else CANNOT_TELL


def _level(value: float, style: str) -> str:
    return "-" if math.isnan(value) else f"{value:{style}}"


# --- Figures ------------------------------------------------------------------------------------------------------------------


def binned(clock: Floats, rewards: Floats, label: str, scale: RewardScale) -> Curve:
    """Return the mean reward in bins with equally many rows along a clock, with 95 % intervals."""
    order = np.argsort(clock, kind="stable")
    bins = [part for part in np.array_split(order, min(BINS, max(1, order.size // 10))) if part.size]
    x = np.array([clock[part].mean() for part in bins])
    means = np.array([scale.interval(rewards[part]) for part in bins], float)
    return Curve(label, x, means[:, 0], means[:, 1], means[:, 2])


def _figure(diagnosis: Diagnosis) -> Figure:
    """Return the rewards of all arms over time, and those of arms with a verdict over the clock that wears them out."""
    log = diagnosis.log
    known = log.known
    scale = RewardScale(log.reward[known], scale_of(log.reward[known]))
    time, unit = log.time - log.time[0], "time since the first row" if log.has_times else "row"
    if log.has_dates:
        time, unit = time / 86_400, "days since the first row"
    clock, label = time, unit
    if diagnosis.decay == "pulls":
        clock, label = log.own_pulls.astype(float), f"pulls of the arm{' by its unit' if log.has_units else ''}"
    panels = []
    if known.any():
        together = binned(time[known], log.reward[known], "mean reward", scale)
        panels.append(Panel("all arms together", unit, "mean reward", (together,), note="whatever moved them"))
    style = level_format(diagnosis.arms)
    shown = [arm for arm in diagnosis.order if diagnosis.arms[arm].verdict != "too few"][:PICTURED]
    for arm in shown:
        rows = known & (log.arm == arm)
        curve = binned(clock[rows], log.reward[rows], "mean reward", scale)
        panels.append(Panel(str(log.arms[arm]), label, "mean reward", (curve,), note=diagnosis.arms[arm].note(style)))
    rest = len(log.arms) - len(shown)
    more = f" {rest} more arm{'s' * (rest > 1)} have no picture." if rest else ""
    caption = f"Mean rewards in bins of equally many rows; the bands are 95 % intervals of these means.{more}"
    return Figure("arms", "Rewards of the arms that matter", caption, tuple(panels), columns=2)
