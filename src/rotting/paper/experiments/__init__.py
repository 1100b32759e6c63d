"""Experiments of papers, one per file: settings as data, the games to play, and findings from their results.

A module `my_figure.py` here defines `EXPERIMENT = Experiment("my-figure", ...)` and is found by that id.
"""

import importlib
import itertools
import os
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from rotting import registry
from rotting.common.arrays import Floats
from rotting.common.display.pages import versions
from rotting.common.files import new_folder
from rotting.common.machine import machine
from rotting.common.rules import suggest
from rotting.common.statistics import Interval, mean_interval
from rotting.errors import InvalidValueError
from rotting.paper.report import writer
from rotting.paper.report.model import Findings, Kind, ReportAbout, Section
from rotting.policy import Policy
from rotting.simulation.engines.chunk_store import ChunkStore
from rotting.simulation.plan import Simulation
from rotting.simulation.result import Result
from rotting.simulation.simulate import AnyEngine, simulate_all

Results = Mapping[str, Result]
"""The results of an experiment, by the names of its games."""


Settings = TypeVar("Settings")
"""The type of the settings of an experiment: a frozen dataclass that JSON can carry, with a `seed`."""

REPEATS = {"quick": 3, "full": 5}
"""How often games are played whose times are measured, by the size of the experiments."""

CITATION = "Seznec, Ménard, Lazaric, Valko, AISTATS 2020"

ORDER = (
    *("RAW-UCB 1.4", "RAW-UCB 4", "FEWA 0.06", "FEWA 4", "Exp3.S", "GLR-UCB", "EFF-RAW-UCB 1.4", "wSWA 0.02"),
    *("SW-UCB", "D-UCB", "UCB1", "uniform"),
)
"""Labels of policies in one order, so that each has the same colour in all figures."""


def tuned_policies(sigma: float = 1.0) -> dict[str, Policy]:
    """Return the policies that need no horizon, with the tunings of the papers, by their labels.

    Args:
        sigma: the scale of the noise.
    """
    return {
        "RAW-UCB 1.4": registry.make("raw-ucb", alpha=1.4, sigma=sigma),
        "RAW-UCB 4": registry.make("raw-ucb", alpha=4.0, sigma=sigma),
        "FEWA 0.06": registry.make("fewa", alpha=0.06, sigma=sigma),
        "FEWA 4": registry.make("fewa", alpha=4.0, sigma=sigma),
        "EFF-RAW-UCB 1.4": registry.make("eff-raw-ucb", alpha=1.4, sigma=sigma, m=2.0),
        "wSWA 0.02": registry.make("wswa", alpha=0.02, sigma=sigma),
        "UCB1": registry.make("ucb1", sigma=sigma),
        "uniform": registry.make("uniform"),
    }


@dataclass(frozen=True)
class GameSettings:
    """The settings of an experiment whose games all have the same length."""

    horizon: int
    runs: int
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Prepared:
    """The games of an experiment, and the other data that its findings need.

    Args:
        games: the games to play, by names that are also names of folders.
        notes: caveats, such as missing files.
        data: other data that `findings` needs.
        timed: games whose times are compared, by name; `run` plays each of them several times, on one thread.
        times: the microseconds per round of the timed games, `[repeat, policy]`, filled in by `run`.
    """

    games: Mapping[str, Simulation]
    notes: tuple[str, ...] = ()
    data: Any = None
    timed: Mapping[str, Simulation] = field(default_factory=dict)
    times: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def repeats(self) -> int:
        """How often the times were measured; 0 if nothing was timed."""
        return max(map(len, self.times.values()), default=0)


