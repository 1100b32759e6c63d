"""Measure what docs/diagnosis.md shows: how often `rotting.diagnose` names the right clock, a wrong one, or none.

`make diagnosis` runs it (a quarter of an hour of one core; `--logs 5` for a quick look, which writes nothing). It writes the
tables between their marks in the page, which is written by hand. The figures are kept in docs/diagnosis.json: the page follows
from them.
"""

import argparse
import json
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from docs.made_logs import LOGGERS, REWARDS, TRUTHS, Cell, cells, make_world
from docs.page_tables import fill, show, table
from rotting.common.progress import Progress
from rotting.logs.diagnosis import diagnose

PAGE = Path(__file__).parent / "diagnosis.md"
FIGURES = Path(__file__).parent / "diagnosis.json"
LOGS = 200
FIRST_SEED = 1_000  # the test was developed on smaller seeds
ARMS, UNITS = 10, 20
SIZES = {"with units": (40_000,), "without units": (20_000, 100_000)}
ALARM = "false alarm"  # an arm of a world without wear is said to wear out


def key(units: str, cell: Cell) -> str:
    """Return the key of a cell of one of the two tables in the file of the figures."""
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
    return f"{count / of:.0%}" if of else "-"


def pages(figures: Mapping[str, Mapping[str, int]]) -> dict[str, str]:
    """Return the tables by the names of their marks."""
    parts = {}
    for units in SIZES:
        rows = []
        for truth in TRUTHS:
            for logger in LOGGERS:
                by_rewards = [figures[key(units, Cell(truth, logger, rewards))] for rewards in REWARDS]
                together: Counter[str] = Counter()
                for each in by_rewards:
                    together.update(each)
                wrong = sum(together[name] for name in TRUTHS if name != truth)
                right = [_share(each.get(truth, 0), each["logs"]) for each in by_rewards]
                row = [truth, logger, str(together["logs"]), *right, _share(together[truth], together["logs"])]
                row += [_share(wrong, together["logs"]), _share(together["cannot tell"], together["logs"])]
                rows.append([*row, _share(together[ALARM], together["logs"]) if truth == "none" else ""])
        heads = ["truth", "logger", "logs", *(f"right, {each}" for each in REWARDS), "right", "wrong", "cannot tell", ALARM]
        parts[units] = table(heads, rows, "ll" + "r" * (len(heads) - 2))
    return parts


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Measure what docs/diagnosis.md shows.")
    parser.add_argument("--logs", type=int, default=LOGS, help="logs for each truth and logger (default: %(default)s)")
    parser.add_argument("--write", action="store_true", help="keep the figures, and write the page anew")
    options = parser.parse_args()
    figures = measure(options.logs)
    show(pages(figures))
    if options.write:
        FIGURES.write_text(json.dumps(figures, indent=1) + "\n")
        fill(PAGE, pages(figures))


if __name__ == "__main__":
    main()
