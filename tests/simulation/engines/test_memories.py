"""Arms with a memory: the games of a loop that steps every arm in every round, on every engine."""

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import rotting
from rotting.errors import KernelError
from rotting.kit import normal_quantile, power, uniform
from rotting.policies.kernels.policy_functions import flatten
from rotting.policies.kernels.random_numbers import derive_key, reward_uniform, subkey
from rotting.policy import Policy
from rotting.problems import (
    Abrupt,
    GeometricDelay,
    Linear,
    Problem,
    ProblemFamily,
    RandomBreakpoints,
    Recovering,
    Rested,
    Restless,
    Stateful,
    Visiting,
)
from rotting.problems.noise import Bernoulli, Gaussian, Noiseless
from rotting.problems.oracle import GREEDY_STATEFUL
from rotting.problems.problem import means_if_always_pulled
from rotting.simulation.engines.chunk_store import ChunkStore
from rotting.simulation.plan import Simulation
from rotting.simulation.simulate import simulate_all
from tests.conftest import STRESS
from tests.helpers.simulated_gpu import on_simulated_gpu

HORIZON = 60


class Satiation(NamedTuple):
    base: float
    decay: float
    weight: float


def fresh(p: Satiation) -> float:
    return 0.0


def satiated(p: Satiation, s: float, t: int, n: int) -> float:
    return p.base - p.weight * s


def satiate(p: Satiation, s: float, t: int, n: int, pulled: int) -> float:
    return p.decay * (s + pulled)


def recover(p: Satiation, s: float, t: int, n: int, rounds: int) -> float:
    return float(power(p.decay, rounds) * s)


class Walk(NamedTuple):
    level: float
    pulls: float


def walk_init(p: Any, key: int) -> Walk:
    return Walk(normal_quantile(uniform(key, 0, 0)), 0.0)


def walk_mean(p: tuple[float, float], s: Walk, t: int, n: int) -> float:
    return p[0] + 0.3 * s.level - 0.01 * s.pulls + 0.001 * t - 0.002 * n


def walk_step(p: Any, s: Walk, t: int, n: int, pulled: int, key: int) -> Walk:
    return Walk(p[1] * s.level + normal_quantile(uniform(key, t, 0)), s.pulls + pulled)


def poisoned(p: Satiation, s: float, t: int, n: int, pulled: int) -> float:
    """Takes for granted that it is called after pulls only."""
    return p.decay * (s + 1.0) if pulled == 1 else math.nan


STEPPED = [Stateful(fresh, satiated, satiate, Satiation(*each)) for each in ((0.9, 0.8, 0.2), (0.7, 0.9, 0.05))]
RESTING = [Stateful(fresh, satiated, poisoned, Satiation(*each), rest=recover) for each in ((0.8, 0.7, 0.2), (0.6, 0.5, 0.3))]
WALKING = [Stateful(walk_init, walk_mean, walk_step, [0.5, 0.9], clock=clock) for clock in ("rounds", "pulls")]
TABLES = [Rested(Abrupt(0.8, 0.1, at=9)), Restless(Linear(0.9, slope=-0.01))]
NOISE = Gaussian(0.3)
PROBLEMS = {
    "steps": Problem(STEPPED, NOISE, HORIZON),
    "rests": Problem(RESTING, NOISE, HORIZON),
    "random": Problem(WALKING, NOISE, HORIZON),
    "mixed": Problem([TABLES[0], RESTING[0], STEPPED[0], WALKING[0], TABLES[1], RESTING[1]], NOISE, HORIZON),
    "visiting": Problem(
        [STEPPED[0], Visiting(RESTING[0], 5, 30), Visiting(WALKING[0], 20), Recovering(0.5), Visiting(TABLES[0], 3)],
        NOISE,
        HORIZON,
    ),
}
PROBLEMS["late"] = PROBLEMS["visiting"].delayed(GeometricDelay(4, lost=0.2))
POLICIES: list[Policy] = [rotting.UCB1(), rotting.RAWUCB(sigma=0.3), rotting.ThompsonSampling(kind="gaussian")]


