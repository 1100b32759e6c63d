"""Reads past rewards in any of the forms that `Bandit.learn` accepts, and checks all of them before any is learned."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from os import PathLike
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import PROPENSITY
from rotting.errors import InvalidArgumentError, InvalidTypeError, InvalidValueError
from rotting.live.arms import Arms, check_arm
from rotting.live.reward_files import EXPORTED, Columns, FileContent, arms_in_text, exported_rewards, read_file, row_text
from rotting.policy import Policy

UnknownArms = Literal["refuse", "add", "skip"]
_FORMS = "a data frame or a mapping with the columns 'arm' and 'reward', pairs of these, or the path of a file"
_ROWS = (list, tuple, np.ndarray)


class NumberRule(NamedTuple):
    """The rule for a column of numbers. Numbers from `least` to `most` are valid; `check` raises the error for others."""

    check: Callable[[object], float]
    least: float
    most: float


_PROPENSITIES = NumberRule(lambda value: PROPENSITY.check("propensity", value), float(np.nextafter(0.0, 1.0)), 1.0)


class History(NamedTuple):
    """Rewards in their order."""

    table: FileContent  # what they were read from
    arms: list[Hashable]  # each once
    which: Ints  # [row] the position of its arm in `arms`
    rewards: Floats  # [row]
    propensities: Floats | None  # [row]

    def where_first(self, k: int) -> str:
        """Return where arm number k appears first, for an error message."""
        return self.table.place(int(np.flatnonzero(self.which == k)[0]), "arm")


def read(history: object, name: str | None, rule: NumberRule, dividing: Policy | None) -> History:
    """Return the rows of a history, whose numbers are checked.

    Args:
        history: as for `Bandit.learn`.
        name: the name of the bandit in a log.
        rule: the rule for rewards.
        dividing: the policy if it divides rewards by propensities, otherwise None.
    """
    table = read_columns(history, name)
    columns = table.columns
    wanted = ["arm", "reward", *(["propensity"] if dividing else [])]
    if missing := [each for each in wanted if each not in columns]:
        why = f", since {dividing!r} divides each reward by its propensity" if missing == ["propensity"] else ""
        raise InvalidValueError("history", f"have a column {missing[0]!r}{why}", list(columns))
    arms = to_list("arm", columns["arm"])
    rewards = _numbers(table, "reward", rule)
    propensities = _numbers(table, "propensity", _PROPENSITIES) if dividing else None
    for column, values in (("reward", rewards), ("propensity", propensities)):
        if values is not None and values.size != len(arms):
            got = f"{len(arms)} in 'arm', {values.size} in {column!r}"
            raise InvalidValueError("columns", "have the same length", values.size, got=got)
    numbers: dict[Hashable, int] = {}
    try:
        which = np.fromiter((numbers.setdefault(arm, len(numbers)) for arm in arms), np.int64, len(arms))
    except TypeError:  # an arm is not hashable
        row = next(k for k, arm in enumerate(arms) if not is_hashable(arm))
        kinds = "a string, a number, None or a tuple of these"
        raise InvalidTypeError("arm", f"be {kinds}", arms[row], where=table.place(row, "arm")) from None
    return History(table, list(numbers), which, rewards, propensities)


def is_hashable(value: object) -> bool:
    """Return whether a value can be the key of a dict; a tuple can if all its items can."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def read_columns(history: object, name: str | None, keep_missing: bool = False) -> FileContent:
    """Return the columns of a history.

    Args:
        history: as for `Bandit.learn`.
        name: the name of the bandit in a log.
        keep_missing: whether to return the decisions of a log that have no reward, too.
    """
    if isinstance(history, str | PathLike):
        found = read_file(history, name, keep_missing)
        if found.is_log:
            return found
    else:
        named = _columns_by_name(history)
        found = FileContent(_columns_of_rows(history) if named is None else named, False, False)
    if EXPORTED.issubset(found.columns):
        exported = {key: to_list(key, values) for key, values in found.columns.items()}
        return FileContent(exported_rewards(exported, name, keep_missing), True, True)
    if name is not None:
        raise InvalidValueError("name", "be left out, unless the data is a store or an exported log", name)
    return found


def _columns_by_name(history: Any) -> dict[str, object] | None:
    """Return the columns of a mapping or of any data frame that has `columns`; None if it has none."""
    names = history if isinstance(history, Mapping) else getattr(history, "columns", None)
    if names is None:
        return None
    try:
        return {str(each): history[each] for each in names}
    except TypeError as error:  # for example from a lazy frame
        raise InvalidTypeError("history", f"be {_FORMS}", history) from error


