"""The tables and the data frame of a result, from its labels and its arrays."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.statistics import mean_interval, quantiles
from rotting.display.tables import Column, Table, ends_text, half_widths, mean_cells, number_format, quantile_column
from rotting.errors import MissingExtraError

if TYPE_CHECKING:
    import pandas as pd

# Two policies can collect the same rewards in another order; their regrets then differ by rounding only.
TIE = 1e-9


def regret_table(
    labels: Sequence[str], final: Floats, us_per_round: Floats, heading: tuple[str, ...], notes: tuple[str, ...]
) -> Table:
    """Return the regret at the horizon per policy; `Result.table` says what its columns are.

    Args:
        labels: one per policy.
        final: the regret at the horizon `[policy, run]`.
        us_per_round: microseconds per round `[policy]`, NaN where nothing was measured.
        heading: the lines above the table.
        notes: the lines below it.
    """
    rows = []
    for label, regret, speed in zip(labels, final, us_per_round, strict=True):
        interval = mean_interval(regret)
        q10, q90 = map(float, quantiles(regret, 0.1, 0.9))
        us = None if np.isnan(speed) else float(speed)
        rows.append({"policy": label, **mean_cells(interval), "q10": q10, "q90": q90, "us_per_round": us})
    style = _style(rows, ("mean", "q10", "q90"))
    columns = (
        Column("policy", lambda row: str(row["policy"])),
        Column("mean regret", lambda row: format(row["mean"], style)),
        Column("95 % interval", lambda row: ends_text(row["low"], row["high"], style)),
        quantile_column("10 %", "q10", style),
        quantile_column("90 %", "q90", style),
        Column("us per round", lambda row: "-" if row["us_per_round"] is None else format(row["us_per_round"], ",.3f")),
    )
    return Table(heading, columns, rows, notes=notes)


def difference_table(
    labels: Sequence[str], final: Floats, base: int, heading: tuple[str, ...], notes: tuple[str, ...]
) -> Table:
    """Return the regret of every other policy minus the baseline's; `Result.differences` says what its columns are.

    Args:
        labels: one per policy.
        final: the regret at the horizon `[policy, run]`.
        base: the index of the baseline.
        heading: the lines above the table.
        notes: the lines below it.
    """
    tie = TIE * float(np.abs(final).max())
    rows = []
    for k, label in enumerate(labels):
        if k == base:
            continue
        difference = final[k] - final[base]
        won, tied = np.mean(difference < -tie), np.mean(np.abs(difference) <= tie)
        interval = mean_interval(difference)
        rows.append({"policy": label, **mean_cells(interval), "won": float(won), "tied": float(tied)})
    style = _style(rows, ("mean",))
    signed = "+" + style
    columns = (
        Column("policy", lambda row: str(row["policy"])),
        Column("mean difference", lambda row: format(row["mean"], signed)),
        Column("95 % interval", lambda row: ends_text(row["low"], row["high"], signed)),
        Column("runs won", lambda row: f"{row['won']:.1%}"),
        Column("runs tied", lambda row: f"{row['tied']:.1%}"),
    )
    below = f"Difference of regret to {labels[base]}, run by run; below zero is better than it."
    return Table((*heading, below), columns, rows, notes=notes)


def regret_frame(labels: Sequence[str], first_run: int, checkpoints: Ints, regret: Floats, reference: str) -> "pd.DataFrame":
    """Return a data frame with one row per policy, run and checkpoint; `Result.to_pandas` says what its columns are."""
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


def numbered(labels: Sequence[str]) -> tuple[str, ...]:
    """Return labels that differ: of equal ones, all but the first get a number."""
    numbered: list[str] = []
    for each in labels:
        label, copy = each, 1
        while label in numbered:
            copy += 1
            label = f"{each} ({copy})"
        numbered.append(label)
    return tuple(numbered)


def _style(rows: Sequence[dict[str, Any]], keys: Sequence[str]) -> str:
    values = [row[key] for row in rows for key in keys]
    return number_format(values, half_widths(rows))
