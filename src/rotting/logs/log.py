"""`Log`: the decisions of the past, in their order, with what each of them paid."""

from collections.abc import Hashable, Sequence, Sized

import numpy as np
from numpy.typing import NDArray

from rotting.common.arrays import Floats, Ints
from rotting.common.html_parts import block
from rotting.display.tables import FormattedTable
from rotting.errors import InvalidArgumentError, InvalidTypeError, InvalidValueError
from rotting.live.past_rewards import read_columns
from rotting.logs import columns


class Log:
    """Past decisions in chronological order: which arm was shown, and what it paid.

    Rows are sorted by time; those with the same time stay in their order. `reordered` counts the rows of the data that had an
    earlier time than a row above them. A row without a reward still counts as a pull of its arm.

    Args:
        data: a data frame, a mapping of columns, pairs of an arm and a reward, or the path of a file: `.csv`, `.parquet`, a
            store of `rotting.open`, or the export of `rotting log`.
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
        paused: the name of a column with the arms that were paused at random (`Bandit.paused`), or empty; in a text file, as
            JSON. A store or an export of `rotting log` already contains them.

    Attributes:
        arms: the names of the K arms, in the order of their first rows.
        arm: the arm of each row, as a position in `arms`.
        reward: the reward of each row, NaN if it is missing.
        time: the time of each row: seconds since 1970 if the column has dates, otherwise its numbers, or the row from 0 on.
        units: the names of the units; `("",)` without a column.
        unit: the unit of each row, as a position in `units`.
        own_pulls: how often the arm of each row was pulled before, by its unit.
        round: the round of each row, from 1: the round of the bandit if the log has it, otherwise the number of the row.
        paused: for each row, the arms that were paused at random, as positions in `arms`; None if that is not known.

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
        paused: str | None = None,
    ) -> None:
        try:
            table = read_columns(data, name, keep_missing=True)
        except InvalidArgumentError as error:  # it names the parameter of `Bandit.learn`
            raise error.replace(field="data") if error.field == "history" else error from error
        if table.is_log and "paused" in table.columns:
            paused = paused or "paused"
        arm_column = columns.select(table, "arm", arm)
        arms = columns.labels(arm_column, may_look_missing=table.is_log)
        rewards = columns.rewards(columns.select(table, "reward", reward))
        if not rewards.size:
            raise InvalidValueError("data", "have at least one row", data, got="none")
        no_units = columns.Labels(("",), np.zeros(rewards.size, np.int64))
        units = columns.optional(table, "unit", unit, columns.labels) or no_units
        row_numbers = np.arange(rewards.size, dtype=np.float64)
        times, dated = columns.optional(table, "time", time, columns.times) or (row_numbers, False)
        chances = columns.optional(table, "propensity", propensity, columns.propensities)
        choices = columns.optional(table, "available", available, columns.available)
        pauses = columns.optional(table, "paused", paused, lambda column: columns.paused(column, arms.names))
        rounds = np.arange(1, rewards.size + 1)
        if table.is_log and "round" in table.columns:
            rounds = np.array(table.columns["round"], np.int64)
        filled: list[tuple[str | None, Sized | None]] = [(arm, arms.which), (unit, units.which), (time, times)]
        filled += [(propensity, chances), (available, choices), (paused, pauses)]
        for column, values in filled:
            if values is not None and (size := len(values)) != rewards.size:
                got = f"{rewards.size} in {reward!r}, {size} in {column!r}"
                raise InvalidValueError("columns", "have the same length", size, got=got)
        if choices is not None:
            _check_available(arms, choices, arm_column)
        if decision is not None:
            _check_decisions(columns.select(table, "decision", decision))
        order = np.argsort(times, kind="stable")
        self.reordered = int((np.maximum.accumulate(times) > times).sum())
        self.arms, self.arm = arms.names, arms.which[order]
        self.reward, self.time = rewards[order], times[order]
        self.units, self.unit = units.names, units.which[order]
        self.propensity = None if chances is None else chances[order]
        self.available = None if choices is None else [choices[k] for k in order]
        self.round = rounds[order]
        self.paused = None if pauses is None else [pauses[k] for k in order]
        self.has_units, self.has_times, self.has_dates = unit is not None, time is not None, dated
        self.own_pulls = positions(self.unit * len(self.arms) + self.arm)
        for array in (self.arm, self.reward, self.time, self.unit, self.own_pulls, self.round):
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
        """Return what the log contains, and what can and cannot be learned from it."""
        from rotting.logs.description import describe  # noqa: PLC0415 - it knows the class

        return describe(self)


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


def _check_available(arms: columns.Labels, choices: Sequence[frozenset[Hashable]], column: columns.NamedColumn) -> None:
    for row, (arm, possible) in enumerate(zip(arms.which, choices, strict=True)):
        if arms.names[arm] not in possible:
            raise InvalidValueError(column.name, "be among the available arms", arms.names[arm], where=column.place(row))


def _check_decisions(column: columns.NamedColumn) -> None:
    ids = columns.labels(column)
    if len(ids.names) < ids.which.size:
        row = int(np.flatnonzero(positions(ids.which) > 0)[0])
        rule = "be different in every row: a decision has one reward"
        raise InvalidValueError(column.name, rule, ids.names[ids.which[row]], where=column.place(row))
