"""What a bandit would decide, without deciding."""

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotting.errors import InvalidValueError
from rotting.live.bandit import Bandit
from rotting.live.ledger import Ledger
from rotting.live.preview import Preview
from rotting.policy import Policy
from rotting.registry import make
from tests.live.test_pages import POLICIES, plain, played, some_arms


@pytest.mark.filterwarnings("ignore::rotting.errors.RewardsWarning")
@pytest.mark.parametrize("policy", [*POLICIES, make("m-ucb", horizon=1_000)], ids=repr)
@settings(max_examples=8)
@given(data=st.data())
def test_a_preview_is_what_a_copy_decides(policy: Policy, data: st.DataObject) -> None:
    bandit = played(data, policy, [2, 8, 40])
    arms = some_arms(np.random.default_rng(data.draw(st.integers(0, 9))), bandit)
    available = len(bandit.arms if arms is None else arms)
    count = min(available, bandit._state.ledger.max_pending, data.draw(st.integers(1, 20)))
    before = bandit.get_state()
    preview = bandit.preview(arms, count)
    assert bandit.get_state() == before
    assert plain(preview) == plain(copy.copy(bandit).decide(arms, count=count))
    assert plain(preview) == plain(bandit.preview(arms, count)) == plain(bandit.decide(arms, count=count))
    assert {each.id for each in preview} == {""}


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
    look = Ledger.oldest_entries

    def watched(ledger: Ledger, number: int) -> Any:
        requested.append(number)
        return look(ledger, number)

    monkeypatch.setattr(Ledger, "oldest_entries", watched)
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
