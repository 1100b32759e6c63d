"""The folder of data files, and messages for files that are missing or unexpected.

The files are not part of the package: users download them from their distributors, once.
"""

import hashlib
import os
import warnings
from dataclasses import dataclass
from pathlib import Path

from rotting.common.files import user_folder
from rotting.errors import DataWarning, MissingDataError

FOLDER_VARIABLE = "ROTTING_DATA"


@dataclass(frozen=True)
class Source:
    """A data file that users download.

    Args:
        path: its path in the data folder.
        origin: where to download it, with an address.
        sha256: the checksum of the version that this package was tested with; None if unknown.
    """

    path: str
    origin: str
    sha256: str | None = None


def data_folder() -> Path:
    """Return the folder of the data files: `ROTTING_DATA`, or else the user's data folder.

    Example:
        >>> from unittest.mock import patch
        >>> with patch.dict(os.environ, ROTTING_DATA="/data"):
        ...     print(data_folder().as_posix())
        /data
    """
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named).expanduser() if named else user_folder("XDG_DATA_HOME", ".local/share", "Application Support")


def missing(source: Source, folder: Path) -> MissingDataError:
    """Return the error for a `source` that is not in `folder`.

    Example:
        >>> print(missing(Source("sea/waves.csv", "https://example.org/waves"), Path("data")))
        sea/waves.csv is not in 'data' (set ROTTING_DATA to look elsewhere); get it from https://example.org/waves
    """
    where = f"{source.path} is not in '{folder}' (set {FOLDER_VARIABLE} to look elsewhere)"
    return MissingDataError(f"{where}; get it from {source.origin}")


def read_text(source: Source) -> str:
    """Return the text of a file in the data folder, with a warning if it is not the known version.

    Another version is not an error: distributors correct their files, and line ends may change in transfer. The loaders check
    the shape, which they rely on, themselves.
    """
    folder = data_folder()
    try:
        content = (folder / source.path).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise missing(source, folder) from None
    found = hashlib.sha256(content).hexdigest()
    if source.sha256 is not None and found != source.sha256:
        text = f"{source.path} is not the version that rotting knows: its SHA-256 is {found}, not {source.sha256}"
        warnings.warn(f"{text}; numbers may differ from published ones", DataWarning, stacklevel=3)
    return content.decode("utf-8-sig")
