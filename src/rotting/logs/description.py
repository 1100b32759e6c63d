"""What a log holds, and what can and cannot be learned from it."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from rotting.common.arrays import Ints
from rotting.display.tables import Column, FormattedTable, number_format
from rotting.logs.clocks import FEWEST_UNITS, MOST_ENTANGLED, entanglement
from rotting.logs.fixed_choices import fixed_choices
from rotting.logs.log import Log
from rotting.logs.pauses import FEWEST_PAUSES, count_pauses
from rotting.logs.trends import FEWEST_REWARDS


def describe(log: Log) -> FormattedTable:
    """Return a table of what a log holds, with what can be learned from it below."""
    pulls, reward = log.pulls, log.reward[log.known]
    held = [("rows", f"{len(log):,}"), ("arms", f"{len(log.arms):,}, with {_range(pulls)} pulls")]
    if log.has_units:
        held.append(("units", f"{len(log.units):,}, with {_range(np.bincount(log.unit))} rows"))
    if log.has_times:
        held.append(("times", f"{_moment(log, 0)} to {_moment(log, -1)}"))
    if reward.size:
        kind = "0 or 1" if np.isin(reward, (0.0, 1.0)).all() else f"{reward.min():.4g} to {reward.max():.4g}"
        held.append(("rewards", f"{kind}, mean {reward.mean():.4g}"))
    held.append(("missing rewards", f"{log.missing:,}" if log.missing else "none"))
    if log.propensity is not None:
        held.append(("propensities", f"{np.nanmin(log.propensity):.4g} to {np.nanmax(log.propensity):.4g}"))
    columns = (Column("the log holds", lambda row: row["what"]), Column("", lambda row: row["value"]))
    return FormattedTable(
        (), columns, [{"what": what, "value": value} for what, value in held], left=2, notes=tuple(_lessons(log))
    )


def sum_format(sums: Sequence[float], half_widths: Sequence[float] = ()) -> str:
    """Return the format of sums of rewards: whole numbers, such as clicks, have no digits after the point.

    Example:
        >>> sum_format([608.0, 1_234.0], [77.3]), sum_format([608.25, 1_234.0], [7.3])
        (',.0f', ',.1f')
    """
    return ",.0f" if all(each.is_integer() for each in sums) else number_format(sums, half_widths)


def earned_text(log: Log) -> str:
    """Return the sum of the rewards of a log."""
    total = float(np.nansum(log.reward))
    return f"{total:{sum_format([total])}}"


def _lessons(log: Log) -> list[str]:
    """Return sentences about what can and cannot be learned."""
    known = np.bincount(log.arm[log.known], minlength=len(log.arms))
    enough = int((known >= FEWEST_REWARDS).sum())
    found = []
    if log.reordered:
        found.append(
            f"Order: {log.reordered:,} of {len(log):,} rows had an earlier time than a row above them, so all rows were sorted "
            "by time. If they were in the right order before, the times are wrong: correct them, or name no column of times."
        )
    found.append(f"Wear of single arms: {enough} of {len(log.arms)} arms have at least {FEWEST_REWARDS} rewards.")
    if len(log.units) >= FEWEST_UNITS:
        entangled = entanglement(log)
        how = "may" if entangled <= MOST_ENTANGLED else "met the arms at rates too alike to"
        why = f"(entanglement {entangled:.2f}; at 1 they could not)"
        found.append(f"Clock: {len(log.units)} units {how} tell pulls and time apart {why}.")
    elif log.paused is not None and (pauses := count_pauses(log)) >= FEWEST_PAUSES:
        found.append(
            f"Clock: {pauses} random pauses may tell pulls and time apart, but need many arms that wear out a lot "
            f"(docs/probe.md). At least {FEWEST_UNITS} units tell better (entanglement {entanglement(log):.2f})."
        )
    else:
        units = "without a column of units" if len(log.units) <= 1 else f"with {len(log.units)} units"
        found.append(
            f"Clock: {units}, pulls and time cannot be told apart; at least {FEWEST_UNITS} units are needed "
            f"(entanglement {entanglement(log):.2f})."
        )
    if log.missing:
        found.append(
            f"{log.missing / len(log):.1%} of the rewards are missing. If they are zeros that nobody reported, write the "
            f"zeros into the log first."
        )
    if log.available is not None:
        partly = sum(not each.issuperset(log.arms) for each in log.available)
        if partly:
            found.append(
                f"Not all arms were available in {partly / len(log):.1%} of the rows. Replays let policies choose among all "
                "of them."
            )
    if log.propensity is not None:
        found.append(_about_propensities(log))
    return found


def _about_propensities(log: Log) -> str:
    """Return whether the propensities can be right, and what can be learned from them."""
    choices = fixed_choices(log)
    wrong = [each for each in choices if math.isnan(each.value.mean)]
    if not choices:
        return "Propensities: too few are known to use them."
    if wrong:
        first = wrong[0]
        name = "a random arm" if first.arm is None else f"arm {first.arm!r}"
        return (
            f"Propensities: those of {name} cannot be right, or it could not be chosen in every row: 1 / propensity averages "
            f"{first.weight:.2g} over the rows, with 0 where the log shows another arm, instead of 1."
        )
    return (
        "Propensities: they agree with the choices, so they tell what each arm, or a random one, pays (Replay.fixed_choices)."
    )


def _range(counts: Ints) -> str:
    return f"{counts.min():,} to {counts.max():,}"


def _moment(log: Log, row: int) -> str:
    if log.has_dates:
        return datetime.fromtimestamp(float(log.time[row]), UTC).strftime("%Y-%m-%d %H:%M")
    return f"{log.time[row]:.6g}"
