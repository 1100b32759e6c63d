"""A report as data: its sections, what it says about itself, and its verdicts as a file."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Any

from rotting.common.display.figures import Figure
from rotting.common.display.pages import About, day_text
from rotting.common.display.tables import FormattedTable
from rotting.common.json_data import JsonDict
from rotting.common.machine import machine_line
from rotting.common.statistics import Interval, NoInterval
from rotting.errors import InvalidValueError
from rotting.paper.report.claims import Claim, Verdict, standing, stands


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
    OURS = "ours"


@dataclass(frozen=True, eq=False)
class Section:
    """An experiment in the report.

    Args:
        id: of the experiment.
        title: one line.
        reference: where the paper has it.
        findings: what the experiment found.
        settings: everything that decides the results, for JSON.
        kind: whether it repeats the paper's experiments, checks its theorems, or is an addition of ours.
    """

    id: str
    title: str
    reference: str
    findings: Findings
    settings: Mapping[str, Any] = field(default_factory=dict)
    kind: Kind = Kind.EXPERIMENTS


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


Origins = Mapping[tuple[date, str], int]
"""How many games were played on each day (UTC) by each machine."""


@dataclass(frozen=True)
class ReportAbout(About):
    """The title of a report, how it was made, and the games behind it.

    Args:
        opening: the section whose first figure the report begins with; it may be missing.
        games: number of games behind the report; a game is one run of one policy on one problem.
        kept: how many of them earlier runs had played and kept, by day (UTC) and machine.
    """

    opening: str = ""
    games: int = 0
    kept: Origins = field(default_factory=dict)

    @property
    def games_text(self) -> str:
        """The number of games that were played for this report, and the origin of the others, in words.

        Example:
            >>> from datetime import UTC, datetime
            >>> made = datetime(2026, 11, 17, tzinfo=UTC)
            >>> ReportAbout("A report", (), 0, made, 1.0, {}, {}, games=9_760).games_text
            'All 9,760 games were played for this report. A game is one run of one policy on one problem.'
        """
        kept = sum(self.kept.values())
        played = self.games - kept
        origins = "; ".join(f"{count:,} of {day_text(day)} ({where})" for (day, where), count in sorted(self.kept.items()))
        if not kept:
            found = "The only game was" if self.games == 1 else f"All {self.games:,} games were"
            said = f"{found} played for this report."
        elif not played:
            found = "The only game was" if kept == 1 else f"All {kept:,} games were"
            said = f"{found} kept from earlier runs; none was played now: {origins}."
        else:
            said = (
                f"Of {self.games:,} games, {played:,} {_were(played)} played for this report, and {kept:,} {_were(kept)} kept "
                f"from earlier runs: {origins}."
            )
        return f"{said} A game is one run of one policy on one problem."


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


# --- Verdicts as JSON, which another report can read and show beside its own -----------------------------------------------


FORMAT = "rotting-verdicts"
FORMAT_VERSION = 1


@dataclass(frozen=True)
class KeptClaim:
    """A claim as another report decided it.

    Args:
        claim: of that report, without its source and words.
        stands: whether its verdict stands with Holm's correction for all claims of that report; None if it is not decided.
        date: when that report was made.
        commit: of the code that made it.
        machine: the machine that made it.
    """

    claim: Claim
    stands: bool | None
    date: date
    commit: str
    machine: str

    def is_of(self, claim: Claim) -> bool:
        """Return whether it is the same claim, with the same region and kind of data; the measured quantity may differ."""
        return _compared(self.claim) == _compared(claim)


def _compared(claim: Claim) -> tuple[object, ...]:
    return claim.id, claim.low, claim.high, claim.synthetic, claim.not_comparable


def verdicts_json(sections: Sequence[Section], about: ReportAbout) -> str:
    """Return the verdicts of a report with their measurements, as JSON for `read_verdicts`."""
    experiments: dict[str, JsonDict] = {
        section.id: {
            "size": section.settings.get("size", ""),
            "date": about.date.date().isoformat(),
            "commit": "",
            "machine": machine_line(about.machine),
            "versions": dict(about.versions),
            "kept_games": sum(about.kept.values()),
            "claims": {claim.id: _claim_data(claim) for claim in section.findings.claims},
        }
        for section in sections
        if section.findings.claims
    }
    data = {"format": FORMAT, "version": FORMAT_VERSION, "experiments": experiments}
    return json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _claim_data(claim: Claim) -> JsonDict:
    mean, low, high = map(_json_number, claim.estimate)
    return {
        "verdict": claim.verdict.value,
        "measured": mean,
        "measured_low": low,
        "measured_high": high,
        "claimed_low": claim.low if math.isfinite(claim.low) else None,
        "claimed_high": claim.high if math.isfinite(claim.high) else None,
        "samples": claim.samples,
        "quantity": claim.quantity,
        "reason": claim.reason,
        "synthetic": claim.synthetic,
    }


def _json_number(value: float | None) -> float | str | None:
    """Return a number as strict JSON can hold it: infinities are strings, as `float` reads them; NaN is None."""
    if value is None or math.isnan(value):
        return None
    return value if math.isfinite(value) else str(value)


def read_verdicts(path: Path) -> JsonDict:
    """Return the data of a file of verdicts; refuse other files."""
    loaded = json.loads(path.read_text("utf-8"))
    found = (loaded.get("format"), loaded.get("version")) if isinstance(loaded, dict) else ()
    if found != (FORMAT, FORMAT_VERSION):
        raise InvalidValueError("path", f"be a file of verdicts, '{FORMAT}' of version {FORMAT_VERSION}", path)
    data: JsonDict = loaded
    return data


def kept_claims(data: JsonDict) -> dict[str, KeptClaim]:
    """Return the claims in the data of a file of verdicts, by their ids."""
    experiments = {name: each for each in data["experiments"].values() for name in each["claims"]}
    claims = {name: _claim(name, each["claims"][name]) for name, each in experiments.items()}
    standing_ids = standing(list(claims.values()))
    return {
        name: KeptClaim(
            claims[name],
            stands(claims[name], standing_ids),
            date.fromisoformat(each["date"]),
            each["commit"],
            each["machine"],
        )
        for name, each in experiments.items()
    }


def _claim(name: str, data: JsonDict) -> Claim:
    ends = data["measured"], data["measured_low"], data["measured_high"]
    mean, low, high = (None if end is None else float(end) for end in ends)
    mean = math.nan if mean is None else mean
    claim = Claim(
        id=name,
        source="",
        words="",
        quantity=data["quantity"],
        estimate=NoInterval(mean, data["reason"]) if low is None or high is None else Interval(mean, low, high),
        low=-math.inf if data["claimed_low"] is None else data["claimed_low"],
        high=math.inf if data["claimed_high"] is None else data["claimed_high"],
        synthetic=data["synthetic"],
        not_comparable=data["reason"] if data["verdict"] == Verdict.NOT_COMPARABLE else "",
        samples=data["samples"],
    )
    if claim.verdict != data["verdict"]:
        raise InvalidValueError(f"verdict of {name!r}", f"be that of its numbers, '{claim.verdict}'", data["verdict"])
    return claim
