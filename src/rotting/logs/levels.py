"""The levels of arms, as a log allows them: draws of curves that the rewards could have come from.

Along one clock (`levels_of`, `draw_levels`), the clock is cut into cells, and the level of an arm walks at random from cell to
cell. The rewards of the arm, together with those of all arms, tell how long its steps are. Given the rewards, the levels have a
normal distribution, from which curves are drawn (Carter and Kohn 1994; Fruehwirth-Schnatter 1994). This distribution depends on
the rewards alone, not on why the policy of the log stopped pulling an arm. A bootstrap of the rewards would copy the bad luck
after which a policy leaves an arm.

Along both clocks (`cell_table`, `draw_curves`), units that pulled at different rates tell the two curves of an arm apart. The
level of arm i in unit u, after n pulls by that unit, at round t is `unit(u) * pulls(i, n) * time(i, t)`, or the sum of the
three if rewards can be negative. They are estimated from the rewards of each cell: unit, arm, bin of pulls, bin of rounds. Each
of the three is fitted in turn, given the other two (backfitting). The curves of an arm are shrunk towards those of all arms,
the more so the less is known about the arm. A game has no units. If a policy does not look at the units, the pulls of an arm
divide among them in proportion to their traffic. So the level over all pulls of an arm is the mean over the units, each at its
share of the pulls. `wear_model.py` decides which clocks matter, with the levels integrated out; this module draws curves once
both do.

After the last reward of an arm there is no information. From there on its level lies between two extremes: it stays, or it
keeps falling at its recent rate. `share_of_fall` decides between them, once in each run.
"""

from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.policies.kernels.elementary import exps, logs, powers
from rotting.problems.families import normals

# docs/log-intervals.md measures with these values how often the intervals of a fit hold the truth.
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
# Each arm has one curve with 6 levels and one with 8. More of them would leave most cells of a unit without a reward: 10 units
# and 5 arms make 2,400 cells already.
CURVE_PULL_BINS = 6
CURVE_ROUND_BINS = 8
_TURNS = 30  # of the fits; more change no level by 0.1 %
_ALIKE = 0.3  # the curve of an arm is taken to differ from that of all arms by about this share of its level
_TINY = 1e-12  # stands for a divisor of 0: that of a unit or an arm that earned nothing, or of rewards without variance


# --- Along one clock ----------------------------------------------------------------------------------------------------------


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
    _extend(drawn, levels.cells, share_of_fall(float(rng.random())), relative=lowest >= 0)
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


# --- Along both clocks --------------------------------------------------------------------------------------------------------


class CellTable(NamedTuple):
    """The rewards of each cell that has any."""

    unit: Ints
    arm: Ints
    pull_bin: Ints
    round_bin: Ints
    counts: Floats
    sums: Floats
    spread: Floats  # the standard deviation of the sum
    edges: Floats  # [arm, bin] the first own pull of each bin
    reached: Floats  # [arm] the most own pulls in any unit
    traffic: Floats  # [unit] shares of the rows
    starts: Ints  # the first tick of each piece of a curve over all pulls of an arm
    rounds: Ints  # the first tick of each bin of rounds
    multiplicative: bool


