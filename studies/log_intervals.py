"""Measure what docs/intervals.md shows: how often the intervals of `replay`, `fit` and `advise` contain the truth.

The truth is what the same policy earns on average in the world that made the log.
"""

import argparse
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor

import numpy as np

import rotting
from docs.page_tables import show, table
from rotting.common.arrays import Floats
from rotting.common.progress import Progress
from rotting.logs.advice import Gain, advise, gains_on
from rotting.logs.cells import Clock
from rotting.logs.fit import fit
from rotting.logs.log import Log
from rotting.logs.replay import PolicyReplay, replay
from rotting.problems import optimal_rewards
from studies.made_logs import LOGGERS, REWARDS, TRUTHS, Cell, World, cells, make_world

LOGS, ROUNDS, RUNS = 16, 3_000, 40  # 16 logs of each kind of rewards: 48 for each truth and logger
SEED = 10_000  # the intervals were developed on smaller seeds
POLICIES = (rotting.RAWUCB(sigma="estimate"), rotting.UCB1(sigma="estimate"))
WORLD_RUNS = 40  # of the games in the world itself
WORLD_SEED = 1
UNITS = 10
CLOCKS: dict[str, Clock] = {"none": "pulls", "pulls": "pulls", "time": "time", "both": "both"}
Counts = Mapping[str, int]


def true_rewards(world: World) -> Floats:
    """Return the mean reward of each policy in all rounds, played in the world of the log."""
    problem = world.problem()
    result = rotting.simulate(POLICIES, problem, runs=WORLD_RUNS, seed=WORLD_SEED, checkpoints=[], progress=False)
    best = optimal_rewards(problem, checkpoints=[world.rounds]).cumulative[-1]
    return np.asarray(best - result.regret[:, :, -1].mean(axis=1))


def count(world: World, log: Log, runs: int = RUNS) -> Counter[str]:
    """Return how many bounds and intervals of one log hold the truth, are missing, or lie below or above it."""
    truth, logged = true_rewards(world), float(world.log_means(log).sum())
    clock = CLOCKS[world.truth]
    replays = zip(replay(log, POLICIES), truth, strict=True)
    counts = Counter(f"replay: {_side(_bounds(each), float(true))}" for each, true in replays)
    advice = advise(log, POLICIES, runs)
    own = [each for each in advice.gains if each.clock == clock] or gains_on(log, [fit(log, clock)], POLICIES, runs, 0)[0]
    for k, policy in enumerate(POLICIES):
        gain = 100 * (float(truth[k]) / logged - 1)
        counts["all"] += 1
        counts[f"fit: {_side(own[k].reward[1:], float(truth[k]))}"] += 1
        counts[f"advise: {_side(_ends([each for each in advice.gains if each.policy == policy]), gain)}"] += 1
        counts["advised"] += advice.policy == policy
        counts["wrong advice"] += advice.policy == policy and gain < 0
    return counts


Ends = tuple[float | None, float | None]


def _bounds(found: PolicyReplay) -> Ends:
    low, high = (None if np.isnan(end) else end for end in (found.low, found.high))
    return low, high


def _ends(gains: Sequence[Gain]) -> Ends:
    """Return the ends of all readings together."""
    lows, highs = ([each.gain[end] for each in gains] for end in (1, 2))
    if None in lows or None in highs:
        return None, None
    return min(low for low in lows if low is not None), max(high for high in highs if high is not None)


def _side(ends: Ends, truth: float) -> str:
    """Return whether an interval holds the truth, lies below or above it, or is missing. One end may be missing, too."""
    low, high = ends
    if low is None and high is None:
        return "none"
    if low is not None and truth < low:
        return "above"
    return "below" if high is not None and truth > high else "holds"


def _count(task: tuple[Cell, int, int]) -> tuple[str, Counter[str]]:
    """Return the counts of one log, by the key of its cell."""
    os.nice(10)
    cell, seed, rounds = task
    world = make_world(seed, cell.truth, cell.rewards, rounds, n_units=UNITS)
    return cell.key(), count(world, world.log(cell.logger, seed))


def measure(logs: int, rounds: int = ROUNDS, first_seed: int = SEED) -> dict[str, dict[str, int]]:
    """Return the counts of each cell."""
    found: dict[str, Counter[str]] = {cell.key(): Counter() for cell in cells()}
    tasks = [(cell, seed, rounds) for seed in range(first_seed, first_seed + logs) for cell in cells()]
    with Progress(len(tasks), "logs", show=True) as bar, ProcessPoolExecutor() as pool:
        for key, counts in pool.map(_count, tasks):
            found[key] += counts
            bar.advance()
    return {key: dict(sorted(counts.items())) for key, counts in found.items()}


def _share(counts: Counts, what: str) -> str:
    """Return the share of the stated intervals that hold the truth, and what share is stated if it is not all."""
    held, *missed = (counts.get(f"{what}: {side}", 0) for side in ("holds", "above", "below"))
    stated = held + sum(missed)
    total = stated + counts.get(f"{what}: none", 0)
    if not stated:
        return "none"
    return f"{held / stated:.0%}" if stated == total else f"{held / stated:.0%} (of {stated / total:.0%})"


def pages(figures: Mapping[str, Counts]) -> dict[str, str]:
    """Return the table of the shares, and the counts of each cell."""
    rows = []
    for truth in TRUTHS:
        for logger in LOGGERS:
            together: Counter[str] = Counter()
            for rewards in REWARDS:
                together.update(figures[Cell(truth, logger, rewards).key()])
            rows.append([truth, logger, *(_share(together, what) for what in ("replay", "fit", "advise"))])
    parts = {name: ", ".join(f"{what} {count}" for what, count in counts.items()) for name, counts in figures.items()}
    return {**parts, "shares": table(["truth", "logger", "replay", "fit", "advise"], rows, "llrrr")}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Measure what docs/intervals.md shows.")
    parser.add_argument("--logs", type=int, default=LOGS, help="logs for each cell of the tables (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rows of a log (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=SEED, help="of the first log (default: %(default)s)")
    options = parser.parse_args()
    figures = measure(options.logs, options.rounds, options.seed)
    show(pages(figures))


if __name__ == "__main__":
    main()
