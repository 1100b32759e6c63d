"""The tables of docs/diagnosis.md are those of the figures that were kept."""

import json
from collections import Counter
from itertools import groupby

from docs import make_diagnosis as maker
from docs import make_diagnosis_limits as limits
from docs.made_logs import TRUTHS, Cell, cells
from docs.page_tables import filled


def test_the_page_shows_the_figures() -> None:
    page, figures = maker.PAGE.read_text("utf-8"), json.loads(maker.FIGURES.read_text("utf-8"))
    assert filled(page, maker.pages(figures)) == page, "docs/diagnosis.md is stale: run `python -m docs.make_diagnosis --write`"


def test_the_page_shows_what_breaks_the_test() -> None:
    page, figures = maker.PAGE.read_text("utf-8"), json.loads(limits.FIGURES.read_text("utf-8"))
    assert list(figures) == list(limits.VARIANTS)
    assert filled(page, limits.page(figures)) == page, (
        "docs/diagnosis.md is stale: run `python -m docs.make_diagnosis_limits --write`"
    )


def test_a_world_that_differs_in_nothing_but_its_traffic_gives_logs_of_its_size() -> None:
    log = limits.made_log(limits.Variant(rows=500, skew=0.0), "both", "counts", seed=0)
    assert (len(log), len(log.arms), len(log.units)) == (500, maker.ARMS, maker.UNITS)


def test_a_log_gets_one_verdict_and_no_alarm_where_arms_fall() -> None:
    (verdict,) = maker.verdicts("with units", Cell("pulls", "uniform", "counts"), seed=0)
    assert verdict in {"pulls", "cannot tell"}


def test_the_page_keeps_its_promises() -> None:
    """At most 5 % of the logs of a truth and a logger get a wrong clock or a false alarm; units name 80 % of them right."""
    figures = json.loads(maker.FIGURES.read_text("utf-8"))
    assert list(figures) == [maker.key(units, cell) for units in maker.SIZES for cell in cells()]
    for (units, truth, logger), keys in groupby(figures, key=lambda name: name.split(" / ")[:3]):
        counts = Counter[str]()
        for key in keys:
            counts.update(figures[key])
        wrong = sum(counts[name] for name in TRUTHS if name != truth)
        assert wrong <= 0.05 * counts["logs"], (units, truth, logger)
        assert counts[maker.ALARM] <= 0.05 * counts["logs"], (units, truth, logger)
        if units == "with units":
            assert counts[truth] >= 0.8 * counts["logs"], (truth, logger)
