"""The fields of a result: their types, checks and comparison."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from rotting.common.arrays import AnyArray, Floats
from rotting.common.rules import nonnegative_int, positive_int
from rotting.engines.round_record import arm_type
from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.policy import check_policies
from rotting.problems import Problem

if TYPE_CHECKING:
    from rotting.simulation.result import Result

ArrayType = np.dtype[np.generic]
INT, FLOAT = np.dtype(np.int64), np.dtype(np.float64)
ARRAYS: dict[str, ArrayType] = {"checkpoints": INT, "regret": FLOAT, "pulls": INT, "us_per_round": FLOAT}
"""The types of the arrays that every result has."""


def record_types(n_arms: int) -> dict[str, ArrayType]:
    """Return the types of the arrays that `simulate(record=...)` adds."""
    return {"arms": arm_type(n_arms), "rewards": FLOAT}


def mean_time(total: Floats, count: Floats) -> Floats:
    """Return totals divided by counts; NaN where the count is 0.

    Example:
        >>> mean_time(np.array([6.0, 0.0]), np.array([3.0, 0.0]))
        array([ 2., nan])
    """
    return np.asarray(np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0))


def same_bits(one: AnyArray | None, other: AnyArray | None) -> bool:
    """Return whether two arrays are equal bit for bit, or both are missing."""
    if one is None or other is None:
        return one is other
    return one.shape == other.shape and np.array_equal(one.view(np.uint8), other.view(np.uint8))


def checked_fields(given: "Result") -> dict[str, object]:
    """Return the fields of a result after a check; arrays are read-only, and of the types of `ARRAYS`."""
    if not isinstance(given.problem, Mapping):
        raise InvalidTypeError("problem", "be a description (a dict)", given.problem)
    try:
        # A copy as JSON returns it (lists, not tuples), so that a saved result equals the original.
        problem = json.loads(json.dumps(given.problem, allow_nan=False))
    except (TypeError, ValueError) as error:
        rule = "be a description that JSON can represent"
        raise InvalidValueError("problem", rule, given.problem, hint=f": {error}") from error
    if not isinstance(given.reference, str):
        raise InvalidTypeError("reference", "be a text", given.reference)
    if not given.reference:
        raise InvalidValueError("reference", "say what regret is measured against", given.reference)
    if not isinstance(given.played, Problem | None):
        raise InvalidTypeError("played", "be a Problem or None", given.played)
    policies = check_policies(given.policies)
    horizon, runs = positive_int("horizon", given.horizon), positive_int("runs", given.runs)
    numbers = {"seed": nonnegative_int("seed", given.seed), "first_run": nonnegative_int("first_run", given.first_run)}
    arrays = {name: _read_only(name, getattr(given, name), kind) for name, kind in ARRAYS.items()}
    rounds, regret, pulls, times = arrays.values()

    P, C, K = len(policies), rounds.size, pulls.shape[-1] if pulls.ndim else 0
    _check_shape("checkpoints", rounds, "[checkpoints]", (max(C, 1),))
    _check_shape("regret", regret, "[policies, runs, checkpoints]", (P, runs, C))
    _check_shape("pulls", pulls, "[policies, runs, arms]", (P, runs, max(K, 1)))
    _check_shape("us_per_round", times, "[policies]", (P,))
    if rounds[0] < 1 or rounds[-1] != horizon or np.any(np.diff(rounds) <= 0):
        rule = f"increase from 1 or more to the horizon {horizon}"
        raise InvalidValueError("checkpoints", rule, rounds, got=np.array2string(rounds, threshold=20))
    if not np.all(np.isfinite(regret)):
        raise InvalidValueError("regret", "be finite", regret, got="NaN or an infinite number")
    if not np.all(np.isnan(times) | (np.isfinite(times) & (times >= 0))):
        rule = "be finite, zero or more, or NaN where nothing was measured"
        raise InvalidValueError("us_per_round", rule, times.tolist())
    if np.any(pulls < 0) or np.any(pulls.sum(axis=2) != horizon):
        rule = f"be zero or more and add up to the horizon {horizon} in every run"
        raise InvalidValueError("pulls", rule, pulls, got="others")
    kinds = record_types(K)
    for name in given.recorded:
        arrays[name] = _read_only(name, getattr(given, name), kinds[name])
        _check_shape(name, arrays[name], "[policies, runs, horizon]", (P, runs, horizon))
    if "arms" in arrays and arrays["arms"].max() >= K:
        raise InvalidValueError("arms", f"be below {K}, the number of arms", int(arrays["arms"].max()))
    return {"policies": policies, "problem": problem, "horizon": horizon, "runs": runs, **numbers, **arrays}


def _read_only(name: str, value: object, kind: ArrayType) -> AnyArray:
    """Return a read-only array of type `kind`; only casts that keep every value are allowed.

    A read-only array is not copied, since a record of every round may fill half of the memory.
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


def _check_shape(name: str, array: AnyArray, axes: str, shape: tuple[int, ...]) -> None:
    """Refuse an array of another shape."""
    if array.shape != shape:
        raise InvalidValueError(name, f"have the shape {axes} = {list(shape)}", list(array.shape))
