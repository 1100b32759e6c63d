"""What a problem is given: arms, or a table of means with one row for each arm."""

import warnings
from collections.abc import Sequence

import numpy as np

from rotting.errors import AxesWarning, InvalidTypeError, InvalidValueError
from rotting.problems.arms import Arm
from rotting.problems.decays import Decay, Table, as_decay

_MANY_ARMS = 20  # in a smaller table, an exchange is not obvious


def checked_arms(arms: object) -> tuple[Arm, ...]:
    """Return the arms of a problem after a check."""
    if isinstance(arms, str | bytes) or not isinstance(arms, Sequence):
        raise InvalidTypeError("arms", "be a sequence of arms", arms)
    if not arms:
        raise InvalidValueError("arms", "hold at least one arm", arms, got="none")
    for i, arm in enumerate(arms):
        if not isinstance(arm, Arm):
            raise InvalidTypeError(f"arms[{i}]", "be an arm such as Rested or Restless", arm)
    return tuple(arms)


def decays_of(means: object) -> list[Decay]:
    """Return one decay per arm from a table [arm, clock] or a sequence with one entry per arm."""
    if hasattr(means, "__array__"):
        means = means if isinstance(means, np.ndarray) else np.asarray(means)
        if means.ndim != 2:
            raise InvalidValueError("means", "have two dimensions, [arm, clock]", means.ndim)
    elif isinstance(means, str | bytes) or not isinstance(means, Sequence):
        raise InvalidTypeError("means", "be a table [arm, clock] or a sequence, one entry per arm", means)
    if len(means) == 0:
        raise InvalidValueError("means", "hold at least one arm", means, got="none")
    decays = [as_decay(f"means[{i}]", entry) for i, entry in enumerate(means)]
    # Rows of one table have the same length; tables of different lengths must be given as `Table`.
    rows = [i for i, entry in enumerate(means) if isinstance(decays[i], Table) and decays[i] is not entry]
    for i in rows:
        length, first = decays[i].length, decays[rows[0]].length
        if length != first:
            raise InvalidValueError(f"means[{i}]", f"have as many values as means[{rows[0]}], {first}", length)
    if len(rows) == len(means):
        _warn_of_exchanged_axes(len(means), decays[0].length)
    return decays


def _warn_of_exchanged_axes(n_arms: int, length: int | None) -> None:
    # In so short a game half of the arms are never pulled: most likely the axes are exchanged.
    if length is not None and n_arms >= _MANY_ARMS and n_arms > 2 * length:
        warnings.warn(
            f"means has {n_arms} arms of {length} values each: its axes are [arm, clock]; was its transpose meant?",
            AxesWarning,
            stacklevel=4,  # whoever calls `Problem.rested` or `Problem.restless`
        )
