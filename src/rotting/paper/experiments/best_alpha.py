"""The grid search behind the empirical tunings: regret on the rested benchmark over alpha, of RAW-UCB and of FEWA."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rotting import registry
from rotting.common.arrays import Floats
from rotting.common.display.figures import Curve, Figure, Panel
from rotting.common.display.tables import Column, FormattedTable, Row, value_column
from rotting.common.statistics import Interval, NoInterval
from rotting.paper.experiments import CITATION, Experiment, Prepared, Results, final_regret
from rotting.paper.experiments.rested_two_arms import GRID, RARE_SHOW_FROM, SIGMA, game_name
from rotting.paper.report.claims import Statement, estimate_text
from rotting.paper.report.model import Findings
from rotting.policy import Policy
from rotting.problems import two_arms
from rotting.simulation.comparisons import mean_ratio, requiring_runs, smallest_ratio
from rotting.simulation.plan import Simulation

RAW, FEWA = "RAW-UCB", "FEWA"
NAMES = {RAW: "raw-ucb", FEWA: "fewa"}
PAPER = {RAW: 1.4, FEWA: 0.06}  # what the paper's search selected
# The paper does not print its grid. Both of ours hold its choice, and go far below it, where the best alpha of large L is.
ALPHAS = {
    RAW: (0.3, 0.45, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 2.0, 2.8),
    FEWA: (0.01, 0.015, 0.02, 0.03, 0.045, 0.06, 0.08, 0.1, 0.14, 0.2),
}
DRAWN = (0, 6, 12, 18, 24, 28)  # the places in the grid of the L that the figure shows


@dataclass(frozen=True)
class Settings:
    """Everything that decides the results."""

    drops: tuple[float, ...]  # the values of L
    horizon: int
    runs: int
    seed: int = 0


SIZES = {
    "quick": Settings(tuple(GRID[k] for k in DRAWN), horizon=10_000, runs=8),
    "full": Settings(GRID, horizon=10_000, runs=2_000),
}


def policies() -> dict[tuple[str, float], Policy]:
    """Return both policies with every alpha."""
    return {(label, alpha): registry.make(NAMES[label], alpha=alpha, sigma=SIGMA) for label in NAMES for alpha in ALPHAS[label]}


PLAYERS = tuple(policies())


def prepare(settings: Settings, workers: int | None, progress: bool | None) -> Prepared:
    """Play the benchmark with every alpha for every L."""
    T, players = settings.horizon, tuple(policies().values())
    return Prepared(
        {
            game_name(L): Simulation(players, two_arms(L, T, SIGMA), runs=settings.runs, seed=settings.seed, checkpoints=(T,))
            for L in settings.drops
        }
    )


@dataclass(frozen=True, eq=False)
class _Measured:
    """The measurements that decide the claims."""

    settings: Settings
    results: Results

    def regret(self, label: str, alpha: float) -> Floats:
        """Return `[L, run]`, the regret at the end."""
        return final_regret([self.results[game_name(L)] for L in self.settings.drops], PLAYERS.index((label, alpha)))

    def means(self, label: str) -> Floats:
        """Return `[L, alpha]`, the mean regrets at the end."""
        return np.array([self.regret(label, alpha).mean(axis=1) for alpha in ALPHAS[label]]).T

    def best(self, label: str) -> list[float]:
        """Return the alpha of the smallest mean regret, for each L."""
        return [ALPHAS[label][k] for k in self.means(label).argmin(axis=1)]


def findings(settings: Settings, prepared: Prepared, results: Results) -> Findings:
    """Return regret over alpha, the best alpha over L, a table, and the paper's claims on its tuning."""
    measured = _Measured(settings, results)
    return Findings(
        paragraphs=(
            (
                "The paper selects alpha = 1.4 for RAW-UCB and 0.06 for FEWA by a grid search on the rested two-arm benchmark, "
                "and says that the best alpha is the same for all L. Here is such a search: "
                f"{len(settings.drops)} values of L, {len(ALPHAS[RAW])} alphas of each policy, T = {settings.horizon:,}, "
                f"{settings.runs:,} runs. The paper does not print its grid."
            ),
            (
                "A small alpha bets on few samples. Where a single mistake is dear (large L) it wins, as the drop is obvious "
                "all the same; where the drop hides in the noise it misses it in some runs, and these regret many times more. "
                "Few runs may hold none of them: the claims are undecided below "
                f"{RARE_SHOW_FROM:,} runs, and the best alpha of a smaller search is a first look."
            ),
        ),
        figures=(_figure(settings, measured),),
        tables={"best-alpha": _table(settings, measured)},
        claims=tuple(statement.decide(measured) for statement in STATEMENTS),
    )


