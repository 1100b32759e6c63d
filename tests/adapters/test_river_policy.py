"""A policy in River: its contract, its loop, and the choices of `simulate`."""

from typing import Any

import pytest

import rotting
from rotting import errors
from rotting.adapters import Environment, RiverPolicy
from rotting.policy import Policy
from rotting.problems import Abrupt, Problem
from tests.conftest import INTERPRETED
from tests.helpers.games import examples

river = pytest.importorskip("river")
bandit = pytest.importorskip("river.bandit")

HORIZON = 40
PROBLEM = Problem.rested([Abrupt(0.8, 0.1, at=10), 0.5, 0.3], rotting.Bernoulli(), HORIZON)
COMPILED = {"eff-raw-ucb", "ucb1"}  # no kernel is of the adapters'
SETTLED = [
    each for each in examples() if not each.sees_means and not each.randomised and (INTERPRETED or each.name in COMPILED)
]


def seeds(n: int, seed: int) -> list[int]:
    """What `river.bandit.evaluate` resets the environment with, episode after episode."""
    import random

    rng = random.Random(seed)
    drawn = [(rng.randint(0, 2**32), rng.randint(0, 2**32 - 1)) for _ in range(n)]
    return [first for first, _ in drawn]


def test_evaluate_plays_the_games_of_simulate() -> None:
    """Every policy that draws nothing, beside one of River's own, on the same rewards."""
    policies: list[Any] = [*(RiverPolicy(each) for each in SETTLED), bandit.UCB(delta=1, seed=1)]
    trace = list(bandit.evaluate(policies, Environment(PROBLEM), n_episodes=2, seed=9))
    assert len(trace) == 2 * HORIZON * len(policies)
    for episode, seed in enumerate(seeds(2, seed=9)):
        result = rotting.simulate(SETTLED, PROBLEM, runs=1, seed=seed, record=("arms", "rewards"))
        assert result.arms is not None
        assert result.rewards is not None
        for k in range(len(SETTLED)):
            steps = [each for each in trace if each["episode"] == episode and each["policy_idx"] == k]
            assert [each["arm"] for each in steps] == result.arms[k, 0].tolist(), SETTLED[k]
            assert [each["reward"] for each in steps] == result.rewards[k, 0].tolist()


@pytest.mark.parametrize("policy", [rotting.RAWUCB(sigma=0.5), rotting.Uniform(), rotting.Exp3()], ids=repr)
def test_clones_begin_anew(policy: Policy) -> None:
    def choices(playing: Any) -> list[int]:
        taken = []
        for t in range(30):
            taken.append(playing.pull(range(3)))
            playing.update(taken[-1], float(t % (2 + taken[-1]) == 0))
        return taken

    first = RiverPolicy(policy, seed=5)
    chosen = choices(first)
    assert choices(first.clone()) == chosen
    assert first.clone().policy == policy
    assert {*chosen} == {0, 1, 2}


def test_arms_come_and_go() -> None:
    playing = RiverPolicy(rotting.UCB1())
    for _ in range(4):
        arm = playing.pull(["a", "b"])
        playing.update(arm, 1.0)
    assert playing.pull(["a", "b", "c"]) == "c"
    playing.update("c", 0.0)
    assert playing.pull(["b"]) == "b"


def test_burn_in_and_ranking_are_rivers() -> None:
    playing = RiverPolicy(rotting.UCB1(), burn_in=3)
    for _ in range(6):
        arm = playing.pull([0, 1])
        playing.update(arm, float(arm))
    assert playing.ranking == [1, 0]
    assert [playing._counts[arm] for arm in (0, 1)] == [3, 3]
    assert "Pulls" in repr(playing)


def test_a_reward_that_is_refused_changes_nothing() -> None:
    playing = RiverPolicy(rotting.UCB1())
    playing.update(playing.pull([0, 1]), 0.5)
    with pytest.raises(errors.InvalidValueError, match="reward must be a finite number"):
        playing.update(0, float("nan"))
    assert playing._n == 1
    assert playing.pull([0, 1]) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"policy": rotting.GreedyOracle()}, "policy must be a learner, got GreedyOracle"),
        ({"policy": "ucb1"}, "policy must be a policy such as"),
        ({"policy": rotting.UCB1(), "seed": -1}, "seed must be a whole number, 0 or more, got -1"),
        ({"policy": rotting.UCB1(), "burn_in": 0.5}, "burn_in must be a whole number, 0 or more, got 0.5"),
    ],
)
def test_bad_input_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.RottingError, match=f"^{message}"):
        RiverPolicy(**arguments)
