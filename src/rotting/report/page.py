"""The HTML page: one self-contained file. Text is escaped here, once, where it enters the page."""

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from types import MappingProxyType

from rotting.common.curve_styles import COLOURS
from rotting.display.figures import Figure
from rotting.display.tables import Column, FormattedTable
from rotting.errors import MissingExtraError
from rotting.report.about import About, day_text
from rotting.report.charts import chart_data, legend, panel_text
from rotting.report.claims import COLUMNS, Claim, Verdict, standing, stands
from rotting.report.model import Section, settings_text
from rotting.report.verdicts import KeptClaim

CLASSES = {verdict: verdict.name.lower().replace("_", "-") for verdict in Verdict}  # of the style sheet and the script
COUNTED = {**{verdict: verdict.value for verdict in Verdict}, Verdict.HOLDS: "hold", Verdict.FAILS: "do not hold"}

# The same hues for a dark page: lighter, and white instead of black.
DARK_COLOURS = ("#4A9FE8", "#FF7F3A", "#22C795", "#E59BC6", "#F4F4F4", "#F2B134", "#9AD7FA", "#9C9C9C")
PAPER = "(paper)"  # in a column's head: its numbers are the paper's
SHOWN = ("words", "quantity", "measured", "region", "marked verdict")  # the columns of the ledger
FULL = "full size"
NOT_WITH_HOLM = "Undecided with Holm's correction."
LONG = 32  # cells with more characters may be wrapped


def page(sections: Sequence[Section], about: About, full: Mapping[str, KeptClaim] = MappingProxyType({})) -> str:
    """Return the report's HTML. The same arguments give the same text.

    Args:
        sections: in the order of the page.
        about: what the page says about itself.
        full: claims of the full-size report, shown beside those of this one.
    """
    scripts = [_script(_plotly()), _script(_own("charts.js")), _script(_own("ledger.js"))]
    body = [
        '<a class="skip" href="#main">Skip to the content</a>',
        _header(sections, about),
        _contents(sections),
        '<main id="main">',
        _places(sections),
        _claims(sections, full),
        *(_section(section, sections[:k], about) for k, section in enumerate(sections)),
        _colophon(about),
        "</main>",
        *(f"<script>{script}</script>" for script in scripts),
    ]
    head = [
        '<meta charset="utf-8">',
        # Only these scripts may run, and nothing is fetched, whatever the text contains.
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(scripts)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{escape(about.title)}</title>",
        '<link rel="icon" href="data:,">',
        f"<style>{_colours()}{_own('style.css')}</style>",
    ]
    lines = ["<!DOCTYPE html>", '<html lang="en-GB">', "<head>", *head, "</head>", "<body>", *body, "</body>", "</html>"]
    return "\n".join(lines) + "\n"


# --- Scripts and styles -----------------------------------------------------------------------------------------


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("the report needs Plotly: pip install 'rotting[report]'") from error
    source: str = get_plotlyjs()
    return source


