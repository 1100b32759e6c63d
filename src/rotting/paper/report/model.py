"""A report as data: its sections, and what it says about itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from rotting.common.display.figures import Figure
from rotting.common.display.pages import About
from rotting.common.display.tables import FormattedTable
from rotting.paper.report.claims import Claim


@dataclass(frozen=True, eq=False)
class Findings:
    """The findings of an experiment.

    Args:
        paragraphs: plain text about what was done, and what the figures show.
        figures: in their order.
        tables: by the names of their files, in lower case with hyphens.
        claims: the paper's claims, measured.
        notes: caveats, such as synthetic data or missing files.
        covers: figures and tables of the paper, each with the name of the figure or table here that shows the same.
    """

    paragraphs: tuple[str, ...]
    figures: tuple[Figure, ...] = ()
    tables: Mapping[str, FormattedTable] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()
    covers: Mapping[str, str] = field(default_factory=dict)


class Kind(StrEnum):
    """What the claims of a section are about."""

    EXPERIMENTS = "experiments"
    THEOREMS = "theorems"


@dataclass(frozen=True, eq=False)
class Section:
    """An experiment in the report.

    Args:
        id: of the experiment.
        title: one line.
        reference: where the paper has it.
        findings: what the experiment found.
        settings: everything that decides the results, for JSON.
        kind: whether it plays experiments, or checks theorems of the paper.
    """

    id: str
    title: str
    reference: str
    findings: Findings
    settings: Mapping[str, Any] = field(default_factory=dict)
    kind: Kind = Kind.EXPERIMENTS


@dataclass(frozen=True)
class ReportAbout(About):
    """The title of a report, how it was made, and the games behind it.

    Args:
        opening: the section whose first figure the report begins with; it may be missing.
        games: number of games behind the report; a game is one run of one policy on one problem.
        kept: how many of them earlier runs had played and kept.
    """

    opening: str = ""
    games: int = 0
    kept: int = 0

    @property
    def games_text(self) -> str:
        """The number of games, and of those that were played before, in words.

        Example:
            >>> from datetime import UTC, datetime
            >>> made = datetime(2026, 11, 17, tzinfo=UTC)
            >>> ReportAbout("A report", (), 0, made, 1.0, {}, {}, games=9_760).games_text
            'All 9,760 games were played for this report. A game is one run of one policy on one problem.'
        """
        kept = f"{self.kept:,} of {self.games:,} games were kept from earlier runs"
        said = kept if self.kept else f"All {self.games:,} games were played for this report"
        return f"{said}. A game is one run of one policy on one problem."
