"""Bandits that grow: what depends on the number of arms is tuned to the arms there are, and what was learned stays."""

import json
import math
from typing import Any, NamedTuple

import numpy as np
import pytest

from rotting.common.arrays import Ints
from rotting.live import learner
from rotting.live import learner as learners
from rotting.live import policy_state as states
from rotting.live.bandit import Bandit
from rotting.live.learner import FIRST_CAPACITY
from rotting.policies.exp3 import Exp3
from rotting.policies.fewa import FEWA
from rotting.policies.kernels.policy_functions import flatten
from rotting.policies.kernels.random_numbers import uniform
from rotting.policies.parts.doubling import doubling
from rotting.policies.raw_ucb import RAWUCB
from rotting.policies.rexp3 import Rexp3
from rotting.policies.swa import SWA
from rotting.policies.wswa import WSWA
from rotting.policy import Kernel, Params, Policy, Reason, defined_policies
from rotting.registry import make
from tests.conftest import INTERPRETED, STRESS
from tests.helpers.games import affordable, examples

TUNINGS: list[tuple[str, dict[str, Any]]] = [
    ("cusum-ucb", {"breakpoints": 3}),
    ("d-ucb", {"breakpoints": 3}),
    ("exp3", {}),
    ("exp3-s", {}),
    ("exp3-s", {"segments": 4}),
    ("exp3-s", {"budget": 2.0}),
    ("glr-kl-ucb", {}),
    ("glr-ucb", {}),
    ("m-ucb", {"breakpoints": 3}),
    ("rexp3", {"budget": 2.0}),
    ("sw-ucb", {"breakpoints": 3}),
    ("swa", {}),
]
"""Policies that are tuned to a horizon if they are given one, and what else they are tuned to."""
FIRST = 20

LEARNERS = [policy for policy in examples() if not policy.sees_means]
TUNED = [make(name, horizon=300, **known) for name, known in TUNINGS]
DOUBLED = [doubling(make(name, horizon=FIRST, **known)) for name, known in TUNINGS]
EVERY = [*LEARNERS, *TUNED, *DOUBLED, doubling(type(LEARNERS[0])(horizon=FIRST))]
COMPILED = {"exp3", "swa", "eff-raw-ucb", "doubling(exp3)", "doubling(ad-switch)"}
PLAYED = [policy for policy in EVERY if INTERPRETED or policy.name in COMPILED]


def reward(bandit: Bandit, arm: int) -> float:
    return round(uniform(arm, bandit.rounds, 3))  # 0 or 1


def play(bandit: Bandit, rounds: int, arms: list[int] | None = None) -> list[int]:
    chosen: list[Any] = []
    for _ in range(rounds):
        chosen.append(bandit.pull(arms))
        bandit.update(chosen[-1], reward(bandit, chosen[-1]))
    return chosen


def grow(bandit: Bandit, n_arms: int) -> None:
    for arm in range(len(bandit.arms), n_arms):
        bandit.add_arm(arm)


def test_the_variants_are_the_tuned_ones() -> None:
    tunable = [each for each in LEARNERS if any(known.name == "horizon" and not known.required for known in each.parameters())]
    assert {policy.name for policy in TUNED} == {policy.name for policy in tunable}
    assert [policy.max_rounds for policy in TUNED] == [300] * len(TUNED)
    assert EVERY[-1].name == "doubling(ad-switch)"


@pytest.mark.parametrize("policy", PLAYED, ids=repr)
@pytest.mark.parametrize(("few", "many"), [(1, 2), (1, 4), (2, 40)])
def test_to_grow_before_the_first_reward_is_to_begin_with_all_arms(policy: Policy, few: int, many: int) -> None:
    grown, begun = Bandit(policy, range(few), seed=5), Bandit(policy, range(many), seed=5)
    grow(grown, many)
    assert grown.get_state() == begun.get_state()
    assert play(grown, 90) == play(begun, 90)
    assert grown.get_state() == begun.get_state()


@pytest.mark.parametrize("policy", PLAYED, ids=repr)
def test_pulls_without_rewards_do_not_count(policy: Policy) -> None:
    grown, begun = Bandit(policy, [0], seed=5), Bandit(policy, range(4), seed=5)
    for _ in range(3):
        assert grown.pull() == begun.pull([0]) == 0
    grow(grown, 4)
    for _ in range(3):
        for each in (grown, begun):
            each.update(0, 1.0)
    assert play(grown, 70) == play(begun, 70)
    assert grown.get_state()["state"] == begun.get_state()["state"]


