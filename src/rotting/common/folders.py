"""The folders of the user for caches and data."""

import os
import sys
from pathlib import Path


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
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "rotting"
    return Path.home() / (f"Library/{on_mac}" if sys.platform == "darwin" else default) / "rotting"
