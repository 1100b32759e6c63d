"""Pictures of figures and of regret. Matplotlib is an extra and is imported only when something is drawn."""

import io
import itertools
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rotting.common.arrays import Floats, Ints
from rotting.common.looks import COLOURS, STYLES
from rotting.common.rules import suggest
from rotting.common.short_numbers import short_texts
from rotting.display.figures import BANDS, Curve, Figure, Panel, regret_panel
from rotting.errors import InvalidValueError, MissingExtraError, PathExistsError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure as Picture
    from matplotlib.lines import Line2D

# Seven markers: a third way to tell curves apart, with a period of its own.
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

THIN: tuple[Any, ...] = ((0, (1, 1)), (0, (4, 2)), (0, (4, 1, 1, 1)), (0, (1, 3)), (0, (8, 2)))  # styles of bounds
LEGEND: dict[str, Any] = {"frameon": False, "fontsize": "small", "handlelength": 3.6}
SUBDUED = "#505050"

PANEL_WIDTHS = {1: 6.4, 2: 3.7, 3: 3.5}  # inches of a panel, by the number of columns
MANY = 3.2  # inches of a panel if there are more columns


class Letters(NamedTuple):
    """Sizes of letters, in points."""

    title: float
    text: float
    small: float


LETTERS = Letters(11.0, 9.0, 8.0)
TITLE, TEXT, SMALL = LETTERS
GLYPH, LINE = 0.52, 1.35  # the width of an average letter and the height of a line, relative to the font size
INCH = 72.0  # points


class CurveStyle(NamedTuple):
    """What tells a curve from the others: colour, line style and marker."""

    colour: str
    style: Any
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


def check_suffix(name: str, path: Path) -> None:
    """Refuse a path that does not end in the suffix of a picture that Matplotlib can draw."""
    kinds = _new_picture()().canvas.get_supported_filetypes()
    if path.suffix[1:].lower() not in kinds:
        raise InvalidValueError(name, f"end in one of .{', .'.join(sorted(kinds))}", path)


def _check_new_file(path: str | Path) -> Path:
    """Return `path` if it is a new file whose suffix is that of a picture; raise if not."""
    path = Path(path)
    check_suffix("path", path)
    if path.exists() or path.is_symlink():
        raise PathExistsError("path", "be a new file", path, hint=", which exists")
    return path


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
    band: str | None = "quantiles",
    log_y: bool = False,
) -> "Axes":
    """Draw each policy's mean regret over the rounds, and a band around it.

    Args:
        labels: one per policy.
        checkpoints: the C rounds.
        regret: one number per policy, run and checkpoint.
        title: above the plot, in bold, in as many lines as it takes to stay above it.
        caption: small print below the title.
        ax: where to draw; None makes a figure, which pyplot shows unless there is a `path`.
        path: a new image file; its suffix sets the format. It is as wide as the style in force says, and higher by the header
            and the legend.
        log: rounds on a logarithmic axis, where logarithmic regret is a straight line.
        bounds: for each policy, labels and values of bounds at the checkpoints, drawn thin in the policy's colour; regret is
            then on a logarithmic axis, as bounds are much larger.
        legend: whether there is one; below the axes of a figure made here, else inside the axes, where it covers least. A place
            of Matplotlib's, such as "upper left", is inside, too.
        band: "quantiles" from 10 % to 90 % of the runs, "interval" of 95 % of the mean, or None.
        log_y: regret on a logarithmic axis. Where a policy ends with no regret, or with less, the axis is linear around zero.

    Example:
        >>> regret = np.cumsum(np.ones((1, 5, 3)), axis=2)
        >>> ax = plot_regret(["UCB1()"], np.array([1, 2, 3]), regret, "an example")
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('round t', 'regret (units of reward)')
        >>> import matplotlib.pyplot
        >>> matplotlib.pyplot.close(ax.get_figure())
    """
    if path is not None:
        path = _check_new_file(path)
    new_picture = _new_picture()
    _check_look(legend, band)
    own = ax is None
    below = own and legend is True  # no curve is covered there
    if ax is None:
        entries = [*labels, *(label for each in bounds for label, _ in each)] if below else []
        width, height = _own_size()
        columns, room = _legend_shape(entries, width, SMALL)
        room += sum(_height(text, size) for text, size in _header(title, caption, 0.8 * width))
        size = (width, height + room / INCH)
        if path is not None:
            figure = new_picture(size, layout="constrained")  # needs no display, and pyplot holds no reference to it
        else:
            from matplotlib import pyplot as plt  # noqa: PLC0415 - an extra

            figure = plt.figure(figsize=size, layout="constrained")
        ax = figure.add_subplot()
    width, height = (each / ax.figure.figure.dpi for each in ax.get_window_extent().size)
    lines = draw(ax, labels, checkpoints, regret, log, bounds, band, log_y)
    if below:
        ax.figure.figure.legend(handles=lines, loc="outside lower center", ncols=columns, **LEGEND)
    _draw_header(ax, *_header(title, caption, width), weight="bold")
    ax.set_ylabel(_wrapped(ax.get_ylabel(), height, float(ax.yaxis.label.get_fontsize())))
    if legend is not False and not below:
        _place_legend_inside(ax, lines, "best" if legend is True else legend)
    if path is not None:
        _write(ax.figure.figure, path, "standard" if own else "tight")
    return ax


