"""`fit`: problems that a log could have come from, a new one in every run of a simulation.

An arm with a handful of events has no curve of its own: one lucky click among two pulls would make it the best arm of all. Its
level is that of all arms, times a factor whose distribution follows from its events, and from how much arms differ at all
(Robbins 1956).
"""

import hashlib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import run_number
from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.logs.cells import FEWEST_EVENTS, Clock, scale_of, sums_by
from rotting.logs.cells import cells_of as cells_of_log
from rotting.logs.games import openings_of
from rotting.logs.levels import Cells, cells_of, draw_levels, levels_of, pull_starts, round_starts
from rotting.logs.log import Log, check_log, positions
from rotting.logs.trends import common_change, pulls_effect
from rotting.policies.kernels.elementary import powers
from rotting.problems.arms import Arm, Product, Rested, Restless, Sum
from rotting.problems.decays import Piecewise
from rotting.problems.families import ProblemFamily, family_key, generator, normals
from rotting.problems.mean_table import PRODUCT, SUM, Means, Steps, join, merge, one_arm
from rotting.problems.noise import Bernoulli, Noise, Noiseless, Poisson, Resampled
from rotting.problems.oracle import GREEDY_RISING, GREEDY_TWO_CLOCKS
from rotting.problems.problem import Problem

CLOCKS = get_args(Clock)
_KEPT_CURVES = 256  # runs: more than `advise` plays for a reading
_MARKS = 200  # rows at which a random arm is looked at
_MOST_ALIKE = 1e4  # the largest shape of the distribution of arms: they differ by a hundredth at least
RESIDUALS = 512  # in a table of residuals: each stands for 0.2 % of the rewards
_FEWEST_RESIDUALS = 10  # rewards of a cell whose residuals are used; its mean takes up a tenth of their variance at most
_DISPERSION = (0.8, 1.25)  # the variance of counts divided by their mean, which is 1 if they are Poisson: up to a quarter off


class Rounds(NamedTuple):
    """The rows of a log that have a reward. Pulls and rounds count the others, too."""

    arm: Ints
    reward: Floats
    unit: Ints
    round: Ints
    pulls: Ints  # of the arm before, in all units together
    own_pulls: Ints  # the same in the unit of the row


def rounds_of(log: Log) -> Rounds:
    """Return the rows of a log that have a reward."""
    known = np.flatnonzero(log.known)
    return Rounds(log.arm[known], log.reward[known], log.unit[known], known, positions(log.arm)[known], log.own_pulls[known])


class Curves(NamedTuple):
    """The means of one run: the values [arm, piece] over pulls and over rounds.

    A clock that the arms do not follow has one piece, of 0.
    """

    pulls: Floats
    rounds: Floats


