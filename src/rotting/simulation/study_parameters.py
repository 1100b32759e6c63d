"""The parameters of the problems of a study: numbers and texts."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from rotting.common.rules import FINITE
from rotting.errors import InvalidTypeError

Value = float | str
"""The value of a parameter."""

# The keys of the rows of all tables, and the columns of data frames.
_COLUMNS = {"policy", "kind", "mean", "low", "high", "reason", "q10", "q90"}
_COLUMNS |= {"regret", "next", "behind", "run", "round", "reference"}


def checked_parameters(parameters: Mapping[str, Sequence[Value]]) -> dict[str, tuple[Value, ...]]:
    """Return the values of parameters as plain numbers and texts, under names that no column of a table has.

    Example:
        >>> checked_parameters({"low": [0.0, np.float64(0.5)]})
        {'problem.low': (0.0, 0.5)}
    """
    for name, values in parameters.items():
        if not isinstance(name, str):
            raise InvalidTypeError("parameters", "have names", name)
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise InvalidTypeError(name, "be a sequence with one value for each result", values)
    return {
        f"problem.{name}" if name in _COLUMNS else name: tuple(_plain(name, each) for each in values)
        for name, values in parameters.items()
    }


def number_or_text(value: object) -> Value | None:
    """Return a value as a study keeps it; None if it is neither a number nor a text.

    Example:
        >>> number_or_text(np.float64(0.5)), number_or_text(True)
        (0.5, None)
    """
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, int | float | str) and not isinstance(value, bool) else None


def _plain(name: str, value: object) -> Value:
    kept = number_or_text(value)
    if kept is None:
        raise InvalidTypeError(name, "have numbers or texts", value)
    if not isinstance(kept, str):
        FINITE.check(name, kept)  # JSON has no others, nor has an axis
    return kept
