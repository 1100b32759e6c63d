"""Writing the files of a report: names are checked, then all contents are made, then files are written."""

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from rotting.common.display.plots import draw_figure, picture_bytes
from rotting.common.display.tables import FormattedTable, csv_bytes, parquet_bytes
from rotting.errors import InvalidValueError, PathExistsError
from rotting.paper.report.claims import Claim, claims_table, standing, stands
from rotting.paper.report.model import ReportAbout, Section
from rotting.paper.report.page import page, settings_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

Maker = Callable[[], bytes]
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def write(sections: Sequence[Section], folder: str | Path, about: ReportAbout) -> Path:
    """Write `report.html`, the claims, and a folder per section with its figures, tables and settings.

    Needs the extra `rotting[report]`. The same sections and the same `about` give the same bytes. Nothing is overwritten: if
    a file of one of these names exists, nothing is written at all.

    Args:
        sections: what experiments found, in the order of the report.
        folder: an existing folder. It gets `report.html`, `claims.csv`, `claims.parquet`, `claims.md`, and per section
            `<id>/settings.json`, `<id>/<figure>.png` and `.pdf`, `<id>/<table>.csv`, `.parquet` and `.md`.
        about: what the report says about itself.

    Returns:
        The path of `report.html`.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InvalidValueError("folder", "be an existing folder", folder)
    _check_names(sections)
    makers = {name: make for section in sections for name, make in _section_files(section).items()}
    makers |= _claims_files(sections)
    makers["report.html"] = lambda: page(sections, about).encode()
    for name in makers:
        if os.path.lexists(folder / name):
            raise PathExistsError("folder", "have no file of a report", folder / name, hint=", which exists")
    contents = {name: make() for name, make in makers.items()}  # all of them first: a failure leaves no incomplete report
    for name, content in contents.items():
        (folder / name).parent.mkdir(exist_ok=True)
        with (folder / name).open("xb") as file:  # x: another process may have written it since the check
            file.write(content)
    return folder / "report.html"


def _check_names(sections: Sequence[Section]) -> None:
    """Refuse names that cannot be file names, duplicates, and `covers` that name no figure or table."""
    groups = {"section": [section.id for section in sections]}
    for section in sections:
        groups[f"figure of section {section.id!r}"] = [figure.name for figure in section.findings.figures]
        groups[f"table of section {section.id!r}"] = list(section.findings.tables)
    for what, names in groups.items():
        for k, name in enumerate(names):
            if not NAME.fullmatch(name):
                raise InvalidValueError(f"the name of a {what}", "be lower-case letters, digits and hyphens", name)
            if name in names[:k]:
                raise InvalidValueError(f"the name of a {what}", "be unique", name, hint=" twice")
    for section in sections:
        here = {*section.findings.tables, *(figure.name for figure in section.findings.figures)}
        for item, name in section.findings.covers.items():
            if name not in here:
                raise InvalidValueError(
                    "covers", f"name figures and tables of section {section.id!r}", name, hint=f" for {item!r}"
                )


def _section_files(section: Section) -> dict[str, Maker]:
    files: dict[str, Maker] = {f"{section.id}/settings.json": f"{settings_text(section)}\n".encode}
    for figure in section.findings.figures:
        draw = cache(partial(draw_figure, figure))
        for kind in ("png", "pdf"):
            files[f"{section.id}/{figure.name}.{kind}"] = partial(_picture, draw, kind)
    for name, table in section.findings.tables.items():
        files |= _table_files(f"{section.id}/{name}", table, table.rows)
    return files


def _picture(draw: "Callable[[], Picture]", kind: str) -> bytes:
    picture = draw()
    content = picture_bytes(picture, kind, "standard")  # "tight" would draw it once more
    picture.set_layout_engine("none")  # it is laid out now, also for its other kinds
    return content


def _claims_files(sections: Sequence[Section]) -> dict[str, Maker]:
    claims = [(section.id, claim) for section in sections for claim in section.findings.claims]
    table = claims_table([claim for _, claim in claims])
    standing_ids = standing([claim for _, claim in claims])
    rows = [claim_row(section, claim, stands(claim, standing_ids)) for section, claim in claims]
    return _table_files("claims", table, rows)


def _table_files(name: str, table: FormattedTable, rows: Sequence[Mapping[str, object]]) -> dict[str, Maker]:
    return {
        f"{name}.csv": partial(csv_bytes, rows),
        f"{name}.parquet": partial(parquet_bytes, rows),
        f"{name}.md": f"{table.to_markdown()}\n".encode,
    }


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
