"""The page about experiments of a paper: its figures and tables, the claims, and the sections."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape

from rotting.common.display.figures import Figure
from rotting.common.display.pages import (
    MADE,
    breakable,
    colophon,
    document,
    drawn_figure,
    made_line,
    notes,
    paragraphs,
    table_element,
)
from rotting.common.display.tables import FormattedTable
from rotting.common.short_numbers import plural
from rotting.paper.report.claims import COLUMNS, Claim, Verdict, standing, stands
from rotting.paper.report.model import Kind, ReportAbout, Section

CLASSES = {verdict: verdict.name.lower().replace("_", "-") for verdict in Verdict}  # of the style sheet
COUNTED = {**{verdict: verdict.value for verdict in Verdict}, Verdict.HOLDS: "hold", Verdict.FAILS: "do not hold"}

SHOWN = ("words", "quantity", "measured", "region", "marked verdict")  # the columns of the ledger
KINDS = {"csv": "CSV", "md": "Markdown", "png": "PNG", "pdf": "PDF", "json": "JSON"}
TABLE_KINDS = ("csv", "md")
NOT_WITH_HOLM = "Undecided with Holm's correction."


def page(sections: Sequence[Section], about: ReportAbout) -> str:
    """Return the report's HTML. The same arguments give the same text.

    Args:
        sections: in the order of the page.
        about: what the page says about itself.
    """
    parts = [
        _places(sections),
        _claims(sections),
        *(_section(section, sections[:k], about) for k, section in enumerate(sections)),
        _colophon(about),
    ]
    return document(about.title, _header(sections, about), _links(sections), parts)


# --- The parts of the page -----------------------------------------------------------------------------------


def _links(sections: Sequence[Section]) -> list[tuple[str, str]]:
    """Return the entries of the list of contents."""
    return [
        *([("places", "The paper's figures and tables")] if _covered(sections) else []),
        ("claims", "Claims"),
        *((section.id, section.title) for section in sections),
        MADE,
    ]


def _opens(section: Section, about: ReportAbout) -> bool:
    return section.id == about.opening and bool(section.findings.figures)


def _opening(sections: Sequence[Section], about: ReportAbout) -> str:
    """Return the first figure of the opening section, which the page begins with; the section does not repeat it."""
    figures = [_figure(each.id, each.findings.figures[0], opens=True) for each in sections if _opens(each, about)]
    return f'<div class="opening">{"".join(figures)}</div>' if figures else ""


def _covered(sections: Sequence[Section]) -> list[tuple[str, Section, str]]:
    return [(item, section, name) for section in sections for item, name in section.findings.covers.items()]


def _places(sections: Sequence[Section]) -> str:
    """Return a table of the paper's figures and tables, with links to those of this page."""
    rows = []
    for item, section, name in _covered(sections):
        titles = {figure.name: figure.title for figure in section.findings.figures}
        titles |= {each: (table.lines or (each,))[0] for each, table in section.findings.tables.items()}
        link = f'<a href="#{escape(f"{section.id}-{name}")}">{escape(titles[name])}</a>'
        rows.append(f'<tr><th scope="row">{escape(item)}</th><td>{link}</td><td>{escape(section.title)}</td></tr>')
    if not rows:
        return ""
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("in the paper", "here", "section"))
    return (
        '<section id="places"><h2>The paper\'s figures and tables</h2>'
        f'<table class="places"><thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table></section>'
    )


def _header(sections: Sequence[Section], about: ReportAbout) -> str:
    line = made_line(about, plural(len(sections), "experiment"))
    games = notes([about.games_text]) if about.kept else paragraphs([about.games_text])
    words = f"<h1>{escape(about.title)}</h1>{line}{paragraphs(about.paragraphs)}{games}"
    return f"<header>{words}{_opening(sections, about)}</header>"


def _small(text: str) -> str:
    """Return small print, empty for an empty text."""
    return f' <span class="where">{escape(text)}</span>' if text else ""


def _verdict(claim: Claim, stands: bool | None) -> str:
    mark = f'<span aria-hidden="true">{claim.verdict.mark}</span>'
    badge = f'<span class="verdict {CLASSES[claim.verdict]}">{mark}&nbsp;{claim.verdict}</span>'
    holm_mark = NOT_WITH_HOLM if stands is False else ""
    return badge + _small("on synthetic data" if claim.synthetic else "") + _small(claim.reason) + _small(holm_mark)


