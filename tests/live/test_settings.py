"""`Bandit.change`, paused arms, caps and floors."""

import json
from collections import Counter
from typing import Any

import pytest

import rotting
from rotting import Bandit
from rotting.live.limits import Limits
from rotting.registry import make


def made(**more: Any) -> Bandit:
    return Bandit(make("raw-ucb"), arms=["a", "b", "c"], seed=1, **more)


def play(bandit: Bandit, rounds: int, best: str = "a") -> Counter[str]:
    chosen: Counter[str] = Counter()
    for _ in range(rounds):
        decision = bandit.decide()
        bandit.reward(decision, float(decision.arm == best))
        chosen[decision.arm] += 1
    return chosen


def test_a_paused_arm_is_not_chosen_until_it_is_resumed() -> None:
    bandit = made(pending="ignore")
    play(bandit, 50)
    bandit.pause("a", reason="broken link")
    assert bandit.arms == ("a", "b", "c")
    assert bandit.explain()["a"].rule == "paused"
    assert bandit.propensities()["a"] == 0.0
    assert play(bandit, 50)["a"] == 0
    bandit.pause("b")
    with pytest.raises(ValueError, match="^paused must leave at least one arm, got all of them$"):
        bandit.pause("c")
    with pytest.raises(ValueError, match="^arms must hold an arm that is not paused, got none$"):
        bandit.decide(["a", "b"])
    with pytest.raises(ValueError, match="^count must be at most 1, the number of available arms, got 2$"):
        bandit.decide(count=2)
    bandit.resume("a")
    assert play(bandit, 50)["a"] > 40
    bandit.forget("b")
    bandit.add_arm("b")  # another arm under this id
    assert play(bandit, 3)["b"] > 0


def test_shares_stay_between_floors_and_caps_at_any_time() -> None:
    bandit = made()
    bandit.change(caps={"a": 0.5}, floors={"c": 0.1}, reason="contract")
    chosen: Counter[str] = Counter()
    rules: Counter[str] = Counter()
    for total in range(1, 501):
        decision = bandit.decide()
        bandit.reward(decision, float(decision.arm == "a"))
        chosen[decision.arm] += 1
        rules[decision.reason.rule] += 1
        assert chosen["a"] <= 0.5 * total
        assert chosen["c"] >= 0.1 * total - 1e-9
        assert decision.propensity == 1.0
    assert min(rules["cap"], rules["floor"], rules[""]) > 0
    assert bandit.decide(["a"]).arm == "a"  # a cap counts only as long as another arm is available


def test_shares_are_those_of_the_last_hour() -> None:
    limits = Limits()
    limits.caps = {0: 0.5}
    for minute in range(10):
        limits.decided(minute % 2, 60.0 * minute)
    assert limits.capped([0, 1], 600.0) == [0]  # 6 of 11 would be too many
    assert limits.capped([0, 1], 3_600.0) == []  # 4 before this, and 5 of others
    assert limits.capped([0, 1], 7_200.0) == [0]  # 1 of 1


def test_the_log_says_what_was_changed_and_folds_to_the_same_state() -> None:
    arguments: dict[str, Any] = {"reward_window": "1h", "holdout": 0.2}
    bandit, twin = made(**arguments), made(**arguments)
    events = bandit._state.events = []
    play(bandit, 20)
    late = bandit.decide()
    bandit.change(reward_window="2h", missing=None, reason="slow partner")
    assert events[-1] == {"event": "changed", "reward_window": 7200.0, "missing": None, "reason": "slow partner"}
    bandit.change(caps={"a": 0.4}, floors={"b": 0.2}, holdout=0.3, max_pending=80)
    bandit.pause("c")
    play(bandit, 50)
    assert bandit.reward(late.id, 1.0) == "applied"  # decisions under way keep their ids
    assert {"cap", "floor", "holdout"} <= {each.get("rule") for each in events}
    found = [twin._state.apply(event) for event in events]
    assert not any(each.differs for each in found if each is not None)
    assert twin.get_state() == bandit.get_state()
    again = Bandit.from_state(json.loads(json.dumps(bandit.get_state())))
    assert again.get_state() == bandit.get_state()
    assert [again.decide().arm for _ in range(30)] == [bandit.decide().arm for _ in range(30)]


