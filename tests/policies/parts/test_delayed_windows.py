"""Exact sums, the grid, and the six properties of EFF_UPDATE (the proposition of the paper's appendix)."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.live import policy_state as states
from rotting.policies.kernels.exact_sums import add, difference
from rotting.policies.parts.delayed_windows import Grid, eff_update, new_grid, next_window
from rotting.policies.parts.prefix_sums import new_prefix_sums, record, window_mean
from rotting.registry import make
from rotting.simulation.engines.compile import compiled
from tests.conftest import INTERPRETED, STRESS
from tests.reference import windows

GRIDS = [1 + 1e-15, 1.01, 1.1, 1.25, 1.5, 1.9, 2.0, 2.5, 3.0, 7.0]
LENGTH = 100 if INTERPRETED else 200
# Rewards whose bits, together with those of their sum, fit the 106 of a pair; 1e-300 beside 1e6 does not.
numbers = st.one_of(
    st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-6),
    st.sampled_from([1e6 + 0.1, -1e6, 1e-6, 0.1, 1 / 3]),
    st.integers(-5, 5).map(float),
)


@given(st.lists(numbers, min_size=1, max_size=60))
def test_every_window_is_the_correctly_rounded_sum(rewards: list[float]) -> None:
    s = new_prefix_sums(1, len(rewards))
    for reward in rewards:
        record(s, 0, reward)
    for h in range(1, len(rewards) + 1):
        assert window_mean(s, 0, h) == math.fsum(rewards[-h:]) / h


@given(st.lists(numbers, min_size=1, max_size=40))
def test_pairs_of_numbers_sum_exactly(rewards: list[float]) -> None:
    high = low = 0.0
    for reward in rewards:
        high, low = add(high, low, reward)
    exact = sum(map(Fraction, rewards), Fraction(0))
    assert abs(Fraction(high) + Fraction(low) - exact) <= abs(exact) * Fraction(1, 2**95) + Fraction(1, 2**120)
    assert high == math.fsum(rewards)
    assert difference(high, low, 0.0, 0.0) == high


def test_grid_is_the_authors_sequence() -> None:
    windows = new_grid(1.1, 1, 60).windows.tolist()
    assert windows == [*range(1, 12), 13, 15, 17, 19, 21, 24, 27, 30, 33, 37, 41, 46, 51, 57]
    assert new_grid(2.0, 1, 1000).windows.tolist() == [2**j for j in range(10)]
    assert new_grid(1 + 1e-15, 1, 50).windows.tolist() == list(range(1, 51))


@given(st.one_of(st.floats(1.0, 10.0, exclude_min=True), st.floats(1.0, 1e300, exclude_min=True)), st.integers(1, 10**6))
def test_windows_grow(m: float, h: int) -> None:
    assert h < next_window(m, h) == compiled(next_window)(m, h)


def pending(s: Grid, j: int) -> int:
    """n^{h_j}: how many rewards the pending sum of window j holds."""
    return int(s.pulls[0] - s.start[0, j])


def replay(m: float, rewards: list[float]) -> list[Grid]:
    """Copies of the statistics after each reward."""
    policy = make("eff-fewa", m=m)
    s = states.new_state(policy, 1, len(rewards))
    update = compiled(eff_update, policy)
    copies = []
    for reward in rewards:
        update(s, 0, reward)
        copies.append(states.copy(s).grid)
    return copies


@pytest.mark.parametrize("m", GRIDS)
def test_fast_statistics_equal_algorithm_2(m: float) -> None:
    rewards = (1e6 + np.random.default_rng(3).normal(size=LENGTH)).tolist()
    slow = windows.EffUpdate(m)
    for s, reward in zip(replay(m, rewards), rewards, strict=True):
        slow.update(reward)
        known = [h for h in slow.windows if slow.mean[h] is not None]
        assert s.windows[: s.known[0]].tolist() == known
        assert s.mean[0, : s.known[0]].tolist() == [slow.mean[h] for h in known]
        assert [pending(s, j) for j in range(len(known))] == [len(slow.pending[h]) for h in known]


@pytest.mark.parametrize("m", GRIDS)
@given(seed=st.integers(0, 10**6), length=st.integers(1, LENGTH))
def test_six_properties(m: float, seed: int, length: int) -> None:
    if m < 1.01 and not STRESS:
        length = 1 + length // 2  # there is a window of every length, and each is looked at after each reward
    # Random rewards make a mean say which samples it was taken over.
    rewards = np.random.default_rng(seed).normal(size=length).tolist()
    updated: dict[int, list[int]] = {}
    for n, s in enumerate(replay(m, rewards), start=1):
        counts = [pending(s, j) for j in range(s.known[0])]
        # 4: the pending statistic is the sum of the n last samples.
        for j, count in enumerate(counts):
            total = difference(s.high[0], s.low[0], s.start_high[0, j], s.start_low[0, j])
            assert total == math.fsum(rewards[n - count : n])
        # 5: fewer than h_j samples are pending, one at most for the first window.
        assert counts[0] == 1
        assert all(count < s.windows[j] for j, count in enumerate(counts) if j)
        # 6: and their number does not fall with j.
        assert counts == sorted(counts)
        for j in range(s.known[0]):
            h, mean = int(s.windows[j]), s.mean[0, j]
            ends = updated.setdefault(j, [])
            if mean == math.fsum(rewards[n - h : n]) / h:
                ends.append(n)
            # 1: exactly h_j consecutive samples among the 2 h_j - 1 last ones.
            assert mean == math.fsum(rewards[ends[-1] - h : ends[-1]]) / h
            assert n - ends[-1] + h <= 2 * h - 1 or h == 1
    for j, ends in updated.items():
        h = next_window_of(m, j)
        gaps = set(np.diff(ends).tolist())
        # 2: the delay between two updates is in {ceil((m - 1) / m h_j), ..., h_j - 1}.
        shortest = math.ceil((m - 1) / m * h - 1e-9)
        assert all(max(1, shortest) <= gap <= max(1, h - 1) for gap in gaps)
        # 3: for m = 2, the k-th update happens at pull (k + 1) 2**(j - 1).
        if m == 2.0 and j:
            assert ends == [(k + 1) * 2 ** (j - 1) for k in range(1, len(ends) + 1)]


def next_window_of(m: float, j: int) -> int:
    h = 1
    for _ in range(j):
        h = next_window(m, h)
    return h
