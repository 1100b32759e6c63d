"""The site in its quick form: built without a warning, with links that lead somewhere, and nothing from other hosts."""

import html
import json
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from docs import make_site
from docs.site import links, recordings
from docs.site.order import PLAN
from tests.helpers import blocks
from tests.helpers.browsers import chromium, colours, overflow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page, Request

PAGES = make_site.DOCS / "pages"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "site"
    assert make_site.build(folder, quick=True) == 0, "Sphinx warned: see above"
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> list[Path]:
    return [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]


def test_the_build_finds_links_that_lead_nowhere_or_to_others(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<a href="b.html#x">b</a> <a href="https://example.org">c</a> <img src="d.png">')
    (tmp_path / "b.html").write_text('<h1 id="x">b</h1> <a href="a.html">a</a> <a href="b.html#x">here</a>')
    (tmp_path / "d.png").write_bytes(b"")
    assert links.problems(tmp_path) == []
    (tmp_path / "b.html").write_text('<h1 id="y">b</h1> <a href="e.html">e</a> <script src="//example.org/f.js"></script>')
    (tmp_path / "g.css").write_text("@import 'https://example.org/h.css'; p { background: url(//example.org/i.png) }")
    assert links.problems(tmp_path) == [
        "a.html: b.html#x leads nowhere",
        "b.html: e.html leads nowhere",
        "b.html: //example.org/f.js is loaded from another host",
        "g.css: https://example.org/h.css is loaded from another host",
        "g.css: //example.org/i.png is loaded from another host",
    ]


def test_a_build_with_such_a_link_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(make_site, "gather", lambda folder: None)
    monkeypatch.setattr(recordings, "write", lambda path, quick: None)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess((), 0))
    site = tmp_path / "site"
    site.mkdir()
    assert make_site.build(site) == 0
    (site / "a.html").write_text('<a href="b.html">b</a>')
    assert make_site.build(site) == 1


def test_every_section_is_there(pages: list[Path], site: Path) -> None:
    built = {path.relative_to(site).as_posix() for path in pages}
    expected = {f"{path.parent.name}/{path.stem}.html" for path in PAGES.rglob("*.py")}
    expected |= {
        "index.html",
        "paper.html",
        "policies.html",
        "benchmarks.html",
        "scrub.html",
        "api/index.html",
        "guides/index.html",
    }
    assert expected <= built
    assert {f"{path.stem}" for each in ("tutorials", "concepts") for path in (PAGES / each).glob("*.py")} == set(PLAN)


def highlighted(page: str) -> list[str]:
    """The blocks of code of a page as readers see them, but for what a block printed."""
    found = re.findall(r'<div class="([^"]*)"><div class="highlight"><pre>(.*?)</pre>', page, re.DOTALL)
    return [html.unescape(re.sub(r"<[^>]+>", "", text)) for kind, text in found if "script-out" not in kind]


def squeezed(code: str) -> str:
    """Code without what Sphinx takes out of doctests, and without space."""
    return "".join(re.sub(r"# doctest: .*|<BLANKLINE>", "", code).split())


def test_every_block_is_run(pages: list[Path], site: Path) -> None:
    """No page of the built site has a block that `tests/docs/test_blocks.py` does not know."""
    known = {squeezed(each.text) for page in blocks.pages() for each in blocks.blocks(page)}
    unknown, shown = [], 0
    for path in pages:
        if "_modules" in path.parts:
            continue
        for text in highlighted(path.read_text("utf-8")):
            shown += 1
            block = blocks.Block(path.stem, "", text.strip())
            is_docstring = path.parent.name == "generated" and (block.is_doctest or block.run_by is not None)
            if not is_docstring and squeezed(text) not in known:
                unknown.append(f"{path.relative_to(site)}: {text}")
    assert unknown == []
    assert shown > len(known)


def test_tutorials_can_be_downloaded_as_notebooks(site: Path) -> None:
    names = {path.name for path in (site / "_downloads").rglob("*.ipynb")}
    assert {f"{path.stem}.ipynb" for path in (PAGES / "tutorials").glob("*.py")} <= names


def test_the_pictures_of_the_gallery_have_short_code() -> None:
    for path in (PAGES / "gallery").glob("*.py"):
        code = path.read_text("utf-8").split('"""', 2)[2]
        lines = [line for line in code.splitlines() if line.strip()]
        assert len(lines) <= 20, path.name


def test_each_step_to_add_your_own_has_short_code() -> None:
    steps = ("import math", "from typing import NamedTuple", "from rotting.kit import power")
    codes = [blocks.block("docs/pages/tutorials/your_own.py", each) for each in steps]
    assert max(sum(1 for line in code.splitlines() if line.strip()) for code in codes) <= 30


