"""Games and bandits that change tiers at a chosen moment: the first runs or decisions are interpreted, the others compiled."""

from typing import Any

import pytest

from rotting.common.progress import Progress
from rotting.engines import threads
from rotting.engines.game import CANCEL, DONE
from rotting.engines.game_start import GameStart
from rotting.engines.task import Game, PlayedTask, Task
from rotting.engines.tiers import CompileMode
from rotting.live.bandit_state import BanditState


class BeginsInterpreted(GameStart):
    """The start of a game that begins interpreted even if its machine code is there, and starts no compiler."""

    def __init__(self, game: Game, bar: Progress, compile: CompileMode, continues: bool = False) -> None:
        super().__init__(game, bar, compile, continues)
        self.begins_interpreted = True

    def is_ready(self, task: Task, done: int, seconds: float) -> bool:
        return False


class CancelledAfter:
    """The signal of a game that is cancelled when so many rounds were reported."""

    def __init__(self, signal: Any, rounds: int) -> None:
        self._signal, self._rounds = signal, rounds

    def __getitem__(self, position: int) -> int:
        cancelled = position == CANCEL and self._signal[DONE] >= self._rounds
        return 1 if cancelled else int(self._signal[position])

    def __setitem__(self, position: int, value: int) -> None:
        self._signal[position] = value


def change_games_after(rounds: int, patch: pytest.MonkeyPatch) -> list[int]:
    """Let every game change to machine code after this many rounds, or a little later, also in the middle of a run.

    The list that is returned gets the number of runs of each task that were played interpreted.
    """
    left: dict[int, int] = {}  # rounds to interpret, by game
    interpreted: list[int] = []
    play = threads._play_interpreted

    def play_some(task: Task, signal: Any) -> PlayedTask:
        most = left.setdefault(id(task.game), rounds)
        played, chunk = play(task, CancelledAfter(signal, most))  # type: ignore[arg-type]
        left[id(task.game)] = most - played.rounds
        interpreted.append(played.runs)
        return played, chunk

    patch.setattr(threads, "GameStart", BeginsInterpreted)
    patch.setattr(threads, "_play_interpreted", play_some)
    return interpreted


def change_over(state: BanditState) -> None:
    """Replace all functions of an interpreted bandit by machine code."""
    for functions in (state.learner._functions, *state.pending._functions):
        functions.change_over()
