"""The high-water mark of a store: a small file beside it that records how many events were acknowledged.

SQLite reads its write-ahead log (WAL) up to the first frame that is not intact. So a WAL that was cut off, damaged or removed
looks like one that was never longer. The mark is written after each commit, in one small write that is not synchronised. It
never claims more than was committed; after a power cut it may claim less. A store with fewer events than its mark lost some.
"""

import logging
import os
import struct
import sys
import zlib
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from rotting.errors import StoreDamagedError
from rotting.store.records import digest

_log = logging.getLogger("rotting.store")
_MAGIC = b"ROTMARK1"
_BODY = struct.Struct("<8s8sQQQQ?3xI")  # followed by its CRC, four bytes
_Fields = tuple[bytes, int, int, int, int, bool, int]  # of a mark; a plain tuple is made in a fifth of the time
_TRIES = 3  # a mark that is read while it is written may be half old and half new


class Mark(NamedTuple):
    """What was acknowledged."""

    store: bytes
    """The digest of the store's id."""
    events: int
    """The number of the last event whose commit returned."""
    bandits: int
    """How many bandits there were then."""
    synced_events: int
    """The number of the last event that was synchronised to the disk, so that it survives a power cut."""
    synced_bandits: int
    sync_failed: bool = False
    """Whether a commit ended in an I/O error: what can be read from the WAL may not be on the disk."""
    epoch: int = 0
    """The epoch of the writer of this mark: it says nothing about the events of later epochs."""


def mark_path(path: Path) -> Path:
    """Return the path of the mark of a store."""
    return path.with_name(f"{path.name}-mark")


def read_mark(path: Path) -> Mark | None:
    """Return the mark of a store, or None if there is none.

    Raises:
        ValueError: the mark cannot be read, or is not what was written.
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


def is_emptied(path: Path) -> bool:
    """Return whether the mark of a store is an empty file, with which a user accepts the loss of events."""
    try:
        return mark_path(path).stat().st_size == 0
    except OSError:
        return False


class MarkProblem(NamedTuple):
    """What is wrong with a store or with its mark."""

    text: str
    is_loss: bool
    """Whether acknowledged events are missing; otherwise the mark cannot tell."""


def unusable_mark(reason: str) -> MarkProblem:
    """Return the problem of a mark that cannot be compared with its store."""
    return MarkProblem(f"its -mark file {reason}: it is not known whether acknowledged events are missing", is_loss=False)


def find_loss(mark: Mark, path: Path, store_id: str, events: int, bandits: int) -> MarkProblem | None:
    """Compare a mark with the number of events and bandits in the store; return what is wrong, if anything is.

    Raises:
        StoreDamagedError: events or bandits are missing that were synchronised to the disk.
    """
    if mark.store != digest(store_id):
        return unusable_mark("belongs to another store")
    problem = None
    counts = (("events", mark.events, mark.synced_events, events), ("bandits", mark.bandits, mark.synced_bandits, bandits))
    for what, acknowledged, synced, found in counts:
        lost = f"lost the last {acknowledged - found} of its {acknowledged} {what}, which were acknowledged"
        if found < synced:
            hint = "restore its -wal file or a backup; to go on without them, empty its -mark file"
            raise StoreDamagedError(f"{lost}: {hint}", path)
        if found < acknowledged:
            problem = MarkProblem(f'it {lost}, but not synchronised to the disk (durability "os" or "memory")', is_loss=True)
            _log.warning("%s: %s", path, problem.text)
    return problem


def _encode(fields: _Fields) -> bytes:
    body = _BODY.pack(_MAGIC, *fields)
    return body + zlib.crc32(body).to_bytes(4, "little")


def _decode(content: bytes) -> Mark | None:
    if len(content) != _BODY.size + 4 or not content.startswith(_MAGIC):
        return None
    mark = Mark(*_BODY.unpack(content[:-4])[1:])
    return mark if _encode(mark) == content else None


class MarkWriter:
    """Writes the mark of a store for its writer.

    A mark that cannot be written is logged once and otherwise ignored: the events are in the store, and the worst effect of a
    mark that is too low is that a loss goes unnoticed.

    Args:
        path: the store.
        mark: the first mark.
        synced: whether each commit is synchronised to the disk.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = Path(folder.name, "songs.rot")
        >>> path.touch()
        >>> writer = MarkWriter(path, Mark(digest("id of the store"), 5, 1, 5, 1), synced=False)
        >>> writer.advance(7, 1)
        >>> writer.close()
        >>> mark = read_mark(path)
        >>> (mark.events, mark.synced_events, mark.sync_failed)
        (7, 5, False)
        >>> folder.cleanup()
    """

    def __init__(self, path: Path, mark: Mark, synced: bool) -> None:
        self._path, self._synced = path, synced
        self._fields: _Fields = mark
        self._handle: int | None = None
        try:
            self._handle = os.open(mark_path(path), os.O_RDWR | os.O_CREAT, 0o666)
            with suppress(OSError):  # the mark gets the permissions of the store
                mark_path(path).chmod(path.stat().st_mode & 0o777)
            self._write(mark)
            os.truncate(mark_path(path), _BODY.size + 4)  # an older file may be longer
        except OSError as error:
            self._give_up(error)

    def advance(self, events: int, bandits: int) -> None:
        """Write the counts after a commit has returned."""
        store, _, _, synced_events, synced_bandits, sync_failed, epoch = self._fields
        if self._synced:
            synced_events, synced_bandits = events, bandits
        self._write((store, events, bandits, synced_events, synced_bandits, sync_failed, epoch))

    def note_failed_sync(self) -> None:
        """Write that a commit ended in an I/O error."""
        self._write((*self._fields[:5], True, self._fields[6]))

    def close(self) -> None:
        """Close the file. A second call does nothing."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def __del__(self) -> None:
        if not sys.is_finalizing():  # at the end of the process, the operating system closes the files
            self.close()

    def _write(self, fields: _Fields) -> None:
        self._fields = fields
        if self._handle is None:
            return
        try:
            if sys.platform == "win32":
                os.lseek(self._handle, 0, os.SEEK_SET)
                os.write(self._handle, _encode(fields))
            else:
                os.pwrite(self._handle, _encode(fields), 0)
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        _log.warning("the high-water mark of %s cannot be written: %s", self._path, error)
        self.close()
