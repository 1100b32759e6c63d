"""Simulations: against NumPy code, the times that the paper prints, a GPU against the CPU, and growth with T and K."""

import os
import time
from collections.abc import Sequence
from typing import Literal

import numpy as np

import rotting
from benchmarks import numpy_style
from benchmarks.measure import Size, Turn, figure, race, row
from docs.page_tables import table
from rotting.common.arrays import Floats
from rotting.paper.experiments import restless_nights

SEED = 0
EXACT, EFFICIENT = rotting.RAWUCB(), rotting.EffRAWUCB()


def ours(policy: rotting.Policy, problem: rotting.Problem, horizon: int, rounds: int) -> Turn:
    """Return games on one thread, about `rounds` rounds in all; compiling is not timed."""
    runs = max(1, rounds // horizon)

    def play() -> float:
        result = rotting.simulate(policy, problem, horizon, runs=runs, seed=SEED, workers=1, progress=False, compile="now")
        return float(result.us_per_round[0])

    return play


def reward_table(problem: rotting.Problem, horizon: int) -> Floats:
    """Return what the n-th pull of each arm of a rested problem with Gaussian noise pays: [K, horizon]."""
    means = [[problem.mean(i, n + 1, n) for n in range(horizon)] for i in range(problem.n_arms)]
    return np.random.default_rng(SEED).normal(means)


def theirs(policy: rotting.Policy, problem: rotting.Problem, horizon: int) -> Turn:
    """Return a game of the NumPy code with the policy's parameters; drawing its rewards is not timed, which favours it."""
    rewards = reward_table(problem, horizon).tolist()

    def play() -> float:
        peer = numpy_style.make(policy.name, problem.n_arms, policy.params.alpha)
        began = time.thread_time()
        numpy_style.play(peer, rewards, horizon)
        return (time.thread_time() - began) * 1e6 / horizon

    return play


def against_numpy(size: Size) -> str:
    """Return the table of our simulations and of NumPy code of the same algorithms."""
    horizon = min(10_000, size.longest)
    two, ten = rotting.problems.two_arms(L=1.0, horizon=horizon), rotting.problems.ten_arms(horizon=horizon)
    rows = []
    for policy, problem in ((EFFICIENT, two), (EXACT, ten), (rotting.FEWA(), ten)):
        what = f"{type(policy).__name__}, K = {problem.n_arms}, T = {horizon:,}"
        mine = ours(policy, problem, horizon, size.rounds)
        rows.append(row(what, race(size.turns, {"rotting": mine, "NumPy": theirs(policy, problem, horizon)})))
    return table(["simulation", "rotting", "NumPy", "ratio"], rows, "lrrr")


def against_the_paper(size: Size) -> str:
    """Return the table of the seconds that the paper prints for a night of news, with SMPyBandits, and of ours."""
    number = restless_nights.EASY
    night = rotting.datasets.synthetic_nights()[number]
    horizon = min(night.horizon, size.longest)
    rows = []
    for (label, policy), paper in zip(
        restless_nights.policies(night.horizon).items(), restless_nights.PAPER_SECONDS[number], strict=True
    ):
        seconds = race(size.turns, {"": ours(policy, night.problem(), horizon, 1)})[""] * night.horizon * 1e-6
        rows.append([label, figure(seconds), str(paper), f"{figure(paper / seconds)}x"])
    return table(["policy", "rotting, seconds", "the paper, seconds", "ratio"], rows, "lrrr")


def against_each_other(size: Size) -> str:
    """Return the table of exact RAW-UCB beside the efficient version and UCB1."""
    rows = []
    for horizon in (10_000, size.longest):
        for problem in (rotting.problems.two_arms(L=1.0, horizon=horizon), rotting.problems.ten_arms(horizon=horizon)):
            policies = (rotting.UCB1(), EFFICIENT, EXACT)
            players = {type(each).__name__: ours(each, problem, horizon, size.rounds) for each in policies}
            took = race(size.turns, players)
            over = f"{figure(took['RAWUCB'] / took['EffRAWUCB'])}x"
            rows.append([f"K = {problem.n_arms}, T = {horizon:,}", *map(figure, took.values()), over])
    return table(["simulation", "UCB1", "EffRAWUCB", "RAWUCB", "RAWUCB over EffRAWUCB"], rows, "lrrrr")


def on_a_gpu(size: Size) -> str:
    """Return the table of a GPU and of all CPUs, by wall-clock time; raises an `EngineError` where there is no GPU."""
    problem, runs = rotting.problems.two_arms(L=1.0, horizon=10_000), size.rounds // 5

    def call(policy: rotting.Policy, engine: Literal["cuda", "threads"], runs: int) -> Turn:
        def play() -> float:
            began = time.perf_counter()
            rotting.simulate(policy, problem, runs=runs, seed=SEED, engine=engine, checkpoints=[], progress=False)
            return (time.perf_counter() - began) * 1e6 / (runs * 10_000)

        play()  # compiles
        return play

    rows = []
    for policy in (EFFICIENT, EXACT, rotting.UCB1()):
        players = {"GPU": call(policy, "cuda", runs), f"{os.cpu_count()} CPUs": call(policy, "threads", max(1, runs // 100))}
        rows.append(row(f"{type(policy).__name__}, K = 2, T = 10,000", race(size.turns, players)))
    return table(["simulation", "GPU", "CPUs", "ratio"], rows, "lrrr")


def _growth(head: str, xs: Sequence[int], players: dict[str, list[Turn | None]], turns: int) -> str:
    rows = []
    for name, line in players.items():
        rows.append([name, *("-" if play is None else figure(race(turns, {"": play})[""]) for play in line)])
    return table([head, *(f"{x:,}" for x in xs)], rows, "l" + "r" * len(xs))


FOUR: tuple[rotting.Policy, ...] = (EXACT, EFFICIENT, rotting.FEWA(), rotting.EffFEWA())


def over_horizons(size: Size) -> str:
    """Return the table of the time per round against the horizon, K = 2."""
    xs = [10**k for k in range(3, 7) if 10**k <= size.longest]
    problems = [rotting.problems.two_arms(L=1.0, horizon=T) for T in xs]
    players: dict[str, list[Turn | None]] = {
        type(policy).__name__: [ours(policy, each, T, size.rounds) for each, T in zip(problems, xs, strict=True)]
        for policy in FOUR
    }
    return _growth("T", xs, players, size.turns)


def many_arms(K: int) -> rotting.Problem:
    """Return rested arms that drop from +mu to -mu after 1,000 pulls, mu from 0 to 1 in mixed order."""
    sizes = np.random.default_rng(1).permutation(np.linspace(0.0, 1.0, K)).tolist()
    arms = [rotting.problems.Rested(rotting.problems.Abrupt(mu, -mu, at=1_000)) for mu in sizes]
    return rotting.Problem(arms)


def over_arms(size: Size) -> str:
    """Return the table of the time per round against the number of arms; FEWA is not played with the most."""
    xs = [K for K in (2, 10, 100, 1_000, 10_000) if size.most_arms >= K]

    def line(policy: rotting.Policy) -> list[Turn | None]:
        slow = "fewa" in policy.name
        return [None if slow and K > 1_000 else ours(policy, many_arms(K), 10_000 + 2 * K, 1) for K in xs]

    return _growth("K", xs, {type(policy).__name__: line(policy) for policy in FOUR}, size.turns)
