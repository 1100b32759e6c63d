"""Rested and restless arms together: what no policy can learn."""

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
from tests.helpers.games import examples

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
        assert best.label == OPTIMAL
        pulls, total = [0, 0], 0.0
        for t, i in enumerate(theory.optimal_arms(problem).tolist(), start=1):
            total += problem.mean(i, t, pulls[i])
            pulls[i] += 1
        assert best.cumulative[-1] == total


@pytest.mark.parametrize("policy", examples(), ids=lambda each: each.name)
def test_no_policy_learns_both_problems(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROTTING_COMPILE", "never")  # for a few rounds
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
    assert [curve.label for curve in points] == [policy.label for policy in policies]
    assert all(curve.points and curve.x[0] + curve.y[0] >= 10.0 for curve in points)
    table = played.table()
    assert [row["worst"] for row in table.rows] == played.worst.tolist()
    assert table.rows[0] == {"policy": "greedy oracle", "falls": 10.0, "stays": 0.0, "worst": 10.0, "floor": 5}
    assert "floor(T / 8)" in str(table)


@pytest.mark.parametrize("wrong", [1, 5_001])
def test_wrong_horizons_are_refused(wrong: int) -> None:
    for call in (theory.unlearnable, theory.greedy_floor, theory.learner_floor):
        with pytest.raises(ValueError, match=f"horizon must be a whole number from 2 to 5000, got {wrong}"):
            call(wrong)
    with pytest.raises(ValueError, match="problem must have 2 arms, got 10"):
        theory.optimal_arms(ten_arms(horizon=10))
