"""Finished chunks of simulations on disk, so that an interrupted simulation resumes and a longer one plays only the new runs.

A chunk is a file, named by a digest of everything that decides its content except the number of runs. It is written atomically.
Processes may share the folder: if two play the same runs, both write the same chunk.
A file that cannot be read counts as missing. If a chunk cannot be written, there is a warning, and the games go on.
"""

import io
import threading
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from rotting.common.files import write_atomically
from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.simulation.engines.extensions import RoundRecord
from rotting.simulation.engines.task import Chunk, Origin, Task


class ChunkStore:
    """A folder of chunks, which several processes may share.

    Args:
        folder: created when the first chunk is written.
        fresh: whether to ignore the chunks that exist, and replace them.

    Attributes:
        reused: the number of games that were read instead of played.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = ChunkStore(folder)
        ...     store.write("ab12", Chunk(np.zeros((1, 2)), np.ones((1, 3), np.int64), 0.5))
        ...     store.read("ab12").seconds, store.read("cd34")
        (0.5, None)
    """

    def __init__(self, folder: str | Path, fresh: bool = False) -> None:
        if not isinstance(folder, str | Path):
            raise InvalidTypeError("keep", "be a folder", folder)
        self.folder = Path(folder)
        if self.folder.is_file():
            raise InvalidValueError("keep", "be a folder", self.folder, got=f"the file '{self.folder}'")
        self.fresh = fresh
        self.reused = 0
        self._written: set[str] = set()  # the chunks that this process played, which do not count as reused
        self._warn_once = threading.Semaphore(1)
        self._games: dict[str, int] = {}  # the number of games in each chunk that was read or written

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.chunk"

    def missing(self, tasks: Iterable[Task], take: Callable[[Task, Chunk], None]) -> list[Task]:
        """Return the tasks that have to be played; call `take` with the others.

        A chunk with more runs than the task is cut. If a chunk has fewer, as the last of a shorter simulation may, the rest of
        the task becomes a task of its own.

        Args:
            tasks: the tasks of a simulation.
            take: called with each task that is on disk, and its chunk.
        """
        if self.fresh:
            return list(tasks)
        missing = []
        for given in tasks:
            task = given
            while task.runs > 0:
                chunk = self.read(task.digest)
                if chunk is None or not _fits(chunk, task):
                    missing.append(task)
                    break
                chunk = chunk.first(min(task.runs, len(chunk.regret)))
                kept, task = task.split(len(chunk.regret))
                self._games[kept.digest] = kept.runs
                if kept.digest not in self._written:
                    self.reused += kept.runs
                    chunk = chunk._replace(seconds=np.nan)  # measured by another process, perhaps on a slower machine
                take(kept, chunk)
        return missing

    def keep(self, task: Task, chunk: Chunk) -> None:
        """Write the chunk of a task that was played."""
        self._games[task.digest] = task.runs
        self.write(task.digest, chunk)

    def describe(self, games: int) -> str:
        """Return a sentence that says how many of the games are on disk, and how to resume."""
        kept = sum(runs for key, runs in self._games.items() if self._path(key).is_file())
        if self.fresh:
            return f"{kept:,} of {games:,} games were played anew; the older ones are still kept in '{self.folder}'"
        return f"{kept:,} of {games:,} games are kept in '{self.folder}': run it again to continue from there"

    def read(self, key: str) -> Chunk | None:
        """Return the chunk of that name, or None if there is none that can be read."""
        try:
            with np.load(io.BytesIO(self._path(key).read_bytes()), allow_pickle=False) as file:
                fields = RoundRecord._fields
                record = RoundRecord._make(file[name] for name in fields) if fields[0] in file else ()
                origin = Origin(file["machine"].item(), file["played"].item())
                return Chunk(file["regret"], file["pulls"], file["seconds"].item(), record, origin, file["problems"])
        except Exception:  # noqa: BLE001 - NumPy may raise anything at a damaged file
            return None

    def write(self, key: str, chunk: Chunk) -> None:
        """Write a chunk under that name; warn about the first one that cannot be written."""
        self._written.add(key)
        body = io.BytesIO()
        record = chunk.record._asdict() if isinstance(chunk.record, RoundRecord) else {}
        np.savez(
            body,
            regret=chunk.regret,
            pulls=chunk.pulls,
            seconds=np.float64(chunk.seconds),
            problems=chunk.problems,
            **chunk.origin._asdict(),
            **record,
        )
        try:
            write_atomically(self._path(key), body.getvalue())
        except OSError as error:
            if self._warn_once.acquire(blocking=False):
                warnings.warn(f"finished games are not kept: {error}", RuntimeWarning, stacklevel=1)


def _fits(chunk: Chunk, task: Task) -> bool:
    """Return whether a chunk is of the same problems as the task, which its name does not say of every family."""
    return np.array_equal(chunk.problems, replace(task, runs=len(chunk.regret)).blank().problems)
