"""UCBT-ASW: its test, what happens when no new arm is left, and a game with a thousand arms."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from rotting.kit import log, power
from rotting.live.bandit import Bandit
from rotting.policies.ucb1 import UCB1
from rotting.policies.ucbt_asw import UCBTASW
from rotting.policy import Policy as Rule
from rotting.problems import Linear, Problem
from rotting.problems.noise import Gaussian
from rotting.simulation.simulate import simulate
from tests.helpers.games import assert_equals_reference, assert_equals_reference_while_arms_change, play
from tests.helpers.variants import HORIZON
from tests.reference.policy import Policy, mean


class OneAtATime(Policy):
    """The arm of the last reward is played while its statistic is high enough; then a new one, or that of the largest."""

    enough: float

    def __init__(self, n_arms: int) -> None:
        super().__init__(n_arms)
        self.rows: list[tuple[int, list[float]]] = []  # an arm, and what it paid without a break

    def of_row(self, row: Sequence[float]) -> float:
        raise NotImplementedError

    def statistic(self, i: int) -> float:
        """The least at the end of each of the arm's rows: what it had when it was left, and what it has now."""
        return min((self.of_row(row) for arm, row in self.rows if arm == i), default=math.inf)

    def choose(self, t: int, arms: Sequence[int] | None = None) -> int:
        arms = self.available(arms)
        if self.rows and self.rows[-1][0] in arms and self.statistic(self.rows[-1][0]) >= self.enough:
            return self.rows[-1][0]
        return max(arms, key=lambda i: (self.statistic(i), -i))

    def update(self, t: int, arm: int, reward: float) -> None:
        super().update(t, arm, reward)
        if not self.rows or self.rows[-1][0] != arm:
            self.rows.append((arm, []))
        self.rows[-1][1].append(reward)


class Naive(OneAtATime):
    """Kim, Vojnović, Yun 2024, Algorithm 1: every window of a power of two is summed anew."""

    def __init__(self, n_arms: int, *, horizon: int, budget: float, beta: float, sigma: float, high: float) -> None:
        super().__init__(n_arms)
        self.T, self.sigma = horizon, sigma
        slow, still = (1 / (beta + 2), -1 / (beta + 1)) if beta >= 1 else (1 / 3, -1 / 2)
        self.enough = high - max(power(budget / horizon, slow), power(float(horizon), still))

    def of_row(self, row: Sequence[float]) -> float:
        windows = [2**k for k in range(len(row)) if 2**k <= len(row)]
        return min(mean(row[-h:]) + self.sigma * math.sqrt(12 * log(float(self.T)) / h) for h in windows)


VARIANTS = [
    UCBTASW(horizon=HORIZON, sigma=0.1),
    UCBTASW(horizon=1_000, budget=3.0, sigma=0.3, high=2.0),
    UCBTASW(horizon=HORIZON, budget=1.0, beta=0.5, sigma=0.05),
    UCBTASW(horizon=2_000, budget=0.1, beta=2.5, sigma=0.01, high=-0.5),
]


@pytest.mark.parametrize("policy", VARIANTS, ids=repr)
def test_choices_with_other_parameters_equal_the_reference(policy: UCBTASW) -> None:
    assert_equals_reference(policy, HORIZON)
    assert_equals_reference_while_arms_change(policy, HORIZON, "falling", "coins")


def test_an_arm_is_left_when_a_window_tells_and_an_older_one_does_not() -> None:
    """The threshold is 0.9. The last reward and 0.1 are below it at once; with 0.2, the mean of four bad rewards is."""
    sigma, T = 0.1 / math.sqrt(12 * math.log(100)), 100
    table = [[1.0] * 6 + [0.79] * 94, [1.0] * 100]
    assert play(UCBTASW(horizon=T, sigma=sigma), table, 12) == [0] * 7 + [1] * 5
    assert play(UCBTASW(horizon=T, sigma=2 * sigma), table, 12) == [0] * 10 + [1] * 2


def test_when_no_new_arm_is_left_the_largest_statistic_wins() -> None:
    """Without noise, the statistics are the rewards; an arm that is left stays where it was."""
    table = [[0.5] * 20, [0.3] * 20, [0.7, 0.7, 0.7, 0.4, 0.4] + [0.1] * 20]
    assert play(UCBTASW(horizon=100, sigma=1e-9), table, 12) == [0, 1, 2, 2, 2, 2, 0, 0, 0, 0, 0, 0]


def test_an_arm_that_is_added_waits_for_its_turn() -> None:
    bandit: Bandit[str] = Bandit(UCBTASW(horizon=100, sigma=1e-9), arms=["a", "b"])
    chosen: list[str] = []
    for k in range(12):
        if k == 5:
            bandit.add_arm("c")
        chosen.append(arm := bandit.pull())
        bandit.update(arm, 0.95 if k < 8 else 0.2)
    assert chosen == ["a"] * 9 + ["b", "c"] + ["a"]


def many_arms(seed: int, rho: float, horizon: int = 20_000, n_arms: int = 1_000) -> Problem:
    """Uniform means, which fall by rho with each pull."""
    means = np.random.default_rng(seed).random(n_arms)
    return Problem.rested([Linear(float(mean), slope=-rho) for mean in means], Gaussian(0.1), horizon)


def mean_regrets(policies: Sequence[Rule], rho: float) -> list[float]:
    """In three problems, 20 runs each."""
    games = [simulate(policies, many_arms(seed, rho), runs=20, seed=seed, checkpoints=[]) for seed in range(3)]
    return [float(regret) for regret in np.mean([each.regret[:, :, -1].mean(axis=1) for each in games], axis=0)]


@pytest.mark.slow
def test_the_game_it_is_made_for_is_as_documented() -> None:
    shown = " ".join(str(UCBTASW.__doc__).split())
    still = mean_regrets([UCBTASW(horizon=20_000, sigma=0.1), UCB1(sigma=0.1)], 0.0)
    falling = mean_regrets([UCBTASW(horizon=20_000, budget=0.2, sigma=0.1), UCB1(sigma=0.1)], 1e-5)
    assert "{:,.0f} if the means stay (UCB1: {:,.0f})".format(*still) in shown
    assert "{:,.0f} if they fall by 1e-5 with each pull (UCB1: {:,.0f},".format(*falling) in shown
