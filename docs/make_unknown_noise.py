"""Measure what docs/unknown-noise.md shows: the regret of `sigma="estimate"` over that of a sigma that is known.

`make noise` runs it (20 core-minutes, the games once). It writes the tables between their marks in the page, which is written
by hand. They depend on the code and on a fixed seed only.
"""

import argparse
import math
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from docs import make_policies
from docs.make_policies import COLUMNS, SEED, Setting, given_to
from docs.page_tables import fill, table
from rotting.common.arrays import Floats
from rotting.common.statistics import Interval
from rotting.experiments.unknown_noise import N_ARMS, fading_clicks, falling_counts, steady_clicks
from rotting.kernels.binding import bind_all
from rotting.parts.noise_scale import prior_pairs
from rotting.policies.d_ucb import DUCB
from rotting.policies.eff_fewa import EffFEWA
from rotting.policies.eff_raw_ucb import EffRAWUCB
from rotting.policies.eff_raw_ucb_pp import EffRAWUCBpp
from rotting.policies.fewa import FEWA
from rotting.policies.glr_ucb import GLRUCB
from rotting.policies.raw_ucb import RAWUCB
from rotting.policies.raw_ucb_pp import RAWUCBpp
from rotting.policies.sw_ucb import SWUCB
from rotting.policies.ucb1 import UCB1
from rotting.policy import Kernel, Policy
from rotting.problems import Abrupt, Constant, Exponential, Problem
from rotting.problems.noise import Bernoulli
from rotting.simulation.comparisons import mean_ratio
from rotting.simulation.simulate import simulate

PAGE = Path(__file__).parent / "unknown-noise.md"
RUNS, HORIZON = 200, 20_000
SLOW_RUNS = 40  # of FEWA in long games: it takes fifty times as long as the others
POLICIES: tuple[type[Policy], ...] = (*(RAWUCB, EffRAWUCB, RAWUCBpp, EffRAWUCBpp, FEWA, EffFEWA, UCB1, SWUCB, DUCB, GLRUCB),)


# --- The problems -------------------------------------------------------------------------------------------------------------


class Case(NamedTuple):
    """A problem, what policies that need it are told about it, and a sigma for it."""

    setting: Setting
    sigma: float


def _counts_and_clicks() -> tuple[Case, ...]:
    coin = Bernoulli()
    rates = [0.002 + 0.004 * i for i in range(N_ARMS)]  # 0.2 % to 3.8 %: 2 % on average
    tiring = [Exponential(rate, math.log(2) / 1_000) for rate in rates]
    abrupt = [Constant(0.01), *(Abrupt(0.02, 0.005, at=250 * i) for i in range(1, N_ARMS))]
    Y = N_ARMS  # what policies that must know the number of changes are told: one an arm

    def case(title: str, problem: Problem, sigma: float, means: str) -> Case:
        return Case(Setting(title, problem, Y, 0.0, means), sigma)

    spread = "rates from 0.2 % to 3.8 %, in steps of 0.4 %"
    return (
        case(
            "clicks, fading",
            fading_clicks(HORIZON),
            0.14,
            f"restless, {spread}; the best halves every 2,000 rounds, the next every 4,000, the worst every 20,000",
        ),
        case(
            "clicks, tiring",
            Problem.rested(tiring, coin, HORIZON),
            0.14,
            f"rested, {spread}; each halves every 1,000 of its own pulls",
        ),
        case(
            "clicks, steady",
            steady_clicks(HORIZON),
            0.14,
            "rested, all rates fall linearly from 2 % to 1 %: the first within 1,000 of its own pulls, the last within 10,000",
        ),
        case(
            "clicks, dropping",
            Problem.rested(abrupt, coin, HORIZON),
            0.14,
            "rested, one arm stays at 1 %; the others have 2 % for their first 250, 500, ..., 2,250 pulls, then 0.5 %",
        ),
        case(
            "counts",
            falling_counts(HORIZON),
            2.5,
            "rested Poisson counts; means start at 4.5 to 9, in steps of 0.5; their distance to 4 halves every 1,000 own pulls",
        ),
    )


COINS = tuple(Case(setting, 0.5) for setting in make_policies.SETTINGS)
RARE = _counts_and_clicks()
CASES = COINS + RARE


# --- The games ----------------------------------------------------------------------------------------------------------------


def _5() -> float:
    return 5.0


def _20() -> float:
    return 20.0


def _60() -> float:
    return 60.0


def _400() -> float:
    return 400.0


OTHER_PAIRS = (_5, _20, _60, _400)


