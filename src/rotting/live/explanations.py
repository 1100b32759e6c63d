"""Why an arm is chosen, or is not."""

from collections.abc import Hashable
from typing import NamedTuple

from rotting.display.tables import Column, Table


class ArmExplanation(NamedTuple):
    """Why one arm is or is not chosen; NaN and 0 stand for what the policy does not compute.

    `pulls` are the rewards that were learned, `pending` the decisions whose reward has not come yet.
    """

    index: float  # type: ignore[assignment]  # which a tuple has a method for, that nobody needs here
    mean: float
    window: int
    width: float
    pulls: int
    pending: int = 0


class Explanation(dict[Hashable, ArmExplanation]):
    """One `ArmExplanation` for each arm, in a dict; printed as a table."""

    def __str__(self) -> str:
        return str(self._table())

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()

    def _table(self) -> Table:
        def number(name: str) -> Column:
            return Column(name, lambda row: f"{row[name]:.6g}")

        rows = [{"arm": arm, **choice._asdict()} for arm, choice in self.items()]
        columns = (Column("arm", lambda row: repr(row["arm"])), *map(number, ArmExplanation._fields))
        return Table((), columns, rows)
