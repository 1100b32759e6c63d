"""The arrays of a result: their types, checks and comparison."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rotting.common.arrays import Floats
from rotting.errors import InvalidTypeError, InvalidValueError

INT, FLOAT = np.dtype(np.int64), np.dtype(np.float64)
ARRAYS: dict[str, np.dtype[Any]] = {"checkpoints": INT, "regret": FLOAT, "pulls": INT, "us_per_round": FLOAT}
"""The types of the arrays that every result has."""


def mean_time(total: Floats, count: Floats) -> Floats:
    """Return totals over counts; NaN, not measured, where nothing was counted.

    Example:
        >>> mean_time(np.array([6.0, 0.0]), np.array([3.0, 0.0]))
        array([ 2., nan])
    """
    return np.asarray(np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0))


def same_bits(one: NDArray[Any] | None, other: NDArray[Any] | None) -> bool:
    """Return whether two arrays are equal bit for bit, or both are missing."""
    if one is None or other is None:
        return one is other
    return one.shape == other.shape and np.array_equal(one.view(np.uint8), other.view(np.uint8))


def frozen(name: str, value: object, kind: np.dtype[Any]) -> NDArray[Any]:
    """Return a read-only array of type `kind`; only casts that keep every value are allowed.

    A read-only array is not copied: a record of every round of every run may fill half of the memory.
    """
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        raise InvalidTypeError(name, f"be an array of {kind}", value) from None
    if array.dtype == kind and array.flags.c_contiguous and array.base is None and not array.flags.writeable:
        return array
    if not np.can_cast(array.dtype, kind, casting="safe"):
        raise InvalidTypeError(name, f"be an array of {kind}", value, got=f"one of {array.dtype}")
    copy = np.array(array, dtype=kind, order="C")
    copy.flags.writeable = False
    return copy


def check_shape(name: str, array: NDArray[Any], axes: str, shape: tuple[int, ...]) -> None:
    """Refuse an array of another shape."""
    if array.shape != shape:
        raise InvalidValueError(name, f"have the shape {axes} = {list(shape)}", list(array.shape))
