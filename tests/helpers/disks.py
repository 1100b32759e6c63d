"""A disk that fails as real ones do: a power cut loses what was not synced, a sync fails, or the disk is full.

SQLite reads and writes through it. The real files contain what other programs would see.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw


class Disk(apsw.VFS):
    """Stands between SQLite and the files until it is unregistered.

    A file that is opened for the first time counts as synced. Data whose sync fails never reaches the disk, since the operating
    system then takes it for written: it can be read until the power is cut.
    """

    def __init__(self) -> None:
        self.on_disk: dict[str, bytearray] = {}
        self.under_way: dict[str, list[tuple[int, bytes]]] = {}
        self.syncs_fail = False
        self.full = False
        self.reads_fail = False
        self.reads, self.syncs = 0, 0
        self.before_change: Callable[[], object] = lambda: None
        """Called before each change of a file: a process may be killed at any of these moments."""
        self.sync_flags: set[int] = set()
        self.below = apsw.vfs_names()[0]
        super().__init__("failing-disk", self.below, makedefault=True)

    def xOpen(self, name: Any, flags: Any) -> apsw.VFSFile:
        return _File(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        self.before_change()
        super().xDelete(filename, syncdir)
        self.on_disk.pop(filename, None)
        self.under_way.pop(filename, None)

    def after_power_cut(self, folder: Path) -> None:
        """Write the files as they would be after a power cut into a folder."""
        for name, content in self.on_disk.items():
            (folder / Path(name).name).write_bytes(content)


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: Any, flags: Any) -> None:
        super().__init__(disk.below, name, flags)
        self.disk, self.name = disk, str(name.filename() if isinstance(name, apsw.URIFilename) else name)
        if name is not None and self.name not in disk.on_disk:
            path = Path(self.name)
            disk.on_disk[self.name] = bytearray(path.read_bytes() if path.exists() else b"")

    def xLock(self, level: int) -> None:
        try:
            super().xLock(level)
        except apsw.IOError:  # who only reads cannot have this lock; SQLite asks for it all the same when it closes a file
            raise apsw.BusyError from None

    def xRead(self, amount: int, offset: int) -> bytes:
        self.disk.reads += 1
        if self.disk.reads_fail:
            raise apsw.IOError
        return bytes(super().xRead(amount, offset))

    def xWrite(self, data: bytes, offset: int) -> None:
        self.disk.before_change()
        if self.disk.full:
            half = bytes(data[: len(data) // 2])  # there was room for some of it
            super().xWrite(half, offset)
            self.disk.under_way.setdefault(self.name, []).append((offset, half))
            raise apsw.FullError
        super().xWrite(data, offset)
        self.disk.under_way.setdefault(self.name, []).append((offset, bytes(data)))

    def xTruncate(self, size: int) -> None:
        self.disk.before_change()
        super().xTruncate(size)
        del self.disk.on_disk[self.name][size:]

    def xSync(self, flags: int) -> None:
        self.disk.before_change()
        written = self.disk.under_way.pop(self.name, [])
        if self.disk.syncs_fail:
            raise apsw.IOError
        super().xSync(flags)
        self.disk.syncs += 1
        self.disk.sync_flags.add(flags)
        image = self.disk.on_disk[self.name]
        for offset, data in written:
            image.extend(bytes(max(0, offset + len(data) - len(image))))
            image[offset : offset + len(data)] = data


@contextmanager
def failing_disk() -> Iterator[Disk]:
    """Let SQLite read and write through a `Disk`."""
    disk = Disk()
    try:
        yield disk
    finally:
        disk.unregister()
        assert apsw.vfs_names()[0] == disk.below
