"""The engine for a Dask cluster: tasks are futures.

A future's key is the digest of its runs, so runs that two clients request at the same time are played once. If a worker dies,
Dask plays its futures again elsewhere; if the client disconnects, Dask forgets them, and the worker stops. Workers play on
their threads, or on their GPU if all of them were started with the resource GPU.
"""

import hashlib
import multiprocessing
import signal
import time
import warnings
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import NamedTuple

from rotting.common.progress import Progress
from rotting.common.version import __version__
from rotting.errors import EngineError, InvalidValueError, MissingExtraError
from rotting.simulation.engines.task import Chunk, Game, PlayedTask, Task
from rotting.simulation.engines.threads import Threads
from rotting.simulation.engines.tiers import CompileMode, resolve_mode

try:
    import dask.config
    import distributed
    from distributed.client import FutureCancelledError
except ImportError as error:
    raise MissingExtraError("engine='dask' needs distributed: pip install 'rotting[dask]'") from error

_AHEAD = 4  # futures queued for each slot of a worker, so that no worker waits for the client
_POLL_SECONDS = 0.2  # between two checks for the first worker
_PATIENCE = 10.0  # seconds without a worker after which a warning is given
_GPU = "GPU"  # the resource of workers that have one
_CPU_ROUNDS, _GPU_ROUNDS = 5 * 10**6, 10**9  # of one future, at most: some seconds, beside an overhead of some milliseconds
_PARTS = 4  # futures for each slot of a worker into which the remaining work is cut, so that all workers finish together
_QUIET_CONFIG = {  # less monitoring of local workers, which have no dashboard
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.profile.enabled": False,
}
_ACTIVE = ("executing", "long-running")  # states that a worker gives a future which is not cancelled
_GUARD = "a script must start them under `if __name__ == '__main__':`, since every worker imports the script"

RunRanges = list[tuple[int, int]]
"""The first run and the number of runs of each task."""
FutureResult = list[tuple[int, Chunk]] | None
"""The result of a future: chunks, each with its first run; None if it was stopped."""


def connect(
    address: str | None = None,
    timeout: float | None = None,
    workers: int | None = None,
    compile: CompileMode = "auto",
) -> "Dask":
    """Return the engine of a cluster.

    Args:
        address: the address of the scheduler. By default the current client, or the scheduler of Dask's configuration, or new
            workers on this machine.
        timeout: seconds to wait for the scheduler, by default those of Dask's configuration.
        workers: the number of new workers on this machine, if there is no scheduler.
        compile: when the workers compile, as for `simulate`.
    """
    if address is None:
        with suppress(ValueError):
            return Dask(distributed.get_client(), compile=compile)
        address = dask.config.get("scheduler-address", None)  # set by DASK_SCHEDULER_ADDRESS
    if address is None:
        return Dask(_client_of_this_machine(workers), closes_client=True, compile=compile)
    limit = {} if timeout is None else {"timeout": timeout}
    try:
        return Dask(distributed.Client(address, **limit), closes_client=True, compile=compile)
    except (OSError, ValueError) as error:  # a time-out is an OSError
        within = "" if timeout is None else f" within {timeout:g} s"
        raise EngineError(f"scheduler must answer{within}, got {address!r}: {_first_line(error)}") from error


def _client_of_this_machine(workers: int | None) -> distributed.Client:
    """Start workers on this machine, and return their client."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):  # while a new process imports its parent's script
        raise EngineError(f"engine='dask' must not start workers in a worker: {_GUARD}")
    try:
        with dask.config.set(_QUIET_CONFIG):
            client = distributed.Client(n_workers=workers, threads_per_worker=1, dashboard_address=":0")
    except RuntimeError as error:
        raise EngineError(f"engine='dask' must be able to start workers, got {_first_line(error)}: {_GUARD}") from error
    client.register_plugin(IgnoreSigint())
    return client


class IgnoreSigint(distributed.WorkerPlugin):
    """Makes a worker ignore Ctrl-C, which a terminal sends to all processes: the client stops the workers."""

    def setup(self, worker: distributed.Worker) -> None:
        """Ignore SIGINT in the process of the worker."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)


