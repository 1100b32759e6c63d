"""Late rewards, arms that come, leave and recover, means by a function: the games of slow, obvious loops."""

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rotting
from rotting import theory
from rotting.policies.kernels.policy_functions import flatten
from rotting.policies.kernels.random_numbers import derive_key, reward_uniform, subkey
from rotting.policy import Policy
from rotting.problems import (
    Abrupt,
    Exponential,
    FixedDelay,
    General,
    GeometricDelay,
    Linear,
    Problem,
    ProblemFamily,
    Recovering,
    Rested,
    Restless,
    UniformDelay,
    Visiting,
    two_arms,
)
from rotting.problems.delays import Delay, from_json
from rotting.problems.noise import Bernoulli, Gaussian, Noiseless
from rotting.problems.oracle import GREEDY_FORMULA, GREEDY_RECOVERING, GREEDY_VISITS, OPTIMAL, greedy_rewards
from rotting.simulation.engines import game
from tests.conftest import INTERPRETED, STRESS
from tests.helpers.games import examples, reference

HORIZON = 60 if INTERPRETED else 150
COMPILED = ("ucb1", "exp3", "raw-ucb") if STRESS else ("ucb1",)  # compiling takes longer than a game
POLICIES = [
    type(each)(**{**each.shown_params(), "outside": "clip"}) if each.reward_range is not None else each
    for each in examples()
    if INTERPRETED or each.name in COMPILED
]
ONE = POLICIES if INTERPRETED else [rotting.UCB1()]
MIXED = Problem([Rested(Abrupt(0.8, 0.1, at=9)), Restless(Linear(0.9, slope=-0.01)), Rested(0.3)], Gaussian(0.4), HORIZON)
DELAYS = [FixedDelay(7), UniformDelay(0, 9), GeometricDelay(5), GeometricDelay(3, lost=0.4)]


def by_name(policy: Policy) -> str:
    return policy.name


# Rewards that come late.


@pytest.mark.parametrize("policy", POLICIES, ids=by_name)
def test_without_delay_it_is_the_game_without(policy: Policy) -> None:
    """Regret in every round, bit for bit."""
    plain, late = (
        rotting.simulate(policy, problem, runs=3, seed=2, checkpoints=range(1, HORIZON), record=("arms", "rewards"))
        for problem in (MIXED, MIXED.delayed(FixedDelay(0)))
    )
    assert late.regret.tobytes() == plain.regret.tobytes()
    assert late == replace(plain, problem=late.problem)


def late_game(policy: Policy, problem: Problem, run: int, seed: int) -> list[int]:
    """The arms of a game in which each reward is handed to the policy when it comes, with the probability of its own draw."""
    kernel, p, delay = policy.kernel, policy.params, problem.delay
    assert delay is not None
    s = kernel.init(p, problem.n_arms, 100 * problem.n_arms * HORIZON)
    key, noise_key, delay_key = subkey(derive_key(seed, "policy"), run), derive_key(seed, "noise"), derive_key(seed, "delay")
    pulls, arms, due = [0] * problem.n_arms, [], {}  # type: ignore[var-annotated]
    for t in range(1, HORIZON + 1):
        if policy.sees_means:
            s.means[:] = [problem.mean(i, t, n) for i, n in enumerate(pulls)]
        i = int(kernel.choose(p, s, t, key, np.arange(problem.n_arms)))
        clock = t - 1 if isinstance(problem.arms[i], Restless) else pulls[i]
        reward = problem.noise.draw(problem.mean(i, t, pulls[i]), problem.noise.scale, noise_key, run, i, clock)
        propensity = float(s.propensity[i]) if "propensity" in flatten(s) else 1.0
        pulls[i] += 1
        arms.append(i)
        if reward_uniform(delay_key, run, 0, t, 1) >= delay.lost:
            due.setdefault(t + delay.draw(delay.scale, delay_key, run, t), []).append((i, reward, propensity))
        for arm, seen, chance in due.pop(t, []):
            if "propensity" in flatten(s):
                s.propensity[arm] = chance
            kernel.update(p, s, t, arm, seen)
    return arms