def _figure(settings: Settings, measured: _Measured) -> Figure:
    drawn = [k for k, L in enumerate(settings.drops) if L in {GRID[place] for place in DRAWN}]
    panels = []
    for label in NAMES:
        means = measured.means(label)
        curves = tuple(
            Curve(f"L = {settings.drops[k]:.2g}", np.array(ALPHAS[label]), means[k] / means[k].min(), points=True)
            for k in drawn
        )
        panels.append(Panel(label, "alpha", "regret / smallest regret", curves, x_log=True, y_log=True))
    drops = np.array(settings.drops)
    best = tuple(Curve(label, drops, np.array(measured.best(label)) / PAPER[label], points=True) for label in NAMES)
    panels.append(Panel("The best alpha", "drop L", "best alpha / the paper's", best, x_log=True, y_log=True))
    caption = (
        f"Means of {settings.runs:,} runs. Left and middle: a curve for each of some L, 1 at its best alpha. Right: the alpha "
        "with the smallest mean regret at each L, in units of the paper's choice."
    )
    return Figure("regret-by-alpha", "Regret over alpha on the rested benchmark", caption, tuple(panels))


def _table(settings: Settings, measured: _Measured) -> FormattedTable:
    rows: list[Row] = [{"L": L} for L in settings.drops]
    columns = [value_column("L", ".3g")]
    for label, chosen in PAPER.items():
        own = measured.regret(label, chosen)
        for k, alpha in enumerate(measured.best(label)):
            rows[k][f"best {label}"] = alpha
            rows[k][f"{label} {chosen:g} over it"] = mean_ratio(own[[k]], measured.regret(label, alpha)[[k]])
        columns += [value_column(f"best {label}", "g"), _estimate(f"{label} {chosen:g} over it")]
    line = "The best alpha at each L, and the regret of the paper's alpha over that of the best, with its 95 % interval"
    return FormattedTable((line, "The best is chosen on the same runs, which flatters it."), tuple(columns), rows)


def _estimate(head: str) -> Column:
    return Column(head, lambda row: estimate_text(row[head]))


def _quantity(label: str, combined: str) -> Callable[[_Measured], str]:
    """Return a function that names the measured quantity, with the number of L, which depends on the size."""

    def quantity(measured: _Measured) -> str:
        drops = f"{len(measured.settings.drops)} values of L"
        return f"regret of {label} with another alpha over {PAPER[label]:g}, {combined.format(drops=drops)}"

    return quantity


def _others(measured: _Measured, label: str) -> list[tuple[float, Floats]]:
    return [(alpha, measured.regret(label, alpha)) for alpha in ALPHAS[label] if alpha != PAPER[label]]


def _best_everywhere(label: str) -> Callable[[_Measured], Interval]:
    """Return a function that measures how good another alpha can be: its regret over that of the paper's, smallest over L."""

    def measure(measured: _Measured) -> Interval:
        others = np.concatenate([regret for _, regret in _others(measured, label)])
        own = measured.regret(label, PAPER[label])
        return requiring_runs(RARE_SHOW_FROM, smallest_ratio)(others, np.tile(own, (len(others) // len(own), 1)))

    return measure


def _best_overall(label: str) -> Callable[[_Measured], Interval]:
    """Return a function that measures how good another alpha can be over all L: the geometric mean of the same ratio."""

    def measure(measured: _Measured) -> Interval:
        own = measured.regret(label, PAPER[label])
        found = [requiring_runs(RARE_SHOW_FROM, mean_ratio)(regret, own) for _, regret in _others(measured, label)]
        least = min(each.mean for each in found)
        ends = [(each.low, each.high) for each in found if each.low is not None and each.high is not None]
        if len(ends) < len(found):
            return NoInterval(least, next(each.reason for each in found if isinstance(each, NoInterval)))
        lows, highs = zip(*ends, strict=True)
        return Interval(least, min(lows), min(highs))

    return measure


def _range_of_best(label: str) -> Callable[[_Measured], str]:
    def remark(measured: _Measured) -> str:
        best = measured.best(label)
        at = [f"{best[k]:g} at L = {measured.settings.drops[k]:.2g}" for k in sorted({0, len(best) // 2, len(best) - 1})]
        return f"The best alpha of these runs is {', '.join(at)}."

    return remark


SOURCE = "appendix, algorithms and parameters"
STATEMENTS: tuple[Statement[_Measured], ...] = tuple(
    statement
    for label, name in NAMES.items()
    for statement in (
        Statement(
            f"alpha-{name}-same-for-all",
            SOURCE,
            f"The best alpha of {label}, {PAPER[label]:g}, is the same for all L.",
            _quantity(label, "smallest over the alphas and {drops}"),
            _best_everywhere(label),
            low=0.95,
            compare=_range_of_best(label),
        ),
        Statement(
            f"alpha-{name}-selected",
            SOURCE,
            f"A grid search on the rested benchmark selects alpha = {PAPER[label]:g} for {label}.",
            _quantity(label, "geometric mean over {drops}, smallest over the alphas"),
            _best_overall(label),
            low=0.95,
        ),
    )
)


REFERENCE = f"{CITATION}, appendix: algorithms and parameters"
EXPERIMENT = Experiment("best-alpha", "The grid search for alpha", REFERENCE, SIZES, prepare, findings, 2)
