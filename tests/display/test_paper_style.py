"""The look of figures of one's own."""

import io
from typing import Any

import pytest

import rotting
from rotting import errors
from rotting.display.paper_style import WIDTHS, style

matplotlib = pytest.importorskip("matplotlib")


@pytest.mark.parametrize(("width", "inches"), [*WIDTHS.items(), (4, 4.0)])
def test_a_file_is_as_wide_as_the_column(width: str | float, inches: float) -> None:
    from matplotlib.figure import Figure
    from PIL import Image

    with style(width):
        figure = Figure()
        figure.add_subplot().plot([1, 2], [3, 4])
        content = io.BytesIO()
        figure.savefig(content, format="png")
        dots = matplotlib.rcParams["savefig.dpi"]
    with Image.open(content) as image:
        assert image.width == round(inches * dots)
        assert image.height == pytest.approx(0.68 * inches * dots, abs=1)


def test_settings_hold_inside_only() -> None:
    before = dict(matplotlib.rcParams)
    with style("page") as settings:
        assert matplotlib.rcParams["figure.figsize"] == settings["figure.figsize"] == [6.75, 4.59]
        with style(height=1):
            assert matplotlib.rcParams["figure.figsize"] == [3.25, 1.0]
        assert matplotlib.rcParams["figure.figsize"] == [6.75, 4.59]
    assert dict(matplotlib.rcParams) == before


def test_forty_curves_differ() -> None:
    looks = [(each["color"], str(each["linestyle"])) for each in style()["axes.prop_cycle"]]
    assert len(set(looks)) == len(looks) == 40


def test_a_plot_of_its_own_takes_the_size_of_the_style() -> None:
    result = rotting.simulate(rotting.UCB1(), rotting.problems.two_arms(horizon=20), runs=3)
    with matplotlib.rc_context({"backend": "Agg"}), style("column"):
        figure = result.plot(legend=False).figure.figure
    assert figure.get_size_inches().tolist() == [3.25, 2.21]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("colum",), "width must be 'column', 'text', 'page' or a number of inches, got 'colum'"),
        ((0,), "width must be a positive finite number, got 0"),
        (("column", -1), "height must be a positive finite number, got -1"),
    ],
)
def test_a_size_that_there_is_not_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises(errors.InvalidValueError) as caught:
        style(*arguments)
    assert str(caught.value) == message
