"""The bandit learns each reward when it comes, whatever the order of the decisions."""

import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest

from rotting.live import policy_state as states
from rotting.live.bandit import Bandit
from rotting.live.learner import Learner
from rotting.policy import Policy
from rotting.registry import make
from tests.helpers.games import in_order, learners

if TYPE_CHECKING:
    from rotting.live.values import Decision

IN_ORDER = in_order(learners())
VALUES = [0.1, 0.9, 0.0, 0.4]


def arrays(learner: Learner) -> dict[str, Any]:
    return states.to_json(learner.state)


@pytest.mark.parametrize("policy", IN_ORDER, ids=lambda each: each.name)
def test_rewards_are_learned_in_the_order_in_which_they_come(policy: Policy) -> None:
    for order in itertools.permutations(range(4)):
        bandit = Bandit(policy, arms=["a", "b"], seed=1)
        decisions = [bandit.decide(arms=["a"]) for _ in VALUES]
        twin = bandit._state.learner.copy()
        for n, k in enumerate(order, start=1):
            assert bandit.reward(decisions[k].id, VALUES[k]) == "applied"
            twin.learn(4, 0, VALUES[k])
            assert arrays(bandit._state.learner) == arrays(twin)
            assert (bandit.explain()["a"].pulls, bandit.pending) == (n, 4 - n)


def test_a_reward_is_learned_with_the_propensity_of_its_decision() -> None:
    bandit = Bandit(make("exp3", gamma=0.2), arms=[0, 1])
    one, two = bandit.decide(arms=[0]), bandit.decide()
    twin = bandit._state.learner.copy()
    for each in (two, one):
        assert bandit.reward(each.id, 1.0) == "applied"
        twin.learn(2, int(str(each.arm)), 1.0, each.propensity)
    assert arrays(bandit._state.learner) == arrays(twin)


@pytest.mark.parametrize("policy", IN_ORDER, ids=lambda each: each.name)
def test_saved_while_decisions_are_pending_it_goes_on_as_it_would_have(policy: Policy) -> None:
    bandit = Bandit(policy, arms=range(3), seed=2)
    pending: list[Decision] = []
    for k in range(40):
        pending.append(bandit.decide())
        if k % 3 == 2:
            decision = pending.pop(-2)
            bandit.reward(decision.id, (k % 5) / 4)
    twin = Bandit.from_state(json.loads(json.dumps(bandit.get_state())))
    for k in range(30):
        assert twin.pull() == bandit.pull()
        if k % 2 and pending:
            decision = pending.pop(0)
            for each in (twin, bandit):
                assert each.reward(decision.id, 0.5) == "applied"
    assert twin.get_state() == bandit.get_state()
