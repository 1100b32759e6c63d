"""The HTML document: one self-contained file, with its styles, scripts and a list of contents."""

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from importlib import resources

from rotting.common.curve_styles import COLOURS
from rotting.errors import MissingExtraError

# The same hues for a dark page: lighter, and white instead of black.
DARK_COLOURS = ("#4A9FE8", "#FF7F3A", "#22C795", "#E59BC6", "#F4F4F4", "#F2B134", "#9AD7FA", "#9C9C9C")


def document(title: str, header: str, links: Sequence[tuple[str, str]], parts: Sequence[str], scripts: Sequence[str]) -> str:
    """Return a page that opens from a file: it loads nothing.

    Args:
        title: of the window.
        header: HTML, above the list of contents.
        links: the id and the title of each part that the list of contents names.
        parts: HTML of the parts.
        scripts: the names of the script files of this package that the page needs. They draw with Plotly, which is several
            megabytes; a page without scripts does not contain it.
    """
    sources = [_script(source) for source in (_plotly(), *map(_own, scripts))] if scripts else []
    body = [
        '<a class="skip" href="#main">Skip to the content</a>',
        header,
        _contents(links),
        '<main id="main">',
        *parts,
        "</main>",
        *(f"<script>{source}</script>" for source in sources),
    ]
    head = [
        '<meta charset="utf-8">',
        # Only these scripts may run, and nothing is fetched, whatever the text contains.
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(sources)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{escape(title)}</title>",
        '<link rel="icon" href="data:,">',
        f"<style>{_colours()}{_own('style.css')}</style>",
    ]
    lines = ["<!DOCTYPE html>", '<html lang="en-GB">', "<head>", *head, "</head>", "<body>", *body, "</body>", "</html>"]
    return "\n".join(lines) + "\n"


def _contents(links: Sequence[tuple[str, str]]) -> str:
    items = "".join(f'<li><a href="#{escape(name)}">{escape(title)}</a></li>' for name, title in links)
    return f'<nav aria-labelledby="contents"><p id="contents" class="nav-head">Contents</p><ol>{items}</ol></nav>'


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("the report needs Plotly: pip install 'rotting[report]'") from error
    source: str = get_plotlyjs()
    return source


def _own(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")


def _script(source: str) -> str:
    """Return a script as it is put into the page: it cannot close its element, and has the line ends that browsers hash."""
    return source.replace("\r\n", "\n").replace("\r", "\n").replace("</script", "<\\/script")


def _policy(scripts: Sequence[str]) -> str:
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:"


def _colours() -> str:
    """Return the colours of the curves as CSS variables for the script, which does not know the colour scheme."""
    light, dark = ("".join(f"--c{k}:{colour};" for k, colour in enumerate(colours)) for colours in (COLOURS, DARK_COLOURS))
    return f":root{{{light}}}@media screen and (prefers-color-scheme:dark){{:root:not(.printing){{{dark}}}}}\n"
