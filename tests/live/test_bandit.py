"""Live use: arms come and go, rewards come late, states are saved, bad input changes nothing."""

import json
import threading
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.errors import InvalidValueError
from rotting.live import policy_state as states
from rotting.live.bandit import Bandit
from rotting.policies.kernels.policy_functions import flatten
from rotting.policy import Policy
from rotting.registry import make
from tests.helpers.games import learners, play
from tests.helpers.rewards import reward_at

LEARNERS = learners()
FIRST_PULLERS = [each for each in LEARNERS if each.first_pulls]
DETERMINISTIC = [make(name) for name in ("raw-ucb", "eff-raw-ucb", "fewa", "eff-fewa", "ucb1")]


def table(n_arms: int, rounds: int) -> np.ndarray:
    rng = np.random.default_rng(4)
    return rng.normal(size=(n_arms, rounds)) - np.linspace(0, 2, rounds) * np.arange(n_arms)[:, None]


def unit_table(n_arms: int, rounds: int) -> np.ndarray:
    """Rewards in [0, 1], for policies that declare that range."""
    return np.clip(0.5 + 0.2 * table(n_arms, rounds), 0.0, 1.0)


def run(bandit: Bandit, rewards: np.ndarray, rounds: int, pulls: dict[Hashable, int]) -> list[Hashable]:
    """Play on; arm k, whatever its id, pays its row of rewards in order."""
    places = {arm: k for k, arm in enumerate(bandit.arms)}
    chosen = []
    for _ in range(rounds):
        arm = bandit.pull()
        n = pulls.get(arm, 0)
        bandit.update(arm, float(rewards[places[arm], n]))
        pulls[arm] = n + 1
        chosen.append(arm)
    return chosen


@pytest.mark.parametrize("policy", DETERMINISTIC, ids=repr)
def test_live_equals_simulated(policy: Policy) -> None:
    """The state grows several times on the way, which must not show."""
    rewards = table(3, 300)
    chosen = run(Bandit(policy, arms=["x", "y", "z"]), rewards, 300, {})
    assert ["xyz".index(str(arm)) for arm in chosen] == play(policy, rewards.tolist(), 300)


@pytest.mark.parametrize("policy", LEARNERS, ids=lambda each: each.name)
@pytest.mark.parametrize("stop", [0, 63, 64, 130])
def test_save_restore_and_go_on_equals_not_stopping(policy: Policy, stop: int) -> None:
    rewards = unit_table(3, 200)
    uninterrupted, first = Bandit(policy, arms=[1, 2, 3], seed=9), Bandit(policy, arms=[1, 2, 3], seed=9)
    pulls: dict[Hashable, int] = {}
    expected = run(uninterrupted, rewards, 200, {})
    begun = run(first, rewards, stop, pulls)
    second = Bandit.from_state(json.loads(json.dumps(first.get_state())))
    assert begun + run(second, rewards, 200 - stop, pulls) == expected
    assert second.get_state() == uninterrupted.get_state()


@pytest.mark.parametrize("policy", FIRST_PULLERS, ids=lambda each: each.name)
def test_an_added_arm_is_explored_at_the_next_pull(policy: Policy) -> None:
    bandit = Bandit(policy, arms=["a", "b"])
    run(bandit, unit_table(2, 100), 50, {})
    bandit.add_arm("c")
    assert bandit.pull() == "c"
    bandit.update("c", 0.0)
    bandit.add_arm("d")
    bandit.add_arm("e")
    seen = []
    for _ in range(2):
        arm = bandit.pull()
        bandit.update(arm, 0.0)
        seen.append(arm)
    assert seen == ["d", "e"]