@dataclass(frozen=True)
class Experiment(Generic[Settings]):
    """An experiment of a paper.

    Args:
        id: its stable name, the module's with hyphens.
        title: what it is, in a few words.
        reference: where it is published.
        sizes: the settings under "quick" and "full".
        prepare: `prepare(settings, workers, progress)` reads data and returns the games.
        findings: `findings(settings, prepared, results)` returns the text, figures, tables and claims of the report.
        order: the place of the experiment in the report.
        kind: whether it plays games, or checks the theorems of the paper.
        other: whether it is of another paper.
    """

    id: str
    title: str
    reference: str
    sizes: Mapping[str, Settings]
    prepare: Callable[[Settings, int | None, bool | None], Prepared]
    findings: Callable[[Settings, Prepared, Results], Findings]
    order: int
    kind: Kind = Kind.EXPERIMENTS
    other: bool = False


@dataclass(frozen=True, eq=False)
class FinishedExperiment:
    """An experiment that was run: its section of the report, and the results of its games."""

    section: Section
    results: Results = field(repr=False)


def list_experiments(other: bool = True) -> list[str]:
    """Return the ids of all experiments, in the order of the report.

    Args:
        other: whether to include those of other papers.

    Example:
        >>> list_experiments()[0]
        'rested-two-arms'
        >>> "fewa2019" in list_experiments(), "fewa2019" in list_experiments(other=False)
        (True, False)
    """
    names = sorted(_ids(), key=lambda name: find(name).order)
    return [name for name in names if other or not find(name).other]


def _ids() -> list[str]:
    return [info.name.replace("_", "-") for info in pkgutil.iter_modules(__path__)]


def check_id(name: str) -> str:
    """Return `name` if it is the id of an experiment; else raise an error with a suggestion."""
    known = _ids()
    if name not in known:
        raise InvalidValueError("experiment", f"be one of {', '.join(known)}", name, hint=suggest(name, known))
    return name


def find(name: str) -> Experiment[Any]:
    """Return the experiment called `name`.

    Example:
        >>> find("rested-two-arms").sizes["full"].horizon
        10000
    """
    module = importlib.import_module(f"{__name__}.{check_id(name).replace('-', '_')}")
    experiment: Experiment[Any] = module.EXPERIMENT
    return experiment


def run(
    names: Sequence[str],
    size: str = "quick",
    workers: int | None = None,
    progress: bool | None = None,
    keep: str | Path | ChunkStore | None = None,
    engine: AnyEngine = "threads",
) -> list[FinishedExperiment]:
    """Run experiments and return them in the order of the report.

    Args:
        names: ids of experiments; games that several of them need are played once.
        size: "quick" or "full".
        workers: threads; all CPUs by default.
        progress: show a progress bar; by default when standard error is a terminal.
        keep: a folder for finished games, from which an interrupted run resumes, or its store; None to keep nothing.
        engine: what plays the games, as for `rotting.simulate`.
    """
    wanted = set(map(check_id, names))
    chosen = [find(name) for name in list_experiments() if name in wanted]

    @cache  # experiments with the same `prepare` and settings share the data, which can take long to read
    def prepare(function: Callable[[Settings, int | None, bool | None], Prepared], settings: Settings) -> Prepared:
        return function(settings, workers, progress)

    prepared = [prepare(each.prepare, each.sizes[size]) for each in chosen]
    games = list(dict.fromkeys(game for each in prepared for game in each.games.values()))
    played = dict(zip(games, simulate_all(games, workers, progress, keep, engine), strict=True))
    timed = list(dict.fromkeys(game for each in prepared for game in each.timed.values()))
    repeats = [simulate_all(timed, 1, progress, compile="now") for _ in range(REPEATS[size])]
    times = {game: np.stack([results[k].us_per_round for results in repeats]) for k, game in enumerate(timed)}
    return [
        _finish(
            experiment,
            size,
            replace(each, times={name: times[game] for name, game in each.timed.items()}),
            {name: played[game] for name, game in each.games.items()},
        )
        for experiment, each in zip(chosen, prepared, strict=True)
    ]


