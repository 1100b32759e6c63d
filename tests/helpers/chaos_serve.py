"""`rotting` on a slow disk, or without file locks: `python -m tests.helpers.chaos_serve serve FILE ...`.

The environment says what is wrong with the machine:

- `CHAOS_DISK`: a JSON file, read before every sync, so that a test can change it meanwhile. Each sync sleeps a random time up
  to `longest` seconds; `once` is the length of one long sync, and the sync that takes it removes it from the file.
- `CHAOS_NO_LOCKS`: Python's file locks do nothing, as on a network file system without locks.
"""

import fcntl
import json
import os
import random
import runpy
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw

_LOCK_COMMANDS = {
    getattr(fcntl, name) for name in ("F_SETLK", "F_SETLKW", "F_OFD_SETLK", "F_OFD_SETLKW") if hasattr(fcntl, name)
}


class SlowDisk(apsw.VFS):
    """Stands between SQLite and the files, and makes every sync slow."""

    def __init__(self, settings: Path) -> None:
        self._settings = settings
        self._random = random.Random(os.getpid())
        self.below = apsw.vfs_names()[0]
        super().__init__("slow-disk", self.below, makedefault=True)

    def xOpen(self, name: Any, flags: Any) -> apsw.VFSFile:
        return _SlowFile(self, name, flags)

    def wait(self) -> None:
        """Sleep for the duration of a sync."""
        with suppress(FileNotFoundError, ValueError):  # ValueError: the test is writing the file right now
            settings = json.loads(self._settings.read_text())
            once = settings.pop("once", None)
            if once is not None:
                self._settings.write_text(json.dumps(settings))
                time.sleep(once)
            time.sleep(self._random.random() * settings.get("longest", 0.0))


class _SlowFile(apsw.VFSFile):
    def __init__(self, disk: SlowDisk, name: Any, flags: Any) -> None:
        super().__init__(disk.below, name, flags)
        self._disk = disk

    def xLock(self, level: int) -> None:
        try:
            super().xLock(level)
        except apsw.IOError:  # a reader asks for a lock that it cannot have when it closes the file
            raise apsw.BusyError from None

    def xSync(self, flags: int) -> None:
        self._disk.wait()
        super().xSync(flags)


def _disable_locks() -> None:
    """Make the lock functions of Python succeed without locking anything."""
    real = fcntl.fcntl

    def control(file: Any, command: int, argument: Any = 0) -> Any:
        return 0 if command in _LOCK_COMMANDS else real(file, command, argument)

    def pretend(*arguments: object) -> None:
        """Lock nothing."""

    fcntl.flock = fcntl.lockf = pretend
    fcntl.fcntl = control


if __name__ == "__main__":
    if "CHAOS_DISK" in os.environ:
        slow_disk = SlowDisk(Path(os.environ["CHAOS_DISK"]))
    if "CHAOS_NO_LOCKS" in os.environ:
        _disable_locks()
    sys.argv[0] = "rotting"
    runpy.run_module("rotting", run_name="__main__", alter_sys=True)
