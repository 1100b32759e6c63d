"""The GLR test skips only what cannot raise the alarm."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rotting.common.arrays import Floats
from rotting.parts.glr_test import glr_test
from rotting.parts.prefix_blocks import new_history, record
from rotting.policies import glr_kl_ucb, glr_ucb
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


P: Any = SimpleNamespace(sigma=0.5)
KINDS = {"gaussian": glr_ucb, "bernoulli": glr_kl_ucb}


def samples(ones: int, rest: int, share: float, seed: int) -> Floats:
    """Ones, and then ones and zeros: where the divergence of the first part comes close to its bound."""
    drawn = (np.random.default_rng(seed).random(rest) < share).astype(float)
    drawn[rest // 2] = 0.0  # at least one
    return np.concatenate([np.ones(ones), drawn])


def largest_statistic(kl: Any, xs: Floats) -> float:
    """Of all splits; coins have exact sums."""
    n, mean = len(xs), float(xs.sum()) / len(xs)
    splits = [(k, float(xs[:k].sum()) / k, float(xs[k:].sum()) / (n - k)) for k in range(1, n)]
    return float(max(k * kl(P, left, mean) + (n - k) * kl(P, right, mean) for k, left, right in splits))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("ones", "rest"), [(40, 400), (150, 300), (9, 120), (64, 448)])
@pytest.mark.parametrize("share", [0.5, 0.9, 0.97, 0.99])
def test_it_fires_at_the_largest_statistic_and_not_above(kind: str, ones: int, rest: int, share: float) -> None:
    part: Any = KINDS[kind]
    fires = glr_test(part.kl, part.curvature)
    for seed in range(3):
        xs = samples(ones, rest, share, seed)
        state = new_history(1, len(xs))
        for x in xs:
            record(state, 0, float(x))
        most = largest_statistic(part.kl, xs)
        assert most > 0.0
        assert fires(P, state, 0, most * (1 - 1e-12), 1)
        assert not fires(P, state, 0, most * (1 + 1e-12), 1)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(("first", "rest"), [(64, 192), (8, 100), (100, 412)])
def test_it_fires_where_a_block_and_the_mean_have_opposite_signs(sign: float, first: int, rest: int) -> None:
    xs = sign * np.concatenate([np.ones(first), -np.ones(rest)])
    state = new_history(1, len(xs))
    for x in xs:
        record(state, 0, float(x))
    most = largest_statistic(glr_ucb.kl, xs)
    fires = glr_test(glr_ucb.kl, glr_ucb.curvature)
    assert fires(P, state, 0, most * (1 - 1e-12), 1)
    assert not fires(P, state, 0, most * (1 + 1e-12), 1)
