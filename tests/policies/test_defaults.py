"""What a policy is when nothing is said: its defaults and its flags, and what it says of arms that it knows nothing of."""

import math
from typing import Any

import pytest

from rotting.live import policy_state as states
from rotting.live.bandit import Bandit
from rotting.parts.doubling import doubling
from rotting.policies.exp3 import Exp3
from rotting.policies.exp3_s import Exp3S
from rotting.policies.rexp3 import Rexp3
from rotting.policies.sw_ucb import SWUCB
from rotting.policies.swa import SWA
from rotting.policy import Policy
from rotting.registry import list_policies
from tests.helpers.games import examples, learners

UNIT = {"low": 0.0, "high": 1.0, "outside": "refuse"}
BETA = {"kind": "beta", "a": 1.0, "b": 1.0, "sigma": 1.0, **UNIT}
GLR = {"rate": 0.0, "restart": "local", "c": 3.0, "threshold": "practical", "horizon": 0}
FLAGS = ("sees_means", "first_pulls", "needs_horizon", "needs_changes", "randomised", "rested", "restless")

# The defaults are those that the documentation of each policy gives the reasons for.
EXPECTED: dict[str, tuple[dict[str, Any], str]] = {
    "ad-switch": ({"C1": 16.1, **UNIT}, "first_pulls needs_horizon randomised restless"),
    "cusum-ucb": (
        {"h": 10.0, "rate": 0.021, "M": 100, "epsilon": 0.1, "xi": 1.0, "restart": "local"}
        | {"horizon": 0, "breakpoints": 1, **UNIT},
        "first_pulls needs_horizon needs_changes randomised restless",
    ),
    "d-ucb": (
        {"gamma": 0.999, "xi": 0.6, "B": 1.0, "horizon": 0, "breakpoints": 1, "sigma": "range"},
        "first_pulls needs_horizon needs_changes restless",
    ),
    "discounted-ts": ({"gamma": 0.999, **BETA}, "first_pulls needs_changes randomised restless"),
    "eff-fewa": ({"alpha": 0.06, "sigma": 1.0, "m": 2.0}, "first_pulls rested restless"),
    "eff-raw-ucb": ({"alpha": 1.4, "sigma": 1.0, "m": 2.0}, "first_pulls rested restless"),
    "eff-raw-ucb-pp": ({"alpha": 1.4, "beta": 0.0, "sigma": 1.0, "m": 2.0}, "first_pulls rested restless"),
    "exp3": ({"gamma": 0.1, "horizon": 0, **UNIT}, "needs_horizon randomised"),
    "exp3-s": (
        {"gamma": 0.1, "alpha": 0.001, "horizon": 0, "segments": 0, "budget": 0.0, **UNIT},
        "needs_horizon randomised restless",
    ),
    "fewa": ({"alpha": 0.06, "sigma": 1.0}, "first_pulls rested restless"),
    "glr-kl-ucb": ({"delta": 0.01, **GLR, **UNIT}, "first_pulls needs_horizon restless"),
    "glr-ucb": ({"delta": 0.01, "sigma": 1.0, "bound": "gaussian", **GLR}, "first_pulls needs_horizon restless"),
    "greedy-oracle": ({}, "sees_means rested restless"),
    "kl-ucb": ({"kind": "bernoulli", "c": 0.0, "sigma": 1.0, **UNIT}, "first_pulls"),
    "m-ucb": (
        {"w": 200, "b": 46.0, "gamma": 0.05, "horizon": 0, "breakpoints": 1, "change": 0.0, **UNIT},
        "first_pulls needs_horizon needs_changes restless",
    ),
    "raw-kl-ucb": ({"kind": "bernoulli", "alpha": 1.4, "sigma": 1.0, **UNIT}, "first_pulls rested restless"),
    "raw-ucb": ({"alpha": 1.4, "sigma": 1.0}, "first_pulls rested restless"),
    "raw-ucb-pp": ({"alpha": 1.4, "beta": 0.0, "sigma": 1.0}, "first_pulls rested restless"),
    "rexp3": (
        {"gamma": 0.1, "batch": 1000, "horizon": 0, "budget": 1.0, **UNIT},
        "needs_horizon needs_changes randomised restless",
    ),
    "sliding-window-ts": ({"tau": 1000, **BETA}, "first_pulls needs_changes randomised restless"),
    "sw-ucb": (
        {"tau": 1000, "xi": 0.6, "B": 1.0, "horizon": 0, "breakpoints": 1, "sigma": "range"},
        "first_pulls needs_horizon needs_changes restless",
    ),
    "swa": ({"M": 20, "horizon": 0, "alpha": 0.2, "sigma": 1.0}, "first_pulls needs_horizon rested"),
    "thompson-sampling": (BETA, "first_pulls randomised"),
    "ucb1": ({"sigma": 1.0}, "first_pulls"),
    "uniform": ({}, "randomised"),
    "wswa": ({"alpha": 0.2, "sigma": 1.0}, "rested"),
}
LEARNERS = [policy for policy in examples() if not policy.sees_means]


