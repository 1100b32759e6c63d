"""Claims: the verdict is that of the interval, in words too."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from rotting.common.statistics import Interval, NoInterval
from rotting.report.claims import Claim, Verdict
from rotting.simulation.comparisons import growth, spread_ratio
from tests.helpers.claims import claim, claimed


@pytest.mark.parametrize(
    ("each", "verdict"),
    [
        (claim(0.9, 1.1, least=0.5), Verdict.HOLDS),
        (claim(0.9, 1.1, least=0.9, most=1.1), Verdict.HOLDS),
        (claim(0.9, 1.1, least=1.0), Verdict.OPEN),
        (claim(0.9, 1.1, least=1.2), Verdict.FAILS),
        (claim(0.9, 1.1, most=0.5), Verdict.FAILS),
        (claim(0.9, 1.1, least=2.0, most=3.0), Verdict.FAILS),
        # An end on the very bound is in the region claimed; just beyond it is not.
        (claim(0.9, 1.1, least=0.9), Verdict.HOLDS),
        (claim(0.9, 1.1, most=1.1), Verdict.HOLDS),
        (claim(0.9, 1.1, least=math.nextafter(0.9, 1)), Verdict.OPEN),
        (claim(0.9, 1.1, most=math.nextafter(1.1, 1)), Verdict.OPEN),
        (claim(0.9, 1.1, least=1.1), Verdict.OPEN),
        (claim(0.9, 1.1, most=0.9), Verdict.OPEN),
        (claim(0.9, 1.1, least=math.nextafter(1.1, 2)), Verdict.FAILS),
        (claim(0.9, 1.1, most=math.nextafter(0.9, 0)), Verdict.FAILS),
        (claimed(NoInterval(1.0, "why"), least=0.5), Verdict.OPEN),
    ],
)
def test_verdicts(each: Claim, verdict: Verdict) -> None:
    assert each.verdict == verdict


def test_claims_in_words() -> None:
    assert claim(0.9, 1.1, least=4.0).region == "at least 4"
    assert claim(0.9, 1.1, most=1.25).region == "at most 1.25"
    assert claim(0.9, 1.1, least=3.0, most=5.0).region == "between 3 and 5"
    assert claim(0.9, 1.1).measured == "1.00 [0.90, 1.10]"
    assert claimed(NoInterval(1.0, "why")).measured == "1.00"


def test_an_undecided_claim_says_why_where_its_interval_does_not() -> None:
    assert claim(0.9, 1.1, least=1.0).decision == "undecided"
    each = claimed(growth(np.zeros(2), np.array([-1.0, 1.5]), np.array([0.0, 3.5])), least=1.0)
    assert each.decision == "undecided: what is divided by may be 0"
    assert dataclasses.replace(each, synthetic=True).decision == "undecided (synthetic data): what is divided by may be 0"
    each = claimed(spread_ratio(np.arange(9.0)[None], np.arange(9.0)[None]), least=1.0)
    assert each.decision == "undecided: 9 runs are too few to tell a spread: with a kurtosis of 1.8, it takes 200"
    assert claim(0.9, 1.1, least=0.5).decision == "holds"


def claim_of(estimate: Interval, **bounds: Any) -> Claim:
    return Claim("id", "appendix", "words", "ratio", estimate, **bounds)


@pytest.mark.parametrize(
    ("bounds", "verdict"),
    [
        ({}, Verdict.HOLDS),
        ({"high": 2.0}, Verdict.HOLDS),
        ({"low": 0.5}, Verdict.HOLDS),
        ({"high": 0.5}, Verdict.FAILS),
        ({"low": 2.0}, Verdict.FAILS),
        ({"high": 1.0}, Verdict.OPEN),
        ({"low": 1.0}, Verdict.OPEN),
    ],
)
def test_a_bound_that_is_not_given_binds_nothing(bounds: dict[str, float], verdict: Verdict) -> None:
    assert claim_of(Interval(1.0, 0.9, 1.1), **bounds).verdict == verdict


def test_a_claim_without_an_interval_is_undecided_for_the_reason_given() -> None:
    each = claim_of(NoInterval(1.0, "two runs are too few"), low=0.0)
    assert (each.measured, each.decision) == ("1.00", "undecided: two runs are too few")
    unbounded = claim_of(Interval(1.0, 0.5, math.inf), low=0.9)
    assert (unbounded.verdict, unbounded.reason) == (Verdict.OPEN, "")
