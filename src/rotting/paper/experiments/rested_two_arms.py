"""The paper's rested benchmark: two arms, one of which drops by L after a quarter of the game."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from rotting.common.arrays import Floats
from rotting.common.display.figures import BAND, Curve, Figure, Panel, regret_panel
from rotting.common.display.tables import FormattedTable, interval_column, value_column
from rotting.common.statistics import Interval, NoInterval, mean_interval, quantiles, what_runs_can_miss
from rotting.paper.experiments import (
    CITATION,
    Experiment,
    Prepared,
    Results,
    final_regret,
    mean_regrets,
    regret_at,
    tuned_policies,
)
from rotting.paper.report.claims import Statement, estimate_text
from rotting.paper.report.model import Findings
from rotting.policies.exp3_s import Exp3S
from rotting.policies.glr_ucb import GLRUCB
from rotting.policy import Policy
from rotting.problems import two_arms
from rotting.problems.oracle import regret_against
from rotting.simulation.comparisons import (
    Comparison,
    growth,
    mean_ratio,
    quantile_ratio,
    relative_spread,
    requiring_runs,
    share_ahead,
    smallest_ratio,
    spread_ratio,
)
from rotting.simulation.plan import Simulation
from rotting.simulation.result import Result

# The authors' code: L / 2 = 0.01 * 1.25**i (the text says 1e-3 to 10).
GRID = tuple(round(0.02 * 1.25**i, 6) for i in range(30))
HARD, EASY = GRID[11], GRID[24]  # 0.23: the noise hides the drop for long; 4.24: the drop is obvious
SIGMA = 1.0
RAW, RAW_4, FEWA, FEWA_4 = "RAW-UCB 1.4", "RAW-UCB 4", "FEWA 0.06", "FEWA 4"
EXP3_S, GLR, EFF_RAW, WSWA = "Exp3.S", "GLR-UCB", "EFF-RAW-UCB 1.4", "wSWA 0.02"
LABELS = (RAW, RAW_4, FEWA, FEWA_4, EXP3_S, GLR, EFF_RAW, WSWA)


@dataclass(frozen=True)
class Settings:
    """Everything that decides the results."""

    drops: tuple[float, ...]  # the values of L
    curves: tuple[float, ...]  # those of them whose regret is drawn over time
    horizon: int
    runs: int
    every: int = 1  # GLR-UCB's variants are played at every so many of the L in [0.1, 4]
    seed: int = 0


SIZES = {
    "quick": Settings(GRID, (HARD, EASY), horizon=10_000, runs=40, every=8),
    "full": Settings(GRID, (HARD, EASY), horizon=10_000, runs=2_000),
}


def policies(L: float, horizon: int) -> dict[str, Policy]:
    """Return the policies for one L.

    Exp3.S is tuned with T and V_T, as the paper says. It needs rewards in a range: that of the means and three standard
    deviations more on both sides, beyond which they are clipped. In units of that range, the drop is V_T.
    """
    high = L / 2 + 3 * SIGMA
    made = {
        **tuned_policies(SIGMA),
        EXP3_S: Exp3S(horizon=horizon, budget=L / (2 * high), low=-high, high=high, outside="clip"),
        GLR: GLRUCB(horizon=horizon, sigma=SIGMA),
    }
    return {label: made[label] for label in LABELS}


def variants(horizon: int) -> dict[str, Policy]:
    """Return GLR-UCB with two other indices: the usual one in practice, without the `ln ln`, and that of the authors' code."""
    return {
        "c-0": GLRUCB(horizon=horizon, sigma=SIGMA, c=0.0),
        "bernoulli": GLRUCB(horizon=horizon, sigma=SIGMA, bound="bernoulli"),
    }


VARIANTS = tuple(variants(10_000))


def game_name(L: float) -> str:
    """Return the name of the games at one L."""
    return f"L={L:.4g}"


def _variant_name(L: float) -> str:
    return f"glr-L={L:.4g}"


def varied(settings: Settings) -> list[float]:
    """Return the L at which the variants of GLR-UCB are played."""
    return [L for L in settings.drops if L in MEDIUM][:: settings.every]


def prepare(settings: Settings, workers: int | None, progress: bool | None) -> Prepared:
    """Play the benchmark with every policy for every L; only the curves need regret before the end."""
    T = settings.horizon

    def games(players: Mapping[str, Policy], L: float, checkpoints: tuple[int, ...] | None) -> Simulation:
        problem = two_arms(L, T, SIGMA)
        return Simulation(tuple(players.values()), problem, runs=settings.runs, seed=settings.seed, checkpoints=checkpoints)

    drawn = settings.curves
    of_all = {game_name(L): games(policies(L, T), L, None if L in drawn else (T,)) for L in settings.drops}
    of_glr = {_variant_name(L): games(variants(T), L, (T,)) for L in varied(settings)}
    return Prepared(of_all | of_glr)