class ByHand:
    """The arms of one run, all of which are stepped in every round."""

    def __init__(self, problem: Problem, run: int, seed: int) -> None:
        self.problem, self.arms = problem, problem.bare_arms
        key = subkey(derive_key(seed, "memory"), run)
        self.keys = [subkey(key, i) for i in range(problem.n_arms)]
        self.pulls, self.last = [0] * problem.n_arms, [0] * problem.n_arms
        self.states: list[Any] = [None] * problem.n_arms
        for i, arm in enumerate(self.arms):
            if isinstance(arm, Stateful):
                self.states[i] = arm.init(arm.params, self.keys[i]) if arm.init is walk_init else arm.init(arm.params)

    def present(self, t: int) -> list[int]:
        first, last = self.problem.presence_rounds()
        return [i for i in range(self.problem.n_arms) if first[i] <= t <= last[i]]

    def mean(self, i: int, t: int) -> float:
        arm, n = self.arms[i], self.pulls[i]
        if isinstance(arm, Recovering):
            return 0.5
        if not isinstance(arm, Stateful):
            return Problem([arm]).mean(0, t, n)
        state = self.states[i]
        if arm.rest is not None and self.last[i] + 1 < t:
            state = arm.rest(arm.params, state, self.last[i] + 1, n, t - 1 - self.last[i])
        return float(arm.mean(arm.params, state, t, n))

    def play(self, pulled: int, t: int) -> None:
        for i, arm in enumerate(self.arms):
            if isinstance(arm, Stateful):
                self._step(i, arm, t, int(i == pulled))
        self.pulls[pulled] += 1
        self.last[pulled] = t

    def _step(self, i: int, arm: Stateful, t: int, pulled: int) -> None:
        state, more = self.states[i], (self.keys[i],) if arm.step is walk_step else ()
        if arm.rest is not None:
            if pulled == 0:
                return
            if self.last[i] + 1 < t:
                state = arm.rest(arm.params, state, self.last[i] + 1, self.pulls[i], t - 1 - self.last[i])
        self.states[i] = arm.step(arm.params, state, t, self.pulls[i], pulled, *more)


def game_by_hand(
    policy: Policy, problem: Problem, run: int, seed: int, horizon: int = HORIZON
) -> tuple[list[int], list[float]]:
    """The arms and the means of a game, from the rules of `Stateful` and of delays."""
    world, kernel, p = ByHand(problem, run, seed), policy.kernel, policy.params
    s = kernel.init(p, problem.n_arms, 100 * horizon)
    keys = derive_key(seed, "noise"), subkey(derive_key(seed, "policy"), run), derive_key(seed, "delay")
    arms, means, due = [], [], {}
    for t in range(1, horizon + 1):
        i = int(kernel.choose(p, s, t, keys[1], np.array(world.present(t))))
        arm = world.arms[i]
        on_rounds = isinstance(arm, Restless) or (isinstance(arm, Stateful) and arm.clock == "rounds")
        mean = world.mean(i, t)
        reward = problem.noise.draw(mean, problem.noise.scale, keys[0], run, i, t - 1 if on_rounds else world.pulls[i])
        chance = float(s.propensity[i]) if "propensity" in flatten(s) else 1.0
        delay = problem.delay
        if delay is None:
            due[t] = [(i, reward, chance)]
        elif reward_uniform(keys[2], run, 0, t, 1) >= delay.lost:
            due.setdefault(t + delay.draw(delay.scale, keys[2], run, t), []).append((i, reward, chance))
        for arm_seen, seen, _ in due.pop(t, []):
            kernel.update(p, s, t, arm_seen, seen)
        world.play(i, t)
        arms.append(i)
        means.append(mean)
    return arms, means


def greedy_by_hand(problem: Problem, run: int, seed: int, horizon: int = HORIZON) -> list[float]:
    world, means = ByHand(problem, run, seed), []
    for t in range(1, horizon + 1):
        best = max(world.present(t), key=lambda i: (world.mean(i, t), -i))
        means.append(world.mean(best, t))
        world.play(best, t)
    return means


@pytest.mark.parametrize("policy", POLICIES, ids=lambda each: each.name)
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_game_is_that_of_a_loop_by_hand(name: str, policy: Policy) -> None:
    problem = PROBLEMS[name]
    played = rotting.play(policy, problem, run=3, seed=5)
    arms, means = game_by_hand(policy, problem, run=3, seed=5)
    assert played.arm.tolist() == arms
    assert played.mean.tolist() == means
    regret = np.cumsum(greedy_by_hand(problem, run=3, seed=5)) - np.cumsum(means)
    np.testing.assert_allclose(played.regret, regret, rtol=0, atol=1e-12)
    assert played.reference == GREEDY_STATEFUL


