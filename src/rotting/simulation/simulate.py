"""Policies x runs on one problem: the same noise for every policy, on any engine.

A simulation is planned, played by an engine, and collected. A store of finished chunks may stand between plan and engine.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from rotting.common.progress import Progress
from rotting.common.rules import positive_int, suggest
from rotting.engines.chunk_store import ChunkStore
from rotting.engines.engine import Engine
from rotting.engines.log import new_log
from rotting.engines.task import Chunk, Game, Task, cut
from rotting.engines.threads import Threads
from rotting.errors import InvalidValueError
from rotting.policy import Policy
from rotting.problems import Problem, ProblemFamily
from rotting.simulation.plan import Plan, Simulation, plan
from rotting.simulation.result import Result

_ENGINES = {"threads": Threads}


def default_workers() -> int:
    """Return the number of CPUs this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _make_engine(name: object, workers: int | None) -> Engine:
    if not isinstance(name, str) or name not in _ENGINES:
        raise InvalidValueError(f"engine must be one of {', '.join(_ENGINES)}, got {name!r}{suggest(str(name), _ENGINES)}")
    return _ENGINES[name](default_workers() if workers is None else positive_int("workers", workers))


def simulate(
    policies: Policy | Sequence[Policy],
    problem: Problem | ProblemFamily,
    horizon: int | None = None,
    runs: int = 100,
    seed: int = 0,
    workers: int | None = None,
    checkpoints: Iterable[int] | None = None,
    progress: bool | None = None,
    keep: str | Path | None = None,
    engine: str = "threads",
    record: str | Sequence[str] = (),
) -> Result:
    """Let each policy play `runs` games of `horizon` rounds, and return their pseudo-regrets.

    In run r, the n-th pull of a rested arm, or a restless arm at round t, pays the same to every policy: comparisons are
    paired. The result depends on the seed, never on the number of workers or on which other policies play.

    Args:
        policies: one policy or several.
        problem: what they play; of a `ProblemFamily`, every run has a problem of its own, and its regret is measured against
            that problem's optimum.
        horizon: rounds of a game; the problem's own if it has one.
        runs: games of each policy.
        seed: a whole number; the same seed gives the same result, bit for bit.
        workers: threads; all CPUs by default.
        checkpoints: rounds at which regret is recorded; 200 evenly spaced ones by default. The horizon is always one.
        progress: show a progress bar; by default on a terminal and in a notebook.
        keep: a folder for the games that are finished, so that the same call goes on where another was killed, and one with
            more runs plays only those that are new. They are known by a digest of the settings and of the code, and are never
            taken for others.
        engine: what plays the games; "threads" is the only one.
        record: keep "arms", "rewards" or both, `("arms", "rewards")`, of every round of every run, in `result.arms` and
            `result.rewards` [policy, run, round]. `play` shows one run with all that decided it.

    Memory does not grow with the horizon where the means have few pieces and the policies forget. It takes:

    - for the result, 8 bytes per policy, run and checkpoint or arm;
    - for a record, per policy, run and round: 1 byte for the arm (2 from 257 arms on), 8 for the reward; more than 8 GiB in all
      is refused;
    - for the means, 16 bytes per piece of equal value, and several times that while an arm is tabulated. `Constant`, `Abrupt`
      and `Piecewise` have the pieces that they are written with; the other decays, and callables, one per round of the horizon
      unless neighbours are equal; a `General` arm takes 8 bytes per pair of rounds;
    - for the reference, next to nothing where it is known from the pieces; `rotting.problems.oracle.optimal_rewards` says
      what it takes where arms rise or follow both clocks;
    - on each worker, the state of one game. Per arm and round of the horizon: 20 bytes for the exact windows of RAW-UCB,
      RAW-UCB++, RAW-klUCB and FEWA and for the GLR policies, 24 for AdSwitch, 16 for SWA, wSWA and M-UCB; per round: 32 bytes
      for SW-UCB and Thompson sampling on a sliding window. The states of the others grow with the logarithm of the horizon, or
      not at all.

    Example:
        >>> import rotting
        >>> problem = rotting.problems.two_arms(L=1.0, horizon=400)
        >>> result = simulate([rotting.RAWUCB(), rotting.UCB1()], problem, runs=20, seed=1)
        >>> result.regret.shape, result.pulls.sum(axis=2).min()
        ((2, 20, 200), np.int64(400))
    """
    simulation = Simulation(policies, problem, horizon, runs, seed, checkpoints, record)
    return simulate_all([simulation], workers=workers, progress=progress, keep=keep, engine=engine)[0]


