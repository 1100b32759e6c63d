"""Exponential weights: tuned as published, finite, and fair to rewards that come late."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rotting.common.arrays import Ints
from rotting.live import policy_state as states
from rotting.live.bandit import Bandit
from rotting.policies.exp3 import Exp3
from rotting.policies.exp3_s import Exp3S
from rotting.policies.kernels.binding import bind
from rotting.policies.rexp3 import Rexp3
from rotting.policy import Policy
from rotting.problems import Problem
from rotting.problems.noise import Gaussian
from rotting.simulation.engines.compile import compiled
from rotting.simulation.simulate import simulate
from tests.conftest import INTERPRETED
from tests.helpers.games import KEY


def test_exp3_and_exp3_s_tunings_are_the_published_numbers() -> None:
    def rates(policy: Policy, n_arms: int) -> list[float]:
        return list(states.new_state(policy, n_arms, 1).rates)

    assert rates(Exp3(horizon=10_000), 10) == pytest.approx([math.sqrt(10 * math.log(10) / ((math.e - 1) * 10_000)), 0])
    assert rates(Exp3(horizon=2), 10) == [1.0, 0.0]
    assert rates(Exp3S(horizon=10_000), 10) == pytest.approx([math.sqrt(10 * math.log(1e5) / 1e4), 1e-4])
    assert rates(Exp3S(horizon=10_000, segments=5), 10) == pytest.approx(
        [math.sqrt(10 * (5 * math.log(1e5) + math.e) / ((math.e - 1) * 1e4)), 1e-4]
    )
    assert rates(Exp3S(horizon=10_000, budget=0.04), 10) == pytest.approx(
        [(4 * 0.04 * 10 * math.log(1e5) / ((math.e - 1) ** 2 * 1e4)) ** (1 / 3), 1e-4]
    )
    batch = math.ceil((10 * math.log(10)) ** (1 / 3) * (10_000 / 2) ** (2 / 3))
    state = states.new_state(Rexp3(horizon=10_000, budget=2), 10, 1)
    assert state.batch[0] == batch
    assert state.rates[0] == pytest.approx(math.sqrt(10 * math.log(10) / ((math.e - 1) * batch)))


def choose(p: Any, s: Any, t: int, key: int, arms: Ints) -> int:
    raise NotImplementedError


def update(p: Any, s: Any, t: int, arm: int, reward: float) -> None:
    raise NotImplementedError


def many_rounds(p: Any, s: Any, rounds: int, change: int, top: float, key: int, arms: Ints) -> None:
    """Let arm 0 pay `top` up to round `change` and arm 1 after it, and the others nothing."""
    for t in range(1, rounds + 1):
        i = choose(p, s, t, key, arms)
        update(p, s, t, i, top if i == (0 if t <= change else 1) else 0.0)


LONG: list[tuple[Any, int]] = [
    (Exp3(gamma=0.01, high=1000.0), 10_000_000),
    (Exp3S(gamma=0.01, alpha=1e-7, high=1000.0), 10_000_000),
    (Exp3(gamma=0.001, outside="clip"), 1_000_000),
    (Rexp3(gamma=0.01, batch=500_000, high=1000.0), 1_000_000),
]


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "rounds"), LONG, ids=repr)
def test_weights_stay_finite_for_ten_million_rounds_of_large_rewards(policy: Policy, rounds: int) -> None:
    """And arm 1, the best at the end, is played all the time but for exploration, also where it was not the best before.

    Since the others pay nothing, its weight grows by exp(gamma / 3) or more at each of its pulls, of which there are at least
    gamma / 3 a round: by Hoeffding's bound the false-alarm rate is far below 1e-6.
    """
    arms, state = np.arange(3), states.new_state(policy, 3, 1)
    change = 0 if policy.name == "exp3" else rounds // 2  # Exp3 is not made to follow one
    loop = compiled(bind(many_rounds, {choose: policy.kernel.choose, update: policy.kernel.update}))
    loop(policy.params, state, rounds, change, 1000.0, KEY, arms)
    assert np.isfinite(state.log_weights).all()
    assert state.log_weights.max() == 0.0
    out = np.zeros(3)
    assert policy.kernel.propensities is not None
    policy.kernel.propensities(policy.params, state, rounds, arms, out)
    gamma = policy.params.gamma
    # Exp3.S leaves the others e alpha / gamma = 3e-5 of the best weight.
    assert out == pytest.approx([gamma / 3, 1 - 2 * gamma / 3, gamma / 3], rel=0.01)


@pytest.mark.parametrize("policy", [Exp3(gamma=0.2), Exp3S(gamma=0.2, alpha=0.01), Rexp3(gamma=0.2, batch=64)], ids=repr)
def test_propensities_sum_to_one_and_match_the_frequencies(policy: Policy) -> None:
    """By Hoeffding, one frequency is off by e in n draws with chance below 2 exp(-2 n e^2): below 1e-7 here, for 3 arms."""
    bandit = Bandit(policy, arms=["a", "b", "c"], seed=3)
    for t in range(40):
        arm = bandit.pull()
        bandit.update(arm, 1.0 if arm == "b" and t % 3 else 0.2)
    for arms in (None, ["a", "c"]):
        propensities = bandit.propensities(arms)
        assert math.fsum(propensities.values()) == pytest.approx(1.0, abs=1e-15)
        assert min(propensities.values()) >= 0.2 / len(propensities) * (1 - 1e-12)
    n = 500 if INTERPRETED else 20_000
    available = np.arange(3)
    draw, state = compiled(policy.kernel.choose), bandit._state.learner.state  # a pull that is not rewarded changes no weight
    drawn = [int(draw(policy.params, state, 41, key, available)) for key in range(n)]
    margin = math.sqrt(math.log(2 / 1e-8) / (2 * n))
    for slot, chance in enumerate(bandit.propensities().values()):
        assert abs(drawn.count(slot) / n - chance) < margin


@pytest.mark.parametrize(
    "policy", [Exp3(gamma=0.2), Exp3S(gamma=0.2, alpha=0.0), Rexp3(gamma=0.2, batch=1_000)], ids=lambda each: each.name
)
@pytest.mark.parametrize("saved", [False, True])
def test_late_rewards_of_an_arm_are_those_of_its_draws_in_order(policy: Policy, saved: bool) -> None:
    """Drawn alone, arm 0 has probability 1; drawn from three and from two, 1/3 and 1/2: each reward is divided by its own."""
    for rewards in ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.3, 0.1, 0.7]):
        bandit = Bandit(policy, arms=[0, 1, 2], seed=1)
        for some in ([0], [0, 1, 2], [0, 1]):
            while bandit.pull(arms=some) != 0:
                pass
        if saved:
            bandit = Bandit.from_state(bandit.get_state())
        rounds = bandit.rounds
        for reward in rewards:
            bandit.update(0, reward)
        assert bandit.rounds == rounds
        weight = math.exp(0.2 / 3 * (rewards[0] + 3 * rewards[1] + 2 * rewards[2]))
        assert bandit.propensities()[0] == pytest.approx(0.8 * weight / (weight + 2) + 0.2 / 3, rel=1e-14)


@pytest.mark.parametrize("make", [Exp3, Exp3S, Rexp3])
def test_rewards_outside_the_range_are_refused_with_the_range(make: Callable[..., Policy]) -> None:
    bandit = Bandit(make(low=-1.0, high=2.0), arms=["a", "b"])
    before = bandit.get_state()
    for bad in (-1.001, 2.5):
        with pytest.raises(ValueError, match=rf"^reward must be in \[-1\.0, 2\.0\].*got {bad}; give low and high that hold"):
            bandit.update("a", bad)
    assert bandit.get_state() == before
    bandit.update("a", 2.0)
    clipping = Bandit(make(low=-1.0, high=2.0, outside="clip"), arms=["a", "b"])
    clipping.update("a", 1e9)
    assert clipping.propensities() == bandit.propensities()
    problem = Problem.restless(np.zeros((2, 10)), noise=Gaussian(1.0))
    with pytest.raises(ValueError, match=r"^rewards must be in \[-1\.0, 2\.0\]"):
        simulate(make(low=-1.0, high=2.0), problem, runs=1)
    if make is Exp3:
        assert simulate(make(low=-1.0, high=2.0, outside="clip"), problem, runs=1).pulls.sum() == 10
