"""HTML for notebooks: text, tables, small drawings.

Colours and fonts are those of the page, so that the HTML fits light and dark pages. All text is escaped. There are no scripts,
and nothing is loaded.
"""

import html
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.curve_styles import COLOURS, STYLES
from rotting.common.short_numbers import first_of

MAX_CURVES = 8  # curves in a drawing, each in another colour; a ninth is drawn if it is the last, in another line style
_WIDTH, _HEIGHT = 380, 150  # of a drawing, in pixels
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 8, 22, 18  # room for the words at the axes
_POINTS = 200  # of a curve: one for two pixels
_INK = "currentColor"
_FAINT = "opacity: 0.75; font-size: 0.9em"


class Line(NamedTuple):
    """A curve of a drawing, with gaps where it is NaN."""

    label: str
    x: Floats | Ints
    y: Floats


def block(title: str, *parts: str, note: str = "") -> str:
    """Return a block with a title, a note below it, and parts, which are HTML.

    Example:
        >>> block("a < b", "<p>1</p>")
        '<div style="line-height: 1.4"><div><strong>a &lt; b</strong></div><p>1</p></div>'
    """
    below = f'<div style="{_FAINT}">{html.escape(note)}</div>' if note else ""
    return f'<div style="line-height: 1.4"><div><strong>{html.escape(title)}</strong></div>{below}{"".join(parts)}</div>'


def row(*parts: str) -> str:
    """Return HTML parts side by side, wrapped if there is no room."""
    return f'<div style="display: flex; flex-wrap: wrap; gap: 0.3em 1.5em; align-items: flex-start">{"".join(parts)}</div>'


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """Return a table of texts; the first columns are aligned to the left, the others to the right.

    Example:
        >>> table(["x"], [["<1>"]]).partition("<tbody>")[2]
        '<tr><td style="text-align: left; padding: 0.1em 0.7em">&lt;1&gt;</td></tr></tbody></table>'
    """

    def line(tag: str, cells: Sequence[str]) -> str:
        sides = ["left" if k < left else "right" for k in range(len(cells))]
        return "".join(
            f'<{tag} style="text-align: {side}; padding: 0.1em 0.7em">{html.escape(cell)}</{tag}>'
            for side, cell in zip(sides, cells, strict=True)
        )

    body = "".join(f"<tr>{line('td', cells)}</tr>" for cells in rows)
    return f"<table><thead><tr>{line('th', heads)}</tr></thead><tbody>{body}</tbody></table>"


