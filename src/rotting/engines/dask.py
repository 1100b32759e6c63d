"""The engine of a cluster: tasks are futures of Dask, on this machine or on a thousand.

A future's key is made of the digest of its task: what two clients ask for at the same time is played once. Dask plays it again
elsewhere when a worker dies, and forgets it when the client goes away. Each worker plays on its threads; on its GPU, where all
workers were started with the resource GPU.
"""

import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from typing import Any

from rotting.common.progress import Progress
from rotting.common.version import __version__
from rotting.engines.task import Chunk, Game, Task
from rotting.engines.threads import Threads
from rotting.errors import EngineError, MissingExtraError

try:
    import dask.config
    import distributed
except ImportError as error:
    raise MissingExtraError("engine='dask' needs distributed: pip install 'rotting[dask]'") from error

_AHEAD = 4  # futures for each thread of the workers, so that none waits for the client
_LOOK_SECONDS = 0.2  # between two looks for the first worker
_GPU = "GPU"  # resource of the workers that have one
_CPU_ROUNDS, _GPU_ROUNDS = 2 * 10**7, 10**9  # of one future at most: each takes some milliseconds of its own
_PARTS = 4  # for each thread of the workers, of the work that is left: at the end, none is alone with much
_CALM = {  # of workers of our own, whose dashboard nobody sees: these watches take 4 % of two CPUs
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.profile.enabled": False,
}

Played = list[tuple[int, Chunk]]
"""What a worker sends back: chunks, each with its first run."""


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
        with dask.config.set(_CALM):
            return Dask(distributed.Client(n_workers=workers, threads_per_worker=1, dashboard_address=None), own=True)
    limit = {} if timeout is None else {"timeout": timeout}
    try:
        return Dask(distributed.Client(address, **limit), own=True)
    except (OSError, ValueError) as error:  # a time-out is an OSError
        within = "" if timeout is None else f" within {timeout:g} s"
        raise EngineError(f"scheduler must be one that answers{within}, got {address!r}: {_first_line(error)}") from error


class Dask:
    """Play tasks on the workers of a Dask cluster.

    Args:
        client: of the cluster.
        own: whether the client is closed after the last game.
    """

    def __init__(self, client: Any, own: bool = False) -> None:
        self._client = client
        self._own = own

    def close(self) -> None:
        """Close the client, if it is the engine's own."""
        if self._own:
            self._client.close()

    def play(self, tasks: Iterable[Task], bar: Progress) -> Generator[tuple[Task, Chunk], None, None]:
        """Play tasks, as `Engine` says."""
        flight = _Flight(self._client, bar)
        try:
            on_gpu = self._have_gpus(bar)
            most, left = _GPU_ROUNDS if on_gpu else _CPU_ROUNDS, bar.total - bar.done
            for group in _groups(tasks, most, left, _PARTS * self._threads()):
                flight.submit(group, on_gpu and not group[0].game.setting.beyond_tables)
                yield from flight.landed(_AHEAD * self._threads())
            yield from flight.landed(0)
        finally:
            flight.close()

    def _threads(self) -> int:
        """Return how many there are now: workers come and go."""
        return sum(self._client.nthreads().values())

    def _have_gpus(self, bar: Progress) -> bool:
        """Wait for the first worker; return whether all that are there have a GPU, and refuse those that cannot play."""
        bar.status = "waiting for workers"
        while not self._client.nthreads():
            bar.advance(0)
            time.sleep(_LOOK_SECONDS)
        bar.status = ""
        try:
            found = self._client.run(about)
        except Exception as error:
            raise EngineError(f"workers must have rotting {__version__}, got {_first_line(error)}") from error
        for address, (version, _) in found.items():
            if version != __version__:
                raise EngineError(f"workers must have rotting {__version__}, got {version} at {address}")
        return all(_GPU in resources for _, resources in found.values())


