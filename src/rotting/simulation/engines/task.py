"""The work of engines and its results, as values that can be pickled.

A `Game` is one policy on one problem, with everything that decides the result of each run, on any engine and any machine. A
`Task` is some consecutive runs of a game, and a `Chunk` is their result. An `Engine` plays tasks.
"""

import hashlib
import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import NamedTuple, Protocol, Self

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.machine import this_machine
from rotting.common.progress import Progress
from rotting.common.version import __version__
from rotting.policies.kernels.binding import Bindings, digest
from rotting.policies.kernels.readable_errors import naming_owner
from rotting.policy import Policy
from rotting.problems.mean_table import Means
from rotting.problems.noise import Noise
from rotting.simulation.engines.extensions import NO_EXTENSIONS, ExtendedMeans, Extensions, RoundRecord, new_record, recording
from rotting.simulation.engines.game import bind_game

_LARGEST_TASK = 2_000_000  # the largest task, in rounds: small enough to share the work evenly among workers
_SMALLEST_TASK = 50_000  # the smallest task after the first, in rounds: some milliseconds, long beside the cost of a task
_TASK_SHARE = 16  # a task has at most 1/16 of the runs before it, so that a few runs are shared among workers, too


class Origin(NamedTuple):
    """Where and when games were played."""

    machine: str
    played: float  # seconds since 1970

    @classmethod
    def here_and_now(cls) -> Self:
        """Return the origin of games that this process plays now."""
        return cls(this_machine(), time.time())


class Chunk(NamedTuple):
    """The result of some runs of one game."""

    regret: Floats  # [runs, checkpoints]
    pulls: Ints  # [runs, K]
    seconds: float  # the CPU time that they took
    record: RoundRecord | tuple[()] = ()  # every round, if they are recorded
    origin: Origin = Origin("", 0.0)
    problems: Ints = np.empty(0, np.int64)  # [runs] digests of the problems, if nothing else identifies them

    def first(self, runs: int) -> "Chunk":
        """Return the first runs of the chunk, with their share of the time."""
        record = RoundRecord._make(array[:runs] for array in self.record) if isinstance(self.record, RoundRecord) else ()
        seconds = self.seconds * runs / len(self.regret)
        return Chunk(self.regret[:runs], self.pulls[:runs], seconds, record, self.origin, self.problems[:runs])


class Draws(Protocol):
    """Means or optima that differ between runs."""

    @property
    def is_identified(self) -> bool:
        """Whether the digest decides the problems; if not, those of a chunk are compared with `problem_digests`."""
        ...

    @property
    def digest(self) -> str:
        """A digest of what decides the problems."""
        ...

    @property
    def parts(self) -> Bindings:
        """The functions to bind into the game loop, so that each run reads its own part of the tables."""
        ...

    def problem_digests(self, first_run: int, runs: int) -> Ints:
        """Return a number for the problem of each run; none if the digest decides them."""
        ...

    def tables(self, first_run: int, runs: int) -> tuple[Means | ExtendedMeans, Floats]:
        """Return the means of some runs, one after the other, and their optimal rewards `[runs, checkpoints]`."""
        ...


@dataclass(frozen=True, eq=False)
class Setting:
    """What the games of one simulation share."""

    noise: Noise
    means: Means | ExtendedMeans  # of run 0, if every run has its own
    noise_key: int
    policy_key: int
    checkpoints: Ints  # the last one is the horizon
    optimum: Floats  # the optimal reward up to each checkpoint
    record: tuple[str, ...] = ()  # the fields of a `RoundRecord` that are filled in
    draws: Draws | None = None  # the means and optima of the runs, if every run has its own
    extensions: Extensions = NO_EXTENSIONS  # of the problem, whose means are then `ExtendedMeans`
    unsupported_feature: str = ""  # the first feature of these games that some engines do not support

    @property
    def horizon(self) -> int:
        """The number of rounds of a game."""
        return int(self.checkpoints[-1])

    @property
    def n_arms(self) -> int:
        """The number of arms of the problem."""
        return self.means.kinds.size

    @cached_property
    def digest(self) -> str:
        """A digest of everything that decides the results."""
        # A game that was played without the compiler has the same regret, but took another time.
        engine = __version__, version("numba"), os.environ.get("NUMBA_DISABLE_JIT", "0")
        keys = self.noise_key, self.policy_key
        scale = np.ravel(self.noise.scale).tolist()
        drawn = () if self.draws is None else (self.draws.digest,)
        rules = self.extensions.dynamic_arms, self.extensions.delay  # the digest of the game covers the code of a formula
        hasher = hashlib.sha256(repr((keys, self.noise, scale, engine, rules, *self.record, *drawn)).encode())
        for array in (*self.means, self.checkpoints, self.optimum):
            hasher.update(f"{array.dtype}{array.shape}".encode())
            hasher.update(np.ascontiguousarray(array).data)
        return hasher.hexdigest()