LATE = [(policy, DELAYS[3]) for policy in POLICIES] + [(rotting.UCB1(), delay) for delay in DELAYS[:3]]


@pytest.mark.parametrize(("policy", "delay"), LATE, ids=lambda each: each.name if isinstance(each, Policy) else repr(each))
def test_rewards_are_seen_when_they_come(policy: Policy, delay: Delay) -> None:
    problem = MIXED.delayed(delay)
    assert rotting.play(policy, problem, run=2, seed=4).arm.tolist() == late_game(policy, problem, run=2, seed=4)


def no_room(n_arms: int, rounds: int) -> int:
    return 1


@pytest.mark.skipif(not (INTERPRETED or STRESS), reason="compiles four games: in `make stress`, and where nothing is compiled")
def test_a_state_that_is_full_while_rewards_come_in_goes_on_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty rewards come at once, and the first already finds no room."""
    falling = Problem.rested([Linear(1.0, slope=-0.01), Exponential(0.9, rate=0.01)], Noiseless(), HORIZON)
    problem = falling.delayed(FixedDelay(30))
    plenty = rotting.play(rotting.RAWUCB(sigma=0.1), problem)
    monkeypatch.setattr(game, "small_capacity", no_room)
    tight = rotting.play(rotting.RAWUCB(sigma=0.1), problem)
    assert tight.arm.tolist() == plenty.arm.tolist() == late_game(rotting.RAWUCB(sigma=0.1), problem, 0, 0)


def test_who_never_hears_anything_keeps_exploring_the_first_arm() -> None:
    for delay in (FixedDelay(HORIZON), FixedDelay(0, lost=1.0)):
        assert set(rotting.play(rotting.UCB1(), MIXED.delayed(delay)).arm.tolist()) == {0}


def test_delays_have_their_distributions() -> None:
    """The means and variances of 20,000 delays, within 6 standard errors."""
    key, n = derive_key(0, "delay"), 2_000 if INTERPRETED else 20_000

    def drawn(delay: Delay) -> Any:
        return np.array([delay.draw(delay.scale, key, k % 7, k) for k in range(n)])

    for mean in (0.5, 10.0):
        late = drawn(GeometricDelay(mean))
        assert abs(late.mean() - mean) < 6 * math.sqrt(mean * (1 + mean) / n)
        assert abs(np.mean(late == 0) - 1 / (1 + mean)) < 6 * 0.5 / math.sqrt(n)
    assert set(drawn(UniformDelay(2, 5)).tolist()) == {2, 3, 4, 5}
    assert abs(drawn(UniformDelay(2, 5)).mean() - 3.5) < 6 * math.sqrt(1.25 / n)
    assert set(drawn(GeometricDelay(0)).tolist()) == {0}
    assert set(drawn(FixedDelay(4)).tolist()) == {4}


def test_a_delayed_problem_is_saved_with_its_delay(tmp_path: Path) -> None:
    for delay in DELAYS:
        assert from_json(delay.to_json()) == delay
    problem = MIXED.delayed(DELAYS[3])
    result = rotting.simulate(rotting.UCB1(), problem, runs=3)
    result.save(tmp_path / "result")
    loaded = rotting.Result.load(tmp_path / "result")
    assert loaded == result
    assert loaded.played is not None
    assert loaded.played.delay == DELAYS[3]
    assert rotting.simulate(rotting.UCB1(), loaded.played, runs=3).regret.tobytes() == result.regret.tobytes()


def test_no_theorem_is_claimed_of_late_rewards() -> None:
    problem = two_arms(L=1.0, horizon=50)
    policy = rotting.RAWUCB(alpha=5.0)
    assert theory.bounds(problem, policy)
    assert theory.bounds(problem.delayed(FixedDelay(3)), policy) == ()


# Arms that come and leave.

ROUNDS = Problem(
    [Restless(Linear(0.6, slope=-0.001)), Visiting(Restless(0.9), 10, 20), Visiting(Rested(0.8), first=15)], horizon=50
)


@pytest.mark.parametrize("policy", ONE, ids=by_name)
def test_only_arms_that_are_there_are_pulled(policy: Policy) -> None:
    played = rotting.play(policy, ROUNDS, seed=1)
    for t, arm in enumerate(played.arm.tolist(), start=1):
        assert arm == 0 or (arm == 1 and 10 <= t <= 20) or (arm == 2 and t >= 15)
    assert played.reference == OPTIMAL
    there = np.isfinite(played.means)
    assert there[:, 0].all()
    assert np.flatnonzero(there[:, 1]).tolist() == list(range(9, 20))
    assert np.flatnonzero(there[:, 2]).tolist() == list(range(14, 50))


@pytest.mark.skipif(not (INTERPRETED or STRESS), reason="compiles two games: in `make stress`, and where nothing is compiled")
@pytest.mark.parametrize("policy", [rotting.RAWUCB(sigma=0.3), rotting.EffRAWUCB(sigma=0.3)], ids=by_name)
def test_arms_that_come_and_leave_by_the_dozen_are_chosen_as_by_a_scan(policy: Policy) -> None:
    """There are few arms, then many, then few again, with changes in one round and in several."""
    rng = np.random.default_rng(5)
    sizes, firsts, stays = rng.random(40), rng.integers(1, 90, 40), rng.integers(40, 120, 40)
    visits = [
        Visiting(Rested(Abrupt(mu, 0.1, at=5)), first, first + stay)
        for mu, first, stay in zip(sizes.tolist(), firsts.tolist(), stays.tolist(), strict=True)
    ]
    problem = Problem([Rested(0.2), *visits], Gaussian(0.3), horizon=220)
    played, naive = rotting.play(policy, problem, seed=1), reference(policy, problem.n_arms)
    numbers = []
    for t, (arm, reward, means) in enumerate(zip(played.arm.tolist(), played.reward.tolist(), played.means, strict=True), 1):
        present = np.flatnonzero(np.isfinite(means)).tolist()
        numbers.append(len(present))
        assert naive.choose(t, present) == arm, t
        naive.update(t, arm, reward)
    assert min(numbers[0], numbers[-1]) < 10 < max(numbers)


def test_the_best_arm_that_is_there_is_the_optimum_of_restless_ones() -> None:
    best = [0.6 - 0.001 * t if t < 9 else 0.9 if t < 20 else 0.8 for t in range(50)]
    oracle = rotting.simulate(rotting.GreedyOracle(), ROUNDS, runs=1, checkpoints=range(1, 50))
    played = rotting.play(rotting.UCB1(), ROUNDS)
    np.testing.assert_allclose(oracle.regret, 0.0, atol=1e-12)
    np.testing.assert_allclose(played.regret, np.cumsum(best) - np.cumsum(played.mean), atol=1e-12)
    np.testing.assert_allclose(played.best_mean, best)


def every_game(problem: Problem, horizon: int) -> float:
    """The largest sum of means of any sequence of arms that are there."""
    first, last = (each.tolist() for each in problem.presence_rounds())
    best = -math.inf
    for arms in itertools.product(range(problem.n_arms), repeat=horizon):
        if all(first[i] <= t <= last[i] for t, i in enumerate(arms, start=1)):
            pulls, total = [0] * problem.n_arms, 0.0
            for t, i in enumerate(arms, start=1):
                total += problem.mean(i, t, pulls[i])
                pulls[i] += 1
            best = max(best, total)
    return best


@pytest.mark.parametrize("seed", range(5))
def test_greedy_is_optimal_where_rested_arms_come_and_stay(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tables = -np.sort(-rng.random((3, 6)), axis=1)
    arms = [Rested(tables[0]), Visiting(Rested(tables[1]), int(rng.integers(1, 5))), Visiting(Rested(tables[2]), 3)]
    game_of = rotting.play(rotting.GreedyOracle(), Problem(arms, horizon=6))
    assert game_of.reference == OPTIMAL
    assert game_of.mean.sum() == pytest.approx(every_game(Problem(arms, horizon=6), 6), rel=1e-12)


def test_greedy_is_not_said_to_be_optimal_where_rested_arms_leave() -> None:
    """The arm that leaves is worth less, and should be pulled first."""
    problem = Problem([Rested([1.0, 0.0, 0.0]), Visiting(Rested([0.9, 0.0, 0.0]), last=1)], horizon=2)
    played = rotting.play(rotting.GreedyOracle(), problem)
    assert played.reference == GREEDY_VISITS
    assert played.mean.sum() < every_game(problem, 2)


# Arms that recover.


def rise(z: int) -> float:
    return 1.0 - 0.8**z


RECOVERING = Problem(
    [Restless(0.35), Recovering(rise, fresh=0.9), Visiting(Recovering(Linear(0.0, slope=0.02), fresh=0.7), first=20)],
    horizon=HORIZON,
)


def rested_means(arms: list[int]) -> list[float]:
    """The means of a game's pulls, from the rounds since the last pull of the same arm."""
    last: dict[int, int] = {}
    found = []
    for t, i in enumerate(arms, start=1):
        z = t - 1 - last.get(i, 0)
        found.append([0.35, rise(z), 0.02 * z][i] if i in last else [0.35, 0.9, 0.7][i])
        last[i] = t
    return found