Line = tuple[str, float]
"""Text, wrapped, and the size of its letters in points."""


def _header(title: str, caption: str, width: float) -> tuple[Line, Line]:
    """Return the title and the caption of axes of that width in inches."""
    medium, small = _points("medium"), _points("small")
    if "$" not in title:  # a formula cannot be broken
        title = _wrapped(title, width, medium, bold=True)
    return (title, medium), (_wrapped(caption, width, small), small)


def _points(size: str) -> float:
    """Return a size of letters such as "small" in points."""
    from matplotlib.font_manager import FontProperties  # noqa: PLC0415 - an extra

    return FontProperties(size=size).get_size_in_points()


def _write(picture: "Picture", path: Path, box: str = "tight") -> None:
    content = picture_bytes(picture, path.suffix[1:], box)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as file:  # x: another process may have written it since the check
        file.write(content)


def plot_figure(figure: Figure, path: str | Path | None = None) -> "Picture":
    """Draw a figure as `draw_figure` does; into a new image file, as wide as the style in force says, or where pyplot shows it.

    Args:
        figure: what to draw.
        path: a new image file; its suffix sets the format.
    """
    if path is None:
        _new_picture()
        from matplotlib import pyplot as plt  # noqa: PLC0415 - an extra

        return draw_figure(figure, plt.figure)
    path = _check_new_file(path)
    picture = draw_figure(figure)
    _write(picture, path, "tight" if _styled_size() is None else "standard")
    return picture


_WRITTEN = 120  # cells of a heat map, at most, in which their values are written
Axis2 = tuple[str, Sequence[Any]]
"""The label of an axis and its values."""