@pytest.mark.slow  # and so compiled
@pytest.mark.parametrize("name", PROBLEMS if STRESS else ["late", "mixed"])
def test_compiled_games_are_the_interpreted_ones(name: str) -> None:
    compiled, interpreted = (
        rotting.simulate(rotting.UCB1(), PROBLEMS[name], runs=4, seed=2, record=("arms", "rewards"), compile=mode)
        for mode in ("now", "never")
    )
    assert compiled == interpreted


@pytest.mark.parametrize("name", PROBLEMS)
def test_nothing_depends_on_who_asks(name: str) -> None:
    """`play` asks every arm for its mean in every round, `simulate` only the arm that is pulled."""
    problem = PROBLEMS[name]
    many = rotting.simulate(rotting.UCB1(), problem, runs=6, seed=4, checkpoints=range(1, HORIZON), workers=2)
    few = rotting.simulate(rotting.UCB1(), problem, runs=2, seed=4, checkpoints=range(1, HORIZON), first_run=4)
    assert many.regret[:, 4:].tobytes() == few.regret.tobytes()
    game = rotting.play(rotting.UCB1(), problem, run=5, seed=4)
    assert game.regret.tobytes() == many.regret[0, 5].tobytes()


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_short_game_is_the_beginning_of_a_long_one(name: str) -> None:
    short, long = (rotting.play(rotting.UCB1(), PROBLEMS[name], run=1, horizon=horizon) for horizon in (37, HORIZON))
    assert short.arm.tolist() == long.arm[:37].tolist()
    assert short.reward.tobytes() == long.reward[:37].tobytes()
    assert short.means.tobytes() == long.means[:37].tobytes()
    assert short.regret.tobytes() == long.regret[:37].tobytes()


def test_policies_meet_the_same_means_where_arms_move_by_themselves() -> None:
    """The walk in rounds has the same level for all; of its means, only the part that follows pulls differs."""
    games = [rotting.play(policy, PROBLEMS["random"], seed=1) for policy in (rotting.UCB1(), rotting.Uniform())]
    assert games[0].arm.tolist() != games[1].arm.tolist()
    levels = []
    for game in games:
        pulls = np.cumsum(game.arm[:, None] == np.arange(2), axis=0) - (game.arm[:, None] == np.arange(2))
        levels.append(game.means + 0.012 * pulls)
    np.testing.assert_allclose(levels[0], levels[1], atol=1e-12)
    other = rotting.play(rotting.UCB1(), PROBLEMS["random"], run=1, seed=1)
    assert abs(other.means[:, 0] - games[0].means[:, 0]).min() > 0  # another run, another path
    assert abs(games[0].means[:, 1] - games[0].means[:, 0]).min() > 0  # and another arm


def test_arms_move_by_their_distribution() -> None:
    """The first levels of 2,000 arms are standard normal: mean and variance within 6 standard errors."""
    many = Problem([Stateful(walk_init, walk_mean, walk_step, [0.0, 0.9])] * 2_000, NOISE)
    levels = rotting.play(rotting.UCB1(), many, horizon=1).means[0] / 0.3
    assert abs(levels.mean()) < 6 / math.sqrt(2_000)
    assert abs(levels.var() - 1) < 6 * math.sqrt(2 / 2_000)


# A copy of an arm with a table.


def nothing(p: Any) -> float:
    return 0.0


def stay(p: Any, s: float, t: int, n: int, pulled: int) -> float:
    return s


def still(p: Any, s: float, t: int, n: int, rounds: int) -> float:
    return s


def drop_with_pulls(p: tuple[float, float, float], s: float, t: int, n: int) -> float:
    return p[0] if n < p[2] else p[1]


def drop_with_rounds(p: tuple[float, float, float], s: float, t: int, n: int) -> float:
    return p[0] if t - 1 < p[2] else p[1]


@pytest.mark.parametrize("policy", POLICIES, ids=lambda each: each.name)
def test_a_copy_of_a_table_plays_its_games(policy: Policy) -> None:
    tables = Problem([Rested(Abrupt(0.9, 0.2, at=20)), Restless(Abrupt(0.8, 0.1, at=30))], NOISE, HORIZON)
    copies = Problem(
        [
            Stateful(nothing, drop_with_pulls, stay, (0.9, 0.2, 20), rest=still),
            Stateful(nothing, drop_with_rounds, stay, (0.8, 0.1, 30), rest=still, clock="rounds"),
        ],
        NOISE,
        HORIZON,
    )
    table, copy = (rotting.simulate(policy, each, runs=4, record=("arms", "rewards")) for each in (tables, copies))
    assert table.arms is not None
    assert copy.arms is not None
    assert copy.rewards is not None
    assert table.rewards is not None
    assert copy.arms.tobytes() == table.arms.tobytes()
    assert copy.rewards.tobytes() == table.rewards.tobytes()


