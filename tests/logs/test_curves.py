"""Pictures of arms: the means are those of the bins."""

import numpy as np

from rotting.logs.curves import BINS, arm_figure, binned
from rotting.logs.log import Log


def test_bins_hold_equally_many_rows_and_their_means() -> None:
    clock, rewards = np.arange(240.0)[::-1], np.arange(240.0)
    curve = binned(clock, rewards, "a")
    assert curve.x.tolist() == [9.5 + 20 * k for k in range(BINS)]
    assert curve.y.tolist() == [229.5 - 20 * k for k in range(BINS)]
    assert curve.low is not None
    assert (curve.low < curve.y).all()


def test_a_figure_has_two_panels_for_each_arm_with_a_reward() -> None:
    log = Log([("a", 1.0), ("b", None), ("c", 0.5)])
    assert [panel.title for panel in arm_figure(log).panels] == [
        *("a: over its pulls", "a: over time"),
        *("c: over its pulls", "c: over time"),
    ]


def test_dates_are_drawn_in_days() -> None:
    log = Log({"arm": ["a"] * 2, "reward": [1.0, 0.0], "t": ["2026-05-01", "2026-05-03"]}, time="t")
    panel = arm_figure(log).panels[1]
    assert (panel.x_label, panel.curves[0].x.tolist()) == ("days since the first row", [1.0])
