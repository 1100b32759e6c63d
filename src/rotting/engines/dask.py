"""The engine of a cluster: tasks are futures of Dask, on this machine or on a thousand.

A future's key is the digest of its runs: what two clients ask for at the same time is played once. Dask plays it again
elsewhere when a worker dies, and forgets it when the client goes away. A worker plays for some seconds, or until nobody wants
the future any more, and sends back what is left. Each plays on its threads; on its GPU, where all workers were started with the
resource GPU.
"""

import hashlib
import math
import multiprocessing
import signal
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any

from rotting.common.progress import Progress
from rotting.common.version import __version__
from rotting.engines.task import Chunk, Game, Task, take
from rotting.engines.threads import Threads
from rotting.errors import EngineError, InvalidValueError, MissingExtraError

try:
    import dask.config
    import distributed
    from distributed.client import FutureCancelledError
except ImportError as error:
    raise MissingExtraError("engine='dask' needs distributed: pip install 'rotting[dask]'") from error

_AHEAD = 4  # futures for each place where one is played, so that none waits for the client
_LOOK_SECONDS = 0.2  # between two looks for the first worker
_PATIENCE = 10.0  # seconds without a worker after which a warning says so
_GPU = "GPU"  # resource of the workers that have one
_CPU_ROUNDS, _GPU_ROUNDS = 2 * 10**7, 10**9  # of one future at most: each takes some milliseconds of its own
_FIRST_ROUNDS = 50_000  # that show a worker how long the others will take
_SECONDS = 5.0  # that a future may take: a worker that dies costs no more, and the bar does not stand still
_PARTS = 4  # for each place, of the work that is left: at the end, none is alone with much
_CALM = {  # of workers of our own, whose dashboard nobody sees: these watches take 4 % of two CPUs
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.profile.enabled": False,
}
_AT_PLAY = ("executing", "long-running")  # states of a future that is wanted, on a worker
_GUARD = "a script must start them under `if __name__ == '__main__':`, since every worker reads it, too"

Parts = list[tuple[int, int]]
"""First run and number of runs of each task."""
Played = tuple[list[tuple[int, Chunk]], Parts]
"""What a worker sends back: chunks, each with its first run, and what it has not played."""


def connect(address: str | None = None, timeout: float | None = None, workers: int | None = None) -> "Dask":
    """Return the engine of a cluster.

    Args:
        address: of the scheduler. By default the client that is current, the scheduler that Dask's settings name, or else
            workers on this machine alone.
        timeout: seconds after which a scheduler that does not answer is given up; as Dask's settings say by default.
        workers: processes on this machine, where no scheduler is there.
    """
    if address is None:
        with suppress(ValueError):
            return Dask(distributed.get_client())
        address = dask.config.get("scheduler-address", None)  # DASK_SCHEDULER_ADDRESS, where it is set
    if address is None:
        return Dask(_client_of_this_machine(workers), own=True)
    limit = {} if timeout is None else {"timeout": timeout}
    try:
        return Dask(distributed.Client(address, **limit), own=True)
    except (OSError, ValueError) as error:  # a time-out is an OSError
        within = "" if timeout is None else f" within {timeout:g} s"
        raise EngineError(f"scheduler must be one that answers{within}, got {address!r}: {_first_line(error)}") from error


