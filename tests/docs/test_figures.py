"""Figures on dark screens: what was dark is pale, and what had one colour still has one."""

from collections.abc import Iterator

import numpy as np
import pytest
from matplotlib import colors
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from docs.site.figures import INK, PALE, darken


@pytest.fixture
def axes() -> Iterator[Axes]:
    figure, found = plt.subplots()
    yield found
    plt.close(figure)


def dark(axes: Axes) -> None:
    figure = axes.get_figure(root=True)
    assert figure is not None
    darken(figure)


@pytest.mark.parametrize("colour", ["black", "C0"])
def test_a_marker_keeps_the_colour_of_its_line(axes: Axes, colour: str) -> None:
    (line,) = axes.plot([0, 1], [0, 1], "o-", color=colour)
    dark(axes)
    assert line.get_color() == line.get_markerfacecolor() == line.get_markeredgecolor()
    assert colors.to_rgba(line.get_color()) != colors.to_rgba(colour)


def test_black_becomes_pale_and_white_becomes_the_background(axes: Axes) -> None:
    (line,) = axes.plot([0, 1], [0, 1], color="black")
    dark(axes)
    assert colors.to_hex(line.get_color()) == PALE
    assert colors.to_hex(axes.get_facecolor()) == INK


def test_bars_without_edges_get_none(axes: Axes) -> None:
    _, _, bars = axes.hist([1, 2, 2], alpha=0.6)
    dark(axes)
    for bar in bars.patches:  # type: ignore[union-attr]
        assert colors.to_rgba(bar.get_edgecolor())[3] == 0
        assert colors.to_rgba(bar.get_facecolor())[3] == 0.6


def test_dots_keep_the_colour_of_their_edges(axes: Axes) -> None:
    dots = axes.scatter([0, 1], [0, 1])
    dark(axes)
    np.testing.assert_array_equal(dots.get_facecolor(), dots.get_edgecolor())