def plot_heat(
    x: Axis2,
    y: Axis2,
    values: Floats,
    label: str,
    title: str,
    best_along: int | None = None,
    path: str | Path | None = None,
    hatched: NDArray[np.bool_] | None = None,
    note: str = "",
) -> "Picture":
    """Draw values over two parameters as colours, dark for small ones.

    Args:
        x: the label and the values of the parameter from left to right.
        y: the same from below.
        values: one number for each `[y, x]`, NaN where there is none.
        label: what they are.
        title: above the picture.
        best_along: the axis of `values` along which the smallest is framed, if any.
        path: a new image file; its suffix sets the format.
        hatched: which values `[y, x]` are measured otherwise than the rest, as the note says.
        note: small print below the title.

    Example:
        >>> picture = plot_heat(("L", [0.1, 1.0]), ("alpha", [0.5, 1.4]), np.array([[1.0, 2.0], [1.5, 1.0]]), "regret", "one")
        >>> picture.axes[0].get_xlabel()
        'L'
        >>> import matplotlib.pyplot
        >>> matplotlib.pyplot.close("all")
    """
    new_picture: Any = _new_picture()
    from matplotlib.patches import Rectangle  # noqa: PLC0415 - an extra

    if path is not None:
        path = _check_new_file(path)
    else:
        from matplotlib import pyplot as plt  # noqa: PLC0415 - an extra

        new_picture = plt.figure
    rows, columns = values.shape
    width, height = max(4.6, min(12.0, 2.2 + 0.62 * columns)), max(2.6, min(10.0, 1.3 + 0.42 * rows))
    head, below = _wrapped(title, width - 0.4, TITLE, bold=True), _wrapped(note, width - 0.4, SMALL)
    top = _height(head, TITLE) + _height(below, SMALL) + 12
    height += top / INCH
    picture: Picture = new_picture(figsize=(width, height), layout="constrained")
    _draw_top(picture, head, below, LETTERS, top)
    ax = picture.add_subplot()
    image = ax.imshow(values, origin="lower", aspect="auto", cmap="cividis")
    picture.colorbar(image, ax=ax, label=_wrapped(label, 0.7 * (height - top / INCH), _points("medium")))
    for axis, (name, ticks), set_label in ((ax.xaxis, x, ax.set_xlabel), (ax.yaxis, y, ax.set_ylabel)):
        every = -(-len(ticks) // 16)  # more labels would touch
        texts = short_texts(ticks)
        axis.set_ticks(range(0, len(ticks), every), [texts[each] for each in ticks[::every]])
        set_label(name)
    middle = (np.nanmin(values) + np.nanmax(values)) / 2
    for row, column in np.ndindex(rows, columns) if values.size <= _WRITTEN else ():
        value = float(values[row, column])
        ink = "white" if value < middle else "black"
        ax.text(column, row, "" if np.isnan(value) else _digits(value), ha="center", va="center", color=ink, size=SMALL)
    for row, column in np.argwhere(hatched) if hatched is not None else ():
        ax.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, hatch="///", edgecolor=SUBDUED, linewidth=0))
    if best_along is not None:
        for k, place in enumerate(np.nanargmin(values, axis=best_along)):
            corner = (k - 0.5, place - 0.5) if best_along == 0 else (place - 0.5, k - 0.5)
            ax.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=COLOURS[1], linewidth=2.2))
    if path is not None:
        _write(picture, path)
    return picture


def _digits(value: float) -> str:
    """Write three digits, zeros at the end too: numbers side by side are then as exact as each other."""
    return f"{value:#,.3g}".rstrip(".")


def _check_look(legend: object, band: object) -> None:
    """Refuse a legend or a band that there is not."""
    from matplotlib.legend import Legend  # noqa: PLC0415 - an extra

    if not isinstance(legend, bool) and legend not in Legend.codes:
        hint = suggest(legend, Legend.codes) if isinstance(legend, str) else ""
        raise InvalidValueError("legend", "be True, False or a place such as 'upper left'", legend, hint=hint)
    if band not in BANDS:
        raise InvalidValueError("band", "be 'quantiles', 'interval' or None", band)


def _styled_size() -> tuple[float, float] | None:
    """Return the width and the height of figures that a style has set; None if no style is in force."""
    from matplotlib import rcParams, rcParamsDefault  # noqa: PLC0415 - an extra

    width, height = rcParams["figure.figsize"]
    return None if [width, height] == list(rcParamsDefault["figure.figsize"]) else (float(width), float(height))


def _own_size() -> tuple[float, float]:
    """Return the width and the height of the axes of a figure: those that a style has set, else those of a page."""
    return _styled_size() or (7.2, 4.6)


def _letters() -> Letters:
    """Return the sizes of letters in a figure: around the one that a style has set."""
    from matplotlib import rcParams  # noqa: PLC0415 - an extra

    text = float(rcParams["font.size"])
    return LETTERS if _styled_size() is None else Letters(text + 1, text, text - 1)


_SMALLER = (1.0, 0.9, 0.8, 0.7, 0.6)  # times the size of a legend's letters
_SHARES = (0.55, 0.95)  # of the height of the axes, that a legend inside may take; more only where less will not do


