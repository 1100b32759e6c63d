"""Tables for people: aligned, escaped, and with the digits that intervals support."""

import csv
import io
from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.common.display.tables import (
    Column,
    FormattedTable,
    csv_bytes,
    flat,
    half_widths,
    interval_column,
    mean_cells,
    number_format,
    value_column,
)
from rotting.common.statistics import Interval, NoInterval
from tests.helpers.sections import table


def test_number_format_of_zeros() -> None:
    assert number_format([0.0, 0.0], [0.0]) == ".1f"


def test_numbers_have_two_digits_at_least_unless_they_are_much_smaller_than_others() -> None:
    assert number_format([6.2, 81.0], [40.0]) == ",.1f"
    assert number_format([0.3, 81.0], [40.0]) == ",.0f"


def test_asymmetric_intervals_count_with_half_of_their_width() -> None:
    assert half_widths([mean_cells(Interval(24.0, 16.0, 68.0))]) == [26.0]


def test_latex_escapes_what_latex_would_read() -> None:
    text = r"50 % & a_b #1 {x} $ \ ~ ^ <tag> 3.0 ± 0.1 [-1.5, -.5] RAW-UCB 1-2"
    table = FormattedTable(("one\ntwo",), (Column("head", lambda row: row["text"]),), [{"text": text}])
    written = table.to_latex().splitlines()
    assert written[0] == r"\begin{tabular}{l}"
    assert written[-2:] == [r"\par{\footnotesize one\par}", r"\par{\footnotesize two\par}"]
    assert written[4] == (
        r"50 \% \& a\_b \#1 \{x\} \$ \textbackslash{} \textasciitilde{} \textasciicircum{} $<$tag$>$ 3.0 $\pm$ 0.1 "
        r"[$-$1.5, $-$.5] RAW-UCB 1-2 \\"
    )


def test_a_frame_has_the_numbers_of_the_rows() -> None:
    rows = [{"policy": "a", "mean": 1.25, "ratio": Interval(2.0, None, None)}]
    frame = FormattedTable((), (), rows).to_pandas()
    assert frame.to_dict("records") == [{"policy": "a", "mean": 1.25, "ratio": 2.0, "ratio_low": None, "ratio_high": None}]


def test_the_first_columns_are_aligned_to_the_left_wherever_they_are_written() -> None:
    columns = tuple(Column(name, itemgetter(name)) for name in ("size", "policy", "regret"))
    rows = [{"size": "1", "policy": "UCB1", "regret": "2"}, {"size": "10", "policy": "RAW-UCB 1.4", "regret": "10"}]
    table = FormattedTable((), columns, rows, left=2)
    assert str(table).splitlines()[2:] == ["1     UCB1              2", "10    RAW-UCB 1.4      10"]
    assert "| :-- | :-- | --: |" in table.to_markdown()
    assert r"\begin{tabular}{llr}" in table.to_latex()
    assert table._repr_html_().count("text-align: left") == 2 * 3


def test_a_cell_stands_on_one_line_wherever_the_table_is_written() -> None:
    table = FormattedTable((), (value_column("arm"), value_column("pulls")), [{"arm": "two\nlines", "pulls": 12}])
    assert str(table) == repr(table) == "arm        pulls\n----------------\ntwo lines     12"
    assert "| two lines | 12 |" in table.to_markdown()
    assert table.rows[0]["arm"] == "two\nlines"


def test_notes_are_part_of_the_table_wherever_it_is_written() -> None:
    table = FormattedTable(
        ("above",), (interval_column("ratio"),), [{"ratio": Interval(2.0, 1.0, 4.0)}], notes=("a < b", "5 %")
    )
    assert str(table).splitlines()[-3:] == ["", "a < b", "5 %"]
    assert table.to_markdown().endswith("|\n\na < b  \n5 %")
    end = r"\end{tabular}"
    assert table.to_latex().partition(end)[2].splitlines()[1:] == [
        r"\par{\footnotesize above\par}",
        r"\par{\footnotesize a $<$ b\par}",
        r"\par{\footnotesize 5 \%\par}",
    ]
    assert table._repr_html_().endswith("</table><p>a &lt; b<br>5 %</p>")
    assert table.to_pandas().attrs == {"notes": ["a < b", "5 %"]}


def test_a_missing_interval_is_marked_and_explained_wherever_the_table_is_written() -> None:
    ratios = [Interval(2.0, 1.0, 4.0), *(NoInterval(3.0, why) for why in ("too few", "undefined", "too few"))]
    rows = [{"ratio": each} for each in ratios]
    table = FormattedTable((), (interval_column("ratio"),), rows)
    reason = "No 95 % interval: too few; undefined."
    assert str(table).splitlines()[2:] == ["2.0 [1.0, 4.0]", *["3.0 *"] * 3, "", f"* {reason}"]
    assert table.to_markdown().endswith(f"\\* {reason}")
    assert table.to_latex().count("3.0 * ") == 3
    assert reason.replace("%", r"\%") in table.to_latex()
    assert f"<p>* {reason}</p>" in table._repr_html_()
    assert table.to_pandas()["ratio_reason"].tolist()[1:] == ["too few", "undefined", "too few"]


CELLS = st.one_of(st.none(), st.floats(allow_nan=False), st.integers(-(2**53), 2**53).map(float))

READERS: dict[str, Callable[[str], Any]] = {"whole": int, "words": str, "truth": lambda cell: cell == "True"}

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
def test_a_csv_file_gives_back_every_number(rows: list[dict[str, Any]]) -> None:
    expected = [flat(row) for row in rows]
    read = list(csv.DictReader(io.StringIO(csv_bytes(rows).decode(), newline="")))
    for cells, row in zip(read, expected, strict=True):
        assert set(cells) == set(row)
        for name, value in row.items():
            back: Callable[[str], Any] = READERS.get(name, float)
            assert (back(cells[name]) if cells[name] else None) == value


def test_intervals_become_three_columns() -> None:
    rows = list(csv.DictReader(io.StringIO(csv_bytes(table().rows).decode())))
    assert list(rows[0]) == ["policy", "runs", "regret", "regret_low", "regret_high", "won", "paper"]
    assert [row["regret_low"] for row in rows][1::4] == ["0.9", ""]
    assert rows[-1]["regret"] == "nan"


def test_rows_may_lack_columns() -> None:
    assert csv_bytes([{"a": 1}, {"a": 2.5, "b": np.int64(3)}, {"c": np.float64(0.1)}]) == b"a,b,c\n1,,\n2.5,3,\n,,0.1\n"


def test_a_column_that_an_interval_would_hide_is_refused() -> None:
    with pytest.raises(ValueError, match="rows must have one value per column, got two called 'x_low'"):
        flat({"x": Interval(1.0, 0.5, 1.5), "x_low": 3})
