"""Random numbers: the published vectors, compiled equals interpreted, uniformity and independence.

Statistical tests use bounds that hold at every sample size (Massart's, Hoeffding's and Bernstein's inequalities). Each test
spends at most ALARM on all its comparisons together: it would fail a perfect generator for fewer than one key in 10 million.
"""

import itertools
import math
import random
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rotting.common.arrays import Floats, Ints
from rotting.policies.kernels.random_numbers import derive_key, normal_quantile, philox, reward_uniform, subkey, uniform, unit
from rotting.simulation.engines.compile import compiled
from tests.conftest import INTERPRETED
from tests.helpers.compiler_programs import compiled_only
from tests.reference import thompson

ALARM = 1e-7
SIZE = 1 << 12 if INTERPRETED else 1 << 15
WORD = 2**32 - 1
LARGEST_KEY = 2**63 - 1
KEY = derive_key(1, "tests")

words = st.one_of(st.integers(0, WORD), st.sampled_from([0, 1, 2**31 - 1, 2**31, WORD - 1, WORD]))
keys = st.one_of(st.integers(0, LARGEST_KEY), st.sampled_from([0, 1, WORD, 2**32, 2**62, LARGEST_KEY]))
open_unit = st.floats(0.0, 1.0, exclude_min=True, exclude_max=True)


# The three vectors of the Random123 distribution (kat_vectors, philox4x32 with 10 rounds).
@pytest.mark.parametrize("form", [philox, compiled(philox)], ids=["interpreted", "compiled"])
@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ],
    ids=["zeros", "ones", "pi"],
)
def test_philox_gives_the_published_vectors(form: Callable[..., Any], counter: str, key: str, expected: str) -> None:
    given_words = [int(word, 16) for word in (counter + " " + key).split()]
    assert " ".join(f"{word:08x}" for word in form(*given_words)) == expected


def test_every_bit_counts() -> None:
    """Of the key, of the round, of the run and of the number of the draw: no two of these streams are the same."""
    numbers = [0, *(1 << bit for bit in range(63))]
    assert len({uniform(KEY, t, 0) for t in numbers}) == 64
    assert len({uniform(key, 1, 0) for key in numbers}) == 64
    assert len({uniform(KEY, 1, draw) for draw in numbers[:33]}) == 33
    assert len({subkey(KEY, run) for run in numbers}) == 64
    assert len({subkey(key, 1) for key in numbers}) == 64
    assert len({reward_uniform(key, 1, 1, 1, 0) for key in numbers}) == 64
    assert len({reward_uniform(KEY, 1, 1, clock, 0) for clock in numbers[:34]}) == 34


# Compiled equals interpreted.


@compiled_only
@given(st.tuples(words, words, words, words, words, words))
def test_compiled_philox_equals_interpreted(arguments: tuple[int, ...]) -> None:
    block = philox(*arguments)
    assert all(0 <= word <= WORD for word in block)
    assert compiled(philox)(*arguments) == block


@compiled_only
@given(keys, st.integers(0, LARGEST_KEY), words)
def test_compiled_uniform_equals_interpreted(key: int, t: int, draw: int) -> None:
    assert compiled(uniform)(key, t, draw) == uniform(key, t, draw)


@compiled_only
@given(keys, words, words, st.integers(0, 2**33 - 1), words)
def test_compiled_reward_uniform_equals_interpreted(key: int, run: int, arm: int, clock: int, draw: int) -> None:
    assert compiled(reward_uniform)(key, run, arm, clock, draw) == reward_uniform(key, run, arm, clock, draw)


@compiled_only
@given(keys, st.integers(0, LARGEST_KEY))
def test_compiled_subkey_equals_interpreted(key: int, run: int) -> None:
    inner = subkey(key, run)
    assert 0 <= inner <= LARGEST_KEY
    assert compiled(subkey)(key, run) == inner


def test_numpy_integers_give_the_same_numbers_without_a_warning() -> None:
    """The suite turns warnings into errors, so an overflow of a NumPy scalar would show."""
    for number in (0, 5, 2**31, WORD):
        kinds: tuple[Any, ...] = (np.int64, np.uint64)
        for kind in kinds:
            assert reward_uniform(kind(KEY), kind(number), kind(number), kind(number), kind(3)) == reward_uniform(
                KEY, number, number, number, 3
            )
            assert uniform(kind(KEY), kind(number), kind(1)) == uniform(KEY, number, 1)
            assert subkey(kind(KEY), kind(number)) == subkey(KEY, number)


# The map of words to numbers.


