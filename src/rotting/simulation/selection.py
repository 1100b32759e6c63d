"""What methods of `Result` are given: policies by label or index, runs by number, and labels of one's own."""

from collections.abc import Iterable, Sequence

import numpy as np

from rotting.common.rules import nonnegative_int, suggest
from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.policy import Policy


def find_runs(runs: object, own: range) -> range:
    """Return the numbers of the runs that are selected from a result's own.

    Example:
        >>> find_runs(slice(5), range(2, 20))
        range(2, 5)
    """
    if runs is None:
        return own
    which: Sequence[int]
    if isinstance(runs, slice):
        which = range(own.stop)[runs]
        if which.step == 1:  # what comes before the first run, however many, is not there
            which = range(max(which.start, own.start), which.stop)
    elif isinstance(runs, Iterable) and not isinstance(runs, str):
        which = [nonnegative_int("runs", each) for each in runs]
    else:
        raise InvalidTypeError("runs", "be a slice or run numbers such as range(10)", runs)
    if not which or which[0] not in own or which[-1] not in own or list(which) != list(range(which[0], which[-1] + 1)):
        rule = f"be numbers from {own.start} to {own.stop - 1} that follow one another, and at least one"
        raise InvalidValueError("runs", rule, runs)
    return range(which[0], which[-1] + 1)


def find_policy(name: str, given: Policy | str | int, policies: Sequence[Policy], *labels: Sequence[str]) -> int:
    """Return the index of a policy that is given by itself, by one of its labels or by its index."""
    if isinstance(given, str):
        for each in labels:
            if given in each:
                return each.index(given)
        hint = suggest(given, [label for each in labels for label in each]) or f"; known: {', '.join(labels[0])}"
        raise InvalidValueError(name, "be a policy of this result", given, hint=hint)
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        if not 0 <= given < len(policies):
            last = len(policies) - 1
            raise InvalidValueError(name, f"be an index from 0 to {last}, a label or a policy", int(given))
        return int(given)
    if given not in policies:
        raise InvalidValueError(name, "be a policy of this result", given)
    return policies.index(given)


def chosen_labels(given: str | Sequence[str] | None, short: Sequence[str], full: Sequence[str]) -> Sequence[str]:
    """Return the short labels by default, the full ones for "full", or one's own, of which there must be one per policy."""
    if given is None:
        return short
    if isinstance(given, str) and given == "full":
        return full
    if isinstance(given, str) or not all(isinstance(each, str) for each in given):
        raise InvalidTypeError("labels", "be 'full' or one text per policy", given)
    if len(given) != len(short):
        raise InvalidValueError("labels", f"be one text per policy, {len(short)}", len(given))
    return given
