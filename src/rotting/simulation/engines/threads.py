"""The engine for one machine: games on threads. Machine code releases the GIL while it plays.

A game is compiled before it is played, in a thread of its own, while games before it are being played. A game whose machine
code is not cached and that would end sooner interpreted than compiling takes is interpreted, from its beginning to its end.
Many short games may run the same code: it is compiled once they have taken as long as that, all together.
"""

import math
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import replace
from operator import itemgetter
from queue import Empty, SimpleQueue

import numpy as np

from rotting.common.arrays import Ints
from rotting.common.progress import Progress
from rotting.errors import KernelError, RepeatWarning
from rotting.policies.kernels.readable_errors import MISTAKES, is_library_code
from rotting.policies.parts.plain import PlainPolicy
from rotting.simulation.engines.game import CANCEL, DONE
from rotting.simulation.engines.kernel_errors import game_error
from rotting.simulation.engines.task import Chunk, Game, PlayedTask, Task
from rotting.simulation.engines.tiers import COMPILE_SECONDS, CompileMode, EntryPoint, resolve_mode

Loop = Callable[..., None]
Play = Callable[[Task, Ints], Chunk]
"""Plays a task; an array is its `signal`."""
_AHEAD = 8  # tasks queued for each worker, so that none waits for the next
_SHOW_SECONDS = 0.1  # between two updates of the progress bar
_TIMED_ROUNDS = 100  # that show how long a round takes interpreted


class Threads:
    """Play tasks on threads; the next game is compiled while others are being played.

    The first and the last run of code that is not the library's own are played with every index checked, before the others: an
    unchecked index out of bounds can kill the process, and the indices of a noise may grow with the run. Rewards that are not
    finite are found there, too.

    Args:
        workers: number of threads.
        compile: when to compile, as for `simulate`.
    """

    def __init__(self, workers: int, compile: CompileMode = "auto") -> None:
        self.workers, self._mode = workers, resolve_mode(compile)
        self._interpreted: dict[str, float] = {}  # seconds for which code was interpreted, by the keys of entry points

    def close(self) -> None:
        """Do nothing: the threads end with the games."""

    def play(self, games: Iterable[list[Task]], bar: Progress) -> Generator[PlayedTask, None, None]:
        """Play tasks, as `Engine` describes."""
        pool = _Pool(self.workers, bar)
        try:
            for tasks in games:
                if tasks:
                    yield from self._submit_game(tasks, pool)
            yield from pool.finished(*pool.waiting)
        finally:
            pool.close()

    def _submit_game(self, tasks: list[Task], pool: "_Pool") -> Iterator[PlayedTask]:
        """Submit the tasks of one game, and yield those of any game that finish meanwhile."""
        game = tasks[0].game
        yield from pool.finished()
        if isinstance(game.policy, PlainPolicy):
            _warn_if_not_repeated(game, tasks[0].first_run)
        interpreted = self._is_interpreted(game, sum(task.rounds for task in tasks))
        play: Play | None = _play_interpreted if interpreted else None
        checked: Play | None = None
        # The first run after all checked ones; none where no run has to be checked.
        unchecked_from: float = math.inf if interpreted or is_library_code(game.loop) else 0
        trials: list[Future[Chunk]] = []  # checked runs that may not have finished
        for task in tasks:
            left = task
            # `cut` returns the first run, then the last ones: after these two tasks, every other run lies between checked ones.
            if left.end > unchecked_from:
                left, last = left.split(left.runs - 1)
                unchecked_from = last.end
                checked = checked or (yield from pool.compile(game, checked=True))
                trials.append(pool.submit(last, checked))
            if left.runs > 0:
                play = play or (yield from pool.compile(game))
                if trials:
                    yield from pool.finished(*trials)
                    trials.clear()
                pool.submit(left, play)
            while len(pool.waiting) > _AHEAD * self.workers:
                yield from pool.finished(next(iter(pool.waiting)))

    def _is_interpreted(self, game: Game, rounds: int) -> bool:
        """Return whether so many rounds of a game are interpreted."""
        if isinstance(game.policy, PlainPolicy):
            return True
        if self._mode != "auto":
            return self._mode == "never"
        entry = loop_entry(game)
        if not is_library_code(game.loop) or entry.is_available:
            return False
        seconds = self._interpreted.get(entry.key, 0.0) + rounds * _interpreted_seconds(game)
        if seconds >= COMPILE_SECONDS:
            return False
        self._interpreted[entry.key] = seconds
        return True


def _interpreted_seconds(game: Game) -> float:
    """Return about how long a round of a game takes interpreted.

    The first rounds are played: those in which every arm is pulled for the first time, which are cheap, and 100 more, which
    count. A later round may take longer; the estimate need not be better than what compiling takes.
    """
    chunk = _first_rounds(game, 0)
    return chunk.seconds / min(int(chunk.pulls.sum()), _TIMED_ROUNDS)


