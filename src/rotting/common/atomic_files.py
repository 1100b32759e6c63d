"""Files and folders that appear whole or not at all: written under another name beside, then renamed."""

import secrets
from pathlib import Path


def partial_path(path: Path) -> Path:
    """Return a name in the same folder that nothing else has, for what is not finished."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file, in the place of an older one if there is one; missing folders are made.

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
