"""Measure the flag "wearing out" of the service: how many worn arms it finds, and how many steady ones it marks in 30 days.

Twenty arms with click rates of 2 to 10 %, and EFF-RAW-UCB with and without a holdout. In the first world every second arm
halves after its own 2,000 views. In the others nothing wears out: the rates are steady, follow a daily cycle, or fall by a
third in 30 days, all together. As in the service, a sample of the decisions is judged again and again.

An arm can only be found by what it pays after it has fallen, and the policy leaves it then. So worn arms are counted by the
clicks that they would have had since, had they not fallen.
"""

import argparse
import math
import os
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import numpy as np

import rotting
from docs.page_tables import show, table
from rotting.common.progress import Progress
from rotting.server.http.sample import Sample

ARMS, DAYS, VIEWS = 20, 30, 2_000
FIRST_SEED = 5_000  # the rules were set on smaller seeds
CLASSES = (25, 50, 75, math.inf)  # clicks that an arm would have had since its fall

WORLDS: dict[str, Callable[[float], float]] = {
    "worn": lambda day: 1.0,
    "steady": lambda day: 1.0,
    "daily cycle": lambda day: 1.0 + 0.4 * math.sin(2.0 * math.pi * day),
    "slow fall of all": lambda day: 1.0 - day / (3.0 * DAYS),
}


class Case(NamedTuple):
    """What is simulated: decisions in 30 days, and the days between two looks of the observer."""

    world: str
    decisions: int
    holdout: float
    seed: int
    every: float


def marked(case: Case) -> Counter[tuple[str, int, float, str]]:
    """Return how many arms of each class there are and were marked at any time."""
    world, decisions, holdout, seed, every = case
    os.nice(10)
    rng = np.random.default_rng(seed)
    rates, pulls, missed = rng.uniform(0.02, 0.10, ARMS), np.zeros(ARMS, np.int64), np.zeros(ARMS)
    bandit = rotting.Bandit(rotting.EffRAWUCB(sigma=0.3), arms=list(range(ARMS)), seed=seed, compile="now", holdout=holdout)
    sample, ever, names = Sample(), set[object](), dict(enumerate(range(ARMS)))
    for t, luck in enumerate(rng.random(decisions).tolist()):
        day, arm = DAYS * t / decisions, bandit.pull()
        wears = world == "worn" and arm % 2 == 1 and pulls[arm] >= VIEWS
        rate = rates[arm] * WORLDS[world](day)
        missed[arm] += rate if wears else 0.0
        pulls[arm] += 1
        reward = float(luck < (0.5 * rate if wears else rate))
        bandit.update(arm, reward)
        if sample.add(t, arm, reward, 1.7e9 + 86_400 * day, None):
            sample.collect(names)
        if (t + 1) % round(decisions * every / DAYS) == 0:
            ever |= set(sample.taken(names, names).wearing_out())
    found = Counter[tuple[str, int, float, str]]()
    for arm in range(ARMS):
        clicks = next(each for each in CLASSES if missed[arm] < each)
        kind = f"{clicks}" if missed[arm] else "steady"
        found.update({(world, decisions, holdout, kind): 1, (world, decisions, holdout, f"{kind} marked"): arm in ever})
    return found


def pages(found: Counter[tuple[str, int, float, str]]) -> dict[str, str]:
    """Return the table to print, by its name."""
    cases = list(dict.fromkeys(key[:3] for key in found))
    kinds = [*map(str, CLASSES), "steady"]
    rows = [
        [world, f"{decisions:,}", f"{holdout:.0%}"]
        + [f"{found[*key, f'{kind} marked']} of {found[*key, kind]}" if found[*key, kind] else "-" for kind in kinds]
        for key in cases
        for world, decisions, holdout in [key]
    ]
    heads = ["world", "decisions", "holdout", "under 25", "25 to 50", "50 to 75", "75 and more", "others"]
    return {"flag": table(heads, rows, "lrrrrrrr")}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Measure the flag of the service.")
    parser.add_argument("--bandits", type=int, default=4, help="of each kind (default: %(default)s)")
    parser.add_argument("--first", type=int, default=FIRST_SEED, help="the first seed (default: %(default)s)")
    parser.add_argument("--decisions", type=int, nargs="+", default=[120_000], help="in 30 days")
    parser.add_argument("--every", type=float, default=3.0, help="days between two looks (default: %(default)s)")
    options = parser.parse_args()
    cases = [
        Case(world, decisions, holdout, options.first + seed, options.every)
        for world in WORLDS
        for decisions in options.decisions
        for holdout in ((0.05, 0.0) if world == "worn" else (0.05,))
        for seed in range(options.bandits)
    ]
    found = Counter[tuple[str, int, float, str]]()
    with Progress(len(cases), "bandits", show=True) as bar, ProcessPoolExecutor() as pool:
        for counts in pool.map(marked, cases):
            found.update(counts)
            bar.advance(1)
    show(pages(found))


if __name__ == "__main__":
    main()
