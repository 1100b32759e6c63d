"""Tables for people: aligned, escaped, and with the digits that intervals support."""

from operator import itemgetter

from rotting.common.statistics import Interval, NoInterval
from rotting.display.tables import Column, FormattedTable, half_widths, interval_column, mean_cells, number_format, value_column


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
