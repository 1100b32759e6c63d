"""Tsallis-INF: its probabilities, its estimates, and the game that it is made for."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from rotting.live.bandit import Bandit
from rotting.policies.exp3 import Exp3
from rotting.policies.parts.exponential_weights import new_weights
from rotting.policies.tsallis_inf import TsallisINF, probabilities
from rotting.policies.ucb1 import UCB1
from rotting.problems import Piecewise, Problem
from rotting.problems.noise import Bernoulli
from rotting.simulation.simulate import simulate
from tests.helpers.games import assert_equals_reference, assert_equals_reference_while_arms_change
from tests.helpers.variants import HORIZON
from tests.reference.exponential_weights import pick
from tests.reference.policy import Bounded, Draws


class Naive(Bounded):
    """Zimmert, Seldin 2021, Algorithm 1 with alpha = 1/2: ``w_i = 4 / (eta_t (L_i - x))^2``, ``eta_t = 4 / sqrt(t)``.

    x is found by bisection; all estimates of losses are kept, and summed anew. Draw 0 picks the arm (see ``pick``).
    """

    def __init__(self, n_arms: int, *, uniform: Draws, low: float = 0.0, high: float = 1.0) -> None:
        super().__init__(n_arms, low=low, high=high)
        self.uniform = uniform
        self.losses: list[list[float]] = [[] for _ in range(n_arms)]
        self.drawn: dict[int, dict[int, float]] = {}  # t -> arm -> probability

    def weights(self, t: int, arms: Sequence[int]) -> list[float]:
        eta = 4 / math.sqrt(t)
        totals = [math.fsum(self.losses[i]) for i in arms]
        gaps = [total - min(totals) for total in totals]

        def w(x: float) -> list[float]:
            return [4 / (eta * (gap - x)) ** 2 for gap in gaps]

        low, high = -2 * math.sqrt(len(arms)) / eta, -2 / eta  # where the weights sum to at most 1, and to at least 1
        while low < (x := (low + high) / 2) < high:
            low, high = (x, high) if math.fsum(w(x)) < 1 else (low, x)
        return w(high)

    def choose(self, t: int, arms: Sequence[int] | None = None) -> int:
        arms = self.available(arms)
        p = self.weights(t, arms)
        self.drawn[t] = dict(zip(arms, p, strict=True))
        return pick(p, arms, self.uniform(t, 0))

    def update(self, t: int, arm: int, reward: float) -> None:
        super().update(t, arm, reward)
        B = [0.5 if w >= (4 / math.sqrt(t)) ** 2 else 0.0 for w in self.weights(t, range(self.n_arms))]
        for i in range(self.n_arms):
            played = (1 - self.mapped(reward) - B[i]) / max(self.drawn[t][i], 2**-30) if i == arm else 0.0
            self.losses[i] += [B[i], played]


VARIANTS = [TsallisINF(low=-3.0, high=3.0, outside="clip"), TsallisINF(low=-1e7, high=1e7, outside="clip")]


@pytest.mark.parametrize("policy", VARIANTS, ids=repr)
def test_choices_in_other_ranges_equal_the_reference(policy: TsallisINF) -> None:
    assert_equals_reference(policy, HORIZON)
    assert_equals_reference_while_arms_change(policy, HORIZON, "falling", "coins")


@pytest.mark.parametrize("losses", [[0.0], [0.0] * 7, [0.0, 1e-9, 1e9], [3.0, 0.5, 1.0, 0.5], list(range(1000))])
@pytest.mark.parametrize("t", [1, 100, 10**12])
def test_probabilities_are_those_of_the_regulariser(losses: list[float], t: int) -> None:
    """They sum to 1, and `1 / sqrt(p_i) - eta L_i` is the same for all arms: the condition of the optimum."""
    s, eta = new_weights(len(losses)), 2 / math.sqrt(t)
    s.rates[0] = eta
    s.log_weights[:] = -np.array(losses, float)
    probabilities(s, np.arange(len(losses)), out := np.zeros(len(losses)))
    assert math.fsum(out) == pytest.approx(1.0, abs=1e-14)
    found = 1 / np.sqrt(out) - eta * (np.array(losses) - min(losses))
    assert np.ptp(found) <= 1e-12 * np.max(1 / np.sqrt(out))


def test_estimates_by_hand() -> None:
    """In round 1, no arm has `p_i >= 16`; from round 32 on, two arms that are level have, and both get a loss of 1/2."""
    bandit = Bandit(TsallisINF(), arms=[0, 1], seed=1)
    first = bandit.pull()
    bandit.update(first, 0.25)
    state = bandit._state.learner.state
    assert state.log_weights[first] - state.log_weights[1 - first] == -(1 - 0.25) / 0.5
    policy, s = TsallisINF(), new_weights(2)
    s.propensity[:] = 0.5
    policy.kernel.update(policy.params, s, 31, 0, 0.25)
    assert s.log_weights.tolist() == [-1.5, 0.0]
    s.log_weights[:] = 0.0
    policy.kernel.update(policy.params, s, 32, 0, 0.25)
    assert s.log_weights.tolist() == [-(0.75 - 0.5) / 0.5, 0.0]


def moving_means(horizon: int, n_arms: int, gap: float) -> Problem:
    """All means are low, then high, and so on, in phases that grow by 1.6; arm 0 is always better by the gap."""
    starts = [0]
    while (following := starts[-1] + math.ceil(1.6 ** len(starts))) < horizon:
        starts.append(following)
    low = [(1 - gap) * (k % 2) for k in range(len(starts))]
    worse = Piecewise(low, starts=starts)
    return Problem.restless([Piecewise([x + gap for x in low], starts=starts)] + [worse] * (n_arms - 1), Bernoulli(), horizon)


@pytest.mark.slow
def test_the_game_it_is_made_for_is_as_documented() -> None:
    """The bound holds, and so does the claim that policies for random rewards fail: UCB1 loses more."""
    T, K = 10_000, 10
    result = simulate([TsallisINF(), Exp3(horizon=T), UCB1(sigma=0.5)], moving_means(T, K, 0.25), runs=100, seed=1)
    found = [float(regret) for regret in result.regret[:, :, -1].mean(axis=1)]
    bound = 2 * math.sqrt(K * T) + 10 * K * math.log(T) + 16
    assert found[0] < min(found[1:])
    assert found[0] < bound
    for value in (*found, bound):
        assert f" {value:,.0f}" in " ".join(str(TsallisINF.__doc__).split())
