"""The search of all windows: it finds the index of the full scan, and so do whole games."""

import math

import numpy as np
import pytest

from rotting.engines.compile import compiled
from rotting.kernels.binding import bind
from rotting.live import policy_state as states
from rotting.live.policy_state import new_state
from rotting.parts import exact_windows
from rotting.parts.floors import floor_now
from rotting.parts.prefix_blocks import (
    window_mean,
)
from rotting.policies.raw_ucb import level_at, width
from rotting.policy import Policy
from rotting.registry import make
from tests.conftest import INTERPRETED
from tests.helpers.games import compiled_kernels, play, play_naive, reference
from tests.helpers.streams import rounds_to_check, streams
from tests.reference import full_scan

LENGTH = 700 if INTERPRETED else 9_000


SEARCH = bind(exact_windows._search, {exact_windows.width: width, exact_windows.earlier_floor: floor_now})


@pytest.mark.parametrize("name", streams(10))
@pytest.mark.parametrize("alpha", [0.06, 1.4, 4.0])
def test_the_search_finds_the_index(name: str, alpha: float) -> None:
    policy = make("raw-ucb", alpha=alpha)
    assert policy.kernel.explain is not None
    search, explain = compiled(SEARCH, policy), compiled(policy.kernel.explain, policy)
    update, scan = compiled_kernels(policy)[1], compiled(full_scan.index, policy)
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
    (make("raw-ucb"), full_scan.raw_ucb),
    (make("raw-ucb", alpha=0.2), full_scan.raw_ucb),
    (make("raw-ucb", alpha=4.0), full_scan.raw_ucb),
    (make("fewa"), full_scan.fewa),
    (make("fewa", alpha=0.5), full_scan.fewa),
    (make("fewa", alpha=4.0), full_scan.fewa),
]


@pytest.mark.parametrize(("policy", "scan"), PAIRS, ids=[repr(policy) for policy, _ in PAIRS])
@pytest.mark.parametrize("name", streams(10))
def test_long_games_equal_the_scans(policy: Policy, scan: object, name: str) -> None:
    """Every decision of a game of several thousand rounds, with arms that differ in level and in kind of decay."""
    horizon, n_arms = LENGTH // 3, 3
    others = list(streams(horizon).values())
    rows = [streams(horizon)[name], others[1] + streams(horizon)[name].mean(), streams(horizon)[name][::-1] + 0.05]
    choose, update = compiled_kernels(policy)
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


NAMES = ("raw-ucb", "eff-raw-ucb", "raw-ucb-pp", "eff-raw-ucb-pp", "fewa", "eff-fewa")


@pytest.mark.parametrize("policy", [make(name, sigma=1e-40) for name in NAMES], ids=lambda policy: policy.name)
@pytest.mark.parametrize("seed", range(6))
def test_choices_equal_the_reference(policy: Policy, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = (rng.integers(1, 5, (3, 90)) / 4).tolist()
    assert play(policy, table, 90) == play_naive(policy, table, 90)


@pytest.mark.parametrize("policy", [make(name, sigma=1e-40) for name in NAMES], ids=lambda policy: policy.name)
@pytest.mark.parametrize("seed", range(1, 7))
def test_choices_after_rewards_that_no_pull_asked_for_equal_the_reference(policy: Policy, seed: int) -> None:
    """They lower an index while the arm's line stays where it is: the next search begins from the tie of its floor."""
    rng = np.random.default_rng(seed)
    state, slow, arms = states.new_state(policy, 3, 60), reference(policy, 3), np.arange(3)
    for t in range(1, 61):
        arm = int(policy.kernel.choose(policy.params, state, t, 0, arms))
        assert arm == slow.choose(t), t
        paid = arm if t <= 6 or rng.random() < 0.5 else int(rng.integers(3))
        reward = float(rng.integers(1, 5) / 4)
        policy.kernel.update(policy.params, state, t, paid, reward)
        slow.update(t, paid, reward)
