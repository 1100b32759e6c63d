"""The search of blocks: it finds the index of the scan of all windows, whatever the width."""

import math

import numpy as np
import pytest

from rotting.engines.compile import compiled
from rotting.kernels.binding import bind
from rotting.parts import block_windows
from rotting.parts.confidence import window_width
from rotting.parts.prefix_sums import window_mean
from rotting.policies import raw_ucb_pp
from rotting.policies.raw_ucb import level_at
from rotting.policies.raw_ucb_pp import RAWUCBpp
from rotting.policy import Params, Policy
from rotting.registry import make
from tests.conftest import INTERPRETED
from tests.helpers.games import Player
from tests.helpers.streams import rounds_to_check, states_to_check, streams
from tests.reference import full_scan
from tests.reference.full_scan import RAWUCBByBlocks

LENGTH = 700 if INTERPRETED else 9_000


def level_of_one_arm(p: Params, t: int) -> float:
    """The level of RAW-UCB++, t / K."""
    return float(t)


SEARCHES = {
    "raw-ucb-by-blocks": (level_at, block_windows._search),
    "raw-ucb-pp": (level_of_one_arm, bind(block_windows._search, {window_width: raw_ucb_pp.width})),
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
