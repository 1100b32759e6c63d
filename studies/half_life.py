"""Measure how often the half-lives of `rotting.diagnose` hold the truth.

Six arms lose 55 to 95 % of their level, exponentially, linearly or at once, with their pulls by a unit or with time; one arm is
steady, so that the others fall behind it. Twenty units have unequal traffic and levels of their own. Rewards are clicks at
rates of 2 to 10 % in 40,000 rows, or counts of 1 to 4 in 20,000.
"""

import argparse
import math
import os
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import numpy as np

import rotting
from docs.page_tables import show, table
from rotting.common.progress import Progress
from studies.log_worlds import Factor, World, make_log

SHAPES, REWARDS, CLOCKS = ("exponential", "linear", "abrupt"), ("clicks", "counts"), ("pulls", "time")
LOGS = 20  # of each shape, kind of rewards and clock
FIRST_SEED = 5_000
ARMS, UNITS, DAYS = 7, 20, 28.0
LEVELS = {"clicks": (0.02, 0.10, 40_000), "counts": (1.0, 4.0, 20_000)}
HALVES = {"pulls": (30.0, 300.0), "time": (0.1, 0.7)}  # between these: pulls by a unit, or a share of the log


class Case(NamedTuple):
    """What is simulated."""

    shape: str
    rewards: str
    clock: str
    seed: int


def falling(shape: str, half: float, depth: float) -> Factor:
    """Return a curve that starts at 1, has lost a half at `half`, and falls by no more than the depth."""
    if shape == "exponential":
        pace = -half / math.log(1 - 0.5 / depth)
        return lambda n: 1 + depth * np.expm1(-n / pace)
    if shape == "linear":
        return lambda n: 1 - np.minimum(0.5 * n / half, depth)
    return lambda n: np.where(n < half, 1.0, 1 - depth)


def judge(case: Case) -> Counter[str]:
    """Return what is said of the arms of a log that lose half of their level."""
    os.nice(10)
    rng = np.random.default_rng([case.seed, SHAPES.index(case.shape), REWARDS.index(case.rewards), CLOCKS.index(case.clock)])
    half = np.append(rng.uniform(*HALVES[case.clock], ARMS - 1), math.inf)
    curves = [falling(case.shape, each, rng.uniform(0.55, 0.95)) for each in half[:-1]]

    def wear(arm: Any, own: Any, x: Any) -> Any:
        n = np.broadcast_to(np.asarray(own if case.clock == "pulls" else x, float), np.shape(arm))
        return np.select([np.asarray(arm) == i for i in range(ARMS - 1)], [curve(n) for curve in curves], 1.0)

    low, high, rows = LEVELS[case.rewards]
    traffic, taste = rng.lognormal(0.0, 1.0, UNITS), rng.lognormal(0.0, 0.3, (UNITS, 1)).repeat(ARMS, axis=1)
    base = rng.uniform(low, high, ARMS)
    world = World(
        frozenset({case.clock}), base, traffic / traffic.sum(), taste, wear, rewards=case.rewards, rows=rows, days=DAYS
    )
    found = rotting.diagnose(make_log(world, case.seed)[0])
    counts = Counter({"logs": 1, "named": found.decay == case.clock})
    for arm in found.arms:
        truth = half[int(str(arm.name))] * (1.0 if case.clock == "pulls" else DAYS * 86_400)
        given = not math.isnan(arm.half_life)
        counts.update({"given": given, "held": given and arm.half_life_low <= truth <= arm.half_life_high})
    return counts


def pages(found: dict[tuple[str, str, str], Counter[str]]) -> dict[str, str]:
    """Return the table to print, by its name."""
    rows = []
    for (shape, rewards, clock), counts in found.items():
        held = f"{counts['held'] / counts['given']:.0%}" if counts["given"] else "-"
        share = counts["given"] / ((ARMS - 1) * counts["logs"])
        rows.append([shape, rewards, clock, f"{counts['named'] / counts['logs']:.0%}", f"{share:.0%}", held])
    heads = ["fall", "rewards", "clock", "clock named", "half-life given", "held"]
    return {"half-lives": table(heads, rows, "lllrrr")}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Measure how often half-lives hold the truth.")
    parser.add_argument("--logs", type=int, default=LOGS, help="of each kind (default: %(default)s)")
    parser.add_argument("--first", type=int, default=FIRST_SEED, help="the first seed (default: %(default)s)")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.logs)
    cases = [Case(*kind, seed) for kind in ((s, r, c) for c in CLOCKS for s in SHAPES for r in REWARDS) for seed in seeds]
    found = {case[:3]: Counter[str]() for case in cases}
    with Progress(len(cases), "logs", show=True) as bar, ProcessPoolExecutor() as pool:
        for case, counts in zip(cases, pool.map(judge, cases), strict=True):
            found[case[:3]].update(counts)
            bar.advance(1)
    show(pages(found))


if __name__ == "__main__":
    main()
