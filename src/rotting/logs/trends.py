"""The questions that a diagnosis asks of the cells of a log, one function for each.

All arms may rise and fall together, with the season or the audience. So an arm is compared with the others at the same time, an
arm in a busy unit with the same arm in a quiet one, and arms that were launched late with those that were launched early.
Changes are on a logarithmic scale if rewards are compared by ratios, otherwise in terms of the level.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rotting.common.arrays import Floats, Ints
from rotting.logs.cells import FEWEST_UNITS, Cells, chi_square_z, sums_by
from rotting.logs.regression import CurveFit, Curves, Estimate, Pairs, critical

PACES = (3.0, 10.0, 30.0, 100.0, 300.0, 1_000.0, 3_000.0)
"""Pulls after which a share of 1 - 1/e of the wear has come: the curves of wear with own pulls that are tried."""
PARTS = 8  # of the log, between which the level of all arms is compared
FAMILY = 0.05  # the chance that any of the arms of a log that do not fall is said to, by two tests together
_SUDDEN = 0.2  # the share of this chance that belongs to falls at once; all of it if the logger learns, see `_ADAPTIVE`
ALONE = 0.95  # the level of the interval of a single arm's own change, which is only the second condition
_TINY = 1e-300
_CLEAR_MOVE = 3.0  # standard errors of a bin of the calendar
_LEAST_MOVES = 1e-6  # the variance of a calendar that does not move, on a logarithmic scale
# Added to the square of a limit: a policy that learns leaves arms when their luck ends. A bound that holds at all times is so
# much wider (Robbins 1970), for a chance of 0.1 % and ten times the information at which it is narrowest.
_ADAPTIVE = 8.0
_DRAWS = 2_000  # of the simulation of arms that change alike
_OWN_STEP = 6.0  # what a step at a time of its own gains an arm by chance, at most: it is the largest of some thirty
_TESTED = 1_000  # arms: those with the most events
_STEADY_SPREAD = 0.15  # arms are taken to differ at launch by at least this much, on a logarithmic scale
_AT_ONCE = 0.03  # of the log: arms that are launched later are late
_BUSIEST = 500  # units whose choices are compared


# --- Single arms --------------------------------------------------------------------------------------------------------------


class Drop(NamedTuple):
    """A sudden fall: the change of an arm's level within units, and against all other arms at the same time."""

    own: Estimate
    behind: Estimate


@dataclass(frozen=True, eq=False)
class ArmChanges:
    """How each arm changed from its first row to its last.

    Attributes:
        arms: those with enough events.
        own: the change of the level of each arm within units.
        halves: the same over the first and the second half of its life.
        behind: the change against those that fell least, with the error that makes its z comparable with `limit`.
        ahead: the change against those that fell most.
        drops: the arms that fell suddenly, each at a time of its own, against all others at that time; and by how much.
        limit: what no z of any arm exceeds with a chance of 96 % if all arms change alike.
    """

    arms: list[int]
    own: dict[int, Estimate]
    halves: tuple[dict[int, Estimate], dict[int, Estimate]]
    behind: dict[int, Estimate]
    ahead: dict[int, Estimate]
    drops: dict[int, Drop]
    limit: float

    def falls(self, arm: int, least: float) -> bool:
        """Return whether an arm fell by more than the least change, and behind the others."""
        drop = self.drops.get(arm)
        if drop is not None and drop.own.value + drop.own.reach(ALONE) < 0:
            return drop.own.value < least and drop.behind.value < least
        own, behind = self.own.get(arm), self.behind.get(arm)
        if own is None or behind is None:
            return False
        return own.value + own.reach(ALONE) < 0 and own.value < least and self.below(behind) and behind.value < least

    def may_fall(self, arm: int) -> bool:
        """Return whether an arm that is not clear by itself supports others that fall."""
        own, behind = self.own.get(arm), self.behind.get(arm)
        return own is not None and behind is not None and own.z < -2 and behind.z < -2

    def rises(self, arm: int) -> bool:
        """Return whether an arm rose, also against the others."""
        own, ahead = self.own.get(arm), self.ahead.get(arm)
        if own is None or ahead is None:
            return False
        return own.value - own.reach(self.together) > 0 and self.below(ahead.times(-1.0))

    @property
    def together(self) -> float:
        """The level of the intervals of single arms that hold for all of them at once."""
        return 1 - FAMILY / max(len(self.arms), 1)

    def below(self, found: Estimate) -> bool:
        """Return whether a contrast is below 0, for all arms at once."""
        return found.value + critical(2 * NormalDist().cdf(self.limit) - 1, found.clusters) * found.error < 0


