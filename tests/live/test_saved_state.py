"""States as JSON, whatever the ids of the arms are."""

import json
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rotting
from rotting.errors import InvalidValueError
from rotting.live.bandit import Bandit
from rotting.live.locks import Guard
from rotting.live.saved_state import restore
from rotting.registry import make
from tests.helpers.clocks import HandClock


def test_other_versions_are_refused() -> None:
    state = Bandit(make("ucb1"), arms=["a"]).get_state()
    for version in (1, 6, 8, None, "7"):
        with pytest.raises(ValueError, match=f"^state version must be from 7 to 7, which this rotting reads, got {version!r}$"):
            Bandit.from_state({**state, "version": version})


KEPT = json.loads(Path(__file__).with_name("saved_by_version_7.json").read_text("utf-8"))


@pytest.mark.parametrize(("pending", "chosen", "state"), KEPT, ids=lambda each: "")
def test_states_of_version_7_can_always_be_read(pending: str, chosen: list[str], state: dict[str, Any]) -> None:
    """Each file of a version stays: a bandit whose old events were removed has nothing but such a state."""
    clock = HandClock(state["latest"])  # when it was saved: the window of the pending decision is open
    bandit = Bandit.holding(Guard(restore(state), clock=clock))
    assert bandit.reward(pending, 1.0) == "applied"
    assert [bandit.decide().arm for _ in chosen] == chosen


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**200), 2**200)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([0, 0.0, -0.0, 1, 1.0, True, 1e22, 2**70, "", "1", "\u00e9", "\U0001f600", "\x00"])
    | st.text(max_size=3).filter(lambda text: not any("\ud800" <= each <= "\udfff" for each in text))
)
IDS = st.recursive(SCALARS, lambda inside: st.lists(inside, max_size=3).map(tuple), max_leaves=5)
VERBS = ["decide", "pull", "reward", "update", "retire", "revive", "forget", "add_arm", "expire", "cancel"]


def do(bandit: Bandit, verb: str, number: int, ids: list[Hashable], made: list[str]) -> None:
    """Call a verb on one of the arms or decisions; what is refused changes nothing."""
    arm, decision = ids[number % len(ids)], made[number % len(made)] if made else ""
    try:
        if verb == "decide":
            made.extend(each.id for each in bandit.decide(count=1 + number % len(bandit.arms)))
        elif verb == "pull":
            bandit.pull()
        elif verb == "reward":
            bandit.reward(decision, number / 8)
        elif verb == "update":
            bandit.update(arm, number / 8)
        elif verb == "expire":
            bandit.expire(older_than_rounds=number)
        elif verb == "cancel":
            bandit.cancel(decision)
        else:
            getattr(bandit, verb)(arm)
    except InvalidValueError:
        pass


@given(
    st.sampled_from(["ucb1", "raw-ucb", "thompson-sampling", "exp3"]),
    st.lists(IDS, min_size=2, max_size=5, unique=True),
    st.lists(st.tuples(st.sampled_from(VERBS), st.integers(0, 8)), max_size=25),
)
def test_a_state_survives_json_whatever_the_ids(name: str, ids: list[Hashable], calls: list[tuple[str, int]]) -> None:
    bandit = Bandit(make(name), arms=ids[: max(1, len(ids) - 1)], seed=3)
    made: list[str] = []
    for verb, number in calls:
        do(bandit, verb, number, ids, made)
    state = bandit.get_state()
    carried = json.loads(json.dumps(state))
    twin = Bandit.from_state(carried)
    assert carried == state
    assert json.dumps(twin.get_state()) == json.dumps(state)
    assert list(map(repr, twin.arms)) == list(map(repr, bandit.arms))  # 1.0 is not 1, and -0.0 is not 0.0
    assert [repr(bandit.pull()) for _ in range(5)] == [repr(twin.pull()) for _ in range(5)]


def test_a_state_holds_nested_ids_as_json_has_them() -> None:
    """Of arms that are active, retired and forgotten, so that a state equals what a file gives back."""
    active, retired, forgotten = (("song", (k, ("a", ()))) for k in range(3))
    bandit = Bandit(make("ucb1"), arms=[active, retired, forgotten])
    bandit.pull(arms=[forgotten])
    bandit.forget(forgotten)
    bandit.retire(retired)
    state = bandit.get_state()
    assert [each["arm"] for each in state["arms"]] == [["song", [0, ["a", []]]], ["song", [1, ["a", []]]]]
    twin = Bandit.from_state(json.loads(json.dumps(state)))
    assert twin.arms == (active,)
    twin.revive(retired)
    twin.add_arm(forgotten)
    assert {arm: each.pulls for arm, each in twin.explain().items()} == {active: 0, retired: 0, forgotten: 0}


def test_a_store_opens_again_after_an_arm_with_a_tuple_as_id_was_forgotten(tmp_path: Path) -> None:
    arm = ("song", 1.0, ("a", -0.0))
    bandit = rotting.open(tmp_path / "bandit.db", rotting.UCB1(), arms=[arm, "b"])
    assert bandit.pull() == arm
    bandit.forget(arm)
    bandit.close()
    with rotting.open(tmp_path / "bandit.db", rotting.UCB1(), arms=[arm, "b"]) as again:
        assert again.arms == ("b",)
        again.add_arm(arm)
        assert again.explain()[arm].pulls == 0


@pytest.mark.parametrize("same", [(True, 1), (1, 1.0), (0, -0.0), (("a", True), ("a", 1.0))])
def test_ids_that_python_calls_equal_are_one_arm(same: tuple[Hashable, Hashable]) -> None:
    with pytest.raises(InvalidValueError, match="arms must be distinct"):
        Bandit(make("ucb1"), arms=list(same))
    bandit = Bandit(make("ucb1"), arms=[same[0], "b"])
    bandit.update(same[1], 0.5)
    assert repr(bandit.arms[0]) == repr(same[0])
    assert bandit.explain()[same[0]].pulls == 1


def test_ids_are_not_nested_without_end() -> None:
    arm: Hashable = "a"
    for _ in range(50):
        arm = (arm,)
    bandit = Bandit(make("ucb1"), arms=[arm, "b"])
    assert Bandit.from_state(json.loads(json.dumps(bandit.get_state()))).arms == (arm, "b")
    with pytest.raises(InvalidValueError, match="arm must be nested at most 50 tuples deep"):
        bandit.add_arm((arm,))
    deep: Hashable = ()
    for _ in range(5_000):
        deep = (deep,)
    with pytest.raises(InvalidValueError, match="arm must be nested at most 50 tuples deep"):
        bandit.add_arm(deep)
