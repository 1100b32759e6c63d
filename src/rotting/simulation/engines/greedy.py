"""The greedy oracle, compiled, and what it collects in the runs of games in which every run has its own means.

In every round it pulls the arm with the largest mean, the lowest one on a tie.
"""

import hashlib
import math
import threading
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.errors import InvalidValueError
from rotting.policies.kernels.binding import Bindings, allocates_nothing, bind
from rotting.policies.kernels.exact_sums import add, difference
from rotting.problems import Problem, ProblemFamily
from rotting.problems.families import family_key
from rotting.problems.mean_table import Means, join
from rotting.problems.oracle import OPTIMAL, is_greedy_optimal, optimal_rewards
from rotting.simulation.engines.extensions import ExtendedMeans, Extensions, extend_means, extended_by_run, join_extended
from rotting.simulation.engines.game import (
    Board,
    count,
    mean_now,
    means_by_run,
    means_of_run,
    memory_of_run,
    new_board,
    optimum_by_run,
    optimum_of_run,
    start_arms,
)
from rotting.simulation.engines.tiers import CompileMode, EntryPoint, interpreted, resolve_mode

# Looking up so few means interpreted takes some tenths of a second, less than importing Numba and loading cached machine code.
# So it depends neither on the cache nor on `COMPILE_SECONDS` whether they are looked up interpreted.
_FEW_MEANS = 100_000
_KEPT_BYTES = 1 << 29  # the memory for tables that are kept for the next policies
Tables = tuple[Means | ExtendedMeans, Floats]


@allocates_nothing
def collect(m: Means, b: Board, checkpoints: Ints, collected: Floats, run: int) -> None:
    """Play greedily to the last checkpoint; write the cumulative mean reward at each checkpoint."""
    start_arms(m, b, run)
    mark, high, low = 0, 0.0, 0.0
    for t in range(1, checkpoints[-1] + 1):
        best, largest = 0, -math.inf
        for i in range(b.pulls.size):
            mean = mean_now(m, b, i, t)
            if mean > largest:  # false for NaN, the mean of an arm that is not present
                best, largest = i, mean
        count(m, b, best, t)
        high, low = add(high, low, largest)
        if t == checkpoints[mark]:
            collected[mark] = difference(high, low, 0.0, 0.0)
            mark += 1


def collect_runs(m: Means, n_arms: int, checkpoints: Ints, collected: Floats, first_run: int) -> None:
    """Play greedily once for each row of `collected` [runs, checkpoints]."""
    for r in range(collected.shape[0]):
        mine = means_of_run(m, r, n_arms)
        b = new_board(mine, np.zeros(n_arms, np.int64), (), memory_of_run(mine, n_arms, checkpoints[-1]))
        collect(mine, b, checkpoints, collected[r], first_run + r)


def play_greedily(
    means: Means | ExtendedMeans,
    n_arms: int,
    checkpoints: Ints,
    parts: Bindings,
    runs: int = 1,
    compile: CompileMode = "auto",
    first_run: int = 0,
) -> Floats:
    """Return the cumulative mean reward of the greedy oracle `[runs, checkpoints]`.

    Args:
        means: the means of all arms.
        n_arms: K.
        checkpoints: rounds, increasing; the last one is the horizon.
        parts: functions of the game to replace, such as those of `Extensions.on_means`.
        runs: the number of games.
        compile: when to compile, as for `simulate`.
        first_run: the number of the first game, which arms with random memories depend on.
    """
    collected = np.zeros((runs, checkpoints.size))
    arguments = means, n_arms, checkpoints, collected, first_run
    entry = EntryPoint(bind(collect_runs, parts), None, arguments, allocates=True)
    mode, few = resolve_mode(compile), runs * int(checkpoints[-1]) * n_arms <= _FEW_MEANS
    if mode == "now" or (mode == "auto" and not (few and entry.is_library_code)):
        from rotting.simulation.engines.compile import compiled_for  # noqa: PLC0415 - imports Numba

        play = compiled_for(entry)
    else:
        play = interpreted(entry)
    with np.errstate(all="ignore"):  # as machine code, which does not warn
        play(*arguments)
    return collected


