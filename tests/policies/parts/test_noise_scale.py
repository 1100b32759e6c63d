"""The scale of the noise: the estimate of the lists of rewards, never 0, NaN or infinite, with arms that come and go."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.policies.kernels.policy_functions import flatten
from rotting.policies.parts.noise_scale import (
    NoiseScale,
    forget_noise,
    given_sigma,
    is_estimated,
    new_noise_scale,
    observe_noise,
    prior_pairs,
    range_of,
    reset_noise,
    scale_of,
    sigma_of,
)
from rotting.registry import make
from tests.reference.noise import PRIOR_PAIRS, estimated_sigma

P = make("ucb1", sigma="estimate").params
GIVEN = make("ucb1", sigma=0.3).params

REWARDS = st.sampled_from([0.0, 1.0, 0.1, 1 / 3, -2.5, 7.0, 1e6])
EXTREMES = st.sampled_from([0.0, 1e-200, -1e-200, 2e-162, 5e-324, 1e-12, 0.1, 1.0, 1e80, 1e100, -1e100])


def games(rewards: st.SearchStrategy[float]) -> st.SearchStrategy[list[tuple[int, float]]]:
    """Pulls of three arms, and what they paid."""
    return st.lists(st.tuples(st.integers(0, 2), rewards), max_size=60)


def observed(game: Sequence[tuple[int, float]], n_arms: int = 3) -> NoiseScale:
    s = new_noise_scale(n_arms)
    for i, reward in game:
        observe_noise(P, s, i, reward)
    return s


def lists(game: Sequence[tuple[int, float]], n_arms: int = 3) -> list[list[float]]:
    return [[reward for i, reward in game if i == arm] for arm in range(n_arms)]


def test_the_reference_has_the_same_weight_of_the_pool() -> None:
    assert prior_pairs() == PRIOR_PAIRS


@given(games(REWARDS))
def test_the_estimate_is_that_of_the_lists(game: list[tuple[int, float]]) -> None:
    s = observed(game)
    for i in range(3):
        assert scale_of(P, s, i) == pytest.approx(estimated_sigma(lists(game), i), rel=1e-15)


@given(st.integers(0, 2**32), st.permutations(range(12)))
def test_the_order_of_differences_changes_nothing(seed: int, order: list[int]) -> None:
    """To the last bit: arms that fared equally well must tie."""
    paid = np.random.default_rng(seed).normal(size=12)
    s = new_noise_scale(2)
    for i, row in enumerate((paid, paid[order])):
        for reward in row.tolist():
            observe_noise(P, s, i, 0.0)
            observe_noise(P, s, i, reward)
        observe_noise(P, s, i, 0.0)
    assert s.high[0] == s.high[1]
    assert scale_of(P, s, 0) == scale_of(P, s, 1)


@given(games(EXTREMES))
def test_no_rewards_give_a_scale_of_nothing_or_without_an_end(game: list[tuple[int, float]]) -> None:
    s = observed(game)
    for i in range(3):
        assert 0.0 < scale_of(P, s, i) < math.inf
        assert scale_of(P, s, i) ** 2 > 0.0


@pytest.mark.parametrize(
    ("game", "scale"),
    [
        ([], 1.0),
        ([(0, 0.0)], 1.0),
        ([(0, 3.0)], 3.0),
        ([(0, -3.0), (0, -3.0)], 3.0),
        ([(0, 0.1), (1, 0.1), (2, 0.1)], 0.1),  # their mean is rounded to another number
        ([(0, 1.0), (1, 3.0)], math.sqrt(2.0)),
        ([(0, 1.0), (1, 3.0), (0, 1.0)], math.sqrt(2.0)),
    ],
)
def test_until_neighbours_differ_the_first_rewards_say(game: list[tuple[int, float]], scale: float) -> None:
    untouched = 2
    assert scale_of(P, observed(game), untouched) == pytest.approx(scale, rel=1e-15)


@given(games(REWARDS), st.sampled_from([-30, -1, 10]))
def test_it_scales_with_the_rewards(game: list[tuple[int, float]], power: int) -> None:
    """Exactly, for powers of two, once a reward is not 0."""
    scaled = observed([(i, 2.0**power * reward) for i, reward in game])
    if any(reward for _, reward in game):
        for i in range(3):
            assert scale_of(P, scaled, i) == 2.0**power * scale_of(P, observed(game), i)


@given(games(st.integers(-8, 8).map(float)), st.integers(0, 2))
def test_a_forgotten_arm_leaves_the_estimate_of_the_others(game: list[tuple[int, float]], arm: int) -> None:
    """Whole numbers: sums are exact in any order."""
    s, others = observed(game), observed([(i, reward) for i, reward in game if i != arm])
    forget_noise(s, arm)
    for i in range(3):
        assert scale_of(P, s, i) == scale_of(P, others, i)
    for name in ("seen", "high", "low", "pool", "pairs", "variance"):
        assert flatten(s)[name].tolist() == flatten(others)[name].tolist(), name


@given(games(REWARDS))
def test_a_reset_leaves_nothing(game: list[tuple[int, float]]) -> None:
    s = observed(game)
    reset_noise(s)
    for name, array in flatten(new_noise_scale(3)).items():
        assert flatten(s)[name].tolist() == array.tolist(), name


def test_noise_that_differs_by_arm_is_told_apart() -> None:
    rng = np.random.default_rng(1)
    s = observed([(i, float(sigma * x)) for i, sigma in enumerate((0.1, 1.0, 10.0)) for x in rng.normal(size=20_000)])
    for i, sigma in enumerate((1.0, 10.0), start=1):  # the first is still drawn up: 150 pairs of 33 weigh as much as its own
        assert scale_of(P, s, i) == pytest.approx(sigma, rel=0.15)


def test_a_trend_is_no_noise() -> None:
    rng = np.random.default_rng(2)
    s = observed([(0, 0.01 * k + float(rng.normal())) for k in range(10_000)], n_arms=1)
    assert scale_of(P, s, 0) == pytest.approx(1.0, abs=0.05)  # seven standard errors; the spread of these rewards is 29


def test_a_sigma_that_is_given_is_not_estimated() -> None:
    s = new_noise_scale(2)
    for reward in (0.0, 5.0, -5.0):
        observe_noise(GIVEN, s, 0, reward)
    assert not is_estimated(GIVEN)
    assert is_estimated(P)
    assert (given_sigma(GIVEN), scale_of(GIVEN, s, 0), sigma_of(GIVEN, s, 0)) == (0.3, 1.0, 0.3)
    assert given_sigma(P) == 1.0
    for array in (s.seen, s.pool):
        assert not array.any()


def test_a_range_is_twice_the_scale() -> None:
    s = observed([(0, 0.0), (0, 4.0)], n_arms=1)
    assert range_of(make("sw-ucb", B=3.0).params, s, 0) == 3.0
    assert range_of(make("sw-ucb", B=3.0, sigma=0.2).params, s, 0) == 0.4
    assert range_of(make("sw-ucb", B=3.0, sigma="estimate").params, s, 0) == 2.0 * scale_of(P, s, 0) == 2.0 * math.sqrt(8.0)