def tuned_to(policy: Policy, horizon: int) -> Policy:
    """The policy in an epoch of that length (0 = it is not tuned)."""
    if isinstance(policy, WSWA):
        return SWA(horizon=horizon, **policy.shown_params())
    return type(policy)(**{**policy.shown_params(), "horizon": horizon}) if horizon > 0 else policy


@pytest.mark.parametrize("policy", PLAYED, ids=repr)
@pytest.mark.parametrize("rounds", [1, 15, 35, 70])  # in different epochs of the doubled policies
def test_growth_after_rewards_tunes_anew_and_keeps_what_was_learned(policy: Policy, rounds: int) -> None:
    """What a fresh state of the same epoch has otherwise with more arms becomes as there; all else stays as it was."""
    bandit = Bandit(policy, range(2), seed=5)
    play(bandit, rounds)
    old, capacity = bandit._state.learner.state, bandit._state.learner.capacity
    same = tuned_to(policy, int(old.epoch[1]) if "epoch" in old._fields else 0)
    two, five = (states.new_state(same, n_arms, capacity) for n_arms in (2, 5))
    grown = states.grow(policy, old, 5, capacity)
    arrays = (states.arrays(state) for state in (old, grown, two, five))
    fields = zip(flatten(old), states.has_arm_axis(policy), *arrays, strict=True)
    for name, by_arm, before, after, with_two, with_five in fields:
        if by_arm:
            assert np.array_equal(after[:2], before), name
            assert np.array_equal(after[2:], with_five[2:]), name
        else:
            expected = np.where(with_two == with_five, before, with_five)
            if name == "batch" and before[0] > 0:  # Rexp3 counts its restarts in batches, and these are longer now
                expected[1] = before[1] * before[0] // expected[0]
            assert np.array_equal(after, expected), name


def test_published_tunings_follow_the_arms() -> None:
    def gamma(bandit: Bandit) -> float:
        return float(bandit._state.learner.state.rates[0])

    bandit = Bandit(Exp3(horizon=10_000), [0])
    assert gamma(bandit) == 0.0
    grow(bandit, 2)
    assert gamma(bandit) == pytest.approx(math.sqrt(2 * math.log(2) / ((math.e - 1) * 10_000)))
    play(bandit, 50)
    grow(bandit, 50)
    assert gamma(bandit) == pytest.approx(math.sqrt(50 * math.log(50) / ((math.e - 1) * 10_000)))

    bandit = Bandit(SWA(horizon=10_000), [0, 1])
    play(bandit, 50)
    assert bandit._state.learner.state.window[0] == 313
    grow(bandit, 50)
    assert bandit._state.learner.state.window[0] == 37


def test_batches_go_on_at_multiples_of_their_new_length() -> None:
    """With one arm a batch of Rexp3 is one round, with two it is 21: what was learned in round 30 stays until 42."""
    bandit = Bandit(Rexp3(horizon=81, budget=1.0), [0], seed=5)
    play(bandit, 30)
    assert tuple(bandit._state.learner.state.batch) == (1, 29)
    grow(bandit, 2)
    assert tuple(bandit._state.learner.state.batch) == (21, 1)
    falls = []
    for _ in range(50):
        before = bandit._state.learner.state.log_weights[0]
        bandit.update(1, 1.0)
        if bandit._state.learner.state.log_weights[0] > before:
            falls.append(bandit.rounds)
    assert falls == [43, 64]


ENLARGED = [policy for policy in EVERY if policy.kernel.enlarge is not None]
if not (INTERPRETED or STRESS):  # another that is doubled will do: to compile one takes ten seconds
    ENLARGED = [policy for policy in ENLARGED if policy.name != "doubling(glr-kl-ucb)"]


def one_thing(n_arms: int, rounds: int) -> int:
    return 1


def worn(arm: int, n: int) -> float:
    """Rewards in [0, 1] that fall strictly, each arm at its speed: every pull is a vertex of the hull."""
    return 1.0 / (1.0 + 0.01 * (arm + 1) * n)


