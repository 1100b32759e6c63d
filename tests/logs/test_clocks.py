"""Which clock arms wear out along: logs whose truth is known."""

from types import ModuleType

import numpy as np
import pytest

from rotting.logs import clocks, wear_model
from rotting.logs.clocks import Clock, Hypothesis, compare_clocks, effective_rewards, entanglement
from rotting.logs.log import Log

UNITS = 12
NAMES: dict[str, Hypothesis] = {"": "none", "pulls": "pulls", "time": "time", "pulls and time": "both"}


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


@pytest.mark.parametrize("truth", ["pulls", "time", "pulls and time", ""])
def test_the_truth_is_by_far_the_most_probable(truth: str) -> None:
    found = compare_clocks(made_log(truth, seed=1, rows=30_000)).probabilities
    assert list(found) == ["none", "pulls", "time", "both"]
    assert np.isclose(sum(found.values()), 1.0)
    assert found[NAMES[truth]] > 0.99


NUMERICS = {
    (wear_model, "MAX_ITERATIONS"): (15, 60),
    (wear_model, "CONVERGED"): (1e-3, 1e-5),
    (wear_model, "TASTE_ITERATIONS"): (2, 6),
    (wear_model, "MAX_STEP"): (0.5, 2.0),
    (wear_model, "MIN_RELATIVE"): (1e-2, 1e-4),
    (wear_model, "MIN_VARIANCE"): (1e-5, 1e-7),
    (wear_model, "FLAT_PRECISION"): (1e-5, 1e-7),
    (wear_model, "MAX_LOG_MEAN"): (25.0, 100.0),
    (clocks, "NEGLIGIBLE"): (1e-5, 1e-7),
    (clocks, "RIDGE"): (1e-8, 1e-10),
}


@pytest.mark.parametrize(("module", "name"), NUMERICS)
def test_the_constants_of_the_numerics_do_not_decide(monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str) -> None:
    for truth in ("", "pulls and time"):
        log = made_log(truth, seed=3, rows=1_500)
        usual = list(compare_clocks(log).probabilities.values())
        for value in NUMERICS[module, name]:
            with monkeypatch.context() as patched:
                patched.setattr(module, name, value)
                assert np.allclose(list(compare_clocks(log).probabilities.values()), usual, rtol=0.0, atol=0.01)


@pytest.mark.parametrize("truth", ["pulls", "time"])
def test_units_may_add_to_rewards_instead_of_multiplying_them(truth: Clock) -> None:
    log = made_log(truth, seed=1)
    rng = np.random.default_rng(1)
    wear = np.minimum(log.own_pulls / 400, 1.0) if truth == "pulls" else np.arange(len(log)) / len(log)
    reward = log.unit % 4 - (1 + log.arm) * wear + rng.normal(0.0, 0.5, len(log))
    found = compare_clocks(Log({"arm": log.arm, "reward": reward, "u": log.unit}, unit="u"))
    assert found.probabilities[truth] > 0.99


def test_the_scale_of_rewards_does_not_matter() -> None:
    log = made_log("pulls", seed=2, rows=4_000)
    larger = Log({"arm": log.arm, "reward": 1024.0 * log.reward, "u": log.unit}, unit="u")
    small, large = compare_clocks(log), compare_clocks(larger)
    assert np.allclose(list(small.probabilities.values()), list(large.probabilities.values()), atol=1e-6)


@pytest.mark.parametrize("level", [1e9, 1e12, -1e9])
def test_noise_around_a_level_far_from_zero_is_no_wear(level: float) -> None:
    log = made_log("", seed=2, rows=600)
    reward = level + np.random.default_rng(2).normal(size=len(log))
    found = compare_clocks(Log({"arm": log.arm, "reward": reward, "u": log.unit}, unit="u"))
    assert max(found.probabilities, key=found.probabilities.__getitem__) == "none"


def test_rewards_whose_squares_are_too_small_for_a_number_are_compared() -> None:
    log = made_log("pulls", seed=2, rows=4_000)
    tiny = Log({"arm": log.arm, "reward": 2.0**-700 * log.reward, "u": log.unit}, unit="u")
    assert compare_clocks(tiny).probabilities == compare_clocks(log).probabilities


def test_falls_are_positive_and_rises_are_negative() -> None:
    assert compare_clocks(made_log("time", seed=3)).falls["time"] > 0.2
    log = made_log("", seed=3)
    rng = np.random.default_rng(3)
    rising = Log({"arm": log.arm, "reward": rng.poisson(3 * np.exp(np.arange(len(log)) / len(log))), "u": log.unit}, unit="u")
    assert compare_clocks(rising).falls["time"] < -0.2


def test_a_second_clock_is_not_named_where_rewards_are_few() -> None:
    """With 300 rows nothing is sure, and the simpler explanations are the more probable ones."""
    chances = [compare_clocks(made_log("", seed, rows=300)).probabilities for seed in range(10)]
    assert max(each["both"] for each in chances) < 0.5


@pytest.mark.parametrize("clock", ["pulls", "time"])
def test_rewards_without_noise_name_their_clock(clock: Clock) -> None:
    log = made_log("", seed=5)
    where = np.minimum(log.own_pulls / 400, 1.0) if clock == "pulls" else np.arange(len(log)) / len(log)
    for reward in (np.exp(-where), np.where(where < 0.5, 1.0, 0.5), -2.0 * where):
        found = compare_clocks(Log({"arm": log.arm, "reward": reward, "u": log.unit}, unit="u"))
        assert found.probabilities[clock] > 0.99


def test_arms_that_always_pay_the_same_do_not_wear_out() -> None:
    log = made_log("", seed=5, rows=500)
    found = compare_clocks(Log({"arm": log.arm, "reward": log.arm, "u": log.unit}, unit="u"))
    assert found.probabilities == {"none": 1.0, "pulls": 0.0, "time": 0.0, "both": 0.0}


def test_missing_rewards_count_as_pulls_and_change_little() -> None:
    assert compare_clocks(made_log("pulls", seed=3, missing=0.3)).probabilities["pulls"] > 0.99


def test_an_arm_without_a_single_click_changes_little() -> None:
    log = made_log("time", seed=4, rows=30_000)
    never = np.arange(len(log)) % 50 == 0
    arm = np.where(never, 3, log.arm)
    found = compare_clocks(Log({"arm": arm, "reward": np.where(never, 0.0, log.reward), "u": log.unit}, unit="u"))
    assert found.probabilities["time"] > 0.99


def test_clicks_count_one_by_one_and_an_outlier_counts_as_one_reward() -> None:
    row = np.arange(1_000)
    for rewards, number in ((row % 100 == 0, 10), (np.where(row == 7, 1e9, 0.5), 1), (np.ones(row.size), 0)):
        assert round(effective_rewards(Log({"arm": np.zeros(row.size, int), "reward": rewards}))) == number


def test_time_explains_all_pulls_of_a_single_unit_and_few_of_unequal_ones() -> None:
    log = made_log("", seed=0)
    alone = Log({"arm": log.arm, "reward": log.reward})
    assert entanglement(alone) > 0.95
    assert entanglement(log) < 0.7
