"""The interval of a ratio of spreads, next to its definition, resample by resample."""

import math

import numpy as np
import pytest

from rotting.common.arrays import Floats
from rotting.common.statistics import LEVEL, RESAMPLES, resamples
from rotting.simulation.comparisons import spread_ratio


def log_and_error(rows: Floats, signs: Floats) -> tuple[float, float]:
    """The logarithm of the ratio, and its standard error by the influence of each run."""
    log = float(signs @ np.log(rows.std(axis=1)))
    centred = rows - rows.mean(axis=1, keepdims=True)
    influence = signs @ (centred**2 / rows.var(axis=1)[:, None] - 1) / 2
    return log, float(influence.std(ddof=1) / math.sqrt(influence.size))


@pytest.mark.parametrize("problems", [1, 3])
def test_the_interval_is_that_of_the_studentised_bootstrap(problems: int) -> None:
    rng = np.random.default_rng(problems)
    runs = 50
    upper, lower = 10 + 2 * rng.random((problems, runs)), 5 + rng.random((problems, runs))
    rows, signs = np.concatenate([upper, lower]), np.repeat([1 / problems, -1 / problems], problems)
    ratio, error = log_and_error(rows, signs)
    drawn = [np.repeat(rows, each.astype(int), axis=1) for times in resamples(runs) for each in times]
    far = sorted(abs(log - ratio) / its for log, its in (log_and_error(each, signs) for each in drawn))
    half = far[round(LEVEL * (RESAMPLES + 1)) - 1] * error
    wanted = (math.exp(ratio), math.exp(ratio - half), math.exp(ratio + half))
    assert spread_ratio(upper, lower) == pytest.approx(wanted, rel=1e-9)
