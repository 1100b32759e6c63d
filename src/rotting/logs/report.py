"""The page about a log: what it holds, whether arms wear out, what other policies would have earned, and what to do next."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from rotting.common.display.pages import About, PlainSection, plain_page, versions
from rotting.common.display.tables import FormattedTable
from rotting.common.files import new_folder
from rotting.common.machine import machine
from rotting.common.progress import Progress
from rotting.common.rules import nonnegative_int, positive_int
from rotting.common.short_numbers import word_list
from rotting.errors import InvalidValueError
from rotting.logs.advice import LEAST_GAIN, Advice, advise_with, default_policies
from rotting.logs.cells import CANNOT_TELL
from rotting.logs.diagnosis import NAMED, PICTURED, Diagnosis, diagnose
from rotting.logs.log import Log, check_log
from rotting.logs.replay import FEW_ANSWERED, Replay, check_replay, replay_with
from rotting.policy import Policy


@dataclass(frozen=True)
class Analysis:
    """Everything that a log says about wear and about other policies. `analyse` makes it."""

    log: Log
    diagnosis: Diagnosis
    replay: Replay
    advice: Advice


def analyse(
    log: Log,
    policies: Policy | Sequence[Policy] | None = None,
    seed: int = 0,
    progress: bool | None = None,
    runs: int | None = None,
) -> Analysis:
    """Diagnose a log, and ask what policies would have earned on it.

    Args:
        log: the log, with at least two arms and rewards that differ.
        policies: the policies to compare; by default those of `rotting.advise`.
        seed: the seed of the policies and of the problems that they play.
        progress: show progress bars; by default on a terminal and in a notebook.
        runs: the number of problems that each policy plays; by default as many as the advice needs.
    """
    _check(log)
    listed = check_replay(log, default_policies() if policies is None else policies)
    seed = nonnegative_int("seed", seed)
    number = None if runs is None else positive_int("runs", runs)
    with Progress(1, "verdicts on arms and clocks", show=progress) as bar:
        diagnosis = diagnose(log)
        bar.advance()
    replayed = replay_with(diagnosis, listed, seed, progress)
    advice = advise_with(diagnosis, listed, number, seed, progress)
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
    """Return the sections of the page: what it shows, what to do, what is not known, and then the numbers."""
    diagnosis, advice = analysis.diagnosis, analysis.advice
    return [
        PlainSection("picture", "The picture", figures=(diagnosis.figure(),), notes=diagnosis.notes),
        PlainSection("next", "What to do next", tuple(next_steps(analysis))),
        PlainSection("unknown", "What the log cannot say", (_unknown(diagnosis), *diagnosis.lacks)),
        PlainSection("arms", "All arms", tables={"arms": _arms(diagnosis)}),
        PlainSection("policies", "Other policies", _about_policies(analysis), tables=policy_tables(analysis)),
        PlainSection("log", "What the log holds", advice.log.describe().notes, tables={"contents": _contents(advice.log)}),
    ]


# --- The headline and the picture -------------------------------------------------------------------------------------------


def headline(analysis: Analysis) -> tuple[str, ...]:
    """Return the answer in a few sentences for readers who read nothing else."""
    diagnosis = analysis.diagnosis
    return f"{_wearing(diagnosis)} {diagnosis.reason}", analysis.advice.reason


def _wearing(diagnosis: Diagnosis) -> str:
    names = [str(each.name) for each in diagnosis.arms if each.verdict == "wears out"]
    clock = {"pulls": " with use", "time": " with time", "both": " with use and with time"}.get(diagnosis.decay, "")
    if names:
        found = f"{word_list(names, NAMED)} {'wears' if len(names) == 1 else 'wear'} out{clock}"
    elif clock:
        found = f"Arms wear out{clock}"
    elif diagnosis.decay == "none":
        found = "Nothing wears out, as far as the log can show"
    else:
        found = "The log shows no single arm that wears out"
    return f"{found}; {diagnosis.tested} of the {len(diagnosis.arms)} arms had enough rewards to be tested."


# --- What to do, and what is not known --------------------------------------------------------------------------------------


def next_steps(analysis: Analysis) -> list[str]:
    """Return what follows from the verdicts, a paragraph for each step."""
    log, diagnosis, advice = analysis.log, analysis.diagnosis, analysis.advice
    if advice.policy is None:
        steps = ["Keep the present way of choosing arms for now."]
    else:
        steps = [f"Let {advice.policy_name} choose the arms: rotting.{advice.policy!r}."]
    steps.append(
        {
            "none": "Wear is no reason to replace arms.",
            "pulls": "Spread the pulls, and replace arms by how often they were shown. Whether rest restores them is unknown.",
            "time": "Replace arms by their age: how often they were shown explains only a part of their fall, if any.",
            "both": "Replace arms by how often they were shown and by their age.",
            CANNOT_TELL: "Plan no replacements by use or by age before the log can tell them apart.",
        }[diagnosis.decay]
    )
    steps += diagnosis.lifetimes[:PICTURED] if diagnosis.decay in {"pulls", "time"} else ()
    if log.missing > log.young:
        steps.append(
            f"Find out why {(log.missing - log.young) / len(log):.1%} of the rewards are missing. If they are zeros that "
            "nobody reported, the means are too high."
        )
    return steps


def _unknown(diagnosis: Diagnosis) -> str:
    counts = Counter(each.verdict for each in diagnosis.arms)
    found = (counts["too few"], "too few rewards for a verdict"), (counts[CANNOT_TELL], "may move as all arms do")
    parts = [f"{number} of {len(diagnosis.arms)} arms: {text}" for number, text in found if number]
    clock = "The log cannot tell whether use or time wears arms out." if diagnosis.decay == CANNOT_TELL else ""
    arms = f"{'; '.join(parts)}." if parts else "Every arm has a verdict."
    return f"{clock} {arms}".strip()


# --- The numbers ------------------------------------------------------------------------------------------------------------


def _arms(diagnosis: Diagnosis) -> FormattedTable:
    table = diagnosis.table()
    rows = [table.rows[arm] for arm in diagnosis.order]
    notes = tuple(each for each in table.notes if each not in diagnosis.notes)
    return FormattedTable(("From launch to now",), table.columns, rows, table.left, notes)


def _about_policies(analysis: Analysis) -> tuple[str, ...]:
    """Return what the rewards of the log alone say, and how policies are compared beyond them."""
    found, parts = analysis.replay, []
    if analysis.advice.gains:
        parts.append(
            f"A policy is recommended if it gains at least {LEAST_GAIN:.0f} % in 95 % of the problems that the log could have "
            "come from, with pulls as the clock and with time, unless the log names one."
        )
    if analysis.diagnosis.decay in {"time", "both"}:
        return tuple(parts)
    if max(found.steps) < FEW_ANSWERED * len(found.log):
        return *parts, *found.table().lines[1:]
    exact = "If arms wear out with their pulls or not at all, replays on the rewards of the log are exact, until these run out."
    return *parts, exact


def policy_tables(analysis: Analysis) -> dict[str, FormattedTable]:
    """Return what policies would have earned; replays only if pulls may be the clock, or nothing wears out."""
    tables = {}
    if analysis.advice.gains:
        tables["gains"] = analysis.advice.table()
    replayed = analysis.replay.table()
    if replayed.rows and analysis.diagnosis.decay not in {"time", "both"}:
        tables["replay"] = replayed
    if analysis.replay.fixed_choices:
        tables["fixed"] = analysis.replay.fixed_table()
    return tables


def _contents(log: Log) -> FormattedTable:
    return replace(log.describe(), lines=("The log in numbers",), notes=())
