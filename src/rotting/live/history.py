"""Past rewards, in whatever form a user has them, checked before any of them is learned."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from os import PathLike
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import Rule
from rotting.errors import InvalidArgumentError, InvalidTypeError, InvalidValueError
from rotting.live.arms import Arms, check_arm
from rotting.live.logs import EXPORTED, Columns, arms_in_text, exported_rewards, read_file

Unknown = Literal["refuse", "add", "skip"]
_FORMS = "a data frame or a mapping with the columns 'arm' and 'reward', pairs of these, or the path of a file"
_ROWS = (list, tuple, np.ndarray)


class Numbers(NamedTuple):
    """The rule for a column of numbers: what returns one or refuses it, and which ones it lets pass."""

    check: Callable[[object], float]
    low: float
    high: float


_PROPENSITY = Rule("a probability above 0, at most 1", low=0.0, open_low=True, high=1.0)
_PROPENSITIES = Numbers(lambda value: _PROPENSITY.check("propensity", value), float(np.nextafter(0.0, 1.0)), 1.0)


class History(NamedTuple):
    """Rewards in their order."""

    arms: list[Any]  # each once
    which: Ints  # [row] the place of its arm in `arms`
    rewards: Floats  # [row]
    propensities: Floats | None  # [row]
    is_text: bool  # whether arms are what CSV calls them

    def first(self, k: int) -> str:
        """Tell where an arm appears first."""
        return _place(int(np.flatnonzero(self.which == k)[0]), "arm")


def _place(row: int, column: str) -> str:
    return f"row {row} (from 0), column {column!r}"


def read(history: object, name: str | None, rule: Numbers, weighs: str) -> History:
    """Return the rows of a history, whose numbers are checked.

    Args:
        history: as for `Bandit.learn`.
        name: which bandit of a log.
        rule: that of rewards.
        weighs: of a policy that divides rewards by the probability of their draw: what it is called; else empty.
    """
    columns, is_text = _columns(history, name)
    wanted = ["arm", "reward", *(["propensity"] if weighs else [])]
    if missing := [each for each in wanted if each not in columns]:
        why = f", since {weighs} divides each reward by the probability of its draw" if missing == ["propensity"] else ""
        raise InvalidValueError("history", f"have a column {missing[0]!r}{why}", list(columns))
    arms = _listed("arm", columns["arm"])
    rewards = _numbers("reward", columns["reward"], rule, is_text)
    propensities = _numbers("propensity", columns["propensity"], _PROPENSITIES, is_text) if weighs else None
    for column, values in (("reward", rewards), ("propensity", propensities)):
        if values is not None and values.size != len(arms):
            raise InvalidValueError(
                "columns", "have the same length", values.size, got=f"{len(arms)} in 'arm', {values.size} in {column!r}"
            )
    found: dict[Any, int] = {}
    try:
        which = np.fromiter((found.setdefault(arm, len(found)) for arm in arms), np.int64, len(arms))
    except TypeError:  # one is not hashable
        row = next(k for k, arm in enumerate(arms) if not _is_hashable(arm))
        kinds = "a string, a number, None or a tuple of these"
        raise InvalidTypeError("arm", f"be {kinds}", arms[row], where=_place(row, "arm")) from None
    return History(list(found), which, rewards, propensities, is_text)


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _columns(history: object, name: str | None) -> tuple[Mapping[str, Any], bool]:
    """Return the columns of a history, and whether they come from a file of text."""
    if isinstance(history, str | PathLike):
        found = read_file(history, name)
        if found.is_log:
            return found.columns, False
        columns, is_text = found.columns, found.is_text
    else:
        named = _named(history)
        columns, is_text = _paired(history) if named is None else named, False
    if EXPORTED.issubset(columns):
        return exported_rewards({key: _listed(key, values) for key, values in columns.items()}, name), True
    if name is not None:
        raise InvalidValueError("name", "be left out for a history that is no log", name)
    return columns, is_text


def _named(history: Any) -> dict[str, Any] | None:
    """Return the columns of a mapping or of any data frame that has `columns`; None if it has none."""
    names = history if isinstance(history, Mapping) else getattr(history, "columns", None)
    if names is None:
        return None
    try:
        return {str(each): history[each] for each in names}
    except TypeError as error:  # such as a lazy frame
        raise InvalidTypeError("history", f"be {_FORMS}", history) from error


def _paired(history: Any) -> Columns:
    """Return the columns of pairs of an arm and a reward, or of such with a propensity."""
    if isinstance(history, bytes) or not isinstance(history, Iterable):
        raise InvalidTypeError("history", f"be {_FORMS}", history)
    rows, names = list(history), ("arm", "reward", "propensity")
    width = 3 if rows and isinstance(rows[0], _ROWS) and len(rows[0]) == 3 else 2
    for k, row in enumerate(rows):
        if not isinstance(row, _ROWS) or len(row) != width:
            form = "an arm and a reward" if width == 2 else "an arm, a reward and a propensity"
            raise InvalidTypeError(f"row {k} (from 0)", f"be {form}", row)
    return {each: [row[k] for row in rows] for k, each in enumerate(names[:width])}


def _listed(name: str, column: Any) -> Sequence[Any]:
    """Return a column as a list of plain values."""
    for method in ("tolist", "to_list"):
        if hasattr(column, method):
            listed: list[Any] = getattr(column, method)()
            return listed
    if isinstance(column, str | bytes) or not isinstance(column, Iterable):
        raise InvalidTypeError(f"column {name!r}", "be a list of values", column)
    return column if isinstance(column, list | tuple) else list(column)


def _numbers(name: str, column: Any, rule: Numbers, is_text: bool) -> Floats:
    """Return a column of numbers, or refuse it for the first value that is none."""
    array = column.to_numpy() if hasattr(column, "to_numpy") else column
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiu":
        values = _listed(name, array)
        try:
            array = np.array(values, np.float64) if set(map(type, values)) <= {float, int} else None
        except OverflowError:  # a whole number beyond all floats
            array = None
        if array is None:  # slower, and each value is looked at
            return np.array([_number(name, k, each, rule, is_text) for k, each in enumerate(values)], np.float64)
    numbers: Floats = array.astype(np.float64)
    wrong = np.flatnonzero(~((numbers >= rule.low) & (numbers <= rule.high)))
    if wrong.size:
        _number(name, int(wrong[0]), array[wrong[0]].item(), rule, is_text)
    return numbers


def _number(name: str, row: int, value: object, rule: Numbers, is_text: bool) -> float:
    if is_text and isinstance(value, str):
        with suppress(ValueError):
            value = float(value)
    try:
        return rule.check(value)
    except InvalidArgumentError as error:
        raise error.replace(where=_place(row, name)) from None


def settle_arms(history: History, arms: Arms, unknown: Unknown) -> tuple[History, list[Hashable]]:
    """Return the rows to learn, and the arms that must be added first.

    Args:
        history: what was read.
        arms: those of the bandit, active or retired.
        unknown: what becomes of other arms.
    """
    if unknown not in get_args(Unknown):
        raise InvalidValueError("unknown", "be 'refuse', 'add' or 'skip'", unknown)
    named: list[Any] = history.arms
    if history.is_text:
        called = arms_in_text([*arms.active, *arms.retired])
        named = [called.get(each, each) if isinstance(each, str) else each for each in named]
    strange = [k for k, arm in enumerate(named) if arm not in arms.active and arm not in arms.retired]
    if strange and unknown == "refuse":
        try:
            arms.known(named[strange[0]])
        except InvalidValueError as error:
            raise error.replace(hint=f"{error.hint}; see `unknown`", where=history.first(strange[0])) from None
    if strange and unknown == "skip":
        kept = ~np.isin(history.which, strange)
        used, which = np.unique(history.which[kept], return_inverse=True)
        propensities = None if history.propensities is None else history.propensities[kept]
        return History([named[k] for k in used], which, history.rewards[kept], propensities, history.is_text), []
    for k in strange:
        try:
            check_arm(named[k])
        except InvalidArgumentError as error:
            raise error.replace(where=history.first(k)) from None
    return history._replace(arms=named), [named[k] for k in strange]