@pytest.mark.parametrize("policy", ONE, ids=by_name)
def test_the_mean_of_a_recovering_arm_follows_its_rest(policy: Policy) -> None:
    played = rotting.play(policy, RECOVERING, seed=3)
    np.testing.assert_allclose(played.mean, rested_means(played.arm.tolist()), rtol=1e-12)
    assert played.reference == GREEDY_RECOVERING


def test_the_reference_of_recovering_arms_is_the_greedy_oracle() -> None:
    arms: list[int] = []
    for t in range(1, HORIZON + 1):
        means = [rested_means([*arms, i])[-1] for i in range(3)]
        arms.append(int(np.argmax(means if t >= 20 else means[:2])))
    played = rotting.play(rotting.UCB1(), RECOVERING)
    expected = np.cumsum(rested_means(arms)) - np.cumsum(played.mean)
    np.testing.assert_allclose(played.regret, expected, atol=1e-9)
    assert RECOVERING.kind == "recovering"


@pytest.mark.parametrize("horizon", [1, 2, 10])
@pytest.mark.parametrize(
    ("arm", "mean"),
    [
        (Recovering(Exponential(0.0, rate=0.1, limit=1.0)), 1.0),
        (Recovering([0.0, 0.3, 0.6, *[0.8] * 7]), 0.8),
        (Recovering(Linear(0.0, slope=0.1), fresh=0.7), 0.7),
    ],
    ids=repr,
)
def test_an_arm_that_was_never_pulled_is_fully_rested_at_any_horizon(arm: Recovering, mean: float, horizon: int) -> None:
    late = Visiting(arm, first=horizon)
    game_of = rotting.play(rotting.UCB1(), Problem([arm, Rested(0.1), late], Noiseless()), horizon=horizon)
    assert game_of.means[0, 0] == game_of.means[-1, 2] == mean
    assert game_of.regret[0] == 0.0  # so the oracle sees it
    assert Problem([arm, Rested(0.1)], Noiseless()).reward_bounds(horizon)[1] >= mean


