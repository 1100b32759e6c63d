"""Nights: the user's own where there are files, synthetic ones where not."""

import dataclasses
from typing import Any

import pytest

from rotting.common.statistics import Interval
from rotting.paper import experiments
from rotting.paper.datasets import Nights
from rotting.paper.experiments import restless_nights
from rotting.paper.report.claims import Verdict
from tests.helpers.tiny_experiments import tiny_night


@pytest.mark.usefixtures("tiny")
def test_the_users_own_nights_are_played_when_there(monkeypatch: pytest.MonkeyPatch) -> None:
    own = dataclasses.replace(tiny_night(3), synthetic=False)
    monkeypatch.setattr(restless_nights, "yahoo_nights", lambda **_: Nights((own,), skipped={2: "it is missing"}))
    prepared = restless_nights.prepare(restless_nights.SIZES["quick"], None, False)
    assert list(prepared.games) == ["night-3"]
    assert prepared.notes == ("night 2 is left out: it is missing",)
    (finished,) = experiments.run(["restless-nights"], progress=False)
    texts = [
        finished.section.title,
        *finished.section.findings.notes,
        *finished.section.findings.paragraphs,
        *map(str, finished.section.findings.tables.values()),
    ]
    assert "synthetic" not in " ".join(texts).lower()
    assert not any(claim.synthetic for claim in finished.section.findings.claims)
    assert {claim.id for claim in finished.section.findings.claims}.isdisjoint({"nights-easy-logarithmic"})


@pytest.mark.usefixtures("tiny")
def test_files_that_make_no_night_are_told_and_synthetic_ones_played(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restless_nights, "yahoo_nights", lambda **_: Nights((), skipped={2: "it is cut off"}))
    (finished,) = experiments.run(["restless-nights"], progress=False)
    assert "night 2 is left out: it is cut off" in finished.section.findings.notes
    claims = {claim.id: claim for claim in finished.section.findings.claims}
    assert all(claim.synthetic for claim in claims.values())
    assert claims["nights-easy-logarithmic"].verdict == Verdict.NOT_COMPARABLE
    assert claims["nights-exp3s-worse-on-easy"].verdict != Verdict.NOT_COMPARABLE


def test_the_rate_on_the_easy_night_is_decided_by_the_papers_data_alone() -> None:
    (statement,) = (each for each in restless_nights.EASY_NIGHT_STATEMENTS if each.id == "nights-easy-logarithmic")
    measured = dataclasses.replace(statement, measure=lambda _: Interval(1.0, 0.9, 1.1))
    nothing: Any = None
    assert measured.decide(nothing).verdict == Verdict.HOLDS
    assert measured.decide(nothing, synthetic=True).decision == (
        "not comparable (synthetic data): what makes night 7 easy is in Yahoo!'s data: one article is the best by far"
    )


@pytest.mark.usefixtures("tiny")
def test_times_of_other_code_decide_nothing_and_stand_beside_the_papers() -> None:
    (finished,) = experiments.run(["restless-nights"], progress=False)
    (claim,) = (each for each in finished.section.findings.claims if each.id == "nights-raw-faster-than-glr")
    assert claim.verdict == Verdict.NOT_COMPARABLE
    assert claim.decision.startswith("not comparable (synthetic data): other code than the paper's")
    # The mean over the nights of the last column of the paper's table over the first.
    ratios = [560 / 67, 613 / 66, 683 / 90, 2421 / 86, 707 / 91, 1529 / 74, 957 / 88, 971 / 64]
    assert f"the paper prints: {sum(ratios) / 8:.0f} [" in claim.remark
