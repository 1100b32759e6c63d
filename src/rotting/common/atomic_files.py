"""Files and folders that appear complete or not at all: they are written under a temporary name, then renamed."""

import secrets
from pathlib import Path


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
