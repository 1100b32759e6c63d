"""The files of a report: all are written, nothing is overwritten, and the bytes are the same again."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest

from rotting.common.statistics import NoInterval
from rotting.errors import PathExistsError
from rotting.paper.report import writer
from rotting.paper.report.claims import Claim
from rotting.paper.report.model import Findings, Section
from tests.helpers.html_reader import Reader
from tests.helpers.missing_tools import hide_package
from tests.helpers.sections import ABOUT, figure, sections, table

pl = pytest.importorskip("polars")


pytest.importorskip("matplotlib")


def test_every_file_is_written(folder: Path) -> None:
    found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert found == sorted(
        [
            "report.html",
            *(f"claims.{kind}" for kind in ("csv", "parquet", "md")),
            *(f"rested-test/{name}" for name in ("regret.png", "regret.pdf", "settings.json")),
            *(f"rested-test/regret-at-horizon.{kind}" for kind in ("csv", "parquet", "md")),
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


@pytest.mark.parametrize("name", ["report.html", "claims.csv", "rested-test/regret.pdf", "rested-test/regret-at-horizon.md"])
@pytest.mark.parametrize("kind", ["file", "link"])
def test_nothing_is_overwritten(tmp_path: Path, name: str, kind: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    if kind == "file":
        path.write_text("mine")
    else:
        path.symlink_to(tmp_path / "nowhere")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(PathExistsError, match=re.escape(f"'{path}', which exists")):
        writer.write(sections()[:1], tmp_path, ABOUT)
    assert sorted(tmp_path.rglob("*")) == before
    assert kind == "link" or path.read_text() == "mine"


def test_other_files_of_the_folder_stay(tmp_path: Path) -> None:
    (tmp_path / "rested-test").mkdir()
    (tmp_path / "rested-test" / "results.npz").write_text("mine")
    writer.write(sections()[:1], tmp_path, ABOUT)
    assert (tmp_path / "rested-test" / "results.npz").read_text() == "mine"


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="folder must be an existing folder, got '.*nowhere'"):
        writer.write(sections(), tmp_path / "nowhere", ABOUT)


def finding(section: Section, **changes: Any) -> Section:
    """Return the section with other findings."""
    return dataclasses.replace(section, findings=dataclasses.replace(section.findings, **changes))


@pytest.mark.parametrize("name", ["", "../up", "Upper", "a b", "a/b", ".hidden", "a--b", "dot.dot"])
def test_names_that_are_no_names_of_files_are_refused(tmp_path: Path, name: str) -> None:
    first = sections()[0]
    for section, what in (
        (dataclasses.replace(first, id=name), "section"),
        (finding(first, figures=(dataclasses.replace(figure(), name=name),)), "figure of section 'rested-test'"),
        (finding(first, tables={name: table()}), "table of section 'rested-test'"),
    ):
        with pytest.raises(ValueError, match=re.escape(f"the name of a {what} must be lower-case letters")):
            writer.write([section], tmp_path, ABOUT)
    assert list(tmp_path.iterdir()) == []


def test_two_of_a_name_are_refused(tmp_path: Path) -> None:
    first = sections()[0]
    with pytest.raises(ValueError, match="the name of a section must be unique, got 'rested-test' twice"):
        writer.write([first, first], tmp_path, ABOUT)
    with pytest.raises(ValueError, match="figure of section 'rested-test' must be unique, got 'regret' twice"):
        writer.write([finding(first, figures=(figure(), figure()))], tmp_path, ABOUT)
    assert list(tmp_path.iterdir()) == []


def test_a_report_of_nothing(tmp_path: Path) -> None:
    path = writer.write([Section("bare", "Bare", "nowhere", Findings(()))], tmp_path, ABOUT)
    assert "test no claim" in path.read_text("utf-8")
    assert (tmp_path / "claims.csv").read_text().strip() == ""


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hide_package(monkeypatch, "polars")
    with pytest.raises(ImportError, match=re.escape("rotting[report]")):
        writer.write([Section("bare", "Bare", "nowhere", Findings(()))], tmp_path, ABOUT)
    assert list(tmp_path.iterdir()) == []


def test_a_claim_without_an_interval_says_why(tmp_path: Path) -> None:
    unknown = Claim("few", "section 5", "varies more", "ratio of spreads", NoInterval(1.1, "too few runs"), low=1.0)
    path = writer.write([Section("bare", "Bare", "nowhere", Findings((), claims=(unknown,)))], tmp_path, ABOUT)
    for text in (path.read_text("utf-8"), *((tmp_path / f"claims.{kind}").read_text("utf-8") for kind in ("md", "csv"))):
        assert "too few runs" in text


def test_claims_for_programs(folder: Path) -> None:
    data = pl.read_parquet(folder / "claims.parquet")
    assert data["claim"].to_list() == ["four", "better", "log", "fast"]
    assert data["verdict"].to_list() == ["holds", "undecided", "does not hold", "not comparable"]
    assert data["reason"].to_list() == ["", "", "", "other code"]
    assert data["remark"].to_list() == ["", "", "", "For comparison: 2.5."]
    assert data["measured"].to_list() == [3.9, 1.1, 0.5, 2.0]
    assert data["measured_high"].to_list() == [4.1, 1.3, 0.6, 2.1]
    assert data["claimed_low"].to_list() == [2.0, 1.0, None, 5.0]
    assert data["claimed_high"].to_list() == [8.0, None, 0.1, None]
    assert data["stands_with_holm"].to_list() == [True, None, True, None]
    row = "| 3.90 [3.70, 4.10] | between 2 and 8 | ✓ holds | yes |"
    assert row in (folder / "claims.md").read_text("utf-8")


def test_a_place_that_is_not_there_is_refused(tmp_path: Path) -> None:
    lost = finding(sections()[0], covers={"figure 9": "nowhere"})
    with pytest.raises(ValueError, match="covers must name figures and tables of section 'rested-test', got 'nowhere' for"):
        writer.write([lost], tmp_path, ABOUT)
    assert list(tmp_path.iterdir()) == []
