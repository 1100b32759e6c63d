"""The test that skips splits fires at the very threshold at which the scan of all splits does."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rotting.common.arrays import Floats
from rotting.parts.glr_test import glr_test
from rotting.parts.prefix_blocks import new_history, record
from rotting.policies import glr_kl_ucb, glr_ucb

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
