"""Policies x runs on one problem: the same noise for every policy, on any number of threads."""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import NamedTuple

import numpy as np

from rotting.arrays import Floats, Ints
from rotting.compile import compiled
from rotting.game import CANCEL, DONE, link
from rotting.oracle import optimal_rewards
from rotting.policy import Policy
from rotting.problems import Problem
from rotting.progress import Progress
from rotting.results import Result
from rotting.rng import derive_key
from rotting.rules import at_least_one_int, nonnegative_int

_CHECKPOINTS = 200  # enough for a smooth curve
_CHUNK_ROUNDS = 2_000_000  # work of one task: small enough to share out, large enough to make crossings free


class _Task(NamedTuple):
    policy: int
    first_run: int
    runs: int


def _default_checkpoints(horizon: int) -> Ints:
    even = np.linspace(1, horizon, min(_CHECKPOINTS, horizon))
    return np.unique(np.round(even).astype(np.int64))


def _check_checkpoints(checkpoints: Iterable[int], horizon: int) -> Ints:
    rounds = [at_least_one_int("checkpoints", each) for each in checkpoints]
    if rounds and max(rounds) > horizon:
        raise ValueError(f"checkpoints must be at most the horizon {horizon}, got {max(rounds)}")
    return np.unique(np.array([*rounds, horizon], np.int64))


def _check_policies(policies: Policy | Sequence[Policy]) -> tuple[Policy, ...]:
    if isinstance(policies, str | type) or not isinstance(policies, Policy | Iterable):
        raise TypeError(f"policies must be policies such as RAWUCB(alpha=1.4), got {policies!r}")
    listed = (policies,) if isinstance(policies, Policy) else tuple(policies)
    if not listed:
        raise ValueError("policies must hold at least one policy, got none")
    for each in listed:
        if not isinstance(each, Policy):
            raise TypeError(f"policies must hold policies such as RAWUCB(alpha=1.4), got {each!r}")
    return listed


def _check_fit(policy: Policy, problem: Problem, horizon: int) -> None:
    """Refuse a game longer than the policy is tuned for, or rewards outside the range it declares."""
    if policy.limit is not None and horizon > policy.limit:
        raise ValueError(
            f"horizon must be at most {policy.limit}, which {policy!r} is tuned for, got {horizon}; "
            f"rotting.doubling(policy) plays without a horizon"
        )
    if policy.reward_range is not None:
        low, high = policy.reward_range
        least, most = problem.reward_bounds(horizon)
        if not low <= least <= most <= high:
            raise ValueError(
                f"rewards must be in [{low!r}, {high!r}], the range that {policy!r} declares, "
                f"got {problem.noise!r} noise, whose rewards lie in [{least!r}, {most!r}]; "
                f"give low and high that hold them, or outside='clip'"
            )


