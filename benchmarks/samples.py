"""The cost of one more sample in GLR-UCB's test, after so many."""

import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import rotting
from benchmarks.before import glr_update
from benchmarks.measure import Contestant, Sample
from rotting.common.arrays import Floats
from rotting.engines.compile import compiled
from rotting.kernels.binding import bind
from rotting.kernels.policy_slots import update
from rotting.live import policy_state as states
from rotting.parts.hull import pulls
from rotting.parts.prefix_blocks import new_prefix_sums
from rotting.policy import Params

_ARMS, _TIMED, _COPIES = 20, 100, 20  # the size of a hull is random: a mean over the arms
_POLICY = rotting.GLRUCB.from_horizon(1_000_000)


def _feed(p: Params, s: object, samples: Floats, first: int, last: int) -> None:
    for k in range(first, last):
        for i in range(samples.shape[0]):
            update(p, s, k + 1, i, samples[i, k])


def _after(n: int, new: Callable[[], Any], learn: Callable[..., None], count: Callable[[Any, int], int]) -> Contestant:
    """Time samples n + 1, n + 2, ... of each arm; the first n are recorded in the first turn, outside the clock."""
    samples = np.random.default_rng(n).standard_normal((_ARMS, n + _TIMED))
    feed = compiled(bind(_feed, {update: learn}), _POLICY)

    @functools.cache
    def filled() -> Any:
        state = new()
        feed(_POLICY.params, state, samples, 0, n)
        return state

    def turn() -> Sample:
        state, spent = filled(), 0.0
        for _ in range(_COPIES):
            twin = states.copy(state)
            began = time.thread_time()
            feed(_POLICY.params, twin, samples, n, n + _TIMED)
            spent += time.thread_time() - began
        if [count(twin, i) for i in range(_ARMS)] != [n + _TIMED] * _ARMS:
            raise RuntimeError(f"an alarm was raised, or room was missing: fewer than {n + _TIMED} samples are there")
        return Sample(spent * 1e6 / (_ARMS * _TIMED * _COPIES), spent)

    return turn


def on_hulls(n: int) -> Contestant:
    """Return `update` of GLR-UCB after n samples of each arm."""
    room = 256 * _ARMS
    return _after(n, lambda: states.new_state(_POLICY, _ARMS, room), _POLICY.kernel.update, lambda s, i: pulls(s.upper, i))


def on_blocks(n: int) -> Contestant:
    """Return the same with the test of before."""
    return _after(n, lambda: new_prefix_sums(_ARMS, n + _TIMED), glr_update, lambda s, i: int(s.pulls[i]))
