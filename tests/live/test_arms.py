"""Arms' lives: added, retired, revived, forgotten; ids that are used again; many of them."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rotting.errors import InvalidValueError
from rotting.live.arms import Arms
from rotting.live.bandit import Bandit
from rotting.policies.exp3 import Exp3
from rotting.policies.exp3_s import Exp3S
from rotting.policies.parts.doubling import doubling
from rotting.policies.rexp3 import Rexp3
from rotting.policies.swa import SWA
from rotting.policy import Policy
from rotting.registry import make
from tests.conftest import INTERPRETED
from tests.helpers.games import learners, taking_priors
from tests.helpers.rewards import reward_at

LEARNERS = learners()
COUNT_ARMS: list[Policy] = [
    make("ad-switch", horizon=400, C1=1.0),
    make("m-ucb", w=8, b=1.5, gamma=0.4),
    make("m-ucb", horizon=400, w=8),
    make("glr-ucb", rate=0.4, sigma=0.5),
    make("glr-kl-ucb", rate=0.4),
    Exp3(horizon=400),
    make("exp3", gamma=0.2),
    Exp3S(horizon=400),
    Exp3S(gamma=0.2, alpha=0.05),
    Rexp3(horizon=400, budget=2.0),
    SWA(horizon=400),
    make("wswa"),
    doubling(make("swa", horizon=50)),
    doubling(make("ad-switch", horizon=10, C1=0.1)),
    doubling(make("m-ucb", horizon=10, w=4)),
    doubling(Exp3(horizon=10)),
    doubling(Exp3S(horizon=10)),
    doubling(Rexp3(horizon=10, budget=2.0)),
]


LIVES = st.lists(st.tuples(st.sampled_from(["add", "retire", "revive", "forget"]), st.integers(0, 6)), max_size=12)


@pytest.mark.parametrize("policy", COUNT_ARMS if INTERPRETED else COUNT_ARMS[::6], ids=repr)
@settings(max_examples=12)
@given(LIVES)
@example([("add", 3), ("add", 4), ("forget", 0), ("retire", 3), ("add", 5)])
def test_only_the_arms_that_are_there_count(policy: Policy, lives: list[tuple[str, int]]) -> None:
    """Whatever became of arms before the first reward, a bandit is one that began with those that it has, in their order."""
    lived = Bandit(policy, arms=range(3), seed=3)
    for life, arm in lives:
        active, retired = arm in lived.arms, arm in lived._state.arms.retired
        if life == "add" and not active:
            lived.add_arm(arm)
        elif life == "retire" and active and len(lived.arms) > 1:
            lived.retire(arm)
        elif life == "revive" and retired:
            lived.revive(arm)
        elif life == "forget" and (retired or (active and len(lived.arms) > 1)):
            lived.forget(arm)
    begun = Bandit(policy, arms=lived.arms, seed=3)
    for k in range(60):
        assert lived.propensities() == begun.propensities()
        chosen = begun.pull()
        assert lived.pull() == chosen
        for each in (lived, begun):
            each.update(chosen, reward_at(chosen, k))


@pytest.mark.parametrize("policy", LEARNERS, ids=lambda each: each.name)
def test_a_retired_arm_comes_back_as_it_was(policy: Policy) -> None:
    bandit = Bandit(policy, arms=["a", "b", "c"], seed=3)
    for k in range(30):
        bandit.update("abc"[k % 3], reward_at("abc"[k % 3], k))
    before, propensities = bandit.explain(), bandit.propensities()
    bandit.retire("b")
    assert list(bandit.arms) == ["a", "c"]
    bandit.revive("b")
    assert list(bandit.arms) == ["a", "b", "c"]
    assert repr(bandit.explain()) == repr(before)
    assert bandit.propensities() == pytest.approx(propensities)


def test_a_late_reward_goes_to_the_arm_that_was_shown() -> None:
    bandit = Bandit(make("ucb1"), arms=["a", "b"])
    old, other = bandit.decide(arms=["a"]), bandit.decide(arms=["b"])
    bandit.forget("a")
    bandit.add_arm("a")  # another one
    new = bandit.decide(arms=["a"])
    assert bandit.reward(old.id, 9.0) == "expired"
    assert bandit.explain()["a"].pulls == 0
    assert bandit.reward(new.id, 1.0) == "applied"
    assert bandit.explain()["a"].mean == 1.0
    bandit.retire("b")
    assert bandit.reward(other.id, 2.0) == "applied"  # it is kept, and so is its place
    bandit.revive("b")
    assert bandit.explain()["b"].mean == 2.0


@pytest.mark.parametrize("kept", [True, False])
def test_a_late_update_counts_for_the_arm_that_has_the_id_now(kept: bool) -> None:
    """A pull has no id of its own; `decide` and `reward` tell two arms of one id apart."""
    bandit = Bandit(make("ucb1"), arms=["a", "b"])
    bandit.pull(arms=["a"])
    (bandit.retire if kept else bandit.forget)("a")
    (bandit.revive if kept else bandit.add_arm)("a")
    bandit.update("a", 9.0)
    assert (bandit.explain()["a"].mean, bandit.rounds, bandit.pending) == (9.0, 1 if kept else 2, 0)


def test_retired_arms_can_be_forgotten() -> None:
    bandit = Bandit(make("ucb1"), arms=["a", "b"])
    bandit.retire("b")
    with pytest.raises(ValueError, match="arm must not be the last one, got 'a'"):
        bandit.forget("a")
    with pytest.raises(ValueError, match="arm must not be the last one, got 'a'"):
        bandit.retire("a")
    bandit.forget("b")
    with pytest.raises(ValueError, match="arm must be one that was retired, to be revived, got 'b'"):
        bandit.revive("b")
    with pytest.raises(ValueError, match="arm must be one of 'a', got 'b'"):
        bandit.forget("b")
    bandit.add_arm("c")
    assert bandit.get_state()["slots"] == 2


@pytest.mark.parametrize("name", ["raw-ucb", "eff-raw-ucb", "ucb1", "thompson-sampling", "fewa"])
def test_a_new_arm_may_begin_with_a_prior(name: str) -> None:
    """As if it had paid that mean so many times, in no round."""
    bandit = Bandit(make(name), arms=["a", "b"])
    for k in range(10):
        bandit.update("ab"[k % 2], [0.25, 0.75][k % 2])
    bandit.add_arm("c", prior=(0.5, 3))
    bandit.add_arm("d", prior="pooled")
    reasons = bandit.explain()
    assert (reasons["c"].pulls, reasons["d"].pulls, bandit.rounds) == (3, 1, 10)
    if name != "thompson-sampling":  # which has a prior of its own
        assert reasons["c"].mean == reasons["d"].mean == 0.5
    restored = Bandit.from_state(bandit.get_state())
    assert repr(restored.explain()["c"]) == repr(reasons["c"])


# Those that play one arm at a time, until it disappoints, are for more arms than can be tried.
TRYING_ALL = [each for each in taking_priors(LEARNERS) if each.name not in {"ucbt-asw", "ucb-tp"}]


@pytest.mark.parametrize("policy", TRYING_ALL, ids=repr)
def test_arms_with_priors_before_the_first_round_are_all_pulled(policy: Policy) -> None:
    """None of them waits for a first pull, and ln(1) = 0 makes the bounds of round 1 as wide as nothing."""
    bandit = Bandit(policy, arms=["gone"], seed=3)
    bandit.add_arm("a", prior=(0.5, 1))
    bandit.add_arm("b", prior=(0.5, 2))
    bandit.forget("gone")
    pulls: dict[Any, int] = {"a": 0, "b": 0}
    for _ in range(60):
        indices = [reason.index for reason in bandit.explain().values()]
        assert len(set(np.isnan(indices))) == 1  # no arm alone is without an index
        arm = bandit.pull()
        pulls[arm] += 1
        bandit.update(arm, reward_at(arm, pulls[arm]))
    assert min(pulls.values()) >= (1 if policy.randomised else 15)  # some draw another arm rarely


@pytest.mark.parametrize("name", ["kl-ucb", "glr-kl-ucb", "discounted-ts", "thompson-sampling"])
def test_a_pooled_prior_is_the_mean_of_the_rewards_as_they_are_learned(name: str) -> None:
    """A policy that clips rewards learns from 7.0 what it learns from 1.0: the new arm must not begin above all others."""
    rewards = [7.0, 0.25, -3.0, 0.5]
    wild, tame = (Bandit(make(name, outside="clip"), arms=["a", "b"]) for _ in range(2))
    for bandit, low, high in ((wild, -9.0, 9.0), (tame, 0.0, 1.0)):
        inside = [min(max(each, low), high) for each in rewards]
        for each in inside:
            bandit.reward(bandit.decide().id, each)
        bandit.learn([("ab"[k % 2], each) for k, each in enumerate(inside)])
        bandit.add_arm("c", prior="pooled")
    assert repr(wild.explain()) == repr(tame.explain())
    assert wild.get_state()["rewards"] == tame.get_state()["rewards"] == [3.5 + 0.4375, 9]


def test_a_policy_that_weighs_by_propensity_refuses_a_prior() -> None:
    bandit = Bandit(make("exp3", gamma=0.1), arms=["a"])
    with pytest.raises(ValueError, match="prior must be left out for Exp3.*, which starts a new arm level with the best, got"):
        bandit.add_arm("b", prior=(0.5, 1))


def test_many_arms_start_at_once_and_are_told_apart() -> None:
    """Quadratic work on this many arms would take minutes."""
    bandit: Bandit[int | str] = Bandit(make("eff-raw-ucb"), arms=range(50_000))
    assert bandit.pull() == 0
    with pytest.raises(ValueError, match="arm must be one of 0, 1, 2, 3, 4, 5 and 49994 others, got 'zero'"):
        bandit.update("zero", 1.0)
    with pytest.raises(ValueError, match="arms must be distinct, got 7 twice"):
        Bandit(make("eff-raw-ucb"), arms=[*range(50_000), 7, 9])


@given(LIVES)
def test_slots_are_those_of_the_active_arms_in_order(lives: list[tuple[str, int]]) -> None:
    arms = Arms(range(3))
    for life, arm in lives:
        if life == "add" and arm not in arms.active and arm not in arms.retired:
            arms.add(arm)
        elif life == "retire" and arm in arms.active:
            arms.retire(arm)
        elif life == "revive" and arm in arms.retired:
            arms.revive(arm)
        elif life == "forget" and (arm in arms.active or arm in arms.retired):
            arms.forget(arm)
        assert arms.slots.tolist() == sorted(arms.active.values())
        assert [arms.names[slot] for slot in arms.active.values()] == list(arms.active)


def test_present_arms_are_numbered() -> None:
    policy = make("m-ucb", gamma=1.0)
    bandit = Bandit(policy, arms=range(6))
    for arm in (0, 2, 3):
        bandit.retire(arm)
    presence = bandit._state.learner.state.presence
    assert np.array_equal(presence.here, [0, 1, 0, 0, 1, 1])
    assert presence.number[0] == 3


@pytest.mark.parametrize("name", ["eff-raw-ucb", "raw-ucb"])
def test_a_retired_arm_that_is_forgotten_is_not_chosen(name: str) -> None:
    bandit = Bandit(make(name, sigma=0.1), arms=range(6))
    for _ in range(12):
        bandit.update(bandit.pull(), 0.5)
    bandit.retire(3)
    bandit.update(bandit.pull(), 0.5)
    bandit.forget(3)
    twin = Bandit.from_state(bandit.get_state())
    for _ in range(5):
        arm = bandit.pull()
        assert arm in bandit.arms
        assert twin.pull() == arm
        bandit.update(arm, 0.5)
        twin.update(arm, 0.5)


def test_an_arm_keeps_its_own_id_whatever_equal_one_is_used() -> None:
    bandit, events = Bandit(make("ucb1"), arms=[0, 1, 2]), []  # type: tuple[Bandit, list[dict[str, Any]]]
    bandit._state.events = events
    for verb in (bandit.retire, bandit.forget):
        bandit.update(np.int64(1), 1.0)
        bandit.learn([(np.int64(1), 0.5)])
        verb(np.int64(1))
    bandit.add_arm(1)
    bandit.pull([1])
    bandit.forget(np.int64(1))
    bandit.add_arm(1)
    bandit.update(np.int64(1), 1.0)
    bandit.retire(1)
    bandit.revive(True)
    assert [*map(type, bandit.arms)] == [int, int, int]
    assert json.loads(json.dumps(events)) == events
    assert {type(event["arm"]) for event in events if "arm" in event} == {int}
    json.dumps(bandit.get_state())


def test_a_retired_arm_may_be_left_out() -> None:
    """Who keeps a list of what was sold out need not know what was retired meanwhile."""
    bandit = Bandit(make("ucb1"), arms=["a", "b", "c"])
    bandit.retire("b")
    assert bandit.decide(without=["b"]).arm == "a"
    assert bandit.decide(without=("a", "b")).arm == "c"
    with pytest.raises(ValueError, match="without must leave at least one arm to choose from, got all 2"):
        bandit.decide(without=["a", "b", "c"])
    with pytest.raises(ValueError, match="arm must be one of"):
        bandit.decide(without=["b", "d"])


def test_a_forgotten_arm_cannot_be_left_out_any_more() -> None:
    """Whether the arms are passed as the same tuple as before, or as an equal one."""
    bandit, without = Bandit(make("ucb1"), arms=["a", "b", "c"]), ("b",)
    bandit.retire("b")
    assert bandit.decide(without=without).arm == "a"
    bandit.forget("b")
    for again in (without, ("b",), ["b"]):
        with pytest.raises(ValueError, match="arm must be one of 'a', 'c', got 'b'"):
            bandit.decide(without=again)


def test_a_misspelt_arm_gets_a_suggestion_unless_there_are_too_many_arms_to_search() -> None:
    for n_arms, hint in ((500, r"; did you mean 'song 007'\?"), (501, "")):
        bandit = Bandit(make("uniform"), arms=[f"song {k:03}" for k in range(n_arms)])
        with pytest.raises(InvalidValueError, match=f" and {n_arms - 6} others, got 'sonng 007'{hint}$"):
            bandit.update("sonng 007", 1.0)
