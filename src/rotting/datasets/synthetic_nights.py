"""Eight nights that resemble Yahoo!'s, for users without its files: drawn at random, and always the same.

A night has K articles, whose click probabilities fall during the night, each from its own start and by its own share, with a
slow fluctuation like that of a rolling mean; and traffic, which falls as people go to bed.
"""

from dataclasses import dataclass

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.datasets.clicklog import FIRST_SECOND
from rotting.datasets.nights import DISPLAYS, TIMESTAMP_SECONDS, TIMESTAMPS, Night, Nights
from rotting.kernels.random_numbers import derive_key, uniform

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
