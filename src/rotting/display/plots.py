"""Pictures of figures and of regret. Matplotlib is an extra and is imported only when something is drawn."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import suggest
from rotting.display.figures import BANDS, Band, Curve, Figure, Panel, regret_panel
from rotting.display.panels import (
    LEGEND,
    CurveStyle,
    curve_style,
    draw_panel,
    legend_handles,
    legend_shape,
    panel_head,
    place_legend_inside,
    style_numbers,
    style_panel,
    write_ticks,
)
from rotting.display.pictures import (
    FONT_SIZES,
    INCH,
    SUBDUED,
    SizedText,
    check_new_file,
    current_font_sizes,
    draw_header,
    draw_top,
    matplotlib_figure,
    new_picture,
    points,
    styled_size,
    text_height,
    wrapped,
    write_picture,
)
from rotting.errors import InvalidValueError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture
    from matplotlib.lines import Line2D

THIN = ((0, (1, 1)), (0, (4, 2)), (0, (4, 1, 1, 1)), (0, (1, 3)), (0, (8, 2)))  # styles of bounds
PANEL_WIDTHS = {1: 6.4, 2: 3.7, 3: 3.5}  # inches of a panel, by the number of columns
SMALLEST_PANEL = 3.2  # inches of a panel if there are more columns


def plot_regret(
    labels: Sequence[str],
    checkpoints: Ints,
    regret: Floats,
    title: str,
    caption: str = "",
    ax: "Axes | None" = None,
    path: str | Path | None = None,
    log: bool = False,
    bounds: Sequence[Sequence[tuple[str, Floats]]] = (),
    legend: bool | str = True,
    band: Band | None = "quantiles",
    log_y: bool = False,
) -> "Axes":
    """Draw each policy's mean regret over the rounds, and a band around it.

    Args:
        labels: one per policy.
        checkpoints: the C rounds.
        regret: one number per policy, run and checkpoint.
        title: above the plot, in bold, wrapped to its width.
        caption: small print below the title.
        ax: the axes to draw into; None makes a figure, which pyplot shows unless there is a `path`.
        path: a new image file; its suffix sets the format. It is as wide as the style in force says, and higher by the header
            and the legend.
        log: whether the axis of the rounds is logarithmic, on which logarithmic regret is a straight line.
        bounds: for each policy, labels and values of bounds at the checkpoints, drawn thin in the policy's colour. The regret
            axis is then logarithmic, since bounds are much larger.
        legend: True draws it below the axes of a new figure, else inside the given axes, where it covers least; False draws
            none; a location of Matplotlib, such as "upper left", draws it inside the axes.
        band: "quantiles" from 10 % to 90 % of the runs, "interval" of 95 % of the mean, or None.
        log_y: whether the regret axis is logarithmic; it is linear around zero if a policy ends with no regret or less.

    Example:
        >>> regret = np.cumsum(np.ones((1, 5, 3)), axis=2)
        >>> ax = plot_regret(["UCB1()"], np.array([1, 2, 3]), regret, "an example")
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('round t', 'regret (units of reward)')
        >>> import matplotlib.pyplot
        >>> matplotlib.pyplot.close(ax.get_figure())
    """
    if path is not None:
        path = check_new_file(path)
    matplotlib_figure()
    _check_look(legend, band)
    own = ax is None
    below = own and legend is True  # no curve is covered there
    if ax is None:
        entries = [*labels, *(label for each in bounds for label, _ in each)] if below else []
        width, height = styled_size() or (7.2, 4.6)
        columns, room = legend_shape(entries, width, FONT_SIZES.small)
        room += sum(text_height(text, size) for text, size in _header(title, caption, 0.8 * width))
        ax = new_picture(path is None, width, height + room / INCH).add_subplot()
    width, height = (each / ax.figure.figure.dpi for each in ax.get_window_extent().size)
    lines = draw(ax, labels, checkpoints, regret, log, bounds, band, log_y)
    if below:
        ax.figure.figure.legend(handles=lines, loc="outside lower center", ncols=columns, **LEGEND)
    draw_header(ax, *_header(title, caption, width), weight="bold")
    ax.set_ylabel(wrapped(ax.get_ylabel(), height, float(ax.yaxis.label.get_fontsize())))
    if legend is not False and not below:
        place_legend_inside(ax, lines, "best" if legend is True else legend)
    if path is not None:
        write_picture(ax.figure.figure, path, "standard" if own else "tight")
    return ax


def _header(title: str, caption: str, width: float) -> tuple[SizedText, SizedText]:
    """Return the title and the caption of axes of that width in inches."""
    medium, small = points("medium"), points("small")
    if "$" not in title:  # a formula cannot be broken
        title = wrapped(title, width, medium, bold=True)
    return (title, medium), (wrapped(caption, width, small), small)


def plot_figure(figure: Figure, path: str | Path | None = None) -> "Picture":
    """Draw a figure as `draw_figure` does, into a new image file or into a figure that pyplot shows.

    Args:
        figure: what to draw.
        path: a new image file; its suffix sets the format. It is as wide as the style in force says.
    """
    if path is None:
        return draw_figure(figure, shown=True)
    path = check_new_file(path)
    picture = draw_figure(figure)
    write_picture(picture, path, "tight" if styled_size() is None else "standard")
    return picture


def _check_look(legend: object, band: object) -> None:
    """Refuse an unknown location of the legend, or an unknown band."""
    from matplotlib.legend import Legend  # noqa: PLC0415 - an extra

    if not isinstance(legend, bool) and legend not in Legend.codes:
        hint = suggest(legend, Legend.codes) if isinstance(legend, str) else ""
        raise InvalidValueError("legend", "be True, False or a location such as 'upper left'", legend, hint=hint)
    if band not in BANDS:
        raise InvalidValueError("band", "be 'quantiles', 'interval' or None", band)


def draw(
    ax: "Axes",
    labels: Sequence[str],
    checkpoints: Ints,
    regret: Floats,
    log: bool,
    bounds: Sequence[Sequence[tuple[str, Floats]]] = (),
    band: Band | None = "quantiles",
    log_y: bool = False,
) -> "list[Line2D]":
    """Draw the curves, the bands, the bounds and the axes' labels; return the curves, the highest end first."""
    panel = replace(regret_panel("", labels, checkpoints, regret, band), x_log=log, y_max=None)
    if log:
        panel = replace(panel, x_label=f"{panel.x_label} (logarithmic)")
    styles = {label: curve_style(k) for k, label in enumerate(labels)}
    for k, proved in enumerate(bounds):
        for j, (label, values) in enumerate(proved):
            styles[label] = CurveStyle(curve_style(k).colour, THIN[j % len(THIN)], curve_style(k).marker)
            panel = replace(panel, curves=(*panel.curves, Curve(label, checkpoints, values)))
    # A game of one arm or one round may have neither regret nor bounds, so that there is nothing for a logarithmic axis.
    ends = [curve.y[-1] for curve in panel.curves if curve.y[-1] > 0]
    panel = replace(panel, y_log=bool(ends and (log_y or any(bounds))))
    if panel.y_log:
        panel = replace(panel, y_label=f"{panel.y_label[:-1]}, logarithmic)")
    lines = draw_panel(ax, panel, styles)
    if panel.y_log and log_y and len(ends) < len(panel.curves):
        _show_zero(ax, panel, min(ends))
    elif panel.y_log:
        # Regret starts at zero, which a logarithmic axis cannot show.
        ax.set_ylim(bottom=min(ends) / 100)
    for line in lines[len(labels) :]:
        line.set_linewidth(0.9)
    order = np.argsort([-curve.y[-1] for curve in panel.curves], kind="stable")  # the order of the curves' ends, from the top
    return [lines[k] for k in order]


