"""Nights of news articles: their click probabilities over twelve hours, as restless problems; and eight synthetic nights."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.json_data import JsonDict
from rotting.errors import InvalidValueError
from rotting.policies.kernels.random_numbers import derive_key, uniform
from rotting.problems import Piecewise, Problem
from rotting.problems.noise import Binomial

DISPLAYS = 10  # per round: the learner sees the clicks of ten users at once
VARIANCE = 0.29  # sigma^2 of the paper's policies on nights, the variance of Binomial(10, 0.03)
VARIATION = 0.04  # V of the paper's Exp3.S on nights
TIMESTAMP_SECONDS = 300
TIMESTAMPS = 144  # of a night
NIGHTS = range(2, 10)
FIRST_SECOND = 1_241_049_600  # 2009-04-30 00:00 UTC, the day before the first file


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


# --- Synthetic nights ------------------------------------------------------------------------------------------------------
# They resemble Yahoo!'s, for users without its files: drawn at random, and always the same. A night has K articles, whose click
# probabilities fall during the night, each from its own start and by its own share, with a slow fluctuation like that of a
# rolling mean; and traffic, which falls as people go to bed.

HOUR = 60 * 60
DAY = 24 * HOUR
SEED = 2
SMOOTH = 43  # timestamps in which an article gets 30,000 displays on a usual night: the length of the fluctuation
DIGITS = 6  # of a probability; mathematical libraries differ only in digits far behind


@dataclass(frozen=True)
class _Shape:
    """How a night is drawn: the numbers of articles and rounds, and where the curves start.

    The first `near` articles start between `top - band` and `top`, the others between `LOW` and `below`.
    """

    K: int
    T: int
    top: float
    near: int
    band: float
    below: float


LOW = 0.034
# The horizons are ordered like the running times that the paper prints for its nights.
SHAPES = {
    2: _Shape(K=14, T=168_000, top=0.0540, near=8, band=0.0040, below=0.0490),
    3: _Shape(K=11, T=165_000, top=0.0560, near=3, band=0.0050, below=0.0470),
    4: _Shape(K=12, T=236_000, top=0.0600, near=2, band=0.0040, below=0.0500),
    5: _Shape(K=16, T=232_000, top=0.0580, near=4, band=0.0060, below=0.0500),
    6: _Shape(K=13, T=240_000, top=0.0550, near=5, band=0.0050, below=0.0480),
    7: _Shape(K=10, T=196_000, top=0.0680, near=1, band=0.0000, below=0.0480),
    8: _Shape(K=15, T=234_000, top=0.0620, near=3, band=0.0080, below=0.0500),
    9: _Shape(K=8, T=156_000, top=0.0570, near=2, band=0.0050, below=0.0460),
}


def synthetic_nights() -> Nights:
    """Return eight drawn nights, numbered 2 to 9 like the paper's.

    On night 2, which is hard, many articles are close and the best one changes several times; on night 7, which is easy, one
    leads all night.

    Example:
        >>> nights = synthetic_nights()
        >>> nights[2], nights[7]
        (Night(2, synthetic, K=14, T=168000), Night(7, synthetic, K=10, T=196000))
        >>> nights[2].label
        'night 2 (synthetic)'
    """
    return Nights(tuple(_draw(number, shape) for number, shape in SHAPES.items()))


def _draw(number: int, shape: _Shape) -> Night:
    key = derive_key(SEED, f"synthetic-night-{number}")
    curves = np.array([_curve(key, article, shape) for article in range(shape.K)])
    # Shuffled, so that the position of an article says nothing about its quality.
    places = np.argsort([uniform(key, 0, article) for article in range(shape.K)])
    start = FIRST_SECOND + (number - 1) * DAY + 22 * HOUR
    timestamps = start + TIMESTAMP_SECONDS * np.arange(TIMESTAMPS)
    traffic = _traffic(key, shape.K + 1, DISPLAYS * shape.T)
    return Night(number, tuple(range(1, shape.K + 1)), timestamps, curves[places], traffic, synthetic=True)


def _draws(key: int, stream: int, size: int) -> Floats:
    return np.array([uniform(key, stream, draw) for draw in range(size)])


def _curve(key: int, article: int, shape: _Shape) -> Floats:
    height, fall, bend, *noise = _draws(key, article + 1, 3 + TIMESTAMPS + SMOOTH)
    if article < shape.near:
        start = shape.top - shape.band * height
    else:
        start = LOW + (shape.below - LOW) * height
    share = 0.24 + 0.12 * fall
    x = np.arange(TIMESTAMPS) / (TIMESTAMPS - 1)
    smooth = x * x * (3.0 - 2.0 * x)
    mixed = bend * x + (1.0 - bend) * smooth
    # A rolling mean of 30,000 clicks of probability p has standard deviation sqrt(p (1 - p) / 30,000).
    means = np.convolve(np.array(noise) - 0.5, np.ones(SMOOTH) / SMOOTH, "valid")[:TIMESTAMPS]
    fluctuation = means * np.sqrt(12.0 * SMOOTH) * np.sqrt(start * (1.0 - start) / 30_000)
    curve: Floats = np.round(start * (1.0 - share * mixed) + fluctuation, DIGITS)
    return curve


def _traffic(key: int, stream: int, total: int) -> Ints:
    """Return displays per timestamp: falling to a quarter at 4 am, then rising a little."""
    x = np.arange(TIMESTAMPS) / (TIMESTAMPS - 1)
    low = 10 / 12
    evening = np.minimum(x / low, 1.0)
    weights = 1.0 - 0.75 * evening * evening * (3.0 - 2.0 * evening) + 0.8 * np.maximum(x - low, 0.0)
    weights *= 0.96 + 0.08 * _draws(key, stream, TIMESTAMPS)
    traffic: Ints = np.floor(total * (weights / weights.sum())).astype(np.int64)
    traffic[0] += total - traffic.sum()
    return traffic
