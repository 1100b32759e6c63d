"""Claims: the verdict is that of the interval, in words too."""

import dataclasses
import math
from typing import Any

import pytest

from rotting.common.statistics import Interval
from rotting.report.claims import Claim, Verdict
from tests.helpers.claims import claim


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
        (claim(None, None, least=0.5), Verdict.OPEN),
        (claim(math.nan, math.nan, least=0.5), Verdict.OPEN),
    ],
)
def test_verdicts(each: Claim, verdict: Verdict) -> None:
    assert each.verdict == verdict


def test_claims_in_words() -> None:
    assert claim(0.9, 1.1, least=4.0).region == "at least 4"
    assert claim(0.9, 1.1, most=1.25).region == "at most 1.25"
    assert claim(0.9, 1.1, least=3.0, most=5.0).region == "between 3 and 5"
    assert claim(0.9, 1.1).measured == "1.00 [0.90, 1.10]"
    assert claim(None, None).measured == "1.00"


def test_an_undecided_claim_says_why_where_its_interval_does_not() -> None:
    assert claim(0.9, 1.1, least=1.0).decision == "undecided"
    assert claim(None, None, least=1.0).decision == "undecided: too few runs for an interval"
    assert claim(-math.inf, math.inf, least=1.0).decision == "undecided: the denominator may be 0"
    each = dataclasses.replace(claim(math.nan, math.nan, least=1.0), synthetic=True)
    assert each.decision == "undecided (synthetic data): a ratio is undefined"
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


def test_an_unbounded_interval_says_why_it_decides_nothing() -> None:
    whole = Interval(1.0, -math.inf, math.inf)
    assert claim_of(whole, low=1.0).reason == "what is divided by may be 0"
    assert claim_of(whole).reason == ""  # whatever it is, it is in the region
    assert claim_of(Interval(1.0, 0.5, math.inf), low=0.9).reason == ""


@pytest.mark.parametrize("estimate", [Interval(1.0, None, None), Interval(1.0, None, 2.0), Interval(1.0, 0.5, None)])
def test_an_interval_is_written_if_it_has_both_ends(estimate: Interval) -> None:
    assert claim_of(estimate).measured == "1.00"
    assert claim_of(estimate, low=0.0).decision == "undecided: too few runs for an interval"
    assert claim_of(Interval(1.0, 0.5, 2.0)).measured == "1.00 [0.50, 2.00]"
