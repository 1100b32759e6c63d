"""The rows of a log as cells: the rows and rewards of each unit, arm, stretch of time, and number of earlier pulls."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rotting.common.arrays import Floats, Ints
from rotting.logs.log import Log

Clock = Literal["pulls", "time", "both"]
"""What wears arms out: their own pulls, time, or both."""
Decay = Literal["none", Clock, "cannot tell"]
"""The verdict on a log."""
CANNOT_TELL: Final = "cannot tell"

FEWEST_UNITS = 4  # with fewer, no error of a comparison between units can be estimated
FEWEST_EVENTS = 15  # rewards other than 0 of an arm that is judged
MOST_BINS = 36  # stretches of time in which arms are compared
_FEWEST_BINS, _ROWS_IN_BIN = 12, 50
# Earlier pulls at which a new class begins: arms wear out fastest at first.
_FRESH = np.array([2, 6, 20, 60, 200, 600, 2_000])
MOST_GROUPS = 100_000  # pairs of a unit and an arm: of more, a sample of the units says as much as is needed
_HEAVY_TAILS = (
    12.0  # the fourth moment of amounts above which the largest are cut: it is 3 for normal ones, 9 for exponential ones
)
_LEAST_LEVEL = 1e-12  # of the largest reward: stands for a level of 0 without noise
_ZEROS = 0.02  # a share of zeros above which non-negative rewards are events of unequal size, not measurements


class Scale(NamedTuple):
    """How rewards are compared.

    Attributes:
        ratios: whether changes are ratios, as of clicks, counts and amounts; otherwise they are differences.
        is_binary: whether all rewards are 0 or 1.
    """

    ratios: bool
    is_binary: bool


def scale_of(reward: Floats) -> Scale:
    """Return how the known rewards of a log are compared.

    Example:
        >>> scale_of(np.array([0.0, 1.0, 1.0])), scale_of(np.array([-1.0, 0.5]))
        (Scale(ratios=True, is_binary=True), Scale(ratios=False, is_binary=False))
    """
    if not reward.size or reward.min() < 0 or not reward.any():
        return Scale(False, False)
    is_binary = bool(np.isin(reward, (0.0, 1.0)).all())
    counts = reward.mean() < 10 and bool((reward == np.round(reward)).all())
    return Scale(is_binary or counts or float((reward == 0).mean()) > _ZEROS, is_binary)


def winsorised(reward: Floats, arm: Ints, scale: Scale) -> Floats:
    """Return rewards of which a few huge amounts do not decide: those far above the mean of their arm are cut to a quantile."""
    used = reward != 0 if scale.ratios else np.ones(reward.size, bool)
    if used.sum() < 2 * FEWEST_EVENTS or scale.is_binary:
        return reward
    mean = np.bincount(arm[used], reward[used], arm.max() + 1) / np.maximum(np.bincount(arm[used], minlength=arm.max() + 1), 1)
    level = mean[arm]
    amounts = (reward[used] / level[used]) if scale.ratios else reward - level
    spread = float(amounts.std())
    if spread == 0 or float((((amounts - amounts.mean()) / spread) ** 4).mean()) < _HEAVY_TAILS:
        return reward
    low, high = np.quantile(amounts, [0.005, 0.9 if scale.ratios else 0.995])
    return np.minimum(reward, high * level) if scale.ratios else level + np.clip(reward - level, low, high)


@dataclass(frozen=True, eq=False)
class Cells:
    """The known rewards of a log, summed over the rows that share a unit, an arm, a bin of time and a class of own pulls."""

    scale: Scale
    n_arms: int
    n_units: int
    n_bins: int
    unit: Ints
    arm: Ints
    bin: Ints
    rows: Floats
    exposure: Floats  # the rows, each times the factor by which a daily or weekly pattern moves it
    sums: Floats
    own: Ints  # [row] pulls of the arm by the unit before
    cell: Ints  # [row] its cell
    x: Floats  # [bin] the mean time of its rows, from 0 to 1 over the log
    launch: Floats  # [arm] the time of its first row
    last: Floats  # [arm] the time of its last row
    events: Ints  # [arm] rewards other than 0; all rewards if changes are differences
    single: float  # the variance of a single reward, over its mean if changes are ratios
    stay: float  # the share of the log over which the unit of a row is seen, on average
    pattern: str  # of the calendar, which all arms share: "daily", "weekly", "daily and weekly"; "" without one
    targeted: bool = False  # whether arms were chosen by unit

    @property
    def life(self) -> Floats:
        """The time from the first to the last row of each arm."""
        return np.asarray(self.last - self.launch)

    @property
    def has_units(self) -> bool:
        """Whether there are units to compare."""
        return self.n_units > 1

    @cached_property
    def pair(self) -> Ints:
        """The unit and the arm of each cell, as one number."""
        return self.unit * self.n_arms + self.arm

    @cached_property
    def unit_of_change(self) -> float:
        """What changes are divided by: 1 if they are ratios, else the mean reward, or its noise if the mean is close to 0."""
        level = abs(float(self.sums.sum() / self.rows.sum()))
        return 1.0 if self.scale.ratios else max(level, math.sqrt(self.single) / 4, _LEAST_LEVEL)

    def worn(self, pace: float) -> Floats:
        """Return the mean of `1 - exp(-own pulls / pace)` in each cell."""
        return np.asarray(np.bincount(self.cell, -np.expm1(-self.own / pace), self.rows.size) / self.rows)


def cells_of(log: Log) -> Cells:
    """Return the cells of a log with a known reward."""
    keep = log.known & _sampled_units(log)
    arm, unit, own = log.arm[keep], log.unit[keep], log.own_pulls[keep]
    n_arms, n_units, size = len(log.arms), len(log.units), arm.size
    reward = log.reward[keep]
    scale = scale_of(reward)
    reward = reward / (float(np.abs(reward).max()) or 1.0)  # verdicts do not depend on the unit, and squares keep their digits
    reward = winsorised(reward, arm, scale)
    time = log.time[keep]
    x = (time - time[0]) / max(time[-1] - time[0], np.finfo(float).tiny)
    bins = int(min(MOST_BINS, max(_FEWEST_BINS, size // _ROWS_IN_BIN)))
    # Every arm has the same share in the bins: a policy that learns leaves some arms early, and its log is cut finer there.
    passed = np.cumsum(1 / np.maximum(np.bincount(arm, minlength=n_arms), 2 * FEWEST_EVENTS)[arm])
    where = np.minimum((passed * (bins / passed[-1])).astype(np.int64), bins - 1)
    key = ((unit * n_arms + arm) * bins + where) * (_FRESH.size + 1) + np.searchsorted(_FRESH, own, side="right")
    found, cell = np.unique(key, return_inverse=True)
    rows = np.bincount(cell).astype(float)
    pattern, season = _patterns(time, unit, arm, reward, scale) if log.has_dates else ("", np.zeros(size))
    exposure = sums_by(cell, 1 + season, found.size) if scale.ratios else rows
    reward = reward if scale.ratios else reward - season
    sums = sums_by(cell, reward, found.size)
    key = found // (_FRESH.size + 1)
    launch, last = np.full(n_arms, np.inf), np.full(n_arms, -np.inf)
    np.minimum.at(launch, arm, x)
    np.maximum.at(last, arm, x)
    here, gone = np.full(n_units, np.inf), np.full(n_units, -np.inf)
    np.minimum.at(here, unit, x)
    np.maximum.at(gone, unit, x)
    squares = float((reward**2).sum())
    if scale.ratios:
        single = max(1 - float(reward.mean()), 0.05) if scale.is_binary else squares / float(reward.sum())
    else:
        inside = squares - float((sums**2 / rows).sum())
        single = max(inside, 0.0) / (size - found.size) if size - found.size > _ROWS_IN_BIN else 0.0
    return Cells(
        scale,
        n_arms,
        n_units,
        bins,
        unit=key // bins // n_arms,
        arm=key // bins % n_arms,
        bin=key % bins,
        rows=rows,
        exposure=exposure,
        sums=sums,
        own=own,
        cell=cell,
        x=np.bincount(where, x, bins) / np.maximum(np.bincount(where, minlength=bins), 1),
        launch=np.where(np.isfinite(launch), launch, 0.0),
        last=np.where(np.isfinite(last), last, 0.0),
        events=np.bincount(arm, (reward != 0) if scale.ratios else None, n_arms).astype(np.int64),
        single=single,
        stay=float((gone - here)[unit].mean()),
        pattern=pattern,
    )


_PERIODS = {"daily": 86_400.0, "weekly": 604_800.0}  # in seconds
_HARMONICS = (1, 2)
_WAVES = 2 * len(_HARMONICS)
_PARTS, _PHASES = 32, 48  # of the log, and of a period, into which rows are summed to find a pattern
_CLEAR_PATTERN = 4.5  # standard errors
_CYCLES = 1.9  # of a pattern that is taken out: two weeks are a little less from the first row to the last
_LEAST_SEASON = 0.1  # a factor below it is no estimate of these few waves


def _patterns(time: Floats, unit: Ints, arm: Ints, reward: Floats, scale: Scale) -> tuple[str, Floats]:
    """Return the daily and weekly patterns that all arms share, and by how much patterns move each row: a ratio, or an addend.

    A policy that plays one arm for hours sees only a part of the day with it, so that a day would look like wear. So would a
    weekend at the end for an arm that only sells on weekdays: such an arm has a pattern of its own.
    """
    pair = unit * (int(arm.max()) + 1) + arm
    level = (np.bincount(pair, reward) / np.maximum(np.bincount(pair), 1))[pair]
    seconds = float(time[-1] - time[0])
    names, season = [], np.zeros(time.size)
    part = np.minimum((time - time[0]) * (_PARTS / max(seconds, 1e-9)), _PARTS - 1).astype(np.int64)
    order = np.argsort(arm, kind="stable")
    by_arm = np.split(order, np.cumsum(np.bincount(arm))[:-1])
    alone = [rows for rows in by_arm if (reward[rows] != 0).sum() >= FEWEST_EVENTS]
    for name, period in _PERIODS.items():
        if seconds < 0.99 * period * (2 if name == "daily" else 1):
            continue
        place = part * _PHASES + (time % period * (_PHASES / period)).astype(np.int64) % _PHASES
        for k, rows in enumerate([np.arange(time.size), *alone]):
            before = season[rows]
            expected = level[rows] * (1 + before) if scale.ratios else level[rows] + before
            weight = expected if scale.ratios else np.ones(rows.size)
            # Few weeks of a single arm hardly tell waves from bends: beside a curve, an error in waves would tilt its slope.
            square, moved = _waves(place[rows], reward[rows] - expected, weight, 1 if k else 3)
            is_clear = chi_square_z(square, _WAVES) > _CLEAR_PATTERN
            if k == 0 and is_clear:
                names.append(name)
            if (k == 0 and not is_clear) or time[rows[-1]] - time[rows[0]] < _CYCLES * period:
                continue  # a single week may be anything
            # The pattern of a single arm is drawn towards none (James and Stein 1961).
            moved = moved if k == 0 else moved * max(1 - _WAVES / max(square, _WAVES), 0.0)
            season[rows] = np.maximum((1 + before) * (1 + moved), _LEAST_SEASON) - 1 if scale.ratios else before + moved
    return " and ".join(names), season


def _waves(place: Ints, apart: Floats, weight: Floats, degree: int) -> tuple[float, Floats]:
    """Return how clearly phases differ beside a trend, chi-squared if they do not, and how they move each row."""
    weight, apart = (sums_by(place, each, _PARTS * _PHASES) for each in (weight, apart))
    used = weight > 0
    turn = 2 * np.pi * (np.arange(_PHASES) + 0.5) / _PHASES
    waves = np.column_stack([wave(k * turn) for k in _HARMONICS for wave in (np.sin, np.cos)])
    trend = np.vander((np.arange(_PARTS) + 0.5) / _PARTS, degree + 1).repeat(_PHASES, axis=0)[used]
    design, root = np.column_stack([trend, np.tile(waves, (_PARTS, 1))[used]]), np.sqrt(weight[used])[:, None]
    (_, plain), (found, full) = (_least_squares(root * each, apart[used] / root[:, 0]) for each in (trend, design))
    degrees = int(used.sum()) - design.shape[1]
    square = (plain - full) / max(full / degrees, 1e-300) if degrees > 4 else 0.0
    return square, (waves @ found[trend.shape[1] :])[place % _PHASES]


def _least_squares(design: Floats, values: Floats) -> tuple[Floats, float]:
    """Return the coefficients, and the sum of squares that they leave."""
    found: Floats = np.linalg.lstsq(design, values, rcond=None)[0].astype(np.float64)
    return found, float(((values - design @ found) ** 2).sum())


def chi_square_z(value: float, degrees: int) -> float:
    """Return the standard normal number that is as unlikely as a chi-square one (Wilson and Hilferty 1931).

    Example:
        >>> round(chi_square_z(18.31, 10), 2)  # the 95 % quantile
        1.65
    """
    spread = 2 / (9 * degrees)
    return (math.cbrt(max(value, 0.0) / degrees) - (1 - spread)) / math.sqrt(spread)


def sums_by(places: Ints, values: Floats, size: int) -> Floats:
    """Return the sum of the values in each of `size` places.

    Example:
        >>> sums_by(np.array([0, 2, 0]), np.array([1.0, 2.0, 3.0]), 4)
        array([4., 0., 2., 0.])
    """
    return np.asarray(np.bincount(places, values, size), np.float64)


def _sampled_units(log: Log) -> NDArray[np.bool_] | bool:
    """Return which rows belong to the sample of units; True for all."""
    if len(log.units) * len(log.arms) <= MOST_GROUPS:
        return True
    pairs = np.unique(log.unit * len(log.arms) + log.arm) // len(log.arms)
    order = np.random.default_rng(0).permutation(len(log.units))
    reached = np.cumsum(np.bincount(pairs, minlength=len(log.units))[order])
    chosen = np.zeros(len(log.units), bool)
    chosen[order[: max(int(np.searchsorted(reached, MOST_GROUPS)), 1)]] = True
    return chosen[log.unit]


def entanglement(log: Log) -> float:
    """Return the share of the variance of own pulls that time explains, within arms: 1 if time determines the pulls.

    Close to 1, no log of this kind can tell the clocks apart, however long it is.
    """
    pulls, place = np.log1p(log.own_pulls.astype(float)), np.arange(len(log)) * 12 // len(log)

    def inside(which: Ints) -> float:
        counts = np.maximum(np.bincount(which), 1)
        return float(((pulls - (np.bincount(which, pulls) / counts)[which]) ** 2).sum())

    within_arms = inside(log.arm)
    return 1.0 if within_arms == 0 else 1 - inside(log.arm * 12 + place) / within_arms
