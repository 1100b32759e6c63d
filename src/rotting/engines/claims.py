"""Who works on what: files that tell processes which share a folder, on several machines too, what others have begun.

A claim saves work and decides nothing: where two take the same at the same moment, both play it, with the same result.
"""

import os
import socket
import threading
import time
import weakref
from contextlib import suppress
from pathlib import Path

from rotting.common.atomic_files import partial_path

_BEAT = 5.0  # seconds after which a claim is renewed
_SILENT = 30.0  # seconds without that after which its process is taken for dead


class Claims:
    """The claims of this process, renewed while it lives.

    A claim of a process that died on this machine is known at once, one of another machine when it was not renewed for half a
    minute, by the clock of the one who watches. What is taken after `close` is told to nobody.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     mine, others, path = Claims(), Claims(), Path(folder, "work.claim")
        ...     print(mine.take(path), others.take(path))
        ...     mine.close()
        ...     print(others.take(path))
        ...     others.close()
        True False
        True
    """

    def __init__(self) -> None:
        self._mine: set[Path] = set()
        self._seen: dict[Path, tuple[bytes, int, float]] = {}  # content, last change, and since when it is the last
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._beating: threading.Thread | None = None  # which must not hold on to this object: nobody would end it
        weakref.finalize(self, self._stop.set)

    def take(self, path: Path) -> bool:
        """Claim the work that a path stands for; return False if another process is at it."""
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
        for attempt in range(2):
            try:
                with path.open("xb") as file:
                    file.write(f"{socket.gethostname()} {os.getpid()}".encode())
            except FileExistsError:
                if attempt == 1 or not self._is_stale(path):
                    return False
                moved = partial_path(path)
                with suppress(OSError):  # another was faster
                    path.rename(moved)
                    moved.unlink()
                continue
            except OSError:  # nothing can be written there: nobody else can be told
                return True
            break
        with self._lock:
            self._mine.add(path)
            if self._beating is None and not self._stop.is_set():
                parts = self._stop, self._lock, self._mine
                self._beating = threading.Thread(target=_renew, args=parts, name="rotting-claims", daemon=True)
                self._beating.start()
        if self._stop.is_set():  # nobody would renew it, or give it back
            self.drop(path)
        return True

    def _is_stale(self, path: Path) -> bool:
        try:
            content, changed = path.read_bytes(), path.stat().st_mtime_ns
        except OSError:
            return True
        host, _, process = content.decode(errors="replace").partition(" ")
        if host == socket.gethostname() and process.isdigit() and not _is_alive(int(process)):
            return True
        now = time.monotonic()
        before = self._seen.get(path)
        if before is None or before[:2] != (content, changed):
            self._seen[path] = content, changed, now
            return False
        return now - before[2] > _SILENT

    def drop(self, path: Path) -> None:
        """Give the work back, done or not."""
        with self._lock:
            if path not in self._mine:
                return
            self._mine.discard(path)
        with suppress(OSError):
            path.unlink()

    def close(self) -> None:
        """Give everything back; the thread that renewed it has ended then."""
        with self._lock:
            self._stop.set()
            beating, mine = self._beating, list(self._mine)
        if beating is not None:
            with suppress(RuntimeError):  # Ctrl-C interrupted its start: it ends by itself, since `_stop` is set
                beating.join()
        for path in mine:
            self.drop(path)


def _renew(stop: threading.Event, lock: threading.Lock, mine: set[Path]) -> None:
    """Renew the claims until it is stopped. It does not end by itself when there are none: `close` could not wait for it."""
    while not stop.wait(_BEAT):
        with lock:
            paths = list(mine)
        for path in paths:
            with suppress(OSError):
                os.utime(path)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is another user's
        return True
    return True
