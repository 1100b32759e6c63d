"""Verdicts as data: a report writes its own, and another report can show them beside what it measured itself."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from rotting.common.machine import machine_line
from rotting.common.statistics import Interval, NoInterval
from rotting.errors import InvalidValueError
from rotting.report.about import About
from rotting.report.claims import Claim
from rotting.report.model import Section

FORMAT = "rotting-verdicts"
FORMAT_VERSION = 1


@dataclass(frozen=True)
class KeptClaim:
    """A claim as another report decided it.

    Args:
        claim: of that report; without the words that are the same here.
        date: when that report was made.
        commit: of the code that made it.
        machine: what it was made on.
    """

    claim: Claim
    date: date
    commit: str
    machine: str

    def is_of(self, claim: Claim) -> bool:
        """Return whether it decided what this claim says: the same quantity and region, of the same kind of data."""
        return _said(self.claim) == _said(claim)


def _said(claim: Claim) -> tuple[object, ...]:
    return claim.id, claim.quantity, claim.low, claim.high, claim.synthetic, claim.apart


def to_json(sections: Sequence[Section], about: About) -> str:
    """Return the verdicts of a report and what they rest on, for `read`."""
    made = {
        "date": about.date.date().isoformat(),
        "commit": "",
        "machine": machine_line(about.machine),
        "versions": dict(about.versions),
        "kept_games": sum(about.kept.values()),
    }
    experiments = {
        section.id: {
            "size": section.settings.get("size", ""),
            **made,
            "claims": {claim.id: _claim_data(claim) for claim in section.findings.claims},
        }
        for section in sections
        if section.findings.claims
    }
    data = {"format": FORMAT, "version": FORMAT_VERSION, "experiments": experiments}
    return json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _claim_data(claim: Claim) -> dict[str, Any]:
    mean, low, high = map(_finite, claim.estimate)
    return {
        "verdict": claim.verdict.value,
        "measured": mean,
        "measured_low": low,
        "measured_high": high,
        "claimed_low": _finite(claim.low),
        "claimed_high": _finite(claim.high),
        "quantity": claim.quantity,
        "reason": claim.reason,
        "apart": claim.apart,
        "synthetic": claim.synthetic,
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def read(path: Path) -> dict[str, Any]:
    """Return the data of a file of verdicts; refuse another file."""
    data = json.loads(path.read_text("utf-8"))
    if not isinstance(data, dict) or (data.get("format"), data.get("version")) != (FORMAT, FORMAT_VERSION):
        raise InvalidValueError("path", f"be a file of verdicts, '{FORMAT}' of version {FORMAT_VERSION}", path)
    return data


def kept_claims(data: Mapping[str, Any]) -> dict[str, KeptClaim]:
    """Return the claims of a file of verdicts by their ids."""
    return {
        name: KeptClaim(_claim(name, claim), date.fromisoformat(each["date"]), each["commit"], each["machine"])
        for each in data["experiments"].values()
        for name, claim in each["claims"].items()
    }


def _claim(name: str, data: Mapping[str, Any]) -> Claim:
    mean = math.nan if data["measured"] is None else data["measured"]
    low, high = data["measured_low"], data["measured_high"]
    estimate = NoInterval(mean, data["reason"]) if low is None or high is None else Interval(mean, low, high)
    region = {end: data[f"claimed_{end}"] for end in ("low", "high") if data[f"claimed_{end}"] is not None}
    return Claim(name, "", "", data["quantity"], estimate, **region, synthetic=data["synthetic"], apart=data["apart"])
