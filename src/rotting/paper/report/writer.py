"""Writing the files of a report: all contents are made, then files are written."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from rotting.common.display.plots import draw_figure, picture_bytes
from rotting.common.display.tables import FormattedTable, csv_bytes
from rotting.paper.report.claims import Claim, claims_table, standing, stands
from rotting.paper.report.model import ReportAbout, Section
from rotting.paper.report.page import page, settings_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

Maker = Callable[[], bytes]


def write(sections: Sequence[Section], folder: str | Path, about: ReportAbout) -> Path:
    """Write `report.html`, the claims, and a folder per section with its figures, tables and settings.

    Needs the extra `rotting[plot]`. The same sections and the same `about` give the same bytes. No file is overwritten, not
    even one of the same report: figures and tables of a section need names of their own.

    Args:
        sections: what experiments found, in the order of the report.
        folder: an existing folder. It gets `report.html`, `claims.csv`, `claims.md`, and per section
            `<id>/settings.json`, `<id>/<figure>.png` and `.pdf`, `<id>/<table>.csv` and `.md`.
        about: what the report says about itself.

    Returns:
        The path of `report.html`.
    """
    makers = [each for section in sections for each in _section_files(section)]
    makers += [*_claims_files(sections), ("report.html", lambda: page(sections, about).encode())]
    contents = [(Path(folder, name), make()) for name, make in makers]  # all of them first: a failure leaves no half report
    for path, content in contents:
        path.parent.mkdir(exist_ok=True)
        with path.open("xb") as file:
            file.write(content)
    return Path(folder, "report.html")


def _section_files(section: Section) -> Iterator[tuple[str, Maker]]:
    """Yield the files of a section, each with the function that makes its content."""
    yield f"{section.id}/settings.json", f"{settings_text(section)}\n".encode
    for figure in section.findings.figures:
        draw = cache(partial(draw_figure, figure))
        for kind in ("png", "pdf"):
            yield f"{section.id}/{figure.name}.{kind}", partial(_picture, draw, kind)
    for name, table in section.findings.tables.items():
        yield from _table_files(f"{section.id}/{name}", table, table.rows)


def _picture(draw: "Callable[[], Picture]", kind: str) -> bytes:
    picture = draw()
    content = picture_bytes(picture, kind, "standard")  # "tight" would draw it once more
    picture.set_layout_engine("none")  # it is laid out now, also for its other kinds
    return content


def _claims_files(sections: Sequence[Section]) -> Iterator[tuple[str, Maker]]:
    claims = [(section.id, claim) for section in sections for claim in section.findings.claims]
    table = claims_table([claim for _, claim in claims])
    standing_ids = standing([claim for _, claim in claims])
    rows = [claim_row(section, claim, stands(claim, standing_ids)) for section, claim in claims]
    yield from _table_files("claims", table, rows)


def _table_files(name: str, table: FormattedTable, rows: Sequence[Mapping[str, object]]) -> Iterator[tuple[str, Maker]]:
    yield f"{name}.csv", partial(csv_bytes, rows)
    yield f"{name}.md", f"{table.to_markdown()}\n".encode


def claim_row(section: str, claim: Claim, stands: bool | None = None) -> dict[str, object]:
    """Return a claim as a row; infinite thresholds are None.

    Args:
        section: id of its section.
        claim: the measured claim.
        stands: whether its verdict stands with Holm's correction, as `rotting.paper.report.claims.stands` returns it.
    """
    return {
        "section": section,
        "claim": claim.id,
        "words": claim.words,
        "source": claim.source,
        "quantity": claim.quantity,
        "measured": claim.estimate,
        "claimed_low": claim.low if math.isfinite(claim.low) else None,
        "claimed_high": claim.high if math.isfinite(claim.high) else None,
        "verdict": claim.verdict.value,
        "stands_with_holm": stands,
        "reason": claim.reason,
        "remark": claim.remark,
        "synthetic": claim.synthetic,
    }
