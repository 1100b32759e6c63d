"""Which theorem applies, why not, and what it promises round by round."""

import json
import pickle
from typing import Any

import pytest

from rotting import theory
from rotting.policy import Policy
from rotting.problems import Abrupt, General, Linear, Piecewise, Problem, Product, Rested, Restless, Sum, stationary, two_arms
from rotting.problems.noise import Bernoulli, Gaussian, Poisson
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
def test_each_theorem_applies_or_says_why_not(name: str) -> None:
    problem, kind, reasons = PROBLEMS[name]
    known = theory.constants(problem)
    assert known.kind == kind
    found = theory.bounds(problem, make("eff-raw-ucb", alpha=5, sigma=0.5 if known.sigma is None else max(known.sigma, 0.5)))
    for theorem, why in zip(theory.THEOREMS, [reasons[0]] * 3 + [reasons[1]] * 2, strict=True):
        assert (theorem.title in {each.theorem for each in found}) == (why == "")
        assert why in found.why_not.get(theorem.title, "")
    written = json.loads(json.dumps(known.to_json(), allow_nan=False))
    assert [written[setting] is not None for setting in ("restless", "rested")] == [
        each is not None for each in (known.restless, known.rested)
    ]


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
    assert theory.bounds(problem, make("fewa", alpha=4, sigma=0.5))


@pytest.mark.parametrize("policy", [make("ucb1"), make("raw-ucb"), make("raw-ucb", alpha=5)], ids=repr)
@pytest.mark.parametrize("name", PROBLEMS)
def test_bounds_say_of_each_theorem_what_it_promises_or_why_nothing(name: str, policy: Policy) -> None:
    problem = PROBLEMS[name][0]
    found = theory.bounds(problem, policy)
    assert isinstance(found, tuple)
    titles = [theorem.title for theorem in theory.THEOREMS]
    assert sorted([*(each.theorem for each in found), *found.why_not]) == sorted(titles)
    lines = repr(found).splitlines()
    assert sorted(line.partition(":")[0] for line in lines) == sorted(titles)
    for each in found:
        assert f"{each.theorem}: expected regret of at most {each.values[-1]:,.4g} at round {problem.horizon}" in lines
    for title, why in found.why_not.items():
        assert f"{title}: does not apply: {why}" in lines
    again = pickle.loads(pickle.dumps(found))
    assert (repr(again), again.why_not) == (repr(found), found.why_not)


def test_constants_are_those_of_every_piece() -> None:
    """Two pieces of 60 and 40 rounds with the gaps 1/2, 0 and 0, 1/4; the worst play loses 60 / 2 + 40 / 4 = 40."""
    known = theory.constants(Problem.restless([0.5, Abrupt(1.0, 0.25, at=60)], Gaussian(0.001), horizon=100))
    assert str(known) == "T = 100, K = 2, sigma = 0.001, restless, rotting: no mean rises up to round 100"
    assert known.largest_regret() == 40.0
    written = known.to_json()["restless"]
    assert (written["gaps"], written["gap_range"]) == ([[0.5, 0.0], [0.0, 0.25]], (0.25, 0.5))
    drift = theory.constants(Problem.restless([LINEAR, 0.5], horizon=100)).to_json()["restless"]
    assert drift["pieces"] > 12
    assert drift["gaps"] is None


def test_the_largest_regret_is_that_of_the_worst_play() -> None:
    """Of `two_arms` with L = 1 and T = 100, the worst play gets -25 where the best gets 12.5."""
    assert theory.constants(two_arms(L=1.0, horizon=100)).largest_regret() == 37.5
    assert theory.constants(PROBLEMS["both"][0]).largest_regret() is None


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


def test_theoretical_policies_have_the_smallest_alphas() -> None:
    for setting, alphas in (("restless", [4, 3, 4, 3]), ("rested", [5, 4, 5, 4])):
        found: list[Any] = [each.params.alpha for each in theory.theoretical_policies(setting)]
        assert found == alphas
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
    """One round, of one arm or of arms that are alike: no regret, and bounds of zero, have a place on a linear axis only."""
    pytest.importorskip("matplotlib")
    problem = stationary(means, horizon=1)
    ax = simulate(make("raw-ucb", alpha=5), problem, runs=2).plot(bounds=True)
    some_bounds = len(set(means)) > 1
    assert ax.get_yscale() == ("symlog" if some_bounds else "linear")
    assert len(ax.get_lines()) == 1 + len(theory.THEOREMS) + some_bounds  # one shows where zero is on a logarithmic axis


def test_pieces_of_a_mean_that_never_changes_are_one() -> None:
    assert restless(PROBLEMS["zero"][0]).pieces() == restless(PROBLEMS["zero for ever"][0]).pieces() == 1
