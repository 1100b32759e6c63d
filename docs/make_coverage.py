"""Write docs/intervals.md: how often the 95 % intervals of the claims hold what they should, and those of other methods.

`python docs/make_coverage.py POOL.npz` plays the claims' games often (two core-hours, once: the regrets are kept in
POOL.npz, and read from there the next time), takes the values of all runs for the truth, draws samples of few runs, and counts.
"""

import argparse
import math
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist
from types import ModuleType
from typing import NamedTuple
from unittest.mock import patch

import numpy as np

from rotting.common.arrays import Floats
from rotting.common.statistics import LEVEL, Interval, jackknife_error, mean_interval, resamples, t_critical
from rotting.experiments import regret_at, rested_two_arms, restless_nights
from rotting.simulation import comparisons
from rotting.simulation.comparisons import growth, mean_ratio, smallest_ratio, spread_ratio
from rotting.simulation.simulate import simulate_all

PAGE = Path(__file__).parent / "intervals.md"
COLUMNS = 120
RUNS = {"two-arms": 5_000, "nights": 200}  # of every policy on every problem; a night is twenty times as long
SEED = 1  # not that of the claims
SAMPLES = {4: 400, 20: 400, 40: 400, 200: 200, 2_000: 100}  # how many samples of so many runs
Pools = Mapping[str, Floats]
"""Regrets: "two-arms" and "nights" at the end `[problem, policy, run]`, "easy" and "night-7" in time `[policy, round, run]`."""
Method = Callable[..., Interval]


# --- The pools -----------------------------------------------------------------------------------------------------


def play() -> Pools:
    """Play the games of the claims, as their experiments prepare them."""
    two = _results(rested_two_arms, RUNS["two-arms"])
    nights = _results(restless_nights, RUNS["nights"])
    easy = two[f"L={rested_two_arms.EASY:.4g}"]
    seventh = nights[f"night-{restless_nights.EASY}"]
    return {
        "two-arms": np.array([each.regret[:, :, -1] for each in two.values()]),
        "nights": np.array([each.regret[:, :, -1] for each in nights.values()]),
        "easy": np.array([regret_at(easy, k, 0.5, 0.75, 1.0) for k in range(len(easy.policies))]),
        "night-7": np.array([regret_at(seventh, k, 0.25, 0.5, 1.0) for k in range(len(seventh.policies))]),
    }


def _results(module: ModuleType, runs: int):  # type: ignore[no-untyped-def]
    plan = module.prepare(replace(module.SIZES["full"], runs=runs, seed=SEED), None, None)
    return dict(zip(plan.games, simulate_all(list(plan.games.values())), strict=True))


# --- What is estimated ---------------------------------------------------------------------------------------------


class Case(NamedTuple):
    """A claim: arrays with the runs last, that its interval is made from."""

    claim: str
    arrays: tuple[Floats, ...]


def cases(pools: Pools) -> dict[str, list[Case]]:
    """Return the claims by the function that measures them."""
    drops = np.array(rested_two_arms.GRID)
    small, large = drops < 0.1, drops > 4

    def two(upper: str, lower: str, where: Floats | slice = slice(None)) -> tuple[Floats, Floats]:
        first, second = (pools["two-arms"][where, rested_two_arms.LABELS.index(label)] for label in (upper, lower))
        return first, second

    def nights(upper: str, lower: str) -> tuple[Floats, Floats]:
        first, second = (pools["nights"][:, restless_nights.LABELS.index(label)] for label in (upper, lower))
        return first, second

    def easy(label: str) -> tuple[Floats, ...]:
        return tuple(pools["easy"][rested_two_arms.LABELS.index(label)])

    RAW, RAW_4, FEWA, FEWA_4 = (getattr(rested_two_arms, name) for name in ("RAW", "RAW_4", "FEWA", "FEWA_4"))
    EXP3_S, GLR = rested_two_arms.EXP3_S, rested_two_arms.GLR
    return {
        "spread_ratio": [
            Case("rested-tuned-fewa-varies", two(FEWA, RAW)),
            Case("rested-glr-small-varies", two(GLR, RAW, small)),
            Case("nights-tuned-fewa-varies", nights(restless_nights.FEWA, restless_nights.RAW)),
        ],
        "growth": [
            Case("rested-exp3s-linear", easy(EXP3_S)),
            Case("rested-glr-logarithmic", easy(GLR)),
            Case("the same of FEWA 0.06 (no claim)", easy(FEWA)),
            Case("nights-easy-logarithmic", tuple(pools["night-7"][restless_nights.LABELS.index(restless_nights.RAW)])),
        ],
        "mean_ratio": [
            Case("rested-tuned-close", two(FEWA, RAW)),
            Case("rested-exp3s-large", two(EXP3_S, RAW, large)),
            Case("rested-glr-small", two(GLR, FEWA_4, small)),
            Case("rested-glr-large", two(GLR, RAW, large)),
            Case("nights-glr-similar", nights(restless_nights.GLR, restless_nights.RAW)),
        ],
        "smallest_ratio": [
            Case("rested-raw-4-beats-fewa-4-everywhere", two(FEWA_4, RAW_4)),
            Case("rested-raw-tuning", two(RAW_4, RAW)),
            Case("nights-raw-beats-fewa", nights(restless_nights.FEWA, restless_nights.RAW)),
        ],
    }