# Means by a function.


def mu(i: int, t: int, n: int) -> float:
    return 1.0 / (1.0 + i + 0.05 * n) - 0.001 * t


@pytest.mark.parametrize("policy", ONE, ids=by_name)
def test_a_function_is_the_table_of_its_values(policy: Policy) -> None:
    tabulated = Problem([General(lambda t, n, i=i: mu(i, t, n)) for i in range(3)], Gaussian(0.3), HORIZON)  # type: ignore[misc]
    problem = Problem.by_function(mu, 3, Gaussian(0.3), HORIZON)
    table, function = (rotting.play(policy, each, run=1) for each in (tabulated, problem))
    assert function.arm.tolist() == table.arm.tolist()
    assert function.reward.tobytes() == table.reward.tobytes()
    assert function.reference == GREEDY_FORMULA
    collected = np.cumsum(function.mean)
    np.testing.assert_allclose(function.regret + collected, greedy_rewards(tabulated), rtol=1e-12)


def test_a_function_has_any_horizon() -> None:
    problem = Problem.by_function(mu, 2)
    assert rotting.simulate(rotting.UCB1(), problem, horizon=300 if INTERPRETED else 200_000, runs=1).regret.shape == (
        1,
        1,
        200,
    )
    assert problem.mean(1, 3, 2) == mu(1, 3, 2)
    assert problem._repr_html_()


