"""Values over two parameters as colours."""

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rotting.common.arrays import Floats
from rotting.common.curve_styles import COLOURS
from rotting.common.short_numbers import short_texts
from rotting.display.pictures import (
    FONT_SIZES,
    INCH,
    SUBDUED,
    check_new_file,
    draw_top,
    new_picture,
    points,
    text_height,
    wrapped,
    write_picture,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

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
    hatched: NDArray[np.bool_] | None = None,
    note: str = "",
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
        hatched: the values `[y, x]` to hatch, which the note explains.
        note: small print below the title.

    Example:
        >>> picture = plot_heat(("L", [0.1, 1.0]), ("alpha", [0.5, 1.4]), np.array([[1.0, 2.0], [1.5, 1.0]]), "regret", "one")
        >>> picture.axes[0].get_xlabel()
        'L'
        >>> import matplotlib.pyplot
        >>> matplotlib.pyplot.close("all")
    """
    if path is not None:
        path = check_new_file(path)
    rows, columns = values.shape
    width, height = max(4.6, min(12.0, 2.2 + 0.62 * columns)), max(2.6, min(10.0, 1.3 + 0.42 * rows))
    head, below = wrapped(title, width - 0.4, FONT_SIZES.title, bold=True), wrapped(note, width - 0.4, FONT_SIZES.small)
    top = text_height(head, FONT_SIZES.title) + text_height(below, FONT_SIZES.small) + 12
    height += top / INCH
    picture = new_picture(path is None, width, height)
    from matplotlib.patches import Rectangle  # noqa: PLC0415 - an extra, which `new_picture` has found

    draw_top(picture, head, below, FONT_SIZES, top)
    ax = picture.add_subplot()
    image = ax.imshow(values, origin="lower", aspect="auto", cmap="cividis")
    picture.colorbar(image, ax=ax, label=wrapped(label, 0.7 * (height - top / INCH), points("medium")))
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
    for row, column in np.argwhere(hatched) if hatched is not None else ():
        ax.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, hatch="///", edgecolor=SUBDUED, linewidth=0))
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
