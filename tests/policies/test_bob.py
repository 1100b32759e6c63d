"""BOB: blocks, windows, their weights, and arms that change places."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from rotting.kit import exp, log
from rotting.live import policy_state as states
from rotting.policies.bob import BOB, set_up
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
    play,
    tables,
)
from tests.helpers.variants import HORIZON
from tests.reference.exponential_weights import log_sum_exp, pick
from tests.reference.policy import Bounded, Draws, argmax, mean


class Naive(Bounded):
    """Cheung, Simchi-Levi, Zhu 2019, with rewards in [0, 1]. Draw 0 of a block's first round picks its j (see ``pick``)."""

    def __init__(self, n_arms: int, *, horizon: int, xi: float, uniform: Draws, low: float = 0.0, high: float = 1.0) -> None:
        super().__init__(n_arms, low=low, high=high)
        self.xi, self.uniform = xi, uniform
        self.H = math.floor(math.sqrt(float(n_arms) * horizon))
        self.D = math.ceil(log(float(self.H)))
        blocks = math.ceil(horizon / self.H)
        self.gamma = min(1.0, math.sqrt((self.D + 1) * log(self.D + 1.0) / ((math.e - 1) * blocks)))
        self.gains: list[tuple[int, float]] = []  # of each block that is over: j, and gamma x / ((D + 1) p_j)
        self.block: list[tuple[int, int, float]] = []  # (round, arm, reward)
        self.first, self.j, self.tau = 0, 0, 0

    def probabilities(self) -> list[float]:
        log_w = [math.fsum(gain for k, gain in self.gains if k == j) for j in range(self.D + 1)]
        return [(1 - self.gamma) * exp(x - log_sum_exp(log_w)) + self.gamma / (self.D + 1) for x in log_w]

    def choose(self, t: int, arms: Sequence[int] | None = None) -> int:
        if self.first == 0 or t >= self.first + self.H:
            if self.first > 0:
                x = math.fsum(reward for _, _, reward in self.block) / self.H
                self.gains.append((self.j, self.gamma * x / ((self.D + 1) * self.probabilities()[self.j])))
            self.j = pick(self.probabilities(), range(self.D + 1), self.uniform(t, 0))
            self.tau = next(h for h in range(self.H, 0, -1) if h**self.D <= self.H**self.j)
            self.first, self.block = t, []
        return argmax(lambda i: self.index(t, i), self.available(arms))

    def index(self, t: int, i: int) -> float:
        seen = [reward for r, arm, reward in self.block if arm == i and r >= t - self.tau]
        if not seen:
            return math.inf
        return mean(seen) + math.sqrt(self.xi * log(float(min(t - self.first + 1, self.tau))) / len(seen))

    def update(self, t: int, arm: int, reward: float) -> None:
        super().update(t, arm, reward)
        if self.first > 0:
            self.block.append((t, arm, self.mapped(reward)))


VARIANTS = [
    BOB(horizon=HORIZON, low=-3.0, high=3.0, outside="clip"),
    BOB(horizon=40, xi=2.0, low=-3.0, high=3.0, outside="clip"),
    BOB(horizon=10_000, xi=0.1),
    BOB(horizon=2),
]


@pytest.mark.parametrize("policy", VARIANTS, ids=repr)
def test_choices_with_other_parameters_equal_the_reference(policy: BOB) -> None:
    assert_equals_reference(policy, HORIZON, odd="coins")
    assert_equals_reference_while_arms_change(policy, HORIZON, "falling", "coins")
    assert_equals_reference_on_ties(policy, 40)


def test_blocks_and_windows_are_those_of_the_formula() -> None:
    """K = 2 and T = 800: 20 blocks of 40 rounds, and windows of 1, 2, 6, 15 and 40."""
    policy, arms = BOB(horizon=800), np.arange(2)
    state = states.new_state(policy, 2, 800)
    starts, windows = [], set()
    for t in range(1, 801):
        arm = policy.kernel.choose(policy.params, state, t, KEY, arms)
        if state.block[0] == t:
            starts.append(t)
            windows.add(int(state.recent.tau[0]))
            assert arm == 0
        policy.kernel.update(policy.params, state, t, arm, 0.5)
    assert starts == list(range(1, 801, 40))
    assert windows <= {1, 2, 6, 15, 40}
    assert len(windows) >= 4


def test_a_window_that_is_a_whole_power_is_not_rounded_down() -> None:
    """K = 2 and T = 32: blocks of 8 rounds and D = 3, so the windows are 8^(j/3) = 1, 2, 4 and 8, equally likely at first."""
    state = states.new_state(BOB(horizon=32), 2, 1)
    windows = []
    for j in range(4):
        state.drawn[0] = (j + 0.5) / 4
        set_up(state)
        windows.append(int(state.recent.tau[0]))
    assert windows == [1, 2, 4, 8]


def test_in_a_block_it_is_sw_ucb() -> None:
    """The first block, with the window that is drawn for it."""
    table = tables(3, 100)["coins"].tolist()
    policy = BOB(horizon=3_000)  # blocks of 94 rounds
    state = states.new_state(policy, 3, 1)
    policy.kernel.choose(policy.params, state, 1, KEY, np.arange(3))
    assert play(policy, table, 94) == play(SWUCB(tau=int(state.recent.tau[0])), table, 94)


def waves(T: int) -> Problem:
    """Two means that change places five times, as the publication's: 0.5 +- 0.3 sin(5 pi t / T)."""
    wave = 0.3 * np.sin(5 * np.pi * np.arange(T) / T)
    return Problem.restless([(0.5 + wave).tolist(), (0.5 - wave).tolist()], Bernoulli(), T)


@pytest.mark.slow
def test_the_game_it_is_made_for_is_as_documented() -> None:
    T = 10_000
    policies = [BOB(horizon=T), SWUCB(tau=1_000), UCB1(sigma=0.5)]
    found = simulate(policies, waves(T), runs=100, seed=1).regret[:, :, -1].mean(axis=1)
    text = "{:,.0f}, for SW-UCB with a window of 1,000 rounds {:,.0f}, and for UCB1 {:,.0f}".format(*found.tolist())
    assert text in " ".join(str(BOB.__doc__).split())
