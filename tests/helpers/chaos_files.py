"""What can happen to the files of a store while a service has them open."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import rotting


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _all_files(path: Path) -> list[Path]:
    """Return all files in the folder of a store, which has no others."""
    return sorted(path.parent.iterdir())


def _remove_all(path: Path, aside: Path) -> None:
    for each in _all_files(path):
        each.unlink()


def _remove_store(path: Path, aside: Path) -> None:
    path.unlink()


def _remove_wal(path: Path, aside: Path) -> None:
    _beside(path, "-wal").unlink()


def _truncate(path: Path, aside: Path) -> None:
    os.truncate(path, path.stat().st_size // 2 // 4_096 * 4_096)


def _rename(path: Path, aside: Path) -> None:
    path.rename(aside / path.name)


def _replace_by_nothing(path: Path, aside: Path) -> None:
    _rename(path, aside)
    path.touch()


def _replace_by_another(path: Path, aside: Path) -> None:
    other = aside / "other.rot"
    with rotting.open(other, rotting.UCB1(), arms=["a", "b"]) as bandit:
        bandit.decide()
    _rename(path, aside)
    shutil.copyfile(other, path)


def _replace_by_older(path: Path, aside: Path) -> None:
    _rename(path, aside)
    shutil.copyfile(aside / "backup.rot", path)


def _move_folder(path: Path, aside: Path) -> None:
    path.parent.rename(aside / "folder")


def _empty_folder(path: Path, aside: Path) -> None:
    _move_folder(path, aside)
    path.parent.mkdir()


def _put_back_file(path: Path, aside: Path) -> None:
    path.unlink(missing_ok=True)
    (aside / path.name).rename(path)


def _put_back_folder(path: Path, aside: Path) -> None:
    if path.parent.exists():
        shutil.rmtree(path.parent)
    (aside / "folder").rename(path.parent)


class Loss(NamedTuple):
    """A way in which a store is lost.

    Args:
        happen: does it to the store; gets a folder for what is put aside.
        put_back: undoes it; None: the store is gone or damaged.
    """

    happen: Callable[[Path, Path], None]
    put_back: Callable[[Path, Path], None] | None = None


LOSSES = {
    "all files removed": Loss(_remove_all),
    "store removed, WAL left": Loss(_remove_store),
    "WAL removed": Loss(_remove_wal),
    "store truncated": Loss(_truncate),
    "store renamed": Loss(_rename, _put_back_file),
    "replaced by an empty file": Loss(_replace_by_nothing, _put_back_file),
    "replaced by another store": Loss(_replace_by_another, _put_back_file),
    "replaced by an older backup": Loss(_replace_by_older, _put_back_file),
    "folder renamed": Loss(_move_folder, _put_back_folder),
    "folder replaced by an empty one": Loss(_empty_folder, _put_back_folder),
}
"""Losses by description. "replaced by an older backup" needs a file `backup.rot` in the folder `aside`."""


def _halve(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _flip_a_byte(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


WAL_DAMAGES: dict[str, Callable[[Path], None]] = {"removed": Path.unlink, "truncated": _halve, "one bit flipped": _flip_a_byte}
"""Damages to the WAL of a killed process, by description. SQLite reads each as a WAL that ends earlier."""


def content(path: Path) -> bytes | None:
    """Return the content of a file; None if it does not exist."""
    return path.read_bytes() if path.exists() else None
