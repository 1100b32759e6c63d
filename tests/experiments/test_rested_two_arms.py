"""Two rested arms: the authors' grid, and claims that few runs do not decide."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rotting.experiments import rested_two_arms
from rotting.report.claims import Verdict


def test_the_grid_is_the_authors() -> None:
    assert len(rested_two_arms.GRID) == 30
    assert rested_two_arms.GRID[0] == 0.02
    assert math.isclose(rested_two_arms.GRID[-1], 0.02 * 1.25**29, rel_tol=1e-6)


@pytest.mark.parametrize("name", ["rested-glr-medium", "rested-eff-as-good"])
def test_claims_that_rest_on_rare_runs_are_undecided_with_few(name: str) -> None:
    """Docs/intervals.md measures that fewer than 2,000 runs mostly hold too few of those in which RAW-UCB misses the drop."""
    (statement,) = (each for each in rested_two_arms.STATEMENTS if each.id == name)
    values = np.random.default_rng(0).gamma(4.0, 1.0, (len(rested_two_arms.LABELS), 2_000, 1))

    def decided(runs: int) -> Any:
        drawn: Any = {f"L={L:.4g}": SimpleNamespace(regret=values[:, :runs]) for L in rested_two_arms.GRID}
        return statement.decide(rested_two_arms._Measured(rested_two_arms.SIZES["full"], drawn))

    assert decided(2_000).verdict == Verdict.HOLDS
    for runs in (rested_two_arms.SIZES["quick"].runs, 1_999):
        few = f"{runs:,} runs are too few to show the rare ones that regret much more: it takes 2,000"
        assert decided(runs).decision == f"undecided: {few}"
