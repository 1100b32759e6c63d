"""Rows as CSV and Parquet: every number comes back."""

import csv
import io
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.common.statistics import Interval
from rotting.report.frames import csv_bytes, flat, frame, parquet_bytes
from tests.helpers.sections import table

pl = pytest.importorskip("polars")

CELLS = st.one_of(st.none(), st.floats(allow_nan=False), st.integers(-(2**53), 2**53).map(float))

READERS: dict[str, Callable[[str], Any]] = {"whole": int, "words": str, "truth": lambda cell: cell == "true"}

ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "number": CELLS,
            "whole": st.integers(-(2**63), 2**63 - 1),
            "words": st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), min_size=1),
            "truth": st.booleans(),
            "interval": st.builds(Interval, st.floats(allow_nan=False), CELLS, CELLS),
        }
    ),
    min_size=1,
    max_size=5,
)


@given(rows=ROWS)
def test_csv_and_parquet_give_back_every_number(rows: list[dict[str, Any]]) -> None:
    expected = [flat(row) for row in rows]
    assert pl.read_parquet(io.BytesIO(parquet_bytes(rows))).to_dicts() == expected
    read = list(csv.DictReader(io.StringIO(csv_bytes(rows).decode(), newline="")))
    for cells, row in zip(read, expected, strict=True):
        assert set(cells) == set(row)
        for name, value in row.items():
            back: Callable[[str], Any] = READERS.get(name, float)
            assert (back(cells[name]) if cells[name] else None) == value


def test_intervals_become_three_columns() -> None:
    data = frame(table().rows)
    assert data.columns == ["policy", "runs", "regret", "regret_low", "regret_high", "won", "paper"]
    assert data["regret_low"].to_list()[1] == 0.9
    assert data["regret_low"].null_count() == 1
    assert math.isnan(data["regret"].to_list()[-1])


def test_rows_may_lack_columns_and_mix_whole_numbers_with_others() -> None:
    data = frame([{"a": 1}, {"a": 2.5, "b": np.int64(3)}, {"c": np.float64(0.1)}])
    assert data.rows() == [(1.0, None, None), (2.5, 3, None), (None, None, 0.1)]


@pytest.mark.parametrize("values", [(1, "a"), (True, 1), (1.0, "a"), ([1], [2])])
def test_a_column_of_several_kinds_is_refused(values: tuple[Any, Any]) -> None:
    with pytest.raises(TypeError, match="column 'x' must hold numbers, strings or booleans only, got"):
        frame([{"x": value} for value in values])


def test_a_column_that_an_interval_would_hide_is_refused() -> None:
    with pytest.raises(ValueError, match="rows must have one value per column, got two called 'x_low'"):
        flat({"x": Interval(1.0, 0.5, 1.5), "x_low": 3})
