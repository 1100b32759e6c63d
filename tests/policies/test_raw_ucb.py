"""RAW-UCB: Algorithm 1, the index by hand, and what the tightest window is good for."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.live.bandit import Bandit
from rotting.policies.raw_ucb import RAWUCB
from tests.reference import windows

Naive = windows.RAWUCB  # what the common tests compare the policy with

REWARDS = st.lists(st.sampled_from([0.0, 0.1, 1.0, -1.0, 1 / 3, 1e6]), min_size=1, max_size=30)


@given(rewards=REWARDS, alpha=st.sampled_from([0.06, 1.4, 4.0]), sigma=st.sampled_from([0.3, 1.0]))
def test_the_index_is_the_least_upper_bound_of_all_windows(rewards: list[float], alpha: float, sigma: float) -> None:
    """`min over h <= N of mean^h + sigma sqrt(2 alpha ln t / h)`, the mean over the last h rewards."""
    bandit = Bandit(RAWUCB(alpha=alpha, sigma=sigma), arms=["a"])
    for reward in rewards:
        bandit.update("a", reward)
    t = len(rewards) + 1
    bounds = {
        h: math.fsum(rewards[-h:]) / h + sigma * math.sqrt(2 * alpha * math.log(t) / h) for h in range(1, len(rewards) + 1)
    }
    reason = bandit.explain()["a"]
    assert reason.index == pytest.approx(min(bounds.values()), rel=1e-12, abs=1e-12)
    assert bounds[reason.window] == pytest.approx(reason.index, rel=1e-12, abs=1e-12)


def test_an_arm_that_drops_is_left_after_few_pulls() -> None:
    """Its last rewards alone count, however long it paid before: pulls after the drop do not grow with those before."""
    after = []
    for before in (50, 400):
        bandit = Bandit(RAWUCB(sigma=0.1), arms=["falls", "stays"])
        pulls = {"falls": 0, "stays": 0}
        for _ in range(2 * before):
            arm = str(bandit.pull())
            bandit.update(arm, (1.0 if pulls[arm] < before else -1.0) if arm == "falls" else 0.0)
            pulls[arm] += 1
        after.append(pulls["falls"] - before)
    assert after[0] == after[1] < 10
