"""The presets are the problems of the papers, and are found by name."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rotting
from rotting import problems
from rotting.problems import make, stationary, ten_arms, two_arms
from rotting.problems.noise import Bernoulli, Gaussian


def test_two_arms() -> None:
    problem = two_arms(L=0.5)
    assert (problem.n_arms, problem.horizon, problem.kind, problem.noise) == (2, 10_000, "rested", Gaussian(1.0))
    assert [problem.mean(1, t=10_000, n=n) for n in (0, 2_499, 2_500, 9_999)] == [0.25, 0.25, -0.25, -0.25]
    assert problem.mean(0, t=10_000, n=5_000) == 0.0
    assert problem.is_rotting()
    assert two_arms(horizon=3).mean(1, t=1, n=0) == -0.15
    with pytest.raises(ValueError, match=r"^L must be a finite number, zero or more, got -1$"):
        two_arms(L=-1)


def test_ten_arms() -> None:
    problem = ten_arms()
    sizes = [0.0, *(0.001 * math.sqrt(10) ** i for i in range(9))]
    assert (problem.n_arms, problem.horizon, problem.kind) == (10, 25_000, "rested")
    for i, size in enumerate(sizes):
        for n, sign in ((0, 1), (999, 1), (1_000, -1), (24_999, -1)):
            assert problem.mean(i, t=25_000, n=n) == pytest.approx(sign * size, rel=1e-14)
    assert [problem.mean(i, t=1, n=0) for i in (1, 3, 5, 7, 9)] == [0.001, 0.01, 0.1, 1.0, 10.0]
    assert problem.is_rotting()


def test_stationary() -> None:
    problem = stationary([0.5, 0.25], noise=Bernoulli(), horizon=10)
    assert (problem.kind, problem.horizon, problem.mean(0, t=9, n=3)) == ("stationary", 10, 0.5)
    with pytest.raises(ValueError, match="at least one arm"):
        stationary([])


def test_presets_by_name() -> None:
    listed = problems.list()
    assert list(listed)[:3] == ["two-arms", "ten-arms", "stationary"]
    assert listed["two-arms"] is two_arms
    assert all(name.replace("-", "_") == function.__name__ for name, function in listed.items())
    assert {function.__name__ for function in listed.values()} <= set(problems.__all__)
    assert make("ten-arms", horizon=50) == ten_arms(horizon=50)
    with pytest.raises(ValueError, match=r"got 'two-arm'; did you mean 'two-arms'\?$"):
        make("two-arm")
    with pytest.raises(TypeError, match=r"among L, horizon, sigma, got 'horizn'; did you mean 'horizon'\?$"):
        make("two-arms", horizn=3)
    with pytest.raises(TypeError, match=r"^means must be given for stationary"):
        make("stationary")


NAMED = [name for name in problems.list() if name != "stationary"]


@pytest.mark.parametrize("name", NAMED)
def test_a_named_problem_is_a_value_and_can_be_played(name: str) -> None:
    problem = make(name, horizon=50)
    assert problem == make(name, horizon=50)
    assert problem.horizon == 50
    assert problem.name is not None
    assert problem.name.startswith(name)
    assert make(name, horizon=50, sigma=7).name == f"{problem.name.rstrip(')')}{', ' if '(' in problem.name else '('}sigma=7)"
    result = rotting.simulate([rotting.UCB1(), rotting.GreedyOracle()], problem, runs=2, seed=1)
    if result.reference.startswith("greedy"):
        assert abs(result.regret[1]).max() < 1e-9
    assert make(name).horizon is not None


def test_levine_plateaus() -> None:
    for k, theta in enumerate((0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55)):
        for n in (0, 99, 100, 29_999):
            expected = (n // 100 + 1) ** -theta
            assert problems.levine_vanishing().mean(k, 30_000, n) == pytest.approx(expected, rel=1e-14)


def test_rising_arms_are_concave_and_end_below_one() -> None:
    problem = problems.concave_rising(horizon=2_000)
    for i in range(problem.n_arms):
        means = np.array([problem.mean(i, 2_000, n) for n in range(2_000)])
        assert means[0] == pytest.approx(0.0, abs=1e-9)
        assert np.diff(means).min() >= -1e-15
        assert np.diff(means, n=2).max() <= 1e-12
        assert means[-1] <= 1.0
    assert problem != problems.concave_rising(horizon=2_000, seed=1)


def means_of(problem: problems.Problem, arms: list[int]) -> list[float]:
    """The means of a game, from functions called in Python."""
    states: list[Any] = [arm.first_state() for arm in problem.arms]  # type: ignore[attr-defined]
    pulls, found = [0] * problem.n_arms, []
    for t, i in enumerate(arms, start=1):
        arm: Any = problem.arms[i]
        found.append(float(arm.mean(arm.params, states[i], t, pulls[i])))
        for k, each in enumerate(problem.arms):
            states[k] = each.next_state(states[k], t, pulls[k], int(i == k))  # type: ignore[attr-defined]
        pulls[i] += 1
    return found


def test_satiation_is_the_sum_of_the_decayed_pulls() -> None:
    arms = [0, 0, 1, 0, 1, 1, 1, 0]
    found = means_of(problems.rebounding([1.0, 0.9], decay=0.5, weight=0.4), arms)
    for t, i in enumerate(arms):
        satiation = sum(0.5 ** (t - s) for s in range(t) if arms[s] == i)
        assert found[t] == pytest.approx([1.0, 0.9][i] - 0.4 * satiation, rel=1e-12)


def test_a_switch_is_counted_from_the_last_one() -> None:
    arms = [0, 0, 0, 1, 1, 0, 0]
    rested, tired = [1.0 - 0.5 * 0.7**d for d in range(5)], [0.5 * 0.7**d for d in range(5)]
    expected = [rested[1], tired[1], tired[2], rested[4], tired[1], rested[2], tired[1]]
    assert means_of(problems.last_switch([1.0, 1.0]), arms) == pytest.approx(expected, rel=1e-12)


def test_a_blocked_arm_pays_nothing_until_its_delay_is_over() -> None:
    arms = [0, 0, 0, 0, 0, 1, 1, 1]
    assert means_of(problems.blocking([1.0, 0.8], [4, 3]), arms) == [1.0, 0.0, 0.0, 0.0, 1.0, 0.8, 0.0, 0.0]


@pytest.mark.parametrize("name", ["rebounding", "last-switch", "blocking", "many-arms"])
def test_rests_end_where_steps_do(name: str) -> None:
    """The closed form of rounds without a pull is that of the steps one by one, but for rounding."""
    for arm in make(name).arms[:4]:
        assert isinstance(arm, problems.Stateful)
        state: Any = arm.first_state(key=5)
        for t in range(1, 4):
            state = arm.next_state(state, t, t - 1, 1)
        stepped = state
        for t in range(4, 11):
            stepped = arm.next_state(stepped, t, 3, 0)
        assert arm.state_at(state, 4, 11, 3) == pytest.approx(stepped, rel=1e-12)


def test_processes_have_their_distributions() -> None:
    """Levels of 400 arms over 50 rounds: variance and correlation, within 6 standard errors of 400 independent arms."""
    game = rotting.play(rotting.UCB1(), problems.autoregressive([0.5] * 400, gamma=0.9, spread=2.0), horizon=50)
    levels = (game.means - 0.5) / 2.0
    assert abs(levels.mean(axis=1)).max() < 6 / math.sqrt(400)
    assert abs((levels**2).mean(axis=1) - 1).max() < 6 * math.sqrt(2 / 400)
    assert abs((levels[1:] * levels[:-1]).mean() - 0.9) < 6 * math.sqrt(2 / 400)
    chain = rotting.play(rotting.UCB1(), problems.markov([0.1] * 400, rise=0.3), horizon=50).means
    assert abs(chain.mean(axis=1) - 0.75).max() < 6 * math.sqrt(0.75 * 0.25 / 400)
    falls = (chain[:-1] == 1.0) & (chain[1:] == 0.0)
    assert abs(falls.sum() / (chain[:-1] == 1.0).sum() - 0.1) < 6 * math.sqrt(0.1 * 0.9 / 15_000)


def test_many_arms_have_the_tail_that_is_asked_for() -> None:
    """Of 2,000 fresh arms, a share x^beta is above 1 - x, within 6 standard errors."""
    means = rotting.play(rotting.UCB1(), problems.many_arms(2_000, beta=0.5), horizon=2).means
    for x in (0.04, 0.25, 0.64):
        assert abs((means[0] > 1 - x).mean() - math.sqrt(x)) < 6 * 0.5 / math.sqrt(2_000)
    assert means[0, 0] - means[1, 0] == pytest.approx(0.001)
    assert means[0, 1:].tolist() == means[1, 1:].tolist()


@pytest.mark.parametrize(
    ("make_it", "message"),
    [
        (lambda: problems.rebounding([]), "bases must hold one number for each arm, got none"),
        (lambda: problems.rebounding(decay=1), "decay must be a number in [0, 1), got 1"),
        (lambda: problems.blocking([1.0], [0]), "delays[0] must be a whole number, 1 or more, got 0"),
        (lambda: problems.blocking([1.0], [1, 2]), "delays must be as many as means, 1, got 2"),
        (lambda: problems.markov([0.0]), "falls[0] must be a number in (0, 1], got 0.0"),
        (lambda: problems.many_arms(0), "n_arms must be a whole number, 1 or more, got 0"),
    ],
)
def test_what_is_wrong_is_told_in_one_sentence(make_it: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        make_it()
