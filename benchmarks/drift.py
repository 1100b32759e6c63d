"""A very long game of EFF-RAW-UCB: does its memory stay constant, and do its means stay exact?

Rewards are a million plus whole multiples of 2**-32, which doubles hold exactly but plain sums of them do not. So Algorithm 2
can be run in parallel, as printed, in whole numbers, on the multiples: every window's mean is compared with that.
"""

import resource
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np

import rotting
from benchmarks.measure import Finding, Size
from rotting.common.arrays import Ints
from rotting.engines.compile import compiled
from rotting.kernels.binding import bind
from rotting.kernels.policy_slots import choose, update
from rotting.kernels.random_numbers import philox
from rotting.live import policy_state as states
from rotting.policy import Params

_OFFSET = 1_000_000
_UNIT = 2.0**-32
_N_ARMS = 10


def _eff_update(windows: Ints, current: Ints, pending: Ints, counts: Ints, reward: int) -> None:
    """EFF_UPDATE of one arm, as printed; a window longer than the arm's history has everything pending."""
    for j in range(windows.size):
        pending[j] += reward
        counts[j] += 1
    pending[0], counts[0] = reward, 1
    for j in range(windows.size - 1, -1, -1):
        if counts[j] == windows[j]:
            current[j] = pending[j]
            if j > 0:
                pending[j] = pending[j - 1]
                counts[j] = counts[j - 1]


def _live(
    p: Params, s: object, first: int, last: int, arms: Ints, windows: Ints, current: Ints, pending: Ints, counts: Ints
) -> None:
    for t in range(first, last + 1):
        i = choose(p, s, t, 0, arms)
        # 31 random bits (all of them good: those of a congruential generator cancel over windows of 2**k), and means that
        # fall with the rounds at different speeds and come back, so that arms take turns.
        word, _, _, _ = philox(t, i, 0, 0, 1, 2)
        reward = (word >> 1) - ((t >> 14) * (i + 1) % 1_009 << 22)
        update(p, s, t, i, _OFFSET + reward * _UNIT)
        _eff_update(windows, current[i], pending[i], counts[i], reward)


def measure(size: Size) -> list[Finding]:
    """Play, and compare every window of every arm with whole numbers."""
    policy, rounds = rotting.EffRAWUCB(), size.drift_rounds
    state = states.new_state(policy, _N_ARMS, rounds)
    windows = np.array(state.grid.windows, np.int64)
    current, pending, counts = (np.zeros((_N_ARMS, windows.size), np.int64) for _ in range(3))
    kernel = policy.kernel
    loop = compiled(bind(_live, {choose: kernel.choose, update: kernel.update}), policy)
    rest = (np.arange(_N_ARMS), windows, current, pending, counts)
    tenth = max(rounds // 10, 1)
    loop(policy.params, state, 1, tenth, *rest)
    bytes_before, resident_before = _bytes(state), resident()
    began = time.perf_counter()
    loop(policy.params, state, tenth + 1, rounds, *rest)
    spent = time.perf_counter() - began
    grown = resident() - resident_before
    worst, compared = Fraction(0), 0
    for i in range(_N_ARMS):
        for j, h in enumerate(windows.tolist()):
            if h <= state.grid.pulls[i]:
                exact = _OFFSET + Fraction(_UNIT) * int(current[i, j]) / h
                worst = max(worst, abs(Fraction(float(state.grid.mean[i, j])) / exact - 1))
                compared += 1
    us = spent * 1e6 / (rounds - tenth)
    pulls = state.grid.pulls
    detail = f"{compared} windows of {_N_ARMS} arms after {rounds:,} rounds, pulls {pulls.min():,} to {pulls.max():,}"
    return [
        Finding(
            "largest relative error of a window's mean", float(worst), "at most", 1e-9, None, "", f"{detail}; {us:.3g} us/round"
        ),
        Finding(
            "growth of the process's memory over the last nine tenths", grown / 2**20, "at most", 1.0, None, "MiB",
            f"the state has {_bytes(state):,} bytes, and had {bytes_before:,}",
        ),
    ]  # fmt: skip


def resident() -> int:
    """Return the bytes that are resident now, if the system tells: the peak would hide growth below that of an earlier row."""
    status = Path("/proc/self/statm")
    if status.exists():
        return int(status.read_text().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _bytes(state: NamedTuple) -> int:
    return int(sum(array.nbytes for array in states.arrays(state)))
