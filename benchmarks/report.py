"""The report: `benchmark.json` with everything, `benchmark.md` with the tables."""

import json
import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import ROOT, limit, packages
from benchmarks.measure import Finding, Outcome


def _output(*command: str) -> str:
    """Return the first line a command prints, or nothing."""
    program = shutil.which(command[0])
    if program is None:
        return ""
    done = subprocess.run([program, *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    lines = done.stdout.splitlines()
    return lines[0] if done.returncode == 0 and lines else ""


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor())


def machine() -> dict[str, object]:
    """Return where this was measured."""
    cc = limit.compiler()
    return {
        "processor": _processor(),
        "cpus": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load": list(os.getloadavg()),
        "python": platform.python_version(),
        "packages": {name: packages.version(name) for name in ("rotting", "numpy", "numba", *packages.NAMES)},
        "compiler": f"{_output(cc, '--version')}: {' '.join(limit.FLAGS)}" if cc else None,
        "commit": _output("git", "rev-parse", "--short", "HEAD") + ("+" if _output("git", "status", "--short") else ""),
    }


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(line)} |" for line in lines] + [""]


def _figure(value: float, unit: str = "") -> str:
    text = f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3g}"
    return f"{text} {unit}" if len(unit) > 1 else text + unit


def _goal(found: Finding) -> str:
    aim = "" if found.aim is None else f" (aim {_figure(found.aim, found.unit)})"
    return f"{found.bound} {_figure(found.limit, found.unit)}{aim}"


def _measured(found: Finding) -> str:
    return "-" if found.value is None else _figure(found.value, found.unit)


def _must_hold(outcomes: Sequence[Outcome]) -> list[str]:
    rows = [
        [
            found.what,
            _goal(found),
            _measured(found),
            found.verdict,
            found.detail,
        ]
        for outcome in outcomes
        for found in outcome.findings
    ]
    return ["## Must hold", "", *_table(["what", "goal", "measured", "verdict", "detail"], rows)]


def _race(outcome: Outcome) -> list[str]:
    lines = [f"## {outcome.name}", "", f"{outcome.what}. Load {outcome.load[0]:.1f} before, {outcome.load[1]:.1f} after.", ""]
    played = [entry for entry in outcome.entries if entry.us]
    rows = []
    for entry in outcome.entries:
        if not entry.us:
            rows.append([entry.name, f"skipped: {entry.skipped}", "", "", ""])
            continue
        ratio = entry.best / played[0].best
        turns = f"{len(entry.us)} turns, worst {_figure(max(entry.us))}"
        rows.append([entry.name, _figure(entry.best), _figure(ratio, "x"), turns, entry.same_pulls])
    if rows:
        head = [
            "contestant",
            "us per round, best",
            f"over {played[0].name if played else '-'}",
            "turns",
            "games with equal pulls",
        ]
        lines += _table(head, rows)
    elif outcome.findings:
        lines += _table(["what", "measured"], [[found.what, _measured(found)] for found in outcome.findings])
    return [*lines, *(f"- {note}" for note in outcome.notes), ""]


def markdown(data: dict[str, Any], outcomes: Sequence[Outcome]) -> str:
    """Return the report as Markdown."""
    where = data["machine"]
    versions = ", ".join(f"{name} {number or '(not installed)'}" for name, number in where["packages"].items())
    lines = [
        "# Benchmark",
        "",
        f"Size `{data['size']}`, commit {where['commit'] or 'unknown'}.",
        f"{where['cpus']} CPUs, {where['processor']}; load {where['load'][0]:.1f} at the start.",
        f"Python {where['python']}; {versions}; {where['compiler'] or 'no C compiler'}.",
        "",
        "Contestants take turns in one process. Each is rated by its best turn, and a ratio compares two best turns.",
        "The column 'detail' shows the range of the ratio over the turns: if it is wide, the machine was busy.",
        "",
        *_must_hold(outcomes),
    ]
    for outcome in outcomes:
        lines += _race(outcome)
    if data["plots"]:
        lines += ["## Scaling", ""]
    for plot in data["plots"]:
        lines += [f"![{plot['title']}]({plot['file']})", ""]
        xs = sorted({x for line in plot["points"].values() for x, _ in line})
        rows = [
            [name, *(_figure(dict(line)[x]) if x in dict(line) else "" for x in xs)] for name, line in plot["points"].items()
        ]
        lines += [f"{plot['title']}: microseconds per round.", "", *_table([plot["label"], *(f"{x:,}" for x in xs)], rows)]
        lines += [f"- {each}" for each in plot["ended"]] + [""]
    return "\n".join(lines).rstrip() + "\n"


def write(folder: Path, data: dict[str, Any], outcomes: Sequence[Outcome]) -> tuple[Path, Path]:
    """Write both files; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    full = {**data, "rows": [outcome.to_json() for outcome in outcomes]}
    as_json, as_markdown = folder / "benchmark.json", folder / "benchmark.md"
    as_json.write_text(json.dumps(full, indent=1) + "\n")
    as_markdown.write_text(markdown(data, outcomes))
    return as_json, as_markdown
