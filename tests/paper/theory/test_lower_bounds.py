"""Lower bounds: numbers worked out elsewhere, growth, and the hard family."""

import math
from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting import theory
from rotting.registry import make
from rotting.simulation.simulate import simulate
from tests.conftest import INTERPRETED

if TYPE_CHECKING:
    from collections.abc import Sequence


def test_lower_bounds_by_hand() -> None:
    """(1/2) sqrt(4 * 3 * 10^4) / 32 = 346.410162 / 64; (1/4 * 2 * 3 * 10^8)^(1/3) / 22.627417 = 531.329285 / 22.627417."""
    assert theory.piecewise_lower(10_000, 3, pieces=4, sigma=0.5) == pytest.approx(5.412658773652742, rel=1e-14)
    assert theory.variation_lower(10_000, 3, V=2.0, sigma=0.5) == pytest.approx(23.48165876109432, rel=1e-14)
    rates = [theory.PIECEWISE_RATE, theory.VARIATION_RATE]
    assert rates == pytest.approx([0.03125, 0.04419417382415922], rel=1e-14)


@given(T=st.integers(100, 10**6), K=st.integers(2, 50), sigma=st.floats(0.1, 10), more=st.floats(1, 3))
def test_lower_bounds_grow_and_stay_below_the_upper_ones(T: int, K: int, sigma: float, more: float) -> None:
    V, U = sigma * K, 3
    assert theory.variation_lower(T, K, V, sigma) <= theory.variation_lower(math.ceil(T * more), K, V, sigma)
    assert theory.variation_lower(T, K, V, sigma) <= theory.variation_lower(T, K, V * more, sigma)
    assert theory.variation_lower(T, K, V, sigma) <= theory.variation_lower(T, math.ceil(K * more), V, sigma)
    assert theory.variation_lower(T, K, V, sigma) <= theory.variation_lower(T, K, V, sigma * more) * (1 + 1e-12)
    for larger in (
        theory.piecewise_lower(math.ceil(T * more), K, U, sigma),
        theory.piecewise_lower(T, math.ceil(K * more), U, sigma),
        theory.piecewise_lower(T, K, math.ceil(U * more), sigma),
        theory.piecewise_lower(T, K, U, sigma * more),
    ):
        assert theory.piecewise_lower(T, K, U, sigma) <= larger * (1 + 1e-12)
    policy = make("raw-ucb", alpha=4, sigma=sigma)
    assert theory.variation_lower(T, K, V, sigma) <= theory.variation_budget(policy, T, K, V)
    assert theory.piecewise_lower(T, K, U, sigma) <= theory.piecewise_minimax(policy, T, K, U, V)


def test_the_hard_family_is_that_of_the_lemma() -> None:
    """T = 10, three pieces of 4, 3, 3 rounds, K = 2, sigma = 2: Delta = sqrt(4 * 2 * 3 / 20) / 4 = sqrt(1.2) / 4 = 0.273861."""
    family = theory.HardFamily(n_arms=2, horizon=10, pieces=3, sigma=2.0)
    assert family.gap == pytest.approx(0.27386127875258304, rel=1e-15)
    assert family.lengths.tolist() == [4, 3, 3]
    assert family.bound == pytest.approx(2 * math.sqrt(60) / 32, rel=1e-15)
    problem = family.problem([1, 0, 0])
    means = [[problem.mean(i, t, 0) / family.gap for t in range(1, 11)] for i in range(2)]
    assert means[0] == pytest.approx([-1, -1, -1, -1, -1, -1, -1, -2, -2, -2], rel=1e-15)
    assert means[1] == pytest.approx([0, 0, 0, 0, -2, -2, -2, -3, -3, -3], rel=1e-15)
    alike = family.problem([None, None, 1])
    assert alike.mean(0, 1, 0) == alike.mean(1, 1, 0) == -family.gap
    for wrong, message in (
        ([0, 1], "one arm per piece, 3, got 2"),
        ([0, 1, 2], r"best\[2\] must be an arm below 2 or None, got 2"),
    ):
        with pytest.raises(ValueError, match=message):
            family.problem(wrong)


@pytest.mark.parametrize(("K", "horizon", "pieces"), [(2, 7, 7), (3, 20, 3), (2, 9, 4)])
def test_every_member_of_the_family_satisfies_the_assumptions(K: int, horizon: int, pieces: int) -> None:
    family = theory.HardFamily(K, horizon, pieces)
    if K**pieces > 300:
        members: Sequence[Sequence[int]] = [family.random_best(seed) for seed in range(100)]
    else:
        members = list(product(range(K), repeat=pieces))
    for best in members:
        problem = family.problem(best)
        assert problem.is_rotting()
        known = theory.constants(problem).restless
        assert known is not None
        assert known.pieces() == pieces
        assert known.spread() == pytest.approx(pieces * family.gap)  # Upsilon Delta <= V
        assert known.variation() <= 2 * family.gap * (pieces - 1) + 1e-12


@pytest.mark.parametrize("V", [0.05, 0.2, 1.0, 7.5, 141.0])
def test_the_pieces_of_a_budget_keep_to_it_and_reach_the_rate(V: float) -> None:
    family = theory.HardFamily.of_budget(n_arms=2, horizon=100, V=V)
    for seed in range(5):
        known = theory.constants(family.random(seed)).restless
        assert known is not None
        # Assumption 2: both conditions of the proof, eq:bounded_condition and eq:totalvar_condition.
        assert known.budget() <= V * (1 + 1e-12)
    # The proof of Lemma 5 ends with sigma sqrt(U K T) / (16 sqrt 2), and that is at least the rate.
    assert family.bound * math.sqrt(2) >= theory.variation_lower(100, 2, V) * (1 - 1e-12)
    more = theory.HardFamily(2, 100, min(100, family.pieces + 1))
    if more.pieces > family.pieces:  # no more pieces by the proof's condition 2 Delta Upsilon <= V
        assert 2 * more.gap * more.pieces > V


def test_the_number_of_pieces_is_exact_where_the_cube_root_is() -> None:
    """8 V^2 T / (K sigma^2) = 8 * 64 = 512 = 8^3, whose cube root is 7.999... in floating point; likewise 32 * 2 = 64 = 4^3.

    With V a little below, it is a little below 512, whose cube root is 8 in floating point.
    """
    assert theory.HardFamily.of_budget(n_arms=2, horizon=128, V=1.0).pieces == 8
    assert theory.HardFamily.of_budget(n_arms=2, horizon=128, V=math.nextafter(1.0, 0.0)).pieces == 7
    assert theory.piecewise_lower(4, 2, pieces=4, V=1.0) > 0
    with pytest.raises(ValueError, match="pieces must be at most 4"):
        theory.piecewise_lower(6, 3, pieces=5, V=1.0)


def test_uniform_pulls_pay_half_the_gap_on_every_member() -> None:
    """On average Delta T (1 - 1 / K), above the bound: the family is what the lemma says, not only hard to measure."""
    family = theory.HardFamily(n_arms=2, horizon=200, pieces=4)
    expected = family.gap * 200 / 2
    assert expected > family.bound
    for seed in range(3):
        regret = simulate(make("uniform"), family.random(seed), runs=20 if INTERPRETED else 200, checkpoints=[200]).regret[
            0, :, 0
        ]
        assert regret.mean() == pytest.approx(expected, abs=6 * family.gap * math.sqrt(200 / 4 / len(regret)))
