"""The folders of the user, and files that appear complete or not at all."""

import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rotting.errors import PathExistsError


def cache_folder() -> Path:
    """Return the user's folder for files that can be computed again."""
    return user_folder("XDG_CACHE_HOME", ".cache", "Caches")


def user_folder(variable: str, default: str, on_mac: str) -> Path:
    """Return the folder of this library for one kind of files.

    Args:
        variable: the XDG variable that names the parent folder.
        default: the parent folder below the home folder, if the variable is not set.
        on_mac: the name of the parent folder in `~/Library`, on a Mac.
    """
    named = Path(os.environ.get(variable, ""))
    if named.is_absolute():  # the XDG specification says to ignore a relative one
        return named / "rotting"
    return Path.home() / (f"Library/{on_mac}" if sys.platform == "darwin" else default) / "rotting"


def partial_path(path: Path) -> Path:
    """Return an unused path in the same folder, for a file or folder that is written there before it is renamed."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file, replacing an older one; missing folders are created.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_atomically(Path(folder, "new", "file"), b"content")
        ...     [path.name for path in Path(folder, "new").iterdir()]
        ['file']
    """
    partial = partial_path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        partial.write_bytes(content)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def new_folder(path: str | Path) -> Iterator[Path]:
    """Make a folder under a temporary name, and rename it to `path` unless an error is raised; missing parents are created.

    Args:
        path: the folder; it must not exist.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with new_folder(Path(folder, "a", "b")) as partial:
        ...         _ = (partial / "file").write_text("content")
        ...     Path(folder, "a", "b", "file").read_text()
        'content'
    """
    path = Path(path)
    taken = PathExistsError("path", "be a new folder", path, hint=", which exists")
    if os.path.lexists(path):
        raise taken
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = partial_path(path)
    partial.mkdir()
    try:
        yield partial
        if os.path.lexists(path):  # a rename would replace an empty folder without an error
            raise taken
        try:
            partial.rename(path)
        except OSError as error:
            if os.path.lexists(path):  # another process has made it since the check
                raise taken from error
            raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)
