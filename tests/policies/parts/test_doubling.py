"""`doubling`: epochs of H, 2H, 4H, ... rounds, each of them the policy from nothing, tuned to its length."""

import copy
import json
import math
import pickle
from typing import Any

import numpy as np
import pytest

from rotting.live import policy_state as states
from rotting.live.bandit import Bandit
from rotting.live.checks import check_policy
from rotting.policies.d_ucb import DUCB
from rotting.policies.exp3 import Exp3
from rotting.policies.exp3_s import Exp3S
from rotting.policies.kernels.random_numbers import subkey
from rotting.policies.parts.doubling import doubled_kernel, doubling
from rotting.policies.rexp3 import Rexp3
from rotting.policies.sw_ucb import SWUCB
from rotting.policies.swa import SWA
from rotting.policies.ucb1 import UCB1
from rotting.policies.wswa import WSWA
from rotting.policy import Policy
from rotting.problems import Problem
from rotting.problems.noise import Bernoulli
from rotting.registry import find, from_json, list_policies, make
from rotting.simulation.simulate import simulate
from tests.helpers.games import KEY, play, some

FIRST = 8
TUNED: list[Policy] = [
    Exp3(horizon=FIRST),
    Exp3S(horizon=FIRST, segments=2),
    Rexp3(horizon=FIRST, budget=1.0),
    SWUCB(horizon=FIRST, breakpoints=1),
    DUCB(horizon=FIRST, breakpoints=1),
    SWA(horizon=FIRST),
]
HORIZON = 8 + 16 + 32 + 30


def longer(policy: Policy, horizon: int) -> Policy:
    return from_json({"policy": policy.name, "params": {**policy.shown_params(), "horizon": horizon}})


def play_epochs(policy: Policy, table: list[list[float]], horizon: int) -> list[int]:
    """The definition: one game after the other, each with a fresh state, its own length and its own key."""
    pulls, chosen, start, length = [0] * len(table), list[int](), 0, FIRST
    choose, update = policy.kernel.choose, policy.kernel.update
    while start < horizon:
        params = longer(policy, length).params
        state = states.new_state(longer(policy, length), len(table), length)
        key = KEY if start == 0 else subkey(KEY, start)
        for t in range(1, min(length, horizon - start) + 1):
            arm = int(choose(params, state, t, key, np.arange(len(table))))
            update(params, state, t, arm, table[arm][pulls[arm]])
            pulls[arm] += 1
            chosen.append(arm)
        start, length = start + length, 2 * length
    return chosen


@pytest.mark.parametrize("policy", TUNED, ids=repr)
def test_epochs_are_games_of_their_own(policy: Policy) -> None:
    rng = np.random.default_rng(4)
    for n_arms in (1, 3, 10):  # with 10 arms, the first epoch is shorter than the turns
        table = np.clip(0.5 + 0.3 * rng.normal(size=(n_arms, HORIZON)), 0, 1).tolist()
        assert play(doubling(policy), table, HORIZON) == play_epochs(policy, table, HORIZON)


def test_doubled_swa_from_one_round_is_wswa() -> None:
    table = np.random.default_rng(9).normal(size=(3, 120)).tolist()
    assert play(doubling(SWA(horizon=1, alpha=0.1)), table, 120) == play(WSWA(alpha=0.1), table, 120)


@pytest.mark.parametrize("policy", some(TUNED), ids=repr)
def test_doubled_policies_keep_the_contract(policy: Policy) -> None:
    check_policy(doubling(policy))


def test_propensities_are_those_of_the_epoch() -> None:
    bandit = Bandit(doubling(Exp3(horizon=FIRST)), arms=["a", "b"], seed=1)
    skewed = set()
    for t in range(1, 60):
        before = bandit.get_state()
        propensities = bandit.propensities()
        assert bandit.get_state() == before  # to ask changes nothing, also when the next round begins an epoch
        assert math.fsum(propensities.values()) == pytest.approx(1.0)
        if t in {1, 9, 25, 57}:
            assert propensities == pytest.approx({"a": 0.5, "b": 0.5})
        elif propensities["a"] > 0.5:
            skewed.add(t)
        arm = bandit.pull()
        bandit.update(arm, 1.0 if arm == "a" else 0.0)
    assert len(skewed) > 40


