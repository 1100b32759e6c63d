"""The cost of exact windows: RAW-UCB on hulls, its efficient versions, and a scan of all windows, in ever longer games."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.display.figures import BAND, Curve, Figure, Panel, mean_points
from rotting.common.display.tables import Column, FormattedTable, interval_column, value_column
from rotting.common.statistics import Interval, mean_interval, quantiles
from rotting.live import policy_state as states
from rotting.paper.experiments import Experiment, Prepared, Results
from rotting.paper.report.claims import Statement, estimate_text
from rotting.paper.report.model import Findings, Kind
from rotting.policies.eff_raw_ucb import EffRAWUCB
from rotting.policies.kernels.binding import bind
from rotting.policies.kernels.random_numbers import derive_key
from rotting.policies.raw_ucb import RAWUCB, level_at
from rotting.policy import Kernel, Params, Policy
from rotting.problems import Linear, Problem, Rested, stationary, two_arms
from rotting.problems.noise import Gaussian
from rotting.simulation.engines.compile import compiled
from rotting.simulation.engines.game import new_board, play, policy_parts
from rotting.simulation.plan import Simulation

ALPHA = 1.4
EXACT, EFF, EFF_FINE, SCAN = "RAW-UCB", "EFF-RAW-UCB, m = 2", "EFF-RAW-UCB, m = 1.1", "scan of all windows"
LEARNERS = (EXACT, EFF, EFF_FINE)
LABELS = (*LEARNERS, SCAN)
QUIET = 0.1  # sigma of the falling arms: the less noise, the longer the hulls


@dataclass(frozen=True)
class Settings:
    """Everything that decides the results."""

    lengths: tuple[tuple[int, int], ...]  # horizons, and how many runs of each
    scanned: int  # the longest horizon that the scan plays, once
    timed: int  # the longest horizon at which it is timed, in several processes
    timed_rounds: int  # played by the others for their times, in several runs if the games are short
    traced: int  # runs whose hulls are recorded
    marks: int  # rounds at which they are recorded
    seed: int = 0


_RUNS = ((1_000, 200), (10_000, 100), (100_000, 20), (1_000_000, 4))
SIZES = {
    "quick": Settings(_RUNS, scanned=10_000, timed=10_000, timed_rounds=100_000, traced=4, marks=40),
    "full": Settings(
        tuple((T, 20 * runs) for T, runs in _RUNS),
        scanned=1_000_000,
        timed=100_000,
        timed_rounds=100_000,
        traced=40,
        marks=80,
    ),
}


# --- The scan -----------------------------------------------------------------------------------------------------------------


class ScanState(NamedTuple):
    """Every prefix sum of every arm."""

    pulls: Ints  # [K]
    sums: Floats  # [K, capacity + 1]
    root: Floats  # [capacity + 1] sqrt(h)


def init(p: Params, n_arms: int, capacity: int) -> ScanState:
    """Return room for all rewards."""
    return ScanState(np.zeros(n_arms, np.int64), np.zeros((n_arms, capacity + 1)), np.sqrt(np.arange(capacity + 1)))


def scan(p: Params, s: ScanState, t: int, key: int, arms: Ints) -> int:
    """Choose by the index of every arm, and each index by the bound of every window."""
    level, best, largest = level_at(p, t), arms[0], -math.inf
    for i in arms:
        n = s.pulls[i]
        if n == 0:
            return int(i)
        smallest, total = math.inf, s.sums[i, n]
        for h in range(1, n + 1):
            smallest = min(smallest, (total - s.sums[i, n - h] + level * s.root[h]) / h)
        if smallest > largest:
            best, largest = i, smallest
    return int(best)


def record(p: Params, s: ScanState, t: int, arm: int, reward: float) -> None:
    """Append a reward."""
    n = s.pulls[arm]
    s.sums[arm, n + 1] = s.sums[arm, n] + reward
    s.pulls[arm] = n + 1


class RAWUCBScan(RAWUCB):
    """RAW-UCB as its definition says: every index over every window, from plain prefix sums. For comparisons only."""

    name = "raw-ucb-scan"
    kernel = Kernel(init, scan, record)
    listed = False
    cost = "O(t)"
    memory = "O(K t)"


# --- The games ----------------------------------------------------------------------------------------------------------------


def problems(horizon: int) -> dict[str, Problem]:
    """Return three problems of two arms: constant means, one that drops, and two that fall by 1 over the game."""
    falling = [Rested(Linear(start, slope=-1.0 / horizon)) for start in (0.0, 0.2)]
    return {
        "stationary": stationary([0.0, 0.3], horizon=horizon),
        "abrupt": two_arms(L=0.3, horizon=horizon),
        "falling": Problem(falling, Gaussian(QUIET), horizon, "falling"),
    }


def policies(problem: Problem) -> dict[str, Policy]:
    """Return the policies, with the scale of the noise as their sigma."""
    sigma = problem.noise.scale
    made = (RAWUCB(ALPHA, sigma), EffRAWUCB(ALPHA, sigma, 2.0), EffRAWUCB(ALPHA, sigma, 1.1), RAWUCBScan(ALPHA, sigma))
    return dict(zip(LABELS, made, strict=True))


class Trace(NamedTuple):
    """The sizes of the states on one problem with one horizon."""

    rounds: Ints  # [marks]
    vertices: Floats  # [runs, marks] of all arms together, in exact RAW-UCB's hulls
    kilobytes: dict[str, float]  # of each policy's state at the end; the largest of the runs


def prepare(settings: Settings, workers: int | None, progress: bool | None) -> Prepared:
    """Play every problem at every length, and record the sizes of the states."""
    games, timed, traces = {}, {}, {}
    for T, runs in settings.lengths:
        enough = max(1, settings.timed_rounds // T)
        for name, problem in problems(T).items():
            players = policies(problem)
            chosen = tuple(players[label] for label in LEARNERS)
            game, scan = (game_name(name, T, scanned) for scanned in (False, True))
            games[game] = Simulation(chosen, problem, runs=runs, seed=settings.seed)
            timed[game] = Simulation(chosen, problem, runs=enough, seed=settings.seed)
            if settings.scanned >= T:
                games[scan] = Simulation(players[SCAN], problem, runs=1, seed=settings.seed)
            if settings.timed >= T:
                timed[scan] = Simulation(players[SCAN], problem, runs=1, seed=settings.seed)
            traces[name, T] = trace(settings, problem, T)
    return Prepared(games, data=traces, timed=timed)


def game_name(problem: str, horizon: int, scanned: bool = False) -> str:
    """Return the name of a game."""
    return f"{problem}-{horizon}{'-scan' if scanned else ''}"


def _game_of(problem: str, horizon: int, label: str) -> tuple[str, int]:
    """Return the name of the game that a policy plays, and the place of the policy in it."""
    if label == SCAN:
        return game_name(problem, horizon, scanned=True), 0
    return game_name(problem, horizon), LEARNERS.index(label)


def trace(settings: Settings, problem: Problem, horizon: int) -> Trace:
    """Return the number of vertices over time, and the sizes of the states of all policies."""
    players = policies(problem)
    rounds = np.unique(np.geomspace(1, horizon, settings.marks).round().astype(np.int64))
    vertices, sizes = zip(
        *(_trace(players[EXACT], problem, rounds, run, settings.seed) for run in range(settings.traced)), strict=True
    )
    kilobytes = {label: _kilobytes(states.new_state(each, problem.n_arms, horizon)) for label, each in players.items()}
    return Trace(rounds, np.array(vertices), {**kilobytes, EXACT: max(sizes)})


def _trace(policy: Policy, problem: Problem, rounds: Ints, run: int, seed: int) -> tuple[list[int], float]:
    """Play a game; return the number of vertices at these rounds, and the kilobytes of the state at the end."""
    enlarge, noise, n_arms = policy.kernel.enlarge, problem.noise, problem.n_arms
    assert enlarge is not None  # hulls outgrow their room
    go_on = compiled(bind(play, policy_parts(policy, noise)), policy)
    capacity = states.first_capacity(policy, n_arms, int(rounds[-1]))
    state, means = states.new_state(policy, n_arms, capacity), problem.means(int(rounds[-1]))
    board = new_board(means, np.zeros(n_arms, np.int64))
    arms, optimal, regret, signal = np.arange(n_arms), np.zeros(rounds.size), np.zeros(rounds.size), np.zeros(2, np.int64)
    seen = []
    for until in rounds:
        rest = (derive_key(seed, "noise"), 0, run, arms, rounds, optimal, regret, until, signal)
        while board.passed[0] < until:
            go_on(policy.params, state, board, means, noise.scale, *rest)
            if state.full[0]:
                capacity *= 2
                state = enlarge(policy.params, state, capacity)
        seen.append(int(np.maximum(state.hull.size - 1, 0).sum()))  # windows start from all points but the newest
    return seen, _kilobytes(state)


def _kilobytes(state: NamedTuple) -> float:
    return float(sum(array.nbytes for array in states.arrays(state))) / 1e3


# --- What they show -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Measured:
    settings: Settings
    results: Results
    traces: dict[tuple[str, int], Trace]
    times: Mapping[str, Floats]

    @property
    def horizons(self) -> list[int]:
        return [T for T, _ in self.settings.lengths]

    @property
    def scanned(self) -> list[int]:
        return [T for T in self.horizons if self.settings.scanned >= T]

    def horizons_of(self, label: str) -> list[int]:
        return self.scanned if label == SCAN else self.horizons

    def regret(self, problem: str, T: int, label: str) -> Floats:
        """Return the regret of each run at the end."""
        name, place = _game_of(problem, T, label)
        return np.asarray(self.results[name].regret[place, :, -1])

    def timed(self, label: str) -> list[int]:
        """Return the horizons at which a policy was timed."""
        return [T for T in self.horizons if label != SCAN or self.settings.timed >= T]

    def us(self, problem: str, T: int, label: str) -> Floats:
        """Return the time of a round in each process."""
        name, place = _game_of(problem, T, label)
        return np.asarray(self.times[name][:, place])

    def kilobytes(self, problem: str, T: int, label: str) -> float:
        """Return the size of the state at the end."""
        return self.traces[problem, T].kilobytes[label]

    def scan_agrees(self, problem: str, T: int) -> bool:
        """Return whether the scan pulled the arms as often as exact RAW-UCB did in the same run."""
        scan, exact = (self.results[_game_of(problem, T, label)[0]].pulls[0, 0] for label in (SCAN, EXACT))
        return bool(np.array_equal(scan, exact))

    def over(self, upper: str, lower: str) -> Interval:
        """Return the time of one policy over another's in the longest games in which the scan was timed.

        It is a mean over the problems; the interval is that of its spread over the processes.
        """
        T = self.timed(SCAN)[-1]
        return mean_interval(np.mean([self.us(name, T, upper) / self.us(name, T, lower) for name in NAMES], axis=0))


NAMES = tuple(problems(1_000))
TITLES = {
    "stationary": "Stationary",
    "abrupt": "One arm drops",
    "falling": f"Both arms fall steadily, sigma {QUIET:g}",
}


def findings(settings: Settings, prepared: Prepared, results: Results) -> Findings:
    """Return regret, time and memory over the horizon, the vertices over time, and the paper's claims on cost."""
    measured = _Measured(settings, results, prepared.data, prepared.times)
    compared = [(name, T) for name in NAMES for T in measured.scanned]
    equal = sum(measured.scan_agrees(*each) for each in compared)
    longest = measured.horizons[-1]
    return Findings(
        paragraphs=(
            (
                "Two arms, Gaussian rewards, games of growing length T: both arms stay; one drops after T/4 pulls, the rested "
                f"benchmark; both fall by 1 over T pulls. RAW-UCB and its efficient versions have alpha = {ALPHA:g}."
            ),
            (
                "RAW-UCB is exact: it has the index over every window, but keeps and searches only the vertices of a hull, "
                "which can have the tightest bound. The scan computes the bound of every window of every arm in every round, "
                "compiled as the others are, and keeps all rewards. It makes the same choices: in the games that both played, "
                f"{len(compared)}, the pulls are equal in {equal}."
            ),
        ),
        figures=(
            _by_horizon(
                "regret", "Regret", "regret (units of reward)", "mean of the runs and its 95 % interval", measured, _regrets
            ),
            _by_horizon(
                "time",
                "Time of a round",
                "microseconds",
                "CPU time on one core, the mean of several fresh processes and its 95 % interval",
                measured,
                _times,
            ),
            _by_horizon("memory", "Memory", "kilobytes", "size of a game's state at the end", measured, _sizes),
            Figure(
                "vertices",
                f"Vertices of the hulls, T = {longest:,}",
                f"Vertices of both arms' hulls after t rounds, {settings.traced} runs: {BAND}.",
                (_vertices(measured, longest),),
                columns=1,
            ),
        ),
        tables={"cost": _table(measured)},
        claims=tuple(statement.decide(measured, samples=prepared.processes) for statement in STATEMENTS),
        notes=(
            (
                f"The scan plays one game of each problem up to T = {settings.scanned:,}, and is timed up to "
                f"T = {settings.timed:,}: its time grows with the square of T, and longer games would take longer than all "
                "others together."
            ),
        ),
    )


