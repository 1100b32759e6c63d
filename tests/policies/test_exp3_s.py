"""Exp3.S: Exp3 that shares its weights."""

import pytest

from rotting.policies.exp3 import Exp3
from rotting.policies.exp3_s import Exp3S
from tests.helpers.games import play, tables
from tests.helpers.variants import HORIZON


@pytest.mark.parametrize("gamma", [0.05, 0.7])
def test_exp3_s_that_shares_nothing_is_exp3(gamma: float) -> None:
    for table in tables(4, HORIZON).values():
        plain = play(Exp3(gamma=gamma, low=-3, high=3, outside="clip"), table.tolist(), HORIZON)
        assert play(Exp3S(gamma=gamma, alpha=0.0, low=-3, high=3, outside="clip"), table.tolist(), HORIZON) == plain
