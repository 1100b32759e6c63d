"""The engine for one machine: compiled games on threads, which release the GIL while they play.

A game whose machine code is not cached begins interpreted, on a thread of its own, while a child process compiles it.
"""

import math
import time
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from itertools import chain, groupby
from operator import itemgetter
from queue import Empty, SimpleQueue

import numpy as np

from rotting.common.arrays import Ints
from rotting.common.progress import Progress
from rotting.engines.game import CANCEL, DONE
from rotting.engines.game_start import GameStart, Loop, compiling_status, loop_entry
from rotting.engines.kernel_errors import game_error
from rotting.engines.task import Chunk, Game, PlayedTask, Task
from rotting.engines.tiers import CompileMode
from rotting.errors import KernelError
from rotting.kernels.readable_errors import MISTAKES, is_library_code

_AHEAD = 8  # tasks queued for each worker, so that none waits for the next
_SHOW_SECONDS = 0.1  # between two updates of the progress bar


class Threads:
    """Play tasks on threads; the next game is compiled while others are being played.

    The first and the last run of code that is not the library's own are played with every index checked, before the others: an
    unchecked index out of bounds can kill the process, and the indices of a noise may grow with the run. Rewards that are not
    finite are found there, too.

    Args:
        workers: number of threads.
        compile: when to compile, as for `simulate`.
        continues: whether further calls of `play` follow with the same games.
    """

    def __init__(self, workers: int, compile: CompileMode = "auto", continues: bool = False) -> None:
        self.workers, self._compile, self._continues = workers, compile, continues

    def close(self) -> None:
        """Do nothing: the threads end with the games."""

    def play(self, tasks: Iterable[Task], bar: Progress) -> Generator[PlayedTask, None, None]:
        """Play tasks, as `Engine` describes."""
        pool = _Pool(self.workers, bar)
        try:
            for _, group in groupby(tasks, key=lambda task: id(task.game)):
                yield from self._submit_game(group, pool, bar)
            yield from pool.finished(*pool.waiting)
        finally:
            pool.close()

    def _submit_game(self, tasks: Iterator[Task], pool: "_Pool", bar: Progress) -> Iterator[PlayedTask]:
        """Submit the tasks of one game, and yield those of any game that finish meanwhile."""
        first = next(tasks)
        game = first.game
        loop: Loop | None = None
        checked: Loop | None = None
        tried: float = math.inf if is_library_code(game.linked) else -1  # the last run that is checked, or need not be
        trials: list[Future[PlayedTask]] = []  # checked runs that may not have finished
        yield from pool.finished()
        start = GameStart(game, bar, self._compile, self._continues)
        try:
            for task in chain([first], tasks):
                left = task
                if loop is None and start.begins_interpreted:
                    left, loop = yield from _interpret(pool, left, start, bar)
                # `cut` yields the first run, then the last ones: after these two tasks, no run lies beyond `tried`.
                if left.runs > 0 and left.end - 1 > tried:
                    left, last = left.split(left.runs - 1)
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
        finally:
            start.close()


def play_checked_runs(game: Game, last_run: int, bar: Progress) -> None:
    """Play the first and the last run of a game with every index checked, unless all its code is the library's own.

    Engines that cannot check indices call this before they play.
    """
    if not is_library_code(game.linked):
        loop = _compiled_loop(game, bar, checked=True)
        for run in sorted({0, last_run}):
            _play(Task(game, run, 1), loop, np.zeros(2, np.int64))


def _compiled_loop(game: Game, bar: Progress, checked: bool = False) -> Loop:
    """Return the compiled loop of a game."""
    bar.status = compiling_status(game, bar)
    bar.advance(0)
    from rotting.engines.compile import compiled_for, indices_checked  # noqa: PLC0415 - imports Numba

    checked = checked or (bool(indices_checked()) and not is_library_code(game.linked))
    loop = compiled_for(loop_entry(game, checked))
    bar.status = ""
    return loop


def _interpret(
    pool: "_Pool", task: Task, start: GameStart, bar: Progress
) -> Generator[PlayedTask, None, tuple[Task, Loop | None]]:
    """Play a task interpreted, to its end or until there is machine code; return what is left of it, and the machine code."""
    future, began, loop = pool.interpret(task), time.monotonic(), None
    while not future.done():
        wait([future], _SHOW_SECONDS)
        yield from pool.finished()
        if loop is None and not future.done() and start.is_ready(task, pool.rounds_of(future), time.monotonic() - began):
            loop = _compiled_loop(task.game, bar)
            pool.cancel(future)
    yield from pool.finished(future)
    played, _ = future.result()
    start.played(played)
    return task.split(played.runs)[1], loop


