"""Arms that wear out with their pulls and with time: units that pulled at different rates tell the two curves of an arm apart.

The level of arm i in unit u, after n pulls by that unit, at round t is `unit(u) * pulls(i, n) * time(i, t)`, or the sum of the
three if rewards can be negative. They are estimated from the rewards of each cell: unit, arm, bin of pulls, bin of rounds. Each
of the three is fitted in turn, given the other two (backfitting). The curves of an arm are shrunk towards those of all arms,
the more so the less is known about the arm.

A game has no units. If a policy does not look at the units, the pulls of an arm divide among them in proportion to their
traffic. The level over all pulls of an arm is therefore the mean over the units, each at its share of the pulls.

`wear_model.py` decides which clocks matter, with the levels integrated out; this module draws curves once both do.
"""

from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.kernels.elementary import logs
from rotting.logs.levels import falling_curves, share_of_fall, sums_by
from rotting.problems.variates import normals

# docs/log-intervals.md measures with these values how often the intervals of a fit hold the truth. Each arm has one curve with
# 6 levels and one with 8. More of them would leave most cells of a unit without a reward: 10 units and 5 arms make 2,400 cells
# already.
CURVE_PULL_BINS = 6
CURVE_ROUND_BINS = 8
_TURNS = 30  # of the fits; more change no level by 0.1 %
_ALIKE = 0.3  # the curve of an arm is taken to differ from that of all arms by about this share of its level
_TINY = 1e-12  # stands for a divisor of 0: that of a unit or an arm that earned nothing, or of rewards without variance


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
    units, pulls, rounds = _fit(table, sums, falling=falling)
    over_all = np.array([_over_all_pulls(table, i, units, pulls[i], share) for i in range(len(pulls))])
    return over_all, rounds


def _fit(table: CellTable, sums: Floats, *, falling: bool) -> tuple[Floats, Floats, Floats]:
    """Return the levels of the units, and the curves [arm, bin] over own pulls and over rounds."""
    n_arms = len(table.edges)
    level, prior = _levels(table, sums)
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


def _levels(table: CellTable, sums: Floats) -> tuple[Floats, Floats]:
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
        prior: as `_levels` returns it.
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
