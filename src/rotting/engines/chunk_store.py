"""Finished parts of a simulation on disk, so that one which was killed goes on where it stopped, and several share the work.

A chunk is a file, named by a digest of everything that decides its content but the number of its runs. It is there whole or not
at all. What cannot be read, or is not a chunk, is taken for absent; what cannot be written costs what was to be kept, not hours
of games.
"""

import hashlib
import io
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np

from rotting.common.atomic_files import write_atomically
from rotting.engines.claims import Claims
from rotting.engines.log import Log
from rotting.engines.task import Chunk, Origin, Task
from rotting.errors import InvalidTypeError, InvalidValueError


class ChunkStore:
    """A folder of chunks; several processes may share it.

    Args:
        folder: made when the first chunk is written.
        fresh: leave every task to be played, whatever is kept of it; what is played replaces what was kept.

    Attributes:
        reused: the games handed over instead of being played, counted by the day (UTC) and the machine that played them.

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
        self.reused: Counter[tuple[date, str]] = Counter()
        self._written: set[str] = set()  # what another simulation of this process may need, too
        self._untold = threading.Semaphore(1)  # taken by the one warning
        self._claims = Claims()
        self.elsewhere: list[Task] = []  # what other processes were at work on, when `missing` was asked last
        self._games: dict[str, int] = {}  # in each chunk that was found, or was about to be written

    def _path(self, key: str, kind: str = "chunk") -> Path:
        return self.folder / key[:2] / f"{key}.{kind}"

    def missing(self, tasks: Iterable[Task], take: Callable[[Task, Chunk], None]) -> Iterator[Task]:
        """Yield what is left to be played of the tasks; what is kept is handed to `take` instead, as soon as it is read.

        A chunk that has more runs than wanted is cut. One that has fewer, as the last of a shorter simulation may, is taken,
        and the rest of the task is a task of its own, which may be kept too. What another process has claimed and still works
        on is left to it, and listed in `elsewhere`.

        Args:
            tasks: what is to be played.
            take: called with a task and its chunk.
        """
        self.elsewhere = []
        if self.fresh:
            yield from tasks
            return
        for each in tasks:
            task = each
            while task.runs > 0:
                chunk = self.read(task.digest)
                if chunk is None or not _fits(chunk, task):
                    claim = self._path(task.digest, "claim")
                    if not self._claims.take(claim):
                        self.elsewhere.append(task)
                        break
                    chunk = self.read(task.digest)
                    if chunk is None or not _fits(chunk, task):
                        yield task
                        break
                    self._claims.drop(claim)  # another has finished it since we looked
                chunk = chunk.first(min(task.runs, len(chunk.regret)))
                kept, task = task.split(len(chunk.regret))
                self._games[kept.digest] = kept.runs
                if kept.digest not in self._written:
                    self.reused[datetime.fromtimestamp(chunk.origin.played, UTC).date(), chunk.origin.machine] += kept.runs
                take(kept, chunk)

    def keep(self, task: Task, chunk: Chunk) -> None:
        """Keep what was played of a task."""
        self._games[task.digest] = task.runs
        self.write(task.digest, chunk)

    def describe(self, games: int) -> str:
        """Return a sentence that says how many of the games are on disk, and how to go on."""
        kept = sum(runs for key, runs in self._games.items() if self._path(key).is_file())
        return f"{kept:,} of {games:,} games are kept in '{self.folder}': run it again to go on from there"

    def read(self, key: str) -> Chunk | None:
        """Return the chunk of that name, or None when there is none or the file is not one that `write` wrote."""
        try:
            content = self._path(key).read_bytes()
        except OSError:
            return None
        digest, body = content[:32], content[32:]
        if hashlib.sha256(body).digest() != digest:
            return None
        try:
            with np.load(io.BytesIO(body), allow_pickle=False) as file:
                log = Log._make(file[name] for name in Log._fields) if Log._fields[0] in file else ()
                origin = Origin(file["machine"].item(), file["played"].item())
                chunk = Chunk(file["regret"], file["pulls"], file["seconds"].item(), log, origin)
        except Exception:  # noqa: BLE001 (something else under a digest of its own: NumPy may raise anything)
            return None
        kinds: list[object] = [(each.dtype, each.ndim) for each in (chunk.regret, chunk.pulls)]
        kinds += [type(each) for each in (chunk.seconds, *chunk.origin)]
        return chunk if kinds == [(np.float64, 2), (np.int64, 2), float, str, float] else None

    def write(self, key: str, chunk: Chunk) -> None:
        """Keep a chunk under that name; the first that cannot be written costs a warning."""
        self._written.add(key)
        body = io.BytesIO()
        more: dict[str, Any] = {**chunk.origin._asdict(), **(chunk.log._asdict() if isinstance(chunk.log, Log) else {})}
        np.savez(body, regret=chunk.regret, pulls=chunk.pulls, seconds=np.float64(chunk.seconds), **more)
        try:
            write_atomically(self._path(key), hashlib.sha256(body.getvalue()).digest() + body.getvalue())
        except OSError as error:
            if self._untold.acquire(blocking=False):
                warnings.warn(f"finished games are not kept: {error}", RuntimeWarning, stacklevel=1)
        self._claims.drop(self._path(key, "claim"))

    def close(self) -> None:
        """Leave to others what was not played."""
        self._claims.close()


def _fits(chunk: Chunk, task: Task) -> bool:
    runs = len(chunk.regret)
    if runs == 0:
        return False
    arrays, expected = ([each.regret, each.pulls, *each.log] for each in (chunk, replace(task, runs=runs).blank()))
    return [(each.shape, each.dtype) for each in arrays] == [(each.shape, each.dtype) for each in expected]
