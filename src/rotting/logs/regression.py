"""Regressions on the cells of a log, with a free level for each unit and arm.

Clicks, counts and amounts are modelled by quasi-Poisson regression with a logarithmic link (Wedderburn 1974): levels multiply,
and the variance of a reward is a multiple of its mean. Other rewards are modelled by weighted least squares: levels add. Levels
of thousands of units and arms are not estimated as coefficients but projected out. `Curves` has effects that depend on the arm
and the bin of time alone; `Pairs` has a number for each unit, arm and bin, beside a free calendar for each arm.

Rows that share a unit or a bin may have more in common than the model knows. So the variance of an estimate is the largest of
that of the model and those that add up the residuals of clusters first (Liang and Zeger 1986). The share of a cluster is raised
if it decides much of the estimate by itself, and Student's distribution with the effective number of clusters replaces the
normal one (Carter, Schnepel and Steigerwald 2017).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rotting.common.arrays import Floats, Ints
from rotting.common.statistics import t_critical
from rotting.logs.cells import Cells, sums_by

_TINY = 1e-300
_STEPS = 30  # of Newton's method
_CONVERGED = 1e-6
_SWEEPS = 100  # of alternating projections
_LEVELLED = 1e-5  # the relative change of a sweep that ends them
_LEAST_LEFT = 1e-4  # of the information on an effect: if levels leave less of it, they explain it
_LARGEST = 30.0  # of an effect on a logarithmic scale: exp(30) is far above every ratio
_FEWEST_IN_BIN, _FEWEST_BINS = 5, 30  # rewards, or events, in a bin of an arm, and pairs of such bins that are compared
_LEAST_SHARE = 0.1  # a cluster with more than 90 % of the information counts ten times, not more


class Estimate(NamedTuple):
    """An estimate, its standard error, and the effective number of clusters that the error rests on."""

    value: float
    error: float
    clusters: float = math.inf

    @property
    def z(self) -> float:
        """The estimate in standard errors."""
        return self.value / self.error

    def reach(self, level: float) -> float:
        """Return how far an interval of this level reaches on each side."""
        return critical(level, self.clusters) * self.error

    def times(self, factor: float) -> "Estimate":
        """Return the estimate in another unit."""
        return Estimate(self.value * factor, self.error * abs(factor), self.clusters)


def critical(level: float, clusters: float = math.inf) -> float:
    """Return how many standard errors an interval of this level reaches on each side.

    Example:
        >>> round(critical(0.95), 2), round(critical(0.95, 6.5), 2)
        (1.96, 2.57)
    """
    if clusters > 200:
        return NormalDist().inv_cdf((1 + level) / 2)
    return t_critical(max(int(clusters - 1), 2), level)


def _clustered(parts: Floats, shares: Floats) -> tuple[float, float]:
    """Return the variance of an estimate from the residuals of clusters and their information, and the effective clusters."""
    met = shares > 0
    number = int(met.sum())
    if number < 2:
        return 0.0, math.inf
    share = shares[met] / shares[met].sum()
    raised = parts[met] ** 2 / np.maximum(1 - share, _LEAST_SHARE)
    return float(raised.sum()) * number / (number - 1), float(1 / (share**2).sum())


def _dispersion(left: Floats, weight: Floats, rows: Floats, fitted: int, cells: Cells) -> float:
    """Return the variance of a reward over that of the model: Pearson's, but at least that of a single reward."""
    free = int((rows > 0).sum()) - fitted
    pearson = float((left**2 / np.maximum(weight, _TINY))[rows > 0].sum()) / max(free, 1)
    sparse = free < len(rows) or (cells.scale.ratios and weight.sum() < 0.2 * (rows > 0).sum())
    return max(cells.single if sparse and cells.single > 0 else max(pearson, cells.single), _TINY)


