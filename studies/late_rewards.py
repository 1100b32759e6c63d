"""Measure what late rewards cost six policies in simulations."""

from docs.make_policies import SEED
from docs.page_tables import show, table
from rotting.policies.discounted_ts import DiscountedTS
from rotting.policies.eff_fewa import EffFEWA
from rotting.policies.eff_raw_ucb import EffRAWUCB
from rotting.policies.glr_ucb import GLRUCB
from rotting.policies.raw_ucb import RAWUCB
from rotting.policies.ucb1 import UCB1
from rotting.policy import Policy
from rotting.problems import Abrupt, Constant, Delay, GeometricDelay, Problem, two_arms
from rotting.simulation.simulate import simulate

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


def row(policy: Policy, problem: Problem) -> list[str]:
    """Return a policy, and its regret with each of the delays."""
    cells = []
    for delay in (*DELAYS.values(), LOST):
        result = simulate(policy, problem.delayed(delay), runs=RUNS, seed=SEED, checkpoints=[])
        cells.append(f"{result.regret[0, :, -1].mean():,.0f}")
    return [policy.label, *cells]


def main() -> None:
    """Print the tables."""
    heads = ["policy", *DELAYS, f"{LOST.mean:g}, half lost"]
    sides = "l" + "r" * (len(heads) - 1)
    parts = {name: table(heads, [row(policy, problem) for policy in POLICIES], sides) for name, problem in PROBLEMS.items()}
    show(parts)


if __name__ == "__main__":
    main()
