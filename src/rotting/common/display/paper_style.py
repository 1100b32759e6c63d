"""The style of the report's figures for your own: column widths of papers, font sizes, colours, line styles."""

from contextlib import ExitStack
from typing import Any, Self

from rotting.common.display.figures import COLOURS, STYLES
from rotting.common.rules import positive
from rotting.errors import InvalidValueError, MissingExtraError

WIDTHS = {"column": 3.25, "text": 5.5, "page": 6.75}
"""Widths in inches in the usual templates: one of two columns, a page of one column, and a page across two columns."""
_ASPECT = 0.68  # height over width
_CURVES = 40  # before a pair of colour and line style repeats


class Style(dict[str, Any]):
    """Settings of Matplotlib: a dict for `rcParams.update`, and a context manager that applies them."""

    _entered: ExitStack

    def __enter__(self) -> Self:
        from matplotlib import rc_context  # noqa: PLC0415 - an extra

        self._entered = ExitStack()
        self._entered.enter_context(rc_context(dict[Any, Any](self)))
        return self

    def __exit__(self, *error: object) -> None:
        self._entered.close()


def style(width: str | float = "column", height: float | None = None) -> Style:
    """Return the settings of Matplotlib with which the report's figures are drawn, for a figure of this size.

    Use it as a context manager, or for all figures: `matplotlib.rcParams.update(style())`. Curves differ in colour and in line
    style, letters stay text in a PDF, and the file has exactly this width, so that LaTeX can include it without scaling.

    Args:
        width: "column" (3.25 inches, one of two), "text" (5.5, a page of one column), "page" (6.75, across two), or inches.
        height: inches; 0.68 times the width by default.

    Example:
        >>> import rotting
        >>> import matplotlib.pyplot as plt
        >>> result = rotting.simulate(rotting.UCB1(), rotting.problems.two_arms(horizon=50), runs=5)
        >>> with rotting.display.style("column"):
        ...     figure, ax = plt.subplots()
        ...     ax = result.plot(ax=ax, title="")
        >>> figure.get_size_inches().tolist()
        [3.25, 2.21]
        >>> plt.close(figure)
    """
    if isinstance(width, str):
        if width not in WIDTHS:
            known = ", ".join(map(repr, WIDTHS))
            raise InvalidValueError("width", f"be {known} or a number of inches", width)
        width = WIDTHS[width]
    inches = positive("width", width)
    tall = round(_ASPECT * inches, 6) if height is None else positive("height", height)
    try:
        from cycler import cycler  # noqa: PLC0415 - comes with Matplotlib, an extra
    except ImportError as error:
        raise MissingExtraError("style needs Matplotlib: pip install 'rotting[plot]'") from error
    text = 8.0 if inches < 4.5 else 9.0
    looks = [(COLOURS[k % len(COLOURS)], STYLES[k % len(STYLES)]) for k in range(_CURVES)]
    return Style(
        {
            "figure.figsize": [inches, tall],
            "figure.constrained_layout.use": True,
            "figure.dpi": 150,
            "savefig.dpi": 300,
            "font.size": text,
            "axes.titlesize": text,
            "axes.labelsize": text,
            "axes.titlelocation": "left",
            "xtick.labelsize": text - 1,
            "ytick.labelsize": text - 1,
            "legend.fontsize": text - 1,
            "legend.frameon": False,
            "legend.handlelength": 2.4,
            "axes.prop_cycle": cycler(color=[look[0] for look in looks]) + cycler(linestyle=[look[1] for look in looks]),
            "axes.grid": True,
            "axes.axisbelow": True,
            "grid.alpha": 0.25,
            "grid.linewidth": 0.5,
            "axes.linewidth": 0.7,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "lines.linewidth": 1.2,
            "lines.markersize": 3.5,
            "pdf.fonttype": 42,
            "ps.fonttype": 42,
            "svg.hashsalt": "rotting",
        }
    )
