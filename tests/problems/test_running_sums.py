"""Running sums: exact to a unit in the last place, and the same bits by leaps over runs as one by one."""

import math
import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rotting.common.arrays import Floats
from rotting.problems import oracle as sums
from rotting.problems.oracle import add_repeatedly, cumulative_sum, sums_at


@pytest.mark.parametrize("offset", [0.0, 1e6, -1e6, 1e-300])
def test_running_sums_are_within_one_unit_in_the_last_place(offset: float) -> None:
    values = np.random.default_rng(0).normal(size=3_000) * (1e-300 if offset == 1e-300 else 1.0) + offset
    found = cumulative_sum(values)
    for t in (1, 2, 100, 3_000):
        exact = math.fsum(values[:t])
        assert abs(found[t - 1] - exact) <= max(math.ulp(exact), math.ulp(float(values.max())))


def one_by_one(total: float, term: float, times: int) -> float:
    return float(np.concatenate([[total], np.full(times, term)]).cumsum()[-1])


# Mantissas of few bits make ties between two multiples of the unit; exponents far apart make totals that stand still.
numbers = st.builds(
    lambda mantissa, bits, exponent: math.ldexp(mantissa >> bits, exponent),
    st.integers(-(2**53), 2**53),
    st.integers(0, 52),
    st.integers(-60, 60),
)
tiny = st.integers(-(2**56), 2**56).map(lambda k: k * math.ulp(0.0))


@settings(max_examples=500)
@given(st.one_of(st.tuples(numbers, numbers), st.tuples(tiny, tiny)), st.integers(0, 5_000))
@example((0.0, 0.1), 5_000)
@example((float(2**53 - 3), 1.0), 10)
@example((float(2**53), 1.0), 10)
@example((2.0**52, -0.25), 5_000)
@example((2.0**52 + 4, -0.75), 5_000)
@example((2.0**52 + 1, 0.5), 5_000)
@example((2.0**52 + 2, 1.5), 5_000)
@example((2.0**52 + 2, -0.6), 5_000)
@example((2.0**52 + 2, -1.3), 2)
@example((1.0, -(2.0**-54)), 5_000)
@example((-3.0, 0.001), 5_000)
@example((100 * sys.float_info.min, -sys.float_info.min / 16), 5_000)
def test_additions_by_leaps_equal_additions_one_by_one(pair: tuple[float, float], times: int) -> None:
    assert add_repeatedly(*pair, times) == one_by_one(*pair, times)


@pytest.mark.parametrize("seed", range(20))
def test_a_million_additions_by_leaps(seed: int) -> None:
    """Many binades up, and down through zero to the other side."""
    rng = np.random.default_rng(seed)
    term = float(rng.normal())
    total = float(rng.choice([0.0, -term * rng.uniform(0, 500_000), term * 2.0 ** rng.integers(0, 60)]))
    assert add_repeatedly(total, term, 1_000_000) == one_by_one(total, term, 1_000_000)


def test_leaps_take_no_time() -> None:
    """One by one, 10**18 additions would take a decade; the tally of integers is exact, and so is that of halves up to 2^52."""
    assert add_repeatedly(0.0, 1.0, 2**53) == 2.0**53
    assert add_repeatedly(0.0, 1.0, 10**18) == 2.0**53
    assert add_repeatedly(0.0, 2.0**-60, 10**18) == 2.0**-7
    assert add_repeatedly(-(2.0**52), 0.5, 2**53) == 0.0
    assert add_repeatedly(2.0**60, -(2.0**8), 2**53) == 2.0**60 - 2.0**61


def random_values(rng: np.random.Generator, count: int) -> Floats:
    kind = rng.integers(0, 6)
    if kind == 0:
        return np.asarray(rng.integers(-8, 9, count) / 8)
    if kind == 1:
        return rng.normal(rng.choice([1e6, -1e6]), size=count)
    if kind == 2:
        return np.ldexp(rng.normal(size=count), rng.integers(-60, 60, count))
    if kind == 3:
        return rng.normal(0.0, rng.choice([1e-300, 1e-310, 1e-322, 1e100]), count)
    if kind == 4:
        return np.full(count, rng.choice([0.0, -0.0, 0.1]))
    return np.sort(rng.uniform(0.0, 1.0, count))[::-1]


def dense_sums(values: Floats) -> Floats:
    """Return the running sums of `values` to about one unit in the last place, however large their offset.

    The leading bits are added exactly, as 64-bit integers; what they leave out is too small for its rounding
    to show.
    """
    exponent = int(np.frexp(np.abs(values).max())[1])
    shift = 62 - len(values).bit_length() - exponent
    leading = np.rint(np.ldexp(values, shift))
    rest = values - np.ldexp(leading, -shift)
    sums = leading.astype(np.int64).cumsum().astype(np.float64)
    return np.asarray(np.ldexp(sums, -shift) + rest.cumsum())


@pytest.mark.parametrize("limits", [(sums._LONG_RUN, sums._BLOCK), (50, 128), (1, 1), (3, 7)])
@pytest.mark.parametrize("seed", range(30))
def test_sums_over_runs_equal_the_dense_sums(monkeypatch: pytest.MonkeyPatch, seed: int, limits: tuple[int, int]) -> None:
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(sums, "_LONG_RUN", limits[0])
    monkeypatch.setattr(sums, "_BLOCK", limits[1])
    count = int(rng.integers(1, 40))
    lengths = rng.integers(1, rng.choice([2, 30, 3_000]), count)
    values = random_values(rng, count)
    total = int(lengths.sum())
    dense = dense_sums(np.repeat(values, lengths))
    assert cumulative_sum(np.repeat(values, lengths)).tobytes() == dense.tobytes()
    for share in (0.0, 0.01, 0.5, 1.0):
        marks = np.unique([*(np.flatnonzero(rng.random(total) < share) + 1), total])
        assert sums_at(marks, values, lengths).tobytes() == dense[marks - 1].tobytes()
