"""Which theorem applies, why not, and what it promises round by round."""

import json
import math
import pickle
from typing import Any

import pytest

from rotting import theory
from rotting.policy import Policy
from rotting.problems import Abrupt, General, Linear, Piecewise, Problem, Product, Rested, Restless, Sum, stationary, two_arms
from rotting.problems.noise import Bernoulli, Gaussian, Noiseless, Poisson
from rotting.registry import make
from rotting.simulation.simulate import simulate
from tests.helpers.known_constants import rested, restless

FOUR = ("raw-ucb", "eff-raw-ucb", "fewa", "eff-fewa")


LINEAR = Linear(1.0, slope=-1e-3)

PROBLEMS: dict[str, tuple[Problem, str, tuple[str, str]]] = {
    # what, its kind, and why the restless and the rested results do not apply
    "rested": (two_arms(horizon=100), "rested", ("means follow the pulls", "")),
    "restless": (Problem.restless([LINEAR, 0.5], horizon=100), "restless", ("", "means follow the rounds")),
    "stationary": (stationary([0.5, 0.2], horizon=100), "stationary", ("", "")),
    "both": (Problem([Rested(LINEAR), Restless(LINEAR)], horizon=100), "both", ("Proposition 1", "Proposition 1")),
    "sum": (Problem([Sum(LINEAR, LINEAR), Rested(0.5)], horizon=100), "both", ("Proposition 1", "Proposition 1")),
    "general": (Problem([General(lambda t, n: 1 / (t + n))], horizon=10), "both", ("Proposition 1", "Proposition 1")),
    "rising": (Problem.rested([Linear(0.0, slope=0.01), 0.5], horizon=100), "rested", ("not rotting", "not rotting")),
    "counts": (Problem.rested([2.0, 1.0], Poisson(), 100), "stationary", ("not sub-Gaussian", "not sub-Gaussian")),
    # The clocks that matter are those up to the horizon.
    "not yet": (Problem([Rested(Abrupt(1, 0, at=200)), Restless(LINEAR)], horizon=100), "restless", ("", "the rounds")),
    # A product with zero has steps, but its mean never changes.
    "zero": (Problem([Product(0.0, LINEAR), Rested(0.5)], horizon=100), "stationary", ("", "")),
    "zero for ever": (Problem([Product(LINEAR, 0.0), Rested(0.5)], horizon=100), "stationary", ("", "")),
    "zero at last": (Problem([Product(1.0, [1.0, 0.0]), Rested(0.5)], horizon=2), "restless", ("", "the rounds")),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_table_says_what_applies_and_why_not(name: str) -> None:
    problem, kind, reasons = PROBLEMS[name]
    table = theory.table(problem)
    assert theory.constants(problem).kind == kind
    assert [row["reference"].split(" (")[0] for row in table.rows] == [
        "Theorem 1", "Theorem 2", "Theorem 3", "Proposition 6", "Proposition 7"
    ]  # fmt: skip
    for row, why in zip(table.rows, [reasons[0]] * 3 + [reasons[1]] * 2, strict=True):
        assert row["applies"] == (why == "")
        assert (why or f"{kind} and rotting") in row["why"]
        assert row["why"] in str(table)
        assert set(row) == {"theorem", "reference", "applies", "why", "bounds", "why_not", "arms"}
        for key in ("bounds", "why_not", "arms"):
            assert list(row[key]) == ["RAW-UCB", "EFF-RAW-UCB", "FEWA", "EFF-FEWA"]
        assert all((value is not None) == row["applies"] for value in row["bounds"].values())
        assert all(no == (None if row["applies"] else row["why"]) for no in row["why_not"].values())
        dependent = row["applies"] and row["theorem"] == "rested gap-dependent"
        assert all((arms is not None) == dependent for arms in row["arms"].values())
    written = json.loads(json.dumps([table.rows, theory.constants(problem).to_json()], allow_nan=False))
    assert [written[1][setting] is not None for setting in ("restless", "rested")] == [
        each is not None for each in (theory.constants(problem).restless, theory.constants(problem).rested)
    ]
    assert table.to_markdown()


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        (make("ucb1"), "policy must be one of RAW-UCB, EFF-RAW-UCB, FEWA, EFF-FEWA"),
        (make("raw-ucb"), r"alpha must be in [4, inf) for RAW-UCB in Theorems 1 to 3 (restless), got 1.4"),
        (make("eff-raw-ucb", alpha=3, m=1.5), "m must be 2"),
        (make("fewa", alpha=4, sigma=0.25), "sigma must be at least 0.5, the sub-Gaussian scale of Bernoulli(), got 0.25"),
    ],
)
def test_a_policy_without_a_guarantee_is_told_why(policy: Policy, why: str) -> None:
    problem = Problem.restless([Linear(1.0, slope=-1e-3), 0.5], Bernoulli(), horizon=100)
    none = theory.bounds(problem, policy)
    assert not none
    assert why in next(iter(none.why_not.values()))
    shown = theory.table(problem, [policy])
    assert shown.rows[0]["bounds"] == {policy.label: None}
    assert why in shown.rows[0]["why_not"][policy.label]
    assert f"{policy.label}: {shown.rows[0]['why_not'][policy.label]}" in shown.lines
    assert theory.bounds(problem, make("fewa", alpha=4, sigma=0.5))


