"""Pictures by Matplotlib: figures, regret, and values over two parameters.

Matplotlib is an extra and is imported only when something is drawn.
"""

import io
import itertools
import textwrap
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.display.figures import BANDS, COLOURS, Band, Curve, CurveStyle, Figure, Panel, regret_panel
from rotting.common.rules import suggest
from rotting.common.short_numbers import short_texts
from rotting.errors import InvalidValueError, MissingExtraError, PathExistsError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure as Picture
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

SUBDUED = "#505050"
Colours = Mapping[str, str] | Sequence[str] | None
"""Colours of curves, by their labels or in their order."""


class FontSizes(NamedTuple):
    """Font sizes, in points."""

    title: float
    text: float
    small: float


FONT_SIZES = FontSizes(11.0, 9.0, 8.0)

GLYPH, SPACING = 0.52, 1.35  # the width of an average letter relative to the font size, and the spacing of lines
INCH = 72.0  # points
_GAP = 0.08  # inches around a text or a legend that is not in the axes


def matplotlib_figure() -> "type[Picture]":
    """Return Matplotlib's class of figures. They need no display, and pyplot does not know them."""
    try:
        from matplotlib.figure import Figure as Picture  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("plotting needs Matplotlib: pip install 'rotting[plot]'") from error
    return Picture


def new_picture(shown: bool, width: float, height: float) -> "Picture":
    """Return a new Matplotlib figure of that size in inches: one that pyplot shows, or one that needs no display."""
    hidden_figure = matplotlib_figure()
    if shown:
        from matplotlib import pyplot as plt  # noqa: PLC0415 - an extra

        return plt.figure(figsize=(width, height), layout="constrained")
    return hidden_figure(figsize=(width, height), layout="constrained")


def check_suffix(name: str, path: Path) -> None:
    """Refuse a path that does not end in the suffix of a picture that Matplotlib can draw."""
    kinds = matplotlib_figure()().canvas.get_supported_filetypes()
    if path.suffix[1:].lower() not in kinds:
        raise InvalidValueError(name, f"end in one of .{', .'.join(sorted(kinds))}", path)


def check_new_file(path: str | Path) -> Path:
    """Return `path` if it is a new file whose suffix is that of a picture; raise if not."""
    path = Path(path)
    check_suffix("path", path)
    if path.exists() or path.is_symlink():
        raise PathExistsError("path", "be a new file", path, hint=", which exists")
    return path


def write_picture(picture: "Picture", path: Path, box: str = "tight") -> None:
    """Write a picture into a new file; missing folders are made."""
    content = picture_bytes(picture, path.suffix[1:], box)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as file:  # x: another process may have written it since the check
        file.write(content)


def picture_bytes(picture: "Picture", kind: str, box: str = "tight") -> bytes:
    """Return the content of a picture file; the same picture gives the same bytes.

    Args:
        picture: what to write.
        kind: a suffix that Matplotlib knows, such as png or pdf.
        box: "tight" around what is drawn, or "standard" for the whole of the picture.
    """
    from matplotlib import rc_context  # noqa: PLC0415 - an extra

    content = io.BytesIO()
    metadata = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(kind)
    # Type 42 fonts stay text, and journals refuse type 3. The ids in an SVG are random unless salted.
    with rc_context({"pdf.fonttype": 42, "svg.hashsalt": "rotting", "savefig.bbox": box}):
        picture.savefig(content, format=kind, dpi=200, metadata=metadata)
    return content.getvalue()


def styled_size() -> tuple[float, float] | None:
    """Return the width and the height of figures that a style has set; None if no style is in force."""
    from matplotlib import rcParams, rcParamsDefault  # noqa: PLC0415 - an extra

    width, height = rcParams["figure.figsize"]
    return None if [width, height] == list(rcParamsDefault["figure.figsize"]) else (float(width), float(height))


def current_font_sizes() -> FontSizes:
    """Return the font sizes of a figure: those of the style in force, or the default ones."""
    from matplotlib import rcParams  # noqa: PLC0415 - an extra

    text = float(rcParams["font.size"])
    return FONT_SIZES if styled_size() is None else FontSizes(text + 1, text, text - 1)


