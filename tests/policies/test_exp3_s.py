"""Exp3.S: Exp3 that shares its weights."""

import pytest

from rotting.live.bandit import Bandit
from rotting.policies.exp3 import Exp3
from rotting.policies.exp3_s import Exp3S
from tests.helpers.games import play, tables
from tests.helpers.variants import HORIZON
from tests.reference import exponential_weights

Naive = exponential_weights.Exp3S  # what the common tests compare the policy with


@pytest.mark.parametrize("gamma", [0.05, 0.7])
def test_exp3_s_that_shares_nothing_is_exp3(gamma: float) -> None:
    for table in tables(4, HORIZON).values():
        plain = play(Exp3(gamma=gamma, low=-3, high=3, outside="clip"), table.tolist(), HORIZON)
        assert play(Exp3S(gamma=gamma, alpha=0.0, low=-3, high=3, outside="clip"), table.tolist(), HORIZON) == plain


@pytest.mark.parametrize("policy", [Exp3S(horizon=4), Exp3S(horizon=4, segments=2), Exp3S(horizon=4, budget=2)], ids=repr)
def test_a_game_too_short_to_learn_is_explored_to_its_end(policy: Exp3S) -> None:
    """The tuned rate is cut to 1: every arm has the same chance, whatever it paid."""
    bandit = Bandit(policy, arms=["a", "b"])
    for arm in "aaa":
        bandit.update(arm, 1.0)
        assert bandit.propensities() == {"a": 0.5, "b": 0.5}
