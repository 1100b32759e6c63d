"""What an engine plays, as values that can be pickled, and what it gives back.

A `Game` is one policy on one problem: everything that decides what its run r gives, on any engine and any machine. A `Task` is
some consecutive runs of a game, a `Chunk` what playing them gave.
"""

import hashlib
import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.machine import this_machine
from rotting.common.version import __version__
from rotting.engines.game import link, means_of_run, optimum_of_run, own_means, own_optimum
from rotting.engines.kernel_errors import blaming
from rotting.engines.log import Log, new_log, recording
from rotting.engines.terms import NO_RULES, Rules, Terms
from rotting.kernels.binding import digest
from rotting.policy import Policy
from rotting.problems.mean_table import Means
from rotting.problems.noise import Noise

_CHUNK_ROUNDS = 2_000_000  # work of one task: small enough to share out, large enough to make crossings free
_FEW_ROUNDS = 50_000  # work of the shortest task but the first: some milliseconds, against which handing it over is nothing
_CHUNKS = 16  # a longer chunk is at most this share of the runs before it, so that few runs are shared out too


class Origin(NamedTuple):
    """Where and when games were played."""

    machine: str
    played: float  # seconds since 1970

    @classmethod
    def here_and_now(cls) -> Self:
        """Return the origin of what this process plays now."""
        return cls(this_machine(), time.time())


class Chunk(NamedTuple):
    """Some runs of one game."""

    regret: Floats  # [runs, checkpoints]
    pulls: Ints  # [runs, K]
    seconds: float  # of CPU time that they took
    log: Log | tuple[()] = ()  # every round of them, if they are recorded
    origin: Origin = Origin("", 0.0)

    def first(self, runs: int) -> "Chunk":
        """Return the first runs of the chunk, with their share of the time."""
        log = Log._make(array[:runs] for array in self.log) if isinstance(self.log, Log) else ()
        return Chunk(self.regret[:runs], self.pulls[:runs], self.seconds * runs / len(self.regret), log, self.origin)


class Draws(Protocol):
    """The problems of a family: every run has its own."""

    @property
    def digest(self) -> str:
        """A digest of all that decides them."""
        ...

    def tables(self, first_run: int, runs: int) -> tuple[Means, Floats]:
        """Return the means of some runs, one after the other, and the optimal rewards of each `[runs, checkpoints]`."""
        ...


def beyond_tables(record: tuple[str, ...], draws: object, rules: Rules) -> str:
    """Return what a game has that is more than rewards around a table of means, or nothing; not every engine plays it.

    Example:
        >>> beyond_tables(("arms",), None, NO_RULES), beyond_tables((), None, NO_RULES)
        ('a record of every round', '')
    """
    found = {
        "a record of every round": bool(record),
        "a new problem in every run": draws is not None,
        "arms that come, leave or recover": rules.moves,
        "late rewards": rules.delay is not None,
    }
    return next((name for name, is_so in found.items() if is_so), "")