def cell_table(arm: Ints, unit: Ints, own: Ints, reward: Floats, n_arms: int, starts: Ints) -> CellTable:
    """Return the rewards of each cell.

    Args:
        arm: the arm of each round.
        unit: its unit.
        own: the pulls of the arm before, by this unit.
        reward: its reward.
        n_arms: K.
        starts: the first tick of each piece of a curve over all pulls of an arm.
    """
    horizon = reward.size
    bins = np.arange(horizon) * CURVE_ROUND_BINS // horizon
    edges, reached = np.zeros((n_arms, CURVE_PULL_BINS)), np.ones(n_arms)
    pull_bin = np.zeros(horizon, np.int64)
    for i in range(n_arms):
        mine = arm == i
        if mine.any():
            inner = np.quantile(own[mine], (np.arange(1, CURVE_PULL_BINS) / CURVE_PULL_BINS) ** 2)
            edges[i, 1:] = np.maximum.accumulate(np.ceil(inner))
            reached[i] = own[mine].max() + 1.0
            pull_bin[mine] = np.searchsorted(edges[i], own[mine], side="right") - 1
    keys = ((unit * n_arms + arm) * CURVE_PULL_BINS + pull_bin) * CURVE_ROUND_BINS + bins
    found, which = np.unique(keys, return_inverse=True)
    counts = sums_by(which, np.ones(horizon), found.size)
    sums = sums_by(which, reward, found.size)
    multiplicative = bool(reward.min() >= 0)
    arms = found // (CURVE_ROUND_BINS * CURVE_PULL_BINS) % n_arms
    rows = np.maximum(np.bincount(arm, minlength=n_arms), 1)
    level = sums_by(arm, reward, n_arms) / rows
    variance = np.maximum(sums_by(arm, (reward - level[arm]) ** 2, n_arms) / rows, _TINY * reward.var())
    traffic = np.bincount(unit).astype(np.float64)
    rounds = np.unique(-(-np.arange(CURVE_ROUND_BINS) * horizon // CURVE_ROUND_BINS))
    place = (
        found // (CURVE_ROUND_BINS * CURVE_PULL_BINS * n_arms),
        arms,
        found // CURVE_ROUND_BINS % CURVE_PULL_BINS,
        found % CURVE_ROUND_BINS,
    )
    spread = np.sqrt(counts * variance[arms])
    return CellTable(*place, counts, sums, spread, edges, reached, traffic / horizon, starts, rounds, multiplicative)


def draw_curves(table: CellTable, rng: np.random.Generator, *, falling: bool) -> tuple[Floats, Floats]:
    """Return curves that the rewards could have come from: [arm, piece] over all pulls of an arm, and [arm, bin] over rounds.

    They are fitted to sums of rewards that are drawn anew.
    """
    sums = table.sums + table.spread * normals(rng, table.sums.shape)
    share = share_of_fall(float(rng.random()))
    units, pulls, rounds = _fit_curves(table, sums, falling=falling)
    over_all = np.array([_over_all_pulls(table, i, units, pulls[i], share) for i in range(len(pulls))])
    return over_all, rounds


def _fit_curves(table: CellTable, sums: Floats, *, falling: bool) -> tuple[Floats, Floats, Floats]:
    """Return the levels of the units, and the curves [arm, bin] over own pulls and over rounds."""
    n_arms = len(table.edges)
    level, prior = _arm_levels(table, sums)
    neutral = 1.0 if table.multiplicative else 0.0  # the level of a unit, or of a curve, that changes nothing
    units = np.full(table.traffic.size, neutral)
    pulls = np.repeat(level[:, None], CURVE_PULL_BINS, axis=1)
    rounds = np.full((n_arms, CURVE_ROUND_BINS), neutral)
    pull_place = table.arm * CURVE_PULL_BINS + table.pull_bin  # [cell] in the flattened curves
    round_place = table.arm * CURVE_ROUND_BINS + table.round_bin
    pull_rows = sums_by(pull_place, table.counts, pulls.size).reshape(pulls.shape)
    round_rows = sums_by(round_place, table.counts, rounds.size).reshape(rounds.shape)
    for _ in range(_TURNS):
        # Each curve is made to fall before the other one is fitted, which takes up what it cannot explain.
        pulls = _curve(table, sums, units[table.unit], rounds.ravel()[round_place], pull_place, pull_rows, prior)
        pulls = falling_curves(pulls, pull_rows + 1) if falling else pulls
        rounds = _curve(table, sums, units[table.unit], pulls.ravel()[pull_place], round_place, round_rows, prior)
        rounds = falling_curves(rounds, round_rows + 1) if falling else rounds
        units = _unit_levels(table, sums, pulls.ravel()[pull_place], rounds.ravel()[round_place])
    return units, pulls, rounds


def _arm_levels(table: CellTable, sums: Floats) -> tuple[Floats, Floats]:
    """Return the level of each arm, and [arm, 1]: the rows that count as much as what is known from the other arms."""
    n_arms = len(table.edges)
    rows = np.maximum(sums_by(table.arm, table.counts, n_arms), 1)
    level = sums_by(table.arm, sums, n_arms) / rows
    noise = sums_by(table.arm, table.spread**2, n_arms) / rows
    if table.multiplicative:
        level = np.maximum(level, _TINY * max(float(level.max()), _TINY))
        scale = np.maximum(np.abs(level), _TINY)
    else:
        scale = np.full(n_arms, max(float(level.std()), _TINY))
    return level, (noise / (_ALIKE * scale) ** 2)[:, None]


def _unit_levels(table: CellTable, sums: Floats, pulls: Floats, rounds: Floats) -> Floats:
    """Return the levels of the units, given both curves in each cell. Their mean, weighted by traffic, changes nothing."""
    size = table.traffic.size
    if table.multiplicative:
        exposure = sums_by(table.unit, table.counts * pulls * rounds, size)
        units = np.maximum(sums_by(table.unit, sums, size), 0.0) / np.maximum(exposure, _TINY)
        return np.asarray(units / max(float(table.traffic @ units), _TINY))
    left = sums - table.counts * (pulls + rounds)
    units = sums_by(table.unit, left, size) / np.maximum(table.traffic * table.counts.sum(), 1)
    return np.asarray(units - float(table.traffic @ units))


def _curve(table: CellTable, sums: Floats, units: Floats, other: Floats, place: Ints, rows: Floats, prior: Floats) -> Floats:
    """Return a curve [arm, bin], given the units and the other curve: factors if the model multiplies, otherwise summands.

    The curve of an arm is shrunk towards its level times the curve of all arms, or its level plus that curve.

    Args:
        table: the cells.
        sums: the sum of the rewards of each cell.
        units: the level of the unit of each cell.
        other: the other curve in each cell.
        place: the place of each cell in the flattened curve.
        rows: [arm, bin] the number of rows.
        prior: as `_arm_levels` returns it.
    """

    def by_bin(values: Floats) -> Floats:
        return sums_by(place, values, rows.size).reshape(rows.shape)

    of_arm = np.maximum(rows.sum(axis=1, keepdims=True), 1)
    if table.multiplicative:
        exposure, earned = by_bin(table.counts * units * other), np.maximum(by_bin(sums), 0.0)
        total = np.maximum(exposure.sum(axis=1, keepdims=True), _TINY)
        level = earned.sum(axis=1, keepdims=True) / total
        common = earned.sum(axis=0) / np.maximum((exposure * level).sum(axis=0), _TINY)
        weight = prior * total / of_arm
        return np.asarray((earned + weight * level * common) / np.maximum(exposure + weight, _TINY))
    left = by_bin(sums - table.counts * (units + other))
    level = left.sum(axis=1, keepdims=True) / of_arm
    common = (left - rows * level).sum(axis=0) / np.maximum(rows.sum(axis=0), 1)
    return np.asarray((left + prior * (level + common)) / np.maximum(rows + prior, _TINY))


def _over_all_pulls(table: CellTable, i: int, units: Floats, curve: Floats, share: float) -> Floats:
    """Return the level of arm `i` at the start of each piece over all its pulls: the mean over the units.

    After the most pulls of any unit, every doubling of the pulls repeats `share` of the last fall.
    """
    own = table.traffic[:, None] * (table.starts + np.diff(table.starts, append=table.starts[-1] + 1) / 2)  # [unit, piece]
    levels = curve[np.searchsorted(table.edges[i], own, side="right") - 1]
    fall = share * min(float(curve[-1] - curve[-2]), 0.0)
    levels = levels + fall * np.maximum(logs(np.maximum(own / table.reached[i], 1.0)), 0.0) / logs(np.array([2.0]))
    if table.multiplicative:
        return np.asarray((table.traffic[:, None] * units[:, None] * np.maximum(levels, 0.0)).sum(axis=0))
    return np.asarray((table.traffic[:, None] * (units[:, None] + levels)).sum(axis=0))


# --- What both have in common -------------------------------------------------------------------------------------------------


def share_of_fall(place: float) -> float:
    """Return the share of its recent fall that an arm repeats after its last reward: 0 if it stays, 1 if it keeps falling.

    The log says nothing about these levels, so both extremes are common. All arms of a run have the same share.

    Args:
        place: a number that is drawn evenly between 0 and 1, once in each run.

    Example:
        >>> [share_of_fall(place) for place in (0.2, 0.5, 0.8)]
        [0.0, 0.5, 1.0]
    """
    return min(max((place - _EXTREME) / (1 - 2 * _EXTREME), 0.0), 1.0)


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


def sums_by(places: Ints, values: Floats, size: int) -> Floats:
    """Return the sum of the values in each of `size` places.

    Example:
        >>> sums_by(np.array([0, 2, 0]), np.array([1.0, 2.0, 3.0]), 4)
        array([4., 0., 2., 0.])
    """
    return np.asarray(np.bincount(places, values, size), np.float64)


def _total(values: Floats) -> float:
    """Return a sum in the order of the values, which is the same on every machine."""
    return float(np.cumsum(values)[-1])
