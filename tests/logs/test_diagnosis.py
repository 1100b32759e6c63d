"""The diagnosis of a log: the clock that is named, and the reasons."""

import math
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import rotting
from rotting.common.rules import LARGEST
from rotting.errors import InvalidTypeError
from rotting.logs.diagnosis import BINS, FEWEST_REWARDS, GRID, arm_figure, arm_trends, binned, diagnose, grid_up_to
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


def verdicts(rows: int, **curves: tuple[float, float]) -> dict[object, str]:
    """Return the verdicts on arms whose means go from the first to the second number."""
    rng = np.random.default_rng(0)
    columns: dict[str, list[object]] = {"arm": [], "reward": []}
    for name, (first, last) in curves.items():
        columns["arm"] += [name] * rows
        columns["reward"] += list(np.linspace(first, last, rows) + rng.normal(0.0, 0.3, rows))
    return {each.name: each.verdict for each in arm_trends(Log(columns))}


def test_each_verdict_is_given() -> None:
    found = verdicts(4_000, worn=(1.0, 0.4), fresh=(1.0, 1.0), better=(0.5, 1.0))
    assert found == {"worn": "wears out", "fresh": "steady", "better": "rises"}
    assert verdicts(60, worn=(1.0, 0.6)) == {"worn": "too few"}


def test_the_largest_rewards_are_judged_like_others() -> None:
    curves = [(arm, mean) for k in range(200) for arm, mean in (("worn", 200 - k), ("fresh", 100 + k % 2))]
    plain, large = (arm_trends(Log([(arm, scale * mean) for arm, mean in curves])) for scale in (1.0, LARGEST / 200))
    assert [each.verdict for each in plain] == ["wears out", "steady"] == [each.verdict for each in large]


def test_an_arm_with_few_pulls_has_no_numbers() -> None:
    (trend,) = arm_trends(Log([("a", 1.0)] * (FEWEST_REWARDS - 1)))
    assert trend.verdict == "too few"
    assert all(map(math.isnan, (trend.launch, trend.recent, trend.low, trend.high)))


def test_pulls_without_a_reward_count_as_pulls_and_are_not_judged() -> None:
    known = [("a", 1.0 - k / 100) for k in range(100)]
    (without,) = arm_trends(Log(known))
    (trend,) = arm_trends(Log([*known, *[("a", None)] * 3]))
    assert (without.pulls, trend.pulls) == (100, 103)
    assert trend._replace(pulls=100) == without
    rows = [("a", 1.0 if k % 2 else None) for k in range(2 * (FEWEST_REWARDS - 1))]
    (few,) = arm_trends(Log(rows))
    assert (few.pulls, few.verdict) == (len(rows), "too few")
    assert math.isnan(few.launch)


@pytest.mark.parametrize("value", [0.0, 3.0])
def test_constant_rewards_are_steady(value: float) -> None:
    (trend,) = arm_trends(Log([("a", value)] * 100))
    assert (trend.verdict, trend.low, trend.high) == ("steady", 0.0, 0.0)


def test_launch_and_recent_are_quarters_of_the_reached_number() -> None:
    rewards = np.arange(100.0)
    (trend,) = arm_trends(Log([("a", each) for each in rewards]))
    reached = max(n for n in grid_up_to(100) if n <= 100)
    assert trend.launch == rewards[: reached // 4].mean()
    assert trend.recent == rewards[reached - reached // 4 : reached].mean()


def test_the_grid_leaves_out_few_pulls() -> None:
    grid = grid_up_to(100_000)
    assert grid[0] == FEWEST_REWARDS
    assert all(n % 4 == 0 for n in grid)
    assert all(b / a < GRID + 4 / a for a, b in pairwise(grid))
    assert 100_000 / grid[-1] < GRID + 1e-3


def test_a_learning_policy_does_not_make_steady_arms_look_worn() -> None:
    """UCB1 leaves an arm after bad luck. If an alarm has a probability of 5 %, 12 or more in 60 logs have one below 1e-4."""
    alarms = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        bandit = rotting.Bandit(rotting.UCB1(sigma=0.3), arms=range(5), seed=seed)
        rows = []
        for _ in range(400):
            arm = bandit.pull()
            reward = float(0.5 + 0.02 * arm + rng.normal(0.0, 0.5))
            bandit.update(arm, reward)
            rows.append((arm, reward))
        alarms += any(each.verdict == "wears out" for each in arm_trends(Log(rows)))
    assert alarms < 12


def test_bins_hold_equally_many_rows_and_their_means() -> None:
    clock, rewards = np.arange(240.0)[::-1], np.arange(240.0)
    curve = binned(clock, rewards, "a")
    assert curve.x.tolist() == [9.5 + 20 * k for k in range(BINS)]
    assert curve.y.tolist() == [229.5 - 20 * k for k in range(BINS)]
    assert curve.low is not None
    assert (curve.low < curve.y).all()


def test_a_figure_has_two_panels_for_each_arm_with_a_reward() -> None:
    log = Log([("a", 1.0), ("b", None), ("c", 0.5)])
    assert [panel.title for panel in arm_figure(log).panels] == [
        *("a: over its pulls", "a: over time"),
        *("c: over its pulls", "c: over time"),
    ]


def test_dates_are_drawn_in_days() -> None:
    log = Log({"arm": ["a"] * 2, "reward": [1.0, 0.0], "t": ["2026-05-01", "2026-05-03"]}, time="t")
    panel = arm_figure(log).panels[1]
    assert (panel.x_label, panel.curves[0].x.tolist()) == ("days since the first row", [1.0])
