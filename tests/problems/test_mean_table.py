"""The run-length encoded tables equal dense ones, cell by cell, and cost memory per change only."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.problems import General, Piecewise, Problem, Product, Rested, Restless, Sum
from rotting.problems.arms import Arm
from rotting.problems.mean_table import Means, Rise, first_rise, join, lookup, mean_at, mean_bounds, merge, seek

eighths = st.integers(-16, 16).map(lambda k: k / 8)  # dyadic: sums and products are exact
few = st.sampled_from([-1.0, 0.0, 0.5])  # repeats, so that pieces merge


@st.composite
def arms(draw: st.DrawFn, horizon: int) -> tuple[Arm, list[list[float]]]:
    """Return an arm and its dense table [t - 1][n]."""
    values = st.lists(st.one_of(eighths, few), min_size=horizon, max_size=horizon)
    a, b = draw(values), draw(values)
    kind = draw(st.sampled_from([Rested, Restless, Sum, Product, General]))
    rounds = range(horizon)
    if kind is Rested:
        return Rested(b), [[b[n] for n in range(t + 1)] for t in rounds]
    if kind is Restless:
        return Restless(a), [[a[t] for n in range(t + 1)] for t in rounds]
    if kind is Sum:
        return Sum(b, a), [[b[n] + a[t] for n in range(t + 1)] for t in rounds]
    if kind is Product:
        return Product(b, a), [[b[n] * a[t] for n in range(t + 1)] for t in rounds]
    dense = [[a[t] * b[n] + b[t - n] for n in range(t + 1)] for t in rounds]
    return General(lambda t, n: dense[t - 1][n]), dense


Case = tuple[Problem, list[list[list[float]]], int]
"""A problem, the mean of each of its arms after n pulls in round t, and the horizon."""


@st.composite
def tables(draw: st.DrawFn) -> Case:
    horizon = draw(st.integers(1, 6))
    drawn = draw(st.lists(arms(horizon), min_size=1, max_size=4))
    return Problem([arm for arm, _ in drawn], horizon=horizon), [dense for _, dense in drawn], horizon


def in_game(m: Means, i: int, t: int, n: int) -> float:
    """Read a mean as the game does: forward from the arm's first pieces."""
    kt = seek(m.round_starts, int(m.round_first[i]), int(m.round_first[i + 1]), t)
    kn = seek(m.pull_starts, int(m.pull_first[i]), int(m.pull_first[i + 1]), n)
    return mean_at(m, i, kt, kn)


@given(st.lists(st.integers(1, 9), max_size=40), st.data())
def test_a_piece_is_found_from_any_piece_before_it(gaps: list[int], data: st.DataObject) -> None:
    starts = np.cumsum([0, *gaps])
    x = data.draw(st.integers(0, int(starts[-1]) + 3))
    end = data.draw(st.integers(1, starts.size))
    expected = max(k for k in range(end) if starts[k] <= x)
    for k in range(expected + 1):
        assert seek(starts, k, end, x) == expected


@given(tables())
def test_every_cell_equals_the_dense_table(case: Case) -> None:
    problem, dense, horizon = case
    m = problem.means(horizon)
    for i, table in enumerate(dense):
        for t in range(1, horizon + 1):
            for n in range(t):
                assert in_game(m, i, t, n) == lookup(m, i, t, n) == problem.mean(i, t, n) == table[t - 1][n]


@given(tables())
def test_bounds_are_those_of_the_cells_a_game_can_meet(case: Case) -> None:
    problem, dense, horizon = case
    for i, table in enumerate(dense):
        cells = [value for row in table for value in row]
        assert mean_bounds(problem.means(horizon), i, horizon) == (min(cells), max(cells))


@given(tables())
def test_first_rise_is_found_where_the_dense_table_has_one(case: Case) -> None:
    problem, dense, horizon = case
    for i, table in enumerate(dense):
        pulls = [
            Rise(i, "pulls", t, n, table[t - 1][n - 1], table[t - 1][n])
            for n in range(1, horizon)
            for t in range(n + 1, horizon + 1)
            if table[t - 1][n] > table[t - 1][n - 1]
        ]
        rounds = [
            Rise(i, "rounds", t, n, table[t - 2][n], table[t - 1][n])
            for t in range(2, horizon + 1)
            for n in range(t - 1)
            if table[t - 1][n] > table[t - 2][n]
        ]
        assert first_rise(problem.means(horizon), i, horizon) == next(iter(pulls + rounds), None)


