"""The greedy oracle, to be compiled: in every round it pulls the arm with the largest mean, the lowest one on a tie."""

import math
from typing import Any

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.engines.game import Board, count, mean_now, means_of_run, memory_of_run, new_board
from rotting.kernels.binding import allocates_nothing
from rotting.kernels.exact_sums import add, difference


@allocates_nothing
def collect(m: Any, b: Board, checkpoints: Ints, collected: Floats) -> None:
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


def collect_runs(m: Any, n_arms: int, checkpoints: Ints, collected: Floats) -> None:
    """Play greedily once for each row of `collected` [runs, checkpoints]."""
    for r in range(collected.shape[0]):
        mine = means_of_run(m, r, n_arms)
        b = new_board(mine, np.zeros(n_arms, np.int64), (), memory_of_run(mine, n_arms, checkpoints[-1]))
        collect(mine, b, checkpoints, collected[r])
