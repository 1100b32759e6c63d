"""Tables for people: aligned in a terminal, Markdown or LaTeX in a document, HTML in a notebook."""

import csv
import html
import io
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rotting.common.display.html_parts import table as html_table
from rotting.common.statistics import Interval, NoInterval
from rotting.errors import InvalidValueError, MissingExtraError

if TYPE_CHECKING:
    import pandas as pd


NO_INTERVAL = "*"
"""Marks a missing interval in a table; the note below gives the reason."""
Row = dict[str, Any]
"""A row of a table for programs: numbers, texts, intervals or other values, by name. A column knows the type of its values."""


@dataclass(frozen=True)
class Column:
    """A column of a table: its head, how to write its cell of a row, and which cells are in bold; none by default."""

    head: str
    write: Callable[[Row], str]
    bold: Callable[[Row], bool] = lambda _: False


@dataclass(frozen=True, repr=False)
class FormattedTable:
    """A table for people, as text, Markdown, LaTeX or HTML in a notebook; its `rows` are for programs.

    Args:
        lines: the text above the table.
        columns: the first `left` ones are aligned to the left, the others to the right.
        rows: one dict per row.
        left: the number of columns that are aligned to the left.
        notes: the text below the table. `footnotes` adds why intervals are missing.

    Example:
        >>> table = FormattedTable(("An example",), (Column("policy", lambda row: row["policy"]),), [{"policy": "FEWA 4"}])
        >>> print(table)
        An example
        <BLANKLINE>
        policy
        ------
        FEWA 4
    """

    lines: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: list[Row]
    left: int = 1
    notes: tuple[str, ...] = ()

    @property
    def footnotes(self) -> tuple[str, ...]:
        """The notes, and the reasons for missing intervals.

        Example:
            >>> FormattedTable((), (interval_column("ratio"),), [{"ratio": NoInterval(1.5, "there is only one run")}])
            ratio
            -----
            1.5 *
            <BLANKLINE>
            * No 95 % interval: there is only one run.
        """
        reasons = dict.fromkeys(reason for row in self.rows for reason in _reasons(row))
        return (*self.notes, *([f"{NO_INTERVAL} No 95 % interval: {'; '.join(reasons)}."] if reasons else []))

    def _cells(self, escape: Callable[[str], str] = str, bold: str = "**{}**") -> list[list[str]]:
        def cell(column: Column, row: Row) -> str:
            # The name of an arm may have several lines, which would break a table as text and in Markdown.
            text = escape(" ".join(column.write(row).splitlines()))
            return bold.format(text) if column.bold(row) else text

        return [[cell(column, row) for column in self.columns] for row in self.rows]

    def __str__(self) -> str:
        grid = [[column.head for column in self.columns], *self._cells()]
        widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
        written = []
        for cells in grid:
            aligned = [
                cell.ljust(width) if k < self.left else cell.rjust(width)
                for k, (cell, width) in enumerate(zip(cells, widths, strict=True))
            ]
            written.append("  ".join(aligned).rstrip())
        written.insert(1, "-" * max(map(len, written)))
        below = ["", *self.footnotes] if self.footnotes else []
        return "\n".join([*self.lines, *([""] if self.lines else []), *written, *below])

    __repr__ = __str__  # so that an interactive prompt shows the table

    def to_markdown(self) -> str:
        """Return the table in Markdown, as GitHub reads it."""
        grid = self._cells(lambda text: text.replace("|", "\\|"))
        heads = [column.head for column in self.columns]
        rule = [":--" if k < self.left else "--:" for k in range(len(heads))]
        written = ["| " + " | ".join(cells) + " |" for cells in [heads, rule, *grid]]
        below = ["", "  \n".join(each.replace("*", "\\*") for each in self.footnotes)] if self.footnotes else []
        return "\n".join(["  \n".join(self.lines), "", *written, *below])

    def to_latex(self) -> str:
        r"""Return the table in LaTeX, with the rules of the package `booktabs`.

        The lines above the table and its notes become small print below it.

        Example:
            >>> columns = (Column("policy", lambda row: row["policy"]), Column("10 %", lambda row: f"{row['q10']:.1f}"))
            >>> print(FormattedTable(("An example",), columns, [{"policy": "my_policy", "q10": -0.5}]).to_latex())
            \begin{tabular}{lr}
            \toprule
            policy & 10 \% \\
            \midrule
            my\_policy & $-$0.5 \\
            \bottomrule
            \end{tabular}
            \par{\footnotesize An example\par}
        """
        grid = [[_latex_text(each.head) for each in self.columns], *self._cells(_latex_text, r"\textbf{{{}}}")]
        head, *body = (" & ".join(cells) + r" \\" for cells in grid)
        alignment = "l" * self.left + "r" * (len(self.columns) - self.left)
        above = [rf"\begin{{tabular}}{{{alignment}}}", r"\toprule", head, r"\midrule"]
        words = [*(each for line in self.lines for each in line.splitlines()), *self.footnotes]
        below = [rf"\par{{\footnotesize {_latex_text(each)}\par}}" for each in words]
        return "\n".join([*above, *body, r"\bottomrule", r"\end{tabular}", *below])

    def to_pandas(self) -> "pd.DataFrame":
        """Return the numbers of the rows as a data frame; an interval is three columns, `x`, `x_low` and `x_high`.

        If an interval is missing, `x_reason` has the reason. `attrs["notes"]` has the notes. Needs the extra `rotting[pandas]`.

        Example:
            >>> rows = [{"policy": "UCB1", "ratio": Interval(1.5, 1.0, 2.0)}]
            >>> FormattedTable((), (interval_column("ratio"),), rows).to_pandas().to_dict("records")
            [{'policy': 'UCB1', 'ratio': 1.5, 'ratio_low': 1.0, 'ratio_high': 2.0}]
        """
        try:
            import pandas as pd  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise MissingExtraError("to_pandas needs pandas: pip install 'rotting[pandas]'") from error
        frame = pd.DataFrame([dict(_flat_with_reasons(row)) for row in self.rows])
        frame.attrs["notes"] = list(self.footnotes)
        return frame

    def _repr_html_(self) -> str:
        caption = "<br>".join(map(html.escape, self.lines))
        above = f"<p>{caption}</p>" if caption else ""
        notes = "<br>".join(map(html.escape, self.footnotes))
        below = f"<p>{notes}</p>" if notes else ""
        cells = self._cells(html.escape, "<strong>{}</strong>")
        heads = [html.escape(column.head) for column in self.columns]
        return above + html_table(heads, cells, self.left, escape=str) + below


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "±": r"$\pm$",
    **{each: f"\\{each}" for each in "&%$#_{}"},
}