def test_layout_of_arms_side_by_side() -> None:
    m = join(
        [
            Rested([1.0, 1.0, 0.5]).means(3),
            Restless([2.0, 1.0, 1.0]).means(3),
            General(lambda t, n: 10 * t + n).means(3),
            Product([1.0, 0.5, 0.5], [4.0, 4.0, 4.0]).means(3),
        ]
    )
    assert m.kinds.tolist() == [0, 0, 2, 1]
    assert m.on_rounds.tolist() == [0, 1, 0, 0]
    assert m.round_starts.tolist() == [1, 1, 2, 1, 2, 3, 1]
    assert m.round_values.tolist() == [0, 2, 1, 0, 0, 0, 4]
    assert m.round_first.tolist() == [0, 1, 3, 6, 7]
    assert m.pull_starts.tolist() == [0, 2, 0, 0, 1, 2, 0, 1]
    assert m.pull_values.tolist() == [1, 0.5, 0, 0, 0, 0, 1, 0.5]
    assert m.pull_first.tolist() == [0, 2, 3, 6, 8]
    np.testing.assert_array_equal(m.grid, [10, np.nan, np.nan, 20, 21, np.nan, 30, 31, 32])
    assert m.grid_first.tolist() == [0, 0, 0, 9, 9]
    for name, column in m._asdict().items():
        assert column.dtype == (np.float64 if name in {"round_values", "pull_values", "grid"} else np.int64)
        assert not column.flags.writeable


def test_merge_keeps_the_first_of_equal_neighbours() -> None:
    starts, values = merge(np.arange(6), np.array([1.0, 1.0, 2.0, 2.0, 1.0, 1.0]))
    assert (starts.tolist(), values.tolist()) == ([0, 2, 4], [1.0, 2.0, 1.0])


@pytest.mark.parametrize("clock", ["rested", "restless"])
@pytest.mark.parametrize("dense", [False, True], ids=["pieces", "table of every round"])
def test_a_night_of_144_values_costs_144_pieces_an_arm(clock: str, *, dense: bool) -> None:
    horizon, pieces, n_arms = 200_000, 144, 5
    starts = np.arange(pieces) * horizon // pieces
    levels = np.linspace(0.9, 0.1, pieces)
    lengths = np.diff(starts, append=horizon)
    entry = np.repeat(levels, lengths) if dense else Piecewise(levels, starts)
    build = Problem.rested if clock == "rested" else Problem.restless
    problem = build([entry] * n_arms, horizon=horizon)
    elements = sum(column.size for column in problem.means())
    assert elements == n_arms * (2 * (pieces + 1) + 2) + 3 * (n_arms + 1)
    for k in (0, 1, 70, 143):
        tick = int(starts[k])
        assert problem.mean(2, t=horizon if clock == "rested" else tick + 1, n=0 if clock == "restless" else tick) == levels[k]


def test_a_rise_is_told_at_a_pull_that_only_the_round_before_it_allows() -> None:
    """After two pulls, from round 3 to round 4, and nowhere else; in round 2 nobody has pulled twice."""
    dense = [[5.0], [5.0, 4.0], [4.0, 3.0, 0.0], [4.0, 3.0, 1.0, 0.0]]
    problem = Problem([General(lambda t, n: dense[t - 1][n])], horizon=4)
    assert first_rise(problem.means(4), 0, 4) == Rise(0, "rounds", 4, 2, 0.0, 1.0)


def test_a_rise_is_found_where_the_factor_of_the_rounds_is_least_before_the_end() -> None:
    problem = Problem([Product([1.0, 0.5, 0.5, 0.5], [1.0, 1.0, -1.0, 1.0])], horizon=4)
    assert first_rise(problem.means(4), 0, 4) == Rise(0, "pulls", 3, 1, -1.0, -0.5)
