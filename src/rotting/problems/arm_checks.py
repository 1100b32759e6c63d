"""Checks of the arms of a `Problem`: their types, their means, and when they are present."""

import warnings
from collections.abc import Sequence

import numpy as np

from rotting.common.arrays import Ints
from rotting.common.rules import LARGEST
from rotting.errors import AxesWarning, InvalidArgumentError, InvalidTypeError, InvalidValueError
from rotting.problems.arms import Arm, Formula
from rotting.problems.decays import Decay, Table, as_decay
from rotting.problems.mean_table import Means, mean_bounds
from rotting.problems.noise import Noise

_MANY_ARMS = 20  # with fewer arms, exchanged axes are not obvious


def checked_arms(arms: object) -> tuple[Arm, ...]:
    """Return the arms of a problem after a check."""
    if isinstance(arms, str | bytes) or not isinstance(arms, Sequence):
        raise InvalidTypeError("arms", "be a sequence of arms", arms)
    if not arms:
        raise InvalidValueError("arms", "hold at least one arm", arms, got="none")
    for i, arm in enumerate(arms):
        if not isinstance(arm, Arm):
            raise InvalidTypeError(f"arms[{i}]", "be an arm such as Rested or Restless", arm)
    formulas = {arm.mu if isinstance(arm, Formula) else None for arm in arms}
    if len(formulas) > 1:
        rule = "not mix arms of Problem.by_function with other arms, nor those of two functions"
        raise InvalidValueError("arms", rule, arms, got="a mix")
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
    length = decays[0].length
    # Most arms would never be pulled in so short a game: the axes are most likely exchanged.
    if len(rows) == len(means) and length is not None and len(means) >= max(_MANY_ARMS, 2 * length + 1):
        warnings.warn(
            f"means has {len(means)} arms of {length} values each, since its axes are [arm, clock]; did you mean means.T?",
            AxesWarning,
            stacklevel=3,  # the caller of `Problem.rested` or `Problem.restless`
        )
    return decays


def checked_table(name: str, arm: Arm, noise: Noise, horizon: int) -> Means:
    """Return the table of the arm called `name`, after a check that its means are finite and that its noise can have them."""
    try:
        table = arm.means(horizon)
        low, high = mean_bounds(table, 0, horizon)
        for value in (low, high):
            if not abs(value) <= LARGEST:
                raise InvalidValueError("means", f"be finite numbers of at most {LARGEST:g} in size", value)
        noise.check_means(low, high)
    except InvalidArgumentError as error:
        raise error.replace(where=name) from error
    except (TypeError, ValueError) as error:  # of the user's function
        kinds = {TypeError: InvalidTypeError, ValueError: InvalidValueError}  # subclasses of the two pass unchanged
        if type(error) not in kinds:
            raise
        raise kinds[type(error)]("means", "be computable", arm, got=f"an error: {error}", where=name) from error
    return table


def check_presence(arms: Sequence[Arm], first: Ints, last: Ints, horizon: int) -> None:
    """Refuse a round in which no arm is present; `first` and `last` are the rounds in which each arm comes and leaves."""
    covered = 0  # some arm is present in every round up to this one
    for comes, leaves in sorted(zip(first.tolist(), last.tolist(), strict=True)):
        if comes > covered + 1:
            break
        covered = max(covered, leaves)
    if covered < horizon:
        got = f"none in round {covered + 1}"
        raise InvalidValueError("arms", f"be present in every round up to {horizon}", arms, got=got)