# --- Effects on arms and bins -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CurveFit:
    """Slopes of arms and a calendar, fitted to the groups of a `Curves`.

    The effect on arm i in bin b is `slope[i] * shape[i, b] + (basis @ calendar)[b]`.
    """

    curves: "Curves"
    shape: Floats  # [arm, bin]
    basis: Floats  # [bin, q]
    slope: Floats  # [arm]
    calendar: Floats  # [q]
    information: Floats  # [arm] of each slope, given the calendar
    mixed: Floats  # [arm, q] of slopes and calendar
    rest: Floats  # [q, q] the inverse of the information on the calendar that slopes leave
    mean: Floats  # [group, bin]
    residual: Floats  # [group, bin]
    dispersion: float

    def estimate(self, weights: Floats, clusters: Sequence[Ints], calendar: Floats | None = None) -> Estimate:
        """Return a weighted sum of the slopes, and of the calendar if it has weights, too.

        Args:
            weights: [arm].
            clusters: [group, bin] each: what may have more in common.
            calendar: [q].
        """
        known = np.where(self.information > 0, self.information, np.inf)
        own = weights / known
        toward = (np.zeros(self.basis.shape[1]) if calendar is None else calendar) - own @ self.mixed
        on_calendar = self.rest @ toward
        on_slopes = own - (self.mixed @ on_calendar) / known
        used = np.flatnonzero(on_slopes) if not on_calendar.any() else np.arange(weights.size)
        groups = slice(None) if used.size == weights.size else np.flatnonzero(np.isin(self.curves.arm, used))
        arm = self.curves.arm[groups]
        lean = on_slopes[arm, None] * self.shape[arm] + self.basis @ on_calendar
        mean = self.curves.weights(self.mean[groups], groups)
        lean = lean - (mean * lean).sum(axis=1, keepdims=True) / np.maximum(mean.sum(axis=1, keepdims=True), _TINY)
        parts, shares = lean * self.residual[groups], lean**2 * mean
        variance, effective = self.dispersion * float(shares.sum()), math.inf
        for cluster in clusters:
            which = cluster[groups].ravel()
            size = int(which.max(initial=0)) + 1
            found, number = _clustered(sums_by(which, parts.ravel(), size), sums_by(which, shares.ravel(), size))
            variance, effective = max(variance, found), min(effective, number)
        if not shares.any():  # nothing is known
            return Estimate(0.0, math.inf)
        value = float(weights @ self.slope) + (0.0 if calendar is None else float(calendar @ self.calendar))
        return Estimate(value, math.sqrt(max(variance, _TINY)), effective)