@dataclass(frozen=True, eq=False)
class Setting:
    """What the games of one simulation share."""

    noise: Noise
    means: Means | Terms  # of run 0, if every run has its own
    noise_key: int
    policy_key: int
    checkpoints: Ints  # the last one is the horizon
    optimum: Floats  # the optimal reward up to each checkpoint
    record: tuple[str, ...] = ()  # which arrays of a `Log` are filled in
    draws: Draws | None = None  # the problems of the runs, if every run has its own
    rules: Rules = NO_RULES  # what the problem adds to a table of means, which are then `Terms`

    @property
    def horizon(self) -> int:
        """Rounds of a game."""
        return int(self.checkpoints[-1])

    @property
    def beyond_tables(self) -> str:
        """What these games have that not every engine plays, or nothing."""
        return beyond_tables(self.record, self.draws, self.rules)

    @property
    def n_arms(self) -> int:
        """Arms of the problem."""
        return self.means.kinds.size

    @cached_property
    def digest(self) -> str:
        """A digest by value, whatever code made the values."""
        # A game that was played without the compiler gives the same regret, but not the same times.
        engine = __version__, version("numba"), os.environ.get("NUMBA_DISABLE_JIT", "0")
        keys = self.noise_key, self.policy_key
        scale = np.ravel(self.noise.scale).tolist()
        drawn = () if self.draws is None else (self.draws.digest,)
        rules = self.rules.moves, self.rules.delay  # of a formula, the code is part of the game's
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

    @cached_property
    def linked(self) -> Callable[..., None]:
        """The loop over runs, bound to the policy and the noise: a plain function that `arguments` fit."""
        return self._link(checked=False)

    @cached_property
    def checked(self) -> Callable[..., None]:
        """The same loop, which also refuses a choice that is no arm."""
        return self._link(checked=True)

    def _link(self, checked: bool) -> Callable[..., None]:
        with blaming(self.setting.noise):
            digest(self.setting.noise.draw)  # type: ignore[arg-type]
        with blaming(self.policy):  # whose is what is refused of the rest
            more = recording(self.policy, self.setting.record)
            more |= self.setting.rules.parts(self.policy)
            if self.setting.draws is not None:
                more |= {means_of_run: own_means, optimum_of_run: own_optimum}
            return link(self.policy, self.setting.noise, checked, more)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the loops and their digests, which are made again where the game is read: of the code that is there."""
        return {"policy": self.policy, "setting": self.setting}

    @cached_property
    def code(self) -> str:
        """A digest of the code of the policy, of the noise and of the loop."""
        with blaming(self.policy):
            return digest(self.linked)  # type: ignore[arg-type]

    @cached_property
    def digest(self) -> str:
        """A digest of everything that decides what the runs give."""
        parts = self.setting.digest, self.policy.name, tuple(map(float, self.policy.params)), self.code
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def arguments(self, first_run: int, chunk: Chunk, signal: Any) -> tuple[Any, ...]:
        """Return what `linked` is called with to fill a chunk that begins at `first_run`."""
        each = self.setting
        means: Means | Terms = each.means
        optimum = each.optimum
        if each.draws is not None:
            means, optimum = each.draws.tables(first_run, len(chunk.regret))
        shared = (self.policy.params, means, each.noise.scale, each.noise_key, each.policy_key)
        return (*shared, first_run, each.checkpoints, optimum, chunk.regret, chunk.pulls, chunk.log, signal)


@dataclass(frozen=True, eq=False)
class Task:
    """Consecutive runs of one game."""

    game: Game
    first_run: int
    runs: int

    @property
    def end(self) -> int:
        """The run after the last one."""
        return self.first_run + self.runs

    @property
    def rounds(self) -> int:
        """Rounds of all runs."""
        return self.runs * self.game.setting.horizon

    @property
    def digest(self) -> str:
        """A digest of everything but the number of runs: a longer task from the same run on begins with the same games."""
        return hashlib.sha256(f"{self.game.digest} {self.first_run}".encode()).hexdigest()

    def blank(self) -> Chunk:
        """Return a chunk to be filled in; NaN stands for what was not played."""
        setting = self.game.setting
        regret = np.full((self.runs, setting.checkpoints.size), np.nan)
        log = new_log(setting.record, self.runs, setting.horizon, setting.n_arms)
        return Chunk(regret, np.zeros((self.runs, setting.n_arms), np.int64), 0.0, log, Origin.here_and_now())

    def split(self, runs: int) -> tuple["Task", "Task"]:
        """Return the first runs of the task, and the rest of it."""
        return Task(self.game, self.first_run, runs), Task(self.game, self.first_run + runs, self.runs - runs)


def take(waiting: deque[Task], runs: float) -> list[Task]:
    """Take the first of the tasks of a game, whole or in part, until they have so many runs: a whole number, or infinity."""
    taken: list[Task] = []
    while waiting and runs > 0:
        task = waiting.popleft()
        if task.runs > runs:
            task, rest = task.split(int(runs))
            waiting.appendleft(rest)
        taken.append(task)
        runs -= task.runs
    return taken


def cut(game: Game, runs: int, first_run: int = 0) -> Iterator[Task]:
    """Cut runs of a game into tasks.

    Where one ends depends neither on the number of runs nor on the number of workers: what a shorter simulation kept serves a
    longer one, whose tasks are the same but for the last.

    The first run comes first: an engine may want to try a game before it plays all of it. The others come from the last to the
    first, since later ones are longer: no worker is left alone with a long one at the end.

    Args:
        game: what to play.
        runs: how often.
        first_run: the first of them.
    """
    shortest, longest = (max(1, rounds // game.setting.horizon) for rounds in (_FEW_ROUNDS, _CHUNK_ROUNDS))
    tasks: list[Task] = []
    start, end = 0, first_run + runs
    while start < end:
        stop = start + (min(longest, max(shortest, start // _CHUNKS)) if start else 1)
        if stop > first_run:
            first = max(start, first_run)
            tasks.append(Task(game, first, min(stop, end) - first))
        start = stop
    yield tasks[0]
    yield from reversed(tasks[1:])
