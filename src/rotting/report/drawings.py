"""Figures as static pictures: a panel as SVG, in the colours of the page, with the values of its points as tooltips."""

import math
from collections.abc import Iterator, Mapping
from html import escape
from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats
from rotting.common.curve_styles import COLOURS
from rotting.display.figures import Curve, Panel
from rotting.display.panels import curve_style
from rotting.report.charts import LINE_WIDTH, SYMBOLS, dash_lengths, panel_text, value_text

WIDTH, HEIGHT = 400, 280
FONT = 12
_TOP, _RIGHT, _BOTTOM = 26, 14, 42  # room for the label of the y axis, and for the ticks and the label of the x axis
_DIGIT = 7  # the width of a character of a tick, roughly
_TICKS = 6  # at most, of an axis
_REACH = 7  # the radius around a point in which its tooltip is shown
_FEW_DECADES = 1.3  # a logarithmic axis up to this length has ticks between the powers of ten


class Axis(NamedTuple):
    """The range of an axis; of the decimal logarithms of its values if it is logarithmic."""

    low: float
    high: float
    log: bool

    def shares(self, values: Floats) -> Floats:
        """Return where values lie on the axis, from 0 at its beginning to 1 at its end; NaN if it cannot show them."""
        if self.log:
            positive = values > 0
            values = np.where(positive, np.log10(values, where=positive, out=np.zeros(values.shape)), np.nan)
        return (values - self.low) / (self.high - self.low)

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
        step = _step(self.high - self.low, whole=self.log)
        places = range(math.ceil(self.low / step), math.floor(self.high / step) + 1)
        return [10.0 ** (place * step) if self.log else float(f"{place * step:.12g}") for place in places]

    def tick_text(self, tick: float) -> str:
        """Return a tick as text; all ticks of a linear axis have the same digits after the point."""
        if self.log:
            return f"{tick:,.10g}"
        return f"{tick:,.{max(0, -math.floor(math.log10(_step(self.high - self.low))))}f}"


