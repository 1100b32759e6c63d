"""What the games and bounds of the theory take for granted when it is not said."""

import math

import pytest

from rotting import theory
from rotting.paper.theory.indistinguishable import greedy_floor, unlearnable
from rotting.paper.theory.lower_bounds import HardFamily, worst
from rotting.policies.ucb1 import UCB1


def test_the_worst_of_sixteen_problems_in_a_hundred_runs() -> None:
    family = HardFamily(n_arms=2, horizon=12, pieces=2)
    found = worst(UCB1(), family, workers=1)
    assert len(found.found) == 16
    assert found.result.runs == 100
    expected = worst(UCB1(), family, draws=16, runs=100, seed=0, workers=1)
    assert (found.best, found.found, found.regret) == (expected.best, expected.found, expected.regret)


@pytest.mark.parametrize("horizon", [10.5, 2.25, math.nan])
def test_a_horizon_is_a_whole_number(horizon: float) -> None:
    for call in (unlearnable, greedy_floor):
        with pytest.raises(ValueError, match=f"horizon must be a whole number from 2 to 5000, got {horizon}"):
            call(horizon)  # type: ignore[arg-type]


@pytest.mark.parametrize("scale", [0.25, 1.0, 8.0])
def test_the_room_for_pieces_is_the_same_in_all_units(scale: float) -> None:
    """V and sigma are lengths: only their ratio decides how many pieces fit."""
    fit = theory.piecewise_lower(1000, 2, pieces=6, V=0.125 * scale, sigma=scale)
    assert fit == scale * theory.piecewise_lower(1000, 2, pieces=6)
    with pytest.raises(ValueError, match="pieces must be at most 6"):
        theory.piecewise_lower(1000, 2, pieces=7, V=0.125 * scale, sigma=scale)
