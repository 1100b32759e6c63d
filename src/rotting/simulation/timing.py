"""Times of rounds, measured in fresh processes.

Two processes that run the same machine code differ in speed by several per cent, since code and data are at other addresses.
Times from one process do not show that spread, so times to be compared are measured in several processes.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from rotting.common.arrays import Floats
from rotting.common.child_process import run_in_child
from rotting.common.progress import Progress
from rotting.simulation.plan import Simulation
from rotting.simulation.simulate import simulate_all


def time_rounds(simulations: Sequence[Simulation], processes: int, progress: bool | None = None) -> list[Floats]:
    """Return the microseconds of CPU time that a round of each simulation takes, `[process, policy]`.

    Every process plays all games on one thread, one process after the other. Compiling is left out.

    Args:
        simulations: picklable simulations.
        processes: how many to start.
        progress: show a progress bar; by default on a terminal and in a notebook.

    Example:
        >>> import rotting
        >>> game = Simulation(rotting.UCB1(), rotting.problems.two_arms(horizon=50), runs=2)
        >>> [times.shape for times in time_rounds([game], processes=2)]
        [(2, 1)]
    """
    if not simulations:
        return []
    measured = []
    with Progress(processes, "timing", show=progress) as bar:
        for _ in range(processes):
            measured.append(run_in_child(partial(_times, list(simulations))))
            bar.advance()
    return [np.array(times) for times in zip(*measured, strict=True)]


def _times(simulations: Sequence[Simulation]) -> list[Floats]:
    """Return the microseconds of a round of each simulation, by policy, as this process plays it."""
    results = simulate_all(simulations, workers=1, progress=False, compile="now")
    return [result.us_per_round for result in results]
