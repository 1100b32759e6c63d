"""Extras: those that pages and errors name are there, and the first page names all."""

import re

from tests.helpers.blocks import ROOT
from tests.helpers.shell import EXTRAS


def test_the_first_page_has_them_all() -> None:
    page = (ROOT / "docs" / "index.md").read_text("utf-8")
    first = [row.split("|")[1] for row in page.partition("| extra ")[2].partition("\n\n")[0].splitlines()[2:]]
    named = [name for cell in first for name in re.findall(r"`(\w+)`", cell)]
    assert sorted(named) == sorted(EXTRAS)
    (everything,) = EXTRAS["all"]
    assert everything == f"rotting[{','.join(named[: named.index('all')])}]"


def test_errors_name_extras_that_are_there() -> None:
    sources = "".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
    named = set(re.findall(r"pip install 'rotting\[(\w+)\]", sources))
    assert named <= set(EXTRAS)
    assert {"plot", "pandas", "datasets", "store", "service", "dask", "cuda"} <= named
