"""Measure what docs/delays.md shows: what late rewards cost a live bandit, with and without counting pending decisions."""

import math
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

import rotting
from docs.page_tables import fill, show, table
from rotting.common.arrays import Floats, Ints

PAGE = Path(__file__).parent.parent / "docs" / "delays.md"
K, T, SWAPPED, RUNS, SEED = 30, 50_000, 2_000, 50, 0
DELAYS: tuple[tuple[int, int], ...] = ((0, 0), (500, 500), (60, 1_800))
Rule = Literal["shrink", "ignore"]


class Clicks(NamedTuple):
    """One of the two problems."""

    name: str
    rate: float
    sigma: float


PROBLEMS = (Clicks("low", 0.03, 0.14), Clicks("high", 0.15, 0.3))


class Cell(NamedTuple):
    """The games of one policy on one problem."""

    problem: Clicks
    policy: str
    delay: tuple[int, int]
    rule: Rule


class Chance(NamedTuple):
    """What every policy meets in one run."""

    rates: Floats  # [arm number] click rates: every `SWAPPED` rounds the oldest arm leaves, and the next number comes
    clicks: Floats  # [round] a number in (0, 1): a click if it is below the arm's rate
    delays: Ints  # [round] how many rounds later the reward comes


def policies(sigma: float) -> dict[str, rotting.Policy]:
    """Return the policies to compare."""
    return {
        "RAWUCB": rotting.RAWUCB(sigma=sigma),
        "EffRAWUCB": rotting.EffRAWUCB(sigma=sigma),
        "UCB1": rotting.UCB1(sigma=sigma),
        "ThompsonSampling": rotting.ThompsonSampling(),
    }


def drawn(cell: Cell, run: int) -> Chance:
    """Return the chance of one run; the delay and the policy change nothing about the clicks."""
    rng = np.random.default_rng([SEED, run])
    rates = rng.uniform(0.0, 2.0 * cell.problem.rate, K + T // SWAPPED + 1)
    return Chance(rates, rng.uniform(size=T), rng.integers(cell.delay[0], cell.delay[1] + 1, T))


def chosen(cell: Cell, chance: Chance, seed: int) -> Iterator[int]:
    """Play a game with a bandit, and yield the number of the arm that is chosen in each round."""
    policy = policies(cell.problem.sigma)[cell.policy]
    bandit = rotting.Bandit(policy, arms=range(K), seed=seed, pending=cell.rule, max_pending=T)
    due: dict[int, list[tuple[str, float]]] = {}
    for t, delay in enumerate(chance.delays.tolist()):
        if t > 0 and t % SWAPPED == 0:
            number = K + t // SWAPPED - 1
            bandit.forget(number - K)  # the oldest arm there is
            bandit.add_arm(number)
        decision = bandit.decide()
        yield decision.arm
        due.setdefault(t + delay, []).append((decision.id, float(chance.clicks[t] < chance.rates[decision.arm])))
        bandit.reward_many(due.pop(t, []))


def regret(task: tuple[Cell, int]) -> float:
    """Return the regret of one run against the best arm present in each round."""
    cell, run = task
    chance = drawn(cell, run)
    arms = np.fromiter(chosen(cell, chance, run), np.int64, T)
    generations = np.arange(T) // SWAPPED
    best = np.array([chance.rates[first : first + K].max() for first in range(int(generations[-1]) + 1)])
    return math.fsum(best[generations] - chance.rates[arms])


def error_bar(values: Floats) -> float:
    """Return 1.96 standard errors of the mean."""
    return float(1.96 * values.std(ddof=1) / math.sqrt(values.size))


def shown(values: Floats) -> str:
    """Return a mean and 1.96 standard errors."""
    return f"{values.mean():,.0f} ± {error_bar(values):,.0f}"


def span(delay: tuple[int, int]) -> str:
    """Return a delay in words."""
    low, high = delay
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def cells(problem: Clicks, policy: str) -> list[Cell]:
    """Return the entries of a row; without a delay, both rules are the same."""
    late = [Cell(problem, policy, delay, rule) for delay in DELAYS[1:] for rule in ("ignore", "shrink")]
    return [Cell(problem, policy, DELAYS[0], "shrink"), *late]


def main() -> None:
    """Write the tables into the page."""
    heads = [
        "policy",
        f"delay {span(DELAYS[0])}",
        *(f"{span(delay)}, {rule}" for delay in DELAYS[1:] for rule in ("ignore", "shrink")),
    ]
    parts = {}
    with ProcessPoolExecutor() as pool:
        for problem in PROBLEMS:
            rows = []
            for policy in policies(problem.sigma):
                tasks = [(cell, run) for cell in cells(problem, policy) for run in range(RUNS)]
                found = np.array(list(pool.map(regret, tasks))).reshape(-1, RUNS)
                rows.append([policy, *map(shown, found)])
            parts[problem.name] = table(heads, rows, "l" + "r" * (len(heads) - 1))
    show(parts)
    fill(PAGE, parts)


if __name__ == "__main__":
    main()
