"""The diagnosis of a log: the clock that is named, and the reasons."""

import re
from pathlib import Path

import numpy as np
import pytest

from rotting.errors import InvalidTypeError
from rotting.logs.diagnosis import diagnose
from rotting.logs.log import Log, positions
from tests.logs.test_clocks import made_log


@pytest.mark.parametrize(("truth", "decay"), [("", "none"), ("pulls", "pulls"), ("time", "time"), ("pulls and time", "both")])
def test_units_tell_the_clocks_apart(truth: str, decay: str) -> None:
    found = diagnose(made_log(truth, seed=4, rows=30_000))
    assert found.decay == decay
    assert found.reason


def test_a_clock_that_runs_faster_in_some_units_is_not_taken_for_two_clocks() -> None:
    log = made_log("", seed=4, rows=30_000)
    rng = np.random.default_rng(4)
    speed = rng.lognormal(0.0, 0.7, len(log.units))[log.unit]
    rewards = rng.poisson(5 * np.exp(-np.minimum(speed * np.arange(len(log)) / len(log), 1.0)))
    assert diagnose(Log({"arm": log.arm, "reward": rewards, "u": log.unit}, unit="u")).decay in {"time", "cannot tell"}


def test_a_single_early_click_names_no_clock() -> None:
    log = made_log("", seed=0, rows=600)
    for row in (7, 100, 300):
        click = (np.arange(len(log)) == row).astype(float)
        assert diagnose(Log({"arm": log.arm, "reward": click, "u": log.unit}, unit="u")).decay not in {"pulls", "time", "both"}


def test_units_that_prefer_some_arms_are_not_taken_for_wear() -> None:
    log = made_log("", seed=4, rows=30_000)
    rng = np.random.default_rng(4)
    taste = rng.lognormal(0.0, 0.3, (len(log.units), len(log.arms)))[log.unit, log.arm]
    assert diagnose(Log({"arm": log.arm, "reward": rng.poisson(5 * taste), "u": log.unit}, unit="u")).decay == "none"


@pytest.mark.parametrize("truth", ["pulls", "time", "pulls and time"])
def test_without_units_no_clock_is_named(truth: str) -> None:
    log = made_log(truth, seed=4)
    found = diagnose(Log({"arm": log.arm, "reward": log.reward}))
    assert found.decay == "cannot tell"
    assert "unit" in found.reason
    assert {each.verdict for each in found.arms} == {"wears out"}


def test_steady_arms_without_units_do_not_wear_out() -> None:
    log = made_log("", seed=5)
    found = diagnose(Log({"arm": log.arm, "reward": log.reward}))
    assert (found.decay, {each.verdict for each in found.arms}) == ("none", {"steady"})


def test_one_worn_arm_among_steady_ones_is_not_called_none() -> None:
    rng = np.random.default_rng(0)
    arm = rng.integers(0, 20, 40_000)
    level = np.where(arm == 7, np.linspace(1.0, 0.3, arm.size), 1.0)
    found = diagnose(Log({"arm": arm, "reward": level + rng.normal(0.0, 0.2, arm.size)}))
    assert found.decay == "cannot tell"
    assert {each.name for each in found.arms if each.verdict == "wears out"} == {7}


@pytest.mark.parametrize(
    "log",
    [
        Log([("a", 1.0)]),
        Log([("a", None)]),
        Log([("a", 0.0)] * 200),
        Log({"arm": ["a"] * 90, "reward": [1.0] * 90, "u": [k % 9 for k in range(90)]}, unit="u"),
        Log({"arm": ["a"] * 90, "reward": [None] * 90, "u": [k % 9 for k in range(90)]}, unit="u"),
        Log({"arm": list(range(90)), "reward": [0.0] * 90, "u": [k % 9 for k in range(90)]}, unit="u"),
    ],
    ids=["one row", "no reward", "zeros", "constant with units", "no reward with units", "an arm a row"],
)
def test_odd_logs_get_a_verdict_and_a_table(log: Log) -> None:
    found = diagnose(log)
    assert found.decay in {"none", "cannot tell"}
    assert found.reason in str(found.table())
    assert found.reason in found._repr_html_()


def test_the_table_and_the_picture_show_every_arm(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    found = diagnose(made_log("pulls", seed=6))
    assert [row["name"] for row in found.table().rows] == [each.name for each in found.arms]
    picture = found.plot(tmp_path / "arms.png")
    assert len(picture.axes) == 6  # over pulls and over time
    assert (tmp_path / "arms.png").stat().st_size > 10_000


def test_the_table_begins_with_the_verdict_and_the_change_and_has_the_digits_of_its_intervals() -> None:
    rng = np.random.default_rng(0)
    arm = rng.integers(0, 2, 40_000)
    rates = np.where(arm == 0, np.linspace(0.12, 0.02, arm.size), 0.0342)
    table = diagnose(Log({"arm": arm, "reward": rng.random(arm.size) < rates})).table()
    assert [each.head for each in table.columns] == ["arm", "verdict", "change [95 % interval]", "launch", "recent", "pulls"]
    for row in table.rows:
        _, _, *numbers, pulls = (column.write(row) for column in table.columns)
        assert {len(each.partition(".")[2]) for each in re.findall(r"[\d.]+", " ".join(numbers))} == {4}
        assert float(numbers[0].split()[0]) == pytest.approx(row["recent"] - row["launch"], abs=5e-5)
        assert pulls == f"{row['pulls']:,}"


@pytest.mark.parametrize("truth", ["", "time"])
@pytest.mark.parametrize("shift", [0.0, 3.0])  # with a shift, some rewards are negative
def test_rewards_whose_squares_underflow_get_the_same_verdicts(truth: str, shift: float) -> None:
    log = made_log(truth, seed=5, rows=2_000)
    usual, tiny = (
        diagnose(Log({"arm": log.arm, "reward": factor * (log.reward - shift), "u": log.unit}, unit="u"))
        for factor in (1.0, 2.0**-700)
    )
    assert (tiny.decay, tiny.reason) == (usual.decay, usual.reason)
    assert tiny.change == pytest.approx(usual.change)
    for arm, same in zip(tiny.arms, usual.arms, strict=True):
        assert arm.verdict == same.verdict
        assert 2.0**700 * np.array(arm[2:6]) == pytest.approx(np.array(same[2:6]))


def test_another_object_is_refused() -> None:
    with pytest.raises(InvalidTypeError, match="log must be a Log, got 3"):
        diagnose(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("along", ["pulls", "time"])
def test_units_of_equal_traffic_name_no_clock(along: str) -> None:
    """They meet every arm at the same rates, so that pulls are time."""
    rng = np.random.default_rng(2)
    rows, n_units, n_arms = 24_000, 20, 4
    unit, arm = np.arange(rows) % n_units, rng.integers(0, n_arms, rows)
    own = positions(unit * n_arms + arm) / (rows / n_units / n_arms)
    wear = own if along == "pulls" else np.arange(rows) / rows
    rewards = rng.poisson(2.0 * np.exp(-1.5 * wear))
    diagnosis = diagnose(Log({"arm": arm, "reward": rewards, "unit": unit}, unit="unit"))
    assert diagnosis.entanglement > 0.9
    assert diagnosis.decay == "cannot tell"
    assert "met the arms at rates too alike" in str(diagnosis.log.describe())
