"""The cost of a wrong sigma: RAW-UCB with sigmas from a tenth to ten times the true one, and with an estimated one."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats
from rotting.common.display.figures import Figure, Panel, mean_points
from rotting.common.display.tables import FormattedTable, interval_column, value_column
from rotting.common.statistics import Interval, mean_interval
from rotting.paper.experiments import Experiment, GameSettings, Prepared, Results, final_regret
from rotting.paper.report.claims import Statement
from rotting.paper.report.model import Findings, Kind
from rotting.policies.raw_ucb import RAWUCB
from rotting.problems import Exponential, Linear, Piecewise, Problem, ten_arms
from rotting.problems.noise import Bernoulli, Gaussian, Poisson
from rotting.simulation.comparisons import mean_ratio, smallest_ratio
from rotting.simulation.plan import Simulation

FACTORS = tuple(round(10 ** (k / 4), 6) for k in range(-4, 5))  # of the true sigma
LEAST, TRUE, MOST = FACTORS.index(0.1), FACTORS.index(1.0), FACTORS.index(10.0)
GIVEN, ESTIMATED = "sigma given", "sigma estimated"
N_ARMS = 10


SIZES = {"quick": GameSettings(horizon=20_000, runs=40), "full": GameSettings(horizon=20_000, runs=1_000)}


class Case(NamedTuple):
    """A problem, and the standard deviation of its noise, or a usual one where it varies."""

    title: str
    problem: Problem
    sigma: float


def fading_clicks(horizon: int) -> Problem:
    """Return ten arms with click rates from 0.2 % to 3.8 %, 2 % on average; the better an arm, the faster it fades."""
    halves = [horizon / 10 * (N_ARMS - i) for i in range(N_ARMS)]
    arms = [Exponential(0.002 + 0.004 * i, math.log(2) / half) for i, half in enumerate(halves)]
    return Problem.restless(arms, Bernoulli(), horizon)


def steady_clicks(horizon: int) -> Problem:
    """Return ten arms whose click rates fall evenly from 2 % to 1 %: the first in T / 20 of its pulls, the last in T / 2."""
    arms = [Linear(0.02, slope=-0.2 / (horizon * (i + 1)), floor=0.01) for i in range(N_ARMS)]
    return Problem.rested(arms, Bernoulli(), horizon)


def falling_counts(horizon: int) -> Problem:
    """Return ten arms whose mean counts fall from between 4.5 and 9 to 4: by half of the way in every T / 20 own pulls."""
    arms = [Exponential(4.5 + 0.5 * i, math.log(2) / (horizon / 20), limit=4.0) for i in range(N_ARMS)]
    return Problem.rested(arms, Poisson(), horizon)


def four_quarters(horizon: int) -> Problem:
    """Return four restless arms, the best of which falls in every quarter of the game."""
    levels = [[0.9, 0.4, 0.3, 0.2], [0.7, 0.7, 0.3, 0.2], [0.5, 0.5, 0.5, 0.2], [0.3, 0.3, 0.3, 0.3]]
    starts = [k * (horizon // 4) for k in range(4)]
    return Problem.restless([Piecewise(values, starts) for values in levels], Gaussian(0.5), horizon)


def cases(horizon: int) -> dict[str, Case]:
    """Return the problems, by the names of their games."""
    return {
        "ten-arms": Case("rested, ten arms, Gaussian", ten_arms(horizon), 1.0),
        "quarters": Case("restless, four arms, Gaussian", four_quarters(horizon), 0.5),
        "clicks": Case("fading click rates of 2 %", fading_clicks(horizon), 0.14),
        "steady-clicks": Case("click rates from 2 % to 1 %", steady_clicks(horizon), 0.14),
        "counts": Case("falling counts, Poisson", falling_counts(horizon), 2.5),
    }


def policies(sigma: float) -> tuple[RAWUCB, ...]:
    """Return RAW-UCB with every multiple of sigma, then with an estimated one."""
    return (*(RAWUCB(sigma=factor * sigma) for factor in FACTORS), RAWUCB(sigma="estimate"))


def prepare(settings: GameSettings, workers: int | None, progress: bool | None) -> Prepared:
    """Play every problem with every sigma."""
    T = settings.horizon
    return Prepared(
        {
            name: Simulation(policies(case.sigma), case.problem, runs=settings.runs, seed=settings.seed, checkpoints=(T,))
            for name, case in cases(T).items()
        }
    )


def findings(settings: GameSettings, prepared: Prepared, results: Results) -> Findings:
    """Return regret over the sigma that is given, a table, and claims of our own."""
    measured = _Measured(results)
    return Findings(
        paragraphs=(
            (
                "RAW-UCB must be told sigma, the scale of the noise. Here it is told between a tenth and ten times the true "
                'one, and with sigma="estimate" nothing: the scale of each arm is then learned from the differences of its '
                "successive rewards. No theorem covers that. Nothing of this is in the paper; the claims are ours."
            ),
            (
                "Ten rested arms with noise of 1: one is worth 0, the others +mu for 1,000 pulls and -mu after, mu from 0.001 "
                "to 10. Four restless arms with noise of 0.5, whose means fall by quarters of the game. Ten restless arms with "
                "click rates from 0.2 % to 3.8 %, of which the best halves ten times as fast as the worst: the true sigma is "
                "taken to be 0.14, that of a rate of 2 %. Ten rested arms whose click rates all fall from 2 % to 1 %, at ten "
                "speeds: rare successes, and arms close to each other. Ten rested arms with Poisson counts that fall from "
                "between 4.5 and 9 to 4: 2.5, the root of a count of 6.25."
            ),
        ),
        figures=(_figure(settings, measured),),
        tables={"regret-by-sigma": _table(settings, measured)},
        claims=tuple(statement.decide(measured) for statement in STATEMENTS),
    )


@dataclass(frozen=True, eq=False)
class _Measured:
    """The measurements that decide the claims."""

    results: Results

    def given(self, place: int) -> Floats:
        """Return `[problem, run]`, the regret at the end with this multiple of sigma."""
        return final_regret(self.results.values(), place)

    def estimated(self) -> Floats:
        """Return `[problem, run]`, the regret at the end with an estimated sigma."""
        return self.given(len(FACTORS))

    def on(self, name: str, place: int) -> Floats:
        """Return `[1, run]`, the same on one problem."""
        return final_regret([self.results[name]], place)


def _figure(settings: GameSettings, measured: _Measured) -> Figure:
    panels = []
    for k, case in enumerate(cases(settings.horizon).values()):
        told = [measured.given(place)[k] for place in range(len(FACTORS))]
        line = mean_points(ESTIMATED, FACTORS, [measured.estimated()[k]] * len(FACTORS))  # the same for each sigma
        curves = (mean_points(GIVEN, FACTORS, told), replace(line, points=False))
        panels.append(Panel(case.title, "sigma given / true sigma", "regret at the end", curves, x_log=True, y_log=True))
    caption = (
        f"Mean regret of RAW-UCB after {settings.horizon:,} rounds, {settings.runs:,} runs, over the sigma that it is given; "
        "the line is that of the estimated sigma. Bars and band: 95 % intervals."
    )
    return Figure("regret", "Regret where sigma is not known", caption, tuple(panels), columns=2)


def _table(settings: GameSettings, measured: _Measured) -> FormattedTable:
    heads = {**{place: f"{factor:.3g}" for place, factor in enumerate(FACTORS)}, len(FACTORS): "estimated"}
    rows = [
        {
            "problem": case.title,
            "true": case.sigma,
            **{head: mean_interval(measured.given(place)[k]) for place, head in heads.items()},
        }
        for k, case in enumerate(cases(settings.horizon).values())
    ]
    first = (value_column("problem"), value_column("true", "g"))
    line = f"Mean regret after {settings.horizon:,} rounds, and its 95 % interval, by sigma / true sigma"
    return FormattedTable((line,), (*first, *map(interval_column, heads.values())), rows)


OURS = "ours, not the paper's"
EVERYWHERE = "geometric mean over the five problems"


def _over_true(place: int) -> Callable[[_Measured], Interval]:
    return lambda measured: mean_ratio(measured.given(place), measured.given(TRUE))


def _best_given(measured: _Measured) -> Interval:
    told = np.concatenate([measured.given(place) for place in range(len(FACTORS))])
    return smallest_ratio(told, np.tile(measured.estimated(), (len(FACTORS), 1)))


STATEMENTS: tuple[Statement[_Measured], ...] = (
    Statement(
        "noise-too-large",
        OURS,
        "A sigma ten times too large costs much: at least three times the regret.",
        f"regret with 10 times the true sigma over that with the true one, {EVERYWHERE}",
        _over_true(MOST),
        low=3.0,
    ),
    Statement(
        "noise-too-small",
        OURS,
        "A sigma ten times too small costs much: at least three times the regret.",
        f"regret with a tenth of the true sigma over that with the true one, {EVERYWHERE}",
        _over_true(LEAST),
        low=3.0,
    ),
    Statement(
        "noise-estimated",
        OURS,
        "An estimated sigma costs at most 1.1 times the regret of the true one.",
        f"regret with an estimated sigma over that with the true one, {EVERYWHERE}",
        _over_true(len(FACTORS)),
        high=1.1,
    ),
    Statement(
        "noise-estimated-everywhere",
        OURS,
        "An estimated sigma costs at most 1.1 times the regret of the true one on each of the problems.",
        "regret with the true sigma over that with an estimated one, smallest over the five problems",
        lambda measured: smallest_ratio(measured.given(TRUE), measured.estimated()),
        low=round(1 / 1.1, 3),
    ),
    Statement(
        "noise-estimated-clicks",
        OURS,
        "Where the noise falls with the mean, an estimated sigma is better than the true one, by a fifth or more.",
        "regret with an estimated sigma over that with the true one, on the fading click rates",
        lambda measured: mean_ratio(measured.on("clicks", len(FACTORS)), measured.on("clicks", TRUE)),
        high=0.8,
    ),
    Statement(
        "noise-no-better-sigma",
        OURS,
        "No single sigma is better than the estimate by more than a fifth.",
        "regret with a sigma that is given over that with an estimated one, smallest over the sigmas and the five problems",
        _best_given,
        low=0.8,
    ),
)


EXPERIMENT = Experiment(
    id="unknown-noise",
    title="A sigma that nobody knows",
    reference="not in the paper: how RAW-UCB fares with a wrong sigma, and with an estimated one",
    sizes=SIZES,
    prepare=prepare,
    findings=findings,
    order=10,
    kind=Kind.OURS,
)