def drawing(lines: Sequence[Line], x_label: str, y_label: str) -> str:
    """Return a small picture of the first eight curves, or of nine, with labels, as SVG; empty if there is nothing to draw.

    Example:
        >>> picture = drawing([Line("UCB1", np.arange(3), np.arange(3.0))], "round t", "regret")
        >>> picture.count("<path"), "UCB1" in picture
        (3, True)
        >>> drawing([], "round t", "regret")
        ''
    """
    first = first_of(lines, MAX_CURVES)
    shown = [line for line in first if np.isfinite(line.y).any()]
    if not shown:
        return ""
    values = np.concatenate([line.y[np.isfinite(line.y)] for line in shown])
    ends = np.concatenate([line.x[[0, -1]] for line in shown])
    x0, x1, low, high = float(ends.min()), float(ends.max()), float(values.min()), float(values.max())
    low, high = (min(low, 0.0), high) if 0 <= low <= high / 2 else (low, high)  # zero, if it is near
    wide, tall = (x1 - x0) or 1.0, (high - low) or 1.0

    def across(x: Floats) -> Floats:
        return _LEFT + (np.asarray(x, float) - x0) / wide * (_WIDTH - _LEFT - _RIGHT)

    def down(y: Floats) -> Floats:
        return _HEIGHT - _BOTTOM - (y - low) / tall * (_HEIGHT - _TOP - _BOTTOM)

    marks = sorted({low, high, *([0.0] if low < 0 < high else [])})
    axes = f"M{_LEFT} {_TOP}V{_HEIGHT - _BOTTOM}H{_WIDTH - _RIGHT}"
    parts = [f'<path d="{axes}" fill="none" stroke="{_INK}" stroke-opacity="0.5"/>']
    if low < 0 < high:
        zero = float(down(np.zeros(1))[0])
        parts.append(f'<path d="M{_LEFT} {zero:.1f}H{_WIDTH - _RIGHT}" stroke="{_INK}" stroke-opacity="0.25"/>')
    numbers = [(float(down(np.array([each]))[0]) + 4, each) for each in marks]
    parts += [_text(_LEFT - 5, y, _number(each), "end") for y, each in _without_overlaps(numbers)]
    below = _HEIGHT - _BOTTOM + 13
    parts += [_text(_LEFT, below, _number(x0), "start"), _text(_WIDTH - _RIGHT, below, _number(x1), "end")]
    parts += [_text((_LEFT + _WIDTH - _RIGHT) / 2, below, x_label, "middle"), _text(_LEFT, 11, y_label, "start")]
    parts += [f'<path d="{_path(line, across, down)}" {_stroke(k)} stroke-width="1.6"/>' for k, line in enumerate(shown)]
    size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    named = html.escape(f"{y_label} over {x_label}: {', '.join(line.label for line in shown)}")
    look = 'style="max-width: 100%; height: auto" font-size="11"'
    picture = f'<svg {size} role="img" aria-label="{named}" {look}>{"".join(parts)}</svg>'
    more = [f"and {len(lines) - len(first)} more"] if len(lines) > len(first) else []
    return f"<div>{picture}{_legend([line.label for line in shown], more)}</div>"


def _legend(labels: Sequence[str], more: Sequence[str]) -> str:
    """Return the legend: each label after a sample of its curve."""
    pieces = [
        f'<svg width="26" height="8"><path d="M1 4H25" {_stroke(k)} stroke-width="2"/></svg> {html.escape(label)}'
        for k, label in enumerate(labels)
    ]
    words = [f'<span style="white-space: nowrap; margin-right: 1em">{each}</span>' for each in [*pieces, *more]]
    return f'<div style="{_FAINT}; max-width: {_WIDTH}px">{" ".join(words)}</div>'


def _stroke(k: int) -> str:
    colour, style = COLOURS[k % len(COLOURS)], STYLES[k % len(STYLES)]
    dashes = "" if isinstance(style, str) else f' stroke-dasharray="{" ".join(f"{1.6 * each:g}" for each in style[1])}"'
    return f'fill="none" stroke="{_INK if colour == "#000000" else colour}"{dashes}'  # black would vanish on a dark page


def _path(line: Line, across: Callable[[Floats], Floats], down: Callable[[Floats], Floats]) -> str:
    keep = np.unique(np.linspace(0, len(line.x) - 1, min(len(line.x), _POINTS)).round().astype(int))
    x, y = across(np.asarray(line.x)[keep]), down(np.asarray(line.y, float)[keep])
    words, lifted = [], True
    for place, height in zip(x, y, strict=True):
        if np.isfinite(height):
            words.append(f"{'M' if lifted else 'L'}{place:.1f} {height:.1f}")
        lifted = not np.isfinite(height)
    return "".join(words)


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" fill="{_INK}">{html.escape(text)}</text>'


def _without_overlaps(numbers: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the numbers at an axis without those that would overlap; the first and the last are kept."""
    kept = [numbers[0]]
    for k, label in enumerate(numbers[1:], 2):
        if kept[-1][0] - label[0] >= 12:
            kept.append(label)
        elif k == len(numbers) and len(kept) > 1:
            kept[-1] = label
    return kept


def _number(value: float) -> str:
    whole = abs(value) < 1e9 and (abs(value) >= 1_000 or value == round(value))
    return f"{value:,.0f}" if whole else f"{value:.3g}"