@dataclass(frozen=True, eq=False)
class Game:
    """One policy in one setting."""

    policy: Policy
    setting: Setting
    place: int = 0  # among the games that an engine plays; it decides nothing
    count: int = 1  # of these games; it decides nothing

    @cached_property
    def loop(self) -> Callable[..., None]:
        """The loop over runs, bound to the policy and the noise: a plain function, called with `arguments`."""
        return self._bound_loop(checked=False)

    @cached_property
    def checked_loop(self) -> Callable[..., None]:
        """The same loop, which also checks choices and rewards."""
        return self._bound_loop(checked=True)

    def _bound_loop(self, checked: bool) -> Callable[..., None]:
        with naming_owner(self.setting.noise):
            digest(self.setting.noise.draw)
        with naming_owner(self.policy):  # every other function that is refused is the policy's
            more = recording(self.policy, self.setting.record)
            more |= self.setting.extensions.parts(self.policy)
            if self.setting.draws is not None:
                more |= self.setting.draws.parts
            return bind_game(self.policy, self.setting.noise, checked, more)

    def __getstate__(self) -> dict[str, object]:
        """Leave out the loops and their digests: the process that reads the game makes them again, from its own code."""
        return {"policy": self.policy, "setting": self.setting, "place": self.place, "count": self.count}

    @cached_property
    def code_digest(self) -> str:
        """A digest of the code of the policy, of the noise and of the loop."""
        with naming_owner(self.policy):
            return digest(self.loop)

    @cached_property
    def digest(self) -> str:
        """A digest of everything that decides the results."""
        parts = self.setting.digest, self.policy.name, tuple(map(float, self.policy.params)), self.code_digest
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def arguments(self, first_run: int, chunk: Chunk, signal: object) -> tuple[object, ...]:
        """Return the arguments with which `loop` fills a chunk that begins at `first_run`."""
        setting = self.setting
        means: Means | ExtendedMeans = setting.means
        optimum = setting.optimum
        if setting.draws is not None:
            means, optimum = setting.draws.tables(first_run, len(chunk.regret))
        shared = (self.policy.params, means, setting.noise.scale, setting.noise_key, setting.policy_key)
        return (*shared, first_run, setting.checkpoints, optimum, chunk.regret, chunk.pulls, chunk.record, signal)


@dataclass(frozen=True, eq=False)
class Task:
    """Consecutive runs of one game."""

    game: Game
    first_run: int
    runs: int

    @property
    def end(self) -> int:
        """The number of the run after the last one."""
        return self.first_run + self.runs

    @property
    def rounds(self) -> int:
        """The number of rounds of all runs together."""
        return self.runs * self.game.setting.horizon

    @property
    def digest(self) -> str:
        """A digest of everything except the number of runs: a longer task from the same run begins with the same games."""
        return hashlib.sha256(f"{self.game.digest} {self.first_run}".encode()).hexdigest()

    def blank(self) -> Chunk:
        """Return a chunk to be filled in, with NaN as the regret of what was not played."""
        setting = self.game.setting
        regret = np.full((self.runs, setting.checkpoints.size), np.nan)
        record = new_record(setting.record, self.runs, setting.horizon, setting.n_arms)
        problems = np.empty(0, np.int64) if setting.draws is None else setting.draws.problem_digests(self.first_run, self.runs)
        return Chunk(regret, np.zeros((self.runs, setting.n_arms), np.int64), 0.0, record, Origin.here_and_now(), problems)

    def split(self, runs: int) -> tuple["Task", "Task"]:
        """Return two tasks: the first runs, and the rest."""
        return Task(self.game, self.first_run, runs), Task(self.game, self.first_run + runs, self.runs - runs)


PlayedTask = tuple[Task, Chunk]
"""A task, and what was played of it."""


class Engine(Protocol):
    """Plays tasks: on threads, a GPU or a cluster.

    A run has the same regret and pulls on every engine. A task holds everything that is needed to play it and can be pickled,
    so an engine may send it to another machine.
    """

    def play(self, games: Iterable[list[Task]], bar: Progress) -> Generator[PlayedTask, None, None]:
        """Play the tasks of some games, and yield them with their chunks as they finish.

        An engine may yield a task in several parts. Together they have each run of the task once, and their `game` is the same
        object as the task's.

        The engine takes the games from the iterable one by one while it plays others: the next one may need a table of means,
        and must be compiled.

        An error in a task is raised here. After an error, or when the generator is closed, all running games are cancelled, and
        cancelled games are never yielded.

        Args:
            games: what to play: for each game, its tasks.
            bar: the progress bar, which counts rounds while the games are played.
        """
        ...

    def close(self) -> None:
        """Release the engine's resources after the last game."""
        ...


def take(waiting: deque[Task], runs: float) -> list[Task]:
    """Remove tasks with `runs` runs in all from the front of the queue, and return them; the last one may be split.

    Args:
        waiting: tasks of one game.
        runs: a whole number, or infinity.
    """
    taken: list[Task] = []
    while waiting and runs > 0:
        task = waiting.popleft()
        if task.runs > runs:
            task, rest = task.split(int(runs))
            waiting.appendleft(rest)
        taken.append(task)
        runs -= task.runs
    return taken


def cut(game: Game, runs: int, first_run: int = 0) -> list[Task]:
    """Cut the runs of a game into tasks.

    The ends of the tasks depend neither on the number of runs nor on the number of workers, so that a longer simulation can
    reuse the chunks of a shorter one.

    The first run comes first, since engines check it before they play the rest. The others come in reverse order: later tasks
    are longer, and at the end no worker should be left alone with a long one.

    Args:
        game: what to play.
        runs: the number of runs.
        first_run: the number of the first run.
    """
    shortest, longest = (max(1, rounds // game.setting.horizon) for rounds in (_SMALLEST_TASK, _LARGEST_TASK))
    tasks: list[Task] = []
    start, end = 0, first_run + runs
    while start < end:
        stop = start + (min(longest, max(shortest, start // _TASK_SHARE)) if start else 1)
        if stop > first_run:
            first = max(start, first_run)
            tasks.append(Task(game, first, min(stop, end) - first))
        start = stop
    return [tasks[0], *reversed(tasks[1:])]
