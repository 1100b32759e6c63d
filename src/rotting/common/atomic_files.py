"""Files and folders that appear complete or not at all: they are written under a temporary name, then renamed."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rotting.errors import PathExistsError


def partial_path(path: Path) -> Path:
    """Return an unused path in the same folder, for a file or folder that is not finished yet."""
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
