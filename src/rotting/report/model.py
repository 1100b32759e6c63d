"""The sections of a report as data: the text, figures, tables and claims of experiments."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rotting.display.figures import Figure
from rotting.display.tables import FormattedTable
from rotting.report.claims import Claim


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


@dataclass(frozen=True, eq=False)
class Section:
    """An experiment in the report.

    Args:
        id: of the experiment.
        title: one line.
        reference: where the paper has it.
        findings: what the experiment found.
        settings: everything that decides the results, for JSON.
    """

    id: str
    title: str
    reference: str
    findings: Findings
    settings: Mapping[str, Any] = field(default_factory=dict)


def settings_text(settings: Mapping[str, object]) -> str:
    """Return settings as JSON for people: a list of numbers or words is one line.

    Example:
        >>> print(settings_text({"runs": 40, "drops": [0.02, 0.2]}))
        {
          "runs": 40,
          "drops": [0.02, 0.2]
        }
    """
    return _written(settings, "")


def _written(value: object, indent: str) -> str:
    inner = indent + "  "
    if isinstance(value, Mapping) and value:
        lines = [f"{inner}{_json(name)}: {_written(each, inner)}" for name, each in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, list | tuple) and any(isinstance(each, Mapping | list | tuple) for each in value):
        return "[\n" + ",\n".join(f"{inner}{_written(each, inner)}" for each in value) + f"\n{indent}]"
    return _json(value)


def _json(value: object) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False)
