"""A policy as an agent: in our environments and in those of others."""

from typing import Any

import pytest

import rotting
from rotting import errors
from rotting.adapters import Agent, Environment
from rotting.policy import Policy
from rotting.problems import Abrupt, Problem
from tests.conftest import INTERPRETED
from tests.helpers.games import examples

gymnasium = pytest.importorskip("gymnasium")

HORIZON = 40
PROBLEM = Problem.rested([Abrupt(0.8, 0.1, at=10), 0.5], rotting.Bernoulli(), HORIZON)
COMPILED = {"exp3", "ucb1"}  # one that draws and one that does not: no kernel is of the adapters'
LEARNERS = [each for each in examples() if not each.sees_means and (INTERPRETED or each.name in COMPILED)]


@pytest.mark.parametrize("policy", LEARNERS, ids=lambda policy: policy.name)
def test_every_policy_plays(policy: Policy) -> None:
    """One that draws nothing plays the runs of `simulate`; one that draws can be repeated."""
    agent = Agent(policy, Environment(PROBLEM), seed=3)
    regrets = [agent.play(seed=6 if run == 0 else None)["regret"] for run in range(2)]
    if policy.randomised:
        assert Agent(policy, Environment(PROBLEM), seed=3).play(seed=6)["regret"] == regrets[0]
    else:
        assert regrets == rotting.simulate(policy, PROBLEM, runs=2, seed=6).regret[0, :, -1].tolist()


def test_every_episode_has_its_own_random_numbers() -> None:
    """Whatever the environment draws: here it draws nothing."""
    problem = Problem.rested([0.0, 1.0], rotting.Noiseless(), 30)
    agents = [Agent(rotting.Uniform(), Environment(problem), seed=3) for _ in range(2)]
    regrets, again = ([agent.play()["regret"] for _ in range(50)] for agent in agents)
    assert regrets == again
    assert len({*regrets}) > 8  # a binomial of 30 draws


def test_an_agent_plays_environments_of_others() -> None:
    class Coins(gymnasium.Env):  # type: ignore[name-defined,misc]
        action_space = gymnasium.spaces.Discrete(2, start=5)
        observation_space = gymnasium.spaces.Discrete(1)
        taken: list[int] = []  # noqa: RUF012

        def reset(self, **_: Any) -> tuple[int, dict[str, Any]]:
            self.taken.clear()
            return 0, {}

        def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
            self.taken.append(action)
            return 0, float(action == 6), len(self.taken) == 50, False, {"last": action}

    env = Coins()
    agent = Agent(rotting.UCB1(sigma=0.5), env)
    assert agent.play() == {"last": 6}
    assert {*env.taken} == {5, 6}
    assert env.taken.count(6) > 35
    first = list(env.taken)
    agent.play()
    assert env.taken == first  # it forgot


@pytest.mark.parametrize(
    ("policy", "message"),
    [(rotting.GreedyOracle(), "policy must be a learner, got GreedyOracle"), ("ucb1", "policy must be a policy such as")],
)
def test_what_cannot_learn_is_refused(policy: Any, message: str) -> None:
    with pytest.raises(errors.InvalidTypeError, match=f"^{message}"):
        Agent(policy, Environment(PROBLEM))


def test_actions_without_number_are_refused() -> None:
    class Throttle:
        action_space = gymnasium.spaces.Box(0.0, 1.0)

    env: Any = Throttle()
    with pytest.raises(errors.InvalidTypeError, match=r"^env must have a finite number of actions \(Discrete\), got Box"):
        Agent(rotting.UCB1(), env)
