"""The grid search for alpha: what is best where, told only from enough runs."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rotting.paper import experiments
from rotting.paper.experiments import best_alpha as experiment
from rotting.paper.experiments.rested_two_arms import GRID, game_name
from rotting.paper.report.claims import Claim, Verdict
from rotting.paper.report.model import Findings

FULL = experiment.SIZES["full"]


def found(best_at: Any, runs: int = 2_000) -> Findings:
    """What a search finds in which the regret is 1 at the alpha `best_at(label, L)`, and a fifth more at each step from it."""
    played: Any = {}
    for L in FULL.drops:
        regret = np.empty((len(experiment.PLAYERS), runs, 1))
        for k, (label, alpha) in enumerate(experiment.PLAYERS):
            grid = experiment.ALPHAS[label]
            steps = abs(grid.index(alpha) - grid.index(best_at(label, L)))
            regret[k, :, 0] = 1.2**steps * np.linspace(0.99, 1.01, runs)
        played[game_name(L)] = SimpleNamespace(regret=regret)
    return experiment.findings(FULL, experiments.Prepared({}), played)


def claims(findings: Findings) -> dict[str, Claim]:
    return {claim.id: claim for claim in findings.claims}


def test_both_grids_hold_the_papers_choice_and_both_sides_of_it() -> None:
    for label, chosen in experiment.PAPER.items():
        grid = experiment.ALPHAS[label]
        assert list(grid) == sorted(set(grid))
        assert 2 <= grid.index(chosen) <= len(grid) - 3
    assert {GRID[place] for place in experiment.DRAWN} == set(experiment.SIZES["quick"].drops)


def test_one_best_alpha_for_all_holds() -> None:
    findings = found(lambda label, L: experiment.PAPER[label])
    for claim in findings.claims:
        assert (round(claim.estimate.mean, 9), claim.verdict) == (1.2, Verdict.HOLDS)
    right = findings.figures[0].panels[-1]
    assert all((curve.y == 1.0).all() for curve in right.curves)


def test_another_alpha_that_is_better_at_one_drop_is_told() -> None:
    """0.8 at the largest L of RAW-UCB alone: three steps away, so that 1.4 costs 1.2 cubed there, and is best over all."""

    def best_at(label: str, L: float) -> float:
        return 0.8 if label == experiment.RAW and GRID[-1] == L else experiment.PAPER[label]

    findings = found(best_at)
    decided = claims(findings)
    assert decided["alpha-raw-ucb-same-for-all"].estimate.mean == pytest.approx(1.2**-3)
    assert decided["alpha-raw-ucb-same-for-all"].verdict == Verdict.FAILS
    assert decided["alpha-raw-ucb-same-for-all"].remark.endswith("0.8 at L = 13.")
    assert decided["alpha-fewa-same-for-all"].verdict == Verdict.HOLDS
    assert decided["alpha-raw-ucb-selected"].verdict == Verdict.HOLDS
    (row,) = (row for row in findings.tables["best-alpha"].rows if row["L"] == GRID[-1])
    assert row["best RAW-UCB"] == 0.8
    assert row["RAW-UCB 1.4 over it"].mean == pytest.approx(1.2**3)


def test_few_runs_decide_nothing() -> None:
    for claim in found(lambda label, L: experiment.PAPER[label], runs=1_999).claims:
        assert claim.verdict == Verdict.UNDECIDED
        assert claim.reason.startswith("needs 2,000 runs")