def arm_changes(cells: Cells, fewest_events: int, is_static: bool) -> ArmChanges:
    """Return how the arms with enough events changed; `is_static` says whether the logger kept the shares of arms."""
    enough = np.flatnonzero(cells.events >= fewest_events)
    tested = np.sort(enough[np.argsort(-cells.events[enough], kind="stable")][:_TESTED])
    own = _own_changes(cells, tested, 0.0, 1.0)
    halves = _own_changes(cells, tested, 0.0, 0.5), _own_changes(cells, tested, 0.5, 1.0)
    found = ArmChanges(tested.tolist(), own, halves, {}, {}, {}, math.inf)
    found = _compared(found, cells, [], is_static)
    rising = [i for i in found.arms if found.rises(i)]
    # Steady arms are behind those that rise, and are compared without them.
    return replace(_compared(found, cells, rising, is_static), ahead=found.ahead) if rising else found


def _compared(found: ArmChanges, cells: Cells, without: list[int], is_static: bool) -> ArmChanges:
    """Return the changes with comparisons of arms with one another, but for some."""
    tested = np.setdiff1d(found.arms, without)
    if tested.size < 2:
        return replace(found, behind={}, drops={})
    keep = np.ones((cells.n_arms, cells.n_bins))
    keep[without] = 0.0
    fit = _apart(cells, tested, cells.x, keep)
    known = tested[fit.information[tested] > 0]
    limit = _limit(fit.dispersion / fit.information[known]) if known.size > 1 else math.inf
    limit = limit if is_static else math.sqrt(limit**2 + _ADAPTIVE)
    behind, ahead = _against_best(fit, known), _against_best(fit, known, -1.0)
    life = cells.life * _scales(cells)
    return replace(
        found,
        behind={i: each.times(float(life[i])) for i, each in behind.items()},
        ahead={i: each.times(float(life[i])) for i, each in ahead.items()},
        drops=drops(cells, tested, FAMILY * (_SUDDEN if is_static else 1.0), keep),
        limit=limit,
    )


