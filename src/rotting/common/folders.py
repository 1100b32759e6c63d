"""Folders of the user: where to keep what can be made again."""

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """Return the user's folder for files that can be computed again."""
    return user_folder("XDG_CACHE_HOME", ".cache", "Caches")


def user_folder(variable: str, default: str, on_mac: str) -> Path:
    """Return the project's folder among the user's, where the system keeps such files.

    Args:
        variable: of the XDG specification, which counts if it is set.
        default: the place in the home folder where it is not.
        on_mac: the name in `~/Library`.
    """
    named = Path(os.environ.get(variable, ""))
    if named.is_absolute():  # a relative one is to be ignored, says the XDG specification
        return named / "rotting"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "rotting"
    return Path.home() / (f"Library/{on_mac}" if sys.platform == "darwin" else default) / "rotting"
