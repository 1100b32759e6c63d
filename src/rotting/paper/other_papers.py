"""Experiments of other papers: policies on problems, a figure, a table, and claims that one policy beats another."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rotting.common.arrays import Floats
from rotting.common.display.figures import BAND, Figure, regret_panel
from rotting.paper.experiments import Experiment, GameSettings, Prepared, Results
from rotting.paper.report.claims import Statement
from rotting.paper.report.model import Findings
from rotting.policy import Policy
from rotting.problems import Problem
from rotting.problems.oracle import OPTIMAL
from rotting.simulation.comparisons import mean_ratio
from rotting.simulation.plan import Simulation
from rotting.simulation.summary import SummaryCell, summary_table

Grid = Mapping[str, Sequence[Policy]]
"""Policies by their labels; of several, the one with the least regret on a problem is compared, as the papers do."""


@dataclass(frozen=True)
class Beats:
    """A claim that a policy beats another one on some games; the fields are those of `Statement`, and labels."""

    id: str
    source: str
    words: str
    better: str
    worse: str
    games: tuple[str, ...]


def other_paper(
    id: str,
    title: str,
    reference: str,
    paragraphs: tuple[str, ...],
    problems: Mapping[str, Problem],
    policies: Callable[[Problem], Grid],
    claims: Sequence[Beats],
    runs: int,
    order: int,
) -> Experiment[GameSettings]:
    """Return an experiment whose games are named problems at their own horizons.

    Args:
        id: as in `Experiment`, and so are `title`, `reference` and `order`.
        title: in a few words.
        reference: where it is published.
        paragraphs: what was done, and what is not the paper's.
        problems: by the names of their games.
        policies: returns the policies that play a problem.
        claims: that are measured.
        runs: of a full run; a quick one has a fifth of them.
        order: the place of the experiment.
    """

    def prepare(settings: GameSettings, workers: int | None, progress: bool | None) -> Prepared:
        def game(problem: Problem) -> Simulation:
            players = [each for grid in policies(problem).values() for each in grid]
            horizon = min(settings.horizon, problem.resolve_horizon())
            return Simulation(players, problem, horizon, runs=settings.runs, seed=settings.seed)

        return Prepared({name: game(problem) for name, problem in problems.items()})

    def best(results: Results, name: str, label: str) -> Floats:
        """Return the regret `[run, checkpoint]` of the best policy of a grid on a problem."""
        result = results[name]
        grid = [result.regret[result.policies.index(each)] for each in policies(problems[name])[label]]
        return min(grid, key=lambda regret: float(regret[:, -1].mean()))

    def finals(results: Results, names: Sequence[str], label: str) -> Floats:
        return np.array([best(results, name, label)[:, -1] for name in names])

    def statement(claim: Beats) -> Statement[Results]:
        over = f", geometric mean over {len(claim.games)} games" if len(claim.games) > 1 else ""
        return Statement(
            claim.id,
            claim.source,
            claim.words,
            f"regret of {claim.worse} over {claim.better}{over}",
            lambda results: mean_ratio(finals(results, claim.games, claim.worse), finals(results, claim.games, claim.better)),
            low=1.0,
        )

    def findings(settings: GameSettings, prepared: Prepared, results: Results) -> Findings:
        labels = [*policies(next(iter(problems.values())))]
        panels = tuple(
            regret_panel(name, labels, result.checkpoints, np.array([best(results, name, label) for label in labels]))
            for name, result in results.items()
        )
        ends = [
            SummaryCell(name, {}, np.concatenate([finals(results, [name], label) for label in labels]), OPTIMAL)
            for name in results
        ]
        line = f"Mean regret at the horizon, {settings.runs:,} runs"
        return Findings(
            paragraphs,
            (Figure("regret", title, f"The {BAND}.", panels),),
            {"regret": summary_table(ends, labels, None, (line,), ())},
            tuple(statement(claim).decide(results) for claim in claims),
        )

    longest = max(each.resolve_horizon() for each in problems.values())
    sizes = {"quick": GameSettings(longest, max(1, runs // 5)), "full": GameSettings(longest, runs)}
    return Experiment(id, title, reference, sizes, prepare, findings, order, other=True)