def _latex_text(text: str) -> str:
    """Return text as LaTeX prints it; the hyphen before a number is a minus."""
    escaped = "".join(_LATEX.get(each, each) for each in text)
    return re.sub(r"(?<![\w-])-(?=[\d.])", "$-$", escaped)


def _flat_with_reasons(row: Row) -> Iterator[tuple[str, object]]:
    for name, value in row.items():
        if isinstance(value, Interval):
            yield from zip((name, f"{name}_low", f"{name}_high"), value, strict=True)
            if isinstance(value, NoInterval):
                yield f"{name}_reason", value.reason
        else:
            yield name, value


def _reasons(row: Row) -> Iterator[str]:
    """Yield the reasons for missing intervals in a row; a row with the cells of `mean_cells` has its `reason`."""
    yield from (each.reason for each in row.values() if isinstance(each, NoInterval))
    if row.get("reason"):
        yield row["reason"]


def mean_cells(interval: Interval) -> dict[str, float | str | None]:
    """Return the cells of a row about one mean: `mean`, `low`, `high`, and `reason`, which is None where there is an interval.

    Example:
        >>> mean_cells(Interval(2.0, 1.5, 3.0))
        {'mean': 2.0, 'low': 1.5, 'high': 3.0, 'reason': None}
    """
    return {**interval._asdict(), "reason": interval.reason if isinstance(interval, NoInterval) else None}


def ends_text(low: float | None, high: float | None, style: str) -> str:
    """Return the ends of an interval as text, or the mark of a missing one.

    Example:
        >>> ends_text(1.5, 2.5, ".1f"), ends_text(None, None, ".1f")
        ('[1.5, 2.5]', '*')
    """
    return NO_INTERVAL if low is None or high is None else f"[{low:{style}}, {high:{style}}]"


def interval_text(interval: Interval, style: str = ",.1f") -> str:
    """Return a mean and its interval as text.

    Example:
        >>> interval_text(Interval(12.34, 12.24, 12.64)), interval_text(NoInterval(12.34, "there is only one run"))
        ('12.3 [12.2, 12.6]', '12.3 *')
    """
    return f"{interval.mean:{style}} {ends_text(interval.low, interval.high, style)}"


