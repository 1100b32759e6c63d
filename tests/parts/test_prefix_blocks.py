"""Long histories: the search and the filter that skip blocks decide as the scans of all windows do."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.engines.compile import compiled
from rotting.parts.prefix_blocks import (
    FAN,
    History,
    block_number,
    blocks_within,
    highest_mean,
    kept_floor,
    largest_block,
    lowest_mean,
    mean_range,
    new_history,
    record,
    window_mean,
)
from rotting.registry import make
from tests.conftest import INTERPRETED
from tests.helpers.games import compiled_kernels
from tests.helpers.streams import streams

LENGTH = 700 if INTERPRETED else 9_000


def filled(rewards: np.ndarray) -> History:
    s = new_history(1, rewards.size)
    push = compiled(record)
    for reward in rewards:
        push(s, 0, reward)
    return s


@pytest.mark.parametrize("name", streams(10))
def test_blocks_bound_every_window(name: str) -> None:
    s = filled(streams(LENGTH)[name])
    n = int(s.pulls[0])
    checked = 0
    for size in (FAN, FAN**2, FAN**3):
        for end in range(size, n + 1, size * max(1, n // size // 7)):
            block = block_number(end, size)
            for shortest, longest in [(n - end + 1, n - end + size), (n - end + 2, n - end + size - 1)]:
                low = lowest_mean(s, 0, block, longest, shortest)
                high = highest_mean(s, 0, block, longest, shortest)
                means = [window_mean(s, 0, h) for h in range(shortest, longest + 1)]
                assert low <= min(means)
                assert high >= max(means)
                checked += 1
    assert checked > 10


@pytest.mark.parametrize("name", streams(10))
def test_ranges_bound_every_window(name: str) -> None:
    s = filled(streams(LENGTH)[name])
    rng = np.random.default_rng(6)
    for _ in range(30):
        shortest = int(rng.integers(FAN, LENGTH // 2))
        longest = int(rng.integers(shortest + FAN - 1, min(LENGTH, 3 * shortest)))
        low, high = mean_range(s, 0, shortest, longest)
        means = [window_mean(s, 0, h) for h in range(shortest, longest + 1, max(1, (longest - shortest) // 50))]
        assert low <= min(means)
        assert high >= max(means)


@given(st.integers(1, 5_000))
def test_blocks_are_numbered_as_they_fill_up(n: int) -> None:
    s = new_history(1, n)
    expected = []
    for k in range(1, n + 1):
        size = FAN
        while k % size == 0:
            expected.append((k, size))
            size *= FAN
    assert len(expected) <= s.slope.shape[1]
    for number, (end, size) in enumerate(expected[-40:], start=max(0, len(expected) - 40)):
        assert block_number(end, size) == number
        assert largest_block(end) >= size
    assert [blocks_within(FAN**level) for level in (1, 2, 3)] == [1, FAN + 1, FAN**2 + FAN + 1]


@pytest.mark.parametrize("name", streams(10))
def test_floors_stay_below_every_window(name: str) -> None:
    """Also long after the search that left them, whatever the rewards since."""
    policy = make("raw-ucb")
    search, update = compiled(policy.kernel.explain, policy), compiled_kernels(policy)[1]  # type: ignore[arg-type]
    floor_of = compiled(kept_floor)
    length = min(LENGTH, 2_500)
    s = new_history(1, length)
    rng = np.random.default_rng(4)
    checked = aged = 0
    for t, reward in enumerate(streams(length)[name], start=1):
        update(policy.params, s, t, 0, reward)
        if rng.random() < 0.05:
            search(policy.params, s, t + 1, np.array([0]), 0)
        if rng.random() < 0.2:
            level = math.sqrt(2 * policy.params.alpha * math.log(t + 1))
            ends = [t - t % FAN ** (k + 1) for k in range(s.floor.shape[1] + 1)]
            for k, first in enumerate(ends[1:]):
                known = int(s.floor_end[0, k])
                if known > first:
                    bounds = [window_mean(s, 0, h) + level / math.sqrt(h) for h in range(t - known + 1, t - first + 1)]
                    assert floor_of(s, 0, k, first, level, min(bounds)) <= min(bounds)
                    checked += 1
                    aged += t > s.floor_pulls[0, k]
    assert checked > aged > 20