def pulled_and_paid(bandit: Bandit, rounds: int, paid: dict[Any, int]) -> list[Any]:
    chosen: list[Any] = []
    for _ in range(rounds):
        arm: Any = bandit.pull()
        bandit.update(arm, worn(arm, paid.setdefault(arm, 0)))
        paid[arm] += 1
        chosen.append(arm)
    return chosen


def roomy(policy: Policy, n_arms: int, monkeypatch: pytest.MonkeyPatch) -> Bandit:
    with monkeypatch.context() as patch:
        patch.setattr(states, "small_capacity", lambda n_arms, rounds: 100_000)
        return Bandit(policy, range(n_arms), seed=5)


@pytest.mark.parametrize("policy", ENLARGED, ids=repr)
def test_a_state_that_is_enlarged_again_and_again_decides_as_a_roomy_one(
    policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Saved and restored on the way, with an arm that comes and one that goes."""
    monkeypatch.setattr(states, "small_capacity", one_thing)
    cramped, wide = Bandit(policy, range(3), seed=5), roomy(policy, 3, monkeypatch)
    capacities, rewards = [cramped._state.learner.capacity], ({}, {})  # type: tuple[list[int], tuple[dict[Any, int], dict[Any, int]]]
    assert capacities == [1]
    for step in range(10):
        if step == 5:
            for each in (cramped, wide):
                each.add_arm(3)
        if step == 7:
            for each in (cramped, wide):
                each.remove_arm(1)
        assert pulled_and_paid(cramped, 25, rewards[0]) == pulled_and_paid(wide, 25, rewards[1])
        assert cramped.explain() == wide.explain()
        cramped = Bandit.from_state(json.loads(json.dumps(cramped.get_state())))
        capacities.append(cramped._state.learner.capacity)
    assert wide._state.learner.capacity == 100_000
    assert capacities == sorted(capacities)
    assert len(set(capacities)) >= 3


@pytest.mark.parametrize("policy", ENLARGED, ids=repr)
def test_a_thousand_arms_that_come_and_go_take_the_room_of_a_few(policy: Policy) -> None:
    bandit, paid = Bandit(policy, range(4), seed=5), {0: 0}  # type: tuple[Bandit, dict[Any, int]]
    sizes = set()
    for k in range(250 if INTERPRETED else 1_000):
        if policy.max_rounds is not None and bandit.rounds + 2 > policy.max_rounds:
            break
        pulled_and_paid(bandit, 2, paid)
        bandit.remove_arm(bandit.arms[k % 3])
        bandit.add_arm(k + 10)
        sizes.add((bandit._state.learner.capacity, bandit._state.learner.n_slots))
    assert sizes == {(states.first_capacity(policy, 4, FIRST_CAPACITY), 4)}


def test_a_bandit_without_memory_for_more_room_learns_nothing_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states, "small_capacity", one_thing)
    bandit, twin = Bandit(RAWUCB(), range(2)), Bandit(RAWUCB(), range(2))

    def none_left(*arguments: Any) -> Any:
        raise MemoryError

    failures = 0
    for n in range(60):
        before = bandit.get_state()
        try:
            with monkeypatch.context() as patched:
                patched.setattr(np, "zeros", none_left)
                bandit.update(n % 2, worn(0, n))
        except MemoryError:
            failures += 1
            assert bandit.get_state() == before
            bandit.update(n % 2, worn(0, n))
        twin.update(n % 2, worn(0, n))
        assert bandit.get_state() == twin.get_state()
    assert failures > 1
    assert bandit._state.learner.capacity > 64


class Choices(NamedTuple):
    chosen: Ints  # [capacity]


def no_choices(p: Params, n_arms: int, capacity: int) -> Choices:
    return Choices(chosen=np.full(capacity, -1))


def choose_and_note(p: Params, s: Choices, t: int, key: int, arms: Ints) -> int:
    s.chosen[t - 1] = arms[t % arms.size]
    return int(s.chosen[t - 1])


def learn_nothing(p: Params, s: Choices, t: int, arm: int, reward: float) -> None:
    pass


class NotesChoices(Policy):
    """Writes into its state where it chooses, and not where it learns."""

    name = "notes-choices-for-tests"
    kernel = Kernel(no_choices, choose=choose_and_note, update=learn_nothing)


del defined_policies[NotesChoices.name]


def explain_by_note(p: Params, s: Choices, t: int, arms: Ints, arm: int) -> Reason:
    return Reason(0.0, float(s.chosen[t - 1]), t, 0.0)


class ExplainsChoices(NotesChoices):
    """Reads what it noted where it explains a choice."""

    name = "explains-choices-for-tests"
    kernel = Kernel(no_choices, choose=choose_and_note, update=learn_nothing, explain=explain_by_note)


del defined_policies[ExplainsChoices.name]


def test_a_choice_has_room_before_any_reward_comes() -> None:
    bandit = Bandit(NotesChoices(), arms=[0, 1], pending="ignore")
    chosen = [bandit.pull() for _ in range(300)]
    assert bandit._state.learner.state.chosen[:300].tolist() == chosen


@pytest.mark.parametrize("at_once", [False, True])
def test_a_choice_that_is_explained_has_room_before_any_reward_comes(at_once: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Policies of the library choose and explain in one call, others in two."""
    monkeypatch.setattr(learner, "is_library_code", lambda kernel: at_once)
    bandit = Bandit(ExplainsChoices(), arms=[0, 1], pending="ignore")
    made = [bandit.decide() for _ in range(300)]
    assert bandit._state.learner.state.chosen[:300].tolist() == [each.arm for each in made]
    assert [(each.reason.mean, each.reason.window) for each in made] == [(each.arm, t) for t, each in enumerate(made, 1)]


# --- Priors: rewards without rounds, for which there must be room, too --------------------------------------------------------

WITH_PRIORS = [policy for policy in PLAYED if not Bandit(policy, [0])._state.learner.uses_propensity]


def with_prior(policy: Policy, weight: int) -> Bandit:
    """A bandit whose only active arm has a prior, so that all rewards go to it."""
    bandit: Bandit[int | str] = Bandit(policy, ["z"], seed=5)
    bandit.add_arm(0, prior=(0.9, weight))
    bandit.remove_arm("z")
    return bandit


def fall(bandit: Bandit, rounds: int) -> list[Any]:
    """Decide and pay less and less; return all that can be seen from outside."""
    seen: list[Any] = []
    for _ in range(rounds):
        decision = bandit.decide()
        seen.append((decision.arm, decision.propensity, repr(decision.reason)))
        bandit.reward(decision, worn(0, bandit.rounds))
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("weight", [1, 300])
@pytest.mark.parametrize("policy", WITH_PRIORS, ids=repr)
def test_priors_have_room_and_decide_as_in_an_unlimited_state(
    policy: Policy, weight: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = affordable(policy, 300)
    with monkeypatch.context() as patch:
        patch.setattr(learners, "FIRST_CAPACITY", 2_000)
        unlimited = with_prior(policy, weight)
    bandit = with_prior(policy, weight)
    for each in (bandit, unlimited):
        each.add_arm(1, prior="pooled")
        each.retire(1)
    assert fall(bandit, rounds - 30) == fall(unlimited, rounds - 30)
    learner = bandit._state.learner
    assert learner.updates == rounds - 30 + weight + 1
    assert learner.capacity >= learner.updates or policy.kernel.enlarge is not None
    restored = Bandit.from_state(json.loads(json.dumps(bandit.get_state())))
    assert restored._state.learner.updates == learner.updates
    for each in (unlimited, restored):
        each.revive(1)
    assert fall(restored, 30) == fall(unlimited, 30)


def test_many_rewards_at_once_have_room_beside_a_prior() -> None:
    at_once, one_by_one = with_prior(FEWA(), 40), with_prior(FEWA(), 40)
    rewards = [(0, worn(0, n)) for n in range(500)]
    at_once.learn(rewards)
    for arm, value in rewards:
        one_by_one.update(arm, value)
    assert at_once.get_state() == one_by_one.get_state()


def test_a_copy_that_is_warmed_up_has_room() -> None:
    """It learns more rewards in one round than a bandit does."""
    bandit = Bandit(FEWA(), [0])
    for _ in range(FIRST_CAPACITY - 1):
        bandit.update(0, 1.0)
    bandit.warm_up()
    assert bandit._state.learner.capacity == FIRST_CAPACITY