def findings(settings: Settings, prepared: Prepared, results: Results) -> Findings:
    """Return the paper's figure, a table, and the paper's claims."""
    measured = _Measured(settings, results)
    return Findings(
        paragraphs=(
            (
                "Two arms, Gaussian rewards of variance 1. One arm is worth 0; the other +L/2 for its first T/4 pulls, and "
                f"-L/2 after. T = {settings.horizon:,}. {len(LABELS)} policies play {settings.runs:,} runs on each of "
                f"{len(settings.drops)} values of L, the authors' grid, and {len(VARIANTS)} more versions of GLR-UCB play as "
                f"many on {len(varied(settings))} of them. In a run every policy gets the same rewards."
            ),
            (
                "Regret at round t is against the best play of t rounds. In a rested game that can fall: pulls of the arm "
                "worth 0 before the drop are no loss once the other arm is worn out. So a policy that explores more early on "
                "is, for a while after the drop, ahead of one that explores less. EFF-RAW-UCB (m = 2) and wSWA are not in the "
                "paper's figure."
            ),
            (
                "Where the paper contradicts itself, we follow the authors' code or the rest of the paper: the drop comes "
                "after T/4 pulls of the arm, not at round T/4; L goes from 0.02 to 12.9, not from 0.001 to 10; alpha is 1.4, "
                "not 1.5. GLR-UCB is the sub-Gaussian version that the text describes; the authors' code has a Bernoulli "
                "index. Exp3.S gets rewards scaled to [0, 1], and is tuned by T and V, as the text says: the authors' script "
                "tunes it by T alone, gamma = sqrt(K ln(KT) / T)."
            ),
            (
                "Below L = 0.1 the noise hides the drop for the whole game: FEWA 4 plays round-robin, RAW-UCB 4 nearly, and "
                "their regrets are close. The paper's factor of 4 is therefore measured twice: over all L, and over those from "
                "0.1 on."
            ),
        ),
        figures=(_figure(settings, results),),
        tables={"regret-by-drop": _table(settings, results)},
        claims=tuple(statement.decide(measured) for statement in STATEMENTS),
        covers={"Appendix, figure: regret at the end against L, and over time for two L": "regret"},
    )


def _figure(settings: Settings, results: Results) -> Figure:
    curves = []
    for k, label in enumerate(LABELS):
        final = np.array([results[game_name(L)].regret[k, :, -1] for L in settings.drops]).T  # [run, L]
        low, high = quantiles(final, 0.1, 0.9)
        curves.append(Curve(label, np.array(settings.drops), final.mean(axis=0), low, high))
    left = Panel("Regret at the end, against L", "drop L", "regret at the end", tuple(curves), x_log=True, y_log=True)
    over_time = [
        regret_panel(f"L = {L:.3g} ({words})", LABELS, results[game_name(L)].checkpoints, results[game_name(L)].regret)
        for L, words in zip(settings.curves, ("hard", "easy"), strict=True)
    ]
    caption = (
        f"{settings.runs:,} runs of T = {settings.horizon:,} rounds, with L from {min(settings.drops):.3g} to "
        f"{max(settings.drops):.3g}. Regret is against the optimal policy: the {BAND}."
    )
    return Figure("regret", "Regret on the rested two-arm benchmark", caption, (left, *over_time))


def _table(settings: Settings, results: Results) -> FormattedTable:
    rows = [{"L": L, **mean_regrets(results[game_name(L)], LABELS)} for L in settings.drops]
    heads = (value_column("L", ".3g"), *map(interval_column, LABELS))
    title = f"Mean regret after {settings.horizon:,} rounds, and its 95 % interval"
    notes = (*regret_against(*(result.reference for result in results.values())), what_runs_can_miss(settings.runs))
    return FormattedTable((title,), heads, rows, notes=notes)


@dataclass(frozen=True)
class Drops:
    """The values of L from `low` on and below `high`."""

    low: float
    high: float
    words: str

    def __contains__(self, L: float) -> bool:
        return self.low <= L < self.high


