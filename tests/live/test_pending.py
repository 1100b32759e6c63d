"""Decisions whose reward has not come yet: every arm is tried first, and young arms compete."""

import math
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.common.arrays import Floats, Ints
from rotting.errors import KernelIndexError
from rotting.live.bandit import Bandit
from rotting.live.learner import Learner
from rotting.live.pending import Chooser
from rotting.live.values import ArmExplanation
from rotting.policies.parts.doubling import doubling
from rotting.policy import Kernel, Params, Policy, Reason
from rotting.registry import make
from tests.conftest import INTERPRETED
from tests.helpers.games import affordable, in_order, learners, some
from tests.helpers.rewards import reward_at
from tests.reference.pending_decisions import Choice, SlowRule

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from rotting.live.values import Decision

LEARNERS = learners()
WAITING = in_order(LEARNERS)
WAITING += [doubling(make("swa", horizon=40)), make("thompson-sampling", kind="gaussian")]


@pytest.mark.parametrize("policy", WAITING, ids=repr)
def test_all_arms_are_tried_first_at_any_delay(policy: Policy) -> None:
    bandit = Bandit(policy, arms=range(7), seed=1)
    assert [bandit.decide().arm for _ in range(7)] == list(range(7))
    # With no reward at all, the arms go on in turn.
    assert [bandit.decide().arm for _ in range(14)] == [*range(7), *range(7)]


@given(
    st.sampled_from([each for each in WAITING if not each.randomised]),
    st.integers(2, 9),
    st.lists(st.tuples(st.integers(0, 8), st.sampled_from([0.0, 0.25, 1.0])), max_size=8),
)
def test_all_arms_are_tried_first_whatever_comes_meanwhile(
    policy: Policy, n_arms: int, rewards: list[tuple[int, float]]
) -> None:
    """Rewards of any decisions, in any order, between any two decisions."""
    bandit = Bandit(policy, arms=range(n_arms), seed=1)
    made: list[Decision] = []
    for _ in range(n_arms):
        made.append(bandit.decide())
        while rewards and rewards[-1][0] < len(made):
            k, reward = rewards.pop()
            bandit.reward(made[k].id, reward)
    assert {each.arm for each in made} == set(range(n_arms))


@pytest.mark.parametrize("policy", WAITING, ids=repr)
def test_an_added_arm_does_not_take_all_decisions_until_its_first_reward(policy: Policy) -> None:
    bandit: Bandit[Hashable] = Bandit(policy, arms=range(3), seed=1)
    for k in range(60):
        bandit.update(bandit.pull(), [0.5, 0.75, 1.0][k % 3])
    bandit.add_arm("new")
    chosen: Counter[Hashable] = Counter(bandit.decide().arm for _ in range(40))
    assert 1 <= chosen["new"] <= 30


@pytest.mark.parametrize("policy", LEARNERS, ids=lambda each: each.name)
def test_without_delay_the_rule_changes_nothing(policy: Policy) -> None:
    young, ignorant = (Bandit(policy, arms=range(4), seed=1, pending=each) for each in ("shrink", "ignore"))
    for k in range(150):
        if k == 70:
            for each in (young, ignorant):
                each.add_arm(4)
        arm = young.pull()
        assert ignorant.pull() == arm
        for each in (young, ignorant):
            each.update(arm, reward_at(arm, k))
    assert young.get_state()["state"] == ignorant.get_state()["state"]


@pytest.mark.parametrize("policy", WAITING[:-2], ids=lambda each: each.name)
def test_ignoring_pending_decisions_repeats_the_choice(policy: Policy) -> None:
    bandit = Bandit(policy, arms=range(4), seed=1, pending="ignore")
    assert {bandit.decide().arm for _ in range(30)} == {0}