def _client_of_this_machine(workers: int | None) -> Any:
    """Start workers, and return their client."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):  # as a process is that reads its parent's script
        raise EngineError(f"engine='dask' must not start workers in a worker: {_GUARD}")
    try:
        with dask.config.set(_CALM):
            client: Any = distributed.Client(n_workers=workers, threads_per_worker=1, dashboard_address=":0")
    except RuntimeError as error:
        raise EngineError(f"engine='dask' must be able to start workers, got {_first_line(error)}: {_GUARD}") from error
    client.register_plugin(_Deaf())
    return client


class _Deaf(distributed.WorkerPlugin):
    """A worker that leaves Ctrl-C to the client: a terminal sends it to all processes."""

    def setup(self, worker: Any) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


class Dask:
    """Play tasks on the workers of a Dask cluster.

    Args:
        client: of the cluster.
        own: whether the client is closed after the last game.
    """

    def __init__(self, client: Any, own: bool = False) -> None:
        if client.asynchronous:
            raise InvalidValueError("engine", "be a client that is not asynchronous", client)
        if client.status not in ("running", "connecting"):
            raise InvalidValueError("engine", "be a client that is connected", client, got=f"one that is {client.status}")
        self._client = client
        self._own = own

    def close(self) -> None:
        """Close the client, if it is the engine's own."""
        if self._own:
            self._client.close()

    def play(self, tasks: Iterable[Task], bar: Progress) -> Generator[tuple[Task, Chunk], None, None]:
        """Play tasks, as `Engine` says."""
        tasks = iter(tasks)
        first = next(tasks, None)
        if first is None:
            return
        flight = _Flight(self._client, bar)
        try:
            have_gpus = self._have_gpus(bar)
            threads = self._client.nthreads()

            def on_gpu(game: Game) -> bool:
                return have_gpus and not game.setting.beyond_tables

            def places(game: Game) -> int:  # where futures are played at a time
                return max(1, len(threads) if on_gpu(game) else sum(threads.values()))

            def most(game: Game) -> float:
                left = bar.total - bar.resumed - flight.rounds
                return min(_GPU_ROUNDS if on_gpu(game) else _CPU_ROUNDS, left / (_PARTS * places(game)))

            for group in _groups(chain([first], tasks), most):
                game = group[0].game
                flight.submit(game, [(task.first_run, task.runs) for task in group], on_gpu(game))
                threads = self._client.nthreads()  # workers come and go
                yield from flight.landed(_AHEAD * places(game))
            yield from flight.landed(0)
        finally:
            flight.close()

    def _have_gpus(self, bar: Progress) -> bool:
        """Wait for the first worker; return whether all that are there have a GPU, and refuse those that cannot play."""
        bar.status, began, told = "waiting for workers", time.monotonic(), False
        while not self._client.nthreads():
            bar.advance(0)
            if not told and time.monotonic() - began > _PATIENCE:
                told = True
                warnings.warn("no worker has come to the cluster so far; the games wait for one", RuntimeWarning, stacklevel=2)
            time.sleep(_LOOK_SECONDS)
        bar.status = ""
        try:
            there = self._client.run_on_scheduler(_version)
            found = self._client.run(about)
        except Exception as error:
            raise EngineError(f"scheduler and workers must have rotting {__version__}, got {_first_line(error)}") from error
        for address, version in [("the scheduler", there), *((address, version) for address, (version, _) in found.items())]:
            if version != __version__:
                raise EngineError(f"scheduler and workers must have rotting {__version__}, got {version} at {address}")
        return all(_GPU in resources for _, resources in found.values())


def _version() -> str:
    return __version__


def about(dask_worker: Any = None) -> tuple[str, list[str]]:
    """Return the version of this library and the resources, on a worker."""
    return __version__, list(dask_worker.state.total_resources)


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}, {error}".splitlines()[0].rstrip(".")


def _groups(tasks: Iterable[Task], most: Callable[[Game], float]) -> Iterator[list[Task]]:
    """Yield tasks of one game together: up to so many rounds, which are asked for anew with each."""
    group: list[Task] = []
    rounds = 0
    for task in tasks:
        if group and (task.game is not group[0].game or rounds + task.rounds > most(task.game)):
            yield group
            group, rounds = [], 0
        group.append(task)
        rounds += task.rounds
    if group:
        yield group


def receive(game: Game) -> Game:
    """Return the game, on a worker: it travels once to each, and again where one died."""
    return game


def play_on_worker(game: Game, code: str, parts: Parts, on_gpu: bool) -> Played:
    """Play some runs, on a worker.

    Args:
        game: what to play.
        code: digest of its code, where it was asked for.
        parts: what to play of it.
        on_gpu: whether to use the GPU.
    """
    if game.code != code:  # that of the code that is here, found once: the game stays on the worker
        raise EngineError(
            f"workers must have the code of {game.policy!r} that the client has, of digest {code}, got {game.code}: "
            f"install the same version everywhere, and start the workers anew"
        )
    waiting = deque(Task(game, first_run, runs) for first_run, runs in parts)
    engine: Any = Threads(1)
    if on_gpu:
        from rotting.engines.cuda import Cuda  # noqa: PLC0415 (an extra)

        engine = Cuda()
    played: list[tuple[int, Chunk]] = []
    runs, seconds = 0, 0.0
    more: float = math.inf if on_gpu else _FIRST_ROUNDS // game.setting.horizon
    while waiting and seconds < _SECONDS:
        batch = take(waiting, max(1, more))
        try:
            found = list(engine.play(batch, _Wanted()))
        except _UnwantedError:
            waiting.extendleft(reversed(batch))
            break
        for task, chunk in found:
            played.append((task.first_run, chunk))
            runs, seconds = runs + task.runs, seconds + chunk.seconds
        more = int((_SECONDS - seconds) * runs / max(seconds, 1e-6))
    return played, [(task.first_run, task.runs) for task in waiting]


