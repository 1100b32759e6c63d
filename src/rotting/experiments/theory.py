"""The theorems against what is measured: upper bounds, hard instances, and what cannot be learned."""

from dataclasses import dataclass

import numpy as np

from rotting import registry
from rotting.arrays import Floats, Ints
from rotting.claims import Claim
from rotting.experiments import Experiment, Plan, Results
from rotting.figures import BAND, Curve, Figure, Panel, mean_points, regret_panel
from rotting.noise import Gaussian
from rotting.policy import Policy
from rotting.problems import Linear, Piecewise, Problem, stationary, two_arms
from rotting.sections import Findings
from rotting.simulation import Games
from rotting.statistics import Interval, jackknife, mean_interval
from rotting.tables import Column, Table, interval_text
from rotting.theory import HardFamily, Unlearnable, bounds, learner_floor, theoretical_policies, unlearnable

FOUR = ("RAW-UCB", "EFF-RAW-UCB", "FEWA", "EFF-FEWA")
LEARNERS: dict[str, Policy] = {
    "RAW-UCB 1.4": registry.make("raw-ucb", alpha=1.4),
    "EFF-RAW-UCB 1.4": registry.make("eff-raw-ucb", alpha=1.4, m=2.0),
    "FEWA 0.06": registry.make("fewa", alpha=0.06),
    "UCB1": registry.make("ucb1"),
    "uniform": registry.make("uniform"),
}
LOWER = "lower bound"


@dataclass(frozen=True)
class Settings:
    """Everything that decides the results."""

    horizon: int
    runs: int
    hard_horizon: int
    hard_pieces: tuple[int, ...]
    hard_arms: int
    hard_draws: int  # problems drawn from each family
    impossible_horizon: int
    seed: int = 0


SIZES = {
    "quick": Settings(5_000, 20, 2_000, (1, 2, 4, 8), 3, 6, 200),
    "full": Settings(20_000, 200, 10_000, (1, 2, 4, 8, 16, 32), 3, 16, 1_000),
}


