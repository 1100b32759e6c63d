"""Claims on work in progress: files that tell processes which share a folder what the others are working on.

The processes may run on several machines. Claims only save work: if two processes take the same work at the same moment, both
do it, with the same result.
"""

import importlib
import os
import socket
import sys
import threading
import time
import weakref
from contextlib import suppress
from pathlib import Path

from rotting.common.atomic_files import partial_path

_RENEWAL_SECONDS = 5.0  # between two renewals of a claim
_EXPIRY_SECONDS = 30.0  # after the last renewal, a claim has expired

_SYNCHRONIZE, _ACCESS_DENIED, _WAIT_TIMEOUT = 0x0010_0000, 5, 258  # constants of the Windows API


class WorkClaims:
    """The claims of this process, which a thread renews until `close`.

    Claims of dead processes on this machine are detected immediately. Claims from other machines expire 30 seconds after their
    last renewal, by the local clock. After `close`, `take` still answers, but leaves no claim.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     mine, others, path = WorkClaims(), WorkClaims(), Path(folder, "work.claim")
        ...     print(mine.take(path), others.take(path))
        ...     mine.close()
        ...     print(others.take(path))
        ...     others.close()
        True False
        True
    """

    def __init__(self) -> None:
        self._mine: set[Path] = set()
        self._seen: dict[Path, tuple[bytes, int, float]] = {}  # claims of others: content, last change, when it was first seen
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._renewing: threading.Thread | None = None  # must not refer to this object, whose end stops it
        weakref.finalize(self, self._stop.set)

    def take(self, path: Path) -> bool:
        """Claim a piece of work by the path of its claim; return False if another process is working on it."""
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
        with self._lock:
            if path in self._mine:
                return False
            self._mine.add(path)  # before there is a file: whenever Ctrl-C interrupts this, `drop_all` removes the file
        try:
            is_taken = self._create(path)
        except OSError:  # the folder cannot be written, or the disk is full: work without a claim
            self._forget(path)
            return True
        if not is_taken:
            self._forget(path)
            return False
        with self._lock:
            if self._renewing is None and not self._stop.is_set():
                parts = self._stop, self._lock, self._mine
                self._renewing = threading.Thread(target=_renew, args=parts, name="rotting-claims", daemon=True)
                self._renewing.start()
        if self._stop.is_set():  # no thread would renew it
            self.drop(path)
        return True

    def _create(self, path: Path) -> bool:
        """Create the file of a claim, in place of a stale one; return False if another process has a claim."""
        content = f"{socket.gethostname()} {os.getpid()}".encode()
        if _write_new(path, content):
            return True
        if not self._is_stale(path):
            return False
        moved = partial_path(path)
        with suppress(OSError):  # another process was faster
            path.rename(moved)
            moved.unlink()
        return _write_new(path, content)

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
        return now - before[2] > _EXPIRY_SECONDS

    def drop(self, path: Path) -> None:
        """Release a claim, whether its work is done or not."""
        with self._lock:
            if path not in self._mine:
                return
        with suppress(OSError):
            path.unlink()
        self._forget(path)

    def _forget(self, path: Path) -> None:
        with self._lock:
            self._mine.discard(path)

    def drop_all(self) -> None:
        """Release all claims."""
        with self._lock:
            mine = list(self._mine)
        for path in mine:
            self.drop(path)

    def close(self) -> None:
        """Release all claims, and stop the thread that renews them."""
        with self._lock:
            self._stop.set()
            renewing = self._renewing
        if renewing is not None:
            with suppress(RuntimeError):  # Ctrl-C interrupted its start: it ends by itself, since `_stop` is set
                renewing.join()
        self.drop_all()


def _write_new(path: Path, content: bytes) -> bool:
    """Create a file with its content, and return False if there is one already.

    If the content cannot be written, no file is left: others would wait for an empty claim, which names no process.
    """
    try:
        with path.open("xb", buffering=0) as file:
            file.write(content)
    except FileExistsError:
        return False
    except OSError:
        with suppress(OSError):
            path.unlink()
        raise
    return True


def _renew(stop: threading.Event, lock: threading.Lock, mine: set[Path]) -> None:
    """Renew the claims until `stop` is set, even while there are none: more may follow."""
    while not stop.wait(_RENEWAL_SECONDS):
        with lock:
            paths = list(mine)
        for path in paths:
            with suppress(OSError):
                os.utime(path)


def _is_alive(process: int) -> bool:
    if sys.platform == "win32":  # there, signal 0 is Ctrl-C
        return _is_alive_on_windows(process)
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # the process exists and belongs to another user
        return True
    return True


def _is_alive_on_windows(process: int) -> bool:
    ctypes = importlib.import_module("ctypes")  # not `import`: elsewhere, type checkers do not know its functions for Windows
    kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    kernel.OpenProcess.restype = ctypes.c_void_p  # a handle has 64 bits
    handle = kernel.OpenProcess(_SYNCHRONIZE, False, process)
    if not handle:
        return bool(ctypes.get_last_error() == _ACCESS_DENIED)  # the process exists and belongs to another user
    try:
        return bool(kernel.WaitForSingleObject(ctypes.c_void_p(handle), 0) == _WAIT_TIMEOUT)  # it has not ended
    finally:
        kernel.CloseHandle(ctypes.c_void_p(handle))