ALL = Drops(0.0, np.inf, "all L")
SMALL, LEARNABLE = Drops(0.0, 0.1, "L < 0.1"), Drops(0.1, np.inf, "L >= 0.1")
MEDIUM, LARGE = Drops(0.1, 4.0, "0.1 <= L <= 4"), Drops(4.0, np.inf, "L > 4")


@dataclass(frozen=True, eq=False)
class _Measured:
    """The measurements that decide the claims."""

    settings: Settings
    results: Results

    def regret(self, label: str, drops: Drops | list[float] = ALL) -> Floats:
        """Return `[L, run]`, the regret of a policy at the end."""
        return final_regret(self._at(drops), LABELS.index(label))

    def variant(self, label: str) -> Floats:
        """Return `[L, run]`, the regret of GLR-UCB with another index at the end, where it was played."""
        return final_regret([self.results[_variant_name(L)] for L in varied(self.settings)], VARIANTS.index(label))

    def larger_share(self, label: str, drops: Drops | list[float]) -> Floats:
        """Return the share of its pulls that a policy gives to the arm it pulls more often, for each L and run."""
        pulls = np.concatenate([result.pulls[LABELS.index(label)] for result in self._at(drops)])
        return np.asarray(pulls.max(axis=1) / pulls.sum(axis=1))

    def over_time(self, label: str) -> Floats:
        """Return the regret at the checkpoints of both curves, after the first hundredth of the game, and in each run."""
        curves = [self.results[game_name(L)] for L in self.settings.curves]
        late = [each.checkpoints * 100 >= self.settings.horizon for each in curves]
        return np.concatenate([each.regret[LABELS.index(label)][:, k].T for each, k in zip(curves, late, strict=True)])

    def late_quarters(self, label: str) -> list[Floats]:
        """Return the regret on the easy problem at T/2, 3T/4 and T, in each run."""
        return regret_at(self.results[game_name(self.settings.curves[-1])], LABELS.index(label), 0.5, 0.75, 1.0)

    def _at(self, drops: Drops | list[float]) -> list[Result]:
        return [self.results[game_name(L)] for L in self.settings.drops if L in drops]


Measure = Callable[[_Measured], Interval]


def _over(upper: str, lower: str, ratio: Comparison, drops: Drops | list[float] = ALL) -> Measure:
    """Return a function that measures the regret of one policy over that of another."""
    return lambda measured: ratio(measured.regret(upper, drops), measured.regret(lower, drops))


def _mean_ratio(upper: str, lower: str, drops: Drops = ALL) -> tuple[str, Measure]:
    """Return the mean ratio of the regrets of two policies: in words, and the function that measures it."""
    return f"regret of {upper} over {lower}, geometric mean over {drops.words}", _over(upper, lower, mean_ratio, drops)


def _smallest_ratio(upper: str, lower: str) -> tuple[str, Measure]:
    """Return the same for the smallest ratio."""
    return f"regret of {upper} over {lower}, smallest over L", _over(upper, lower, smallest_ratio)


def _share_ahead(upper: str, lower: str) -> Measure:
    """Return a function that measures the share of the rounds at which `lower` has less regret than `upper`."""
    return lambda measured: share_ahead(measured.over_time(upper), measured.over_time(lower))


# In about one run of a hundred, RAW-UCB 1.4 misses a drop of 0.1 to 4 and its regret is 5 to 80 times as large as usual. Where
# the other policy fails less, these runs cause most of a ratio's error, and a small sample may contain none of them. This is
# the smallest number of runs in docs/intervals.md with which the intervals cover the true ratio.
RARE_SHOW_FROM = 2_000

NO_NUMBER = "the paper gives no number for 'very well'"
VS_FEWA, RESTLESS = "appendix, result: RAW-UCB vs FEWA", "appendix, result: restless algorithms"
EVERYWHERE = f"geometric mean over {ALL.words}"
TUNINGS = (("empirical", "", FEWA, RAW), ("theoretical", "-4", FEWA_4, RAW_4))


def _glr_over_raw(index: str = "") -> Measure:
    """Return a function that compares GLR-UCB, by default with c = 3, with RAW-UCB at the L where all its indices played."""

    def measure(measured: _Measured) -> Interval:
        played = varied(measured.settings)
        glr = measured.variant(index) if index else measured.regret(GLR, played)
        return requiring_runs(RARE_SHOW_FROM, mean_ratio)(glr, measured.regret(RAW, played))

    return measure


def _glr_quantity(measured: _Measured) -> str:
    """Return what the claims about GLR-UCB's indices measure: the quick size plays them at fewer L."""
    drops = varied(measured.settings)
    values = f"{len(drops)} values of L from {min(drops):.3g} to {max(drops):.3g}" if drops else "no L"
    return f"regret of GLR-UCB over RAW-UCB 1.4, geometric mean over {values}"