@pytest.mark.parametrize("policy", [make("ucb1"), make("raw-ucb"), make("raw-ucb", alpha=5)], ids=repr)
@pytest.mark.parametrize("name", PROBLEMS)
def test_bounds_say_of_each_theorem_what_it_promises_or_why_nothing(name: str, policy: Policy) -> None:
    problem = PROBLEMS[name][0]
    found, rows = theory.bounds(problem, policy), theory.table(problem, [policy]).rows
    assert isinstance(found, tuple)
    titles = {f"{row['theorem']}, {row['reference'].partition(' (')[0]}": row["why_not"][policy.label] for row in rows}
    assert [each.theorem for each in found] == [title for title, why in titles.items() if why is None]
    assert found.why_not == {title: why for title, why in titles.items() if why is not None}
    lines = repr(found).splitlines()
    assert sorted(line.partition(":")[0] for line in lines) == sorted(titles)
    for each in found:
        assert f"{each.theorem}: expected regret of at most {each.values[-1]:,.4g} at round {problem.horizon}" in lines
    for title, why in found.why_not.items():
        assert f"{title}: does not apply: {why}" in lines
    again = pickle.loads(pickle.dumps(found))
    assert (repr(again), again.why_not) == (repr(found), found.why_not)


def test_a_bound_that_equals_the_largest_regret_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no news that regret is at most what the worst play has; a trifle less is news."""
    problem, policy = two_arms(L=0.5, horizon=1000), make("raw-ucb", alpha=5.0)
    bound = theory.bounds(problem, policy, checkpoints=[1000])[0]
    value = float(bound.values[-1])
    for most, mark in ((value, "*"), (math.nextafter(value, math.inf), "")):
        monkeypatch.setattr(theory.Constants, "largest_regret", lambda *_, most=most: most)
        (line,) = (line for line in str(theory.table(problem, [policy])).splitlines() if line.startswith(bound.name))
        assert f" {value:,.1f}{mark} " in line


def test_the_table_shows_the_constants_of_every_arm_and_piece() -> None:
    """Two pieces of 60 and 40 rounds with the gaps 1/2, 0 and 0, 1/4; the worst play loses 60 / 2 + 40 / 4 = 40."""
    problem = Problem.restless([0.5, Abrupt(1.0, 0.25, at=60)], Gaussian(0.001), horizon=100)
    text = str(theory.table(problem))
    assert "gaps in rounds 1 to 60: 0.5, 0\n" in text
    assert "gaps in rounds 61 to 100: 0, 0.25\n" in text
    assert "largest regret of any play: 40;" in text
    known = theory.constants(problem)
    assert known.largest_regret() == 40.0
    written = known.to_json()["restless"]
    assert (written["gaps"], written["gap_range"]) == ([[0.5, 0.0], [0.0, 0.25]], (0.25, 0.5))
    drift = theory.constants(Problem.restless([LINEAR, 0.5], horizon=100)).to_json()["restless"]
    assert drift["pieces"] > 12
    assert drift["gaps"] is None

    problem, policy = two_arms(L=1.0, horizon=100, sigma=0.05), make("raw-ucb", alpha=5, sigma=0.05)
    used = rested(problem)
    row = theory.table(problem, [policy]).rows[4]
    assert row["arms"][policy.label] == {"overpulls": used.overpulls(policy), "pseudo_gaps": used.pseudo_gaps(policy)}
    assert f"{policy.label}: most overpulls of each arm h+ = 25, 2, with pseudo-gaps 0, 0.5" in str(
        theory.table(problem, [policy])
    )


def test_a_bound_that_no_play_can_reach_is_marked() -> None:
    """Of `two_arms` with L = 1 and T = 100, the worst play gets -25 where the best gets 12.5."""
    for sigma, marked in ((1.0, True), (1e-6, False)):
        problem = two_arms(L=1.0, horizon=100, sigma=sigma)
        shown = theory.table(problem)
        most = theory.constants(problem).largest_regret()
        assert most == 37.5
        values = [value for row in shown.rows for value in row["bounds"].values() if value is not None]
        assert all((value >= most) == marked for value in values)
        assert [f"{value:,.1f}*" in str(shown) for value in values] == [marked] * len(values)
    assert theory.constants(PROBLEMS["both"][0]).largest_regret() is None


def test_without_noise_the_bounds_are_those_of_another_sigma_and_say_so() -> None:
    problem = stationary([0.5, 0.25], Noiseless(), 100)
    shown = theory.table(problem)
    assert any("the bounds are those of sigma = 1" in line for line in shown.lines)
    assert shown.rows[0]["bounds"] == theory.table(stationary([0.5, 0.25], Gaussian(1.0), 100)).rows[0]["bounds"]


NAMES = {
    "restless": ["variation budget", "piecewise minimax", "piecewise gap-dependent"],
    "rested": ["rested gap-free", "rested gap-dependent"],
}

GAMES: dict[str, Problem] = {
    "rested": Problem.rested([Piecewise([1.0, 0.25], starts=[0, 20]), Linear(0.9, slope=-0.01)], Gaussian(0.5), 100),
    "restless": Problem.restless([Piecewise([1.0, 0.25], starts=[0, 20]), Linear(0.9, slope=-0.01)], Gaussian(0.5), 100),
}


@pytest.mark.parametrize("name", FOUR)
@pytest.mark.parametrize("game", GAMES)
def test_a_bound_at_round_t_is_the_theorem_of_horizon_t(game: str, name: str) -> None:
    policy, problem = make(name, alpha=5, sigma=0.5), GAMES[game]
    rounds = [1, 2, 19, 20, 21, 50, 100]
    found = theory.bounds(problem, policy, checkpoints=rounds)
    assert [each.name for each in found] == NAMES[game]
    for each in found:
        assert each.checkpoints.tolist() == rounds
        assert each.policy == policy
        assert each.reference in {theorem.reference for theorem in theory.THEOREMS}
        shorter = [
            next(bound.values[-1] for bound in theory.bounds(problem, policy, horizon=t) if bound.name == each.name)
            for t in rounds
        ]
        assert each.values.tolist() == pytest.approx(shorter, rel=1e-12)


def test_bounds_are_the_functions_of_the_constants() -> None:
    policy, rest = make("eff-fewa", alpha=4, sigma=0.5), restless(GAMES["restless"])
    variation, minimax, gaps = (float(each.values[-1]) for each in theory.bounds(GAMES["restless"], policy))
    assert variation == theory.variation_budget(policy, 100, 2, rest.budget())
    assert minimax == theory.piecewise_minimax(policy, 100, 2, rest.pieces(), rest.spread())
    assert gaps == theory.piecewise_gap_dependent(policy, 100, rest.gaps(), rest.spread(), rest.lengths())
    used = rested(GAMES["rested"])
    free, dependent = (float(each.values[-1]) for each in theory.bounds(GAMES["rested"], policy))
    assert free == theory.rested_gap_free(policy, 100, 2, used.largest_fall())
    assert dependent == theory.rested_gap_dependent(policy, 100, used.pseudo_gaps(policy), used.largest_fall(), used.limits())


def test_the_tables_default_to_the_smallest_alphas() -> None:
    shown = theory.table(GAMES["restless"])
    for policy, title in zip(theory.theoretical_policies("restless", 0.5), shown.rows[0]["bounds"], strict=True):
        assert policy.params.alpha == {"RAW-UCB": 4, "FEWA": 4, "EFF-RAW-UCB": 3, "EFF-FEWA": 3}[title]
        values = [float(each.values[-1]) for each in theory.bounds(GAMES["restless"], policy)]
        assert [row["bounds"][title] for row in shown.rows[:3]] == values
    line = "alpha is the smallest allowed, restless / rested: RAW-UCB 4 / 5, EFF-RAW-UCB 3 / 4, FEWA 4 / 5, EFF-FEWA 3 / 4"
    assert line in str(shown).splitlines()
    assert "smallest allowed" not in str(theory.table(GAMES["restless"], [make("raw-ucb", alpha=4.0, sigma=0.5)]))
    rested_alphas: list[Any] = [each.params.alpha for each in theory.theoretical_policies("rested")]
    assert rested_alphas == [5, 4, 5, 4]
    with pytest.raises(ValueError, match="setting must be 'restless' or 'rested', got 'both'"):
        theory.theoretical_policies("both")


def test_a_plot_says_in_a_sentence_whether_bounds_apply() -> None:
    pytest.importorskip("matplotlib")
    policies = [make("raw-ucb", alpha=1.4), make("ucb1")]

    def caption(*policies: Policy) -> str:
        ax = simulate(policies, two_arms(horizon=20), runs=2).plot(bounds=True, band="interval")
        return " ".join(ax.texts[0].get_text().split())

    assert "Regret against the optimal policy. No bound applies (see `rotting theory`). 2 runs can miss" in caption(*policies)
    assert "Regret against the optimal policy. Thin: proved bounds. 2 runs can" in caption(*policies, make("raw-ucb", alpha=5))


@pytest.mark.parametrize("means", [[0.5], [0.5, 0.5], [0.5, 0.25]])
def test_a_plot_of_a_game_without_regret_is_drawn(means: list[float]) -> None:
    """One round, of one arm or of arms that are alike: no regret, and bounds of zero, have no place on a logarithmic axis."""
    pytest.importorskip("matplotlib")
    problem = stationary(means, horizon=1)
    ax = simulate(make("raw-ucb", alpha=5), problem, runs=2).plot(bounds=True)
    assert len(ax.get_lines()) == 1 + len(theory.THEOREMS)
    assert ax.get_yscale() == ("log" if len(set(means)) > 1 else "linear")


def test_pieces_of_a_mean_that_never_changes_are_one() -> None:
    assert restless(PROBLEMS["zero"][0]).pieces() == restless(PROBLEMS["zero for ever"][0]).pieces() == 1
