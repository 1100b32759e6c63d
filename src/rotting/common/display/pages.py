"""HTML pages: one self-contained file with its styles, a list of contents, and how it was made.

`plain_page` returns a page of text, tables and pictures; the report of experiments puts its own parts into a `document`. Text
is escaped here, where it enters the page.
"""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from html import escape
from importlib import metadata, resources

from rotting.common.display.figures import COLOURS, Figure
from rotting.common.display.svg import drawing, sample
from rotting.common.display.tables import FormattedTable
from rotting.common.version import __version__

# The colours of curves for a dark page: the same hues, lighter, and white instead of black.
DARK_COLOURS = ("#4A9FE8", "#FF7F3A", "#22C795", "#E59BC6", "#F4F4F4", "#F2B134", "#9AD7FA", "#9C9C9C")
PAPER = "(paper)"  # in a column's head: its numbers are the paper's
LONG = 32  # cells with more characters may be wrapped
CURVES = 40  # of a figure, which a reader can hide: as many as have a look of their own
CONTENT_POLICY = "default-src 'none'; script-src 'none'; style-src 'unsafe-inline'; img-src data:"
MADE = ("made", "How this was made")
"""The id and the title of the part that `colophon` returns."""


@dataclass(frozen=True)
class About:
    """The title of a page, and how it was made.

    Args:
        title: of the page.
        paragraphs: plain text below the title.
        seed: of everything that was drawn.
        date: when the page was made; with a time zone.
        seconds: how long making it took.
        versions: of the software, by name; `versions()` returns those of this process.
        machine: the machine that made it; `machine()` describes this one.
    """

    title: str
    paragraphs: tuple[str, ...]
    seed: int
    date: datetime
    seconds: float
    versions: Mapping[str, str]
    machine: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class PlainSection:
    """A section of a plain page: its notes and paragraphs, then its tables, then its figures.

    Args:
        id: unique on the page.
        title: one line.
        paragraphs: plain text.
        figures: in their order.
        tables: by name.
        notes: plain text that stands out.
    """

    id: str
    title: str
    paragraphs: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: Mapping[str, FormattedTable] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def plain_page(sections: Sequence[PlainSection], about: About, facts: Mapping[str, str], text: str) -> str:
    """Return the HTML of a page for readers who want the answer: the headline, then the sections.

    It has no files and no scripts, and is small enough to be mailed. The same arguments give the same text.

    Args:
        sections: in the order of the page.
        about: the title, the headline as paragraphs, and how the page was made.
        facts: more facts about how the page was made.
        text: the text below these facts.
    """
    links = [*((section.id, section.title) for section in sections), MADE]
    parts = [*map(_plain_section, sections), colophon(about, facts, text)]
    headline = f'<div class="headline">{paragraphs(about.paragraphs)}</div>'
    header = f"<header><h1>{escape(about.title)}</h1>{made_line(about)}{headline}</header>"
    return document(about.title, header, links, parts)


def _plain_section(section: PlainSection) -> str:
    body = [
        notes(section.notes),
        paragraphs(section.paragraphs),
        *(table_element(section.id, name, table) for name, table in section.tables.items()),
        *(drawn_figure(section.id, figure) for figure in section.figures),
    ]
    return f'<section id="{escape(section.id)}"><h2>{escape(section.title)}</h2>{"".join(body)}</section>'


# --- The document ----------------------------------------------------------------------------------------------------------


def document(title: str, header: str, links: Sequence[tuple[str, str]], parts: Sequence[str]) -> str:
    """Return a page that opens from a file: it loads nothing and runs no script.

    Args:
        title: of the window.
        header: HTML, above the list of contents.
        links: the id and the title of each part that the list of contents names.
        parts: HTML of the parts.
    """
    body = [
        '<a class="skip" href="#main">Skip to the content</a>',
        header,
        _contents(links),
        '<main id="main">',
        *parts,
        "</main>",
    ]
    style = resources.files(__package__).joinpath("style.css").read_text("utf-8")
    head = [
        '<meta charset="utf-8">',
        # No script may run, and nothing is fetched, whatever the text contains.
        f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{escape(title)}</title>",
        '<link rel="icon" href="data:,">',
        f"<style>{_colours()}{style}</style>",
    ]
    lines = ["<!DOCTYPE html>", '<html lang="en-GB">', "<head>", *head, "</head>", "<body>", *body, "</body>", "</html>"]
    return "\n".join(lines) + "\n"


