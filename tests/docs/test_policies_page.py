"""The page of the policies is what the code says, and no policy is left unfinished."""

import inspect
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docs import make_policies as maker
from rotting.policies.kernels.binding import reached_functions
from rotting.policy import Policy
from tests.conftest import STRESS

STALE = "docs/policies.md is stale: run `make docs` and commit it"
PAGE = maker.PAGE.read_text("utf-8")
REGRETS = maker.read_regrets(PAGE)
POLICIES = {each.__name__: each for each in maker.policies()}
ON_PAGE = [name for name in POLICIES if name in REGRETS]
TESTS = Path(__file__).parent.parent / "policies"


def test_every_policy_is_there() -> None:
    """A new policy may be missing until `make record`."""
    recorded = json.loads((TESTS / "defaults.json").read_text("utf-8"))
    assert {name for name, policy in POLICIES.items() if policy.name in recorded} <= set(REGRETS) <= set(POLICIES), STALE


@pytest.mark.parametrize("policy", POLICIES.values(), ids=lambda policy: policy.name)
def test_nothing_is_left_to_fill_in(policy: type[Policy]) -> None:
    """`make policy` writes these words where its text is a stand-in."""
    source = Path(inspect.getfile(policy))
    for path in (source, TESTS / f"test_{source.name}"):
        lines = enumerate(path.read_text("utf-8").splitlines(), 1)
        left = [str(number) for number, line in lines if "fill in" in line.lower()]
        assert not left, f"{path.name} has places to fill in, in lines {', '.join(left)}"


@pytest.mark.parametrize("policy", POLICIES.values(), ids=lambda policy: policy.name)
def test_no_parameter_is_ignored(policy: type[Policy]) -> None:
    """Some function of the policy reads it; `outside` is for what checks rewards before a policy sees them."""
    kernel = policy.kernel
    functions = [function for each in fields(kernel) if (function := getattr(kernel, each.name)) is not None]
    read = {name for function in functions for reached in reached_functions(function) for name in reached.__code__.co_names}
    assert {each.name for each in policy.parameters()} - read <= {"outside"}


def test_all_but_the_regrets_is_fresh() -> None:
    assert maker.page(REGRETS) == PAGE, STALE


@pytest.mark.parametrize("setting", maker.SETTINGS, ids=lambda setting: setting.title)
def test_what_policies_are_told_of_the_problems_is_true(setting: Any) -> None:
    problem = setting.problem
    assert problem.is_rotting()
    assert problem.kind == setting.title.split(",")[0]
    if problem.kind == "restless":
        table = np.array([[problem.mean(i, t, 0) for t in range(1, maker.HORIZON + 1)] for i in range(problem.n_arms)])
        drops = -np.diff(table).min(axis=0)
    else:  # each arm has a clock of its own
        drops = -np.diff([[problem.mean(i, n + 1, n) for n in range(maker.HORIZON)] for i in range(problem.n_arms)])
    assert np.count_nonzero(drops) == setting.changes
    assert drops.sum() == pytest.approx(setting.variation)


@pytest.mark.slow
@pytest.mark.parametrize("name", ON_PAGE if STRESS else ON_PAGE[::4])
def test_the_regrets_are_fresh(name: str) -> None:
    assert maker.regrets([POLICIES[name]])[name] == REGRETS[name], STALE
