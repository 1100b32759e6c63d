"""What this machine is, in words."""

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
    """Return what `machine` returns in one line.

    Example:
        >>> machine_line({"processor": "A CPU @ 3 GHz", "cores": "2", "system": "Linux"})
        'A CPU @ 3 GHz, 2 cores, Linux'
    """
    return f"{described['processor']}, {described['cores']} cores, {described['system']}"


@cache
def this_machine() -> str:
    """Return this machine in one line."""
    return machine_line(machine())


def _processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Return the model of the processor: from a file on Linux, elsewhere from Python, which may know only the architecture."""
    if cpuinfo.is_file():
        for line in cpuinfo.read_text("utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return " ".join(value.split())
    return platform.processor() or platform.machine() or "unknown"