def default_workers() -> int:
    """Return the number of CPUs this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def simulate(
    policies: Policy | Sequence[Policy],
    problem: Problem,
    horizon: int | None = None,
    runs: int = 100,
    seed: int = 0,
    workers: int | None = None,
    checkpoints: Iterable[int] | None = None,
    progress: bool | None = None,
) -> Result:
    """Let each policy play `runs` games of `horizon` rounds, and return their pseudo-regrets.

    In run r, the n-th pull of a rested arm, or a restless arm at round t, pays the same to every policy: comparisons are
    paired. The result depends on the seed, never on the number of workers or on which other policies play.

    Args:
        policies: one policy or several.
        problem: what they play.
        horizon: rounds of a game; the problem's own if it has one.
        runs: games of each policy.
        seed: a whole number; the same seed gives the same result, bit for bit.
        workers: threads; all CPUs by default.
        checkpoints: rounds at which regret is recorded; 200 evenly spaced ones by default. The horizon is always one.
        progress: show a progress bar; by default when standard error is a terminal.

    Example:
        >>> import rotting
        >>> problem = rotting.problems.two_arms(L=1.0, horizon=400)
        >>> result = simulate([rotting.RAWUCB(), rotting.UCB1()], problem, runs=20, seed=1)
        >>> result.regret.shape, result.pulls.sum(axis=2).min()
        ((2, 20, 200), np.int64(400))
    """
    listed = _check_policies(policies)
    if not isinstance(problem, Problem):
        raise TypeError(f"problem must be a Problem such as Problem.rested(means), got {type(problem).__name__}")
    horizon = problem.resolve_horizon(horizon)
    for each in listed:
        _check_fit(each, problem, horizon)
    runs = at_least_one_int("runs", runs)
    seed = nonnegative_int("seed", seed)
    workers = default_workers() if workers is None else at_least_one_int("workers", workers)
    marks = _default_checkpoints(horizon) if checkpoints is None else _check_checkpoints(checkpoints, horizon)
    rewards, reference = optimal_rewards(problem, horizon)
    regret = np.full((len(listed), runs, marks.size), np.nan)
    pulls = np.zeros((len(listed), runs, problem.n_arms), np.int64)
    times: list[list[float]] = [[] for _ in listed]

    means = problem.means(horizon)
    noise_key, policy_key = derive_key(seed, "noise"), derive_key(seed, "policy")
    games = [compiled(link(each, problem.noise), each, allocates=True) for each in listed]

    def play(task: _Task, marks: Ints, optimal: Floats, regret: Floats, pulls: Ints, signal: Ints) -> float:
        policy, began = listed[task.policy], time.perf_counter()
        games[task.policy](
            policy.params, means, problem.noise.scale, noise_key, policy_key, task.first_run, marks, optimal, regret, pulls,
            signal,
        )  # fmt: skip
        return time.perf_counter() - began

    def run(task: _Task, signal: Ints) -> None:
        rows = slice(task.first_run, task.first_run + task.runs)
        spent = play(task, marks, rewards[marks - 1], regret[task.policy, rows], pulls[task.policy, rows], signal)
        times[task.policy].append(spent)

    # A game of one round each compiles what is not in the cache yet, outside the clock and the threads.
    with Progress(len(listed), "compiled", show=progress) as bar:
        for index in range(len(listed)):
            one, row = np.ones(1, np.int64), np.zeros((1, problem.n_arms), np.int64)
            play(_Task(index, 0, 1), one, rewards[:1], np.zeros((1, 1)), row, np.zeros(2, np.int64))
            bar.advance()

    chunk = max(1, min(_CHUNK_ROUNDS // horizon, -(-runs // workers)))
    tasks = [_Task(index, first, min(chunk, runs - first)) for first in range(0, runs, chunk) for index in range(len(listed))]
    total = len(listed) * runs * horizon
    with Progress(total, "rounds", show=progress) as bar:
        _share_out(tasks, run, workers, bar)
    return Result(
        policies=listed,
        problem=problem.describe(),
        horizon=horizon,
        runs=runs,
        seed=seed,
        checkpoints=marks,
        regret=regret,
        pulls=pulls,
        us_per_round=np.array([sum(each) * 1e6 / (runs * horizon) for each in times]),
        reference=reference,
    )


def _share_out(tasks: list[_Task], run: Callable[[_Task, Ints], None], workers: int, bar: Progress) -> None:
    """Run every task on `workers` threads; on an interrupt, or an error in one, stop the games under way and pass it on."""
    signals = np.zeros((len(tasks), 2), np.int64)
    with ThreadPoolExecutor(workers, thread_name_prefix="rotting") as pool:
        try:
            waiting: set[Future[None]] = {pool.submit(run, task, signals[k]) for k, task in enumerate(tasks)}
            while waiting:
                done, waiting = wait(waiting, timeout=0.1, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
                bar.advance(int(signals[:, DONE].sum()) - bar.done)
        except BaseException:
            signals[:, CANCEL] = 1
            pool.shutdown(wait=True, cancel_futures=True)
            raise