def with_prior(pairs: Callable[[], float]) -> Policy:
    """Return RAW-UCB with another weight of the pool."""
    given = RAWUCB.kernel
    bound = bind_all({"choose": given.choose, "update": given.update}, {prior_pairs: pairs})
    kernel = Kernel(given.init, **bound, enlarge=given.enlarge)
    fields = {"name": f"raw-ucb{pairs.__name__}", "kernel": kernel, "listed": False}
    kind: Any = type(f"RAWUCB{pairs.__name__}", (RAWUCB,), fields)
    made: Policy = kind(sigma="estimate")
    return made


def pair_of(policy: type[Policy], case: Case) -> tuple[Policy, Policy]:
    """Return the policy that is told the sigma of a case, and the one that estimates it."""
    given: dict[str, float | str] = {**given_to(policy, case.setting)}
    if "horizon" in given:
        given["horizon"] = case.setting.problem.horizon or 0
    return policy(**{**given, "sigma": case.sigma}), policy(**{**given, "sigma": "estimate"})


def regret(policy: Policy, case: Case, workers: int | None, keep: Path | None) -> Floats:
    """Return the regret of each run at the end."""
    problem = case.setting.problem
    runs = SLOW_RUNS if isinstance(policy, FEWA) and case in RARE else RUNS
    result = simulate(policy, problem, runs=runs, seed=SEED, workers=workers, checkpoints=[], progress=False, keep=keep)
    return np.asarray(result.regret[0, :, -1])


def ratio(policy: type[Policy], case: Case, workers: int | None = None, keep: Path | None = None) -> Interval:
    """Return the regret with an estimated sigma over that with the true one."""
    told, estimated = (regret(each, case, workers, keep) for each in pair_of(policy, case))
    return mean_ratio(estimated[None], told[None])


def cell(found: Interval) -> str:
    """Return a ratio and its interval."""
    return f"{found.mean:.2f} [{found.low:.2f}, {found.high:.2f}]"


# --- The tables ---------------------------------------------------------------------------------------------------------------


def ratio_row(policy: type[Policy], cases: Sequence[Case], workers: int | None = None, keep: Path | None = None) -> list[str]:
    """Return a policy's row of a table of ratios."""
    return [policy.__name__, *(cell(ratio(policy, case, workers, keep)) for case in cases)]


def weight_row(case: Case, workers: int | None = None, keep: Path | None = None) -> list[str]:
    """Return a problem's row of the table of weights: RAW-UCB's regrets with sigma = 1 and the true one, then ratios."""
    told, estimated = pair_of(RAWUCB, case)
    policies = [RAWUCB(sigma=1.0), told, *map(with_prior, OTHER_PAIRS[:-1]), estimated, with_prior(OTHER_PAIRS[-1])]
    one, true, *ratios = (regret(each, case, workers, keep) for each in policies)
    shown = [f"{mean_ratio(each[None], true[None]).mean:.2f}" for each in ratios]
    return [case.setting.title, f"{case.sigma:g}", f"{one.mean():,.1f}", f"{true.mean():,.1f}", *shown]


def problems() -> str:
    """Return the list of the problems."""
    items = (f"- **{each.setting.title}**: {each.setting.means}." for each in RARE)
    return "\n".join(textwrap.fill(each, COLUMNS, subsequent_indent="  ", break_on_hyphens=False) for each in items)


def tables(workers: int | None, keep: Path | None) -> dict[str, str]:
    """Return what the page holds between its marks, by their names."""

    def ratios(cases: Sequence[Case]) -> str:
        heads = ["policy", *(case.setting.title for case in cases)]
        return table(heads, [ratio_row(each, cases, workers, keep) for each in POLICIES], "l" + "r" * len(cases))

    pairs = [f"c = {each():g}" for each in (*OTHER_PAIRS[:-1], prior_pairs, OTHER_PAIRS[-1])]
    rows = [weight_row(case, workers, keep) for case in CASES]
    return {
        "problems": problems(),
        "coins": ratios(COINS),
        "rare": ratios(RARE),
        "weights": table(["problem", "true sigma", "sigma = 1", "true", *pairs], rows, "l" + "r" * (3 + len(pairs))),
    }


def main() -> None:
    """Write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("keep", type=Path, help="a folder for finished games")
    parser.add_argument("--workers", type=int, help="threads; all CPUs by default")
    given = parser.parse_args()
    fill(PAGE, tables(given.workers, given.keep))
    sys.stdout.write(f"{PAGE} written\n")


if __name__ == "__main__":
    main()
