"""The page of the benchmarks is what its maker writes: the machine is named, and its pictures are there."""

import re

import pytest

from docs import make_benchmarks as maker

PAGE = maker.PAGE.read_text("utf-8")


def test_the_page_begins_as_written_and_names_the_machine() -> None:
    assert PAGE.startswith(maker.HEAD)
    assert re.search(r"^\d+ CPUs?, .+; load [\d.]+ at the start\.$", PAGE, re.MULTILINE)


def test_its_pictures_are_there() -> None:
    shown = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", PAGE)
    assert sorted(shown) == sorted(f"{maker.PICTURES.name}/{path.name}" for path in maker.PICTURES.glob("*.png"))
    assert shown


def test_something_else_is_no_report() -> None:
    with pytest.raises(ValueError, match="must begin with '# Benchmark', got '# Report'"):
        maker.page("# Report\n")
