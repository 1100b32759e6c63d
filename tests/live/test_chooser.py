"""What chooses: in one call of compiled code, or step by step, with the same choice and the same reason."""

import copy

import numpy as np
import pytest

from rotting.live.bandit import Bandit
from rotting.live.bandit_state import BanditState
from rotting.live.locks import Guard
from rotting.policy import Policy
from rotting.registry import make
from tests.live.test_pages import plain

POLICIES = [make("raw-ucb"), make("eff-raw-ucb"), make("ucb1"), make("sw-ucb", tau=50), make("thompson-sampling"), make("fewa")]


@pytest.mark.parametrize("n_arms", [3, 40])
@pytest.mark.parametrize("policy", POLICIES, ids=lambda each: each.name)
def test_a_decision_is_that_of_a_page_of_one(policy: Policy, n_arms: int) -> None:
    """With waiting arms, a single decision is made in one call; a page is decided step by step."""
    rng = np.random.default_rng(3)
    bandit = Bandit(policy, range(n_arms), seed=1)
    pending: list[str] = []
    for k in range(3 * n_arms):
        page = copy.copy(bandit).decide(count=1)
        decision = bandit.decide()
        assert plain((decision,)) == plain(page)
        pending.append(decision.id)
        if k >= n_arms:
            bandit.reward(pending.pop(int(rng.integers(len(pending)))), float(rng.uniform()))
    assert bandit.pending >= n_arms


@pytest.mark.parametrize("policy", POLICIES, ids=lambda each: each.name)
def test_pages_of_waiting_arms_make_room_for_their_rounds_as_their_events_do(policy: Policy) -> None:
    """When all arms wait, a page does not call the policy; the events of its decisions are applied one by one, and do."""
    recorded: list[dict[str, object]] = []
    state, twin = (BanditState.new(policy, ["a", "b", "c"]) for _ in range(2))
    state.events = []
    bandit = Bandit.holding(Guard(state, recorded.extend))
    for _ in range(40):
        bandit.decide(count=2)
    for event in recorded:
        twin.apply(event)
    assert twin.rounds == 80
    assert Bandit.holding(Guard(twin)).get_state() == bandit.get_state()
