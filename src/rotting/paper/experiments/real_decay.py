"""Real things that wear out: news that is shared less and less, batteries that deliver less and less."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from rotting.common.display.figures import BAND, Curve, Figure, Panel, regret_panel
from rotting.errors import DataWarning
from rotting.paper.datasets import batteries, news
from rotting.paper.experiments import ORDER, Experiment, Prepared, Results, regret_table, tuned_policies
from rotting.paper.report.model import Findings
from rotting.paper.theory import subgaussian_scale
from rotting.policies.exp3_s import Exp3S
from rotting.policies.glr_ucb import GLRUCB
from rotting.policy import Policy
from rotting.problems import Problem
from rotting.problems.mean_table import mean_bounds
from rotting.simulation.plan import Simulation


@dataclass(frozen=True)
class Settings:
    """Everything that decides the results, apart from the data."""

    runs: int
    battery_noise: float  # Ah, added because the record's own scatter is too small to make learning hard
    seed: int = 0


LABELS = ("RAW-UCB 1.4", "EFF-RAW-UCB 1.4", "FEWA 0.06", "GLR-UCB", "Exp3.S", "wSWA 0.02", "UCB1", "uniform")
SIZES = {"quick": Settings(runs=40, battery_noise=0.1), "full": Settings(runs=500, battery_noise=0.1)}


@dataclass(frozen=True)
class _Case:
    """A problem, and the labels of its figure."""

    load: Callable[[Settings], Problem]
    title: str
    arm: str
    clock: str
    reward: str


CASES: Mapping[str, _Case] = {
    "news": _Case(lambda _: news(), "News", "a group of news items", "round t", "probability of a share within 20 minutes"),
    "batteries": _Case(
        lambda settings: batteries(settings.battery_noise),
        "Batteries, with a noise added",
        "a battery",
        "own pulls",
        "capacity of a discharge (Ah)",
    ),
    "batteries-as-recorded": _Case(
        lambda _: batteries(), "Batteries, as recorded", "a battery", "own pulls", "capacity of a discharge (Ah)"
    ),
}


def policies(problem: Problem) -> dict[str, Policy]:
    """Return the policies, given the scale of the noise and, where they need it, T and the range of the rewards."""
    T = problem.resolve_horizon()
    sigma = subgaussian_scale(problem.noise)
    assert sigma is not None  # only Poisson rewards have none
    low, high = _range(problem, T, sigma)
    made = {
        **tuned_policies(sigma),
        "GLR-UCB": GLRUCB.from_horizon(T, sigma=sigma),
        "Exp3.S": Exp3S.from_horizon(T, low=low, high=high, outside="clip"),
    }
    return {label: made[label] for label in LABELS}


def _range(problem: Problem, horizon: int, sigma: float) -> tuple[float, float]:
    """Return the range of the rewards; if it is unbounded, that of the means and three standard deviations more."""
    low, high = problem.reward_bounds(horizon)
    if np.isfinite([low, high]).all():
        return low, high
    lows, highs = zip(*(mean_bounds(problem.means(horizon), i, horizon) for i in range(problem.n_arms)), strict=True)
    return min(lows) - 3 * sigma, max(highs) + 3 * sigma


def prepare(settings: Settings, workers: int | None, progress: bool | None) -> Prepared:
    """Load the data that are there; a file that is missing or unreadable becomes a note."""
    games, notes = {}, []
    for name, case in CASES.items():
        try:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always", DataWarning)
                problem = case.load(settings)
        except (ImportError, OSError, ValueError) as error:
            notes.append(f"A data set is left out: {error}.")
            continue
        notes += [f"{name.capitalize()}: {each.message}." for each in said]
        games[name] = Simulation(tuple(policies(problem).values()), problem, runs=settings.runs, seed=settings.seed)
    return Prepared(games, tuple(dict.fromkeys(notes)))


def findings(settings: Settings, prepared: Prepared, results: Results) -> Findings:
    """Return the means, regret over time, and a table per problem."""
    figures = []
    for name, result in results.items():
        problem = prepared.games[name].problem
        panels = (_means(problem, CASES[name]), regret_panel("Regret", LABELS, result.checkpoints, result.regret))
        figures.append(
            Figure(name, f"{CASES[name].title}: means and regret", f"Regret: {BAND}.", panels, columns=2, first=ORDER)
        )
    return Findings(
        paragraphs=(
            (
                "News items on Facebook, restless: an arm is one of eight groups of items that had ten shares or more, a pull "
                "shows one of them and pays 1 if it is shared within 20 minutes. The probability is the mean over the three "
                "hours around; it fades over two days, but need not fall all the time."
            ),
            (
                "Batteries, rested: a pull discharges one and pays its capacity, which falls with every discharge and recovers "
                "a little after rests. Beyond the end of its record a battery keeps its last value; the game ends where the "
                "best play would get there. The record scatters so little that learning is easy: the same "
                f"batteries are also played with a noise of {settings.battery_noise:g} Ah."
            ),
        ),
        figures=tuple(figures),
        tables={
            name: regret_table(
                result, LABELS, f"{CASES[name].title}: regret after {result.horizon:,} rounds, {result.runs:,} runs"
            )
            for name, result in results.items()
        },
    )


def _means(problem: Problem, case: _Case) -> Panel:
    T = problem.resolve_horizon()
    clock = np.unique(np.linspace(0, T - 1, 400).astype(np.int64))
    rested = problem.kind == "rested"
    curves = []
    for i in range(problem.n_arms):
        means = [problem.mean(i, t=int(k) + 1, n=int(k)) for k in clock]
        curves.append(Curve(case.arm, clock + (not rested), np.array(means)))
    return Panel("Means of the arms", case.clock, case.reward, tuple(curves))


EXPERIMENT = Experiment(
    id="real-decay",
    title="Real things that wear out",
    reference="not in the paper: Moniz and Torgo 2018 (UCI no. 432), and Saha and Goebel 2007 (NASA Ames)",
    sizes=SIZES,
    prepare=prepare,
    findings=findings,
    order=7,
    ours=True,
)