@pytest.mark.parametrize("policy", DETERMINISTIC, ids=repr)
def test_an_added_arm_is_treated_as_the_paper_treats_a_new_arm(policy: Policy) -> None:
    """After the addition the bandit decides as a game in which the arm was there and simply never pulled."""
    rewards = table(3, 200)
    bandit = Bandit(policy, arms=["a", "b"])
    pulls = {"a": 0, "b": 0, "c": 0}
    choose, update = policy.kernel.choose, policy.kernel.update
    state = states.new_state(policy, 3, 200)
    arms = np.array([0, 1])
    for t in range(1, 121):
        if t == 41:
            bandit.add_arm("c")
            arms = np.array([0, 1, 2])
        slot = int(choose(policy.params, state, t, 0, arms))
        arm = bandit.pull()
        assert arm == "abc"[slot]
        reward = float(rewards[slot, pulls[str(arm)]])
        update(policy.params, state, t, slot, reward)
        bandit.update(arm, reward)
        pulls[str(arm)] += 1
    assert pulls["c"] > 0


@pytest.mark.parametrize("policy", LEARNERS, ids=lambda each: each.name)
def test_a_removed_arm_is_never_pulled(policy: Policy) -> None:
    bandit = Bandit(policy, arms=["a", "b", "c"])
    for _ in range(30):
        bandit.update(bandit.pull(), 1.0)
    bandit.remove_arm("b")
    for _ in range(60):
        arm = bandit.pull()
        assert arm in {"a", "c"}
        bandit.update(arm, 0.0)
    assert bandit.arms == ("a", "c")
    with pytest.raises(ValueError, match="arm must be one of 'a', 'c', got 'b'"):
        bandit.update("b", 1.0)


# Exp3.S shares the weight of all arms between them at every reward: one that is gone has left its share to the others. So has
# one of Tsallis-INF, whose rewards change the estimates of all arms; the turns of RC-BE wait for every arm.
SEPARATE = [each for each in LEARNERS if each.name not in {"exp3-s", "tsallis-inf", "rcbe"}]
# What the arm left in the log must leave the window without a trace, too.
SEPARATE += [make("sw-ucb", tau=25), make("sliding-window-ts", tau=25), make("d-ucb", gamma=0.9)]