def points(size: str) -> float:
    """Return a font size such as "small" in points."""
    from matplotlib.font_manager import FontProperties  # noqa: PLC0415 - an extra

    return FontProperties(size=size).get_size_in_points()


def wrapped(text: str, width: float, size: float, bold: bool = False) -> str:
    """Return text, wrapped to a width in inches."""
    letter = GLYPH * size * (1.12 if bold else 1.0)
    letters = max(12, int(width * INCH / letter))
    return "\n".join(textwrap.fill(line, letters, break_on_hyphens=False) for line in text.split("\n"))


def heights(picture: "Picture", *drawn: "Text | Legend") -> float:
    """Return the height in inches of texts and legends above each other, with the gaps between them."""
    found = [each.get_window_extent().height / picture.dpi for each in drawn]
    return float(sum(height + _GAP for height in found if height > 0))


def draw_top(picture: "Picture", title: str, caption: str, fonts: FontSizes) -> float:
    """Write a title and a caption into the top of a figure; return their height in inches, which `grow` makes room for."""
    from matplotlib.transforms import offset_copy  # noqa: PLC0415 - an extra

    top = _GAP
    for text, size, bold in ((title, fonts.title, True), (caption, fonts.small, False)):
        below_edge = offset_copy(picture.transFigure, picture, 0.06, -top)
        words = wrapped(text, picture.get_figwidth(), size, bold)
        drawn = picture.text(0, 1, words, size=size, va="top", linespacing=SPACING, transform=below_edge)
        drawn.set(**{"weight": "bold"} if bold else {"color": SUBDUED})
        top += heights(picture, drawn)
    return top


