"""The paper's rested benchmark: two arms, one of which drops by L after a quarter of the game."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rotting import plotting, registry
from rotting.experiments import Experiment, Results
from rotting.policy import Policy
from rotting.problems import two_arms
from rotting.progress import Progress
from rotting.results import Result
from rotting.simulation import simulate
from rotting.statistics import Interval, mean_interval, quantiles
from rotting.tables import Column, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The authors' code: L / 2 = 0.01 * 1.25**i (the text says 1e-3 to 10).
GRID = tuple(round(0.02 * 1.25**i, 6) for i in range(30))
HARD, EASY = GRID[11], GRID[24]  # 0.23: the noise hides the drop for long; 4.24: it is plain to see

POLICIES: dict[str, Policy] = {
    "RAW-UCB 1.4": registry.make("raw-ucb", alpha=1.4),
    "EFF-RAW-UCB 1.4": registry.make("eff-raw-ucb", alpha=1.4, m=2.0),
    "FEWA 0.06": registry.make("fewa", alpha=0.06),
    "RAW-UCB 4": registry.make("raw-ucb", alpha=4.0),
    "FEWA 4": registry.make("fewa", alpha=4.0),
    "UCB1": registry.make("ucb1"),
}


@dataclass(frozen=True)
class Settings:
    """Everything that decides the results."""

    drops: tuple[float, ...]  # the values of L
    curves: tuple[float, ...]  # those of them whose regret is drawn over time
    horizon: int
    runs: int
    seed: int = 0


QUICK = tuple(GRID[i] for i in (0, 4, 8, 11, 14, 17, 20, 24, 28))
SIZES = {
    "quick": Settings(QUICK, (HARD, EASY), horizon=10_000, runs=100),
    "full": Settings(GRID, (HARD, EASY), horizon=10_000, runs=2_000),
}


def _name(L: float) -> str:
    return f"L={L:.4g}"


def _joined(parts: Sequence[Result]) -> Result:
    """Return one result of policies that played the same runs one after the other."""
    return replace(
        parts[0],
        policies=tuple(policy for part in parts for policy in part.policies),
        regret=np.concatenate([part.regret for part in parts]),
        pulls=np.concatenate([part.pulls for part in parts]),
        us_per_round=np.concatenate([part.us_per_round for part in parts]),
    )


def run(settings: Settings, workers: int | None = None, progress: bool | None = None) -> Results:
    """Let every policy play the benchmark for every L; the noise of run r is the same for all of them."""
    results = {}
    steps = len(settings.drops) * len(POLICIES)
    with Progress(steps, "policies x problems", show=progress) as bar:
        for L in settings.drops:
            problem = two_arms(L, settings.horizon)
            parts = []
            for policy in POLICIES.values():
                parts.append(simulate(policy, problem, runs=settings.runs, seed=settings.seed, workers=workers, progress=False))
                bar.advance()
            results[_name(L)] = _joined(parts)
    return results


def table(settings: Settings, results: Results) -> Table:
    """Return the mean regret at the horizon and half of its 95 % interval, for every L and policy."""
    rows = []
    for L in settings.drops:
        final = results[_name(L)].regret[:, :, -1]
        rows.append({"L": L, **{label: mean_interval(runs) for label, runs in zip(POLICIES, final, strict=True)}})

    def column(label: str) -> Column:
        return Column(label, lambda row: _cell(row[label]))

    size = f"horizon {settings.horizon:,}, {settings.runs:,} runs, seed {settings.seed}"
    lines = (f"Rested two-arm benchmark: mean regret at the horizon and 95 % interval; {size}",)
    return Table(lines, (Column("L", lambda row: f"{row['L']:.3g}"), *map(column, POLICIES)), rows)


def _cell(regret: Interval) -> str:
    return f"{regret.mean:,.1f}" if regret.high is None else f"{regret.mean:,.1f} +- {regret.high - regret.mean:,.1f}"


def plot(settings: Settings, results: Results) -> "Figure":
    """Draw the paper's figure: regret at the horizon against L, and over time for a hard and an easy L."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - an extra

    figure = Figure((4.6 * (1 + len(settings.curves)), 5.0), layout="constrained")
    left, *others = figure.subplots(1, 1 + len(settings.curves), squeeze=False)[0]
    lines = _draw_horizon(left, settings, results)
    for ax, L in zip(others, settings.curves, strict=True):
        result = results[_name(L)]
        plotting.draw(ax, list(POLICIES), result.checkpoints, result.regret, log=False)
        ax.set_title(f"L = {L:.3g}: mean, and band from 10 % to 90 % of runs", loc="left", fontsize="medium")
        _cut(ax, result)
    figure.legend(handles=lines, loc="outside lower center", ncols=len(POLICIES), **plotting.LEGEND)
    size = f"T = {settings.horizon:,}, {settings.runs:,} runs"
    figure.suptitle(f"Rested two-arm benchmark ({size})", x=0.01, ha="left", fontsize="large")
    return figure


def _cut(ax: "Axes", result: Result) -> None:
    """End the axis above the policies that learn, and say in words where the others end."""
    final = result.regret[:, :, -1].mean(axis=1)
    out = final > 4 * np.median(final)
    top = max(quantiles(runs, 0.9)[0].max() for runs in result.regret[~out])
    ax.set_ylim(0, 1.25 * top if out.any() else None)
    if out.any():
        ends = ", ".join(f"{label} at {final[k]:,.0f}" for k, label in enumerate(POLICIES) if out[k])
        words = f"outside, at the end:\n{ends}"
        ax.text(0.98, 0.98, words, transform=ax.transAxes, ha="right", va="top", fontsize="small")


def _draw_horizon(ax: "Axes", settings: Settings, results: Results) -> list[object]:
    lines: list[object] = []
    for k, label in enumerate(POLICIES):
        intervals = [mean_interval(results[_name(L)].regret[k, :, -1]) for L in settings.drops]
        means = [each.mean for each in intervals]
        half = [0.0 if each.high is None else each.high - each.mean for each in intervals]
        colour, style = plotting.COLOURS[k % len(plotting.COLOURS)], plotting.STYLES[k % len(plotting.STYLES)]
        bars = ax.errorbar(
            settings.drops, means, yerr=half, color=colour, linestyle=style, marker="o", markersize=3, capsize=2, label=label
        )
        lines.append(bars)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter("{x:,g}")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_xlabel("drop L (logarithmic)")
    ax.set_ylabel("regret at the horizon (logarithmic)")
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title("Every L: mean and 95 % interval", loc="left", fontsize="medium")
    return lines


EXPERIMENT = Experiment(
    id="rested-two-arms",
    title="regret on the rested two-arm benchmark, against the size of the drop",
    reference="Seznec, Ménard, Lazaric, Valko, AISTATS 2020, appendix: simulated benchmark for rested bandits",
    sizes=SIZES,
    run=run,
    table=table,
    plot=plot,
)