# --- Other intervals -----------------------------------------------------------------------------------------------


class Statistic(NamedTuple):
    """A statistic of weighted runs: of arrays `[..., run]` and weights `[resample, run]` that add up to the number of runs."""

    of: Callable[[Floats, Floats], Floats]
    back: Callable[[float], float]  # from the scale on which it is estimated

    def all(self, values: Floats) -> float:
        """Return the statistic of all runs, each counted once."""
        return float(self.of(values, np.ones((1, values.shape[-1])))[0])


def _log_spread(values: Floats, times: Floats) -> Floats:
    centred = values - values.mean(axis=-1, keepdims=True)
    rows = centred.reshape(-1, centred.shape[-1])
    runs = rows.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        variances = np.maximum(times @ (rows**2).T / runs - (times @ rows.T / runs) ** 2, 0.0)
        logs = np.log(variances).reshape(len(times), 2, -1)
        return np.asarray((logs[:, 0] - logs[:, 1]).mean(axis=1) / 2)


def _growth(values: Floats, times: Floats) -> Floats:
    first, second = np.diff(values, axis=0) @ times.T
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(second / first)


def _exp(log: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.exp(log))


STATISTICS = {"spread_ratio": Statistic(_log_spread, _exp), "growth": Statistic(_growth, float)}


def jackknife(statistic: Statistic, values: Floats) -> Interval:
    """Leave out twenty groups of runs in turn, and take Student's t."""
    with np.errstate(invalid="ignore"):
        whole, error, degrees = jackknife_error(statistic.all, values)
    half = t_critical(degrees) * error
    return Interval(*map(statistic.back, (whole, whole - half, whole + half)))


def percentile(statistic: Statistic, values: Floats) -> Interval:
    """Take the quantiles of the resamples."""
    drawn, whole = _drawn(statistic, values), statistic.all(values)
    return Interval(*map(statistic.back, (whole, *np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="nearest"))))


def accelerated(statistic: Statistic, values: Floats) -> Interval:
    """Take the quantiles of the resamples that are corrected for bias and skewness: BCa (Efron 1987)."""
    drawn, whole, normal = _drawn(statistic, values), statistic.all(values), NormalDist()
    runs = values.shape[-1]
    leave = np.ones((runs, runs)) - np.eye(runs) if runs <= 200 else _grouped(runs)
    without = statistic.of(values, leave * (runs / leave.sum(axis=1, keepdims=True)))
    with np.errstate(invalid="ignore"):
        moved = without.mean() - without
        skew = np.nan_to_num((moved**3).sum() / (6 * (moved**2).sum() ** 1.5))
    below = (np.mean(drawn < whole) + np.mean(drawn <= whole)) / 2
    bias = normal.inv_cdf(min(max(float(below), 1e-3), 1 - 1e-3))
    shifted = [bias + normal.inv_cdf(p) for p in ((1 - LEVEL) / 2, (1 + LEVEL) / 2)]
    places = [normal.cdf(bias + z / (1 - float(skew) * z)) for z in shifted]
    return Interval(*map(statistic.back, (whole, *np.quantile(drawn, places, method="nearest"))))


