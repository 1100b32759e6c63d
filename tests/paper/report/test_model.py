"""Verdicts as data: read back as they were, and shown beside those of another report where they are of the same claims."""

import dataclasses
import json
import math
from html import escape
from pathlib import Path
from typing import Any

import pytest

from rotting.common.statistics import Interval, NoInterval
from rotting.errors import InvalidValueError
from rotting.paper.report.claims import Claim
from rotting.paper.report.model import Findings, Section, kept_claims, read_verdicts, verdicts_json
from rotting.paper.report.page import NOT_WITH_HOLM, page
from tests.helpers.html_reader import Reader
from tests.helpers.sections import ABOUT, sections

CLAIMS = (
    Claim("both", "s", "w", "ratio", Interval(3.9, 3.7, 4.1), low=2.0, high=8.0),
    Claim("one", "s", "w", "ratio", Interval(0.5, 0.4, 0.6), high=0.1, synthetic=True),
    Claim("few", "s", "w", "spread", NoInterval(1.1, "too few runs"), low=1.0),
    Claim("none", "s", "w", "ratio", NoInterval(math.nan, "undefined"), low=1.0),
    Claim("wide", "s", "w", "ratio", Interval(2.0, 1.5, math.inf), low=1.0),
    Claim("unbounded", "s", "w", "ratio", Interval(2.0, -math.inf, 1.5), low=2.0, samples=5),
    Claim("slow", "s", "w", "time", Interval(2.0, 1.9, 2.1), low=5.0, not_comparable="other code"),
)


def section(*claims: Claim, size: str = "full") -> Section:
    return Section("test", "A test", "nowhere", Findings((), claims=claims), {"size": size})


def test_verdicts_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.json"
    path.write_text(verdicts_json([section(*CLAIMS), Section("bare", "Bare", "nowhere", Findings(()))], ABOUT), "utf-8")
    data = read_verdicts(path)
    assert list(data["experiments"]) == ["test"]  # the other has no claims
    kept = kept_claims(data)
    assert list(kept) == [claim.id for claim in CLAIMS]
    for claim in CLAIMS:
        again = kept[claim.id]
        assert again.is_of(claim)
        assert (again.date, again.machine) == (ABOUT.date.date(), "A Processor, 2 cores, Linux")
        assert again.claim.verdict == claim.verdict
        assert again.claim.decision == claim.decision
        assert again.claim.measured == claim.measured
        assert again.claim.samples == claim.samples


def test_verdicts_of_another_claim_are_none_of_this() -> None:
    kept = kept_claims(json.loads(verdicts_json([section(CLAIMS[0])], ABOUT)))["both"]
    changes: list[dict[str, Any]] = [{"low": 2.5}, {"high": math.inf}, {"synthetic": True}]
    for change in (*changes, {"not_comparable": "other code"}):
        assert not kept.is_of(dataclasses.replace(CLAIMS[0], **change))
    assert kept.is_of(dataclasses.replace(CLAIMS[0], estimate=Interval(1.0, 0.5, 1.5), remark="beside"))


def test_other_files_are_refused(tmp_path: Path) -> None:
    for content in ("[]", "{}", json.dumps({"format": "rotting-verdicts", "version": 2})):
        (tmp_path / "other.json").write_text(content)
        with pytest.raises(InvalidValueError, match="path must be a file of verdicts"):
            read_verdicts(tmp_path / "other.json")


def test_a_verdict_that_its_numbers_contradict_is_refused() -> None:
    data = json.loads(verdicts_json([section(CLAIMS[0])], ABOUT))
    data["experiments"]["test"]["claims"]["both"]["measured_low"] = 1.9
    with pytest.raises(InvalidValueError, match="verdict of 'both' must be that of its numbers, 'undecided', got 'holds'"):
        kept_claims(data)


def test_kept_verdicts_are_marked_where_they_do_not_stand_with_holms_correction() -> None:
    """The interval could be 1.3 times as wide: enough for two claims with 20 values each, too little with three."""
    (first, *_) = sections()
    four = first.findings.claims[0]
    one = dataclasses.replace(first, findings=Findings((), claims=(four,)))
    marks = []
    for samples in (20, 3):
        barely = dataclasses.replace(four, estimate=Interval(3.9, 2.44, 5.36), samples=samples)
        kept = barely, Claim("other", "s", "w", "q", Interval(1.0, 0.9, 1.1), low=1.0)
        data = json.loads(verdicts_json([dataclasses.replace(first, findings=Findings((), claims=kept))], ABOUT))
        marks.append((kept_claims(data)["four"].stands, page([one], ABOUT, kept_claims(data)).count(escape(NOT_WITH_HOLM))))
    assert marks == [(True, 0), (False, 1)]


def test_the_page_says_what_the_full_size_measured_if_that_is_something_else() -> None:
    (first, *_) = sections()
    four = first.findings.claims[0]
    for quantity, shown in ((four.quantity, False), ("ratio over 16 problems", True)):
        kept = kept_claims(json.loads(verdicts_json([section(dataclasses.replace(four, quantity=quantity))], ABOUT)))
        assert (f"measured: {quantity}" in page([first], ABOUT, kept)) == shown


def words_of(text: str) -> str:
    return " ".join(" ".join(Reader(text).words).split())


def test_the_page_shows_verdicts_of_the_full_size_beside_its_own() -> None:
    """Of four claims one is kept with another verdict, one with another region, and two are not there."""
    (first, *_), about = sections(), dataclasses.replace(ABOUT, date=ABOUT.date.replace(year=2031))
    four, better, *_ = first.findings.claims
    kept = (dataclasses.replace(four, estimate=Interval(1.5, 1.4, 1.6)), dataclasses.replace(better, low=1.5))
    data = json.loads(verdicts_json([dataclasses.replace(first, findings=Findings((), claims=kept))], about))
    data["experiments"][first.id]["commit"] = "0123456789ab"
    text = page([first], ABOUT, kept_claims(data))
    assert text.count('data-head="full size"') == 4
    assert text.count(">not in the full-size report</div>") == 3
    words = words_of(text)
    assert "1.50 [1.40, 1.60] ✗ does not hold" in words
    assert "2 January 2031, commit 0123456789ab, on A Processor, 2 cores, Linux" in words


def test_the_page_has_no_such_column_where_nothing_is_kept_of_its_claims() -> None:
    (first, *_) = sections()
    other = kept_claims(json.loads(verdicts_json([section(*CLAIMS)], ABOUT)))
    for kept in ({}, other):
        text = page([first], ABOUT, kept)
        assert 'data-head="full size"' not in text
        assert text == page([first], ABOUT)