def test_the_index_of_a_young_arm_is_that_of_the_definition() -> None:
    """RAW-UCB, by hand: arm 2 has two rewards and three decisions under way."""
    bandit = Bandit(make("raw-ucb", alpha=1.4, sigma=0.5), arms=range(3))
    rewards = {0: [0.2, 0.3, 0.1, 0.2], 1: [0.9, 0.7, 0.8, 0.9, 0.6], 2: [0.8, 0.8]}
    for arm, values in rewards.items():
        for value in values:
            bandit.update(arm, value)
    for _ in range(3):
        bandit.decide(arms=[2])
    t = bandit.rounds + 1
    level = 0.5 * math.sqrt(2 * 1.4 * math.log(t))
    settled = min(np.mean(rewards[1][-h:]) + level / math.sqrt(h) for h in range(1, 6))
    young = 0.8 + level / math.sqrt(2 + 3)
    decision = bandit.decide()
    assert decision.arm == (2 if young > settled else 1)
    assert decision.reason.index == pytest.approx(max(young, settled))
    bandit.cancel(decision.id)
    alone = bandit.decide(arms=[0, 2])
    assert alone.arm == 2
    assert alone.reason.index == pytest.approx(0.8 + 0.5 * math.sqrt(2 * 1.4 * math.log(t + 1)) / math.sqrt(2 + 3))
    assert (alone.reason.mean, alone.reason.pulls, alone.reason.pending) == (0.8, 2, 3)


def test_an_arm_without_rewards_has_the_mean_of_all_and_the_width_of_what_is_under_way() -> None:
    bandit = Bandit(make("ucb1", sigma=0.5), arms=range(2))
    for value in (0.2, 0.4, 0.6, 0.8):
        bandit.update(0, value)
    bandit.add_arm(2)
    indices = []
    for pending in range(1, 4):
        bandit.decide(arms=[2])
        t = bandit.rounds + 1
        bandit._state.arms.retire(1) if pending == 1 else None
        decision = bandit.decide()
        level = 0.5 * math.sqrt(2 * math.log(t))
        assert decision.arm == 2
        assert decision.reason.index == pytest.approx(0.5 + level / math.sqrt(pending))
        assert math.isnan(decision.reason.mean)
        indices.append(decision.reason.index)
        bandit.cancel(decision.id)
    assert indices == sorted(indices, reverse=True)


def test_a_window_that_is_empty_again_counts_as_no_reward() -> None:
    bandit = Bandit(make("sw-ucb", tau=4), arms=range(2))
    bandit.update(0, 0.9)
    for _ in range(6):
        bandit.update(1, 0.5)
    assert bandit.explain()[0].index == math.inf
    assert bandit.decide().arm == 0
    bandit.decide(arms=[0])
    assert bandit.decide().reason.index < math.inf


@pytest.mark.parametrize("policy", WAITING, ids=repr)
def test_propensities_are_those_of_the_rule(policy: Policy) -> None:
    bandit = Bandit(policy, arms=range(4), seed=1)
    for _ in range(3):
        bandit.decide()
    bandit.update(0, 0.5)
    bandit.update(1, 0.75)
    assert bandit.propensities() == {0: 0.0, 1: 0.0, 2: 0.0, 3: 1.0}  # the arm that was never chosen
    assert bandit.decide().arm == 3
    propensities = bandit.propensities()
    assert sum(propensities.values()) == pytest.approx(1.0)
    if policy.randomised:
        assert propensities[2] == propensities[3] == 0.0
        assert bandit.propensities(arms=[2, 3]) == {2: 1.0, 3: 0.0}


@pytest.mark.slow
def test_thompson_draws_with_the_propensities_it_tells() -> None:
    """Over many seeds; Hoeffding: farther off with a probability below 2 exp(-2 * 16) for each arm."""
    drawn, expected, seeds = np.zeros(4), np.zeros(4), 60 if INTERPRETED else 400
    for seed in range(seeds):
        bandit = Bandit(make("thompson-sampling"), arms=range(4), seed=seed)
        for k in range(8):
            bandit.update(k % 3, (k % 4) / 3)
        bandit.decide(arms=[3])
        expected += np.array(list(bandit.propensities().values())) / seeds
        drawn[int(str(bandit.decide().arm))] += 1 / seeds
    assert expected[3] == drawn[3] == 0.0
    assert np.abs(drawn - expected).max() < 4.0 / math.sqrt(seeds)


