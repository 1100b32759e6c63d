"""Sections of the report: what an experiment found, as text, figures, tables and claims. Data only."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rotting.display.figures import Figure
from rotting.display.tables import Table
from rotting.report.claims import Claim


@dataclass(frozen=True, eq=False)
class Findings:
    """What an experiment found.

    Args:
        paragraphs: what was done, and what the figures show; plain text.
        figures: in their order.
        tables: by the names of their files, in lower case with hyphens.
        claims: the paper's claims, measured.
        notes: caveats, such as synthetic data or missing files.
    """

    paragraphs: tuple[str, ...]
    figures: tuple[Figure, ...] = ()
    tables: Mapping[str, Table] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Section:
    """An experiment in the report.

    Args:
        id: of the experiment.
        title: one line.
        reference: where the paper has it.
        findings: what the experiment found.
        settings: everything that decides the results, for JSON.
        seconds: how long the experiment took; games from the cache count with the time they took when they were played.
    """

    id: str
    title: str
    reference: str
    findings: Findings
    settings: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
