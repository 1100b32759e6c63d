"""Charts of the page: a figure as JSON for the script that draws it with Plotly, and its legend and switches."""

import json
import math
from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources

from rotting.common.arrays import Floats, Ints
from rotting.common.display.figures import COLOURS, Curve, Figure, curve_style
from rotting.common.display.pages import figure_element
from rotting.common.display.svg import SYMBOLS, dash_lengths, panel_text, sample
from rotting.common.json_data import JsonDict
from rotting.errors import MissingExtraError

DIGITS = 6

Numbers = list[float | int | None]


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


def chart_data(figure: Figure) -> JsonDict:
    """Return the data with which the script draws a figure. Curves over the same x share it, to save space.

    The labels and the x of curves are places in the lists `labels` and `xs`.

    Example:
        >>> import numpy as np
        >>> from rotting.common.display.figures import Panel
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

    def curve_data(curve: Curve) -> JsonDict:
        data: JsonDict = {"label": places[curve.label], "x": place(curve.x), "y": rounded(curve.y)}
        if curve.low is not None and curve.high is not None:
            data["low"], data["high"] = rounded(curve.low), rounded(curve.high)
        if curve.points:
            data["points"] = True
        return data

    panels = [
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
    labels = [
        {"text": label, "colour": k % len(COLOURS), "dash": _dash(k), "symbol": SYMBOLS[curve_style(k).marker][0]}
        for label, k in figure.styles.items()
    ]
    return {"labels": labels, "xs": values, "panels": panels}


def _dash(k: int) -> str:
    """Return the dashes of the k-th style as Plotly reads them."""
    return ",".join(f"{length:g}px" for length in dash_lengths(k)) or "solid"


def scripts() -> list[str]:
    """Return the sources of the scripts that draw charts: Plotly, which is an extra of several megabytes, and our own."""
    try:
        from plotly.offline import get_plotlyjs  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("the report needs Plotly: pip install 'rotting[report]'") from error
    return [get_plotlyjs(), resources.files(__package__).joinpath("charts.js").read_text("utf-8")]


def chart(section: str, figure: Figure, level: int = 3) -> str:
    """Return a figure that a script draws, with its files.

    Args:
        section: the id of its section.
        figure: what to draw.
        level: of the heading that is its title; those of its panels are one below.
    """
    plots = [f'<div class="plot" role="img" aria-label="{escape(panel_text(panel))}"></div>' for panel in figure.panels]
    hint = (
        " Point at a curve for its values; drag to zoom, double-click to zoom out. In the legend a click hides a curve, a "
        "double click (or Shift and Enter) shows it alone."
    )
    # Browsers end a data block at `</script`, so that no `<` may be in it.
    data = json.dumps(chart_data(figure), separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    below = (
        "<noscript><p>The figures on this page need JavaScript; the files below do not.</p></noscript>"
        f"{file_links(f'{section}/{figure.name}', ('png', 'pdf'))}"
        f'<script type="application/json">{data}</script>'
    )
    return figure_element(section, figure, plots, _switches() + _legend(figure), hint, below, level)


def _switches() -> str:
    """Return the buttons that make an axis linear or logarithmic, and the one that undoes all changes."""
    scales = "".join(
        f'<span class="scale" role="group" aria-label="{axis} axis"><span aria-hidden="true">{axis} axis</span>'
        f'<button type="button" data-axis="{axis}" data-log="0">linear</button>'
        f'<button type="button" data-axis="{axis}" data-log="1">log</button>'
        '<span class="mixed" hidden>differs by panel</span></span>'
        for axis in "xy"
    )
    return f'<div class="controls">{scales}<button type="button" class="reset">reset</button></div>'


def _legend(figure: Figure) -> str:
    """Return the legend: a button per label, with a sample of its curve."""
    places = {label: k for k, label in enumerate(figure.labels)}
    groups = []
    for family in figure.families:
        buttons = [
            f'<button type="button" data-label="{places[label]}" aria-pressed="true">'
            f"{sample(figure.styles[label], label in figure.marked)}<span>{escape(label)}</span></button>"
            for label in family
        ]
        groups.append(f'<div class="family">{"".join(buttons)}</div>')
    return f'<div class="legend" role="group" aria-label="Curves shown">{"".join(groups)}</div>'


KINDS = {"csv": "CSV", "parquet": "Parquet", "md": "Markdown", "png": "PNG", "pdf": "PDF", "json": "JSON"}


def file_links(name: str, kinds: Sequence[str]) -> str:
    """Return links to the files of this name, one for each kind."""
    found = " ".join(f'<a href="{escape(name)}.{kind}">{KINDS[kind]}</a>' for kind in kinds)
    return f'<p class="files">Files: {found}</p>'
