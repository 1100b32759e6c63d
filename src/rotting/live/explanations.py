"""Explanations: the index, mean, window and width of each arm, which decide whether it is chosen."""

from typing import NamedTuple

from rotting.display.tables import Column, FormattedTable
from rotting.live.arms import Arm


class ArmExplanation(NamedTuple):
    """Why one arm is or is not chosen; numbers that the policy does not compute are NaN or 0.

    `pulls` is the number of rewards that were learned, `pending` the number of decisions without a reward.
    """

    index: float  # type: ignore[assignment]  # hides a method of tuples that nobody needs here
    mean: float
    window: int
    width: float
    pulls: int
    pending: int = 0


class Explanation(dict[Arm, ArmExplanation]):
    """One `ArmExplanation` for each arm, in a dict; printed as a table."""

    def __str__(self) -> str:
        return str(self._table())

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()

    def _table(self) -> FormattedTable:
        def number(name: str) -> Column:
            return Column(name, lambda row: f"{row[name]:.6g}")

        rows = [{"arm": arm, **explanation._asdict()} for arm, explanation in self.items()]
        columns = (Column("arm", lambda row: repr(row["arm"])), *map(number, ArmExplanation._fields))
        return FormattedTable((), columns, rows)
