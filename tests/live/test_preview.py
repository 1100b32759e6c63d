"""What a bandit would decide, without deciding."""

import copy
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotting.errors import InvalidValueError, RewardsWarning
from rotting.live.bandit import Bandit
from rotting.live.ledger import Ledger
from rotting.live.preview import Preview
from rotting.policy import Policy
from rotting.registry import make
from tests.live.test_pages import POLICIES, plain, play


@pytest.mark.parametrize("policy", [*POLICIES, make("m-ucb", horizon=1_000)], ids=repr)
@settings(max_examples=8)
@given(data=st.data())
def test_a_preview_is_what_a_copy_decides(policy: Policy, data: st.DataObject) -> None:
    n_arms = 5 if policy.name == "thompson-sampling" else data.draw(st.sampled_from([2, 8, 40]))
    max_pending = data.draw(st.sampled_from([n_arms, 2 * n_arms, 10_000]))
    pending: Any = data.draw(st.sampled_from(["shrink", "ignore"]))
    bandit = Bandit(policy, range(n_arms), seed=5, pending=pending, max_pending=max_pending)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RewardsWarning)
        play(data, bandit, data.draw(st.integers(0, 6)))
        rng = np.random.default_rng(data.draw(st.integers(0, 9)))
        arms = None if rng.uniform() < 0.5 else [arm for arm in bandit.arms if rng.uniform() < 0.9] or list(bandit.arms)
        count = min(len(bandit.arms if arms is None else arms), max_pending, data.draw(st.integers(1, 20)))
        before = bandit.get_state()
        preview = bandit.preview(arms, count)
        assert bandit.get_state() == before
        assert plain(preview) == plain(copy.copy(bandit).decide(arms, count=count))
        assert plain(preview) == plain(bandit.preview(arms, count)) == plain(bandit.decide(arms, count=count))
        assert {each.id for each in preview} == {""}


def test_expiring_decisions_let_early_rewards_take_their_turn() -> None:
    bandit = Bandit(make("ucb1"), ["a", "b"], max_pending=4)
    made = [bandit.decide(arms=["a"]) for _ in range(3)]
    bandit.decide(arms=["b"])
    bandit.reward(made[1].id, 0.25)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RewardsWarning)
        for _ in range(2):
            preview = bandit.preview(count=2)
            assert plain(preview) == plain(bandit.decide(count=2))


def test_a_preview_is_refused_as_a_decision_is() -> None:
    bandit = Bandit(make("ucb1"), ["a", "b"])
    with pytest.raises(InvalidValueError, match="count must be at most 2, the number of available arms, got 3"):
        bandit.preview(count=3)
    with pytest.raises(InvalidValueError, match="without must leave at least one arm"):
        bandit.preview(without=["a", "b"])


def test_a_preview_looks_at_no_decision_unless_one_would_expire(monkeypatch: pytest.MonkeyPatch) -> None:
    bandit = Bandit(make("ucb1"), range(3), max_pending=10)
    for _ in range(7):
        bandit.decide()
    requested: list[int] = []
    look = Ledger.next_to_expire

    def watched(ledger: Ledger, number: int) -> Any:
        requested.append(number)
        return look(ledger, number)

    monkeypatch.setattr(Ledger, "next_to_expire", watched)
    bandit.preview(count=3)
    assert requested == []
    bandit.decide()
    bandit.preview(count=3)
    assert requested == [1]


def test_the_bandit_can_be_used_while_a_preview_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    bandit = Bandit(make("ucb1"), range(3))
    expected, held = plain(bandit.preview(count=2)), []

    def look(*args: Any) -> Any:
        lock: Any = bandit._guard.lock
        held.append(lock._is_owned())
        return decisions(*args)

    decisions = Preview.decisions
    monkeypatch.setattr(Preview, "decisions", look)
    assert plain(bandit.preview(count=2)) == expected
    assert held == [False]