def _regrets(measured: _Measured, name: str, label: str) -> Curve:
    horizons = measured.horizons_of(label)
    return mean_points(label, [float(T) for T in horizons], [measured.regret(name, T, label) for T in horizons])


def _times(measured: _Measured, name: str, label: str) -> Curve:
    horizons = measured.timed(label)
    return mean_points(label, [float(T) for T in horizons], [measured.us(name, T, label) for T in horizons])


def _sizes(measured: _Measured, name: str, label: str) -> Curve:
    horizons = measured.horizons_of(label)
    return Curve(label, np.array(horizons), np.array([measured.kilobytes(name, T, label) for T in horizons]), points=True)


def _by_horizon(
    name: str,
    title: str,
    unit: str,
    what: str,
    measured: _Measured,
    curve: Callable[[_Measured, str, str], Curve],
) -> Figure:
    panels = []
    for problem in NAMES:
        labels = [label for label in LABELS if measured.horizons_of(label) and (name != "regret" or label != SCAN)]
        curves = tuple(curve(measured, problem, label) for label in labels)
        panels.append(Panel(TITLES[problem], "horizon T (rounds)", unit, curves, x_log=True, y_log=True))
    caption = f"{title} over the horizon: {what}."
    return Figure(name, f"{title} over the horizon", caption, tuple(panels), columns=3, first=LABELS)


