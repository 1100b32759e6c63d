"""Synthetic files in the format of Yahoo!'s R6A, with known click curves."""

import gzip
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

STEP = 300


def utc(day: int, hour: int, minute: int = 0, second: int = 0) -> int:
    """Return a time in May 2009 in seconds since 1970; day 0 is April 30."""
    may = int(datetime(2009, 5, 1, hour, minute, second, tzinfo=UTC).timestamp())
    return may + (day - 1) * 24 * 60 * 60


def file_name(day: int, suffix: str = ".gz") -> str:
    return f"ydata-fp-td-clicks-v1_0.200905{day:02d}{suffix}"


class Events(NamedTuple):
    """Displays in the order of a file."""

    seconds: NDArray[np.int64]
    articles: NDArray[np.int64]
    clicks: NDArray[np.int64]

    def take(self, which: NDArray[np.int64] | NDArray[np.bool_]) -> "Events":
        return Events(*(column[which] for column in self))

    def rows(self) -> list[tuple[int, int, int]]:
        return list(zip(*(column.tolist() for column in self), strict=True))


def join(parts: Iterable[Events]) -> Events:
    return Events(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def night_timestamps(number: int) -> NDArray[np.int64]:
    """Return the timestamps of the night that ends on May `number`."""
    return np.arange(utc(number - 1, 22), utc(number, 10), STEP)


def features(rng: np.random.Generator) -> bytes:
    weights = rng.dirichlet(np.ones(5))
    return b" ".join(b"%d:%.6f" % pair for pair in zip((2, 3, 4, 5, 6, 1), (*weights, 1.0), strict=True))


def lines(events: Events, rng: np.random.Generator) -> list[bytes]:
    """Return the line of each event in R6A, without its end: the event, the user, and the articles to choose from."""
    pool = b" ".join(b"|%d %b" % (article, features(rng)) for article in np.unique(events.articles).tolist()[:4])
    users = [features(rng) for _ in range(20)]
    whose = rng.integers(0, len(users), len(events.seconds)).tolist()
    rows = zip(whose, events.rows(), strict=True)
    return [b"%d %d %d |user %b %b" % (*row, users[user], pool) for user, row in rows]


def write_gz(path: Path, text: bytes) -> None:
    path.write_bytes(gzip.compress(text, compresslevel=1, mtime=0))


def write_day(folder: Path, day: int, events: Events, rng: np.random.Generator, end: bytes = b"\n") -> None:
    write_gz(folder / file_name(day), b"".join(line + end for line in lines(events, rng)))
