"""Measure what docs/intervals.md shows: how often the 95 % intervals of the claims contain the true value.

`python -m studies.interval_coverage POOL.npz` plays the claims' games often, takes the values of all runs for the truth, draws
samples of few runs, and counts. The regrets are kept in POOL.npz and read from there the next time.
"""

import argparse
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from docs.page_tables import fill, show, table
from rotting.common.arrays import Floats, Ints
from rotting.common.files import write_atomically
from rotting.common.statistics import Interval, mean_interval, t_critical
from rotting.paper.datasets import synthetic_nights
from rotting.paper.experiments import Results, regret_at, rested_two_arms, restless_nights
from rotting.paper.experiments.rested_two_arms import game_name
from rotting.policies.raw_ucb import RAWUCB
from rotting.problems import two_arms
from rotting.simulation.simulate import simulate, simulate_all

PAGE = Path(__file__).parent.parent / "docs" / "intervals.md"
RUNS = {"two-arms": 5_000, "curves": 2_000, "nights": 200, "rare": 20_000}  # a night is long
SEED = 1  # not that of the claims
SAMPLES = {4: 400, 20: 400, 40: 400, 200: 400, 2_000: 200}  # how many samples of so many runs
SKEWED = {20: 1_000, 100: 1_000, 500: 1_000, 2_000: 400}  # the same for means
SLOW = 4  # times fewer samples for claims on each of hundreds of rounds
FEW = 50  # intervals, of which a share would say little
OVER_TIME = ("rested-raw-4-ahead-at-any-time", "rested-raw-ahead-at-any-time")
NOT_MEASURED = {  # their games have other sizes and problems
    "rested-fewa-4-round-robin",
    "rested-glr-medium-c-0",
    "rested-glr-medium-bernoulli",
}
Pools = Mapping[str, Floats]
"""Regrets, the runs last.

"two-arms" and "nights" at the end `[problem, policy, run]`; "easy" and "night-7" at three rounds
`[policy, round, run]`; "curves" at the rounds "marks", of the first policies: `[problem, policy, round, run]`; "rare" at the
end of RAW-UCB 1.4 on two arms with L = 1, `[run]`.
"""


# --- The pools ----------------------------------------------------------------------------------------------------------------


def play() -> Pools:
    """Play the games of the claims, as their experiments prepare them."""
    two = _results(rested_two_arms, RUNS["two-arms"])
    with patch.object(restless_nights, "load", lambda *_: (synthetic_nights(), ())):  # also where there are Yahoo!'s
        nights = _results(restless_nights, RUNS["nights"])
    horizon = rested_two_arms.SIZES["full"].horizon
    rare = simulate(RAWUCB(alpha=1.4), two_arms(L=1.0, horizon=horizon), runs=RUNS["rare"], seed=SEED, checkpoints=[])
    easy = two[game_name(rested_two_arms.EASY)]
    seventh = nights[f"night-{restless_nights.EASY}"]
    curves = [two[game_name(L)].regret[:4, : RUNS["curves"]] for L in (rested_two_arms.HARD, rested_two_arms.EASY)]
    return {
        "two-arms": np.array([two[game_name(L)].regret[:, :, -1] for L in rested_two_arms.GRID]),
        "nights": np.array([each.regret[:, :, -1] for each in nights.values()]),
        "easy": np.array([regret_at(easy, k, 0.5, 0.75, 1.0) for k in range(len(easy.policies))]),
        "night-7": np.array([regret_at(seventh, k, 0.25, 0.5, 1.0) for k in range(len(seventh.policies))]),
        "curves": np.moveaxis(np.array(curves), 2, 3),
        "marks": np.asarray(easy.checkpoints, np.float64),
        "rare": rare.regret[0, :, -1],
    }


def _results(module: ModuleType, runs: int) -> Results:
    plan = module.prepare(replace(module.SIZES["full"], runs=runs, seed=SEED), None, None)
    return dict(zip(plan.games, simulate_all(list(plan.games.values())), strict=True))


# --- The claims ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Drawn:
    """What the claims read of a `Result`, of some of the runs."""

    regret: Floats  # [policy, run, round]
    checkpoints: Floats
    horizon: int