@pytest.mark.parametrize("form", [unit, compiled(unit)], ids=["interpreted", "compiled"])
def test_unit_is_strictly_inside_and_symmetric(form: Callable[[int, int], float]) -> None:
    assert form(0, 0) == 2.0**-53
    assert form(WORD, WORD) == 1.0 - 2.0**-53
    # The grain is 2**-52: the 12 lowest bits are dropped, the 13th counts.
    assert form(0, 2**12 - 1) == form(0, 0)
    assert form(0, 2**12) - form(0, 0) == 2.0**-52
    assert form(1, 0) - form(0, 0) == 2.0**-32


@given(words, words)
def test_unit_of_the_complement_is_the_complement(high: int, low: int) -> None:
    u = unit(high, low)
    assert 0.0 < u < 1.0
    assert unit(WORD - high, WORD - low) == 1.0 - u
    assert compiled(unit)(high, low) == u


# Uniformity and independence.


def fill_rewards(out: Floats, key: int, runs: Ints, arms: Ints, clocks: Ints, draws: Ints) -> None:
    for k in range(out.size):
        out[k] = reward_uniform(key, runs[k], arms[k], clocks[k], draws[k])


def fill_policy(out: Floats, key: int, rounds: Ints, draws: Ints) -> None:
    for k in range(out.size):
        out[k] = uniform(key, rounds[k], draws[k])


AXES = {"run": 0, "arm": 1, "clock": 2, "draw": 3}


def rewards_at(coordinates: Ints) -> Floats:
    """The numbers at [4, size] coordinates (run, arm, clock, draw)."""
    out = np.empty(coordinates.shape[1])
    compiled(fill_rewards)(out, KEY, *np.ascontiguousarray(coordinates))
    return out


def box(size: int) -> Ints:
    """Coordinates of a box with as many cells as asked for, all axes moving."""
    side = round(size**0.25)
    return np.indices((side, side, side, size // side**3)).reshape(4, -1)


def bits(u: Floats) -> NDArray[np.uint8]:
    """The 52 bits of each number, [bit, number]."""
    return ((np.floor(u * 2.0**52).astype(np.int64) >> np.arange(52)[:, None]) & 1).astype(np.uint8)


def assert_uniform(u: Floats, share: int = 1) -> None:
    """The whole distribution (Massart) and each of the 52 bits (Hoeffding), at a false-alarm rate of ALARM / share."""
    n = u.size
    alarm = ALARM / share / 2
    assert u.min() > 0.0
    assert u.max() < 1.0
    ordered = np.sort(u)
    steps = np.arange(n + 1) / n
    distance = max(np.max(steps[1:] - ordered), np.max(ordered - steps[:-1]))
    assert distance <= math.sqrt(math.log(2 / alarm) / (2 * n))
    assert np.max(np.abs(bits(u).mean(axis=1) - 0.5)) <= math.sqrt(math.log(2 * 52 / alarm) / (2 * n))


def assert_independent(u: Floats, v: Floats, share: int = 1) -> None:
    """The joint cells of an 8 x 8 grid (Bernstein) and the agreement of all pairs of bits (Hoeffding) of independent pairs."""
    n = u.size
    alarm = ALARM / share / 2
    counts = np.histogram2d(u, v, bins=8, range=((0, 1), (0, 1)))[0]
    a, variance = math.log(2 * 64 / alarm), n * (1 / 64) * (63 / 64)
    # The x at which Bernstein's exp(-x^2 / (2 (variance + x / 3))) is exp(-a).
    assert np.max(np.abs(counts - n / 64)) <= a / 3 + math.sqrt(a * a / 9 + 2 * a * variance)
    left, right = np.packbits(bits(u), axis=1), np.packbits(bits(v), axis=1)
    unequal = np.array([np.bitwise_count(row ^ right).sum(axis=1, dtype=np.int64) for row in left]) / n
    assert np.max(np.abs(unequal - 0.5)) <= math.sqrt(math.log(2 * 52 * 52 / alarm) / (2 * n))


def test_rewards_are_uniform_over_a_box() -> None:
    assert_uniform(rewards_at(box(SIZE)))


@pytest.mark.parametrize("axis", AXES)
def test_neighbours_along_each_axis_are_independent(axis: str) -> None:
    """Disjoint pairs; an even clock and the next share one Philox block, an odd one and the next do not."""
    for first in (0, 1):
        left = box(SIZE)
        left[AXES[axis]] = 2 * left[AXES[axis]] + first
        right = left.copy()
        right[AXES[axis]] += 1
        assert_independent(rewards_at(left), rewards_at(right), share=2)


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(AXES, 2)))
def test_swapping_two_coordinates_gives_unrelated_numbers(one: str, other: str) -> None:
    """(run, arm) = (2, 3) is not (3, 2): pairs below and above the diagonal are disjoint."""
    left = box(SIZE)
    left[AXES[other]] += left[AXES[one]] + 1
    right = left.copy()
    right[[AXES[one], AXES[other]]] = left[[AXES[other], AXES[one]]]
    assert_independent(rewards_at(left), rewards_at(right))


