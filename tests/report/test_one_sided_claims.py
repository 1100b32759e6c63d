"""Claims with one bound, or none, and intervals with one end, or none."""

import math
from typing import Any

import pytest

from rotting.common.statistics import Interval
from rotting.report.claims import Claim, Verdict


def claim(estimate: Interval, **bounds: Any) -> Claim:
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
    assert claim(Interval(1.0, 0.9, 1.1), **bounds).verdict == verdict


def test_an_unbounded_interval_says_why_it_decides_nothing() -> None:
    whole = Interval(1.0, -math.inf, math.inf)
    assert claim(whole, low=1.0).reason == "what is divided by may be 0"
    assert claim(whole).reason == ""  # whatever it is, it is in the region
    assert claim(Interval(1.0, 0.5, math.inf), low=0.9).reason == ""


@pytest.mark.parametrize("estimate", [Interval(1.0, None, None), Interval(1.0, None, 2.0), Interval(1.0, 0.5, None)])
def test_an_interval_is_written_if_it_has_both_ends(estimate: Interval) -> None:
    assert claim(estimate).measured == "1.00"
    assert claim(estimate, low=0.0).decision == "undecided: too few runs for an interval"
    assert claim(Interval(1.0, 0.5, 2.0)).measured == "1.00 [0.50, 2.00]"
