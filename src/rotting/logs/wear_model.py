"""A model of wear along two clocks: a level for each unit, a level for each arm, and two curves for each arm.

The predictor of a row is `unit(u) + arm(i) + pulls(i, n) + time(i, t)`. If units multiply the rewards of an arm, the predictor
is the logarithm of the mean reward. If they add to them, it is the mean reward itself. The levels of units and arms are free.

A curve starts at 0 and changes from bin to bin by independent normal steps. Over all bins it changes by `-scale` on average,
with a standard deviation of `scale`: it may fall at once, little by little, or hardly. A scale of 0 says that the clock does
not matter.

A unit may prefer some arms. Its taste is a normal effect on the level of each arm, whose variance is estimated. Without tastes,
such preferences would look like wear with pulls, since only busy units pull an arm often.

The policy that wrote the log may have learned from the rewards. Given the rewards before, its choice of an arm says nothing
about the curves, so the likelihood of the rewards does not depend on it.
"""

import math
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
# These constants keep the arithmetic finite, and end the iterations. They do not decide a verdict: tests/logs/test_clocks.py
# checks that other values, such as twice the iterations or a tenth of CONVERGED, change no probability by 0.01.
MAX_ITERATIONS = 30  # of Fisher scoring; it needs about 8
CONVERGED = 1e-4  # the largest change of a coefficient in the last iteration; curves of interest fall by 0.1 and more
TASTE_ITERATIONS = 3  # of the estimate of the variance of tastes, which hardly changes after the second one
MAX_STEP = 1.0  # of a coefficient in one iteration, so that Fisher scoring does not overshoot
MIN_RELATIVE = 1e-3  # the least level or variance of an arm, relative to those of all arms: an arm may have no click at all
MIN_VARIANCE = 1e-6  # of an arm, relative to the square of a typical reward: changes of 0.1 % are no wear of interest
FLAT_PRECISION = 1e-6  # the precision of a level before any reward, so that an empty unit has a level too
MAX_LOG_MEAN = 50.0  # exp(50) is 5e21: far above every mean in terms of a typical reward, and its square is a finite number

PULL_STEPS = slice(1, PULL_BINS)  # of the curve over pulls, among the coefficients of an arm; the first is its level
TIME_STEPS = slice(PULL_BINS, PULL_BINS + TIME_BINS - 1)
COEFFICIENTS = PULL_BINS + TIME_BINS - 1  # of an arm


# --- The rows of a log in cells of unit, arm, own pulls and time --------------------------------------------------------------


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


# --- The model ----------------------------------------------------------------------------------------------------------------


def _design() -> Floats:
    """Return [bin, coefficient]: the bins of pulls hold the level and the steps so far, those of time their steps so far."""
    found = np.zeros((PULL_BINS + TIME_BINS, COEFFICIENTS))
    found[:PULL_BINS, :PULL_BINS] = np.tri(PULL_BINS)
    found[PULL_BINS:, TIME_STEPS] = np.tri(TIME_BINS, TIME_BINS - 1, -1)
    return found


DESIGN = _design()


class Fit(NamedTuple):
    """The log-likelihood around the posterior mode, up to a constant: `linear @ x - x @ information @ x / 2`.

    The coefficients x are the levels of the units but the first one, then for each arm its level, its steps over pulls and its
    steps over time.
    """

    linear: Floats
    information: Floats
    coefficients: Floats  # the mode, before the tastes of units
    dispersion: float  # the variance of rewards, relative to the mean reward if they are counted
    taste_variance: float  # of what a unit adds to the predictor of an arm
    heterogeneity: float  # how much units differ between the halves of time: standard normal if only in their levels
    error: float  # the sum of the squared errors, relative to the variance of the rewards of the arm


def step_prior(pulls: float, time: float) -> tuple[Floats, Floats]:
    """Return the means and the variances of the coefficients of an arm for curves of these scales; both are 0 for its level."""
    means, variances = np.zeros(COEFFICIENTS), np.zeros(COEFFICIENTS)
    for steps, scale in ((PULL_STEPS, pulls), (TIME_STEPS, time)):
        number = steps.stop - steps.start
        means[steps], variances[steps] = -scale / number, scale**2 / number
    return means, variances


