"""Measure what docs/diagnosis.md shows: how often `rotting.diagnose` names the right clock, a wrong one, or none."""

import argparse
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from docs.page_tables import fill, show, table
from rotting.common.progress import Progress
from rotting.logs.diagnosis import diagnose
from studies.made_logs import LOGGERS, REWARDS, TRUTHS, Cell, cells, make_world

PAGE = Path(__file__).parent.parent / "docs" / "diagnosis.md"
LOGS = 200
FIRST_SEED = 1_000  # the test was developed on smaller seeds
ARMS, UNITS = 10, 20
SIZES = {"with units": (40_000,), "without units": (20_000, 100_000)}
ALARM = "false alarm"  # an arm of a world without wear is said to wear out


def key(units: str, cell: Cell) -> str:
    """Return the key of a cell of one of the two tables."""
    return f"{units} / {cell.key()}"


def verdicts(units: str, cell: Cell, seed: int) -> list[str]:
    """Return the clock that is named for one log, and a false alarm if there is one."""
    sizes = SIZES[units]
    n_units = UNITS if units == "with units" else 1
    world = make_world(seed, cell.truth, cell.rewards, sizes[seed % len(sizes)], ARMS, n_units)
    found = diagnose(world.log(cell.logger, seed))
    alarm = cell.truth == "none" and any(each.verdict == "wears out" for each in found.arms)
    return [found.decay, *([ALARM] if alarm else [])]


def _measure(task: tuple[str, Cell, int]) -> tuple[str, list[str]]:
    units, cell, seed = task
    return key(units, cell), verdicts(units, cell, seed)


def measure(logs: int) -> dict[str, dict[str, int]]:
    """Return how often each verdict was given in each cell; the logs of a cell share its truth, logger and rewards."""
    seeds = range(FIRST_SEED, FIRST_SEED - (-logs // len(REWARDS)))
    tasks = [(units, cell, seed) for seed in seeds for units in SIZES for cell in cells()]
    found: dict[str, Counter[str]] = {key(units, cell): Counter() for units in SIZES for cell in cells()}
    bar = Progress(len(tasks), show=True)
    with ProcessPoolExecutor() as pool:
        for name, given in pool.map(_measure, tasks, chunksize=4):
            found[name].update([*given, "logs"])
            bar.advance(1)
    return {name: dict(sorted(counts.items())) for name, counts in found.items()}


def _share(count: int, of: int) -> str:
    return f"{count / of:.0%}"


def pages(figures: Mapping[str, Mapping[str, int]]) -> dict[str, str]:
    """Return the tables by the names of their marks: the page shows the first."""
    parts = {}
    for units in SIZES:
        rows = []
        for truth in TRUTHS:
            for logger in LOGGERS:
                counts: Counter[str] = Counter()
                for rewards in REWARDS:
                    counts.update(figures[key(units, Cell(truth, logger, rewards))])
                wrong = sum(counts[name] for name in TRUTHS if name != truth)
                shares = (counts[truth], wrong, counts["cannot tell"])
                rows.append([truth, logger, *(_share(each, counts["logs"]) for each in shares)])
        heads = ["truth", "logger", "right", "wrong", "cannot tell"]
        parts[units] = table(heads, rows, "llrrr")
    for name, counts_of_cell in figures.items():
        parts[name] = ", ".join(f"{what} {count}" for what, count in counts_of_cell.items())
    return parts


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Measure what docs/diagnosis.md shows.")
    parser.add_argument("--logs", type=int, default=LOGS, help="logs for each truth and logger (default: %(default)s)")
    parser.add_argument("--write", action="store_true", help="write the tables of the page anew")
    options = parser.parse_args()
    figures = measure(options.logs)
    show(pages(figures))
    if options.write:
        fill(PAGE, pages(figures))


if __name__ == "__main__":
    main()
