"""Measure what docs/unknown-noise.md shows: regret with a wrong sigma, or an estimated one, over that with the true one."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from docs import make_policies
from docs.make_policies import SEED, Setting, given_to
from docs.page_tables import fill, show, table
from rotting.common.arrays import Floats
from rotting.common.statistics import Interval
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
from rotting.policy import Policy
from rotting.problems import Abrupt, Constant, Exponential, Linear, Problem, ten_arms
from rotting.problems.noise import Bernoulli, Poisson
from rotting.simulation.comparisons import mean_ratio
from rotting.simulation.simulate import simulate

PAGE = Path(__file__).parent.parent / "docs" / "unknown-noise.md"
RUNS, HORIZON = 200, 20_000
SLOW_RUNS = 40  # of FEWA in long games: it takes fifty times as long as the others
POLICIES: tuple[type[Policy], ...] = (*(RAWUCB, EffRAWUCB, RAWUCBpp, EffRAWUCBpp, FEWA, EffFEWA, UCB1, SWUCB, DUCB, GLRUCB),)


N_ARMS = 10
FACTORS = (0.1, 0.3, 0.5, 0.7, 1.5, 2.0, 3.0, 10.0)  # of the true sigma, which RAW-UCB is told instead


# --- The problems -------------------------------------------------------------------------------------------------------------


class Case(NamedTuple):
    """A problem, what policies that need it are told about it, and a sigma for it."""

    setting: Setting
    sigma: float


def fading_clicks(horizon: int) -> Problem:
    """Return ten arms with click rates from 0.2 % to 3.8 %, 2 % on average; the better an arm, the faster it fades."""
    halves = [horizon / 10 * (N_ARMS - i) for i in range(N_ARMS)]
    arms = [Exponential(0.002 + 0.004 * i, math.log(2) / half) for i, half in enumerate(halves)]
    return Problem.restless(arms, Bernoulli(), horizon)


def steady_clicks(horizon: int) -> Problem:
    """Return ten arms whose click rates fall evenly from 2 % to 1 %: the first in T / 20 of its pulls, the last in T / 2."""
    arms = [Linear(0.02, slope=-0.2 / (horizon * (i + 1)), floor=0.01) for i in range(N_ARMS)]
    return Problem.rested(arms, Bernoulli(), horizon)


def falling_counts(horizon: int) -> Problem:
    """Return ten arms whose mean counts fall from between 4.5 and 9 to 4: by half of the way in every T / 20 own pulls."""
    arms = [Exponential(4.5 + 0.5 * i, math.log(2) / (horizon / 20), limit=4.0) for i in range(N_ARMS)]
    return Problem.rested(arms, Poisson(), horizon)


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
GAUSSIAN = Case(Setting("Gaussian", ten_arms(HORIZON), N_ARMS, 0.0, "the rested game of ten arms"), 1.0)


# --- The games ----------------------------------------------------------------------------------------------------------------


def pair_of(policy: type[Policy], case: Case) -> tuple[Policy, Policy]:
    """Return the policy that is told the sigma of a case, and the one that estimates it."""
    given: dict[str, float | str] = {**given_to(policy, case.setting)}
    if "horizon" in given:
        given["horizon"] = case.setting.problem.horizon or 0
    return policy(**{**given, "sigma": case.sigma}), policy(**{**given, "sigma": "estimate"})


def regret(policy: Policy, case: Case) -> Floats:
    """Return the regret of each run at the end."""
    problem = case.setting.problem
    runs = SLOW_RUNS if isinstance(policy, FEWA) and case in RARE else RUNS
    result = simulate(policy, problem, runs=runs, seed=SEED, checkpoints=[])
    return np.asarray(result.regret[0, :, -1])


def ratio(policy: type[Policy], case: Case) -> Interval:
    """Return the regret with an estimated sigma over that with the true one."""
    told, estimated = (regret(each, case) for each in pair_of(policy, case))
    return mean_ratio(estimated[None], told[None])


# --- The tables ---------------------------------------------------------------------------------------------------------------


def ratio_row(policy: type[Policy], cases: Sequence[Case]) -> list[str]:
    """Return a policy's row of a table of ratios."""
    return [policy.__name__, *(f"{ratio(policy, case).mean:.2f}" for case in cases)]


def wrong_row(case: Case) -> list[str]:
    """Return a problem's row of the table of wrong sigmas: the regret of RAW-UCB over that with the true sigma."""
    true = regret(RAWUCB(sigma=case.sigma), case)
    told = [regret(RAWUCB(sigma=factor * case.sigma), case) for factor in FACTORS]
    return [case.setting.title, *(f"{mean_ratio(each[None], true[None]).mean:.2f}" for each in told)]


def tables() -> dict[str, str]:
    """Return what the page holds between its marks, by their names."""

    def ratios(cases: Sequence[Case]) -> str:
        heads = ["policy", *(case.setting.title for case in cases)]
        return table(heads, [ratio_row(each, cases) for each in POLICIES], "l" + "r" * len(cases))

    return {
        "wrong": table(
            ["sigma / true sigma", *(f"{factor:g}" for factor in FACTORS)],
            [wrong_row(each) for each in (GAUSSIAN, *RARE)],
            "l" + "r" * len(FACTORS),
        ),
        "coins": ratios(COINS),
        "rare": ratios(RARE),
    }


def main() -> None:
    """Write the tables into the page."""
    parts = tables()
    show(parts)
    fill(PAGE, parts)


if __name__ == "__main__":
    main()