def _show_zero(ax: "Axes", panel: Panel, least: float) -> None:
    """Make a logarithmic y axis linear around zero, where a curve ends at zero or below."""
    from matplotlib.ticker import SymmetricalLogLocator  # noqa: PLC0415 - an extra

    near = 10.0 ** np.floor(np.log10(least / 10))
    ax.set_yscale("symlog", linthresh=near, linscale=0.5)
    ax.yaxis.set_major_locator(SymmetricalLogLocator(linthresh=near, base=10))
    write_ticks(ax.yaxis, log=False)
    ax.set_ylabel(f"{panel.y_label[:-1]}, linear up to {near:g})")
    low, high = (float(getattr(np, name)([getattr(curve.y, name)() for curve in panel.curves])) for name in ("min", "max"))
    ax.set_ylim(min(-near, 2 * low), 2 * high)
    ax.axhline(0.0, color=SUBDUED, linewidth=0.6)


def draw_figure(figure: Figure, shown: bool = False) -> "Picture":
    """Draw a figure for print: panels in rows of `figure.columns`, with one legend below.

    Curves of one label look the same in every panel. Axis labels that repeat those of the panel to the left or below are
    left out.

    Args:
        figure: what to draw.
        shown: whether pyplot shows it; by default pyplot does not know the figure.

    Returns:
        The Matplotlib figure; `picture_bytes` turns it into the content of a file.

    Example:
        >>> from rotting.display.figures import Curve
        >>> curve = Curve("UCB1", np.array([1, 2]), np.array([0.5, 1.0]))
        >>> panel = Panel("one run", "round t", "regret", (curve,))
        >>> picture = draw_figure(Figure("example", "An example", "A run.", (panel,)))
        >>> picture.axes[0].get_title(loc="left")
        'one run'
    """
    matplotlib_figure()
    panels, columns = figure.panels, max(1, min(figure.columns, len(figure.panels)))
    rows = -(-len(panels) // columns)
    styled, fonts = styled_size(), current_font_sizes()
    panel_width = styled[0] / columns if styled is not None else PANEL_WIDTHS.get(columns, SMALLEST_PANEL)
    width = columns * panel_width
    title, caption = wrapped(figure.title, width, fonts.title, bold=True), wrapped(figure.caption, width, fonts.small)
    handles = legend_handles(figure, width, fonts.small)
    legend_columns, legend_height = legend_shape([str(handle.get_label()) for handle in handles], width, fonts.small)
    heads = [
        [panel_head(panel, panel_width, fonts) for panel in panels[row * columns : (row + 1) * columns]] for row in range(rows)
    ]
    heads_height = sum(max(sum(text_height(*each) for each in head) for head in line) for line in heads)
    top = text_height(title, fonts.title) + text_height(caption, fonts.small) + 12
    height = rows * (0.56 if rows > 2 else 0.74) * min(panel_width, 5.2) + (top + heads_height + legend_height) / INCH
    picture = new_picture(shown, width, height)
    draw_top(picture, title, caption, fonts, top)
    styles = {label: curve_style(k) for label, k in style_numbers(figure).items()}
    for k, panel in enumerate(panels):
        ax = picture.add_subplot(rows, columns, k + 1)
        draw_panel(ax, panel, styles)
        style_panel(ax, *heads[k // columns][k % columns], fonts)
        if k % columns and panels[k - 1].y_label == panel.y_label:
            ax.set_ylabel("")
        if k + columns < len(panels) and panels[k + columns].x_label == panel.x_label:
            ax.set_xlabel("")
    if handles:
        style = {**LEGEND, "fontsize": fonts.small, "columnspacing": 1.5}
        picture.legend(handles=handles, loc="outside lower center", ncols=legend_columns, **style)
    return picture