def test_the_files_named_beside_the_paper_are_links(site: Path) -> None:
    built = (site / "paper.html").read_text("utf-8")
    named = re.findall(r"`((?:\w+/)+\w+)\.py`", (make_site.DOCS / "paper.md").read_text("utf-8"))
    assert len(named) > 50
    assert [name for name in named if f'<a href="_modules/rotting/{name}.html">' not in built] == []


@pytest.mark.parametrize("name", make_site.SETTINGS)
def test_pages_run_again_when_the_settings_changed(name: str, tmp_path: Path) -> None:
    make_site.gather(tmp_path)
    done = tmp_path / "tutorials" / "news.rst"
    done.parent.mkdir()
    done.write_text("what was made of the page")
    make_site.gather(tmp_path)
    assert done.exists()
    (tmp_path / name).write_text("other settings")
    make_site.gather(tmp_path)
    assert not done.exists()
    assert (tmp_path / name).read_bytes() == (make_site.DOCS / name).read_bytes()


# --- in a browser -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    with chromium() as found:
        yield found


@pytest.fixture
def page(browser: "Browser") -> "Iterator[Page]":
    """A page that asks no other host for anything."""
    opened, foreign = browser.new_page(viewport={"width": 1280, "height": 900}), []

    def note(request: "Request") -> None:
        if not request.url.startswith(("file:", "data:")):
            foreign.append(request.url)

    opened.on("request", note)
    yield opened
    opened.close()
    assert foreign == []


@pytest.mark.parametrize("name", ["index", "tutorials/simulate_and_compare", "gallery/index", "api/generated/rotting.RAWUCB"])
def test_pages_ask_nobody(name: str, page: "Page", site: Path) -> None:
    page.goto((site / f"{name}.html").as_uri())
    assert page.locator("h1").first.is_visible()


def test_the_search_works_from_disk(page: "Page", site: Path) -> None:
    page.goto((site / "search.html").as_uri() + "?q=hull")
    page.wait_for_selector("#search-results li a")
    assert page.locator("#search-results li").count() > 2


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_game_is_scrubbed_with_the_keyboard(scheme: str, page: "Page", site: Path) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto((site / "scrub.html").as_uri())
    back, text = colours(page)
    assert (back > text) == (scheme == "light")
    slider = page.locator("#scrub input[type=range]")
    slider.focus()
    before = int(slider.input_value())
    page.keyboard.press("ArrowRight")
    assert int(slider.input_value()) == before + 1
    page.locator("h1").first.click()
    page.keyboard.press("ArrowLeft")
    assert int(slider.input_value()) == before
    assert page.url.endswith("scrub.html")
    assert page.locator("#scrub svg").count() == 4


def test_the_game_shows_what_was_recorded(page: "Page", site: Path) -> None:
    text = (site / "_static" / "recordings.js").read_text("utf-8")
    games = json.loads(text.removeprefix("window.RECORDINGS=").rstrip().removesuffix(";"))
    assert games == recordings.games(quick=True)
    page.goto((site / "scrub.html").as_uri())
    for k, game in enumerate(games):
        page.locator("#scrub select").first.select_option(str(k))
        for number, run in enumerate(game["runs"]):
            page.locator("#scrub select").nth(1).select_option(str(number))
            for t in (1, len(run["arm"]) // 2, len(run["arm"])):
                page.locator("#scrub input[type=range]").fill(str(t))
                arm = run["arm"][t - 1]
                assert page.locator("#scrub tr.pulled th").inner_text() == f"arm {arm}"
                assert f"arm {arm} is pulled" in page.locator(".scrub-why").inner_text()
                cells = page.locator("#scrub tr.pulled td").all_inner_texts()
                assert cells[0] == str(run["arm"][: t - 1].count(arm))
                assert cells[3] == str(run["window"][arm][t - 1])


def test_controls_of_the_game_fit_a_narrow_screen(page: "Page", site: Path) -> None:
    page.set_viewport_size({"width": 380, "height": 800})
    page.goto((site / "scrub.html").as_uri())
    ends = "[...document.querySelectorAll('.scrub-controls *')].map(each => each.getBoundingClientRect().right)"
    assert max(page.evaluate(ends)) <= 380


@pytest.mark.parametrize("name", ["index", "scrub", "gallery/index", "paper"])
def test_narrow_screens_need_not_scroll_sideways(name: str, page: "Page", site: Path) -> None:
    page.set_viewport_size({"width": 380, "height": 800})
    page.goto((site / f"{name}.html").as_uri())
    assert overflow(page) <= 0
