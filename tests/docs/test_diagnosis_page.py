"""The tables of docs/diagnosis.md are those of the figures that were kept."""

import json

from docs import make_diagnosis as maker
from docs.make_hull import filled


def test_the_page_shows_the_figures() -> None:
    page, figures = maker.PAGE.read_text("utf-8"), json.loads(maker.FIGURES.read_text("utf-8"))
    assert filled(page, maker.pages(figures)) == page, "docs/diagnosis.md is stale: run `python -m docs.make_diagnosis --write`"


def test_a_log_gets_one_verdict_and_no_alarm_where_arms_fall() -> None:
    cell = maker.Cell("with units", "pulls", "uniform", "counts")
    (verdict,) = maker.verdicts(cell, seed=0)
    assert verdict in {"pulls", "cannot tell"}


def test_no_other_clock_is_named_where_one_clock_or_none_matters() -> None:
    """This is the promise of the page. Where both matter, one may be named alone, as the page says."""
    figures = json.loads(maker.FIGURES.read_text("utf-8"))
    for cell in maker.cells():
        if cell.truth != "both":
            assert all(name in {cell.truth, "cannot tell", "logs"} for name in figures[cell.key()]), cell
