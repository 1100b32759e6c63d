"""The GLR test skips only what cannot raise the alarm."""

from typing import Any

import numpy as np
import pytest

from rotting.common.arrays import Floats
from rotting.policies.glr_kl_ucb import GLRKLUCB
from rotting.policies.glr_ucb import GLRUCB
from tests.conftest import INTERPRETED
from tests.helpers.detection import alarms, dyadic
from tests.reference import detectors


def full_scan(policy: Any, samples: Floats) -> list[int]:
    """The same by NumPy, over every split; sums are exact because the samples are dyadic."""
    bernoulli = isinstance(policy, GLRKLUCB)
    sigma = 1.0 if bernoulli else policy.sigma
    found: list[int] = []
    start = 0
    for t in range(1, len(samples) + 1):
        xs = np.asarray(samples[start:t])
        n = xs.size
        if n < 2:
            continue
        sums, k = np.cumsum(xs)[:-1], np.arange(1, n)
        left, right, whole = sums / k, (xs.sum() - sums) / (n - k), xs.sum() / n
        if bernoulli:
            with np.errstate(all="ignore"):
                kls = [np.where(x > 0, x * np.log(x / whole), 0.0) for x in (left, right)]
                kls = [
                    a + np.where(x < 1, (1 - x) * np.log((1 - x) / (1 - whole)), 0.0)
                    for a, x in zip(kls, (left, right), strict=True)
                ]
        else:
            kls = [(x - whole) ** 2 / (2 * sigma**2) for x in (left, right)]
        if np.max(k * kls[0] + (n - k) * kls[1]) >= detectors.glr_threshold(
            "bernoulli" if bernoulli else "gaussian", n, policy.delta
        ):
            found.append(t)
            start = t
    return found


@pytest.mark.parametrize("scale", [1.0, 0.3, 0.05])
def test_glr_alarms_are_those_of_the_full_scan(scale: float) -> None:
    """Long enough for blocks of several levels; false alarms are likely at delta = 1 and a small sigma."""
    length = 150 if INTERPRETED else 2500
    drift = scale * np.sin(np.arange(length) / 300)
    samples = dyadic(1, (length,)) + np.round(drift * 2**20) / 2**20
    fired = 0
    for offset in (0.0, 2.0**20, -(2.0**30)):
        policy = GLRUCB(sigma=0.4, delta=1.0)
        expected = full_scan(policy, samples + offset)
        assert alarms(policy, samples + offset) == expected
        fired += len(expected)
    unit = np.clip(np.round((samples + 2) / 4 * 2**20) / 2**20, 0, 1)
    for xs in (unit, np.where(unit > 0.5, 1.0, 0.0), np.where(unit > 0.7, 1.0, 0.0)):
        bernoulli = GLRKLUCB(delta=1.0)
        expected = full_scan(bernoulli, xs)
        assert alarms(bernoulli, xs) == expected
        fired += len(expected)
    assert fired > 0 or scale < 1.0 or INTERPRETED