def simulate_all(
    simulations: Sequence[Simulation],
    workers: int | None = None,
    progress: bool | None = None,
    keep: str | Path | None = None,
    engine: str = "threads",
) -> list[Result]:
    """Return the results of several simulations, that share the engine and the progress bar.

    One policy's games are played while the next policy is being compiled.

    Args:
        simulations: what to simulate.
        workers: threads; all CPUs by default.
        progress: show a progress bar; by default on a terminal and in a notebook.
        keep: as for `simulate`.
        engine: as for `simulate`.

    Example:
        >>> import rotting
        >>> problems = [rotting.problems.two_arms(L=L, horizon=50) for L in (0.5, 1.0)]
        >>> results = simulate_all([Simulation(rotting.UCB1(), each, runs=2) for each in problems])
        >>> [result.horizon for result in results]
        [50, 50]
    """
    playing = _make_engine(engine, workers)
    store = None if keep is None else ChunkStore(keep)
    plans = [plan(each) for each in simulations]
    collected = _Collection(plans)
    with Progress(sum(each.rounds for each in plans), "rounds", show=progress) as bar:

        def take_kept(task: Task, chunk: Chunk) -> None:
            collected.take(task, chunk)
            bar.resumed += task.rounds

        tasks = collected.tasks()
        missing = tasks if store is None else store.missing(tasks, take_kept)
        with closing(playing.play(missing, bar)) as played:
            for task, chunk in played:
                collected.take(task, chunk)
                if store is not None:
                    store.write(task.digest, chunk)
    return collected.results()


class _Collection:
    """The arrays of the results, filled in chunk by chunk."""

    def __init__(self, plans: Sequence[Plan]) -> None:
        self._plans = plans
        self._references = [""] * len(plans)
        self._regret = [np.full((len(each.policies), each.runs, each.checkpoints.size), np.nan) for each in plans]
        self._pulls = [np.zeros((len(each.policies), each.runs, each.problem.n_arms), np.int64) for each in plans]
        self._records = [_blank_records(each) for each in plans]
        self._seconds = [np.zeros((len(each.policies), each.runs)) for each in plans]  # of a chunk, at its first run
        self._places: WeakKeyDictionary[Game, tuple[int, int]] = WeakKeyDictionary()  # means are as large as a result

    def tasks(self) -> Iterator[Task]:
        """Yield the tasks of all plans; the means of a problem are tabulated when its first task is asked for."""
        for k, each in enumerate(self._plans):
            games, self._references[k] = each.games()
            for index, game in enumerate(games):
                self._places[game] = k, index
                yield from cut(game, each.runs)

    def take(self, task: Task, chunk: Chunk) -> None:
        """Fill in the runs of one task."""
        k, index = self._places[task.game]
        self._regret[k][index, task.first_run : task.end] = chunk.regret
        self._pulls[k][index, task.first_run : task.end] = chunk.pulls
        self._seconds[k][index, task.first_run] = chunk.seconds
        for name, array in self._records[k].items():
            array[index, task.first_run : task.end] = getattr(chunk.log, name)

    def results(self) -> list[Result]:
        """Return the results, after the last task."""
        return [self._result(k, each) for k, each in enumerate(self._plans)]

    def _result(self, k: int, played: Plan) -> Result:
        for array in self._records[k].values():
            array.setflags(write=False)  # so that the result need not copy it
        return Result(
            policies=played.policies,
            problem=played.describe(),
            horizon=played.horizon,
            runs=played.runs,
            seed=played.seed,
            checkpoints=played.checkpoints,
            regret=self._regret[k],
            pulls=self._pulls[k],
            us_per_round=self._seconds[k].sum(axis=1) * 1e6 / (played.runs * played.horizon),
            reference=self._references[k],
            played=played.problem if played.family is None else None,
            **self._records[k],
        )


def _blank_records(each: Plan) -> dict[str, Any]:
    """Return the arrays of what is recorded, as a result has them."""
    one: Any = new_log(each.record, 1, 1, each.problem.n_arms)
    shape = len(each.policies), each.runs, each.horizon
    return {name: np.zeros(shape, getattr(one, name).dtype) for name in each.record}
