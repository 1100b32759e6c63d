"""The verdicts of a report as JSON, which another report can read and show beside its own."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import NotRequired, TypedDict

from rotting.common.machine import machine_line
from rotting.common.statistics import GROUPS, Interval, NoInterval
from rotting.errors import InvalidValueError
from rotting.report.about import About
from rotting.report.claims import Claim, Verdict, standing, stands
from rotting.report.model import Section

FORMAT = "rotting-verdicts"
FORMAT_VERSION = 1


class ClaimData(TypedDict):
    """A claim in a file of verdicts. Infinite measurements are strings that `float` reads; infinite thresholds are None."""

    verdict: str
    measured: float | str | None
    measured_low: float | str | None
    measured_high: float | str | None
    claimed_low: float | None
    claimed_high: float | None
    samples: NotRequired[int]  # files of older versions lack it
    quantity: str
    reason: str
    synthetic: bool


class ExperimentData(TypedDict):
    """The claims of an experiment in a file of verdicts, and how they were measured."""

    size: str
    date: str
    commit: str
    machine: str
    versions: dict[str, str]
    kept_games: int
    claims: dict[str, ClaimData]


class VerdictData(TypedDict):
    """A file of verdicts."""

    format: str
    version: int
    experiments: dict[str, ExperimentData]


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


def to_json(sections: Sequence[Section], about: About) -> str:
    """Return the verdicts of a report with their measurements, as JSON for `read`."""
    experiments: dict[str, ExperimentData] = {
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
    data: VerdictData = {"format": FORMAT, "version": FORMAT_VERSION, "experiments": experiments}
    return json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _claim_data(claim: Claim) -> ClaimData:
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


def read(path: Path) -> VerdictData:
    """Return the data of a file of verdicts; refuse other files."""
    loaded = json.loads(path.read_text("utf-8"))
    found = (loaded.get("format"), loaded.get("version")) if isinstance(loaded, dict) else ()
    if found != (FORMAT, FORMAT_VERSION):
        raise InvalidValueError("path", f"be a file of verdicts, '{FORMAT}' of version {FORMAT_VERSION}", path)
    data: VerdictData = loaded
    return data


def kept_claims(data: VerdictData) -> dict[str, KeptClaim]:
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


def _claim(name: str, data: ClaimData) -> Claim:
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
        samples=data.get("samples", GROUPS),
    )
    if claim.verdict != data["verdict"]:
        raise InvalidValueError(f"verdict of {name!r}", f"be that of its numbers, '{claim.verdict}'", data["verdict"])
    return claim
