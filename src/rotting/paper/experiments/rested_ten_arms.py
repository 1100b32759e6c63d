"""The rested ten-arm game of the paper before: every arm but one drops, from very little to very much."""

from collections.abc import Callable

import numpy as np

from rotting.common.arrays import Floats
from rotting.common.display.figures import BAND, Figure, regret_panel
from rotting.common.statistics import Interval
from rotting.paper.experiments import (
    ORDER,
    Experiment,
    GameSettings,
    Prepared,
    Results,
    regret_at,
    regret_table,
    tuned_policies,
)
from rotting.paper.report.claims import Statement, estimate_text
from rotting.paper.report.model import Findings
from rotting.policies.d_ucb import DUCB
from rotting.policies.exp3_s import Exp3S
from rotting.policies.glr_ucb import GLRUCB
from rotting.policies.sw_ucb import SWUCB
from rotting.policy import Policy
from rotting.problems import ten_arms
from rotting.simulation.comparisons import growth, mean_ratio
from rotting.simulation.plan import Simulation

SIGMA = 1.0
DROPS = 9  # arms that drop once: the number of breakpoints, for the policies that need it
HIGHEST = 10.0  # the largest mean
RAW, RAW_4, FEWA, FEWA_4 = "RAW-UCB 1.4", "RAW-UCB 4", "FEWA 0.06", "FEWA 4"
EXP3_S, GLR, SW, D = "Exp3.S", "GLR-UCB", "SW-UCB", "D-UCB"
LABELS = tuple(label for label in ORDER if label != "uniform")

SIZES = {"quick": GameSettings(horizon=25_000, runs=40), "full": GameSettings(horizon=25_000, runs=500)}


def policies(horizon: int) -> dict[str, Policy]:
    """Return the policies. Those made for changes get T and the number of changes; Exp3.S also gets the range of rewards."""
    high = HIGHEST + 3 * SIGMA
    made = {
        **tuned_policies(SIGMA),
        EXP3_S: Exp3S.from_switches(horizon, DROPS, low=-high, high=high, outside="clip"),
        GLR: GLRUCB.from_horizon(horizon, sigma=SIGMA),
        SW: SWUCB.from_breakpoints(horizon, DROPS, B=SIGMA),
        D: DUCB.from_breakpoints(horizon, DROPS, B=SIGMA),
    }
    return {label: made[label] for label in LABELS}


GAME = "ten-arms"
LONGER = (2, 4)  # times the horizon
GROWING = (RAW, SW, D)  # the policies that play the longer games, tuned to each


def longer_name(times: int) -> str:
    """Return the name of the games of so many times the horizon."""
    return f"{GAME}-{times}-times-as-long"


def prepare(settings: GameSettings, workers: int | None, progress: bool | None) -> Prepared:
    """Play the problem with every policy, and with some of them for longer."""

    def games(T: int, labels: tuple[str, ...], checkpoints: tuple[int, ...] | None = None) -> Simulation:
        players = policies(T)
        chosen = tuple(players[label] for label in labels)
        return Simulation(chosen, ten_arms(T, SIGMA), runs=settings.runs, seed=settings.seed, checkpoints=checkpoints)

    T = settings.horizon
    return Prepared({GAME: games(T, LABELS), **{longer_name(k): games(k * T, GROWING, (k * T,)) for k in LONGER}})


def findings(settings: GameSettings, prepared: Prepared, results: Results) -> Findings:
    """Return regret over time, a table, and the papers' claims."""
    result = results[GAME]
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
            (
                "What cannot learn regrets as much in every later round, so that its regret grows like t. That is measured "
                "twice for SW-UCB and D-UCB: over the second half of this game, in which all arms but one are worn out, and "
                f"over games {' and '.join(map(str, LONGER))} times as long, for each of which they are tuned anew: a window "
                "that grows with T forgets less and less."
            ),
        ),
        figures=(figure,),
        tables={"regret": regret_table(result, LABELS, f"Regret after {settings.horizon:,} rounds, {settings.runs:,} runs")},
        claims=tuple(statement.decide(results) for statement in STATEMENTS),
    )


def _final(results: Results, label: str) -> Floats:
    """Return `[1, run]`, the regret of a policy at the end."""
    return np.asarray(results[GAME].regret[[LABELS.index(label)], :, -1])


def _over_rounds(results: Results, label: str) -> Interval:
    """Return the growth of a policy's regret in the last quarter of the game, over that in the quarter before."""
    return growth(*regret_at(results[GAME], LABELS.index(label), 0.5, 0.75, 1.0))


def _over_horizons(results: Results, label: str) -> Interval:
    """Return the growth of a policy's final regret from horizon 2T to 4T, over that from T to 2T."""
    longer = [results[longer_name(times)].regret[GROWING.index(label), :, -1] for times in LONGER]
    return growth(_final(results, label)[0], *longer)


Measure = Callable[[Results, str], Interval]


def _compared_to_raw(measure: Measure, label: str) -> Callable[[Results], str]:
    """Return a function that writes the same quantity for RAW-UCB, and the ratio of the regrets."""

    def remark(results: Results) -> str:
        ratio = mean_ratio(_final(results, label), _final(results, RAW))
        return (
            f"For comparison, {RAW}: {estimate_text(measure(results, RAW))}. Regret over that of {RAW}: {estimate_text(ratio)}."
        )

    return remark


def _does_not_learn(name: str, label: str) -> tuple[Statement[Results], ...]:
    where = "appendix, algorithms and parameters"

    def statement(clock: str, growth: str, quantity: str, measure: Measure, low: float) -> Statement[Results]:
        return Statement(
            f"ten-arms-{name}-linear-in-{clock}",
            where,
            f"{label} is unable to learn in the rested setting: its regret grows like {growth}.",
            f"regret of {label} {quantity}",
            lambda results: measure(results, label),
            low=low,
            compare=_compared_to_raw(measure, label),
        )

    in_rounds = "from 3T/4 to T over T/2 to 3T/4: 1 for t, 0.84 for sqrt(t), 0.71 for log t"
    in_horizons = "in games of 4T less 2T rounds over 2T less T: 2 for T, 1.41 for sqrt(T), 1 for log T"
    return (
        statement("rounds", "t to the end of the game", in_rounds, _over_rounds, low=0.9),
        statement("horizons", "T, though it is tuned to each T", in_horizons, _over_horizons, low=1.7),
    )


def _raw_beats_fewa(name: str, tuning: str, fewa: str, raw: str) -> Statement[Results]:
    return Statement(
        name,
        "appendix, result: RAW-UCB vs FEWA",
        f"RAW-UCB has better expected performance than FEWA on rested problems ({tuning} tuning).",
        f"regret of {fewa} over {raw}",
        lambda results: mean_ratio(_final(results, fewa), _final(results, raw)),
        low=1.0,
    )


STATEMENTS: tuple[Statement[Results], ...] = (
    *_does_not_learn("sw-ucb", SW),
    *_does_not_learn("d-ucb", D),
    _raw_beats_fewa("ten-arms-raw-beats-fewa", "theoretical", FEWA_4, RAW_4),
    _raw_beats_fewa("ten-arms-raw-beats-fewa-tuned", "empirical", FEWA, RAW),
)


EXPERIMENT = Experiment(
    id="rested-ten-arms",
    title="The rested ten-arm game",
    reference="Seznec, Locatelli, Carpentier, Lazaric, Valko, AISTATS 2019: the benchmark before this paper's",
    sizes=SIZES,
    prepare=prepare,
    findings=findings,
    order=3,
)