class FittedFamily(ProblemFamily):
    """Problems that a log could have come from, a new one in every run. `fit` returns it.

    Args:
        log: the log.
        clock: "pulls", "time" or "both".
        falling: whether no arm may rise.

    Attributes:
        clock: the clock along which arms wear out.
        falling: whether no arm may rise.
        n_arms: K.
        horizon: the number of rows, which is the longest game.
        noise: the distribution of the rewards around their means.
    """

    is_value: ClassVar[bool] = True

    def __init__(self, log: Log, clock: Clock, falling: bool) -> None:
        rows = rounds_of(log)
        self.clock, self.falling = clock, falling
        self.n_arms, self.horizon = len(log.arms), len(log)
        self.name = f"log, wear with {clock}"
        self.few = few_events(log)
        self.seen = log.known.astype(np.int64)
        self._events = _Events.of(rows, self.n_arms)
        self._lowest = 0.0 if rows.reward.min() >= 0 else -math.inf
        self._share = _share_of_pulls(log) if clock == "both" else (1.0, 0.0)
        by_pulls, by_round = pull_starts(log.pulls, self.horizon), round_starts(self.n_arms, self.horizon)
        nothing = np.zeros(1, np.int64)
        self._starts = nothing if clock == "time" else by_pulls, nothing if clock == "pulls" else by_round
        self._cells = {
            each: cells_of(rows.arm, ticks, rows.reward, self.n_arms, starts)
            for each, ticks, starts in (("pulls", rows.pulls, by_pulls), ("time", rows.round, by_round))
            if clock in {each, "both"}
        }
        first, cells = next(iter(self._cells.items()))
        self.noise = fitted_noise(rows.arm, rows.pulls if first == "pulls" else rows.round, rows.reward, cells)
        self._kind = PRODUCT if clock == "both" and self._lowest == 0.0 else SUM
        self._pull_counts = _counts(rows.arm, rows.pulls, rows.round, self.n_arms, *self._starts)
        hasher = hashlib.sha256()
        for array in (rows.arm, rows.reward, rows.unit, rows.pulls, rows.own_pulls, *self._starts):  # all that it is made from
            hasher.update(np.ascontiguousarray(array).data)
        self._log_digest = hasher.hexdigest()[:16]

    @property
    def max_horizon(self) -> int:
        """The number of rounds of the log."""
        return self.horizon

    @property
    def reference(self) -> str | None:
        """The greedy oracle, if the optimum cannot be computed for every problem that the log allows."""
        if self.clock == "both":
            return GREEDY_TWO_CLOCKS
        return GREEDY_RISING if self.clock == "pulls" and not self.falling else None

    def curves(self, run: int, key: int) -> Curves:
        """Return the means of a run. Those of the last runs are kept: a comparison of policies asks for each three times."""
        return _kept_curves(self, run, key)

    def draw_curves(self, run: int, key: int) -> Curves:
        """Draw the means of a run."""
        rng = generator(key, run)
        drawn = {clock: self._draw_levels(cells, rng) for clock, cells in self._cells.items()}
        nothing = np.zeros((self.n_arms, 1))
        if self.clock != "both":
            return Curves(drawn.get("pulls", nothing), drawn.get("time", nothing))
        # Each clock alone explains the whole fall of an arm: of both together, each has a share in it.
        mean, error = self._share
        share = min(max(mean + error * float(normals(rng, (1,))[0]), 0.0), 1.0)
        if self._kind == PRODUCT:
            return Curves(powers(drawn["pulls"], share), powers(drawn["time"], 1 - share))
        return Curves(share * drawn["pulls"], (1 - share) * drawn["time"])

    def _draw_levels(self, cells: Cells, rng: np.random.Generator) -> Floats:
        """Draw the levels [arm, cell] along a clock."""
        # Arms with few events do not tell how much arms differ, nor how they walk.
        used = cells if self.few.all() else cells._replace(counts=np.where(self.few, 0.0, cells.counts))
        levels = draw_levels(levels_of(used, rng), rng, self._lowest, self.noise.highest_mean, falling=self.falling)
        return self._with_few(levels, cells, rng) if self.few.any() else levels

    def _with_few(self, levels: Floats, cells: Cells, rng: np.random.Generator) -> Floats:
        """Return levels [arm, cell] in which arms with few events have those of all arms, times a factor of their own."""
        weight = np.where(self.few[:, None], 0.0, cells.counts.T)
        level = np.full(self.n_arms, self._events.level)
        common = np.ones(levels.shape[1])
        if weight.sum() > 0:
            seen = weight.sum(axis=0)
            curve = (weight * levels).sum(axis=0) / np.maximum(seen, 1e-300)
            last = np.maximum.accumulate(np.where(seen > 0, np.arange(seen.size), 0))
            common = curve[last] / max(float((weight * levels).sum() / weight.sum()), np.finfo(float).tiny)
        factor = self._events.draw(rng)
        few = np.clip(level[:, None] * factor[:, None] * common, self._lowest, self.noise.highest_mean)
        return np.where(self.few[:, None], few, levels)

    def log_reward(self, run: int, seed: int = 0) -> float:
        """Return the mean reward of the rows of the log with a known reward, all together, in the problem of a run."""
        return self._reward(self._pull_counts, run_number("run", run), seed)

    def random_rewards(self, log: Log, runs: Iterable[int], seed: int = 0) -> Floats:
        """Return what a random arm of those that can be chosen pays on average, as the log has worn it, in each run."""
        marks, openings = np.unique(np.linspace(0, len(log) - 1, _MARKS).astype(np.int64)), openings_of(log)
        before = np.zeros((marks.size, self.n_arms), np.int64)
        np.add.at(before, (np.searchsorted(marks, np.arange(len(log))), log.arm), 1)
        masks = openings.mask(self.n_arms)[openings.which[marks]]
        mark, arm = np.nonzero(masks)
        weights = 1 / masks.sum(axis=1)[mark] / marks.size
        counts = _counts(arm, np.cumsum(before, axis=0)[mark, arm], marks[mark], self.n_arms, *self._starts, weights)
        return np.array([self._reward(counts, run, seed) for run in runs])

    def _reward(self, counts: Floats, run: int, seed: int) -> float:
        pulls, rounds = self.curves(run, family_key(seed))
        both = pulls[:, :, None], rounds[:, None, :]
        return float((counts * (both[0] * both[1] if self._kind == PRODUCT else both[0] + both[1])).sum())

    def _steps(self, run: int, key: int) -> Iterator[tuple[Steps, Steps]]:
        """Yield the pieces of each arm over pulls and over rounds."""
        curves = self.curves(run, key)
        for pulls, rounds in zip(*curves, strict=True):  # adding zero turns -0.0 into 0.0
            yield merge(self._starts[0], pulls + 0.0), merge(self._starts[1], rounds + 0.0)

    def means(self, run: int, key: int, horizon: int) -> Means:
        """Return the table of a run's problem."""
        steps = [(_until(pulls, horizon), _until(rounds, horizon)) for pulls, rounds in self._steps(run, key)]
        return join([one_arm(self._kind, rounds, pulls, on_rounds=self.clock == "time") for pulls, rounds in steps])

    def drawn(self, run: int, key: int) -> Problem:
        """Return the problem of a run."""
        arms = [self._arm(_decay(pulls), _decay(rounds)) for pulls, rounds in self._steps(run, key)]
        return Problem(arms, self.noise, self.horizon, self.name)

    def _arm(self, pulls: Piecewise, rounds: Piecewise) -> Arm:
        if self.clock == "pulls":
            return Rested(pulls)
        if self.clock == "time":
            return Restless(rounds)
        return Product(pulls, rounds) if self._kind == PRODUCT else Sum(pulls, rounds)

    def __repr__(self) -> str:
        rising = "" if self.falling else ", falling=False"
        size = f"{self.n_arms} arms, {self.horizon:,} rounds"
        return f"FittedFamily({size}, log={self._log_digest!r}, clock={self.clock!r}{rising})"