@dataclass(frozen=True, eq=False)
class OptimumDraws:
    """What the greedy oracle collects in the runs of one problem whose arms move at random.

    Args:
        means: the means of all arms.
        extensions: those of the problem.
        checkpoints: the rounds at which rewards are computed; the last one is the horizon.
        compile: when the greedy oracle is compiled, as for `simulate`.
    """

    means: Means | ExtendedMeans
    extensions: Extensions
    checkpoints: Ints
    compile: CompileMode = "auto"
    _kept: dict[tuple[int, int], Tables] = field(default_factory=dict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    is_identified: ClassVar[bool] = True
    parts: ClassVar[Bindings] = {optimum_of_run: optimum_by_run}

    @property
    def digest(self) -> str:
        """Nothing: the means, which are part of every digest, decide the draws."""
        return ""

    def problem_digests(self, first_run: int, runs: int) -> Ints:
        """Return nothing: the runs have one problem."""
        return np.empty(0, np.int64)

    def tables(self, first_run: int, runs: int) -> Tables:
        """Return the means of some runs, and their optimal rewards `[runs, checkpoints]`."""
        kept = self._kept.get((first_run, runs))
        if kept is not None:
            return kept
        made = self._made(first_run, runs)
        with self._lock:
            size = sum(sum(each.nbytes for each in (*means, best)) for means, best in self._kept.values())
            if size + sum(each.nbytes for each in (*made[0], made[1])) <= _KEPT_BYTES:
                self._kept[first_run, runs] = made
        return made

    def _made(self, first_run: int, runs: int) -> Tables:
        return self.means, self._collected(self.means, self.extensions.on_means, first_run, runs)

    def _collected(self, means: Means | ExtendedMeans, parts: Bindings, first_run: int, runs: int) -> Floats:
        arms = self.means.kinds.size
        return play_greedily(means, arms, self.checkpoints, parts, runs, self.compile, first_run)

    def __getstate__(self) -> dict[str, object]:
        """Leave out the tables, which can be drawn again."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def __setstate__(self, state: dict[str, object]) -> None:
        """Start without tables."""
        vars(self).update(state, _kept={}, _lock=threading.Lock())


@dataclass(frozen=True, eq=False)
class FamilyDraws(OptimumDraws):
    """The problems of the runs of a family. The problem of run r depends on the seed and on r alone.

    Args:
        means: the means of run 0.
        extensions: those of the problem of run 0.
        checkpoints: the rounds at which optimal rewards are computed; the last one is the horizon.
        compile: when the greedy oracle is compiled, as for `simulate`.
        family: the family that draws the problems.
        first: the problem of run 0. All runs have its number of arms, its noise, and the functions of its arms.
        seed: the seed of the simulation.
        reference: what the regret of run 0 is measured against; all other runs must have the same reference.
    """

    family: ProblemFamily = field(kw_only=True)
    first: Problem = field(kw_only=True)
    seed: int = field(kw_only=True)
    reference: str = field(kw_only=True)

    @property
    def parts(self) -> Bindings:  # type: ignore[override]
        """The functions to bind into the game loop, so that each run reads its own part."""
        return {means_of_run: extended_by_run if self.extensions else means_by_run, optimum_of_run: optimum_by_run}

    @property
    def is_identified(self) -> bool:  # type: ignore[override]
        """Whether the digest decides the problems."""
        return self.family.is_value

    @property
    def digest(self) -> str:
        """A digest of the family and the seed; of a family that is not a value, the class alone."""
        family = self.family if self.family.is_value else type(self.family).__qualname__
        return hashlib.sha256(repr((family, family_key(self.seed))).encode()).hexdigest()

    def problem_digests(self, first_run: int, runs: int) -> Ints:
        """Return a number for each run's problem, which another problem does not have; none if the digest decides them."""
        if self.family.is_value:
            return np.empty(0, np.int64)
        return np.array([self._problem_digest(run) for run in range(first_run, first_run + runs)])

    def _problem_digest(self, run: int) -> int:
        hasher = hashlib.sha256()
        for array in self._draw(run)[0]:
            hasher.update(f"{array.dtype}{array.shape}".encode())
            hasher.update(np.ascontiguousarray(array).data)
        return int.from_bytes(hasher.digest()[:8], "little", signed=True)

    def _made(self, first_run: int, runs: int) -> Tables:
        drawn = [self._draw(run) for run in range(first_run, first_run + runs)]
        means: Means | ExtendedMeans
        parts = dict(self.extensions.on_means)
        parts[means_of_run] = self.parts[means_of_run]
        means = join_extended([table for table, _ in drawn]) if self.extensions else join([table for table, _ in drawn])
        optimum = self._collected(means, parts, first_run, runs)
        for row, (_, exact) in zip(optimum, drawn, strict=True):
            if exact is not None:
                row[:] = exact
        return means, optimum

    def _draw(self, run: int) -> tuple[Any, Floats | None]:
        """Return the means of one run, and its optimal rewards, or None if the greedy oracle is optimal, or the reference."""
        horizon, key = int(self.checkpoints[-1]), family_key(self.seed)
        table = self.family.means(run, key, horizon)
        if table is not None and (self.family.reference is not None or is_greedy_optimal(table)):
            return table, None
        problem = self.family.drawn(run, key)
        self._check_alike(problem, run)
        table = problem.tables(horizon)
        if self.extensions:
            return extend_means(table, problem, self.extensions.kernels, self.seed), None
        optimum: Floats | None = None
        reference = OPTIMAL
        if not is_greedy_optimal(table):
            optimum, reference = optimal_rewards(problem, horizon, self.checkpoints)
        self._check_same("have one reference for all runs", self.reference, reference, run)
        return table, optimum

    def _check_alike(self, problem: Problem, run: int) -> None:
        """Refuse a problem that the compiled game of run 0 cannot play."""
        self._check_same("draw problems of one number of arms", self.first.n_arms, problem.n_arms, run)
        self._check_same("draw problems of one noise", self.first.noise, problem.noise, run)
        self._check_same("draw arms with the same functions", self.first.kernels, problem.kernels, run)
        if problem.delay is not None or problem.has_dynamic_arms:
            raise InvalidValueError(
                "a family", "draw problems without delays, of arms that stay", problem, hint=f" in run {run}"
            )

    def _check_same(self, rule: str, first: object, other: object, run: int) -> None:
        if other != first:
            raise InvalidValueError("a family", rule, other, got=f"{first!r} in run 0 and {other!r} in run {run}")