def test_no_two_coordinates_share_a_number() -> None:
    """Of n numbers with 52 bits, two are equal with chance below n^2 / 2^53: below 1e-7 for n = 2^14."""
    coordinates = box(min(SIZE, 1 << 14))
    assert len(set(rewards_at(coordinates).tolist())) == coordinates.shape[1]


def test_policy_numbers_are_uniform_and_their_draws_independent() -> None:
    rounds = np.arange(1, SIZE + 1)
    columns = []
    for draw in (0, 1):
        out = np.empty(SIZE)
        compiled(fill_policy)(out, KEY, rounds, np.full(SIZE, draw))
        assert_uniform(out, share=4)
        columns.append(out)
    assert_independent(columns[0], columns[1], share=4)
    assert_independent(columns[0][0::2], columns[0][1::2], share=4)


def test_rewards_and_policies_do_not_share_numbers() -> None:
    """Same key, same counters: at draw 1 the words (t, 0, ...) of a policy and of a reward come closest."""
    seen = {uniform(KEY, t, draw) for t in range(64) for draw in range(4)}
    paid = {
        reward_uniform(KEY, run, arm, clock, draw)
        for run in range(1, 4)
        for arm in range(1, 4)
        for clock in range(16)
        for draw in range(4)
    }
    assert not seen & paid


# Keys.


def test_subkeys_are_distinct_and_uniform() -> None:
    runs = min(SIZE, 1 << 14)
    fast = compiled(subkey)
    found = [fast(KEY, run) for run in range(runs)]
    assert len(set(found)) == runs
    assert min(found) >= 0
    assert max(found) <= LARGEST_KEY
    assert_uniform(np.array([((key >> 11) + 0.5) * 2.0**-52 for key in found]))


def test_derived_keys_are_distinct_and_stable() -> None:
    seeds = [*range(500), 2**63, 2**64, 10**30, -1]
    found = {derive_key(seed, purpose) for seed in seeds for purpose in ("noise", "policy", "tests", "")}
    assert len(found) == 4 * len(seeds)
    assert all(0 <= key <= LARGEST_KEY for key in found)
    # Saved results are repeated from their seed: the map may never change.
    assert derive_key(0, "noise") == 5576797810925601689
    assert derive_key(0, "policy") == 5044075959911215419


def test_numbers_never_change() -> None:
    """Saved results are repeated bit for bit by every later version."""
    assert uniform(7, 1, 0).hex() == "0x1.7aac75754d6c7p-1"
    assert reward_uniform(7, 1, 2, 3, 0).hex() == "0x1.1fae0ebda0a82p-2"
    assert reward_uniform(7, 1, 2, 4, 1).hex() == "0x1.3dfbdd761dcd5p-1"
    assert subkey(7, 5) == 1805833845174646471


# The normal quantile.


def quantile_points() -> list[float]:
    """Both tails to the last number, the switches between the three formulas, and a spread."""
    r = random.Random(4)
    edges = [0.5 - 0.425, 0.5 + 0.425, math.exp(-25.0), 1.0 - math.exp(-25.0), 0.5]
    near = [math.nextafter(x, side) for x in edges for side in (0.0, 1.0)]
    tails = [2.0**-k for k in range(1, 1075)] + [1.0 - 2.0**-k for k in range(1, 54)]
    return edges + near + tails + [r.random() or 0.5 for _ in range(3000)] + [10 ** r.uniform(-300, 0) for _ in range(3000)]


@pytest.mark.parametrize("form", [normal_quantile, compiled(normal_quantile)], ids=["interpreted", "compiled"])
def test_normal_quantile_is_the_standard_librarys_bit_for_bit(form: Callable[[float], float]) -> None:
    exact = NormalDist()
    for u in quantile_points():
        if u < 1.0:
            assert form(u) == exact.inv_cdf(u), u


@given(open_unit, open_unit)
def test_normal_quantile_rises_and_is_odd(u: float, v: float) -> None:
    low, high = sorted((u, v))
    assert normal_quantile(low) <= normal_quantile(high)
    if 1.0 - (1.0 - low) == low:
        assert normal_quantile(1.0 - low) == pytest.approx(-normal_quantile(low), rel=1e-13, abs=1e-15)


def test_extreme_words_give_finite_normals() -> None:
    assert normal_quantile(unit(0, 0)) == -normal_quantile(unit(WORD, WORD))
    assert 8.2 < normal_quantile(unit(WORD, WORD)) < 8.3


def test_the_quantile_behind_gaussian_draws_is_the_reference_s() -> None:
    """What the equality of random choices rests on."""
    stream = thompson.Stream(lambda _t, draw: (draw + 0.5) / 1_000, 1)
    for k in range(1_000):
        assert normal_quantile((k + 0.5) / 1_000) == pytest.approx(stream.normal(), rel=1e-13, abs=1e-15)
