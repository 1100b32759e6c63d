"""Times of rounds, measured in fresh processes.

Two processes that run the same machine code differ in speed by several per cent, since code and data are at other addresses.
Times from one process do not show that spread, so times to be compared are measured in several processes.
"""

import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import IO

import numpy as np

from rotting.common.arrays import Floats
from rotting.common.child_process import end_with_parent, take_standard_input
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
            measured.append(json.loads(_run_child(command, sent)))
            bar.advance()
    return [np.array(times) for times in zip(*measured, strict=True)]


def _run_child(command: list[str], sent: bytes) -> bytes:
    """Run a command that reads `sent`, and return what it prints. Its standard input is open as long as this process runs."""
    # In another session Ctrl-C does not reach the child, which would print a traceback. So it is killed here.
    pipe, printed = subprocess.PIPE, b""
    with (
        suppress(BrokenPipeError),  # the child has failed: its exit code says so
        subprocess.Popen(command, stdin=pipe, stdout=pipe, start_new_session=True) as child,  # noqa: S603
    ):
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            child.stdin.write(sent)
            child.stdin.flush()
            printed = child.stdout.read()
        except BaseException:
            child.kill()
            raise
    if child.returncode != 0:
        raise subprocess.CalledProcessError(child.returncode, command)
    return printed


def _end_with(source: IO[bytes]) -> None:
    """End this process when `source` ends, which the parent keeps open. On Windows, nothing else shows that it has ended."""
    os.read(source.fileno(), 1)  # not `source.read`, whose lock the interpreter needs at its end
    os._exit(1)


def _play_in_this_process() -> None:
    """Play the simulations that the parent sends, and write their times to standard output."""
    source = take_standard_input()
    simulations = pickle.load(source)  # noqa: S301 - what `time_rounds` wrote
    threading.Thread(target=_end_with, args=(source,), daemon=True).start()
    end_with_parent()
    results = simulate_all(simulations, workers=1, progress=False, compile="now")
    json.dump([result.us_per_round.tolist() for result in results], sys.stdout)


if __name__ == "__main__":
    _play_in_this_process()
