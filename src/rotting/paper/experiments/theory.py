"""The theorems and measured regret: upper bounds, hard instances, and what cannot be learned."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rotting import registry
from rotting.common.arrays import Floats
from rotting.common.display.figures import BAND, Curve, Figure, Panel, mean_points, regret_panel
from rotting.common.display.tables import Column, FormattedTable, Row, interval_column, value_column
from rotting.common.statistics import mean_interval
from rotting.paper.experiments import CITATION, ORDER, Experiment, Prepared, Results, final_regret, tuned_policies
from rotting.paper.report.claims import Claim
from rotting.paper.report.model import Findings, Kind
from rotting.paper.theory import (
    HardFamily,
    Unlearnable,
    bounds,
    constants,
    learner_floor,
    theoretical_policies,
    unlearnable,
    variation_lower,
)
from rotting.paper.theory.theorems import is_vacuous
from rotting.policy import Policy
from rotting.problems import Linear, Piecewise, Problem, stationary, two_arms
from rotting.problems.noise import Gaussian
from rotting.simulation.comparisons import smallest_ratio
from rotting.simulation.plan import Simulation
from rotting.simulation.result import Result

FOUR = ("RAW-UCB", "EFF-RAW-UCB", "FEWA", "EFF-FEWA")
LEARNERS = {label: tuned_policies()[label] for label in ("RAW-UCB 1.4", "EFF-RAW-UCB 1.4", "FEWA 0.06", "UCB1", "uniform")}
LOWER = "lower bound"


@dataclass(frozen=True)
class Settings:
    """Everything that decides the results."""

    horizon: int
    runs: int
    hard_horizon: int
    hard_pieces: tuple[int, ...]
    hard_budgets: tuple[float, ...]
    hard_arms: int
    hard_draws: int  # problems drawn from each family
    impossible_horizon: int
    sigma: float = 0.05
    seed: int = 0


SIZES = {
    "quick": Settings(5_000, 20, 2_000, (1, 2, 4, 8), (0.1, 0.3, 1.0, 3.0), 3, 6, 200),
    "full": Settings(20_000, 200, 10_000, (1, 2, 4, 8, 16, 32), (0.1, 0.3, 1.0, 3.0), 3, 16, 1_000),
}


def problems(horizon: int, sigma: float) -> dict[str, Problem]:
    """Return five problems, to each of which some theorem applies.

    Bounds grow with the noise, and the largest possible regret does not: with little noise the bounds are not vacuous.
    """
    T, noise = horizon, Gaussian(sigma)
    pieces = [[0.9, 0.9, 0.2, 0.2], [0.6, 0.6, 0.6, 0.0], [0.5, 0.3, 0.3, 0.3]]
    return {
        "stationary": stationary([0.5, 0.25, 0.0], noise, T),
        "restless-pieces": Problem.restless(
            [Piecewise(row, starts=[0, T // 4, T // 2, 3 * T // 4]) for row in pieces], noise, T, "restless-pieces"
        ),
        "restless-drift": Problem.restless(
            [Linear(3.0, slope=-4.0 / T), Linear(1.5, slope=-0.5 / T), Linear(-1.0, slope=-1.0 / T)],
            noise,
            T,
            "restless-drift",
        ),
        "rested-drop": two_arms(1.0, T, sigma),
        "rested-slopes": Problem.rested(
            [Linear(1.0, slope=-2.0 / T), Linear(0.7, slope=-1.0 / T), 0.3], noise, T, "rested-slopes"
        ),
    }


class Hard(NamedTuple):
    """A hard family, and the lower bound that it proves."""

    name: str
    size: float  # pieces, or budget
    family: HardFamily
    bound: float


def _of_pieces(settings: Settings) -> list[Hard]:
    """Return the families of Proposition 4: any number of pieces."""
    families = [HardFamily(settings.hard_arms, settings.hard_horizon, pieces) for pieces in settings.hard_pieces]
    return [Hard(f"{family.pieces}-pieces", family.pieces, family, family.bound) for family in families]


def _of_budget(settings: Settings) -> list[Hard]:
    """Return the families of Proposition 3: as many pieces as a budget allows."""
    K, T = settings.hard_arms, settings.hard_horizon
    return [Hard(f"budget-{V:g}", V, HardFamily.of_budget(K, T, V), variation_lower(T, K, V)) for V in settings.hard_budgets]


def prepare(settings: Settings, workers: int | None, progress: bool | None) -> Prepared:
    """Play the five problems with the tuning of the theorems, hard instances, and the two problems of Proposition 1."""
    runs, seed = settings.runs, settings.seed
    five = problems(settings.horizon, settings.sigma)
    games = {}
    for name, problem in five.items():
        setting = "rested" if problem.kind == "rested" else "restless"
        games[name] = Simulation(theoretical_policies(setting, settings.sigma), problem, runs=runs, seed=seed)
    learners = tuple(LEARNERS.values())
    for hard in _of_pieces(settings) + _of_budget(settings):
        for draw in range(settings.hard_draws):
            problem = hard.family.random(seed + draw)
            games[f"hard-{hard.name}-{draw}"] = Simulation(learners, problem, runs=2 * runs, seed=seed, checkpoints=())
    for name, problem in zip(("falls", "stays"), unlearnable(settings.impossible_horizon), strict=True):
        games[name] = Simulation((registry.make("greedy-oracle"), *learners), problem, runs=2 * runs, seed=seed, checkpoints=())
    return Prepared(games, data=tuple(five))


def findings(settings: Settings, prepared: Prepared, results: Results) -> Findings:
    """Return measured regret and its upper bounds, the hard instances and their lower bounds, and the impossibility."""
    proved = _proved(prepared, results)
    rows = _upper_rows(prepared, results, proved)
    informative = sum(not row["vacuous"] for row in rows)
    pieces = _played(settings, "pieces", _of_pieces(settings), results)
    budgets = _played(settings, "budget", _of_budget(settings), results)
    impossible = Unlearnable(settings.impossible_horizon, results["falls"], results["stays"])
    return Findings(
        paragraphs=(
            (
                "Upper bounds: the four policies with the smallest alpha that the theorems allow, on five problems, and the "
                "tightest bound that applies, with all its constants computed from the problem. Beside it stands the largest "
                f"regret that any play of the problem can have: {informative} of the {len(rows)} bounds are below it, and so "
                "not vacuous."
            ),
            (
                "Lower bounds: no policy can have less regret, on the worst problem of the paper's hard family, than the "
                "bound of Proposition 4 for its pieces, or of Proposition 3 for its budget. "
                f"{settings.hard_draws} problems are drawn from each family; for each of {len(LEARNERS)} policies the worst is "
                "found in one half of the runs and measured in the other."
            ),
            (
                "Impossible: one rested and one restless arm, two problems that look alike for half the game. Whatever a "
                "policy does, it loses at least an eighth of the rounds on one of them."
            ),
        ),
        figures=(
            _upper_figure(results, proved),
            _hard_figure(settings, pieces, budgets),
            impossible.figure(),
        ),
        tables={
            "upper-bounds": _upper_table(rows),
            "hard-pieces": _hard_table(settings, pieces),
            "hard-budgets": _hard_table(settings, budgets),
            "impossible": impossible.table(),
        },
        claims=(
            *_upper_claims(results, proved, rows),
            _lower_claim("theory-lower-pieces", "Lemma 5, Proposition 4", pieces),
            _lower_claim("theory-lower-budget", "Proposition 3", budgets),
            _impossible_claim(impossible),
        ),
    )


class Proved(NamedTuple):
    """The bound that is smallest at the horizon."""

    theorem: str
    values: Floats  # at the checkpoints that are drawn; the last is the horizon


def _drawn(result: Result) -> NDArray[np.bool_]:
    return result.checkpoints >= 10  # bounds on the first rounds say nothing, but would fill much of a logarithmic axis


def _proved(prepared: Prepared, results: Results) -> dict[str, list[Proved]]:
    """Return the tightest bound of each policy on each of the five problems."""
    proved: dict[str, list[Proved]] = {}
    for name in prepared.data:
        result, problem = results[name], prepared.games[name].problem
        rounds = result.checkpoints[_drawn(result)].tolist()
        proved[name] = [_tightest(problem, policy, rounds) for policy in result.policies]
    return proved


def _tightest(problem: Problem, policy: Policy, rounds: list[int]) -> Proved:
    best = min(bounds(problem, policy, checkpoints=rounds), key=lambda each: float(each.values[-1]))
    return Proved(f"{best.name} ({best.reference.partition(' (')[0]})", best.values)


def _upper_rows(prepared: Prepared, results: Results, proved: dict[str, list[Proved]]) -> list[Row]:
    rows: list[Row] = []
    for name, tightest in proved.items():
        result = results[name]
        most = constants(prepared.games[name].problem).largest_regret()
        for label, policy, regret, (theorem, values) in zip(FOUR, result.policies, result.regret, tightest, strict=True):
            measured, bound = mean_interval(regret[:, -1]), float(values[-1])
            rows.append(
                {
                    "problem": name,
                    "policy": f"{label} {policy.params.alpha:g}",
                    "regret": measured,
                    "bound": bound,
                    "largest": most,
                    "vacuous": is_vacuous(bound, most),
                    "theorem": theorem,
                    "ratio": measured.mean / bound,
                }
            )
    return rows


def _upper_table(rows: list[Row]) -> FormattedTable:
    columns = (
        value_column("problem"),
        value_column("policy"),
        interval_column("regret"),
        Column("bound", lambda row: f"{row['bound']:,.0f}{'*' * row['vacuous']}"),
        value_column("theorem"),
        value_column("regret / bound", ".3f", "ratio"),
        value_column("largest possible", ",.0f", "largest"),
    )
    line = "Mean regret at the end (with its 95 % interval), the tightest bound that applies, and the largest possible"
    starred = ("* This bound says nothing: no play has so much regret.",) * any(row["vacuous"] for row in rows)
    return FormattedTable((f"{line} regret", *starred), columns, rows)


def _upper_figure(results: Results, proved: dict[str, list[Proved]]) -> Figure:
    panels = []
    for name, tightest in proved.items():
        result = results[name]
        late = _drawn(result)
        panel = regret_panel(name, FOUR, result.checkpoints[late], result.regret[:, :, late])
        curves = tuple(
            Curve(f"{label}: bound", result.checkpoints[late], values)
            for label, (_, values) in zip(FOUR, tightest, strict=True)
        )
        panels.append(Panel(name, panel.x_label, panel.y_label, (*panel.curves, *curves), x_log=True, y_log=True))
    caption = f"Regret: {BAND}. Bounds: the tightest theorem that applies, at every round."
    return Figure("upper-bounds", "Measured regret and its bounds", caption, tuple(panels), columns=3)


class Played(NamedTuple):
    """Hard families of one kind, and the regrets of the policies on the worst problem that was drawn from each."""

    what: str  # what differs between the families: pieces or budget
    families: list[Hard]
    regrets: dict[str, list[Floats]]  # by policy, for each family


def _played(settings: Settings, what: str, families: list[Hard], results: Results) -> Played:
    regrets: dict[str, list[Floats]] = {label: [] for label in LEARNERS}
    for hard in families:
        drawn = [results[f"hard-{hard.name}-{draw}"] for draw in range(settings.hard_draws)]
        for k, label in enumerate(LEARNERS):
            regrets[label].append(_worst(final_regret(drawn, k)))
    return Played(what, families, regrets)


def _worst(regrets: Floats) -> Floats:
    """Return the regrets on the worst of several problems `[problem, run]`, in the runs that had no part in finding it."""
    half = regrets.shape[1] // 2
    return np.asarray(regrets[int(regrets[:, :half].mean(axis=1).argmax()), half:])


def _hard_table(settings: Settings, played: Played) -> FormattedTable:
    rows = [
        {
            played.what: hard.size,
            "pieces": hard.family.pieces,
            "bound": hard.bound,
            **{label: mean_interval(each[k]) for label, each in played.regrets.items()},
        }
        for k, hard in enumerate(played.families)
    ]
    heads = (
        *(value_column(name, "g") for name in dict.fromkeys((played.what, "pieces"))),
        Column(LOWER, lambda row: f"{row['bound']:,.1f}"),
        *map(interval_column, played.regrets),
    )
    line = f"Mean regret on the worst hard instance, with its 95 % interval; T = {settings.hard_horizon:,}"
    return FormattedTable((f"{line}, K = {settings.hard_arms}",), heads, rows)


def _hard_figure(settings: Settings, pieces: Played, budgets: Played) -> Figure:
    def panel(title: str, x_label: str, played: Played) -> Panel:
        sizes = [float(hard.size) for hard in played.families]
        curves = [mean_points(label, sizes, each) for label, each in played.regrets.items()]
        line = Curve(LOWER, np.array(sizes), np.array([hard.bound for hard in played.families]))
        return Panel(title, x_label, "regret at the end", (*curves, line), x_log=True, y_log=True)

    caption = (
        f"T = {settings.hard_horizon:,}, K = {settings.hard_arms}. Mean over the runs and its 95 % interval, on each policy's "
        "worst problem of those drawn."
    )
    panels = panel("Proposition 4", "pieces", pieces), panel("Proposition 3", "variation budget", budgets)
    return Figure("hard-instances", "Hard instances: regret and its lower bound", caption, panels, columns=2, first=ORDER)


def _upper_claims(results: Results, proved: dict[str, list[Proved]], rows: list[Row]) -> list[Claim]:
    claims = []
    for place, label in enumerate(FOUR):
        regrets = [results[name].regret[place, :, -1] for name in proved]
        values = [float(tightest[place].values[-1]) for tightest in proved.values()]
        vacuous = sum(row["vacuous"] for row in rows[place :: len(FOUR)])
        say_nothing = f" {vacuous} of them say nothing: no play regrets so much." if vacuous else ""
        slack = _slack("the bounds are", values, [float(regret.mean()) for regret in regrets], "the mean regret")
        claims.append(
            Claim(
                f"theory-upper-{label.lower()}",
                "Theorems 1 to 3, Propositions 6 and 7",
                f"The regret of {label}, tuned as the theorems ask, is below their bounds.",
                f"the tightest bound that applies over the mean regret, smallest over {len(regrets)} problems",
                smallest_ratio(_columns(values, len(regrets[0])), np.array(regrets)),
                low=1.0,
                remark=slack + say_nothing,
            )
        )
    return claims


def _slack(subject: str, upper: Sequence[float], lower: Sequence[float], of: str) -> str:
    """Return a sentence about the ratio of the two sides of an inequality."""
    ratios = [a / b for a, b in zip(upper, lower, strict=True) if b > 0]
    if not ratios:
        return f"Slack: unknown, as {of} is 0."
    return f"Slack: {subject} {min(ratios):,.3g} to {max(ratios):,.3g} times {of}."


def _lower_claim(name: str, source: str, played: Played) -> Claim:
    families, regrets = played.families, played.regrets
    measured = np.array([each for by_family in regrets.values() for each in by_family])
    values = [hard.bound for _ in regrets for hard in families]
    return Claim(
        name,
        source,
        "On the worst of the hard problems, the regret of every policy is above the lower bound.",
        f"mean regret over the bound, smallest over {len(families)} families and {len(regrets)} policies",
        smallest_ratio(measured, _columns(values, measured.shape[1])),
        low=1.0,
        remark=_slack("the mean regrets are", measured.mean(axis=1).tolist(), values, "the bound"),
    )


def _impossible_claim(impossible: Unlearnable) -> Claim:
    both = np.stack([each.regret[:, :, -1] for each in (impossible.falls, impossible.stays)], axis=1)  # [policy, problem, run]
    learners = np.array([_worst(regrets) for regrets in both[1:]])  # the oracle sees the means
    floor = learner_floor(impossible.horizon)
    return Claim(
        "theory-impossible",
        "Proposition 1",
        "On two problems with a rested and a restless arm, every policy loses an eighth of the rounds on one of them.",
        f"mean regret on the worse problem over floor(T / 8), smallest over {len(learners)} policies",
        smallest_ratio(learners, _columns([floor] * len(learners), learners.shape[1])),
        low=1.0,
        remark=_slack("the mean regrets are", learners.mean(axis=1).tolist(), [floor] * len(learners), "the floor"),
    )


def _columns(values: list[float], runs: int) -> Floats:
    """Return one number per row as an array `[row, run]`, the same in every run."""
    return np.repeat(np.array(values, np.float64)[:, None], runs, axis=1)


REFERENCE = f"{CITATION}: Theorems 1 to 3, Propositions 1, 3, 4, 6 and 7, Lemma 5"
EXPERIMENT = Experiment("theory", "The theorems, measured", REFERENCE, SIZES, prepare, findings, 8, Kind.THEOREMS)