def problems(horizon: int) -> dict[str, Problem]:
    """Return five problems, to each of which some theorem applies."""
    T = horizon
    pieces = [[0.9, 0.9, 0.2, 0.2], [0.6, 0.6, 0.6, 0.0], [0.5, 0.3, 0.3, 0.3]]
    return {
        "stationary": stationary([0.5, 0.25, 0.0], horizon=T),
        "restless-pieces": Problem.restless(
            [Piecewise(row, starts=[0, T // 4, T // 2, 3 * T // 4]) for row in pieces], Gaussian(1.0), T, "restless-pieces"
        ),
        "restless-drift": Problem.restless(
            [Linear(1.0, slope=-1.0 / T), Linear(0.8, slope=-0.6 / T), Linear(0.6, slope=-0.2 / T)],
            Gaussian(1.0),
            T,
            "restless-drift",
        ),
        "rested-drop": two_arms(1.0, T),
        "rested-slopes": Problem.rested(
            [Linear(1.0, slope=-2.0 / T), Linear(0.7, slope=-1.0 / T), 0.3], Gaussian(1.0), T, "rested-slopes"
        ),
    }


def _families(settings: Settings) -> list[HardFamily]:
    return [HardFamily(settings.hard_arms, settings.hard_horizon, pieces) for pieces in settings.hard_pieces]


def prepare(settings: Settings, workers: int | None, progress: bool | None) -> Plan:
    """Play the five problems with the tuning of the theorems, hard instances, and the two problems of Proposition 1."""
    runs, seed = settings.runs, settings.seed
    games = {}
    for name, problem in problems(settings.horizon).items():
        setting = "rested" if problem.kind == "rested" else "restless"
        games[name] = Games(theoretical_policies(setting), problem, runs=runs, seed=seed)
    learners = tuple(LEARNERS.values())
    for family in _families(settings):
        for draw in range(settings.hard_draws):
            name = f"hard-{family.pieces}-pieces-{draw}"
            games[name] = Games(learners, family.random(seed + draw), runs=2 * runs, seed=seed, checkpoints=())
    for name, problem in zip(("falls", "stays"), unlearnable(settings.impossible_horizon), strict=True):
        games[name] = Games((registry.make("greedy-oracle"), *learners), problem, runs=runs, seed=seed, checkpoints=())
    return Plan(games)


def findings(settings: Settings, plan: Plan, results: Results) -> Findings:
    """Return measured regret over its bounds, the hard instances over theirs, and the impossibility."""
    rows = _upper_rows(plan, results)
    hard = _hard(settings, results)
    impossible = Unlearnable(settings.impossible_horizon, results["falls"], results["stays"])
    return Findings(
        paragraphs=(
            (
                "Upper bounds: the four policies with the smallest alpha that the theorems allow, on five problems, and the "
                "tightest bound that applies, with all its constants computed from the problem."
            ),
            (
                "Lower bounds: no policy can have less regret, on the worst problem of the paper's hard family, than the "
                f"bound. {settings.hard_draws} problems are drawn from each family; each policy's worst is found in one half "
                "of the runs and measured in the other."
            ),
            (
                "Impossible: one rested and one restless arm, two problems that look alike for half the game. Whatever a "
                "policy does, it loses at least an eighth of the rounds on one of them."
            ),
        ),
        figures=(_upper_figure(plan, results), _hard_figure(settings, hard), impossible.figure()),
        tables={
            "upper-bounds": _upper_table(rows),
            "hard-instances": _hard_table(settings, hard),
            "impossible": impossible.table(),
        },
        claims=tuple(_claims(settings, plan, results, hard, impossible)),
    )


def _tightest(games: Games, policy: Policy, checkpoints: Ints) -> tuple[str, Floats]:
    """Return the name of the bound that is smallest at the horizon, and its values."""
    found = bounds(games.problem, policy, checkpoints=[int(t) for t in checkpoints])
    best = min(found, key=lambda each: float(each.values[-1]))
    return f"{best.name} ({best.reference.partition(' (')[0]})", best.values


def _upper_rows(plan: Plan, results: Results) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for name in problems(1_000):
        result = results[name]
        for label, policy, regret in zip(FOUR, result.policies, result.regret, strict=True):
            bound, values = _tightest(plan.games[name], policy, result.checkpoints[-1:])
            measured = mean_interval(regret[:, -1])
            rows.append(
                {
                    "problem": name,
                    "policy": f"{label} {policy.params[0]:g}",
                    "regret": measured,
                    "bound": float(values[-1]),
                    "theorem": bound,
                    "ratio": measured.mean / float(values[-1]),
                }
            )
    return rows


def _upper_table(rows: list[dict[str, object]]) -> Table:
    columns = (
        Column("problem", lambda row: str(row["problem"])),
        Column("policy", lambda row: str(row["policy"])),
        Column("regret", lambda row: interval_text(row["regret"])),
        Column("bound", lambda row: f"{row['bound']:,.0f}"),
        Column("theorem", lambda row: str(row["theorem"])),
        Column("regret / bound", lambda row: f"{row['ratio']:.3f}"),
    )
    return Table(
        ("Mean regret at the end (with half of its 95 % interval), and the tightest bound that applies",), columns, rows
    )


def _upper_figure(plan: Plan, results: Results) -> Figure:
    panels = []
    for name in problems(1_000):
        result = results[name]
        late = result.checkpoints >= 10  # a bound of the first rounds says nothing, on a logarithmic axis at length
        panel = regret_panel(name, FOUR, result.checkpoints[late], result.regret[:, :, late])
        curves = tuple(
            Curve(f"{label}: bound", result.checkpoints[late], _tightest(plan.games[name], policy, result.checkpoints[late])[1])
            for label, policy in zip(FOUR, result.policies, strict=True)
        )
        panels.append(Panel(name, panel.x_label, panel.y_label, (*panel.curves, *curves), x_log=True, y_log=True))
    caption = f"Regret: {BAND}. Bounds: the tightest theorem that applies, at every round."
    return Figure("upper-bounds", "Measured regret and its bounds", caption, tuple(panels), columns=3)


def _hard(settings: Settings, results: Results) -> dict[str, list[Floats]]:
    """Return, by policy, the regrets of its worst problem of each family, in the runs that had no part in finding it."""
    worst: dict[str, list[Floats]] = {label: [] for label in LEARNERS}
    for family in _families(settings):
        final = [results[f"hard-{family.pieces}-pieces-{draw}"].regret[:, :, -1] for draw in range(settings.hard_draws)]
        for k, label in enumerate(LEARNERS):
            runs = np.array([regret[k] for regret in final])  # [draw, run]
            half = runs.shape[1] // 2
            worst[label].append(runs[int(runs[:, :half].mean(axis=1).argmax()), half:])
    return worst


def _hard_table(settings: Settings, hard: dict[str, list[Floats]]) -> Table:
    rows = [
        {
            "pieces": family.pieces,
            "bound": family.bound,
            **{label: mean_interval(regrets[k]) for label, regrets in hard.items()},
        }
        for k, family in enumerate(_families(settings))
    ]

    def column(label: str) -> Column:
        return Column(label, lambda row: interval_text(row[label]))

    heads = (
        Column("pieces", lambda row: str(row["pieces"])),
        Column(LOWER, lambda row: f"{row['bound']:,.1f}"),
        *map(column, LEARNERS),
    )
    line = f"Mean regret on the worst hard instance, with half of its 95 % interval; T = {settings.hard_horizon:,}"
    return Table((f"{line}, K = {settings.hard_arms}",), heads, rows)


def _hard_figure(settings: Settings, hard: dict[str, list[Floats]]) -> Figure:
    pieces = [float(each) for each in settings.hard_pieces]
    bound = np.array([family.bound for family in _families(settings)])
    curves = [mean_points(label, pieces, regrets) for label, regrets in hard.items()]
    panel = Panel(
        f"T = {settings.hard_horizon:,}, K = {settings.hard_arms}",
        "pieces",
        "regret at the end",
        (*curves, Curve(LOWER, np.array(pieces), bound)),
        x_log=True,
        y_log=True,
    )
    caption = "Mean over the runs and its 95 % interval, on each policy's worst problem of those drawn."
    return Figure("hard-instances", "Hard instances: no policy is below the line", caption, (panel,), columns=1)


def _claims(
    settings: Settings, plan: Plan, results: Results, hard: dict[str, list[Floats]], impossible: Unlearnable
) -> list[Claim]:
    def largest_ratio(place: int) -> tuple[float, Interval]:
        ratios = []
        for name in problems(1_000):
            result = results[name]
            _, values = _tightest(plan.games[name], result.policies[place], result.checkpoints[-1:])
            ratios.append(mean_interval(result.regret[place, :, -1] / values[-1]))
        return max((each.mean, each) for each in ratios)

    claims = [
        Claim(
            f"theory-upper-{label.lower()}",
            "Theorems 1 to 3, Propositions 6 and 7",
            f"The regret of {label}, tuned as the theorems ask, is below their bounds.",
            "mean regret over the tightest bound that applies, largest over five problems",
            largest_ratio(place)[1],
            high=1.0,
            decimals=3,
        )
        for place, label in enumerate(FOUR)
    ]
    bound = np.array([family.bound for family in _families(settings)])
    ratios = {label: _smallest(np.array(regrets) / bound[:, None]) for label, regrets in hard.items()}
    least = min(ratios, key=lambda label: ratios[label].mean)
    claims.append(
        Claim(
            "theory-lower",
            "Lemma 5, Propositions 3 and 4",
            "On the worst of the hard problems, every policy's regret is above the lower bound.",
            f"mean regret over the bound, smallest over families and policies ({least})",
            ratios[least],
            low=1.0,
        )
    )
    both = np.stack([each.regret[:, :, -1] for each in (impossible.falls, impossible.stays)])  # [problem, policy, run]
    floor = learner_floor(settings.impossible_horizon)
    learners = both[:, 1:]  # the oracle sees the means
    claims.append(
        Claim(
            "theory-impossible",
            "Proposition 1",
            "On two problems with a rested and a restless arm, every policy loses an eighth of the rounds on one of them.",
            "the larger mean regret over floor(T / 8), smallest over the policies",
            jackknife(lambda runs: float(runs.mean(axis=2).max(axis=0).min()) / floor, learners),
            low=1.0,
        )
    )
    return claims


def _smallest(samples: Floats) -> Interval:
    """Return the mean of the row `[row, run]` with the smallest mean, with its interval."""
    return mean_interval(samples[int(samples.mean(axis=1).argmin())])


EXPERIMENT = Experiment(
    id="theory",
    title="The theorems, measured",
    reference="Seznec, Ménard, Lazaric, Valko, AISTATS 2020: Theorems 1 to 3, Propositions 1, 3, 4, 6 and 7, Lemma 5",
    sizes=SIZES,
    prepare=prepare,
    findings=findings,
    order=6,
)