@lru_cache(_KEPT_CURVES)
def _kept_curves(family: FittedFamily, run: int, key: int) -> Curves:
    curves = family.draw_curves(run, key)
    for each in curves:
        each.flags.writeable = False
    return curves


def _counts(
    arm: Ints, pulls: Ints, rounds: Ints, n_arms: int, pull_starts: Ints, round_starts: Ints, weights: Floats | None = None
) -> Floats:
    """Return how often each arm was met in each piece of pulls and of rounds."""
    shape = n_arms, pull_starts.size, round_starts.size
    pieces = (np.searchsorted(starts, at, side="right") - 1 for starts, at in ((pull_starts, pulls), (round_starts, rounds)))
    return np.bincount(np.ravel_multi_index((arm, *pieces), shape), weights, math.prod(shape)).astype(float).reshape(shape)


def _share_of_pulls(log: Log) -> tuple[float, float]:
    """Return the share of the fall of all arms that goes with their pulls, and its error."""
    cells = cells_of_log(log)
    pulls, trend = pulls_effect(cells), common_change(cells, []).trend
    if pulls is None or trend.value >= -2 * trend.error:
        return 0.5, 0.5
    drawn = pulls.wear.times(pulls.drift / trend.value)
    return round(drawn.value, 3), round(drawn.error, 3)  # the same on every machine


def few_events(log: Log) -> NDArray[np.bool_]:
    """Return the arms with too few events for a level of their own; none if rewards are measurements."""
    known = log.reward[log.known]
    if not scale_of(known).ratios:
        return np.zeros(len(log.arms), bool)
    return np.bincount(log.arm[log.known], known != 0, len(log.arms)) < FEWEST_EVENTS


