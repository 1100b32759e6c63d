"""Static pictures of a panel: where curves, bands and ticks are, and what the tooltips say."""

import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from rotting.common.display.figures import Curve, Figure, Panel
from rotting.common.display.svg import SYMBOLS, Axis, drawing, panel_text, sample, x_axis, y_axis
from tests.helpers.sections import EVIL, figure, sections


def picture(panel: Panel) -> ET.Element:
    """Return a panel as the elements of its picture."""
    return ET.fromstring(drawing(panel, Figure("f", "t", "c", (panel,)).styles))


def paths(panel: Panel, kind: str) -> list[list[tuple[float, float]]]:
    """Return the points of the lines or bands of a panel."""
    found = [each.attrib["d"] for each in picture(panel).iter("path") if each.attrib.get("class") == kind]
    return [[(float(x), float(y)) for x, y in re.findall(r"([-\d.]+) ([-\d.]+)", each)] for each in found]


def panel_of(*y: float, **settings: bool | float) -> Panel:
    values = np.array(y)
    return Panel("p", "x", "y", (Curve("a", np.arange(1, len(y) + 1), values, values / 2, values * 2),), **settings)  # type: ignore[arg-type]


def test_a_line_goes_through_its_points_inside_its_band() -> None:
    panel = panel_of(1.0, 3.0, 2.0)
    (line,), (band,) = paths(panel, "line"), paths(panel, "band")
    (x0, y0), (x1, y1), (x2, y2) = line
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.11)
    assert (y0 - y2) / (y0 - y1) == pytest.approx(0.5, abs=0.01)
    high, low = band[:3], band[:2:-1]
    assert all(top[1] < middle[1] < bottom[1] for top, middle, bottom in zip(high, line, low, strict=True))


def test_a_logarithmic_axis_has_equal_distances_for_equal_ratios() -> None:
    (line,) = paths(panel_of(1.0, 10.0, 100.0, y_log=True), "line")
    (_, y0), (_, y1), (_, y2) = line
    assert y0 - y1 == pytest.approx(y1 - y2, abs=0.11)


def test_a_line_is_interrupted_where_it_is_unknown() -> None:
    (line,) = [
        each.attrib["d"] for each in picture(panel_of(1.0, np.nan, 2.0, 3.0)).iter("path") if each.attrib.get("class") == "line"
    ]
    assert re.sub("[^ML]", "", line) == "MML"


def test_points_have_tooltips_with_their_intervals() -> None:
    first = figure().panels[0]
    titles = [each.text for each in picture(first).iter("title")]
    assert len(titles) == sum(len(curve.x) for curve in first.curves)
    assert titles[0] == "RAW-UCB 1.4\ndrop L: 0.02\nregret at the horizon: 1 [0.5, 1.5]"
    alone = Panel(first.title, first.x_label, first.y_label, first.curves[:1])
    assert next(each.text for each in picture(alone).iter("title")) == "drop L: 0.02\nregret at the horizon: 1 [0.5, 1.5]"


def test_a_long_line_has_few_tooltips_with_the_first_point_and_the_last() -> None:
    titles = [each.text for each in picture(panel_of(*range(1, 1_001))).iter("title")]
    assert len(titles) == 40
    assert (titles[0], titles[-1]) == ("x: 1\ny: 1 [0.5, 2]", "x: 1,000\ny: 1,000 [500, 2,000]")


def test_a_panel_in_words_says_where_each_curve_ends() -> None:
    words = panel_text(figure().panels[0])
    assert words.startswith(
        "Every L: regret at the horizon against drop L. At the right end: RAW-UCB 1.4 2 [1.5, 2.5]; FEWA 4 4 [3, 5];"
    )


def test_forty_curves_look_different() -> None:
    assert len({sample(k, marked=False) for k in range(40)}) == 40
    assert len({sample(k, marked=True).partition('class="marker"')[2][:60] for k in range(7)}) == len(SYMBOLS)


@pytest.mark.parametrize(
    ("axis", "texts"),
    [
        (Axis(0.0, 0.093, log=False), ["0.00", "0.02", "0.04", "0.06", "0.08"]),
        (Axis(-4.9, 30.4, log=False), ["0", "10", "20", "30"]),
        (Axis(0.0, 30_000.0, log=False), ["0", "5,000", "10,000", "15,000", "20,000", "25,000", "30,000"]),
        (Axis(-2.0, 4.0, log=True), ["0.01", "0.1", "1", "10", "100", "1,000", "10,000"]),
        (Axis(0.1, 1.1, log=True), ["2", "5", "10"]),
    ],
)
def test_ticks_are_round_numbers(axis: Axis, texts: list[str]) -> None:
    assert [axis.tick_text(tick) for tick in axis.ticks()] == texts


def test_the_axis_begins_at_zero_if_it_is_near_and_ends_at_its_maximum() -> None:
    assert y_axis(panel_of(1.0, 2.0)).low == 0.0
    assert y_axis(panel_of(-1.0, 2.0)).low < -2.0
    assert y_axis(panel_of(1.0, 2.0, y_max=2.5)).high == 2.5
    assert y_axis(panel_of(8.0, 9.0, y_max=2.5)).high > 18.0  # every curve is above: show them
    assert y_axis(panel_of(np.nan, np.nan, y_max=2.5)) == Axis(0.0, 1.0, log=False)


def test_a_logarithmic_axis_without_a_positive_value_is_linear() -> None:
    assert not y_axis(panel_of(-1.0, -2.0, y_log=True)).log
    assert not x_axis(Panel("", "", "", (), x_log=True)).log


def test_every_panel_is_well_formed_and_stays_in_its_box() -> None:
    panels = [panel for each in sections() for figure in each.findings.figures for panel in figure.panels]
    assert any(panel.title == EVIL for panel in panels)
    for panel in panels:
        drawn = picture(panel)
        places = [value for each in drawn.iter() for name, value in each.attrib.items() if name != "aria-label"]
        assert not any("nan" in value for value in places)
        assert drawn.attrib["viewBox"] == "0 0 400 280"
        for text in drawn.iter("text"):
            assert 0 <= float(text.attrib["x"]) <= 400
            assert 0 <= float(text.attrib["y"]) <= 280