@pytest.mark.parametrize("policy", TUNED, ids=repr)
def test_rewards_that_nobody_asked_for_also_begin_epochs(policy: Policy) -> None:
    bandit = Bandit(doubling(policy), arms=["a", "b"], seed=1)
    for t in range(1, 60):
        bandit.update("ab"[t % 2], 0.5)
        start = max(each for each in (0, 8, 24, 56) if each < t)
        assert tuple(bandit._state.learner.state.epoch) == (start, start + 8)
    reasons = bandit.explain()
    assert set(reasons) == {"a", "b"}
    assert all(math.isfinite(chance) for chance in bandit.propensities().values())


def test_a_reward_that_comes_an_epoch_late_counts_there() -> None:
    bandit = Bandit(doubling(SWUCB(horizon=FIRST, breakpoints=1)), arms=["a"], seed=1)
    for _ in range(FIRST + 1):
        bandit.pull()
    bandit.update("a", 0.25)
    bandit.update("a", 0.75)
    assert bandit.explain()["a"].mean == 0.5


def test_explain_knows_nothing_of_the_epoch_to_come() -> None:
    bandit = Bandit(doubling(SWUCB(horizon=2, breakpoints=1)), arms=["a"])
    bandit.update("a", 0.25)
    assert bandit.explain()["a"].mean == 0.25
    bandit.update("a", 0.25)
    assert math.isnan(bandit.explain()["a"].mean)


def test_no_horizon_is_left() -> None:
    policy = doubling(Exp3(horizon=20))
    problem = Problem.restless(np.array([[0.9] * 200, [0.1] * 200]), noise=Bernoulli())
    assert simulate(policy, problem, runs=2, seed=1).pulls.sum() == 400
    assert policy.max_rounds is None
    assert policy.reward_range == (0.0, 1.0)


def test_a_doubled_policy_is_a_value() -> None:
    policy = doubling(Exp3(horizon=20, high=5))
    same = doubling(Exp3(horizon=20, high=5))
    assert policy == same
    assert hash(policy) == hash(same)
    assert policy != doubling(Exp3(horizon=21, high=5))
    assert repr(policy) == "doubling(Exp3(horizon=20, low=0.0, high=5.0, outside='refuse'))"
    assert from_json(json.loads(json.dumps(policy.to_json()))) == policy
    assert pickle.loads(pickle.dumps(policy)) == policy
    assert copy.deepcopy(policy) == policy
    assert make("doubling(exp3)", horizon=20, high=5) == policy
    assert find("doubling(exp3)") is type(policy)
    assert not any(each.name.startswith("doubling") for each in list_policies())


def test_what_has_no_horizon_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^policy must be tuned to a horizon, got UCB1, which needs none$"):
        doubling(UCB1())
    with pytest.raises(ValueError, match=r"^policy must be tuned to a horizon, got Exp3\(gamma=0\.1.*, which is not$"):
        doubling(Exp3())
    with pytest.raises(ValueError, match=r"^horizon must be a whole number, 1 or more, the length of the first epoch, got 0$"):
        make("doubling(exp3)")
    with pytest.raises(ValueError, match=r"^policy must be tuned to a horizon, got DoubledExp3, which needs none$"):
        doubling(doubling(Exp3(horizon=5)))
    wrong: Any = "exp3"
    with pytest.raises(TypeError, match=r"^policy must be a policy that is tuned to a horizon, got 'exp3'$"):
        doubling(wrong)
    with pytest.raises(ValueError, match=r"^kernel must have a reset"):
        doubled_kernel(UCB1.kernel)
