"""Playing simulations: policies on a problem, with the same noise for every policy, on any engine.

A simulation is planned, played by an engine, and collected. A store may keep finished chunks, which are not played again.
"""

import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, cast, get_args

import numpy as np

from rotting.common.progress import Progress
from rotting.common.rules import positive_int, suggest
from rotting.errors import InvalidValueError, SigmaWarning
from rotting.policies.parts.plain import PlainPolicy
from rotting.problems import Problem, ProblemFamily
from rotting.simulation.engines.chunk_store import ChunkStore
from rotting.simulation.engines.task import Chunk, Engine, Origin, Task, cut
from rotting.simulation.engines.threads import Threads
from rotting.simulation.engines.tiers import CompileMode, resolve_mode
from rotting.simulation.plan import Competitor, Record, Simulation
from rotting.simulation.provenance import provenance_of
from rotting.simulation.references import ChosenReference, measured_against
from rotting.simulation.result import Result, mean_time, record_types

if TYPE_CHECKING:
    from distributed import Client

    from rotting.common.arrays import AnyArray

EngineName = Literal["threads", "cuda", "dask", "auto"]
AnyEngine: TypeAlias = "EngineName | Client | Engine"
"""What plays the games: the name of an engine, a Dask client, or an engine, as `engines.dask.connect` returns it."""

_ENGINES: tuple[str, ...] = get_args(EngineName)
_ROUNDS_FOR_A_GPU = 2 * 10**8  # for each worker, which would take it half a minute
_RUNS_FOR_A_GPU = 1_000  # since a single thread of a GPU is slow


