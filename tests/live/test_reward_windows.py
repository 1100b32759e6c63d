"""Reward windows: decisions settle in order, with their reward or, when their window closes, with `missing`."""

import json
from typing import Any

import pytest

from rotting.errors import InvalidValueError
from rotting.live.bandit import Bandit
from rotting.live.bandit_state import BanditState
from rotting.live.locks import Guard, steady_clock
from rotting.live.policy_state import to_json
from rotting.policy import Policy
from rotting.registry import make
from tests.helpers.clocks import HandClock


def bandit_with(clock: HandClock, policy: Policy | None = None, missing: float | None = 0.0, **options: Any) -> Bandit:
    state = BanditState.new(policy or make("ucb1"), ["a", "b"], 1, reward_window="30min", missing=missing, **options)
    return Bandit.holding(Guard(state, clock=clock))


def learned(bandit: Bandit) -> Any:
    return to_json(bandit._state.learner.state)


@pytest.mark.parametrize("missing", [0.0, 0.25, None])
@pytest.mark.parametrize("name", ["ucb1", "raw-ucb", "exp3"])
def test_decisions_settle_in_order_when_their_windows_close(name: str, missing: float | None) -> None:
    clock, policy = HandClock(), make(name, gamma=0.2) if name == "exp3" else make(name)
    bandit = bandit_with(clock, policy, missing)
    decisions = []
    for _ in range(4):
        decisions.append(bandit.decide(arms=["a"]))
        clock.now += 60.0
    before = learned(bandit)
    assert bandit.reward(decisions[2].id, 0.5) == bandit.reward(decisions[1].id, 1.0) == "applied"
    assert learned(bandit) == before  # the first decision has no reward yet
    assert (bandit.pending, bandit.explain()["a"].pulls) == (4, 0)
    clock.now = 1_800.0  # the window of the first decision has closed
    twin = bandit._state.learner.copy()
    bandit.cancel("?")
    for decision, reward in zip(decisions, [missing, 1.0, 0.5], strict=False):
        if reward is not None:
            twin.learn(4, 0, reward, decision.propensity)
    assert learned(bandit) == to_json(twin.state)
    assert (bandit.pending, bandit.explain()["a"].pulls) == (1, 3 if missing is not None else 2)
    outcomes = [bandit.reward(each.id, 1.0) for each in decisions]
    assert outcomes == ["expired", "duplicate", "conflict", "applied"]
    assert bandit.pending == 0


def test_rewards_that_are_reported_at_once_are_learned_at_once() -> None:
    waiting, plain = bandit_with(HandClock(), make("raw-ucb")), Bandit(make("raw-ucb"), ["a", "b"], seed=1)
    for k in range(50):
        assert waiting.reward(waiting.decide(), k % 3 / 2) == plain.reward(plain.decide(), k % 3 / 2) == "applied"
        assert learned(waiting) == learned(plain)


def test_a_window_closes_exactly_at_its_end() -> None:
    clock = HandClock()
    bandit = bandit_with(clock)
    one, two = bandit.decide(), bandit.decide()
    clock.now = 1_800.0 - 2**-10
    assert bandit.reward(one, 1.0) == "applied"
    clock.now = 1_800.0
    assert bandit.reward(two, 1.0) == "expired"


def test_clocks_that_jump_are_survived() -> None:
    """A clock that goes back closes no window and opens none; time goes on once it has caught up."""
    clock = HandClock(1_000_000.0)
    bandit = bandit_with(clock)
    one = bandit.decide()
    clock.now = 0.0
    two = bandit.decide()
    assert [entry.time for entry in bandit._state.ledger.entries.values()] == [1_000_000.0, 1_000_000.0]
    assert bandit.reward(two, 1.0) == "applied"
    assert bandit.pending == 2
    clock.now = 1_000_000.0 + 1_800.0
    assert bandit.reward(one, 1.0) == "expired"
    assert bandit.pending == 0