@pytest.mark.parametrize("policy", SEPARATE, ids=repr)
def test_after_a_removal_all_is_as_if_the_arm_had_never_been_pulled(policy: Policy) -> None:
    """Against a state that was not told of its rewards: also what is counted over all arms must not count it any more."""
    kernel, params, capacity = policy.kernel, policy.params, 120
    forgotten, spared = states.new_state(policy, 3, capacity), states.new_state(policy, 3, capacity)
    rewards = unit_table(3, capacity)
    for t in range(1, 61):
        arm = (t // 2) % 3
        for state in (forgotten,) if arm == 1 else (forgotten, spared):
            kernel.update(params, state, t, arm, float(rewards[arm, t]))
    states.forget_arm(policy, forgotten, 1, capacity)
    left = np.array([0, 2])
    for t in range(61, capacity):
        if t == 80 and policy.first_pulls:  # a new arm in its place; exponential weights start it level with the leader
            left = np.arange(3)
        if kernel.explain is not None:
            for arm in left:
                reasons = [kernel.explain(params, states.copy(state), t, left, arm) for state in (forgotten, spared)]
                assert reasons[0] == pytest.approx(reasons[1], rel=1e-12, nan_ok=True), t
        if kernel.propensities is not None and t % 20 == 1:  # integrals, for some
            propensities = np.zeros((2, left.size))
            for state, out in zip((forgotten, spared), propensities, strict=True):
                kernel.propensities(params, states.copy(state), t, left, out)
            assert propensities[0] == pytest.approx(propensities[1], rel=1e-9), t
        arms = [int(kernel.choose(params, state, t, 7, left)) for state in (forgotten, spared)]
        assert arms[0] == arms[1], t
        for state in (forgotten, spared):
            kernel.update(params, state, t, arms[0], float(rewards[arms[0], t]))


def test_an_arm_removed_and_added_again_starts_fresh_unless_asked_otherwise() -> None:
    bandit = Bandit(make("raw-ucb"), arms=["a", "b"])
    for _ in range(40):
        bandit.update(bandit.pull(), 1.0)
    known = bandit.explain()["b"]
    assert known.pulls > 0
    bandit.retire("b")
    bandit.revive("b")
    assert bandit.explain()["b"] == known
    bandit.remove_arm("b")
    bandit.add_arm("b")
    assert bandit.explain()["b"].pulls == 0
    assert bandit.pull() == "b"
    bandit.retire("b")
    bandit.add_arm("b")
    assert bandit.explain()["b"].pulls == 0
    with pytest.raises(ValueError, match="arm must be one that was retired, to be revived, got 'c'"):
        bandit.revive("c")


@pytest.mark.parametrize("policy", LEARNERS, ids=lambda each: each.name)
def test_nothing_is_left_of_a_kept_arm_that_is_added_afresh(policy: Policy) -> None:
    """Its statistics, its pulls and the rewards it owes are gone: in the end, all is as after a removal for good."""

    def begun(keep: bool) -> Bandit:
        bandit = Bandit(policy, arms=["a", "b", "c"], seed=2)
        for k in range(30):
            bandit.update("abc"[k % 3], 0.1 * (k % 3))
        for _ in range(3):
            bandit.pull(arms=["b"])
        (bandit.retire if keep else bandit.forget)("b")
        bandit.add_arm("b")
        return bandit

    kept, gone = begun(keep=True), begun(keep=False)
    assert kept.explain()["b"].pulls == 0
    saved_arms = {each["arm"]: each for each in kept.get_state()["arms"]}
    assert len(saved_arms) == len(kept.get_state()["arms"]) == 3
    assert saved_arms["b"] == {"arm": "b", "slot": 1, "retired": False, "pulls": 0}
    assert kept.get_state()["decisions"] == []
    with pytest.raises(ValueError, match="arm must be one that was retired, to be revived, got 'b'"):
        kept.revive("b")
    kept.remove_arm("b")
    with pytest.raises(ValueError, match="arm must be one that was retired, to be revived, got 'b'"):
        kept.revive("b")
    gone.remove_arm("b")
    rows = states.has_arm_axis(policy)
    kept_arrays, gone_arrays = flatten(kept._state.learner.state), flatten(gone._state.learner.state)
    for (name, a), by_arm, b in zip(kept_arrays.items(), rows, gone_arrays.values(), strict=True):
        if by_arm and name != "presence.here":
            fresh = flatten(states.new_state(policy, 1, kept._state.learner.capacity))[name]
            assert a[1].tolist() == fresh[0].tolist(), name
        assert a.tolist() == b.tolist(), name


def test_an_arm_in_the_place_of_another_owes_no_rewards() -> None:
    for policy in (make("ucb1"), make("exp3", gamma=0.1)):
        for keep in (False, True):
            bandit = Bandit(policy, arms=["a", "b"])
            for _ in range(3):
                bandit.pull(arms=["a"])
            bandit.update("a", 1.0)
            (bandit.retire if keep else bandit.forget)("a")
            if keep:
                bandit.forget("a")
            bandit.add_arm("c")
            row = next(each for each in bandit.get_state()["arms"] if each["arm"] == "c")
            assert row == {"arm": "c", "slot": 0, "retired": False, "pulls": 0}
            assert bandit.pending == bandit.explain()["c"].pending == 0
            assert bandit.rounds == 3
            bandit.update("c", 1.0)  # nobody asked for it: a round of its own
            assert bandit.rounds == 4
            assert bandit.explain()["c"].pulls == 1


def test_slots_are_used_again() -> None:
    """News come and go by the million: the state must not grow with those that went."""
    bandit: Bandit[int | str] = Bandit(make("eff-raw-ucb"), arms=["old"])
    bandit.update("old", 0.5)
    for k in range(300):
        bandit.add_arm(k)
        assert bandit.pull() == k
        bandit.update(k, 0.5)
        bandit.remove_arm(k)
    assert bandit.get_state()["slots"] == 2


@given(st.lists(st.sampled_from(["pull", "add", "remove", "keep", "mask", "restore", "late"]), max_size=60))
def test_any_order_of_calls_keeps_the_promises(calls: list[str]) -> None:
    bandit = Bandit(make("eff-raw-ucb"), arms=[0, 1])
    fresh = 2
    owed: list[int] = []
    for call in calls:
        if call == "pull":
            arm = bandit.pull()
            assert arm in bandit.arms
            bandit.update(arm, reward_at(arm, bandit.rounds))
        elif call == "late":
            owed.append(bandit.pull())
        elif call == "add":
            bandit.add_arm(fresh)
            fresh += 1
        elif call in {"remove", "keep"} and len(bandit.arms) > 1:
            gone = bandit.arms[0]
            (bandit.retire if call == "keep" else bandit.forget)(gone)
            owed = [arm for arm in owed if arm != gone]
        elif call == "mask":
            some = bandit.arms[::2]
            assert bandit.pull(arms=some) in some
        elif call == "restore":
            before = bandit.get_state()
            bandit = Bandit.from_state(before)
            assert bandit.get_state() == before
    for arm in owed:
        bandit.update(arm, 1.0)


@pytest.mark.parametrize("keep", [True, False])
def test_ad_switch_goes_on_without_the_arm_that_was_best(keep: bool) -> None:
    means = {"x": 1.0, "y": 0.0, "z": 0.3}
    bandit = Bandit(make("ad-switch", horizon=6_000, C1=1.0), arms=["x", "y", "z"])
    for k in range(400):
        if k == 60:
            (bandit.retire if keep else bandit.forget)("x")
        arm = bandit.pull()
        bandit.update(arm, means[str(arm)])
    reasons = bandit.explain()
    assert reasons["z"].pulls > 2 * reasons["y"].pulls


def test_an_added_arm_starts_level_with_the_leader_of_the_others() -> None:
    bandit = Bandit(make("exp3", gamma=0.1), arms=["lead", "x"])
    for _ in range(300):
        bandit.update("lead", 1.0)
    bandit.remove_arm("lead")
    bandit.add_arm("y")
    assert bandit.propensities() == {"y": 0.5, "x": 0.5}


def test_masks() -> None:
    bandit = Bandit(make("ucb1"), arms=["a", "b", "c"])
    assert bandit.pull(arms=["c", "b"]) == "b"
    bandit.update("b", 1.0)
    assert bandit.pull(arms=("c",)) == "c"
    with pytest.raises(ValueError, match="arms must hold at least one arm, got none"):
        bandit.pull(arms=[])
    with pytest.raises(ValueError, match=r"arm must be one of 'a', 'b', 'c', got 'd'"):
        bandit.pull(arms=["a", "d"])


def test_rounds_count_pulls_and_unasked_rewards() -> None:
    bandit = Bandit(make("ucb1"), arms=["a", "b"])
    bandit.update("a", 1.0)
    assert bandit.rounds == 1
    assert bandit.pull() == "b"
    assert bandit.rounds == 2
    bandit.pull(arms=["b"])
    bandit.update("b", 0.0)
    assert bandit.rounds == 3
    twin = Bandit.from_state(bandit.get_state())
    twin.update("b", 0.5)  # the reward of the second pull
    assert twin.rounds == 3


@pytest.mark.parametrize(
    "verb",
    [Bandit.decide, Bandit.pull, lambda bandit: bandit.decide(count=1), Bandit.preview, lambda bandit: bandit.update("a", 0.5)],
)
def test_a_round_after_the_horizon_is_refused_by_its_number(verb: Callable[[Bandit], object]) -> None:
    bandit = Bandit(make("sw-ucb", horizon=3), arms=["a", "b"])
    for _ in range(3):
        bandit.update(bandit.pull(), 0.5)
    with pytest.raises(InvalidValueError, match=r"^round must be at most 3, the horizon that .* is tuned for, got round 4;"):
        verb(bandit)
    assert bandit.rounds == 3


def test_propensities() -> None:
    bandit = Bandit(make("ucb1"), arms=["a", "b"])
    assert bandit.propensities() == {"a": 1.0, "b": 0.0}
    assert bandit.propensities(arms=["b"]) == {"b": 1.0}
    assert Bandit(make("uniform"), arms=list("abcd")).propensities(arms=["a", "d"]) == {"a": 0.5, "d": 0.5}
    assert bandit.rounds == 0


def test_a_bandit_shows_its_reward_window() -> None:
    plain = Bandit(make("uniform"), arms=["a", "b"], compile="never")
    assert repr(plain) == "Bandit(Uniform(), arms=['a', 'b'], rounds=0)"
    windowed = Bandit(make("uniform"), arms=["a", "b"], reward_window="30min", compile="never")
    assert repr(windowed) == "Bandit(Uniform(), arms=['a', 'b'], reward_window=1800.0, rounds=0)"


def test_eff_raw_ucb_stays_small() -> None:
    """O(K log t): 100 times the rounds add a few windows."""
    sizes = []
    for rounds in (1_000, 100_000):
        state = states.new_state(make("eff-raw-ucb"), 10, rounds)
        sizes.append(sum(array.nbytes for array in states.arrays(state)))
    assert sizes[1] < 2 * sizes[0]
    assert sizes[1] < 10_000


def test_explain_gives_the_numbers_that_decide() -> None:
    bandit = Bandit(make("raw-ucb"), arms=["a", "b"])
    for _ in range(30):
        bandit.update(bandit.pull(), 0.25)
    reasons = bandit.explain()
    best = max(reasons, key=lambda arm: reasons[arm].index)
    assert bandit.pull() == best
    for choice in reasons.values():
        assert choice.index == choice.mean + choice.width
        assert choice.mean == 0.25
        assert choice.window == choice.pulls
    assert "index" in str(reasons)
    assert len(str(reasons).splitlines()) == 4


@pytest.mark.parametrize("arm", ["a", 0, -7, 2.5, None, True, ("x", 3), ("x", ("y", None)), "é\n", 2**70])
def test_arm_ids_survive_json(arm: Hashable) -> None:
    bandit = Bandit(make("ucb1"), arms=[arm, "other"])
    assert bandit.pull() == arm
    twin = Bandit.from_state(json.loads(json.dumps(bandit.get_state())))
    assert twin.arms == (arm, "other")
    assert [type(each) for each in twin.arms] == [type(arm), str]


@pytest.mark.parametrize("arm", [float("nan"), float("inf"), b"a", object(), ("a", b"b"), frozenset(), np.int64(3)])
def test_ids_that_json_cannot_carry_are_refused(arm: Hashable) -> None:
    with pytest.raises(TypeError, match="arm must be a string, a number, None or a tuple of these"):
        Bandit(make("ucb1"), arms=[arm])


def test_of_many_arms_an_error_lists_a_few() -> None:
    bandit = Bandit(make("ucb1"), arms=range(20))
    with pytest.raises(ValueError, match="^arm must be one of 0, 1, 2, 3, 4, 5 and 14 others, got 20$"):
        bandit.update(20, 1.0)


def test_the_largest_rewards_are_rewards() -> None:
    bandit = Bandit(make("ucb1"), arms=["a"])
    for reward in (1e100, -1e100, -1e100):
        bandit.update("a", reward)
    assert bandit.explain()["a"].mean == pytest.approx(-1e100 / 3)
    with pytest.raises(ValueError, match="at most 1e\\+100"):
        bandit.update("a", np.nextafter(1e100, np.inf))


def test_a_late_reward_reaches_an_arm_that_was_kept() -> None:
    bandit = Bandit(make("ucb1"), arms=["a", "b"])
    bandit.pull()
    bandit.retire("a")
    bandit.update("a", 3.0)
    bandit.revive("a")
    assert bandit.explain()["a"].mean == 3.0
    assert bandit.rounds == 1


def test_a_kept_arm_has_no_probability_to_weigh_an_unasked_reward_by() -> None:
    bandit = Bandit(make("exp3", gamma=0.1), arms=["a", "b"])
    while bandit.pull() != "a":
        pass
    bandit.retire("a")
    bandit.update("a", 1.0)  # the reward of the pull
    before = bandit.get_state()
    with pytest.raises(ValueError, match="arm must have been pulled, or be one that may be, got 'a'"):
        bandit.update("a", 1.0)
    assert bandit.get_state() == before


@pytest.mark.filterwarnings("ignore:max_pending reached")
def test_pulls_without_a_reward_do_not_add_up() -> None:
    bandit = Bandit(make("eff-raw-ucb"), arms=["a", "b"], max_pending=50)
    sizes = []
    for _ in range(2):
        for _ in range(60):
            bandit.pull()
        sizes.append(len(json.dumps(bandit.get_state())))
    assert sizes[1] < 1.2 * sizes[0]
    assert bandit.pending == 50


def test_one_arm_is_not_a_list_of_arms() -> None:
    bandit = Bandit(make("ucb1"), arms=["ab"])
    for bad in ("ab", 3):
        with pytest.raises(TypeError, match=f"arms must be a list of arms, got {bad!r}"):
            bandit.pull(arms=bad)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=f"arms must be a list of arms, got {bad!r}"):
            Bandit(make("ucb1"), arms=bad)  # type: ignore[arg-type]


