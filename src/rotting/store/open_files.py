"""The open file of a store with its connections, and checks that the file at the path is still the same one.

A process that closes any descriptor of a file loses all POSIX locks that it has on that file, and SQLite relies on those locks.
So all stores of a process share one descriptor per inode. It is closed after the last connection to the file. Programs that use
a store must not open and close its file by other means while the store is open.
"""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rotting.errors import StoreDamagedError, StoreError, StoreFailedError, StoreLockedError

if sys.platform == "linux":
    import fcntl

if TYPE_CHECKING:
    import apsw

LOCKS_INODES = sys.platform == "linux"
"""Whether the writer also locks the inode, so that a hard link does not let in a second writer. On other systems `flock` may
conflict with the locks of SQLite."""

_WAL_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")  # the first bytes of every WAL of SQLite
_SUFFIXES = ("", "-wal", "-shm")  # of the files of an open database; a writer that lost one of them must stop


class _FileInfo(NamedTuple):
    """A file as it was at the last check."""

    device: int
    inode: int
    size: int


class _Descriptor:
    """The descriptor of a file, shared by all stores of this process."""

    def __init__(self, handle: int) -> None:
        self.handles = [handle]  # the first is used; the others are only kept open
        self.users = 0
        self.is_locked = False  # whether a writer of this process holds the lock


_descriptors: dict[tuple[int, int], _Descriptor] = {}  # by device and inode
_lock = threading.RLock()  # guards `_descriptors`; re-entrant, since garbage collection may close a store at any time
_inherited: "list[list[apsw.Connection]]" = []  # connections of the parent process, referenced so that they are not closed


