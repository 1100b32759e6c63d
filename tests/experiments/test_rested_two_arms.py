"""Two rested arms: the authors' grid."""

import math

from rotting.experiments import rested_two_arms


def test_the_grid_is_the_authors() -> None:
    assert len(rested_two_arms.GRID) == 30
    assert rested_two_arms.GRID[0] == 0.02
    assert math.isclose(rested_two_arms.GRID[-1], 0.02 * 1.25**29, rel_tol=1e-6)
