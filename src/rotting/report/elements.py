"""The elements of a page: paragraphs, figures, tables and facts. Text is escaped here, where it enters the page."""

import json
from collections.abc import Mapping, Sequence
from html import escape

from rotting.display.figures import Figure
from rotting.display.panels import style_numbers
from rotting.display.tables import FormattedTable
from rotting.report.about import About, day_text
from rotting.report.charts import chart_data, legend, panel_text
from rotting.report.drawings import drawing

PAPER = "(paper)"  # in a column's head: its numbers are the paper's
LONG = 32  # cells with more characters may be wrapped
TABLE_KINDS = ("csv", "parquet", "md")
KINDS = {"csv": "CSV", "parquet": "Parquet", "md": "Markdown", "png": "PNG", "pdf": "PDF", "json": "JSON"}
MADE = ("made", "How this was made")
"""The id and the title of the part that `colophon` returns."""


# --- Text ----------------------------------------------------------------------------------------------------


def paragraphs(texts: Sequence[str]) -> str:
    """Return texts as paragraphs."""
    return "".join(f"<p>{escape(text)}</p>" for text in texts)


def notes(texts: Sequence[str]) -> str:
    """Return texts as notes that stand out."""
    return "".join(f'<p class="note" role="note"><strong>Note.</strong> {escape(text)}</p>' for text in texts)


def small(text: str) -> str:
    """Return small print, empty for an empty text."""
    return f' <span class="where">{escape(text)}</span>' if text else ""


def breakable(text: str) -> str:
    """Return a number and its interval as HTML; a line can break only between them."""
    estimate, bracket, ends = text.partition(" [")
    parts = [estimate, f"[{ends}"] if bracket else [estimate]
    return " ".join(f'<span class="number">{escape(part)}</span>' for part in parts)


def file_links(name: str, kinds: Sequence[str]) -> str:
    """Return links to the files of this name, one for each kind."""
    found = " ".join(f'<a href="{escape(name)}.{kind}">{KINDS[kind]}</a>' for kind in kinds)
    return f'<p class="files">Files: {found}</p>'


# --- Figures -------------------------------------------------------------------------------------------------


def figure_element(section: str, figure: Figure, level: int = 3) -> str:
    """Return a figure that a script draws, with its files.

    Args:
        section: the id of its section.
        figure: what to draw.
        level: of the heading that is its title; those of its panels are one below.
    """
    plots = [f'<div class="plot" role="img" aria-label="{escape(panel_text(panel))}"></div>' for panel in figure.panels]
    hint = (
        " Point at a curve for its values; drag to zoom, double-click to zoom out. In the legend a click hides a curve, a "
        "double click (or Shift and Enter) shows it alone."
    )
    # Browsers end a data block at `</script`, so that no `<` may be in it.
    data = json.dumps(chart_data(figure), separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    below = (
        "<noscript><p>The figures on this page need JavaScript; the files below do not.</p></noscript>"
        f"{file_links(f'{section}/{figure.name}', ('png', 'pdf'))}"
        f'<script type="application/json">{data}</script>'
    )
    return _figure(section, figure, level, _switches() + legend(figure), plots, hint, below)


def drawn_figure(section: str, figure: Figure) -> str:
    """Return a figure as pictures, with a legend unless all curves have one label."""
    styles = style_numbers(figure)
    plots = [drawing(panel, styles) for panel in figure.panels]
    above = legend(figure, static=True) if len(figure.labels) > 1 else ""
    return _figure(section, figure, 3, above, plots, " Point at a curve for its values.", "")


def _figure(section: str, figure: Figure, level: int, above: str, plots: Sequence[str], hint: str, below: str) -> str:
    """Return the title of a figure, its panels and its caption, and HTML above and below the panels."""
    name = escape(f"{section}-{figure.name}")
    panels = "".join(
        f'<div class="panel"><h{level + 1}>{escape(panel.title)}</h{level + 1}>'
        + (f'<p class="panel-note">{escape(panel.note)}</p>' if panel.note else "")
        + f"{plot}</div>"
        for panel, plot in zip(figure.panels, plots, strict=True)
    )
    return (
        f'<figure class="chart" id="{name}" aria-labelledby="{name}-title">'
        f'<h{level} id="{name}-title">{escape(figure.title)}</h{level}>{above}'
        f'<div class="panels" style="--columns:{max(1, min(figure.columns, len(figure.panels)))}">{panels}</div>'
        f'<figcaption>{escape(figure.caption)}<span class="hint">{hint}</span></figcaption>{below}</figure>'
    )


def _switches() -> str:
    """Return the buttons that make an axis linear or logarithmic, and the one that undoes all changes."""
    scales = "".join(
        f'<span class="scale" role="group" aria-label="{axis} axis"><span aria-hidden="true">{axis} axis</span>'
        f'<button type="button" data-axis="{axis}" data-log="0">linear</button>'
        f'<button type="button" data-axis="{axis}" data-log="1">log</button>'
        '<span class="mixed" hidden>differs by panel</span></span>'
        for axis in "xy"
    )
    return f'<div class="controls">{scales}<button type="button" class="reset">reset</button></div>'


# --- Tables --------------------------------------------------------------------------------------------------


def table_element(section: str, name: str, table: FormattedTable, plain: bool = False) -> str:
    """Return a table; its first line is its heading.

    Args:
        section: the id of its section.
        name: of the table, which is the heading of a table without lines.
        table: what to write.
        plain: whether to leave out the files.
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
        f"{below}{paper}{'' if plain else file_links(f'{section}/{name}', TABLE_KINDS)}</div>"
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
    return f"<td{attribute}>{shown}</td>" if k else f'<th scope="row"{attribute}>{shown}</th>'


# --- How a page was made -------------------------------------------------------------------------------------


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
