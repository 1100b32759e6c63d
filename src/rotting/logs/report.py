"""The page about a log: what it holds, whether arms wear out, what other policies would have earned, and what to do next."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from rotting.common.display.figures import Figure, Panel
from rotting.common.display.pages import About, PlainSection, plain_page, versions
from rotting.common.display.tables import FormattedTable
from rotting.common.files import new_folder
from rotting.common.machine import machine
from rotting.common.rules import nonnegative_int
from rotting.common.short_numbers import first_of, word_list
from rotting.errors import InvalidValueError
from rotting.logs.advice import LEAST_GAIN, Advice, advise_with, default_policies, default_runs
from rotting.logs.clocks import CANNOT_TELL, FEWEST_UNITS
from rotting.logs.diagnosis import FEWEST_REWARDS, ArmTrend, ArmVerdict, Diagnosis, arm_figure, diagnose, level_format
from rotting.logs.log import Log, check_log
from rotting.logs.replay import Replay, check_replay, replay_with
from rotting.policy import Policy

MOST_PICTURED = 20
"""Arms with a picture: those with the most pulls."""
NAMED = 5  # arms that a sentence names
_OF_THE_LOG = "These numbers describe the log itself. They are exact, and need no intervals."
_CLOCKS = {
    "pulls": "They wear out with use: the more often an arm is shown, the less it pays.",
    "time": "They wear out with time, however often they are shown.",
    "both": "They wear out with use and with time.",
    CANNOT_TELL: "The log cannot tell whether use or time wears them out.",
}


@dataclass(frozen=True)
class Analysis:
    """Everything that a log says about wear and about other policies. `analyse` makes it."""

    log: Log
    diagnosis: Diagnosis
    replay: Replay
    advice: Advice


def analyse(
    log: Log, policies: Policy | Sequence[Policy] | None = None, seed: int = 0, progress: bool | None = None
) -> Analysis:
    """Diagnose a log, and ask what policies would have earned on it.

    Args:
        log: the log, with at least two arms and rewards that differ.
        policies: the policies to compare; by default those of `rotting.advise`.
        seed: the seed of the policies and of the problems that they play.
        progress: show progress bars; by default on a terminal and in a notebook.
    """
    _check(log)
    listed = check_replay(log, default_policies(log) if policies is None else policies)
    seed = nonnegative_int("seed", seed)
    diagnosis = diagnose(log)
    replayed = replay_with(diagnosis, listed, seed, progress)
    advice = advise_with(diagnosis, listed, default_runs(log), seed, progress)
    return Analysis(log, diagnosis, replayed, advice)


def _check(log: Log) -> None:
    """Refuse a log in which there is nothing to compare."""
    known = check_log(log).reward[log.known]
    if not known.size:
        raise InvalidValueError("log", "have a row with a reward", log, got=f"{len(log):,} rows whose rewards are all missing")
    if len(log.arms) < 2:
        raise InvalidValueError("log", "have at least two arms to compare", log, got=f"only {log.arms[0]!r}")
    if (known == known[0]).all():
        got = f"{known[0]:.6g} in every row, so no arm wears out and every policy earns the same"
        raise InvalidValueError("log", "have rewards that differ", log, got=got)


def write_report(
    analysis: Analysis,
    folder: str | Path,
    source: str,
    facts: Mapping[str, str] | None = None,
    seed: int = 0,
    seconds: float = 0.0,
) -> Path:
    """Write the page into a new folder, which appears complete or not at all.

    Args:
        analysis: what `analyse` returned.
        folder: the new folder.
        source: the name of the file that the log was read from, for the title.
        facts: more facts about how the page was made, such as the columns of the log.
        seed: the seed of the analysis.
        seconds: how long the analysis took.

    Returns:
        The path of `report.html`.
    """
    about = About(
        title=f"Do the arms in {source} wear out?",
        paragraphs=headline(analysis),
        seed=seed,
        date=datetime.now(UTC),
        seconds=seconds,
        versions=versions(),
        machine=machine(),
    )
    text = "The same log, the same policies and the same seed give the same numbers."
    content = plain_page(sections(analysis), about, facts or {}, text).encode()
    with new_folder(folder) as partial:
        (partial / "report.html").write_bytes(content)
    return Path(folder, "report.html")


def sections(analysis: Analysis) -> list[PlainSection]:
    """Return the sections of the page."""
    return [
        _holds(analysis.log),
        _wear(analysis),
        _clock(analysis.diagnosis),
        _replayed(analysis.replay),
        _advised(analysis.advice),
        PlainSection("next", "What to do next", tuple(next_steps(analysis))),
    ]


# --- The headline -----------------------------------------------------------------------------------------------------------


def headline(analysis: Analysis) -> tuple[str, ...]:
    """Return the answer in a few sentences for readers who read nothing else."""
    diagnosis = analysis.diagnosis
    clock = "" if diagnosis.decay == "none" else _CLOCKS[diagnosis.decay]
    return f"{_wearing(diagnosis)} {clock}".strip(), analysis.advice.reason


def _wearing(diagnosis: Diagnosis) -> str:
    names = [str(each.name) for each in diagnosis.arms if each.verdict == "wears out"]
    if names:
        verb = "wears" if len(names) == 1 else "wear"
        return f"{len(names)} of {len(diagnosis.arms)} arms {verb} out: {word_list(names, NAMED)}."
    if diagnosis.decay == "none":
        return f"None of the {len(diagnosis.arms)} arms wears out, as far as the log shows."
    return f"The log does not show of any single one of its {len(diagnosis.arms)} arms that it wears out."


# --- The sections -----------------------------------------------------------------------------------------------------------


def _holds(log: Log) -> PlainSection:
    table = log.describe()
    shown = replace(table, lines=("The log in numbers",), notes=())
    return PlainSection("holds", "What the log holds", (*table.notes, _OF_THE_LOG), tables={"contents": shown})


def _wear(analysis: Analysis) -> PlainSection:
    log, diagnosis = analysis.log, analysis.diagnosis
    order = [int(arm) for arm in np.argsort(-log.pulls, kind="stable")]
    table = diagnosis.table()
    notes = (
        *table.notes,
        "wears out, rises: the whole interval is below or above 0. steady: it is close to 0. too few: neither.",
        f"An arm with fewer than {FEWEST_REWARDS} rewards has no interval (-).",
    )
    rows = [table.rows[arm] for arm in order]
    shown = FormattedTable(("Each arm, from its launch to its recent pulls",), table.columns, rows, table.left, notes)
    counted = _counts(diagnosis), _together(diagnosis)
    return PlainSection("wear", "Do arms wear out?", counted, (_pictures(log, diagnosis, order),), {"arms": shown})


def _counts(diagnosis: Diagnosis) -> str:
    counts = Counter(each.verdict for each in diagnosis.arms)
    words: dict[ArmVerdict, str] = {
        "wears out": "wear out",
        "steady": "are steady",
        "rises": "rise",
        "too few": "have too few rewards for a verdict",
    }
    found = ", ".join(f"{counts[verdict]} {words[verdict]}" for verdict in words if counts[verdict])
    return f"Of {len(diagnosis.arms)} arms, {found}."


def _together(diagnosis: Diagnosis) -> str:
    change, low, high = diagnosis.change
    if math.isnan(change):
        return "There is no estimate for all arms together: no arm has four rewards."
    return (
        f"All arms together changed by {100 * change:+.0f} % from the first to the last quarter of their pulls (95 % interval "
        f"{100 * low:+.0f} % to {100 * high:+.0f} %)."
    )


def _pictures(log: Log, diagnosis: Diagnosis, order: Sequence[int]) -> Figure:
    """Return two panels for each of the arms with the most pulls: over its own pulls, and over time."""
    drawn = [arm for arm in first_of(order, MOST_PICTURED) if log.known[log.arm == arm].any()]
    figure = arm_figure(log, drawn)
    style = level_format(diagnosis.arms)
    verdicts = [note for arm in drawn for note in (_change(diagnosis.arms[arm], style), "")]
    panels = tuple(_labelled(panel, note) for panel, note in zip(figure.panels, verdicts, strict=True))
    caption = figure.caption
    if rest := [str(log.arms[arm]) for arm in order if arm not in drawn]:
        verb = "has" if len(rest) == 1 else "have"
        caption += f" {word_list(rest, NAMED)} {verb} fewer pulls, or no known rewards, and no picture."
    return replace(figure, title="Each arm over its pulls and over time", caption=caption, panels=panels)


def _labelled(panel: Panel, note: str) -> Panel:
    """Return a panel with a note. All curves get one label: each panel has one arm, so the page needs no legend."""
    return replace(panel, note=note, curves=tuple(replace(curve, label="mean reward") for curve in panel.curves))


def _change(arm: ArmTrend, style: str) -> str:
    """Return the verdict on an arm and the interval behind it, in a line."""
    verdict = "too few rewards for a verdict" if arm.verdict == "too few" else arm.verdict
    if math.isnan(arm.low):
        return f"{verdict}, and for an interval: fewer than {FEWEST_REWARDS}"
    return f"{verdict}: change {arm.change_text(style)} (95 % interval)"


def _clock(diagnosis: Diagnosis) -> PlainSection:
    verdict = "Arms do not wear out along any clock." if diagnosis.decay == "none" else _CLOCKS[diagnosis.decay]
    entangled = (
        f"Time alone explains {100 * diagnosis.entanglement:.0f} % of how the pull counts of an arm vary. At 100 % pulls and "
        "time are the same clock, and no analysis of this log could tell them apart; the lower the number, the better the "
        "log can. The number describes the log itself and needs no interval."
    )
    return PlainSection("clock", "Use or time?", (f"{verdict} {diagnosis.reason}", entangled, *_untangle(diagnosis)))


def _untangle(diagnosis: Diagnosis) -> list[str]:
    """Return what would tell pulls and time apart, if the log does not."""
    if diagnosis.decay != CANNOT_TELL:
        return []
    log = diagnosis.log
    found = "A longer log might tell, or units whose traffic differs more."
    if len(log.units) < FEWEST_UNITS:
        found = "A column that says who sees the arm, such as a country or a placement, could tell"
        if len(log.units) > 1:
            found = f"More units could tell; the log has {len(log.units)}"
        found += f": at least {FEWEST_UNITS} are needed, some with much traffic and some with little."
    return [found]


def _replayed(found: Replay) -> PlainSection:
    rounds = int(found.log.known.sum())
    least, most = (f"{100 * steps / rounds:.0f}" for steps in (min(found.steps), max(found.steps)))
    reach = f"{least} %" if least == most else f"{least} to {most} %"
    depends = ", depending on the policy" if len(found) > 1 else ""
    coverage = (
        f"The rewards in the log answer {reach} of its {rounds:,} rounds{depends}. A replay ends when the policy asks for an "
        "arm of which the log has no more rewards."
    )
    meaning = (
        "Up to that round, a reward is what the policy would have earned if arms wear out with use or not at all. It is "
        "recomputed from the log, not estimated, so it has no interval. The bounds are for all rounds, under every reading "
        "that the log allows."
    )
    tables = {"replay": found.table()}
    if found.fixed_choices:
        tables["fixed"] = found.fixed_table()
    title = "What would other policies have earned on the rewards of the log?"
    return PlainSection("replay", title, (coverage, meaning), tables=tables)


def _advised(advice: Advice) -> PlainSection:
    method = (
        "Where the log has no rewards, its arms are fitted, and the policies play problems that the log could have come from. "
        "The intervals carry what the log leaves open."
    )
    rule = (
        f"The recommended policy is the one whose smallest gain is the largest, if that gain is at least {LEAST_GAIN:.0f} %. "
        "The smallest gain of a policy is the lowest end of its intervals under all readings, that is, in whichever way the "
        "log allows arms to wear out."
    )
    title = "What would they have earned in all rounds?"
    return PlainSection("advice", title, (rule, method), (advice.figure(),), {"gains": advice.table()})


# --- What to do next --------------------------------------------------------------------------------------------------------


def next_steps(analysis: Analysis) -> list[str]:
    """Return what follows from the verdicts, a paragraph for each step."""
    log, diagnosis, advice = analysis.log, analysis.diagnosis, analysis.advice
    steps = [_policy_step(advice), _clock_step(diagnosis)]
    few = sum(each.verdict == "too few" for each in diagnosis.arms)
    if few:
        arms = "1 arm has" if few == 1 else f"{few} arms have"
        steps.append(f"Keep logging: {arms} too few rewards for a verdict.")
    if log.missing:
        steps.append(
            f"Find out why {100 * log.missing / len(log):.1f} % of the rewards are missing. If they are zeros that nobody "
            "reported, the means above are too high."
        )
    lacking = [
        what
        for what, has in (
            ("the time of every decision", log.has_times),
            ("who saw the arm (a unit, such as a country or a placement)", log.has_units),
        )
        if not has
    ]
    if lacking:
        steps.append(f"Let the next log hold {' and '.join(lacking)}: it will say more about the same questions.")
    return steps


def _policy_step(advice: Advice) -> str:
    if advice.policy is None:
        return f"Keep the present way of choosing arms for now. {advice.reason}"
    return f"Let {advice.policy_name} choose the arms: rotting.{advice.policy!r}. {advice.reason}"


def _clock_step(diagnosis: Diagnosis) -> str:
    return {
        "none": "Wear is no reason to replace arms.",
        "pulls": "Spread the pulls, and replace arms by how often they were shown. Rest alone does not restore them.",
        "time": "Replace arms by their age. To show them less often does not make them last longer.",
        "both": "Replace arms by how often they were shown and by their age.",
        CANNOT_TELL: "Before you plan replacements, find out whether use or time wears arms out: the section above says how.",
    }[diagnosis.decay]
