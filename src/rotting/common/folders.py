"""The user's folders: where caches and data are kept."""

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """Return the user's folder for files that can be computed again."""
    return user_folder("XDG_CACHE_HOME", ".cache", "Caches")


def user_folder(variable: str, default: str, on_mac: str) -> Path:
    """Return rotting's folder in the place where the system keeps such files.

    Args:
        variable: the XDG variable, which is used if it is set.
        default: the folder in the home folder if it is not.
        on_mac: the name in `~/Library`.
    """
    named = Path(os.environ.get(variable, ""))
    if named.is_absolute():  # the XDG specification says to ignore a relative one
        return named / "rotting"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "rotting"
    return Path.home() / (f"Library/{on_mac}" if sys.platform == "darwin" else default) / "rotting"
