"""What docs/problems.md shows is so: its example, its problems, and its tables."""

import math
import re

import pytest

from docs import make_problems as maker
from rotting.policies.eff_raw_ucb import EffRAWUCB
from rotting.policies.ucb1 import UCB1
from rotting.policy import Policy
from tests.conftest import INTERPRETED

PAGE = maker.PAGE.read_text("utf-8")
STALE = "docs/problems.md is stale: run `make late` and commit it"


def rows(name: str) -> dict[str, list[str]]:
    """The cells of a measured table by the first of each row, without the head."""
    found = re.search(rf"<!-- measured: {name} -->\n(.*?)\n<!-- end -->", PAGE, re.DOTALL)
    assert found is not None
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in found[1].splitlines()[2:]]
    return {first: rest for first, *rest in lines}


@pytest.mark.parametrize("name", maker.PROBLEMS)
def test_six_policies_have_their_rows_and_what_is_said_of_the_games_holds(name: str) -> None:
    assert list(rows(name)) == [policy.label for policy in maker.POLICIES]
    assert len(rows(name)) == 6
    assert {len(cells) for cells in rows(name).values()} == {len(maker.DELAYS) + 1}
    assert f"after {maker.HORIZON:,} rounds, in {maker.RUNS} runs, and its 95 % interval" in " ".join(PAGE.split())
    problem = maker.PROBLEMS[name]
    assert (problem.kind, problem.horizon, problem.noise.scale) == (name, maker.HORIZON, 1.0)
    quarter = maker.HORIZON // 4
    assert [problem.mean(1, t + 1, t) for t in (0, quarter - 1, quarter)] == [0.5, 0.5, -0.5]


def mean(cell: str) -> float:
    return float(cell.partition(" ")[0].replace(",", ""))


def test_the_claims_in_the_text_are_those_of_the_tables() -> None:
    first = [[mean(cell) for cell in cells] for name in maker.PROBLEMS for cells in list(rows(name).values())[:4]]
    for column, (low, high) in ((2, ("1.6", "2.3")), (3, ("3.7", "6.3"))):
        ratios = [cells[column] / cells[0] for cells in first]
        assert (f"{min(ratios):.1f}", f"{max(ratios):.1f}") == (low, high)
        assert f"to between {low} and {high} times" in " ".join(PAGE.split())
    late = [mean(rows(name)["UCB1"][3]) / mean(rows(name)["UCB1"][0]) for name in maker.PROBLEMS]
    assert f"grows by at most {math.ceil(100 * max(late)) - 100} %" in " ".join(PAGE.split())


@pytest.mark.slow
@pytest.mark.skipif(INTERPRETED, reason="a size that only pays when compiled")
@pytest.mark.parametrize("policy", [EffRAWUCB(), UCB1()], ids=lambda each: each.name)
def test_the_regrets_are_fresh(policy: Policy) -> None:
    for name, problem in maker.PROBLEMS.items():
        assert maker.row(policy, problem)[1:] == rows(name)[policy.label], STALE
