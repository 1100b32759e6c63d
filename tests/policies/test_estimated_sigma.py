"""`sigma="estimate"`: the choices of the slow references, the same for rewards in any unit, and the rest of a policy's life."""

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rotting import theory
from rotting.common.rules import LARGEST
from rotting.live.bandit import Bandit
from rotting.live.checks import check_policy
from rotting.policies.d_ucb import DUCB
from rotting.policies.glr_ucb import GLRUCB
from rotting.policies.kernels.policy_functions import flatten
from rotting.policies.parts import noise_scale
from rotting.policies.parts.doubling import doubling
from rotting.policies.sw_ucb import SWUCB
from rotting.policy import Policy
from rotting.problems import two_arms
from rotting.registry import list_policies, make
from tests.conftest import INTERPRETED
from tests.helpers.games import (
    Player,
    assert_equals_reference,
    assert_equals_reference_on_ties,
    assert_equals_reference_while_arms_change,
    play,
    tables,
)
from tests.reference.noise import estimated_sigma

HORIZON = 60 if INTERPRETED else 250
PAGE = (Path(__file__).parents[2] / "docs/unknown-noise.md").read_text("utf-8")


def estimates(policy: type[Policy]) -> bool:
    """Return whether a policy of the library accepts `sigma="estimate"`."""
    rules = {each.name: each.rule for each in policy.parameters()}
    return policy.__module__.startswith("rotting.policies.") and "sigma" in rules and "'estimate'" in rules["sigma"].text


ESTIMATED = [make(each.name, sigma="estimate") for each in list_policies() if estimates(each)]
VARIANTS = [
    *ESTIMATED,
    make("raw-ucb", alpha=0.1, sigma="estimate"),
    make("eff-raw-ucb", alpha=0.3, m=1.1, sigma="estimate"),
    make("raw-ucb-pp", alpha=0.3, beta=2, sigma="estimate"),
    make("fewa", alpha=4, sigma="estimate"),
    make("eff-fewa", alpha=1, m=1.5, sigma="estimate"),
    SWUCB(tau=20, sigma="estimate"),
    DUCB(gamma=0.9, sigma="estimate"),
    DUCB(gamma=0.99, sigma=0.3),
    SWUCB(tau=40, sigma=0.3),
    GLRUCB(delta=0.9, sigma="estimate", restart="global", c=0.0),
]


def by_name(policy: Policy) -> str:
    return policy.name


# --- The choices --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", VARIANTS, ids=repr)
def test_choices_equal_the_reference(policy: Policy) -> None:
    assert_equals_reference(policy, HORIZON)
    assert_equals_reference_while_arms_change(policy, HORIZON, "falling", "coins", "constant")


@pytest.mark.parametrize("policy", ESTIMATED, ids=by_name)
def test_ties_equal_the_reference(policy: Policy) -> None:
    """Few distinct values: arms that got the same rewards in another order are as good as each other, to the last bit."""
    assert_equals_reference_on_ties(policy, 30)


@pytest.mark.parametrize("policy", ESTIMATED, ids=by_name)
@pytest.mark.parametrize("factor", [1024.0, 2.0**-30])
def test_the_unit_of_the_rewards_changes_no_choice(policy: Policy, factor: float) -> None:
    """Powers of two, so that nothing is rounded differently."""
    found = tables(4, HORIZON)
    for name in ("noise", "falling", "coins", "constant", "tiny"):
        table = found[name]
        assert play(policy, table.tolist(), HORIZON) == play(policy, (factor * table).tolist(), HORIZON), name


def documented_range(text: str | None) -> tuple[float, float]:
    (ends,) = re.findall(r"0 or between (\S+) and (\S+) in size", " ".join((text or "").split()))
    return float(ends[0]), float(ends[1])


@pytest.mark.parametrize("policy", ESTIMATED, ids=by_name)
def test_the_unit_changes_no_choice_up_to_both_ends_of_the_documented_range(policy: Policy) -> None:
    """The smallest reward but 0 comes close to the lower end, and the largest to the upper one."""
    smallest, largest = documented_range(PAGE)
    for name, table in tables(4, HORIZON).items():
        sizes, chosen = np.abs(table[table != 0.0]), play(policy, table.tolist(), HORIZON)
        powers = math.ceil(math.log2(smallest / sizes.min())), math.floor(math.log2(largest / sizes.max()))
        for power in powers:
            assert play(policy, (2.0**power * table).tolist(), HORIZON) == chosen, (name, power)


def test_the_range_of_rewards_is_documented_once() -> None:
    assert documented_range(PAGE) == documented_range(noise_scale.__doc__) == (1e-100, LARGEST)


@pytest.mark.parametrize("policy", ESTIMATED, ids=by_name)
def test_a_sigma_that_is_given_has_a_unit(policy: Policy) -> None:
    """Else the test above would show nothing."""
    table = tables(4, HORIZON)["noise"]
    given = type(policy)(sigma=1.0)
    assert play(given, table.tolist(), HORIZON) != play(given, (1024 * table).tolist(), HORIZON)


