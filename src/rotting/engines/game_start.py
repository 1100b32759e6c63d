"""The start of a game: interpreted until machine code is there, if that ends sooner than waiting for the compiler."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from rotting.common.arrays import AnyArray
from rotting.common.progress import Progress
from rotting.engines.background_compiler import Job, cancel, submit
from rotting.engines.code_cache import is_available, is_cached
from rotting.engines.entry_points import EntryPoint
from rotting.engines.extensions import Extensions
from rotting.engines.task import Game, Setting, Task
from rotting.engines.tiers import COMPILE_SECONDS, CompileMode, pickled, resolve_mode
from rotting.kernels.readable_errors import is_library_code
from rotting.policy import Policy
from rotting.problems.noise import Noise

Loop = Callable[..., None]
_UNSEEN_ROUNDS = 1 << 14  # the most rounds played since a game's last report


def loop_entry(game: Game, checked: bool = False) -> EntryPoint:
    """Return the loop of a game as it is called."""
    example = game.arguments(0, Task(game, 0, 1).blank(), np.zeros(2, np.int64))
    return EntryPoint(game.checked if checked else game.linked, game.policy, example, True, checked, game.setting.noise)


def compiling_status(game: Game, bar: Progress) -> str:
    """Return what the progress bar shows while a game is compiled, as long as `bar.part` is that game.

    Example:
        >>> import rotting
        >>> from rotting.common.progress import Part
        >>> from rotting.simulation.plan import Simulation, plan
        >>> (game,), _ = plan(Simulation(rotting.RAWUCB(), rotting.problems.two_arms(horizon=9))).games()
        >>> bar = Progress(9)
        >>> bar.part = Part(number=3, of=8)
        >>> compiling_status(game, bar)
        'compiling RAW-UCB (3 of 8)'
    """
    place = f" ({bar.part.number} of {bar.part.of})" if bar.part.of > 1 else ""
    return f"compiling {game.policy.title}{place}"


class _ArrayKind(NamedTuple):
    """What decides the type of an array in machine code."""

    dtype: str
    ndim: int
    writeable: bool

    def example(self) -> AnyArray:
        made = np.zeros((1,) * self.ndim, self.dtype)
        made.setflags(write=self.writeable)
        return made


def _without_content(value: object) -> object:
    """Replace the arrays in the arguments of a call by their kinds: means can be large, and only their types matter."""
    if isinstance(value, np.ndarray):
        return _ArrayKind(str(value.dtype), value.ndim, value.flags.writeable)
    return _mapped(value, _without_content)


def _with_content(value: object) -> object:
    return value.example() if isinstance(value, _ArrayKind) else _mapped(value, _with_content)


def _mapped(value: object, change: Callable[[object], object]) -> object:
    if not isinstance(value, tuple):
        return value
    return value._make(map(change, value)) if hasattr(value, "_make") else tuple(map(change, value))


class _Blueprint(NamedTuple):
    """What the code of a game depends on, without its numbers."""

    policy: Policy
    noise: Noise
    record: tuple[str, ...]
    extensions: Extensions
    draws: Any  # None or (): the code depends on whether problems are drawn, not on which
    example: tuple[object, ...]  # the arguments of a call, with the kinds of arrays in the place of arrays

    @classmethod
    def of(cls, entry: EntryPoint, game: Game) -> "_Blueprint":
        setting = game.setting
        draws = None if setting.draws is None else ()
        example = tuple(map(_without_content, entry.example))
        return cls(game.policy, setting.noise, setting.record, setting.extensions, draws, example)


def compile_blueprint(blueprint: _Blueprint) -> None:
    """Compile the loop of a game, and keep it in the cache on disk."""
    from rotting.engines.compile import compiled_for  # noqa: PLC0415 - imports Numba

    policy, noise, record, extensions, draws, example = blueprint
    nothing: Any = np.zeros(0)  # neither the means nor the keys are part of the code
    setting = Setting(noise, nothing, 0, 0, nothing, nothing, record, draws, extensions)
    loop = Game(policy, setting).linked
    compiled_for(EntryPoint(loop, policy, tuple(map(_with_content, example)), allocates=True, noise=noise))


def compile_game(game: Game) -> bool:
    """Compile the loop of a game; return whether it is kept in the cache on disk."""
    from rotting.engines.compile import compiled_for  # noqa: PLC0415 - imports Numba

    entry = loop_entry(game)
    compiled_for(entry)
    return is_cached(entry.key)


class GameStart:
    """Decides whether a game begins interpreted, and when to change over to machine code.

    Args:
        game: the game.
        bar: the progress bar; its `part` says how much of this game there is to play.
        compile: when to compile.
        continues: whether more of the game follows later: its compiler then goes on after `close`.
    """

    def __init__(self, game: Game, bar: Progress, compile: CompileMode, continues: bool = False) -> None:
        mode = resolve_mode(compile)
        self._continues = continues
        self._bar, self._status, self._title = bar, compiling_status(game, bar), game.policy.title
        self._left = bar.part.size
        self._job: Job | None = None
        self.stays_interpreted = mode == "never"
        """Whether the game is interpreted to its end."""
        self.begins_interpreted = self.stays_interpreted
        """Whether the game begins interpreted."""
        self._work: bytes | None = None
        if mode == "auto" and is_library_code(game.linked):
            entry = loop_entry(game)
            if not is_available(entry.key):
                self._work = pickled(partial(compile_blueprint, _Blueprint.of(entry, game)))
                self.begins_interpreted = self._work is not None

    def is_ready(self, task: Task, done: int, seconds: float) -> bool:
        """Return whether to change over to machine code; start the compiler if that is worth it.

        Args:
            task: what is being played interpreted.
            done: how many rounds of it were reported.
            seconds: how long that took.
        """
        if self.stays_interpreted:
            return False
        if self._job is not None:
            if self._job.outcome == "killed":
                self._stay_interpreted()
            return self._job.outcome in {"done", "failed"}
        per_round = seconds / (done + min(_UNSEEN_ROUNDS, task.game.setting.horizon))  # at least
        if per_round * (max(self._left, task.rounds) - done) > COMPILE_SECONDS:
            assert self._work is not None, "only a game that begins interpreted gets here"
            self._job = submit(self._work)
            self._bar.status = self._status
        return False

    def _stay_interpreted(self) -> None:
        """Give up compiling: it may need more memory than there is, and would end this process, too."""
        self.stays_interpreted, self._bar.status = True, ""
        why = "since its compiler was killed twice; compile='now' compiles in this process"
        warnings.warn(f"{self._title} is interpreted to the end, {why}", RuntimeWarning, stacklevel=2)

    def played(self, task: Task) -> None:
        """Count a task that was played interpreted."""
        self._left -= task.rounds

    def close(self) -> None:
        """Give up compiling if it has not finished, unless more of the game follows."""
        if self._job is not None:
            self._bar.status = ""
            if not self._continues:
                cancel(self._job)
