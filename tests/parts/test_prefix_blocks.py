"""Long histories: the search and the filter that skip blocks decide as the scans of all windows do."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.engines.compile import compiled
from rotting.kernels.binding import bind
from rotting.live.policy_state import new_state
from rotting.parts import exact_windows
from rotting.parts.floors import floor_now
from rotting.parts.prefix_blocks import (
    FAN,
    History,
    block_number,
    blocks_within,
    highest_mean,
    largest_block,
    lowest_mean,
    mean_range,
    new_history,
    record,
    window_mean,
)
from rotting.policies.raw_ucb import level_at, width
from rotting.policy import Policy
from rotting.registry import make
from tests.conftest import INTERPRETED
from tests.reference import brute

LENGTH = 700 if INTERPRETED else 9_000
SEARCH = bind(exact_windows._search, {exact_windows.width: width, exact_windows.earlier_floor: floor_now})


def streams(length: int) -> dict[str, np.ndarray]:
    """Rewards that put the best window at the start, at a break, at the end, and everywhere at once."""
    rng = np.random.default_rng(2)
    noise = rng.normal(size=length)
    time = np.arange(length)
    return {
        "stationary": noise,
        "break": noise - 2.0 * (time > 0.8 * length),
        "breaks": noise - 0.5 * (7 * time // length),
        "slope": noise - 4.0 * time / length,
        "rising": noise + 4.0 * time / length,
        "constant": np.full(length, 0.1),
        "coins": rng.integers(0, 2, length).astype(float),
        "waves": np.sin(time / 50),
        "offset": 1e6 + noise,
        "large offset": -1e12 + noise,
        "wild": noise * np.exp(3 * np.sin(time / 300)),
    }


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
    assert [blocks_within(FAN**power) for power in (1, 2, 3)] == [1, FAN + 1, FAN**2 + FAN + 1]


@pytest.mark.parametrize("name", streams(10))
def test_floors_stay_below_every_window(name: str) -> None:
    """Also long after the search that left them, whatever the rewards since."""
    policy = make("raw-ucb")
    search, update = compiled(SEARCH, policy), compiled(policy.kernel.update, policy)
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


def rounds_to_check(length: int) -> set[int]:
    return {*range(1, 40), *np.linspace(40, length, 60).astype(int).tolist()}


@pytest.mark.parametrize("name", streams(10))
@pytest.mark.parametrize("alpha", [0.06, 1.4, 4.0])
def test_the_search_finds_the_index(name: str, alpha: float) -> None:
    policy = make("raw-ucb", alpha=alpha)
    assert policy.kernel.explain is not None
    search, explain = compiled(SEARCH, policy), compiled(policy.kernel.explain, policy)
    update, scan = compiled(policy.kernel.update, policy), compiled(brute.index, policy)
    s = new_state(policy, 1, LENGTH)
    check = rounds_to_check(LENGTH)
    for t, reward in enumerate(streams(LENGTH)[name], start=1):
        update(policy.params, s, t, 0, reward)
        if t in check:
            level = level_at(policy.params, t + 1, 1)
            found = search(policy.params, s, level, 0, math.inf)
            assert found == s.lines.mean[0] + level / s.lines.root[0]
            reason = explain(policy.params, s, t + 1, np.array([0]), 0)
            assert found == reason.value == scan(policy.params, s, t + 1, 0)
            assert reason.value == reason.mean + reason.width
            assert reason.mean == window_mean(s.history, 0, reason.window)


PAIRS = [
    (make("raw-ucb"), brute.raw_ucb),
    (make("raw-ucb", alpha=0.2), brute.raw_ucb),
    (make("raw-ucb", alpha=4.0), brute.raw_ucb),
    (make("fewa"), brute.fewa),
    (make("fewa", alpha=0.5), brute.fewa),
    (make("fewa", alpha=4.0), brute.fewa),
]


@pytest.mark.parametrize(("policy", "scan"), PAIRS, ids=[repr(policy) for policy, _ in PAIRS])
@pytest.mark.parametrize("name", streams(10))
def test_long_games_equal_the_scans(policy: Policy, scan: object, name: str) -> None:
    """Every decision of a game of several thousand rounds, with arms that differ in level and in kind of decay."""
    horizon, n_arms = LENGTH // 3, 3
    others = list(streams(horizon).values())
    rows = [streams(horizon)[name], others[1] + streams(horizon)[name].mean(), streams(horizon)[name][::-1] + 0.05]
    choose, update = compiled(policy.kernel.choose, policy), compiled(policy.kernel.update, policy)
    slow = compiled(scan, policy)  # type: ignore[arg-type]
    s, arms, pulls = new_state(policy, n_arms, horizon), np.arange(n_arms), [0] * n_arms
    check = rounds_to_check(horizon) | set(range(horizon // 2, horizon // 2 + 300))
    for t in range(1, horizon + 1):
        arm = int(choose(policy.params, s, t, 0, arms))
        if t > n_arms and t in check:
            assert arm == slow(policy.params, s, t, 0, arms), t
        update(policy.params, s, t, arm, rows[arm][pulls[arm]])
        pulls[arm] += 1
    assert sum(pulls) == horizon
    assert math.isfinite(window_mean(s.history, 0, 1))
