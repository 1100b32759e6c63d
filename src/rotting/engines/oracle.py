"""What the greedy oracle collects on problems that are no table of means: compiled, as games are."""

from typing import Any

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.engines.compile import compiled
from rotting.engines.greedy import collect_runs
from rotting.engines.terms import Rules
from rotting.kernels.binding import bind


def played_greedily(means: Any, rules: Rules, checkpoints: Ints) -> Floats:
    """Return the cumulative mean reward of the greedy oracle at each checkpoint.

    Args:
        means: a table, with the terms of the problem if it has any.
        rules: what the problem adds to a table.
        checkpoints: the last one is the horizon.
    """
    collected = np.zeros((1, checkpoints.size))
    compiled(bind(collect_runs, rules.on_means), allocates=True)(means, means.kinds.size, checkpoints, collected)
    return np.asarray(collected[0])
