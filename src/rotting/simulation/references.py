"""What regret is measured against, if one chooses it: the optimum, or policies that play the same runs.

The regret against a policy is what it collects more, run by run: the difference of their regrets against anything. So the games
of a chosen reference are played like others, and subtracted. The best single arm is the best of K policies, for each run and
each checkpoint.
"""

from dataclasses import replace
from typing import Literal, NamedTuple, TypeAlias, cast, get_args

import numpy as np

from rotting.common.rules import suggest
from rotting.errors import InvalidValueError
from rotting.kit import INDEX, Ints, Kernel, Params, parameter
from rotting.policies.greedy_oracle import GreedyOracle
from rotting.policy import Policy
from rotting.problems import Problem, ProblemFamily
from rotting.problems.oracle import BEST_ARM, GREEDY, OPTIMAL, greedy_reference, optimal_rewards, price_of_optimum
from rotting.simulation.result import Result

NamedReference = Literal["optimal", "greedy", "best arm"]
ChosenReference: TypeAlias = NamedReference | Policy | None
"""What `simulate(reference=...)` takes; None for the optimum where it can be computed, else the greedy oracle."""


class SingleArm(Policy):
    """Always the same arm."""

    title = "single arm"
    first_pulls = False
    arm: int = parameter(INDEX, "the arm")


class _NoState(NamedTuple):
    pass


def init(p: Params, n_arms: int, capacity: int) -> _NoState:
    """Return the state, which is empty."""
    return _NoState()


def choose(p: Params, s: _NoState, t: int, key: int, arms: Ints) -> int:
    """Return the arm of the policy."""
    return int(p.arm)


def update(p: Params, s: _NoState, t: int, arm: int, reward: float) -> None:
    """Learn nothing."""


SingleArm.kernel = Kernel(init, choose, update)
SingleArm.name = "single-arm"  # not in the class, which would list it among the policies that users make by name


def check_reference(reference: object, problem: Problem, horizon: int, family: ProblemFamily | None) -> ChosenReference:
    """Return a chosen reference; refuse one that the problem, or the first one of a family, does not have."""
    known = get_args(NamedReference)
    if reference is not None and not isinstance(reference, Policy) and reference not in known:
        rule = f"be {', '.join(map(repr, known))} or a policy"
        raise InvalidValueError("reference", rule, reference, hint=suggest(str(reference), known))
    if reference == BEST_ARM:
        first, last = problem.presence_rounds()
        if np.any(first > 1) or np.any(last < horizon):
            raise InvalidValueError("reference", "be another one where arms come or leave", reference)
    if reference == OPTIMAL:
        rule = "be 'greedy', 'best arm' or a policy for this problem"
        label = None if family is None else family.reference
        label = label or (None if problem.is_plain else greedy_reference(problem, horizon))
        if label is None or (label != OPTIMAL and family is None):
            label = optimal_rewards(problem, horizon, [horizon]).label
        if label != OPTIMAL:
            raise InvalidValueError("reference", rule, reference, hint=f": {price_of_optimum(problem, horizon, label)}")
    return cast("ChosenReference", reference)


def reference_policies(reference: ChosenReference, n_arms: int) -> list[Policy]:
    """Return the policies that a chosen reference is the best of; none if regret is computed without playing them."""
    if isinstance(reference, Policy):
        return [reference]
    if reference == GREEDY:
        return [GreedyOracle()]
    return [SingleArm(i) for i in range(n_arms)] if reference == BEST_ARM else []


def measured_against(result: Result, reference: ChosenReference, players: int) -> Result:
    """Return the result of the first `players` policies, measured against the best of the policies of the reference."""
    policies = reference_policies(reference, result.pulls.shape[2])
    if not policies:
        return result
    least = result.regret[[result.policies.index(each) for each in policies]].min(axis=0)
    label = reference if isinstance(reference, str) else repr(reference)
    return replace(result.select(range(players)), regret=result.regret[:players] - least, reference=label)