class OpenFile:
    """The connections of a store, and its file.

    Args:
        path: the file, links followed.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._process = os.getpid()
        self.connections: list[apsw.Connection] = []
        """The newest first, which is also the order of closing."""
        self._key: tuple[int, int] | None = None
        self._has_lock = False
        self._files: dict[str, _FileInfo] = {}
        self._page = (0, b"")
        self._may_shrink = True
        self._checking = threading.Lock()

    def add_connection(self, connection: "apsw.Connection") -> "apsw.Connection":
        """Leave it to `close` to close a connection, and return it."""
        self.connections.insert(0, connection)
        return connection

    def attach(self) -> None:
        """Share the descriptor of the file, until `close`."""
        if os.name != "posix":
            return
        with _lock:
            found = self._stat("")
            if found is None:
                raise self._changed("", "deleted")
            key = found[:2]
            if key not in _descriptors:
                handle = os.open(self._path, os.O_RDONLY)
                opened = os.fstat(handle)
                key = (opened.st_dev, opened.st_ino)
                if key in _descriptors:  # the file was replaced just now by one that is in use
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
            except OSError:  # a file system without such locks; the lock file has to suffice
                return
            shared.is_locked = self._has_lock = True

    def watch(self, page: int, page_size: int, is_writer: bool) -> None:
        """Remember the files as they are now, for `check`.

        Args:
            page: the number of a page that is never written again and differs between stores.
            page_size: its size in bytes.
            is_writer: whether this is the writer. Only the writer resets the WAL, so for it the WAL must not shrink.
        """
        self._may_shrink = not is_writer
        self._files = {suffix: found for suffix in _SUFFIXES if (found := self._stat(suffix)) is not None}
        if self._key is not None:
            offset = (page - 1) * page_size
            self._page = offset, os.pread(_descriptors[self._key].handles[0], page_size, offset)
            if "" not in self._files or self._files[""][:2] != self._key:  # replaced after it was opened
                raise self._changed("", "replaced")

    def check(self) -> int:
        """Raise a `StoreError` if a file is not the one that was opened; return the size of the WAL.

        This takes a few system calls, and may be called from any thread.
        """
        with self._checking:
            for suffix, before in self._files.items():
                now = self._stat(suffix)
                if now is None:
                    raise self._changed(suffix, "deleted")
                if now[:2] != before[:2]:
                    raise self._changed(suffix, "replaced")
                cut = suffix == "-wal" and now.size > 0 and not self._may_shrink and not self._has_wal_header()
                if cut or (now.size < before.size and suffix != "-shm" and not (suffix and self._may_shrink)):
                    raise self._changed(suffix, "truncated")
                self._files[suffix] = now
            if self._key is not None:
                offset, page = self._page
                if os.pread(_descriptors[self._key].handles[0], len(page), offset) != page:
                    raise self._changed("", "replaced")
            return self._files["-wal"].size if "-wal" in self._files else 0

    def _has_wal_header(self) -> bool:
        """Return whether the WAL begins as every WAL does: if it was cut off, the next write leaves zeros before itself."""
        try:
            with open(f"{self._path}-wal", "rb") as wal:  # noqa: PTH123 - SQLite holds no locks on this file
                return wal.read(len(_WAL_MAGIC[0])) in _WAL_MAGIC
        except FileNotFoundError:  # since it was looked at
            raise self._changed("-wal", "deleted") from None
        except OSError as error:
            raise self._inaccessible(error) from error

    @property
    def is_in_place(self) -> bool:
        """Whether the file at the path is the one that was attached."""
        now = self._stat("")
        return now is not None and (self._key is None or now[:2] == self._key)

    @property
    def lost_wal(self) -> bool:
        """Whether the WAL was deleted while the main file is still the one that was opened."""
        now = self._stat("")
        same = now is not None and "" in self._files and now[:2] == self._files[""][:2]
        return same and "-wal" in self._files and self._stat("-wal") is None

    @contextmanager
    def resetting_wal(self) -> Iterator[None]:
        """Let the block shorten the WAL; checks of other threads wait until it is done."""
        with self._checking:
            yield
            found = self._stat("-wal")
            if found is not None:
                self._files["-wal"] = found

    def close(self) -> None:
        """Close the connections, then release the lock and the descriptor. A second call does nothing."""
        connections, self.connections = self.connections, []
        if os.getpid() != self._process:
            _inherited.append(connections)  # the parent closes them
            return
        for connection in connections:
            with suppress(Exception):  # whatever fails, the lock must be released
                connection.close(True)
        with _lock, self._checking:
            key, self._key, self._files = self._key, None, {}
            if key is not None:
                self._release(key)

    def _release(self, key: tuple[int, int]) -> None:
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
        if not sys.is_finalizing():  # at the end of the process, the operating system closes the files
            self.close()

    def _stat(self, suffix: str) -> _FileInfo | None:
        try:
            found = os.stat(f"{self._path}{suffix}")  # noqa: PTH116 - half the time of Path.stat
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._inaccessible(error) from error
        return _FileInfo(found.st_dev, found.st_ino, found.st_size)

    def _inaccessible(self, error: OSError) -> StoreError:
        return StoreFailedError(f"cannot be accessed ({error.strerror})", self._path)

    def _changed(self, suffix: str, how: str) -> StoreError:
        """Return the error for a file that was deleted, replaced or truncated while it was open."""
        if suffix or how == "truncated":
            return StoreDamagedError(f"is damaged: its {suffix or 'main'} file was {how} while it was open", self._path)
        how = {"deleted": "deleted or moved away", "replaced": "replaced by another file"}[how]
        return StoreFailedError(f"was {how} while it was open", self._path)


def _close_in_child() -> None:
    """Close the descriptors in a forked child; otherwise the locks of the parent would last as long as the child."""
    global _lock  # noqa: PLW0603 - a thread of the parent may hold the old one
    _lock = threading.RLock()
    for shared in _descriptors.values():
        for handle in shared.handles:
            os.close(handle)
    _descriptors.clear()


if hasattr(os, "register_at_fork"):  # where processes can be forked
    os.register_at_fork(after_in_child=_close_in_child)