def _contents(links: Sequence[tuple[str, str]]) -> str:
    items = "".join(f'<li><a href="#{escape(name)}">{escape(title)}</a></li>' for name, title in links)
    return f'<nav aria-labelledby="contents"><p id="contents" class="nav-head">Contents</p><ol>{items}</ol></nav>'


def _colours() -> str:
    """Return the colours of the curves as CSS variables, and the rules by which a box in a legend hides its curves."""
    light, dark = ("".join(f"--c{k}:{colour};" for k, colour in enumerate(colours)) for colours in (COLOURS, DARK_COLOURS))
    hidden = "".join(f".chart:has(.hides{k}:not(:checked)) .curve{k}{{display:none}}" for k in range(CURVES))
    return f":root{{{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n{hidden}\n"


# --- Text ------------------------------------------------------------------------------------------------------------------


def paragraphs(texts: Sequence[str]) -> str:
    """Return texts as paragraphs."""
    return "".join(f"<p>{escape(text)}</p>" for text in texts)


def notes(texts: Sequence[str]) -> str:
    """Return texts as notes that stand out."""
    return "".join(f'<p class="note" role="note"><strong>Note.</strong> {escape(text)}</p>' for text in texts)


def breakable(text: str) -> str:
    """Return a number and its interval as HTML; a line can break only between them."""
    estimate, bracket, ends = text.partition(" [")
    parts = [estimate, f"[{ends}"] if bracket else [estimate]
    return " ".join(f'<span class="number">{escape(part)}</span>' for part in parts)


# --- Figures and tables ----------------------------------------------------------------------------------------------------


PANEL_WIDTHS = {1: 640, 2: 500, 3: 400}  # pixels of a panel, by the number of columns; text keeps its size if they are shown
NARROWEST = 330  # pixels of a panel if there are more columns
OPENING = 860, 430  # the pixels of the first panel of a figure that a page begins with


def drawn_figure(section: str, figure: Figure, below: str = "", opens: bool = False) -> str:
    """Return a figure: its title, a legend unless all curves have one label, its panels and its caption.

    Args:
        section: the id of its section.
        figure: what to draw.
        below: HTML below the caption.
        opens: whether the page begins with it; its first panel is then larger than the others.
    """
    name, level = escape(f"{section}-{figure.name}"), 2 if opens else 3
    columns = 2 if opens else max(1, min(figure.columns, len(figure.panels)))
    width = PANEL_WIDTHS.get(columns, NARROWEST)
    sizes = [OPENING if opens and k == 0 else (width, round(0.7 * width)) for k in range(len(figure.panels))]
    panels = "".join(
        f'<div class="panel"><h{level + 1}>{escape(panel.title)}</h{level + 1}>'
        + (f'<p class="panel-note">{escape(panel.note)}</p>' if panel.note else "")
        + f"{drawing(panel, figure.styles, *size)}</div>"
        for panel, size in zip(figure.panels, sizes, strict=True)
    )
    return (
        f'<figure class="chart" id="{name}" aria-labelledby="{name}-title">'
        f'<h{level} id="{name}-title">{escape(figure.title)}</h{level}>{_legend(figure)}'
        f'<div class="panels" style="--columns:{columns}">{panels}</div>'
        f'<figcaption>{escape(figure.caption)}<span class="hint"> Point at a curve for its values.</span></figcaption>'
        f"{below}</figure>"
    )


def _legend(figure: Figure) -> str:
    """Return the legend: for each label a sample of its curve, and a box that hides it."""
    if len(figure.labels) < 2:
        return ""
    groups = []
    for family in figure.families:
        entries = [
            f'<label><input type="checkbox" class="hides{figure.styles[label]}" checked>'
            f"{sample(figure.styles[label], label in figure.marked)}<span>{escape(label)}</span></label>"
            for label in family
        ]
        groups.append(f'<div class="family">{"".join(entries)}</div>')
    return f'<div class="legend" role="group" aria-label="Curves shown">{"".join(groups)}</div>'


