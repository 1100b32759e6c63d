"""Figures of the pages, each twice: for light screens, and for dark ones."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import colors
from matplotlib import pyplot as plt
from matplotlib.artist import Artist
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.typing import ColorType

IMAGE = """
.. image:: /{place}
   :alt: {title}
   :class: sphx-glr-single-img {kind}

"""
INK, PALE = "#14181e", "#ced6dd"  # the theme's background and text, when dark
DPI = 120
LIGHTER = 0.3  # of the way to white


def _is_grey(colour: ColorType) -> bool:
    red, green, blue, _ = colors.to_rgba(colour)
    return max(red, green, blue) - min(red, green, blue) < 0.1


def _turned(colour: ColorType) -> ColorType | tuple[float, ...]:
    """Return a colour for dark screens: of greys, dark ones become pale and pale ones dark; others become a little lighter."""
    rgba = colors.to_rgba(colour)
    if rgba[3] == 0:
        return colour
    if not _is_grey(rgba):
        return (*(each + LIGHTER * (1.0 - each) for each in rgba[:3]), rgba[3])
    ink, pale = colors.to_rgb(INK), colors.to_rgb(PALE)
    light = rgba[0]
    return (*(p + (i - p) * light for i, p in zip(ink, pale, strict=True)), rgba[3])


def _coloured(artist: Artist) -> tuple[str, ...]:
    """Return which colours an artist has."""
    if isinstance(artist, Text):
        return ("color",)
    if isinstance(artist, Line2D):
        return ("color", "markerfacecolor", "markeredgecolor")
    if isinstance(artist, Patch) or (isinstance(artist, Collection) and artist.get_array() is None):
        return ("facecolor", "edgecolor")
    return ()


def darken(figure: Figure) -> None:
    """Turn every grey of a figure, so that it is read on a dark screen."""
    on_colours = {
        text
        for ax in figure.axes
        if ax.images or any(mesh.get_array() is not None for mesh in ax.collections)
        for text in ax.texts
    }
    for each in figure.findobj(Artist):
        if each in on_colours:
            continue
        # All are read before any is set: a marker, or an edge, may have the colour of its line, or of its face.
        found = [(name, getattr(each, f"get_{name}")()) for name in _coloured(each)]
        for name, colour in found:
            if isinstance(each, Collection):
                getattr(each, f"set_{name}")([_turned(one) for one in colour])
            elif colors.to_rgba(colour)[3] > 0:  # set anew, a colour that is not seen would be: with the artist's alpha
                getattr(each, f"set_{name}")(_turned(colour))


def light_and_dark(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any], **_: Any) -> str:
    """Save the open figures, as Sphinx-Gallery asks, and return what shows each in the form that fits the screen."""
    shown = []
    for number in plt.get_fignums():
        figure = plt.figure(number)
        path = Path(next(block_vars["image_path_iterator"]))
        title = figure.get_suptitle() or next((ax.get_title(loc="left") or ax.get_title() for ax in figure.axes), "")
        with mpl.rc_context({"savefig.bbox": "standard"}):
            figure.savefig(path, dpi=DPI)
            darken(figure)
            dark = path.with_name(f"{path.stem}_dark{path.suffix}")
            figure.savefig(dark, dpi=DPI)
        for each, kind in ((path, "only-light"), (dark, "only-dark")):
            place = each.relative_to(gallery_conf["src_dir"]).as_posix()
            shown.append(IMAGE.format(place=place, kind=kind, title=" ".join(title.split()) or path.stem))
    plt.close("all")
    return "\n".join(shown)
