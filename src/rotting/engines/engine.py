"""The interface of every engine."""

from collections.abc import Generator, Iterable
from typing import Protocol

from rotting.common.progress import Progress
from rotting.engines.task import PlayedTask, Task


class Engine(Protocol):
    """Plays tasks: on threads, a GPU or a cluster.

    A run has the same regret and pulls on every engine. A task holds everything that is needed to play it and can be pickled,
    so an engine may send it to another machine.
    """

    def play(self, tasks: Iterable[Task], bar: Progress) -> Generator[PlayedTask, None, None]:
        """Play tasks, and yield them with their chunks as they finish.

        An engine may yield a task in several parts. Together they have each run of the task once, and their `game` is the same
        object as the task's.

        The engine takes tasks from the iterable one by one while it plays others: the next task may need a table of means, and
        the next game must be compiled. The tasks of one game follow each other.

        An error in a task is raised here. After an error, or when the generator is closed, all running games are cancelled, and
        cancelled games are never yielded.

        Args:
            tasks: what to play.
            bar: the progress bar, which counts rounds while the games are played.
        """
        ...

    def close(self) -> None:
        """Release the engine's resources after the last game."""
        ...
