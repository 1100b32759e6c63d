"""Claims: the verdict is that of the interval, in words too."""

import dataclasses
import math

import pytest

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
