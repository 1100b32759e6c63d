"""Measure what docs/intervals.md shows about `compare`: how often it finds differences that are not there.

`python -m studies.false_findings` plays two policies on two arms with L = 1 often. Studies of a few runs are drawn from these
games: of equal policies, each with runs of its own, and of different ones whose mean regrets are made equal.
"""

from itertools import combinations
from pathlib import Path

import numpy as np

from docs.page_tables import fill, show, table
from rotting.common.arrays import Floats
from rotting.common.statistics import sign_flip_test
from rotting.policies.raw_ucb import RAWUCB
from rotting.policies.ucb1 import UCB1
from rotting.problems import two_arms
from rotting.simulation.ranking import rank
from rotting.simulation.simulate import simulate

PAGE = Path(__file__).parent.parent / "docs" / "intervals.md"
RUNS, SEED, STUDIES = 20_000, 1, 500
SIZES = (20, 100, 500)
POLICIES, PROBLEMS = 4, 3  # of a study


def of_equal_policies(pool: Floats, runs: int, rng: np.random.Generator) -> list[str]:
    """Return the shares of studies with a false finding, and of p-values up to 5 % and up to 50 %."""
    found, differences = 0, []
    for _ in range(STUDIES):
        finals = rng.choice(pool, (PROBLEMS, POLICIES, runs))
        found += any(each.beats.any() for each in rank(list(finals)))
        differences.append(finals[:, 0] - finals[:, 1])
    p_values = sign_flip_test(np.concatenate(differences), 999)
    return [f"{found / STUDIES:.1%}", *(f"{np.mean(p_values <= level):.1%}" for level in (0.05, 0.5))]


def of_equal_means(differences: Floats, runs: int, rng: np.random.Generator) -> str:
    """Return the share of p-values up to 5 % for differences that are moved to have the mean 0."""
    drawn = rng.choice(differences - differences.mean(), (4 * STUDIES, runs))
    return f"{np.mean(sign_flip_test(drawn, 999) <= 0.05):.0%}"


def main() -> None:
    """Print the tables, and write the second one into the page."""
    policies = RAWUCB(alpha=1.4, sigma=1.0), RAWUCB(alpha=1.0, sigma=1.0), UCB1(sigma=1.0)
    games = simulate(policies, two_arms(L=1.0, horizon=10_000), runs=RUNS, seed=SEED, checkpoints=[])
    raw, hasty, ucb1 = games.regret[:, :, -1]
    rng = np.random.default_rng(0)
    rows = [[f"{runs}", *of_equal_policies(raw, runs, rng)] for runs in SIZES]
    unequal = {
        "RAW-UCB 1.4 - UCB1": raw - ucb1,
        "RAW-UCB 1.4 - RAW-UCB 1": raw - hasty,
        "RAW-UCB 1.4 - a constant": raw,
        "exponential - a constant": rng.exponential(size=RUNS),
    }
    means = [[name, *(of_equal_means(values, runs, rng) for runs in SIZES)] for name, values in unequal.items()]
    tests = PROBLEMS * len([*combinations(range(POLICIES), 2)])
    parts = {
        "equal policies": table(["runs", f"studies with a finding among {tests}", "p <= 5 %", "p <= 50 %"], rows, "rrrr"),
        "equal means": table(["differences", *(f"n = {runs}" for runs in SIZES)], means, "lrrr"),
    }
    show(parts)
    fill(PAGE, parts)


if __name__ == "__main__":
    main()
