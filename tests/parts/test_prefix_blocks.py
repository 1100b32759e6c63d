"""Long histories: the search and the filter that skip blocks decide as the scans of all windows do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.engines.compile import compiled
from rotting.parts.prefix_blocks import (
    FAN,
    PrefixSums,
    block_number,
    block_range,
    blocks_within,
    largest_block,
    mean_range,
    new_prefix_sums,
    record,
    sum_range,
    window_floor,
)
from rotting.parts.prefix_sums import window_mean
from tests.conftest import INTERPRETED
from tests.helpers.streams import streams

LENGTH = 700 if INTERPRETED else 9_000


def filled(rewards: np.ndarray) -> PrefixSums:
    s = new_prefix_sums(1, rewards.size)
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
                low, high = block_range(s, 0, block, shortest, longest)
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


@pytest.mark.parametrize("name", streams(10))
def test_bounds_of_a_sum_bound_the_mean_as_it_is_computed(name: str) -> None:
    s = filled(streams(LENGTH)[name])
    for h in [*range(1, 40), LENGTH // 2, LENGTH]:
        low, high = sum_range(s, 0, h)
        assert low / h <= window_mean(s, 0, h) <= high / h


@given(st.integers(1, 5_000))
def test_blocks_are_numbered_as_they_fill_up(n: int) -> None:
    s = new_prefix_sums(1, n)
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
    assert [blocks_within(FAN**power) for power in (1, 2, 3)] == [1, FAN + 1, FAN**2 + FAN + 1]


@pytest.mark.parametrize("offset", [0.0, 1.0, -1e6, 1e9])
@pytest.mark.parametrize("c", [0.0, 1e-30, 1e-3, 1.0, 1e3])
def test_a_floor_is_just_below_the_bound(offset: float, c: float) -> None:
    rewards = offset + np.random.default_rng(3).normal(size=200)
    state = new_prefix_sums(1, rewards.size)
    for n, reward in enumerate(rewards, 1):
        record(state, 0, float(reward))
        for h in {1, n // 2 + 1, n}:
            floor, bound = window_floor(state, 0, h, c), window_mean(state, 0, h) + c
            assert floor <= bound
            assert floor == pytest.approx(bound, rel=1e-12, abs=1e-14 * n * (1 + abs(offset)) / h)
