"""HTML for notebooks: text, tables, small drawings.

Colours and fonts are those of the page, so that the HTML fits light and dark pages. All text is escaped. There are no scripts,
and nothing is loaded.
"""

import html
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from rotting.common.display import svg
from rotting.common.display.figures import Panel
from rotting.common.short_numbers import first_of

MAX_CURVES = 8  # curves in a drawing, each in another colour; a ninth is drawn if it is the last, in another line style
_WIDTH, _HEIGHT = 380, 180  # of a drawing, in pixels
_FAINT = "opacity: 0.75; font-size: 0.9em"


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


def table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1, escape: Callable[[str], str] = html.escape
) -> str:
    """Return a table of texts; the first columns are aligned to the left, the others to the right.

    Args:
        heads: of the columns.
        rows: the cells.
        left: the number of columns that are aligned to the left.
        escape: `str` if the texts are HTML already.

    Example:
        >>> table(["x"], [["<1>"]]).partition("<tbody>")[2]
        '<tr><td style="text-align: left; padding: 0.1em 0.7em">&lt;1&gt;</td></tr></tbody></table>'
    """

    def line(tag: str, cells: Sequence[str]) -> str:
        sides = ["left" if k < left else "right" for k in range(len(cells))]
        return "".join(
            f'<{tag} style="text-align: {side}; padding: 0.1em 0.7em">{escape(cell)}</{tag}>'
            for side, cell in zip(sides, cells, strict=True)
        )

    body = "".join(f"<tr>{line('td', cells)}</tr>" for cells in rows)
    return f"<table><thead><tr>{line('th', heads)}</tr></thead><tbody>{body}</tbody></table>"


def drawing(panel: Panel) -> str:
    """Return a small picture of the first eight curves, or of nine, with labels, as SVG; empty if there is nothing to draw.

    Example:
        >>> from rotting.common.display.figures import Curve
        >>> panel = Panel("", "round t", "regret", (Curve("UCB1", np.arange(3), np.arange(3.0)),))
        >>> drawing(panel).count('class="line"'), "UCB1" in drawing(panel)
        (1, True)
        >>> drawing(Panel("", "round t", "regret", ()))
        ''
    """
    first = first_of(panel.curves, MAX_CURVES)
    shown = tuple(curve for curve in first if np.isfinite(curve.y).any())
    if not shown:
        return ""
    styles = {curve.label: k for k, curve in enumerate(shown)}
    more = f"and {len(panel.curves) - len(first)} more" if len(panel.curves) > len(first) else ""
    picture = svg.drawing(replace(panel, curves=shown), styles, _WIDTH, _HEIGHT, tooltips=False)
    below = svg.legend(styles, [curve.label for curve in shown if curve.points], more)
    return f'<div style="max-width: {_WIDTH}px">{picture}{below}</div>'
