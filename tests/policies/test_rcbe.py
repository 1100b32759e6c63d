"""RC-BE: windows, eliminations, and arms that rise with time."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from rotting.kit import log, power
from rotting.live.bandit import Bandit
from rotting.policies.rcbe import RCBE
from rotting.policies.sw_ucb import SWUCB
from rotting.problems import Exponential, Problem
from rotting.problems.noise import Gaussian
from rotting.simulation.simulate import simulate
from tests.helpers.games import assert_equals_reference, assert_equals_reference_while_arms_change, play
from tests.helpers.variants import HORIZON
from tests.reference.policy import Policy


class Naive(Policy):
    """Migali, Genalti, Mussi, Metelli 2025: the turns of a window, played anew from the rewards that counted in it."""

    def __init__(self, n_arms: int, *, alpha: float, sigma: float) -> None:
        super().__init__(n_arms)
        self.alpha, self.sigma = alpha, sigma
        self.counted: list[tuple[int, int, float]] = []  # (round, arm, reward)

    def window(self, t: int) -> tuple[int, int]:
        """First round and length of the window of round t."""
        w, first = 1, 1
        while t >= first + (length := math.ceil(power(w, self.alpha))):
            w, first = w + 1, first + length
        return first, length

    def turn(self, t: int) -> tuple[list[int], list[int]]:
        """The arms that are still in, and those of them that wait."""
        first, D = self.window(t)
        budget = 2 * (1 + 2 * self.sigma * math.sqrt(D * log(2.0 * self.n_arms * D)))
        left = [(arm, reward) for r, arm, reward in self.counted if first <= r < t]
        A, S = list(range(self.n_arms)), [[] for _ in range(self.n_arms)]  # type: tuple[list[int], list[list[float]]]
        while len(left) >= len(A):
            turn, left = left[: len(A)], left[len(A) :]
            for arm, reward in turn:
                S[arm].append(reward)
            A = [i for i in A if math.fsum(S[i]) + budget >= max(math.fsum(S[j]) for j in A)]
        return A, [i for i in A if i not in {arm for arm, _ in left}]

    def choose(self, t: int, arms: Sequence[int] | None = None) -> int:
        arms = self.available(arms)
        A, waiting = self.turn(t)
        return next(i for each in (waiting, A, range(self.n_arms)) for i in each if i in arms)

    def update(self, t: int, arm: int, reward: float) -> None:
        super().update(t, arm, reward)
        if arm in self.turn(t)[1]:  # of an arm that is out, no reward counts, nor does a second one in a turn
            self.counted.append((t, arm, reward))


VARIANTS = [RCBE(sigma=0.01), RCBE(alpha=1.0, sigma=0.001), RCBE(alpha=4.0, sigma=0.05), RCBE(alpha=2.0)]


@pytest.mark.parametrize("policy", VARIANTS, ids=repr)
def test_choices_with_other_parameters_equal_the_reference(policy: RCBE) -> None:
    assert_equals_reference(policy, HORIZON)
    assert_equals_reference_while_arms_change(policy, HORIZON, "falling", "coins")


def test_windows_and_turns_by_hand() -> None:
    """Windows of 1, 7 and 19 rounds. In the last, the budget is 20.97: 20 behind is not enough, and 25 is."""
    chosen = play(RCBE(sigma=0.5), [[0.0] * 27, [5.0] * 27, [0.0] * 27], 27)
    assert chosen == [0] + [0, 1, 2] * 2 + [0] + [0, 1, 2] * 5 + [1] * 4


def test_arms_that_are_too_far_behind_are_out_until_the_window_ends() -> None:
    """Without noise the budget is nearly 2: in the third window, arms 0 and 2 are out after three turns (2.7 to 0)."""
    chosen = play(RCBE(sigma=1e-9), [[0.0] * 68, [0.9] * 68, [0.0] * 68], 68)
    assert chosen[8:27] == [0, 1, 2] * 3 + [1] * 10
    assert chosen[27:] == [0, 1, 2] * 3 + [1] * 32


def test_after_an_arm_is_added_the_turns_begin_again() -> None:
    bandit: Bandit[str] = Bandit(RCBE(sigma=1e-9), arms=["poor", "good"])

    def play_on(rounds: int) -> list[str]:
        chosen: list[str] = []
        for _ in range(rounds):
            chosen.append(arm := bandit.pull())
            bandit.update(arm, 0.9 * (arm == "good"))
        return chosen

    assert play_on(20)[8:] == ["poor", "good"] * 3 + ["good"] * 6
    bandit.add_arm("new")
    assert play_on(7) == ["new", "poor", "good", "poor", "good", "new", "poor"]  # the window ends with round 27


def rising(seed: int, horizon: int) -> Problem:
    """One of the publication's problems: means `c (1 - exp(-50 a t / T))`."""
    a, c = 1.0 - np.random.default_rng(seed).random((2, 5))
    arms = [Exponential(0.0, rate=50 * a[i] / horizon, limit=c[i]) for i in range(5)]
    return Problem.restless(arms, Gaussian(0.1), horizon)


@pytest.mark.slow
def test_the_game_it_is_made_for_is_as_documented() -> None:
    found = []
    for T in (10_000, 1_000_000):
        policies = [RCBE(sigma=0.1), SWUCB(tau=T // 20, sigma=0.1)]
        games = [simulate(policies, rising(seed, T), runs=1, seed=seed, checkpoints=[]) for seed in range(20)]
        found += [float(regret) for regret in np.mean([each.regret[:, 0, -1] for each in games], axis=0)]
    shown = " ".join(str(RCBE.__doc__).split())
    assert "was {:,.0f} at T = 10,000 and {:,.0f} at T = 1,000,000".format(*found[::2]) in shown
    assert "{:,.0f} and {:,.0f} for SW-UCB".format(*found[1::2]) in shown
    assert found[2] > 100 ** (7 / 11) * found[0]  # the rate is not to be seen yet
