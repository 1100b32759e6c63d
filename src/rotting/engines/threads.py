"""The engine for one machine: compiled games on threads, which release the GIL while they play."""

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
from rotting.engines.kernel_errors import game_error
from rotting.engines.task import Chunk, Game, Task
from rotting.errors import KernelError
from rotting.kernels.mistakes import MISTAKES, is_own_work

Loop = Callable[..., None]
_AHEAD = 8  # tasks queued for each worker, so that none waits for the next
_SHOW_SECONDS = 0.1  # between two updates of the progress bar


class Threads:
    """Play tasks on threads; the next game is compiled while others are being played.

    The first and the last run of code that is not the library's own are played with every index checked, before the others: an
    unchecked index out of bounds can kill the process, and the indices of a noise may grow with the run. Rewards that are not
    finite are found there, too.

    Args:
        workers: number of threads.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def close(self) -> None:
        """Do nothing: the threads end with the games."""

    def play(self, tasks: Iterable[Task], bar: Progress) -> Generator[tuple[Task, Chunk], None, None]:
        """Play tasks, as `Engine` describes."""
        pool = _Pool(self.workers, bar)
        try:
            game: Game | None = None
            loop: Loop | None = None
            checked: Loop | None = None
            tried: float = -1  # the last run that is checked, or need not be
            trials: list[Future[Chunk]] = []  # checked runs that may not have finished
            for task in tasks:
                left = task
                if task.game is not game:
                    game, loop, checked = task.game, None, None
                    tried = math.inf if is_own_work(game.linked) else -1
                    yield from pool.finished()
                if task.end - 1 > tried:
                    left, last = task.split(task.runs - 1)
                    tried = last.first_run
                    checked = checked or _compiled_loop(game, bar, checked=True)
                    trials.append(pool.submit(last, checked))
                if left.runs > 0:
                    loop = loop or _compiled_loop(game, bar)
                    if trials:
                        yield from pool.finished(*trials)
                        trials.clear()
                    pool.submit(left, loop)
                while len(pool.waiting) > _AHEAD * self.workers:  # other processes may take what is not begun
                    yield from pool.finished(next(iter(pool.waiting)))
            yield from pool.finished(*pool.waiting)
        finally:
            pool.close()


def try_out(game: Game, last_run: int, bar: Progress) -> None:
    """Play the first and the last run of a game with every index checked, unless all its code is the library's own.

    Engines that cannot check indices call this before they play.
    """
    if not is_own_work(game.linked):
        loop = _compiled_loop(game, bar, checked=True)
        for run in sorted({0, last_run}):
            _play(Task(game, run, 1), loop, np.zeros(2, np.int64))


def _compiled_loop(game: Game, bar: Progress, checked: bool = False) -> Loop:
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
    arguments = task.game.arguments(task.first_run, chunk, signal)  # before the clock starts: this may draw problems
    began = time.thread_time()  # the CPU time of this thread alone: others compile and play at the same time
    try:
        loop(*arguments)
    except MISTAKES as error:
        raise game_error(task, chunk, error) from None
    return chunk._replace(seconds=time.thread_time() - began)


class _Pool:
    """The threads, and the tasks that they play or will play."""

    def __init__(self, workers: int, bar: Progress) -> None:
        self._bar = bar
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="rotting")
        self.waiting: dict[Future[Chunk], tuple[Task, Ints]] = {}
        self._done: SimpleQueue[Future[Chunk]] = SimpleQueue()
        self._rounds = 0  # rounds of the tasks that are finished
        self._shown_rounds = 0  # rounds that the progress bar has counted
        self._shown_at = time.monotonic()

    def submit(self, task: Task, loop: Loop) -> Future[Chunk]:
        """Queue a task for the next free thread."""
        signal = np.zeros(2, np.int64)
        future = self._threads.submit(_play, task, loop, signal)
        self.waiting[future] = task, signal
        future.add_done_callback(self._done.put)
        return future

    def finished(self, *awaited: Future[Chunk]) -> Iterator[tuple[Task, Chunk]]:
        """Yield the finished tasks; wait until the awaited ones are among them, and show the progress meanwhile."""
        left = self.waiting.keys() & awaited
        while left or not self._done.empty():
            with suppress(Empty):
                future = self._done.get(timeout=_SHOW_SECONDS)
                left.discard(future)
                task, _ = self.waiting.pop(future)
                self._rounds += task.rounds
                if isinstance(future.exception(), KernelError):
                    self._raise_earlier(task)
                yield task, future.result()
            if time.monotonic() - self._shown_at >= _SHOW_SECONDS:
                self.show()
        self.show()

    def _raise_earlier(self, task: Task) -> None:
        """Raise the error of an earlier run of the same game, if any, so that timing does not decide which error is raised."""
        earlier = [(other.first_run, future) for future, (other, _) in self.waiting.items() if other.game is task.game]
        for first_run, future in sorted(earlier, key=itemgetter(0)):
            if first_run < task.first_run:
                future.result()

    def show(self) -> None:
        """Update the progress bar."""
        played = self._rounds + sum(int(signal[DONE]) for _, signal in self.waiting.values())
        self._bar.advance(played - self._shown_rounds)
        self._shown_rounds, self._shown_at = played, time.monotonic()

    def close(self) -> None:
        """Cancel all tasks, and wait until the threads have stopped."""
        for _, signal in self.waiting.values():
            signal[CANCEL] = 1
        self._threads.shutdown(wait=True, cancel_futures=True)