# Engines, kept games, families.


def test_a_gpu_plays_the_same() -> None:
    assert on_simulated_gpu("arms_with_a_memory") == {name: True for name in PROBLEMS if name not in {"visiting", "late"}}


def test_kept_games_are_found_again(tmp_path: Path) -> None:
    problem = PROBLEMS["mixed"]
    first = rotting.simulate(rotting.UCB1(), problem, runs=4, keep=tmp_path)
    store = ChunkStore(tmp_path)
    (again,) = simulate_all([Simulation(rotting.UCB1(), problem, runs=9)], keep=store)
    assert again.regret[:, :4].tobytes() == first.regret.tobytes()
    assert store.reused == 4
    other = Problem([*problem.arms[:-1], Stateful(fresh, satiated, satiate, Satiation(0.5, 0.5, 0.5))], NOISE, HORIZON)
    different = rotting.simulate(rotting.UCB1(), other, runs=4, keep=tmp_path)
    assert different == rotting.simulate(rotting.UCB1(), other, runs=4)
    assert different.problem != first.problem


def drawn(rng: np.random.Generator) -> Problem:
    arms = [Stateful(fresh, satiated, poisoned, Satiation(rng.random(), 0.5, rng.random()), rest=recover) for _ in range(2)]
    return Problem([*arms, Rested(rng.random()), WALKING[0]], NOISE, HORIZON)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda each: each.name)
def test_a_family_has_other_arms_in_every_run(policy: Policy) -> None:
    family = ProblemFamily(drawn)
    result = rotting.simulate(policy, family, runs=5, seed=6)
    assert result.reference == GREEDY_STATEFUL
    for run in range(5):
        game = rotting.play(policy, family, run=run, seed=6)
        arms, means = game_by_hand(policy, family.problem(run, seed=6), run, seed=6)
        assert game.arm.tolist() == arms
        assert game.mean.tolist() == means
        best = greedy_by_hand(family.problem(run, seed=6), run, seed=6)
        assert result.regret[0, run, -1] == game.regret[-1] == pytest.approx(sum(best) - sum(means), abs=1e-12)


def test_the_functions_of_a_family_are_those_of_run_0() -> None:
    def mixed(rng: np.random.Generator) -> Problem:
        return Problem([STEPPED[0] if rng.random() < 0.5 else WALKING[0]], NOISE, HORIZON)

    with pytest.raises(ValueError, match="a family must draw arms with the same functions, got "):
        rotting.simulate(rotting.UCB1(), ProblemFamily(mixed), runs=20)


class Drops(ProblemFamily):
    """A family of one's own: a class, whose objects say nothing about themselves."""

    size = 1.0

    def __init__(self) -> None:
        super().__init__(self.problem_of_run)
        self.calls: list[int] = []

    def problem_of_run(self, rng: np.random.Generator) -> Problem:
        self.calls.append(1)
        drop = self.size if rng.random() < 0.2 else 0.5
        return Problem([Rested(0.5), Rested(Abrupt(drop, 0.0, at=10))], NOISE, 50)


