"""The model of wear: its fit is the one that a matrix with a row for each reward gives."""

import numpy as np
import pytest

from rotting.common.arrays import Floats
from rotting.logs.log import Log
from rotting.logs.unit_cells import PULL_BINS, TIME_BINS, count_cells, pull_bins, select_rows, time_bins
from rotting.logs.wear_model import COEFFICIENTS, CONVERGED, UNKNOWN, WearModel, step_prior

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


def prior(model: WearModel, start: Floats) -> tuple[Floats, Floats]:
    """Return the means and the precisions of all coefficients."""
    means, variances = step_prior(SCALE, SCALE)
    means, precisions = np.tile(means, (N_ARMS, 1)), np.concatenate([[UNKNOWN], 1 / variances[1:]])
    means[:, 0] = start + SCALE
    units = N_UNITS - 1
    return np.concatenate([np.zeros(units), means.ravel()]), np.concatenate([[UNKNOWN] * units, *[precisions] * N_ARMS])


@pytest.mark.parametrize("counted", [False, True])
def test_units_that_add_are_fitted_by_least_squares(counted: bool) -> None:
    log = some_log(counted)
    model = WearModel(count_cells(select_rows(log)), multiplicative=False, counted=counted)
    (x, y), (mean, precision) = design(log), prior(model, model.levels)
    weight = 1 / model.levels[select_rows(log).arm] if counted else np.ones(y.size)
    information = x.T @ (weight[:, None] * x)
    posterior = information / model.spread + np.diag(precision)
    expected = np.linalg.solve(posterior, x.T @ (weight * y) / model.spread + precision * mean)
    found = model.fit(SCALE)
    assert np.allclose(found.coefficients, expected, atol=1e-6)
    assert np.allclose(found.information, information)
    assert np.allclose(found.linear, x.T @ (weight * y))


@pytest.mark.parametrize("counted", [False, True])
def test_units_that_multiply_are_fitted_at_the_mode(counted: bool) -> None:
    log = some_log(counted)
    model = WearModel(count_cells(select_rows(log)), multiplicative=True, counted=counted)
    (x, y), (mean, precision) = design(log), prior(model, np.log(model.levels))
    found = model.fit(SCALE)
    fitted = np.exp(x @ found.coefficients)
    slope = x.T @ ((y - fitted) * (1.0 if counted else fitted))
    information = x.T @ ((fitted if counted else fitted**2)[:, None] * x)
    uphill = slope / model.spread - precision * (found.coefficients - mean)
    assert np.abs(np.linalg.solve(information / model.spread + np.diag(precision), uphill)).max() < CONVERGED
    assert np.allclose(found.information, information)
    assert np.allclose(found.linear, slope + information @ found.coefficients)


def test_the_dispersion_is_that_of_rewards_and_grows_if_units_differ_in_their_taste() -> None:
    log = some_log(counted=True)
    alike = WearModel(count_cells(select_rows(log)), multiplicative=True, counted=True).fit(SCALE).dispersion
    assert 0.9 < alike < 1.2  # Poisson: 1
    rewards = log.reward * (1 + 2 * ((log.unit + log.arm) % 2))
    taste = Log({"arm": log.arm, "reward": rewards, "u": log.unit}, unit="u")
    assert WearModel(count_cells(select_rows(taste)), multiplicative=True, counted=True).fit(SCALE).dispersion > 10 * alike


def test_units_are_unlike_if_arms_wear_out_faster_in_some_of_them() -> None:
    log = some_log(counted=True)
    assert abs(WearModel(count_cells(select_rows(log)), multiplicative=True, counted=True).fit(SCALE).unlike) < 2.5
    late = np.arange(len(log)) > len(log) / 2
    faster = Log({"arm": log.arm, "reward": log.reward * np.where(late & (log.unit == 0), 0.2, 1.0), "u": log.unit}, unit="u")
    assert WearModel(count_cells(select_rows(faster)), multiplicative=True, counted=True).fit(SCALE).unlike > 4


def test_curves_of_a_scale_fall_by_it_on_average() -> None:
    means, variances = step_prior(0.5, 0.0)
    assert np.isclose(means.sum(), -0.5)
    assert np.isclose(variances.sum(), 0.25)
    assert (means[PULL_BINS:] == 0).all()
    assert means.size == PULL_BINS + TIME_BINS - 1
