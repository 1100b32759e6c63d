"""Parts of a result: policies by label or index, runs by number, and the labels of tables and plots."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from rotting.common.rules import nonnegative_int, suggest
from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.policy import Policy

if TYPE_CHECKING:
    from rotting.simulation.result import Result

Labels = Literal["full"] | Sequence[str] | None
"""Labels of policies in tables and plots: short ones for None, with all parameters for "full", or one text per policy."""


def select(
    result: "Result",
    policies: Policy | str | int | Sequence[Policy | str | int] | None,
    runs: slice | Sequence[int] | None,
    checkpoints: Iterable[int] | None,
) -> "Result":
    """Return a part of a result; `Result.select` documents the arguments."""
    if policies is None:
        policies = range(len(result.policies))
    asked = [policies] if isinstance(policies, Policy | str | int | np.integer) else policies
    chosen = np.array([find_policy(result, "policies", each) for each in asked], np.int64)
    which = find_runs(runs, range(result.first_run, result.first_run + result.runs))
    if checkpoints is not None and not isinstance(checkpoints, Iterable):
        raise InvalidTypeError("checkpoints", "be a list of rounds", checkpoints)
    marks = result.checkpoints.tolist() if checkpoints is None else [*checkpoints, result.horizon]
    for mark in marks:
        if mark not in result.checkpoints:
            raise InvalidValueError("checkpoints", "be among those of this result", mark)
    places = np.searchsorted(result.checkpoints, np.unique(marks))
    own = slice(which.start - result.first_run, which.stop - result.first_run)
    return replace(
        result,
        policies=tuple(result.policies[k] for k in chosen.tolist()),
        runs=len(which),
        first_run=which.start,
        checkpoints=result.checkpoints[places],
        regret=result.regret[chosen, own][:, :, places],
        us_per_round=result.us_per_round[chosen],
        **{name: getattr(result, name)[chosen, own] for name in ("pulls", *result.recorded)},
    )


def find_runs(runs: object, own: range) -> range:
    """Return the numbers of the selected runs, among those of a result.

    Example:
        >>> find_runs(slice(5), range(2, 20))
        range(2, 5)
    """
    if runs is None:
        return own
    which: Sequence[int]
    if isinstance(runs, slice):
        which = range(own.stop)[runs]
        if which.step == 1:  # a slice may begin before the first run
            which = range(max(which.start, own.start), which.stop)
    elif isinstance(runs, Iterable) and not isinstance(runs, str):
        which = [nonnegative_int("runs", each) for each in runs]
    else:
        raise InvalidTypeError("runs", "be a slice or run numbers such as range(10)", runs)
    if not which or which[0] not in own or which[-1] not in own or list(which) != list(range(which[0], which[-1] + 1)):
        rule = f"be one or more consecutive numbers from {own.start} to {own.stop - 1}"
        raise InvalidValueError("runs", rule, runs)
    return range(which[0], which[-1] + 1)


def find_policy(result: "Result", name: str, given: Policy | str | int) -> int:
    """Return the index of a policy, given as a policy, a label or an index.

    Args:
        result: has the policy.
        name: the argument, for errors.
        given: its value.
    """
    policies = result.policies
    if isinstance(given, str):
        for known in (result.labels, result.full_labels):
            if given in known:
                return known.index(given)
        hint = suggest(given, [*result.labels, *result.full_labels]) or f"; known: {', '.join(result.labels)}"
        raise InvalidValueError(name, "be a policy of this result", given, hint=hint)
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        if not 0 <= given < len(policies):
            last = len(policies) - 1
            raise InvalidValueError(name, f"be an index from 0 to {last}, a label or a policy", int(given))
        return int(given)
    if given not in policies:
        raise InvalidValueError(name, "be a policy of this result", given)
    return policies.index(given)


def chosen_labels(result: "Result", given: Labels) -> tuple[str, ...]:
    """Return the short labels by default, the full ones for "full", or the given texts, one per policy."""
    if given is None:
        return result.labels
    if isinstance(given, str) and given == "full":
        return result.full_labels
    if isinstance(given, str) or not all(isinstance(each, str) for each in given):
        raise InvalidTypeError("labels", "be 'full' or one text per policy", given)
    if len(given) != len(result.policies):
        raise InvalidValueError("labels", f"be one text per policy, {len(result.policies)}", len(given))
    return numbered(given)


def numbered(labels: Sequence[str]) -> tuple[str, ...]:
    """Return labels that differ: of equal ones, all but the first get a number."""
    taken: list[str] = []
    for wanted in labels:
        label, copy = wanted, 1
        while label in taken:
            copy += 1
            label = f"{wanted} ({copy})"
        taken.append(label)
    return tuple(taken)