def value_column(head: str, style: str = "", key: str = "") -> Column:
    """Return a column for the values under a key, by default `head`, in a format such as `,.1f`.

    Example:
        >>> value_column("T", ",").write({"T": 10_000})
        '10,000'
    """
    return Column(head, lambda row: format(row[key or head], style))


def interval_column(head: str, style: str = ",.1f") -> Column:
    """Return a column for the intervals under the key `head`."""
    return Column(head, lambda row: interval_text(row[head], style))


def half_widths(rows: Sequence[Row]) -> list[float]:
    """Return half the widths of the intervals of rows that have the cells of `mean_cells`.

    Example:
        >>> half_widths([mean_cells(Interval(2.0, 1.5, 3.0)), mean_cells(NoInterval(2.0, "there is only one run"))])
        [0.75]
    """
    return [(row["high"] - row["low"]) / 2 for row in rows if row["low"] is not None]


def quantile_column(head: str, key: str, style: str) -> Column:
    """Return a column for a quantile over the runs, which a single run does not have."""
    return Column(head, lambda row: "-" if row["low"] is None else format(row[key], style))


def number_format(values: Sequence[float], half_widths: Sequence[float]) -> str:
    """Return one format for the numbers of a table, with as many digits as their intervals support.

    The median half-width gets two digits and the smallest at least one; a number gets two or more, unless it is below a
    hundredth of the largest. No number gets more than seven.

    Args:
        values: the numbers to write.
        half_widths: half the widths of their intervals; may be empty.

    Example:
        >>> number_format([1234.567, 88.8], [4.2, 0.73])
        ',.2f'
        >>> number_format([6.2], [40.0])
        ',.1f'
        >>> number_format([1234.567, 88.8], [])
        ',.1f'
        >>> number_format([3e15], [])
        '.4e'
    """
    sizes = sorted(abs(value) for value in values if value)
    if not sizes:
        return ".1f"
    top = sizes[-1]
    scale = math.floor(math.log10(top))
    if not -4 <= scale <= 8:
        return ".4e"
    widths = [width for width in half_widths if width > 0]
    if widths:
        middle = sorted(widths)[(len(widths) - 1) // 2]
        least = next(each for each in sizes if each >= top / 100)
        wanted = max(-math.floor(math.log10(min(widths))), *(1 - math.floor(math.log10(each)) for each in (middle, least)))
    else:
        wanted = 4 - scale
    return f",.{max(0, min(wanted, 6 - scale))}f"


# --- Rows as files ---------------------------------------------------------------------------------------------------------


def flat(row: Mapping[str, object]) -> dict[str, object]:
    """Return a row of numbers, strings and None; an interval `x` becomes `x`, `x_low` and `x_high`.

    Example:
        >>> flat({"policy": "UCB1", "regret": Interval(2.0, 1.5, 2.5)})
        {'policy': 'UCB1', 'regret': 2.0, 'regret_low': 1.5, 'regret_high': 2.5}
    """
    cells: dict[str, object] = {}
    for name, value in row.items():
        parts = {name: value}
        if isinstance(value, Interval):
            parts = {name: value.mean, f"{name}_low": value.low, f"{name}_high": value.high}
        for key, part in parts.items():
            if key in cells:
                raise InvalidValueError("rows", "have one value per column", key, got=f"two called {key!r}")
            cells[key] = part.item() if isinstance(part, np.generic) else part
    return cells


def csv_bytes(rows: Sequence[Mapping[str, object]]) -> bytes:
    """Return rows as CSV, with the columns of all of them in the order in which they appear.

    Every float has enough digits to read it back; None, and a column that a row lacks, is empty.

    Args:
        rows: dicts of numbers, strings, intervals and None.

    Example:
        >>> csv_bytes([{"L": 0.1, "regret": None}, {"L": 2}]).splitlines()
        [b'L,regret', b'0.1,', b'2,']
    """
    cells = [flat(row) for row in rows]
    content = io.StringIO(newline="")
    writer = csv.DictWriter(content, dict.fromkeys(name for row in cells for name in row), lineterminator="\n")
    writer.writeheader()
    writer.writerows(cells)
    return content.getvalue().encode()
