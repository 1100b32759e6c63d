"""Figures as static pictures: a panel as SVG, for pages and notebooks.

A picture needs no style sheet and no script. Text has the colour of the page around it, and a page may set the colour of curve
k with a CSS variable `--c<k>`, for dark schemes.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.display.figures import COLOURS, Curve, Panel, curve_style

LINE_WIDTH = 2.0
# By Matplotlib's name of a marker: the outline in a box of 12 by 12 around (0, 0).
SYMBOLS = {
    "o": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
    "s": "M-4 -4h8v8h-8z",
    "^": "M0 -5L5 4H-5z",
    "D": "M0 -5L5 0L0 5L-5 0z",
    "v": "M0 5L5 -4H-5z",
    "P": "M-1.7 -5h3.4v3.3h3.3v3.4h-3.3v3.3h-3.4v-3.3h-3.3v-3.4h3.3z",
    "X": "M-4.8 -2.6l2.2 -2.2l2.6 2.6l2.6 -2.6l2.2 2.2l-2.6 2.6l2.6 2.6l-2.2 2.2l-2.6 -2.6l-2.6 2.6l-2.2 -2.2l2.6 -2.6z",
}
_FONT = 12
_TOP, _RIGHT, _BOTTOM = 26, 14, 42  # room for the label of the y axis, and for the ticks and the label of the x axis
_DIGIT = 7  # the width of a character of a tick, roughly
_X_SPACE, _Y_SPACE = 52, 32  # pixels between ticks, at least
_REACH = 7  # the radius around a point in which its tooltip is shown
_FEW_DECADES = 1.3  # a logarithmic axis up to this length has ticks between the powers of ten
_POINTS = 200  # of a line: one for two pixels
_TOOLTIPS = 40  # of a line: their reaches meet
_LARGEST = 1.28  # times its size in pixels, a picture fills the room that it has


class Axis(NamedTuple):
    """The range of an axis; of the decimal logarithms of its values if it is logarithmic."""

    low: float
    high: float
    log: bool
    most_ticks: int = 6

    def shares(self, values: Floats | Ints) -> Floats:
        """Return where values lie on the axis, from 0 at its beginning to 1 at its end; NaN if it cannot show them."""
        places = np.asarray(values, np.float64)
        if self.log:
            positive = places > 0
            places = np.where(positive, np.log10(places, where=positive, out=np.zeros(places.shape)), np.nan)
        return (places - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        """Return the values that get a tick.

        Example:
            >>> Axis(0.0, 0.093, log=False).ticks()
            [0.0, 0.02, 0.04, 0.06, 0.08]
            >>> Axis(0.0, 3.0, log=True).ticks(), Axis(0.0, 1.0, log=True).ticks()
            ([1.0, 10.0, 100.0, 1000.0], [1.0, 2.0, 5.0, 10.0])
        """
        if self.log and self.high - self.low <= _FEW_DECADES:
            powers = range(math.floor(self.low), math.ceil(self.high) + 1)
            found = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
            return [each for each in found if self.low <= math.log10(each) <= self.high]
        places = range(math.ceil(self.low / self._step), math.floor(self.high / self._step) + 1)
        return [10.0 ** (place * self._step) if self.log else float(f"{place * self._step:.12g}") for place in places]

    def tick_text(self, tick: float) -> str:
        """Return a tick as text; all ticks of a linear axis have the same digits after the point."""
        if self.log:
            return f"{tick:,.10g}"
        return f"{tick:,.{max(0, -math.floor(math.log10(self._step)))}f}"

    @property
    def _step(self) -> float:
        """The distance of the ticks: 1, 2 or 5 times a power of ten, and at least a decade on a logarithmic axis."""
        length = self.high - self.low
        power = 10.0 ** math.floor(math.log10(length / self.most_ticks))
        step = next(digit * power for digit in (1, 2, 5, 10) if digit * power * self.most_ticks >= length)
        return max(1.0, round(step)) if self.log else step


def x_axis(panel: Panel, most_ticks: int = 6) -> Axis:
    """Return an axis that shows all points of a panel."""
    pad = 0.08 if any(curve.points for curve in panel.curves) else 0.02  # markers and bars are wider than lines
    return _axis([curve.x.astype(float) for curve in panel.curves], panel.x_log, pad, most_ticks)


def y_axis(panel: Panel, most_ticks: int = 6) -> Axis:
    """Return an axis that shows all curves and intervals of a panel, or those below `y_max`. It begins at 0 if 0 is near."""
    lines = [curve.y for curve in panel.curves]
    ends = [end for curve in panel.curves for end in (curve.low, curve.high) if end is not None]
    axis = _axis(lines if panel.y_log else [*lines, *ends], panel.y_log, 0.05, most_ticks)
    low, high = axis.low, axis.high
    if panel.y_log:  # an interval may go down to 0, where a logarithmic axis never ends
        high = max(high, _axis([*lines, *ends], log=True, pad=0.05).high)
    values = np.concatenate([*lines, *ends, [np.nan]])
    least, most = (float(end(values, initial=0.0, where=np.isfinite(values))) for end in (np.min, np.max))
    if not axis.log and least >= 0 and low < most / 2:
        low = 0.0
    if panel.y_max is not None and any(np.nanmax(line) <= panel.y_max for line in lines if np.isfinite(line).any()):
        high = math.log10(panel.y_max) if axis.log else panel.y_max
    return axis._replace(low=low, high=high)


def _axis(values: list[Floats], log: bool, pad: float, most_ticks: int = 6) -> Axis:
    """Return an axis that shows values, with some room at its ends; a logarithmic one only if some of them are positive."""
    found = np.concatenate([*values, np.empty(0)])
    found = found[np.isfinite(found)]
    log = log and bool((found > 0).any())
    if log:
        found = np.log10(found[found > 0])
    if not found.size:
        return Axis(0.0, 1.0, log=False)
    low, high = float(found.min()), float(found.max())
    room = pad * (high - low) or 0.5 * (abs(high) or 1.0)
    return Axis(low - room, high + room, log, most_ticks)


def drawing(panel: Panel, styles: Mapping[str, int], width: int = 400, height: int = 280, tooltips: bool = True) -> str:
    """Return a panel as SVG.

    Args:
        panel: what to draw.
        styles: the number of the style of each label (`style_numbers`).
        width: pixels.
        height: pixels.
        tooltips: whether each point shows its values when it is pointed at.

    Example:
        >>> import numpy as np
        >>> curve = Curve("UCB1", np.array([1, 2]), np.array([0.5, 1.0]))
        >>> picture = drawing(Panel("p", "round t", "regret", (curve,)), {"UCB1": 0})
        >>> "round t: 2" in picture, "regret: 0.5" in picture
        (True, True)
    """
    tall = height - _TOP - _BOTTOM
    up = y_axis(panel, max(4, tall // _Y_SPACE))
    left = 12 + _DIGIT * max((len(up.tick_text(tick)) for tick in up.ticks()), default=0)
    wide = width - left - _RIGHT
    across = x_axis(panel, max(4, wide // _X_SPACE))
    size = (wide, tall)
    curves = "".join(_curve(curve, panel, styles[curve.label], (across, up), size, tooltips) for curve in panel.curves)
    # The inner picture cuts off what lies outside the axes.
    inside = f'<svg x="{left}" y="{_TOP}" width="{wide}" height="{tall}">{curves}</svg>'
    below = height - _BOTTOM
    words = [
        *_ticks(across, up, left, wide, tall),
        f'<path d="M{left} {_TOP}V{below}H{width - _RIGHT}" stroke="currentColor" stroke-opacity="0.5" fill="none"/>',
        _text(left, _TOP - 12, panel.y_label, "start"),
        _text(left + wide / 2, height - 6, panel.x_label, "middle"),
    ]
    box = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-size="{_FONT}"'
    shown = f'fill="currentColor" style="display: block; width: 100%; max-width: {_LARGEST * width:g}px; height: auto"'
    named = f'role="img" aria-label="{escape(panel_text(panel))}"'
    return f'<svg class="drawing" {box} {shown} {named}>{"".join(words)}{inside}</svg>'


def _ticks(across: Axis, up: Axis, left: int, wide: int, tall: int) -> Iterator[str]:
    """Yield the lines of the grid and the numbers at both axes."""
    below = _TOP + tall
    rows = below - up.shares(np.array(up.ticks())) * tall
    columns = left + across.shares(np.array(across.ticks())) * wide
    grid = "".join([*(f"M{left} {y:.1f}h{wide}" for y in rows), *(f"M{x:.1f} {_TOP}v{tall}" for x in columns)])
    yield f'<path class="grid" d="{grid}" stroke="currentColor" stroke-opacity="0.12"/>'
    for tick, y in zip(up.ticks(), rows, strict=True):
        yield _text(left - 6, y + 4, up.tick_text(tick), "end")
    for tick, x in zip(across.ticks(), columns, strict=True):
        yield _text(x, below + 16, across.tick_text(tick), "middle")


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _curve(curve: Curve, panel: Panel, style: int, axes: tuple[Axis, Axis], size: tuple[int, int], tooltips: bool) -> str:
    """Return a line with its band, or points with their error bars, and the tooltips."""
    across, up = axes
    wide, tall = size
    x = across.shares(curve.x) * wide

    def down(values: Floats) -> Floats:
        return tall - up.shares(values) * tall

    y = down(curve.y)
    places = range(len(x)) if curve.points else _thinned(len(x), _POINTS)
    shown = [k for k in places if np.isfinite(x[k]) and np.isfinite(y[k])]
    parts = []
    if curve.low is not None and curve.high is not None:
        low, high = np.where(np.isnan(down(curve.low)), tall, down(curve.low)), down(curve.high)  # below a logarithmic axis
        ends = [k for k in shown if np.isfinite(high[k])]
        if curve.points:
            bars = "".join(f"M{x[k] - 3:.1f} {low[k]:.1f}h6m-3 0V{high[k]:.1f}m-3 0h6" for k in ends)
            parts.append(f'<path class="bar" d="{bars}" stroke="currentColor" fill="none"/>')
        elif ends:
            edge = [(x[k], high[k]) for k in ends] + [(x[k], low[k]) for k in reversed(ends)]
            corners = "L".join(f"{a:.1f} {b:.1f}" for a, b in edge)
            parts.append(f'<path class="band" d="M{corners}z" fill="currentColor" fill-opacity="0.17"/>')
    before = dict(zip(places[1:], places, strict=False))
    line = "".join(f"{'L' if before.get(k) in shown else 'M'}{x[k]:.1f} {y[k]:.1f}" for k in shown)
    parts.append(f'<path class="line" d="{line}" {_stroke(style)}/>')
    if curve.points or len(shown) == 1:
        outline = SYMBOLS[curve_style(style).marker]
        parts += [_marker(outline, x[k], y[k]) for k in shown]
    if tooltips:
        name = f"{curve.label}\n" if len(panel.curves) > 1 else ""
        points = [
            f'<circle cx="{x[k]:.1f}" cy="{y[k]:.1f}" r="{_REACH}"><title>'
            + escape(f"{name}{panel.x_label}: {curve.x[k]:,.4g}\n{panel.y_label}: {value_text(curve, k)}")
            + "</title></circle>"
            for k in (shown if curve.points else [shown[each] for each in _thinned(len(shown), _TOOLTIPS)])
        ]
        parts.append(f'<g class="points" fill="transparent">{"".join(points)}</g>')
    return f'<g class="curve{style}" style="{_colour(style)}">{"".join(parts)}</g>'


def _thinned(length: int, most: int) -> list[int]:
    """Return the places of at most `most` points of a line, with the first and the last."""
    return sorted({int(k) for k in np.linspace(0, length - 1, min(length, most)).round()})


def _marker(outline: str, x: float, y: float) -> str:
    return f'<path class="marker" d="{outline}" transform="translate({x:.1f} {y:.1f})" fill="currentColor"/>'


def _stroke(k: int) -> str:
    dashes = ",".join(f"{each:g}" for each in dash_lengths(k))
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'stroke="currentColor" stroke-width="{LINE_WIDTH:g}" stroke-linejoin="round"{dashed} fill="none"'


def _colour(k: int) -> str:
    """Return the colour of the k-th style as CSS: the page's, if it has one; black would vanish on a dark page."""
    place = k % len(COLOURS)
    return f"color: var(--c{place}, {'currentColor' if COLOURS[place] == '#000000' else COLOURS[place]})"


