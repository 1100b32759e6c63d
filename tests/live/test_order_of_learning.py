"""The rewards of an arm are learned in the order of its decisions, and count as soon as they come."""

import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotting.live import policy_state as states
from rotting.live.bandit import Bandit
from rotting.policy import Policy
from rotting.registry import make
from tests.helpers.games import in_order, learners

if TYPE_CHECKING:
    from rotting.live.decisions import Decision

IN_ORDER = in_order(learners())
VALUES = [0.1, 0.9, 0.0, 0.4]


def arrays(bandit: Bandit) -> dict[str, Any]:
    return states.to_json(bandit._state.learner.state)


@pytest.mark.parametrize("policy", IN_ORDER, ids=lambda each: each.name)
def test_in_whatever_order_rewards_come_the_state_is_the_same_in_the_end(policy: Policy) -> None:
    learned = []
    for order in itertools.permutations(range(4)):
        bandit = Bandit(policy, arms=["a", "b"], seed=1)
        decisions = [bandit.decide(arms=["a"]) for _ in VALUES]
        for k in order:
            assert bandit.reward(decisions[k].id, VALUES[k]) == "applied"
            assert bandit.explain()["a"].pulls == 1 + order.index(k)
        learned.append(arrays(bandit))
        assert bandit._state.ledger.early == bandit.pending == 0
    assert all(each == learned[0] for each in learned)


def without_the_open_ones(bandit: Bandit) -> Bandit:
    twin = Bandit.from_state(bandit.get_state())
    twin.expire(older_than_rounds=0)
    for entry in list(twin._state.ledger.entries.values()):
        twin._state.end(entry, "expired", None)
    return twin


@settings(max_examples=10)
@given(st.permutations(range(12)), st.sampled_from([2, 5, 12]))
@pytest.mark.parametrize("name", ["raw-ucb", "eff-raw-ucb", "fewa", "ucb1", "sw-ucb"])
def test_an_early_reward_counts_as_if_those_before_it_would_never_come(name: str, order: list[int], late: int) -> None:
    bandit = Bandit(make(name), arms=["a", "b"], seed=1)
    decisions = [bandit.decide() for _ in order]
    for k in order[:late]:
        bandit.reward(decisions[k].id, k / 12)
        reasons, dropped = bandit.explain(), without_the_open_ones(bandit).explain()
        for arm in ("a", "b"):
            assert [reasons[arm].mean, reasons[arm].window, reasons[arm].pulls] == pytest.approx(
                [dropped[arm].mean, dropped[arm].window, dropped[arm].pulls], nan_ok=True
            )


def test_a_gap_that_closes_lets_those_behind_it_settle() -> None:
    bandit = Bandit(make("ucb1"), arms=["a"])
    one, two, three, four = (bandit.decide() for _ in range(4))
    bandit.reward(three.id, 0.3)
    bandit.reward(two.id, 0.2)
    assert int(bandit._state.learner.state.pulls[0]) == 0
    bandit.cancel(one.id)
    assert int(bandit._state.learner.state.pulls[0]) == 2
    assert bandit.reward(two.id, 0.2) == bandit.reward(three.id, 0.3) == "duplicate"
    bandit.reward(four.id, 0.4)
    assert bandit.explain()["a"].mean == pytest.approx(0.3)


def test_a_policy_that_weighs_by_propensity_learns_at_once() -> None:
    bandit = Bandit(make("exp3", gamma=0.2), arms=[0, 1])
    one, two = bandit.decide(arms=[0]), bandit.decide(arms=[0])
    bandit.reward(two.id, 1.0)
    assert bandit._state.ledger.early == 0
    assert bandit.propensities()[0] > 0.5
    assert bandit.reward(one.id, 1.0) == "applied"


@pytest.mark.parametrize("policy", IN_ORDER, ids=lambda each: each.name)
def test_saved_while_rewards_wait_it_goes_on_as_it_would_have(policy: Policy) -> None:
    bandit = Bandit(policy, arms=range(3), seed=2)
    open_decisions: list[Decision] = []
    for k in range(40):
        open_decisions.append(bandit.decide())
        if k % 3 == 2:
            decision = open_decisions.pop(-2)
            bandit.reward(decision.id, (k % 5) / 4)
    assert bandit._state.ledger.early > 0
    twin = Bandit.from_state(json.loads(json.dumps(bandit.get_state())))
    for k in range(30):
        assert twin.pull() == bandit.pull()
        if k % 2 and open_decisions:
            decision = open_decisions.pop(0)
            for each in (twin, bandit):
                assert each.reward(decision.id, 0.5) == "applied"
    assert twin.get_state() == bandit.get_state()
