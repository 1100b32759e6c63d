"""A problem in Gymnasium: its contract, and the games of `simulate`."""

import copy
import sys
from typing import Any

import numpy as np
import pytest

import rotting
from rotting import errors
from rotting.adapters import Environment
from rotting.problems import Abrupt, Exponential, Linear, Problem, Product, Recovering, Rested, Restless, Visiting
from rotting.problems.noise import Bernoulli, Beta, ByArm, Gaussian, Noise, Poisson
from tests.helpers.missing_tools import hide_package

gymnasium = pytest.importorskip("gymnasium")

HORIZON = 60
ARMS = [
    Rested(Abrupt(0.8, 0.1, at=10)),
    Restless(Linear(0.9, slope=-0.8 / HORIZON)),
    Product(Exponential(0.9, rate=2 / HORIZON), Exponential(0.9, rate=1 / HORIZON)),
]


def problem(noise: Noise | None = None) -> Problem:
    return Problem(ARMS, noise or Gaussian(0.5), HORIZON)


@pytest.mark.parametrize(
    "each", [problem(), rotting.problems.two_arms(horizon=30), Problem.restless([0.5], Bernoulli(), horizon=10)], ids=repr
)
def test_it_keeps_the_contract(each: Problem) -> None:
    from gymnasium.utils.env_checker import check_env

    check_env(Environment(each), skip_render_check=True, skip_close_check=True)


@pytest.mark.parametrize("noise", [Gaussian(0.5), Bernoulli(), Beta(5.0), Poisson()], ids=repr)
def test_an_episode_is_a_run_of_simulate(noise: Noise) -> None:
    """The same arms get the same rewards and the same regret, bit for bit, in every run."""
    env = Environment(problem(noise))
    for run in range(3):
        game = rotting.play(rotting.UCB1(), problem(noise), run=run, seed=4)
        _, info = env.reset(seed=4 if run == 0 else None)
        assert info == {"round": 0, "run": run, "regret": 0.0}
        for t in range(HORIZON):
            observation, reward, terminated, truncated, info = env.step(int(game.arm[t]))
            assert (observation, terminated, truncated) == (0, False, t == HORIZON - 1)
            assert (reward, info["mean"], info["regret"]) == (game.reward[t], game.mean[t], game.regret[t])
        assert info["round"] == HORIZON


def mu(i: int, t: int, n: int) -> float:
    return 1 / (1 + i + 0.1 * n) - 0.01 * t


@pytest.mark.parametrize(
    "each",
    [
        Problem.by_function(mu, 3, horizon=HORIZON),
        Problem([Recovering(Exponential(0.0, rate=0.2, limit=1.0)), Rested(0.4)], Gaussian(0.1), HORIZON),
        Problem.rested([0.5, 0.4], ByArm([Gaussian(0.1), Gaussian(1.0)]), HORIZON),
    ],
    ids=("function", "recovering", "by-arm"),
)
def test_an_episode_is_a_run_of_any_problem(each: Problem) -> None:
    env, game = Environment(each, seed=4), rotting.play(rotting.UCB1(), each, run=1, seed=4)
    env.reset(options={"run": 1})
    for t, arm in enumerate(game.arm.tolist()):
        _, reward, _, _, info = env.step(arm)
        assert (reward, info["mean"], info["regret"]) == (game.reward[t], game.mean[t], game.regret[t])
    assert env.reference == game.reference


def test_arms_that_come_and_leave_are_refused() -> None:
    visited = Problem([Rested(0.5), Visiting(Rested(0.8), first=3)], horizon=9)
    with pytest.raises(errors.InvalidValueError, match="problem must have arms that are always present, as actions are, got"):
        Environment(visited)


def test_runs_follow_each_other_and_can_be_chosen() -> None:
    env = Environment(problem(), seed=4)

    def first_reward(**how: Any) -> tuple[int, float]:
        _, info = env.reset(**how)
        return info["run"], env.step(0)[1]

    rewards = [rotting.play(rotting.UCB1(), problem(), run=run, seed=4).reward[0] for run in range(3)]
    assert [first_reward() for _ in range(3)] == list(enumerate(rewards))
    assert first_reward(options={"run": 1}) == (1, rewards[1])
    assert first_reward() == (2, rewards[2])
    assert first_reward(seed=4) == (0, rewards[0])
    assert first_reward(seed=5)[1] != rewards[0]


def test_a_copy_goes_on_by_itself() -> None:
    env = Environment(problem())
    env.reset(seed=1)
    env.step(0)
    twin = copy.deepcopy(env)
    ahead = [env.step(0) for _ in range(5)]
    assert [twin.step(0) for _ in range(5)] == ahead


def test_arms_of_any_whole_type_are_taken() -> None:
    for arm in (1, np.int64(1), np.array(1)):
        env = Environment(problem())
        env.reset(seed=0)
        assert env.step(arm)[4]["mean"] == 0.9 - 0.8 / HORIZON * 0


def test_regret_says_what_it_is_measured_against() -> None:
    assert Environment(rotting.problems.two_arms(horizon=20)).reference == "optimal"


@pytest.mark.parametrize("action", [3, -1, 0.5, "0", True, np.array([0])])
def test_what_is_no_arm_is_refused(action: Any) -> None:
    env = Environment(problem())
    env.reset()
    with pytest.raises(errors.InvalidValueError, match=r"^action must be an arm, a whole number from 0 to 2, got "):
        env.step(action)


def test_a_step_out_of_place_is_refused() -> None:
    env = Environment(problem(), horizon=2)
    with pytest.raises(errors.InvalidValueError, match="^step must come after a reset and before the end, got round 3$"):
        env.step(0)
    env.reset()
    env.step(0)
    env.step(0)
    with pytest.raises(errors.InvalidValueError, match="^step must come after a reset"):
        env.step(0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("two-arms",), "problem must be a Problem such as Problem.rested(means), got str"),
        ((Problem.rested([0.5]),), "horizon must be given, as the problem has no horizon, got None"),
        ((problem(), 10, -1), "seed must be a whole number, 0 or more, got -1"),
    ],
)
def test_bad_input_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises(errors.RottingError) as caught:
        Environment(*arguments)
    assert str(caught.value) == message
    for run in (-2, 2**32):
        with pytest.raises(errors.InvalidValueError, match=rf"run must be the number of a run, from 0 to 2\^32 - 1, got {run}"):
            Environment(problem()).reset(options={"run": run})


@pytest.mark.parametrize(("name", "package"), [("Environment", "gymnasium"), ("RiverPolicy", "river")])
def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, name: str, package: str) -> None:
    home = {"Environment": "environment", "RiverPolicy": "river_policy"}[name]
    monkeypatch.delitem(sys.modules, f"rotting.adapters.{home}", raising=False)
    hide_package(monkeypatch, package)
    with pytest.raises(
        errors.MissingExtraError, match=rf"{name} needs {package.capitalize()}: pip install 'rotting\[{package}\]'"
    ):
        getattr(rotting.adapters, name)


def test_a_misspelt_name_gets_a_suggestion() -> None:
    with pytest.raises(AttributeError, match="did you mean 'Environment'"):
        _ = rotting.adapters.Enviroment  # type: ignore[attr-defined]
