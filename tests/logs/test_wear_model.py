"""The model of wear: its fit is the one that a matrix with a row for each reward gives."""

import numpy as np
import pytest

from rotting.common.arrays import Floats
from rotting.logs.log import Log
from rotting.logs.wear_model import (
    COEFFICIENTS,
    CONVERGED,
    FLAT_PRECISION,
    MOST_ARMS,
    MOST_UNITS,
    PULL_BINS,
    TIME_BINS,
    Fit,
    WearModel,
    count_cells,
    pull_bins,
    select_rows,
    step_prior,
    time_bins,
)

N_ARMS, N_UNITS, SCALE = 2, 4, 0.4


def some_log(counted: bool) -> Log:
    rng = np.random.default_rng(1)
    rows = 2_000
    arm, unit = rng.integers(0, N_ARMS, rows), rng.choice(N_UNITS, rows, p=[0.5, 0.25, 0.15, 0.1])
    mean = (1.0 + arm) * (1 + unit / 4) * np.exp(-np.arange(rows) / rows)
    return Log({"arm": arm, "reward": rng.poisson(mean) if counted else rng.normal(mean), "unit": unit}, unit="unit")


def design(log: Log) -> tuple[Floats, Floats]:
    """Return the slow, obvious design: a row for each reward, a column for each coefficient; and the rewards."""
    rows = select_rows(log)
    found = np.zeros((rows.arm.size, N_UNITS - 1 + N_ARMS * COEFFICIENTS))
    for k, (unit, arm, pulls, time) in enumerate(zip(rows.unit, rows.arm, pull_bins(rows), time_bins(rows), strict=True)):
        if unit > 0:
            found[k, unit - 1] = 1
        first = N_UNITS - 1 + arm * COEFFICIENTS
        found[k, first : first + 1 + pulls] = 1
        found[k, first + PULL_BINS : first + PULL_BINS + time] = 1
    return found, rows.reward


def prior(start: Floats) -> tuple[Floats, Floats]:
    """Return the means and the precisions of all coefficients."""
    means, variances = step_prior(SCALE, SCALE)
    means, precisions = np.tile(means, (N_ARMS, 1)), np.concatenate([[FLAT_PRECISION], 1 / variances[1:]])
    means[:, 0] = start + SCALE
    units = N_UNITS - 1
    return np.concatenate([np.zeros(units), means.ravel()]), np.concatenate([[FLAT_PRECISION] * units, *[precisions] * N_ARMS])


def covariance(log: Log, found: Fit, weight: Floats) -> Floats:
    """Return that of the working responses: single rewards, and the taste of each unit for each arm."""
    rows = select_rows(log)
    groups = rows.unit * N_ARMS + rows.arm
    return np.asarray(np.diag(found.dispersion / weight) + found.taste_variance * (groups[:, None] == groups))


@pytest.mark.parametrize("counted", [False, True])
def test_units_that_add_are_fitted_by_least_squares(counted: bool) -> None:
    log = some_log(counted)
    model = WearModel(count_cells(select_rows(log)), multiplicative=False, counted=counted)
    (x, y), (mean, precision) = design(log), prior(model.levels)
    weight = 1 / model.levels[select_rows(log).arm] if counted else np.ones(y.size)
    posterior = x.T @ (weight[:, None] * x) / model.spread + np.diag(precision)
    found = model.fit(SCALE)
    assert np.allclose(found.coefficients, np.linalg.solve(posterior, x.T @ (weight * y) / model.spread + precision * mean))
    solved = np.linalg.solve(covariance(log, found, weight), np.column_stack([x, y]))
    assert np.allclose(found.information, x.T @ solved[:, :-1])
    assert np.allclose(found.linear, x.T @ solved[:, -1])


@pytest.mark.parametrize("counted", [False, True])
def test_units_that_multiply_are_fitted_at_the_mode(counted: bool) -> None:
    log = some_log(counted)
    model = WearModel(count_cells(select_rows(log)), multiplicative=True, counted=counted)
    (x, y), (mean, precision) = design(log), prior(np.log(model.levels))
    found = model.fit(SCALE)
    fitted = np.exp(x @ found.coefficients)
    weight = fitted if counted else fitted**2
    uphill = x.T @ ((y - fitted) * weight / fitted) / model.spread - precision * (found.coefficients - mean)
    posterior = x.T @ (weight[:, None] * x) / model.spread + np.diag(precision)
    assert np.abs(np.linalg.solve(posterior, uphill)).max() < CONVERGED
    working = x @ found.coefficients + (y - fitted) / fitted
    solved = np.linalg.solve(covariance(log, found, weight), np.column_stack([x, working]))
    assert np.allclose(found.information, x.T @ solved[:, :-1])
    assert np.allclose(found.linear, x.T @ solved[:, -1])


