"""The files of the dashboard: they are part of the package, and ask no other host for anything."""

from importlib import resources
from typing import NamedTuple

_KINDS = {".html": "text/html; charset=utf-8", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
"""What a browser is told with each of them: to run and load nothing but these files."""


class Page(NamedTuple):
    """A file, and what it is."""

    kind: str
    content: bytes


def _files() -> dict[str, Page]:
    found = {}
    for file in resources.files("rotting.service").joinpath("dashboard").iterdir():
        for ending, kind in _KINDS.items():
            if file.name.endswith(ending):
                path = "/" if file.name == "index.html" else f"/dashboard/{file.name}"
                found[path] = Page(kind, file.read_bytes())
    return found


FILES = _files()
"""Each file, by its path."""
