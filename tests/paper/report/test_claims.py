"""Claims: the verdict is that of the interval, in words too."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rotting.common.statistics import Interval, NoInterval, t_critical
from rotting.paper.report.claims import IN_SHORT, Claim, Statement, Verdict, claims_table, standing
from rotting.simulation.comparisons import growth, spread_ratio
from tests.helpers.claims import claim, claim_about


@pytest.mark.parametrize(
    ("each", "verdict"),
    [
        (claim(0.9, 1.1, least=0.5), Verdict.HOLDS),
        (claim(0.9, 1.1, least=0.9, most=1.1), Verdict.HOLDS),
        (claim(0.9, 1.1, least=1.0), Verdict.UNDECIDED),
        (claim(0.9, 1.1, least=1.2), Verdict.FAILS),
        (claim(0.9, 1.1, most=0.5), Verdict.FAILS),
        (claim(0.9, 1.1, least=2.0, most=3.0), Verdict.FAILS),
        # An end on the very bound is in the region claimed; just beyond it is not.
        (claim(0.9, 1.1, least=0.9), Verdict.HOLDS),
        (claim(0.9, 1.1, most=1.1), Verdict.HOLDS),
        (claim(0.9, 1.1, least=math.nextafter(0.9, 1)), Verdict.UNDECIDED),
        (claim(0.9, 1.1, most=math.nextafter(1.1, 1)), Verdict.UNDECIDED),
        (claim(0.9, 1.1, least=1.1), Verdict.UNDECIDED),
        (claim(0.9, 1.1, most=0.9), Verdict.UNDECIDED),
        (claim(0.9, 1.1, least=math.nextafter(1.1, 2)), Verdict.FAILS),
        (claim(0.9, 1.1, most=math.nextafter(0.9, 0)), Verdict.FAILS),
        (claim_about(NoInterval(1.0, "why"), least=0.5), Verdict.UNDECIDED),
    ],
)
def test_verdicts(each: Claim, verdict: Verdict) -> None:
    assert each.verdict == verdict


def test_claims_in_words() -> None:
    assert claim(0.9, 1.1, least=4.0).region == "at least 4"
    assert claim(0.9, 1.1, most=1.25).region == "at most 1.25"
    assert claim(0.9, 1.1, least=3.0, most=5.0).region == "between 3 and 5"
    assert claim(0.9, 1.1).measured == "1.00 [0.90, 1.10]"
    assert claim_about(NoInterval(1.0, "why")).measured == "1.00"


def test_an_undecided_claim_says_why_where_its_interval_does_not() -> None:
    assert claim(0.9, 1.1, least=1.0).decision == "undecided"
    each = claim_about(growth(np.zeros(2), np.array([-1.0, 1.5]), np.array([0.0, 3.5])), least=1.0)
    assert each.decision == "undecided: the divisor may be 0"
    assert dataclasses.replace(each, synthetic=True).decision == "undecided (synthetic data): the divisor may be 0"
    each = claim_about(spread_ratio(np.arange(9.0)[None], np.arange(9.0)[None]), least=1.0)
    assert each.decision == "undecided: needs at least 200 runs (here 9)"
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
        ({"high": 1.0}, Verdict.UNDECIDED),
        ({"low": 1.0}, Verdict.UNDECIDED),
    ],
)
def test_a_bound_that_is_not_given_binds_nothing(bounds: dict[str, float], verdict: Verdict) -> None:
    assert claim_of(Interval(1.0, 0.9, 1.1), **bounds).verdict == verdict


def test_a_claim_without_an_interval_is_undecided_for_the_reason_given() -> None:
    each = claim_of(NoInterval(1.0, "two runs are too few"), low=0.0)
    assert (each.measured, each.decision) == ("1.00", "undecided: two runs are too few")
    unbounded = claim_of(Interval(1.0, 0.5, math.inf), low=0.9)
    assert (unbounded.verdict, unbounded.reason) == (Verdict.UNDECIDED, "")


def test_what_cannot_be_compared_has_that_verdict_whatever_the_interval() -> None:
    for estimate in (Interval(1.0, 0.9, 1.1), NoInterval(1.0, "too few runs")):
        each = claim_of(estimate, low=0.5, not_comparable="other code")
        assert (each.verdict, each.decision) == (Verdict.NOT_COMPARABLE, "not comparable: other code")
    assert claim_of(Interval(1.0, 0.9, 1.1), low=0.5, not_comparable="other code").measured == "1.00 [0.90, 1.10]"


def test_a_statement_hands_on_what_stands_beside_its_verdict() -> None:
    stated: Statement[float] = Statement(
        "id", "source", "words", "quantity", lambda x: Interval(x, x, x), low=0.0, compare=lambda x: f"twice that: {2 * x:g}"
    )
    decided = stated.decide(3.0)
    assert (decided.verdict, decided.remark) == (Verdict.HOLDS, "twice that: 6")
    assert "twice that: 6" in str(claims_table([decided]))


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Interval(0.0163, 0.0157, 0.0169), "0.0163 [0.0157, 0.0169]"),  # no 0.02 [0.02, 0.02]
        (Interval(270.78, 249.53, 293.84), "271 [250, 294]"),
        (Interval(80.34, 50.73, 109.94), "80 [51, 110]"),
        (Interval(1.66, 1.66, 1.66), "1.660 [1.660, 1.660]"),
        (Interval(0.0, 0.0, 0.0), "0.00 [0.00, 0.00]"),
        (Interval(0.500023, 0.500011, 0.500035), "0.500023 [0.500011, 0.500035]"),
        (Interval(1234.5, 1200.0, 1270.0), "1,234 [1,200, 1,270]"),
        (Interval(2.0, 1.0, math.inf), "2.00"),
        (NoInterval(0.00123, "why"), "0.00123"),
        (NoInterval(math.nan, "why"), "unknown"),
    ],
)
def test_digits_are_those_that_the_interval_supports(estimate: Interval, text: str) -> None:
    assert claim_of(estimate).measured == text


FINITE = st.floats(-1e6, 1e6)


@given(ends=st.tuples(FINITE, FINITE, FINITE).map(sorted), bound=FINITE)
def test_from_the_digits_shown_anyone_reaches_the_same_verdict(ends: list[float], bound: float) -> None:
    low, mean, high = ends
    assume(all(abs(end - bound) > 1e-5 for end in ends))
    each = claim_of(Interval(mean, low, high), low=bound)
    shown = [float(number.strip("[],").replace(",", "")) for number in each.measured.split()]
    assert len(shown) == 3
    assert claim_of(Interval(*shown), low=bound).verdict == each.verdict


def test_an_end_close_to_the_bound_gets_the_digits_that_tell_them_apart() -> None:
    assert claim_of(Interval(1.4, 0.996, 1.8), low=1.0).measured == "1.400 [0.996, 1.800]"


@st.composite
def measured_claims(draw: st.DrawFn) -> Claim:
    """A claim with an interval, and a region with one end or two."""
    low, mean, high = sorted(draw(st.tuples(FINITE, FINITE, FINITE)))
    first, last = sorted(draw(st.tuples(FINITE, FINITE)))
    kind = draw(st.sampled_from(["low", "high", "both"]))
    region = {end: value for end, value in (("low", first), ("high", last)) if kind in {end, "both"}}
    return claim_of(Interval(mean, low, high), **region)


@given(claim=measured_claims())
def test_a_verdict_is_the_same_with_an_interval_that_is_stretched_less(claim: Claim) -> None:
    mean, low, high = claim.estimate
    assert low is not None
    assert high is not None
    decided = claim.verdict in {Verdict.HOLDS, Verdict.FAILS}
    assert (claim.stretch >= 1) == decided
    assume(decided and math.isfinite(claim.stretch))
    factor = 0.999 * claim.stretch
    wider = Interval(mean, mean - factor * (mean - low), mean + factor * (high - mean))
    assert dataclasses.replace(claim, estimate=wider).verdict == claim.verdict


def holm(claims: list[Claim]) -> set[str]:
    """Holm's procedure as the textbook has it: from the surest claim on, until one is not sure enough."""
    tested = sorted((each for each in claims if each.is_tested), key=lambda each: -each.stretch)
    found = set()
    for k, each in enumerate(tested):
        if each.stretch * t_critical(19) < t_critical(19, 1 - 0.05 / (len(tested) - k)):
            break
        found.add(each.id)
    return found