def test_the_variance_of_tastes_is_found() -> None:
    rng = np.random.default_rng(2)
    arm, unit = rng.integers(0, 6, 20_000), rng.integers(0, 30, 20_000)
    taste = rng.normal(0.0, 0.3, (30, 6))
    for scale in (0.0, 1.0):
        rewards = rng.poisson(3 * np.exp(scale * taste[unit, arm]))
        log = Log({"arm": arm, "reward": rewards, "u": unit}, unit="u")
        found = WearModel(count_cells(select_rows(log)), multiplicative=True, counted=True).fit(SCALE)
        assert 0.9 < found.dispersion < 1.4  # Poisson: 1; the tastes of units add to it
        assert abs(found.taste_variance - scale * 0.3**2) < 0.02


def test_units_are_unlike_if_arms_wear_out_faster_in_some_of_them() -> None:
    log = some_log(counted=True)
    assert abs(WearModel(count_cells(select_rows(log)), multiplicative=True, counted=True).fit(SCALE).heterogeneity) < 2.5
    late = np.arange(len(log)) > len(log) / 2
    faster = Log({"arm": log.arm, "reward": log.reward * np.where(late & (log.unit == 0), 0.2, 1.0), "u": log.unit}, unit="u")
    assert WearModel(count_cells(select_rows(faster)), multiplicative=True, counted=True).fit(SCALE).heterogeneity > 4


def test_curves_of_a_scale_fall_by_it_on_average() -> None:
    means, variances = step_prior(0.5, 0.0)
    assert np.isclose(means.sum(), -0.5)
    assert np.isclose(variances.sum(), 0.25)
    assert (means[PULL_BINS:] == 0).all()
    assert means.size == PULL_BINS + TIME_BINS - 1


def random_log(rows: int = 3_000, n_arms: int = 3, n_units: int = 5) -> Log:
    rng = np.random.default_rng(0)
    columns = {"arm": rng.integers(0, n_arms, rows), "reward": rng.normal(size=rows), "u": rng.integers(0, n_units, rows)}
    return Log(columns, unit="u")


def test_every_row_is_in_the_cell_of_its_unit_its_arm_and_its_bins() -> None:
    rows = select_rows(random_log())
    cells, pulls, time = count_cells(rows), pull_bins(rows), time_bins(rows)
    for unit, arm, pull_bin, time_bin in [(0, 0, 3, 3), (4, 2, 20, 20), (1, 1, 10, 12)]:
        inside = (rows.unit == unit) & (rows.arm == arm) & (pulls == pull_bin) & (time == time_bin)
        found = [table[unit, arm, pull_bin, time_bin] for table in cells]
        assert np.allclose(found, [inside.sum(), rows.reward[inside].sum(), (rows.reward[inside] ** 2).sum()])
    assert [float(table.sum()) for table in cells[:1]] == [3_000]
    assert np.isclose(cells.rewards.sum(), rows.reward.sum())


def test_bins_of_time_hold_equally_many_rows_of_an_arm_and_the_first_bins_of_pulls_fewer() -> None:
    rows = select_rows(random_log())
    own = rows.arm == 0
    assert np.ptp(np.bincount(time_bins(rows)[own], minlength=TIME_BINS)) <= 2
    by_pulls = np.bincount(pull_bins(rows)[own])
    assert by_pulls[0] < by_pulls[-1] / 4


def test_rows_at_the_same_time_share_a_bin() -> None:
    rows = select_rows(Log({"arm": ["a"] * 90, "reward": range(90), "day": [k // 30 for k in range(90)]}, time="day"))
    assert [len(set(time_bins(rows)[rows.time == day])) for day in range(3)] == [1, 1, 1]


def test_missing_rewards_count_as_pulls_but_are_left_out() -> None:
    rows = select_rows(Log([("a", 1.0), ("a", None), ("a", 2.0)]))
    assert (rows.own_pulls.tolist(), rows.reward.tolist()) == ([0.0, 2.0], [1.0, 2.0])


def test_units_of_similar_traffic_are_joined_and_the_arms_with_the_most_pulls_stay() -> None:
    rows = select_rows(random_log(20_000, n_arms=40, n_units=950))
    assert (rows.n_arms, rows.n_units) == (MOST_ARMS, MOST_UNITS)
    traffic = np.bincount(rows.unit)
    assert traffic.size == MOST_UNITS
    assert traffic[0] > traffic[-2]
