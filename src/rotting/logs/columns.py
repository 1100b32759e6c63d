"""Turns the columns of a table into arrays, and refuses the first value that cannot be right, with its row."""

import json
import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from typing import NamedTuple, SupportsFloat, TypeVar

import numpy as np

from rotting.common.arrays import AnyArray, Floats, Ints
from rotting.common.rules import FINITE, LARGEST, PROPENSITY, Rule, suggest
from rotting.errors import InvalidArgumentError, InvalidTypeError, InvalidValueError
from rotting.live.past_rewards import comma_hint, is_hashable, to_list
from rotting.live.reward_files import FileContent

Values = TypeVar("Values")
_TRUTHS = {"true": 1.0, "false": 0.0}
_MISSING_WORDS = frozenset({"", "nan", "na", "null", "none"})
_TIME = "be a date such as 2026-05-01 12:30, or a number"


@dataclass(frozen=True, eq=False)
class NamedColumn:
    """A column of a table, by its name."""

    table: FileContent
    name: str

    @cached_property
    def values(self) -> Sequence[object]:
        """The values as Python values."""
        return to_list(self.name, self.table.columns[self.name])

    @property
    def array(self) -> AnyArray:
        """The column as an array; an empty one if the column is a list or another type."""
        column = self.table.columns[self.name]
        array = column.to_numpy() if hasattr(column, "to_numpy") else column
        return array if isinstance(array, np.ndarray) else np.zeros(0, object)

    def place(self, row: int) -> str:
        """Return where a value stands, for an error message."""
        return self.table.place(row, self.name)


class Labels(NamedTuple):
    """A column of names."""

    names: tuple[Hashable, ...]  # each once, in the order of their first rows
    which: Ints  # [row] the position in `names`


def select(table: FileContent, parameter: str, name: object) -> NamedColumn:
    """Return a column by its name; `parameter` is the argument that named it."""
    if not isinstance(name, str):
        raise InvalidTypeError(parameter, "be the name of a column", name)
    if name not in table.columns:
        hint = suggest(name, table.columns) or f"; the columns are {', '.join(map(repr, table.columns))}"
        raise InvalidValueError(parameter, "be the name of a column", name, hint=hint)
    return NamedColumn(table, name)


def optional(table: FileContent, parameter: str, name: str | None, read: Callable[[NamedColumn], Values]) -> Values | None:
    """Return what `read` makes of a column; None if the argument names no column."""
    return None if name is None else read(select(table, parameter, name))


def is_missing(value: object) -> bool:
    """Return whether a value stands for no value: None, NaN, or a text such as "" or "NA".

    Example:
        >>> [is_missing(each) for each in (None, math.nan, " ", "NA", 0, "0")]
        [True, True, True, True, False, False]
    """
    if isinstance(value, str):
        return value.strip().lower() in _MISSING_WORDS
    return value is None or value != value  # noqa: PLR0124 - only NaN and NaT differ from themselves


def labels(column: NamedColumn, may_look_missing: bool = False) -> Labels:
    """Return a column of arms, units or decisions, none of which may be missing.

    The arms of a bandit's own log are all known, even if an arm is called None or "NA" (`may_look_missing`).
    """
    values, name = column.values, column.name
    numbers: dict[object, int] = {}
    try:
        which = np.fromiter((numbers.setdefault(each, len(numbers)) for each in values), np.int64, len(values))
    except TypeError:  # a value cannot be hashed
        row = next(k for k, each in enumerate(values) if not is_hashable(each))
        kinds = "a string, a number or a tuple of these"
        raise InvalidTypeError(name, f"be {kinds}", values[row], where=column.place(row)) from None
    for value, number in numbers.items():
        if not may_look_missing and is_missing(value):
            row = int(np.flatnonzero(which == number)[0])
            raise InvalidValueError(name, "not be missing", value, where=column.place(row))
    return Labels(tuple(numbers), which)


def rewards(column: NamedColumn) -> Floats:
    """Return a column of rewards: numbers or truth values; NaN stands for a missing reward.

    The variance of larger rewards than a bandit accepts would overflow.
    """
    numbers = _checked(column, FINITE)
    too_large = np.flatnonzero(np.abs(numbers) > LARGEST)
    if too_large.size:
        row = int(too_large[0])
        raise InvalidValueError(column.name, f"be at most {LARGEST:g} in size", column.values[row], where=column.place(row))
    return numbers


def propensities(column: NamedColumn) -> Floats:
    """Return a column of probabilities; NaN stands for a missing one."""
    return _checked(column, PROPENSITY)