def test_a_family_of_ones_own_is_kept_and_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its problems are drawn again and compared: only the runs whose problems are still the same are not played again."""
    first = rotting.simulate(rotting.UCB1(), Drops(), runs=30, keep=tmp_path)
    store = ChunkStore(tmp_path)
    (more,) = simulate_all([Simulation(rotting.UCB1(), Drops(), runs=40)], keep=store)
    assert store.reused == 30
    assert more.regret[:, :30].tobytes() == first.regret.tobytes()
    assert more == rotting.simulate(rotting.UCB1(), Drops(), runs=40)
    monkeypatch.setattr(Drops, "size", 2.0)  # run 0 stays as it was
    changed = rotting.simulate(rotting.UCB1(), Drops(), runs=40, keep=tmp_path)
    assert changed == rotting.simulate(rotting.UCB1(), Drops(), runs=40)
    assert changed.regret.tobytes() != more.regret.tobytes()
    assert changed.regret[:, 0].tobytes() == more.regret[:, 0].tobytes()


def test_a_family_of_the_library_is_not_drawn_to_find_its_games(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    family = RandomBreakpoints(2, 50)
    first = rotting.simulate(rotting.UCB1(), family, runs=6, keep=tmp_path)
    calls: list[int] = []
    rows = RandomBreakpoints.rows

    def counted(self: RandomBreakpoints, rng: np.random.Generator) -> Any:
        calls.append(1)
        return rows(self, rng)

    monkeypatch.setattr(RandomBreakpoints, "rows", counted)
    assert rotting.simulate(rotting.UCB1(), family, runs=6, keep=tmp_path) == first
    assert len(calls) < 6


# What a problem says of itself.


def test_a_problem_with_a_memory_is_described(tmp_path: Path) -> None:
    problem = PROBLEMS["mixed"]
    assert problem.kind == "stateful"
    assert not problem.is_plain
    assert len(problem.kernels) == 3
    assert repr(STEPPED[0]) == "Stateful(fresh, satiated, satiate, params=Satiation(base=0.9, decay=0.8, weight=0.2))"
    assert "arm 5" in problem._repr_html_()
    game = rotting.play(rotting.UCB1(), Problem(WALKING[:1], NOISE), horizon=30)
    assert means_if_always_pulled(game.problem, 0, np.arange(1, 31)).tolist() == game.mean.tolist()
    assert problem == Problem(problem.arms, NOISE, HORIZON)
    assert hash(problem.arms) == hash(Problem(problem.arms, NOISE, HORIZON).arms)
    result = rotting.simulate(rotting.UCB1(), problem, runs=3)
    result.save(tmp_path / "result")
    assert rotting.Result.load(tmp_path / "result") == result
    assert "code" in result.problem


def whole(p: Any, s: Walk, t: int, n: int, rounds: int) -> Walk:
    return Walk(0, s.pulls)


def level(p: Any, s: Walk, t: int, n: int) -> float:
    return 0.1 * s.level


def climb(p: Any, s: Walk, t: int, n: int, pulled: int) -> Walk:
    return Walk(s.level + 1.0, 1)


def ground(p: Any) -> Walk:
    return Walk(0, 0)


@pytest.mark.slow
def test_whole_numbers_in_a_state_become_floats() -> None:
    problem = Problem([Stateful(ground, level, climb, rest=whole), Rested(0.15)], NOISE, HORIZON)
    compiled, interpreted = (rotting.simulate(rotting.UCB1(), problem, runs=2, compile=mode) for mode in ("now", "never"))
    assert compiled == interpreted


def bad_state(p: Any) -> str:
    return "tired"


def other_state(p: Any, s: float, t: int, n: int, pulled: int) -> tuple[float, float]:
    return (s, s)


def unknown(p: Any) -> float:
    return np.random.default_rng(0).random()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Stateful(bad_state, satiated, satiate), "init must return a number or a tuple of numbers, got 'tired'"),
        (lambda: Stateful(nothing, drop_with_pulls, other_state, (1, 0, 3)), "step must return a state like that of init"),
        (lambda: Stateful(nothing, satiated, satiate, ("a",)), "params must be numbers, got ('a',)"),
        (lambda: Stateful(nothing, satiated, satiate, (math.inf,)), "params[0] must be a finite number, got inf"),
        (
            lambda: Stateful(nothing, satiated, stay, Satiation(1, 1, 1), clock="hours"),
            "clock must be one of 'pulls', 'rounds'",
        ),
        (lambda: Stateful(nothing, fresh, satiate), "fresh ("),
        (lambda: Stateful(3, satiated, satiate), "init must be a plain Python function, got 3"),  # type: ignore[arg-type]
        (lambda: Stateful(unknown, satiated, satiate), "unknown ("),
        (
            lambda: Problem([Stateful(fresh, satiated, satiate, Satiation(2, 1, 1))], Bernoulli(), 9),
            "arm 0: means must be a pro",
        ),
        (
            lambda: PROBLEMS["steps"].mean(0, 1, 0),
            "i must be an arm whose mean follows rounds and pulls, got 0, which has a mem",
        ),
        (
            PROBLEMS["steps"].means,
            "means must be a table over rounds and pulls, got a problem with arms with a memory",
        ),
        (
            lambda: rotting.simulate(rotting.KLUCB(), Problem(STEPPED, Noiseless(), 9), runs=1),
            "rewards must be in",
        ),
    ],
)
def test_what_is_wrong_is_told_in_one_sentence(make: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError, KernelError)) as caught:
        make()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
