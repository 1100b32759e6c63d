"""The greedy oracle, compiled: in every round the arm with the largest mean, ties to the lowest."""

from typing import Any

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.engines.game import Board, mean_now, means_of_run, new_board
from rotting.kernels.binding import allocates_nothing
from rotting.kernels.exact_sums import add, difference


@allocates_nothing
def collect(m: Any, b: Board, checkpoints: Ints, collected: Floats) -> None:
    """Play greedily to the last checkpoint; write what was collected up to each of them."""
    mark, high, low = 0, 0.0, 0.0
    for t in range(1, checkpoints[-1] + 1):
        best, largest = 0, mean_now(m, b, 0, t)
        for i in range(1, b.pulls.size):
            mean = mean_now(m, b, i, t)
            if mean > largest:
                best, largest = i, mean
        b.pulls[best] += 1
        high, low = add(high, low, largest)
        if t == checkpoints[mark]:
            collected[mark] = difference(high, low, 0.0, 0.0)
            mark += 1


def collect_runs(m: Any, n_arms: int, checkpoints: Ints, collected: Floats) -> None:
    """Play greedily once for each row of `collected` [runs, checkpoints]."""
    for r in range(collected.shape[0]):
        mine = means_of_run(m, r, n_arms)
        collect(mine, new_board(mine, np.zeros(n_arms, np.int64)), checkpoints, collected[r])
