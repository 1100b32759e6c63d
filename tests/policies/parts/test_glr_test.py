"""The GLR test on the vertices of two hulls raises the alarms of the scan of all splits."""

from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import pytest

from rotting.common.arrays import Floats
from rotting.policies import glr_kl_ucb, glr_ucb
from rotting.policies.glr_kl_ucb import GLRKLUCB
from rotting.policies.glr_ucb import GLRUCB
from rotting.policies.parts.glr_test import discard_samples, glr_test, record_sample
from rotting.policies.parts.hull import enlarged, new_stacks, pulls
from tests.conftest import INTERPRETED
from tests.helpers.detection import alarms, dyadic
from tests.reference import detectors


def statistics(bernoulli: bool, sigma: float, xs: Floats) -> Floats:
    """Of every split, by NumPy; sums are exact where the samples are dyadic."""
    n = xs.size
    sums, k = np.cumsum(xs)[:-1], np.arange(1, n)
    left, right, overall = sums / k, (xs.sum() - sums) / (n - k), xs.sum() / n
    if bernoulli:
        with np.errstate(all="ignore"):
            kls = [np.where(x > 0, x * np.log(x / overall), 0.0) for x in (left, right)]
            kls = [
                a + np.where(x < 1, (1 - x) * np.log((1 - x) / (1 - overall)), 0.0)
                for a, x in zip(kls, (left, right), strict=True)
            ]
    else:
        kls = [(x - overall) ** 2 / (2 * sigma**2) for x in (left, right)]
    return np.asarray(k * kls[0] + (n - k) * kls[1])


def full_scan(policy: Any, samples: Floats) -> list[int]:
    """The sample numbers at which a single arm restarts, over every split."""
    bernoulli = isinstance(policy, GLRKLUCB)
    kind = "theory" if policy.shown_params()["threshold"] == "theory" else "bernoulli" if bernoulli else "gaussian"
    found: list[int] = []
    start = 0
    for t in range(1, len(samples) + 1):
        xs = np.asarray(samples[start:t])
        if xs.size < 2:
            continue
        most = np.max(statistics(bernoulli, 1.0 if bernoulli else policy.sigma, xs))
        if most >= detectors.glr_threshold(kind, xs.size, policy.delta):
            found.append(t)
            start = t
    return found


@pytest.mark.parametrize("threshold", ["practical", "theory"])
@pytest.mark.parametrize("scale", [1.0, 0.3, 0.05])
def test_glr_alarms_are_those_of_the_full_scan(scale: float, threshold: Literal["practical", "theory"]) -> None:
    """False alarms are likely at delta = 1 and a small sigma."""
    length = 150 if INTERPRETED else 2500
    drift = scale * np.sin(np.arange(length) / 300)
    samples = dyadic(1, (length,)) + np.round(drift * 2**20) / 2**20
    fired = 0
    for offset in (0.0, 2.0**20, -(2.0**30)):
        policy = GLRUCB(sigma=0.4 if threshold == "practical" else 0.15, delta=1.0, threshold=threshold)
        expected = full_scan(policy, samples + offset)
        assert alarms(policy, samples + offset) == expected
        fired += len(expected)
    unit = np.clip(np.round((samples + 2) / 4 * 2**20) / 2**20, 0, 1)
    for xs in (unit, np.where(unit > 0.5, 1.0, 0.0), np.where(unit > 0.7, 1.0, 0.0)):
        bernoulli = GLRKLUCB(delta=1.0, threshold=threshold)
        expected = full_scan(bernoulli, xs)
        assert alarms(bernoulli, xs) == expected
        fired += len(expected)
    assert fired > 0 or scale < 1.0 or INTERPRETED


@pytest.mark.parametrize("falls", [True, False])
def test_long_hulls_raise_the_alarms_of_the_full_scan(falls: bool) -> None:
    """Samples that fall, or rise, steadily: every split is a vertex of one of the hulls."""
    time = np.arange(120 if INTERPRETED else 500)
    samples = (-1.0 if falls else 1.0) * time / 64
    for sigma in (0.05, 0.5, 5.0):
        policy = GLRUCB(sigma=sigma)
        assert alarms(policy, samples) == full_scan(policy, samples)
    unit = np.abs(samples) / 8 if not falls else 1.0 - np.abs(samples) / 8
    bernoulli = GLRKLUCB(delta=0.5)
    assert alarms(bernoulli, np.clip(unit, 0.0, 1.0)) == full_scan(bernoulli, np.clip(unit, 0.0, 1.0))


