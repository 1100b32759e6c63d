"""The project's own contestants: whole games through the engine, and stretches of a game on the policies' kernels."""

import time
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np

import rotting
from benchmarks.measure import Contestant, Pulls, Sample
from rotting.common.arrays import Floats, Ints
from rotting.engines.compile import compiled
from rotting.engines.game import Board, draw, full_parts, is_full, mean_now, new_board
from rotting.kernels.binding import bind
from rotting.kernels.policy_slots import choose, update
from rotting.kernels.random_numbers import derive_key
from rotting.live import policy_state as states
from rotting.policy import Params, Policy
from rotting.problems import Abrupt, Exponential, Problem, Recovering, Rested, Visiting
from rotting.problems.mean_table import Means

SEED = 0


def many_arms(n_arms: int) -> Problem:
    """Return the ten-arm benchmark with any number of arms: +mu for 1,000 pulls, then -mu, mu from 0 to 1 in mixed order."""
    sizes = np.random.default_rng(1).permutation(np.linspace(0.0, 1.0, n_arms))
    return Problem([Rested(Abrupt(mu, -mu, at=1_000)) for mu in sizes.tolist()])


def coming_arms(problem: Problem, horizon: int) -> Problem:
    """Return the problem with arms that come one after the other, in equal intervals; the first one is there from the start."""
    n = problem.n_arms
    return Problem([Visiting(arm, first=1 + i * horizon // n) for i, arm in enumerate(problem.arms)])


def passing_arms(problem: Problem, horizon: int) -> Problem:
    """Return the problem with arms that come one after the other and leave after half of the game; the first one stays."""
    n, half = problem.n_arms, horizon // 2
    visits = [Visiting(arm, first := 1 + i * half // n, first + half) for i, arm in enumerate(problem.arms[1:])]
    return Problem([problem.arms[0], *visits])


def tiring_arms(n_arms: int) -> Problem:
    """Return rested arms whose means fall from up to 1 to 0."""
    return Problem([Rested(Exponential(mu, rate=0.01, limit=0.0)) for mu in np.linspace(0.0, 1.0, n_arms).tolist()])


def recovering_arms(n_arms: int) -> Problem:
    """Return arms whose means are 0 after a pull, and rise to up to 1 at the rate at which those of `tiring_arms` fall."""
    return Problem([Recovering(Exponential(0.0, rate=0.01, limit=mu)) for mu in np.linspace(0.0, 1.0, n_arms).tolist()])


def tuple_of(pulls: Any) -> Pulls:
    """Return pulls [runs, K] as tuples."""
    return tuple(tuple(row) for row in np.asarray(pulls).tolist())


def named(policy: str, problem: Problem, horizon: int) -> str:
    """Return the name of a game, so that contestants that play the same one can be compared."""
    return f"{policy} on {problem.name} to {horizon}"


def game(policy: Policy, problem: Problem, horizon: int, rounds: int, algorithm: str = "") -> Contestant:
    """Return games of `horizon` rounds in the engine on one thread, about `rounds` rounds in all; compiling is not timed.

    Args:
        policy: who plays.
        problem: what it plays.
        horizon: rounds of a game.
        rounds: rounds in all.
        algorithm: the name of the policy that makes the same choices; its own by default.
    """
    runs = max(1, rounds // horizon)

    def play() -> Sample:
        result = rotting.simulate(policy, problem, horizon, runs=runs, seed=SEED, workers=1, progress=False)
        us = float(result.us_per_round[0])
        played = named(algorithm or policy.name, problem, horizon)
        return Sample(us, us * 1e-6 * runs * horizon, played, tuple_of(result.pulls[0]))

    return play


def whole_call(policy: Policy, problem: Problem, horizon: int, runs: int, workers: int) -> Contestant:
    """Return the whole call of `simulate` by wall-clock time: tasks, threads, oracle and result included."""
    rotting.simulate(policy, problem, horizon, runs=1, seed=SEED, workers=1, progress=False)

    def play() -> Sample:
        began = time.perf_counter()
        result = rotting.simulate(policy, problem, horizon, runs=runs, seed=SEED, workers=workers, progress=False)
        spent = time.perf_counter() - began
        return Sample(spent * 1e6 / (runs * horizon), spent, named(policy.name, problem, horizon), tuple_of(result.pulls[0]))

    return play


def _stretch(
    p: Params,
    s: object,
    b: Board,
    m: Means,
    scale: float,
    noise_key: int,
    arms: Ints,
    first: int,
    last: int,
    chosen: Ints,
) -> int:
    """Play rounds `first` to `last` as `rotting.engines.game.play` does, in run 0, without the regret.

    Return the last round played, which is the one before that for which there was no room.
    """
    for t in range(first, last + 1):
        i = choose(p, s, t, 0, arms)
        mean = mean_now(m, b, i, t)
        clock = t - 1 if m.on_rounds[i] else b.pulls[i]
        update(p, s, t, i, draw(mean, scale, noise_key, 0, i, clock))
        if is_full(s):
            return t - 1
        b.pulls[i] += 1
        chosen[t - first] = i
    return last


class Stretches:
    """A game that can be stopped, copied, and continued with another `choose` on the same state.

    Args:
        policy: who plays.
        problem: what it plays.
        capacity: the longest game.
    """

    def __init__(self, policy: Policy, problem: Problem, capacity: int) -> None:
        self.policy, self.noise = policy, problem.noise
        self.means = problem.means(capacity)
        n_arms = problem.n_arms
        self.capacity = states.first_capacity(policy, n_arms, capacity)
        self.state = states.new_state(policy, n_arms, self.capacity)
        self.board = new_board(self.means, np.zeros(n_arms, np.int64))
        self.arms = np.arange(n_arms)
        self.rounds = 0

    def copy(self) -> "Stretches":
        """Return a copy that can be continued without changing this one."""
        twin = object.__new__(Stretches)
        twin.__dict__.update(self.__dict__)
        twin.state = states.copy(self.state)
        twin.board = deepcopy(self.board)
        return twin

    def play(self, until: int, scan: Callable[..., int] | None = None) -> tuple[float, list[int]]:
        """Play up to round `until`, choosing by `scan` if given; return the seconds and the arms."""
        kernel = self.policy.kernel
        parts: dict[Any, Any] = {choose: scan or kernel.choose, update: kernel.update, draw: self.noise.draw}
        loop = compiled(bind(_stretch, {**parts, **full_parts(kernel)}), self.policy)
        rest = (self.board, self.means, self.noise.scale, derive_key(SEED, "noise"), self.arms)
        chosen, done = np.zeros(until - self.rounds, np.int64), self.rounds
        loop(self.policy.params, self.state, *rest, 1, 0, chosen)  # no rounds: compiles
        began = time.thread_time()
        while done < until:
            done = loop(self.policy.params, self.state, *rest, done + 1, until, chosen[done - self.rounds :])
            if done < until:
                assert kernel.enlarge is not None  # only a state that can be full ends a stretch early
                self.capacity *= 2
                self.state = kernel.enlarge(self.policy.params, self.state, self.capacity)
        spent = time.thread_time() - began
        self.rounds = until
        return spent, chosen.tolist()


def _fill(m: Means, b: Board, scale: float, noise_key: int, table: Floats) -> None:
    for i in range(table.shape[0]):
        for n in range(table.shape[1]):
            b.pulls[i] = n
            table[i, n] = draw(mean_now(m, b, i, 1), scale, noise_key, 0, i, n)


def reward_table(problem: Problem, horizon: int) -> Floats:
    """Return what the n-th pull of each arm of a rested problem pays in run 0: [K, horizon]."""
    m, noise = problem.means(horizon), problem.noise
    board = new_board(m, np.zeros(problem.n_arms, np.int64))
    table = np.zeros((problem.n_arms, horizon))
    fill: Callable[..., None] = compiled(bind(_fill, {draw: noise.draw}))
    fill(m, board, noise.scale, derive_key(SEED, "noise"), table)
    return table
