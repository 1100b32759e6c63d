"""The rows of a log in cells of unit, arm, own pulls and time: all that is needed to tell the two clocks apart."""

from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.logs.log import Log

MOST_UNITS = 100  # more units are joined, those of similar traffic together: the cells must fit into memory
MOST_ARMS = 20  # the work grows with the cube of their number, and the other arms have few pulls
# A fall inside a bin of one clock passes for wear along the other one. With 12 bins of pulls, 2 of 20 logs of policies that
# learn from Gaussian rewards, where only pulls matter, seemed to wear out with both clocks; with 24, none did.
PULL_BINS = 24
TIME_BINS = 24


class Rows(NamedTuple):
    """Rows with a reward, of the arms with the most pulls."""

    arm: Ints
    unit: Ints  # from the busiest unit on
    reward: Floats
    own_pulls: Floats
    time: Floats
    n_arms: int
    n_units: int


class UnitCells(NamedTuple):
    """The number of rows, the sum of their rewards and of the squares of these: [unit, arm, bin of pulls, bin of time]."""

    rows: Floats
    rewards: Floats
    squares: Floats


def select_rows(log: Log) -> Rows:
    """Return the rows with a reward, of the arms with the most pulls; units of similar traffic are joined if there are many."""
    pulls = np.bincount(log.arm[log.known], minlength=len(log.arms))
    arms = np.argsort(-pulls, kind="stable")[:MOST_ARMS]
    arms = arms[pulls[arms] > 0]
    new_arm = np.full(len(log.arms), -1)
    new_arm[arms] = np.arange(arms.size)
    kept = log.known & (new_arm[log.arm] >= 0)
    traffic = np.bincount(log.unit[kept], minlength=len(log.units))
    met = int((traffic > 0).sum())
    groups = min(met, MOST_UNITS)
    new_unit = np.empty(traffic.size, np.int64)
    new_unit[np.argsort(-traffic, kind="stable")] = np.minimum(np.arange(traffic.size) * groups // max(met, 1), groups - 1)
    clocks = log.own_pulls[kept].astype(np.float64), log.time[kept]
    return Rows(new_arm[log.arm[kept]], new_unit[log.unit[kept]], log.reward[kept], *clocks, arms.size, groups)


def pull_bins(rows: Rows) -> Ints:
    """Return the bin of own pulls of each row.

    The first bins hold fewer rows than the last ones, since arms wear out fastest at first, and a policy that learns pulls its
    best arm long after it has worn out.
    """
    return _bins(rows, rows.own_pulls, np.linspace(0, 1, PULL_BINS + 1)[1:-1] ** 2)


def time_bins(rows: Rows) -> Ints:
    """Return the bin of time of each row."""
    return _bins(rows, rows.time, np.linspace(0, 1, TIME_BINS + 1)[1:-1])


def _bins(rows: Rows, clock: Floats, quantiles: Floats) -> Ints:
    """Return the bin of each row among those of its arm; equal values share a bin."""
    found = np.zeros(rows.arm.size, np.int64)
    for arm in range(rows.n_arms):
        own = rows.arm == arm
        found[own] = np.searchsorted(np.unique(np.quantile(clock[own], quantiles)), clock[own], side="right")
    return found


def count_cells(rows: Rows) -> UnitCells:
    """Return the rows of each cell, and their rewards."""
    shape = rows.n_units, rows.n_arms, PULL_BINS, TIME_BINS
    places = np.ravel_multi_index((rows.unit, rows.arm, pull_bins(rows), time_bins(rows)), shape)
    size = int(np.prod(shape))
    tables = (np.bincount(places, values, size) for values in (None, rows.reward, rows.reward**2))
    return UnitCells(*(np.asarray(each, np.float64).reshape(shape) for each in tables))