def _vertices(measured: _Measured, T: int) -> Panel:
    curves = []
    for name in NAMES:
        traced = measured.traces[name, T]
        low, high = quantiles(traced.vertices, 0.1, 0.9)
        curves.append(Curve(TITLES[name], traced.rounds, traced.vertices.mean(axis=0), low, high))
    return Panel("", "round t", "vertices", tuple(curves), x_log=True, y_log=True)


def _table(measured: _Measured) -> FormattedTable:
    rows = [
        {
            "problem": name,
            "T": T,
            "policy": label,
            "regret": mean_interval(measured.regret(name, T, label)),
            "us": mean_interval(measured.us(name, T, label)) if T in measured.timed(label) else None,
            "kB": measured.kilobytes(name, T, label),
        }
        for name in NAMES
        for T in measured.horizons
        for label in LABELS
        if T in measured.horizons_of(label)
    ]
    columns = (
        value_column("problem"),
        value_column("T", ","),
        value_column("policy"),
        interval_column("regret", ",.2f"),
        Column("us per round", lambda row: "-" if row["us"] is None else estimate_text(row["us"])),
        value_column("state (kB)", ",.1f", "kB"),
    )
    return FormattedTable(("Regret, time of a round and size of the state at the end of the game",), columns, rows)


_COST = "appendix, the numerical cost of adaptive windows"
_OTHER_CODE = "other code than the paper's: both are compiled, and ours need not scan"


