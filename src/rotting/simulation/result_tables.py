"""The tables and the data frame of a result."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rotting.common.arrays import Floats
from rotting.common.short_numbers import plural
from rotting.common.statistics import mean_interval, quantiles, what_runs_can_miss
from rotting.display.tables import (
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
from rotting.errors import InvalidValueError, MissingExtraError
from rotting.policy import Policy
from rotting.problems.oracle import regret_against
from rotting.simulation.selection import Labels, chosen_labels, find_policy

if TYPE_CHECKING:
    import pandas as pd

    from rotting.simulation.result import Result

# Two policies may collect the same rewards in a different order, so that their regrets differ by rounding alone.
TIE = 1e-9


def regret_cells(regret: Floats) -> dict[str, float | str | None]:
    """Return the cells of a row about the regret of several runs: mean, interval, and 10 % and 90 % quantiles."""
    q10, q90 = map(float, quantiles(regret, 0.1, 0.9))
    return {**mean_cells(mean_interval(regret)), "q10": q10, "q90": q90}


def regret_columns(rows: Sequence[Row]) -> tuple[Column, ...]:
    """Return the columns of rows that have a `policy` and the cells of `regret_cells`."""
    style = _number_format(rows, ("mean", "q10", "q90"))
    return (
        value_column("policy"),
        value_column("mean regret", style, "mean"),
        Column("95 % interval", lambda row: ends_text(row["low"], row["high"], style)),
        quantile_column("10 %", "q10", style),
        quantile_column("90 %", "q90", style),
    )


def _heading(result: "Result") -> tuple[str, ...]:
    """Return the lines above a table."""
    runs = plural(result.runs, "run") + (f" from run {result.first_run:,} on" if result.first_run else "")
    head = f"{result.problem_name}: horizon {result.horizon:,}, {runs}, seed {result.seed}"
    if result.is_optimal:
        head += "; regret against the optimal policy"
    if "family" in result.problem:
        return head, "Each run has its own problem: the mean is the Bayesian regret."
    return (head,)


def _notes(result: "Result") -> tuple[str, ...]:
    """Return the lines below a table: a reference that is not optimal, and how many runs the intervals come from."""
    against = () if result.is_optimal else regret_against(result.reference)
    return (*against, *([what_runs_can_miss(result.runs)] if result.runs > 1 else []))


def regret_table(result: "Result", labels: Labels) -> FormattedTable:
    """Return the regret at the horizon per policy; `Result.table` documents the columns."""
    final, times = result.regret[:, :, -1], result.us_per_round.tolist()
    rows: list[Row] = [
        {"policy": label, **regret_cells(regret), "us_per_round": None if math.isnan(time) else time}
        for label, regret, time in zip(chosen_labels(result, labels), final, times, strict=True)
    ]
    speed = Column("us per round", lambda row: "-" if row["us_per_round"] is None else format(row["us_per_round"], ",.3f"))
    return FormattedTable(_heading(result), (*regret_columns(rows), speed), rows, notes=_notes(result))


def difference_table(result: "Result", baseline: Policy | str | int, labels: Labels) -> FormattedTable:
    """Return the regret of every other policy minus that of the baseline; `Result.differences` documents the columns."""
    base, named, final = find_policy(result, "baseline", baseline), chosen_labels(result, labels), result.regret[:, :, -1]
    if len(named) < 2:
        raise InvalidValueError("policies", "be two or more to be compared", result.policies, got="a result with one")
    tie = TIE * float(np.abs(final).max())
    rows = []
    for k, label in enumerate(named):
        if k == base:
            continue
        difference = final[k] - final[base]
        won, tied = np.mean(difference < -tie), np.mean(np.abs(difference) <= tie)
        interval = mean_interval(difference)
        rows.append({"policy": label, **mean_cells(interval), "won": float(won), "tied": float(tied)})
    signed = "+" + _number_format(rows, ("mean",))
    columns = (
        value_column("policy"),
        value_column("mean difference", signed, "mean"),
        Column("95 % interval", lambda row: ends_text(row["low"], row["high"], signed)),
        value_column("runs won", ".1%", "won"),
        value_column("runs tied", ".1%", "tied"),
    )
    below = f"Difference of regret to {named[base]}, run by run; below zero is better than it."
    return FormattedTable((*_heading(result), below), columns, rows, notes=_notes(result))


def regret_frame(result: "Result") -> "pd.DataFrame":
    """Return a data frame with one row per policy, run and checkpoint; `Result.to_pandas` documents the columns."""
    try:
        import pandas as pd  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("to_pandas needs pandas: pip install 'rotting[pandas]'") from error
    P, R, C = result.regret.shape
    return pd.DataFrame(
        {
            # Categories keep the order of the policies, and store each label once.
            "policy": pd.Categorical.from_codes(np.repeat(np.arange(P), R * C), pd.Index(result.labels)),
            "run": np.tile(np.repeat(result.first_run + np.arange(R), C), P),
            "round": np.tile(result.checkpoints, P * R),
            "regret": result.regret.ravel(),
            "reference": pd.Categorical.from_codes(np.zeros(P * R * C, np.int8), pd.Index([result.reference])),
        }
    )


def _number_format(rows: Sequence[Row], keys: Sequence[str]) -> str:
    return number_format([row[key] for row in rows for key in keys], half_widths(rows))