@given(claims=st.lists(measured_claims(), max_size=8))
def test_verdicts_stand_together_by_holms_procedure(claims: list[Claim]) -> None:
    numbered = [dataclasses.replace(claim, id=str(k)) for k, claim in enumerate(claims)]
    assert standing(numbered) == holm(numbered)


def test_one_claim_stands_alone_and_twenty_that_barely_hold_do_not() -> None:
    barely = [dataclasses.replace(claim_of(Interval(2.0, 1.01, 3.0), low=1.0), id=str(k)) for k in range(20)]
    assert standing(barely[:1]) == {"0"}
    assert standing(barely) == frozenset()
    sure = claim_of(Interval(2.0, 1.6, 2.4), low=1.0)
    assert standing([*barely, sure]) == {sure.id}
    # Four values leave three degrees of freedom, and far longer tails.
    assert standing([*barely, dataclasses.replace(sure, samples=4)]) == frozenset()


def test_the_table_says_which_verdicts_stand_with_holms_correction() -> None:
    barely, undecided = claim_of(Interval(2.0, 1.01, 3.0), low=1.0), claim_of(Interval(2.0, 0.9, 3.0), low=1.0)
    text = claims_table([barely, dataclasses.replace(barely, id="two"), undecided], ("id", "holm", "verdict"))
    assert [line.split()[1] for line in str(text).splitlines()[-3:]] == ["no", "no", "undecided"]


def test_the_table_is_left_aligned_and_gives_each_reason_once() -> None:
    reasons = ("too few runs", "a ratio is undefined", "too few runs")
    claims = [dataclasses.replace(claim_about(NoInterval(1.0, reason)), id=f"claim-{k}") for k, reason in enumerate(reasons)]
    _, table, notes = str(claims_table([*claims, claim(0.9, 1.1, least=0.5)], IN_SHORT)).split("\n\n")
    head, _, *rows = table.splitlines()
    assert [row.rpartition("  ")[2] for row in rows] == ["undecided (a)", "undecided (b)", "undecided (a)", "holds"]
    assert {row.index("1.00") for row in rows} == {head.index("measured")}
    assert notes == "(a) too few runs\n(b) a ratio is undefined"


def test_more_reasons_than_letters_have_different_marks() -> None:
    marks = [note.split()[0] for note in claims_table([claim_about(NoInterval(1.0, f"why {k}")) for k in range(28)]).notes]
    assert marks[24:] == ["(y)", "(z)", "(aa)", "(bb)"]
    assert len(set(marks)) == 28