def test_removing_the_last_arm_is_refused() -> None:
    bandit = Bandit(make("ucb1"), arms=["a"])
    with pytest.raises(ValueError, match="arm must not be the last one, got 'a'"):
        bandit.remove_arm("a")
    assert bandit.arms == ("a",)


def edits() -> dict[str, Callable[[dict[str, Any]], Any]]:
    return {
        "version": lambda s: {**s, "version": 99},
        "old version": lambda s: {**s, "version": 2},
        "format": lambda s: {**s, "format": "other"},
        "rounds": lambda s: {**s, "rounds": s["rounds"] + 1},
        "arms": lambda s: {**s, "arms": s["arms"][:-1]},
        "no digest": lambda s: {name: value for name, value in s.items() if name != "digest"},
        "array": lambda s: {**s, "state": {**s["state"], "line": {**s["state"]["line"], "data": ""}}},
        "inner array": lambda s: {**s, "state": {**s["state"], "grid.pulls": {**s["state"]["grid.pulls"], "data": ""}}},
        "extra": lambda s: {**s, "extra": object()},
        "none": lambda s: None,
        "text": json.dumps,
        "list": lambda s: [s],
    }


def without_points(value: Any) -> Any:
    """Write 1.0 as 1, as JavaScript does."""
    if isinstance(value, dict):
        return {name: without_points(each) for name, each in value.items()}
    if isinstance(value, list):
        return [without_points(each) for each in value]
    return int(value) if isinstance(value, float) and value == int(value) else value


def test_a_state_may_come_back_with_whole_numbers_for_floats() -> None:
    bandit = Bandit(make("exp3", gamma=1.0), arms=["a", 2.0])
    bandit.pull(arms=["a"])
    state = bandit.get_state()
    written = without_points(state)
    assert json.dumps(written) != json.dumps(state)
    assert Bandit.from_state(written).propensities() == bandit.propensities()


@pytest.mark.parametrize("edit", edits())
def test_foreign_truncated_and_edited_states_are_refused(edit: str) -> None:
    state = Bandit(make("eff-raw-ucb"), arms=["a", "b"]).get_state()
    with pytest.raises(ValueError, match="state"):
        Bandit.from_state(edits()[edit](state))


def test_several_threads_share_a_bandit() -> None:
    bandit = Bandit(make("eff-raw-ucb"), arms=list(range(5)))

    def work() -> None:
        for _ in range(200):
            bandit.update(bandit.pull(), 1.0)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(choice.pulls for choice in bandit.explain().values()) == 800
    assert bandit.rounds == 800