class Dask:
    """Play tasks on the workers of a Dask cluster.

    Args:
        client: a client of the cluster.
        closes_client: whether `close` closes the client, too.
        compile: when the workers compile, as for `simulate`.
    """

    def __init__(self, client: distributed.Client, closes_client: bool = False, compile: CompileMode = "auto") -> None:
        if client.asynchronous:
            raise InvalidValueError("engine", "be a client that is not asynchronous", client)
        if client.status not in ("running", "connecting"):
            raise InvalidValueError("engine", "be a client that is connected", client, got=f"one that is {client.status}")
        self._client = client
        self._closes_client = closes_client
        self._compile: CompileMode = compile

    def close(self) -> None:
        """Close the client, if the engine owns it."""
        if self._closes_client:
            self._client.close()

    def play(self, games: Iterable[list[Task]], bar: Progress) -> Generator[PlayedTask, None, None]:
        """Play tasks, as `Engine` describes."""
        waiting = filter(None, games)
        first = next(waiting, None)
        if first is None:
            return
        pending = _PendingFutures(self._client, bar, self._compile)
        try:
            have_gpus = self._have_gpus(bar)
            threads = self._client.nthreads()

            def on_gpu(game: Game) -> bool:
                return have_gpus and not game.setting.unsupported_feature

            def slots(game: Game) -> int:  # the number of futures that are played at the same time
                return max(1, len(threads) if on_gpu(game) else sum(threads.values()))

            def most(game: Game) -> float:
                left = bar.total - bar.resumed - pending.rounds
                return min(_GPU_ROUNDS if on_gpu(game) else _CPU_ROUNDS, left / (_PARTS * slots(game)))

            for tasks in chain([first], waiting):
                game, left = tasks[0].game, deque(tasks)
                _check_identified(game)
                while left:
                    part, room = [left.popleft()], most(game)
                    while left and sum(task.rounds for task in (*part, left[0])) <= room:
                        part.append(left.popleft())
                    pending.submit(game, [(task.first_run, task.runs) for task in part], on_gpu(game))
                    threads = self._client.nthreads()  # workers come and go
                    yield from pending.finished(_AHEAD * slots(game))
            yield from pending.finished(0)
        finally:
            pending.close()

    def _have_gpus(self, bar: Progress) -> bool:
        """Wait for the first worker; check the versions of scheduler and workers; return whether all workers have a GPU."""
        bar.status, began, warned = "waiting for workers", time.monotonic(), False
        while not self._client.nthreads():
            bar.advance(0)
            if not warned and time.monotonic() - began > _PATIENCE:
                warned = True
                warnings.warn("the cluster has no workers yet; the games wait for the first one", RuntimeWarning, stacklevel=2)
            time.sleep(_POLL_SECONDS)
        bar.status = ""
        try:
            of_scheduler = self._client.run_on_scheduler(_version)
            found = self._client.run(about)
        except Exception as error:
            raise EngineError(f"scheduler and workers must have rotting {__version__}, got {_first_line(error)}") from error
        for address, version in [
            ("the scheduler", of_scheduler),
            *((address, version) for address, (version, _) in found.items()),
        ]:
            if version != __version__:
                raise EngineError(f"scheduler and workers must have rotting {__version__}, got {version} at {address}")
        return all(_GPU in resources for _, resources in found.values())


def _check_identified(game: Game) -> None:
    """Refuse problems that no digest decides: clients of one cluster share games of the same digest."""
    draws = game.setting.draws
    if draws is not None and not draws.is_identified:
        rule = "be a family of the library, or of a class with is_value = True, where games are sent to a cluster"
        raise InvalidValueError("problem", rule, draws, got="another one")


def _version() -> str:
    return __version__


def about(dask_worker: distributed.Worker) -> tuple[str, list[str]]:
    """Return the version of this library on a worker, and the worker's resources."""
    return __version__, list(dask_worker.state.total_resources)


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}, {error}".splitlines()[0].rstrip(".")


def receive(game: Game) -> Game:
    """Return the game on a worker, so that it is sent to each worker once."""
    return game


def play_on_worker(game: Game, code_digest: str, parts: RunRanges, on_gpu: bool, compile: CompileMode) -> FutureResult:
    """Play some runs, on a worker.

    Args:
        game: what to play.
        code_digest: that of the game's code on the client.
        parts: the runs to play.
        on_gpu: whether to use the GPU.
        compile: when to compile.
    """
    if game.code_digest != code_digest:  # the first is that of the worker's own code
        raise EngineError(
            f"workers must have the code of {game.policy!r} that the client has, of digest {code_digest}, "
            f"got {game.code_digest}: install the same version everywhere, and restart the workers"
        )
    mode = resolve_mode(compile)  # a cluster plays games that take longer than compiling
    play = Threads(1, "now" if mode == "auto" else mode).play
    if on_gpu:
        from rotting.simulation.engines.cuda import Cuda  # noqa: PLC0415 - an extra

        play = Cuda().play
    with suppress(_CancelledError):
        played = play([[Task(game, first_run, runs) for first_run, runs in parts]], _CancelCheck())
        return [(task.first_run, chunk) for task, chunk in played]
    return None


