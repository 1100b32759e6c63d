"""The greedy oracle, compiled, and what it collects on the problems of a family.

In every round it pulls the arm with the largest mean, the lowest one on a tie.
"""

import hashlib
import math
import threading
from dataclasses import dataclass, field

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.errors import InvalidValueError
from rotting.policies.kernels.binding import Bindings, allocates_nothing, bind
from rotting.policies.kernels.exact_sums import add, difference
from rotting.problems import Problem, ProblemFamily
from rotting.problems.mean_table import Means, join
from rotting.problems.oracle import OPTIMAL, is_greedy_optimal, optimal_rewards
from rotting.simulation.engines.extensions import ExtendedMeans
from rotting.simulation.engines.game import Board, count, mean_now, means_by_run, means_of_run, memory_of_run, new_board
from rotting.simulation.engines.tiers import CompileMode, EntryPoint, interpreted, resolve_mode

# Looking up so few means interpreted takes some tenths of a second, less than importing Numba and loading cached machine code.
# So it depends neither on the cache nor on `COMPILE_SECONDS` whether they are looked up interpreted.
_FEW_MEANS = 100_000
_KEPT_BYTES = 1 << 29  # the memory for tables that are kept for the next policies
Tables = tuple[Means, Floats]


@allocates_nothing
def collect(m: Means, b: Board, checkpoints: Ints, collected: Floats) -> None:
    """Play greedily to the last checkpoint; write the cumulative mean reward at each checkpoint."""
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


def collect_runs(m: Means, n_arms: int, checkpoints: Ints, collected: Floats) -> None:
    """Play greedily once for each row of `collected` [runs, checkpoints]."""
    for r in range(collected.shape[0]):
        mine = means_of_run(m, r, n_arms)
        b = new_board(mine, np.zeros(n_arms, np.int64), (), memory_of_run(mine, n_arms, checkpoints[-1]))
        collect(mine, b, checkpoints, collected[r])


def play_greedily(
    means: Means | ExtendedMeans,
    n_arms: int,
    checkpoints: Ints,
    parts: Bindings,
    runs: int = 1,
    compile: CompileMode = "auto",
) -> Floats:
    """Return the cumulative mean reward of the greedy oracle `[runs, checkpoints]`.

    Args:
        means: the means of all arms.
        n_arms: K.
        checkpoints: rounds, increasing; the last one is the horizon.
        parts: functions of the game to replace, such as those of `Extensions.on_means`.
        runs: the number of games.
        compile: when to compile, as for `simulate`.
    """
    collected = np.zeros((runs, checkpoints.size))
    arguments = means, n_arms, checkpoints, collected
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
class FamilyDraws:
    """The problems of the runs of a family. The problem of run r depends on the key and on r alone.

    Args:
        family: the family that draws the problems.
        first: the problem of run 0. All runs have its number of arms and its noise.
        key: the key of the random numbers.
        checkpoints: the rounds at which optimal rewards are computed; the last one is the horizon.
        reference: what the regret of run 0 is measured against; all other runs must have the same reference.
        compile: when the greedy oracle is compiled, as for `simulate`.
    """

    family: ProblemFamily
    first: Problem
    key: int
    checkpoints: Ints
    reference: str
    compile: CompileMode = "auto"
    _kept: dict[tuple[int, int], Tables] = field(default_factory=dict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    @property
    def digest(self) -> str:
        """A digest of the family and the key."""
        if not self.family.is_value:
            raise InvalidValueError(
                "problem",
                "be a family of the library where games are kept or sent to a cluster",
                self.family,
                hint=": the problems of a function cannot be identified",
            )
        return hashlib.sha256(repr((self.family, self.key)).encode()).hexdigest()

    def tables(self, first_run: int, runs: int) -> Tables:
        """Return the means of some runs, one after the other, and their optimal rewards `[runs, checkpoints]`."""
        kept = self._kept.get((first_run, runs))
        if kept is not None:
            return kept
        drawn = [self._draw(run) for run in range(first_run, first_run + runs)]
        means = join([table for table, _ in drawn])
        optimum = play_greedily(means, self.first.n_arms, self.checkpoints, {means_of_run: means_by_run}, runs, self.compile)
        for row, (_, exact) in zip(optimum, drawn, strict=True):
            if exact is not None:
                row[:] = exact
        with self._lock:
            size = sum(sum(each.nbytes for each in (*some, best)) for some, best in self._kept.values())
            if size + sum(each.nbytes for each in (*means, optimum)) <= _KEPT_BYTES:
                self._kept[first_run, runs] = means, optimum
        return means, optimum

    def _draw(self, run: int) -> tuple[Means, Floats | None]:
        """Return the means of one run, and its optimal rewards, or None if the greedy oracle is optimal, or the reference."""
        horizon = int(self.checkpoints[-1])
        table = self.family.means(run, self.key, horizon)
        if table is not None and (self.family.reference is not None or is_greedy_optimal(table)):
            return table, None
        problem = self.family.drawn(run, self.key)
        self._check_alike(problem, run)
        table = problem.means(horizon)
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
        if problem.delay is not None:
            raise InvalidValueError("a family", "draw problems without delays", problem.delay, hint=f" in run {run}")

    def _check_same(self, rule: str, first: object, other: object, run: int) -> None:
        if other != first:
            raise InvalidValueError("a family", rule, other, got=f"{first!r} in run 0 and {other!r} in run {run}")

    def __getstate__(self) -> dict[str, object]:
        """Leave out the tables, which can be drawn again."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def __setstate__(self, state: dict[str, object]) -> None:
        """Start without tables."""
        vars(self).update(state, _kept={}, _lock=threading.Lock())
