"""What the games and bounds of the theory take for granted when it is not said."""

import math

import pytest

from rotting import theory
from rotting.paper.theory.indistinguishable import greedy_floor, unlearnable


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