def _finish(experiment: Experiment[Any], size: str, prepared: Prepared, results: Results) -> FinishedExperiment:
    settings = experiment.sizes[size]
    found = experiment.findings(settings, prepared, results)
    policies = [repr(each) for each in dict.fromkeys(each for result in results.values() for each in result.policies)]
    section = Section(
        experiment.id,
        experiment.title,
        experiment.reference,
        replace(found, notes=(*prepared.notes, *found.notes)),
        settings={"size": size, **asdict(settings), "policies": policies},
        kind=experiment.kind,
    )
    return FinishedExperiment(section, results)


def final_regret(results: Iterable[Result], index: int) -> Floats:
    """Return `[game, run]`, the regret of a policy at the end of each game."""
    return np.array([result.regret[index, :, -1] for result in results])


def mean_regrets(result: Result, labels: Sequence[str]) -> dict[str, Interval]:
    """Return the mean regret of each policy at the end, and its 95 % interval, by the labels of the policies."""
    return {label: mean_interval(runs) for label, runs in zip(labels, result.regret[:, :, -1], strict=True)}


def regret_at(result: Result, index: int, *shares: float) -> list[Floats]:
    """Return the regret of each run of a policy at the checkpoints nearest to these shares of the horizon."""
    places = [int(abs(result.checkpoints - share * result.horizon).argmin()) for share in shares]
    return [result.regret[index, :, k] for k in places]


def free_name(path: Path) -> Path:
    """Return `path` if it does not exist, else the first of `path-2`, `path-3`, ... that does not."""
    names = itertools.chain([path], (path.with_name(f"{path.name}-{n}") for n in itertools.count(2)))
    return next(name for name in names if not os.path.lexists(name))


def write(finished: Sequence[FinishedExperiment], path: Path, about: ReportAbout, numbered: bool = False) -> Path:
    """Write a new folder with the report and each experiment's figures, tables, settings and results; return its path.

    The folder appears complete or not at all, and never replaces another.

    Args:
        finished: the experiments that were run.
        path: the folder.
        about: what the report says about itself.
        numbered: take the next free name if `path` exists, instead of refusing.
    """
    target = free_name(path) if numbered else path
    with new_folder(target) as partial:
        for experiment in finished:
            for name, result in experiment.results.items():
                result.save(partial / experiment.section.id / "results" / name)
        writer.write([each.section for each in finished], partial, about)
    return target


OPENING = "rested-two-arms"
"""The experiment whose figure the report begins with."""


def about(finished: Sequence[FinishedExperiment], seconds: float = 0.0, kept: int = 0) -> ReportAbout:
    """Return the title and the introduction of the report of these experiments, and how it was made.

    Args:
        finished: the experiments that were run.
        seconds: how long they took.
        kept: how many games were kept from earlier runs, as `ChunkStore.reused` counts them.
    """
    settings = finished[0].section.settings
    results = {id(result): result for each in finished for result in each.results.values()}  # some share games
    source = "Every number comes from these games, except those marked as the paper's."
    if settings["size"] == "quick":
        size = "This is the quick size, with fewer runs than the paper: intervals are wide, and claims may stay undecided."
    else:
        size = "This is the full size, with as many runs as in the paper."
    title = "A single algorithm for both restless and rested rotting bandits"
    subject = (
        "RAW-UCB plays arms that wear out, with time or with use; here are the figures, tables and claims of its paper "
        "(Seznec, Ménard, Lazaric and Valko, AISTATS 2020), from games of our own."
    )
    others = [each.section for each in finished if find(each.section.id).other]
    if len(others) == len(finished):
        title = " and ".join(each.title for each in others)
        subject = f"Figures, tables and claims, from games of our own. {'. '.join(each.reference for each in others)}."
    return ReportAbout(
        title=f"{title}: reproduced",
        paragraphs=(f"{subject} {source} {size}",),
        seed=settings["seed"],
        date=datetime.now(UTC),
        seconds=seconds,
        versions=versions(),
        machine=machine(),
        opening=OPENING,
        games=sum(len(result.policies) * result.runs for result in results.values()),
        kept=kept,
    )
