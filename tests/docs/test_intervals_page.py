"""The script behind docs/intervals.md counts what it says, and the page speaks of all claims that it should."""

import importlib.util
import math
from pathlib import Path
from typing import Any

import numpy as np

from rotting.common.statistics import Interval

ROOT = Path(__file__).parents[2]


def load() -> Any:
    spec = importlib.util.spec_from_file_location("make_coverage", ROOT / "docs" / "make_coverage.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


maker = load()


def test_samples_are_paired_and_counted() -> None:
    """Ends that are unknown are no interval; of the samples that have one, those with a positive first run are covered."""
    values = np.array([-1.0, 1.0, 2.0, math.nan])

    def method(first: np.ndarray, second: np.ndarray) -> Interval:
        assert np.array_equal(first, second, equal_nan=True)
        if first[0] == 2.0:
            return Interval(0.0, None, None)
        return Interval(0.0, first[0], 5.0)

    found = maker.count(maker.Case("", (values, values)), 0.5, method, 3, 4_000)
    # A quarter of the samples begins with -1, a quarter with 1: 0.05 is more than seven standard errors away.
    assert abs(found.covered - 0.25) < 0.05
    assert abs(found.stated - 0.5) < 0.05
    assert str(maker.Count(0.5, 0.75)) == "75% (75%)"
    assert str(maker.Count(0.94, 1.0)) == "94%"


def test_every_method_is_measured_and_every_claim_on_the_page() -> None:
    rng = np.random.default_rng(0)
    pools = {
        "two-arms": rng.gamma(4.0, 1.0, (30, 8, 60)),
        "nights": rng.gamma(4.0, 1.0, (8, 7, 60)),
        "easy": np.cumsum(rng.gamma(4.0, 1.0, (8, 3, 60)), axis=1),
        "night-7": np.cumsum(rng.gamma(4.0, 1.0, (7, 3, 60)), axis=1),
    }
    page = maker.PAGE.read_text("utf-8")
    for name, found in maker.cases(pools).items():
        assert f"## `{name}`" in page
        for case in found:
            rows = maker.measure(name, case, {20: 3, 2_000: 3})
            assert list(rows) == list(maker.methods(name))
            assert {cells[1] for cells in rows.values()} == {"-"}  # more runs than the pool has
            for label in rows:
                assert f"| {case.claim} | {label} | " in page
    assert len(maker.means(pools, {20: 2})) == 3