def few_late(log: Log) -> NDArray[np.bool_]:
    """Return the arms whose present level is hardly known: they have few events in the last quarter of the log."""
    known, late = log.known, log.known & (np.arange(len(log)) >= len(log) * 3 // 4)
    if scale_of(log.reward[known]).ratios:
        return np.bincount(log.arm[late], log.reward[late] != 0, len(log.arms)) < FEWEST_EVENTS
    return np.bincount(log.arm[late], minlength=len(log.arms)) < 2 * FEWEST_EVENTS


@dataclass(frozen=True, eq=False)
class _Events:
    """The events of each arm, and those that it would have if arms were alike, in numbers of typical size."""

    level: float
    seen: Floats
    expected: Floats

    @classmethod
    def of(cls, rows: Rounds, n_arms: int) -> "_Events":
        """Return the events of the arms."""
        total = float(rows.reward.sum())
        size = float((rows.reward**2).sum()) / total if total > 0 else 1.0
        level = total / rows.reward.size
        pulls = np.bincount(rows.arm, minlength=n_arms)
        return cls(level, sums_by(rows.arm, rows.reward, n_arms) / size, np.asarray(pulls * (level / size), np.float64))

    def draw(self, rng: np.random.Generator) -> Floats:
        """Draw the factor of each arm, given its events: Gamma, with a shape that follows from how much arms differ."""
        square, total = float((self.expected**2).sum()), float(self.expected.sum())
        noise = total + float(normals(rng, (1,))[0]) * (2 * square) ** 0.5  # of the squared differences, if arms are alike
        apart = float(((self.seen - self.expected) ** 2).sum()) - noise
        between = min(max(apart / max(square, 1e-300), 1 / _MOST_ALIKE), 1.0)
        shape = 1 / between + self.seen
        # The cube root of a Gamma variable is nearly normal (Wilson and Hilferty 1931).
        root = np.maximum(1 - 1 / (9 * shape) + normals(rng, shape.shape) / (3 * np.sqrt(shape)), 0.0)
        return np.asarray(shape * root * root * root / (1 / between + self.expected))


def _until(steps: Steps, horizon: int) -> Steps:
    """Return the pieces that begin before a horizon."""
    kept = int(np.searchsorted(steps[0], horizon))
    return steps[0][:kept], steps[1][:kept]


def _decay(steps: Steps) -> Piecewise:
    return Piecewise(steps[1], starts=steps[0])


def fit(log: Log, clock: Clock, falling: bool = True) -> FittedFamily:
    """Return problems that a log could have come from; those of different runs differ in what the log leaves uncertain.

    The levels of an arm along the clock are drawn from their distribution given the rewards of the log. After the last reward
    of an arm its level stays the same in some runs, and keeps falling in others. The pulls of an arm are counted over all units
    of the log: policies are not told which unit a round serves.

    The noise is fitted as well: rewards of 0 or 1, Poisson counts, or residuals drawn from those of the log
    (`rotting.Resampled`).

    `simulate` lets policies choose among all arms in all rounds; `advise` also knows which ones could be chosen.

    Args:
        log: the log. A row without a reward wears out its arm, too.
        clock: along which clock arms wear out: "pulls", "time", or "both". How much each of both wears is drawn in every run:
            from what the units of the log say, or anything from nothing to all without units.
        falling: whether arms never rise. If they may, regret on the clock of pulls is measured against the greedy oracle.

    Example:
        >>> import rotting
        >>> log = Log({"arm": ["a", "b"] * 500, "reward": [1.0, 0.25] * 500})
        >>> family = fit(log, clock="pulls")
        >>> rotting.simulate(rotting.UCB1(), family, runs=5).regret[0, :, -1].max() < 100
        np.True_
    """
    check_log(log)
    if clock not in CLOCKS:
        raise InvalidValueError("clock", f"be {', '.join(map(repr, CLOCKS[:-1]))} or {CLOCKS[-1]!r}", clock)
    if not isinstance(falling, bool):
        raise InvalidTypeError("falling", "be True or False", falling)
    if not log.known.any():
        raise InvalidValueError("log", "have a row with a reward", log, got="none")
    return FittedFamily(log, clock, falling)


# --- The noise ----------------------------------------------------------------------------------------------------------------


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