def about(dask_worker: Any = None) -> tuple[str, list[str]]:
    """Return the version of this library and the resources, on a worker."""
    return __version__, list(dask_worker.state.total_resources)


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}, {error}".splitlines()[0].rstrip(".")


def _groups(tasks: Iterable[Task], most: int, left: int, parts: int) -> Iterator[list[Task]]:
    """Yield tasks of one game together: up to so many rounds, and to a part of those that are left."""
    group: list[Task] = []
    rounds = 0
    for task in tasks:
        if group and (task.game is not group[0].game or rounds + task.rounds > min(most, left / parts)):
            yield group
            left -= rounds
            group, rounds = [], 0
        group.append(task)
        rounds += task.rounds
    if group:
        yield group


def receive(game: Game) -> Game:
    """Return the game, on a worker: it travels once to each, and again where one died."""
    return game


def play_on_worker(game: Game, code: str, parts: list[tuple[int, int]], on_gpu: bool) -> Played:
    """Play some runs, on a worker.

    Args:
        game: what to play.
        code: digest of its code, where it was asked for.
        parts: first run and number of runs of each task.
        on_gpu: whether to use the GPU.
    """
    if game.code != code:  # that of the code that is here, found once: the game stays on the worker
        raise EngineError(
            f"workers must have the code of {game.policy!r} that the client has, of digest {code}, got {game.code}: "
            f"install the same version everywhere, and start the workers anew"
        )
    tasks = [Task(game, first_run, runs) for first_run, runs in parts]
    engine: Any = Threads(1)
    if on_gpu:
        from rotting.engines.cuda import Cuda  # noqa: PLC0415 (an extra)

        engine = Cuda()
    return [(task.first_run, chunk) for task, chunk in engine.play(tasks, Progress(1, show=False))]


class _Flight:
    """The futures under way."""

    def __init__(self, client: Any, bar: Progress) -> None:
        self._client = client
        self._bar = bar
        self._tasks: dict[str, tuple[Any, Game]] = {}  # by the key of the future
        self._games: dict[int, tuple[Game, Any]] = {}  # where the last ones are
        self._done = distributed.as_completed()

    def submit(self, tasks: list[Task], on_gpu: bool) -> None:
        """Send tasks of one game."""
        game = tasks[0].game
        if id(game) not in self._games:
            sent = self._client.submit(receive, game, key=f"rotting-game-{game.digest}", pure=False)
            self._games[id(game)] = game, sent
        key = f"rotting-{tasks[0].digest}-{sum(task.runs for task in tasks)}"
        parts = [(task.first_run, task.runs) for task in tasks]
        future = self._client.submit(
            play_on_worker,
            self._games[id(game)][1],
            game.code,
            parts,
            on_gpu,
            key=key,
            pure=False,
            resources={_GPU: 1} if on_gpu else None,
        )
        self._tasks[key] = future, game
        self._done.add(future)

    def landed(self, most: int) -> Iterator[tuple[Task, Chunk]]:
        """Yield what is finished, until at most so many futures are under way."""
        while len(self._tasks) > most:
            future = next(self._done)
            _, game = self._tasks.pop(future.key)
            for first_run, chunk in self._result(future):
                task = Task(game, first_run, len(chunk.regret))
                self._bar.advance(task.rounds)
                yield task, chunk
            left = {id(each) for _, each in self._tasks.values()}
            self._games = {key: value for key, value in self._games.items() if key in left or value[0] is game}

    def _result(self, future: Any) -> Played:
        try:
            played: Played = future.result()
        except distributed.KilledWorker as error:
            raise EngineError(f"workers must live to the end of a task, but several died in the same: {error}") from error
        return played

    def close(self) -> None:
        """Take back what was not played."""
        futures = [future for future, _ in self._tasks.values()]
        with suppress(Exception):  # the cluster may be gone
            self._client.cancel(futures, force=True)
        self._tasks.clear()
        self._games.clear()
