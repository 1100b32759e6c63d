"""Curves with their intervals in a pair of axes, their ticks, and legends."""

import itertools
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rotting.common.arrays import Floats
from rotting.common.curve_styles import COLOURS, STYLES
from rotting.display.figures import Figure, Panel
from rotting.display.pictures import GLYPH, INCH, FontSizes, SizedText, draw_header, points, text_height, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.lines import Line2D
    from matplotlib.typing import LineStyleType

# Seven markers, since seven has no factor in common with the numbers of colours and line styles.
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LEGEND: dict[str, Any] = {"frameon": False, "fontsize": "small", "handlelength": 3.6}
_SMALLER = (1.0, 0.9, 0.8, 0.7, 0.6)  # font sizes of a legend that are tried, relative to the usual one
_SHARES = (0.55, 0.95)  # shares of the height of the axes that a legend may take; the larger one if no size fits the smaller
_MAX_TICK_LABELS = 8  # labels of values that fit below a logarithmic axis
_APART = 0.06  # smallest distance of two of them, relative to the axis


class CurveStyle(NamedTuple):
    """The style of a curve: colour, line style and marker."""

    colour: str
    style: "LineStyleType"
    marker: str


def curve_style(k: int) -> CurveStyle:
    """Return the style of the k-th label of a figure.

    Example:
        >>> curve_style(0)
        CurveStyle(colour='#0072B2', style='-', marker='o')
    """
    return CurveStyle(COLOURS[k % len(COLOURS)], STYLES[k % len(STYLES)], MARKERS[k % len(MARKERS)])


def style_numbers(figure: Figure) -> dict[str, int]:
    """Return the number of each label's style; labels in `figure.first` have the same style in every figure.

    Example:
        >>> style_numbers(Figure("f", "t", "c", (), first=("RAW-UCB", "FEWA")))
        {}
    """
    order = {label: k for k, label in enumerate(dict.fromkeys([*figure.first, *figure.labels]))}
    return {label: order[label] for label in figure.labels}


def draw_panel(ax: "Axes", panel: Panel, styles: Mapping[str, CurveStyle]) -> "list[Line2D]":
    """Draw the curves with their intervals, and the axes; return one line per curve."""
    lines = []
    for curve in panel.curves:
        colour, style, marker = styles[curve.label]
        if curve.low is not None and curve.high is not None:
            if curve.points:
                ends = np.maximum(0, [curve.y - curve.low, curve.high - curve.y])  # rounding may put an end on the wrong side
                ax.errorbar(curve.x, curve.y, yerr=ends, fmt="none", ecolor=colour, elinewidth=0.9, capsize=2)
            else:
                ax.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=0.12, linewidth=0)
        alone = "o" if len(curve.x) == 1 else None  # a line of one point is invisible
        lines += ax.plot(
            curve.x,
            curve.y,
            color=colour,
            linestyle=style,
            label=curve.label,
            marker=marker if curve.points else alone,
            markersize=4 if curve.points else None,  # None: as the style in force says
            linewidth=1.2 if curve.points else None,
        )
    ax.set_xlabel(panel.x_label)
    ax.set_ylabel(panel.y_label)
    marked = any(curve.points for curve in panel.curves)
    ax.margins(x=0.04 if marked else 0.01)  # the first and the last marker stay clear of the frame
    for axis, scale, log in ((ax.xaxis, ax.set_xscale, panel.x_log), (ax.yaxis, ax.set_yscale, panel.y_log)):
        if log:
            scale("log")
        write_ticks(axis, log)
    if marked and panel.x_log:
        _mark_few_values(ax.xaxis, np.unique(np.concatenate([curve.x for curve in panel.curves])))
    if panel.y_log:
        ax.set_ylim(top=panel.y_max)
    else:
        ax.set_ylim(*_y_limits(panel))
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    return lines


def _y_limits(panel: Panel) -> tuple[float, float]:
    """Return the ends of a linear y axis, which shows all values, or those up to `y_max`.

    It begins at zero if zero is near and no value is below it.
    """
    drawn = [values for curve in panel.curves for values in (curve.y, curve.low, curve.high) if values is not None]
    values = np.concatenate([np.zeros(0), *drawn])
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    top = panel.y_max if panel.y_max is not None else high + 0.05 * ((high - low) or 1.0)
    near = -1e-6 * top <= low <= top / 2  # rounding may put a regret of zero just below it
    return (0.0 if near else low - 0.05 * ((top - low) or 1.0)), top


