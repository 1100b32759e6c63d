"""The page on the paper names files and names that are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "rotting"
TEXT = (ROOT / "docs" / "paper.md").read_text("utf-8")
PARAGRAPHS = re.split(r"\n(?=- |\d+\. |\| )|\n\n", TEXT)


def mentions() -> list[tuple[str, str]]:
    """Each name in backquotes with the file before it in its paragraph."""
    found = []
    for paragraph in PARAGRAPHS:
        file = ""
        for name in re.findall(r"`([^`]+)`", paragraph):
            if re.fullmatch(r"[a-z_/]+/[a-z_]+\.py", name):
                file = name
            elif file and re.fullmatch(r"[A-Za-z_]\w+(\.\w+)?", name):
                found.append((file, name))
    return found


FILES = sorted(set(re.findall(r"`([a-z_/]+/[a-z_]+\.py)`", TEXT)))
NAMES = sorted(set(mentions()))


def test_there_are_some() -> None:
    assert len(FILES) > 20
    assert len(NAMES) > 20


@pytest.mark.parametrize("file", FILES)
def test_files_are_there(file: str) -> None:
    assert (SOURCE / file).is_file()


@pytest.mark.parametrize(("file", "name"), NAMES)
def test_names_are_there(file: str, name: str) -> None:
    last = name.rpartition(".")[2]
    assert re.search(rf"^\s*(def|class) {last}\b", (SOURCE / file).read_text("utf-8"), re.MULTILINE), f"{name} in {file}"


def test_slips_are_numbered() -> None:
    numbers = [int(each) for each in re.findall(r"^(\d+)\. ", TEXT, re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))
