"""Which clock arms wear out along: parts with exact answers, and logs whose truth is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.logs.clocks import compare_clocks, entanglement, falling
from rotting.logs.log import Log

UNITS = 12


def made_log(truth: str, seed: int, rows: int = 12_000, missing: float = 0.0) -> Log:
    """Return a log of counts with units of unequal traffic, whose three arms wear out along the clocks in `truth`."""
    rng = np.random.default_rng(seed)
    traffic = 1.5 ** -np.arange(UNITS)
    unit = rng.choice(UNITS, rows, p=traffic / traffic.sum())
    arm = rng.integers(0, 3, rows)
    log = Log({"arm": arm, "reward": np.zeros(rows), "unit": unit}, unit="unit")
    wear = np.zeros(rows)
    if "pulls" in truth:
        wear = wear + np.minimum(log.own_pulls / 400, 1.0)
    if "time" in truth:
        wear = wear + np.arange(rows) / rows
    level = (1 + np.arange(UNITS) % 3)[unit] * (2.0 + arm)
    reward = rng.poisson(level * np.exp(-wear)).astype(float)
    reward[rng.random(rows) < missing] = np.nan
    return Log({"arm": arm, "reward": reward, "unit": unit}, unit="unit")


@pytest.mark.parametrize(("truth", "share"), [("pulls", 0.0), ("time", 1.0)])
def test_the_share_of_time_is_that_of_the_truth(truth: str, share: float) -> None:
    found = compare_clocks(made_log(truth, seed=1), multiplicative=True)
    assert abs(found.share_of_time - share) < 4 * found.error
    assert found.error < 0.25
    matters, does_not = (found.pulls, found.time) if truth == "pulls" else (found.time, found.pulls)
    assert matters.score > 5
    assert abs(does_not.score) < 4


@pytest.mark.parametrize(("truth", "share"), [("pulls", 0.0), ("time", 1.0)])
def test_units_may_add_to_rewards_instead_of_multiplying_them(truth: str, share: float) -> None:
    log = made_log(truth, seed=1)
    rng = np.random.default_rng(1)
    wear = np.minimum(log.own_pulls / 400, 1.0) if truth == "pulls" else np.arange(len(log)) / len(log)
    reward = log.unit % 4 - (1 + log.arm) * wear + rng.normal(0.0, 0.5, len(log))
    found = compare_clocks(Log({"arm": log.arm, "reward": reward, "u": log.unit}, unit="u"), multiplicative=False)
    assert abs(found.share_of_time - share) < 4 * found.error
    assert found.error < 0.25


def test_both_clocks_matter_if_both_wear() -> None:
    found = compare_clocks(made_log("pulls and time", seed=2), multiplicative=True)
    assert min(found.pulls.score, found.time.score) > 5
    assert 0.2 < found.share_of_time < 0.8


def test_nothing_is_found_where_nothing_wears() -> None:
    """20 logs, two scores each: one above 4 standard errors by Student's t has a probability below 1 %."""
    scores = [compare_clocks(made_log("", seed, rows=3_000), True)[:2] for seed in range(20)]
    assert max(test.score for pair in scores for test in pair) < 4.5


def test_missing_rewards_count_as_pulls_and_change_little() -> None:
    found = compare_clocks(made_log("pulls", seed=3, missing=0.3), multiplicative=True)
    assert abs(found.share_of_time) < 4 * found.error


def test_many_units_are_joined() -> None:
    rng = np.random.default_rng(0)
    log = Log({"arm": rng.integers(0, 2, 5_000), "reward": rng.random(5_000), "u": rng.integers(0, 900, 5_000)}, unit="u")
    assert compare_clocks(log, multiplicative=True).units == 100


def test_time_explains_all_pulls_of_a_single_unit_and_few_of_unequal_ones() -> None:
    log = made_log("", seed=0)
    alone = Log({"arm": log.arm, "reward": log.reward})
    assert entanglement(alone) > 0.95
    assert entanglement(log) < 0.7


values = st.lists(st.floats(-5, 5), min_size=1, max_size=12)


@given(values, st.integers(0, 2**32 - 1))
def test_the_falling_sequence_is_the_closest_one(numbers: list[float], seed: int) -> None:
    given_values = np.array(numbers)
    weights = np.random.default_rng(seed).uniform(0.1, 3.0, given_values.size)
    fitted = falling(given_values, weights)
    assert (np.diff(fitted) <= 1e-12).all()
    # Optimality: the residuals sum to 0 over each constant piece, and no prefix of a piece would rather be lower.
    for level in np.unique(fitted):
        piece = fitted == level
        assert abs((weights * (given_values - fitted))[piece].sum()) < 1e-9
        assert (np.cumsum((weights * (given_values - fitted))[piece]) < 1e-9).all()


@given(values)
def test_a_falling_sequence_stays_as_it_is(numbers: list[float]) -> None:
    ordered = np.sort(numbers)[::-1]
    assert np.allclose(falling(ordered, np.ones(ordered.size)), ordered, rtol=0, atol=1e-12)
