"""What a store has open: its connections, and the file itself, which must stay the one at its path.

A process that closes any descriptor of a file loses all POSIX locks that it has on that file, and SQLite relies on those locks.
So all stores of a process share one descriptor for each file, found by its inode, which is closed after the last connection to
that file. Programs that use a store must not open and close its file by other means while the store is open.
"""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rotting.errors import StoreDamagedError, StoreError, StoreFailedError, StoreLockedError

if sys.platform == "linux":
    import fcntl

if TYPE_CHECKING:
    import apsw

LOCKS_INODES = sys.platform == "linux"
"""Whether the writer also locks the inode of the file, so that no other name of the file lets a second writer in. Elsewhere
`flock` and the locks of SQLite can be in each other's way."""

_BESIDE = ("", "-wal", "-shm")  # the files of an open database; a writer that lost one of them must not go on


class _Seen(NamedTuple):
    """A file as it was when it was last looked at."""

    device: int
    inode: int
    size: int


class _Descriptor:
    """The descriptor of a file that all stores of this process share."""

    def __init__(self, handle: int) -> None:
        self.handles = [handle]  # the first is used; the others only must not be closed yet
        self.users = 0
        self.is_locked = False  # for a writer of this process


_descriptors: dict[tuple[int, int], _Descriptor] = {}  # by device and inode
_lock = threading.RLock()  # of the above; re-entrant, since garbage collection may close a store at any time
_inherited: list[Any] = []  # connections of a parent process, kept from being closed


