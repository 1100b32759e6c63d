"""Policies x runs on one problem: the same noise for every policy, on any engine.

A simulation is planned, played by an engine, and collected. A store of finished chunks may stand between plan and engine.
"""

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

import numpy as np

from rotting.common.progress import Progress
from rotting.common.rules import positive_int, suggest
from rotting.engines.chunk_store import ChunkStore
from rotting.engines.engine import Engine
from rotting.engines.round_record import new_record
from rotting.engines.task import Chunk, Game, Task, cut
from rotting.engines.threads import Threads
from rotting.errors import InvalidValueError
from rotting.policy import Policy
from rotting.problems import Problem, ProblemFamily
from rotting.simulation.plan import Plan, Simulation, plan
from rotting.simulation.result import Result
from rotting.simulation.result_arrays import mean_time

if TYPE_CHECKING:
    from distributed import Client

_ENGINES = ("threads", "cuda", "dask", "auto")
_WORTH_A_GPU = 2 * 10**8  # rounds for each worker, half a minute, and so many runs: a thread of a GPU alone is slow
_RUNS_FOR_A_GPU = 1_000
_LOOK_SECONDS = 0.5  # between two looks at what other processes have finished


def default_workers() -> int:
    """Return the number of CPUs this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _make_engine(engine: object, workers: int | None, plans: Sequence[Plan]) -> Engine:
    threads = default_workers() if workers is None else positive_int("workers", workers)
    if "distributed" in sys.modules and isinstance(engine, sys.modules["distributed"].Client):
        from rotting.engines.dask import Dask  # noqa: PLC0415 (an extra)

        return Dask(engine)
    if not isinstance(engine, str) and hasattr(engine, "play"):  # as `rotting.engines.dask.connect` returns it
        return cast("Engine", engine)
    if not isinstance(engine, str) or engine not in _ENGINES:
        rule = f"be one of {', '.join(_ENGINES)}, or a dask.distributed.Client"
        raise InvalidValueError("engine", rule, engine, hint=suggest(str(engine), _ENGINES))
    if engine == "dask":
        from rotting.engines.dask import connect  # noqa: PLC0415 (an extra)

        return connect(workers=threads)
    if engine == "cuda" or (engine == "auto" and _is_worth_a_gpu(plans, threads)):
        from rotting.engines.cuda import Cuda, check_supported  # noqa: PLC0415 (an extra)

        for each in plans:
            check_supported(each.unsupported_feature)
        return Cuda()
    return Threads(threads)


def _is_worth_a_gpu(plans: Sequence[Plan], threads: int) -> bool:
    """Return whether this machine has a GPU that can play these games, and the work is worth its start."""
    rounds = sum(each.rounds for each in plans if each.runs >= _RUNS_FOR_A_GPU)
    if any(each.unsupported_feature for each in plans):
        return False
    if rounds < _WORTH_A_GPU * threads or find_spec("numba_cuda") is None:
        return False
    from rotting.engines.cuda_device import why_not  # noqa: PLC0415 (an extra)

    return why_not() is None


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
    engine: "str | Client" = "threads",
    first_run: int = 0,
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
            taken for others. Several processes, on several machines too, may share the folder, and the work. The time of a
            round is measured on the games that this call plays, and not known where all of a policy's were kept. The message
            of a `KeyboardInterrupt` says how many games are kept.
        engine: what plays the games, with the same result bit for bit: "threads" of this machine; "cuda", its GPU; "dask", a
            cluster, or the `dask.distributed.Client` of one; "auto", the GPU if there is one and the work is worth its start,
            else threads. See docs/engines.md.
        first_run: the number of the first run: runs 0 to 999 and 1,000 to 1,999 of two machines, put together by
            `Result.merge`, are runs 0 to 1,999.
        record: keep "arms", "rewards" or both, `("arms", "rewards")`, of every round of every run, in `result.arms` and
            `result.rewards` [policy, run, round]. `play` shows one run with all that decided it.

    Memory does not grow with the horizon where the means have few pieces and the policies forget. It takes:

    - for the result, 8 bytes per policy, run and checkpoint or arm;
    - for a record, per policy, run and round: 1 byte for the arm (2 from 257 arms on), 8 for the reward; more than 8 GiB in all
      is refused;
    - for the means, 16 bytes per piece of equal value, and several times that while an arm is tabulated. `Constant`, `Abrupt`
      and `Piecewise` have the pieces that they are written with; the other decays, and callables, one per round of the horizon
      unless neighbours are equal; a `General` arm takes 8 bytes per pair of rounds;
    - for the reference, next to nothing where it is known from the pieces; `rotting.problems.optimal_rewards` says what it
      takes where arms rise or follow both clocks;
    - on each worker, the state of one game. Per arm and round of the horizon: 20 bytes for the exact windows of RAW-UCB,
      RAW-UCB++, RAW-klUCB and FEWA and for the GLR policies, 24 for AdSwitch, 16 for SWA, wSWA and M-UCB; per round: 32 bytes
      for SW-UCB, Thompson sampling on a sliding window and Ada-ILTCB+. The states of the others grow with the logarithm of the
      horizon, or not at all.

    Example:
        >>> import rotting
        >>> problem = rotting.problems.two_arms(L=1.0, horizon=400)
        >>> result = simulate([rotting.RAWUCB(), rotting.UCB1()], problem, runs=20, seed=1)
        >>> result.regret.shape, result.pulls.sum(axis=2).min()
        ((2, 20, 200), np.int64(400))
    """
    simulation = Simulation(policies, problem, horizon, runs, seed, checkpoints, first_run, record)
    return simulate_all([simulation], workers=workers, progress=progress, keep=keep, engine=engine)[0]


