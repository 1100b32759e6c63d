"""Measure the table "What breaks it" of docs/diagnosis.md: verdicts in worlds that differ from what the test assumes.

`python -m docs.make_diagnosis_limits --write` takes about five minutes of one core. It writes the table between its marks, and
keeps the figures in docs/diagnosis-limits.json.
"""

import argparse
import json
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from docs.made_logs import REWARDS, TRUTHS, World, make_world, pay_all
from docs.make_diagnosis import ARMS, PAGE, UNITS
from docs.page_tables import fill, table
from rotting.common.progress import Progress
from rotting.logs.diagnosis import diagnose
from rotting.logs.log import Log, positions

FIGURES = Path(__file__).parent / "diagnosis-limits.json"
FIRST_SEED, SEEDS = 3_000, 4
ROWS = 40_000


@dataclass(frozen=True)
class Variant:
    """How a world differs from those of `docs.make_diagnosis`.

    Args:
        rows: rows of a log.
        n_arms: the number of arms.
        n_units: the number of units.
        speed: the standard deviation of the logarithm of the speed at which a unit wears arms out.
        busy: the power of its traffic with which the speed of a unit grows.
        taste: the standard deviation of the logarithm of a unit's own level for each arm.
        skew: the power to which the shares of traffic are raised.
        depth: the factor of the logarithm of what arms keep of their level.
    """

    rows: int = ROWS
    n_arms: int = ARMS
    n_units: int = UNITS
    speed: float = 0.0
    busy: float = 0.0
    taste: float = 0.0
    skew: float = 1.0
    depth: float = 1.0


VARIANTS = {
    "nothing": Variant(),
    "units prefer some arms (their levels differ by 20 %)": Variant(taste=0.2),
    "units prefer some arms (their levels differ by 50 %)": Variant(taste=0.5),
    "units wear arms out at different speeds (by 30 %)": Variant(speed=0.3),
    "units wear arms out at different speeds (by 70 %)": Variant(speed=0.7),
    "busy units wear arms out faster (speed grows as traffic to the 0.4)": Variant(busy=0.4),
    "traffic twice as unequal (its logarithm)": Variant(skew=2.0),
    "units of equal traffic": Variant(skew=0.0),
    "arms that fall by a third as much (the logarithm of their levels)": Variant(depth=1 / 3),
    "3 arms": Variant(n_arms=3),
    "8 units": Variant(n_units=8),
    "10,000 rows": Variant(rows=10_000),
}


def made_log(variant: Variant, truth: str, rewards: str, seed: int) -> Log:
    """Return the log of a uniform logger in a world that differs."""
    world: World = make_world(seed, truth, rewards, variant.rows, variant.n_arms, variant.n_units)
    traffic = world.traffic**variant.skew
    world = replace(world, traffic=traffic / traffic.sum(), pulls=world.pulls**variant.depth, time=world.time**variant.depth)
    rng = np.random.default_rng([seed, len(VARIANTS)])
    unit = rng.choice(variant.n_units, variant.rows, p=world.traffic)
    arm = rng.integers(0, variant.n_arms, variant.rows)
    logs = np.log(world.traffic)
    speeds = np.exp(rng.normal(0.0, variant.speed, variant.n_units) + variant.busy * (logs - logs.mean()))
    tastes = rng.lognormal(0.0, variant.taste, (variant.n_units, variant.n_arms))
    last = variant.rows - 1
    pulls = np.minimum((positions(unit * variant.n_arms + arm) * speeds[unit]).astype(np.int64), last)
    rounds = np.minimum((np.arange(variant.rows) * speeds[unit]).astype(np.int64), last)
    means = world.base[arm] * world.units[unit] * tastes[unit, arm] * world.pulls[arm, pulls] * world.time[arm, rounds]
    return Log({"arm": arm, "reward": pay_all(rewards, means, rng), "unit": unit}, unit="unit")


def _verdict(task: tuple[str, str, str, int]) -> tuple[str, str, str]:
    name, truth, rewards, seed = task
    return name, truth, diagnose(made_log(VARIANTS[name], truth, rewards, seed)).decay


def measure(seeds: int) -> dict[str, dict[str, dict[str, int]]]:
    """Return how often each verdict was given, by variant and truth."""
    tasks = [
        (name, truth, rewards, seed)
        for name in VARIANTS
        for truth in TRUTHS
        for rewards in REWARDS
        for seed in range(FIRST_SEED, FIRST_SEED + seeds)
    ]
    found: dict[str, dict[str, Counter[str]]] = {name: {truth: Counter() for truth in TRUTHS} for name in VARIANTS}
    bar = Progress(len(tasks), show=True)
    with ProcessPoolExecutor() as pool:
        for name, truth, verdict in pool.map(_verdict, tasks, chunksize=4):
            found[name][truth][verdict] += 1
            bar.advance(1)
    return {name: {truth: dict(sorted(each.items())) for truth, each in rows.items()} for name, rows in found.items()}


def rows_of(figures: Mapping[str, Mapping[str, Mapping[str, int]]]) -> list[list[str]]:
    """Return the rows of the table: for each variant the right verdicts by truth, and the wrong ones in words."""
    rows = []
    for name, by_truth in figures.items():
        wrong = [
            f'{number} of {sum(given.values())} "{verdict}" where {_WORDS[truth]}'
            for truth, given in by_truth.items()
            for verdict, number in given.items()
            if verdict in TRUTHS and verdict != truth
        ]
        right = [f"{given.get(truth, 0)} of {sum(given.values())}" for truth, given in by_truth.items()]
        rows.append([name, *right, "; ".join(wrong) or "none"])
    return rows


_WORDS = {"none": "no clock matters", "pulls": "pulls matter", "time": "time matters", "both": "both matter"}


def page(figures: Mapping[str, Mapping[str, Mapping[str, int]]]) -> dict[str, str]:
    """Return the table by the name of its mark."""
    heads = ["what differs from the worlds above", *(f"right, {truth}" for truth in TRUTHS), "wrong"]
    return {"limits": table(heads, rows_of(figures), "l" + "r" * len(TRUTHS) + "l")}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description='Measure the table "What breaks it" of docs/diagnosis.md.')
    parser.add_argument("--seeds", type=int, default=SEEDS, help="logs for each truth and kind of rewards (%(default)s)")
    parser.add_argument("--write", action="store_true", help="keep the figures, and write the table anew")
    options = parser.parse_args()
    figures = measure(options.seeds)
    print(page(figures)["limits"])  # noqa: T201 - for the reader of the terminal
    if options.write:
        FIGURES.write_text(json.dumps(figures, indent=1) + "\n")
        fill(PAGE, page(figures))


if __name__ == "__main__":
    main()
