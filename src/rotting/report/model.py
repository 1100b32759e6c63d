"""A section of the report: what an experiment found, in words, figures, tables and claims. Data only."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rotting.display.figures import Figure
from rotting.display.tables import Table
from rotting.report.claims import Claim


@dataclass(frozen=True, eq=False)
class Findings:
    """What an experiment has to say of its results.

    Args:
        paragraphs: what was done and what the reader sees; plain text.
        figures: the pictures.
        tables: by the name of their files, in lower case with hyphens.
        claims: what the paper says, decided.
        notes: what the reader must know to trust it, such as data that are synthetic, or files that are missing.
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
        id: the experiment's.
        title: one line.
        reference: where the paper has it.
        findings: what the experiment has to say.
        settings: everything that decides the results, for JSON.
        seconds: how long the experiment took; what came from the cache counts with the time it once took.
    """

    id: str
    title: str
    reference: str
    findings: Findings
    settings: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
