"""The levels of arms, as a log allows them: draws of curves that the rewards could have come from.

The clock is cut into cells, and the level of an arm walks at random from cell to cell. The rewards of the arm, together with
those of all arms, tell how long its steps are. Given the rewards, the levels have a normal distribution, from which curves are
drawn (Carter and Kohn 1994; Fruehwirth-Schnatter 1994). This distribution depends on the rewards alone, not on why the policy
of the log stopped pulling an arm. A bootstrap of the rewards would copy the bad luck after which a policy leaves an arm.

After the last reward of an arm there is no information. From there on its level lies between two extremes: it stays, or it
keeps falling at its recent rate. Each run draws its place between them once, for all arms.
"""

from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.logs.cells import sums_by
from rotting.policies.kernels.elementary import exps, logs, powers
from rotting.problems.families import normals

# docs/intervals.md measures with these values how often the intervals of a fit hold the truth.
MOST_CELLS = 40  # a fall is found to within 1/40 of the clock
# Rewards of each arm in each cell, on average: the standard error of a cell is below half of that of a reward.
FEWEST_IN_CELL = 5
# The step of the walk from cell to cell, in units of the spread of all levels. Over 40 cells a step of 0.02 leads 0.13 away,
# one of 0.2 more than 1, and one of 0.8 leaves nothing of a level after two cells. Likelihoods hardly tell steps closer than
# a factor of 2 apart.
STEPS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
# Rewards at which the variance of an arm counts as much as that of all arms. From 20 differences of successive rewards it is
# known to within 40 % (von Neumann 1941: the variance of the estimate is about 3 sigma^4 / n), about as far as arms differ.
_POOLED_REWARDS = 20
_EM_ITERATIONS = 20  # of the estimate of how common each step of the walk is; more change no chance by 0.001
_PRIOR_ARMS = 5  # arms for which all steps are equally likely, added to those of the log: few arms do not rule out any step
_RECENT = 3  # the recent rate of an arm is that of the last third of its cells
_OWN_CELLS = 4  # cells with rewards at which the recent rate of an arm counts as much as that of all arms
# The share of runs in which levels stay, and of those in which they keep falling: 12 of 40 runs each, so that both extremes
# reach the ends of an interval, also together with other unknowns.
_EXTREME = 0.3
_MAX_GROWTH = 8.0  # the largest p if cell g of G starts at (g / G)**p of the clock: half of the cells lie within 1/256 of it


class Cells(NamedTuple):
    """The rewards of each cell of the clock and each arm."""

    starts: Ints  # [cell] the first tick of each
    counts: Floats  # [cell, arm] rewards
    means: Floats  # [cell, arm] their mean; 0 if there are none
    squares: Floats  # [cell, arm] the sum of their squared distances from the mean
    variances: Floats  # [arm] of a single reward


def pull_starts(pulls: Ints, horizon: int) -> Ints:
    """Return where cells of pulls start: half of them lie within the pulls of the median arm, shorter ones first."""
    typical = max(float(np.median(pulls[pulls > 0])), 1.0)
    growth = float(np.log2(horizon / typical)) if horizon > typical else 1.0
    shares = powers(_even_starts(horizon, pulls.size), min(max(growth, 1.0), _MAX_GROWTH))
    return np.unique((shares * horizon).astype(np.int64))


def round_starts(n_arms: int, horizon: int) -> Ints:
    """Return where cells of rounds start, all of one length."""
    return np.unique((_even_starts(horizon, n_arms) * horizon).astype(np.int64))