class _UnwantedError(Exception):
    """Nobody waits for the future that is being played."""


class _Wanted(Progress):
    """What a worker tells of its progress: nothing. It ends a game whose future was cancelled, or whose client is gone."""

    def __init__(self) -> None:
        super().__init__(1, show=False)
        self._tasks: Any = None
        with suppress(ValueError):  # which says that this is no worker
            worker = distributed.get_worker()
            self._tasks, self._key = worker.state.tasks, worker.get_current_task()

    def advance(self, amount: int = 1) -> None:
        """Raise, rather than go on for nobody."""
        if self._tasks is not None and getattr(self._tasks.get(self._key), "state", "") not in _AT_PLAY:
            raise _UnwantedError


@dataclass
class _Asked:
    """What a future stands for."""

    future: Any
    games: list[Game]  # more than one, if the same was asked for twice
    on_gpu: bool
    times: int  # that a worker sent some of it back


class _Flight:
    """The futures under way."""

    def __init__(self, client: Any, bar: Progress) -> None:
        self.rounds = 0  # that were asked for
        self._client = client
        self._bar = bar
        self._asked: dict[str, _Asked] = {}  # by the key of the future
        self._games: dict[str, Any] = {}  # futures, by the digest of the game
        self._done = distributed.as_completed(loop=client.loop)

    def submit(self, game: Game, parts: Parts, on_gpu: bool, times: int = 0) -> None:
        """Ask for some runs of a game."""
        key = f"rotting-{hashlib.sha256(repr((game.digest, parts, times)).encode()).hexdigest()}"
        if times == 0:
            self.rounds += sum(runs for _, runs in parts) * game.setting.horizon
        if key in self._asked:
            self._asked[key].games.append(game)
            return
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):  # means are large, and travel once
            if game.digest not in self._games:
                self._games[game.digest] = self._client.submit(receive, game, key=f"rotting-game-{game.digest}", pure=False)
            future = self._client.submit(
                play_on_worker,
                self._games[game.digest],
                game.code,
                parts,
                on_gpu,
                key=key,
                pure=False,
                resources={_GPU: 1} if on_gpu else None,
            )
        self._asked[key] = _Asked(future, [game], on_gpu, times)
        self._done.add(future)

    def landed(self, most: int) -> Iterator[tuple[Task, Chunk]]:
        """Yield what is finished, until at most so many futures are under way."""
        while len(self._asked) > most:
            future = next(self._done)
            asked = self._asked.pop(future.key)
            played, rest = self._result(future)
            for game in asked.games:
                if rest:
                    self.submit(game, rest, asked.on_gpu, asked.times + 1)
                for first_run, chunk in played:
                    task = Task(game, first_run, len(chunk.regret))
                    self._bar.advance(task.rounds)
                    yield task, chunk
            used = {game.digest for each in (asked, *self._asked.values()) for game in each.games}
            self._games = {digest: sent for digest, sent in self._games.items() if digest in used}

    def _result(self, future: Any) -> Played:
        try:
            played: Played = future.result()
        except distributed.KilledWorker as error:
            raise EngineError(f"workers must live to the end of a task, but several died in the same: {error}") from error
        except FutureCancelledError as error:
            raise EngineError(f"the cluster must live to the end of the games, but lost one: {_first_line(error)}") from error
        return played

    def close(self) -> None:
        """Take back what was not played, unless another client waits for it, too."""
        with suppress(Exception):  # the cluster may be gone
            self._client.cancel([each.future for each in self._asked.values()])
        self._asked.clear()
        self._games.clear()