def _columns_of_rows(history: object) -> Columns:
    """Return the columns of pairs of an arm and a reward, or of triples with a propensity."""
    if isinstance(history, bytes) or not isinstance(history, Iterable):
        raise InvalidTypeError("history", f"be {_FORMS}", history)
    rows, names = list(history), ("arm", "reward", "propensity")
    width = 3 if rows and isinstance(rows[0], _ROWS) and len(rows[0]) == 3 else 2
    for k, row in enumerate(rows):
        if not isinstance(row, _ROWS) or len(row) != width:
            form = "an arm and a reward" if width == 2 else "an arm, a reward and a propensity"
            raise InvalidTypeError(row_text(k), f"be {form}", row)
    return {each: [row[k] for row in rows] for k, each in enumerate(names[:width])}


def to_list(name: str, column: object) -> Sequence[Any]:
    """Return a column as a list of Python values."""
    for method in ("tolist", "to_list"):
        if hasattr(column, method):
            listed: Sequence[object] = getattr(column, method)()
            return listed
    if isinstance(column, str | bytes) or not isinstance(column, Iterable):
        raise InvalidTypeError(f"column {name!r}", "be a list of values", column)
    return column if isinstance(column, list | tuple) else list(column)


def comma_hint(value: object) -> str:
    """Return a hint for the error about a number with a comma, which may separate decimals or thousands; "" for other values.

    Example:
        >>> comma_hint("1,5"), comma_hint("one")
        ('; write numbers with a decimal point and without commas, such as 1.5', '')
    """
    if isinstance(value, str) and "," in value:
        with suppress(ValueError):
            float(value.replace(",", ""))
            return "; write numbers with a decimal point and without commas, such as 1.5"
    return ""


def _numbers(table: FileContent, name: str, rule: NumberRule) -> Floats:
    """Return a column of numbers, or raise an error for the first value that is not valid."""
    column = table.columns[name]
    array = column.to_numpy() if hasattr(column, "to_numpy") else column
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiu":
        values = to_list(name, array)
        try:
            array = np.array(values, np.float64) if set(map(type, values)) <= {float, int} else None
        except OverflowError:  # a whole number beyond all floats
            array = None
        if array is None:  # check value by value, which is slower
            return np.array([_number(table, name, k, each, rule) for k, each in enumerate(values)], np.float64)
    numbers: Floats = array.astype(np.float64)
    wrong = np.flatnonzero(~((numbers >= rule.least) & (numbers <= rule.most)))
    if wrong.size:
        _number(table, name, int(wrong[0]), array[wrong[0]].item(), rule)
    return numbers


def _number(table: FileContent, name: str, row: int, value: object, rule: NumberRule) -> float:
    if table.is_text and isinstance(value, str):
        with suppress(ValueError):
            value = float(value)
    try:
        return rule.check(value)
    except InvalidArgumentError as error:
        raise error.replace(hint=error.hint + comma_hint(value), where=table.place(row, name)) from None


def match_arms(history: History, arms: Arms, unknown: UnknownArms) -> tuple[History, list[Any]]:
    """Return the rows to learn, and the arms that must be added first; `unknown` is as for `Bandit.learn`."""
    if unknown not in get_args(UnknownArms):
        raise InvalidValueError("unknown", "be 'refuse', 'add' or 'skip'", unknown)
    named = history.arms
    if history.table.is_text:  # an arm may be the text of another value
        by_text = arms_in_text([*arms.active, *arms.retired])
        named = [by_text.get(each, each) if isinstance(each, str) else each for each in named]
    new = [k for k, arm in enumerate(named) if arm not in arms.active and arm not in arms.retired]
    if new and unknown == "refuse":
        try:
            arms.known(named[new[0]])
        except InvalidValueError as error:
            raise error.replace(hint=f"{error.hint}; see `unknown`", where=history.where_first(new[0])) from None
    if new and unknown == "skip":
        kept = ~np.isin(history.which, new)
        used, which = np.unique(history.which[kept], return_inverse=True)
        propensities = None if history.propensities is None else history.propensities[kept]
        return History(history.table, [named[k] for k in used], which, history.rewards[kept], propensities), []
    for k in new:
        try:
            check_arm(named[k])
        except InvalidArgumentError as error:
            raise error.replace(where=history.where_first(k)) from None
    return history._replace(arms=named), [named[k] for k in new]