def _own(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")


def _script(source: str) -> str:
    """Return a script as it is put into the page: it cannot close its element, and has the line ends that browsers hash."""
    return source.replace("\r\n", "\n").replace("\r", "\n").replace("</script", "<\\/script")


def _policy(scripts: Sequence[str]) -> str:
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:"


def _colours() -> str:
    """Return the colours of the curves as CSS variables for the script, which does not know the colour scheme."""
    light, dark = ("".join(f"--c{k}:{colour};" for k, colour in enumerate(colours)) for colours in (COLOURS, DARK_COLOURS))
    return f":root{{{light}}}@media screen and (prefers-color-scheme:dark){{:root:not(.printing){{{dark}}}}}\n"


# --- The parts of the page -----------------------------------------------------------------------------------


def _paragraphs(texts: Sequence[str]) -> str:
    return "".join(f"<p>{escape(text)}</p>" for text in texts)


def _notes(texts: Sequence[str]) -> str:
    return "".join(f'<p class="note" role="note"><strong>Note.</strong> {escape(text)}</p>' for text in texts)


def _contents(sections: Sequence[Section]) -> str:
    links = [
        *([("places", "The paper's figures and tables")] if _covered(sections) else []),
        ("claims", "Claims"),
        *((section.id, section.title) for section in sections),
        ("made", "How this was made"),
    ]
    items = "".join(f'<li><a href="#{escape(name)}">{escape(title)}</a></li>' for name, title in links)
    return f'<nav aria-labelledby="contents"><p id="contents" class="nav-head">Contents</p><ol>{items}</ol></nav>'


def _opens(section: Section, about: About) -> bool:
    return section.id == about.opening and bool(section.findings.figures)


def _opening(sections: Sequence[Section], about: About) -> str:
    """Return the first figure of the opening section, which the page begins with; the section does not repeat it."""
    figures = [_figure(each.id, each.findings.figures[0], level=2) for each in sections if _opens(each, about)]
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


def _header(sections: Sequence[Section], about: About) -> str:
    when = f'<time datetime="{about.date.isoformat()}">{_date(about)}</time>'
    experiments = f"{len(sections)} experiment{'s' if len(sections) != 1 else ''}"
    line = f"made on {when} · {experiments} · {_duration(about.seconds)} · seed {about.seed}"
    games = _notes([about.games_text]) if about.kept else _paragraphs([about.games_text])
    words = f'<h1>{escape(about.title)}</h1><p class="meta">{line}</p>{_paragraphs(about.paragraphs)}{games}'
    return f"<header>{words}{_opening(sections, about)}</header>"


def _date(about: About) -> str:
    return escape(f"{day_text(about.date)}, {about.date:%H:%M} {about.date:%Z}".strip())


def _duration(seconds: float) -> str:
    """Return a duration as text.

    Example:
        >>> _duration(4.21), _duration(75), _duration(3723)
        ('4.2 s', '1 min 15 s', '1 h 2 min')
    """
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _verdict(claim: Claim, stands: bool | None) -> str:
    mark = f'<span aria-hidden="true">{claim.verdict.mark}</span>'
    badge = f'<span class="verdict {CLASSES[claim.verdict]}">{mark}&nbsp;{claim.verdict}</span>'
    holm_mark = NOT_WITH_HOLM if stands is False else ""
    return badge + _small("on synthetic data" if claim.synthetic else "") + _small(claim.reason) + _small(holm_mark)


def _count(verdict: Verdict, count: int) -> str:
    return f"{verdict.mark} {count} {COUNTED[verdict]}".replace(" ", "\N{NO-BREAK SPACE}")


def _claims(sections: Sequence[Section], full: Mapping[str, KeptClaim]) -> str:
    decided = [claim for section in sections for claim in section.findings.claims]
    if not decided:
        return '<section id="claims"><h2>Claims</h2><p>These experiments test no claim of the paper.</p></section>'
    counts = Counter(claim.verdict for claim in decided if not claim.synthetic)
    drawn = Counter(claim.verdict for claim in decided if claim.synthetic)
    tiles = "".join(
        f'<li><button type="button" class="{CLASSES[verdict]}" data-verdict="{CLASSES[verdict]}" aria-pressed="false">'
        f'<span class="mark" aria-hidden="true">{verdict.mark}</span>'
        f'<span class="count">{counts[verdict]}</span> {COUNTED[verdict]}</button></li>'
        for verdict in Verdict
    )
    kept = {claim.id: full[claim.id] for claim in decided if claim.id in full and full[claim.id].is_of(claim)}
    standing_ids = standing(decided)
    heads = [*(COLUMNS[name].head for name in SHOWN), *([FULL] if kept else [])]
    row = "".join(f'<th role="columnheader" scope="col">{head}</th>' for head in heads)
    groups = [section for section in sections if section.findings.claims]
    bodies = "".join(_group(section, len(heads), standing_ids, kept) for section in groups)
    return (
        f'<section id="claims"><h2>Claims</h2><ul class="tiles">{tiles}</ul>'
        "<p>What the paper says, what was measured here with its 95 % interval, and for which values we take the claim to "
        "hold, as the paper seldom gives numbers. A claim holds if the whole interval is in that region, and does not hold if "
        "none of it is. Otherwise, or without an interval that can be trusted, it is undecided. A claim is not comparable if "
        "it was measured on other code than the paper's. The small print gives the thresholds for which the verdict would be "
        f"the same.{_drawn(drawn)}</p>"
        f"<p>{_holm_sentence(decided, standing_ids)}{_full_size_sentence(kept)} "
        '<span class="hint">Click a verdict above to show only its claims; click it again to show all.</span></p>'
        # The roles stay valid when a narrow window turns the rows into cards.
        f'<table class="ledger" role="table" aria-label="Claims"><thead role="rowgroup"><tr role="row">{row}</tr></thead>'
        f"{bodies}</table>{_links('claims', TABLE_KINDS)}</section>"
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


def _full_size_sentence(kept: Mapping[str, KeptClaim]) -> str:
    """Return where the verdicts of the full size come from."""
    if not kept:
        return ""
    reports = dict.fromkeys((each.date, each.commit, each.machine) for each in kept.values())
    made = "; ".join(f"{day_text(day)}, commit {commit or 'unknown'}, on {machine}" for day, commit, machine in reports)
    return (
        f" The last column has the verdicts of the full-size report. They are stored in the library, and were not computed for "
        f"this page: {escape(made)}."
    )


def _group(section: Section, columns: int, standing_ids: frozenset[str], kept: Mapping[str, KeptClaim]) -> str:
    """Return the claims of one section, below its title."""
    title = f'<a href="#{escape(section.id)}">{escape(section.title)}</a>'
    head = f'<tr role="row" class="group"><th role="rowheader" scope="rowgroup" colspan="{columns}">{title}</th></tr>'
    rows = "".join(_claim(claim, standing_ids, kept) for claim in section.findings.claims)
    return f'<tbody role="rowgroup">{head}{rows}</tbody>'


def _drawn(counts: Mapping[Verdict, int]) -> str:
    """Return a sentence about the claims on synthetic data, which are not in the counts."""
    if not counts:
        return ""
    verdicts = ", ".join(_count(verdict, counts[verdict]) for verdict in Verdict if counts[verdict])
    return f" Not counted above, as they were measured on synthetic data: {verdicts}."


def _breakable(text: str) -> str:
    """Return a number and its interval as HTML; a line can break only between them."""
    estimate, bracket, ends = text.partition(" [")
    parts = [estimate, f"[{ends}"] if bracket else [estimate]
    return " ".join(f'<span class="number">{escape(part)}</span>' for part in parts)


def _small(text: str) -> str:
    return f' <span class="where">{escape(text)}</span>' if text else ""


def _claim(claim: Claim, standing_ids: frozenset[str], kept: Mapping[str, KeptClaim]) -> str:
    cells = {
        COLUMNS["quantity"].head: escape(claim.quantity),
        COLUMNS["measured"].head: _breakable(claim.measured),
        COLUMNS["region"].head: f'<span class="number">{escape(claim.region)}</span>{_small(claim.leeway_text)}',
        COLUMNS["marked verdict"].head: _verdict(claim, stands(claim, standing_ids)) + _small(claim.remark),
    }
    if kept:
        cells[FULL] = _kept(kept[claim.id], claim) if claim.id in kept else "not in the full-size report"
    # One element per cell: in a narrow window it stands beside the cell's head, in a grid.
    rest = "".join(f'<td role="cell" data-head="{head}"><div>{cell}</div></td>' for head, cell in cells.items())
    words = f"{escape(claim.words)}{_small(claim.source)}"
    return f'<tr role="row" class="{CLASSES[claim.verdict]}"><th role="rowheader" scope="row">{words}</th>{rest}</tr>'


def _kept(kept: KeptClaim, claim: Claim) -> str:
    """Return a verdict of the full size, with the measured quantity if this report measured another."""
    other = f"measured: {kept.claim.quantity}" if kept.claim.quantity != claim.quantity else ""
    return f"<div>{_breakable(kept.claim.measured)}</div>{_verdict(kept.claim, kept.stands)}{_small(other)}"


def _section(section: Section, before: Sequence[Section], about: About) -> str:
    found = section.findings
    decided = Counter(claim.verdict for claim in found.claims)
    verdicts = ", ".join(_count(verdict, decided[verdict]) for verdict in Verdict if decided[verdict])
    claims = f' · <a href="#claims">claims: {verdicts}</a>' if verdicts else ""
    figures = found.figures[1:] if _opens(section, about) else found.figures
    body = "".join(
        [
            _notes(found.notes),
            _paragraphs(found.paragraphs),
            _link_to_opening(section) if _opens(section, about) else "",
            *(_figure(section.id, figure) for figure in figures),
            *(_table(section.id, name, table) for name, table in found.tables.items()),
            _settings(section, before),
        ]
    )
    if found.notes and not (found.figures or found.tables):
        body = f'<details class="without"><summary>Left out: its data are not here</summary>{body}</details>'
    return (
        f'<section id="{escape(section.id)}"><h2>{escape(section.title)}</h2>'
        f'<p class="meta">{escape(section.reference)}{claims}</p>{body}</section>'
    )


def _link_to_opening(section: Section) -> str:
    figure = section.findings.figures[0]
    return f'<p>The figure is <a href="#{escape(f"{section.id}-{figure.name}")}">at the top of the page</a>.</p>'


def _settings(section: Section, before: Sequence[Section]) -> str:
    same = next((each for each in before if each.settings and each.settings == section.settings), None)
    if same is not None:
        shown = f'<p>The same as those of <a href="#{escape(same.id)}">{escape(same.title)}</a>.</p>'
    else:
        shown = f'<pre tabindex="0">{escape(settings_text(section.settings))}</pre>'
    return f"<details><summary>Settings</summary>{shown}{_links(f'{section.id}/settings', ('json',))}</details>"


TABLE_KINDS = ("csv", "parquet", "md")
KINDS = {"csv": "CSV", "parquet": "Parquet", "md": "Markdown", "png": "PNG", "pdf": "PDF", "json": "JSON"}


def _links(name: str, kinds: Sequence[str]) -> str:
    links = " ".join(f'<a href="{escape(name)}.{kind}">{KINDS[kind]}</a>' for kind in kinds)
    return f'<p class="files">Files: {links}</p>'


# --- Figures -------------------------------------------------------------------------------------------------


def _figure(section: str, figure: Figure, level: int = 3) -> str:
    """Return a figure; its title is a heading of this level, and those of its panels one below."""
    name = escape(f"{section}-{figure.name}")
    scales = "".join(
        f'<span class="scale" role="group" aria-label="{axis} axis"><span aria-hidden="true">{axis} axis</span>'
        f'<button type="button" data-axis="{axis}" data-log="0">linear</button>'
        f'<button type="button" data-axis="{axis}" data-log="1">log</button>'
        '<span class="mixed" hidden>differs by panel</span></span>'
        for axis in "xy"
    )
    panels = "".join(
        f'<div class="panel"><h{level + 1}>{escape(panel.title)}</h{level + 1}>'
        + (f'<p class="panel-note">{escape(panel.note)}</p>' if panel.note else "")
        + f'<div class="plot" role="img" aria-label="{escape(panel_text(panel))}"></div></div>'
        for panel in figure.panels
    )
    # Browsers end a data block at `</script`, so that no `<` may be in it.
    data = json.dumps(chart_data(figure), separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return (
        f'<figure class="chart" id="{name}" aria-labelledby="{name}-title">'
        f'<h{level} id="{name}-title">{escape(figure.title)}</h{level}>'
        f'<div class="controls">{scales}<button type="button" class="reset">reset</button></div>'
        f"{legend(figure)}"
        f'<div class="panels" style="--columns:{max(1, min(figure.columns, len(figure.panels)))}">{panels}</div>'
        f"<figcaption>{escape(figure.caption)}"
        '<span class="hint"> Point at a curve for its values; drag to zoom, double-click to zoom out. In the legend a click '
        "hides a curve, a double click (or Shift and Enter) shows it alone.</span></figcaption>"
        "<noscript><p>The figures on this page need JavaScript; the files below do not.</p></noscript>"
        f"{_links(f'{section}/{figure.name}', ('png', 'pdf'))}"
        f'<script type="application/json">{data}</script></figure>'
    )


# --- Tables --------------------------------------------------------------------------------------------------


def _table(section: str, name: str, table: FormattedTable) -> str:
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
    heads = [("paper" if PAPER in column.head else "", column.head) for column in table.columns]
    head = "".join(f'<th scope="col"{_class(paper)}>{escape(text)}</th>' for paper, text in heads)
    rows = "".join(f"<tr>{''.join(_cell(k, column, row) for k, column in enumerate(table.columns))}</tr>" for row in table.rows)
    return (
        f'<div class="table" id="{escape(f"{section}-{name}")}"><h3 id="{label}">{escape(first)}</h3>{more}'
        f'<div class="scroll" role="region" aria-labelledby="{label}" tabindex="0"><table aria-labelledby="{label}">'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        f"{below}{paper}{_links(f'{section}/{name}', TABLE_KINDS)}</div>"
    )


def _class(names: str) -> str:
    return f' class="{names}"' if names else ""


def _cell(k: int, column: Column, row: Mapping[str, object]) -> str:
    text = column.write(dict(row))
    is_interval = " [" in text and text.endswith("]")
    has = {"paper": PAPER in column.head, "interval": is_interval, "long": not is_interval and len(text) > LONG}
    attribute = _class(" ".join(name for name, given in has.items() if given))
    shown = _breakable(text) if is_interval else escape(text)
    return f"<td{attribute}>{shown}</td>" if k else f'<th scope="row"{attribute}>{shown}</th>'


# --- The end -------------------------------------------------------------------------------------------------


def _colophon(about: About) -> str:
    facts = {
        **about.versions,
        **{name.capitalize(): value for name, value in about.machine.items()},
        "Seed": str(about.seed),
        "Made on": _date(about),
        "Time it took": _duration(about.seconds),
        "Games": f"{about.games:,}",
        "Of them kept from other runs": f"{sum(about.kept.values()):,}",
    }
    rows = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts.items())
    return (
        f'<section id="made"><h2>How this was made</h2><dl>{rows}</dl>'
        f"<p>{escape(about.games_text)} Kept games have the settings, the seed and the code of those that are played, and so "
        "the same regret, wherever and whenever they were played. Times depend on the machine: all on this page were measured "
        "when it was made, on the machine that is named here.</p></section>"
    )