def table_element(section: str, name: str, table: FormattedTable, files: str = "") -> str:
    """Return a table; its first line is its heading.

    Args:
        section: the id of its section.
        name: of the table, which is the heading of a table without lines.
        table: what to write.
        files: HTML below the table: links to its files.
    """
    label = escape(f"{section}-{name}-lines")
    first, *others = table.lines or (name.replace("-", " "),)
    more = "".join(f"<p>{escape(line)}</p>" for line in others)
    paper = (
        '<p class="paper-key">Columns in <span class="paper">slanted shaded figures</span> are the numbers the paper prints; '
        "all others were computed here.</p>"
        if any(PAPER in column.head for column in table.columns)
        else ""
    )
    below = "".join(f"<p>{escape(note)}</p>" for note in table.footnotes)
    head = "".join(
        f'<th scope="col"{_class(**_kinds(table, k))}>{escape(each.head)}</th>' for k, each in enumerate(table.columns)
    )
    rows = "".join(f"<tr>{''.join(_cell(table, k, row) for k in range(len(table.columns)))}</tr>" for row in table.rows)
    return (
        f'<div class="table" id="{escape(f"{section}-{name}")}"><h3 id="{label}">{escape(first)}</h3>{more}'
        f'<div class="scroll" role="region" aria-labelledby="{label}" tabindex="0"><table aria-labelledby="{label}">'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        f"{below}{paper}{files}</div>"
    )


def _class(**has: bool) -> str:
    names = " ".join(name for name, given in has.items() if given)
    return f' class="{names}"' if names else ""


def _kinds(table: FormattedTable, k: int) -> dict[str, bool]:
    """Return the classes of the cells in column k. The style sheet aligns the first column to the left without a class."""
    return {"paper": PAPER in table.columns[k].head, "left": 0 < k < table.left}


def _cell(table: FormattedTable, k: int, row: Mapping[str, object]) -> str:
    text = table.columns[k].write(dict(row))
    is_interval = " [" in text and text.endswith("]")
    attribute = _class(**_kinds(table, k), interval=is_interval, long=not is_interval and len(text) > LONG)
    shown = breakable(text) if is_interval else escape(text)
    if table.columns[k].bold(dict(row)):
        shown = f"<strong>{shown}</strong>"
    return f"<td{attribute}>{shown}</td>" if k else f'<th scope="row"{attribute}>{shown}</th>'


# --- How a page was made ---------------------------------------------------------------------------------------------------


def versions() -> dict[str, str]:
    """Return the versions of rotting, Python, NumPy and Numba.

    Example:
        >>> list(versions())
        ['rotting', 'Python', 'NumPy', 'Numba']
    """
    return {
        "rotting": __version__,
        "Python": platform.python_version(),
        "NumPy": metadata.version("numpy"),
        "Numba": metadata.version("numba"),
    }


def day_text(day: date) -> str:
    """Return a day in words.

    Example:
        >>> day_text(date(2026, 11, 7))
        '7 November 2026'
    """
    return f"{day.day} {day:%B %Y}"


def made_line(about: About, *more: str) -> str:
    """Return the line below the title: when a page was made, more facts, how long it took, and the seed."""
    when = f'<time datetime="{about.date.isoformat()}">{escape(_date_text(about))}</time>'
    facts = [f"made on {when}", *more, duration_text(about.seconds), f"seed {about.seed}"]
    return f'<p class="meta">{" · ".join(facts)}</p>'


def _date_text(about: About) -> str:
    return f"{day_text(about.date)}, {about.date:%H:%M} {about.date:%Z}".strip()


def duration_text(seconds: float) -> str:
    """Return a duration as text.

    Example:
        >>> duration_text(4.21), duration_text(75), duration_text(3723)
        ('4.2 s', '1 min 15 s', '1 h 2 min')
    """
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def colophon(about: About, more: Mapping[str, str], text: str) -> str:
    """Return how a page was made: what `about` says, more facts, and a text below them."""
    facts = {
        **about.versions,
        **{name.capitalize(): value for name, value in about.machine.items()},
        "Seed": str(about.seed),
        "Made on": _date_text(about),
        "Time it took": duration_text(about.seconds),
        **more,
    }
    rows = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts.items())
    return f'<section id="{MADE[0]}"><h2>{MADE[1]}</h2><dl>{rows}</dl>{paragraphs([text])}</section>'