class Curves:
    """The cells of a log by group, a unit and an arm, and bin of time; groups that say nothing about changes are left out."""

    def __init__(self, cells: Cells, keep: Floats | None = None) -> None:
        """Take the cells; `keep` [arm, bin] leaves out the others."""
        pairs, group = np.unique(cells.pair, return_inverse=True)
        shape = pairs.size, cells.n_bins
        place = group * cells.n_bins + cells.bin
        rows, sums = (sums_by(place, each, shape[0] * shape[1]).reshape(shape) for each in (cells.exposure, cells.sums))
        if keep is not None:
            rows, sums = rows * keep[pairs % cells.n_arms], sums * keep[pairs % cells.n_arms]
        useful = (rows > 0).sum(axis=1) > 1
        if cells.scale.ratios:
            useful &= sums.sum(axis=1) > 0
        self.cells, self.ratios = cells, cells.scale.ratios
        self.rows, self.sums = rows[useful], sums[useful]
        self.arm, self.unit = pairs[useful] % cells.n_arms, pairs[useful] // cells.n_arms
        self.group = np.where(useful, np.cumsum(useful) - 1, -1)[group]  # of each cell; -1 if it is left out
        self.total = self.sums.sum(axis=1, keepdims=True)
        bins = np.arange(cells.n_bins)
        self.by_bin = np.broadcast_to(bins, self.rows.shape)
        # Units may have trends of their own. If arms were chosen by unit, these are not those of the other arms.
        blocks, parts = (1, 1) if cells.targeted else (6, cells.n_bins)
        self.by_unit_and_block, self.by_unit_and_bin = (
            [self.unit[:, None] * number + bins * number // cells.n_bins] if cells.has_units else []
            for number in (blocks, parts)
        )

    def trend(self) -> Estimate:
        """Return the linear change of all arms together over the log."""
        fit = self.fit(None, (self.cells.x - 0.5)[:, None])
        return fit.estimate(np.zeros(self.cells.n_arms), [self.by_bin, *self.by_unit_and_block], np.ones(1))

    def weights(self, mean: Floats, groups: slice | Ints = slice(None)) -> Floats:
        """Return the information of each cell, up to the dispersion."""
        return mean if self.ratios else self.rows[groups]

    def means(self, effect: Floats) -> Floats:
        """Return the mean sum of each cell, given the effects [arm, bin], with the level of each group fitted."""
        effect = effect[self.arm]
        if self.ratios:
            mean = self.rows * np.exp(np.clip(effect, -_LARGEST, _LARGEST))
            return np.asarray(mean * self.total / np.maximum(mean.sum(axis=1, keepdims=True), _TINY))
        size = np.maximum(self.rows.sum(axis=1, keepdims=True), _TINY)
        return np.asarray(self.rows * (effect + (self.total - (self.rows * effect).sum(axis=1, keepdims=True)) / size))

    def blocks(self, mean: Floats) -> tuple[Floats, Floats]:
        """Return the residual [arm, bin] and the information [arm, bin, bin] that are left after the levels of the groups."""
        n_arms, n_bins = self.cells.n_arms, self.cells.n_bins
        residual, information = np.zeros((n_arms, n_bins)), np.zeros((n_arms, n_bins, n_bins))
        weight = self.weights(mean)
        scaled = weight / np.sqrt(np.maximum(weight.sum(axis=1, keepdims=True), _TINY))
        order = np.argsort(self.arm, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(self.arm[order])) + 1):
            if rows.size:
                i = self.arm[rows[0]]
                residual[i] = (self.sums[rows] - mean[rows]).sum(axis=0)
                information[i] = np.diag(weight[rows].sum(axis=0)) - scaled[rows].T @ scaled[rows]
        return residual, information

    def fit(self, shape: Floats | None = None, basis: Floats | None = None) -> CurveFit:
        """Fit slopes along the shapes [arm, bin], and a calendar with this basis [bin, q]; None leaves either out."""
        n_arms, n_bins = self.cells.n_arms, self.cells.n_bins
        shape = np.zeros((n_arms, n_bins)) if shape is None else shape
        basis = np.zeros((n_bins, 0)) if basis is None else basis
        slope, calendar = np.zeros(n_arms), np.zeros(basis.shape[1])
        for _ in range(_STEPS):
            mean = self.means(slope[:, None] * shape + basis @ calendar)
            residual, blocks = self.blocks(mean)
            information, mixed, rest = _eliminate(blocks, shape, basis)
            known = np.where(information > 0, information, np.inf)
            score = (residual * shape).sum(axis=1)
            step_calendar = rest @ (basis.T @ residual.sum(axis=0) - (score / known) @ mixed)
            step = (score - mixed @ step_calendar) / known
            largest = float(max(np.abs(step).max(initial=0.0), np.abs(step_calendar).max(initial=0.0)))
            if self.ratios:
                shrink = min(1.0, 2.0 / max(largest, _TINY))
                step, step_calendar = shrink * step, shrink * step_calendar
            slope, calendar = (
                np.clip(slope + step, -_LARGEST, _LARGEST) if self.ratios else slope + step,
                calendar + step_calendar,
            )
            if not self.ratios or largest < _CONVERGED:
                break
        mean = self.means(slope[:, None] * shape + basis @ calendar)
        left, fitted = self.sums - mean, self.arm.size + int((information > 0).sum()) + max(basis.shape[1] - 1, 0)
        weight = self.weights(mean)
        dispersion = max(_dispersion(left, weight, self.rows, fitted, self.cells), self._dispersion_of_bins(left, weight))
        return CurveFit(self, shape, basis, slope, calendar, information, mixed, rest, mean, left, dispersion)

    def _dispersion_of_bins(self, left: Floats, weight: Floats) -> float:
        """Return the dispersion of neighbouring bins of an arm, all units together: a day may be good for one arm alone."""
        place = (self.arm[:, None] * self.cells.n_bins + np.arange(self.cells.n_bins)).ravel()
        shape = self.cells.n_arms, self.cells.n_bins
        left, weight = (sums_by(place, each.ravel(), shape[0] * shape[1]).reshape(shape) for each in (left, weight))
        near = np.minimum(weight[:, 1:], weight[:, :-1]) >= _FEWEST_IN_BIN * self.cells.single
        if near.sum() < _FEWEST_BINS or not self.cells.single:
            return 0.0
        weight = np.maximum(weight, _TINY)
        return float((np.diff(left / weight)[near] ** 2 / (1 / weight[:, 1:] + 1 / weight[:, :-1])[near]).mean())


