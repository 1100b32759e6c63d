"""The hull of prefix sums: its vertices are those of exact arithmetic, and the tightest bounds are theirs."""

import math
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.common.arrays import Floats
from rotting.policies.parts.hull import Stacks, enlarged, ensure_room, new_stacks, pulls, push, release, top, window_mean
from rotting.policies.raw_ucb_pp import RAWUCBpp, width
from rotting.simulation.engines.compile import compiled
from tests.conftest import INTERPRETED
from tests.reference.hull import prefix_sums, vertices

LENGTH = 120 if INTERPRETED else 1_000


def sequences(length: int, seed: int) -> dict[str, Floats]:
    """Rewards of every kind: with short hulls and long ones, with sums on a line, and far from 0."""
    rng, time = np.random.default_rng(seed), np.arange(length)
    noise = rng.normal(size=length)
    coins = rng.integers(0, 2, length).astype(float)
    return {
        "reals": noise,
        "integers": rng.integers(-5, 6, length).astype(float),
        "coins": coins,
        "constant": np.full(length, 0.1),
        "tenths": rng.integers(-5, 6, length) * 0.1,
        "nearly constant": 0.1 + rng.integers(-1, 2, length) * 2.0**-56,
        "offset": 1e6 + noise,
        "far offset": 1e9 + noise,
        "offset coins": -1e6 + coins,
        "offset tenths": 1e9 + rng.integers(0, 3, length) * 0.1,
        "falling": -1.0 * time,
        "falling tenths": -0.1 * time,
        "falling slowly": 1e6 - 1e-9 * time**2,
        "rising": 0.1 * time,
        "blocks": np.floor(time / 7.0) * -0.3,
        "tiny": 1e-9 * noise,
        "very tiny": 1e-200 * noise,
        "ramps": (time % 13) * 0.1 - 0.01 * time,
    }


def starts(s: Stacks, i: int) -> list[int]:
    return [int(start) for start in s.start[s.first[i] : s.first[i] + s.size[i]]]


def hull_of(rewards: Sequence[float]) -> Stacks:
    s = new_stacks(1, 4 * len(rewards) + 64)
    for reward in rewards:
        assert ensure_room(s, 0)
        push(s, 0, float(reward))
    return s


@pytest.mark.parametrize("name", sequences(2, 0))
@pytest.mark.parametrize("seed", range(2))
def test_the_vertices_are_those_of_exact_arithmetic(name: str, seed: int) -> None:
    rewards = sequences(LENGTH, seed)[name].tolist()
    s, append = new_stacks(1, 4 * LENGTH + 64), compiled(push)
    for n, reward in enumerate(rewards, 1):
        assert ensure_room(s, 0)
        append(s, 0, reward)
        if n <= 40 or n % (LENGTH // 5) == 0:
            assert starts(s, 0) == vertices(rewards[:n])
    newest, exact = top(s, 0), prefix_sums(rewards)
    assert pulls(s, 0) == LENGTH
    for place in range(s.first[0], newest + 1):
        assert Fraction(float(s.high[place])) + Fraction(float(s.low[place])) == exact[int(s.start[place])]


@pytest.mark.parametrize("name", sequences(2, 0))
def test_the_means_are_those_of_the_windows_and_grow_with_age(name: str) -> None:
    rewards = sequences(LENGTH, 5)[name].tolist()
    s = hull_of(rewards)
    newest = top(s, 0)
    means = [window_mean(s, newest, place) for place in range(newest - 1, s.first[0] - 1, -1)]
    lengths = [LENGTH - int(s.start[place]) for place in range(newest - 1, s.first[0] - 1, -1)]
    assert means == [math.fsum(rewards[-h:]) / h for h in lengths]
    assert means == sorted(means)


def test_an_arm_without_rewards_has_no_pulls() -> None:
    s = new_stacks(2, 64)
    assert ensure_room(s, 1)
    push(s, 1, 3.0)
    assert [pulls(s, 0), pulls(s, 1)] == [0, 1]
    assert window_mean(s, top(s, 1), s.first[1]) == 3.0


@given(st.integers(0, 10**6))
def test_arms_of_one_pool_do_not_meet(seed: int) -> None:
    """Rewards come to the arms in any order, an arm is forgotten now and then, and the arrays grow."""
    rng = np.random.default_rng(seed)
    kinds = list(sequences(2, 0))
    names = rng.choice(kinds, 3)
    rows = [sequences(300, seed)[name].tolist() for name in names]
    capacity = int(rng.integers(1, 80))
    s, paid = new_stacks(3, capacity), [[], [], []]  # type: ignore[var-annotated]
    for k in range(300):
        i = int(rng.integers(3))
        if rng.random() < 0.01:
            release(s, i)
            paid[i] = []
        while not ensure_room(s, i):
            capacity *= 2
            s = enlarged(s, capacity)
        push(s, i, rows[i][k])
        paid[i].append(rows[i][k])
    for i, rewards in enumerate(paid):
        assert starts(s, i) == (vertices(rewards) if rewards else [])


# The theorem: the smallest bound over all windows is that of a vertex. In decimals, whose errors are far below all differences.

DIGITS, ERROR = 60, Decimal(10) ** -40

reals = st.floats(-10.0, 10.0).map(lambda x: round(x, 6))
REWARDS = st.one_of(
    st.lists(reals, min_size=1, max_size=40),
    st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=40),
    st.lists(reals, min_size=1, max_size=40).map(lambda xs: sorted(xs, reverse=True)),  # every point is a vertex
    st.lists(reals, min_size=1, max_size=40).map(sorted),  # none but the ends is
    st.tuples(st.integers(1, 20), st.integers(1, 20), reals, reals).map(lambda x: [x[2]] * x[0] + [x[3]] * x[1]),
)
UNIT = st.one_of(
    st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=40),
    st.lists(st.floats(0.0, 1.0).map(lambda x: round(x, 3)), min_size=1, max_size=40),
    st.lists(st.floats(0.0, 1.0).map(lambda x: round(x, 3)), min_size=1, max_size=40).map(lambda xs: sorted(xs, reverse=True)),
    st.tuples(st.integers(1, 20), st.integers(1, 20)).map(lambda x: [1.0] * x[0] + [0.0] * x[1]),
)


