"""Theorems against games: regret below the upper bounds, above the lower ones on the hard instances."""

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from rotting import theory
from rotting.policy import Policy
from rotting.problems import Abrupt, Problem, Rested, Restless, ten_arms
from rotting.problems.oracle import OPTIMAL, optimal_rewards
from rotting.registry import make
from rotting.simulation.simulate import simulate
from tests.conftest import INTERPRETED
from tests.helpers.games import examples, suite

FULL = 3_000
RUNS, T = (3, 60) if INTERPRETED else (200, FULL)
PROBLEMS = suite(T)


def proved(problem: Problem, checkpoints: Sequence[int] | None = None) -> dict[Policy, tuple[theory.Bound, ...]]:
    """What is proved of the four policies with the smallest alpha of each theorem."""
    sigma = theory.subgaussian_scale(problem.noise) or 1.0  # no noise is sub-Gaussian with every scale
    kind = theory.constants(problem).kind
    settings = ("restless", "rested") if kind == "stationary" else (kind,)
    policies = [policy for setting in settings for policy in theory.theoretical_policies(setting, sigma)]
    return {policy: theory.bounds(problem, policy, checkpoints=checkpoints) for policy in policies}


@pytest.mark.parametrize("name", PROBLEMS)
def test_mean_regret_is_below_every_bound_that_applies(name: str) -> None:
    """At every checkpoint and not only at the horizon."""
    problem = PROBLEMS[name]
    assert any(row["applies"] for row in theory.applicable(problem).rows)
    policies = list(proved(problem))
    result = simulate(policies, problem, runs=RUNS, seed=0, progress=False)
    assert result.reference == OPTIMAL
    bounds = proved(problem, result.checkpoints.tolist())
    most = theory.constants(problem).largest_regret()
    assert most is not None
    for policy, regret in zip(policies, result.regret.mean(axis=1), strict=True):
        assert regret[-1] <= most * (1 + 1e-9)
        for bound in bounds[policy]:
            assert np.all(regret <= bound.values), bound.label
    # The restless theorems speak of the larger alphas of the other setting as well.
    kind = theory.constants(problem).kind
    assert sum(map(len, bounds.values())) == {"restless": 4 * 3, "rested": 4 * 2, "stationary": 8 * 3 + 4 * 2}[kind]


def test_the_comparison_with_the_bounds_can_fail() -> None:
    """A bound above the largest possible regret says nothing: enough of each theorem's are below it, for each policy."""
    told: dict[tuple[str, str], list[bool]] = {}
    for problem in suite(FULL).values():
        most = theory.constants(problem).largest_regret()
        assert most is not None
        for policy, bounds in proved(problem).items():
            for bound in bounds:
                told.setdefault((bound.name, policy.name), []).append(bool(bound.values[-1] < most))
    assert len(told) == 4 * len(theory.THEOREMS)
    for which, binding in told.items():
        least = 2 / 3 if which[0].startswith("rested") else 1 / 3  # a drift has a piece per round: Theorem 2 says little of it
        assert sum(binding) >= least * len(binding), which


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
    """8 V^2 T / (K sigma^2) = 8 * 64 = 512 = 8^3, whose cube root is 7.999... in floating point; likewise 32 * 2 = 64 = 4^3.

    With V a little below, it is a little below 512, whose cube root is 8 in floating point.
    """
    assert theory.HardFamily.of_budget(n_arms=2, horizon=128, V=1.0).pieces == 8
    assert theory.HardFamily.of_budget(n_arms=2, horizon=128, V=math.nextafter(1.0, 0.0)).pieces == 7
    assert theory.piecewise_lower(4, 2, pieces=4, V=1.0) > 0
    with pytest.raises(ValueError, match="pieces must be at most 4"):
        theory.piecewise_lower(6, 3, pieces=5, V=1.0)


def fitted(policy: Policy, horizon: int) -> Policy:
    """The policy with its defaults, made ready for Gaussian rewards and this horizon."""
    known = {each.name: each for each in type(policy).parameters()}
    params: dict[str, float | str] = {name: horizon for name, each in known.items() if each.required}
    if "outside" in known:
        params |= {"low": -4.0, "high": 4.0, "outside": "clip"}
    return type(policy)(**params)


LEARNERS = [each for each in examples() if not each.sees_means]


@pytest.mark.slow
@pytest.mark.parametrize("policy", LEARNERS, ids=lambda each: each.name)
def test_no_policy_beats_the_lower_bounds_on_the_hard_instances(policy: Policy) -> None:
    """Worst of the family drawn: Lemma 5 and Proposition 4 with its pieces, Proposition 3 with its budget."""
    family = theory.HardFamily.of_budget(n_arms=2, horizon=1_000, V=1.0)
    found = theory.worst(fitted(policy, family.horizon), family, draws=4, runs=100)
    regret = found.result.regret[0, :, -1]
    error = regret.std(ddof=1) / math.sqrt(len(regret))
    for bound in (family.bound, theory.variation_lower(1_000, 2, V=1.0)):
        assert regret.mean() >= bound - 3 * error
        assert 3 * error < bound / 2  # so that half the bound would not do
    assert found.regret.mean == pytest.approx(regret.mean())


def test_a_play_that_sees_the_means_is_told_from_one_that_learns() -> None:
    """The greedy oracle is below both bounds: the comparison is not true of everything."""
    family = theory.HardFamily.of_budget(n_arms=2, horizon=1_000, V=1.0)
    found = theory.worst(make("greedy-oracle"), family, draws=1, runs=2)
    assert abs(found.regret.mean) < 1e-9 < min(family.bound, theory.variation_lower(1_000, 2, V=1.0))


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

    best = max(map(total, product((0, 1), repeat=horizon)))
    assert total(theory.optimal_arms(problem).tolist()) == best
    assert optimal_rewards(problem).cumulative[-1] == pytest.approx(best, rel=1e-15)


@pytest.mark.parametrize("horizon", [2, 9, 60])
def test_the_optimal_arms_collect_what_regret_is_measured_against(horizon: int) -> None:
    """Two dynamic programmes, backwards for the arms and forwards for the rewards, agree."""
    rng = np.random.default_rng(horizon)
    for first, second in product((Rested, Restless), repeat=2):
        problem = Problem([first(rng.integers(0, 9, horizon) / 8.0), second(rng.integers(0, 9, horizon) / 8.0)])
        best = optimal_rewards(problem)
        assert best.how == OPTIMAL
        pulls, total = [0, 0], 0.0
        for t, i in enumerate(theory.optimal_arms(problem).tolist(), start=1):
            total += problem.mean(i, t, pulls[i])
            pulls[i] += 1
        assert best.cumulative[-1] == total


@pytest.mark.parametrize("policy", examples(), ids=lambda each: each.name)
def test_no_policy_learns_both_problems(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rotting.engines.threads.compiled_for", lambda function, *_, **__: function)
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
