"""News items whose shares fade: a restless problem from the Facebook feed of one topic over two days.

Data: N. Moniz, L. Torgo. Multi-source social feedback of online news feeds. 2018. UCI Machine Learning Repository no. 432,
CC BY 4.0.
"""

import csv

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import positive_int
from rotting.errors import InvalidValueError
from rotting.paper.datasets.files import Source, read_text
from rotting.problems import Piecewise, Problem
from rotting.problems.noise import Bernoulli

SOURCE = Source(
    "news-popularity/Facebook_Palestine.csv",
    "the UCI Machine Learning Repository, data set no. 432 (https://archive.ics.uci.edu/dataset/432)",
    "7606a665312cbd1aa79473fc9bb71748b03f479c8fa2467a897a3bbd810bb4a6",
)
SLICES = 144  # of 20 minutes: two days
FIRST_HOUR = 3  # slices before the game; an item first seen later would seem to gain all its shares at once
LEAST_SHARES = 10  # of an item, in the two days
GROUPS = 8
WINDOW = 9  # slices of a centred rolling mean: three hours


def news(rounds_per_slice: int = 200) -> Problem:
    """Return the restless problem of choosing among groups of news items while all of them age.

    An arm is a group of items. A pull shows one of them, and pays 1 when it gains a share within 20 minutes, else 0.

    - Items: those seen within their first hour that have ten shares or more after two days.
    - Groups: eight, of consecutive items in the file, which is about the order of publication. Nothing that happens after
      the first hour decides the group of an item.
    - Mean: the fraction of the group's items that gain a share in the slice, averaged over the three hours around it as
      the paper averages its click rates. So a reward is a draw from the data, of an item and of one of these slices, and
      it is Bernoulli without any assumption. (Counts of shares are not used: one item can gain a thousand in one slice,
      and would dominate the mean.)
    - Clock: slices 5 to 144 of the items' age, `rounds_per_slice` rounds each.

    The means fall from about 0.4 to 0.1, cross, and rise at times: they are not made monotone.

    Args:
        rounds_per_slice: the number of rounds in a slice of 20 minutes.

    Example:
        >>> problem = news()  # doctest: +SKIP
        >>> problem.kind, problem.n_arms, problem.horizon  # doctest: +SKIP
        ('restless', 8, 28000)
    """
    length = positive_int("rounds_per_slice", rounds_per_slice)
    rates = share_rates(read_text(SOURCE))
    starts = length * np.arange(rates.shape[1])
    return Problem.restless([Piecewise(row, starts) for row in rates], Bernoulli(), length * rates.shape[1], "news")


def share_rates(text: str) -> Floats:
    """Return how often an item of each group gains a share, `[group, slice]`, from the text of the file.

    Args:
        text: lines `IDLink, TS1, ..., TS144` of cumulative shares, -1 before the item was seen.
    """
    shares = _table(text)
    known = (shares[:, FIRST_HOUR] >= 0) & (shares[:, -1] >= LEAST_SHARES)
    if np.count_nonzero(known) < GROUPS:
        raise InvalidValueError(SOURCE.path, f"hold at least {GROUPS} usable items", int(np.count_nonzero(known)))
    gains = np.diff(shares[known, FIRST_HOUR:], axis=1) > 0
    return np.array([_rolling_mean(group.sum(axis=0)) / len(group) for group in np.array_split(gains, GROUPS)])


def _table(text: str) -> Ints:
    header, *rows = csv.reader(text.splitlines()) if text else [[]]
    if header != ["IDLink", *(f"TS{k}" for k in range(1, SLICES + 1))]:
        raise InvalidValueError(SOURCE.path, f"have the columns IDLink, TS1, ..., TS{SLICES}", ", ".join(header)[:60])
    for line, row in enumerate(rows, start=2):
        if len(row) != SLICES + 1:
            raise InvalidValueError(SOURCE.path, f"have {SLICES + 1} fields on each line", len(row), hint=f" on line {line}")
    try:
        shares = np.array([row[1:] for row in rows], dtype=np.int64).reshape(-1, SLICES)
    except ValueError as error:
        raise InvalidValueError(SOURCE.path, "hold whole numbers", None, got=f"other values: {error}") from error
    falls = np.argwhere(np.diff(shares, axis=1) < 0)
    if len(falls):
        raise InvalidValueError(SOURCE.path, "hold cumulative shares", None, got=f"shares that fall on line {falls[0, 0] + 2}")
    return shares


def _rolling_mean(counts: Ints) -> Floats:
    """Return the mean over the slices around each one; over fewer at the ends."""
    totals = np.concatenate([[0], np.cumsum(counts)])  # whole numbers, so that equal means are exactly equal
    at = np.arange(len(counts))
    low, high = np.maximum(at - WINDOW // 2, 0), np.minimum(at + WINDOW // 2 + 1, len(counts))
    means: Floats = (totals[high] - totals[low]) / (high - low)
    return means
