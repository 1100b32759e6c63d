"""Charts of the page: a figure as JSON for the script, its legend, and texts for screen readers."""

import math
from collections.abc import Iterable
from html import escape
from typing import NotRequired, TypedDict

from rotting.common.arrays import Floats, Ints
from rotting.common.curve_styles import COLOURS
from rotting.display.figures import Curve, Figure, Panel
from rotting.display.panels import curve_style, style_numbers

DIGITS = 6
LINE_WIDTH = 2.0
# By Matplotlib's name of a marker: Plotly's name, and the outline in a box of 12 by 12 around (0, 0).
SYMBOLS = {
    "o": ("circle", "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z"),
    "s": ("square", "M-4 -4h8v8h-8z"),
    "^": ("triangle-up", "M0 -5L5 4H-5z"),
    "D": ("diamond", "M0 -5L5 0L0 5L-5 0z"),
    "v": ("triangle-down", "M0 5L5 -4H-5z"),
    "P": ("cross", "M-1.7 -5h3.4v3.3h3.3v3.4h-3.3v3.3h-3.4v-3.3h-3.3v-3.4h3.3z"),
    "X": ("x", "M-4.8 -2.6l2.2 -2.2l2.6 2.6l2.6 -2.6l2.2 2.2l-2.6 2.6l2.6 2.6l-2.2 2.2l-2.6 -2.6l-2.6 2.6l-2.2 -2.2l2.6 -2.6z"),
}


Numbers = list[float | int | None]


class CurveData(TypedDict):
    """A curve: its label and its x, as places in the lists of the figure, and its values."""

    label: int
    x: int
    y: Numbers
    low: NotRequired[Numbers]
    high: NotRequired[Numbers]
    points: NotRequired[bool]


class PanelData(TypedDict):
    """The axes of a panel, and its curves."""

    x_label: str
    y_label: str
    x_log: bool
    y_log: bool
    y_max: float | None
    curves: list[CurveData]


class ChartData(TypedDict):
    """A figure as `charts.js` reads it."""

    labels: list[dict[str, str | int]]  # the text of each, and how its curves look
    xs: list[Numbers]
    panels: list[PanelData]


def rounded(values: Iterable[float]) -> Numbers:
    """Return numbers rounded to six digits, in the form that is shortest in JSON; None if not finite.

    Example:
        >>> rounded([1000.0, 0.12345678, float("nan")])
        [1000, 0.123457, None]
    """
    written: Numbers = []
    for value in map(float, values):
        if not math.isfinite(value):
            written.append(None)
            continue
        short = float(f"{value:.{DIGITS}g}")
        written.append(int(short) if short.is_integer() and abs(short) < 10**15 else short)
    return written


def chart_data(figure: Figure) -> ChartData:
    """Return the data with which the script draws a figure. Curves over the same x share it, to save space.

    Example:
        >>> import numpy as np
        >>> curve = Curve("UCB1", np.array([1, 2]), np.array([0.5, 1.0]))
        >>> chart_data(Figure("f", "t", "c", (Panel("p", "round t", "regret", (curve, curve)),)))["xs"]
        [[1, 2]]
    """
    places = {label: k for k, label in enumerate(figure.labels)}
    xs: dict[bytes, int] = {}
    values: list[Numbers] = []

    def place(x: Floats | Ints) -> int:
        key = x.astype(float).tobytes()
        if key not in xs:
            xs[key] = len(xs)
            values.append(rounded(x))
        return xs[key]

    def curve_data(curve: Curve) -> CurveData:
        data: CurveData = {"label": places[curve.label], "x": place(curve.x), "y": rounded(curve.y)}
        if curve.low is not None and curve.high is not None:
            data["low"], data["high"] = rounded(curve.low), rounded(curve.high)
        if curve.points:
            data["points"] = True
        return data

    panels: list[PanelData] = [
        {
            "x_label": panel.x_label,
            "y_label": panel.y_label,
            "x_log": panel.x_log,
            "y_log": panel.y_log,
            "y_max": panel.y_max,
            "curves": [curve_data(curve) for curve in panel.curves],
        }
        for panel in figure.panels
    ]
    labels: list[dict[str, str | int]] = [
        {"text": label, "colour": k % len(COLOURS), "dash": _dash(k), "symbol": SYMBOLS[curve_style(k).marker][0]}
        for label, k in style_numbers(figure).items()
    ]
    return {"labels": labels, "xs": values, "panels": panels}


def _dash(k: int) -> str:
    """Return the dashes of the k-th style in pixels; `solid` for none."""
    style = curve_style(k).style
    return "solid" if isinstance(style, str) else ",".join(f"{LINE_WIDTH * length:g}px" for length in style[1])


def dash_lengths(k: int) -> str:
    """Return the dashes of the k-th style as an attribute of SVG; empty for none."""
    dash = _dash(k)
    return "" if dash == "solid" else f' stroke-dasharray="{dash.replace("px", "")}"'


def legend(figure: Figure, static: bool = False) -> str:
    """Return the legend: a button per label, or an entry of a static page, with colour, dashes and marker of its curve."""
    marked = {curve.label for panel in figure.panels for curve in panel.curves if curve.points}
    places, styles = {label: k for k, label in enumerate(figure.labels)}, style_numbers(figure)
    groups = []
    for family in figure.families:
        entries = []
        for label in family:
            entry = f"{_swatch(styles[label], label in marked)}<span>{escape(label)}</span>"
            button = f'<button type="button" data-label="{places[label]}" aria-pressed="true">{entry}</button>'
            entries.append(f'<span class="entry">{entry}</span>' if static else button)
        groups.append(f'<div class="family">{"".join(entries)}</div>')
    return f'<div class="legend" role="group" aria-label="Curves shown">{"".join(groups)}</div>'


def _swatch(k: int, marked: bool) -> str:
    colour = f"var(--c{k % len(COLOURS)})"
    line = f'<path d="M0 0H44" style="stroke:{colour}" stroke-width="2.5"{dash_lengths(k)} fill="none"/>'
    shape = SYMBOLS[curve_style(k).marker][1]
    marker = f'<path d="{shape}" transform="translate(22 0)" style="fill:{colour}"/>' if marked else ""
    return f'<svg width="44" height="12" viewBox="0 -6 44 12" aria-hidden="true" focusable="false">{line}{marker}</svg>'


def panel_text(panel: Panel) -> str:
    """Return a panel in words, for screen readers: the axes, and where each curve ends."""
    ends = [f"{curve.label} {value_text(curve, -1)}" for curve in panel.curves if len(curve.x)]
    words = f"{panel.title}: {panel.y_label} against {panel.x_label}."
    return f"{words} At the right end: {'; '.join(ends)}." if ends else words


def value_text(curve: Curve, k: int) -> str:
    """Return the k-th value of a curve and its interval as text.

    Example:
        >>> import numpy as np
        >>> value_text(Curve("UCB1", np.array([1]), np.array([0.5]), np.array([0.25]), np.array([1.0])), 0)
        '0.5 [0.25, 1]'
    """
    interval = "" if curve.low is None or curve.high is None else f" [{curve.low[k]:,.4g}, {curve.high[k]:,.4g}]"
    return f"{curve.y[k]:,.4g}{interval}"
