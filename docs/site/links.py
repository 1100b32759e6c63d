"""What is wrong with the links of a built site: those that lead nowhere, and what would be loaded from other hosts."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("link", "href"), ("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("object", "data")}


class Links(HTMLParser):
    """The links of a page, what it loads, and the places in it that a link can name."""

    def __init__(self, text: str) -> None:
        """Read the text of a page."""
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag links to, loads or names."""
        for name, value in attrs:
            if value is None:
                continue
            if name in {"id", "name"}:
                self.places.add(value)
            elif (tag, name) in LOADED and ("rel", "canonical") not in attrs:
                self.loads.append(value)
            elif (tag, name) == ("a", "href"):
                self.links.append(value)


def read(site: Path) -> dict[Path, Links]:
    """Return every page of a site with its links."""
    return {path: Links(path.read_text("utf-8")) for path in sorted(site.rglob("*.html")) if "_static" not in path.parts}


def dead(site: Path, pages: dict[Path, Links]) -> list[str]:
    """Return the links to pages, places and files that are not there, each with its page."""
    found = []
    for page, links in pages.items():
        for link in [*links.links, *links.loads]:
            parts = urlsplit(link)
            if parts.scheme or link.startswith("//"):
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            place = unquote(parts.fragment)
            if not target.is_file() or (place and target in pages and place not in pages[target].places):
                found.append(f"{page.relative_to(site)}: {link} leads nowhere")
    return found


def foreign(site: Path, pages: dict[Path, Links]) -> list[str]:
    """Return what pages and styles would load from other hosts."""
    found = [
        f"{page.relative_to(site)}: {link} is loaded from another host"
        for page, links in pages.items()
        for link in links.loads
        if urlsplit(link).netloc
    ]
    for style in site.rglob("*.css"):
        text = style.read_text("utf-8")
        urls = re.findall(r"(?:url\(|@import\s*)[\"']?((?:https?:)?//[^\"')]+)", text)
        found += [f"{style.relative_to(site)}: {url} is loaded from another host" for url in urls]
    return found


def problems(site: Path) -> list[str]:
    """Return all that is wrong, a line each."""
    pages = read(site.resolve())
    return [*dead(site.resolve(), pages), *foreign(site.resolve(), pages)]
