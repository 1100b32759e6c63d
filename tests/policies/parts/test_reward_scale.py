"""Rewards in a declared range, mapped to [0, 1] and back."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rotting.errors import InvalidValueError
from rotting.live.bandit import Bandit
from rotting.policies.parts.reward_scale import declared_range, in_reward_units, to_policy_scale, to_unit
from rotting.policy import Policy, Reason
from rotting.problems import Problem
from rotting.problems.noise import Binomial, Gaussian, Noise
from rotting.registry import make
from rotting.simulation.plan import Simulation
from tests.helpers.games import examples

ENDS = st.floats(-1e6, 1e6)


@given(low=ENDS, high=ENDS, reward=ENDS, other=ENDS)
def test_the_range_is_mapped_to_the_unit_interval_in_order(low: float, high: float, reward: float, other: float) -> None:
    assume(low < high)
    assert to_unit(low, high, low) == 0.0
    assert to_unit(low, high, high) == 1.0
    assert 0.0 <= to_unit(low, high, reward) <= 1.0
    assert to_unit(low, high, min(reward, other)) <= to_unit(low, high, max(reward, other))
    assert (to_unit(low, high, reward) == 0.0) >= (reward <= low)
    assert (to_unit(low, high, reward) == 1.0) >= (reward >= high)


@given(st.integers(0, 2**10))
def test_what_is_thought_comes_back_in_rewards(k: int) -> None:
    """Dyadic numbers, so that nothing is rounded."""
    p = make("kl-ucb", low=-4, high=12).params
    reward = -4 + 16 * k / 2**10
    unit = to_policy_scale(p, reward)
    assert in_reward_units(p, Reason(unit, unit, 3, 0.25)) == Reason(reward, reward, 3, 4.0)


def test_gaussian_rewards_stay_as_they_are() -> None:
    p = make("kl-ucb", kind="gaussian").params
    assert to_policy_scale(p, 1e6) == 1e6
    assert in_reward_units(p, Reason(7.0, 6.0, 3, 1.0)) == Reason(7.0, 6.0, 3, 1.0)


def test_a_range_is_declared_unless_it_does_not_matter() -> None:
    assert declared_range(make("kl-ucb", low=-1, high=2)) == (-1.0, 2.0)
    assert declared_range(make("kl-ucb", outside="clip")) is None
    assert declared_range(make("kl-ucb", kind="gaussian")) is None


@pytest.mark.parametrize("policy", [each for each in examples() if "low" in each.shown_params()], ids=lambda each: each.name)
def test_no_policy_takes_an_empty_range(policy: Policy) -> None:
    needed = {each.name: 1_000 for each in policy.parameters() if each.required}
    with pytest.raises(ValueError, match=r"low must be below high, got low=2.0 and high=1.0"):
        make(policy.name, **needed, low=2, high=1)


DECLARED = [each for each in examples() if each.reward_range is not None]


@pytest.mark.parametrize(("noise", "bounded"), [(Gaussian(0.5), False), (Binomial(3), True)], ids=["gaussian", "binomial"])
@pytest.mark.parametrize("policy", DECLARED, ids=lambda each: each.name)
def test_a_refusal_names_all_that_lets_the_policy_take_the_rewards(policy: Policy, noise: Noise, bounded: bool) -> None:
    problem = Problem.rested([[1.0, 0.5], [0.5, 0.5]], noise=noise)
    remedies: dict[str, dict[str, str | float]] = {
        "low and high": {"low": 0.0, "high": 3.0},
        "kind='gaussian'": {"kind": "gaussian"},
        "outside='clip'": {"outside": "clip"},
    }
    refusals = []
    with pytest.raises(InvalidValueError, match="rewards must be in ") as simulated:
        Simulation(policy, problem, runs=1)
    refusals.append((str(simulated.value), bounded))
    with pytest.raises(InvalidValueError, match="reward must be in ") as live:
        Bandit(policy, arms=["a"]).update("a", 2.5)
    refusals.append((str(live.value), True))
    for text, has_ends in refusals:
        named = {name for name in remedies if name in text.partition("; give ")[2]}
        assert ("low and high" in named) == has_ends
        assert ("kind='gaussian'" in named) == ("kind" in policy.shown_params())
        assert "outside='clip'" in named
        for name in named:
            mended = make(policy.name, **{**policy.shown_params(), **remedies[name]})
            if has_ends == bounded:
                Simulation(mended, problem, runs=1)
            Bandit(mended, arms=["a"]).update("a", 2.5)
