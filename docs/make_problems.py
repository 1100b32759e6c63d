"""Measure what docs/problems.md shows: what late rewards cost six policies.

`make late` runs it (a few core-minutes, the games once). It writes the tables between their marks in the page, which is written
by hand. They depend on the code and on a fixed seed only.
"""

import argparse
import sys
from pathlib import Path

from docs.make_policies import SEED
from docs.page_tables import fill, table
from rotting.common.statistics import mean_interval
from rotting.display.tables import interval_text
from rotting.policies.discounted_ts import DiscountedTS
from rotting.policies.eff_fewa import EffFEWA
from rotting.policies.eff_raw_ucb import EffRAWUCB
from rotting.policies.glr_ucb import GLRUCB
from rotting.policies.raw_ucb import RAWUCB
from rotting.policies.ucb1 import UCB1
from rotting.policy import Policy
from rotting.problems import Abrupt, Constant, Delay, GeometricDelay, Problem, two_arms
from rotting.simulation.simulate import simulate

PAGE = Path(__file__).parent / "problems.md"
HORIZON, RUNS = 10_000, 100
MEANS = (10, 100, 500)  # rounds
DELAYS: dict[str, Delay | None] = {"none": None, **{str(mean): GeometricDelay(mean) for mean in MEANS}}
LOST = GeometricDelay(100, lost=0.5)
POLICIES: tuple[Policy, ...] = (
    RAWUCB(),
    EffRAWUCB(),
    EffFEWA(),
    GLRUCB(horizon=HORIZON, sigma=1.0),
    DiscountedTS(kind="gaussian"),
    UCB1(),
)
PROBLEMS = {
    "rested": two_arms(L=1.0, horizon=HORIZON),
    "restless": Problem.restless([Constant(0.0), Abrupt(0.5, -0.5, at=HORIZON // 4)], horizon=HORIZON),
}


def row(policy: Policy, problem: Problem, workers: int | None = None, keep: Path | None = None) -> list[str]:
    """Return a policy, and its regret with each of the delays."""
    cells = []
    for delay in (*DELAYS.values(), LOST):
        result = simulate(policy, problem.delayed(delay), runs=RUNS, seed=SEED, workers=workers, checkpoints=[], keep=keep)
        cells.append(interval_text(mean_interval(result.regret[0, :, -1]), ",.0f"))
    return [policy.label, *cells]


def tables(workers: int | None, keep: Path | None) -> dict[str, str]:
    """Return the parts of the page that are measured."""
    heads = ["policy", *DELAYS, f"{LOST.mean:g}, half lost"]
    sides = "l" + "r" * (len(heads) - 1)
    return {
        name: table(heads, [row(policy, problem, workers, keep) for policy in POLICIES], sides)
        for name, problem in PROBLEMS.items()
    }


def main() -> None:
    """Write the tables into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("keep", type=Path, nargs="?", help="a folder for finished games")
    parser.add_argument("--workers", type=int)
    given = parser.parse_args()
    fill(PAGE, tables(given.workers, given.keep))
    sys.stdout.write(f"{PAGE} written\n")


if __name__ == "__main__":
    main()
