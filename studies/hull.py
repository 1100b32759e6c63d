"""Measure what docs/hull.md shows: how many windows of an arm can have the tightest bound, after n rewards of some kinds."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from docs.page_tables import fill, show, table
from rotting.common.arrays import Floats

PAGE = Path(__file__).parent.parent / "docs" / "hull.md"
SIZES = (10_000, 100_000, 1_000_000)
RUNS, SEED = 40, 0
KINDS: dict[str, Callable[[int, np.random.Generator], Floats]] = {
    "stationary": lambda n, rng: rng.normal(size=n),
    "steady fall, sigma 1": lambda n, rng: rng.normal(1.0 - np.arange(n) / n),
    "steady fall, sigma 0.1": lambda n, rng: rng.normal(1.0 - np.arange(n) / n, 0.1),
    "abrupt fall, sigma 1": lambda n, rng: rng.normal(np.arange(n) < n // 2),
    "Bernoulli 0.3": lambda n, rng: np.asarray(rng.random(n) < 0.3, np.float64),
}


def starts(rewards: Floats) -> int:
    """Return the number of windows that start at a vertex of the upper hull of the prefix sums."""
    places, sums = [0], [0.0]
    for k, total in enumerate(rewards.cumsum().tolist(), start=1):
        while len(places) > 1 and (sums[-1] - sums[-2]) * (k - places[-1]) <= (total - sums[-1]) * (places[-1] - places[-2]):
            places.pop()
            sums.pop()
        places.append(k)
        sums.append(total)
    return len(places) - 1


def main() -> None:
    """Write the table into the page."""
    rows = []
    for n in SIZES:
        harmonic = math.fsum(1.0 / k for k in range(1, n + 1))
        means = [
            np.mean([starts(draw(n, np.random.default_rng([SEED, n, run]))) for run in range(RUNS)]) for draw in KINDS.values()
        ]
        rows.append([f"{n:,}", f"{harmonic:.1f}", *(f"{each:,.1f}" for each in means)])
    parts = {"mean": table(["n", "1 + 1/2 + ... + 1/n", *KINDS], rows, "r" * (len(KINDS) + 2))}
    show(parts)
    fill(PAGE, parts)


if __name__ == "__main__":
    main()
