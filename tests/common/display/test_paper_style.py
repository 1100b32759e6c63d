"""The look of figures of one's own."""

import io
from pathlib import Path
from typing import Any

import pytest

import rotting
from rotting import errors
from rotting.common.display.paper_style import WIDTHS, style

matplotlib = pytest.importorskip("matplotlib")
pytest.importorskip("matplotlib.figure")


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
        figure = result.plot(legend=False, title="").figure.figure
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


@pytest.mark.parametrize("width", WIDTHS)
def test_the_file_of_a_plot_is_as_wide_as_the_style_says(width: str, tmp_path: Path) -> None:
    from PIL import Image

    result = rotting.simulate(rotting.UCB1(), rotting.problems.two_arms(horizon=20), runs=3)
    with style(width):
        result.plot(path=tmp_path / "one.png")
    with Image.open(tmp_path / "one.png") as image:
        assert image.width == round(WIDTHS[width] * 200)
        assert image.height > 1.15 * image.width * 0.68  # the header does not take its room from the axes


def test_words_around_small_axes_stay_beside_them() -> None:
    """Neighbours in a figure of one's own are not written over."""
    result = rotting.simulate(rotting.UCB1(), rotting.problems.two_arms(horizon=20), runs=3)
    figure = matplotlib.figure.Figure((10, 6), layout="constrained")
    for k in range(6):
        ax = result.plot(ax=figure.add_subplot(2, 3, k + 1), log_y=True)
        assert ax.get_title(loc="left").replace("\n", " ") == "two-arms(L=0.3), horizon 20"
        assert ax.texts[0].get_text().replace("\n", " ") == (
            "Mean of 3 runs, band from 10 % to 90 % of them. Regret against the optimal policy."
        )
    figure.draw_without_rendering()
    for ax in figure.axes:
        frame, title, label = (each.get_window_extent() for each in (ax, ax._left_title, ax.yaxis.label))
        assert title.x1 <= frame.x1
        assert ax.texts[0].get_window_extent().x1 <= frame.x1
        assert label.height <= frame.height


def test_a_formula_in_a_title_is_not_broken() -> None:
    result = rotting.simulate(rotting.UCB1(), rotting.problems.two_arms(horizon=20), runs=3)
    title = r"$\mathbb{E}[R_T]$ over a game of two arms of which one falls by $L = 1$ after a quarter of its rounds"
    ax = matplotlib.figure.Figure((3, 2)).add_subplot()
    assert result.plot(ax=ax, title=title).get_title(loc="left") == title
