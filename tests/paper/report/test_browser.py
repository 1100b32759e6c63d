"""The report in a real browser: a headless Chromium, driven by Playwright.

Where there is none these tests are skipped; with CI=true in the environment that is a failure.
"""

import itertools
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rotting.common.display.pages import PlainSection, plain_page
from rotting.logs.diagnosis import ArmTrend, Diagnosis
from rotting.logs.log import Log
from tests.helpers.browsers import CHROMIUMS, chromium, colours, overflow
from tests.helpers.sections import ABOUT, EVIL, plain_sections

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[3]
FIRST = "#rested-test-regret"
NARROW, WIDE, HEIGHT = 380, 1600, 900

Open = Callable[..., "Page"]


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    with chromium() as found:
        yield found


@pytest.mark.parametrize("installed", [*CHROMIUMS, None])
def test_ci_installs_a_browser_only_where_these_tests_find_none(installed: str | None, tmp_path: Path) -> None:
    # The script with nothing on its path but what it calls; what would change the machine, or take long, only says so.
    for name in ("bash", "dirname", "id"):
        (tmp_path / name).symlink_to(shutil.which(name) or pytest.fail(name))
    for name in ("apt-get", "make", "sudo", *filter(None, [installed])):
        (tmp_path / name).write_text(f'#!/bin/sh\necho {name} "$@" >> "$SAID"\n', "utf-8")
        (tmp_path / name).chmod(0o755)
    output = tmp_path / "said"
    subprocess.run([tmp_path / "bash", ROOT / ".ci" / "run"], env={"PATH": str(tmp_path), "SAID": str(output)}, check=True)
    *before, first, last = output.read_text("utf-8").splitlines()
    assert (first, last) == ("make test", "make test-all")
    assert any("install" in line and "chromium" in line for line in before) == (installed is None)


@pytest.fixture(scope="module")
def path(folder: Path) -> Path:
    return folder / "report.html"