def _grouped(runs: int) -> Floats:
    return np.asarray(np.arange(runs) % 200 != np.arange(200)[:, None], np.float64)


def _drawn(statistic: Statistic, values: Floats) -> Floats:
    drawn = np.concatenate([statistic.of(values, times) for times in resamples(values.shape[-1])])
    return np.nan_to_num(drawn, nan=statistic.all(values), posinf=1e9, neginf=-1e9)


def always(upper: Floats, lower: Floats) -> Interval:
    """The interval of `spread_ratio`, also where it has none."""
    with patch.multiple(comparisons, LEAST_RUNS=0, RUNS_PER_KURTOSIS=0):
        return spread_ratio(upper, lower)


def methods(name: str) -> dict[str, Method]:
    """Return the intervals to compare; the last is ours."""
    if name in STATISTICS:
        other = {"jackknife": jackknife, "percentile bootstrap": percentile, "BCa bootstrap": accelerated}

        def of(method: Callable[[Statistic, Floats], Interval]) -> Method:
            return lambda *arrays: method(STATISTICS[name], np.stack(arrays))

        found: dict[str, Method] = {label: of(method) for label, method in other.items()}
        if name == "spread_ratio":
            return found | {"studentised bootstrap": always, "**the same or none**": spread_ratio}
        return found | {"**Fieller**": growth}
    return {"**jackknife, logarithmic**": mean_ratio if name == "mean_ratio" else smallest_ratio}


# --- Counting ------------------------------------------------------------------------------------------------------


class Count(NamedTuple):
    """Shares of the samples: with an interval that holds the truth, and with an interval."""

    covered: float
    stated: float

    def __str__(self) -> str:
        wrong = self.stated - self.covered
        return f"{1 - wrong:.0%}" + (f" ({self.stated:.0%})" if self.stated < 0.995 else "")


def count(case: Case, truth: float, method: Method, runs: int, samples: int) -> Count:
    """Draw samples of runs, the same for every array, and count; an interval that is unknown is none."""
    rng = np.random.default_rng(runs)
    covered = stated = 0
    for _ in range(samples):
        drawn = rng.integers(case.arrays[0].shape[-1], size=runs)
        _, low, high = method(*(array[..., drawn] for array in case.arrays))
        if low is None or high is None or math.isnan(low) or math.isnan(high):
            continue
        stated += 1
        covered += low <= truth <= high
    return Count(covered / samples, stated / samples)


def measure(name: str, case: Case, sizes: Mapping[int, int]) -> dict[str, list[str]]:
    """Return a row of the table per method: a cell per number of runs."""
    truth = list(methods(name).values())[-1](*case.arrays).mean
    pool = case.arrays[0].shape[-1]
    return {
        label: [
            str(count(case, truth, method, runs, samples)) if runs <= pool else "-"
            for runs, samples in sizes.items()
            if runs > 4 or not name.startswith(("spread", "growth"))
        ]
        for label, method in methods(name).items()
    }


def means(pools: Pools, sizes: Mapping[int, int]) -> dict[str, list[str]]:
    """Return rows for the intervals of means: over the policies and problems, the median and the worst; and a lognormal."""
    rows = {"median": [], "worst": [], "lognormal(1.5)": []}  # type: dict[str, list[str]]
    curves = pools["two-arms"][::3].reshape(-1, pools["two-arms"].shape[-1])
    curves = curves[np.ptp(curves, axis=1) > 0]
    skewed = np.exp(1.5 * np.random.default_rng(0).normal(size=200_000))
    for runs, samples in sizes.items():
        found = [count(Case("", (row,)), float(row.mean()), mean_interval, runs, samples).covered for row in curves]
        rows["median"].append(f"{np.median(found):.0%}")
        rows["worst"].append(f"{min(found):.0%}")
        truth = math.exp(1.5**2 / 2)
        rows["lognormal(1.5)"].append(f"{count(Case('', (skewed,)), truth, mean_interval, runs, 10 * samples).covered:.0%}")
    return rows


# --- The page ------------------------------------------------------------------------------------------------------


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    marks = ["---" if k < 2 else "--:" for k in range(len(heads))]
    return "\n".join("| " + " | ".join(row) + " |" for row in (heads, marks, *rows))