def test_all_of_it_together() -> None:
    """Late rewards of arms that come, leave and recover."""
    problem = RECOVERING.delayed(GeometricDelay(4, lost=0.1))
    played = rotting.play(rotting.UCB1(), problem, run=1)
    np.testing.assert_allclose(played.mean, rested_means(played.arm.tolist()), rtol=1e-12)
    assert played.regret.tolist() != rotting.play(rotting.UCB1(), RECOVERING, run=1).regret.tolist()


def unknown(i: int, t: int, n: int) -> float:
    return np.random.default_rng(i).random()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FixedDelay(-1), "rounds must be a whole number of rounds, from 0 to 2^53, got -1"),
        (lambda: GeometricDelay(-1), "mean must be "),
        (lambda: FixedDelay(3, lost=2), "lost must be a probability in [0, 1], got 2"),
        (lambda: UniformDelay(3, 2), "low must be at most high = 2, got 3"),
        (lambda: MIXED.delayed(3), "delay must be a delay such as GeometricDelay(100) or None, got 3"),  # type: ignore[arg-type]
        (lambda: Recovering(rise), "fresh must be given, as the limit of Function(rise) is not known, got None"),
        (lambda: Recovering(0.5, fresh=math.nan), "fresh must be a finite number, got nan"),
        (lambda: Problem([Recovering(0.5, fresh=2.0)], Bernoulli(), 1), "arm 0: means must be a probability in [0, 1]"),
        (lambda: Visiting(0.5), "arm must be an arm such as Rested or Restless, got 0.5"),  # type: ignore[arg-type]
        (lambda: Visiting(Rested(0.5), 5, 4), "last must be at least first = 5, got 4"),
        (
            lambda: Problem([Visiting(Rested(0.5), last=5), Visiting(Rested(0.5), first=8)], horizon=20),
            "arms must be present in every round up to 20, got none in round 6",
        ),
        (
            RECOVERING.means,
            "means must be a table over rounds and pulls, got a problem with arms that come, leave or",
        ),
        (
            lambda: Problem.by_function(mu, 2).means(9),
            "means must be a table over rounds and pulls, got a problem with means by",
        ),
        (lambda: RECOVERING.mean(1, 3, 0), "i must be an arm whose mean follows rounds and pulls, got 1, which recovers"),
        (lambda: Problem.by_function(3, 2), "mu(i, t, n) must be a plain Python function, got 3"),  # type: ignore[arg-type]
        (lambda: Problem.by_function(lambda t, n: 0.0, 2), "<lambda>.<locals>.<lambda> (test_extensions.py"),  # type: ignore[arg-type,misc]
        (lambda: Problem.by_function(unknown, 2), "unknown "),
        (
            lambda: Problem([*Problem.by_function(mu, 1).arms, Rested(0.5)]),
            "arms must not mix arms of Problem.by_function with other arms",
        ),
        (
            lambda: rotting.simulate(rotting.UCB1(), ProblemFamily(lambda _: RECOVERING), runs=2),
            "a family must draw problems of arms that are always present, with tables of means or a memory, and no delay",
        ),
    ],
)
def test_what_is_wrong_is_told_in_one_sentence(make: Callable[[], object], message: str) -> None:
    with pytest.raises((TypeError, ValueError, rotting.errors.KernelError)) as caught:
        make()
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
