"""The limit: the loops of `limit.c`, compiled here for this machine."""

import ctypes
import functools
import os
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Contestant, Sample, UnavailableError
from benchmarks.ours import SEED, named, tuple_of
from rotting.kernels.random_numbers import derive_key
from rotting.problems import Problem
from rotting.problems.mean_table import pulls_of, rounds_of
from rotting.problems.noise import Gaussian

# The flags after -march=native let C take minima as one instruction and square roots without errno; no value changes.
FLAGS = ("-O3", "-march=native", "-ffinite-math-only", "-fno-signed-zeros", "-fno-math-errno")
LOOPS = {"eff_raw_ucb_plain": "eff-raw-ucb", "eff_raw_ucb_lazy": "eff-raw-ucb", "raw_ucb_scan": "raw-ucb"}
_FOREVER = np.iinfo(np.int64).max


class _Problem(ctypes.Structure):
    _fields_ = (
        ("n_arms", ctypes.c_int64),
        ("horizon", ctypes.c_int64),
        ("before", ctypes.c_void_p),
        ("after", ctypes.c_void_p),
        ("at", ctypes.c_void_p),
        ("scale", ctypes.c_double),
        ("key", ctypes.c_uint64),
    )


def compiler() -> str | None:
    """Return the C compiler, if there is one."""
    return shutil.which(os.environ.get("CC", "cc"))


@functools.cache
def library() -> Any:
    """Compile and load `limit.c`."""
    cc = compiler()
    if cc is None:
        raise UnavailableError("no C compiler: install one, or set CC")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "limit.so"
        source = Path(__file__).with_name("limit.c")
        command = [cc, *FLAGS, "-shared", "-fPIC", str(source), "-o", str(target), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own source
        if done.returncode != 0:
            raise UnavailableError(f"{' '.join(command)} failed: {done.stderr.strip()[:500]}")
        return ctypes.CDLL(str(target))


def game(
    loop: str, problem: Problem, horizon: int, rounds: int, alpha: float = 1.4, m: float = 2.0, threads: int | None = None
) -> Contestant:
    """Return games in C of our runs 0, 1, ..., about `rounds` rounds in all, divided among threads.

    Args:
        loop: the function in `limit.c`.
        problem: rested arms of at most two pieces, with Gaussian noise.
        horizon: rounds of a game.
        rounds: rounds in all.
        alpha: confidence level.
        m: ratio of neighbouring windows.
        threads: how many to use, timed by wall-clock time; None for one, timed by its own CPU time like all contestants
            per core.
    """
    if not isinstance(problem.noise, Gaussian):
        raise TypeError(f"problem must have Gaussian noise, got {problem.noise!r}")
    means = problem.means(horizon)
    before, after, at = [], [], []
    for i in range(problem.n_arms):
        starts, values = pulls_of(means, i)
        if len(starts) > 2 or len(rounds_of(means, i)[0]) != 1:
            raise ValueError(f"problem must have rested arms of at most two pieces, got {problem!r}")
        before.append(values[0])
        after.append(values[-1])
        at.append(starts[1] if len(starts) == 2 else _FOREVER)
    arrays = np.array(before), np.array(after), np.array(at, np.int64)
    pointers = [each.ctypes.data for each in arrays]
    setting = _Problem(problem.n_arms, horizon, *pointers, problem.noise.scale, derive_key(SEED, "noise"))
    runs = max(1, rounds // horizon)
    count = threads or 1
    share = -(-runs // count)

    def turn() -> Sample:
        function = getattr(library(), loop)
        pulls = np.zeros((share * count, problem.n_arms), np.int64)
        collected = np.zeros(share * count)

        def part(first: int) -> None:
            began = time.thread_time()
            function(
                ctypes.byref(setting),
                ctypes.c_double(alpha),
                ctypes.c_double(problem.noise.scale),
                ctypes.c_double(m),
                ctypes.c_int64(first),
                ctypes.c_int64(share),
                pulls[first:].ctypes.data_as(ctypes.c_void_p),
                collected[first:].ctypes.data_as(ctypes.c_void_p),
            )
            own.append(time.thread_time() - began)

        own: list[float] = []
        workers = [threading.Thread(target=part, args=(share * k,)) for k in range(count)]
        began = time.perf_counter()
        for each in workers:
            each.start()
        for each in workers:
            each.join()
        spent = own[0] if threads is None else time.perf_counter() - began
        assert arrays[0].size == problem.n_arms  # the arrays behind the pointers live as long as this function
        played = named(LOOPS[loop], problem, horizon)
        return Sample(spent * 1e6 / (share * count * horizon), spent, played, tuple_of(pulls))

    return turn
