"""The page of the policies is what the code says."""

from typing import Any

import numpy as np
import pytest

from docs import make_policies as maker
from tests.conftest import STRESS

STALE = "docs/policies.md is stale: run `make docs` and commit it"
PAGE = maker.PAGE.read_text("utf-8")
REGRETS = maker.read_regrets(PAGE)
POLICIES = {each.__name__: each for each in maker.policies()}


def test_every_policy_is_there() -> None:
    assert set(REGRETS) == set(POLICIES), STALE


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
@pytest.mark.parametrize("name", POLICIES if STRESS else [*POLICIES][::4])
def test_the_regrets_are_fresh(name: str) -> None:
    assert maker.regrets([POLICIES[name]])[name] == REGRETS[name], STALE