class WearModel:
    """The likelihood of the rewards of a log.

    Args:
        cells: the rewards of each cell, in terms of a typical reward.
        multiplicative: whether units multiply the rewards of an arm, or add to them. The mean of every arm must be positive if
            they multiply.
        counted: whether the variance of a reward grows with its mean, as that of clicks and counts does, or is constant.
    """

    def __init__(self, cells: UnitCells, multiplicative: bool, counted: bool) -> None:
        self.cells, self.multiplicative, self.counted = cells, multiplicative, counted
        self.n_units, self.n_arms = cells.rows.shape[:2]
        rows, rewards, squares = (each.sum(axis=(0, 2, 3)) for each in cells)
        floor = MIN_RELATIVE * abs(rewards.sum()) / rows.sum()  # for arms without a single click
        self.levels = np.maximum(rewards / rows, floor) if multiplicative or counted else rewards / rows
        variances = np.maximum(squares / rows - (rewards / rows) ** 2, 0.0)
        self.variances = np.maximum(variances, max(MIN_RELATIVE * variances.mean(), MIN_VARIANCE))
        self.spread = float((rows @ (self.variances / self.levels if counted else self.variances)) / rows.sum())

    def fit(self, scale: float) -> Fit:
        """Return the likelihood around the posterior mode for curves of this scale on both clocks, by Fisher scoring."""
        means, variances = step_prior(scale, scale)
        arms = np.tile(means, (self.n_arms, 1))
        arms[:, 0] = (np.log(self.levels) if self.multiplicative else self.levels) + scale
        centre = np.concatenate([np.zeros(self.n_units - 1), arms.ravel()])
        own = np.concatenate([[FLAT_PRECISION], 1 / variances[1:]])
        precision = np.concatenate([np.full(self.n_units - 1, FLAT_PRECISION), np.tile(own, self.n_arms)])
        x = centre
        for _ in range(MAX_ITERATIONS):
            _, slope, weight = self._derivatives(x)
            uphill = _sums_by_coefficient(slope) / self.spread - precision * (x - centre)
            step = np.linalg.solve(_information(weight) / self.spread + np.diag(precision), uphill)
            largest = float(np.abs(step).max())
            x = x + (step * min(1.0, MAX_STEP / max(largest, MAX_STEP)) if self.multiplicative else step)
            if largest < CONVERGED:
                break
        mean, slope, weight = self._derivatives(x)
        dispersion, heterogeneity = self._dispersion(mean)
        taste_variance, information, linear = self._with_tastes(x, slope / dispersion, weight / dispersion, precision, centre)
        error = float((self._squared_errors(mean).sum(axis=(0, 2, 3)) / self.variances).sum())
        return Fit(linear, information, x, dispersion, taste_variance, heterogeneity, error)

    def _with_tastes(
        self, x: Floats, slope: Floats, weight: Floats, precision: Floats, centre: Floats
    ) -> tuple[float, Floats, Floats]:
        """Return the variance of the tastes of units, and the information and the linear part that they leave.

        Two estimates take turns: the variance from what the curves leave unexplained of each arm in each unit, and the curves
        given the variance.
        """
        plain, gathered = _information(weight), _sums_by_coefficient(slope)
        weights, left = weight.sum(axis=(2, 3)), slope.sum(axis=(2, 3))  # [unit, arm]
        parts = _weights_by_pair(weight)  # [unit and arm, coefficient]
        met = int((weights > 0).sum())
        share = met / max(met - self.n_units - self.n_arms, 1)  # each unit and each arm has a level, which takes up some of it
        variance, mode = 0.0, x
        for _ in range(TASTE_ITERATIONS):
            residual = left.ravel() - parts @ (mode - x)
            variance = max(0.0, float((share * residual**2).sum() - weights.sum()) / float((weights**2).sum()))
            taken = variance / (1 + variance * weights.ravel())  # what a taste takes of the information on a level
            information = plain - parts.T @ (taken[:, None] * parts)
            uphill = gathered - parts.T @ (taken * left.ravel())
            mode = x + np.linalg.solve(information + np.diag(precision), uphill - precision * (x - centre))
        return variance, information, uphill + information @ x

    def _derivatives(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the mean of each cell, and the first and minus the second derivative of its log-likelihood."""
        units = np.concatenate([[0.0], x[: self.n_units - 1]])
        bins = x[self.n_units - 1 :].reshape(self.n_arms, COEFFICIENTS) @ DESIGN.T
        predictor = units[:, None, None, None] + bins[:, :PULL_BINS, None] + bins[:, None, PULL_BINS:]
        rows, rewards = self.cells.rows, self.cells.rewards
        if not self.multiplicative:
            variance = self._variance(predictor)
            return predictor, (rewards - rows * predictor) / variance, rows / variance
        mean = np.exp(np.clip(predictor, -MAX_LOG_MEAN, MAX_LOG_MEAN))
        slope = 1.0 if self.counted else mean  # the derivative of the mean, over the variance
        return mean, slope * (rewards - rows * mean), rows * slope * mean

    def _variance(self, mean: Floats) -> Floats:
        """Return the variance of a reward in each cell, for a dispersion of 1."""
        if not self.counted:
            return np.ones_like(mean)
        # A mean that is not kept positive cannot be a variance: the level of the arm is.
        return mean if self.multiplicative else np.broadcast_to(self.levels[:, None, None], mean.shape)

    def _dispersion(self, mean: Floats) -> tuple[float, float]:
        """Return the variance of rewards, relative to that of the model, and the heterogeneity of the units.

        The variance is that of single rewards. The change of an arm in a unit from the first half of time to the second one
        may vary more than single rewards explain: then the curves miss something that the rewards have in common, and the
        variance is raised to that of the changes.
        """
        variance = self._variance(mean)
        single = float((self._squared_errors(mean) / variance).sum() / self.cells.rows.sum())
        single = max(single, self.spread / TIME_BINS)  # a sudden fall inside a bin leaves up to this much unexplained
        residual, noise = self.cells.rewards - self.cells.rows * mean, self.cells.rows * variance * single
        halves = (np.split(each, 2, axis=3) for each in (residual, noise))
        residual, noise = (np.array([half.sum(axis=(2, 3)) for half in pair]) for pair in halves)
        both = (noise > 0).all(axis=0)
        changes = (residual**2)[:, both] / noise[:, both]
        excess = float(changes.sum() - (residual.sum(axis=0)[both] ** 2 / noise.sum(axis=0)[both]).sum())
        clustered = excess / max(int(both.sum()) - self.n_arms, 1)  # each arm has a level in each half
        return single * max(1.0, clustered), _heterogeneity(residual.sum(axis=2), noise.sum(axis=2))

    def _squared_errors(self, mean: Floats) -> Floats:
        return self.cells.squares - 2 * mean * self.cells.rewards + self.cells.rows * mean**2


def _heterogeneity(residual: Floats, noise: Floats) -> float:
    """Return how far units [half of time, unit] are from what is expected, as a standard normal number.

    The sum of squares has the distribution of chi-square, whose cube root is nearly normal (Wilson and Hilferty 1931).
    """
    met = noise > 0
    degrees = max(int(met.sum()) - len(noise[0]) - 1, 1)  # each unit has a level, and each half of time
    ratio, spread = float((residual[met] ** 2 / noise[met]).sum()) / degrees, 2 / (9 * degrees)
    return (math.cbrt(ratio) - (1 - spread)) / math.sqrt(spread)


def _sums_by_coefficient(cells: Floats) -> Floats:
    """Return the sum over the cells whose predictor contains each coefficient."""
    arms = np.concatenate([cells.sum(axis=(0, 3)), cells.sum(axis=(0, 2))], axis=1) @ DESIGN
    return np.concatenate([cells.sum(axis=(1, 2, 3))[1:], arms.ravel()])


def _weights_by_pair(weight: Floats) -> Floats:
    """Return [unit and arm, coefficient]: the weight of those cells of the pair whose predictor contains the coefficient."""
    n_units, n_arms = weight.shape[:2]
    found = np.zeros((n_units, n_arms, n_units - 1 + n_arms * COEFFICIENTS))
    units, arms = np.arange(1, n_units), np.arange(n_arms)
    found[units, :, units - 1] = weight.sum(axis=(2, 3))[1:]
    bins = np.concatenate([weight.sum(axis=3), weight.sum(axis=2)], axis=2) @ DESIGN
    for arm in arms:
        first = n_units - 1 + arm * COEFFICIENTS
        found[:, arm, first : first + COEFFICIENTS] = bins[:, arm]
    return found.reshape(n_units * n_arms, -1)


def _information(weight: Floats) -> Floats:
    """Return the information matrix of the coefficients, from the weight of each cell."""
    n_units, n_arms = weight.shape[:2]
    first, size = n_units - 1, n_units - 1 + n_arms * COEFFICIENTS
    by_pulls, by_time = weight.sum(axis=3), weight.sum(axis=2)  # [unit, arm, bin]
    bins = np.zeros((n_arms, PULL_BINS + TIME_BINS, PULL_BINS + TIME_BINS))
    every = np.arange(PULL_BINS + TIME_BINS)
    both = np.concatenate([by_pulls, by_time], axis=2)
    bins[:, every, every] = both.sum(axis=0)
    bins[:, :PULL_BINS, PULL_BINS:] = weight.sum(axis=0)
    bins[:, PULL_BINS:, :PULL_BINS] = weight.sum(axis=0).transpose(0, 2, 1)
    found = np.zeros((size, size))
    units = np.arange(first)
    found[units, units] = by_pulls.sum(axis=(1, 2))[1:]
    found[:first, first:] = (both[1:] @ DESIGN).reshape(first, -1)
    found[first:, :first] = found[:first, first:].T
    for arm, block in enumerate(DESIGN.T @ bins @ DESIGN):
        place = slice(first + arm * COEFFICIENTS, first + (arm + 1) * COEFFICIENTS)
        found[place, place] = block
    return found