class OpenFile:
    """The connections of a store and the file under them.

    Args:
        path: the file, links followed.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._process = os.getpid()
        self._connections: list[apsw.Connection] = []
        self._key: tuple[int, int] | None = None
        self._has_lock = False
        self._seen: dict[str, _Seen] = {}
        self._page = (0, b"")
        self._may_shrink = True
        self._checking = threading.Lock()

    def keep(self, connection: "apsw.Connection") -> "apsw.Connection":
        """Remember to close a connection; the last one is closed first."""
        self._connections.insert(0, connection)
        return connection

    def attach(self) -> None:
        """Share the descriptor of the file."""
        if os.name != "posix":
            return
        with _lock:
            seen = self._look("")
            if seen is None:
                raise self._deleted("")
            key = seen[:2]
            if key not in _descriptors:
                handle = os.open(self._path, os.O_RDONLY)
                opened = os.fstat(handle)
                key = (opened.st_dev, opened.st_ino)
                if key in _descriptors:  # the file was replaced in this moment by one that is in use
                    _descriptors[key].handles.append(handle)
                else:
                    _descriptors[key] = _Descriptor(handle)
            _descriptors[key].users += 1
            self._key = key

    def lock(self) -> None:
        """Lock the inode for this writer, until `close` or the end of the process."""
        if not LOCKS_INODES or self._key is None:
            return
        with _lock:
            shared = _descriptors[self._key]
            if shared.is_locked:
                raise StoreLockedError("is locked: another writer has it", self._path)
            try:
                fcntl.flock(shared.handles[0], fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise StoreLockedError("is locked: another writer has it", self._path) from None
            except OSError:  # a file system without this kind of lock: the lock file must do
                return
            shared.is_locked = self._has_lock = True

    def watch(self, page: int, page_size: int, is_writer: bool) -> None:
        """Remember what the files are now.

        Args:
            page: the number of a page that is never written again, and differs from store to store.
            page_size: its size in bytes.
            is_writer: nobody else resets the write-ahead log: it does not shrink.
        """
        self._may_shrink = not is_writer
        self._seen = {suffix: seen for suffix in _BESIDE if (seen := self._look(suffix)) is not None}
        if self._key is not None:
            offset = (page - 1) * page_size
            self._page = offset, os.pread(_descriptors[self._key].handles[0], page_size, offset)
            if "" not in self._seen or self._seen[""][:2] != self._key:  # replaced after it was opened
                raise self._replaced("")

    def check(self) -> int:
        """Raise a `StoreError` if a file is not the one that was opened; return the size of the write-ahead log.

        Costs a few system calls, and may be called from any thread.
        """
        with self._checking:
            for suffix, before in self._seen.items():
                now = self._look(suffix)
                if now is None:
                    raise self._deleted(suffix)
                if now[:2] != before[:2]:
                    raise self._replaced(suffix)
                if now.size < before.size and suffix != "-shm" and not (suffix and self._may_shrink):
                    raise StoreDamagedError(
                        f"is damaged: its {suffix or 'main'} file was truncated while it was open", self._path
                    )
                self._seen[suffix] = now
            if self._key is not None:
                offset, page = self._page
                if os.pread(_descriptors[self._key].handles[0], len(page), offset) != page:
                    raise self._replaced("")
            return self._seen["-wal"].size if "-wal" in self._seen else 0

    @property
    def is_in_place(self) -> bool:
        """Whether the file at the path is the one that was attached."""
        now = self._look("")
        return now is not None and (self._key is None or now[:2] == self._key)

    @property
    def lost_wal(self) -> bool:
        """Whether the write-ahead log was deleted while the main file is the one that was opened."""
        return "-wal" in self._seen and self._look("-wal") is None and self._is_same("")

    @contextmanager
    def resetting_wal(self) -> Iterator[None]:
        """Expect a shorter write-ahead log after this block; nobody checks the files meanwhile."""
        with self._checking:
            yield
            seen = self._look("-wal")
            if seen is not None:
                self._seen["-wal"] = seen

    def close(self) -> None:
        """Close the connections, then give up the lock and the descriptor. A second call does nothing."""
        connections, self._connections = self._connections, []
        if os.getpid() != self._process:
            _inherited.append(connections)  # to be closed by the parent
            return
        for connection in connections:
            with suppress(Exception):  # whatever it is, the lock must be given up
                connection.close(True)
        with _lock, self._checking:
            key, self._key, self._seen = self._key, None, {}
            if key is not None:
                self._give_up(key)

    def _give_up(self, key: tuple[int, int]) -> None:
        shared = _descriptors[key]
        if self._has_lock:
            shared.is_locked = self._has_lock = False
            fcntl.flock(shared.handles[0], fcntl.LOCK_UN)
        shared.users -= 1
        if shared.users == 0:
            del _descriptors[key]
            for handle in shared.handles:
                os.close(handle)

    def __del__(self) -> None:
        if not sys.is_finalizing():  # then the operating system closes the files
            self.close()

    def _look(self, suffix: str) -> _Seen | None:
        try:
            found = os.stat(f"{self._path}{suffix}")  # noqa: PTH116 - half the time of Path.stat
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreFailedError(f"cannot be looked at ({error.strerror})", self._path) from error
        return _Seen(found.st_dev, found.st_ino, found.st_size)

    def _is_same(self, suffix: str) -> bool:
        now = self._look(suffix)
        return now is not None and now[:2] == self._seen[suffix][:2]

    def _deleted(self, suffix: str) -> StoreError:
        if suffix:
            return StoreDamagedError(f"is damaged: its {suffix} file was deleted while it was open", self._path)
        return StoreFailedError("was deleted or moved away while it was open", self._path)

    def _replaced(self, suffix: str) -> StoreError:
        if suffix:
            return StoreDamagedError(f"is damaged: its {suffix} file was replaced while it was open", self._path)
        return StoreFailedError("was replaced by another file while it was open", self._path)


def _forget_all() -> None:
    """Close the descriptors in a forked child, which would keep the locks of the parent beyond its end."""
    global _lock  # noqa: PLW0603 - a thread of the parent may hold that one
    _lock = threading.RLock()
    for shared in _descriptors.values():
        for handle in shared.handles:
            os.close(handle)
    _descriptors.clear()


if hasattr(os, "register_at_fork"):  # where processes can be forked
    os.register_at_fork(after_in_child=_forget_all)