def test_cancelled_and_expired_decisions_do_not_settle() -> None:
    clock = HandClock()
    bandit = bandit_with(clock)
    one, two, three = (bandit.decide(arms=["a"]) for _ in range(3))
    bandit.reward(three, 1.0)
    assert [bandit.cancel(three), bandit.expire(three), bandit.cancel(one)] == ["conflict", "conflict", "applied"]
    assert bandit.explain()["a"].pulls == 0
    assert bandit.expire(two) == "applied"  # it stood between the third and its turn
    assert (bandit.explain()["a"].pulls, bandit.explain()["a"].mean) == (1, 1.0)


@pytest.mark.filterwarnings("ignore:max_pending reached")
def test_without_room_the_oldest_window_closes_early() -> None:
    clock = HandClock()
    bandit = bandit_with(clock, max_pending=2)
    one, two = bandit.decide(arms=["a"]), bandit.decide(arms=["b"])
    bandit.reward(two, 1.0)
    preview = bandit.preview(count=2)
    assert [each.arm for each in bandit.decide(count=2)] == [each.arm for each in preview]
    assert [bandit.explain()[arm].mean for arm in "ab"] == [0.0, 1.0]
    assert [bandit.reward(each, 1.0) for each in (one, two)] == ["expired", "duplicate"]


def test_a_preview_settles_what_a_decision_would_settle() -> None:
    clock = HandClock()
    bandit = bandit_with(clock)
    made = [bandit.decide() for _ in range(6)]
    for k in (1, 2, 5):
        bandit.reward(made[k], k / 6)
    clock.now = 1_800.0
    before = bandit.get_state()
    (preview,) = bandit.preview()
    assert bandit.get_state() == before
    assert bandit.decide()._replace(id="") == preview


def test_updates_go_to_the_oldest_decision_without_a_reward() -> None:
    clock = HandClock()
    bandit = bandit_with(clock)
    bandit.pull(arms=["b"])
    for _ in range(3):
        bandit.pull(arms=["a"])
    for reward in (0.1, 0.2):
        bandit.update("a", reward)
    assert [entry.reward for entry in bandit._state.ledger.entries.values()] == [None, 0.1, 0.2, None]
    bandit.forget("a")
    assert bandit.pending == 1


def test_an_age_in_time_expires_decisions() -> None:
    clock = HandClock()
    bandit = Bandit.holding(Guard(BanditState.new(make("ucb1"), ["a", "b"]), clock=clock))
    made = []
    for _ in range(5):
        made.append(bandit.decide())
        clock.now += 60.0
    assert bandit.expire(older_than="3min", limit=1) == 1
    assert bandit.expire(older_than="3min", missing=0.0) == 2
    assert [bandit.reward(each, 1.0) for each in made] == ["expired", "expired", "expired", "applied", "applied"]
    bandit.decide()
    twin = Bandit.holding(Guard(Bandit.from_state(bandit.get_state())._state, clock=clock))
    clock.now = steady_clock()
    assert twin.expire(older_than="1h") == 0  # times are not saved: it counts from the restoring
    clock.now += 3_600.0
    assert twin.expire(older_than="1h") == 1


def test_missing_needs_a_window_and_a_valid_reward() -> None:
    with pytest.raises(InvalidValueError, match="^missing must be given with reward_window only, got None$"):
        Bandit(make("ucb1"), ["a"], missing=None)
    with pytest.raises(InvalidValueError, match=r"^missing must be in \[0.0, 1.0\]"):
        Bandit(make("kl-ucb"), ["a"], reward_window="1h", missing=2.0)
    with pytest.raises(InvalidValueError, match="^reward_window must be a positive duration"):
        Bandit(make("ucb1"), ["a"], reward_window="soon")


def test_a_saved_state_keeps_times_and_rewards() -> None:
    clock = HandClock(50.0)
    bandit = bandit_with(clock, missing=None)
    one, two = bandit.decide(), bandit.decide()
    bandit.reward(two, 1.0)
    saved = json.loads(json.dumps(bandit.get_state()))
    twin = Bandit.holding(Guard(Bandit.from_state(saved)._state, clock=clock))
    assert twin.get_state() == saved
    clock.now += 1_800.0
    for each in (bandit, twin):
        assert each.reward(one, 1.0) == "expired"
    assert twin.get_state() == bandit.get_state()
    assert (twin.explain()[one.arm].pulls, twin.explain()[two.arm].pulls) == (0, 1)
