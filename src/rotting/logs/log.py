"""`Log`: the decisions of the past, in their order, with what each of them paid."""

from collections import Counter
from collections.abc import Hashable, Sequence
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from rotting.common.arrays import Floats, Ints
from rotting.common.display.html_parts import block
from rotting.common.display.tables import Column, FormattedTable, number_format
from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.live.past_decisions import PROPENSITIES, REWARDS, DataColumn, Labels, Table, check_lengths, read_table
from rotting.live.values import Duration, seconds_in


class Log:
    """Past decisions in chronological order: which arm was shown, and what it paid.

    Rows are sorted by time; those with the same time stay in their order. `reordered` counts the rows of the data that had an
    earlier time than a row above them. A row without a reward still counts as a pull of its arm.

    Args:
        data: a data frame, a mapping of columns, pairs of an arm and a reward, or the path of a file: `.csv`, `.parquet` or
            `.jsonl` (these need the extra `rotting[logs]`), a store of `rotting.open`, or the export of `rotting log`.
        arm: the name of the column with the arms.
        reward: the name of the column with the rewards: numbers or truth values, empty where the reward is not known.
        time: the name of a column with the times of the decisions, dates or numbers; by default the rows must be in
            chronological order.
        unit: the name of a column that says who gets tired of an arm: a country, a user, a placement. The pulls of an arm are
            then counted for each unit.
        propensity: the name of a column with the probability with which the old policy chose the arm.
        available: the name of a column with the arms that could be chosen; in a text file, as JSON: `["a", "b"]`.
        decision: the name of a column with the ids of the decisions: two rows with the same id are an error.
        name: the name of the bandit, if the data is a store or an export with several.
        delay: how long a reward may take, such as "2d", or a number if `time` has numbers. The rewards of the rows that are
            younger than that at the end of the log may still come, so they count as missing.

    Attributes:
        arms: the names of the K arms, in the order of their first rows.
        arm: the arm of each row, as a position in `arms`.
        reward: the reward of each row, NaN if it is missing.
        time: the time of each row: seconds since 1970 if the column has dates, otherwise its numbers, or the row from 0 on.
        units: the names of the units; `("",)` without a column.
        unit: the unit of each row, as a position in `units`.
        unit_name: the name of the column with the units.
        own_pulls: how often the arm of each row was pulled before, by its unit.
        notes: what is odd about the data, a sentence for each.
        total_row: the sentence about a row that seems to hold the sum of the others; None without one.

    Example:
        >>> log = Log([("a", 1.0), ("b", 0.0), ("a", 0.5), ("a", None)])
        >>> log
        Log(4 rows, 2 arms, 1 missing reward)
        >>> log.own_pulls
        array([0, 0, 1, 2])
    """

    def __init__(
        self,
        data: object,
        arm: str = "arm",
        reward: str = "reward",
        time: str | None = None,
        unit: str | None = None,
        propensity: str | None = None,
        available: str | None = None,
        decision: str | None = None,
        name: str | None = None,
        delay: Duration | None = None,
    ) -> None:
        table = read_table(data, name, keep_missing=True)
        if table.is_log:  # which has all of these
            time, propensity, available = time or "time", propensity or "propensity", available or "available"
            unit = unit or ("unit" if set(table.columns["unit"]) - {"(none)"} else None)
        given = {"arm": arm, "reward": reward, "time": time, "unit": unit, "propensity": propensity, "available": available}
        given = {parameter: column for parameter, column in {**given, "decision": decision}.items() if column is not None}
        columns = {parameter: table.column(parameter, column) for parameter, column in given.items()}
        check_lengths(columns.values())
        size = len(columns["arm"])
        if not size:
            raise InvalidValueError("data", "have at least one row", data, got="none")
        notes = list(table.notes)
        arms = _labels(columns["arm"], notes, table)
        units = _labels(columns["unit"], notes, table) if "unit" in columns else Labels(("",), np.zeros(size, np.int64))
        rewards = columns["reward"].numbers(REWARDS, may_be_missing=True)
        times, dated = columns["time"].times() if "time" in columns else (np.arange(size, dtype=np.float64), False)
        chances = columns["propensity"].numbers(PROPENSITIES, may_be_missing=True) if "propensity" in columns else None
        choices = columns["available"].sets() if "available" in columns else None
        if choices is not None:
            _check_available(arms, choices, columns["arm"])
        if "decision" in columns:
            _check_decisions(columns["decision"])
        order = np.argsort(times, kind="stable")
        self.reordered = int((np.maximum.accumulate(times) > times).sum())
        self.arms, self.arm = arms.names, arms.which[order]
        self.reward, self.time = rewards[order], times[order]
        self.units, self.unit = units.names, units.which[order]
        self.propensity = None if chances is None else chances[order]
        self.available = None if choices is None else [choices[k] for k in order]
        self.unit_name = unit or "unit"
        self.has_units, self.has_times, self.has_dates = unit is not None, time is not None, dated
        self.own_pulls = positions(self.unit * len(self.arms) + self.arm)
        self.young = 0
        if delay is not None:
            self.reward, self.young = _without_young(self.reward, self.time, delay, dated=dated, timed=time is not None)
        self.total_row = None if table.is_log else _total_row(rewards, columns["reward"])
        notes += [] if self.total_row is None else [f"{self.total_row[0].upper()}{self.total_row[1:]}."]
        repeated = 0 if table.is_log or "decision" in columns else _repeated(self)
        if repeated:
            notes.append(f"{repeated:,} rows are equal to a row before them in all columns that were named: are they in twice?")
        self.notes = tuple(notes)
        for array in (self.arm, self.reward, self.time, self.unit, self.own_pulls):
            array.flags.writeable = False

    def __len__(self) -> int:
        return self.reward.size

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whether the reward of each row is known."""
        return ~np.isnan(self.reward)

    @property
    def missing(self) -> int:
        """The number of missing rewards."""
        return int(np.isnan(self.reward).sum())

    @property
    def pulls(self) -> Ints:
        """The number of rows of each arm."""
        return np.bincount(self.arm, minlength=len(self.arms))

    def __repr__(self) -> str:
        units = f", {len(self.units)} units" if self.has_units else ""
        missing = f", {self.missing:,} missing reward{'s' * (self.missing > 1)}" if self.missing else ""
        return (
            f"Log({len(self):,} row{'s' * (len(self) > 1)}, {len(self.arms)} arm{'s' * (len(self.arms) > 1)}{units}{missing})"
        )

    def _repr_html_(self) -> str:
        return block(repr(self), self.describe()._repr_html_())

    def describe(self) -> FormattedTable:
        """Return what the log contains, and what is odd about it."""
        return _describe(self)


def check_log(log: object) -> Log:
    """Return a log; refuse anything else."""
    if not isinstance(log, Log):
        raise InvalidTypeError("log", "be a Log", log)
    return log


def rewards_by_arm(log: Log) -> list[Floats]:
    """Return the known rewards of each arm, in their order.

    Example:
        >>> [rewards.tolist() for rewards in rewards_by_arm(Log([("a", 1.0), ("b", 0.0), ("a", 0.5), ("a", None)]))]
        [[1.0, 0.5], [0.0]]
    """
    arms, rewards = log.arm[log.known], log.reward[log.known]
    ends = np.cumsum(np.bincount(arms, minlength=len(log.arms)))
    return np.split(rewards[np.argsort(arms, kind="stable")], ends[:-1])


def positions(which: Ints) -> Ints:
    """Return for each element how many equal ones come before it.

    Example:
        >>> positions(np.array([7, 2, 7, 7, 2]))
        array([0, 0, 1, 2, 1])
    """
    order = np.argsort(which, kind="stable")
    ordered = which[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    lengths = np.diff(np.append(starts, which.size))
    found = np.empty(which.size, np.int64)
    found[order] = np.arange(which.size) - np.repeat(starts, lengths)
    return found


def _labels(column: DataColumn, notes: list[str], table: Table) -> Labels:
    """Return names of arms or units; those that differ by spaces around them are one, with a note."""
    found = column.labels(may_look_missing=table.is_log)
    if table.is_log or not any(isinstance(each, str) and each != each.strip() for each in found.names):
        return found
    bare = [each.strip() if isinstance(each, str) else each for each in found.names]
    numbers = {name: k for k, name in enumerate(dict.fromkeys(bare))}
    joined = next((name for name, count in Counter(bare).items() if count > 1), None)
    if joined is not None:
        notes.append(f"Column {column.name!r} has {joined!r} with and without spaces around it, which count as one.")
    return Labels(tuple(numbers), np.array([numbers[each] for each in bare])[found.which])


def _without_young(reward: Floats, time: Floats, delay: Duration, *, dated: bool, timed: bool) -> tuple[Floats, int]:
    """Return the rewards without those that may still come, and their number."""
    if not timed:
        raise InvalidValueError("delay", "come with the name of a column of times, `time`", delay)
    if isinstance(delay, str) and not dated:
        raise InvalidValueError("delay", "be a number, as the times are", delay)
    young = time > time[-1] - seconds_in("delay", delay)
    return np.where(young, np.nan, reward), int(young.sum())


def _total_row(reward: Floats, column: DataColumn) -> str | None:
    """Return a sentence about a row that holds the sum of the others, as far as its size tells; None without one."""
    known = np.flatnonzero(~np.isnan(reward))
    if known.size < 20:
        return None
    largest = int(known[np.argmax(reward[known])])
    others = reward[known[known != largest]]
    rest = float(others.sum())
    if others.min() < 0 or reward[largest] < 10 * others.max() or not 0.9 * rest <= reward[largest] <= 1.1 * rest:
        return None
    return (
        f"the {reward[largest]:,.6g} in {column.place(largest)} is about the sum of all other rewards: is it a row of totals?"
    )


def _repeated(log: "Log") -> int:
    """Return how many rows are equal to another one in time, arm, unit and reward; 0 if that may be chance."""
    order = np.lexsort((np.nan_to_num(log.reward, nan=-1.0), log.unit, log.arm, log.time))
    same = np.ones(max(len(log) - 1, 0), bool)
    for each in (log.time, log.arm, log.unit, np.nan_to_num(log.reward, nan=-1.0)):
        same &= np.diff(each[order]) == 0
    number = int(same.sum())
    # Rows share times that are rounded to hours or days; exact ones repeat if the rows do.
    return number if number >= 0.01 * len(log) and np.unique(log.time).size > 0.8 * (len(log) - number) else 0


def _check_available(arms: Labels, choices: Sequence[frozenset[Hashable]], column: DataColumn) -> None:
    for row, (arm, possible) in enumerate(zip(arms.which, choices, strict=True)):
        if arms.names[arm] not in possible:
            raise InvalidValueError(column.name, "be among the available arms", arms.names[arm], where=column.place(row))


def _check_decisions(column: DataColumn) -> None:
    ids = column.labels()
    if len(ids.names) < ids.which.size:
        row = int(np.flatnonzero(positions(ids.which) > 0)[0])
        rule = "be different in every row: a decision has one reward"
        raise InvalidValueError(column.name, rule, ids.names[ids.which[row]], where=column.place(row))


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


# --- What a log holds ---------------------------------------------------------------------------------------------------------


def _describe(log: Log) -> FormattedTable:
    """Return a table of what a log holds, with what is odd about it below."""
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


def _lessons(log: Log) -> list[str]:
    """Return sentences about what is odd, and what each of the columns allows."""
    found = list(log.notes)
    if log.young:
        found.append(f"Rewards to come: those of the newest {log.young:,} rows are left out, since they may still change.")
    if log.reordered:
        found.append(
            f"Order: {log.reordered:,} of {len(log):,} rows had an earlier time than a row above them, so all rows were sorted "
            "by time. If they were in the right order before, the times are wrong: correct them, or name no column of times."
        )
    if log.missing > log.young:
        found.append(
            f"{(log.missing - log.young) / len(log):.1%} of the rewards are missing. If they are zeros that nobody reported, "
            f"write the zeros into the log first."
        )
    if log.available is not None:
        partly = sum(not each.issuperset(log.arms) for each in log.available)
        if partly:
            found.append(
                f"Not all arms were available in {partly / len(log):.1%} of the rows, and policies choose among the others."
            )
    if log.propensity is not None:
        found.append("Propensities tell what each arm, or a random one, pays, and are checked there (Replay.fixed_table).")
    return found


def _range(counts: Ints) -> str:
    return f"{counts.min():,} to {counts.max():,}"


def _moment(log: Log, row: int) -> str:
    if log.has_dates:
        return datetime.fromtimestamp(float(log.time[row]), UTC).strftime("%Y-%m-%d %H:%M")
    return f"{log.time[row]:.6g}"
