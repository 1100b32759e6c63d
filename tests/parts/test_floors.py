"""Floors of a search: they stay below every window as rewards come."""

import math

import numpy as np
import pytest

from rotting.engines.compile import compiled
from rotting.live.policy_state import new_state
from rotting.parts.floors import floor_now
from rotting.parts.prefix_blocks import FAN, window_mean
from rotting.registry import make
from tests.conftest import INTERPRETED
from tests.helpers.games import compiled_kernels
from tests.helpers.streams import streams
from tests.parts.test_exact_windows import SEARCH

LENGTH = 700 if INTERPRETED else 9_000


@pytest.mark.parametrize("name", streams(10))
def test_floors_stay_below_every_window(name: str) -> None:
    """Also long after the search that left them, whatever the rewards since."""
    policy = make("raw-ucb")
    search, update = compiled(SEARCH, policy), compiled_kernels(policy)[1]
    floor_of = compiled(floor_now)
    length = min(LENGTH, 2_500)
    s = new_state(policy, 1, length)
    rng = np.random.default_rng(4)
    checked = aged = 0
    for t, reward in enumerate(streams(length)[name], start=1):
        update(policy.params, s, t, 0, reward)
        level = math.sqrt(2 * policy.params.alpha * math.log(t + 1))
        if rng.random() < 0.05:
            search(policy.params, s, level, 0, math.inf)
        if rng.random() < 0.2:
            ends = [t - t % FAN ** (k + 1) for k in range(s.floors.value.shape[1] + 1)]
            for k, first in enumerate(ends[1:]):
                known = int(s.floors.end[0, k])
                if known > first:
                    lengths = range(t - known + 1, t - first + 1)
                    bounds = [window_mean(s.history, 0, h) + level / math.sqrt(h) for h in lengths]
                    assert floor_of(s.floors, s.history, 0, k, first, level, min(bounds)) <= min(bounds)
                    checked += 1
                    aged += t > s.floors.pulls[0, k]
    assert checked > aged > 20
