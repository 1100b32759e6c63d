"""Times of rounds, measured in fresh processes.

Two processes that run the same machine code differ in speed by several per cent, since code and data are at other addresses.
Times from one process do not show that spread, so times to be compared are measured in several processes.
"""

import json
import pickle
import subprocess
import sys
from collections.abc import Sequence

import numpy as np

from rotting.common.arrays import Floats
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
    command, sent = [sys.executable, "-m", __name__], pickle.dumps(list(simulations))
    measured = []
    with Progress(processes, "timing", show=progress) as bar:
        for _ in range(processes):
            # In another session Ctrl-C does not reach the child, which would print a traceback; `run` kills it.
            done = subprocess.run(command, input=sent, stdout=subprocess.PIPE, check=True, start_new_session=True)  # noqa: S603
            measured.append(json.loads(done.stdout))
            bar.advance()
    return [np.array(times) for times in zip(*measured, strict=True)]


def _play_in_this_process() -> None:
    """Play the simulations read from standard input, and write their times to standard output."""
    simulations = pickle.load(sys.stdin.buffer)  # noqa: S301 - what `time_rounds` wrote
    results = simulate_all(simulations, workers=1, progress=False, compile="now")
    json.dump([result.us_per_round.tolist() for result in results], sys.stdout)


if __name__ == "__main__":
    _play_in_this_process()
