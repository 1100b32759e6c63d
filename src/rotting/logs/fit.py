"""`fit`: problems that a log could have come from, a new one in every run of a simulation."""

import hashlib
import math
from typing import ClassVar, NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.logs import two_clocks
from rotting.logs.clocks import FEWEST_UNITS
from rotting.logs.fitted_noise import fitted_noise
from rotting.logs.levels import Levels, cells_of, draw_levels, levels_of, pull_starts, round_starts
from rotting.logs.log import Log, positions
from rotting.problems.arms import Arm, Product, Rested, Restless, Sum
from rotting.problems.decays import Piecewise
from rotting.problems.families import ProblemFamily, generator
from rotting.problems.mean_table import PRODUCT, SUM, Means, Steps, join, merge, no_steps, one_arm
from rotting.problems.oracle import GREEDY_RISING, GREEDY_TWO_CLOCKS
from rotting.problems.problem import Problem

CLOCKS = ("pulls", "time", "both")


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
    """The means of one run, arm by arm: their steps over pulls and over rounds."""

    pulls: list[Steps]
    rounds: list[Steps]


class FittedFamily(ProblemFamily):
    """Problems that a log could have come from, a new one in every run. `fit` makes it.

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

    def __init__(self, log: Log, clock: str, falling: bool) -> None:
        rows = rounds_of(log)
        self.clock, self.falling = clock, falling
        self.n_arms, self.horizon = len(log.arms), rows.reward.size
        self.name = f"log, wear with {clock}"
        ticks, starts = rows.pulls, pull_starts(log.pulls, self.horizon)
        if clock == "time":
            ticks, starts = np.arange(self.horizon), round_starts(self.horizon)
        cells = cells_of(rows.arm, ticks, rows.reward, self.n_arms, starts)
        self.noise = fitted_noise(rows.arm, ticks, rows.reward, cells)
        self._lowest = 0.0 if rows.reward.min() >= 0 else -math.inf
        self._fitted: Levels | two_clocks.Table
        if clock == "both":
            self._fitted = two_clocks.table_of(rows.arm, rows.unit, rows.own_pulls, rows.reward, self.n_arms, starts)
        else:
            self._fitted = levels_of(cells)
        hasher = hashlib.sha256()
        for array in (rows.arm, rows.reward, rows.unit, rows.pulls):
            hasher.update(np.ascontiguousarray(array).data)
        self._log = hasher.hexdigest()[:16]

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
        """Return the means of a run."""
        rng = generator(key, run)
        nothing = [no_steps()] * self.n_arms
        if isinstance(self._fitted, Levels):
            levels = draw_levels(self._fitted, rng, self._lowest, self.noise.highest_mean, falling=self.falling)
            steps = _steps(self._fitted.cells.starts, levels)
            return Curves(steps, nothing) if self.clock == "pulls" else Curves(nothing, steps)
        over_pulls, over_rounds = two_clocks.draw_curves(self._fitted, rng, falling=self.falling)
        if self._fitted.multiplicative:
            most = np.maximum(over_rounds.max(axis=1, keepdims=True), np.finfo(float).tiny)
            over_pulls = np.minimum(over_pulls, self.noise.highest_mean / most)
        return Curves(_steps(self._fitted.starts, over_pulls), _steps(self._fitted.rounds, over_rounds))

    @property
    def _kind(self) -> int:
        return PRODUCT if isinstance(self._fitted, two_clocks.Table) and self._fitted.multiplicative else SUM

    def means(self, run: int, key: int, horizon: int) -> Means:
        """Return the table of a run's problem."""
        curves = self.curves(run, key)
        arms = [
            one_arm(self._kind, _until(rounds, horizon), _until(pulls, horizon), on_rounds=self.clock == "time")
            for pulls, rounds in zip(*curves, strict=True)
        ]
        return join(arms)

    def drawn(self, run: int, key: int) -> Problem:
        """Return the problem of a run."""
        curves = self.curves(run, key)
        arms = [self._arm(_decay(pulls), _decay(rounds)) for pulls, rounds in zip(*curves, strict=True)]
        return Problem(arms, self.noise, self.horizon, self.name)

    def _arm(self, pulls: Piecewise, rounds: Piecewise) -> Arm:
        if self.clock == "pulls":
            return Rested(pulls)
        if self.clock == "time":
            return Restless(rounds)
        return Product(pulls, rounds) if self._kind == PRODUCT else Sum(pulls, rounds)

    def __repr__(self) -> str:
        rising = "" if self.falling else ", falling=False"
        return f"FittedFamily({self.n_arms} arms, {self.horizon:,} rounds, log={self._log!r}, clock={self.clock!r}{rising})"


def _steps(starts: Ints, levels: Floats) -> list[Steps]:
    """Return the pieces of each arm; adding zero turns -0.0 into 0.0."""
    return [merge(starts, each + 0.0) for each in levels]


def _until(steps: Steps, horizon: int) -> Steps:
    """Return the pieces that begin before a horizon."""
    kept = int(np.searchsorted(steps[0], horizon))
    return steps[0][:kept], steps[1][:kept]


def _decay(steps: Steps) -> Piecewise:
    return Piecewise(steps[1], starts=steps[0])


def fit(log: Log, clock: str, falling: bool = True) -> FittedFamily:
    """Return problems that a log could have come from: a new one in every run, so that intervals carry what the log leaves open.

    The levels of an arm are drawn along the clock, given its rewards, as `rotting.logs.levels` describes. Behind its last reward an
    arm stays at its level in some runs, and keeps falling in others. Policies are not to know the units of a log: pulls are
    counted over all units.

    The noise is fitted, too: 0 or 1, counts, or residuals as the log has them (`rotting.Resampled`).

    Args:
        log: the log. Rows without a reward are no rounds, but wear out their arm.
        clock: along which clock arms wear out: "pulls", "time", or "both". The last one needs a log with units, since without
            them either clock explains the same rewards.
        falling: whether arms never rise. If they may, regret on the clock of pulls is measured against the greedy oracle.

    Example:
        >>> import rotting
        >>> log = Log({"arm": ["a", "b"] * 500, "reward": [1.0, 0.25] * 500})
        >>> family = fit(log, clock="pulls")
        >>> rotting.simulate(rotting.UCB1(), family, runs=5).regret[0, :, -1].max() < 100
        np.True_
    """
    if not isinstance(log, Log):
        raise InvalidTypeError("log", "be a Log", log)
    if clock not in CLOCKS:
        raise InvalidValueError("clock", f"be {', '.join(map(repr, CLOCKS[:-1]))} or {CLOCKS[-1]!r}", clock)
    if not isinstance(falling, bool):
        raise InvalidTypeError("falling", "be True or False", falling)
    if not log.known.any():
        raise InvalidValueError("log", "have a row with a reward", log, got="none")
    if clock == "both" and len(log.units) < FEWEST_UNITS:
        hint = ": without them, either clock explains the same rewards, and nothing tells how much each of them wears"
        raise InvalidValueError("log", f"have at least {FEWEST_UNITS} units for clock='both'", log, got=f"{len(log.units)}", hint=hint)
    return FittedFamily(log, clock, falling)
