"""How long an arm lasts: after how many pulls, or how much time, it pays half of what it paid at first.

The mean of an arm is a level of each unit times a curve that starts at 1 and falls to a floor: exponentially, linearly or at
once. Every curve of these three families is weighed by its likelihood, in which the levels of the units cancel out, and the
interval contains the half-lives of all curves that are nearly as likely as the best one; likelihoods are tempered by the
dispersion that the best curve leaves (Wedderburn 1974). If one of them never falls to a half
while the log lasts, there is no half-life. docs/diagnosis.md shows how often the intervals hold the truth.
"""

import math
from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.logs.cells import sums_by

BINS = 48  # of the clock, each with equally many rows
_NEARLY = 3.0  # by which the logarithms of two likelihoods may differ: half of the 95 % quantile of chi-square with 2 degrees
_GRID = 24  # places where a curve falls, and depths to which it falls, that are weighed at once
_ZOOMS = 4  # after each, the grid covers the curves that are nearly as likely as the best one
_FLOOR = 1e-3  # of a curve: a reward below it is still possible


class HalfLife(NamedTuple):
    """When an arm pays half of what it paid at first, on its clock, with an interval. If unknown: NaN, and `why`."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    why: str = ""


def _exponential(bounds: Floats, pace: Floats, depth: Floats) -> tuple[Floats, Floats]:
    half = -pace * np.log1p(-0.5 / np.maximum(depth, 0.5 + 1e-9))
    return 1 + depth * np.expm1(-(bounds[1:] + bounds[:-1]) / 2 / pace), half


def _linear(bounds: Floats, end: Floats, depth: Floats) -> tuple[Floats, Floats]:
    return 1 - depth * np.minimum((bounds[1:] + bounds[:-1]) / 2 / end, 1.0), 0.5 * end / np.maximum(depth, 0.5)


def _abrupt(bounds: Floats, at: Floats, depth: Floats) -> tuple[Floats, Floats]:
    return 1 - depth * np.clip((bounds[1:] - at) / np.diff(bounds), 0.0, 1.0), at


# Each family maps the bounds of the bins, and the place and the depth of falls, to the share of the first level that is left in
# each bin [curve, bin], and to the half-lives of curves that fall below a half. Its two numbers are the range of places, in
# shares of the clock.
_FAMILIES = (_exponential, 1 / 300, 3.0), (_linear, 1 / 100, 2.0), (_abrupt, 1e-4, 1.0)


def half_life(clock: Floats, unit: Ints, reward: Floats) -> HalfLife:
    """Return the half-life of an arm from its rows.

    Args:
        clock: own pulls, or the time since the first row.
        unit: the unit of each row.
        reward: its reward, which is not negative.

    The ends of the interval are those of bins.

    Example:
        >>> n = np.arange(3_000.0) % 300
        >>> found = half_life(n, np.arange(3_000) // 300, np.where(n < 100, 2.0, 0.5))
        >>> round(found.value), found.low < 100 < found.high
        (100, True)
    """
    bounds = np.unique(np.quantile(clock, np.linspace(0.0, 1.0, BINS + 1)))
    bounds[0], end = 0.0, float(bounds[-1])
    if bounds.size < 4:
        return HalfLife(why="the log has too little of its life")
    which, unit = np.unique(unit, return_inverse=True)
    bins = bounds.size - 1
    place = unit * bins + np.clip(np.searchsorted(bounds, clock, side="right") - 1, 0, bins - 1)
    rows, paid = (sums_by(place, each, which.size * bins).reshape(-1, bins) for each in (np.ones(clock.size), reward))
    boxes = [np.array([[math.log(first * end), math.log(last * end)], [0.0, 1.0]]) for _, first, last in _FAMILIES]
    dispersion = 1.0
    for _ in range(_ZOOMS):
        likely, halves = np.zeros((len(boxes), _GRID**2)), np.zeros((len(boxes), _GRID**2))
        grids = [np.array(np.meshgrid(*(np.linspace(low, high, _GRID) for low, high in box))).reshape(2, -1) for box in boxes]
        for k, (place, depth) in enumerate(grids):
            curves, half = _FAMILIES[k][0](bounds, np.exp(place)[:, None], depth[:, None])
            curves = np.maximum(curves, _FLOOR)
            likely[k] = np.log(curves) @ paid.sum(axis=0) - np.log(curves @ rows.T) @ paid.sum(axis=1)
            if likely[k].max() == likely[: k + 1].max():
                mean = rows * curves[likely[k].argmax()]
            halves[k] = np.where((depth > 0.5) & (half[:, 0] <= end), half[:, 0], math.inf)
        mean = mean * (paid.sum(axis=1) / mean.sum(axis=1))[:, None]
        seen = mean > 0
        dispersion = float(((paid - mean)[seen] ** 2 / mean[seen]).sum()) / max(int(seen.sum()) - which.size, 1)
        for k, (box, grid) in enumerate(zip(boxes, grids, strict=True)):
            near, margin = grid[:, likely[k] >= likely[k].max() - 2 * _NEARLY * dispersion], np.diff(box, axis=1)[:, 0] / _GRID
            boxes[k] = np.clip([near.min(axis=1) - margin, near.max(axis=1) + margin], box[:, 0], box[:, 1]).T
    near = halves[likely >= likely.max() - _NEARLY * dispersion]
    if not np.isfinite(near).all():
        return HalfLife(why="it may still pay more than half of what it paid at first")
    low, high = bounds[[np.searchsorted(bounds, near.min()) - 1, np.searchsorted(bounds, near.max())]]
    return HalfLife(float(halves.ravel()[likely.argmax()]), float(low), float(high))