def draw_legend_below(picture: "Picture", lines: "Sequence[Line2D]", size: float) -> "Legend":
    """Draw a legend at the bottom of a figure, with as few rows as its width allows; long labels are wrapped."""
    words = [wrapped(str(line.get_label()), picture.get_figwidth() - 1.0, size) for line in lines]
    style = {**LEGEND, "fontsize": size, "columnspacing": 1.5, "loc": "outside lower center"}
    for columns in sorted({-(-len(lines) // rows) for rows in range(1, len(lines) + 1)}, reverse=True):
        legend = picture.legend(lines, words, ncols=columns, **style)
        if columns == 1 or legend.get_window_extent().width <= picture.bbox.width:
            break
        legend.remove()
    return legend


def grow(picture: "Picture", top: float, more: float) -> None:
    """Make a figure higher by the height of its top and of what else is not in its axes; lay out the rest below the top."""
    height = picture.get_figheight() + top + more
    picture.set_figheight(height)
    picture.set_layout_engine("constrained", rect=(0, 0, 1, 1 - top / height), w_pad=0.08, hspace=0.02, wspace=0.02)


def draw_header(
    ax: "Axes", title: str, note: str, width: float, sizes: tuple[float, float], bold: bool = False
) -> "tuple[Text, Text]":
    """Write a title above axes, and a note below it in small print, both wrapped to a width in inches."""
    # Above the axes: inside it could cover a curve.
    small = ax.annotate(
        wrapped(note, width, sizes[1]),
        (0, 1),
        xytext=(0, 3),
        xycoords="axes fraction",
        textcoords="offset points",
        va="bottom",
        size=sizes[1],
        color=SUBDUED,
        linespacing=SPACING,
    )
    words = title if "$" in title else wrapped(title, width, sizes[0], bold)  # a formula cannot be broken
    pad = 2 + INCH * heights(ax.figure.figure, small)
    weight = "bold" if bold else "normal"
    return ax.set_title(words, loc="left", size=sizes[0], weight=weight, pad=pad, linespacing=SPACING), small


# --- Curves in axes --------------------------------------------------------------------------------------------------------

LEGEND: dict[str, Any] = {"frameon": False, "fontsize": "small", "handlelength": 3.6}
_SMALLER = (1.0, 0.9, 0.8, 0.7, 0.6)  # font sizes of a legend that are tried, relative to the usual one
_MAX_TICK_LABELS = 8  # labels of values that fit below a logarithmic axis
_APART = 0.06  # smallest distance of two of them, relative to the axis


def draw_panel(ax: "Axes", panel: Panel, styles: Mapping[str, CurveStyle]) -> "list[Line2D]":
    """Draw the curves with their intervals, and the axes; return one line per curve.

    A logarithmic y axis is linear around zero where a point, or the end of a line, is at zero or below; linear where all are.
    """
    shown = np.concatenate([np.zeros(0), *(curve.y if curve.points else curve.y[-1:] for curve in panel.curves)])
    above = shown[shown > 0]
    panel = replace(panel, y_log=panel.y_log and above.size > 0)
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
    if not panel.y_log:
        ax.set_ylim(*_y_limits(panel))
    elif np.any(shown <= 0):
        _show_zero(ax, panel, float(above.min()))
    else:
        ax.set_ylim(top=panel.y_max)
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


def style_panel(ax: "Axes", panel: Panel, width: float, fonts: FontSizes) -> "tuple[Text, Text]":
    """Write the title of a panel and the note below it, and set font sizes and ticks that fit; return both texts."""
    if ax.get_xscale() == "linear":
        ax.locator_params(axis="x", nbins=5)  # more labels would touch, such as 150,000
    ax.xaxis.label.set_fontsize(fonts.text)
    ax.yaxis.label.set_fontsize(fonts.text)
    ax.tick_params(labelsize=fonts.small)
    return draw_header(ax, panel.title, panel.note, width - 0.6, (fonts.text, fonts.small))


def legend_handles(figure: Figure) -> "list[Line2D]":
    """Return the entries of the legend of a figure."""
    from matplotlib.lines import Line2D  # noqa: PLC0415 - an extra

    handles = []
    for label in figure.styles:
        colour, style, marker = figure.style(label)
        shape = marker if label in figure.marked else ""
        handles.append(Line2D([], [], color=colour, linestyle=style, marker=shape, markersize=4, label=label))
    return handles


def place_legend_inside(ax: "Axes", lines: "Sequence[Line2D]", place: Any) -> None:
    """Draw a legend inside the axes, with a font small enough to fit: long labels are wrapped, many are set in columns."""
    frame = ax.get_window_extent()
    for times, columns in itertools.product(_SMALLER, (1, 2, 3)):
        size = times * points(LEGEND["fontsize"])
        words = [
            wrapped(str(line.get_label()), frame.width / ax.figure.figure.dpi - 8 * GLYPH * size / INCH, size) for line in lines
        ]
        style = {**LEGEND, "fontsize": size, "ncols": columns, "handlelength": 2.4, "columnspacing": 1.2}
        box = ax.legend(lines, words, loc=place, **style).get_window_extent()
        if box.width < 0.97 * frame.width and box.height < 0.95 * frame.height:
            return


# --- Figures and regret ----------------------------------------------------------------------------------------------------

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
    colors: Colours = None,
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
        colors: one for each policy, or a dict by labels.

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
    colours = check_colours(labels, colors)
    own = ax is None
    below = own and legend is True  # no curve is covered there
    if ax is None:
        ax = new_picture(path is None, *(styled_size() or (7.2, 4.6))).add_subplot()
    picture = ax.figure.figure
    width, height = (each / picture.dpi for each in ax.get_window_extent().size)
    lines = draw(ax, labels, checkpoints, regret, log, bounds, band, log_y, colours)
    header = draw_header(ax, title, caption, width, (points("medium"), points("small")), bold=True)
    ax.set_ylabel(wrapped(ax.get_ylabel(), height, float(ax.yaxis.label.get_fontsize())))
    if own:
        grow(picture, 0.0, heights(picture, *header, *([draw_legend_below(picture, lines, points("small"))] if below else [])))
    if legend is not False and not below:
        place_legend_inside(ax, lines, "best" if legend is True else legend)
    if path is not None:
        write_picture(picture, path, "standard" if own else "tight")
    return ax


def plot_figure(
    figure: Figure, path: str | Path | None = None, ax: "Axes | Sequence[Axes] | None" = None, captioned: bool = True
) -> "Picture":
    """Draw a figure as `draw_figure` does, into a new image file or into a figure that pyplot shows; or into given axes.

    Args:
        figure: what to draw.
        path: a new image file; its suffix sets the format. It is as wide as the style in force says.
        ax: axes to draw into, one for each panel. The legend is in the first ones.
        captioned: whether the first of the given axes have the caption above them.
    """
    if path is not None:
        path = check_new_file(path)
    if ax is None:
        picture = draw_figure(figure, shown=path is None)
    else:
        picture = _draw_into(ax, figure, captioned)
    if path is not None:
        write_picture(picture, path, "tight" if ax is not None or styled_size() is None else "standard")
    return picture


def _draw_into(axes: "Axes | Sequence[Axes]", figure: Figure, captioned: bool) -> "Picture":
    """Draw the panels of a figure into given axes, one for each panel, with a legend in the first ones; return their figure."""
    listed = list(np.ravel(np.asarray(axes, object)))
    if len(listed) != len(figure.panels):
        raise InvalidValueError("ax", f"be one pair of axes for each panel, {len(figure.panels)}", len(listed))
    for k, (ax, panel) in enumerate(zip(listed, figure.panels, strict=True)):
        draw_panel(ax, panel, {label: figure.style(label) for label in figure.styles})
        note = " ".join(filter(None, [panel.note, figure.caption if k == 0 and captioned else ""]))
        width = ax.get_window_extent().width / ax.figure.figure.dpi
        draw_header(ax, panel.title or figure.title, note, width, (points("medium"), points("small")))
        if k == 0:
            place_legend_inside(ax, legend_handles(figure), "best")
    return cast("Picture", listed[0].figure.figure)


def check_colours(labels: Sequence[str], colors: Colours) -> dict[str, str]:
    """Return the colours of labels, given by their labels or in their order."""
    from matplotlib.colors import is_color_like  # noqa: PLC0415 - an extra

    if colors is None:
        return {}
    if not isinstance(colors, Mapping) and (isinstance(colors, str) or len(colors) != len(labels)):
        raise InvalidValueError("colors", f"be one colour for each of the {len(labels)} curves, or a dict by labels", colors)
    found = dict(colors) if isinstance(colors, Mapping) else dict(zip(labels, colors, strict=True))
    for label, colour in found.items():
        if label not in labels:
            raise InvalidValueError("colors", "be for labels of curves", label, hint=suggest(str(label), labels))
        if not is_color_like(colour):
            raise InvalidValueError("colors", "be colours that Matplotlib knows", colour)
    return found


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
    colours: Mapping[str, str] = MappingProxyType({}),
) -> "list[Line2D]":
    """Draw the curves, the bands, the bounds and the axes' labels; return the curves, the highest end first."""
    panel = replace(regret_panel("", labels, checkpoints, regret, band), x_log=log, y_max=None)
    if log:
        panel = replace(panel, x_label=f"{panel.x_label} (logarithmic)")
    own = Figure("regret", "", "", (panel,), colours=colours)
    styles = {label: own.style(label) for label in labels}
    for named, proved in zip(labels, bounds, strict=False):
        for j, (label, values) in enumerate(proved):
            styles[label] = styles[named]._replace(style=THIN[j % len(THIN)])
            panel = replace(panel, curves=(*panel.curves, Curve(label, checkpoints, values)))
    # A game of one arm or one round may have neither regret nor bounds, so that there is nothing for a logarithmic axis.
    ends = [curve.y[-1] for curve in panel.curves if curve.y[-1] > 0]
    panel = replace(panel, y_log=bool(ends and (log_y or any(bounds))))
    if panel.y_log:
        panel = replace(panel, y_label=f"{panel.y_label[:-1]}, logarithmic)")
    lines = draw_panel(ax, panel, styles)
    if ax.get_yscale() == "log":
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
    known = panel.y_label.endswith(")")
    ax.set_ylabel(f"{panel.y_label[:-1]}, linear up to {near:g})" if known else f"{panel.y_label} (linear up to {near:g})")
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
        >>> from rotting.common.display.figures import Curve
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
    picture = new_picture(shown, width, rows * (0.56 if rows > 2 else 0.74) * min(panel_width, 5.2))
    top = draw_top(picture, figure.title, figure.caption, fonts)
    handles = legend_handles(figure)
    below = heights(picture, draw_legend_below(picture, handles, fonts.small)) if handles else 0.0
    heads = [0.0] * rows  # the heights of the panels' titles and notes
    styles = {label: figure.style(label) for label in figure.styles}
    for k, panel in enumerate(panels):
        ax = picture.add_subplot(rows, columns, k + 1)
        draw_panel(ax, panel, styles)
        heads[k // columns] = max(heads[k // columns], heights(picture, *style_panel(ax, panel, panel_width, fonts)))
        if k % columns and panels[k - 1].y_label == panel.y_label:
            ax.set_ylabel("")
        if k + columns < len(panels) and panels[k + columns].x_label == panel.x_label:
            ax.set_xlabel("")
    grow(picture, top, sum(heads) + below)
    return picture


# --- Heat maps -------------------------------------------------------------------------------------------------------------

_WRITTEN = 120  # cells of a heat map, at most, in which their values are written
Parameter = tuple[str, Sequence[Hashable]]
"""The name of a parameter and its values."""


def plot_heat(
    x: Parameter,
    y: Parameter,
    values: Floats,
    label: str,
    title: str,
    best_along: int | None = None,
    path: str | Path | None = None,
    note: str = "",
    ax: "Axes | None" = None,
) -> "Picture":
    """Draw values over two parameters as colours, dark for small ones.

    Args:
        x: the parameter whose values go from left to right.
        y: the parameter whose values go upwards.
        values: one number for each `[y, x]`, NaN where there is none.
        label: the label of the colour bar.
        title: above the picture.
        best_along: the axis of `values` along which the smallest value is framed; None for no frames.
        path: a new image file; its suffix sets the format.
        note: small print below the title.
        ax: the axes to draw into; None makes a figure.

    Example:
        >>> picture = plot_heat(("L", [0.1, 1.0]), ("alpha", [0.5, 1.4]), np.array([[1.0, 2.0], [1.5, 1.0]]), "regret", "one")
        >>> picture.axes[0].get_xlabel()
        'L'
        >>> import matplotlib.pyplot
        >>> matplotlib.pyplot.close("all")
    """
    if path is not None:
        path = check_new_file(path)
    matplotlib_figure()
    from matplotlib.patches import Rectangle  # noqa: PLC0415 - an extra, which has been found

    rows, columns = values.shape
    if ax is None:
        height = max(2.6, min(10.0, 1.3 + 0.42 * rows))
        picture = new_picture(path is None, max(4.6, min(12.0, 2.2 + 0.62 * columns)), height)
        grow(picture, draw_top(picture, title, note, FONT_SIZES), 0.0)
        ax = picture.add_subplot()
    else:
        picture = ax.figure.figure
        width, height = (each / picture.dpi for each in ax.get_window_extent().size)
        draw_header(ax, title, note, width, (points("medium"), points("small")))
    image = ax.imshow(values, origin="lower", aspect="auto", cmap="cividis")
    picture.colorbar(image, ax=ax, label=wrapped(label, 0.7 * height, points("medium")))
    for axis, (name, ticks), set_label in ((ax.xaxis, x, ax.set_xlabel), (ax.yaxis, y, ax.set_ylabel)):
        every = -(-len(ticks) // 16)  # more labels would touch
        texts = short_texts(ticks)
        axis.set_ticks(range(0, len(ticks), every), [texts[each] for each in ticks[::every]])
        set_label(name)
    middle = (np.nanmin(values) + np.nanmax(values)) / 2
    for row, column in np.ndindex(rows, columns) if values.size <= _WRITTEN else ():
        value = float(values[row, column])
        ink = "white" if value < middle else "black"
        ax.text(
            column, row, "" if np.isnan(value) else _digits(value), ha="center", va="center", color=ink, size=FONT_SIZES.small
        )
    if best_along is not None:
        for k, place in enumerate(np.nanargmin(values, axis=best_along)):
            corner = (k - 0.5, place - 0.5) if best_along == 0 else (place - 0.5, k - 0.5)
            ax.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=COLOURS[1], linewidth=2.2))
    if path is not None:
        write_picture(picture, path)
    return picture


def _digits(value: float) -> str:
    """Return a number with three significant digits, including zeros at the end."""
    return f"{value:#,.3g}".rstrip(".")