def simulate_all(
    simulations: Sequence[Simulation],
    workers: int | None = None,
    progress: bool | None = None,
    keep: str | Path | ChunkStore | None = None,
    engine: "str | Client" = "threads",
) -> list[Result]:
    """Return the results of several simulations, that share the engine and the progress bar.

    One policy's games are played while the next policy is being compiled.

    Args:
        simulations: what to simulate.
        workers: threads; all CPUs by default.
        progress: show a progress bar; by default on a terminal and in a notebook.
        keep: as for `simulate`, or the store of such a folder.
        engine: as for `simulate`.

    Example:
        >>> import rotting
        >>> problems = [rotting.problems.two_arms(L=L, horizon=50) for L in (0.5, 1.0)]
        >>> results = simulate_all([Simulation(rotting.UCB1(), each, runs=2) for each in problems])
        >>> [result.horizon for result in results]
        [50, 50]
    """
    plans = [plan(each) for each in simulations]
    store = _make_store(keep)
    playing = _make_engine(engine, workers, plans)
    # A store that the caller made stays open: the next simulation claims its games, too.
    leave = store.give_back if isinstance(keep, ChunkStore) else store.close
    try:
        return _play(plans, playing, store, progress)
    except KeyboardInterrupt:
        games = sum(len(each.policies) * each.runs for each in plans)
        # The traceback into the engine would not help the user.
        raise KeyboardInterrupt(store.describe(games)) from None
    finally:
        leave()


def _play(plans: Sequence[Plan], playing: Engine, store: "ChunkStore | _NoStore", progress: bool | None) -> list[Result]:
    """Play what the store does not have, and return the results; close the engine."""
    collected = _Collection(plans)
    with Progress(sum(each.rounds for each in plans), "rounds", show=progress) as bar:

        def take_kept(task: Task, chunk: Chunk) -> None:
            collected.take(task, chunk)
            bar.resume(task.rounds)

        tasks: Iterable[Task] = collected.tasks()
        with closing(playing):
            while tasks:
                with closing(playing.play(store.missing(tasks, take_kept), bar)) as played:
                    for task, chunk in played:
                        collected.take(task, chunk)
                        store.keep(task, chunk)
                tasks = store.elsewhere
                if tasks:
                    bar.status = "waiting for another process"
                    bar.advance(0)
                    time.sleep(_LOOK_SECONDS)
                    bar.status = ""
    return collected.results()


