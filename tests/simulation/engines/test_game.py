"""The one loop: interpreted and compiled, it plays the same game."""

from dataclasses import replace

import numpy as np
import pytest

from rotting import problems
from rotting.policies.glr_ucb import GLRUCB
from rotting.policies.parts.doubling import doubling
from rotting.policies.raw_ucb import RAWUCB
from rotting.policy import Policy, small_capacity
from rotting.problems import Constant, Exponential, Linear, Problem, two_arms
from rotting.problems.noise import Noiseless
from rotting.registry import make
from rotting.simulation.engines import game
from rotting.simulation.engines.compile import compiled
from rotting.simulation.engines.game import bind_game, play_runs
from rotting.simulation.simulate import simulate
from tests.conftest import INTERPRETED
from tests.helpers.games import examples
from tests.reference.full_scan import RAWUCBByBlocks

ENLARGED = [
    make("raw-ucb", sigma=0.1),
    make("raw-kl-ucb", kind="gaussian", sigma=0.1),
    make("raw-kl-ucb", outside="clip"),
    make("glr-ucb", sigma=0.1),
    make("glr-kl-ucb", outside="clip"),
    doubling(GLRUCB(horizon=15)),
]
FALLING = Problem.rested([Linear(1.0, slope=-0.003), Exponential(0.9, rate=0.01), Constant(0.5)], Noiseless())


def no_room(n_arms: int, rounds: int) -> int:
    return 1


def plenty(n_arms: int, rounds: int) -> int:
    return 64 * n_arms * rounds


def played(policy: Policy, problem: Problem, horizon: int, fast: bool) -> tuple[list[list[float]], list[list[int]]]:
    """Regret in every round and pulls of three runs."""
    loop = bind_game(policy, problem.noise)
    if fast:
        loop = compiled(loop, policy, allocates=True)
    marks = np.arange(1, horizon + 1)
    regret, pulls = np.zeros((3, horizon)), np.zeros((3, problem.n_arms), np.int64)
    means, optimal = problem.means(horizon), np.zeros(horizon)
    loop(policy.params, means, problem.noise.scale, 11, 12, 0, marks, optimal, regret, pulls, (), np.zeros(2, np.int64))
    return regret.tolist(), pulls.tolist()


def test_every_policy_whose_state_is_enlarged_is_played_without_room() -> None:
    names = {each.name for each in examples() if each.kernel.enlarge is not None}
    assert names == {each.name for each in ENLARGED if not each.name.startswith("doubling")}


@pytest.mark.parametrize("policy", ENLARGED, ids=repr)
@pytest.mark.parametrize("problem", [FALLING, two_arms(L=1.0, horizon=400, sigma=0.1)], ids=["falling", "noise"])
def test_a_game_that_begins_without_room_is_the_game_with_plenty(
    policy: Policy, problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every round's regret and all pulls, bit for bit: the game goes on where its state was full."""
    horizon = 60 if INTERPRETED else 150
    rooms, enlargements = [], []
    original = policy.kernel.enlarge

    def counted(p: object, s: object, capacity: int) -> object:
        assert original is not None
        enlargements.append(capacity)
        return original(p, s, capacity)

    for room in (no_room, plenty):
        monkeypatch.setattr(game, "small_capacity", room)
        with monkeypatch.context() as patch:
            patch.setattr(type(policy), "kernel", replace(policy.kernel, enlarge=counted))
            rooms.append(played(policy, problem, horizon, fast=False))
        assert enlargements[:5] == [2, 4, 8, 16, 32] if room is no_room else enlargements == []
        enlargements.clear()
    assert rooms[0] == rooms[1]


@pytest.mark.slow
@pytest.mark.parametrize("policy", [ENLARGED[0], ENLARGED[3]], ids=repr)
def test_a_compiled_game_that_begins_without_room_is_the_interpreted_one_with_plenty(
    policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = []
    for room, fast in [(no_room, True), (plenty, False)]:
        monkeypatch.setattr(game, "small_capacity", room)
        results.append(played(policy, FALLING, 300, fast))
    assert results[0] == results[1]


@pytest.mark.parametrize("workers", [1, 2])
def test_hulls_of_every_pull_outgrow_their_room_in_a_simulation(workers: int) -> None:
    """Noiseless rewards that fall strictly: RAW-UCB's choices are those of a policy that keeps all rewards."""
    horizon = 400 if INTERPRETED else 3_000
    problem = Problem.rested([Linear(1.0, slope=-1 / horizon), Linear(0.9, slope=-2 / horizon)], Noiseless())
    policies = [RAWUCB(sigma=1e-3), RAWUCBByBlocks(sigma=1e-3)]
    result = simulate(policies, problem, horizon, runs=3, workers=workers, progress=False)
    assert result.regret[0].tolist() == result.regret[1].tolist()
    assert result.pulls[0].tolist() == result.pulls[1].tolist()
    assert result.pulls.min() > small_capacity(2, horizon) / 2


def test_play_runs_is_plain() -> None:
    with pytest.raises(NotImplementedError):
        play_runs(RAWUCB().params, problems.two_arms(horizon=120).means(10), 0.0, 0, 0, 0, np.array([5]), np.zeros(1), np.zeros((1, 1)), np.zeros((1, 2), np.int64), (), np.zeros(2, np.int64))  # fmt: skip  # noqa: E501
