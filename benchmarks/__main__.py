"""The command: `python -m benchmarks`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import ROOT, report, scaling
from benchmarks.measure import FULL, QUICK, TINY, Outcome, Size
from benchmarks.rows import ROWS

_SIZES = {size.name: size for size in (TINY, QUICK, FULL)}


def say(text: str) -> None:
    """Report progress."""
    print(text, file=sys.stderr, flush=True)


def show(outcome: Outcome) -> None:
    """Print the outcome of a row."""
    for entry in outcome.entries:
        if entry.us:
            say(f"  {entry.name:<26} {entry.best:10.4g} us/round  {entry.same_pulls and 'equal pulls: ' + entry.same_pulls}")
        else:
            say(f"  {entry.name:<26} SKIPPED: {entry.skipped}")
    for found in outcome.findings:
        say(f"  => {found.what}: {found.value} ({found.bound} {found.limit:g}): {found.verdict}; {found.detail}")


def run(size: Size, only: Sequence[str], folder: Path) -> list[Outcome]:
    """Run the rows and plots that `only` names, or all, and write the report."""
    about = report.machine()
    outcomes = []
    for row in ROWS:
        if not only or row.name in only:
            say(f"{row.name}: {row.what}")
            outcomes.append(row.run(size))
            show(outcomes[-1])
    drawn: list[dict[str, Any]] = []
    folder.mkdir(parents=True, exist_ok=True)
    for plot in scaling.plots(size):
        if only and f"plot-{plot.name}" not in only:
            continue
        points, ended = scaling.measure(plot, size, say)
        file = folder / f"{plot.name}.png"
        scaling.draw(plot, points, file)
        drawn.append({"title": plot.title, "label": plot.label, "file": file.name, "points": points, "ended": ended})
    for path in report.write(folder, {"size": size.name, "machine": about, "plots": drawn}, outcomes):
        say(f"wrote {path}")
    return outcomes


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    names = [*(row.name for row in ROWS), *(f"plot-{plot.name}" for plot in scaling.plots(TINY))]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="The project and its peers, in one run.")
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument("--quick", dest="size", action="store_const", const="quick", help="about three minutes (the default)")
    sizes.add_argument("--full", dest="size", action="store_const", const="full", help="the sizes of the published table")
    sizes.add_argument("--tiny", dest="size", action="store_const", const="tiny", help="seconds: does it run at all?")
    parser.add_argument("--repeats", type=int, help="number of turns of each contestant")
    parser.add_argument("--only", action="append", default=[], choices=names, help="a row or a plot; may be repeated")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "benchmarks", help="folder of the report")
    parser.set_defaults(size="quick")
    chosen = parser.parse_args(arguments)
    size = _SIZES[chosen.size]
    if chosen.repeats is not None:
        size = size._replace(repeats=max(1, chosen.repeats))
    run(size, chosen.only, chosen.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