def slow(chooser: Chooser, policy: Policy) -> SlowRule:
    return SlowRule(chooser.counts.pending.tolist(), chooser.counts.rewards.tolist(), policy.has_index, policy.first_pulls)


def same(one: Choice, other: Choice) -> bool:
    offered = [None if each.offered is None else each.offered.tolist() for each in (one, other)]
    return one[:2] == other[:2] and offered[0] == offered[1]


def is_made(decision: "Decision", expected: Choice, bandit: Bandit) -> bool:
    """Whether a bandit decided what the slow rule chooses, with its index."""
    index = decision.reason.index
    same_index = math.isnan(index) if expected.offered is None else expected.waiting_index in {None, index}
    return decision.arm == bandit._state.arms.names[expected.slot] and same_index


@pytest.mark.parametrize("coarse", [True, False], ids=["ties", "no ties"])
@pytest.mark.parametrize("policy", WAITING, ids=repr)
def test_the_compiled_rule_is_the_slow_one(policy: Policy, coarse: bool) -> None:
    """Random games with masks, arms that come and go, and rewards that come late, in any order, or never."""
    rng = np.random.default_rng([len(policy.name), coarse])
    bandit: Bandit[Hashable] = Bandit(policy, arms=range(6), seed=3)
    unanswered: list[str] = []
    young, rounds = 0, affordable(policy, 160)
    for k in range(rounds):
        if k % 20 == 19:
            bandit.forget(bandit.arms[int(rng.integers(len(bandit.arms)))])
            bandit.add_arm(("new", k))
        mask = [arm for arm in bandit.arms if rng.uniform() < 0.8] or list(bandit.arms)
        t, key, arms = bandit.rounds + 1, bandit._state.random_key, bandit._state.arms.available(mask)
        chooser, expected = bandit._state.chooser.copy(), None
        offered, waiting = chooser.candidates(arms)
        if waiting.size:
            young += 1
            expected = slow(chooser, policy).choose(chooser.learner.copy(), t, key, arms)
            assert same(Choice(*chooser.choice(t, key, arms, offered, waiting)), expected)
        decision = bandit.decide(mask)
        assert expected is None or is_made(decision, expected, bandit)
        unanswered.append(decision.id)
        while unanswered and (len(unanswered) > 40 or rng.uniform() < 0.45):
            id = unanswered.pop(int(rng.integers(len(unanswered))))
            value = float(rng.integers(2)) if coarse else max(0.0, float(rng.uniform(-0.5, 1.0)))
            bandit.reward(id, value) if rng.uniform() < 0.9 else bandit.expire(id)
    assert young > rounds / 20


Rows = dict["Hashable", ArmExplanation]


def competitors(rows: Rows) -> "list[Hashable]":
    """The arms with rewards and decisions under way, and the best by the policy's index of those with nothing under way."""
    free = [arm for arm, row in rows.items() if row.pending == 0]
    best = [max(free, key=lambda arm: rows[arm].index)] if free else []
    return [arm for arm, row in rows.items() if arm in best or (row.pending > 0 and row.pulls > 0)]


def largest(values: "dict[Hashable, float]") -> "set[Hashable]":
    """The arms with the largest value, but for rounding."""
    return {arm for arm, value in values.items() if value >= max(values.values()) - 1e-12}


def documented(rows: Rows, leader: "Hashable") -> "set[Hashable]":
    """The arms that the five sentences of docs/delays.md allow to be chosen: several where indices tie."""
    new = [arm for arm, row in rows.items() if row.pulls == row.pending == 0]
    if new:
        return {new[0]}
    indices: dict[Hashable, float] = {}
    for arm in competitors(rows):
        row = rows[arm]
        is_narrowed = row.pending > 0 and (arm != leader or row.pulls < row.pending)
        narrowed = row.mean + row.width * math.sqrt(row.window / (row.window + row.pending))
        indices[arm] = narrowed if is_narrowed else row.index
    if not indices:
        fewest = min(row.pending for row in rows.values())
        return {next(arm for arm, row in rows.items() if row.pending == fewest)}
    best = min(largest(indices), key=list(rows).index)
    level = rows[best].width * math.sqrt(rows[best].window)
    mean = float(np.mean([row.mean for row in rows.values() if row.pulls > 0]))
    for arm, row in rows.items():
        if row.pulls == 0:
            indices[arm] = mean + level / math.sqrt(row.pending)
    return largest(indices)