def drops(cells: Cells, arms: Ints, chance: float, keep: Floats | None = None) -> dict[int, Drop]:
    """Return the arms that fell suddenly, each at a time of its own, against all others at that time.

    A policy leaves an arm soon after it falls, and hardly changes the slope over its life. This holds whatever the policy: the
    rewards of an arm that does not change differ only by chance, however many of them it gets. `chance` is that of naming any
    arm if none falls; `keep` [arm, bin] is 0 where rows are left out.
    """
    fit = Curves(cells, keep).fit(None, np.eye(cells.n_bins))
    _, blocks = fit.curves.blocks(fit.mean)
    # The calendar is drawn towards a smooth curve where it does not clearly leave it: arms that are played one after the other
    # could otherwise not be told from it.
    smooth = np.linalg.qr(np.vander(np.linspace(-1, 1, cells.n_bins), 4)[:, ::-1])[0]
    variance = np.diag(fit.rest) * fit.dispersion
    root = 1 / np.sqrt(np.maximum(variance, _TINY))
    line = np.linalg.lstsq(root[:, None] * smooth, root * fit.calendar, rcond=None)[0]
    apart = (fit.calendar - smooth @ line) ** 2 - variance
    usual = max(float(np.average(apart, weights=root**2)), _LEAST_MOVES * cells.unit_of_change**2)
    rough = np.eye(cells.n_bins) - smooth[:, 1:] @ smooth[:, 1:].T
    penalty = fit.dispersion / np.where(apart > _CLEAR_MOVE**2 * variance, apart, usual)
    together = blocks.sum(axis=0)
    rest = np.linalg.pinv(together + rough @ (penalty[:, None] * rough), rcond=1e-12, hermitian=True)
    calendar = rest @ together @ fit.calendar
    residual, blocks = fit.curves.blocks(fit.curves.means(np.broadcast_to(calendar, (cells.n_arms, cells.n_bins))))
    steps = np.tri(cells.n_bins, cells.n_bins - 1, -1)
    moved = blocks @ steps
    information = np.einsum("bk,abk->ak", steps, moved) - np.einsum("abk,abk->ak", moved, rest @ moved)
    told = information > 1e-6 * information.max(initial=0.0)
    z = np.where(told, residual @ steps / np.sqrt(np.where(told, information, 1.0) * fit.dispersion), 0.0)
    # Neighbouring steps are alike: by simulation, the largest of them is as large as that of half as many independent ones.
    least = NormalDist().inv_cdf(1 - chance / arms.size / (cells.n_bins / 2))
    at = {int(i): int(z[i].argmin()) for i in arms if z[i].min() < -least}
    if not at:
        return {}
    shape = np.zeros((cells.n_arms, cells.n_bins))
    for i, k in at.items():
        shape[i] = steps[:, k]
    beside, alone = (fit.curves.fit(shape, basis) for basis in (np.eye(cells.n_bins), None))
    scales, found = _scales(cells), {}
    for i in at:
        one = (np.arange(cells.n_arms) == i).astype(float)
        behind = beside.estimate(one, fit.curves.by_unit_and_block).times(scales[i])
        if behind.z < -2:  # compared with the other arms alone, and with units that count as one
            found[i] = Drop(alone.estimate(one, [fit.curves.by_bin, *fit.curves.by_unit_and_bin]).times(scales[i]), behind)
    return found


def _apart(cells: Cells, arms: Ints, shape: Floats, keep: Floats | None = None) -> CurveFit:
    """Return the slopes of arms along a shape [bin], beside a calendar that all arms share."""
    here = np.isin(np.arange(cells.n_arms), arms)[:, None]
    return Curves(cells, keep).fit(np.where(here, shape - 0.5, 0.0), np.eye(cells.n_bins))


def _against_best(fit: CurveFit, arms: Ints, sign: float = 1.0) -> dict[int, Estimate]:
    """Return the slope of each arm against those of the best arms; those of the worst ones if the sign is -1.

    If wear only lowers, the calendar falls no faster than the best arms: an arm that falls behind them wears out. Of the best
    half and the best quarter, the one against which the arm stands out more is taken; `_limit` knows of both choices.
    """
    if arms.size < 2:
        return {}
    variance = fit.dispersion / fit.information[arms]
    _, member = _stand_out(sign * fit.slope[None, arms], variance)
    found = {}
    for k, i in enumerate(arms.tolist()):
        best = member[0, :, k].copy()
        best[k] = False
        weights = np.zeros(fit.slope.size)
        weights[arms[best]] = -1 / variance[best]
        weights /= -weights.sum()
        weights[i] = 1.0
        found[i] = fit.estimate(weights, fit.curves.by_unit_and_block)
    return found


