"""Upper bounds as functions of constants: numbers worked out elsewhere, ranges, and monotonicity."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting import theory
from rotting.policy import Policy
from rotting.registry import make

FOUR = ("raw-ucb", "eff-raw-ucb", "fewa", "eff-fewa")

RESTLESS_ALPHA = dict(zip(FOUR, (4.0, 3.0, 4.0, 3.0), strict=True))

RESTED_ALPHA = dict(zip(FOUR, (5.0, 4.0, 5.0, 4.0), strict=True))


def test_variation_budget_by_hand() -> None:
    """K = 3, V = 2.

    RAW-UCB: C^2 sigma^2 = 32 / 4 = 8, so 4 (8 * 2 * 3 * 10^8 * 9.210340)^(1/3) = 4 * 3535.94 = 14143.77; C sigma = 2.828427, so
    2 (2.828427 * 4 * 9 * 10^4 * 3.034854)^(1/3) = 2 * 145.66 = 291.32; and 6 * 3 * 2 = 36.
    """
    log = 9.210340371976182736
    by_hand = 4 * (8 * 2 * 3 * 1e8 * log) ** (1 / 3) + 2 * (math.sqrt(8) * 4 * 9 * 1e4 * log**0.5) ** (1 / 3) + 36
    found = [theory.variation_budget(make(name, alpha=a, sigma=0.5), 10_000, 3, V=2) for name, a in RESTLESS_ALPHA.items()]
    assert found[0] == pytest.approx(by_hand, rel=1e-14)
    assert found == pytest.approx([14471.09653799233, 29591.23026138329, 22854.88856090706, 46815.07832004774], rel=1e-14)


def test_piecewise_minimax_by_hand() -> None:
    """K = 3, four pieces, V = 2.

    RAW-UCB: C sigma sqrt(ln T) = 2.828427 * 3.034854 = 8.583863, times sqrt(4 * 3 * 10^4) + 12 = 346.410162 + 12, is 3076.54;
    plus 6 * 3 * 2 = 36.
    """
    by_hand = 2.8284271247461903 * 3.0348542587702927 * (346.41016151377546 + 12) + 36
    found = [
        theory.piecewise_minimax(make(name, alpha=a, sigma=0.5), 10_000, 3, pieces=4, V=2) for name, a in RESTLESS_ALPHA.items()
    ]
    assert found[0] == pytest.approx(by_hand, rel=1e-14)
    assert found == pytest.approx([3112.544120341759, 9132.712361157743, 6189.088240683519, 18229.424722315486], rel=1e-14)


def test_piecewise_gap_dependent_by_hand() -> None:
    """Two pieces of three arms with the gaps 0, 1/2, 1 and 1/4, 0, 1/2, V = 2; the inverses add up to 2 + 1 + 4 + 2 = 9.

    RAW-UCB: 8 * 9.210340 * 9 = 663.144507, plus 8.583863 * 2 * 3 = 51.503184, plus 36.
    """
    gaps = [[0.0, 0.5, 1.0], [0.25, 0.0, 0.5]]
    by_hand = 8 * 9.210340371976182736 * 9 + 2.8284271247461903 * 3.0348542587702927 * 6 + 36
    found = [
        theory.piecewise_gap_dependent(make(name, alpha=a, sigma=0.5), 10_000, gaps, V=2) for name, a in RESTLESS_ALPHA.items()
    ]
    assert found[0] == pytest.approx(by_hand, rel=1e-14)
    assert found == pytest.approx([750.6476914132295, 5985.918540203936, 2791.584396391029, 23531.105373276786], rel=1e-14)


def test_the_pulls_of_a_piece_cost_no_more_than_there_are() -> None:
    """Lemma 8: a gap of 1/64 costs 8 * 9.210340 * 64 = 4715.69 as printed, and in 65 rounds 64 / 64 = 1."""
    policy, gaps = make("raw-ucb", alpha=4, sigma=0.5), [[0.0, 0.5], [0.015625, 0.0]]
    rest = 2.8284271247461903 * 3.0348542587702927 * 4
    printed = theory.piecewise_gap_dependent(policy, 10_000, gaps, V=0.0)
    assert printed == pytest.approx(8 * 9.210340371976182736 * (2 + 64) + rest, rel=1e-14)
    found = theory.piecewise_gap_dependent(policy, 10_000, gaps, V=0.0, lengths=[9_935, 65])
    assert found == pytest.approx(8 * 9.210340371976182736 * 2 + 1 + rest, rel=1e-14)
    # The lemma's third form, the width times sqrt(64), is between the two.
    assert 1 < 2.8284271247461903 * 3.0348542587702927 * 8 < 8 * 9.210340371976182736 * 64


@given(gap=st.floats(1e-4, 10), T=st.integers(2, 10**6), data=st.data())
def test_the_lengths_of_pieces_make_the_bound_no_larger_and_keep_it_growing(gap: float, T: int, data: st.DataObject) -> None:
    policy, length = make("raw-ucb", alpha=4), data.draw(st.integers(1, T))
    printed = theory.piecewise_gap_dependent(policy, T, [[0.0, gap]], V=1.0)
    found = theory.piecewise_gap_dependent(policy, T, [[0.0, gap]], V=1.0, lengths=[length])
    assert found <= printed
    assert found <= theory.piecewise_gap_dependent(policy, T, [[0.0, gap]], V=1.0, lengths=[length + 1])
    assert found <= theory.piecewise_gap_dependent(policy, T + 1, [[0.0, gap]], V=1.0, lengths=[length])


def test_rested_gap_free_by_hand() -> None:
    """K = 3, L = 1/4.

    RAW-UCB: 3.162278 * 3.034854 = 9.597052, times sqrt(30,000) + 3 = 176.205081, is 1691.05; plus 6 * 3 / 4 = 4.5.
    """
    by_hand = 3.1622776601683795 * 3.0348542587702927 * (173.20508075688773 + 3) + 4.5
    found = [theory.rested_gap_free(make(name, alpha=a, sigma=0.5), 10_000, 3, L=0.25) for name, a in RESTED_ALPHA.items()]
    assert found[0] == pytest.approx(by_hand, rel=1e-14)
    assert found == pytest.approx([1695.549291742238, 5168.567894718831, 3386.598583484477, 10332.635789437663], rel=1e-14)


def test_rested_gap_dependent_by_hand() -> None:
    """Three arms, of which one is never overpulled, the others with pseudo-gaps 4 and 2; L = 1/4.

    RAW-UCB: C^2 sigma^2 ln T = 10 * 9.210340 = 92.103404, so 92.103404 (1/4 + 1/2) = 69.077553, plus 3 (9.597052 + 6 / 4).
    """
    by_hand = 92.10340371976183 * 0.75 + 3 * (3.1622776601683795 * 3.0348542587702927 + 1.5)
    found = [
        theory.rested_gap_dependent(make(name, alpha=a, sigma=0.5), 10_000, [math.inf, 4.0, 2.0], L=0.25)
        for name, a in RESTED_ALPHA.items()
    ]
    assert found[0] == pytest.approx(by_hand, rel=1e-14)
    assert found == pytest.approx([102.36870826294986, 736.6030075622386, 338.39252210554246, 2757.0691587765788], rel=1e-14)


def test_a_pseudo_gap_of_zero_costs_what_the_overpulls_can() -> None:
    """9.597052 sqrt(100 - 1) + 9.597052 = 105.09, where the printed term is infinite; L = 0."""
    policy = make("raw-ucb", alpha=5, sigma=0.5)
    width = 3.1622776601683795 * 3.0348542587702927
    found = theory.rested_gap_dependent(policy, 10_000, [0.0], L=0.0, limits=[100])
    assert found == pytest.approx(width * math.sqrt(99) + width, rel=1e-14)
    # A gap so small that it says no more than that is no more: the bound is continuous.
    assert theory.rested_gap_dependent(policy, 10_000, [1e-9], L=0.0, limits=[100]) == found
    assert theory.rested_gap_dependent(policy, 10_000, [5.0], L=0.0, limits=[100]) < found


def test_one_round_costs_only_the_constants() -> None:
    """ln 1 = 0."""
    assert theory.variation_budget(make("raw-ucb", alpha=4), 1, 2, V=1.0) == 12.0
    assert theory.piecewise_minimax(make("raw-ucb", alpha=4), 1, 2, pieces=1, V=1.0) == 12.0
    assert theory.rested_gap_free(make("raw-ucb", alpha=5), 1, 2, L=1.0) == 12.0


CALLS: dict[str, Callable[[Policy], float]] = {
    "variation": lambda p: theory.variation_budget(p, 100, 2, V=1.0),
    "minimax": lambda p: theory.piecewise_minimax(p, 100, 2, pieces=1, V=1.0),
    "gaps": lambda p: theory.piecewise_gap_dependent(p, 100, [[0.0, 1.0]], V=1.0),
    "gap-free": lambda p: theory.rested_gap_free(p, 100, 2, L=1.0),
    "gap-dependent": lambda p: theory.rested_gap_dependent(p, 100, [1.0, math.inf], L=1.0),
}


@pytest.mark.parametrize("name", FOUR)
@pytest.mark.parametrize("call", CALLS)
def test_an_alpha_outside_the_range_is_refused_and_the_range_named(name: str, call: str) -> None:
    setting, least = (
        ("rested", RESTED_ALPHA[name]) if call in {"gap-free", "gap-dependent"} else ("restless", RESTLESS_ALPHA[name])
    )
    assert CALLS[call](make(name, alpha=least)) > 0
    below = math.nextafter(least, 0)
    with pytest.raises(ValueError, match=rf"^alpha must be in \[{least:g}, inf\) for .* \({setting}\), got {below}"):
        CALLS[call](make(name, alpha=below))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: theory.variation_budget(p, 0, 2, V=1.0), "horizon must be a whole number, 1 or more, got 0"),
        (lambda p: theory.variation_budget(p, 10, 2, V=-1.0), "V must be a finite number, zero or more, got -1.0"),
        (lambda p: theory.piecewise_minimax(p, 10, 2, pieces=0, V=1.0), "pieces must be a whole number, 1 or more, got 0"),
        (lambda p: theory.piecewise_gap_dependent(p, 10, [0.0, 1.0], V=1.0), "gaps must be a table"),
        (lambda p: theory.piecewise_gap_dependent(p, 10, [[0.0, -1.0]], V=1.0), "gaps must be finite numbers, zero or more"),
        (lambda p: theory.rested_gap_dependent(p, 10, [], L=1.0), r"gaps must have one pseudo-gap per arm, got \[\]"),
        (lambda p: theory.piecewise_gap_dependent(p, 10, [[0.0, 1.0]], V=1.0, lengths=[4, 6]), "lengths must be 1 numbers"),
        (lambda p: theory.piecewise_gap_dependent(p, 10, [[0.0, 1.0]], V=1.0, lengths=[0]), r"each 1 or more, got \[0.0\]"),
        (lambda p: theory.rested_gap_free(p, 10, 2, L=math.nan), "L must be a finite number, zero or more, got nan"),
        (lambda p: theory.rested_gap_dependent(p, 10, [math.nan], L=1.0), r"gaps\[0\] must be a number, zero or more, got nan"),
        (lambda _: theory.piecewise_lower(10, 1, pieces=1), "n_arms must be 2 or more"),
        (lambda _: theory.piecewise_lower(10, 2, pieces=11), "pieces must be at most the horizon 10, got 11"),
        (lambda _: theory.piecewise_lower(1000, 2, pieces=7, V=0.125), "pieces must be at most 6, .* with V = 0.125, got 7"),
        (lambda _: theory.variation_lower(100, 2, V=0.04), r"V must be in .* = \[0.05, 141.421\], got 0.04"),
        (lambda _: theory.variation_lower(100, 2, V=150.0), r"V must be in .* = \[0.05, 141.421\], got 150"),
    ],
)
def test_wrong_constants_are_refused(call: Callable[[Policy], float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(make("raw-ucb", alpha=5))


horizons = st.integers(1, 10**9)

scales = st.floats(1e-3, 1e3)


@given(name=st.sampled_from(FOUR), alpha=st.floats(5, 20), T=horizons, K=st.integers(1, 1000), sigma=scales, V=scales, U=st.integers(1, 99), more=st.floats(1, 10))  # fmt: skip  # noqa: E501
def test_upper_bounds_grow_with_everything(
    name: str, alpha: float, T: int, K: int, sigma: float, V: float, U: int, more: float
) -> None:
    def values(T: int, K: int, sigma: float, V: float, U: int, alpha: float) -> list[float]:
        policy = make(name, alpha=alpha, sigma=sigma)
        return [
            theory.variation_budget(policy, T, K, V),
            theory.piecewise_minimax(policy, T, K, U, V),
            theory.piecewise_gap_dependent(policy, T, np.full((U, K), 0.5), V),
            theory.rested_gap_free(policy, T, K, V),
            theory.rested_gap_dependent(policy, T, [0.5] * K, V),
        ]

    least = values(T, K, sigma, V, U, alpha)
    for larger in (
        values(math.ceil(T * more), K, sigma, V, U, alpha),
        values(T, math.ceil(K * more), sigma, V, U, alpha),
        values(T, K, sigma * more, V, U, alpha),
        values(T, K, sigma, V * more, U, alpha),
        values(T, K, sigma, V, math.ceil(U * more), alpha),
        values(T, K, sigma, V, U, alpha * more),
    ):
        assert all(a <= b * (1 + 1e-12) for a, b in zip(least, larger, strict=True))


@given(gap=st.floats(1e-3, 10), more=st.floats(1, 10), T=horizons)
def test_larger_gaps_have_smaller_bounds(gap: float, more: float, T: int) -> None:
    policy = make("raw-ucb", alpha=5)
    assert theory.piecewise_gap_dependent(policy, T, [[0, gap * more]], 1) <= theory.piecewise_gap_dependent(
        policy, T, [[0, gap]], 1
    )
    assert theory.rested_gap_dependent(policy, T, [gap * more], 1) <= theory.rested_gap_dependent(policy, T, [gap], 1)


def test_other_policies_and_other_grids_have_no_theory() -> None:
    def event(policy: Policy) -> float:
        return theory.unfavourable(policy, 10, 2)

    for call in [*CALLS.values(), theory.constant, event]:
        with pytest.raises(ValueError, match="policy must be one of RAW-UCB, EFF-RAW-UCB, FEWA, EFF-FEWA"):
            call(make("ucb1"))
        with pytest.raises(ValueError, match="m must be 2, the only value .* EFF-FEWA cover, got 1.1"):
            call(make("eff-fewa", alpha=4, m=1.1))
