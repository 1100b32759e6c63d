"""Playing a result again, and what differs then."""

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from rotting import registry
from rotting.errors import InvalidValueError, PathMissingError
from rotting.policies.parts.plain import PlainPolicy, UnknownPolicy, as_policy, is_plain, maker_name
from rotting.policy import Policy
from rotting.problems import Problem, ProblemFamily
from rotting.simulation.plan import Simulation
from rotting.simulation.result import Result
from rotting.simulation.simulate import simulate_all


def rerun(result: Result, source: str | Path | None = None, progress: bool | None = None) -> Result:
    """Play a result again, and return the new one.

    Args:
        result: as `simulate` returned it, or `Result.load`.
        source: a Python file with what cannot be saved: policies of your own, plain classes, families, and problems whose means
            are not tables. It is run as a module whose `__name__` is "rerun"; plain classes and problems are found among its
            global names, and in lists.
        progress: show a progress bar.

    Example:
        >>> import rotting
        >>> result = rotting.simulate(rotting.UCB1(), rotting.problems.two_arms(horizon=50), runs=3)
        >>> rerun(result) == result
        True
    """
    values = [] if source is None else [*_values(vars(_module(Path(source))).values())]
    call = (result.provenance or {}).get("call", {})
    reference = (call[0] if isinstance(call, list) else call).get("reference")  # a merged result has several calls
    if isinstance(reference, dict):
        reference = _playable(registry.from_json(reference), values, result)
    policies = [_playable(each, values, result) for each in result.policies]
    numbers = result.horizon, result.runs, result.seed, result.checkpoints.tolist(), result.first_run
    record: Any = result.recorded
    simulation = Simulation(policies, _problem_of(result, values), *numbers, record, reference)
    (again,) = simulate_all([simulation], progress=progress)
    return replace(again, problem=result.problem)  # saved means do not say by which decays they were described


def _module(source: Path) -> ModuleType:
    """Run a file as a module; it stays among the modules, where the source of its classes is found."""
    if not source.is_file():
        raise PathMissingError(f"source must be a Python file, but '{source}' does not exist")
    module = ModuleType("rerun")
    module.__file__ = str(source)
    sys.modules["rerun"] = module
    exec(compile(source.read_text("utf-8"), source, "exec"), vars(module))  # noqa: S102 - the file of the user, as `python FILE`
    return module


def _values(values: Iterable[object]) -> Iterator[Any]:
    for value in values:
        yield from value if isinstance(value, list | tuple) else [value]


def _playable(policy: Policy, values: list[Any], result: Result) -> Policy:
    """Return a policy with its code: its own, or that of the class of its name in the source."""
    if isinstance(policy, UnknownPolicy):
        return registry.from_json(policy.to_json())  # an error with a remedy, unless the source defines it
    if not isinstance(policy, PlainPolicy):
        return policy
    # A source has other functions, too, which are not called.
    named = [each for each in values if is_plain(each) and maker_name(each) == policy.title]
    for each in named:
        found = as_policy(each, result.pulls.shape[2])
        if found == policy:
            return found
    got = "a class with another source or other settings" if named else "no such class"
    raise InvalidValueError("source", f"define {policy!r} as it was to play it again", policy, got=got)


def _problem_of(result: Result, values: list[Any]) -> Problem | ProblemFamily:
    """Return the problem of the source that has the same description, else that with the saved means."""
    for each in values:
        described: Any = None
        if isinstance(each, ProblemFamily):
            described = each.describe(each.problem(0, result.seed), result.seed, result.horizon)
        elif isinstance(each, Problem):
            described = each.describe()
        if json.loads(json.dumps(described)) == result.problem:
            return each  # type: ignore[no-any-return]  # one of the two
    if result.played is None:
        raise InvalidValueError("source", f"define the problem {result.problem_name} to play it again", None, got="none")
    return result.played


def changes(old: Result, new: Result) -> list[str]:
    """Return what differs between a result and another one of the same games, in sentences; none if nothing does.

    Example:
        >>> import rotting
        >>> one, two = (rotting.simulate(rotting.UCB1(), rotting.problems.two_arms(horizon=50), runs=3, seed=k) for k in (0, 1))
        >>> changes(one, one), changes(one, two)
        ([], ['UCB1: 3 of 3 runs differ.'])
    """
    lines = []
    for k, label in enumerate(old.labels):
        pairs = [(getattr(old, name)[k], getattr(new, name)[k]) for name in ("regret", "pulls", *old.recorded)]
        differ = np.any([np.any(one != two, axis=1) for one, two in pairs], axis=0)
        lines += [f"{label}: {differ.sum():,} of {old.runs:,} runs differ."] if differ.any() else []
    before, after = old.provenance or {}, new.provenance or {}
    for name in before if lines else ():
        if name not in {"date", "call"} and before[name] != after.get(name):
            lines.append(f"{name}: {before[name]} then, {after.get(name)} now.")
    return lines