@pytest.mark.parametrize("policy", ESTIMATED, ids=by_name)
@pytest.mark.parametrize("rewards", [[0.0], [1e-200], [-1e-200, 0.0, 2e-200], [2e-162, 0.0], [1e100], [-1e100, 1e100], [0.1]])
def test_no_reward_makes_a_width_of_nothing_or_without_an_end(policy: Policy, rewards: list[float]) -> None:
    for n_arms in (1, 3):
        player, arms = Player(policy, n_arms, 40, fast=False), np.arange(n_arms)
        for t in range(1, 40):
            player.update(t, player.choose(t, arms), rewards[t % len(rewards)])
            if t < 2 * n_arms:
                continue
            assert policy.kernel.explain is not None
            for i in range(n_arms):
                reason = policy.kernel.explain(policy.params, player.state, t + 1, arms, i)
                if reason.window > 0 or policy.name == "d-ucb":  # else it has no mean either: not pulled since a restart
                    least = -1.0 if policy.name.endswith("-pp") else 0.0  # theirs is 0 for windows longer than t / K
                    assert least < reason.width < math.inf, f"{policy!r}, round {t}, arm {i}: width {reason.width}"


# --- What a policy is asked for besides ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("policy", ESTIMATED, ids=by_name)
def test_it_keeps_the_contract(policy: Policy) -> None:
    check_policy(policy)


@pytest.mark.parametrize(
    "policy", [GLRUCB(horizon=30, sigma="estimate"), SWUCB(horizon=30, breakpoints=2, sigma="estimate")], ids=by_name
)
def test_a_doubled_game_estimates_anew(policy: Policy) -> None:
    """Round 31 starts a game of 60 rounds: its choices are those of a policy that saw nothing before."""
    table = tables(3, 90)["noise"].tolist()
    chosen = play(doubling(policy), table, 90)[30:]
    left = [table[i][play(policy, table, 30).count(i) :] for i in range(3)]
    assert chosen == play(type(policy)(**{**policy.params._asdict(), "horizon": 60}), left, 60)


# --- Live ---------------------------------------------------------------------------------------------------------------------


def fed(policy: Policy, rewards: dict[Any, list[float]]) -> Bandit:
    """A bandit that was told these rewards of its arms, in turn."""
    bandit = Bandit(policy, arms=rewards, seed=0)
    for k in range(max(map(len, rewards.values()))):
        for arm, paid in rewards.items():
            if k < len(paid):
                bandit.update(arm, paid[k])
    return bandit


def test_explain_shows_the_estimated_widths() -> None:
    rng = np.random.default_rng(0)
    rewards = {"loud": (10 * rng.normal(size=30)).tolist(), "quiet": rng.normal(size=30).tolist()}
    bandit = fed(make("ucb1", sigma="estimate"), rewards)
    for i, arm in enumerate(rewards):
        width = estimated_sigma(list(rewards.values()), i) * math.sqrt(2 * math.log(61) / 30)
        assert bandit.explain()[arm].width == pytest.approx(width, rel=1e-14)
    assert bandit.explain()["loud"].width > 1.1 * bandit.explain()["quiet"].width


@pytest.mark.parametrize("policy", ESTIMATED, ids=by_name)
def test_arms_come_and_go(policy: Policy) -> None:
    """A removed arm takes its differences with it, and a new one starts from the pool of the others."""
    table = (tables(3, 20)["coins"] * 3).tolist()  # whole numbers: sums are exact in any order
    rounds = 20 if policy.name != "glr-ucb" else 3  # no alarm so early
    without = fed(policy, {"a": table[0][:rounds], "b": table[1][:rounds]})
    bandit = fed(policy, {"a": table[0][:rounds], "b": table[1][:rounds], "c": [1000.0 * x for x in table[2][:rounds]]})
    noise = bandit._state.learner.state.noise
    bandit.remove_arm("c")
    assert noise.pool.tolist() == without._state.learner.state.noise.pool.tolist()
    assert noise.pairs.tolist() == without._state.learner.state.noise.pairs.tolist()
    bandit.add_arm("d")
    without.add_arm("d")
    for each in (bandit, without):
        assert each.pull() == "d"
        each.update("d", 1.0)
    for name, array in flatten(bandit._state.learner.state.noise).items():
        assert array.tolist() == flatten(without._state.learner.state.noise)[name].tolist(), name


# --- Theory -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["raw-ucb", "eff-raw-ucb", "fewa", "eff-fewa"])
def test_no_theorem_covers_it(name: str) -> None:
    policy, problem = make(name, alpha=5, sigma="estimate"), two_arms(1.0, 100)
    refused = r"^sigma must be given for the theorems of [\w-]+, got 'estimate', which none covers$"
    assert theory.bounds(problem, make(name, alpha=5))
    assert not theory.bounds(problem, policy)
    (why,) = {*theory.bounds(problem, policy).why_not.values()} - {"means follow the pulls"}
    assert re.match(refused, why)
    for compute in (theory.constant, lambda each: theory.unfavourable(each, 10, 2)):
        with pytest.raises(ValueError, match=refused):
            compute(policy)