def test_the_table_has_every_policy() -> None:
    assert {policy.name for policy in examples()} == set(EXPECTED)
    assert set(EXPECTED) <= {each.name for each in list_policies()}


@pytest.mark.parametrize("policy", examples(), ids=lambda policy: policy.name)
def test_defaults_and_flags(policy: Policy) -> None:
    defaults = {each.name: each.rule.show(each.default) for each in policy.parameters() if not each.required}
    assert (defaults, {flag for flag in FLAGS if getattr(policy, flag)}) == (
        EXPECTED[policy.name][0],
        set(EXPECTED[policy.name][1].split()),
    )


@pytest.mark.parametrize("policy", [Exp3(horizon=9), Exp3S(horizon=9), Rexp3(horizon=9), SWUCB(horizon=9), SWA(horizon=9)])
def test_a_doubled_policy_is_flagged_as_the_policy_but_for_what_doubling_changes(policy: Policy) -> None:
    doubled = doubling(policy)
    assert {flag for flag in FLAGS if getattr(doubled, flag)} == set(EXPECTED[policy.name][1].split()) - {
        "needs_horizon",
        "first_pulls",  # they come again with every epoch
    }
    assert str(type(doubled).__doc__).startswith(f"{type(policy).__name__} in epochs of doubling length")
    assert type(doubled).__name__ == f"Doubled{type(policy).__name__}"


@pytest.mark.parametrize("policy", learners(), ids=lambda policy: policy.name)
def test_an_arm_that_was_never_pulled_has_no_mean_and_no_window(policy: Policy) -> None:
    """Its bound, where there is one, is infinite."""
    bandit = Bandit(policy, arms=["known", "new"])
    for reward in (0.5, 0.25):
        bandit.update("known", reward)
    explained = bandit.explain()["new"]
    assert (explained.window, explained.pulls) == (0, 0)
    assert math.isnan(explained.mean)
    assert all(value == math.inf or math.isnan(value) for value in (explained.index, explained.width))


@pytest.mark.parametrize("policy", learners(), ids=lambda policy: policy.name)
def test_an_index_is_a_mean_and_a_width(policy: Policy) -> None:
    bandit = Bandit(policy, arms=["a", "b"])
    for k in range(30):
        bandit.update("ab"[k % 3 == 0], k % 4 / 4)
    for each in bandit.explain().values():
        if math.isfinite(each.index) and math.isfinite(each.width):
            assert each.index == pytest.approx(each.mean + each.width, rel=1e-12)
            assert each.width >= 0.0


def test_a_horizon_of_one_round_is_a_horizon() -> None:
    """Where the formula has its own value for it, other than the parameter's default."""
    assert states.new_state(Exp3(horizon=1), 2, 1).rates[0] == math.sqrt(2 * math.log(2) / (math.e - 1))
    assert states.new_state(SWUCB(horizon=1), 2, 1).recent.tau[0] == 1
    assert states.new_state(SWA(horizon=1), 2, 1).window[0] == 1
