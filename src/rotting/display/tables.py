"""Tables for people: aligned in a terminal, Markdown in a document, HTML in a notebook."""

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rotting.common.statistics import Interval


@dataclass(frozen=True)
class Column:
    """A column of a table: its head, and how to write its cell of a row."""

    head: str
    write: Callable[[dict[str, Any]], str]


@dataclass(frozen=True, repr=False)
class Table:
    """A table for people: as it prints in a terminal, `to_markdown()`, HTML in a notebook; `rows` for programs.

    Args:
        lines: the text above the table.
        columns: the first is aligned to the left, the others to the right.
        rows: one dict per row.
    """

    lines: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: list[dict[str, Any]]

    def _cells(self) -> list[list[str]]:
        return [[column.write(row) for column in self.columns] for row in self.rows]

    def __str__(self) -> str:
        grid = [[column.head for column in self.columns], *self._cells()]
        widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
        written = []
        for cells in grid:
            first, *others = (
                cell.rjust(width) if k else cell.ljust(width) for k, (cell, width) in enumerate(zip(cells, widths, strict=True))
            )
            written.append("  ".join([first, *others]))
        written.insert(1, "-" * len(written[0]))
        return "\n".join([*self.lines, *([""] if self.lines else []), *written])

    __repr__ = __str__  # what a prompt shows

    def to_markdown(self) -> str:
        """Return the table in Markdown, as GitHub reads it."""
        grid = [[cell.replace("|", "\\|") for cell in cells] for cells in self._cells()]
        heads = [column.head for column in self.columns]
        rule = [":--", *["--:"] * (len(heads) - 1)]
        written = ["| " + " | ".join(cells) + " |" for cells in [heads, rule, *grid]]
        return "\n".join(["  \n".join(self.lines), "", *written])

    def _repr_html_(self) -> str:
        def row(tag: str, cells: Sequence[str]) -> str:
            sides = ["left", *["right"] * (len(cells) - 1)]
            return "".join(
                f'<{tag} style="text-align: {side}">{html.escape(cell)}</{tag}>'
                for side, cell in zip(sides, cells, strict=True)
            )

        caption = "<br>".join(map(html.escape, self.lines))
        head = row("th", [column.head for column in self.columns])
        body = "".join(f"<tr>{row('td', cells)}</tr>" for cells in self._cells())
        return f"<p>{caption}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


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