def _place_legend_inside(ax: "Axes", lines: "Sequence[Line2D]", place: Any) -> None:
    """Put a legend into the axes, with letters as small as it takes: long labels are wrapped, and many stand in columns."""
    frame = ax.get_window_extent()
    usual = _points(LEGEND["fontsize"])
    for share, times in itertools.product(_SHARES, _SMALLER):
        letters = int((frame.width * INCH / ax.figure.figure.dpi) / (GLYPH * usual * times)) - 8  # without its line
        words = [textwrap.fill(str(line.get_label()), max(12, letters)) for line in lines]
        for columns in (1, 2, 3):
            style = {**LEGEND, "fontsize": usual * times, "ncols": columns, "handlelength": 2.4, "columnspacing": 1.2}
            legend = ax.legend(lines, words, loc=place, **style)
            box = legend.get_window_extent()
            if box.width < 0.97 * frame.width and box.height < share * frame.height:
                return


def draw(
    ax: "Axes",
    labels: Sequence[str],
    checkpoints: Ints,
    regret: Floats,
    log: bool,
    bounds: Sequence[Sequence[tuple[str, Floats]]] = (),
    band: str | None = "quantiles",
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
    # A game of one arm or one round has no regret, and perhaps no bound: nothing for a logarithmic axis.
    ends = [curve.y[-1] for curve in panel.curves if curve.y[-1] > 0]
    panel = replace(panel, y_log=bool(ends and (log_y or any(bounds))))
    if panel.y_log:
        panel = replace(panel, y_label=f"{panel.y_label[:-1]}, logarithmic)")
    lines = _draw_panel(ax, panel, styles)
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
    _write_ticks(ax.yaxis, log=False)
    ax.set_ylabel(f"{panel.y_label[:-1]}, linear up to {near:g})")
    low, high = (float(getattr(np, name)([getattr(curve.y, name)() for curve in panel.curves])) for name in ("min", "max"))
    ax.set_ylim(min(-near, 2 * low), 2 * high)
    ax.axhline(0.0, color=SUBDUED, linewidth=0.6)


def draw_figure(figure: Figure, new_picture: "Callable[..., Picture] | None" = None) -> "Picture":
    """Draw a figure for print: panels in rows of `figure.columns`, with one legend below.

    Curves of one label look the same in every panel. Axis labels that repeat those of the panel to the left or below are
    left out.

    Args:
        figure: what to draw.
        new_picture: makes the Matplotlib figure; by default one that pyplot does not know.

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
    new_picture = new_picture or _new_picture()
    panels, columns = figure.panels, max(1, min(figure.columns, len(figure.panels)))
    rows = -(-len(panels) // columns)
    styled, letters = _styled_size(), _letters()
    panel_width = styled[0] / columns if styled is not None else PANEL_WIDTHS.get(columns, MANY)
    width = columns * panel_width
    title, caption = _wrapped(figure.title, width, letters.title, bold=True), _wrapped(figure.caption, width, letters.small)
    handles = _legend_handles(figure, width, letters.small)
    legend_columns, legend_height = _legend_shape([str(handle.get_label()) for handle in handles], width, letters.small)
    heads = [
        [_head(panel, panel_width, letters) for panel in panels[row * columns : (row + 1) * columns]] for row in range(rows)
    ]
    heads_height = sum(max(sum(_height(*each) for each in head) for head in line) for line in heads)
    top = _height(title, letters.title) + _height(caption, letters.small) + 12
    height = rows * (0.56 if rows > 2 else 0.74) * min(panel_width, 5.2) + (top + heads_height + legend_height) / INCH
    picture = new_picture(figsize=(width, height), layout="constrained")
    _draw_top(picture, title, caption, letters, top)
    styles = {label: curve_style(k) for label, k in style_numbers(figure).items()}
    for k, panel in enumerate(panels):
        ax = picture.add_subplot(rows, columns, k + 1)
        _draw_panel(ax, panel, styles)
        _dress(ax, *heads[k // columns][k % columns], letters)
        if k % columns and panels[k - 1].y_label == panel.y_label:
            ax.set_ylabel("")
        if k + columns < len(panels) and panels[k + columns].x_label == panel.x_label:
            ax.set_xlabel("")
    if handles:
        style = {**LEGEND, "fontsize": letters.small, "columnspacing": 1.5}
        picture.legend(handles=handles, loc="outside lower center", ncols=legend_columns, **style)
    return picture


def _draw_top(picture: "Picture", title: str, caption: str, letters: Letters, top: float) -> None:
    """Write a title and a caption into the top of a figure, which is so many points high, and lay out the rest below it."""
    width, height = picture.get_size_inches()
    # The layout engine keeps room for the legend at the bottom; the top is reserved for the title and the caption.
    below = 1 - top / INCH / height
    picture.set_layout_engine("constrained", rect=(0, 0, 1, below), w_pad=0.08, hspace=0.02, wspace=0.02)
    words: dict[str, Any] = {"va": "top", "linespacing": LINE}
    edge, first, second = 0.06 / width, 4 / INCH / height, (8 + _height(title, letters.title)) / INCH / height
    picture.text(edge, 1 - first, title, size=letters.title, weight="bold", **words)
    picture.text(edge, 1 - second, caption, size=letters.small, color=SUBDUED, **words)


def picture_bytes(picture: "Picture", kind: str, box: str = "tight") -> bytes:
    """Return the content of a picture file; the same picture gives the same bytes.

    Args:
        picture: what to write.
        kind: a suffix that Matplotlib knows, such as png or pdf.
        box: "tight" around what is drawn, or "standard" for the whole of the picture.
    """
    from matplotlib import rc_context  # noqa: PLC0415 - an extra

    content = io.BytesIO()
    metadata: dict[str, Any] | None = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(kind)
    # Type 42 fonts stay text, and journals refuse type 3. The ids in an SVG are random unless salted.
    with rc_context({"pdf.fonttype": 42, "svg.hashsalt": "rotting", "savefig.bbox": box}):
        picture.savefig(content, format=kind, dpi=200, metadata=metadata)
    return content.getvalue()


def _y_limits(panel: Panel) -> tuple[float, float]:
    """Return the ends of a linear y axis: up to `y_max` or all curves, down to zero if nothing is below and zero is near."""
    drawn = [values for curve in panel.curves for values in (curve.y, curve.low, curve.high) if values is not None]
    values = np.concatenate([np.zeros(0), *drawn])
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    top = panel.y_max if panel.y_max is not None else high + 0.05 * ((high - low) or 1.0)
    near = -1e-6 * top <= low <= top / 2  # rounding may put a regret of zero just below it
    return (0.0 if near else low - 0.05 * ((top - low) or 1.0)), top


def _new_picture() -> "type[Picture]":
    try:
        from matplotlib.figure import Figure as Picture  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("plotting needs Matplotlib: pip install 'rotting[plot]'") from error
    return Picture


def _draw_panel(ax: "Axes", panel: Panel, styles: Mapping[str, CurveStyle]) -> "list[Line2D]":
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
        thin: dict[str, Any] = {"linewidth": 1.2, "marker": marker, "markersize": 4} if curve.points else {}
        alone = {"marker": "o"} if len(curve.x) == 1 else {}  # a line of one point is invisible
        lines += ax.plot(curve.x, curve.y, color=colour, linestyle=style, label=curve.label, **{**alone, **thin})
    ax.set_xlabel(panel.x_label)
    ax.set_ylabel(panel.y_label)
    marked = any(curve.points for curve in panel.curves)
    ax.margins(x=0.04 if marked else 0.01)  # the first and the last marker stay clear of the frame
    for axis, scale, log in ((ax.xaxis, ax.set_xscale, panel.x_log), (ax.yaxis, ax.set_yscale, panel.y_log)):
        if log:
            scale("log")
        _write_ticks(axis, log)
    if marked and panel.x_log:
        _mark_few_values(ax.xaxis, np.unique(np.concatenate([curve.x for curve in panel.curves])))
    if panel.y_log:
        ax.set_ylim(top=panel.y_max)
    else:
        ax.set_ylim(*_y_limits(panel))
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    return lines


def _write_ticks(axis: "Axis", log: bool) -> None:
    """Write numbers in full, with a comma for thousands; a short logarithmic axis gets more of them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: PLC0415 - an extra

    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.10g}"))
    if log:
        low, high = sorted(axis.get_view_interval())
        few = high < 30 * low
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
        axis.set_minor_formatter(NullFormatter())


