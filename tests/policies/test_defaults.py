"""The defaults and flags of policies, and what they say about arms without rewards.

`defaults.json` guards the defaults and flags of released policies. `make record` adds those of new policies.
"""

import json
import math
import pickle
from pathlib import Path
from typing import Any

import pytest

from rotting.live import policy_state as states
from rotting.live.bandit import Bandit
from rotting.policies.exp3 import Exp3
from rotting.policies.exp3_s import Exp3S
from rotting.policies.parts.doubling import doubling
from rotting.policies.rexp3 import Rexp3
from rotting.policies.sw_ucb import SWUCB
from rotting.policies.swa import SWA
from rotting.policy import Policy
from rotting.registry import make
from tests.helpers.games import examples, learners

FLAGS = ("sees_means", "first_pulls", "needs_horizon", "needs_changes", "randomised", "rested", "restless")

RECORDED = Path(__file__).with_name("defaults.json")
EXPECTED: dict[str, dict[str, Any]] = json.loads(RECORDED.read_text("utf-8"))
LEARNERS = [policy for policy in examples() if not policy.sees_means]


def defaults_and_flags(policy: Policy) -> dict[str, Any]:
    return {
        "defaults": {each.name: each.default for each in policy.parameters() if not each.required},
        "flags": sorted(flag for flag in FLAGS if getattr(policy, flag)),
    }


@pytest.mark.parametrize("policy", [each for each in examples() if each.name in EXPECTED], ids=lambda policy: policy.name)
def test_defaults_and_flags(policy: Policy) -> None:
    assert defaults_and_flags(policy) == EXPECTED[policy.name]


def test_no_policy_has_been_removed() -> None:
    assert {*EXPECTED} <= {policy.name for policy in examples()}


@pytest.mark.parametrize("policy", [Exp3(horizon=9), Exp3S(horizon=9), Rexp3(horizon=9), SWUCB(horizon=9), SWA(horizon=9)])
def test_a_doubled_policy_is_flagged_as_the_policy_but_for_what_doubling_changes(policy: Policy) -> None:
    doubled = doubling(policy)
    assert {flag for flag in FLAGS if getattr(doubled, flag)} == set(EXPECTED[policy.name]["flags"]) - {
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


@pytest.mark.parametrize("policy", examples(), ids=lambda policy: policy.name)
def test_sigma_is_1_unless_rewards_have_a_declared_range(policy: Policy) -> None:
    """One rule for all policies; `noise_scale.py` states it."""
    defaults = {each.name: each.default for each in policy.parameters()}
    if "B" in defaults:
        assert (defaults["sigma"], defaults["B"]) == ("range", 1.0)
    elif "sigma" in defaults:
        assert defaults["sigma"] == 1.0
    if "low" in defaults:
        assert (defaults["low"], defaults["high"]) == (0.0, 1.0)
        assert "sigma" not in defaults or defaults["kind"] != "gaussian"


def test_a_policy_knows_whether_it_was_told_the_scale_of_the_noise() -> None:
    assumed = {policy: policy.assumed_sigma for policy in (make("ucb1"), make("kl-ucb", kind="gaussian"), make("sw-ucb"))}
    assert list(assumed.values()) == [1.0, 1.0, 0.5]
    told = [make("ucb1", sigma=1.0), make("sw-ucb", B=1.0), make("sw-ucb", sigma="range"), make("raw-ucb", sigma="estimate")]
    without = [make("kl-ucb"), make("exp3"), make("swa"), make("uniform"), pickle.loads(pickle.dumps(make("ucb1")))]
    assert {policy.assumed_sigma for policy in (*told, *without)} == {None}
    assert make("swa", horizon=9).assumed_sigma == 1.0
    assert make("ucb1") == make("ucb1", sigma=1.0)


def test_a_horizon_of_one_round_is_a_horizon() -> None:
    """Where the formula has its own value for it, other than the parameter's default."""
    assert states.new_state(Exp3(horizon=1), 2, 1).rates[0] == math.sqrt(2 * math.log(2) / (math.e - 1))
    assert states.new_state(SWUCB(horizon=1), 2, 1).recent.tau[0] == 1
    assert states.new_state(SWA(horizon=1), 2, 1).window[0] == 1


if __name__ == "__main__":
    found = {policy.name: defaults_and_flags(policy) for policy in examples()}
    RECORDED.write_text(json.dumps({**found, **EXPECTED}, indent=2, sort_keys=True) + "\n", "utf-8")
