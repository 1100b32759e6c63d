"""The problems of a family: tables of means and the rewards of the optimal policy, for some runs at a time."""

import hashlib
import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.engines.compile import compiled
from rotting.engines.game import means_of_run, own_means
from rotting.engines.greedy import collect_runs
from rotting.errors import InvalidValueError
from rotting.kernels.binding import bind
from rotting.problems import Problem, ProblemFamily
from rotting.problems.mean_table import Means, join
from rotting.problems.oracle import OPTIMAL, is_greedy_optimal, optimal_rewards

_KEPT_BYTES = 1 << 29  # the most that is kept of tables, for the policies that play after the first
Tables = tuple[Means, Floats]


@dataclass(frozen=True, eq=False)
class FamilyDraws:
    """The problems of the runs of a family. The problem of run r depends on the key and on r alone.

    Args:
        family: the family that draws the problems.
        first: the problem of run 0. All runs have its number of arms and its noise.
        key: the key of the random numbers.
        checkpoints: the rounds at which optimal rewards are computed; the last one is the horizon.
        reference: what the regret of run 0 is measured against; all other runs must have the same reference.
    """

    family: ProblemFamily
    first: Problem
    key: int
    checkpoints: Ints
    reference: str
    _kept: dict[tuple[int, int], Tables] = field(default_factory=dict, init=False)
    _lock: Any = field(default_factory=threading.Lock, init=False)

    @property
    def digest(self) -> str:
        """A digest of the family and the key."""
        if not self.family.is_value:
            raise InvalidValueError(
                "problem",
                "be a family of the library where games are kept or sent to a cluster",
                self.family,
                hint=": what a function draws cannot be told from it",
            )
        return hashlib.sha256(repr((self.family, self.key)).encode()).hexdigest()

    def tables(self, first_run: int, runs: int) -> Tables:
        """Return the means of some runs, one after the other, and their optimal rewards `[runs, checkpoints]`."""
        kept = self._kept.get((first_run, runs))
        if kept is not None:
            return kept
        drawn = [self._draw(run) for run in range(first_run, first_run + runs)]
        means = join([table for table, _ in drawn])
        optimum = np.full((runs, self.checkpoints.size), np.nan)
        greedy: Any = compiled(bind(collect_runs, {means_of_run: own_means}), allocates=True)
        greedy(means, self.first.n_arms, self.checkpoints, optimum)
        for row, (_, exact) in zip(optimum, drawn, strict=True):
            if exact is not None:
                row[:] = exact
        with self._lock:
            size = sum(sum(each.nbytes for each in (*some, best)) for some, best in self._kept.values())
            if size + sum(each.nbytes for each in (*means, optimum)) <= _KEPT_BYTES:
                self._kept[first_run, runs] = means, optimum
        return means, optimum

    def _draw(self, run: int) -> tuple[Means, Floats | None]:
        """Return the means of one run, and its optimal rewards, or None if the greedy oracle is optimal."""
        horizon = int(self.checkpoints[-1])
        table = self.family.means(run, self.key, horizon)
        if table is not None and is_greedy_optimal(table):
            return table, None
        problem = self.family.drawn(run, self.key)
        self._check_alike(problem, run)
        table = problem.means(horizon)
        if is_greedy_optimal(table):
            return table, None
        optimum, reference = optimal_rewards(problem, horizon, self.checkpoints)
        if reference != self.reference:
            raise InvalidValueError(
                "a family",
                "have one reference for all runs",
                reference,
                got=f"{self.reference!r} in run 0 and {reference!r} in run {run}",
            )
        return table, optimum

    def _check_alike(self, problem: Problem, run: int) -> None:
        """Refuse a problem that the compiled game of run 0 cannot play."""
        if problem.n_arms != self.first.n_arms:
            raise InvalidValueError(
                "a family",
                "draw problems of one number of arms",
                problem.n_arms,
                got=f"{self.first.n_arms} in run 0 and {problem.n_arms} in run {run}",
            )
        if problem.noise != self.first.noise:
            raise InvalidValueError(
                "a family",
                "draw problems of one noise",
                problem.noise,
                got=f"{self.first.noise!r} in run 0 and {problem.noise!r} in run {run}",
            )
        if problem.delay is not None:
            raise InvalidValueError("a family", "draw problems without delays", problem.delay, hint=f" in run {run}")
        if self.reference != OPTIMAL and is_greedy_optimal(problem.means(int(self.checkpoints[-1]))):
            raise InvalidValueError(
                "a family",
                "have one reference for all runs",
                OPTIMAL,
                got=f"{self.reference!r} in run 0 and {OPTIMAL!r} in run {run}",
            )

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the tables, which can be drawn again."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Start without tables."""
        vars(self).update(state, _kept={}, _lock=threading.Lock())
