"""The greedy oracle, compiled: in every round it pulls the arm with the largest mean, the lowest one on a tie."""

import math

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.engines.extensions import ExtendedMeans
from rotting.engines.game import Board, count, mean_now, means_of_run, memory_of_run, new_board
from rotting.engines.tiers import CompileMode, resolve_mode
from rotting.kernels.binding import Bindings, KernelFunction, allocates_nothing, bind
from rotting.kernels.exact_sums import add, difference
from rotting.kernels.readable_errors import is_library_code, with_readable_errors
from rotting.problems.mean_table import Means

# Looking up so few means interpreted takes some tenths of a second, less than importing Numba and loading cached machine code.
# So it depends neither on the cache nor on `COMPILE_SECONDS` whether they are looked up interpreted.
_FEW_MEANS = 100_000


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
    play: KernelFunction = bind(collect_runs, parts)
    mode, few = resolve_mode(compile), runs * int(checkpoints[-1]) * n_arms <= _FEW_MEANS
    own = is_library_code(play)
    if mode == "now" or (mode == "auto" and not (few and own)):
        from rotting.engines.compile import compiled  # noqa: PLC0415 - imports Numba

        play = compiled(play, allocates=True)
    elif not own:
        play = with_readable_errors(None, play, play)
    with np.errstate(all="ignore"):  # as machine code, which does not warn
        play(means, n_arms, checkpoints, collected)
    return collected