class Source(NamedTuple):
    """Claims that are measured from the same runs."""

    runs: int
    estimates: Callable[[Ints], Mapping[str, Interval]]  # by claim, from the runs of these numbers
    fewer: int = 1  # as many samples, over this: some claims are slow


def _in_time(pool: Floats, runs: Ints, *shares: float, horizon: int) -> Drawn:
    """Return the runs of `[policy, round, run]`, the rounds at these shares of the horizon."""
    return Drawn(np.moveaxis(pool[..., runs], 1, 2), np.array(shares) * horizon, horizon)


def sources(pools: Pools) -> list[Source]:
    """Return all claims that the pools can measure, as their experiments state them."""
    full: Any = rested_two_arms.SIZES["full"]
    eight = synthetic_nights()

    def at_the_end(pool: Floats, runs: Ints) -> Drawn:
        return _in_time(pool[:, None], runs, 1.0, horizon=full.horizon)

    def two_arms(runs: Ints) -> dict[str, Interval]:
        drawn: Any = {game_name(L): at_the_end(pool, runs) for L, pool in zip(full.drops, pools["two-arms"], strict=True)}
        drawn[game_name(rested_two_arms.EASY)] = _in_time(pools["easy"], runs, 0.5, 0.75, 1.0, horizon=full.horizon)
        measured = rested_two_arms._Measured(full, drawn)
        known = {*NOT_MEASURED, *OVER_TIME}
        return {each.id: each.measure(measured) for each in rested_two_arms.STATEMENTS if each.id not in known}

    def over_time(runs: Ints) -> dict[str, Interval]:
        shares = pools["marks"] / full.horizon
        drawn: Any = {
            game_name(L): _in_time(pool, runs, *shares, horizon=full.horizon)
            for L, pool in zip(full.curves, pools["curves"], strict=True)
        }
        measured = rested_two_arms._Measured(full, drawn)
        return {each.id: each.measure(measured) for each in rested_two_arms.STATEMENTS if each.id in OVER_TIME}

    def nights(runs: Ints) -> dict[str, Interval]:
        names = map(restless_nights.game_name, eight)
        drawn: Any = {name: at_the_end(pool, runs) for name, pool in zip(names, pools["nights"], strict=True)}
        seventh = _in_time(pools["night-7"], runs, 0.25, 0.5, 1.0, horizon=full.horizon)
        drawn[f"night-{restless_nights.EASY}"] = seventh
        measured = restless_nights._Measured(eight, drawn, {})
        stated = restless_nights.STATEMENTS + restless_nights.EASY_NIGHT_STATEMENTS
        return {each.id: each.measure(measured) for each in stated if each.id not in NOT_MEASURED}

    return [
        Source(pools["two-arms"].shape[-1], two_arms),
        Source(pools["curves"].shape[-1], over_time, SLOW),
        Source(pools["nights"].shape[-1], nights),
    ]


# --- Counting -----------------------------------------------------------------------------------------------------------------


class Count(NamedTuple):
    """Numbers of samples: of which the interval holds the truth, which have one, and all."""

    covered: int
    stated: int
    samples: int

    @property
    def share(self) -> float:
        """Of the intervals that are stated, those that hold the truth."""
        return self.covered / self.stated

    def __str__(self) -> str:
        if self.stated == 0:
            return "none"
        if self.stated < min(FEW, self.samples):
            return f"{self.covered} of {self.stated}"
        return f"{self.share:.0%}" + ("" if self.stated == self.samples else f" (of {self.stated / self.samples:.0%})")


def count(source: Source, truths: Mapping[str, float], runs: int, samples: int) -> dict[str, Count]:
    """Draw samples of runs and count, by claim; ends that are unknown or infinite are no interval."""
    rng = np.random.default_rng(runs)
    covered, stated = dict.fromkeys(truths, 0), dict.fromkeys(truths, 0)
    for _ in range(samples):
        found = source.estimates(rng.integers(source.runs, size=runs))
        for name, truth in truths.items():
            _, low, high = found[name]
            if low is not None and high is not None and np.isfinite([low, high]).all():
                stated[name] += 1
                covered[name] += bool(low <= truth <= high)
    return {name: Count(covered[name], stated[name], samples) for name in truths}


