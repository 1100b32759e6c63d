"""The noise of the rewards in a log: 0 or 1, counts, or residuals as they were observed."""

import math

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.logs.levels import Cells
from rotting.problems.noise import Bernoulli, Noise, Noiseless, Poisson, Resampled

RESIDUALS = 512  # in a table of residuals: each stands for 0.2 % of the rewards
_FEWEST_RESIDUALS = 10  # rewards of a cell whose residuals are used; its mean takes up a tenth of their variance at most
_DISPERSION = (0.8, 1.25)  # the variance of counts divided by their mean, which is 1 if they are Poisson: up to a quarter off


def fitted_noise(arm: Ints, tick: Ints, reward: Floats, cells: Cells) -> Noise:
    """Return the noise that describes the rewards around the levels of their cells."""
    if np.isin(reward, (0.0, 1.0)).all() and reward.min() != reward.max():
        return Bernoulli()
    own = np.searchsorted(cells.starts, tick, side="right") - 1
    counts, means = cells.counts[own, arm], cells.means[own, arm]
    used = counts >= min(_FEWEST_RESIDUALS, float(counts.max()))
    left = (reward - means)[used]
    if not left.any():
        return Noiseless()
    if reward.min() >= 0 and (reward == np.floor(reward)).all() and _is_poisson(left, counts[used], means[used]):
        return Poisson()
    if reward.min() >= 0 and _grows_with_level(cells):
        positive = used & (means > 0)
        factors = _table(reward[positive] / means[positive])
        return Resampled((factors / (math.fsum(factors) / factors.size) - 1).tolist(), relative=True)
    return Resampled(_table(left * np.sqrt(counts[used] / np.maximum(counts[used] - 1, 1))).tolist())


def _is_poisson(left: Floats, counts: Floats, means: Floats) -> bool:
    variance = float((left**2).sum() / np.maximum((1 - 1 / counts).sum(), 1))
    low, high = _DISPERSION
    return low * float(means.mean()) <= variance <= high * float(means.mean())


def _grows_with_level(cells: Cells) -> bool:
    """Return whether the standard deviation of the rewards is closer to a multiple of their level than to a constant."""
    used = (cells.counts >= _FEWEST_RESIDUALS) & (cells.means > 0) & (cells.squares > 0)
    if used.sum() < 2:
        return True
    weights, spread, level = (
        cells.counts[used],
        np.log(cells.squares[used] / (cells.counts[used] - 1)),
        2 * np.log(cells.means[used]),
    )

    def variation(values: Floats) -> float:
        return float(np.average((values - np.average(values, weights=weights)) ** 2, weights=weights))

    return variation(spread - level) < variation(spread)


def _table(values: Floats) -> Floats:
    """Return values that are equally likely: all of them, or the means of equally many neighbours."""
    ordered = np.sort(values)
    if ordered.size <= RESIDUALS:
        return ordered
    ends = np.arange(1, RESIDUALS) * ordered.size // RESIDUALS
    return np.array([part.mean() for part in np.split(ordered, ends)])