_FEW = 8  # values of a parameter that fit as the labels of a logarithmic axis
_APART = 0.06  # of the axis, between two of them at least


def _mark_few_values(axis: "Axis", values: Floats) -> None:
    """Put the ticks of a logarithmic axis at the values of the points, if their labels have room."""
    from matplotlib.ticker import NullLocator  # noqa: PLC0415 - an extra

    places = np.log(values)
    if 1 < len(values) <= _FEW and np.diff(places).min() > _APART * np.ptp(places):
        axis.set_ticks(values)
        axis.set_minor_locator(NullLocator())


def _dress(ax: "Axes", title: Line, note: Line, letters: Letters) -> None:
    """Give a panel its title, the note below it, and font sizes and ticks that fit."""
    if ax.get_xscale() == "linear":
        ax.locator_params(axis="x", nbins=5)  # more labels would touch, such as 150,000
    _draw_header(ax, title, note)
    ax.xaxis.label.set_fontsize(letters.text)
    ax.yaxis.label.set_fontsize(letters.text)
    ax.tick_params(labelsize=letters.small)


def _draw_header(ax: "Axes", title: Line, note: Line, weight: str = "normal") -> None:
    """Write a title above axes, and a note below it in small print."""
    (words, size), (small_words, small) = title, note
    ax.set_title(words, loc="left", size=size, weight=weight, pad=5 + 1.1 * _height(small_words, small), linespacing=LINE)
    # Above the axes: inside it could cover a curve.
    ax.annotate(
        small_words,
        (0, 1),
        xytext=(0, 3),
        xycoords="axes fraction",
        textcoords="offset points",
        va="bottom",
        size=small,
        color=SUBDUED,
        linespacing=LINE,
    )