def windows(rewards: Sequence[float], at: Sequence[int]) -> list[tuple[int, Decimal]]:
    """The length h and the mean of the windows that start after these pulls."""
    sums, n = prefix_sums(rewards), len(rewards)
    parts = [(n - k, (sums[n] - sums[k]) / (n - k)) for k in at if k < n]
    return [(h, Decimal(mean.numerator) / Decimal(mean.denominator)) for h, mean in parts]


@given(REWARDS, st.one_of(st.floats(0.0, 20.0), st.sampled_from([0.0, 1e-6, 1e6])))
def test_the_smallest_bound_of_raw_ucb_is_that_of_a_vertex(rewards: list[float], w: float) -> None:
    with localcontext(prec=DIGITS):

        def smallest(at: Sequence[int]) -> Decimal:
            return min(mean + Decimal(w) / Decimal(h).sqrt() for h, mean in windows(rewards, at))

        found = starts(hull_of(rewards), 0)
        assert smallest(found) - smallest(range(len(rewards))) <= ERROR


def kl_bernoulli(x: Decimal, y: Decimal) -> Decimal:
    first = x * (x / y).ln() if x > 0 else Decimal(0)
    return first + ((1 - x) * ((1 - x) / (1 - y)).ln() if x < 1 else Decimal(0))


def kl_poisson(x: Decimal, y: Decimal) -> Decimal:
    return (x * (x / y).ln() if x > 0 else Decimal(0)) + y - x


def kl_exponential(x: Decimal, y: Decimal) -> Decimal:
    return x / y - 1 - (x / y).ln()


FAMILIES = {"bernoulli": kl_bernoulli, "poisson": kl_poisson, "exponential": kl_exponential}


@pytest.mark.parametrize("family", FAMILIES)
@given(UNIT, st.floats(1e-3, 30.0))
def test_the_smallest_kl_bound_is_that_of_a_vertex(family: str, rewards: list[float], level: float) -> None:
    """The bound of a window is above q where `mean >= q` or `h kl(mean, q) < level`: no window is below the vertices' least."""
    kl: Callable[[Decimal, Decimal], Decimal] = FAMILIES[family]
    if family == "exponential":
        rewards = [reward + 0.1 for reward in rewards]
    with localcontext(prec=DIGITS):

        def all_above(q: Decimal, pairs: list[tuple[int, Decimal]], more: Decimal) -> bool:
            return all(mean >= q or h * kl(mean, q) <= Decimal(level) + more for h, mean in pairs)

        at_vertices = windows(rewards, starts(hull_of(rewards), 0))
        low, high = min(mean for _, mean in at_vertices), Decimal(1) if family == "bernoulli" else Decimal(10) ** 15
        for _ in range(100 if family == "bernoulli" else 150):
            q = (low + high) / 2
            low, high = (q, high) if all_above(q, at_vertices, Decimal(0)) else (low, q)
        assert all_above(low, windows(rewards, range(len(rewards))), Decimal(10) ** -12 * Decimal(level))


def test_the_smallest_bound_of_raw_ucb_pp_need_not_be_that_of_a_vertex() -> None:
    """Its width is 0 from t / K pulls on: the shortest of these windows, h = 4 here, starts under the hull."""
    rewards, p, level = [1.0, 0.5, 0.6, -1.0, -1.0, -1.0], RAWUCBpp().params, 4.0

    def bounds(at: Sequence[int]) -> dict[int, float]:
        return {h: float(mean) + width(p, level, h, math.sqrt(h)) for h, mean in windows(rewards, at)}

    every, some = bounds(range(6)), bounds(starts(hull_of(rewards), 0))
    assert min(every, key=lambda h: every[h]) == 4
    assert 4 not in some
    assert min(some.values()) > every[4] + 0.1


def test_a_wrong_hull_would_not_have_the_smallest_bounds() -> None:
    """Of three points, the second is the start of the best window exactly where it is a vertex."""
    for second in (-0.5, 0.5):
        rewards = [0.0, second, -1.0]
        bounds = {h: float(mean) + 0.1 / math.sqrt(h) for h, mean in windows(rewards, range(3))}
        assert (min(bounds, key=lambda h: bounds[h]) == 1) == (2 in vertices(rewards))
