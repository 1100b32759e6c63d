"""A table of policies by problems, as papers have it: the best in bold, ties marked."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rotting.common.arrays import Floats
from rotting.common.display.tables import Column, FormattedTable, Row, number_format, value_column
from rotting.common.rules import nonnegative_int
from rotting.common.short_numbers import plural
from rotting.common.statistics import Interval, mean_interval
from rotting.problems.oracle import OPTIMAL
from rotting.simulation.ranking import TIED, rank


class SummaryCell(NamedTuple):
    """The problem of a column and a group of rows.

    Args:
        head: of the column.
        group: the texts in the first columns of the rows, by their heads.
        final: the regret at the horizon of the policies that are shown, `[policy, run]`.
        reference: what it is measured against, if that must be said in the cell.
    """

    head: str
    group: Mapping[str, str]
    final: Floats
    reference: str


def summary_table(
    cells: Sequence[SummaryCell],
    labels: Sequence[str],
    decimals: int | None,
    heading: tuple[str, ...],
    notes: tuple[str, ...],
) -> FormattedTable:
    """Return the table of `Study.summary`.

    Args:
        cells: one for each problem.
        labels: one per policy.
        decimals: of the means; None for as many as their intervals support.
        heading: the lines above the table.
        notes: the last lines below it.
    """
    count = len(labels)
    verdicts: list[list[str]] = [[""] * count for _ in cells]
    below: list[str] = []
    if count > 1:
        rankings = rank([each.final for each in cells])
        verdicts = [["best" if k == each.best else each.verdict(k, each.best) for k in range(count)] for each in rankings]
        tests = plural(len(cells) * count * (count - 1) // 2, "comparison")
        below.append("Bold: the smallest mean. =: not significantly worse at 5 %.")
        below.append(f"Significance: sign-flip test of the paired runs, with Holm's correction for {tests}.")
    rows: list[Row] = []
    for group in dict.fromkeys(tuple(each.group.items()) for each in cells):
        for k, label in enumerate(labels):
            row: Row = {**dict(group), "policy": label}
            for each, found in zip(cells, verdicts, strict=True):
                if tuple(each.group.items()) == group:
                    reference = {} if each.reference == OPTIMAL else {f"{each.head} against": each.reference}
                    row |= {each.head: mean_interval(each.final[k]), f"{each.head} verdict": found[k], **reference}
            rows.append(row)
    first = tuple(value_column(name) for name in (*cells[0].group, "policy"))
    columns = (_column(head, rows, decimals) for head in dict.fromkeys(each.head for each in cells))
    return FormattedTable(heading, (*first, *columns), rows, left=len(first), notes=(*below, *notes))


def _column(head: str, rows: Sequence[Row], decimals: int | None) -> Column:
    """Return the column of a problem; a mean that is tied with the best has a sign before it."""
    found: list[Interval] = [row[head] for row in rows if head in row]
    widths = [(each.high - each.low) / 2 for each in found if each.low is not None and each.high is not None]
    style = number_format([each.mean for each in found], widths)
    if decimals is not None:
        style = f",.{nonnegative_int('decimals', decimals)}f"

    def write(row: Row) -> str:
        if head not in row:
            return "-"
        tied = "= " if row[f"{head} verdict"] == TIED else ""
        against = row.get(f"{head} against")
        return f"{tied}{row[head].mean:{style}}{f' ({against})' if against else ''}"

    return Column(head, write, lambda row: row.get(f"{head} verdict") == "best")
