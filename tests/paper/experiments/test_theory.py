"""The report's section on the theorems: its numbers from results that are made up, and from a small game."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rotting import theory
from rotting.common.statistics import mean_interval
from rotting.paper.experiments import Prepared
from rotting.paper.experiments import theory as experiment
from rotting.paper.report.claims import Claim, Verdict
from rotting.paper.report.model import Findings
from rotting.simulation.plan import Simulation
from rotting.simulation.result import Result

SMALL = replace(
    experiment.SIZES["quick"],
    horizon=60,
    runs=3,
    hard_horizon=50,
    hard_pieces=(1, 3),
    hard_budgets=(0.2, 1.0),
    hard_draws=3,
    impossible_horizon=16,
)


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return experiment.prepare(SMALL, 1, progress=False)


@pytest.fixture(scope="module")
def found(prepared: Prepared, played: dict[str, Result]) -> Findings:
    return experiment.findings(SMALL, prepared, played)


def claims(found: Findings) -> dict[str, Claim]:
    return {claim.id: claim for claim in found.claims}


def with_regret(result: Result, final: np.ndarray) -> Result:
    """The result with other regrets at the end, `[policy, run]`."""
    regret = result.regret.copy()
    regret[:, :, -1] = final
    return replace(result, regret=regret)


def problem_of(prepared: Prepared, name: str) -> Any:
    games = prepared.games[name]
    assert isinstance(games, Simulation)
    return games.problem


# --- Upper bounds -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", experiment.SIZES)
def test_in_both_sizes_every_bound_says_something(size: str) -> None:
    """The tightest bound of each policy on each of the five problems is below what a play can lose."""
    settings = experiment.SIZES[size]
    five = experiment.problems(settings.horizon, settings.sigma)
    assert len(five) == 5
    for name, problem in five.items():
        most = theory.constants(problem).largest_regret()
        assert most is not None
        for policy in theory.theoretical_policies("rested" if problem.kind == "rested" else "restless", settings.sigma):
            assert min(float(each.values[-1]) for each in theory.bounds(problem, policy)) < most, (name, policy)


def test_the_table_of_upper_bounds(prepared: Prepared, played: dict[str, Result], found: Findings) -> None:
    rows = found.tables["upper-bounds"].rows
    assert [row["problem"] for row in rows[::4]] == list(experiment.problems(60, 0.05))
    assert len(rows) == 20
    for k, row in enumerate(rows):
        result, problem = played[row["problem"]], problem_of(prepared, row["problem"])
        policy = result.policies[k % 4]
        assert row["policy"] == f"{experiment.FOUR[k % 4]} {policy.params.alpha:g}"
        assert policy.params.sigma == SMALL.sigma
        assert row["regret"] == mean_interval(result.regret[k % 4, :, -1])
        proved = {
            f"{each.name} ({each.reference.partition(' (')[0]})": each.values[-1] for each in theory.bounds(problem, policy)
        }
        assert row["bound"] == proved[row["theorem"]] == min(proved.values())
        assert row["ratio"] == row["regret"].mean / row["bound"]
        assert row["largest"] == theory.constants(problem).largest_regret()
        assert row["vacuous"] == (row["bound"] >= row["largest"])
    # In so short a game some say nothing, and are marked.
    marked = sum(row["vacuous"] for row in rows)
    assert 0 < marked < 20
    text = str(found.tables["upper-bounds"])
    assert sum("* " in line for line in text.splitlines()[1:]) == marked + 1  # and the line that says what a star is
    assert f"{20 - marked} of the 20 bounds" in found.paragraphs[0]


def test_the_claims_of_upper_bounds_take_the_worst_problem(prepared: Prepared, played: dict[str, Result]) -> None:
    """Regrets of half the bound everywhere, and on one problem of nine tenths, then of eleven tenths."""

    def tight(name: str, share: float) -> Result:
        result = played[name]
        values = [min(float(each.values[-1]) for each in theory.bounds(problem_of(prepared, name), p)) for p in result.policies]
        return with_regret(result, share * np.array(values)[:, None] * np.array([0.99, 1.0, 1.01]))

    made = {**played, **{name: tight(name, 0.5) for name in prepared.data}}
    for share, verdict in ((0.9, Verdict.HOLDS), (1.2, Verdict.FAILS)):
        found = claims(experiment.findings(SMALL, prepared, made | {"rested-drop": tight("rested-drop", share)}))
        for label in experiment.FOUR:
            claim = found[f"theory-upper-{label.lower()}"]
            assert claim.estimate.mean == pytest.approx(1 / share, rel=1e-12)
            assert claim.verdict == verdict
            assert claim.remark.startswith(f"Slack: the bounds are {1 / share:.3g} to 2 times the mean regret.")


def test_the_claims_of_upper_bounds_say_how_many_bounds_say_nothing(found: Findings) -> None:
    rows = found.tables["upper-bounds"].rows
    for place, label in enumerate(experiment.FOUR):
        vacuous = sum(row["vacuous"] for row in rows[place::4])
        note = f" {vacuous} of them say nothing: no play regrets so much." if vacuous else ""
        assert claims(found)[f"theory-upper-{label.lower()}"].remark.endswith(f"the mean regret.{note}")


# --- Hard instances -----------------------------------------------------------------------------------------------------------


def families(kind: str) -> Mapping[str, float]:
    """Names of the families and their bounds."""
    if kind == "pieces":
        return {f"{U}-pieces": theory.piecewise_lower(50, 3, U) for U in (1, 3)}
    return {f"budget-{V:g}": theory.variation_lower(50, 3, V) for V in (0.2, 1.0)}


@pytest.mark.parametrize("kind", ["pieces", "budget"])
def test_the_worst_problem_is_found_in_one_half_and_measured_in_the_other(
    kind: str, prepared: Prepared, played: dict[str, Result]
) -> None:
    """Six runs of three problems: the second is the worst in the first three runs, the first in the last three."""
    label = "UCB1"
    place = list(experiment.LEARNERS).index(label)
    made = dict(played)
    for name in families(kind):
        for draw, runs in enumerate(([1, 1, 1, 90, 90, 90], [5, 6, 7, 20, 30, 40], [3, 3, 3, 3, 3, 3])):
            result = played[f"hard-{name}-{draw}"]
            assert result.regret.shape == (len(experiment.LEARNERS), 6, 1)
            final = result.regret[:, :, -1].copy()
            final[place] = runs
            made[f"hard-{name}-{draw}"] = with_regret(result, final)
    found = experiment.findings(SMALL, prepared, made)
    rows = found.tables[{"pieces": "hard-pieces", "budget": "hard-budgets"}[kind]].rows
    assert [row["bound"] for row in rows] == list(families(kind).values())
    for row in rows:
        assert row[label] == mean_interval(np.array([20.0, 30.0, 40.0]))
    panel = found.figures[1].panels[["pieces", "budget"].index(kind)]
    curves = {curve.label: curve for curve in panel.curves}
    assert curves[label].y.tolist() == [30.0, 30.0]
    assert curves[experiment.LOWER].y.tolist() == list(families(kind).values())


@pytest.mark.parametrize("kind", ["pieces", "budget"])
def test_the_claims_of_lower_bounds_take_the_smallest(kind: str, prepared: Prepared, played: dict[str, Result]) -> None:
    """Regrets of three times the bound, but for one policy on one family."""
    bounds = families(kind)
    for share, verdict in ((2.0, Verdict.HOLDS), (0.5, Verdict.FAILS)):
        made = dict(played)
        for name, bound in bounds.items():
            for draw in range(3):
                result = played[f"hard-{name}-{draw}"]
                final = np.full(result.regret.shape[:2], 3 * bound)
                if name == list(bounds)[1]:
                    final[2] = share * bound * np.array([1.0, 1.0, 1.0, 0.99, 1.0, 1.01])
                made[f"hard-{name}-{draw}"] = with_regret(result, final)
        claim = claims(experiment.findings(SMALL, prepared, made))[f"theory-lower-{kind}"]
        assert claim.estimate.mean == pytest.approx(share, rel=1e-12)
        assert claim.verdict == verdict
        assert claim.remark == f"Slack: the mean regrets are {share:g} to 3 times the bound."


# --- What cannot be learned ---------------------------------------------------------------------------------------------------


def test_the_claim_of_the_impossible_leaves_the_oracle_out(prepared: Prepared, played: dict[str, Result]) -> None:
    """floor(16 / 8) = 2: each policy loses 6 on one of the problems, one of them 4; the oracle, which sees all, nothing."""
    falls, stays = (np.zeros_like(played[name].regret[:, :, -1]) for name in ("falls", "stays"))
    falls[1:3], stays[3:] = 6.0, 6.0
    stays[3] = 4.0
    made = {name: with_regret(played[name], final) for name, final in (("falls", falls), ("stays", stays))}
    claim = claims(experiment.findings(SMALL, prepared, played | made))["theory-impossible"]
    assert claim.estimate.mean == pytest.approx(2.0, rel=1e-12)
    assert claim.verdict == Verdict.HOLDS
    assert f"{len(experiment.LEARNERS)} policies" in claim.quantity
    assert claim.remark == "Slack: the mean regrets are 2 to 3 times the floor."


def test_what_is_played_is_what_is_said(prepared: Prepared, found: Findings) -> None:
    names = list(prepared.games)
    assert prepared.data == tuple(names[:5])
    for V in (0.2, 1.0):
        family = theory.HardFamily.of_budget(3, 50, V)
        games = prepared.games[f"hard-budget-{V:g}-1"]
        assert games.problem == family.random(SMALL.seed + 1)
        assert games.runs == 2 * SMALL.runs
    assert [row["pieces"] for row in found.tables["hard-budgets"].rows] == [
        theory.HardFamily.of_budget(3, 50, V).pieces for V in (0.2, 1.0)
    ]
    assert set(claims(found)) == {
        *(f"theory-upper-{label.lower()}" for label in experiment.FOUR),
        "theory-lower-pieces",
        "theory-lower-budget",
        "theory-impossible",
    }
    assert all(claim.estimate.low is not None for claim in found.claims)
    assert [figure.name for figure in found.figures] == ["upper-bounds", "hard-instances", "unlearnable"]
