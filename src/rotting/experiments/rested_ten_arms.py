"""The rested ten-arm game of the paper before: every arm but one drops, from very little to very much."""

from dataclasses import dataclass

import numpy as np

from rotting import registry
from rotting.common.arrays import Floats
from rotting.display.figures import BAND, Figure, regret_panel
from rotting.experiments import ORDER, Experiment, Plan, Results, regret_table
from rotting.policies.d_ucb import DUCB
from rotting.policies.exp3_s import Exp3S
from rotting.policies.glr_ucb import GLRUCB
from rotting.policies.sw_ucb import SWUCB
from rotting.policy import Policy
from rotting.problems import ten_arms
from rotting.report.claims import Claim
from rotting.report.model import Findings
from rotting.simulation.comparisons import mean_ratio
from rotting.simulation.plan import Simulation

SIGMA = 1.0
DROPS = 9  # arms that drop once: the number of breakpoints, for the policies that need it
HIGHEST = 10.0  # the largest mean
SW, D, UCB1, WSWA = "SW-UCB", "D-UCB", "UCB1", "wSWA 0.02"
RAW, RAW_4, FEWA, FEWA_4 = "RAW-UCB 1.4", "RAW-UCB 4", "FEWA 0.06", "FEWA 4"


@dataclass(frozen=True)
class Settings:
    """Everything that decides the results."""

    horizon: int
    runs: int
    seed: int = 0


SIZES = {"quick": Settings(horizon=25_000, runs=40), "full": Settings(horizon=25_000, runs=500)}


def policies(horizon: int) -> dict[str, Policy]:
    """Return the policies; those made for changes are given T and the number of changes, Exp3.S also the range of rewards."""
    high = HIGHEST + 3 * SIGMA
    return {
        RAW: registry.make("raw-ucb", alpha=1.4, sigma=SIGMA),
        RAW_4: registry.make("raw-ucb", alpha=4.0, sigma=SIGMA),
        FEWA: registry.make("fewa", alpha=0.06, sigma=SIGMA),
        FEWA_4: registry.make("fewa", alpha=4.0, sigma=SIGMA),
        "Exp3.S": Exp3S.from_switches(horizon, DROPS, low=-high, high=high, outside="clip"),
        "GLR-UCB": GLRUCB.from_horizon(horizon, sigma=SIGMA),
        "EFF-RAW-UCB 1.4": registry.make("eff-raw-ucb", alpha=1.4, sigma=SIGMA, m=2.0),
        WSWA: registry.make("wswa", alpha=0.02, sigma=SIGMA),
        SW: SWUCB.from_breakpoints(horizon, DROPS, B=SIGMA),
        D: DUCB.from_breakpoints(horizon, DROPS, B=SIGMA),
        UCB1: registry.make("ucb1", sigma=SIGMA),
    }


LABELS = tuple(policies(25_000))


def prepare(settings: Settings, workers: int | None, progress: bool | None) -> Plan:
    """Play the problem with every policy."""
    T = settings.horizon
    games = Simulation(tuple(policies(T).values()), ten_arms(T, SIGMA), runs=settings.runs, seed=settings.seed)
    return Plan({"ten-arms": games})


def findings(settings: Settings, plan: Plan, results: Results) -> Findings:
    """Return regret over time, a table, and the papers' claims."""
    result = results["ten-arms"]
    panel = regret_panel(f"T = {settings.horizon:,}, {settings.runs:,} runs", LABELS, result.checkpoints, result.regret)
    figure = Figure("regret", "Regret on the rested ten-arm game", f"The {BAND}.", (panel,), columns=1, first=ORDER)
    return Findings(
        paragraphs=(
            (
                "Ten arms, Gaussian rewards of variance 1. One arm is worth 0; the others are worth +mu for 1,000 pulls and "
                "-mu after, with mu from 0.001 to 10. The appendix leaves out SW-UCB, D-UCB and wSWA, as earlier papers found "
                "them unable to learn or less consistent: they play here. SW-UCB and D-UCB are given T and the number "
                "of drops, and use the noise's scale as that of the rewards."
            ),
        ),
        figures=(figure,),
        tables={"regret": regret_table(result, LABELS, f"Regret after {settings.horizon:,} rounds, {settings.runs:,} runs")},
        claims=tuple(_claims(settings, results)),
    )


def _claims(settings: Settings, results: Results) -> list[Claim]:
    result = results["ten-arms"]
    final = result.regret[:, None, :, -1]
    where = "appendix, algorithms and parameters"

    def regret(label: str) -> Floats:
        return np.asarray(final[LABELS.index(label)])

    forgetting = [
        Claim(
            f"ten-arms-{name}-does-not-learn",
            where,
            f"{label} is unable to learn in the rested setting.",
            f"regret of {label} over RAW-UCB 1.4",
            mean_ratio(regret(label), regret(RAW)),
            low=4.0,
        )
        for name, label in (("sw-ucb", SW), ("d-ucb", D))
    ]
    return [
        *forgetting,
        Claim(
            "ten-arms-raw-beats-fewa",
            "appendix, result: RAW-UCB vs FEWA",
            "RAW-UCB has better expected performance than FEWA on rested problems (theoretical tuning).",
            "regret of FEWA 4 over RAW-UCB 4",
            mean_ratio(regret(FEWA_4), regret(RAW_4)),
            low=1.0,
        ),
        Claim(
            "ten-arms-raw-beats-fewa-tuned",
            "appendix, result: RAW-UCB vs FEWA",
            "RAW-UCB has better expected performance than FEWA on rested problems (empirical tuning).",
            "regret of FEWA 0.06 over RAW-UCB 1.4",
            mean_ratio(regret(FEWA), regret(RAW)),
            low=1.0,
        ),
    ]


EXPERIMENT = Experiment(
    id="rested-ten-arms",
    title="The rested ten-arm game",
    reference="Seznec, Locatelli, Carpentier, Lazaric, Valko, AISTATS 2019: the benchmark before this paper's",
    sizes=SIZES,
    prepare=prepare,
    findings=findings,
    order=3,
)
