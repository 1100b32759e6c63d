"""A game that a mistake ended: whose it was, where, and in which round."""

import numpy as np

from rotting.engines.game import CANCEL
from rotting.engines.kernel_errors import frames_of, mistake, replay
from rotting.engines.task import Chunk, Task
from rotting.errors import KernelError

_REPLAY_ROUNDS = 100_000  # a few seconds


class _UntilRound:
    """In the place of a game's `signal`: cancels it once so many rounds are played."""

    def __init__(self, rounds: int) -> None:
        self._rounds = rounds
        self._done = 0

    def __getitem__(self, k: int) -> int:
        return int(self._done >= self._rounds) if k == CANCEL else self._done

    def __setitem__(self, k: int, value: int) -> None:
        self._done = value


def game_error(task: Task, chunk: Chunk, error: Exception) -> KernelError:
    """Return what went wrong in a task that an error ended, whose chunk is filled up to that round."""
    game, linked = task.game, task.game.checked
    played = chunk.pulls.sum(axis=1)
    row = int(np.argmax(played < game.setting.horizon))  # the game that was not played to its end
    t = int(played[row]) + 1
    run = task.first_run + row
    found: Exception | None = error if frames_of(linked, error) else None
    if found is None and t <= _REPLAY_ROUNDS:
        found = replay(type(error), linked, *game.arguments(run, task.blank().first(1), _UntilRound(t)))
    return mistake(game.policy, linked, error, found, f", in round {t} of run {run}", game.setting.noise)
