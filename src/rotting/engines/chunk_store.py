"""Finished parts of a simulation on disk, so that one which was killed goes on where it stopped.

A chunk is a file, named by a digest of everything that decides its content, there whole or not at all. What cannot be read, or
is not a chunk, is taken for absent; what cannot be written costs what was to be kept, not hours of games.
"""

import hashlib
import io
import threading
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.atomic_files import write_atomically
from rotting.errors import InvalidValueError


class Chunk(NamedTuple):
    """Some runs of one policy on one problem."""

    regret: Floats  # [runs, checkpoints]
    pulls: Ints  # [runs, K]
    seconds: float  # that they took


class Store:
    """A folder of chunks; several processes may share it.

    Args:
        folder: made when the first chunk is written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = Store(folder)
        ...     store.write("ab12", Chunk(np.zeros((1, 2)), np.ones((1, 3), np.int64), 0.5))
        ...     store.read("ab12").seconds, store.read("cd34")
        (0.5, None)
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise InvalidValueError(f"keep must be a folder, got the file '{self.folder}'")
        self._untold = threading.Semaphore(1)  # taken by the one warning

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.chunk"

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
                chunk = Chunk(file["regret"], file["pulls"], file["seconds"].item())
        except Exception:  # noqa: BLE001 (something else under a digest of its own: NumPy may raise anything)
            return None
        kinds = [(chunk.regret.dtype, chunk.regret.ndim), (chunk.pulls.dtype, chunk.pulls.ndim), type(chunk.seconds)]
        return chunk if kinds == [(np.float64, 2), (np.int64, 2), float] else None

    def write(self, key: str, chunk: Chunk) -> None:
        """Keep a chunk under that name; the first that cannot be written costs a warning."""
        body = io.BytesIO()
        np.savez(body, regret=chunk.regret, pulls=chunk.pulls, seconds=np.float64(chunk.seconds))
        try:
            write_atomically(self._path(key), hashlib.sha256(body.getvalue()).digest() + body.getvalue())
        except OSError as error:
            if self._untold.acquire(blocking=False):
                warnings.warn(f"finished games are not kept: {error}", RuntimeWarning, stacklevel=1)
