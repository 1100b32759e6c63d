"""The engine of one machine: compiled games on threads, which release the interpreter's lock while they play."""

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue

import numpy as np

from rotting.common.arrays import Ints
from rotting.common.progress import Progress
from rotting.engines.compile import compiled_for
from rotting.engines.game import CANCEL, DONE
from rotting.engines.game_errors import game_index_error
from rotting.engines.kernel_errors import is_own_work
from rotting.engines.task import Chunk, Game, Task

Loop = Callable[..., None]
_SHOW_SECONDS = 0.1  # between two looks at how far the games are
_passed: set[tuple[object, ...]] = set()  # games of others' code that stayed inside their arrays


class Threads:
    """Play tasks on threads; the next game is compiled while others are at play.

    Code that is not the library's own plays its first run with every index checked: an index out of bounds would kill the
    process otherwise.

    Args:
        workers: number of threads.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def play(self, tasks: Iterable[Task], bar: Progress) -> Generator[tuple[Task, Chunk], None, None]:
        """Play tasks, as `Engine` says."""
        pool = _Pool(self.workers, bar)
        try:
            game: Game | None = None
            loop: Loop | None = None
            trial: Future[Chunk] | None = None
            for task in tasks:
                left = task
                if task.game is not game:
                    game, loop, trial = task.game, None, None
                    yield from pool.finished()
                    if not _is_safe(game):
                        one, left = task.split(1)
                        trial = pool.submit(one, _ready(game, bar, checked=True), partial(_passed.add, _trait(game)))
                if left.runs > 0:
                    loop = loop or _ready(game, bar)
                    if trial is not None:
                        yield from pool.finished(trial)
                        trial = None
                    pool.submit(left, loop)
            yield from pool.finished(*pool.waiting)
        finally:
            pool.close()


def _trait(game: Game) -> tuple[object, ...]:
    """Return what decides how far a game's indices go, but for its rewards."""
    setting = game.setting
    return (game.code, game.policy.params, setting.horizon, setting.n_arms)


def _is_safe(game: Game) -> bool:
    return is_own_work(game.linked) or _trait(game) in _passed


def _ready(game: Game, bar: Progress, checked: bool = False) -> Loop:
    """Return the compiled loop of a game."""
    bar.status = f"compiling {game.policy.name}"
    bar.advance(0)
    example = game.arguments(0, Task(game, 0, 1).blank(), np.zeros(2, np.int64))
    loop = compiled_for(game.checked if checked else game.linked, game.policy, *example, allocates=True, checked=checked)
    bar.status = ""
    return loop


def _play(task: Task, loop: Loop, then: Callable[[], None], signal: Ints) -> Chunk:
    chunk = task.blank()
    began = time.thread_time()  # of this thread alone: others compile and play beside it
    try:
        loop(*task.game.arguments(task.first_run, chunk, signal))
    except IndexError as error:
        raise game_index_error(task, chunk, error) from error
    spent = time.thread_time() - began
    if not signal[CANCEL]:
        then()
    return chunk._replace(seconds=spent)


class _Pool:
    """Tasks under way."""

    def __init__(self, workers: int, bar: Progress) -> None:
        self._bar = bar
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="rotting")
        self.waiting: dict[Future[Chunk], tuple[Task, Ints]] = {}
        self._done: SimpleQueue[Future[Chunk]] = SimpleQueue()
        self._rounds = 0  # of the tasks that are finished
        self._shown = time.monotonic()

    def submit(self, task: Task, loop: Loop, then: Callable[[], None] = lambda: None) -> Future[Chunk]:
        """Play a task when a thread is free, and call `then` if it was played to its end."""
        signal = np.zeros(2, np.int64)
        future = self._threads.submit(_play, task, loop, then, signal)
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
                yield task, future.result()
            if time.monotonic() - self._shown >= _SHOW_SECONDS:
                self.show()
        self.show()

    def show(self) -> None:
        """Show how many rounds are played."""
        played = self._rounds + sum(int(signal[DONE]) for _, signal in self.waiting.values())
        self._bar.advance(self._bar.resumed + played - self._bar.done)
        self._shown = time.monotonic()

    def close(self) -> None:
        """Cancel what is under way, and wait for the threads to notice."""
        for _, signal in self.waiting.values():
            signal[CANCEL] = 1
        self._threads.shutdown(wait=True, cancel_futures=True)
