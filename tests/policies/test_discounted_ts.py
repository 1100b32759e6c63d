"""DiscountedTS: what a reward still counts after so many rounds."""

import pytest

from rotting.live.bandit import Bandit
from rotting.policies.discounted_ts import DiscountedTS
from tests.reference import thompson

Naive = thompson.DiscountedTS  # what the common tests compare the policy with


@pytest.mark.parametrize("gamma", [0.5, 0.9, 1.0])
def test_a_success_fades_from_the_posterior(gamma: float) -> None:
    """Beta(1 + gamma^k, 1) after a success and k rounds of another arm: its mean is `(1 + gamma^k) / (2 + gamma^k)`."""
    bandit = Bandit(DiscountedTS(gamma=gamma), arms=["a", "b"])
    bandit.update("a", 1.0)
    for k in range(10):
        assert bandit.explain()["a"].mean == pytest.approx((1 + gamma**k) / (2 + gamma**k), rel=1e-14)
        bandit.update("b", 0.0)