def default_workers() -> int:
    """Return the number of CPUs this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _make_engine(engine: object, workers: int | None, simulations: Sequence[Simulation], compile: CompileMode) -> Engine:
    mode = resolve_mode(compile)
    threads = default_workers() if workers is None else positive_int("workers", workers)
    plain = [policy for each in simulations for policy in each.playing if isinstance(policy, PlainPolicy)]
    if plain and engine not in ("threads", "auto"):
        raise InvalidValueError("engine", "be 'threads' for a plain class", engine, hint=f" for {plain[0]!r}")
    if plain:
        return Threads(threads, compile)
    if "distributed" in sys.modules and isinstance(engine, sys.modules["distributed"].Client):
        from rotting.simulation.engines.dask import Dask  # noqa: PLC0415 - an extra

        return Dask(engine, compile=compile)
    if not isinstance(engine, str) and hasattr(engine, "play"):  # as `rotting.simulation.engines.dask.connect` returns it
        return cast("Engine", engine)
    if not isinstance(engine, str) or engine not in _ENGINES:
        rule = f"be one of {', '.join(_ENGINES)}, or a dask.distributed.Client"
        raise InvalidValueError("engine", rule, engine, hint=suggest(str(engine), _ENGINES))
    if engine == "dask":
        from rotting.simulation.engines.dask import connect  # noqa: PLC0415 - an extra

        return connect(workers=threads, compile=compile)
    if engine == "cuda" or (engine == "auto" and mode != "never" and _is_worth_a_gpu(simulations, threads)):
        from rotting.simulation.engines.cuda import Cuda, check_supported  # noqa: PLC0415 - an extra

        if mode == "never":
            name = "compile" if compile == "never" else "ROTTING_COMPILE"
            raise InvalidValueError(name, "be 'auto' or 'now' on a GPU", mode)
        for each in simulations:
            check_supported(each.unsupported_feature)
        return Cuda()
    return Threads(threads, compile)


def _is_worth_a_gpu(simulations: Sequence[Simulation], threads: int) -> bool:
    """Return whether this machine has a GPU that supports these games, and there is enough work for it."""
    rounds = sum(each.rounds for each in simulations if each.runs >= _RUNS_FOR_A_GPU)
    if any(each.unsupported_feature for each in simulations):
        return False
    if rounds < _ROUNDS_FOR_A_GPU * threads or find_spec("numba_cuda") is None:
        return False
    from rotting.simulation.engines.cuda_device import why_no_gpu  # noqa: PLC0415 - an extra

    return why_no_gpu() is None


def simulate(
    policies: Competitor | Sequence[Competitor],
    problem: Problem | ProblemFamily,
    horizon: int | None = None,
    runs: int = 100,
    seed: int = 0,
    workers: int | None = None,
    checkpoints: Iterable[int] | None = None,
    progress: bool | None = None,
    keep: str | Path | None = None,
    engine: AnyEngine = "threads",
    first_run: int = 0,
    record: Record | Sequence[Record] = (),
    compile: CompileMode = "auto",
    reference: "ChosenReference | Competitor" = None,
) -> Result:
    """Let each policy play `runs` games of `horizon` rounds, and return their pseudo-regret.

    Comparisons are paired: in run r, the n-th pull of a rested arm, or a restless arm at round t, pays the same to every
    policy. The result depends on the seed, but neither on the number of workers nor on the other policies.

    Args:
        policies: one policy or several. A plain class may be among them, which need not be a policy of the library: see below.
            `rotting.tuned` makes a policy for each horizon.
        problem: the problem; or a `ProblemFamily`, in which every run has its own problem and is measured against the optimum
            of that problem.
        horizon: rounds of a game; by default the horizon of the problem.
        runs: games of each policy.
        seed: a whole number; the same seed gives the same result, bit for bit.
        workers: threads; all CPUs by default.
        checkpoints: rounds at which regret is recorded; 200 evenly spaced ones by default. The horizon is always one.
        progress: show a progress bar; by default on a terminal and in a notebook.
        keep: a folder for finished games. A call that was interrupted resumes there, and a call with more runs plays only the
            new ones. Games are identified by a digest of the settings and the code. Several processes, also on several
            machines, may share the folder. Games of plain classes are not kept, since the code that decides them is not known.
            Only games that this call plays count for `us_per_round`, which is NaN if there are none. The message of a
            `KeyboardInterrupt` says how many games are kept.
        engine: "threads": the CPUs of this machine; "cuda": its GPU; "dask" or a `dask.distributed.Client`: a cluster; "auto":
            the GPU if there is one and the simulation is large enough, otherwise threads. The result is the same, bit for bit.
            See docs/engines.md.
        first_run: the number of the first run. Two machines can play runs 0 to 999 and 1,000 to 1,999, and `Result.merge` makes
            one result of both.
        record: "arms", "rewards" or both, `("arms", "rewards")`: record them in every round of every run, as `result.arms` and
            `result.rewards` [policy, run, round]. `play` shows one run in full.
        compile: "auto": a game that would end within five seconds interpreted is interpreted, unless its machine code is in the
            cache; others are compiled first. "now": all games are compiled. "never": all games are interpreted. The result is
            the same, bit for bit, but interpreted games do not count for `us_per_round`. See docs/engines.md.
        reference: what regret is measured against. By default the optimal policy, where it is known and not too expensive, else
            the greedy oracle; `Result.reference` and all tables and plots say which. "optimal": an error, with the price, if it
            is not known or too expensive. "greedy": the policy that always pulls the arm with the largest mean. "best arm": the
            best single arm in hindsight, for each run and each checkpoint; this plays a game of each arm in each run. A policy:
            what it collects in the same runs.

    A plain class has `pull()` or `select()`, which return an arm from 0 to K - 1, and `update(arm, reward)`. Pass

    - the class, or a function that returns an object of the class. For each run it is called with the number of arms K; if it
      has an argument `seed`, it gets a whole number, which is another one in each run;
    - or an object, which is copied for each run by `copy.deepcopy`. All runs then begin with the same random numbers.

    If `pull` or `select` takes an argument, it gets the list of the arms that are present. `update` is called when the reward
    arrives, which may be late or never. The interpreter plays these games, which is slow, so they are not timed, and they need
    the engine "threads"; otherwise they are like others. A `RepeatWarning` says that a class does not play a run again as
    before.

    Memory does not grow with the horizon if the means have few pieces and the state of the policies does not grow. It is used:

    - for the result, 8 bytes per policy, run and checkpoint or arm;
    - for a record, per policy, run and round: 1 byte for the arm (2 from 257 arms on), 8 for the reward; more than 8 GiB in all
      is refused;
    - for the means, 16 bytes per piece of equal value, and several times that while an arm is tabulated. `Constant`, `Abrupt`
      and `Piecewise` have few pieces; the other decays, and callables, have one per round unless neighbours are equal; a
      `General` arm takes 8 bytes per pair of rounds;
    - for the reference, little, unless arms rise or follow both clocks: see `rotting.problems.optimal_rewards`;
    - on each worker, the state of one game: the column `memory` of docs/policies.md says how it grows with the arms and rounds.

    Example:
        >>> import rotting
        >>> problem = rotting.problems.two_arms(L=1.0, horizon=400)
        >>> result = simulate([rotting.RAWUCB(), rotting.UCB1()], problem, runs=20, seed=1)
        >>> result.regret.shape, result.pulls.sum(axis=2).min()
        ((2, 20, 200), np.int64(400))
        >>> simulate(rotting.RAWUCB(), problem, runs=20, reference=rotting.UCB1()).reference
        'UCB1(sigma=1.0)'
    """
    simulation = Simulation(policies, problem, horizon, runs, seed, checkpoints, first_run, record, reference)
    _warn_of_sigma(simulation)
    return simulate_all([simulation], workers, progress, keep, engine, compile)[0]


def _warn_of_sigma(simulation: Simulation) -> None:
    """Warn of policies whose sigma was left at its default, if that is far from the noise; any is right without noise."""
    scale = None if simulation.family else simulation.problem.noise.subgaussian_scale
    assumed = {repr(each): each.assumed_sigma for each in simulation.playing if each.assumed_sigma is not None}
    far = [name for name, sigma in assumed.items() if scale and not scale / 2 <= sigma <= 2 * scale]
    if far:
        told = f"pass sigma={scale:.4g}, or the one that you mean"
        warnings.warn(f"the noise has sigma = {scale:.4g}, which was not given to {', '.join(far)}: {told}", SigmaWarning, 3)


def simulate_all(
    simulations: Sequence[Simulation],
    workers: int | None = None,
    progress: bool | None = None,
    keep: str | Path | ChunkStore | None = None,
    engine: AnyEngine = "threads",
    compile: CompileMode = "auto",
) -> list[Result]:
    """Return the results of several simulations, which share the engine and the progress bar.

    One policy's games are played while the next policy is being compiled.

    Args:
        simulations: what to simulate.
        workers: threads; all CPUs by default.
        progress: show a progress bar; by default on a terminal and in a notebook.
        keep: as for `simulate`, or a `ChunkStore`.
        engine: as for `simulate`.
        compile: as for `simulate`.

    Example:
        >>> import rotting
        >>> problems = [rotting.problems.two_arms(L=L, horizon=50) for L in (0.5, 1.0)]
        >>> results = simulate_all([Simulation(rotting.UCB1(), each, runs=2) for each in problems])
        >>> [result.horizon for result in results]
        [50, 50]
    """
    store = keep if keep is None or isinstance(keep, ChunkStore) else ChunkStore(keep)
    try:
        return _play(simulations, _make_engine(engine, workers, simulations, compile), store, progress, compile)
    except (KeyboardInterrupt, RuntimeError) as error:
        if not _is_interrupt(error):
            raise
        games = sum(len(each.playing) * each.runs for each in simulations)
        kept = "no games are kept" if store is None else store.describe(games)
        raise KeyboardInterrupt(kept) from None  # a traceback into the engine does not help the user


def _is_interrupt(error: BaseException | None) -> bool:
    """Return whether an exception is a `KeyboardInterrupt`, or was raised while one was handled.

    If Ctrl-C interrupts a lock of the standard library at a bad moment, the lock raises a `RuntimeError`.
    """
    return error is not None and (isinstance(error, KeyboardInterrupt) or _is_interrupt(error.__context__))


def _play(
    simulations: Sequence[Simulation], engine: Engine, store: ChunkStore | None, progress: bool | None, compile: CompileMode
) -> list[Result]:
    """Play the games that are not in the store, return the results, and close the engine."""
    results = [_UnfinishedResult(each) for each in simulations]
    owners = [(result, index) for result in results for index in range(len(result.simulation.playing))]  # by place
    with Progress(sum(each.rounds for each in simulations), "rounds", show=progress) as bar:

        def tasks_by_game() -> Iterator[list[Task]]:
            """Yield the tasks of each game that are not in the store. Means are tabulated before the first game of a result."""
            place = 0
            for result in results:
                simulation = result.simulation
                games, result.reference = simulation.games(compile, place, len(owners))
                place += len(games)
                for game in games:
                    tasks = cut(game, simulation.runs, simulation.first_run)
                    kept = None if isinstance(game.policy, PlainPolicy) else store
                    yield tasks if kept is None else kept.missing(tasks, take_kept)

        def take(task: Task, chunk: Chunk) -> None:
            result, index = owners[task.game.place]
            result.take(index, task, chunk)

        def take_kept(task: Task, chunk: Chunk) -> None:
            take(task, chunk)
            bar.resume(task.rounds)

        with closing(engine), closing(engine.play(tasks_by_game(), bar)) as played:
            for task, chunk in played:
                take(task, chunk)
                if store is not None and not isinstance(task.game.policy, PlainPolicy):
                    store.keep(task, chunk)
    return [each.result() for each in results]


class _UnfinishedResult:
    """The arrays of a result, filled in chunk by chunk."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation, self.reference = simulation, ""
        P, R, K = len(simulation.playing), simulation.runs, simulation.problem.n_arms
        self._regret = np.full((P, R, simulation.checkpoints.size), np.nan)
        self._pulls = np.zeros((P, R, K), np.int64)
        kinds = record_types(K)
        self._records: dict[str, AnyArray] = {
            name: np.zeros((P, R, simulation.horizon), kinds[name]) for name in simulation.record
        }
        self._seconds = np.zeros(P)  # of the chunks that this process played
        self._rounds = np.zeros(P)  # of the same chunks
        self._origins: set[Origin] = set()

    def take(self, index: int, task: Task, chunk: Chunk) -> None:
        """Fill in some runs of the policy `index`."""
        first = task.first_run - self.simulation.first_run
        runs = slice(first, first + task.runs)
        self._regret[index, runs] = chunk.regret
        self._pulls[index, runs] = chunk.pulls
        self._origins.add(chunk.origin)
        if not np.isnan(chunk.seconds):
            self._seconds[index] += chunk.seconds
            self._rounds[index] += task.rounds
        for name, array in self._records.items():
            array[index, runs] = getattr(chunk.record, name)

    def result(self) -> Result:
        """Return the result, after its last task."""
        for array in self._records.values():
            array.setflags(write=False)  # so that the result need not copy it
        simulation, family = self.simulation, self.simulation.family
        problem, seed, horizon = simulation.problem, simulation.seed, simulation.horizon
        found = Result(
            policies=simulation.playing,
            problem=problem.describe() if family is None else family.describe(problem, seed, horizon),
            horizon=horizon,
            runs=simulation.runs,
            seed=seed,
            checkpoints=simulation.checkpoints,
            regret=self._regret,
            pulls=self._pulls,
            us_per_round=mean_time(self._seconds * 1e6, self._rounds),
            reference=self.reference,
            played=problem if family is None else None,
            first_run=simulation.first_run,
            **self._records,
            provenance=provenance_of(simulation, self._origins),
        )
        return measured_against(found, simulation.reference, len(simulation.policies))
