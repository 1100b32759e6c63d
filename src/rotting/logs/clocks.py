"""Along which clock do arms wear out: their own pulls, or time? Units that met the same arm at different rates can tell.

Within one unit the pulls of an arm grow with time, so every curve along one clock is a curve along the other. Units with much
traffic pull an arm faster than units with little. If pulls matter, an arm wears out faster in the busy units; if time matters,
it wears out in all units together.

Two regressions use this. The first one asks whether pulls matter beyond time: rewards are explained by a level for each unit
and a free curve over time for each arm, and what is left is regressed on the wear that the pulls predict. The second one asks
the same with the clocks exchanged. The predicted wear is estimated from other units than those that it is tested on, so that
chance cannot confirm itself. It is estimated twice, from two halves of the other units: the difference of the two shows how
much of it is noise, which would otherwise draw the coefficient towards 0. Both coefficients estimate the share of the wear that
follows one clock; together they give the share that follows time, with an interval over the units.
"""

from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.statistics import t_critical
from rotting.logs.log import Log

FEWEST_UNITS = 8
MOST_UNITS = 100  # more units are joined, those of similar traffic together
MOST_ARMS = 50  # the others have few pulls
FOLDS = 5
CURVE_BINS = 6  # of a predicted curve
SHARED_BY = 5  # units that reach the last of these bins
FREE_BINS = 30  # of a free curve, which must take up all of the other clock
STEPS = 60  # of the alternating fits, at most
CONVERGED = 1e-7


class ClockTest(NamedTuple):
    """Whether one clock matters beyond the other one."""

    share: float  # of the wear that follows this clock; NaN if the predicted wear is only noise
    error: float  # its standard error
    score: float  # in standard errors, 0 if this clock does not matter
    reliability: float  # the share of the predicted wear that is not noise
    influence: Floats  # [unit] how each unit moves the share


class ClockComparison(NamedTuple):
    """Both tests, and the share of the wear that follows time, from both together."""

    pulls: ClockTest
    time: ClockTest
    share_of_time: float
    error: float
    disagreement: float  # between the two tests, in standard errors
    units: int


def compare_clocks(log: Log, multiplicative: bool) -> ClockComparison:
    """Test whether pulls matter beyond time, and time beyond pulls.

    Args:
        log: with at least `FEWEST_UNITS` units.
        multiplicative: whether a unit multiplies the rewards of every arm by its level, or adds its level to them.
    """
    rows = _selected(log)
    pulls, time = _test(rows, "pulls", multiplicative), _test(rows, "time", multiplicative)
    weights = np.array([1 / pulls.error**2, 1 / time.error**2])
    weights /= weights.sum()
    share = float(weights @ [1 - pulls.share, time.share])
    influence = weights[1] * time.influence - weights[0] * pulls.influence
    # The clusters may agree by chance when there are few: the error is at least that of two independent tests.
    error = max(float(np.sqrt((influence**2).sum())), float((1 / pulls.error**2 + 1 / time.error**2) ** -0.5))
    gap = (1 - pulls.share - time.share) / float(np.hypot(pulls.error, time.error))
    return ClockComparison(pulls, time, share, error, gap, rows.n_units)


# --- Rows and bins ----------------------------------------------------------------------------------------------------------


class _Rows(NamedTuple):
    arm: Ints
    unit: Ints
    reward: Floats
    clocks: dict[str, Floats]
    n_arms: int
    n_units: int


