"""Merging results of consecutive runs, or of different policies, into one."""

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from rotting.errors import InvalidValueError
from rotting.problems.families import DRAWN_DIGEST
from rotting.problems.problem import CODE_DIGEST
from rotting.simulation.result_arrays import mean_time, same_bits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rotting.simulation.result import Result


def merged(results: "Sequence[Result]") -> "Result":
    """Return one result of several; `Result.merge` documents which can be merged."""
    first = results[0]
    for result in results:
        _check_same_games(first, result)
    by_policies = [[each for each in results if each.policies == some] for some in dict.fromkeys(r.policies for r in results)]
    return _join_policies([_join_runs(group) for group in by_policies])


def _check_same_games(first: "Result", other: "Result") -> None:
    """Refuse a result of other games than the first."""
    # The name does not matter: older versions gave the same problem another one.
    for name in sorted({*first.problem, *other.problem} - {"name", DRAWN_DIGEST, CODE_DIGEST}):
        one, two = first.problem.get(name), other.problem.get(name)
        if one != two:
            raise InvalidValueError("results", "have the same problem", two, got=f"one of {name} {one} and one of {name} {two}")
    for name in ("horizon", "seed", "reference"):
        one, two = getattr(first, name), getattr(other, name)
        if one != two:
            raise InvalidValueError("results", f"have the same {name}", two, got=f"{one} and {two}")
    if not _same_means(first, other):  # two functions may have the same name
        raise InvalidValueError("results", "have the same problem", other.problem, got=f"other means of {first.problem_name}")
    if not np.array_equal(first.checkpoints, other.checkpoints):
        raise InvalidValueError("results", "have the same checkpoints", other.checkpoints, got="others")
    kept, also = (" and ".join(each.recorded) or "nothing" for each in (first, other))
    if kept != also:
        raise InvalidValueError("results", "have the same records", also, got=f"{kept} and {also}")


def _same_means(one: "Result", two: "Result") -> bool:
    """Return whether two results have the same means, as far as that is known."""
    if any(one.problem.get(name) != two.problem.get(name) for name in (DRAWN_DIGEST, CODE_DIGEST)):
        return False
    a, b = one.played, two.played
    return a is None or b is None or a == b or all(map(same_bits, a.tables(one.horizon), b.tables(two.horizon)))


def _joined(results: "Sequence[Result]", axis: int) -> dict[str, Any]:
    """Return the arrays of results, joined along an axis: policies (0) or runs (1)."""
    names = ("regret", "pulls", *results[0].recorded)
    return {name: np.concatenate([getattr(each, name) for each in results], axis=axis) for name in names}


def _runs_text(result: "Result") -> str:
    return f"runs {result.first_run} to {result.first_run + result.runs - 1}"


def _join_runs(results: "Sequence[Result]") -> "Result":
    """Return one result of several with the same policies."""
    shards = sorted(results, key=lambda each: each.first_run)
    for before, after in pairwise(shards):
        if before.first_run + before.runs != after.first_run:
            got = f"{_runs_text(before)} and {_runs_text(after)}"
            raise InvalidValueError("results", "hold consecutive runs", after.first_run, got=got)
    runs = np.array([each.runs for each in shards])
    times = np.array([each.us_per_round for each in shards])
    weights = np.where(np.isnan(times), 0, runs[:, None])
    time = mean_time((np.nan_to_num(times) * weights).sum(axis=0), weights.sum(axis=0))
    return replace(shards[0], runs=int(runs.sum()), us_per_round=time, **_joined(shards, axis=1))


def _join_policies(results: "Sequence[Result]") -> "Result":
    """Return one result of several with the same runs."""
    first, *others = results
    policies = [policy for each in results for policy in each.policies]
    for other in others:
        if _runs_text(other) != _runs_text(first):
            got = f"{_runs_text(first)} and {_runs_text(other)}"
            raise InvalidValueError("results of different policies", "hold the same runs", other.first_run, got=got)
    for policy in policies:
        if others and policies.count(policy) > 1:
            raise InvalidValueError("results", "have equal policies or none in common", policy, hint=" in two of them")
    time = np.concatenate([each.us_per_round for each in results])
    return replace(first, policies=tuple(policies), us_per_round=time, **_joined(results, axis=0))