class _CancelledError(Exception):
    """The future that is being played was cancelled, or its client disconnected."""


class _CancelCheck(Progress):
    """A progress bar that shows nothing, and ends the games of a future that was cancelled."""

    def __init__(self) -> None:
        super().__init__(1, show=False)
        self._worker: distributed.Worker | None = None
        with suppress(ValueError):  # raised outside a worker
            self._worker = distributed.get_worker()
            self._key = self._worker.get_current_task()

    def advance(self, amount: int = 1) -> None:
        """Raise `_CancelledError` if the future is no longer active."""
        if self._worker is not None and getattr(self._worker.state.tasks.get(self._key), "state", "") not in _ACTIVE:
            raise _CancelledError


class _Submitted(NamedTuple):
    """A future, and what it plays."""

    future: "distributed.Future[FutureResult]"
    games: list[Game]  # more than one, if the same runs were requested twice
    parts: RunRanges
    on_gpu: bool


class _PendingFutures:
    """The futures that are not finished."""

    def __init__(self, client: distributed.Client, bar: Progress, compile: CompileMode) -> None:
        self._compile = compile
        self.rounds = 0  # of all futures that were submitted
        self._client = client
        self._bar = bar
        self._submitted: dict[str, _Submitted] = {}  # by the key of the future
        self._games: dict[str, distributed.Future[Game]] = {}  # futures of the games themselves, by digest
        self._done = distributed.as_completed(loop=client.loop)

    def submit(self, game: Game, parts: RunRanges, on_gpu: bool, stopped: str = "") -> None:
        """Submit some runs of a game; `stopped` is the key of a future that should have played them."""
        key = f"rotting-{hashlib.sha256(repr((game.digest, parts, stopped)).encode()).hexdigest()}"
        self.rounds += 0 if stopped else sum(runs for _, runs in parts) * game.setting.horizon
        if key in self._submitted:
            self._submitted[key].games.append(game)
            return
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):  # means are large, but sent once
            if game.digest not in self._games:
                self._games[game.digest] = self._client.submit(receive, game, key=f"rotting-game-{game.digest}", pure=False)
            future = self._client.submit(
                play_on_worker,
                self._games[game.digest],
                game.code_digest,
                parts,
                on_gpu,
                self._compile,
                key=key,
                pure=False,
                resources={_GPU: 1} if on_gpu else None,
            )
        self._submitted[key] = _Submitted(future, [game], parts, on_gpu)
        self._done.add(future)

    def finished(self, most: int) -> Iterator[PlayedTask]:
        """Yield finished tasks until at most `most` futures are left."""
        while len(self._submitted) > most:
            future = next(self._done)
            done = self._submitted.pop(future.key)
            played = self._result(future)
            for game in done.games:
                if played is None:  # for another client, which went away, before this one asked for the same runs
                    self.submit(game, done.parts, done.on_gpu, stopped=future.key)
                for first_run, chunk in played or ():
                    task = Task(game, first_run, len(chunk.regret))
                    self._bar.advance(task.rounds)
                    yield task, chunk
            used = {game.digest for each in (done, *self._submitted.values()) for game in each.games}
            self._games = {digest: sent for digest, sent in self._games.items() if digest in used}

    def _result(self, future: "distributed.Future[FutureResult]") -> FutureResult:
        try:
            played: FutureResult = future.result()
        except distributed.KilledWorker as error:
            raise EngineError(
                f"workers must run until a task is finished, but several died in the same task: {error}"
            ) from error
        except FutureCancelledError as error:
            raise EngineError(
                f"the cluster must run until the games are finished, but cancelled a future: {_first_line(error)}"
            ) from error
        return played

    def close(self) -> None:
        """Release all futures: Dask stops those that no other client waits for.

        Cancelling them would also end the futures of a client that has just asked for the same runs: the scheduler tells all
        clients which keys are cancelled.
        """
        for each in self._submitted.values():
            each.future.release()
        self._submitted.clear()
        self._games.clear()