def _even_starts(horizon: int, n_arms: int) -> Floats:
    """Return where cells of equal length start on a clock from 0 to 1, as many as the rewards can fill."""
    cells = min(max(horizon // (FEWEST_IN_CELL * n_arms), 1), MOST_CELLS)
    return np.arange(cells) / cells


def cells_of(arm: Ints, tick: Ints, reward: Floats, n_arms: int, starts: Ints) -> Cells:
    """Return the rewards of each cell and arm; `tick` is the clock of each reward."""
    shape = starts.size, n_arms
    places = (np.searchsorted(starts, tick, side="right") - 1) * n_arms + arm
    size = starts.size * n_arms
    counts = sums_by(places, np.ones(reward.size), size)
    means = sums_by(places, reward, size) / np.maximum(counts, 1)
    squares = sums_by(places, (reward - means[places]) ** 2, size).reshape(shape)
    counts, means = counts.reshape(shape), means.reshape(shape)
    return Cells(starts, counts, means, squares, _variances(arm, reward, n_arms))


def _variances(arm: Ints, reward: Floats, n_arms: int) -> Floats:
    """Return the variance of a reward of each arm, from the differences of successive rewards, which share their level.

    There is one variance for each arm. By cell, few clicks would have a small variance, seem precise, and draw levels down.
    """
    order = np.argsort(arm, kind="stable")
    same = np.diff(arm[order]) == 0
    pairs = arm[order][1:][same]
    halves = sums_by(pairs, np.diff(reward[order])[same] ** 2 / 2, n_arms)
    number = sums_by(pairs, np.ones(pairs.size), n_arms)
    pooled = _total(halves) / pairs.size if pairs.size else float(reward.var())
    return (halves + _POOLED_REWARDS * pooled) / (number + _POOLED_REWARDS)


class Levels(NamedTuple):
    """The distribution of the levels of all arms, given the rewards: the forward pass of a Kalman filter for each step."""

    cells: Cells
    means: Floats  # [cell, step, arm] given the rewards up to the cell
    variances: Floats  # [cell, step, arm]
    steps: Floats  # [step, 1] the variance of the walk from cell to cell
    chances: Floats  # [step, arm] of each step, summed up: the last one is 1


def levels_of(cells: Cells, rng: np.random.Generator) -> Levels:
    """Return the distribution of the levels, given the rewards of the cells and how far levels differ, which is drawn."""
    n, y, prior = cells.counts, cells.means, _prior(cells, rng)
    steps = np.array(STEPS)[:, None] ** 2 * prior.signal
    shape = steps.size, y.shape[1]
    mean, variance = np.full(shape, prior.centre), np.full(shape, prior.between + prior.signal)
    likelihood = np.zeros(shape)
    means, variances = np.empty((len(y), *shape)), np.empty((len(y), *shape))
    for g in range(len(y)):
        if g:
            variance = variance + steps
        seen = n[g] > 0
        if seen.any():
            # The variance of the mean of a cell before it is seen: that of the level, and that of the noise.
            predicted = variance + np.where(seen, cells.variances / np.maximum(n[g], 1), 0.0)
            known = seen & (predicted > 0)
            divisor = np.where(known, predicted, 1.0)
            gain = np.where(known, variance / divisor, 0.0)
            surprise = y[g] - mean
            likelihood -= np.where(known, (logs(divisor) + surprise**2 / divisor) / 2, 0.0)
            # Without noise, the level is the mean to the last bit, so that cells of equal means are one piece.
            mean, variance = np.where(gain < 1, mean + gain * surprise, y[g]), variance * (1 - gain)
        means[g], variances[g] = mean, variance
    return Levels(cells, means, variances, steps, _chances(likelihood))


class _Prior(NamedTuple):
    """What is known of an arm before its rewards: the first level is normal around `centre`."""

    centre: float  # the mean of the levels of all arms
    between: float  # the variance between arms
    signal: float  # the variance of all levels, of all arms and cells


def _prior(cells: Cells, rng: np.random.Generator) -> _Prior:
    """Draw how far levels differ, and around what they lie: the log leaves this open, too.

    If arms are alike, the spread of their means is noise. Levels that were drawn with a part of this spread would differ in
    every run, and policies would seem to gain by finding the best arm. So the variance of the noise is drawn, and what is left
    of the spread is that of the levels: nothing in about half of the runs on a log whose arms are alike.
    """
    n, y = cells.counts, cells.means
    rewards = n.sum(axis=0)
    arms = (n * y).sum(axis=0) / np.maximum(rewards, 1)
    seen = rewards > 0
    total, number = _total(rewards), int(seen.sum())
    grand = _total((n * y).sum(axis=0)) / total
    draws = normals(rng, (3,))
    spread = _total((n * (y - grand) ** 2).sum(axis=0))
    noise = _total(np.where(n > 0, cells.variances, 0.0).sum(axis=0))
    signal = _beyond_noise(spread, noise, int((n > 0).sum()) - 1, draws[0]) / total
    centre = _total(np.where(seen, arms, 0.0)) / number
    error = _total(np.where(seen, cells.variances / np.maximum(rewards, 1), 0.0)) / number
    between = error  # of a single arm, nothing but its own rewards is known
    if number > 1:
        variance = _total(np.where(seen, (arms - centre) ** 2, 0.0)) / (number - 1)
        between = _beyond_noise(variance, error, number - 1, draws[1])
    return _Prior(centre + float(draws[2]) * ((between + error) / number) ** 0.5, between, signal)


def _beyond_noise(spread: float, noise: float, freedom: int, draw: float) -> float:
    """Return what a spread has beyond noise, whose size is drawn.

    The size is a chi-squared variable divided by its degrees of freedom. `draw` is a standard normal variable: the chi-squared
    one has nearly a normal distribution, with a variance of 2 / freedom.
    """
    size: float = 1 + draw * (2 / max(freedom, 1)) ** 0.5
    return max(spread - noise * size, 0.0)


def _chances(likelihood: Floats) -> Floats:
    """Return the chance of each step for each arm, summed up over the steps.

    How common a step is among all arms is its prior, which is estimated by expectation maximisation.
    """
    weights = exps(likelihood - likelihood.max(axis=0))
    prior = np.full(len(weights), 1 / len(weights))
    found = weights
    for _ in range(_EM_ITERATIONS):
        found = weights * prior[:, None]
        found = found / found.sum(axis=0)
        prior = (np.ascontiguousarray(found.T).sum(axis=0) + _PRIOR_ARMS / len(weights)) / (found.shape[1] + _PRIOR_ARMS)
    return np.cumsum(found, axis=0)


def draw_levels(levels: Levels, rng: np.random.Generator, lowest: float, highest: float, *, falling: bool) -> Floats:
    """Return curves [arm, cell] that the rewards could have come from.

    Args:
        levels: the distribution of the levels.
        rng: draws them.
        lowest: no level is below it.
        highest: no level is above it.
        falling: whether no curve may rise.
    """
    drawn = _draw_walk(levels, rng)
    share = min(max((float(rng.random()) - _EXTREME) / (1 - 2 * _EXTREME), 0.0), 1.0)
    _extend(drawn, levels.cells, share, relative=lowest >= 0)
    curves = np.ascontiguousarray(np.clip(drawn, lowest, highest).T)
    return falling_curves(curves, levels.cells.counts.T + 1) if falling else curves


def _draw_walk(levels: Levels, rng: np.random.Generator) -> Floats:
    """Return levels [cell, arm], drawn from the last cell to the first."""
    size, _, n_arms = levels.means.shape
    step = (levels.chances[:-1] <= rng.random(n_arms)).sum(axis=0)
    arms = np.arange(n_arms)
    variance = levels.steps[step, 0]
    noise = normals(rng, (size, n_arms))
    drawn = np.empty((size, n_arms))
    for g in range(size - 1, -1, -1):
        mean, spread = levels.means[g, step, arms], levels.variances[g, step, arms]
        if g + 1 < size:
            both = spread + variance
            share = np.where(both > 0, spread / np.where(both > 0, both, 1.0), 0.0)
            mean, spread = mean + share * (drawn[g + 1] - mean), spread * (1 - share)
        drawn[g] = mean + np.sqrt(np.maximum(spread, 0.0)) * noise[g]
    return drawn


def _extend(drawn: Floats, cells: Cells, share: float, *, relative: bool) -> None:
    """Let the levels [cell, arm] after the last reward of each arm repeat this share of its recent fall."""
    size, n_arms = drawn.shape
    seen = cells.counts > 0
    first, last = np.argmax(seen, axis=0), size - 1 - np.argmax(seen[::-1], axis=0)
    never = ~seen.any(axis=0)
    first[never] = last[never] = 0
    before = np.maximum(last - np.maximum((last - first) // _RECENT, 1), first)
    ticks = np.maximum(cells.starts[last] - cells.starts[before], 1)
    own = (drawn[last, np.arange(n_arms)] - drawn[before, np.arange(n_arms)]) / ticks  # each tick
    weight = (last - first) / (last - first + _OWN_CELLS)
    common = 0.0
    for g in range(1, size):
        passed = int(cells.starts[g] - cells.starts[g - 1])
        inside = (first < g) & (g <= last)
        if inside.any():
            change = _total(np.where(inside, drawn[g] - drawn[g - 1], 0.0))
            scale = _total(np.where(inside, np.maximum(drawn[g - 1], 0.0), 0.0)) if relative else float(inside.sum())
            common = change / scale / passed if scale > 0 else 0.0
        alike = common * (np.maximum(drawn[g - 1], 0.0) if relative else 1.0)
        # An arm that seems to have stopped falling may have had good luck: it falls no slower than all arms together.
        rate = np.minimum(np.minimum(weight * own + (1 - weight) * alike, alike), 0.0)
        drawn[g] = np.where(last < g, drawn[g - 1] + share * passed * rate, drawn[g])


def falling_curves(curves: Floats, weights: Floats) -> Floats:
    """Return the falling curves closest to curves [arm, place].

    Example:
        >>> falling_curves(np.array([[3.0, 1.0, 2.0]]), np.ones((1, 3)))
        array([[3. , 1.5, 1.5]])
    """
    found = curves.copy()
    for i in np.flatnonzero((curves[:, 1:] > curves[:, :-1]).any(axis=1)):
        # Quotients that are rounded may still rise in the last bit.
        found[i] = np.minimum.accumulate(falling_curve(curves[i], weights[i]))
    return found


def falling_curve(values: Floats, weights: Floats) -> Floats:
    """Return the non-increasing sequence closest to `values` (pool adjacent violators).

    Example:
        >>> falling_curve(np.array([3.0, 1.0, 2.0]), np.ones(3))
        array([3. , 1.5, 1.5])
    """
    pools: list[list[float]] = []  # sum of weighted values, sum of weights, number of values
    for value, weight in zip(values, weights, strict=True):
        pools.append([value * weight, weight, 1])
        while len(pools) > 1 and pools[-2][0] * pools[-1][1] < pools[-1][0] * pools[-2][1]:
            last = pools.pop()
            pools[-1] = [a + b for a, b in zip(pools[-1], last, strict=True)]
    return np.repeat([total / weight for total, weight, _ in pools], [int(number) for *_, number in pools])


def _total(values: Floats) -> float:
    """Return a sum in the order of the values, which is the same on every machine."""
    return float(np.cumsum(values)[-1])
