"""What docs/unknown-noise.md shows is so: its example, its problems, and its tables."""

import doctest
import re

import numpy as np
import pytest

from docs import make_unknown_noise as maker
from rotting.parts.noise_scale import prior_pairs
from rotting.policies.raw_ucb import RAWUCB
from rotting.policies.ucb1 import UCB1
from rotting.policy import Policy
from rotting.registry import list_policies
from tests.conftest import STRESS

PAGE = maker.PAGE.read_text("utf-8")
STALE = "docs/unknown-noise.md is stale: run `make noise` and commit it"


def measured(name: str) -> str:
    found = re.search(rf"<!-- measured: {name} -->\n(.*?)\n<!-- end -->", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def rows(name: str) -> dict[str, list[str]]:
    """The cells of a table by the first of each row, without the head."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in measured(name).splitlines()[2:]]
    return {first: rest for first, *rest in lines}


def test_the_example_runs() -> None:
    failed, tried = doctest.testfile(str(maker.PAGE), module_relative=False, encoding="utf-8")
    assert (failed, tried) == (0, 6)


def test_every_policy_that_estimates_has_its_rows() -> None:
    ours = [each for each in list_policies() if each.__module__.startswith("rotting.policies.")]
    takes_it = {each.__name__ for each in ours for one in each.parameters() if "'estimate'" in one.rule.text}
    assert set(rows("coins")) == set(rows("rare")) == takes_it, "a policy that estimates sigma is missing: run `make noise`"
    (sentence,) = re.findall(r"^(RAWUCB,[^.]*?) support `sigma", PAGE, re.MULTILINE)
    assert set(re.findall(r"\w*[A-Z]\w*", sentence)) == takes_it, f"name it in the sentence: {sentence}"


def test_the_weight_of_the_pool_is_the_one_in_the_text() -> None:
    assert f"c = {prior_pairs():g}.\n" in PAGE
    assert f"weighs as much as {prior_pairs():g} differences" in PAGE
    assert list(rows("weights")) == [case.setting.title for case in maker.CASES]


def test_the_problems_are_listed() -> None:
    assert measured("problems") == maker.problems(), STALE


@pytest.mark.parametrize("case", maker.RARE, ids=lambda case: case.setting.title)
def test_the_problems_are_what_is_said(case: maker.Case) -> None:
    problem = case.setting.problem
    assert problem.is_rotting()
    assert problem.kind == ("restless" if "restless" in case.setting.means else "rested")
    assert (problem.n_arms, problem.horizon) == (10, maker.HORIZON)
    start = np.array([problem.mean(i, 1, 0) for i in range(10)])
    assert np.mean(start) == pytest.approx(6.75 if case.setting.title == "counts" else 0.02, rel=0.06)


def test_the_claims_in_the_text_are_those_of_the_tables() -> None:
    """Regrets over those of the true sigma, at most 1.1 but where the text says so, and a fifth less on fading clicks."""
    rare = rows("rare")["RAWUCB"]
    high = {
        case.setting.title: float(cell.rpartition(" ")[2].rstrip("]"))
        for case, cell in zip(maker.CASES, rows("coins")["RAWUCB"] + rare, strict=True)
    }
    assert {title for title, each in high.items() if each > 1.1} == {"clicks, steady"}
    assert high["clicks, fading"] <= 0.8


@pytest.mark.slow
@pytest.mark.parametrize("policy", [RAWUCB, UCB1], ids=lambda each: each.__name__)
def test_the_ratios_are_fresh(policy: type[Policy]) -> None:
    assert maker.ratio_row(policy, maker.COINS)[1:] == rows("coins")[policy.__name__], STALE


@pytest.mark.skipif(not STRESS, reason="half a minute of games: make stress")
def test_the_weights_are_fresh() -> None:
    case = maker.COINS[1]
    assert maker.weight_row(case)[1:] == rows("weights")[case.setting.title], STALE
