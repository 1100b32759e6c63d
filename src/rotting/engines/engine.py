"""What every engine does."""

from collections.abc import Generator, Iterable
from typing import Protocol

from rotting.common.progress import Progress
from rotting.engines.task import Chunk, Task


class Engine(Protocol):
    """Something that plays tasks: threads, and whatever else can run the loop.

    A run gives the same regret and pulls on every engine. A task holds all that is needed to play it, and can be pickled; an
    engine may send it elsewhere.
    """

    def play(self, tasks: Iterable[Task], bar: Progress) -> Generator[tuple[Task, Chunk], None, None]:
        """Play tasks, and yield them with their chunks in the order in which they finish, whole or in parts.

        Tasks are taken one by one while others are at play, and the tasks of one game follow each other: finding the next
        task may take as long as tabulating a problem, getting ready for the next game as long as compiling it.

        A part has the same `game`, the very object, as the task that it is of; the parts of a task are its runs, each once.

        An error in a task is raised here. When one is, or when the generator is closed, games under way are cancelled; a
        cancelled one is never yielded.

        Args:
            tasks: what to play.
            bar: told how many rounds are played while games last.
        """
        ...

    def close(self) -> None:
        """Free what the engine holds, after the last game."""
        ...