def _head(panel: Panel, width: float, letters: Letters) -> tuple[Line, Line]:
    """Return a panel's title and note, wrapped to the width of its axes."""
    axes = width - 0.6
    return (_wrapped(panel.title, axes, letters.text), letters.text), (_wrapped(panel.note, axes, letters.small), letters.small)


def _legend_handles(figure: Figure, width: float, size: float) -> "list[Line2D]":
    from matplotlib.lines import Line2D  # noqa: PLC0415 - an extra

    marked = {curve.label for panel in figure.panels for curve in panel.curves if curve.points}
    handles = []
    for label, k in style_numbers(figure).items():
        colour, style, marker = curve_style(k)
        shape = marker if label in marked else ""
        words = _wrapped(label, width - 0.6, size)
        handles.append(Line2D([], [], color=colour, linestyle=style, marker=shape, markersize=4, label=words))
    return handles


def _legend_shape(labels: Sequence[str], width: float, size: float) -> tuple[int, float]:
    """Return the number of columns of a legend, and its height in points."""
    if not labels:
        return 1, 0.0
    longest = max(len(line) for label in labels for line in label.split("\n"))
    entry = (longest * GLYPH + 6.5) * size  # with its line and the gap to the next
    fitting = max(1, min(len(labels), int(width * INCH / entry)))
    rows = -(-len(labels) // fitting)
    columns = -(-len(labels) // rows)  # rows of equal length
    tallest = max(_height(label, size) for label in labels)
    return columns, rows * (tallest + 0.4 * size) + 2 * size


def _wrapped(text: str, width: float, size: float, bold: bool = False) -> str:
    """Return text, wrapped to a width in inches."""
    letter = GLYPH * size * (1.12 if bold else 1.0)
    letters = max(12, int(width * INCH / letter))
    return "\n".join(textwrap.fill(line, letters, break_on_hyphens=False) for line in text.split("\n"))


def _height(text: str, size: float) -> float:
    """Return the height of lines of text, in points."""
    return (text.count("\n") + 1) * LINE * size if text else 0.0