def _count(verdict: Verdict, count: int) -> str:
    return f"{verdict.mark} {count} {COUNTED[verdict]}".replace(" ", "\N{NO-BREAK SPACE}")


def _claims(sections: Sequence[Section]) -> str:
    """Return the claims: those of the paper on its experiments first, then those that decide less about it."""
    decided = [claim for section in sections for claim in section.findings.claims]
    if not decided:
        return '<section id="claims"><h2>Claims</h2><p>These experiments test no claim of the paper.</p></section>'
    standing_ids = standing(decided)
    groups = "".join(_group(title, words, chosen, standing_ids) for title, words, chosen in _groups(sections))
    return (
        '<section id="claims"><h2>Claims</h2>'
        "<p>What is claimed, what was measured here with its 95 % interval, and for which values we take the claim to "
        "hold, as the paper seldom gives numbers. A claim holds if the whole interval is in that region, and does not hold if "
        "none of it is. Otherwise, or without an interval that can be trusted, it is undecided. A claim is not comparable if "
        "nothing that is measured here could decide it: the reason stands below its verdict.</p>"
        f"<p>{_holm_sentence(decided, standing_ids)} "
        '<span class="hint">Click a verdict to show only its claims.</span></p>'
        f"{groups}{_file_links('claims', TABLE_KINDS)}</section>"
    )


_Chosen = Sequence[tuple[Section, Sequence[Claim]]]
"""Sections, each with some of its claims."""


def _groups(sections: Sequence[Section]) -> Iterator[tuple[str, str, _Chosen]]:
    """Yield groups of claims that are counted together: their title, an explanation, and the claims by section."""

    def chosen(kind: Kind, synthetic: bool) -> _Chosen:
        found = [(each, [claim for claim in each.findings.claims if claim.synthetic == synthetic]) for each in sections]
        return [(section, claims) for section, claims in found if section.kind == kind and claims]

    groups = (
        ("Claims of the paper on its experiments", "", chosen(Kind.EXPERIMENTS, synthetic=False)),
        (
            "The same on synthetic data",
            "The paper's data are not here. These resemble them, and a verdict on them says little about the paper's.",
            chosen(Kind.EXPERIMENTS, synthetic=True),
        ),
        (
            "Theorems of the paper",
            "They are proved: a check can find an error in our code, and hardly where the sides are far apart (see the slack).",
            chosen(Kind.THEOREMS, synthetic=False),
        ),
    )
    yield from (group for group in groups if group[2])


def _group(title: str, words: str, chosen: _Chosen, standing_ids: frozenset[str]) -> str:
    """Return a group of claims: how many there are of each verdict, and a table of them."""
    counts = Counter(claim.verdict for _, claims in chosen for claim in claims)
    name = escape(title.lower().replace(" ", "-"))
    every = f'<li class="all"><label><input type="radio" name="{name}" checked>'
    tiles = f'{every}<span class="count">{counts.total()}</span> in all</label></li>' + "".join(
        f'<li class="{CLASSES[verdict]}"><label><input type="radio" name="{name}">'
        f'<span class="mark" aria-hidden="true">{verdict.mark}</span>'
        f'<span class="count">{counts[verdict]}</span> {COUNTED[verdict]}</label></li>'
        for verdict in Verdict
    )
    row = "".join(f'<th role="columnheader" scope="col">{COLUMNS[name].head}</th>' for name in SHOWN)
    bodies = "".join(_section_claims(section, claims, standing_ids) for section, claims in chosen)
    return (
        f'<div class="claims"><h3>{escape(title)}</h3>{paragraphs([words] if words else [])}<ul class="tiles">{tiles}</ul>'
        # The roles stay valid when a narrow window turns the rows into cards.
        f'<table class="ledger" role="table" aria-label="{escape(title)}"><thead role="rowgroup"><tr role="row">{row}</tr>'
        f"</thead>{bodies}</table></div>"
    )


def _holm_sentence(decided: Sequence[Claim], standing_ids: frozenset[str]) -> str:
    """Return how many of the verdicts stand with Holm's correction."""
    tested = sum(claim.is_tested for claim in decided)
    verdicts = sum(claim.is_decided for claim in decided)
    others = "; the others are marked" if len(standing_ids) < verdicts else ""
    return (
        f"{tested} of the {len(decided)} claims have a 95 % interval, which decides {verdicts} of them. About one interval in "
        "twenty misses the true value. Holm's correction keeps the chance that any verdict is wrong at 5 %: with it, "
        f"{len(standing_ids)} of the {verdicts} verdicts stand{others}."
    )


