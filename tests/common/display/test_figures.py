"""Figures as data."""

import numpy as np

from rotting.common.display.figures import mean_points, regret_panel


def test_a_panel_ends_above_those_who_learn_and_names_the_others() -> None:
    regret = np.array([10.0, 12.0, 11.0, 500.0])[:, None, None] * np.linspace(0, 1, 5)[None, None, :] * np.ones((1, 3, 1))
    panel = regret_panel("title", ["a", "b", "c", "far"], np.arange(1, 6), regret)
    assert panel.y_max is not None
    assert 12 < panel.y_max < 20
    assert panel.note == "Ending higher: far at 500"
    assert regret_panel("title", ["a", "b"], np.arange(1, 6), regret[:2]).y_max is None
    assert regret_panel("title", ["a", "b", "c", "far"], np.arange(1, 6), -regret).y_max is None


def test_a_single_run_is_drawn_without_an_interval() -> None:
    one = np.array([[[1.0, 2.0]]])
    assert regret_panel("title", ["a"], np.array([1, 2]), one, "interval").curves[0].low is None
    points = mean_points("a", [1.0, 2.0], [np.array([3.0]), np.array([4.0])])
    assert (points.y.tolist(), points.low, points.high) == ([3.0, 4.0], None, None)
