"""The high-water mark of a store: a small file beside it that says how many events were acknowledged.

SQLite ends its write-ahead log at the first frame that is not intact, so a log that was cut off, damaged or removed looks like
one that was never longer. The mark is written after each commit, in one small write that is not synchronised: it never claims
more than was committed, and after a power cut it may claim less. A store with fewer events than its mark has lost some.
"""

import logging
import os
import struct
import sys
import zlib
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from rotting.store.records import digest

_log = logging.getLogger("rotting.store")
_MAGIC = b"ROTMARK1"
_BODY = struct.Struct("<8s8sQQQQB7x")
_CRC = struct.Struct("<I")
_TRIES = 3  # a mark that is read while it is written can be of two moments


class Mark(NamedTuple):
    """What was acknowledged."""

    store: bytes
    """The digest of the store's id."""
    events: int = 0
    """The number of the last event whose commit returned."""
    bandits: int = 0
    """How many bandits there were then."""
    synced_events: int = 0
    """The number of the last event that was synchronised to the disk: it also outlives a power cut."""
    synced_bandits: int = 0
    sync_failed: bool = False
    """Whether a commit ended in an I/O error: what can be read from the write-ahead log may not be on the disk."""


def owner(store_id: str) -> bytes:
    """Return what a mark keeps of the id of its store."""
    return digest(store_id)


def mark_path(path: Path) -> Path:
    """Return where the mark of a store is."""
    return path.with_name(f"{path.name}-mark")


def read_mark(path: Path) -> Mark | None:
    """Return the mark of a store, or None if there is none.

    Raises:
        ValueError: it cannot be read, or is not what was written.
    """
    content = b""
    for _ in range(_TRIES):
        try:
            content = mark_path(path).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ValueError(f"cannot be read ({error.strerror})") from error
        mark = _decode(content)
        if mark is not None:
            return mark
    if not content:  # its writer was killed before the first write
        return None
    raise ValueError("is not what was written")


def _decode(content: bytes) -> Mark | None:
    if len(content) != _BODY.size + _CRC.size:
        return None
    body, crc = content[: _BODY.size], content[_BODY.size :]
    if not body.startswith(_MAGIC) or _CRC.pack(zlib.crc32(body)) != crc:
        return None
    _, store, events, bandits, synced_events, synced_bandits, sync_failed = _BODY.unpack(body)
    return Mark(store, events, bandits, synced_events, synced_bandits, bool(sync_failed))


class MarkWriter:
    """Writes the mark of a store, of which this process is the writer.

    A mark that cannot be written is logged, once, and otherwise ignored: the events are in the store, and a mark that is too
    low only means that a loss may go unnoticed.

    Args:
        path: the store.
        mark: what is known to be in the store, synchronised.
        synced: whether each commit is synchronised to the disk.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = Path(folder.name, "songs.rot")
        >>> path.touch()
        >>> writer = MarkWriter(path, Mark(owner("id of the store"), 5, 1, 5, 1), synced=False)
        >>> writer.advance(7, 1)
        >>> writer.close()
        >>> mark = read_mark(path)
        >>> (mark.events, mark.synced_events, mark.sync_failed)
        (7, 5, False)
        >>> folder.cleanup()
    """

    def __init__(self, path: Path, mark: Mark, synced: bool) -> None:
        self._path, self._each_synced = path, synced
        self._store, self._counts, self._synced_counts, self._sync_failed = mark.store, mark[1:3], mark[3:5], mark.sync_failed
        self._handle: int | None = None
        try:
            self._handle = os.open(mark_path(path), os.O_RDWR | os.O_CREAT, 0o666)
            with suppress(OSError):  # whoever may read or write the store may read or write its mark
                mark_path(path).chmod(path.stat().st_mode & 0o777)
            self._write()
            os.truncate(mark_path(path), _BODY.size + _CRC.size)  # what may follow is not part of the mark
        except OSError as error:
            self._give_up(error)

    def advance(self, events: int, bandits: int) -> None:
        """Note what a commit that has returned left in the store."""
        self._counts = (events, bandits)
        if self._each_synced:
            self._synced_counts = self._counts
        self._write()

    def note_failed_sync(self) -> None:
        """Note that a commit ended in an I/O error."""
        self._sync_failed = True
        self._write()

    def close(self) -> None:
        """Close the file. A second call does nothing."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def __del__(self) -> None:
        if not sys.is_finalizing():  # then the operating system closes the files
            self.close()

    def _write(self) -> None:
        if self._handle is None:
            return
        body = _BODY.pack(_MAGIC, self._store, *self._counts, *self._synced_counts, self._sync_failed)
        try:
            _write_at_start(self._handle, body + _CRC.pack(zlib.crc32(body)))
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        _log.warning("the high-water mark of %s cannot be written: %s", self._path, error)
        self.close()


def _write_at_start(handle: int, content: bytes) -> None:
    if sys.platform == "win32":
        os.lseek(handle, 0, os.SEEK_SET)
        os.write(handle, content)
    else:
        os.pwrite(handle, content, 0)