def _make_store(keep: str | Path | ChunkStore | None) -> "ChunkStore | _NoStore":
    if keep is None:
        return _NoStore()
    return keep if isinstance(keep, ChunkStore) else ChunkStore(keep)


class _NoStore:
    """Keeps nothing."""

    elsewhere: Sequence[Task] = ()

    def missing(self, tasks: Iterable[Task], _take: Callable[[Task, Chunk], None]) -> Iterable[Task]:
        """Return all tasks."""
        return tasks

    def keep(self, _task: Task, _chunk: Chunk) -> None:
        """Do nothing."""

    def describe(self, _games: int) -> str:
        """Return that nothing is kept."""
        return "no games are kept"

    def give_back(self) -> None:
        """Do nothing."""

    close = give_back


class _Collection:
    """The arrays of the results, filled in chunk by chunk."""

    def __init__(self, plans: Sequence[Plan]) -> None:
        self._plans = plans
        self._references = [""] * len(plans)
        self._regret = [np.full((len(each.policies), each.runs, each.checkpoints.size), np.nan) for each in plans]
        self._pulls = [np.zeros((len(each.policies), each.runs, each.problem.n_arms), np.int64) for each in plans]
        self._records = [_blank_records(each) for each in plans]
        self._seconds = [np.zeros(len(each.policies)) for each in plans]  # of the chunks played here
        self._rounds = [np.zeros(len(each.policies)) for each in plans]  # in them
        self._places: WeakKeyDictionary[Game, tuple[int, int]] = WeakKeyDictionary()  # means are as large as a result

    def tasks(self) -> Iterator[Task]:
        """Yield the tasks of all plans; the means of a problem are tabulated when its first task is asked for."""
        for k, each in enumerate(self._plans):
            games, self._references[k] = each.games()
            for index, game in enumerate(games):
                self._places[game] = k, index
                yield from cut(game, each.runs, each.first_run)

    def take(self, task: Task, chunk: Chunk) -> None:
        """Fill in the runs of one task."""
        k, index = self._places[task.game]
        first = task.first_run - self._plans[k].first_run
        own = slice(first, first + task.runs)
        self._regret[k][index, own] = chunk.regret
        self._pulls[k][index, own] = chunk.pulls
        if not np.isnan(chunk.seconds):
            self._seconds[k][index] += chunk.seconds
            self._rounds[k][index] += task.rounds
        for name, array in self._records[k].items():
            array[index, own] = getattr(chunk.record, name)

    def results(self) -> list[Result]:
        """Return the results, after the last task."""
        return [self._result(k, each) for k, each in enumerate(self._plans)]

    def _result(self, k: int, played: Plan) -> Result:
        for array in self._records[k].values():
            array.setflags(write=False)  # so that the result need not copy it
        return Result(
            policies=played.policies,
            problem=played.described,
            horizon=played.horizon,
            runs=played.runs,
            seed=played.seed,
            checkpoints=played.checkpoints,
            regret=self._regret[k],
            pulls=self._pulls[k],
            us_per_round=mean_time(self._seconds[k] * 1e6, self._rounds[k]),
            reference=self._references[k],
            played=played.problem if played.family is None else None,
            first_run=played.first_run,
            **self._records[k],
        )


def _blank_records(each: Plan) -> dict[str, Any]:
    """Return the arrays of what is recorded, as a result has them."""
    one: Any = new_record(each.record, 1, 1, each.problem.n_arms)
    shape = len(each.policies), each.runs, each.horizon
    return {name: np.zeros(shape, getattr(one, name).dtype) for name in each.record}