def dash_lengths(k: int) -> list[float]:
    """Return the lengths of the dashes and gaps of the k-th style, in pixels; none for a solid line.

    Example:
        >>> dash_lengths(0), dash_lengths(1)
        ([], [10.0, 3.0])
    """
    style = curve_style(k).style
    return [] if isinstance(style, str) else [LINE_WIDTH * length for length in style[1]]


def sample(k: int, marked: bool) -> str:
    """Return a sample of the k-th style, for a legend: a piece of line, with its marker if it is marked."""
    marker = _marker(SYMBOLS[curve_style(k).marker], 22, 0) if marked else ""
    line = f'<path d="M0 0H44" {_stroke(k)}/>'
    box = 'width="44" height="12" viewBox="0 -6 44 12" aria-hidden="true" focusable="false"'
    return f'<svg {box} style="{_colour(k)}">{line}{marker}</svg>'


def legend(styles: Mapping[str, int], marked: Iterable[str] = (), more: str = "") -> str:
    """Return the labels, each after a sample of its curve.

    Args:
        styles: the number of the style of each label.
        marked: the labels of curves with markers.
        more: a text after the labels, such as how many curves are not drawn.
    """
    shapes = set(marked)
    entries = [f"{sample(k, label in shapes)} {escape(label)}" for label, k in styles.items()]
    words = [*entries, *([escape(more)] if more else [])]
    spans = " ".join(f'<span style="display: inline-block; margin-right: 1em">{each}</span>' for each in words)
    return f'<div class="legend" style="font-size: 0.85em">{spans}</div>'


def panel_text(panel: Panel) -> str:
    """Return a panel in words, for screen readers: the axes, and where each curve ends."""
    ends = [f"{curve.label} {value_text(curve, -1)}" for curve in panel.curves if len(curve.x)]
    title = f"{panel.title}: " if panel.title else ""
    words = f"{title}{panel.y_label} against {panel.x_label}."
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
