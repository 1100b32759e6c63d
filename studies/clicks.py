"""Measure what docs/guides/clicks.md shows: the regret of many policies, and of River's, on falling click rates.

River must be installed: `pip install river`.
"""

import importlib
import importlib.metadata
import math
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from docs.page_tables import fill, show, table
from rotting.common.arrays import Floats
from rotting.policies.kernels.random_numbers import derive_key, reward_uniform
from rotting.policy import Policy
from rotting.problems import Exponential, Problem
from rotting.problems.noise import Bernoulli
from rotting.problems.oracle import optimal_rewards
from rotting.registry import make
from rotting.simulation.engines.compile import compiled
from rotting.simulation.simulate import simulate
from studies.unknown_noise import N_ARMS, fading_clicks

PAGE = Path(__file__).parent.parent / "docs" / "guides" / "clicks.md"
SEED, RUNS, HORIZON = 0, 50, 50_000
SIGMA = 0.14  # the standard deviation of clicks at a rate of 2 %

Player = tuple[Callable[[], int], Callable[[int, float], Any]]
"""What pulls an arm, and what learns its reward."""


class Clicks(NamedTuple):
    """A problem."""

    title: str
    problem: Problem


def problems(horizon: int) -> tuple[Clicks, ...]:
    """Return ten articles that get old, and ten that get boring, with the same click rates at first."""
    rates = [0.002 + 0.004 * i for i in range(N_ARMS)]
    boring = Problem.rested([Exponential(rate, math.log(2) / (horizon / 20)) for rate in rates], Bernoulli(), horizon)
    return Clicks("articles that get old", fading_clicks(horizon)), Clicks("articles that get boring", boring)


def policies() -> dict[str, Policy]:
    """Return ours, by what the tables call them."""
    sigmas: tuple[float | str, ...] = (1.0, SIGMA, "estimate")
    told = {"RAWUCB": "raw-ucb", "EffRAWUCB": "eff-raw-ucb", "UCB1": "ucb1"}
    return {
        **{f"{shown}(sigma={sigma!r})": make(name, sigma=sigma) for shown, name in told.items() for sigma in sigmas},
        "RAWKLUCB()": make("raw-kl-ucb"),
        "GLRKLUCB()": make("glr-kl-ucb"),
        "KLUCB()": make("kl-ucb"),
        "ThompsonSampling()": make("thompson-sampling"),
        "DiscountedTS(gamma=0.999)": make("discounted-ts", gamma=0.999),
        "DiscountedTS(gamma=0.9999)": make("discounted-ts", gamma=0.9999),
        "Uniform()": make("uniform"),
    }


RIVERS = ("River UCB(delta=1)", f"River UCB(delta={SIGMA})", "River UCB(delta=1), scaled", "River ThompsonSampling(Beta())")


def river(name: str, run: int) -> Player:
    """Return a new policy of River: one of `RIVERS`."""
    bandits, proba = importlib.import_module("river.bandit"), importlib.import_module("river.proba")
    scaler = importlib.import_module("river.preprocessing").TargetStandardScaler(None)
    policy = dict(
        zip(
            RIVERS,
            (
                bandits.UCB(delta=1, seed=run),
                bandits.UCB(delta=SIGMA, seed=run),
                bandits.UCB(delta=1, reward_scaler=scaler, seed=run),
                bandits.ThompsonSampling(reward_obj=proba.Beta(), seed=run),
            ),
            strict=True,
        )
    )[name]
    arms = list(range(N_ARMS))
    return (lambda: int(policy.pull(arms))), policy.update


def _draw_all(out: Floats, key: int, run: int) -> None:
    """Fill a table [arm, clock] with the numbers that decide about clicks, the same that a simulation draws."""
    for i in range(out.shape[0]):
        for clock in range(out.shape[1]):
            out[i, clock] = reward_uniform(key, run, i, clock, 0)


class Rates(NamedTuple):
    """The click rates of a problem as a table, and what the best play earns."""

    means: Floats  # [arm, clock], on the clock of the problem
    by_round: bool  # the clock: rounds, or an arm's own pulls
    best: float


@lru_cache
def rates(k: int, horizon: int) -> Rates:
    """Return those of the k-th problem."""
    problem = problems(horizon)[k].problem
    by_round = problem.kind == "restless"
    rounds = range(1, horizon + 1)
    means = [[problem.mean(i, t, 0 if by_round else t - 1) for t in rounds] for i in range(problem.n_arms)]
    return Rates(np.array(means), by_round, float(optimal_rewards(problem, horizon, [horizon]).cumulative[-1]))


def played(player: Player, given: Rates, run: int) -> float:
    """Return the regret of any player in one run: the clicks are those that our policies meet in it."""
    (pull, update), (means, by_round, best) = player, given
    draws = np.empty(means.shape)
    compiled(_draw_all)(draws, derive_key(SEED, "noise"), run)
    clicks = (draws < means).astype(float).tolist()
    pulls, earned = [0] * len(means), []
    for t in range(means.shape[1]):
        arm = pull()
        clock = t if by_round else pulls[arm]
        update(arm, clicks[arm][clock])
        earned.append(means[arm, clock])
        pulls[arm] += 1
    return best - math.fsum(earned)


def _river_run(name: str, k: int, horizon: int, run: int) -> float:
    return played(river(name, run), rates(k, horizon), run)


def regrets(name: str, k: int, runs: int, horizon: int, workers: int) -> Floats:
    """Return the regret of each run of one of our policies on the k-th problem."""
    problem = problems(horizon)[k].problem
    result = simulate(policies()[name], problem, runs=runs, seed=SEED, workers=workers, checkpoints=[], progress=False)
    return np.asarray(result.regret[0, :, -1])


def measured(runs: int, horizon: int, workers: int) -> dict[str, list[Floats]]:
    """Play all games, and return the regret of each run, for each policy and problem."""
    both = range(len(problems(horizon)))
    found = {name: [regrets(name, k, runs, horizon, workers) for k in both] for name in policies()}
    with ProcessPoolExecutor(workers) as pool:
        for name in RIVERS:
            games = [[pool.submit(_river_run, name, k, horizon, run) for run in range(runs)] for k in both]
            found[name] = [np.array([game.result() for game in each]) for each in games]
    return found


def parts(found: Mapping[str, list[Floats]], horizon: int, version: str) -> dict[str, str]:
    """Return what the page holds between its marks, by their names; the best on the first problem come first."""
    names = sorted(found, key=lambda name: float(found[name][0].mean()))
    rows = [[f"`{name}`", *(f"{values.mean():.1f}" for values in found[name])] for name in names]
    titles = [each.title for each in problems(horizon)]
    return {
        "regrets": table(["policy", *titles], rows, "l" + "r" * len(titles)),
        "runs": f"T = {horizon:,}; {found[names[0]][0].size} paired runs; River {version}.",
    }


def main() -> None:
    """Write the tables; an argument is the number of processes."""
    workers = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    version = importlib.metadata.version("river")  # first: without it, nothing need be played
    found = measured(RUNS, HORIZON, workers)
    shown = parts(found, HORIZON, version)
    show(shown)
    fill(PAGE, shown)


if __name__ == "__main__":
    main()