@contextmanager
def opening(browser: "Browser", path: Path) -> Iterator[Open]:
    """Open the report; whatever it complains of or asks for fails the test."""
    troubles: list[str] = []
    pages = []

    def opened(width: int = WIDE, **settings: Any) -> "Page":
        page = browser.new_page(viewport={"width": width, "height": HEIGHT}, **settings)
        pages.append(page)
        page.on("console", lambda message: troubles.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("request", lambda request: check_url(request.url))
        page.goto(path.as_uri())
        return page

    def check_url(url: str) -> None:
        if url != path.as_uri() and not url.startswith(("data:", "blob:")):
            troubles.append(f"request: {url}")

    yield opened
    for page in pages:
        page.close()
    assert troubles == []


@pytest.fixture
def open_page(browser: "Browser", path: Path) -> Iterator[Open]:
    with opening(browser, path) as opened:
        yield opened


def test_it_loads_without_a_word_or_a_request(open_page: Open) -> None:
    page = open_page()
    assert page.title() == ABOUT.title
    assert page.evaluate("window.escaped") is None
    assert EVIL in page.locator("#evil h2").inner_text()
    assert EVIL in (page.locator("#evil svg.drawing").first.text_content() or "")


def test_a_request_is_noticed_and_stopped(browser: "Browser", path: Path, tmp_path: Path) -> None:
    leaky = tmp_path / "leaky.html"
    leak = '<img src="http://127.0.0.1:9/pixel.png"></body>'
    leaky.write_text(path.read_text("utf-8").replace("</body>", leak), "utf-8")
    page = browser.new_page()
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.goto(leaky.as_uri())
    page.close()
    assert any("Content Security Policy" in message for message in messages)


def shown_curves(page: "Page") -> list[int]:
    """Return how many curves each panel of the first figure shows."""
    panels = page.locator(f"{FIRST} svg.drawing").all()
    return [sum(each.is_visible() for each in panel.locator(".line").all()) for panel in panels]


def test_a_click_in_the_legend_hides_a_curve_in_every_panel(open_page: Open) -> None:
    page = open_page()
    assert shown_curves(page) == [3, 5, 5]
    page.locator(f"{FIRST} .legend label", has_text="FEWA 4").click()
    assert shown_curves(page) == [2, 4, 4]
    page.locator(f"{FIRST} .legend input").last.focus()  # UCB1
    page.keyboard.press("Space")
    assert shown_curves(page) == [2, 3, 3]
    page.locator(f"{FIRST} .legend label", has_text="FEWA 4").click()
    assert shown_curves(page) == [3, 4, 4]


def test_a_click_on_a_verdict_shows_its_claims_alone(open_page: Open) -> None:
    page = open_page()
    rows = page.locator(".ledger tbody tr:not(.group)")

    def shown() -> list[bool]:
        return [row.is_visible() for row in rows.all()]

    assert shown() == [True] * 4
    page.locator(".tiles .undecided").click()
    assert shown() == [False, True, False, False]
    assert page.locator(".ledger thead").is_visible()
    page.keyboard.press("ArrowRight")
    assert shown() == [False, False, False, True]
    page.emulate_media(media="print")  # paper has no tiles to click
    assert shown() == [True] * 4
    page.emulate_media(media="screen")
    page.locator(".tiles .all").click()
    assert shown() == [True] * 4


def test_the_first_panel_of_the_opening_figure_is_large(open_page: Open) -> None:
    page = open_page(1280)
    first, second, third = (plot.bounding_box() for plot in page.locator(f"{FIRST} svg.drawing").all())
    assert first is not None
    assert second is not None
    assert third is not None
    assert first["width"] > 850
    assert first["height"] > 400
    assert second["y"] == pytest.approx(third["y"], abs=1)
    assert min(second["width"], third["width"]) > 400


@pytest.mark.parametrize("width", [320, 800])  # others open pages that are narrower and wider
def test_no_window_scrolls_sideways(open_page: Open, width: int) -> None:
    page = open_page(width)
    assert overflow(page) == 0
    for picture in page.locator("svg.drawing").all():
        box = picture.bounding_box()
        assert box is not None
        assert box["width"] > 200


def test_figures_follow_the_window(open_page: Open) -> None:
    page = open_page()

    def tops() -> list[float]:
        return [box["y"] for each in page.locator(f"{FIRST} svg.drawing").all() if (box := each.bounding_box())]

    _, second, third = tops()
    assert second == third  # side by side
    page.set_viewport_size({"width": NARROW, "height": HEIGHT})
    assert min(later - earlier for earlier, later in itertools.pairwise(tops())) > 150  # one below the other
    assert overflow(page) == 0


def test_light_and_dark_follow_the_system_and_paper_is_light(open_page: Open) -> None:
    page = open_page(color_scheme="light")
    back, text = colours(page)
    assert back > 240
    assert text < 60
    page.emulate_media(color_scheme="dark")
    back, text = colours(page)
    assert back < 40
    assert text > 200
    page.emulate_media(color_scheme="dark", media="print")
    assert colours(page)[0] > 240
    assert page.pdf(format="A4").startswith(b"%PDF")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_plain_page_fits_a_phone_in_the_light_and_in_the_dark(browser: "Browser", tmp_path: Path, scheme: str) -> None:
    path = tmp_path / "plain.html"
    path.write_text(plain_page(plain_sections(), ABOUT, {"File": "clicks.csv"}, "The end."), "utf-8")
    with opening(browser, path) as opened:
        page = opened(NARROW, color_scheme=scheme)
        assert overflow(page) == 0
        back, text = colours(page)
        assert (back < text) == (scheme == "dark")
        for picture in page.locator("svg.drawing").all():
            box = picture.bounding_box()
            assert box is not None
            assert box["width"] == pytest.approx(NARROW - 32, abs=1)
        line = page.locator(f"{FIRST} svg.drawing").nth(1).locator(".line").last  # of UCB1, which is black on a light page
        shown = {"light": "rgb(0, 0, 0)", "dark": "rgb(244, 244, 244)"}[scheme]
        assert line.evaluate("each => getComputedStyle(each).stroke") == shown


def test_a_phone_shows_the_change_of_an_arm_without_scrolling(browser: "Browser", tmp_path: Path) -> None:
    trends = [
        ArmTrend("banner_of_the_summer_sale", 9_001, 0.0623, 0.0037, -0.0795, -0.0376, "wears out"),
        ArmTrend("logo", 3_555, 0.0314, 0.0169, -0.0439, 0.0149, "too few"),
    ]
    table = Diagnosis(Log([("logo", 1.0)]), "cannot tell", "", tuple(trends), 1.0, (), (), 2, False).table()
    path = tmp_path / "plain.html"
    path.write_text(plain_page([PlainSection("wear", "", tables={"arms": table})], ABOUT, {}, ""), "utf-8")
    with opening(browser, path) as opened:
        page = opened(390)
        shown = page.locator(".scroll").bounding_box()
        for row in page.locator(".scroll tbody tr").all():
            box = row.locator("td").nth(1).bounding_box()
            assert shown is not None
            assert box is not None
            assert box["x"] + box["width"] <= shown["x"] + shown["width"]
