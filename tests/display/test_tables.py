"""Tables for people: aligned, escaped, and with the digits that intervals support."""

from operator import itemgetter

from rotting.common.statistics import Interval
from rotting.display.tables import Column, Table, number_format


def test_number_format_of_zeros() -> None:
    assert number_format([0.0, 0.0], [0.0]) == ".1f"


def test_latex_escapes_what_latex_would_read() -> None:
    text = r"50 % & a_b #1 {x} $ \ ~ ^ <tag> 3.0 ± 0.1 [-1.5, -.5] RAW-UCB 1-2"
    table = Table(("one\ntwo",), (Column("head", lambda row: row["text"]),), [{"text": text}])
    written = table.to_latex().splitlines()
    assert written[:3] == ["% one", "% two", r"\begin{tabular}{l}"]
    assert written[6] == (
        r"50 \% \& a\_b \#1 \{x\} \$ \textbackslash{} \textasciitilde{} \textasciicircum{} $<$tag$>$ 3.0 $\pm$ 0.1 "
        r"[$-$1.5, $-$.5] RAW-UCB 1-2 \\"
    )


def test_a_frame_has_the_numbers_of_the_rows() -> None:
    rows = [{"policy": "a", "mean": 1.25, "ratio": Interval(2.0, None, None)}]
    frame = Table((), (), rows).to_pandas()
    assert frame.to_dict("records") == [{"policy": "a", "mean": 1.25, "ratio": 2.0, "ratio_low": None, "ratio_high": None}]


def test_the_first_columns_are_aligned_to_the_left_wherever_they_are_written() -> None:
    columns = tuple(Column(name, itemgetter(name)) for name in ("size", "policy", "regret"))
    rows = [{"size": "1", "policy": "UCB1", "regret": "2"}, {"size": "10", "policy": "RAW-UCB 1.4", "regret": "10"}]
    table = Table((), columns, rows, left=2)
    assert str(table).splitlines()[2:] == ["1     UCB1              2", "10    RAW-UCB 1.4      10"]
    assert "| :-- | :-- | --: |" in table.to_markdown()
    assert r"\begin{tabular}{llr}" in table.to_latex()
    assert table._repr_html_().count("text-align: left") == 2 * 3
