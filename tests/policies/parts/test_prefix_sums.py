"""Prefix sums: exact, and the means of all windows. What skips blocks of windows decides as the scans of all windows do."""

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.policies import raw_ucb_pp
from rotting.policies.kernels.binding import bind
from rotting.policies.parts import prefix_sums
from rotting.policies.parts.indices import window_width
from rotting.policies.parts.prefix_sums import (
    FAN,
    PrefixSums,
    append,
    block_number,
    block_range,
    blocks_within,
    largest_block,
    mean_range,
    new_prefix_sums,
    record,
    sum_range,
    window_floor,
    window_mean,
)
from rotting.policies.raw_ucb import level_at
from rotting.policies.raw_ucb_pp import RAWUCBpp
from rotting.policy import Params, Policy
from rotting.registry import make
from rotting.simulation.engines.compile import compiled
from tests.conftest import INTERPRETED
from tests.helpers.games import Player
from tests.helpers.streams import rounds_to_check, states_to_check, streams
from tests.reference import full_scan
from tests.reference.full_scan import RAWUCBByBlocks


@given(st.lists(st.sampled_from([1e100, -1e100, 1e6, 0.1, 1 / 3]), max_size=20))
def test_rewards_become_prefix_sums(samples: list[float]) -> None:
    s = SimpleNamespace(pulls=np.zeros(1, np.int64), high=np.zeros((1, 21)), low=np.zeros((1, 21)))
    for k, sample in enumerate(samples, 1):
        append(s, 0, sample)
        assert s.high[0, k] + s.low[0, k] == s.high[0, k]  # the pair is as short as it can be
        exact, size = sum(map(Fraction, samples[:k])), sum(abs(Fraction(x)) for x in samples[:k])
        assert abs(Fraction(s.high[0, k]) + Fraction(s.low[0, k]) - exact) <= size * Fraction(2) ** -100
    assert s.pulls[0] == len(samples)


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


def level_of_one_arm(p: Params, t: int) -> float:
    """The level of RAW-UCB++, t / K."""
    return float(t)


SEARCHES = {
    "raw-ucb-by-blocks": (level_at, prefix_sums._search),
    "raw-ucb-pp": (level_of_one_arm, bind(prefix_sums._search, {window_width: raw_ucb_pp.width})),
}
POLICIES: list[Policy] = [RAWUCBByBlocks(alpha=0.06), RAWUCBByBlocks(), RAWUCBByBlocks(alpha=4.0), RAWUCBpp()]


@pytest.mark.parametrize("name", streams(10))
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_the_search_finds_the_index(policy: Policy, name: str) -> None:
    assert policy.kernel.explain is not None
    level_of, by_blocks = SEARCHES[policy.name]
    search, explain = compiled(by_blocks, policy), compiled(policy.kernel.explain, policy)
    scan = compiled(full_scan.index, policy)
    for t, s in states_to_check(policy, streams(LENGTH)[name]):
        found = search(policy.params, s, level_of(policy.params, t + 1), 0, math.inf)
        reason = explain(policy.params, s, t + 1, np.array([0]), 0)
        assert found == reason.value == reason.mean + reason.width
        assert reason.mean == window_mean(s.history, 0, reason.window)
        if policy.name == "raw-ucb-by-blocks":
            assert found == scan(policy.params, s, t + 1, 0)


FILTERS = [make("fewa"), make("fewa", alpha=0.5), make("fewa", alpha=4.0)]
PAIRS = [(RAWUCBByBlocks(), full_scan.raw_ucb_choice), *((policy, full_scan.fewa) for policy in FILTERS)]


@pytest.mark.parametrize(("policy", "scan"), PAIRS, ids=[repr(policy) for policy, _ in PAIRS])
@pytest.mark.parametrize("name", streams(10))
def test_long_games_equal_the_scans(policy: Policy, scan: object, name: str) -> None:
    """Every decision of a game of several thousand rounds, with arms that differ in level and in kind of decay."""
    horizon, n_arms = LENGTH // 3, 3
    others = list(streams(horizon).values())
    rows = [streams(horizon)[name], others[1] + streams(horizon)[name].mean(), streams(horizon)[name][::-1] + 0.05]
    player, slow = Player(policy, n_arms, horizon), compiled(scan, policy)  # type: ignore[arg-type]
    arms, pulls = np.arange(n_arms), [0] * n_arms
    check = rounds_to_check(horizon) | set(range(horizon // 2, horizon // 2 + 300))
    for t in range(1, horizon + 1):
        arm = player.choose(t, arms)
        if t > n_arms and t in check:
            assert arm == slow(policy.params, player.state, t, 0, arms), t
        player.update(t, arm, rows[arm][pulls[arm]])
        pulls[arm] += 1
    assert sum(pulls) == horizon
