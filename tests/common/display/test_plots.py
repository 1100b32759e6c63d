import dataclasses
import io
from typing import Any

import numpy as np
import pytest

from rotting.common.arrays import Floats
from rotting.common.display.figures import COLOURS, STYLES, Curve, Figure, Panel, curve_style
from rotting.common.display.plots import draw_figure, picture_bytes, plot_regret
from tests.helpers.sections import LABELS, figure, line, points

pytest.importorskip("matplotlib")

LONG = "EffRAWUCB(alpha=1.4, sigma=1.0, m=1.1), restarted whenever a test of all windows finds a change in one of the arms"


def grid(panels: int, columns: int, labels: int = 3, words: str = "policy") -> Figure:
    curves = tuple(line(f"{words} {k}", 1.0 + k) for k in range(labels))
    each = (Panel(f"Panel {k}", "round t", f"regret {k % columns}", curves) for k in range(panels))
    return Figure("grid", "A grid of panels", "What the bands are. " * 5, tuple(each), columns=columns)


def ends_of(curve: Curve) -> tuple[Floats, Floats]:
    assert curve.low is not None
    assert curve.high is not None
    return curve.low, curve.high


def colour_and_style(artist: Any) -> tuple[str, str, str]:
    return artist.get_color(), artist.get_linestyle(), str(artist._unscaled_dash_pattern)


def test_a_label_looks_the_same_in_every_panel_and_in_the_legend() -> None:
    picture = draw_figure(figure())
    (legend,) = picture.legends
    entries = dict(zip([text.get_text() for text in legend.get_texts()], legend.get_lines(), strict=True))
    assert list(entries) == list(LABELS)
    seen = 0
    for ax in picture.axes:
        for drawn in ax.get_lines():
            label = str(drawn.get_label())
            if label in entries:
                assert colour_and_style(drawn) == colour_and_style(entries[label])
                seen += 1
    assert seen == 3 + 5 + 5
    assert len({(entry.get_color(), str(entry.get_linestyle()), entry.get_marker()) for entry in entries.values()}) == 5


def test_points_are_marked_with_bars_and_lines_have_bands() -> None:
    left, middle, _ = draw_figure(figure()).axes
    assert [drawn.get_marker() for drawn in left.get_lines() if drawn.get_label() in LABELS] == ["o", "s", "^"]
    assert len(left.containers) == 3
    (bars,) = left.containers[0].lines[2]  # type: ignore[attr-defined]
    ends = np.array([[low[1], high[1]] for low, high in bars.get_segments()])
    low, high = ends_of(points(LABELS[0], 1.0))
    np.testing.assert_allclose(ends, np.column_stack([low, high]))
    assert len(middle.collections) == 5
    band = middle.collections[0].get_paths()[0].get_extents()
    low, high = ends_of(line(LABELS[0], 1.0))
    assert (band.y0, band.y1) == pytest.approx((low.min(), high.max()))


def test_axes_notes_and_the_cut() -> None:
    left, middle, right = draw_figure(figure()).axes
    assert (left.get_xscale(), left.get_yscale()) == ("log", "log")
    assert (middle.get_xscale(), middle.get_yscale()) == ("linear", "linear")
    assert middle.get_ylim() == (0, 100)
    assert right.get_ylim()[1] > 158
    assert [text.get_text() for text in middle.texts] == ["Outside, at the end: UCB1 at 158."]
    assert middle.get_title(loc="left") == "L = 0.2"


def test_an_axis_far_from_zero_does_not_start_there() -> None:
    x = np.arange(10.0)
    (ax,) = draw_figure(Figure("f", "t", "c", (Panel("p", "x", "y", (Curve("a", x, 100 + x),)),))).axes
    assert ax.get_ylim()[0] > 90


def test_repeated_labels_of_axes_are_left_out() -> None:
    axes = draw_figure(grid(panels=4, columns=2)).axes
    assert [ax.get_ylabel() for ax in axes] == ["regret 0", "regret 1", "regret 0", "regret 1"]
    assert [ax.get_xlabel() for ax in axes] == ["", "", "round t", "round t"]
    axes = draw_figure(figure()).axes
    assert [ax.get_ylabel() for ax in axes] == ["regret at the horizon", "regret", ""]


