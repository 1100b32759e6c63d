"""The files of a report: all are written, nothing is overwritten, and the bytes are the same again."""

import csv
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from rotting.common.statistics import NoInterval
from rotting.paper.report import writer
from rotting.paper.report.claims import Claim
from rotting.paper.report.model import Findings, Section
from tests.helpers.html_reader import Reader
from tests.helpers.missing_tools import hide_package
from tests.helpers.sections import ABOUT, figure, sections, table

pytest.importorskip("matplotlib")


def test_every_file_is_written(folder: Path) -> None:
    found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert found == sorted(
        [
            "report.html",
            *(f"claims.{kind}" for kind in ("csv", "md")),
            *(f"rested-test/{name}" for name in ("regret.png", "regret.pdf", "settings.json")),
            *(f"rested-test/regret-at-horizon.{kind}" for kind in ("csv", "md")),
            *(f"evil/{name}" for name in ("evil.png", "evil.pdf", "settings.json")),
        ]
    )
    assert (folder / "rested-test/regret.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "rested-test/regret.pdf").read_bytes().startswith(b"%PDF")
    assert json.loads((folder / "rested-test/settings.json").read_text()) == {"horizon": 1000, "drops": [0.02, 0.2]}
    assert (folder / "rested-test/regret-at-horizon.md").read_text("utf-8") == table().to_markdown() + "\n"


def test_every_link_leads_to_a_file_or_a_place_of_the_page(folder: Path, reader: Reader) -> None:
    ids = [attributes["id"] for _, attributes in reader.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for attributes in reader.all("a"):
        target = attributes["href"]
        assert target is not None
        assert target[1:] in ids if target.startswith("#") else (folder / target).is_file()


def test_the_same_input_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    writer.write(sections(), str(tmp_path), ABOUT)
    for path in folder.rglob("*"):
        if path.is_file():
            assert path.read_bytes() == (tmp_path / path.relative_to(folder)).read_bytes(), path.name


@pytest.mark.parametrize("name", ["report.html", "claims.csv", "rested-test/regret.pdf"])
def test_nothing_is_overwritten(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine")
    with pytest.raises(FileExistsError):
        writer.write(sections()[:1], tmp_path, ABOUT)
    assert path.read_text() == "mine"


def test_other_files_of_the_folder_stay(tmp_path: Path) -> None:
    (tmp_path / "rested-test").mkdir()
    (tmp_path / "rested-test" / "results.npz").write_text("mine")
    writer.write(sections()[:1], tmp_path, ABOUT)
    assert (tmp_path / "rested-test" / "results.npz").read_text() == "mine"


def finding(section: Section, **changes: Any) -> Section:
    """Return the section with other findings."""
    return dataclasses.replace(section, findings=dataclasses.replace(section.findings, **changes))


def test_two_of_a_name_are_refused(tmp_path: Path) -> None:
    first = sections()[0]
    twice = finding(first, figures=(figure(), figure()))
    with pytest.raises(FileExistsError, match="regret.png"):
        writer.write([twice], tmp_path, ABOUT)


def test_a_report_of_nothing(tmp_path: Path) -> None:
    path = writer.write([Section("bare", "Bare", "nowhere", Findings(()))], tmp_path, ABOUT)
    assert "test no claim" in path.read_text("utf-8")
    assert (tmp_path / "claims.csv").read_text().strip() == ""


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hide_package(monkeypatch, "matplotlib")
    with pytest.raises(ImportError, match="Matplotlib"):
        writer.write(sections()[:1], tmp_path, ABOUT)
    assert list(tmp_path.iterdir()) == []


def test_a_claim_without_an_interval_says_why(tmp_path: Path) -> None:
    unknown = Claim("few", "section 5", "varies more", "ratio of spreads", NoInterval(1.1, "too few runs"), low=1.0)
    path = writer.write([Section("bare", "Bare", "nowhere", Findings((), claims=(unknown,)))], tmp_path, ABOUT)
    for text in (path.read_text("utf-8"), *((tmp_path / f"claims.{kind}").read_text("utf-8") for kind in ("md", "csv"))):
        assert "too few runs" in text


def test_claims_for_programs(folder: Path) -> None:
    with (folder / "claims.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    assert columns["claim"] == ["four", "better", "log", "fast"]
    assert columns["verdict"] == ["holds", "undecided", "does not hold", "not comparable"]
    assert columns["reason"] == ["", "", "", "other code"]
    assert columns["remark"] == ["", "", "", "For comparison: 2.5."]
    assert columns["measured"] == ["3.9", "1.1", "0.5", "2.0"]
    assert columns["measured_high"] == ["4.1", "1.3", "0.6", "2.1"]
    assert columns["claimed_low"] == ["2.0", "1.0", "", "5.0"]
    assert columns["claimed_high"] == ["8.0", "", "0.1", ""]
    assert columns["stands_with_holm"] == ["True", "", "True", ""]
    row = "| 3.90 [3.70, 4.10] | between 2 and 8 | ✓ holds | yes |"
    assert row in (folder / "claims.md").read_text("utf-8")
