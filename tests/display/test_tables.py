"""Tables for people: aligned, escaped, and with the digits that intervals support."""

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