def _deviations(measured: _Measured) -> str:
    """Return the relative standard deviations of two other policies, for comparison."""
    found = {label: relative_spread(measured.regret(label, SMALL)) for label in (RAW, FEWA_4)}
    texts = [f"{label} has {'none' if np.isnan(each.mean) else estimate_text(each)}" for label, each in found.items()]
    return f"For comparison: {'; '.join(texts)}."


def _worst(measured: _Measured) -> Interval:
    """Return how much worse GLR-UCB is at its worst L than RAW-UCB at its own.

    It is the largest regret of GLR-UCB over that of RAW-UCB, divided by the largest regret of RAW-UCB over that of GLR-UCB.
    """
    glr, raw = measured.regret(GLR), measured.regret(RAW)
    compare = requiring_runs(RARE_SHOW_FROM, smallest_ratio)
    ours, theirs = compare(glr, raw), compare(raw, glr)  # the inverses of the largest
    quotient = ours.mean / theirs.mean
    if ours.low is None or ours.high is None or theirs.low is None or theirs.high is None:
        return NoInterval(quotient, next(each.reason for each in (ours, theirs) if isinstance(each, NoInterval)))
    return Interval(quotient, ours.low / theirs.high, ours.high / theirs.low)


STATEMENTS: tuple[Statement[_Measured], ...] = (
    Statement(
        "rested-raw-4-beats-fewa-4",
        VS_FEWA,
        "With theoretical tuning, RAW-UCB outperforms FEWA by a factor of about 4, where there is something to learn.",
        *_mean_ratio(FEWA_4, RAW_4, LEARNABLE),
        low=3.0,
        high=5.0,
    ),
    Statement(
        "rested-raw-4-beats-fewa-4-over-all",
        VS_FEWA,
        "With theoretical tuning, RAW-UCB outperforms FEWA by a factor of about 4 over all sizes of decay.",
        *_mean_ratio(FEWA_4, RAW_4),
        low=3.0,
        high=5.0,
    ),
    Statement(
        "rested-raw-4-beats-fewa-4-everywhere",
        VS_FEWA,
        "With theoretical tuning, RAW-UCB outperforms FEWA on all sizes of decay.",
        *_smallest_ratio(FEWA_4, RAW_4),
        low=1.0,
    ),
    Statement(
        "rested-raw-tuning",
        "appendix, algorithms and parameters",
        "The empirical tuning of RAW-UCB, 1.4, is better than the theoretical one, 4, for every L.",
        *_smallest_ratio(RAW_4, RAW),
        low=1.0,
    ),
    Statement(
        "rested-tuned-close",
        VS_FEWA,
        "With empirical tuning, the average performances of RAW-UCB and FEWA are much closer.",
        *_mean_ratio(FEWA, RAW),
        low=0.5,
        high=2.0,
    ),
    Statement(
        "rested-tuned-fewa-varies",
        VS_FEWA,
        "Tuned FEWA has a larger variance than tuned RAW-UCB.",
        f"standard deviation of the regret of FEWA 0.06 over RAW-UCB 1.4, {EVERYWHERE}",
        _over(FEWA, RAW, spread_ratio),
        low=1.0,
    ),
    *(
        Statement(
            f"rested-raw{tuned}-quantiles",
            VS_FEWA,
            f"RAW-UCB has better high-probability performance than FEWA on rested problems ({words} tuning).",
            f"90 % quantile of the regret of {fewa} over {raw}, {EVERYWHERE}",
            _over(fewa, raw, quantile_ratio),
            low=1.0,
        )
        for words, tuned, fewa, raw in TUNINGS
    ),
    *(
        Statement(
            f"rested-raw{tuned}-ahead-at-any-time",
            VS_FEWA,
            f"RAW-UCB outperforms FEWA at any time, on easy and on difficult problems ({words} tuning).",
            f"share of the rounds from T / 100 on, of both curves, at which the mean regret of {raw} is below that of {fewa}",
            _share_ahead(fewa, raw),
            low=0.95,
        )
        for words, tuned, fewa, raw in TUNINGS
    ),
    Statement(
        "rested-exp3s-small",
        RESTLESS,
        "Exp3.S shows reasonable performance for small L.",
        *_mean_ratio(EXP3_S, RAW, SMALL),
        high=2.0,
    ),
    Statement(
        "rested-exp3s-large",
        RESTLESS,
        "Exp3.S shows very bad performance for large L.",
        *_mean_ratio(EXP3_S, RAW, LARGE),
        low=4.0,
    ),
    Statement(
        "rested-glr-small",
        RESTLESS,
        "For L < 0.1, GLR-UCB shows worse regret than FEWA 4: the change is too small to be detected.",
        *_mean_ratio(GLR, FEWA_4, SMALL),
        low=1.0,
    ),
    Statement(
        "rested-glr-small-varies",
        RESTLESS,
        "For L < 0.1, the regret of GLR-UCB has large deviations.",
        "standard deviation of the regret of GLR-UCB over its mean, geometric mean over L < 0.1",
        lambda measured: relative_spread(measured.regret(GLR, SMALL)),
        low=0.333,
        compare=_deviations,
    ),
    Statement(
        "rested-glr-medium-beats-fewa-4",
        RESTLESS,
        "For L in [0.1, 4], GLR-UCB performs very well: unlike for smaller L, better than FEWA 4.",
        *_mean_ratio(GLR, FEWA_4, MEDIUM),
        high=1.0,
        not_comparable=NO_NUMBER,
    ),
    *(
        Statement(
            f"rested-glr-medium{index and '-'}{index}",
            RESTLESS,
            f"For L in [0.1, 4], GLR-UCB performs very well: unlike for larger L, about as well as RAW-UCB ({words}).",
            _glr_quantity,
            _glr_over_raw(index),
            high=1.25,
            not_comparable=NO_NUMBER,
        )
        for index, words in {
            "": "the index of the text, with c = 3",
            "c-0": "the index of the text, with c = 0",
            "bernoulli": "the index of the authors' code, for Bernoulli rewards",
        }.items()
    ),
    Statement(
        "rested-glr-large",
        RESTLESS,
        "For L > 4, GLR-UCB performs worse than RAW-UCB.",
        *_mean_ratio(GLR, RAW, LARGE),
        low=1.0,
    ),
    Statement(
        "rested-glr-less-consistent",
        "experiment on Yahoo!, RAW-UCB vs GLR-UCB",
        "On the rested benchmark, GLR-UCB is less consistent than RAW-UCB: its worst L is worse.",
        "max over L of regret(GLR-UCB) / regret(RAW-UCB 1.4), divided by max over L of regret(RAW-UCB 1.4) / regret(GLR-UCB)",
        _worst,
        low=1.0,
    ),
    Statement(
        "rested-fewa-4-round-robin",
        RESTLESS,
        "For small L, FEWA 4 is equivalent to round-robin.",
        "share of the pulls that the arm pulled more often gets from FEWA 4, mean over L < 0.1 and the runs",
        lambda measured: mean_interval(measured.larger_share(FEWA_4, SMALL)),
        high=0.51,
    ),
    Statement(
        "rested-exp3s-linear",
        RESTLESS,
        "Random exploration leads to a linear regret rate in rested rotting bandits.",
        "easy problem, regret of Exp3.S from 3T/4 to T over T/2 to 3T/4: 1 for t, 0.84 for sqrt(t), 0.71 for log t",
        lambda measured: growth(*measured.late_quarters(EXP3_S)),
        low=0.9,
        high=1.1,
    ),
    Statement(
        "rested-glr-logarithmic",
        RESTLESS,
        "On the easy problem, after the first pulls past the break, GLR-UCB pulls the worse arm at a log T rate.",
        "easy problem, regret of GLR-UCB from 3T/4 to T over T/2 to 3T/4: 1 for t, 0.84 for sqrt(t), 0.71 for log t",
        lambda measured: growth(*measured.late_quarters(GLR)),
        high=0.8,
    ),
    Statement(
        "rested-wswa-less-consistent",
        "appendix, algorithms and parameters",
        "SWA is less consistent than FEWA on rested rotting bandits.",
        *_mean_ratio(WSWA, FEWA),
        low=1.0,
    ),
    Statement(
        "rested-eff-as-good",
        "appendix, the efficient update trick",
        "The efficient version does about as well as the exact one.",
        f"regret of EFF-RAW-UCB over RAW-UCB, both 1.4, {EVERYWHERE}",
        _over(EFF_RAW, RAW, requiring_runs(RARE_SHOW_FROM, mean_ratio)),
        low=0.8,
        high=1.25,
    ),
)


REFERENCE = f"{CITATION}, appendix: simulated benchmark for rested bandits"
EXPERIMENT = Experiment("rested-two-arms", "The rested two-arm benchmark", REFERENCE, SIZES, prepare, findings, 1)
