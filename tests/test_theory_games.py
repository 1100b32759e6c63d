"""Theorems against games: regret below the upper bounds, above the lower ones on the hard instances."""

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from conftest import INTERPRETED
from games import examples
from rotting import theory
from rotting.noise import Bernoulli, Gaussian
from rotting.oracle import OPTIMAL
from rotting.policy import Policy
from rotting.problems import (
    Abrupt,
    Constant,
    Exponential,
    Linear,
    Piecewise,
    Problem,
    Rested,
    Restless,
    stationary,
    ten_arms,
    two_arms,
)
from rotting.registry import make
from rotting.simulation import simulate

RUNS, T = (3, 60) if INTERPRETED else (200, 1_500)

PROBLEMS: dict[str, Problem] = {
    "two-arms": two_arms(L=0.8, horizon=T),
    "two-arms, a long fall": two_arms(L=10.0, horizon=T),
    "ten-arms": ten_arms(horizon=T),
    "rested, falling slowly": Problem.rested(
        [Linear(1.0, slope=-2 / T), Exponential(1.5, rate=8 / T), Constant(0.3)], Gaussian(0.5), T
    ),
    "rested, Bernoulli": Problem.rested(
        [Abrupt(0.9, 0.1, at=T // 5), Linear(0.8, slope=-1 / T, floor=0.2), 0.5], Bernoulli(), T
    ),
    "stationary": stationary([0.9, 0.5, 0.4, 0.1], Bernoulli(), T),
    "stationary, no gap": stationary([0.5, 0.5], Gaussian(1.0), T),
    "piecewise": Problem.restless(
        [
            Piecewise([1.0, 0.0, -1.0], starts=[0, T // 3, T // 2]),
            Piecewise([0.5, -0.5], starts=[0, T // 3]),
            Abrupt(0.25, -0.75, at=2 * T // 3),
        ],
        Gaussian(0.5),
        T,
    ),
    "drifting": Problem.restless([Linear(0.9, slope=-0.8 / T), Linear(0.7, slope=-0.2 / T), 0.45], Bernoulli(), T),
    "a large fall": Problem.restless([Abrupt(50.0, -50.0, at=T // 2), 0.0], Gaussian(1.0), T),
    "hard": theory.HardFamily(n_arms=3, horizon=T, pieces=4).random(seed=0),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_mean_regret_is_below_every_bound_that_applies(name: str) -> None:
    """With the smallest alpha of each theorem, at every checkpoint and not only at the horizon."""
    problem = PROBLEMS[name]
    sigma = theory.subgaussian_scale(problem.noise)
    assert sigma is not None
    policies = [*theory.theoretical_policies("restless", sigma), *theory.theoretical_policies("rested", sigma)]
    result = simulate(policies, problem, runs=RUNS, seed=0, progress=False)
    assert result.reference == OPTIMAL
    kind = theory.constants(problem).kind
    compared = 0
    for policy, regret in zip(policies, result.regret.mean(axis=1), strict=True):
        for bound in theory.bounds(problem, policy, checkpoints=result.checkpoints.tolist()):
            assert np.all(regret <= bound.values), bound.label
            compared += 1
    # Restless theorems speak of all eight, the propositions of the larger alphas, twice: 5 >= 5 and 4 >= 4.
    assert compared == {"restless": 8 * 3, "rested": 4 * 2, "stationary": 8 * 3 + 4 * 2}[kind]


# --- Hard instances -----------------------------------------------------------------------------------------


def test_the_hard_family_is_that_of_the_lemma() -> None:
    """T = 10, three pieces of 4, 3, 3 rounds, K = 2, sigma = 2: Delta = sqrt(4 * 2 * 3 / 20) / 4 = sqrt(1.2) / 4 = 0.273861."""
    family = theory.HardFamily(n_arms=2, horizon=10, pieces=3, sigma=2.0)
    assert family.gap == pytest.approx(0.27386127875258304, rel=1e-15)
    assert family.lengths.tolist() == [4, 3, 3]
    assert family.bound == pytest.approx(2 * math.sqrt(60) / 32, rel=1e-15)
    problem = family.problem([1, 0, 0])
    means = [[problem.mean(i, t, 0) / family.gap for t in range(1, 11)] for i in range(2)]
    assert means[0] == pytest.approx([-1, -1, -1, -1, -1, -1, -1, -2, -2, -2], rel=1e-15)
    assert means[1] == pytest.approx([0, 0, 0, 0, -2, -2, -2, -3, -3, -3], rel=1e-15)
    alike = family.problem([None, None, 1])
    assert alike.mean(0, 1, 0) == alike.mean(1, 1, 0) == -family.gap
    for wrong, says in (
        ([0, 1], "one arm per piece, 3, got 2"),
        ([0, 1, 2], r"best\[2\] must be an arm below 2 or None, got 2"),
    ):
        with pytest.raises(ValueError, match=says):
            family.problem(wrong)


@pytest.mark.parametrize(("K", "horizon", "pieces"), [(2, 7, 7), (3, 20, 3), (2, 9, 4)])
def test_every_member_of_the_family_satisfies_the_assumptions(K: int, horizon: int, pieces: int) -> None:
    family = theory.HardFamily(K, horizon, pieces)
    if K**pieces > 300:
        members: Sequence[Sequence[int]] = [family.random_best(seed) for seed in range(100)]
    else:
        members = list(product(range(K), repeat=pieces))
    for best in members:
        problem = family.problem(best)
        assert problem.is_rotting()
        known = theory.constants(problem).restless
        assert known is not None
        assert known.pieces() == pieces
        assert known.spread() == pytest.approx(pieces * family.gap)  # Upsilon Delta <= V
        assert known.variation() <= 2 * family.gap * (pieces - 1) + 1e-12


@pytest.mark.parametrize("V", [0.05, 0.2, 1.0, 7.5, 141.0])
def test_the_pieces_of_a_budget_keep_to_it_and_reach_the_rate(V: float) -> None:
    family = theory.HardFamily.of_budget(n_arms=2, horizon=100, V=V)
    for seed in range(5):
        known = theory.constants(family.random(seed)).restless
        assert known is not None
        # Assumption 2: both conditions of the proof, eq:bounded_condition and eq:totalvar_condition.
        assert known.budget() <= V * (1 + 1e-12)
    # The proof of Lemma 5 ends with sigma sqrt(U K T) / (16 sqrt 2), and that is at least the rate.
    assert family.bound * math.sqrt(2) >= theory.variation_lower(100, 2, V) * (1 - 1e-12)
    more = theory.HardFamily(2, 100, min(100, family.pieces + 1))
    if more.pieces > family.pieces:  # no more pieces by the proof's condition 2 Delta Upsilon <= V
        assert 2 * more.gap * more.pieces > V


def test_the_number_of_pieces_is_exact_where_the_cube_root_is() -> None:
    """8 V^2 T / (K sigma^2) = 8 * 64 = 512 = 8^3, whose cube root is 7.999... in floating point; likewise 32 * 2 = 64 = 4^3."""
    assert theory.HardFamily.of_budget(n_arms=2, horizon=128, V=1.0).pieces == 8
    assert theory.piecewise_lower(4, 2, pieces=4, V=1.0) > 0
    with pytest.raises(ValueError, match="pieces must be at most 4"):
        theory.piecewise_lower(5, 2, pieces=5, V=math.sqrt(0.8))


def fitted(policy: Policy, horizon: int) -> Policy:
    """The policy with its defaults, made ready for Gaussian rewards and this horizon."""
    known = {each.name: each for each in type(policy).parameters()}
    params: dict[str, float | str] = {name: horizon for name, each in known.items() if each.required}
    if "outside" in known:
        params |= {"low": -4.0, "high": 4.0, "outside": "clip"}
    return type(policy)(**params)


LEARNERS = [each for each in examples() if not each.sees_means]


@pytest.mark.parametrize("policy", LEARNERS, ids=lambda each: each.name)
def test_no_policy_beats_the_lower_bound_on_the_hard_instances(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Worst of the family drawn; a small game, interpreted, for compiling every policy would take minutes."""
    monkeypatch.setattr("rotting.simulation.compiled", lambda function, *_, **__: function)
    family = theory.HardFamily(n_arms=2, horizon=60, pieces=2)
    found = theory.worst(fitted(policy, 60), family, draws=4, runs=12, workers=1)
    assert_above(family, found)


@pytest.mark.slow
@pytest.mark.parametrize("family", [theory.HardFamily(5, 2_000, 4), theory.HardFamily.of_budget(2, 2_000, V=0.3, sigma=0.5)])
def test_no_policy_beats_the_lower_bound_on_longer_games(family: theory.HardFamily) -> None:
    names = ("raw-ucb", "eff-raw-ucb", "fewa", "eff-fewa", "ucb1", "uniform", "exp3-s")
    for each in LEARNERS:
        if each.name in names:
            assert_above(family, theory.worst(fitted(each, family.horizon), family, draws=6, runs=100))


def assert_above(family: theory.HardFamily, found: theory.Worst) -> None:
    regret = found.result.regret[0, :, -1]
    error = regret.std(ddof=1) / math.sqrt(len(regret))
    assert regret.mean() >= family.bound - 3 * error
    assert found.regret.mean == pytest.approx(regret.mean())


def test_the_worst_of_the_family_is_the_worst_and_measured_afresh() -> None:
    family = theory.HardFamily(n_arms=2, horizon=40, pieces=3)
    policy = make("ucb1")
    found = theory.worst(policy, family, draws=5, runs=8, seed=3)
    drawn = [family.random_best(3 + k) for k in range(5)]
    means = [simulate(policy, family.problem(best), runs=8, seed=3, checkpoints=[40]).regret.mean() for best in drawn]
    assert found.found == means
    assert found.best == drawn[int(np.argmax(means))]
    assert found.problem == family.problem(found.best)
    assert found.result == simulate(policy, found.problem, runs=8, seed=4, checkpoints=[40])
    assert family.random(3) == family.problem(drawn[0])
    assert family.random(3) != family.random(4)
    assert theory.worst(policy, family, draws=5, runs=8, seed=3, workers=1).result == found.result


def test_uniform_pulls_pay_half_the_gap_on_every_member() -> None:
    """On average Delta T (1 - 1 / K), above the bound: the family is what the lemma says, not only hard to measure."""
    family = theory.HardFamily(n_arms=2, horizon=200, pieces=4)
    expected = family.gap * 200 / 2
    assert expected > family.bound
    for seed in range(3):
        regret = simulate(make("uniform"), family.random(seed), runs=20 if INTERPRETED else 200, checkpoints=[200]).regret[
            0, :, 0
        ]
        assert regret.mean() == pytest.approx(expected, abs=6 * family.gap * math.sqrt(200 / 4 / len(regret)))


# --- The impossibility --------------------------------------------------------------------------------------

HORIZONS = (2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 40)


@pytest.mark.parametrize("horizon", HORIZONS)
def test_the_optimum_of_both_problems_and_the_greedy_oracle(horizon: int) -> None:
    falls, stays = theory.unlearnable(horizon)
    half = horizon // 2
    for problem, optimum in ((falls, 1.5 * half), (stays, float(horizon))):
        arms, pulls, total = theory.optimal_arms(problem), [0, 0], 0.0
        for t, i in enumerate(arms.tolist(), start=1):
            total += problem.mean(i, t, pulls[i])
            pulls[i] += 1
        assert total == optimum
        assert problem.is_rotting()
        assert all(0 <= problem.mean(i, t, n) <= 1 for i in range(2) for t in range(1, horizon + 1) for n in range(t))
    assert (falls.kind, stays.kind) == ("both", "restless")
    played = theory.play_unlearnable(make("greedy-oracle"), horizon)
    assert played.falls.reference == OPTIMAL
    assert played.regrets[0].tolist() == [half / 2, 0.0]
    assert half / 2 >= theory.greedy_floor(horizon) == horizon // 4


def test_as_printed_the_greedy_oracle_loses_less_than_claimed() -> None:
    """With `t < T / 2` for the restless arm and T = 8 it pays in 3 rounds only: 5.5 - 4 = 1.5, below floor(8 / 4) = 2."""
    printed = Problem([Rested(Abrupt(1.0, 0.0, at=4)), Restless(Abrupt(0.5, 0.0, at=3))], theory.unlearnable(8)[0].noise, 8)
    assert simulate(make("greedy-oracle"), printed, runs=1).regret[0, 0, -1] == 1.5


@pytest.mark.parametrize(
    "problem",
    [
        Problem([Rested([0.9, 0.1, 0.8, 0.7, 0.0, 0.5, 0.25]), Restless([0.3, 0.9, 0.2, 0.6, 0.5, 0.1, 0.4])]),
        Problem.rested([[0.0, 0.25, 0.5, 1.0, 1.0, 1.0], [0.5, 0.5, 0.5, 0.5, 0.25, 0.0]]),
    ],
)
def test_the_optimal_arms_are_optimal(problem: Problem) -> None:
    horizon = problem.resolve_horizon()

    def total(arms: Sequence[int]) -> float:
        pulls, rewards = [0, 0], []
        for t, i in enumerate(arms, start=1):
            rewards.append(problem.mean(i, t, pulls[i]))
            pulls[i] += 1
        return math.fsum(rewards)

    assert total(theory.optimal_arms(problem).tolist()) == max(map(total, product((0, 1), repeat=horizon)))


@pytest.mark.parametrize("policy", examples(), ids=lambda each: each.name)
def test_no_policy_learns_both_problems(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rotting.simulation.compiled", lambda function, *_, **__: function)
    for horizon in (9, 16, 50):
        played = theory.play_unlearnable(policy, horizon, runs=2, workers=1)
        assert played.worst[0] >= theory.learner_floor(horizon) == horizon // 8
        # The proof run by run: what is not lost on one problem is lost on the other.
        both = played.falls.regret[0, :, -1] + played.stays.regret[0, :, -1]
        assert np.all(both >= horizon // 2 / 2 - 1e-9)


def test_the_figure_and_the_table_show_it() -> None:
    policies = [make("greedy-oracle"), make("ucb1"), make("uniform")]
    played = theory.play_unlearnable(policies, 40, runs=5)
    figure = played.figure()
    reward, both = figure.panels
    assert [curve.label for curve in reward.curves] == ["optimal policy", "greedy oracle"]
    assert [curve.y[-1] for curve in reward.curves] == [30.0, 20.0]
    assert [len(curve.x) for curve in reward.curves] == [40, 40]
    line, *points = both.curves
    assert line.x.tolist() == [0.0, 10.0]
    assert [curve.label for curve in points] == [repr(policy) for policy in policies]
    assert all(curve.points and curve.x[0] + curve.y[0] >= 10.0 for curve in points)
    table = played.table()
    assert [row["worst"] for row in table.rows] == played.worst.tolist()
    assert table.rows[0] == {"policy": "GreedyOracle()", "falls": 10.0, "stays": 0.0, "worst": 10.0, "floor": 5}
    assert "floor(T / 8)" in str(table)


@pytest.mark.parametrize("wrong", [1, 5_001])
def test_wrong_horizons_are_refused(wrong: int) -> None:
    for call in (theory.unlearnable, theory.greedy_floor, theory.learner_floor):
        with pytest.raises(ValueError, match=f"horizon must be a whole number from 2 to 5000, got {wrong}"):
            call(wrong)
    with pytest.raises(ValueError, match="problem must have 2 arms, got 10"):
        theory.optimal_arms(ten_arms(horizon=10))


def test_the_names_of_the_module_are_there_and_documented() -> None:
    for name in theory.__all__:
        thing = getattr(theory, name)
        assert isinstance(thing, float | tuple) or (thing.__doc__ or "").strip()
    assert sorted(theory.__all__, key=lambda name: (not name.isupper(), name.lower() == name, name)) == theory.__all__
