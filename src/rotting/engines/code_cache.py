"""Which machine code is in Numba's cache on disk, and which process is compiling what.

Numba's cache can only be read with Numba, and only by compiling when something is missing. So a small file, a marker, says that
the machine code of an entry point is there. A marker that is missing or wrong costs time and nothing else. Of several processes
that need the same code at once, one compiles it and the others wait for its marker.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rotting.common.atomic_files import write_atomically
from rotting.common.folders import cache_folder
from rotting.engines.work_claims import WorkClaims

_POLL_SECONDS = 0.05  # between two looks for the marker of another process
_PATIENCE = 120.0  # seconds: a process that has compiled for longer is not waited for
_loaded: set[str] = set()  # keys of the machine code that this process has in memory


def _numba_folder() -> Path:
    """Return the folder of Numba's cache if the user has set one, else the current folder, which absolute paths ignore."""
    return Path(os.environ.get("NUMBA_CACHE_DIR", ""))


def _path(key: str, kind: str) -> Path:
    folder = _numba_folder() / "rotting" if os.environ.get("NUMBA_CACHE_DIR") else cache_folder() / "compiled"
    return folder / key[:2] / f"{key[2:]}.{kind}"


def is_cached(key: str) -> bool:
    """Return whether the machine code of an entry point is in Numba's cache."""
    try:
        return (_numba_folder() / _path(key, "marker").read_text("utf-8")).is_file()
    except (OSError, ValueError):
        return False


def is_available(key: str) -> bool:
    """Return whether the machine code of an entry point is in the memory of this process, or in Numba's cache."""
    return key in _loaded or is_cached(key)


def note_loaded(key: str) -> None:
    """Note that this process has the machine code of an entry point in memory, where it stays."""
    _loaded.add(key)


def mark_cached(key: str, index: Path) -> None:
    """Note that the machine code of an entry point is in the cache, whose index is this file.

    If the user has set the folder of the cache, the marker names the file relative to it: the folder can be copied elsewhere.
    """
    with suppress(OSError):
        if index.is_file():
            folder = _numba_folder()
            named = index.relative_to(folder) if index.is_relative_to(folder) else index
            write_atomically(_path(key, "marker"), str(named).encode())


@contextmanager
def compiling(key: str) -> Iterator[None]:
    """Let one process at a time compile an entry point: wait while another one does."""
    if is_cached(key):
        yield
        return
    claims, claim, end = WorkClaims(), _path(key, "claim"), time.monotonic() + _PATIENCE
    try:
        while not claims.take(claim) and time.monotonic() < end:
            time.sleep(_POLL_SECONDS)
            if is_cached(key):
                break
        yield
    finally:
        claims.close()
