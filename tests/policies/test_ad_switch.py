"""AdSwitch: a good arm that changes."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rotting.common.arrays import Floats, Ints
from rotting.live import policy_state as states
from rotting.policies.ad_switch import AdSwitch, bad_arm_changed, is_open
from rotting.policies.kernels.random_numbers import subkey, uniform
from rotting.policies.parts.doubling import doubling
from rotting.simulation.engines.compile import compiled
from tests.helpers.games import KEY, compiled_kernels, reference
from tests.reference import detectors

Naive = detectors.AdSwitch  # what the common tests compare the policy with


def in_steps(*steps: tuple[float, int]) -> list[float]:
    """These values, each for so many pulls, and the last of them on and on."""
    return [value for value, times in steps for _ in range(times)] + [steps[-1][0]] * 200


GOOD_ARMS = {
    "falls": in_steps((0.9, 25), (0.0, 1)),
    "rises": in_steps((0.1, 25), (1.0, 1)),
    "rises, and falls below its first level": in_steps((0.4, 5), (0.9, 30), (0.5, 5), (0.0, 1)),
    "falls, and rises above its first level": in_steps((0.6, 5), (0.1, 30), (0.5, 5), (1.0, 1)),
}


@pytest.mark.parametrize("name", GOOD_ARMS)
def test_a_good_arm_that_changes_begins_an_episode(name: str) -> None:
    """No arm is ever bad at this C1, so that nothing else begins one. Episodes are those of the reference, round by round."""
    policy, table, horizon = AdSwitch(horizon=3, C1=100.0), [GOOD_ARMS[name], in_steps((0.5, 1))], 120
    slow: Any = reference(policy, 2)
    state = states.new_state(policy, 2, horizon)
    choose, update = compiled_kernels(policy)
    pulls = [0, 0]
    for t in range(1, horizon + 1):
        arm = int(choose(policy.params, state, t, KEY, np.arange(2)))
        assert arm == slow.choose(t), t
        update(policy.params, state, t, arm, table[arm][pulls[arm]])
        slow.update(t, arm, table[arm][pulls[arm]])
        pulls[arm] += 1
        assert state.episode.tolist() == [slow.episode, slow.start], t
    assert slow.episode > 1
    assert not slow.bad


ROUNDS = 90


def rewards(seed: int, n_arms: int) -> Floats:
    """Eighths, whose sums are exact, of arms that jump at times of their own."""
    rng = np.random.default_rng(seed)
    levels = rng.integers(0, 7, (n_arms, 3))
    steps = np.sort(rng.integers(8, 50, (n_arms, 2)), axis=1)
    piece = (np.arange(ROUNDS)[None, :, None] >= steps[:, None, :]).sum(axis=2)
    return (np.take_along_axis(levels, piece, axis=1) + rng.integers(0, 2, (n_arms, ROUNDS))) / 8


def masks(seed: int, n_arms: int) -> list[Ints]:
    """All arms, or some of them, for some rounds each: bad arms alone, too."""
    rng = np.random.default_rng(seed)
    kept = [np.flatnonzero(rng.random(n_arms) < 0.6) for _ in range(ROUNDS)]
    return [some if t // 20 % 2 and some.size else np.arange(n_arms) for t, some in enumerate(kept)]


def asked_until(slow: Any, i: int) -> int:
    """The number of samples up to which the checks that are still open go; 0 if none is."""
    return max((n + sum(r < since for r, _ in slow.samples[i]) for n, since in slow.asked[i]), default=0)


def assert_same(state: Any, slow: Any, evicted: set[int], t: int) -> None:
    for i in range(slow.n_arms):
        assert state.pulls[i] == len(slow.samples[i]), t
        assert state.bad[i] == (i in slow.bad), t
        assert state.unseen[i] == (i in evicted), t
        open_until = int(state.until[i]) if state.until[i] > state.pulls[i] else 0
        assert open_until == asked_until(slow, i), t
        if i in slow.bad:
            assert (state.mean[i], state.gap[i]) == slow.bad[i], t
        elif slow.extremes[i]:
            extremes = slow.extremes[i].items()
            assert state.above[i] == max(largest - slow.radius(n) for n, (_, largest) in extremes), t
            assert state.below[i] == min(smallest + slow.radius(n) for n, (smallest, _) in extremes), t
    assert state.episode.tolist() == [slow.episode, slow.start], t
    assert state.last.tolist() == slow.last_played, t


def play_both(policy: AdSwitch, table: Floats, available: list[Ints], doubled: bool = False) -> dict[str, int]:
    """Play the policy next to a reference, or next to one for each epoch; returns what was met on the way."""
    n_arms = len(table)
    fast = doubling(policy) if doubled else policy
    choose, update = compiled(fast.kernel.choose, fast), compiled(fast.kernel.update, fast)
    state = states.new_state(fast, n_arms, ROUNDS)
    starts = {(2**k - 1) * policy.horizon: 2**k * policy.horizon for k in range(10 if doubled else 1)}
    pulls = [0] * n_arms
    met = dict.fromkeys(("evictions", "checks", "episodes", "closed"), 0)
    start, slow = 0, detectors.AdSwitch(1, horizon=2, uniform=uniform_of(0))
    for t in range(1, ROUNDS + 1):
        if t - 1 in starts:
            start = t - 1
            draws = uniform_of(KEY if start == 0 else subkey(KEY, start))
            slow = detectors.AdSwitch(n_arms, horizon=starts[start], uniform=draws, C1=policy.C1)
        arms = available[t - 1]
        arm = int(choose(fast.params, state, t, KEY, arms))
        assert arm == slow.choose(t - start, arms.tolist()), t
        met["closed"] += all(i in slow.bad and not slow.asked[i] for i in arms)
        reward, before, episode = float(table[arm, pulls[arm]]), set(slow.bad), slow.episode
        update(fast.params, state, t, arm, reward)
        slow.update(t - start, arm, reward)
        pulls[arm] += 1
        evicted = set(slow.bad) - before
        assert_same(state, slow, evicted, t)
        met["evictions"] += len(evicted)
        met["checks"] += any(slow.asked[i] for i in slow.bad)
        met["episodes"] += slow.episode > episode
    return met


def uniform_of(key: int) -> Callable[[int, int], float]:
    return lambda t, draw: uniform(key, t, draw)


@pytest.mark.parametrize("n_arms", [2, 3, 5])
def test_every_field_is_the_reference_s(n_arms: int) -> None:
    policies = [AdSwitch(horizon=90, C1=0.1), AdSwitch(horizon=6, C1=0.3), AdSwitch(horizon=2, C1=0.5)]
    met = [play_both(policy, rewards(seed, n_arms), masks(seed, n_arms)) for policy in policies for seed in range(4)]
    for event in ("evictions", "checks", "episodes", "closed"):
        assert sum(each[event] for each in met) > 0, event


@pytest.mark.parametrize("seed", range(3))
def test_every_epoch_of_the_doubled_policy_begins_with_nothing(seed: int) -> None:
    """Epochs of 6, 12, 24 and 48 rounds, with arms evicted and checked in the one before."""
    met = play_both(AdSwitch(horizon=6, C1=0.3), rewards(seed, 3), masks(seed, 3), doubled=True)
    assert met["evictions"] > 0


@pytest.mark.parametrize("away", [0, 1])
def test_an_arm_that_is_away_hides_no_gap_between_the_others(away: int) -> None:
    """They are alike while all three are there; the gap shows only in rounds after its last sample."""
    table = np.full((3, ROUNDS), 0.5)
    table[2, 25:] = 0.25
    available = [np.array([i for i in range(3) if i != away or t < 15]) for t in range(ROUNDS)]
    assert play_both(AdSwitch(horizon=90, C1=0.1), table, available)["evictions"] == 1


def evicted_by_one(policy: AdSwitch) -> Any:
    """A state in which arm 0 has evicted the others, arm 3 but for, which was never pulled."""
    state = states.new_state(policy, 4, ROUNDS)
    for t in range(1, 61):
        arm = (t - 1) % 3
        policy.kernel.update(policy.params, state, t, arm, 0.5 + 0.25 * (arm == 0))
    assert (state.bad.tolist(), state.episode.tolist()) == ([0, 1, 1, 0], [1, 1])
    return state


@pytest.mark.parametrize("forgotten", [True, False])
def test_without_the_arm_that_evicted_all_others_they_are_compared_anew(forgotten: bool) -> None:
    """The episode keeps its number, by which checks are drawn, and begins after the last round played."""
    policy = AdSwitch(horizon=60, C1=0.02)
    state = evicted_by_one(policy)
    state.episode[0] = 4
    if forgotten:
        states.forget_arm(policy, state, 0, ROUNDS)
    states.set_present(policy, state, np.array([1, 2, 3]))
    assert state.pulls.tolist() == state.bad.tolist() == state.until.tolist() == [0, 0, 0, 0]
    assert state.last.tolist() == [0 if forgotten else 58, 59, 60, 0]
    assert state.episode.tolist() == [4, 61]


@pytest.mark.parametrize("arm", [0, 1])  # a good one and a bad one
def test_the_change_of_an_arm_that_is_gone_begins_no_episode(arm: int) -> None:
    """Its late rewards are kept: when it is back, the next one tells of the change."""
    policy = AdSwitch(horizon=3, C1=0.02)
    state = evicted_by_one(policy)
    update = policy.kernel.update
    state.presence.here[arm] = 0
    before = state.pulls[arm]
    for t in range(61, 81):
        update(policy.params, state, t, arm, 0.0)
    assert state.pulls[arm] == before + 20
    assert state.episode.tolist() == [1, 1]
    state.presence.here[arm] = 1
    update(policy.params, state, 81, arm, 0.0)
    assert state.episode.tolist() == [2, 82]


def test_an_arm_that_was_evicted_last_and_is_gone_begins_no_episode() -> None:
    policy = AdSwitch(horizon=60, C1=0.02)
    state = evicted_by_one(policy)
    state.unseen[1], state.mean[1] = 1, 9.0
    states.set_present(policy, state, np.array([0, 2, 3]))
    policy.kernel.update(policy.params, state, 61, 2, 0.5)
    assert (state.unseen[1], state.episode[0]) == (1, 1)
    states.set_present(policy, state, np.arange(4))
    policy.kernel.update(policy.params, state, 62, 2, 0.5)
    assert (state.unseen[1], state.episode[0]) == (0, 2)


@pytest.mark.parametrize("arm", [1, 2, 3])
def test_without_another_arm_the_episode_goes_on(arm: int) -> None:
    policy = AdSwitch(horizon=60, C1=0.02)
    state, left = evicted_by_one(policy), [i for i in range(4) if i != arm]
    before = states.copy(state)
    states.forget_arm(policy, state, arm, ROUNDS)
    states.set_present(policy, state, np.array(left))
    assert state.episode.tolist() == [1, 1]
    for name in ("pulls", "bad", "unseen", "mean", "gap", "until", "last", "above", "below"):
        assert getattr(state, name)[left].tolist() == getattr(before, name)[left].tolist()
    assert state.pulls[arm] == state.bad[arm] == state.last[arm] == 0


def test_chances_sum_to_one_whether_an_arm_is_open_or_not() -> None:
    policy = AdSwitch(horizon=60, C1=0.02)
    state = evicted_by_one(policy)
    assert policy.kernel.propensities is not None
    for arms in ([0, 1, 2, 3], [1, 2], [2], [0, 2]):
        out = np.zeros(len(arms))
        policy.kernel.propensities(policy.params, state, 61, np.array(arms), out)
        assert out.sum() == pytest.approx(1.0, abs=1e-15)
    # Of the two closed ones, arm 1 was played less recently: it is the other only if that one alone is opened.
    policy.kernel.propensities(policy.params, state, 61, np.array([1, 2]), out := np.zeros(2))
    assert 0.5 < out[0] < 1.0


@pytest.mark.parametrize(("gap", "sizes"), [(0.25, 6), (math.nextafter(0.25, 1.0), 5), (1.0, 4)])
def test_chances_are_those_of_the_checks_that_may_begin(gap: float, sizes: int) -> None:
    """A gap of 1/4 asks for checks of 1/2, 1/4, ..., 1/64, and an arm stays closed if none of them begins."""
    policy = AdSwitch(horizon=60, C1=0.02)
    state = evicted_by_one(policy)
    state.gap[1:3] = gap
    closed = math.prod(1 - 2.0**-i * math.sqrt(1 / (4 * 60 * math.log(60))) for i in range(1, sizes + 1))
    assert policy.kernel.propensities is not None
    policy.kernel.propensities(policy.params, state, 61, np.array([1, 2]), out := np.zeros(2))
    assert out.tolist() == pytest.approx([1 - closed + closed**2, closed * (1 - closed)], abs=1e-15)


@pytest.mark.parametrize(("gap", "sizes"), [(0.25, 6), (math.nextafter(0.25, 1.0), 5)])
def test_each_size_of_a_check_has_a_draw_of_its_own(gap: float, sizes: int) -> None:
    """In the order of the arms and from the largest size on; a check of 2^-i takes `ceil(2^(2i + 1) ln T)` samples."""
    policy = AdSwitch(horizon=60, C1=0.02)
    state = evicted_by_one(policy)
    state.gap[1:3] = gap
    begun = 0
    for key in range(300):
        expected, draws = [0, 0, 0, 0], iter(range(2 * sizes))
        for arm in (1, 2):
            for i in range(1, sizes + 1):
                if uniform(key, 61, next(draws)) < 2.0**-i * math.sqrt(1 / (4 * 60 * math.log(60))):
                    expected[arm] = int(state.pulls[arm]) + math.ceil(2 ** (2 * i + 1) * math.log(60))
        copied = states.copy(state)
        policy.kernel.choose(policy.params, copied, 61, key, np.arange(4))
        assert copied.until.tolist() == expected, key
        begun += any(expected)
    assert begun > 5


def test_a_check_takes_as_many_samples_as_it_asked_for() -> None:
    policy = AdSwitch(horizon=60, C1=0.02)
    state = evicted_by_one(policy)
    state.until[1] = state.pulls[1] + 2
    for t, still_open in ((61, True), (62, True), (63, False)):
        assert is_open(state, 1) == still_open
        policy.kernel.update(policy.params, state, t, 1, 0.5)


def test_a_good_arm_that_was_pulled_once_keeps_the_episode() -> None:
    policy = AdSwitch(horizon=60, C1=0.02)
    state = evicted_by_one(policy)
    policy.kernel.update(policy.params, state, 61, 3, 0.75)
    states.forget_arm(policy, state, 0, ROUNDS)
    assert (state.pulls.tolist(), state.bad.tolist()) == ([0, 20, 20, 1], [0, 1, 1, 0])


def test_rewards_that_come_late_together_evict() -> None:
    """Thirty rewards of each arm in round 1 hide the gap of three in round 3; the last start before it, round 2, shows it."""
    policy = AdSwitch(horizon=60, C1=0.02)
    state = states.new_state(policy, 2, ROUNDS)
    for t, n, best in ((1, 30, 0.5), (3, 3, 0.75)):
        for _ in range(n):
            policy.kernel.update(policy.params, state, t, 0, best)
            policy.kernel.update(policy.params, state, t, 1, 0.5)
    assert (state.bad.tolist(), state.gap[1], state.mean[1]) == ([0, 1], 0.25, 0.5)


def test_all_samples_of_a_bad_arm_together_tell_that_it_changed() -> None:
    """At T = 2 the radius of one sample is 1.18, more than any change in [0, 1]; that of two is 0.83."""
    policy = AdSwitch(horizon=2, C1=100.0)
    state = states.new_state(policy, 1, 2)
    for t, changed in ((1, False), (2, True)):
        policy.kernel.update(policy.params, state, t, 0, 1.0)
        state.mean[0] = state.gap[0] = 0.0  # as if it had been evicted at 0
        assert bad_arm_changed(state, 0) == changed
