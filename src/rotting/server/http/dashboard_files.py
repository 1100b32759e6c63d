"""The files of the dashboard. They are part of the package and load nothing from other hosts."""

from importlib import resources
from typing import NamedTuple

_CONTENT_TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": _POLICY,
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
}
"""Headers of every file. They tell the browser to run and load nothing but these files."""


class DashboardFile(NamedTuple):
    """A file and its content type."""

    content_type: str
    content: bytes


def _files() -> dict[str, DashboardFile]:
    found = {}
    for file in resources.files("rotting.server.http").joinpath("dashboard").iterdir():
        for ending, content_type in _CONTENT_TYPES.items():
            if file.name.endswith(ending):
                path = "/" if file.name == "index.html" else f"/dashboard/{file.name}"
                found[path] = DashboardFile(content_type, file.read_bytes())
    return found


FILES = _files()
"""The files, by path."""