def highest_mean(rows: Rows, arms: "Iterable[Hashable]") -> "Hashable":
    """The arm with the highest mean, the lowest on a tie; None if there is no arm with a reward."""
    return max((arm for arm in arms if rows[arm].pulls > 0), key=lambda arm: rows[arm].mean, default=None)


@pytest.mark.parametrize("name", some(["ucb1", "raw-ucb"], 1))
def test_the_rule_is_the_one_that_is_documented(name: str) -> None:
    """In random games, by what `explain` tells alone; and the leader of the arms that compete is not that of all arms."""
    rng, other_leader, differ = np.random.default_rng(11), 0, 0
    for game in range(100):
        bandit: Bandit[Hashable] = Bandit(make(name, sigma=0.3), arms=range(int(rng.integers(2, 7))), seed=game)
        means = rng.uniform(size=len(bandit.arms))
        open_decisions: list[Decision] = []
        answers = rng.uniform(0.2, 0.9)
        for _ in range(40):
            arms = [arm for arm in bandit.arms if rng.uniform() < 0.9] or list(bandit.arms)
            rows = {arm: row for arm, row in bandit.explain().items() if arm in arms}
            leader = highest_mean(rows, competitors(rows))
            allowed = documented(rows, leader)
            decision = bandit.decide(arms)
            assert decision.arm in allowed
            of_all = highest_mean(rows, rows)
            other_leader += of_all != leader
            differ += decision.arm not in documented(rows, of_all)
            open_decisions.append(decision)
            while open_decisions and rng.uniform() < answers:
                rewarded = open_decisions.pop(int(rng.integers(len(open_decisions))))
                bandit.reward(rewarded.id, float(np.clip(rng.normal(means[int(str(rewarded.arm))], 0.3), 0.0, 1.0)))
    assert other_leader > 0
    assert differ > 0


class Sums(NamedTuple):
    """What each arm paid."""

    total: Floats


def _init(p: Params, n_arms: int, capacity: int) -> Sums:
    return Sums(np.zeros(n_arms))


def _choose_the_first(p: Params, s: Sums, t: int, key: int, arms: Ints) -> int:
    return 0


def _update(p: Params, s: Sums, t: int, arm: int, reward: float) -> None:
    s.total[arm] += reward


def _explain(p: Params, s: Sums, t: int, arms: Ints, arm: int) -> Reason:
    return Reason(s.total[arm], s.total[arm], 1, 0.0)


class Stubborn(Policy):
    """Chooses arm 0, also where it is not asked about it."""

    name = "stubborn"
    has_index = True
    kernel = Kernel(_init, _choose_the_first, _update, _explain)
    listed = False


def test_choosing_an_unavailable_arm_raises_an_error() -> None:
    bandit = Bandit(Stubborn(), arms=range(3))
    assert bandit.decide().arm == 0
    with pytest.raises(KernelIndexError, match=r"Stubborn\(\): _choose_the_first .* must return one of `arms`, got 0"):
        bandit.decide()


@pytest.mark.parametrize("policy", [make("ucb1"), make("exp3", gamma=0.1, low=-1.0, outside="clip")], ids=repr)
def test_many_rewards_count_as_one_by_one(policy: Policy) -> None:
    rng = np.random.default_rng(1)
    slots, rewards = rng.integers(3, size=50), rng.normal(size=50)
    at_once, one_by_one = (Chooser(Learner.new(policy, 4), True) for _ in range(2))
    at_once.learn_many(1, slots, rewards, np.full(50, 0.25))
    for t, (slot, reward) in enumerate(zip(slots.tolist(), rewards.tolist(), strict=True), 1):
        one_by_one.learn(t, slot, reward, 0.25)
    assert at_once.counts.rewards.tolist() == one_by_one.counts.rewards.tolist()
    assert (at_once.reward_sum, at_once.n_rewards) == (one_by_one.reward_sum, one_by_one.n_rewards)
