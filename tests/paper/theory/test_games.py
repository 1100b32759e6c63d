"""Theorems against games: regret below the upper bounds."""

from collections.abc import Sequence

import numpy as np
import pytest

from rotting import theory
from rotting.policy import Policy
from rotting.problems import Problem
from rotting.problems.oracle import OPTIMAL
from rotting.simulation.simulate import simulate
from tests.conftest import INTERPRETED
from tests.helpers.games import suite

FULL = 3_000
RUNS, T = (3, 60) if INTERPRETED else (200, FULL)
PROBLEMS = suite(T)


def proved(problem: Problem, checkpoints: Sequence[int] | None = None) -> dict[Policy, tuple[theory.Bound, ...]]:
    """What is proved of the four policies with the smallest alpha of each theorem."""
    sigma = theory.subgaussian_scale(problem.noise) or 1.0  # no noise is sub-Gaussian with every scale
    kind = theory.constants(problem).kind
    settings = ("restless", "rested") if kind == "stationary" else (kind,)
    policies = [policy for setting in settings for policy in theory.theoretical_policies(setting, sigma)]
    return {policy: theory.bounds(problem, policy, checkpoints=checkpoints) for policy in policies}


@pytest.mark.parametrize("name", PROBLEMS)
def test_mean_regret_is_below_every_bound_that_applies(name: str) -> None:
    """At every checkpoint and not only at the horizon."""
    problem = PROBLEMS[name]
    policies = list(proved(problem))
    assert any(proved(problem).values())
    result = simulate(policies, problem, runs=RUNS, seed=0, progress=False)
    assert result.reference == OPTIMAL
    bounds = proved(problem, result.checkpoints.tolist())
    most = theory.constants(problem).largest_regret()
    assert most is not None
    for policy, regret in zip(policies, result.regret.mean(axis=1), strict=True):
        assert regret[-1] <= most * (1 + 1e-9)
        for bound in bounds[policy]:
            assert np.all(regret <= bound.values), bound.label
    # The restless theorems speak of the larger alphas of the other setting as well.
    kind = theory.constants(problem).kind
    assert sum(map(len, bounds.values())) == {"restless": 4 * 3, "rested": 4 * 2, "stationary": 8 * 3 + 4 * 2}[kind]


def test_the_comparison_with_the_bounds_can_fail() -> None:
    """A bound above the largest possible regret says nothing: enough of each theorem's are below it, for each policy."""
    is_below: dict[tuple[str, str], list[bool]] = {}
    for problem in suite(FULL).values():
        most = theory.constants(problem).largest_regret()
        assert most is not None
        for policy, bounds in proved(problem).items():
            for bound in bounds:
                is_below.setdefault((bound.name, policy.name), []).append(bool(bound.values[-1] < most))
    assert len(is_below) == 4 * len(theory.THEOREMS)
    for which, binding in is_below.items():
        least = 2 / 3 if which[0].startswith("rested") else 1 / 3  # a drift has a piece per round: Theorem 2 says little of it
        assert sum(binding) >= least * len(binding), which


# --- The impossibility --------------------------------------------------------------------------------------------------------


def test_the_names_of_the_module_are_there_and_documented() -> None:
    for name in theory.__all__:
        thing = getattr(theory, name)
        assert isinstance(thing, float | tuple) or (thing.__doc__ or "").strip()
    assert sorted(theory.__all__, key=lambda name: (not name.isupper(), name.lower() == name, name)) == theory.__all__
