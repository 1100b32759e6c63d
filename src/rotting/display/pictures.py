"""Tools for all pictures: Matplotlib, which is an extra, sizes of text, and new files."""

import io
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rotting.errors import InvalidValueError, MissingExtraError, PathExistsError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

SUBDUED = "#505050"


class FontSizes(NamedTuple):
    """Font sizes, in points."""

    title: float
    text: float
    small: float


FONT_SIZES = FontSizes(11.0, 9.0, 8.0)

GLYPH, LINE = 0.52, 1.35  # the width of an average letter and the height of a line, relative to the font size
INCH = 72.0  # points
SizedText = tuple[str, float]
"""Wrapped text, and its font size in points."""


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


def text_height(text: str, size: float) -> float:
    """Return the height of lines of text, in points."""
    return (text.count("\n") + 1) * LINE * size if text else 0.0


def draw_top(picture: "Picture", title: str, caption: str, fonts: FontSizes, top: float) -> None:
    """Write a title and a caption into the top of a figure, `top` points high, and lay out the rest below it."""
    width, height = picture.get_size_inches()
    # The layout engine keeps room for the legend at the bottom; the top is reserved for the title and the caption.
    below = 1 - top / INCH / height
    picture.set_layout_engine("constrained", rect=(0, 0, 1, below), w_pad=0.08, hspace=0.02, wspace=0.02)
    edge, first, second = 0.06 / width, 4 / INCH / height, (8 + text_height(title, fonts.title)) / INCH / height
    picture.text(edge, 1 - first, title, size=fonts.title, weight="bold", va="top", linespacing=LINE)
    picture.text(edge, 1 - second, caption, size=fonts.small, color=SUBDUED, va="top", linespacing=LINE)


def draw_header(ax: "Axes", title: SizedText, note: SizedText, weight: str = "normal") -> None:
    """Write a title above axes, and a note below it in small print."""
    (words, size), (small_words, small) = title, note
    ax.set_title(words, loc="left", size=size, weight=weight, pad=5 + 1.1 * text_height(small_words, small), linespacing=LINE)
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