THRESHOLDS = {"gaussian": glr_ucb.practical, "bernoulli": glr_kl_ucb.practical, "theory": glr_ucb.theory}


@pytest.mark.parametrize("name", THRESHOLDS)
@pytest.mark.parametrize("delta", [1.0, 0.5, 1e-2, 1e-10, 1e-300])
def test_what_is_kept_of_a_threshold_is_below_it_until_it_is_renewed(name: str, delta: float) -> None:
    """`beta(n) / (1 + 1 / n)` is not above the beta of more samples; beta itself can fall at first."""
    beta = THRESHOLDS[name]
    for n in [2**k for k in range(1, 12)]:
        kept = beta(n, delta) / (1.0 + 1.0 / n)
        assert kept > 0.0
        for more in [*range(n, 2 * n), 2**20, 2**40]:
            assert kept <= beta(more, delta) * (1.0 + 1e-15), (n, more)


def test_a_threshold_that_falls_is_met_when_it_has_fallen() -> None:
    """With a tiny delta, the Gaussian threshold falls while the first samples come."""
    delta = 1e-300
    assert glr_ucb.practical(2, delta) > 1.3 * glr_ucb.practical(10, delta)
    late = 0
    for size in range(20, 60):
        policy = GLRUCB(delta=delta, sigma=1.0)
        samples = np.array([0.0] * 6 + [float(size)] + [size / 2] * 3 + [float(size)] * 10)
        expected = full_scan(policy, samples)
        assert alarms(policy, samples) == expected
        late += bool(expected) and expected[0] > 7
    assert late > 5


P: Any = SimpleNamespace(sigma=0.5)
KINDS = {"gaussian": glr_ucb, "bernoulli": glr_kl_ucb}


def given_threshold(p: Any, n: int, delta: float) -> float:
    return delta


def no_unit(p: Any, s: Any, i: int) -> float:
    return 1.0


def new_samples(capacity: int) -> Any:
    return SimpleNamespace(
        upper=new_stacks(1, capacity), lower=new_stacks(1, capacity), least=np.zeros(1), full=np.zeros(1, np.int64)
    )


def fires_at_the_end(part: Any, xs: Floats, threshold: float) -> bool:
    """Whether the last of the samples raises the alarm; a test that is not asked after every sample knows no threshold."""
    fires, state, fired = glr_test(part.kl, part.curvature, given_threshold, no_unit), new_samples(4 * len(xs) + 64), False
    for x in xs:
        assert record_sample(state, 0, float(x))
        fired = fires(P, state, 0, threshold)
    return fired


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
    for seed in range(1 if INTERPRETED else 3):
        xs = samples(ones, rest, share, seed)
        most = largest_statistic(part.kl, xs)
        assert most > 0.0
        assert fires_at_the_end(part, xs, most * (1 - 1e-12))
        assert not fires_at_the_end(part, xs, most * (1 + 1e-12))


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(("first", "rest"), [(64, 192), (8, 100), (100, 412)])
def test_it_fires_where_a_split_and_the_mean_have_opposite_signs(sign: float, first: int, rest: int) -> None:
    xs = sign * np.concatenate([np.ones(first), -np.ones(rest)])
    most = largest_statistic(glr_ucb.kl, xs)
    assert fires_at_the_end(glr_ucb, xs, most * (1 - 1e-12))
    assert not fires_at_the_end(glr_ucb, xs, most * (1 + 1e-12))


@pytest.mark.parametrize("falls", [True, False])
def test_a_sample_without_room_is_not_observed(falls: bool) -> None:
    """Whichever of the hulls is the long one."""
    s = new_samples(32)
    for seen in range(200):
        sample = -float(seen) if falls else float(seen)
        while not record_sample(s, 0, sample):
            assert s.full[0] == 1
            assert [s.upper.size[0], s.lower.size[0]].count(2) == 1  # the line, as it was
            capacity = 2 * s.upper.start.size
            s.upper, s.lower, s.full[0] = enlarged(s.upper, capacity), enlarged(s.lower, capacity), 0
        assert [pulls(s.upper, 0), pulls(s.lower, 0)] == [seen + 1, seen + 1]
    assert sorted((int(s.upper.size[0]), int(s.lower.size[0]))) == [2, 201]
    discard_samples(s, 0)
    assert (s.upper.size[0], s.lower.size[0]) == (0, 0)
