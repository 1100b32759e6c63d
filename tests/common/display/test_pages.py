"""A page without claims and files: the headline first, then the sections."""

import dataclasses
import re

import numpy as np
import pytest

from rotting.common.display.pages import PlainSection, plain_page, versions
from rotting.common.display.tables import Column, FormattedTable, value_column
from tests.helpers.html_reader import Reader
from tests.helpers.sections import ABOUT, EVIL, plain_sections

ABOUT_LOG = dataclasses.replace(ABOUT, title="A log", paragraphs=("The answer.",))
FACTS = {"File": EVIL}


@pytest.fixture(scope="module")
def text() -> str:
    return plain_page(plain_sections(), ABOUT_LOG, FACTS, "The end.")


def test_the_headline_comes_before_everything_else(text: str) -> None:
    answer, contents, main = map(text.index, ("<p>The answer.</p>", "<nav", "<main"))
    assert answer < contents < main


def test_there_are_neither_claims_nor_files_nor_settings(text: str) -> None:
    for absent in ('id="claims"', "claims", "Files:", ".csv", "Settings"):
        assert absent not in re.sub(r"<(script|style)>.*?</\1>", "", text, flags=re.DOTALL), absent


def test_all_figures_and_tables_are_there_and_text_is_text(text: str) -> None:
    reader = Reader(text)
    assert reader.open == []
    found = plain_sections()
    pictures = [each for each in reader.all("svg") if each.get("class") == "drawing"]
    assert len(pictures) == sum(len(figure.panels) for each in found for figure in each.figures)
    assert len(reader.all("table")) == sum(len(each.tables) for each in found)
    assert EVIL in reader.words
    assert "The end." in reader.words


def test_it_is_small_and_has_no_scripts(text: str) -> None:
    assert len(text) < 100_000
    assert Reader(text).all("script") == []
    assert "script-src 'none'" in text


def test_a_figure_with_one_curve_has_no_legend() -> None:
    figure = plain_sections()[0].figures[0]
    first = dataclasses.replace(figure, panels=(dataclasses.replace(figure.panels[0], curves=figure.panels[0].curves[:1]),))
    for each, legends in ((figure, 1), (first, 0)):
        written = plain_page([PlainSection("one", "One", figures=(each,))], ABOUT_LOG, {}, "")
        assert written.count('<div class="legend"') == legends


def test_columns_are_aligned_as_the_table_says() -> None:
    columns = tuple(value_column(name) for name in ("arm", "verdict", "pulls"))
    table = FormattedTable((), columns, [{"arm": "a", "verdict": "steady", "pulls": 3}], left=2)
    written = plain_page([PlainSection("one", "One", tables={"arms": table})], ABOUT_LOG, {}, "")
    assert '<th scope="row">a</th><td class="left">steady</td><td>3</td>' in written


def test_the_best_of_a_table_is_in_bold() -> None:
    columns = (value_column("policy"), Column("regret", lambda row: str(row["regret"]), lambda row: bool(row["regret"] < 2)))
    table = FormattedTable((), columns, [{"policy": "a", "regret": 1}, {"policy": "b", "regret": 2}])
    written = plain_page([PlainSection("one", "One", tables={"regrets": table})], ABOUT_LOG, {}, "")
    assert "<td><strong>1</strong></td>" in written
    assert "<td>2</td>" in written


def test_versions() -> None:
    assert versions()["NumPy"] == np.__version__
