"""What a report says about itself: its title, when and where it was made, and with what."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from importlib import metadata

from rotting.common.version import __version__

Origins = Mapping[tuple[date, str], int]
"""How many games were played on each day (UTC) by each machine."""


@dataclass(frozen=True)
class About:
    """What a report says about itself.

    Args:
        title: of the report.
        paragraphs: plain text below the title.
        seed: of every experiment.
        date: when the report was made; with a time zone.
        seconds: how long making it took.
        versions: of the software, by name; `versions()` returns those of this process.
        machine: what it ran on; `machine()` describes this one.
        opening: the section whose first figure the report begins with; it may be missing.
        games: how many the numbers come from; a game is one run of one policy.
        kept: how many of them were not played for this report but kept, by the day (UTC) and the machine that played them.
    """

    title: str
    paragraphs: tuple[str, ...]
    seed: int
    date: datetime
    seconds: float
    versions: Mapping[str, str]
    machine: Mapping[str, str]
    opening: str = ""
    games: int = 0
    kept: Origins = field(default_factory=dict)

    @property
    def games_text(self) -> str:
        """How many games were played for this report, and where the others come from."""
        kept = sum(self.kept.values())
        if not kept:
            return f"All {self.games:,} games were played for this report."
        origins = [f"{count:,} of {day_text(day)} ({where})" for (day, where), count in sorted(self.kept.items())]
        return (
            f"Of {self.games:,} games, {self.games - kept:,} were played for this report, and {kept:,} were kept from other "
            f"runs: {'; '.join(origins)}."
        )


def day_text(day: date) -> str:
    """Write a day.

    Example:
        >>> day_text(date(2026, 11, 7))
        '7 November 2026'
    """
    return f"{day.day} {day:%B %Y}"


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
