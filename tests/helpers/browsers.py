"""A real browser: a headless Chromium, driven by Playwright. Where there is none, tests are skipped; in CI they fail."""

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.helpers.required import skip_or_fail

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

CHROMIUMS = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def chromium() -> "Iterator[Browser]":
    """Start a browser."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        skip_or_fail("Playwright is not installed")
    path = next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if path is None:
        skip_or_fail(f"no browser: none of {', '.join(CHROMIUMS)} is installed")
    with sync_playwright() as playwright:
        # Its sandbox needs rights that a container does not give; the page is ours.
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


def overflow(page: "Page") -> int:
    """Return by how much a page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def colours(page: "Page") -> tuple[float, float]:
    """Return how light the page's background and its text are, from 0 to 255."""
    light = "(c => c.match(/[\\d.]+/g).slice(0, 3).map(Number).reduce((a, b) => a + b) / 3)"
    style = "getComputedStyle(document.body)"
    back, text = page.evaluate(f"[{light}({style}.backgroundColor), {light}({style}.color)]")
    return float(back), float(text)
