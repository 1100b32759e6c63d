"""Tables for people: aligned in a terminal, Markdown or LaTeX in a document, HTML in a notebook."""

import html
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rotting.common.html_parts import table as html_table
from rotting.common.statistics import Interval
from rotting.errors import MissingExtraError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Column:
    """A column of a table: its head, and how to write its cell of a row."""

    head: str
    write: Callable[[dict[str, Any]], str]


@dataclass(frozen=True, repr=False)
class Table:
    """A table for people: as it prints in a terminal, `to_markdown()`, `to_latex()`, HTML in a notebook; `rows` for programs.

    Args:
        lines: the text above the table.
        columns: the first are aligned to the left, the others to the right.
        rows: one dict per row.
        left: how many the first are.

    Example:
        >>> table = Table(("An example",), (Column("policy", lambda row: row["policy"]),), [{"policy": "FEWA 4"}])
        >>> print(table)
        An example
        <BLANKLINE>
        policy
        ------
        FEWA 4
    """

    lines: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: list[dict[str, Any]]
    left: int = 1

    def _cells(self) -> list[list[str]]:
        return [[column.write(row) for column in self.columns] for row in self.rows]

    def __str__(self) -> str:
        grid = [[column.head for column in self.columns], *self._cells()]
        widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
        written = []
        for cells in grid:
            aligned = [
                cell.ljust(width) if k < self.left else cell.rjust(width)
                for k, (cell, width) in enumerate(zip(cells, widths, strict=True))
            ]
            written.append("  ".join(aligned))
        written.insert(1, "-" * len(written[0]))
        return "\n".join([*self.lines, *([""] if self.lines else []), *written])

    __repr__ = __str__  # what a prompt shows

    def to_markdown(self) -> str:
        """Return the table in Markdown, as GitHub reads it."""
        grid = [[cell.replace("|", "\\|") for cell in cells] for cells in self._cells()]
        heads = [column.head for column in self.columns]
        rule = [":--" if k < self.left else "--:" for k in range(len(heads))]
        written = ["| " + " | ".join(cells) + " |" for cells in [heads, rule, *grid]]
        return "\n".join(["  \n".join(self.lines), "", *written])

    def to_latex(self) -> str:
        r"""Return the table in LaTeX, with the rules of the package `booktabs`; what stands above it becomes comments.

        Example:
            >>> columns = (Column("policy", lambda row: row["policy"]), Column("10 %", lambda row: f"{row['q10']:.1f}"))
            >>> print(Table(("An example",), columns, [{"policy": "my_policy", "q10": -0.5}]).to_latex())
            % An example
            \begin{tabular}{lr}
            \toprule
            policy & 10 \% \\
            \midrule
            my\_policy & $-$0.5 \\
            \bottomrule
            \end{tabular}
        """
        head, *body = (
            " & ".join(map(_latex_text, cells)) + r" \\" for cells in [[each.head for each in self.columns], *self._cells()]
        )
        comments = [f"% {each}" for line in self.lines for each in line.splitlines()]
        alignment = "l" * self.left + "r" * (len(self.columns) - self.left)
        above = [*comments, rf"\begin{{tabular}}{{{alignment}}}", r"\toprule", head, r"\midrule"]
        return "\n".join([*above, *body, r"\bottomrule", r"\end{tabular}"])

    def to_pandas(self) -> "pd.DataFrame":
        """Return the numbers of the rows as a data frame; an interval is three columns, `x`, `x_low` and `x_high`.

        Needs the extra `rotting[pandas]`.

        Example:
            >>> rows = [{"policy": "UCB1", "ratio": Interval(1.5, 1.0, 2.0)}]
            >>> Table((), (interval_column("ratio"),), rows).to_pandas().to_dict("records")
            [{'policy': 'UCB1', 'ratio': 1.5, 'ratio_low': 1.0, 'ratio_high': 2.0}]
        """
        try:
            import pandas as pd  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise MissingExtraError("to_pandas needs pandas: pip install 'rotting[pandas]'") from error
        return pd.DataFrame([dict(_flat(row)) for row in self.rows])

    def _repr_html_(self) -> str:
        caption = "<br>".join(map(html.escape, self.lines))
        above = f"<p>{caption}</p>" if caption else ""
        return above + html_table([column.head for column in self.columns], self._cells(), self.left)


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


def _flat(row: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        if isinstance(value, Interval):
            yield from zip((name, f"{name}_low", f"{name}_high"), value, strict=True)
        else:
            yield name, value


def interval_text(interval: Interval, style: str = ",.1f") -> str:
    """Write a mean and half of its interval.

    Example:
        >>> interval_text(Interval(12.34, 12.14, 12.54)), interval_text(Interval(12.34, None, None))
        ('12.3 ± 0.2', '12.3')
    """
    mean, _, high = interval
    return format(mean, style) if high is None else f"{mean:{style}} ± {high - mean:{style}}"


def interval_column(head: str, style: str = ",.1f") -> Column:
    """Return the column of a row's interval of that name, written as `interval_text` does."""
    return Column(head, lambda row: interval_text(row[head], style))


def number_format(values: Sequence[float], half_widths: Sequence[float]) -> str:
    """Return one format for the numbers of a table, with as many digits as their intervals support.

    The median half-width gets two digits and the smallest at least one, but no number more than seven.

    Args:
        values: the numbers to write.
        half_widths: half the widths of their intervals; may be empty.

    Example:
        >>> number_format([1234.567, 88.8], [4.2, 0.73])
        ',.2f'
        >>> number_format([1234.567, 88.8], [])
        ',.1f'
        >>> number_format([3e15], [])
        '.4e'
    """
    top = max(map(abs, values), default=0.0)
    if top == 0:
        return ".1f"
    scale = math.floor(math.log10(top))
    if not -4 <= scale <= 8:
        return ".4e"
    widths = [width for width in half_widths if width > 0]
    if widths:
        middle = sorted(widths)[(len(widths) - 1) // 2]
        wanted = max(-math.floor(math.log10(min(widths))), 1 - math.floor(math.log10(middle)))
    else:
        wanted = 4 - scale
    return f",.{max(0, min(wanted, 6 - scale))}f"
