"""`fit`: problems that a log could have come from, a new one in every run of a simulation."""

import hashlib
import math
from collections.abc import Iterator
from functools import lru_cache
from typing import ClassVar, NamedTuple, get_args

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import run_number
from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.logs.clocks import FEWEST_UNITS, Clock
from rotting.logs.levels import (
    Cells,
    CellTable,
    cell_table,
    cells_of,
    draw_curves,
    draw_levels,
    levels_of,
    pull_starts,
    round_starts,
)
from rotting.logs.log import Log, check_log, positions
from rotting.problems.arms import Arm, Product, Rested, Restless, Sum
from rotting.problems.decays import Piecewise
from rotting.problems.families import ProblemFamily, family_key, generator
from rotting.problems.mean_table import PRODUCT, SUM, Means, Steps, join, merge, one_arm
from rotting.problems.noise import Bernoulli, Noise, Noiseless, Poisson, Resampled
from rotting.problems.oracle import GREEDY_RISING, GREEDY_TWO_CLOCKS
from rotting.problems.problem import Problem

CLOCKS = get_args(Clock)
_KEPT_CURVES = 256  # runs: more than `advise` plays for a reading
RESIDUALS = 512  # in a table of residuals: each stands for 0.2 % of the rewards
_FEWEST_RESIDUALS = 10  # rewards of a cell whose residuals are used; its mean takes up a tenth of their variance at most
_DISPERSION = (0.8, 1.25)  # the variance of counts divided by their mean, which is 1 if they are Poisson: up to a quarter off


class Rounds(NamedTuple):
    """The rows of a log that have a reward: the rounds of a game."""

    arm: Ints
    reward: Floats
    unit: Ints
    pulls: Ints  # of the arm before, in all units together, rows without a reward included
    own_pulls: Ints  # the same in the unit of the row


def rounds_of(log: Log) -> Rounds:
    """Return the rounds of a log."""
    known = log.known
    return Rounds(log.arm[known], log.reward[known], log.unit[known], positions(log.arm)[known], log.own_pulls[known])


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
        horizon: the number of rows with a reward, which is the longest game.
        noise: the distribution of the rewards around their means.
    """

    is_value: ClassVar[bool] = True

    def __init__(self, log: Log, clock: Clock, falling: bool) -> None:
        rows = rounds_of(log)
        self.clock, self.falling = clock, falling
        self.n_arms, self.horizon = len(log.arms), rows.reward.size
        self.name = f"log, wear with {clock}"
        ticks, starts = rows.pulls, pull_starts(log.pulls, self.horizon)
        if clock == "time":
            ticks, starts = np.arange(self.horizon), round_starts(self.n_arms, self.horizon)
        cells = cells_of(rows.arm, ticks, rows.reward, self.n_arms, starts)
        self.noise = fitted_noise(rows.arm, ticks, rows.reward, cells)
        self._lowest = 0.0 if rows.reward.min() >= 0 else -math.inf
        self._fitted: Cells | CellTable
        self._starts: tuple[Ints, Ints]  # of the pieces over pulls and over rounds
        nothing = np.zeros(1, np.int64)
        if clock == "both":
            self._fitted = cell_table(rows.arm, rows.unit, rows.own_pulls, rows.reward, self.n_arms, starts)
            self._starts = starts, self._fitted.rounds
        else:
            self._fitted = cells
            self._starts = (starts, nothing) if clock == "pulls" else (nothing, starts)
        self._pull_counts = _pull_counts(rows, self.n_arms, *self._starts)
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
        nothing = np.zeros((self.n_arms, 1))
        if isinstance(self._fitted, Cells):
            levels = draw_levels(levels_of(self._fitted, rng), rng, self._lowest, self.noise.highest_mean, falling=self.falling)
            return Curves(levels, nothing) if self.clock == "pulls" else Curves(nothing, levels)
        pulls, rounds = draw_curves(self._fitted, rng, falling=self.falling)
        if self._fitted.multiplicative:
            most = np.maximum(rounds.max(axis=1, keepdims=True), np.finfo(float).tiny)
            pulls = np.minimum(pulls, self.noise.highest_mean / most)
        return Curves(pulls, rounds)

    def log_reward(self, run: int, seed: int = 0) -> float:
        """Return the mean reward of the choices of the log, all rounds together, in the problem of a run."""
        pulls, rounds = self.curves(run_number("run", run), family_key(seed))
        both = pulls[:, :, None], rounds[:, None, :]
        return float((self._pull_counts * (both[0] * both[1] if self._kind == PRODUCT else both[0] + both[1])).sum())

    def _steps(self, run: int, key: int) -> Iterator[tuple[Steps, Steps]]:
        """Yield the pieces of each arm over pulls and over rounds."""
        curves = self.curves(run, key)
        for pulls, rounds in zip(*curves, strict=True):  # adding zero turns -0.0 into 0.0
            yield merge(self._starts[0], pulls + 0.0), merge(self._starts[1], rounds + 0.0)

    @property
    def _kind(self) -> int:
        return PRODUCT if isinstance(self._fitted, CellTable) and self._fitted.multiplicative else SUM

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


def _pull_counts(rows: Rounds, n_arms: int, pull_pieces: Ints, round_pieces: Ints) -> Floats:
    """Return how often the log pulled each arm in each piece of pulls and of rounds."""
    pulls = np.searchsorted(pull_pieces, rows.pulls, side="right") - 1
    rounds = np.searchsorted(round_pieces, np.arange(rows.arm.size), side="right") - 1
    shape = n_arms, pull_pieces.size, round_pieces.size
    places = np.ravel_multi_index((rows.arm, pulls, rounds), shape)
    return np.bincount(places, minlength=math.prod(shape)).astype(float).reshape(shape)


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

    Args:
        log: the log. A row without a reward is not a round, but it wears out its arm.
        clock: along which clock arms wear out: "pulls", "time", or "both". "both" needs a log with units, since without them
            either clock explains the same rewards.
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
    if clock == "both" and len(log.units) < FEWEST_UNITS:
        hint = ": without them, either clock explains the same rewards, and nothing tells how much each of them wears"
        raise InvalidValueError(
            "log", f"have at least {FEWEST_UNITS} units for clock='both'", log, got=f"{len(log.units)}", hint=hint
        )
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