def test_without_its_window_a_bandit_learns_what_it_held_back() -> None:
    bandit = made(reward_window="1h")
    first, second = bandit.decide(), bandit.decide()
    bandit.reward(second, 1.0)
    assert (bandit.pending, bandit.explain()[second.arm].pulls) == (2, 0)
    bandit.change(reward_window=None)
    assert (bandit.pending, bandit.explain()[second.arm].pulls) == (1, 1)
    assert bandit.reward(first, 0.0) == "applied"
    bandit.change(reward_window=0.001)
    waiting = bandit.decide()
    while bandit.reward(waiting, 1.0) == "applied":  # the clock of this machine may be coarse
        waiting = bandit.decide()


def test_without_a_limit_windows_end_decisions_and_10_000_may_be_pending_otherwise() -> None:
    assert made(reward_window="1h")._state.most_pending > 10**9
    assert made()._state.most_pending == 10_000
    bandit = made(max_pending=5)
    with pytest.warns(rotting.errors.RewardsWarning, match="^max_pending reached: 5 decisions have no reward yet"):
        first, *_ = [bandit.decide() for _ in range(6)]
    assert bandit.reward(first, 1.0) == "expired"
    with pytest.raises(
        ValueError, match="^max_pending must be at least the number of pending decisions, 5: no decision is ended"
    ):
        bandit.change(max_pending=4)
    bandit.change(max_pending=None)
    assert [bandit.decide() for _ in range(6)]
    assert bandit.pending == 11


BAD: list[tuple[dict[str, Any], str]] = [
    ({}, "change must name a setting, such as alpha or holdout, got none"),
    ({"alhpa": 1.0}, "setting must be one of policy, .*, alpha, sigma, got 'alhpa'; did you mean 'alpha'?"),
    ({"alpha": -1}, "alpha must be a positive finite number, got -1"),
    ({"alpha": 2.0}, "policy must be changed on a bandit of rotting.open, got RAWUCB.*; a bandit in memory keeps no events"),
    ({"policy": "ucb1"}, "policy must be a policy such as"),
    ({"holdout": 1}, "holdout must be a share from 0 to below 1, got 1"),
    ({"max_pending": 0}, "max_pending must be a whole number, 1 or more, got 0"),
    ({"missing": 0.5}, "missing must be given with reward_window only, got 0.5"),
    ({"reward_window": "soon"}, "reward_window must be a positive duration"),
    ({"caps": ["a"]}, "caps must be shares by arm"),
    ({"caps": {"a": 0}}, r"caps\['a'\] must be a share above 0, at most 1, got 0"),
    ({"caps": {"z": 0.1}}, "arm must be one of 'a', 'b', 'c', got 'z'"),
    ({"floors": {"a": 0.6, "b": 0.6}}, "floors must sum to at most 1, got 1.2"),
    ({"paused": "a"}, "paused must be a list of arms, got 'a'"),
    ({"paused": ["z"]}, "arm must be one of 'a', 'b', 'c', got 'z'"),
    ({"holdout": 0.1, "reason": 7}, "reason must be a string, got 7"),
    ({"holdout": 0.1, "reason": "\ud800"}, "reason must be valid Unicode without null characters"),
    ({"holdout": 0.1, "reason": "x" * 1_001}, "reason must have at most 1000 characters, got 'xxx"),
]


@pytest.mark.parametrize(("settings", "message"), BAD, ids=[repr(each)[:50] for each, _ in BAD])
def test_a_bad_setting_is_refused_with_a_sentence_and_changes_nothing(settings: dict[str, Any], message: str) -> None:
    bandit = made()
    before = bandit.get_state()
    with pytest.raises((TypeError, ValueError), match=f"^{message}"):
        bandit.change(**settings)
    assert bandit.get_state() == before


def test_an_arm_that_cannot_be_paused_is_refused() -> None:
    for arm in ("z", ["a"]):
        with pytest.raises(ValueError, match="^arm must be one of 'a', 'b', 'c', got "):
            made().pause(arm)


def test_another_policy_learns_what_it_would_have_learned_from_the_start() -> None:
    bandit = made(reward_window="1h", holdout=0.1)
    beginning, events = bandit._state.copy(), list[dict[str, Any]]()
    bandit._state.events = events
    for k in range(100):
        decision = bandit.decide()
        if k % 4:
            bandit.reward(decision, float(decision.arm == "a"))
    other = make("eff-raw-ucb", alpha=0.5)
    folded = beginning.with_policy(other)
    folded.check_rounds(0)
    fresh = Bandit(other, arms=["a", "b", "c"], seed=1, reward_window="1h", holdout=0.1)
    for event in events:
        folded.apply(event)
        fresh._state.apply(event)
    assert Bandit.holding(type(bandit._guard)(folded)).get_state() == fresh.get_state()