def write_ticks(axis: "Axis", log: bool) -> None:
    """Write the ticks in full, with commas for thousands; a short logarithmic axis gets more ticks."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: PLC0415 - an extra

    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.10g}"))
    if log:
        low, high = sorted(axis.get_view_interval())
        few = high < 30 * low
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
        axis.set_minor_formatter(NullFormatter())


def _mark_few_values(axis: "Axis", values: Floats) -> None:
    """Put the ticks of a logarithmic axis at the values of the points, if there is room for their labels."""
    from matplotlib.ticker import NullLocator  # noqa: PLC0415 - an extra

    places = np.log(values)
    if 1 < len(values) <= _MAX_TICK_LABELS and np.diff(places).min() > _APART * np.ptp(places):
        axis.set_ticks(values)
        axis.set_minor_locator(NullLocator())


def style_panel(ax: "Axes", title: SizedText, note: SizedText, fonts: FontSizes) -> None:
    """Write the title of a panel and the note below it, and set font sizes and ticks that fit."""
    if ax.get_xscale() == "linear":
        ax.locator_params(axis="x", nbins=5)  # more labels would touch, such as 150,000
    draw_header(ax, title, note)
    ax.xaxis.label.set_fontsize(fonts.text)
    ax.yaxis.label.set_fontsize(fonts.text)
    ax.tick_params(labelsize=fonts.small)


def panel_head(panel: Panel, width: float, fonts: FontSizes) -> tuple[SizedText, SizedText]:
    """Return a panel's title and note, wrapped to the width of its axes."""
    axes = width - 0.6
    return (wrapped(panel.title, axes, fonts.text), fonts.text), (wrapped(panel.note, axes, fonts.small), fonts.small)


def legend_handles(figure: Figure, width: float, size: float) -> "list[Line2D]":
    """Return the entries of the legend of a figure, with labels wrapped to its width in inches."""
    from matplotlib.lines import Line2D  # noqa: PLC0415 - an extra

    marked = {curve.label for panel in figure.panels for curve in panel.curves if curve.points}
    handles = []
    for label, k in style_numbers(figure).items():
        colour, style, marker = curve_style(k)
        shape = marker if label in marked else ""
        words = wrapped(label, width - 0.6, size)
        handles.append(Line2D([], [], color=colour, linestyle=style, marker=shape, markersize=4, label=words))
    return handles


def legend_shape(labels: Sequence[str], width: float, size: float) -> tuple[int, float]:
    """Return the number of columns of a legend, and its height in points."""
    if not labels:
        return 1, 0.0
    longest = max(len(line) for label in labels for line in label.split("\n"))
    entry = (longest * GLYPH + 6.5) * size  # with its line and the gap to the next
    fitting = max(1, min(len(labels), int(width * INCH / entry)))
    rows = -(-len(labels) // fitting)
    columns = -(-len(labels) // rows)  # rows of equal length
    tallest = max(text_height(label, size) for label in labels)
    return columns, rows * (tallest + 0.4 * size) + 2 * size


def place_legend_inside(ax: "Axes", lines: "Sequence[Line2D]", place: Any) -> None:
    """Draw a legend inside the axes, with a font small enough to fit: long labels are wrapped, many are set in columns."""
    frame = ax.get_window_extent()
    usual = points(LEGEND["fontsize"])
    for share, times in itertools.product(_SHARES, _SMALLER):
        letters = int((frame.width * INCH / ax.figure.figure.dpi) / (GLYPH * usual * times)) - 8  # without its line
        words = [textwrap.fill(str(line.get_label()), max(12, letters)) for line in lines]
        for columns in (1, 2, 3):
            style = {**LEGEND, "fontsize": usual * times, "ncols": columns, "handlelength": 2.4, "columnspacing": 1.2}
            legend = ax.legend(lines, words, loc=place, **style)
            box = legend.get_window_extent()
            if box.width < 0.97 * frame.width and box.height < share * frame.height:
                return