def _eliminate(blocks: Floats, shape: Floats, basis: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the information on slopes, that on slopes and calendar, and the inverse of what is left for the calendar."""
    along = np.einsum("abc,ac->ab", blocks, shape)
    information = (along * shape).sum(axis=1)
    information = np.where(information > 1e-9 * information.max(initial=0.0), information, 0.0)
    mixed = np.where(information[:, None] > 0, along @ basis, 0.0)
    known = np.where(information > 0, information, np.inf)
    left = basis.T @ blocks.sum(axis=0) @ basis - mixed.T @ (mixed / known[:, None])
    rest = np.linalg.pinv(left, rcond=1e-8, hermitian=True) if basis.shape[1] else np.zeros((0, 0))
    return information, mixed, rest


# --- Effects on cells ---------------------------------------------------------------------------------------------------------


class Beside(NamedTuple):
    """The coefficient of a number of each group and bin, beside a free calendar for each arm.

    Attributes:
        value: for all arms together.
        error: its standard error if groups that share a unit have nothing more in common.
        clustered: the same with the error clustered by unit.
        by_arm: [arm] the coefficient of each arm, NaN if its rewards say nothing.
        errors: [arm] their standard errors.
    """

    value: float
    error: float
    clustered: Estimate
    by_arm: Floats
    errors: Floats


class Pairs:
    """The groups of a `Curves`, with a free level for each group, and for each arm and bin."""

    def __init__(self, curves: Curves, arms: NDArray[np.bool_]) -> None:
        """Take the groups of some arms [arm]."""
        chosen = np.flatnonzero(arms[curves.arm])
        order = chosen[np.argsort(curves.arm[chosen], kind="stable")]
        self.curves, self.order = curves, order
        self.arm, self.unit, self.rows, self.sums = (
            curves.arm[order],
            curves.unit[order],
            curves.rows[order],
            curves.sums[order],
        )
        self.first = np.flatnonzero(np.concatenate([[True], np.diff(self.arm) > 0])) if order.size else order
        self.place = np.repeat(np.arange(self.first.size), np.diff(np.append(self.first, order.size)))
        self.mean = self._levels(np.zeros(self.rows.shape))
        fitted = order.size + int((self._by_arm(self.rows) > 0).sum())
        self.dispersion = _dispersion(self.sums - self.mean, self._weight(self.mean), self.rows, fitted, curves.cells)

    def _by_arm(self, values: Floats) -> Floats:
        return np.asarray(np.add.reduceat(values, self.first, axis=0))

    def _weight(self, mean: Floats) -> Floats:
        return mean if self.curves.ratios else self.rows

    def _levels(self, offset: Floats) -> Floats:
        """Return the mean sum of each cell, given an offset [group, bin] and fitted levels (Deming and Stephan 1940)."""
        if not self.curves.ratios:
            left = self.project(self.sums / np.maximum(self.rows, _TINY) - offset, self.rows)
            return np.asarray(self.rows * offset + self.sums - self.rows * left)
        mean: Floats = self.rows * np.exp(np.clip(offset, -_LARGEST, _LARGEST))
        total, in_bin = self.sums.sum(axis=1, keepdims=True), self._by_arm(self.sums)
        for _ in range(_SWEEPS):
            mean = mean * (in_bin / np.maximum(self._by_arm(mean), _TINY))[self.place]
            ratio = total / np.maximum(mean.sum(axis=1, keepdims=True), _TINY)
            mean = np.asarray(mean * ratio)
            if np.abs(ratio[total > 0] - 1).max(initial=0.0) < _LEVELLED:
                break
        return mean

    def project(self, values: Floats, weight: Floats) -> Floats:
        """Return what is left of values [group, bin] after the weighted means of every group, and of every arm and bin."""
        left = np.where(weight > 0, values, 0.0)
        own, shared = np.maximum(weight.sum(axis=1, keepdims=True), _TINY), np.maximum(self._by_arm(weight), _TINY)
        for _ in range(_SWEEPS):
            left = left - (self._by_arm(weight * left) / shared)[self.place]
            moved = (weight * left).sum(axis=1, keepdims=True) / own
            left = left - moved
            if np.abs(moved).max(initial=0.0) < _LEVELLED * max(float(np.abs(left).max(initial=0.0)), _TINY):
                break
        return np.where(weight > 0, left, 0.0)

    def beside(self, column: Floats, steps: int = 1) -> Beside | None:
        """Return the coefficient of a column [group of the curves, bin]; None if levels explain the column.

        On a logarithmic scale, Newton's method takes this many steps from no effect.
        """
        column, value = column[self.order], 0.0
        mean = self.mean
        for step in range(steps if self.curves.ratios else 1):
            mean = self._levels(value * column) if step else mean
            weight, residual = self._weight(mean), self.sums - mean
            left = self.project(column, weight)
            by_arm, scores = self._by_arm((weight * left**2).sum(axis=1)), self._by_arm((left * residual).sum(axis=1))
            information = float(by_arm.sum())
            if information <= _LEAST_LEFT * float((weight * column**2).sum()):
                return None
            change = float(scores.sum()) / information
            value += float(np.clip(change, -2.0, 2.0)) if self.curves.ratios else change
        if not self.curves.ratios:
            residual = residual - weight * value * left
        error = math.sqrt(self.dispersion / information)
        n_units = self.curves.cells.n_units
        parts = sums_by(self.unit, (left * residual).sum(axis=1), n_units) / information
        found, clusters = _clustered(parts, sums_by(self.unit, (weight * left**2).sum(axis=1), n_units))
        clustered = Estimate(value, math.sqrt(max(found, error**2)), clusters)
        own, errors = np.full(self.curves.cells.n_arms, math.nan), np.full(self.curves.cells.n_arms, math.inf)
        told = by_arm > _LEAST_LEFT * information
        arms = self.arm[self.first][told]
        own[arms] = (value if self.curves.ratios and steps > 1 else 0.0) + scores[told] / by_arm[told]
        errors[arms] = np.sqrt(self.dispersion / by_arm[told])
        return Beside(value, error, clustered, own, errors)

    def moved(self, column: Floats, along: Floats, bins: NDArray[np.bool_]) -> float:
        """Return the slope of a column along a number of each bin, within groups and some bins; 0 if it falls."""
        weight = np.where(bins, self._weight(self.mean), 0.0)
        total = np.maximum(weight.sum(axis=1, keepdims=True), _TINY)
        x, column = np.broadcast_to(along, weight.shape), column[self.order]
        x, column = (each - (weight * each).sum(axis=1, keepdims=True) / total for each in (x, column))
        return max(float((weight * x * column).sum()) / max(float((weight * x**2).sum()), _TINY), 0.0)