def _play(task: Task, loop: Loop, signal: Ints) -> Chunk:
    chunk = task.blank()
    arguments = task.game.arguments(task.first_run, chunk, signal)  # before the clock starts: this may draw problems
    began = time.thread_time()  # the CPU time of this thread alone: others compile and play at the same time
    try:
        loop(*arguments)
    except MISTAKES as error:
        raise game_error(task, chunk, error) from None
    return chunk._replace(seconds=time.thread_time() - began)


def _play_compiled(task: Task, loop: Loop, signal: Ints) -> PlayedTask:
    return task, _play(task, loop, signal)


def _play_interpreted(task: Task, signal: Ints) -> PlayedTask:
    """Play as many runs of a task as there is time for; what they took says nothing about the policy, and is NaN."""
    game = task.game
    own = is_library_code(game.linked)
    with np.errstate(all="ignore"):  # as machine code, which does not warn
        chunk = _play(task, game.linked if own else game.checked, signal)
    whole = int(np.count_nonzero(chunk.pulls.sum(axis=1) == game.setting.horizon))  # the last one may be cancelled
    return task.split(whole)[0], chunk.first(whole)._replace(seconds=np.nan)


class _Pool:
    """The threads, and the tasks that they play or will play."""

    def __init__(self, workers: int, bar: Progress) -> None:
        self._bar = bar
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="rotting")
        self._interpreter = ThreadPoolExecutor(1, thread_name_prefix="rotting-interpreter")
        self.waiting: dict[Future[PlayedTask], tuple[Task, Ints]] = {}
        self._done: SimpleQueue[Future[PlayedTask]] = SimpleQueue()
        self._rounds = 0  # rounds of the tasks that are finished
        self._shown_rounds = 0  # rounds that the progress bar has counted
        self._shown_at = time.monotonic()

    def submit(self, task: Task, loop: Loop) -> Future[PlayedTask]:
        """Queue a task for the next free thread."""
        signal = np.zeros(2, np.int64)
        return self._watch(self._threads.submit(_play_compiled, task, loop, signal), task, signal)

    def interpret(self, task: Task) -> Future[PlayedTask]:
        """Play a task interpreted, now: the GIL lets one thread do so at a time."""
        signal = np.zeros(2, np.int64)
        return self._watch(self._interpreter.submit(_play_interpreted, task, signal), task, signal)

    def _watch(self, future: Future[PlayedTask], task: Task, signal: Ints) -> Future[PlayedTask]:
        self.waiting[future] = task, signal
        future.add_done_callback(self._done.put)
        return future

    def rounds_of(self, future: Future[PlayedTask]) -> int:
        """Return how many rounds of a task were played."""
        return int(self.waiting[future][1][DONE])

    def cancel(self, future: Future[PlayedTask]) -> None:
        """Stop an interpreted task; the runs that are complete count."""
        self.waiting[future][1][CANCEL] = 1

    def finished(self, *awaited: Future[PlayedTask]) -> Iterator[PlayedTask]:
        """Yield the finished tasks; wait until the awaited ones are among them, and show the progress meanwhile."""
        left = self.waiting.keys() & awaited
        while left or not self._done.empty():
            with suppress(Empty):
                future = self._done.get(timeout=_SHOW_SECONDS)
                left.discard(future)
                task, _ = self.waiting.pop(future)
                if isinstance(future.exception(), KernelError):
                    self._raise_earlier(task)
                played, chunk = future.result()
                self._rounds += played.rounds
                if played.runs > 0:
                    yield played, chunk
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
        self._bar.advance(max(0, played - self._shown_rounds))  # the run that a change of tiers cuts short is played again
        self._shown_rounds, self._shown_at = max(played, self._shown_rounds), time.monotonic()

    def close(self) -> None:
        """Cancel all tasks, and wait until the threads have stopped."""
        for _, signal in self.waiting.values():
            signal[CANCEL] = 1
        for threads in (self._threads, self._interpreter):
            threads.shutdown(wait=True, cancel_futures=True)
