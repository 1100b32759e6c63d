"""Contestants that take turns, and tables of what they took."""

import math
import os
import platform
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

Turn = Callable[[], float]
"""Plays once, and returns what it took: microseconds for each round or call."""


class Size(NamedTuple):
    """How much to measure."""

    turns: int
    rounds: int  # of our simulations in a turn, so that it is long enough to time
    live_rounds: int
    longest: int  # largest horizon
    most_arms: int
    calls: int  # of a durable bandit
    seconds: float  # of load over HTTP


TINY = Size(1, 2_000, 200, 1_000, 20, 5, 0.5)
QUICK = Size(3, 500_000, 20_000, 1_000_000, 10_000, 300, 3.0)


def race(turns: int, players: Mapping[str, Turn]) -> dict[str, float]:
    """Return what each contestant took at best; they take turns, so that a busy minute of the machine hits all of them."""
    best = dict.fromkeys(players, math.inf)
    for _ in range(turns):
        for name, play in players.items():
            best[name] = min(best[name], play())
    return best


def row(what: str, took: Mapping[str, float]) -> list[str]:
    """Return a row of a table: what was measured, the times, and the ratio of the last to the first."""
    times = list(took.values())
    return [what, *map(figure, times), f"{figure(times[-1] / times[0])}x"]


def figure(value: float) -> str:
    """Return a number with three digits.

    Example:
        >>> figure(0.12345), figure(12345.6)
        ('0.123', '12,346')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def machine() -> str:
    """Return a sentence about this machine and its software."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    processor = models[0] if models else platform.processor()
    packages = ", ".join(f"{name} {_version(name)}" for name in ("rotting", "numpy", "numba", "river"))
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    return f"{os.cpu_count()} CPUs ({processor}), load {load} at the start; Python {platform.python_version()}, {packages}."


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "(not installed)"
