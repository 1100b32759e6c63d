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
from tests.helpers.sections import ABOUT, EVIL, LABELS, plain_sections

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[3]
FIRST = "#rested-test-regret"
# The names of the curves in each panel of the first figure, as Plotly has them.
SHOWN = f"[...document.querySelectorAll('{FIRST} .plot')].map(p => p.data.filter(d => d.hoverinfo === 'text').map(d => d.name))"
SCALES = f"[...document.querySelectorAll('{FIRST} .plot')].map(p => [p.layout.xaxis.type, p.layout.yaxis.type])"
PRESSED = f"[...document.querySelectorAll('{FIRST} .legend button')].map(b => b.getAttribute('aria-pressed') === 'true')"
AS_SHOWN = [list(LABELS[:3]), list(LABELS), list(LABELS)]
AS_SCALED = [["log", "log"], ["linear", "linear"], ["linear", "linear"]]
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
    """Open the report, every figure drawn; whatever it complains of or asks for fails the test."""
    troubles: list[str] = []
    pages = []

    def opened(width: int = WIDE, **settings: Any) -> "Page":
        page = browser.new_page(viewport={"width": width, "height": HEIGHT}, **settings)
        pages.append(page)
        page.on("console", lambda message: troubles.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("request", lambda request: check_url(request.url))
        page.goto(path.as_uri())
        for plot in page.locator(".plot").all():
            plot.scroll_into_view_if_needed()
            plot.locator("svg.main-svg").first.wait_for()
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


@pytest.fixture(scope="module")
def shared_page(browser: "Browser", path: Path) -> "Iterator[Page]":
    with opening(browser, path) as opened:
        yield opened()


@pytest.fixture
def wide_page(shared_page: "Page") -> "Iterator[Page]":
    """A page of several tests, as each must leave it: to draw all figures takes longer than to look at them."""
    yield shared_page
    shared_page.mouse.move(0, 0)
    assert shared_page.evaluate(SHOWN) == AS_SHOWN
    assert shared_page.evaluate(SCALES) == AS_SCALED
    assert shared_page.evaluate(PRESSED) == [True] * 5


def test_it_loads_without_a_word_or_a_request(open_page: Open) -> None:
    page = open_page()
    assert page.title() == ABOUT.title
    assert page.evaluate(SHOWN) == AS_SHOWN
    assert page.evaluate("window.escaped") is None
    assert EVIL in page.locator("#evil h2").inner_text()
    # Plotly reads some HTML in its texts: it must show ours as it is.
    assert EVIL in (page.locator("#evil .xtitle").first.text_content() or "").replace("\N{NO-BREAK SPACE}", " ")
    assert page.evaluate("document.querySelectorAll('.plot a').length") == 0


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


def test_a_click_in_the_legend_hides_a_curve_in_every_panel(wide_page: "Page") -> None:
    page = wide_page
    entry = page.locator(f"{FIRST} .legend button", has_text="FEWA 4")
    entry.click()
    assert page.evaluate(SHOWN) == [[label for label in labels if label != "FEWA 4"] for labels in (LABELS[:3], LABELS, LABELS)]
    assert page.evaluate(PRESSED) == [label != "FEWA 4" for label in LABELS]
    entry.click()
    assert page.evaluate(SHOWN) == AS_SHOWN


def test_a_double_click_shows_a_curve_alone_and_another_shows_all(wide_page: "Page") -> None:
    page = wide_page
    entry = page.locator(f"{FIRST} .legend button", has_text="UCB1")
    entry.dblclick()
    assert page.evaluate(SHOWN) == [[], ["UCB1"], ["UCB1"]]
    # Alone it is no longer outside.
    assert page.evaluate(f"document.querySelectorAll('{FIRST} .plot')[1].layout.yaxis.range[1]") > 158
    entry.dblclick()
    assert page.evaluate(SHOWN) == AS_SHOWN
    assert page.evaluate(f"document.querySelectorAll('{FIRST} .plot')[1].layout.yaxis.range") == [0, 100]


def test_the_legend_works_from_the_keyboard(open_page: Open) -> None:
    page = open_page()
    page.locator(f"{FIRST} .legend button", has_text="GLR-UCB").focus()
    page.keyboard.press("Enter")
    assert page.evaluate(PRESSED) == [True, True, False, True, True]
    page.keyboard.press("Space")
    assert page.evaluate(PRESSED) == [True] * 5
    page.keyboard.press("Shift+Enter")
    assert page.evaluate(PRESSED) == [False, False, True, False, False]
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Exp3.S"


def test_buttons_change_the_axes_and_reset_brings_them_back(wide_page: "Page") -> None:
    page = wide_page
    assert page.evaluate(SCALES) == AS_SCALED
    page.locator(f"{FIRST} [data-axis=x][data-log='1']").click()
    assert page.evaluate(SCALES) == [["log", "log"], ["log", "linear"], ["log", "linear"]]
    assert page.locator(f"{FIRST} [data-axis=x][data-log='1']").get_attribute("aria-pressed") == "true"
    page.locator(f"{FIRST} [data-axis=y][data-log='1']").click()
    assert page.evaluate(SCALES) == [["log", "log"]] * 3
    page.locator(f"{FIRST} [data-axis=y][data-log='0']").click()
    assert page.evaluate(SCALES) == [["log", "linear"]] * 3
    page.locator(f"{FIRST} .legend button").first.click()
    page.locator(f"{FIRST} .reset").click()
    assert page.evaluate(SCALES) == AS_SCALED
    assert page.evaluate(PRESSED) == [True] * 5
    # Without a positive value a logarithmic axis would be empty.
    page.locator("#evil [data-axis=y][data-log='1']").click()
    assert page.evaluate("document.querySelector('#evil .plot').layout.yaxis.type") == "linear"


def test_the_buttons_show_the_state_of_the_axes(wide_page: "Page") -> None:
    page = wide_page

    def states(axis: str) -> tuple[list[str | None], bool]:
        pressed = [each.get_attribute("aria-pressed") for each in page.locator(f"{FIRST} [data-axis={axis}]").all()]
        return pressed, page.locator(f"{FIRST} .scale:has([data-axis={axis}])").get_by_text("differs by panel").is_visible()

    mixed = ["false", "false"], True  # one panel is logarithmic, two are linear
    assert states("x") == mixed
    page.locator(f"{FIRST} [data-axis=x][data-log='0']").click()
    assert states("x") == (["true", "false"], False)
    assert states("y") == mixed
    page.locator(f"{FIRST} [data-axis=y][data-log='1']").click()
    assert states("y") == (["false", "true"], False)
    page.locator(f"{FIRST} .reset").click()
    assert states("x") == mixed


def test_a_click_on_a_verdict_shows_its_claims_alone(open_page: Open) -> None:
    page = open_page()
    rows = page.locator(".ledger tbody tr:not(.group)")
    assert [row.is_visible() for row in rows.all()] == [True] * 4
    undecided = page.locator("[data-verdict=undecided]")
    undecided.click()
    assert [row.is_visible() for row in rows.all()] == [False, True, False, False]
    assert undecided.get_attribute("aria-pressed") == "true"
    page.locator("[data-verdict=not-comparable]").click()
    assert [row.is_visible() for row in rows.all()] == [False, False, False, True]
    assert undecided.get_attribute("aria-pressed") == "false"
    page.evaluate("dispatchEvent(new Event('beforeprint'))")  # paper has no buttons
    assert [row.is_visible() for row in rows.all()] == [True] * 4


def test_the_first_panel_of_the_opening_figure_is_large(open_page: Open) -> None:
    page = open_page(1280)
    first, second, third = (plot.bounding_box() for plot in page.locator(f"{FIRST} .plot").all())
    assert first is not None
    assert second is not None
    assert third is not None
    assert first["width"] > 850
    assert first["height"] > 400
    assert second["y"] == pytest.approx(third["y"], abs=1)
    assert min(second["width"], third["width"]) > 400


def test_pointing_at_a_curve_shows_its_value_and_interval(wide_page: "Page") -> None:
    page = wide_page
    plot = page.locator(f"{FIRST} .plot").nth(2)
    plot.scroll_into_view_if_needed()
    where = plot.bounding_box()
    assert where is not None
    pixel = "(axis, value) => axis._offset + axis.d2p(value)"
    x, y = plot.evaluate(f"p => [({pixel})(p._fullLayout.xaxis, 500), ({pixel})(p._fullLayout.yaxis, 2 * Math.sqrt(500))]")
    page.mouse.move(where["x"] + x, where["y"] + y)
    label = plot.locator(".hovertext")
    label.wait_for()
    words = label.text_content() or ""
    assert "FEWA 4" in words
    assert "round t: 500" in words
    assert "regret: 44.721 [35.777, 58.138]" in words


@pytest.mark.parametrize("width", [320, 800])  # others open pages that are narrower and wider
def test_no_window_scrolls_sideways(open_page: Open, width: int) -> None:
    page = open_page(width)
    assert overflow(page) == 0
    for plot in page.locator(".plot").all():
        box, drawn = plot.bounding_box(), plot.locator("svg.main-svg").first.bounding_box()
        assert box is not None
        assert drawn is not None
        assert drawn["width"] == pytest.approx(box["width"], abs=1)
        assert box["width"] > 200


def test_figures_follow_the_window(open_page: Open) -> None:
    page = open_page()
    _, *tops = [box["y"] for plot in page.locator(f"{FIRST} .plot").all() if (box := plot.bounding_box())]
    assert max(tops) - min(tops) < 1  # side by side
    page.set_viewport_size({"width": NARROW, "height": HEIGHT})
    page.wait_for_function(f"() => document.querySelector('{FIRST} .plot').layout.width < 380")
    tops = [box["y"] for plot in page.locator(f"{FIRST} .plot").all() if (box := plot.bounding_box())]
    assert min(later - earlier for earlier, later in itertools.pairwise(tops)) > 150  # one below the other
    assert overflow(page) == 0


def test_light_and_dark_follow_the_system(open_page: Open) -> None:
    line = f"document.querySelectorAll('{FIRST} .plot')[1].data.find(d => d.name === 'UCB1').line.color"
    page = open_page(color_scheme="light")
    back, text = colours(page)
    assert back > 240
    assert text < 60
    assert page.evaluate(line).upper() == "#000000"
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"() => ({line}).toUpperCase() !== '#000000'")
    back, text = colours(page)
    assert back < 40
    assert text > 200
    assert page.evaluate(line).upper() == "#F4F4F4"  # black would vanish


def test_it_prints_light_and_whole(open_page: Open) -> None:
    page = open_page(color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert colours(page)[0] > 240
    assert page.evaluate("Math.max(...[...document.querySelectorAll('.plot')].map(p => p.layout.width))") <= 660
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert colours(page)[0] < 40
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