@pytest.mark.parametrize(
    ("panels", "columns", "labels", "words"),
    [(1, 3, 1, "UCB1"), (2, 2, 8, "policy"), (3, 3, 12, LONG), (5, 3, 3, "policy"), (16, 2, 23, "article")],
)
def test_nothing_covers_anything(panels: int, columns: int, labels: int, words: str) -> None:
    picture = draw_figure(grid(panels, columns, labels, words))
    picture.draw_without_rendering()
    boxes = [box for ax in picture.axes if (box := ax.get_tightbbox()) is not None]
    boxes += [legend.get_window_extent() for legend in picture.legends]
    boxes += [text.get_window_extent() for text in picture.texts]
    assert len(boxes) == panels + 3
    for k, box in enumerate(boxes):
        assert picture.bbox.contains(box.x0, box.y0)
        assert picture.bbox.contains(box.x1, box.y1)
        assert not any(box.overlaps(other) for other in boxes[:k])
    for ax in picture.axes:
        shape = ax.get_window_extent()
        assert shape.width > 1.2 * picture.dpi
        assert shape.height > 1.0 * picture.dpi


def test_a_legend_of_long_names_stays_in_the_picture() -> None:
    ax = plot_regret(
        [f"{LONG} {k}" for k in range(8)], np.arange(1, 4), np.ones((8, 2, 3)), "A title " * 20, "A caption. " * 30
    )
    picture = ax.figure.figure
    picture.draw_without_rendering()
    (legend,) = picture.legends
    box, title, caption = (each.get_window_extent() for each in (legend, ax._left_title, ax.texts[0]))  # type: ignore[attr-defined]
    assert picture.bbox.x0 <= box.x0 < box.x1 <= picture.bbox.x1
    assert picture.bbox.y0 <= box.y0 < box.y1 < ax.get_window_extent().y0
    assert caption.y1 < title.y0 < title.y1 <= picture.bbox.y1


def test_curves_without_points_or_intervals_or_panels_are_drawn() -> None:
    x = np.array([1.0])
    curves = (Curve("none", x[:0], x[:0]), Curve("one", x, x), Curve("unknown", x, np.array([np.nan])))
    (ax,) = draw_figure(Figure("f", "t", "c", (Panel("p", "x", "y", curves, y_log=True),))).axes
    assert ax.get_lines()[1].get_marker() == "o"
    assert draw_figure(Figure("f", "t", "c", (Panel("p", "x", "y", ()),))).legends == []
    assert draw_figure(Figure("f", "t", "c", ())).axes == []


@pytest.mark.parametrize("kind", ["png", "pdf", "svg"])
def test_the_same_figure_gives_the_same_bytes(kind: str) -> None:
    one, two = (picture_bytes(draw_figure(figure()), kind) for _ in range(2))
    assert one == two


def test_letters_stay_letters_in_a_pdf() -> None:
    assert b"/Type3" not in picture_bytes(draw_figure(figure()), "pdf")


def test_a_picture_is_sharp() -> None:
    from PIL import Image

    with Image.open(io.BytesIO(picture_bytes(draw_figure(figure()), "png"))) as image:
        assert image.width > 1_800


def test_looks_repeat_late() -> None:
    assert len({curve_style(k)[:2] for k in range(40)}) == 40
    assert len({str(curve_style(k)) for k in range(280)}) == 280
    assert all(COLOURS[k] != COLOURS[(k + 1) % len(COLOURS)] for k in range(len(COLOURS)))  # also of neighbours
    assert (curve_style(8).colour, curve_style(5).style) == (COLOURS[0], STYLES[0])


def test_labels_that_come_first_look_the_same_in_several_figures() -> None:
    first = ("RAW-UCB 1.4", "EFF-RAW-UCB", "UCB1")
    numbers = dataclasses.replace(figure(), first=first).styles
    assert numbers == {"RAW-UCB 1.4": 0, "UCB1": 2, "FEWA 4": 3, "GLR-UCB": 4, "Exp3.S": 5}