def _selected(log: Log) -> _Rows:
    """Return the rows with a reward, of the arms with the most pulls; units of similar traffic are joined if there are many."""
    pulls = np.bincount(log.arm[log.known], minlength=len(log.arms))
    arms = np.argsort(-pulls, kind="stable")[:MOST_ARMS]
    arms = arms[pulls[arms] > 0]
    new_arm = np.full(len(log.arms), -1)
    new_arm[arms] = np.arange(arms.size)
    kept = log.known & (new_arm[log.arm] >= 0)
    traffic = np.bincount(log.unit[kept], minlength=len(log.units))
    order = np.argsort(-traffic, kind="stable")
    new_unit = np.empty(traffic.size, np.int64)
    met = int((traffic > 0).sum())
    groups = min(met, MOST_UNITS)
    new_unit[order] = np.minimum(np.arange(traffic.size) * groups // max(met, 1), groups - 1)
    clocks = {"pulls": log.own_pulls[kept].astype(np.float64), "time": log.time[kept]}
    return _Rows(new_arm[log.arm[kept]], new_unit[log.unit[kept]], log.reward[kept], clocks, arms.size, groups)


def _bins(rows: _Rows, clock: str, number: int, shared: bool = False) -> Ints:
    """Return the bin of each row among `number` bins of its arm; equal values share a bin.

    The first bins are smaller than the last ones, since arms wear out fastest at first, and a policy that learns pulls its best
    arm long after it has worn out.

    Args:
        rows: the rows.
        clock: "pulls" or "time".
        number: of bins.
        shared: whether several units must reach the last bin: where only the busiest units pulled an arm so often, their levels
            cannot be told from the wear of the arm.
    """
    found = np.zeros(rows.arm.size, np.int64)
    for arm in range(rows.n_arms):
        own = rows.arm == arm
        values = rows.clocks[clock][own]
        if shared:
            reached = np.full(rows.n_units, -np.inf)
            np.maximum.at(reached, rows.unit[own], values)
            values = np.minimum(values, max(np.sort(reached)[-min(SHARED_BY, rows.n_units)], values.min()))
        edges = np.unique(np.quantile(values, np.linspace(0, 1, number + 1)[1:-1] ** 2))
        found[own] = np.searchsorted(edges, values, side="right")
    return found


def _table(rows: _Rows, places: Ints, shape: tuple[int, ...], weights: Floats | None = None) -> Floats:
    """Return the number of rows, or the sum of their weights, in each place [unit, ...]."""
    size = int(np.prod(shape))
    return np.asarray(np.bincount(rows.unit * size + places, weights, rows.n_units * size), np.float64).reshape(
        rows.n_units, *shape
    )


# --- Fits -------------------------------------------------------------------------------------------------------------------


class _Fit(NamedTuple):
    expected: Floats  # [unit, cell] the sum of rewards that the fit expects
    weights: Floats  # [unit, cell] the precision of a cell
    curve: Floats  # [cell] the level of a cell for an average unit
    exposure: Floats  # [cell] rows, counted by the levels of their units


def _fit(rows: Floats, rewards: Floats, multiplicative: bool) -> _Fit:
    """Explain sums of rewards [unit, cell] by a level for each unit and each cell, by alternating fits."""
    tiny = np.finfo(float).tiny
    levels = np.ones(rows.shape[0]) if multiplicative else np.zeros(rows.shape[0])
    curve = np.zeros(rows.shape[1])
    for _ in range(STEPS):
        before = levels
        if multiplicative:
            curve = rewards.sum(axis=0) / np.maximum(levels @ rows, tiny)
            levels = np.maximum(rewards.sum(axis=1) / np.maximum(rows @ curve, tiny), 1e-9)
        else:
            curve = (rewards - rows * levels[:, None]).sum(axis=0) / np.maximum(rows.sum(axis=0), tiny)
            levels = (rewards - rows * curve).sum(axis=1) / np.maximum(rows.sum(axis=1), tiny)
        if np.abs(levels - before).max() < CONVERGED * (1 + np.abs(levels).max()):
            break
    if multiplicative:
        expected = rows * levels[:, None] * curve
        return _Fit(expected, expected, curve, levels @ rows)
    return _Fit(rows * (levels[:, None] + curve), rows, curve, rows.sum(axis=0))


def _residual(values: Floats, weights: Floats) -> Floats:
    """Return what is left of values [unit, cell] after a level for each unit and each cell, by weighted alternating fits."""
    tiny = np.finfo(float).tiny
    left = np.where(weights > 0, values, 0.0)
    for _ in range(STEPS):
        left = left - (weights * left).sum(axis=0) / np.maximum(weights.sum(axis=0), tiny)
        shift = (weights * left).sum(axis=1) / np.maximum(weights.sum(axis=1), tiny)
        left = left - shift[:, None]
        if np.abs(shift).max() < CONVERGED * (np.abs(left).max() + tiny):
            break
    return np.where(weights > 0, left, 0.0)


def falling(values: Floats, weights: Floats) -> Floats:
    """Return the non-increasing sequence closest to `values` (pool adjacent violators).

    Example:
        >>> falling(np.array([3.0, 1.0, 2.0]), np.ones(3))
        array([3. , 1.5, 1.5])
    """
    pools: list[list[float]] = []  # sum of weighted values, sum of weights, number of values
    for value, weight in zip(values, weights, strict=True):
        pools.append([value * weight, weight, 1])
        while len(pools) > 1 and pools[-2][0] * pools[-1][1] < pools[-1][0] * pools[-2][1]:
            last = pools.pop()
            pools[-1] = [a + b for a, b in zip(pools[-1], last, strict=True)]
    return np.repeat([total / weight for total, weight, _ in pools], [int(number) for *_, number in pools])


def _predicted_wear(rows: Floats, rewards: Floats, variance: float, multiplicative: bool) -> Floats:
    """Return a falling curve [arm, bin] for each arm, from sums [unit, arm, bin].

    The curve of an arm is drawn towards that of all arms together, the more so the less is known about the arm (empirical
    Bayes). It is a logarithm if units multiply rewards.
    """
    _, n_arms, bins = rows.shape
    fit = _fit(rows.reshape(len(rows), -1), rewards.reshape(len(rows), -1), multiplicative)
    curve, exposure = fit.curve.reshape(n_arms, bins), fit.exposure.reshape(n_arms, bins)
    tiny = np.finfo(float).tiny
    level = (curve * exposure).sum(axis=1, keepdims=True) / np.maximum(exposure.sum(axis=1, keepdims=True), tiny)
    if multiplicative:
        relative, precision = curve / np.maximum(level, tiny), exposure * level
    else:
        relative, precision = curve - level, exposure / max(variance, tiny)
    common = (relative * precision).sum(axis=0) / np.maximum(precision.sum(axis=0), tiny)
    common = falling(common, np.maximum(precision.sum(axis=0), tiny))
    # The variance between arms, beyond the noise of their curves (method of moments).
    known = precision > 0
    excess = ((relative - common) ** 2 * precision)[known].sum() - known.sum()
    between = max(0.0, excess / max(precision[known].sum(), tiny))
    own = precision * between / (1 + precision * between)
    drawn = own * relative + (1 - own) * common
    wear = np.array([falling(each, np.maximum(weight, tiny)) for each, weight in zip(drawn, precision, strict=True)])
    return np.log(np.maximum(wear, 0.02)) if multiplicative else wear


# --- Tests ------------------------------------------------------------------------------------------------------------------


def _folds(rows: _Rows) -> tuple[Ints, Ints]:
    """Return the fold of each unit, and for each fold and unit the half that it belongs to, -1 if it is in the fold."""
    rank = np.arange(rows.n_units)  # units are numbered from the busiest one on
    fold = rank % FOLDS
    half = np.full((FOLDS, rows.n_units), -1)
    for k in range(FOLDS):
        others = np.flatnonzero(fold != k)
        half[k, others] = (np.arange(others.size) + 1) // 2 % 2  # alternating, so that both halves have similar traffic
    return fold, half


def _test(rows: _Rows, clock: str, multiplicative: bool) -> ClockTest:
    """Test whether a clock matters beyond the other one."""
    other = "time" if clock == "pulls" else "pulls"
    bins, free = _bins(rows, clock, CURVE_BINS, shared=True), _bins(rows, other, FREE_BINS)
    coarse = rows.arm * CURVE_BINS + bins
    counts = _table(rows, coarse, (rows.n_arms, CURVE_BINS))
    sums = _table(rows, coarse, (rows.n_arms, CURVE_BINS), rows.reward)
    cells = rows.arm * FREE_BINS + free
    n_cells = rows.n_arms * FREE_BINS
    joint = _table(rows, cells * CURVE_BINS + bins, (n_cells, CURVE_BINS))
    variance = float(rows.reward.var())

    fold, half = _folds(rows)
    predicted = np.zeros((2, rows.n_units, n_cells))
    for k in range(FOLDS):
        for side in range(2):
            training = half[k] == side
            wear = _predicted_wear(counts[training], sums[training], variance, multiplicative)
            tested = joint[fold == k]
            per_cell = np.repeat(wear, FREE_BINS, axis=0)  # [cell, bin]
            predicted[side, fold == k] = (tested * per_cell).sum(axis=2) / np.maximum(tested.sum(axis=2), 1)

    observed = _table(rows, cells, (n_cells,), rows.reward)
    free_fit = _fit(joint.sum(axis=2), observed, multiplicative)
    one, two = (_residual(each, free_fit.weights) for each in predicted)
    wear, noise = (one + two) / 2, (one - two) / 2
    scores = ((observed - free_fit.expected) * wear).sum(axis=1)
    total = float((free_fit.weights * wear**2).sum())
    signal = (free_fit.weights * (wear**2 - noise**2)).sum(axis=1)  # by unit; without the noise of the prediction
    tiny = np.finfo(float).tiny
    denominator = float(signal.sum())
    share = float(scores.sum()) / denominator if abs(denominator) > tiny else np.nan
    leverage = (free_fit.weights * wear**2).sum(axis=1) / max(total, tiny)
    influence = (scores - share * signal) / (1 - np.minimum(leverage, 0.9))  # as in a jackknife over the units
    # By the units, and by the noise of single rewards: with few units, the first may be small by chance.
    error = max(float(np.sqrt((influence**2).sum())), float(np.sqrt((1.0 if multiplicative else variance) * total)), tiny)
    scale = denominator if abs(denominator) > tiny else tiny
    return ClockTest(share, error / abs(scale), float(scores.sum()) / error, denominator / max(total, tiny), influence / scale)


def critical(units: int, error: float) -> float:
    """Return the one-sided critical value of Student's t over this many units."""
    return t_critical(units - 1, 1 - 2 * error)


def entanglement(log: Log) -> float:
    """Return the share of the variance of own pulls that time explains, within arms: 1 if time determines the pulls.

    Close to 1, no log of this kind can tell the clocks apart, however long it is.
    """
    rows = _selected(log)
    pulls = np.log1p(rows.clocks["pulls"])
    cells = rows.arm * FREE_BINS + _bins(rows, "time", FREE_BINS)

    def inside(which: Ints) -> float:
        counts = np.maximum(np.bincount(which), 1)
        return float(((pulls - (np.bincount(which, pulls) / counts)[which]) ** 2).sum())

    within_arms = inside(rows.arm)
    return 1.0 if within_arms == 0 else 1 - inside(cells) / within_arms
