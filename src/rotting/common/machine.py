"""A description of this machine."""

import os
import platform
from collections.abc import Mapping
from functools import cache
from pathlib import Path


def machine() -> dict[str, str]:
    """Return the model of the processor, the number of its cores, and the operating system.

    Example:
        >>> list(machine())
        ['processor', 'cores', 'system']
    """
    return {"processor": _processor(), "cores": str(os.cpu_count() or "unknown"), "system": platform.system()}


def machine_line(described: Mapping[str, str]) -> str:
    """Return the description that `machine` returns as one line.

    Example:
        >>> machine_line({"processor": "A CPU @ 3 GHz", "cores": "2", "system": "Linux"})
        'A CPU @ 3 GHz, 2 cores, Linux'
    """
    return f"{described['processor']}, {described['cores']} cores, {described['system']}"


@cache
def this_machine() -> str:
    """Return the description of this machine as one line."""
    return machine_line(machine())


def _processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Return the model of the processor, or only its architecture if there is no `/proc/cpuinfo`."""
    if cpuinfo.is_file():
        for line in cpuinfo.read_text("utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return " ".join(value.split())
    return platform.processor() or platform.machine() or "unknown"