def _first_rounds(game: Game, run: int, record: tuple[str, ...] = ()) -> Chunk:
    """Play the first rounds of a run interpreted: those in which every arm is pulled for the first time, and 100 more."""
    setting = game.setting
    rounds = min(setting.horizon, setting.n_arms + _TIMED_ROUNDS)
    some = Game(game.policy, replace(setting, checkpoints=np.array([rounds]), optimum=np.zeros(1), record=record))
    with np.errstate(all="ignore"):
        return _play(Task(some, run, 1), some.loop, np.zeros(2, np.int64))


def _warn_if_not_repeated(game: Game, run: int) -> None:
    """Warn of a plain class that plays the first rounds of a run differently when it plays them again."""
    one, two = (np.asarray(_first_rounds(game, run, ("arms",)).record[:1]) for _ in range(2))
    if not np.array_equal(one, two):
        warnings.warn(
            f"{game.policy.title} does not play run {run} again as before: it must keep nothing from one run to the next, and "
            "draw its random numbers from `seed`, if its constructor has this argument",
            RepeatWarning,
            stacklevel=2,
        )


def loop_entry(game: Game, checked: bool = False) -> EntryPoint:
    """Return the loop of a game as it is called."""
    example = game.arguments(0, Task(game, 0, 1).blank(), np.zeros(2, np.int64))
    return EntryPoint(game.checked_loop if checked else game.loop, game.policy, example, True, checked, game.setting.noise)


def compiled_loop(game: Game, checked: bool = False) -> Loop:
    """Return the compiled loop of a game."""
    from rotting.simulation.engines.compile import compiled_for  # noqa: PLC0415 - imports Numba

    return compiled_for(loop_entry(game, checked))


def play_checked_runs(game: Game, last_run: int) -> None:
    """Play the first and the last run of a game with every index checked, unless all its code is the library's own.

    Engines that cannot check indices call this before they play.
    """
    if not is_library_code(game.loop):
        loop = compiled_loop(game, checked=True)
        for run in sorted({0, last_run}):
            _play(Task(game, run, 1), loop, np.zeros(2, np.int64))


def _play(task: Task, loop: Loop, signal: Ints) -> Chunk:
    chunk = task.blank()
    arguments = task.game.arguments(task.first_run, chunk, signal)  # before the clock starts: this may draw problems
    began = time.thread_time()  # the CPU time of this thread alone: others compile and play at the same time
    try:
        loop(*arguments)
    except MISTAKES as error:
        raise game_error(task, chunk, error) from error.__cause__  # that of a plain class
    return chunk._replace(seconds=time.thread_time() - began)


def _play_interpreted(task: Task, signal: Ints) -> Chunk:
    """Play a task without the compiler. The time that it takes says nothing about the policy, and is NaN."""
    game = task.game
    with np.errstate(all="ignore"):  # as machine code, which does not warn
        chunk = _play(task, game.loop if is_library_code(game.loop) else game.checked_loop, signal)
    return chunk._replace(seconds=np.nan)


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

    def compile(self, game: Game, checked: bool = False) -> Generator[PlayedTask, None, Play]:
        """Compile the loop of a game; yield the tasks that finish meanwhile, and show the progress."""
        made: Future[Loop] = Future()

        def work() -> None:
            try:
                made.set_result(compiled_loop(game, checked))
            except BaseException as error:  # noqa: BLE001 - raised below
                made.set_exception(error)

        place = f" ({game.place + 1} of {game.count})" if game.count > 1 else ""
        self._bar.status = f"compiling {game.policy.title}{place}"
        threading.Thread(target=work, name="rotting-compiling", daemon=True).start()  # Ctrl-C does not wait for it
        while not made.done():
            wait([made], _SHOW_SECONDS)
            yield from self.finished()
        self._bar.status = ""
        loop = made.result()
        return lambda task, signal: _play(task, loop, signal)

    def submit(self, task: Task, play: Play) -> Future[Chunk]:
        """Queue a task for the next free thread."""
        signal = np.zeros(2, np.int64)
        future = self._threads.submit(play, task, signal)
        self.waiting[future] = task, signal
        future.add_done_callback(self._done.put)
        return future

    def finished(self, *awaited: Future[Chunk]) -> Iterator[PlayedTask]:
        """Yield the finished tasks; wait until the awaited ones are among them, and show the progress meanwhile."""
        left = self.waiting.keys() & awaited
        while left or not self._done.empty():
            with suppress(Empty):
                future = self._done.get(timeout=_SHOW_SECONDS)
                left.discard(future)
                task, _ = self.waiting.pop(future)
                if isinstance(future.exception(), KernelError):
                    self._raise_earlier(task)
                chunk = future.result()
                self._rounds += task.rounds
                yield task, chunk
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