def times(column: NamedColumn) -> tuple[Floats, bool]:
    """Return a column of times as numbers, in seconds if they are dates, and whether they are dates. None may be missing."""
    array = column.array
    if array.dtype.kind == "M":
        moments, dated = array.astype("datetime64[us]").astype(np.int64) / 1e6, True
        moments[np.isnat(array)] = math.nan
    elif array.dtype.kind in "fiu":
        moments, dated = array.astype(np.float64), False
    else:
        first = column.values[:1]
        dated = any(isinstance(each, date) or (isinstance(each, str) and not _is_number(each)) for each in first)
        moments = _each(column, _moment if dated else _number, _TIME)
    wrong = np.flatnonzero(~np.isfinite(moments))
    if wrong.size:
        row = int(wrong[0])
        raise InvalidValueError(column.name, "be known in every row", column.values[row], where=column.place(row))
    return moments, dated


def available(column: NamedColumn) -> list[frozenset[Hashable]]:
    """Return a column of lists of arms; in text, a list is written in JSON. Rows with the same text share one set."""
    return _lists(column, column.values)


def _lists(column: NamedColumn, values: Sequence[object]) -> list[frozenset[Hashable]]:
    found = []
    texts: dict[str, frozenset[Hashable]] = {}
    for row, value in enumerate(values):
        if isinstance(value, str) and value in texts:
            found.append(texts[value])
            continue
        listed = value
        if isinstance(value, str):
            try:
                listed = json.loads(value)
            except json.JSONDecodeError:
                listed = None
        if not isinstance(listed, Sequence | set | frozenset | np.ndarray) or isinstance(listed, str):
            listed = None
        if listed is None or not all(map(is_hashable, listed)):
            rule = 'be a list of arms, in text such as ["a", "b"]'
            raise InvalidTypeError(column.name, rule, value, where=column.place(row))
        found.append(frozenset(listed))
        if isinstance(value, str):
            texts[value] = found[-1]
    return found


def paused(column: NamedColumn, arms: Sequence[Hashable]) -> list[frozenset[int]]:
    """Return a column of lists of arms as positions in `arms`. An empty value is an empty list; other arms are left out.

    In an exported log, arms are text, but the lists hold the arms themselves. If 7 and "7" are both arms, their texts are '7'
    and '"7"'.
    """
    places: dict[Hashable, int] = {arm: k for k, arm in enumerate(arms)}
    lists = _lists(column, [[] if _is_empty(value) else value for value in column.values])
    text = {arm: places.get(json.dumps(arm, ensure_ascii=False), places.get(arm)) for arm in frozenset().union(*lists)}
    return [frozenset(place for arm in each if (place := text[arm]) is not None) for each in lists]


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value) or (isinstance(value, float) and math.isnan(value))


def _checked(column: NamedColumn, rule: Rule) -> Floats:
    """Return a column of numbers, each of which is missing or obeys a rule."""
    array = column.array
    if array.dtype.kind in "fiub":
        numbers: Floats = array.astype(np.float64)
    else:
        numbers = _each(column, _number, f"be {rule.text}")
    valid = np.isnan(numbers) | (np.isfinite(numbers) & (numbers >= rule.low) & (numbers <= rule.high))
    if rule.open_low:
        valid &= numbers != rule.low
    if not valid.all():
        row = int(np.flatnonzero(~valid)[0])
        raise InvalidValueError(column.name, f"be {rule.text}", column.values[row], where=column.place(row))
    return numbers


def _each(column: NamedColumn, read: Callable[[object], float], rule: str) -> Floats:
    """Return the number that each value stands for, NaN if it is missing."""
    values = column.values
    if read is _number:
        try:  # much faster than one by one, also for text
            return np.array(values, np.float64)
        except (TypeError, ValueError):
            pass
    numbers = np.empty(len(values))
    for row, value in enumerate(values):
        try:
            numbers[row] = math.nan if is_missing(value) else read(value)
        except (TypeError, ValueError, InvalidArgumentError):
            raise InvalidValueError(column.name, rule, value, hint=comma_hint(value), where=column.place(row)) from None
    return numbers


def _number(value: object) -> float:
    if isinstance(value, str):
        text = value.strip().lower()
        return _TRUTHS[text] if text in _TRUTHS else float(text)
    if not isinstance(value, SupportsFloat):
        raise TypeError
    return float(value)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _moment(value: object) -> float:
    """Return the seconds since 1970 of a date; without a time zone it is UTC."""
    moment = datetime.fromisoformat(value.strip()) if isinstance(value, str) else value
    if isinstance(moment, date) and not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    if not isinstance(moment, datetime):
        raise TypeError
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
