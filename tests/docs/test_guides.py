"""The guides: listed, linked, and safe to follow. Their code runs as doctests."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

import rotting
from rotting import cli
from tests.helpers.blocks import block

FOLDER = Path(__file__).parents[2] / "docs" / "guides"
GUIDES = sorted(FOLDER.glob("*.md"))


def test_all_guides_are_listed() -> None:
    listed = re.findall(r"\]\(([a-z-]+\.md)\)", (FOLDER / "README.md").read_text("utf-8"))
    assert sorted(listed) == [each.name for each in GUIDES if each.name != "README.md"]


@pytest.mark.parametrize("guide", GUIDES, ids=lambda each: each.stem)
def test_links_lead_somewhere(guide: Path) -> None:
    for link in re.findall(r"\]\(([^)#:]+)\)", guide.read_text("utf-8")):
        assert (guide.parent / link).is_file(), link


@pytest.mark.parametrize("guide", GUIDES, ids=lambda each: each.stem)
def test_tables_are_aligned_as_text(guide: Path) -> None:
    for table in re.findall(r"(?:^\|.*\|\n)+", guide.read_text("utf-8"), re.MULTILINE):
        places = {tuple(k for k, letter in enumerate(line) if letter == "|") for line in table.splitlines()}
        assert len(places) == 1, table


Copy = Callable[[apsw.Connection, Path], None]


def vacuumed(source: apsw.Connection, target: Path) -> None:
    source.execute("VACUUM INTO ?", (str(target),))


def backed_up(source: apsw.Connection, target: Path) -> None:
    copy = apsw.Connection(str(target))
    with copy.backup("main", source, "main") as backup:
        backup.step()
    copy.close()


@pytest.mark.parametrize("copied", [vacuumed, backed_up])
def test_a_copy_of_a_store_in_use_opens_at_the_first_try(copied: Copy, tmp_path: Path) -> None:
    path, copy = tmp_path / "songs.rot", tmp_path / "backup.rot"
    with rotting.open(path, rotting.UCB1(), arms=["a", "b"]) as bandit:
        first, second = bandit.decide(), bandit.decide()
        bandit.reward(first.id, 1.0)
        source = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        copied(source, copy)
        source.close()
        bandit.reward(second.id, 1.0)
    assert cli.main(["verify", str(copy)]) == 0
    with rotting.open(copy) as restored:
        assert (restored.rounds, restored.pending) == (2, 1)
        assert [restored.reward(each.id, 1.0) for each in (first, second)] == ["duplicate", "applied"]


def test_the_code_for_river_works() -> None:
    page = "docs/guides/from-river-and-mabwiser.md"
    pytest.importorskip("river")
    names: dict[str, Any] = {"history": [("jazz", 1.0), ("rock", 0.0)]}
    for start in ("from river", "for song, liked", "policy.pull("):
        exec(block(page, start), names)
    assert names["song"] in {"jazz", "rock"}
    assert names["policy"]._counts.total() == 3
