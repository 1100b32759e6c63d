"""Tables of the regret of several policies, and its data frame."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.display.tables import (
    Column,
    FormattedTable,
    Row,
    ends_text,
    half_widths,
    mean_cells,
    number_format,
    quantile_column,
    value_column,
)
from rotting.common.statistics import mean_interval, quantiles
from rotting.errors import MissingExtraError

if TYPE_CHECKING:
    import pandas as pd

# Two policies may collect the same rewards in a different order, so that their regrets differ by rounding alone.
TIE = 1e-9


def regret_cells(regret: Floats) -> dict[str, float | str | None]:
    """Return the cells of a row about the regret of several runs: mean, interval, and 10 % and 90 % quantiles."""
    q10, q90 = map(float, quantiles(regret, 0.1, 0.9))
    return {**mean_cells(mean_interval(regret)), "q10": q10, "q90": q90}


def regret_columns(rows: Sequence[Row]) -> tuple[Column, ...]:
    """Return the columns of rows that have a `policy` and the cells of `regret_cells`."""
    style = number_format([row[key] for row in rows for key in ("mean", "q10", "q90")], half_widths(rows))
    return (
        value_column("policy"),
        value_column("mean regret", style, "mean"),
        Column("95 % interval", lambda row: ends_text(row["low"], row["high"], style)),
        quantile_column("10 %", "q10", style),
        quantile_column("90 %", "q90", style),
    )


def regret_table(
    labels: Sequence[str], final: Floats, us_per_round: Floats, heading: tuple[str, ...], notes: tuple[str, ...]
) -> FormattedTable:
    """Return the regret at the horizon `[policy, run]` per policy; `Result.table` documents the columns."""
    rows: list[Row] = [
        {"policy": label, **regret_cells(regret), "us_per_round": None if math.isnan(time) else time}
        for label, regret, time in zip(labels, final, us_per_round.tolist(), strict=True)
    ]
    speed = Column("us per round", lambda row: "-" if row["us_per_round"] is None else format(row["us_per_round"], ",.3f"))
    return FormattedTable(heading, (*regret_columns(rows), speed), rows, notes=notes)


def regret_frame(labels: Sequence[str], first_run: int, checkpoints: Ints, regret: Floats, reference: str) -> "pd.DataFrame":
    """Return a data frame with one row per policy, run and checkpoint; `Result.to_pandas` documents the columns."""
    try:
        import pandas as pd  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("to_pandas needs pandas: pip install 'rotting[pandas]'") from error
    P, R, C = regret.shape
    return pd.DataFrame(
        {
            # Categories keep the order of the policies, and store each label once.
            "policy": pd.Categorical.from_codes(np.repeat(np.arange(P), R * C), pd.Index(labels)),
            "run": np.tile(np.repeat(first_run + np.arange(R), C), P),
            "round": np.tile(checkpoints, P * R),
            "regret": regret.ravel(),
            "reference": pd.Categorical.from_codes(np.zeros(P * R * C, np.int8), pd.Index([reference])),
        }
    )
