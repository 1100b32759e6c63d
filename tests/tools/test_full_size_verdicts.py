"""The verdicts of the full size: made from reports, kept in the package, and shown by quick reports."""

import dataclasses
import json
from pathlib import Path

import pytest

from rotting.common.json_data import JsonDict
from rotting.errors import InvalidValueError
from rotting.paper import experiments
from rotting.paper.report.model import FORMAT, FORMAT_VERSION, kept_claims, read_verdicts
from tests.helpers.tiny_experiments import tiny
from tools import full_size_verdicts as maker

__all__ = ["tiny"]

FIRST, SECOND, THIRD = experiments.list_experiments()[:3]


def named(*names: str, size: str = "full") -> JsonDict:
    """The data of a report of some experiments, of this size."""
    made: JsonDict = {
        "size": size,
        "date": "2026-11-17",
        "commit": "",
        "machine": "A",
        "versions": {},
        "kept_games": 0,
        "claims": {},
    }
    return {"format": FORMAT, "version": FORMAT_VERSION, "experiments": dict.fromkeys(names, made)}


def test_reports_replace_what_was_kept_of_their_experiments_and_nothing_else() -> None:
    old = maker.merged(None, [named(THIRD, FIRST)], "old")
    assert list(old["experiments"]) == [FIRST, THIRD]  # in the order of the report
    new = maker.merged(old, [named(SECOND), named(THIRD)], "new")
    assert {name: each["commit"] for name, each in new["experiments"].items()} == {FIRST: "old", SECOND: "new", THIRD: "new"}


def test_only_reports_of_the_full_size_are_kept() -> None:
    with pytest.raises(InvalidValueError, match=f"reports must be of the full size, got {FIRST} of the quick size"):
        maker.merged(None, [named(FIRST, size="quick")], "new")


def test_what_is_kept_in_the_package_can_be_read() -> None:
    known = experiments.full_size_claims()
    if experiments.FULL_SIZE.is_file():
        data = read_verdicts(experiments.FULL_SIZE)
        assert set(data["experiments"]) <= set(experiments.list_experiments())
        assert all(each["commit"] and each["size"] == "full" for each in data["experiments"].values())
        assert known
    else:
        assert known == {}


def test_the_commit_of_what_is_kept_is_in_the_history() -> None:
    if maker._git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        pytest.skip("needs the history of the repository")
    commits = {each["commit"] for each in read_verdicts(experiments.FULL_SIZE)["experiments"].values()}
    assert {commit: maker.is_in_history(commit) for commit in commits} == dict.fromkeys(commits, True)


def test_reports_of_a_commit_that_is_not_in_the_history_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match="commit must be in the history .*, got '0123456789ab'"):
        maker.main([str(tmp_path), "--commit", "0123456789ab"])


@pytest.mark.usefixtures("tiny")
def test_a_quick_report_shows_every_verdict_of_a_full_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What a claim says does not depend on the size, or its verdict could not be compared."""
    for name in experiments.list_experiments():
        sizes = experiments.find(name).sizes
        other = {"runs": 4, "hard_pieces": (1, 2), "hard_draws": 3, "lengths": ((20, 4), (50, 2)), "timed": 20}
        fields = {field.name for field in dataclasses.fields(sizes["quick"])}
        changed = dataclasses.replace(sizes["quick"], **{key: value for key, value in other.items() if key in fields})
        monkeypatch.setitem(sizes, "full", changed)
    finished = experiments.run(experiments.list_experiments(), "full", progress=False)
    folder = experiments.write(finished, tmp_path / "full", experiments.about(finished))
    assert "full size</th>" not in (folder / "report.html").read_text("utf-8")

    kept = tmp_path / "full_size.json"
    for module in (maker, experiments):
        monkeypatch.setattr(module, "FULL_SIZE", kept)
    monkeypatch.setattr(maker, "is_in_history", lambda commit: commit == "0123456789ab")
    maker.main([str(folder), "--commit", "0123456789ab"])
    assert set(kept_claims(read_verdicts(kept))) == {claim.id for each in finished for claim in each.section.findings.claims}

    finished = experiments.run(experiments.list_experiments(), progress=False)
    page = (experiments.write(finished, tmp_path / "quick", experiments.about(finished)) / "report.html").read_text("utf-8")
    assert "commit 0123456789ab" in page
    assert page.count('data-head="full size"') == len(kept_claims(read_verdicts(kept)))
    assert "not in the full-size report</div>" not in page

    data = read_verdicts(kept)
    data["experiments"]["theory"]["claims"].pop("theory-impossible")
    kept.write_text(json.dumps(data), "utf-8")
    page = (experiments.write(finished, tmp_path / "lacks", experiments.about(finished)) / "report.html").read_text("utf-8")
    assert page.count("not in the full-size report</div>") == 1
