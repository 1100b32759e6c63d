"""M-UCB: it fires within its window."""

import numpy as np

from rotting.policies.m_ucb import MUCB
from tests.conftest import INTERPRETED
from tests.helpers.detection import alarms
from tests.reference import detectors

Naive = detectors.MUCB  # what the common tests compare the policy with

STATIONARY = 10_000  # samples of one arm


def test_m_ucb_fires_within_its_window_and_not_else() -> None:
    """By Hoeffding's inequality, the tuned b has a false alarm with a chance below 1 / (K T^2) = 1e-8 a sample; fixed seeds."""
    policy = MUCB(horizon=STATIONARY, breakpoints=1, change=0.6)
    w = detectors.mucb_w(1, STATIONARY, 0.6)
    length = w + 200
    for seed, (before, after) in enumerate([(0.8, 0.2), (0.2, 0.8)]):
        rng = np.random.default_rng(seed)
        means = np.where(np.arange(length + w) < length, before, after)
        found = alarms(policy, np.clip(means + 0.2 * rng.normal(size=length + w), 0, 1))
        assert len(found) == 1
        assert length < found[0] <= length + w
    size = 2 * w if INTERPRETED else STATIONARY
    assert alarms(policy, np.where(np.random.default_rng(5).random(size) < 0.5, 1.0, 0.0)) == []
