"""MASTER: blocks, instances, and the two tests."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from rotting.kit import bind, log, uniform
from rotting.live import policy_state as states
from rotting.policies.master import MASTER, slack
from rotting.policies.sw_ucb import SWUCB
from rotting.policies.ucb1 import UCB1
from rotting.problems import Problem
from rotting.problems.noise import Bernoulli
from rotting.simulation.simulate import simulate
from tests.helpers.games import (
    KEY,
    assert_equals_reference,
    assert_equals_reference_on_ties,
    assert_equals_reference_while_arms_change,
)
from tests.helpers.variants import HORIZON
from tests.reference.policy import Bounded, Draws, argmax, mean


class Naive(Bounded):
    """Wei, Luo 2021 over UCB1. Draws 0, 1, ... of a round are for the instances that may begin, the longest first."""

    def __init__(
        self, n_arms: int, *, horizon: int, delta: float, C: float, uniform: Draws, low: float = 0.0, high: float = 1.0
    ) -> None:
        super().__init__(n_arms, low=low, high=high)
        self.T, self.delta, self.C, self.uniform = horizon, delta, C, uniform
        self.n, self.first = 0, 0
        self.running: list[tuple[int, int]] = []  # (first round, order)
        self.f: list[float] = []  # of the rounds of the block
        self.seen: list[tuple[int, float]] = []  # of the block: the round, the reward
        self.learned: dict[tuple[int, int], list[tuple[int, float]]] = {}  # by instance: the arm, the reward
        self.alarms: list[str] = []

    def rho(self, t: int) -> float:
        return math.sqrt(self.n_arms / t) + self.n_arms / t

    def slack(self, t: int) -> float:
        return self.C * (log(float(self.T)) / log(2.0) + 1) * log(self.T / self.delta) * self.rho(t)

    def alarm(self, t: int) -> str:
        """What has fired after round t: the test of the block, or that of an instance."""
        seen = [x for _, x in self.seen]
        if seen and self.f and mean(self.f) - mean(seen) >= 3 * self.slack(t - self.first + 1):
            return "block"
        for start, m in self.running:
            inside = [x for r, x in self.seen if start <= r]
            if t + 1 == start + 2**m and inside and self.f and mean(inside) >= min(self.f) + 9 * self.slack(2**m):
                return "instance"
        return ""

    def begin_block(self, t: int, n: int) -> None:
        self.n, self.first = n, t
        self.running, self.f, self.seen, self.learned = [], [], [], {}

    def choose(self, t: int, arms: Sequence[int] | None = None) -> int:
        alarm = self.alarm(t - 1) if self.first > 0 else ""
        self.alarms += [alarm] if alarm else []
        if self.first == 0 or alarm:
            self.begin_block(t, 0)
        elif t == self.first + 2**self.n:
            self.begin_block(t, self.n + 1)
        self.running = [(start, m) for start, m in self.running if t < start + 2**m]
        draw = 0
        for m in range(self.n, -1, -1):
            if (t - self.first) % 2**m == 0 and all(order != m for _, order in self.running):
                if self.uniform(t, draw) < self.rho(2**self.n) / self.rho(2**m):
                    self.running.append((t, m))
                draw += 1
        arm = argmax(self.index, self.available(arms))
        self.f.append(min(1.0, self.index(arm)))
        return arm

    def played(self) -> tuple[int, int]:
        return min(self.running, key=lambda each: each[1])

    def index(self, i: int) -> float:
        own = [x for arm, x in self.learned.get(self.played(), []) if arm == i]
        return mean(own) + math.sqrt(2 * log(self.T / self.delta) / len(own)) if own else math.inf

    def update(self, t: int, arm: int, reward: float) -> None:
        super().update(t, arm, reward)
        if self.first == 0:
            self.begin_block(t, 0)
            self.running = [(t, 0)]
        self.seen.append((t, self.mapped(reward)))
        self.learned.setdefault(self.played(), []).append((arm, self.mapped(reward)))


VARIANTS = [
    MASTER(horizon=HORIZON, C=0.02, low=-3.0, high=3.0, outside="clip"),
    MASTER(horizon=40, C=0.005, delta=1.0, low=-3.0, high=3.0, outside="clip"),
    MASTER(horizon=10_000, C=0.001, delta=0.5),
    MASTER(horizon=2),
]


@pytest.mark.parametrize("policy", VARIANTS, ids=repr)
def test_choices_with_other_parameters_equal_the_reference(policy: MASTER) -> None:
    assert_equals_reference(policy, HORIZON, odd="coins")
    assert_equals_reference_while_arms_change(policy, HORIZON, "falling", "coins")
    assert_equals_reference_on_ties(policy, 40)


def never(key: int, t: int, draw: int) -> float:
    """A draw with which no instance begins but that of the block."""
    return 0.999


@pytest.mark.parametrize(("rewards", "alarm"), [([0.0, 1.0], "instance"), ([1.0, 0.0], "block")])
def test_rewards_that_rise_alarm_an_instance_and_those_that_fall_the_block(rewards: list[float], alarm: str) -> None:
    """They change in the middle of the block of the rounds 512 to 1,023."""
    policy = MASTER(horizon=2, delta=1.0, C=0.7)
    state, choose = states.new_state(policy, 1, 1_100), bind(policy.kernel.choose, {uniform: never})
    slow = Naive(1, horizon=2, delta=1.0, C=0.7, uniform=lambda t, draw: never(KEY, t, draw))
    for t in range(1, 1_101):
        slow.choose(t)
        choose(policy.params, state, t, KEY, np.arange(1))
        assert (state.block[0], state.block[1]) == (slow.n, slow.first), t
        if t == 1_023:
            assert bool(slow.alarms) == (alarm == "block")
        slow.update(t, 0, rewards[t >= 768])
        policy.kernel.update(policy.params, state, t, 0, rewards[t >= 768])
    assert slow.alarms == [alarm]


def test_blocks_double_until_an_alarm() -> None:
    policy, arms = MASTER(horizon=1_000), np.arange(2)
    state = states.new_state(policy, 2, 100)
    starts = {}
    for t in range(1, 101):
        arm = policy.kernel.choose(policy.params, state, t, KEY, arms)
        starts[int(state.block[1])] = int(state.block[0])
        policy.kernel.update(policy.params, state, t, arm, float(t > 50))
    assert starts == {1: 0, 2: 1, 4: 2, 8: 3, 16: 4, 32: 5, 64: 6}


def test_the_theoretical_tests_cannot_fire() -> None:
    """No difference of means in [0, 1] exceeds the slack before 19 million rounds, as the docstring says."""
    policy = MASTER(horizon=10_000)
    state = states.new_state(policy, 2, 1)
    assert 3 * slack(policy.params, state, 19_000_000) > 1 > 3 * slack(policy.params, state, 20_000_000)


def swaps(T: int) -> Problem:
    """Two arms with means 0.8 and 0.2, which change places four times."""
    first = np.arange(T) * 5 // T % 2 == 0
    return Problem.restless([np.where(first, 0.8, 0.2).tolist(), np.where(first, 0.2, 0.8).tolist()], Bernoulli(), T)


@pytest.mark.slow
def test_the_game_it_is_made_for_is_as_documented() -> None:
    T = 10_000
    policies = [MASTER(horizon=T), MASTER(horizon=T, C=0.02), SWUCB(tau=1_000), UCB1(sigma=0.5)]
    found = simulate(policies, swaps(T), runs=100, seed=1).regret[:, :, -1].mean(axis=1)
    text = "was {:,.0f}, with C = 0.02 {:,.0f}, for SW-UCB with a window of 1,000 rounds {:,.0f}, and for UCB1 {:,.0f}"
    assert text.format(*found.tolist()) in " ".join(str(MASTER.__doc__).split())
