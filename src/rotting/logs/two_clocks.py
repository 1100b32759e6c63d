"""Arms that wear out with their pulls and with time: units that pulled at different rates tell the two curves of an arm apart.

The level of arm i in unit u, after n pulls by that unit, at round t is `unit(u) * pulls(i, n) * time(i, t)`, or the sum of the
three if rewards can be negative. Alternating fits estimate them from the rewards of each cell: unit, arm, bin of pulls, bin of
rounds. The curves of an arm are shrunk towards those of all arms, the more so the less is known about the arm.

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
PULL_BINS = 6
ROUND_BINS = 8
_STEPS = 30  # of the alternating fits; more change no level by 0.1 %
_ALIKE = 0.3  # the curve of an arm is taken to differ from that of all arms by about this share of its level
_TINY = 1e-12


class Table(NamedTuple):
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


def table_of(arm: Ints, unit: Ints, own: Ints, reward: Floats, n_arms: int, starts: Ints) -> Table:
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
    bins = np.arange(horizon) * ROUND_BINS // horizon
    edges, reached = np.zeros((n_arms, PULL_BINS)), np.ones(n_arms)
    pull_bin = np.zeros(horizon, np.int64)
    for i in range(n_arms):
        mine = arm == i
        if mine.any():
            inner = np.quantile(own[mine], (np.arange(1, PULL_BINS) / PULL_BINS) ** 2)
            edges[i, 1:] = np.maximum.accumulate(np.ceil(inner))
            reached[i] = own[mine].max() + 1.0
            pull_bin[mine] = np.searchsorted(edges[i], own[mine], side="right") - 1
    keys = ((unit * n_arms + arm) * PULL_BINS + pull_bin) * ROUND_BINS + bins
    found, which = np.unique(keys, return_inverse=True)
    counts = sums_by(which, np.ones(horizon), found.size)
    sums = sums_by(which, reward, found.size)
    multiplicative = bool(reward.min() >= 0)
    arms = found // (ROUND_BINS * PULL_BINS) % n_arms
    rows = np.maximum(np.bincount(arm, minlength=n_arms), 1)
    level = sums_by(arm, reward, n_arms) / rows
    variance = np.maximum(sums_by(arm, (reward - level[arm]) ** 2, n_arms) / rows, _TINY * reward.var())
    traffic = np.bincount(unit).astype(np.float64)
    rounds = np.unique(-(-np.arange(ROUND_BINS) * horizon // ROUND_BINS))
    place = found // (ROUND_BINS * PULL_BINS * n_arms), arms, found // ROUND_BINS % PULL_BINS, found % ROUND_BINS
    spread = np.sqrt(counts * variance[arms])
    return Table(*place, counts, sums, spread, edges, reached, traffic / horizon, starts, rounds, multiplicative)


def draw_curves(table: Table, rng: np.random.Generator, *, falling: bool) -> tuple[Floats, Floats]:
    """Return curves that the rewards could have come from: [arm, piece] over all pulls of an arm, and [arm, bin] over rounds.

    They are fitted to sums of rewards that are drawn anew.
    """
    sums = table.sums + table.spread * normals(rng, table.sums.shape)
    share = share_of_fall(float(rng.random()))
    units, pulls, rounds = _fit(table, sums, falling=falling)
    over_all = np.array([_over_all_pulls(table, i, units, pulls[i], share) for i in range(len(pulls))])
    return over_all, rounds


def _fit(table: Table, sums: Floats, *, falling: bool) -> tuple[Floats, Floats, Floats]:
    """Return the levels of the units, and the curves [arm, bin] over own pulls and over rounds."""
    n_arms = len(table.edges)
    units = np.ones(table.traffic.size) if table.multiplicative else np.zeros(table.traffic.size)
    first = table.arm * PULL_BINS + table.pull_bin
    second = table.arm * ROUND_BINS + table.round_bin
    rows = sums_by(table.arm, table.counts, n_arms)
    level = sums_by(table.arm, sums, n_arms) / np.maximum(rows, 1)
    if table.multiplicative:
        level = np.maximum(level, _TINY * max(float(level.max()), _TINY))
    noise = sums_by(table.arm, table.spread**2, n_arms) / np.maximum(rows, 1)
    scale = np.maximum(np.abs(level), _TINY) if table.multiplicative else np.full(n_arms, max(float(level.std()), _TINY))
    prior = (noise / (_ALIKE * scale) ** 2)[:, None]  # rows that count as much as what is known from the other arms
    pulls = np.repeat(level[:, None], PULL_BINS, axis=1)
    rounds = np.full((n_arms, ROUND_BINS), 1.0 if table.multiplicative else 0.0)
    by_pulls = sums_by(first, table.counts, pulls.size).reshape(pulls.shape) + 1
    by_rounds = sums_by(second, table.counts, rounds.size).reshape(rounds.shape) + 1
    fit = _multiply if table.multiplicative else _add
    for _ in range(_STEPS):
        # Each curve is made to fall before the other one is fitted, which takes up what it cannot explain.
        pulls = fit(table, sums, units[table.unit], rounds.ravel()[second], first, pulls, prior)
        pulls = falling_curves(pulls, by_pulls) if falling else pulls
        rounds = fit(table, sums, units[table.unit], pulls.ravel()[first], second, rounds, prior)
        rounds = falling_curves(rounds, by_rounds) if falling else rounds
        others = pulls.ravel()[first], rounds.ravel()[second]
        if table.multiplicative:
            exposure = sums_by(table.unit, table.counts * others[0] * others[1], units.size)
            units = np.maximum(sums_by(table.unit, sums, units.size), 0.0) / np.maximum(exposure, _TINY)
            units = units / max(float(table.traffic @ units), _TINY)
        else:
            left = sums - table.counts * (others[0] + others[1])
            units = sums_by(table.unit, left, units.size) / np.maximum(table.traffic * table.counts.sum(), 1)
            units = units - float(table.traffic @ units)
    return units, pulls, rounds


def _multiply(table: Table, sums: Floats, one: Floats, two: Floats, which: Ints, curve: Floats, prior: Floats) -> Floats:
    """Return the factors of each arm and bin, shrunk towards the level of the arm times the curve of all arms."""
    shape = curve.shape
    rows = sums_by(which, table.counts, curve.size).reshape(shape)
    exposure = sums_by(which, table.counts * one * two, curve.size).reshape(shape)
    earned = np.maximum(sums_by(which, sums, curve.size).reshape(shape), 0.0)
    total = np.maximum(exposure.sum(axis=1, keepdims=True), _TINY)
    level = earned.sum(axis=1, keepdims=True) / total
    common = earned.sum(axis=0) / np.maximum((exposure * level).sum(axis=0), _TINY)
    weight = prior * total / np.maximum(rows.sum(axis=1, keepdims=True), 1)
    return np.asarray((earned + weight * level * common) / np.maximum(exposure + weight, _TINY))


def _add(table: Table, sums: Floats, one: Floats, two: Floats, which: Ints, curve: Floats, prior: Floats) -> Floats:
    """Return the summands of each arm and bin, shrunk towards the level of the arm plus the curve of all arms."""
    shape = curve.shape
    rows = sums_by(which, table.counts, curve.size).reshape(shape)
    left = sums_by(which, sums - table.counts * (one + two), curve.size).reshape(shape)
    level = left.sum(axis=1, keepdims=True) / np.maximum(rows.sum(axis=1, keepdims=True), 1)
    common = (left - rows * level).sum(axis=0) / np.maximum(rows.sum(axis=0), 1)
    return np.asarray((left + prior * (level + common)) / np.maximum(rows + prior, _TINY))


def _over_all_pulls(table: Table, i: int, units: Floats, curve: Floats, share: float) -> Floats:
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
