"""The rewards of the greedy oracle on problems that are not a plain table of means."""

from typing import Any

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.engines.compile import compiled
from rotting.engines.extensions import Extensions
from rotting.engines.greedy import collect_runs
from rotting.kernels.binding import bind


def played_greedily(means: Any, extensions: Extensions, checkpoints: Ints) -> Floats:
    """Return the cumulative mean reward of the greedy oracle at each checkpoint.

    Args:
        means: a `Means`, or an `ExtendedMeans`.
        extensions: those of the problem.
        checkpoints: rounds, in order; the last one is the horizon.
    """
    collected = np.zeros((1, checkpoints.size))
    compiled(bind(collect_runs, extensions.on_means), allocates=True)(means, means.kinds.size, checkpoints, collected)
    return np.asarray(collected[0])