def _stand_out(slopes: Floats, variance: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the z [draw, arm] of slopes [draw, arm] against the best of them, and which ones these are [draw, best, arm]."""
    weights = 1 / variance
    n_draws, n_arms = slopes.shape
    middle = slopes @ weights / weights.sum()
    order = np.argsort(-(slopes - middle[:, None]) * np.sqrt(weights), axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.broadcast_to(np.arange(n_arms), order.shape), axis=1)
    lowest, member = np.full(slopes.shape, math.inf), np.zeros((n_draws if n_draws == 1 else 0, n_arms, n_arms), bool)
    for number in {max(n_arms // 2, 1), max(n_arms // 4, 1)}:
        # An arm that is among the best itself is compared with the others of them, and one more.
        size = np.where(rank < number, number + 1, number)
        size = np.minimum(size, n_arms)
        heavy = np.take_along_axis(np.broadcast_to(weights, slopes.shape), order, axis=1)
        sums, masses = np.cumsum(np.take_along_axis(slopes, order, axis=1) * heavy, axis=1), np.cumsum(heavy, axis=1)
        total, mass = (np.take_along_axis(each, size - 1, axis=1) for each in (sums, masses))
        inside = rank < size
        total, mass = total - np.where(inside, slopes * weights, 0.0), mass - np.where(inside, weights, 0.0)
        z = (slopes - total / mass) / np.sqrt(variance + 1 / mass)
        if n_draws == 1:
            member[0] = np.where((z < lowest)[0], rank[0][:, None] < size[0], member[0])
        lowest = np.minimum(lowest, z)
    return lowest, member


def _limit(variance: Floats) -> float:
    """Return what the z of no arm exceeds with a chance of 96 % if slopes differ by noise alone, by simulation."""
    draws = np.random.default_rng(0).normal(size=(_DRAWS, variance.size)) * np.sqrt(variance)
    return float(np.quantile(-_stand_out(draws, variance)[0].min(axis=1), 1 - FAMILY * (1 - _SUDDEN)))


def _scales(cells: Cells) -> Floats:
    """Return what turns the change of each arm into a ratio, or a share of its level."""
    if cells.scale.ratios:
        return np.ones(cells.n_arms)
    level = sums_by(cells.arm, cells.sums, cells.n_arms) / np.maximum(np.bincount(cells.arm, cells.rows, cells.n_arms), 1)
    return np.asarray(1 / np.maximum(np.abs(level), cells.unit_of_change / 4))


def _own_changes(cells: Cells, arms: Ints, begin: float, end: float) -> dict[int, Estimate]:
    """Return the change of each arm within units over a part of its life."""
    low = (cells.launch + begin * cells.life)[:, None]
    high = (cells.launch + end * cells.life)[:, None]
    half = 0.5 / cells.n_bins
    keep = (cells.x >= low - half) & (cells.x <= high + half)
    curves = Curves(cells, keep.astype(float))
    fit = curves.fit(np.broadcast_to(cells.x - 0.5, keep.shape))
    clusters = [curves.by_bin, *curves.by_unit_and_bin]
    found, scales = {}, _scales(cells)
    for i in arms:
        if fit.information[i] > 0 and keep[i].sum() >= 3 and cells.life[i] > 0:
            alone = np.zeros(cells.n_arms)
            alone[i] = 1.0
            found[int(i)] = fit.estimate(alone, clusters).times((end - begin) * max(cells.life[i], 1e-9) * scales[i])
    return found


Gap = tuple[Estimate, ...]
"""How the arms that fall fell against those that do not, along each of the `_courses`."""


def gap_of(cells: Cells, arms: list[int], falling: list[int]) -> Gap | None:
    """Return the gap between the falling arms and the others; None if one of these groups is empty."""
    found = [_gap(cells, arms, falling, *course) for course in _courses(cells)]
    return None if None in found else tuple(each for each in found if each is not None)


def _courses(cells: Cells) -> tuple[tuple[Floats, NDArray[np.bool_]], ...]:
    """Return three shapes over the bins of time, and the bins along which they are looked at.

    A change along them is one over the first half of the log, over the second half, and between both: three numbers that hardly
    depend on each other.
    """
    late = np.arange(cells.n_bins) >= cells.n_bins // 2
    return (2 * cells.x, ~late), (2 * cells.x, late), (late.astype(float), np.ones_like(late))


def _gap(cells: Cells, arms: list[int], falling: list[int], shape: Floats, bins: NDArray[np.bool_]) -> Estimate | None:
    fit = _apart(cells, np.array(arms), shape, np.broadcast_to(bins, (cells.n_arms, cells.n_bins)).astype(float))
    falls = np.isin(np.arange(cells.n_arms), falling)
    heavy = np.where(np.isin(np.arange(cells.n_arms), arms), fit.information, 0.0)
    if not heavy[falls].sum() or not heavy[~falls].sum():
        return None
    weights = np.where(falls, heavy / heavy[falls].sum(), -heavy / heavy[~falls].sum())
    return fit.estimate(weights, fit.curves.by_unit_and_block).times(1 / cells.unit_of_change)


class Step(NamedTuple):
    """How much better one sudden step of several arms explains them than smooth curves of each, and when it is."""

    gain: float
    at: float


def sudden_step(cells: Cells, falling: list[int]) -> Step:
    """Return how well a step of all falling arms at one time explains them.

    The step must beat smooth curves, and it must lose little against steps of each arm at a time of its own: arms that wear out
    suddenly do not all do so at once.
    """
    if len(falling) < 2:
        return Step(-math.inf, 0.0)
    fit = Curves(cells).fit(None, np.eye(cells.n_bins))
    bins = np.arange(cells.n_bins)
    age = np.maximum(cells.x - cells.launch[:, None], 0.0)
    smooth = [age, *(np.exp(-rate * age) for rate in (4.0, 12.0)), age**3]
    residual, blocks = fit.curves.blocks(fit.mean)

    def gains(shape: Floats) -> Floats:
        along = np.einsum("abc,ac->ab", blocks[falling], shape[falling])
        information = (along * shape[falling]).sum(axis=1)
        score = (residual[falling] * shape[falling]).sum(axis=1)
        told = information > 1e-9 * max(float(information.max(initial=0.0)), 1e-300)
        return np.asarray(np.where(told, score**2 / np.where(told, information, 1.0), 0.0) / fit.dispersion)

    steps = np.array([gains(np.broadcast_to((bins >= k).astype(float), age.shape)) for k in range(2, bins.size - 1)])
    curves = np.array([gains(shape) for shape in smooth]).max(axis=0)
    best = int(steps.sum(axis=1).argmax())
    lost = float((steps.max(axis=0) - steps[best]).max())
    better = float((steps[best] - curves).sum())
    return Step(better if lost < _OWN_STEP else -math.inf, (best + 2) / bins.size)


# --- All arms together --------------------------------------------------------------------------------------------------------


class CommonChange(NamedTuple):
    """How all arms changed together, within units.

    Attributes:
        trend: the linear change over the log.
        moves: how much the level moves from eighth to eighth; standard normal if it does not.
    """

    trend: Estimate
    moves: float


def common_change(cells: Cells, without: list[int]) -> CommonChange:
    """Return how all arms changed together, but for some."""
    keep = ~np.isin(np.arange(cells.n_arms), without)
    curves = Curves(cells, np.broadcast_to(keep[:, None], (cells.n_arms, cells.n_bins)).astype(float))
    part = np.arange(cells.n_bins) * PARTS // cells.n_bins
    number = int(part[-1]) + 1
    fit = curves.fit(None, (part[:, None] == np.arange(1, number)).astype(float))
    square = float(fit.calendar @ np.linalg.pinv(fit.rest, rcond=1e-10, hermitian=True) @ fit.calendar) / fit.dispersion
    return CommonChange(curves.trend().times(1 / cells.unit_of_change), chi_square_z(square, max(number - 1, 1)))


# --- Own pulls ----------------------------------------------------------------------------------------------------------------


class Pace(NamedTuple):
    """Wear with own pulls at one pace.

    Attributes:
        wear: the whole wear, to first order.
        whole: how much of it comes over the life of an arm, within units.
        course: how much of it comes along each number of a `Gap`.
    """

    wear: Estimate
    whole: float
    course: tuple[float, ...]


class PullsEffect(NamedTuple):
    """Wear with own pulls: the same arm at the same time, in units that had pulled it more or less often.

    Attributes:
        wear: the whole wear at the pace that explains most, with the error clustered by unit.
        error: its error if rows that share a unit have nothing more in common.
        drift: how much of the wear comes over the life of an arm, within units.
        mean: the mean share of the wear that has come.
        paces: all paces about which the log says anything.
        by_arm: the wear of single arms in their errors, where it is known.
    """

    wear: Estimate
    error: float
    drift: float
    mean: float
    paces: tuple[Pace, ...]
    by_arm: dict[int, float]

    @property
    def z(self) -> float:
        """The wear in errors of single rewards."""
        return self.wear.value / self.error

    def misfit(self, gap: Gap) -> float:
        """Return by how many standard errors own pulls fall short of a gap, at the pace at which they explain most of it."""
        return min(_misfit(each.wear, zip(each.course, gap, strict=True)) for each in self.paces)

    def misfit_of_all(self, fall: Estimate) -> float:
        """Return the same of a fall over the life of an arm."""
        return min(_misfit(each.wear, [(each.whole, fall)]) for each in self.paces)


def _misfit(wear: Estimate, falls: Iterable[tuple[float, Estimate]]) -> float:
    """Return how far wear must be from its estimate, or fall short of falls, in standard errors.

    It may be larger than the gap to other arms, since these may wear out, too.
    """
    tried = wear.value + wear.error * np.linspace(-8.0, 2.0, 201)
    square = ((tried - wear.value) / wear.error) ** 2
    for moved, fall in falls:
        square = square + np.maximum((tried * moved - fall.value) / fall.error, 0.0) ** 2
    return math.sqrt(float(square.min()))


def pulls_effect(cells: Cells, arms: list[int] | None = None) -> PullsEffect | None:
    """Return how arms wear out with own pulls; None if the log cannot tell."""
    if cells.n_units < FEWEST_UNITS:
        return None
    curves = Curves(cells)
    pairs = Pairs(curves, np.isin(np.arange(cells.n_arms), np.arange(cells.n_arms) if arms is None else arms))
    if pairs.order.size < FEWEST_UNITS:
        return None
    life, scale = float(np.median(cells.life[np.unique(pairs.arm)])), 1 / cells.unit_of_change
    tried = []
    for pace in PACES:
        worn = _worn(cells, curves, pace)
        found = pairs.beside(worn) if pace <= 3 * max(int(cells.own.max()), 1) else None
        if found is not None:
            course = tuple(pairs.moved(worn, *each) for each in _courses(cells))
            whole = life * pairs.moved(worn, cells.x, cells.x >= 0)
            tried.append((pace, found, Pace(found.clustered.times(scale), whole, course)))
    if not tried:
        return None
    pace, first, best = min(tried, key=lambda each: each[1].value / each[1].error)
    worn = _worn(cells, curves, pace)
    full = pairs.beside(worn, steps=4) or first
    mean = float((curves.rows * worn)[pairs.order].sum() / curves.rows[pairs.order].sum())
    error = scale * first.error * abs(full.value / first.value) if cells.scale.ratios and first.value else scale * first.error
    by_arm = {int(i): float(full.by_arm[i] / full.errors[i]) for i in np.flatnonzero(np.isfinite(full.errors))}
    return PullsEffect(full.clustered.times(scale), error, best.whole, mean, tuple(each for *_, each in tried), by_arm)


def _worn(cells: Cells, curves: Curves, pace: float) -> Floats:
    """Return the mean of `1 - exp(-own pulls / pace)` of each group and bin."""
    kept = curves.group >= 0
    place = curves.group[kept] * cells.n_bins + cells.bin[kept]
    worn = sums_by(place, (cells.worn(pace) * cells.exposure)[kept], curves.rows.size).reshape(curves.rows.shape)
    return np.asarray(worn / np.maximum(curves.rows, 1e-300))


# --- Ages ---------------------------------------------------------------------------------------------------------------------


class AgeEffect(NamedTuple):
    """Age against calendar: do arms that are launched late start as high as others did?

    Attributes:
        age: the change with age that the calendar leaves, over the log.
        within: the change of arms after their launches, over the log.
        launches: the number of arms that were launched later than others.
    """

    age: Estimate
    within: Estimate
    launches: int


def age_effect(cells: Cells, arms: list[int]) -> AgeEffect | None:
    """Return how arms change with their age; None without at least three later launches."""
    late = np.unique(np.round(cells.launch[arms], 2))
    if (late > _AT_ONCE).sum() < 3:
        return None
    within = Curves(cells).trend()
    levels, launches = [], []
    for i in arms:
        early = (cells.arm == i) & (cells.x[cells.bin] <= cells.launch[i] + max(0.25 * cells.life[i], 1 / cells.n_bins))
        if cells.sums[early].sum() <= 0 and cells.scale.ratios:
            early = cells.arm == i
        rows = cells.exposure[early]
        if rows.sum() == 0:
            continue
        age = float(np.average(cells.x[cells.bin[early]], weights=rows)) - cells.launch[i]
        mean = float(cells.sums[early].sum() / rows.sum())
        levels.append((math.log(mean) if cells.scale.ratios else mean) - within.value * age)
        launches.append(float(cells.launch[i]))
    design = np.column_stack([np.ones(len(launches)), launches])
    coefficients, *_ = np.linalg.lstsq(design, np.array(levels), rcond=None)
    left = np.array(levels) - design @ coefficients
    degrees = max(len(launches) - 2, 1)
    floor = _STEADY_SPREAD**2 if cells.scale.ratios else 0.0
    spread = max(float((left**2).sum()) / degrees, floor)
    error = math.sqrt(spread * float(np.linalg.inv(design.T @ design)[1, 1]))
    scale = 1 / cells.unit_of_change
    found = Estimate(within.value - float(coefficients[1]), math.hypot(within.error, error), degrees + 1.0)
    return AgeEffect(found.times(scale), within.times(scale), int((late > _AT_ONCE).sum()))


# --- Choices ------------------------------------------------------------------------------------------------------------------


class Targeting(NamedTuple):
    """How choices depend on the unit, at the same time.

    Attributes:
        strength: Cramér's V: 0 if they do not, 1 if the unit decides.
        clear: how clearly; standard normal if they do not.
        changes: how much the choices within units change from the first half of the log to the second; standard normal.
        moves: how much the shares of the arms that were there from the start change; standard normal if they do not.
    """

    strength: float
    clear: float
    changes: float
    moves: float

    @property
    def is_static(self) -> bool:
        """Whether arms kept their shares of the choices: the logger did not learn."""
        return self.moves < 5 and not self.learns

    @property
    def depends(self) -> bool:
        """Whether choices depend on the unit."""
        return self.strength > 0.05 and self.clear > 5

    @property
    def learns(self) -> bool:
        """Whether choices within units change, as they do if they follow the rewards of the unit."""
        return self.depends and self.changes > 5


def targeting(cells: Cells) -> Targeting:
    """Return how choices depend on the unit."""
    shares = _table((cells.arm, cells.bin), cells.rows, (cells.n_arms, cells.n_bins))
    there = shares[cells.launch <= _AT_ONCE]  # later launches take shares from all arms, but do not change how these compare
    even = np.outer(there.sum(axis=1), there.sum(axis=0)) / max(there.sum(), 1)
    used = even > 1
    degrees = max(int(used.sum()) - len(there), 1)
    moves = (float(((there - even)[used] ** 2 / even[used]).sum()) - degrees) / math.sqrt(2 * degrees)
    if not cells.has_units or cells.n_arms < 2:
        return Targeting(0.0, 0.0, 0.0, moves)
    bins, late = cells.n_bins, cells.bin >= cells.n_bins / 2
    share = shares / np.maximum(shares.sum(axis=0), 1)
    traffic = np.bincount(cells.unit, cells.rows, cells.n_units)
    busiest = np.argsort(-traffic, kind="stable")[:_BUSIEST]
    place = np.full(cells.n_units, -1)
    place[busiest] = np.arange(busiest.size)
    ours = place[cells.unit] >= 0
    unit, arm, half, rows = place[cells.unit[ours]], cells.arm[ours], late[ours].astype(int), cells.rows[ours]
    shape = 2, busiest.size, cells.n_arms
    seen = _table((half, unit, arm), rows, shape)
    size = _table((unit, cells.bin[ours]), rows, (busiest.size, bins))
    second = np.arange(bins) >= bins / 2
    expected = np.stack([size[:, ~second] @ share[:, ~second].T, size[:, second] @ share[:, second].T])
    both, apart = expected.sum(axis=0), (seen - expected).sum(axis=0)
    used = both > 1
    free = max(float(used.sum()) * (1 - 1 / cells.n_arms), 1.0)
    square = float((apart[used] ** 2 / both[used]).sum())
    clear = (square - free) / math.sqrt(2 * free)
    smaller = max(min(busiest.size, cells.n_arms) - 1, 1)
    strength = math.sqrt(max(square - free, 0.0) / max(float(both[used].sum()), 1.0) / smaller)
    sizes = expected.sum(axis=2, keepdims=True)
    first, later = sizes[0] / np.maximum(sizes.sum(axis=0), 1), sizes[1] / np.maximum(sizes.sum(axis=0), 1)
    moved = (seen[0] - expected[0]) * later - (seen[1] - expected[1]) * first
    variance = expected[0] * later**2 + expected[1] * first**2
    if clear > 5:  # if choices depend on the unit, but always in the same way, these are their variances
        variance = np.maximum(variance, seen[0] * later**2 + seen[1] * first**2)
    used = variance > 1
    free = max(float(used.sum()) * (1 - 1 / cells.n_arms), 1.0)
    changes = (float((moved[used] ** 2 / variance[used]).sum()) - free) / math.sqrt(2 * free)
    return Targeting(strength, clear, changes, moves)


def _table(places: tuple[Ints, ...], values: Floats, shape: tuple[int, ...]) -> Floats:
    found = np.bincount(np.ravel_multi_index(places, shape), values, math.prod(shape))
    return np.asarray(found, float).reshape(shape)


# --- Rewards to come ----------------------------------------------------------------------------------------------------------

_NEWEST = 0.08  # the share of the log that is compared with what came before
_LATE_FALL = 0.7


def newest_fall(cells: Cells) -> float:
    """Return by which share the newest rows fell below the trend of the rows before; 0 if they did not clearly."""
    pairs = cells.n_units * cells.n_arms
    level = sums_by(cells.pair, cells.sums, pairs) / np.maximum(sums_by(cells.pair, cells.exposure, pairs), 1e-300)
    expected, paid = (sums_by(cells.bin, each, cells.n_bins) for each in (cells.exposure * level[cells.pair], cells.sums))
    t = cells.x
    new, before = t > 1 - _NEWEST, (t > 0.4) & (t <= 1 - 2 * _NEWEST)
    if not cells.scale.ratios or not expected[new].sum() or not paid[before].sum():
        return 0.0
    # The trend before goes on: a fall that began long ago is no sign of rewards to come.
    root = np.sqrt(expected[before])
    ratio = paid[before] / np.maximum(expected[before], 1e-300)
    design = np.column_stack([np.ones(int(before.sum())), t[before]])
    line = np.linalg.lstsq(root[:, None] * design, root * ratio, rcond=None)[0]
    foreseen = float(((line[0] + line[1] * t[new]) * expected[new]).sum())
    foreseen = min(
        max(foreseen, 0.3 * float(ratio.mean()) * float(expected[new].sum())), float(ratio.max() * expected[new].sum())
    )
    share = float(paid[new].sum()) / max(foreseen, 1e-300)
    error = math.sqrt(cells.single * (1 / max(foreseen, 1.0) + 4 / max(float(paid[before].sum()), 1.0)))
    return 1 - share if share < _LATE_FALL and math.log(max(share, 1e-9)) < -4 * error else 0.0
