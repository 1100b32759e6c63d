"""The engine of one machine: compiled games on threads, which release the interpreter's lock while they play."""

import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from operator import itemgetter
from queue import Empty, SimpleQueue

import numpy as np

from rotting.common.arrays import Ints
from rotting.common.progress import Progress
from rotting.engines.compile import compiled_for, indices_checked
from rotting.engines.game import CANCEL, DONE
from rotting.engines.game_errors import game_error
from rotting.engines.kernel_errors import MISTAKES, is_own_work
from rotting.engines.task import Chunk, Game, Task
from rotting.errors import KernelError

Loop = Callable[..., None]
_AHEAD = 8  # tasks for each worker, so that none waits for the next
_SHOW_SECONDS = 0.1  # between two looks at how far the games are
_passed: dict[tuple[object, ...], int] = {}  # games of others' code that stayed inside their arrays, up to which run


class Threads:
    """Play tasks on threads; the next game is compiled while others are at play.

    Code that is not the library's own plays its first and its last run with every index checked: an index out of bounds would
    kill the process otherwise, and that of a noise may grow with the run. A reward that is not finite is found there, too.

    Args:
        workers: number of threads.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def close(self) -> None:
        """Do nothing: threads end with the games."""

    def play(self, tasks: Iterable[Task], bar: Progress) -> Generator[tuple[Task, Chunk], None, None]:
        """Play tasks, as `Engine` says."""
        pool = _Pool(self.workers, bar)
        try:
            game: Game | None = None
            loop: Loop | None = None
            checked: Loop | None = None
            tried = 0.0  # the last run that is checked, or need not be
            trials: dict[Future[Chunk], Task] = {}  # whose end was not seen yet
            for task in tasks:
                left = task
                if task.game is not game:
                    game, loop, checked, tried = task.game, None, None, _last_safe_run(task.game)
                    yield from pool.finished()
                if task.end - 1 > tried:
                    left, last = task.split(task.runs - 1)
                    tried = last.first_run
                    checked = checked or _ready(game, bar, checked=True)
                    trials[pool.submit(last, checked)] = last
                if left.runs > 0:
                    loop = loop or _ready(game, bar)
                    if trials:
                        yield from pool.finished(*trials)
                        _pass(trials)
                    pool.submit(left, loop)
                while len(pool.waiting) > _AHEAD * self.workers:  # others may take what is not begun
                    yield from pool.finished(next(iter(pool.waiting)))
            yield from pool.finished(*pool.waiting)
            _pass(trials)
        finally:
            pool.close()


def try_out(game: Game, last_run: int, bar: Progress) -> None:
    """Play the first and the last run of a game with every index checked, for engines that cannot.

    The library's own code, and what was tried before, is trusted.
    """
    if last_run <= _last_safe_run(game):
        return
    loop = _ready(game, bar, checked=True)
    for run in sorted({0, last_run}):
        task = Task(game, run, 1)
        _play(task, loop, np.zeros(2, np.int64))
        _passed[_trait(game)] = run


def _trait(game: Game) -> tuple[object, ...]:
    """Return what decides how far a game's indices go, but for its rewards, and the scale of these."""
    setting = game.setting
    return (game.code, game.policy.params, setting.noise, setting.horizon, setting.n_arms)


def _last_safe_run(game: Game) -> float:
    return math.inf if is_own_work(game.linked) else _passed.get(_trait(game), -1)


def _pass(trials: dict[Future[Chunk], Task]) -> None:
    """Remember the trials, all of which went well, and forget them here."""
    for task in trials.values():
        trait = _trait(task.game)
        _passed[trait] = max(task.first_run, _passed.get(trait, -1))
    trials.clear()


def _ready(game: Game, bar: Progress, checked: bool = False) -> Loop:
    """Return the compiled loop of a game."""
    bar.status = f"compiling {game.policy.name}"
    bar.advance(0)
    example = game.arguments(0, Task(game, 0, 1).blank(), np.zeros(2, np.int64))
    checked = checked or (bool(indices_checked()) and not is_own_work(game.linked))
    linked, noise = game.checked if checked else game.linked, game.setting.noise
    loop = compiled_for(linked, game.policy, *example, allocates=True, checked=checked, noise=noise)
    bar.status = ""
    return loop


def _play(task: Task, loop: Loop, signal: Ints) -> Chunk:
    chunk = task.blank()
    arguments = task.game.arguments(task.first_run, chunk, signal)  # which may take as long as drawing problems does
    began = time.thread_time()  # of this thread alone: others compile and play beside it
    try:
        loop(*arguments)
    except MISTAKES as error:
        raise game_error(task, chunk, error) from None
    return chunk._replace(seconds=time.thread_time() - began)


class _Pool:
    """Tasks under way."""

    def __init__(self, workers: int, bar: Progress) -> None:
        self._bar = bar
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="rotting")
        self.waiting: dict[Future[Chunk], tuple[Task, Ints]] = {}
        self._done: SimpleQueue[Future[Chunk]] = SimpleQueue()
        self._rounds = 0  # of the tasks that are finished
        self._told = 0  # rounds that the bar knows of
        self._shown = time.monotonic()

    def submit(self, task: Task, loop: Loop) -> Future[Chunk]:
        """Play a task when a thread is free."""
        signal = np.zeros(2, np.int64)
        future = self._threads.submit(_play, task, loop, signal)
        self.waiting[future] = task, signal
        future.add_done_callback(self._done.put)
        return future

    def finished(self, *awaited: Future[Chunk]) -> Iterator[tuple[Task, Chunk]]:
        """Yield the tasks that are finished, the awaited ones as soon as they are; show how far the others are."""
        left = self.waiting.keys() & awaited
        while left or not self._done.empty():
            with suppress(Empty):
                future = self._done.get(timeout=_SHOW_SECONDS)
                left.discard(future)
                task, _ = self.waiting.pop(future)
                self._rounds += task.rounds
                if isinstance(future.exception(), KernelError):
                    self._raise_before(task)
                yield task, future.result()
            if time.monotonic() - self._shown >= _SHOW_SECONDS:
                self.show()
        self.show()

    def _raise_before(self, task: Task) -> None:
        """Raise the mistake of an earlier run, if one under way makes any: of several, the same is told whoever is faster."""
        earlier = [(other.first_run, future) for future, (other, _) in self.waiting.items() if other.game is task.game]
        for first_run, future in sorted(earlier, key=itemgetter(0)):
            if first_run < task.first_run:
                future.result()

    def show(self) -> None:
        """Show how many rounds are played."""
        played = self._rounds + sum(int(signal[DONE]) for _, signal in self.waiting.values())
        self._bar.advance(played - self._told)
        self._told, self._shown = played, time.monotonic()

    def close(self) -> None:
        """Cancel what is under way, and wait for the threads to notice."""
        for _, signal in self.waiting.values():
            signal[CANCEL] = 1
        self._threads.shutdown(wait=True, cancel_futures=True)
