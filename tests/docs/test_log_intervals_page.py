"""The tables of docs/log-intervals.md are those of the figures that were kept."""

import json

from docs import make_logs_coverage as maker
from docs.made_logs import cells, make_world
from docs.page_tables import filled


def test_the_page_shows_the_figures() -> None:
    page, figures = maker.PAGE.read_text("utf-8"), json.loads(maker.FIGURES.read_text("utf-8"))
    assert filled(page, maker.pages(figures)) == page, "the page is stale: run `python -m docs.make_logs_coverage --write`"


def test_every_policy_gets_one_count_of_each_kind() -> None:
    world = make_world(0, "pulls", "counts", 200)
    counts = maker.count(world, world.log("uniform", 0), runs=2)
    assert counts["all"] == len(maker.POLICIES)
    for what in (maker.REPLAY, "fit", "advise"):
        assert sum(counts[f"{what}: {side}"] for side in ("holds", "above", "below", "none")) == counts["all"]


def test_shares_are_of_the_stated_intervals() -> None:
    cell = {"all": 8, "fit: holds": 3, "fit: above": 1, "fit: none": 4}
    figures = {each.key(): cell for each in cells()}
    row = maker.pages(figures)["fit"].splitlines()[2].split("|")
    assert [each.strip() for each in row[3:8]] == [*["75% (of 50%)"] * 4, "3 / 0"]
