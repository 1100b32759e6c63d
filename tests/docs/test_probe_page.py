"""The tables of docs/probe.md are those of the figures that were kept."""

import json

from docs import make_probe as maker
from docs.made_logs import make_world
from docs.page_tables import filled


def test_the_page_shows_the_figures() -> None:
    page, figures = maker.PAGE.read_text("utf-8"), json.loads(maker.FIGURES.read_text("utf-8"))
    assert filled(page, maker.pages(figures)) == page, "docs/probe.md is stale: run `python -m docs.make_probe --write`"


def test_a_probed_log_knows_its_pauses() -> None:
    world = make_world(1, "time", "Gaussian", 400, 4, 1)
    for policy in maker.POLICIES:
        log = world.probed_log(policy, 0.3, 0)
        assert log.paused is not None
        assert any(log.paused)
        assert not any(arm in paused for arm, paused in zip(log.arm, log.paused, strict=True))
