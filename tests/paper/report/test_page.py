"""The page: text is text, nothing is asked of anybody, all numbers are there, and it can be read."""

import dataclasses
import itertools
import re
from collections.abc import Mapping

import pytest

from rotting.common.display.figures import COLOURS
from rotting.common.display.pages import DARK_COLOURS
from rotting.common.display.tables import Column, FormattedTable, interval_column
from rotting.common.statistics import Interval
from rotting.paper.report.claims import Verdict
from rotting.paper.report.model import Findings, Kind, Section
from rotting.paper.report.page import page
from tests.helpers.html_reader import Reader
from tests.helpers.sections import ABOUT, EVIL, sections, table


def test_text_is_text(reader: Reader) -> None:
    assert reader.open == []
    assert EVIL in "".join(reader.words)
    assert not [name for name, attributes in reader.elements if name == "a" and attributes.get("href") == "x"]
    assert reader.all("script") == []


def test_nothing_is_asked_of_anybody(reader: Reader) -> None:
    policy = next(each["content"] for each in reader.all("meta") if each.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'none'; ")
    for _, attributes in reader.elements:
        assert "src" not in attributes
        assert "onclick" not in attributes
        assert not (attributes.get("href") or "").startswith(("http", "//"))


def test_every_number_of_the_tables_and_every_setting_is_there(reader: Reader) -> None:
    words = "".join(reader.words)
    for column in table().columns:
        assert column.head in words
        for row in table().rows:
            assert column.write(row) in words
    for line in (
        *table().lines,
        '"horizon": 1000',
        "appendix, figure 4",
        "What was done.",
        "These data are synthetic.",
    ):
        assert line in words


def test_claims_are_counted_and_marked_without_colour(reader: Reader) -> None:
    words = " ".join(" ".join(reader.words).split())
    for verdict in Verdict:
        assert f"{verdict.mark} {verdict}" in words
    counts = ("✓ 1 hold", "✗ 1 do not hold", "? 1 undecided", "≠ 1 not comparable")
    for line in (*counts, "other code", "For comparison: 2.5.", "3.90 [3.70, 4.10]", "between 2 and 8", "ratio of regrets"):
        assert line in words


def test_claims_of_each_kind_are_counted_alone() -> None:
    """The tiles of the paper's experiments count neither theorems nor those on other data."""
    first = sections()[0]
    four, *_ = first.findings.claims
    on_drawn = dataclasses.replace(four, id="drawn", synthetic=True)
    made = [
        dataclasses.replace(first, findings=Findings((), claims=(four, on_drawn))),
        *(Section(kind, kind, "", Findings((), claims=(dataclasses.replace(four, id=kind),)), kind=kind) for kind in Kind),
    ]
    written = page(made, ABOUT)
    claims = written[written.index('<section id="claims">') : written.index('<section id="rested-test">')]
    groups = {part.partition("</h3>")[0]: part for part in claims.split('<div class="claims"><h3>')[1:]}
    counts = {title: re.findall(r'<span class="count">(\d+)', part)[:2] for title, part in groups.items()}  # in all, and hold
    assert counts == {
        "Claims of the paper on its experiments": ["2", "2"],
        "The same on synthetic data": ["1", "1"],
        "Theorems of the paper": ["1", "1"],
    }


def test_how_it_was_made(reader: Reader) -> None:
    words = "\n".join(reader.words)
    for fact in ("0.1.0", "3.11.9", "2.4.6", "0.68.1", "A Processor", "Linux", "2 January 2025, 03:04 UTC", "1 h 2 min"):
        assert fact in words
    assert "1,050 of 1,200 games were kept from earlier runs. " in words


def test_a_report_of_its_own_games_says_so() -> None:
    written = page([Section("bare", "Bare", "nowhere", Findings(()))], dataclasses.replace(ABOUT, kept=0))
    assert "All 1,200 games were played for this report." in written
    assert 'role="note"' not in written


def test_an_interval_can_break_only_before_its_bracket() -> None:
    rows = [{"policy": "UCB1", "regret": Interval(1.5, 1.0, 2.0)}]
    columns = (Column("policy", lambda row: str(row["policy"])), interval_column("regret"))
    written = page([Section("bare", "Bare", "nowhere", Findings((), tables={"one": FormattedTable((), columns, rows)}))], ABOUT)
    cell = '<td class="interval"><span class="number">1.5</span> <span class="number">[1.0, 2.0]</span></td>'
    assert cell in written


def test_the_papers_numbers_look_different(reader: Reader) -> None:
    marked = [name for name, attributes in reader.elements if "paper" in (attributes.get("class") or "").split()]
    assert marked.count("td") == len(table().rows)
    assert marked.count("th") == 1


def test_the_page_can_be_heard(reader: Reader) -> None:
    assert reader.all("html") == [{"lang": "en-GB"}]
    levels = [int(name[1]) for name, _ in reader.elements if re.fullmatch(r"h[1-6]", name)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(deeper <= level + 1 for level, deeper in itertools.pairwise(levels))
    assert all(attributes.get("scope") in {"row", "col", "rowgroup"} for attributes in reader.all("th"))
    pictures = [attributes for attributes in reader.all("svg") if attributes.get("class") == "drawing"]
    assert len(pictures) == 6
    for attributes in pictures:
        assert attributes["role"] == "img"
        assert attributes["aria-label"]


def luminance(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, two: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(two)))
    return (lighter + 0.05) / (darker + 0.05)


def variables(text: str, dark: bool) -> Mapping[str, str]:
    light_part, dark_part = text.split("@media screen and (prefers-color-scheme: dark)")[:2]
    part = dark_part.split("}\n}")[0] if dark else light_part[light_part.rindex(":root {") :]
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", part))


@pytest.mark.parametrize("dark", [False, True])
def test_text_and_curves_stand_out(text: str, dark: bool) -> None:
    colours = variables(text[: text.index("</style>")], dark)
    assert len(colours) == 16
    for front, back in (
        *((name, "bg") for name in ("text", "muted", "link")),
        *((name, "raised") for name in ("text", "muted")),
        *((name, f"{name}-bg") for name in ("holds", "fails", "undecided")),
        ("text", "paper-bg"),
        ("text", "note-bg"),
    ):
        assert contrast(colours[front], colours[back]) >= 4.5, (front, back)
    # The palest two of Okabe and Ito's colours have 2.2 on white; on a dark page all have the 3 that is asked of lines.
    for colour in DARK_COLOURS if dark else COLOURS:
        assert contrast(colour, colours["bg"]) >= (3.0 if dark else 2.2)


def test_claims_stand_below_the_title_of_their_section(reader: Reader) -> None:
    groups = [attributes for attributes in reader.all("th") if attributes.get("scope") == "rowgroup"]
    assert len(groups) == 1  # the other section has no claim
    assert [attributes.get("class") for attributes in reader.all("tr")].count("group") == 1
    tiles = [attributes["class"] for attributes in reader.all("li") if "class" in attributes]
    assert tiles == ["all", "holds", "fails", "undecided", "not-comparable"]


def test_the_page_begins_with_the_figure_and_says_where_the_papers_are(text: str) -> None:
    first = text.index('<figure class="chart" id="rested-test-regret"')
    assert text.count('id="rested-test-regret"') == 1
    begins, contents_at, places_at, claims_at = map(
        text.index, ('<div class="opening">', "<nav", '<section id="places">', '<section id="claims">')
    )
    assert begins < first < contents_at < places_at < claims_at
    places = text[places_at:claims_at]
    assert '<th scope="row">figure 4</th><td><a href="#rested-test-regret">Regret on a test</a></td>' in places
    assert '<th scope="row">table 2</th><td><a href="#rested-test-regret-at-horizon">Regret at the horizon</a></td>' in places
    assert 'The figure is <a href="#rested-test-regret">at the top of the page</a>' in text


def test_a_report_without_that_figure_begins_with_the_claims() -> None:
    written = page([Section("bare", "Bare", "nowhere", Findings(()))], ABOUT)
    assert 'class="opening"' not in written
    assert 'id="places"' not in written


def test_settings_are_said_once() -> None:
    one = Section("one", "One", "here", Findings(()), {"runs": 123456})
    two = dataclasses.replace(one, id="two", title="Two")
    written = page([one, two], ABOUT)
    shown = "&quot;runs&quot;: 123456"
    assert written.count(shown) == 1
    assert 'The same as those of <a href="#one">One</a>.' in written
    other = page([one, dataclasses.replace(two, settings={"runs": 123457})], ABOUT)
    assert (other.count(shown), other.count("&quot;runs&quot;: 123457")) == (1, 1)
