"""Cells of unit, arm, own pulls and time: every row is in one of them."""

import numpy as np

from rotting.logs.log import Log
from rotting.logs.unit_cells import MOST_ARMS, MOST_UNITS, TIME_BINS, count_cells, pull_bins, select_rows, time_bins


def some_log(rows: int = 3_000, n_arms: int = 3, n_units: int = 5) -> Log:
    rng = np.random.default_rng(0)
    columns = {"arm": rng.integers(0, n_arms, rows), "reward": rng.normal(size=rows), "u": rng.integers(0, n_units, rows)}
    return Log(columns, unit="u")


def test_every_row_is_in_the_cell_of_its_unit_its_arm_and_its_bins() -> None:
    rows = select_rows(some_log())
    cells, pulls, time = count_cells(rows), pull_bins(rows), time_bins(rows)
    for unit, arm, pull_bin, time_bin in [(0, 0, 3, 3), (4, 2, 20, 20), (1, 1, 10, 12)]:
        inside = (rows.unit == unit) & (rows.arm == arm) & (pulls == pull_bin) & (time == time_bin)
        found = [table[unit, arm, pull_bin, time_bin] for table in cells]
        assert np.allclose(found, [inside.sum(), rows.reward[inside].sum(), (rows.reward[inside] ** 2).sum()])
    assert [float(table.sum()) for table in cells[:1]] == [3_000]
    assert np.isclose(cells.rewards.sum(), rows.reward.sum())


def test_bins_of_time_hold_equally_many_rows_of_an_arm_and_the_first_bins_of_pulls_fewer() -> None:
    rows = select_rows(some_log())
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
    rows = select_rows(some_log(20_000, n_arms=40, n_units=950))
    assert (rows.n_arms, rows.n_units) == (MOST_ARMS, MOST_UNITS)
    traffic = np.bincount(rows.unit)
    assert traffic.size == MOST_UNITS
    assert traffic[0] > traffic[-2]
