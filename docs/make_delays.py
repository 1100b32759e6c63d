"""Measure what docs/delays.md shows: what late rewards cost, with and without counting decisions under way.

`make delays` runs it; `python -m docs.make_delays RUNS` plays fewer runs. It writes the tables between their marks in the page,
which is written by hand. A run takes a quarter of an hour on one core. The tables depend on the code and on a fixed seed only.
"""

import math
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from docs.make_hull import _table, filled
from rotting.common.arrays import Floats, Ints
from rotting.live.bandit import Bandit
from rotting.policy import Policy
from rotting.registry import make

PAGE = Path(__file__).parent / "delays.md"
K, T, SWAPPED, SEED = 30, 50_000, 2_000, 0
DELAYS: tuple[tuple[int, int], ...] = ((0, 0), (100, 100), (500, 500), (60, 1_800))
Rule = Literal["young", "ignore"]


class Clicks(NamedTuple):
    """One of the two problems."""

    name: str
    rate: float
    sigma: float


PROBLEMS = (Clicks("low", 0.03, 0.14), Clicks("high", 0.15, 0.3))


def policies(sigma: float) -> dict[str, Policy]:
    """Return the policies to compare."""
    return {
        "RAWUCB": make("raw-ucb", sigma=sigma),
        "EffRAWUCB": make("eff-raw-ucb", sigma=sigma),
        "UCB1": make("ucb1", sigma=sigma),
        "KLUCB": make("kl-ucb"),
        "ThompsonSampling": make("thompson-sampling"),
        "Exp3S": make("exp3-s", horizon=T),
    }


class Run(NamedTuple):
    """What all policies meet in one run."""

    rates: Floats  # [generation] click rates: arm i of generation g is number i + K g
    clicks: Floats  # [round] a number in (0, 1): a click if it is below the arm's rate
    delays: Ints  # [round]


def drawn(problem: Clicks, delay: tuple[int, int], run: int, rounds: int) -> Run:
    """Return the chance of one run."""
    rng = np.random.default_rng([SEED, run])
    rates = rng.uniform(0.0, 2.0 * problem.rate, K + rounds // SWAPPED + 1)
    clicks = rng.uniform(size=rounds)
    return Run(rates, clicks, rng.integers(delay[0], delay[1] + 1, rounds))


def game(policy: Policy, rule: Rule, chance: Run) -> Iterator[int]:
    """Play one run, and yield the number of the arm that is chosen in each round: that of its rate."""
    rounds = chance.clicks.size
    bandit = Bandit(policy, arms=range(K), pending=rule, max_pending=rounds)
    due: dict[int, list[tuple[str, float]]] = {}
    for t in range(rounds):
        if t > 0 and t % SWAPPED == 0:
            number = K + t // SWAPPED - 1
            bandit.forget(number - K)  # the oldest arm there is
            bandit.add_arm(number)
        decision = bandit.decide()
        arm = int(str(decision.arm))
        yield arm
        due.setdefault(t + int(chance.delays[t]), []).append((decision.id, float(chance.clicks[t] < chance.rates[arm])))
        bandit.reward_many(due.pop(t, []))


def regret(policy: Policy, rule: Rule, chance: Run) -> float:
    """Return the regret of one run against the best arm there is in each round."""
    total = 0.0
    for t, arm in enumerate(game(policy, rule, chance)):
        first = t // SWAPPED
        total += float(chance.rates[first : first + K].max() - chance.rates[arm])
    return total


class Cell(NamedTuple):
    """One entry of a table."""

    problem: Clicks
    policy: str
    delay: tuple[int, int]
    rule: Rule


def played(cell: Cell, run: int, rounds: int) -> float:
    """Return the regret of one run of one entry."""
    chance = drawn(cell.problem, cell.delay, run, rounds)
    return regret(policies(cell.problem.sigma)[cell.policy], cell.rule, chance)


def cells(problem: Clicks) -> list[Cell]:
    """Return the entries of one table; without a delay, both rules are the same."""
    rules: dict[bool, tuple[Rule, ...]] = {True: ("young",), False: ("ignore", "young")}
    names = policies(problem.sigma)
    return [Cell(problem, name, delay, rule) for name in names for delay in DELAYS for rule in rules[delay == (0, 0)]]


def measured(runs: int, rounds: int = T) -> dict[Cell, Floats]:
    """Play all games."""
    every = [cell for problem in PROBLEMS for cell in cells(problem)]
    with ProcessPoolExecutor() as pool:
        found = {cell: [pool.submit(played, cell, run, rounds) for run in range(runs)] for cell in every}
        return {cell: np.array([each.result() for each in futures]) for cell, futures in found.items()}


def _shown(values: Floats) -> str:
    half = 1.96 * values.std(ddof=1) / math.sqrt(values.size) if values.size > 1 else math.nan
    return f"{values.mean():,.0f} ± {half:,.0f}"


def table(problem: Clicks, found: Mapping[Cell, Floats]) -> str:
    """Return the table of one problem."""
    spans = [str(low) if low == high else f"{low} to {high:,}" for low, high in DELAYS]
    heads = ["policy", f"delay {spans[0]}", *(f"{span}, {rule}" for span in spans[1:] for rule in ("ignore", "young"))]
    rows = [
        [name, *(_shown(found[cell]) for cell in cells(problem) if cell.policy == name)] for name in policies(problem.sigma)
    ]
    return _table(heads, rows)


def main() -> None:
    """Write the tables."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    found = measured(runs)
    parts = {problem.name: table(problem, found) for problem in PROBLEMS}
    parts["runs"] = f"Measured in {runs} paired runs."
    PAGE.write_text(filled(PAGE.read_text("utf-8"), parts), "utf-8")
    sys.stdout.write(f"{PAGE} written\n")


if __name__ == "__main__":
    main()
