"""The probe: pauses are a pure function of the key, at the share that was asked for, and leave arms for every decision."""

import json
from collections.abc import Hashable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.kernels.random_numbers import derive_key, span_uniform
from rotting.live.bandit import Bandit
from rotting.live.bandit_state import BanditState
from rotting.live.locks import Guard
from rotting.live.probe import SPAN_STARTS, Probe
from rotting.live.reward_files import rewards_of
from rotting.policies.uniform import Uniform
from rotting.registry import make

KEY = derive_key(7, "policy")


def slow_paused(share: float, first_pulls: dict[int, int], t: int, key: int = KEY) -> set[int]:
    """The definition, without a heap and a cache."""
    found = set()
    for slot, first in first_pulls.items():
        spans = [k for k, start in enumerate(SPAN_STARTS, 1) if start <= t - first]
        if spans and span_uniform(key, slot, first, spans[-1]) < share:
            found.add(slot)
    return found


def test_spans_are_a_quarter_of_the_age_at_which_they_begin() -> None:
    assert SPAN_STARTS[:5] == (64, 80, 100, 125, 156)
    assert all(end - start == start // 4 for start, end in pairwise(SPAN_STARTS))


@given(
    st.floats(0.01, 0.5),
    st.dictionaries(st.integers(0, 20), st.integers(1, 300), max_size=8),
    st.lists(st.integers(1, 400), max_size=30),
)
def test_pauses_are_a_pure_function(share: float, first_pulls: dict[int, int], steps: list[int]) -> None:
    probe, known, t = Probe(share), {}, 0
    for step in steps:
        for slot, first in sorted(first_pulls.items(), key=lambda item: item[1]):
            if t < first <= t + step:
                probe.pulled(slot, first)
                probe.pulled(slot, first + 1)  # only the first pull counts
                known[slot] = first
        t += step
        assert probe.paused(t, KEY) == slow_paused(share, known, t)
        assert Probe(share, dict(known)).paused(t, KEY) == probe.paused(t, KEY)  # as after a restart
    other = KEY + 1  # as in a forked process
    assert probe.paused(t, other) == slow_paused(share, known, t, other)


def test_an_arm_in_the_slot_of_a_forgotten_one_has_pauses_of_its_own() -> None:
    probe = Probe(0.5, dict.fromkeys(range(40), 1))
    before = probe.paused(200, KEY)
    gone = min(before)
    probe.forget(gone)
    assert probe.paused(200, KEY) == before - {gone}
    probe.pulled(gone, 201)
    for t in range(201, 265):
        assert gone not in probe.paused(t, KEY)
    for t in range(265, 2_000):
        assert probe.paused(t, KEY) == slow_paused(0.5, probe.first_pulls, t)


@pytest.mark.parametrize("share", [0.02, 0.5])
def test_the_share_of_paused_spans(share: float) -> None:
    # 200,000 independent draws: the share is off by 5.5 standard errors with a probability below 4e-8. The draws are fixed by
    # their keys, so the test passes always or never.
    draws = [span_uniform(key, slot, 1, span) < share for key in range(20) for slot in range(250) for span in range(1, 41)]
    assert abs(np.mean(draws) - share) < 5.5 * np.sqrt(share * (1 - share) / len(draws))


def play(bandit: Bandit, rounds: int, seed: int = 0) -> list[tuple[Hashable, tuple[Hashable, ...]]]:
    rng, made = np.random.default_rng(seed), []
    for _ in range(rounds):
        paused = bandit.paused
        decision = bandit.decide()
        made.append((decision.arm, paused))
        bandit.reward(decision, float(rng.random() < 0.5))
    return made


def test_the_share_of_paused_arm_rounds_of_a_bandit() -> None:
    arms, rounds, share = 200, 3_000, 0.1
    bandit = Bandit(Uniform(), list(range(arms)), seed=3, probe=share)
    bandit.learn([(arm, 0.5) for arm in range(arms)])
    paused = 0
    for t in range(arms + 1, rounds + 1):
        paused += len(bandit.paused) if t > arms + SPAN_STARTS[0] else 0
        bandit.update(0, 0.5)
    # Each span of an arm is an independent draw, which counts with the number of its rounds. By Hoeffding's inequality, the
    # share is off by more than this with a probability below 1e-6.
    edges = np.array(SPAN_STARTS[:40], np.float64)
    first, last = arms + SPAN_STARTS[0] + 1, rounds + 1
    lengths = np.diff(np.clip(edges + np.arange(1, arms + 1)[:, None], first, last), axis=1)
    lengths[:, 0] += np.clip(edges[0] + np.arange(1, arms + 1), first, last) - first
    counted = arms * (last - first)
    assert lengths.sum() == counted
    error = np.sqrt((lengths**2).sum() * np.log(2e6) / 2) / counted
    assert error < 0.07
    assert abs(paused / counted - share) < error


def test_a_paused_arm_is_not_chosen() -> None:
    made = play(Bandit(Uniform(), list(range(20)), seed=3, probe=0.2), 1_000)
    assert all(arm not in paused for arm, paused in made)
    assert all(not paused for _, paused in made[:64])
    assert sum(len(paused) for _, paused in made) > 1_000


def test_adding_an_arm_does_not_change_the_pauses_of_others() -> None:
    one, two = (Bandit(make("ucb1"), ["a", "b", "c"], seed=1, probe=0.3) for _ in range(2))
    for bandit in (one, two):
        for arm in ("a", "b", "c"):
            bandit.update(arm, 0.5)
    two.add_arm("d")
    for _ in range(500):
        assert one.paused == tuple(arm for arm in two.paused if arm != "d")
        one.update("a", 0.5)
        two.update("a", 0.5)


@pytest.mark.parametrize("name", ["raw-ucb", "exp3", "ucb1"])
@settings(max_examples=10, deadline=None)
@given(cut=st.integers(1, 249), count=st.integers(1, 3), data=st.data())
def test_a_restored_bandit_and_a_replayed_log_make_the_same_decisions(name: str, cut: int, count: int, data: Any) -> None:
    events: list[dict[str, Any]] = []
    policy = make(name, gamma=0.2) if name == "exp3" else make(name)
    state: BanditState = BanditState.new(policy, list("abcd"), 5, probe=0.4, compile="never")
    bandit = Bandit.holding(Guard(state, events.extend))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    for t in range(0, cut, count):
        page = bandit.decide(count=count) if count > 1 else (bandit.decide(without=["b"] if t % 7 == 0 else None),)
        for decision in page:
            bandit.reward(decision, float(rng.random() < 0.5))
        if t % 50 == 17:
            bandit.remove_arm("d")
            bandit.add_arm("d")
    replayed: BanditState = BanditState.new(policy, list("abcd"), 5, probe=0.4, compile="never")
    for event in json.loads(json.dumps(events)):
        redecision = replayed.apply(event)
        assert redecision is None or not redecision.differs
    again = Bandit.holding(Guard(replayed))
    saved = bandit.get_state()
    assert again.get_state() == saved
    restored = Bandit.from_state(json.loads(json.dumps(saved)), compile="never")
    assert restored._state.probe is not None
    assert restored._state.probe.share == 0.4
    assert play(restored, 60) == play(again, 60) == play(bandit, 60)


def test_at_least_the_arms_of_a_page_stay_available() -> None:
    bandit = Bandit(Uniform(), ["a", "b", "c"], seed=2, probe=0.5, compile="never")
    sizes = set()
    for _ in range(400):
        page = bandit.decide(count=2)
        paused = bandit.paused
        sizes.add(len(paused))
        assert len({decision.arm for decision in page}) == 2
        for decision in page:
            bandit.reward(decision, 0.5)
        if len(paused) < 3:
            assert bandit.preview()[0].arm not in paused
        if "a" in paused:  # the only arm that the caller allows is never paused
            assert bandit.preview(arms=["a"])[0].arm == "a"
            assert bandit.preview(without=["b", "c"])[0].arm == "a"
        assert len(bandit.preview(count=3)) == 3
    assert sizes == {0, 1, 2}  # three paused arms would leave none, so none is paused then


def test_an_arm_that_was_never_pulled_is_not_paused() -> None:
    bandit = Bandit(make("ucb1"), ["a", "b"], probe=0.5)
    for _ in range(300):
        bandit.update("a", 0.5)
        assert "b" not in bandit.paused
    assert bandit.decide().arm == "b"


def test_propensities_are_those_given_the_pauses() -> None:
    bandit = Bandit(Uniform(), ["a", "b", "c", "d"], seed=1, probe=0.4, compile="never")
    seen = set()
    for _ in range(300):
        paused, chances = bandit.paused, bandit.propensities()
        left = 4 - len(paused)
        assert chances == {arm: 0.0 if arm in paused else 1 / left for arm in "abcd"}
        decision = bandit.decide()
        assert decision.propensity == 1 / left
        bandit.reward(decision, 0.5)
        seen.add(left)
    assert len(seen) > 1


def test_events_and_columns_show_the_pauses() -> None:
    events: list[dict[str, Any]] = []
    state: BanditState = BanditState.new(Uniform(), ["a", ("b", 1), "c"], 4, probe=0.3, compile="never")
    bandit, expected = Bandit.holding(Guard(state, events.extend)), []
    for k in range(400):
        expected.append([*bandit.paused])
        if k % 9 == 5:
            bandit.update("a", 1.0)
            expected[-1] = []  # no decision
        else:
            bandit.reward(bandit.decide(), 0.0)
    for event in events:
        if "paused" in event:
            allowed = event["arms"] if event["arms"] is not None else {"a", ("b", 1), "c"} - {*event["without"]}
            assert not {*event["paused"]} & {*allowed}
    assert any("paused" in event for event in events)
    columns = rewards_of(json.loads(json.dumps(events)))
    assert columns["paused"] == expected
    assert columns["round"] == list(range(1, 401))


@pytest.mark.parametrize("name", ["raw-ucb", "ucb1"])
def test_many_arms(name: str) -> None:
    """A policy with a tournament hides paused arms without listing the others, and decides as if they were listed."""
    hidden = Bandit(make(name), list(range(80)), seed=9, probe=0.2, compile="never")
    listed = Bandit(make(name), list(range(80)), seed=9, compile="never")
    rng = np.random.default_rng(0)
    for _ in range(700):
        left = [arm for arm in range(80) if arm not in hidden.paused]
        decision = hidden.decide()
        assert decision.arm == listed.decide(arms=left).arm
        reward = float(rng.random())
        hidden.reward(decision, reward)
        listed.update(decision.arm, reward)


@pytest.mark.parametrize("probe", [0.0, -0.1, 0.51, float("nan")])
def test_a_share_must_be_possible(probe: float) -> None:
    with pytest.raises(InvalidValueError, match="^probe must be a number above 0, at most 0.5, got"):
        Bandit(make("ucb1"), ["a", "b"], probe=probe)
    with pytest.raises(InvalidTypeError, match="^probe must be"):
        Bandit(make("ucb1"), ["a", "b"], probe="often")  # type: ignore[arg-type]


def test_without_a_probe_no_arm_is_paused() -> None:
    bandit = Bandit(make("ucb1"), ["a", "b"])
    assert bandit.paused == ()
    assert not {"probe", "first_pulls"} & bandit.get_state().keys()