def _section_claims(section: Section, claims: Sequence[Claim], standing_ids: frozenset[str]) -> str:
    """Return claims of one section, below its title."""
    title = f'<a href="#{escape(section.id)}">{escape(section.title)}</a>'
    head = f'<tr role="row" class="group"><th role="rowheader" scope="rowgroup" colspan="{len(SHOWN)}">{title}</th></tr>'
    rows = "".join(_claim(claim, standing_ids) for claim in claims)
    return f'<tbody role="rowgroup">{head}{rows}</tbody>'


def _claim(claim: Claim, standing_ids: frozenset[str]) -> str:
    cells = {
        COLUMNS["quantity"].head: escape(claim.quantity),
        COLUMNS["measured"].head: breakable(claim.measured),
        COLUMNS["region"].head: f'<span class="number">{escape(claim.region)}</span>',
        COLUMNS["marked verdict"].head: _verdict(claim, stands(claim, standing_ids)) + _small(claim.remark),
    }
    # One element per cell: in a narrow window it stands beside the cell's head, in a grid.
    rest = "".join(f'<td role="cell" data-head="{head}"><div>{cell}</div></td>' for head, cell in cells.items())
    words = f"{escape(claim.words)}{_small(claim.source)}"
    return f'<tr role="row" class="{CLASSES[claim.verdict]}"><th role="rowheader" scope="row">{words}</th>{rest}</tr>'


def _section(section: Section, before: Sequence[Section], about: ReportAbout) -> str:
    found = section.findings
    decided = Counter(claim.verdict for claim in found.claims)
    verdicts = ", ".join(_count(verdict, decided[verdict]) for verdict in Verdict if decided[verdict])
    claims = f' · <a href="#claims">claims: {verdicts}</a>' if verdicts else ""
    figures = found.figures[1:] if _opens(section, about) else found.figures
    body = "".join(
        [
            notes(found.notes),
            paragraphs(found.paragraphs),
            _link_to_opening(section) if _opens(section, about) else "",
            *(_figure(section.id, figure) for figure in figures),
            *(_table(section.id, name, table) for name, table in found.tables.items()),
            _settings(section, before),
        ]
    )
    return (
        f'<section id="{escape(section.id)}"><h2>{escape(section.title)}</h2>'
        f'<p class="meta">{escape(section.reference)}{claims}</p>{body}</section>'
    )


def _figure(section: str, figure: Figure, opens: bool = False) -> str:
    return drawn_figure(section, figure, _file_links(f"{section}/{figure.name}", ("png", "pdf")), opens)


def _table(section: str, name: str, table: FormattedTable) -> str:
    return table_element(section, name, table, _file_links(f"{section}/{name}", TABLE_KINDS))


def _file_links(name: str, kinds: Sequence[str]) -> str:
    """Return links to the files of this name, one for each kind."""
    found = " ".join(f'<a href="{escape(name)}.{kind}">{KINDS[kind]}</a>' for kind in kinds)
    return f'<p class="files">Files: {found}</p>'


def _link_to_opening(section: Section) -> str:
    figure = section.findings.figures[0]
    return f'<p>The figure is <a href="#{escape(f"{section.id}-{figure.name}")}">at the top of the page</a>.</p>'


def _settings(section: Section, before: Sequence[Section]) -> str:
    same = next((each for each in before if each.settings and each.settings == section.settings), None)
    if same is not None:
        shown = f'<p>The same as those of <a href="#{escape(same.id)}">{escape(same.title)}</a>.</p>'
    else:
        shown = f'<pre tabindex="0">{escape(settings_text(section))}</pre>'
    return f"<details><summary>Settings</summary>{shown}{_file_links(f'{section.id}/settings', ('json',))}</details>"


def settings_text(section: Section) -> str:
    """Return the settings of a section as JSON."""
    return json.dumps(section.settings, indent=2, allow_nan=False, ensure_ascii=False)


# --- The end -------------------------------------------------------------------------------------------------


def _colophon(about: ReportAbout) -> str:
    games = {"Games": f"{about.games:,}", "Of them kept from other runs": f"{about.kept:,}"}
    return colophon(
        about,
        games,
        f"{about.games_text} Kept games have the settings, the seed and the code of those that are played, and so "
        "the same regret, wherever and whenever they were played. Times depend on the machine: all on this page were measured "
        "when it was made, on the machine that is named here.",
    )