def _where(measured: _Measured) -> str:
    """Return on which games times are compared, which depends on the size, in words."""
    return f"mean over the three problems with T = {measured.timed(SCAN)[-1]:,}, in each of several fresh processes"


def _other(measured: _Measured, exact: str) -> str:
    """Return the same quantity for the other exact version, in words."""
    words = {SCAN: "Over the scan of all windows", EXACT: "Over RAW-UCB on hulls"}
    return f"{words[exact]}: {estimate_text(measured.over(exact, EFF))}."


STATEMENTS: tuple[Statement[_Measured], ...] = (
    Statement(
        "windows-eff-cheaper-than-scan",
        _COST,
        "The efficient version is far cheaper than the exact one, if that scans all windows.",
        lambda measured: f"time per round of a compiled scan of all windows over EFF-RAW-UCB (m = 2), {_where(measured)}",
        lambda measured: measured.over(SCAN, EFF),
        low=10.0,
        not_comparable=_OTHER_CODE,
        compare=lambda measured: _other(measured, EXACT),
    ),
    Statement(
        "windows-eff-cheaper-than-hull",
        _COST,
        "The efficient version is far cheaper than the exact one, if that searches the vertices of hulls, as ours does.",
        lambda measured: f"time per round of RAW-UCB on hulls over EFF-RAW-UCB (m = 2), {_where(measured)}",
        lambda measured: measured.over(EXACT, EFF),
        low=10.0,
        not_comparable=_OTHER_CODE,
        compare=lambda measured: _other(measured, SCAN),
    ),
)


EXPERIMENT = Experiment(
    id="exact-windows",
    title="What exact windows cost",
    reference="Seznec, Ménard, Lazaric, Valko, AISTATS 2020, appendix: the numerical cost of adaptive windows",
    sizes=SIZES,
    prepare=prepare,
    findings=findings,
    order=9,
    kind=Kind.OURS,
)
