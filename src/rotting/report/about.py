"""The title of a report, and when, where and with which software it was made."""

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
    """The title of a report, and how it was made.

    Args:
        title: of the report.
        paragraphs: plain text below the title.
        seed: of every experiment.
        date: when the report was made; with a time zone.
        seconds: how long making it took.
        versions: of the software, by name; `versions()` returns those of this process.
        machine: the machine that made it; `machine()` describes this one.
        opening: the section whose first figure the report begins with; it may be missing.
        games: number of games behind the report; a game is one run of one policy on one problem.
        kept: how many of them earlier runs had played and kept, by day (UTC) and machine.
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
        """The number of games that were played for this report, and the origin of the others, in words.

        Example:
            >>> from datetime import UTC
            >>> made = datetime(2026, 11, 17, tzinfo=UTC)
            >>> About("A report", (), 0, made, 1.0, {}, {}, games=9_760).games_text
            'All 9,760 games were played for this report. A game is one run of one policy on one problem.'
        """
        kept = sum(self.kept.values())
        played = self.games - kept
        origins = "; ".join(f"{count:,} of {day_text(day)} ({where})" for (day, where), count in sorted(self.kept.items()))
        if not kept:
            found = "The only game was" if self.games == 1 else f"All {self.games:,} games were"
            said = f"{found} played for this report."
        elif not played:
            found = "The only game was" if kept == 1 else f"All {kept:,} games were"
            said = f"{found} kept from earlier runs; none was played now: {origins}."
        else:
            said = (
                f"Of {self.games:,} games, {played:,} {_were(played)} played for this report, and {kept:,} {_were(kept)} kept "
                f"from earlier runs: {origins}."
            )
        return f"{said} A game is one run of one policy on one problem."


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def day_text(day: date) -> str:
    """Return a day in words.

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
