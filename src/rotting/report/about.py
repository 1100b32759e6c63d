"""What a report says about itself: its title, when and where it was made, and with what."""

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib import metadata
from pathlib import Path

from rotting.common.version import __version__


@dataclass(frozen=True)
class About:
    """What a report says about itself.

    Args:
        title: of the report.
        paragraphs: plain text below the title.
        seed: of every experiment.
        date: when the report was made; with a time zone.
        seconds: how long everything took.
        versions: of the software, by name; `versions()` returns those of this process.
        machine: what it ran on; `machine()` describes this one.
        opening: the section whose first figure the report begins with; it may be missing.
    """

    title: str
    paragraphs: tuple[str, ...]
    seed: int
    date: datetime
    seconds: float
    versions: Mapping[str, str]
    machine: Mapping[str, str]
    opening: str = ""


def versions() -> dict[str, str]:
    """Return the versions of rotting, Python, NumPy and Numba.

    Example:
        >>> list(versions())
        ['rotting', 'Python', 'NumPy', 'Numba']
    """
    return {
        "rotting": __version__,
        "Python": platform.python_version(),
        "NumPy": metadata.version("numpy"),
        "Numba": metadata.version("numba"),
    }


def machine() -> dict[str, str]:
    """Return the model of the processor, the number of its cores, and the operating system.

    Example:
        >>> list(machine())
        ['processor', 'cores', 'system']
    """
    return {"processor": _processor(), "cores": str(os.cpu_count() or "unknown"), "system": platform.system()}


def _processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Return the model of the processor: from a file on Linux, elsewhere from Python, which may know only the architecture."""
    if cpuinfo.is_file():
        for line in cpuinfo.read_text("utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return " ".join(value.split())
    return platform.processor() or platform.machine() or "unknown"