def _step(length: float, whole: bool = False) -> float:
    """Return the distance of the ticks on an axis of this length: 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(length / _TICKS))
    step = next(digit * power for digit in (1, 2, 5, 10) if digit * power * _TICKS >= length)
    return max(1.0, round(step)) if whole else step


def x_axis(panel: Panel) -> Axis:
    """Return an axis that shows all points of a panel."""
    pad = 0.08 if any(curve.points for curve in panel.curves) else 0.02  # markers and bars are wider than lines
    return _axis([curve.x.astype(float) for curve in panel.curves], panel.x_log, pad)


def y_axis(panel: Panel) -> Axis:
    """Return an axis that shows all curves and intervals of a panel, or those below `y_max`. It begins at 0 if 0 is near."""
    lines = [curve.y for curve in panel.curves]
    ends = [end for curve in panel.curves for end in (curve.low, curve.high) if end is not None]
    axis = _axis(lines if panel.y_log else [*lines, *ends], panel.y_log, 0.05)
    low, high = axis.low, axis.high
    if panel.y_log:  # an interval may go down to 0, where a logarithmic axis never ends
        high = max(high, _axis([*lines, *ends], log=True, pad=0.05).high)
    values = np.concatenate([*lines, *ends, [np.nan]])
    least, most = (float(end(values, initial=0.0, where=np.isfinite(values))) for end in (np.min, np.max))
    if not axis.log and least >= 0 and low < most / 2:
        low = 0.0
    if panel.y_max is not None and any(np.nanmax(line) <= panel.y_max for line in lines if np.isfinite(line).any()):
        high = math.log10(panel.y_max) if axis.log else panel.y_max
    return Axis(low, high, axis.log)


def _axis(values: list[Floats], log: bool, pad: float) -> Axis:
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
    return Axis(low - room, high + room, log)


def drawing(panel: Panel, styles: Mapping[str, int]) -> str:
    """Return a panel as SVG.

    Args:
        panel: what to draw.
        styles: the number of the style of each label (`style_numbers`).

    Example:
        >>> import numpy as np
        >>> curve = Curve("UCB1", np.array([1, 2]), np.array([0.5, 1.0]))
        >>> picture = drawing(Panel("p", "round t", "regret", (curve,)), {"UCB1": 0})
        >>> "round t: 2" in picture, "regret: 0.5" in picture
        (True, True)
    """
    across, up = x_axis(panel), y_axis(panel)
    left = 12 + _DIGIT * max((len(up.tick_text(tick)) for tick in up.ticks()), default=0)
    wide, tall = WIDTH - left - _RIGHT, HEIGHT - _TOP - _BOTTOM
    curves = "".join(_curve(curve, panel, styles[curve.label], (across, up), (wide, tall)) for curve in panel.curves)
    # The inner picture cuts off what lies outside the axes.
    inside = f'<svg x="{left}" y="{_TOP}" width="{wide}" height="{tall}">{curves}</svg>'
    below = HEIGHT - _BOTTOM
    words = [
        *_ticks(across, up, left, wide, tall),
        f'<path class="axes" d="M{left} {_TOP}V{below}H{WIDTH - _RIGHT}"/>',
        f'<text x="{left}" y="{_TOP - 12}">{escape(panel.y_label)}</text>',
        f'<text x="{left + wide / 2:g}" y="{HEIGHT - 6}" text-anchor="middle">{escape(panel.x_label)}</text>',
    ]
    box = f'viewBox="0 0 {WIDTH} {HEIGHT}" font-size="{FONT}"'
    return f'<svg class="drawing" {box} role="img" aria-label="{escape(panel_text(panel))}">{"".join(words)}{inside}</svg>'


def _ticks(across: Axis, up: Axis, left: int, wide: int, tall: int) -> Iterator[str]:
    """Yield the lines of the grid and the numbers at both axes."""
    below = _TOP + tall
    for tick, share in zip(up.ticks(), up.shares(np.array(up.ticks())), strict=True):
        y = below - share * tall
        yield f'<path class="grid" d="M{left} {y:.1f}h{wide}"/>'
        yield f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{up.tick_text(tick)}</text>'
    for tick, share in zip(across.ticks(), across.shares(np.array(across.ticks())), strict=True):
        x = left + share * wide
        yield f'<path class="grid" d="M{x:.1f} {_TOP}v{tall}"/>'
        yield f'<text x="{x:.1f}" y="{below + 16}" text-anchor="middle">{across.tick_text(tick)}</text>'


def _curve(curve: Curve, panel: Panel, style: int, axes: tuple[Axis, Axis], size: tuple[int, int]) -> str:
    """Return a line with its band, or points with their error bars, and the tooltips."""
    across, up = axes
    wide, tall = size
    x = across.shares(curve.x.astype(float)) * wide

    def down(values: Floats) -> Floats:
        return tall - up.shares(values) * tall

    y = down(curve.y)
    shown = [k for k in range(len(x)) if np.isfinite(x[k]) and np.isfinite(y[k])]
    parts = []
    if curve.low is not None and curve.high is not None:
        low, high = np.where(np.isnan(down(curve.low)), tall, down(curve.low)), down(curve.high)  # below a logarithmic axis
        ends = [k for k in shown if np.isfinite(high[k])]
        if curve.points:
            bars = "".join(f"M{x[k] - 3:.1f} {low[k]:.1f}h6m-3 0V{high[k]:.1f}m-3 0h6" for k in ends)
            parts.append(f'<path class="bar" d="{bars}"/>')
        elif ends:
            edge = [(x[k], high[k]) for k in ends] + [(x[k], low[k]) for k in reversed(ends)]
            parts.append(f'<path class="band" d="M{"L".join(f"{a:.1f} {b:.1f}" for a, b in edge)}z"/>')
    line = "".join(f"{'L' if k - 1 in shown else 'M'}{x[k]:.1f} {y[k]:.1f}" for k in shown)
    parts.append(f'<path class="line" d="{line}" stroke-width="{LINE_WIDTH:g}"{dash_lengths(style)}/>')
    if curve.points or len(shown) == 1:
        outline = SYMBOLS[curve_style(style).marker][1]
        parts += [f'<path class="marker" d="{outline}" transform="translate({x[k]:.1f} {y[k]:.1f})"/>' for k in shown]
    name = f"{curve.label}\n" if len(panel.curves) > 1 else ""
    parts += [
        f'<circle class="point" cx="{x[k]:.1f}" cy="{y[k]:.1f}" r="{_REACH}"><title>'
        + escape(f"{name}{panel.x_label}: {curve.x[k]:,.4g}\n{panel.y_label}: {value_text(curve, k)}")
        + "</title></circle>"
        for k in shown
    ]
    return f'<g style="--curve:var(--c{style % len(COLOURS)})">{"".join(parts)}</g>'
