"""A night of news articles: their click probabilities over twelve hours, as a restless problem."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.json_types import JsonDict
from rotting.errors import InvalidValueError
from rotting.problems import Piecewise, Problem
from rotting.problems.noise import Binomial

DISPLAYS = 10  # per round: the learner sees the clicks of ten users at once
VARIANCE = 0.29  # sigma^2 of the paper's policies on nights, the variance of Binomial(10, 0.03)
VARIATION = 0.04  # V of the paper's Exp3.S on nights
TIMESTAMP_SECONDS = 300
TIMESTAMPS = 144  # of a night
NIGHTS = range(2, 10)


@dataclass(frozen=True, eq=False)
class Night:
    """The articles that were available all night.

    Args:
        number: 2 to 9; night i ends on the morning of 2009-05-i.
        articles: their K ids, increasing.
        timestamps: the S times at which the night has displays, every five minutes, in seconds since 1970.
        probabilities: of a click, `[K, S]`.
        traffic: the displays at each time, of all articles, also of those left out.
        synthetic: whether the night is drawn at random, not measured.

    Example:
        >>> night = Night(2, (7, 9), np.array([0, 300]), np.array([[0.05, 0.03], [0.04, 0.04]]), np.array([25, 20]), True)
        >>> night
        Night(2, synthetic, K=2, T=5)
        >>> night.rounds
        array([3, 2])
        >>> [night.problem().mean(0, t, n=0) for t in (3, 4)]
        [0.5, 0.3]
    """

    number: int
    articles: tuple[int, ...]
    timestamps: Ints
    probabilities: Floats
    traffic: Ints
    synthetic: bool

    def __post_init__(self) -> None:
        for name, kind in (("timestamps", np.int64), ("probabilities", np.float64), ("traffic", np.int64)):
            array = np.array(getattr(self, name), dtype=kind)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        S = len(self.timestamps)
        if self.probabilities.shape != (len(self.articles), S) or self.traffic.shape != (S,):
            shapes = self.probabilities.shape, self.traffic.shape
            rule = f"be [{len(self.articles)}, {S}] and [{S}]"
            raise InvalidValueError("probabilities and traffic", rule, shapes, got=f"{shapes[0]} and {shapes[1]}")

    @property
    def n_arms(self) -> int:
        """The number K of articles."""
        return len(self.articles)

    @property
    def rounds(self) -> Ints:
        """The rounds of each timestamp.

        Round t = 1, 2, ... belongs to the timestamp of the night's display number 10 (t - 1), counted from 0.
        """
        return np.diff(-(-np.cumsum(self.traffic) // DISPLAYS), prepend=0)

    @property
    def horizon(self) -> int:
        """The number T of rounds."""
        return int(self.rounds.sum())

    @property
    def label(self) -> str:
        """Its name in figures."""
        return f"night {self.number}{' (synthetic)' if self.synthetic else ''}"

    def problem(self) -> Problem:
        """Return the restless problem: a round pays the clicks of ten displays, Binomial(10, p)."""
        rounds = self.rounds
        played = rounds > 0
        starts = (np.cumsum(rounds) - rounds)[played]
        arms = [Piecewise(DISPLAYS * row[played], starts) for row in self.probabilities]
        name = f"{'synthetic' if self.synthetic else 'yahoo'}-night-{self.number}"
        return Problem.restless(arms, Binomial(DISPLAYS), self.horizon, name)

    def to_json(self) -> JsonDict:
        """Return the night as JSON-able data, with every digit."""
        arrays = {name: getattr(self, name).tolist() for name in ("timestamps", "probabilities", "traffic")}
        return {"number": self.number, "articles": list(self.articles), **arrays, "synthetic": self.synthetic}

    @classmethod
    def from_json(cls, data: JsonDict) -> Self:
        """Return the night that `to_json` wrote."""
        return cls(**{**data, "articles": tuple(data["articles"])})

    def __repr__(self) -> str:
        kind = "synthetic" if self.synthetic else "measured"
        return f"Night({self.number}, {kind}, K={self.n_arms}, T={self.horizon})"


@dataclass(frozen=True)
class Reading:
    """What was read from one file of a click log.

    Args:
        name: the file.
        lines: the number of lines that could be read.
        malformed: the number of lines that are not an event, and were left out.
        examples: the first of these, as line number (from 1) and start of the line.
        trouble: what is wrong with the file itself, if anything.

    Example:
        >>> print(Reading("a.gz", 1_000, 2, ((7, "12 x"), (9, "")), "is cut off"))
        a.gz: 1,000 lines, 2 malformed (line 7: '12 x', line 9: ''); the file is cut off
    """

    name: str
    lines: int = 0
    malformed: int = 0
    examples: tuple[tuple[int, str], ...] = ()
    trouble: str | None = None

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong."""
        return not self.malformed and self.trouble is None

    def __str__(self) -> str:
        text = f"{self.name}: {self.lines:,} lines"
        if self.malformed:
            shown = ", ".join(f"line {line}: {start!r}" for line, start in self.examples)
            more = ", ..." if self.malformed > len(self.examples) else ""
            text += f", {self.malformed:,} malformed ({shown}{more})"
        return text if self.trouble is None else f"{text}; the file {self.trouble}"


@dataclass(frozen=True, eq=False)
class Nights(Mapping[int, Night]):
    """Nights by their number, and how they were read.

    Args:
        nights: the nights.
        readings: one per file, for nights from files.
        skipped: why a night is left out, by its number.
    """

    nights: tuple[Night, ...]
    readings: tuple[Reading, ...] = ()
    skipped: Mapping[int, str] = field(default_factory=dict)

    def __getitem__(self, number: int) -> Night:
        for night in self.nights:
            if night.number == number:
                return night
        raise KeyError(number)

    def __iter__(self) -> Iterator[int]:
        return (night.number for night in self.nights)

    def __len__(self) -> int:
        return len(self.nights)

    @property
    def synthetic(self) -> bool:
        """Whether the nights are drawn at random, not measured."""
        return bool(self.nights) and all(night.synthetic for night in self.nights)

    @property
    def notes(self) -> list[str]:
        """Caveats, one sentence each: malformed lines, damaged files, nights left out."""
        lines = [str(reading) for reading in self.readings if not reading.clean]
        return lines + [f"night {number} is left out: {reason}" for number, reason in self.skipped.items()]
