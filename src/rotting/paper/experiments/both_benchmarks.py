"""RAW-UCB and FEWA on both benchmarks: whether they differ more on restless problems than on rested ones."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rotting.common.display.tables import Column, FormattedTable, value_column
from rotting.common.statistics import Interval
from rotting.paper.datasets import Nights
from rotting.paper.experiments import CITATION, Experiment, Prepared, Results, final_regret, rested_two_arms, restless_nights
from rotting.paper.report.claims import Statement, estimate_text
from rotting.paper.report.model import Findings
from rotting.simulation.comparisons import mean_ratio, quotient_of


@dataclass(frozen=True)
class Settings:
    """The settings of both benchmarks."""

    rested: rested_two_arms.Settings
    restless: restless_nights.Settings
    seed: int = 0


SIZES = {size: Settings(rested_two_arms.SIZES[size], restless_nights.SIZES[size]) for size in ("quick", "full")}
TUNINGS = {
    "empirical": ((rested_two_arms.FEWA, rested_two_arms.RAW), (restless_nights.FEWA, restless_nights.RAW)),
    "theoretical": ((rested_two_arms.FEWA_4, rested_two_arms.RAW_4), (restless_nights.FEWA_4, restless_nights.RAW_4)),
}


def prepare(settings: Settings, workers: int | None, progress: bool | None) -> Prepared:
    """Play both benchmarks: the games of their own experiments, which are played once for all."""
    rested = rested_two_arms.prepare(settings.rested, workers, progress).games
    restless = restless_nights.prepare(settings.restless, workers, progress)
    drops = map(rested_two_arms.game_name, settings.rested.drops)
    return Prepared({**{name: rested[name] for name in drops}, **restless.games}, restless.notes, restless.data)


def findings(settings: Settings, prepared: Prepared, results: Results) -> Findings:
    """Return the ratios of regrets on both benchmarks, and the paper's claim on them."""
    nights: Nights = prepared.data
    measured = _Measured(settings, nights, results)
    rows = [{"tuning": tuning, "rested": measured.rested(tuning), "restless": measured.restless(tuning)} for tuning in TUNINGS]
    columns = (
        value_column("tuning"),
        Column("rested", lambda row: estimate_text(row["rested"])),
        Column("restless", lambda row: estimate_text(row["restless"])),
    )
    fewest = min(settings.rested.runs, settings.restless.runs)
    title = "synthetic nights" if nights.synthetic else "nights"
    return Findings(
        paragraphs=(
            (
                "The paper compares RAW-UCB with FEWA on the rested two-arm benchmark and, in their efficient versions, on the "
                f"nights, and finds the difference larger on the nights. Here are both, from the games of the two sections: "
                f"{settings.rested.runs:,} runs of {len(settings.rested.drops)} rested problems, {settings.restless.runs:,} of "
                f"{len(nights)} {title}."
            ),
        ),
        tables={
            "fewa-over-raw-ucb": FormattedTable(
                ("Mean regret of FEWA over RAW-UCB, geometric mean over the problems, with its 95 % interval",), columns, rows
            )
        },
        claims=tuple(statement.decide(measured, nights.synthetic, fewest) for statement in STATEMENTS),
    )


@dataclass(frozen=True, eq=False)
class _Measured:
    """The measurements that decide the claims."""

    settings: Settings
    nights: Nights
    results: Results

    def rested(self, tuning: str) -> Interval:
        """Return the regret of FEWA over RAW-UCB on the rested benchmark."""
        names = map(rested_two_arms.game_name, self.settings.rested.drops)
        return self._ratio(names, rested_two_arms.LABELS, TUNINGS[tuning][0])

    def restless(self, tuning: str) -> Interval:
        """Return the same of the efficient versions on the nights."""
        names = map(restless_nights.game_name, self.nights)
        return self._ratio(names, restless_nights.LABELS, TUNINGS[tuning][1])

    def _ratio(self, names: Iterable[str], labels: tuple[str, ...], pair: tuple[str, str]) -> Interval:
        results = [self.results[name] for name in names]
        upper, lower = (final_regret(results, labels.index(label)) for label in pair)
        return mean_ratio(upper, lower)


def _restless_over_rested(tuning: str) -> Callable[[_Measured], Interval]:
    return lambda measured: quotient_of(measured.restless(tuning), measured.rested(tuning))


STATEMENTS: tuple[Statement[_Measured], ...] = tuple(
    Statement(
        f"both-larger-when-restless-{tuning}",
        "experiment on Yahoo!, RAW-UCB vs FEWA",
        f"The difference between RAW-UCB and FEWA is even more significant in the restless case ({tuning} tuning).",
        "regret of EFF-FEWA over EFF-RAW-UCB on the nights, over that of FEWA over RAW-UCB on the rested benchmark, all L",
        _restless_over_rested(tuning),
        low=1.0,
    )
    for tuning in TUNINGS
)


REFERENCE = f"{CITATION}: experiment on Yahoo! Front Page, RAW-UCB vs FEWA"
EXPERIMENT = Experiment("both-benchmarks", "Rested against restless", REFERENCE, SIZES, prepare, findings, 5)