def _wrapped(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), COLUMNS, break_long_words=False, break_on_hyphens=False)


TEXTS = {
    "spread_ratio": """A ratio of standard deviations. On the rested benchmark one run in hundreds has many times the usual
        regret, and makes most of its policy's spread. Samples without such a run, or with one, cannot tell how many there are:
        no method covers, not even with 2,000 runs. So `spread_ratio` has an interval only where the runs are at least ten
        times the kurtosis of every policy's regrets on every problem, and the claim is undecided otherwise. A tail that a
        sample does not show at all deceives this rule, too: an interval is for spreads like those of the runs that were
        seen.""",
    "growth": """What the mean regret gains late over what it gains early; late gains are 0 in most runs of a good policy.
        Fieller's interval covers at every size, and is unbounded where the early gain cannot be told from 0.""",
    "mean_ratio": """The geometric mean over the problems of ratios of mean regrets, with the jackknife's error of its logarithm
        and Student's t.""",
    "smallest_ratio": """The smallest of the ratios of mean regrets. Its low end is below each of them at 97.5 %, and its high
        end above the smallest at 97.5 % for all problems together: it covers more often than it says.""",
}


def page(tables: Mapping[str, Mapping[str, Mapping[str, Sequence[str]]]], of_means: Mapping[str, Sequence[str]]) -> str:
    """Return the page: rows by function, claim and method."""
    parts = [
        "# How often the intervals hold the truth",
        "<!-- Written by `make intervals` from the code: do not edit. -->",
        _wrapped(
            f"""The verdicts on the paper's claims rest on 95 % intervals. Here is how often they hold what they should. The
            games of the claims were played {RUNS["two-arms"]:,} times (the nights, which are synthetic, {RUNS["nights"]} times;
            seed {SEED}). The value of all runs is taken for the truth. Samples of n runs were drawn from them, with
            replacement, and paired as the runs are. The table shows the share of samples that are not told wrongly: the
            interval holds the truth, or there is none, as its ends are unknown. Where some samples have none, the share of
            those that have one follows in brackets. There were
            {", ".join(f"{samples} samples of {runs:,} runs" for runs, samples in SAMPLES.items())}. A share near 95 % of
            400 samples is known to within 2 percentage points, one of 100 to within 4. Bold is what the library does."""
        ),
    ]
    for name, by_claim in tables.items():
        sizes = [runs for runs in SAMPLES if runs > 4 or not name.startswith(("spread", "growth"))]
        heads = ["claim", "interval", *(f"n = {runs:,}" for runs in sizes)]
        rows = [[claim, label, *cells] for claim, by_method in by_claim.items() for label, cells in by_method.items()]
        parts += [f"## `{name}`", _wrapped(TEXTS[name]), _table(heads, rows)]
    words = {
        "median": ["every policy, every third L", "median of them"],
        "worst": ["", "worst of them"],
        "lognormal(1.5)": ["exp(1.5 z), z normal", ""],
    }
    heads = ["values", "Student's interval", *(f"n = {runs:,}" for runs in SAMPLES)]
    parts += [
        "## Means, in `Result.table()` and the tables of the report",
        _wrapped(
            """Student's interval of a mean, `mean -+ t s / sqrt(n)`. It is exact for normal values, good for most regrets, and
            too short where rare runs regret much more than the others, or less: a sample without such a run knows nothing
            of them. The worst policy and problem, and a lognormal, show by how much. Play more runs, or read such intervals
            as too short."""
        ),
        _table(heads, [[*words[name], *cells] for name, cells in of_means.items()]),
    ]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pool", type=Path, help="the regrets: read from this .npz, or played and kept there")
    path = parser.parse_args().pool
    if not path.exists():
        np.savez(path, **play())
    with np.load(path) as file:
        pools = dict(file)
    tables: dict[str, dict[str, dict[str, list[str]]]] = {}
    for name, found in cases(pools).items():
        tables[name] = {}
        for case in found:
            tables[name][case.claim] = measure(name, case, SAMPLES)
            sys.stderr.write(f"{name} {case.claim}: {tables[name][case.claim]}\n")
    PAGE.write_text(page(tables, means(pools, SAMPLES)), "utf-8")
    sys.stdout.write(f"{PAGE} written\n")


if __name__ == "__main__":
    main()
