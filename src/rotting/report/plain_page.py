"""A page for readers who want the answer: the headline, then sections of text, tables and pictures.

It has no claims, files or scripts, and is small enough to be mailed.
"""

from collections.abc import Mapping, Sequence
from html import escape

from rotting.report.about import About
from rotting.report.document import document
from rotting.report.elements import MADE, colophon, drawn_figure, made_line, notes, paragraphs, table_element
from rotting.report.model import Section


def plain_page(sections: Sequence[Section], about: About, facts: Mapping[str, str], text: str) -> str:
    """Return the HTML of a page. The same arguments give the same text.

    Args:
        sections: in the order of the page. Claims, covered figures and settings are not shown.
        about: the title, the headline as paragraphs, and how the page was made.
        facts: more facts about how the page was made.
        text: the text below these facts.
    """
    links = [*((section.id, section.title) for section in sections), MADE]
    parts = [*map(_section, sections), colophon(about, facts, text)]
    return document(about.title, _header(about), links, parts, scripts=())


def _header(about: About) -> str:
    headline = f'<div class="headline">{paragraphs(about.paragraphs)}</div>'
    return f"<header><h1>{escape(about.title)}</h1>{made_line(about)}{headline}</header>"


def _section(section: Section) -> str:
    found = section.findings
    body = [
        notes(found.notes),
        paragraphs(found.paragraphs),
        *(table_element(section.id, name, table, plain=True) for name, table in found.tables.items()),
        *(drawn_figure(section.id, figure) for figure in found.figures),
    ]
    return f'<section id="{escape(section.id)}"><h2>{escape(section.title)}</h2>{"".join(body)}</section>'
