"""UCB-TP: its statistic, and the games of UCBT-ASW."""

import math
from collections.abc import Sequence

import pytest

from rotting.kit import log, power
from rotting.live import policy_state as states
from rotting.policies.ucb_tp import UCBTP
from rotting.policies.ucbt_asw import UCBTASW
from tests.helpers.games import assert_equals_reference, assert_equals_reference_while_arms_change, play
from tests.helpers.variants import HORIZON
from tests.policies.test_ucbt_asw import OneAtATime, mean_regrets


class Naive(OneAtATime):
    """Kim, Vojnović, Yun 2022, Algorithm 1; a row's past statistics are not looked at, so that only its end counts."""

    def __init__(self, n_arms: int, *, horizon: int, rho: float, sigma: float, high: float) -> None:
        super().__init__(n_arms)
        self.T, self.rho, self.sigma = horizon, rho, sigma
        self.enough = high - max(power(rho, 1 / 3), 1 / math.sqrt(horizon))

    def of_row(self, row: Sequence[float]) -> float:
        n = len(row)
        # The mean of rho (j - 1), minus rho n, is -rho (n + 1) / 2; summed term by term, it would be rounded otherwise.
        return math.fsum(row) / n - self.rho * (n + 1) / 2 + self.sigma * math.sqrt(8 * log(float(self.T)) / n)


VARIANTS = [UCBTP(horizon=HORIZON, sigma=0.1), UCBTP(horizon=1_000, rho=0.1, sigma=0.3, high=2.0), UCBTP(horizon=500, rho=0.0)]


@pytest.mark.parametrize("policy", VARIANTS, ids=repr)
def test_choices_with_other_parameters_equal_the_reference(policy: UCBTP) -> None:
    assert_equals_reference(policy, HORIZON)
    assert_equals_reference_while_arms_change(policy, HORIZON, "falling", "coins")


def test_the_statistic_is_the_publication_s() -> None:
    """Term by term: the mean of `r_j + rho (j - 1)`, minus `rho n`, plus the width."""
    policy, rewards = UCBTP(horizon=100, rho=0.01, sigma=0.5), [0.9, 0.7, 0.8, 0.4]
    state = states.new_state(policy, 2, 10)
    for n, reward in enumerate(rewards, 1):
        policy.kernel.update(policy.params, state, n, 1, reward)
        mean = sum(r + 0.01 * j for j, r in enumerate(rewards[:n])) / n
        width = 0.5 * math.sqrt(8 * math.log(100) / n)
        assert state.statistic[1] == pytest.approx(mean - 0.01 * n + width, rel=1e-14)


def test_an_arm_that_falls_as_fast_as_feared_is_left_when_it_must() -> None:
    """Without noise: the threshold is 0.8, and the statistic after n pulls is what the next pull would pay."""
    rho = 0.2**3
    table = [[0.95 - rho * n for n in range(40)], [0.9] * 40]
    chosen = play(UCBTP(horizon=1_000, rho=rho, sigma=1e-9), table, 40)
    left = next(n for n in range(1, 40) if 0.95 - rho * n < 0.8)
    assert chosen[: left + 1] == [0] * left + [1]


@pytest.mark.slow
def test_the_game_it_is_made_for_is_as_documented() -> None:
    T, rho = 20_000, 1e-4
    found = mean_regrets([UCBTP(horizon=T, rho=rho, sigma=0.1), UCBTASW(horizon=T, budget=rho * T, sigma=0.1)], rho)
    assert "{:,.0f}, and {:,.0f} for UCBT-ASW".format(*found) in " ".join(str(UCBTP.__doc__).split())