def counts(source: Source, sizes: Mapping[int, int]) -> dict[str, list[Count | None]]:
    """Return a row per claim with a count per number of runs, or None if fewer runs were played."""
    truths = {name: found.mean for name, found in source.estimates(np.arange(source.runs)).items()}
    rows: dict[str, list[Count | None]] = {name: [] for name in truths}
    for runs, samples in sizes.items():
        counted = count(source, truths, runs, samples // source.fewer) if runs <= source.runs else {}
        for name, row in rows.items():
            row.append(counted.get(name))
    return rows


def summary(of_claims: Mapping[str, Sequence[Count | None]]) -> list[list[str]]:
    """Return a row per number of runs: how many claims state an interval, and how often these contain the true value."""
    rows = []
    for runs, column in zip(SAMPLES, zip(*of_claims.values(), strict=True), strict=True):
        played = [each for each in column if each is not None]
        shares = [each.share for each in played if each.stated >= FEW]
        rows.append([f"{runs:,}", f"{len(shares)} of {len(played)}", f"{np.median(shares):.0%}", f"{min(shares):.0%}"])
    return rows


def student(values: Floats) -> Interval:
    """`mean -+ t s / sqrt(n)`."""
    mean, half = float(values.mean()), t_critical(len(values) - 1) * float(values.std(ddof=1)) / math.sqrt(len(values))
    return Interval(mean, mean - half, mean + half)


OF_MEANS: dict[str, Callable[[Floats], Interval]] = {"Student's": student, "ours": mean_interval}


def samples_of_means(pools: Pools) -> dict[str, Floats]:
    """Return the values whose means are covered, by what they are."""
    rng, size = np.random.default_rng(0), 200_000
    usual = rng.gamma(16.0, 1 / 16, size)

    def rare(one_in: int, times: float) -> Floats:
        return np.where(rng.random(size) < 1 / one_in, rng.gamma(2.0, times / 2, size), usual)

    return {
        "RAW-UCB 1.4, L = 1": pools["rare"],
        "normal": rng.normal(size=size),
        "exponential": rng.exponential(size=size),
        "1 run in 100 has 20 times as much": rare(100, 20.0),
        "1 run in 1,000 has 80 times as much": rare(1_000, 80.0),
    }


def means(pools: Pools) -> list[list[str]]:
    """Return the rows of the table of means: what is covered, by which interval, and a cell per number of runs."""
    rows = []
    for name, values in samples_of_means(pools).items():

        def estimates(runs: Ints, values: Floats = values) -> dict[str, Interval]:
            return {label: interval(values[runs]) for label, interval in OF_MEANS.items()}

        rows += [[name, label, *map(str, cells)] for label, cells in counts(Source(len(values), estimates), SKEWED).items()]
    return rows


def main() -> None:
    """Print the tables, and write that of our intervals of means into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pool", type=Path, help="the regrets: read from this .npz, or played and kept there")
    path = parser.parse_args().pool
    if not path.exists():
        played = BytesIO()
        np.savez(played, **play())  # type: ignore[arg-type] # the arrays have other names than the option
        write_atomically(path, played.getvalue())  # half of a file would be taken for all of it the next time
    with np.load(path) as file:
        pools = dict(file)
    of_claims: dict[str, list[Count | None]] = {}
    for source in sources(pools):
        of_claims |= counts(source, SAMPLES)
    of_means = [f"n = {runs:,}" for runs in SKEWED]
    of_both = means(pools)
    of_ours = [[name, *cells] for name, label, *cells in of_both if label == "ours"]
    parts = {
        "claims": table(["runs", "claims with an interval", "median share", "lowest share"], summary(of_claims), "rrrr"),
        "both intervals": table(["values", "interval", *of_means], of_both, "ll" + "r" * len(of_means)),
        "means": table(["values", *of_means], of_ours, "l" + "r" * len(of_means)),
    }
    show({name: ", ".join(map(str, row)) for name, row in of_claims.items()} | parts)
    fill(PAGE, parts)


if __name__ == "__main__":
    main()
