"""Every noise has the distribution it names, at ordinary and at extreme parameters, compiled or not.

Statistical tests use bounds that hold at every sample size (Massart's and Bernstein's inequalities) and fixed keys. Each test
spends at most ALARM: it would fail a perfect noise for fewer than one key in 10 million.
"""

import dataclasses
import json
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.common.arrays import Floats
from rotting.policies.kernels.binding import bind, slot
from rotting.policies.kernels.random_numbers import derive_key, normal_quantile, reward_uniform, unit
from rotting.policies.ucb1 import UCB1
from rotting.problems import stationary
from rotting.problems.noise import (
    Bernoulli,
    Beta,
    Binomial,
    ByArm,
    Contaminated,
    Gaussian,
    Laplace,
    LogNormal,
    Noise,
    Noiseless,
    Poisson,
    Resampled,
    Student,
    _binomial_inverse,
    from_json,
    known_kinds,
)
from rotting.simulation.engines.compile import compiled
from rotting.simulation.trajectory import play
from tests.conftest import INTERPRETED
from tests.helpers.compiler_programs import compiled_only

ALARM = 1e-7
SIZE = 1_500 if INTERPRETED else 100_000
KEY = derive_key(2, "tests")
WORD = 2**32 - 1
LARGEST = unit(WORD, WORD)
ALL = [Gaussian(0.5), Bernoulli(), Binomial(10), Beta(3.0), Poisson(), Noiseless()]
ALL += [Laplace(0.5), Student(3.0, 0.5), LogNormal(0.5), Contaminated(0.5), ByArm([Gaussian(0.5)] * 20)]
ALL += [Resampled([-0.5, -0.25, 0.75]), Resampled([-1.0, 0.0, 1.0], relative=True)]


@slot
def draw(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    """Stand for the noise's draw."""
    raise NotImplementedError


def fill(out: Floats, mean: float, scale: float, key: int, run: int, arm: int) -> None:
    for clock in range(out.size):
        out[clock] = draw(mean, scale, key, run, arm, clock)


def sample(noise: Noise, mean: float, size: int = SIZE) -> Floats:
    """Rewards of one arm at clocks 0, 1, ..."""
    out = np.empty(size)
    compiled(bind(fill, {draw: noise.draw}))(out, mean, noise.scale, KEY, 1, 2)
    return out


def paid(noise: Noise, mean: float, *uniforms: float) -> float:
    """The reward when the uniform numbers behind it are these, draw by draw."""

    def given(key: int, run: int, arm: int, clock: int, draw: int) -> float:
        return uniforms[draw]

    return bind(noise.draw, {reward_uniform: given})(mean, noise.scale, 0, 0, 0, 0)


# Whole distributions.


def binomial_chances(n: int, p: Fraction) -> list[Fraction]:
    return [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


def poisson_chances(mean: float, end: int) -> list[float]:
    return [math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(end)]


def sums(chances: list[float]) -> Callable[[float], float]:
    """The CDF of a variable that is k with chance chances[k]."""
    total = np.cumsum(chances)
    return lambda x: float(total[min(int(x), len(chances) - 1)]) if x >= 0 else 0.0


def binomial_cdf(n: int, mean: float) -> Callable[[float], float]:
    return sums([float(chance) for chance in binomial_chances(n, Fraction(mean) / n)])


def poisson_cdf(mean: float) -> Callable[[float], float]:
    return sums(poisson_chances(mean, int(mean + 20 * math.sqrt(mean)) + 30))


def beta_cdf(a: int, b: int) -> Callable[[float], float]:
    """For whole a and b: the chance that at least a of a + b - 1 uniforms are below x."""
    n = a + b - 1
    return lambda x: math.fsum(math.comb(n, k) * x**k * (1 - x) ** (n - k) for k in range(a, n + 1))


def mixed(share: float, times: float) -> Callable[[float], float]:
    """Of Gaussian rewards, some of which spread further."""
    return lambda x: (1 - share) * NormalDist().cdf(x) + share * NormalDist(0, times).cdf(x)


def student_cdf(x: float) -> float:
    """Of three degrees of freedom."""
    y = x / math.sqrt(3)
    return 0.5 + (y / (1 + y * y) + math.atan(y)) / math.pi


DISTRIBUTIONS: list[tuple[Noise, float, Callable[[float], float]]] = [
    (Gaussian(1.0), 0.0, NormalDist().cdf),
    (Gaussian(0.25), -3.0, NormalDist(-3.0, 0.25).cdf),
    (Bernoulli(), 0.3, sums([0.7, 0.3])),
    (Binomial(1), 0.3, sums([0.7, 0.3])),
    (Binomial(10), 3.0, binomial_cdf(10, 3.0)),
    (Binomial(10), 9.5, binomial_cdf(10, 9.5)),
    (Binomial(500), 250.0, binomial_cdf(500, 250.0)),
    (Binomial(501), 2.0, binomial_cdf(501, 2.0)),
    (Binomial(1100), 1000.0, binomial_cdf(1100, 1000.0)),
    (Poisson(), 0.01, poisson_cdf(0.01)),
    (Poisson(), 3.5, poisson_cdf(3.5)),
    (Poisson(), 500.0, poisson_cdf(500.0)),
    (Poisson(), 1200.25, poisson_cdf(1200.25)),
    (Beta(2.0), 0.5, lambda x: x),
    (Beta(7.0), 2 / 7, beta_cdf(2, 5)),
    (Beta(40.0), 0.9, beta_cdf(36, 4)),
    (Beta(1.0), 0.5, lambda x: 2 / math.pi * math.asin(math.sqrt(x))),
    (Beta(1.25), 0.2, lambda x: x**0.25),
    (Beta(1.25), 0.8, lambda x: 1 - (1 - x) ** 0.25),
    (Laplace(2.0), 0.0, lambda x: math.exp(x / 2) / 2 if x < 0 else 1 - math.exp(-x / 2) / 2),
    (Student(3.0), 0.0, student_cdf),
    (Student(2.0, 0.5), 1.0, lambda x: 0.5 + (x - 1) / math.sqrt(2 * 0.25 + (x - 1) ** 2) / 2),
    (LogNormal(0.5), 2.0, lambda x: NormalDist(math.log(2.0) - 0.125, 0.5).cdf(math.log(x))),
    (Contaminated(1.0, 0.2, 5.0), 0.0, mixed(0.2, 5.0)),
    (ByArm([Gaussian(9.0), Gaussian(9.0), Gaussian(0.25)]), -3.0, NormalDist(-3.0, 0.25).cdf),
]


@pytest.mark.parametrize(("noise", "mean", "cdf"), DISTRIBUTIONS, ids=[f"{n!r} {mean:g}" for n, mean, _ in DISTRIBUTIONS])
def test_rewards_follow_their_distribution(noise: Noise, mean: float, cdf: Callable[[float], float]) -> None:
    size = SIZE if np.max(noise.scale) <= 100 and mean <= 100 else SIZE // 5
    values, counts = np.unique(sample(noise, mean, size), return_counts=True)
    below = np.cumsum(counts) / size
    exact = np.array([cdf(value) for value in values.tolist()])
    # Just below a jump the CDF of a count is still that of the previous whole number.
    continuous = not isinstance(noise, Bernoulli | Binomial | Poisson)
    before = exact if continuous else np.array([cdf(value - 1) for value in values.tolist()])
    distance = max(np.max(np.abs(below - exact)), np.max(np.abs(below - counts / size - before)))
    # Massart: it exceeds x with chance at most 2 exp(-2 n x^2). The 2e-4 is for a Beta that rounds to 1.
    assert distance <= math.sqrt(math.log(2 / ALARM) / (2 * size)) + 2e-4


def beta_variance(mean: float, concentration: float) -> float:
    return mean * (1 - mean) / (concentration + 1)


def binomial_variance(n: int, mean: float) -> float:
    return mean * (1 - mean / n)


# Noise, mean, variance, and a number r with P(|reward - mean| > r) < 1e-14.
MOMENTS: list[tuple[Noise, float, float, float]] = [
    (Gaussian(1.0), 5.0, 1.0, 8.0),
    (Gaussian(30.0), -1e6, 900.0, 240.0),
    (Gaussian(1e-3), 0.0, 1e-6, 8e-3),
    (Bernoulli(), 0.5, 0.25, 1.0),
    (Bernoulli(), 0.001, 0.001 * 0.999, 1.0),
    (Binomial(10), 2.9, binomial_variance(10, 2.9), 10.0),
    (Binomial(600), 599.0, binomial_variance(600, 599.0), 30.0),
    (Binomial(20_000), 5_000.0, binomial_variance(20_000, 5_000.0), 600.0),
    (Poisson(), 0.2, 0.2, 16.0),
    (Poisson(), 20.0, 20.0, 60.0),
    (Poisson(), 7_000.0, 7_000.0, 800.0),
    (Beta(0.05), 0.3, beta_variance(0.3, 0.05), 1.0),
    (Beta(1e4), 0.999, beta_variance(0.999, 1e4), 0.02),
    (Beta(2.5), 0.6, beta_variance(0.6, 2.5), 1.0),
]


@pytest.mark.parametrize(("noise", "mean", "variance", "reach"), MOMENTS, ids=[f"{n!r} {mean:g}" for n, mean, *_ in MOMENTS])
def test_mean_variance_and_support(noise: Noise, mean: float, variance: float, reach: float) -> None:
    size = SIZE if noise.scale <= 1e3 and abs(mean) <= 1e3 else SIZE // 20
    rewards = sample(noise, mean, size)
    low, high = noise.support
    assert low <= rewards.min()
    assert rewards.max() <= high
    errors = rewards - mean
    assert np.max(np.abs(errors)) <= reach
    # Bernstein for the mean, and for the squares, which lie in [0, reach^2] and have a variance below variance * reach^2.
    a = math.log(4 / ALARM)
    assert abs(errors.mean()) <= math.sqrt(2 * variance * a / size) + reach * a / (3 * size)
    spread = math.sqrt(2 * variance * reach**2 * a / size) + reach**2 * a / (3 * size)
    assert abs(np.mean(errors**2) - variance) <= spread


@pytest.mark.slow
def test_large_counts_keep_their_moments() -> None:
    """A million trials, and a mean of 200,000, in chunks of 500."""
    for noise, mean, variance in [(Binomial(10**6), 3e5, 2.1e5), (Poisson(), 2e5, 2e5)]:
        errors = sample(noise, mean, 200) - mean
        reach, a = 8 * math.sqrt(variance) + 50, math.log(8 / ALARM)
        assert np.max(np.abs(errors)) <= reach
        assert abs(errors.mean()) <= math.sqrt(2 * variance * a / 200) + reach * a / 600


# Exact maps of a uniform number to a count.

NEAR = 1e-12  # the rounding of a sum of 500 chances


@given(st.floats(0.0, 1.0))
def test_a_bernoulli_reward_is_one_below_the_mean(mean: float) -> None:
    if mean > 0.0:
        assert paid(Bernoulli(), mean, math.nextafter(mean, 0.0)) == 1.0
    assert paid(Bernoulli(), mean, mean) == 0.0


def assert_jumps(count_at: Callable[[float], float], chances: Sequence[Fraction | float]) -> int:
    """The inverse CDF is k just below F(k) and k + 1 just above; returns how many jumps were looked at."""
    looked, before = 0, 0.0
    for k, chance in enumerate(chances):
        jump = before + float(chance)
        if chance > 4 * NEAR:
            if jump - NEAR > 0.0:
                assert count_at(jump - NEAR) == k
                looked += 1
            if before > 0.0:
                assert count_at(before + NEAR) == k
                looked += 1
        before = jump
    return looked


@pytest.mark.parametrize("n", [1, 2, 7, 10, 100, 500])
@pytest.mark.parametrize("p", [0.001, 0.1, 0.3, 0.5, 0.75, 0.99])
def test_a_binomial_reward_is_the_inverse_of_the_cdf(n: int, p: float) -> None:
    mean = n * p
    share = Fraction(mean) / n
    if p <= 0.5:
        looked = assert_jumps(lambda u: paid(Binomial(n), mean, u), binomial_chances(n, share))
    else:  # counted from the other end
        looked = assert_jumps(lambda u: n - paid(Binomial(n), mean, u), binomial_chances(n, 1 - share))
    assert looked >= 2


@pytest.mark.parametrize("mean", [1e-9, 0.01, 0.7, 5.0, 60.0, 499.5, 500.0])
def test_a_poisson_reward_is_the_inverse_of_the_cdf(mean: float) -> None:
    chances = poisson_chances(mean, int(mean + 20 * math.sqrt(mean)) + 30)
    assert assert_jumps(lambda u: paid(Poisson(), mean, u), chances) >= 2


def test_long_counts_are_sums_of_chunks_with_a_number_each() -> None:
    parts = (0.2, 0.6, 0.9)
    assert paid(Binomial(1200), 240.0, *parts) == sum(
        paid(Binomial(n), n * 0.2, u) for n, u in zip((500, 500, 200), parts, strict=True)
    )
    assert paid(Poisson(), 1200.5, *parts) == sum(paid(Poisson(), m, u) for m, u in zip((500, 500, 200.5), parts, strict=True))


def test_the_smallest_number_gives_a_sensible_count() -> None:
    smallest = unit(0, 0)
    for n, p in [(10, 0.1), (100, 0.01), (500, 0.01), (500, 0.3), (500, 0.5)]:
        assert paid(Binomial(n), n * p, smallest) >= n * p - 9 * math.sqrt(n * p * (1 - p))
    for mean in (0.001, 1.0, 50.0, 500.0):
        assert paid(Poisson(), mean, smallest) >= mean - 9 * math.sqrt(mean)


def test_the_largest_numbers_give_a_sensible_count() -> None:
    """Counts this far out have a chance below 1e-20, while the largest number leaves one of 1e-16."""
    for u in (LARGEST, 1 - 2.0**-50, 1 - 2.0**-48):
        for n, p in [(100, 0.01), (500, 0.01), (500, 0.3), (500, 0.5)]:
            assert paid(Binomial(n), n * p, u) <= n * p + 10 * math.sqrt(n * p * (1 - p)) + 25
        for mean in (0.001, 1.0, 50.0, 500.0):
            assert paid(Poisson(), mean, u) <= mean + 10 * math.sqrt(mean) + 25


def test_a_gaussian_reward_is_the_scaled_quantile() -> None:
    for u in (unit(0, 0), 0.1, 0.5, 0.9, LARGEST):
        assert paid(Gaussian(0.3), 7.0, u) == 7.0 + 0.3 * normal_quantile(u)


# Compiled equals interpreted.

MEANS: list[tuple[Noise, list[float]]] = [
    (Gaussian(0.7), [0.0, -1e6, 1e-3]),
    (Bernoulli(), [0.0, 0.3, 1 - 1e-9, 1.0]),
    (Binomial(1), [0.0, 0.3, 1.0]),
    (Binomial(10), [0.0, 0.1, 5.0, 9.9, 10.0]),
    (Binomial(1700), [0.0, 0.1, 850.0, 1000.0, 1700.0]),
    (Poisson(), [0.0, 1e-9, 0.4, 30.0, 500.0, 1234.5]),
    (Noiseless(), [0.0, 1.5]),
    *((Beta(c), [0.0, 0.01, 0.5, 0.9, 1.0]) for c in (0.1, 1.0, 3.7, 1e4)),
]


@compiled_only
@pytest.mark.parametrize(("noise", "means"), MEANS, ids=lambda x: repr(x) if isinstance(x, Noise) else "")
def test_compiled_equals_interpreted(noise: Noise, means: list[float]) -> None:
    fast = compiled(noise.draw)
    for mean in means:
        for k in range(100):
            for where in ((KEY, 0, 0, k), (KEY, k, 3, 10**6 + k), (2**63 - 1, WORD, WORD, 2**33 - 1 - k)):
                assert fast(mean, noise.scale, *where) == noise.draw(mean, noise.scale, *where), (mean, where)


@compiled_only
def test_compiled_binomial_equals_interpreted_at_its_first_jump() -> None:
    """At the numbers next to (1 - p)^n that a draw can be."""
    plain, fast = _binomial_inverse, compiled(_binomial_inverse)
    for n in (50, 100, 200, 400, 500):
        for x in range(1, 40):
            p = x / (20 * n)
            cell = math.floor((1.0 - p) ** n * 2.0**52)
            for k in range(cell - 30, cell + 31):
                u = (k + 0.5) * 2.0**-52
                assert fast(n, p, u) == plain(n, p, u), (n, p, u)


# A reward is a pure function of (key, run, arm, clock).


@pytest.mark.parametrize("noise", [Gaussian(0.5), Binomial(10), Beta(3.0), Poisson()], ids=repr)
def test_rewards_depend_on_every_coordinate_and_on_nothing_else(noise: Noise) -> None:
    fast = compiled(noise.draw)

    def series(key: int, run: int, arm: int, shift: int = 0) -> list[float]:
        return [fast(0.4, noise.scale, key, run, arm, clock + shift) for clock in range(60)]

    base = series(KEY, 1, 2)
    backwards = [fast(0.4, noise.scale, KEY, 1, 2, clock) for clock in reversed(range(60))]
    assert backwards[::-1] == base
    assert sample(noise, 0.4, 60).tolist() == base
    # Two series of 60 independent rewards of these laws agree with chance below 0.7^60 < 1e-9.
    others = [series(KEY + 1, 1, 2), series(KEY, 2, 2), series(KEY, 1, 3), series(KEY, 2, 1), series(KEY, 1, 2, 1)]
    assert all(other != base for other in others)


def test_noises_of_one_key_are_paired() -> None:
    """The same numbers stand behind every mean, so a higher mean never pays less."""
    for noise in (Gaussian(1.0), Bernoulli(), Poisson()):
        low, high = sample(noise, 0.3, 300), sample(noise, 0.6, 300)
        assert np.all(low <= high)


# Means at the ends of their range.


@pytest.mark.parametrize(
    ("noise", "mean"),
    [
        (Bernoulli(), 0.0),
        (Bernoulli(), 1.0),
        (Binomial(1), 0.0),
        (Binomial(1), 1.0),
        (Binomial(7), 0.0),
        (Binomial(7), 7.0),
        (Binomial(2500), 0.0),
        (Binomial(2500), 2500.0),
        (Poisson(), 0.0),
        (Beta(5.0), 0.0),
        (Beta(5.0), 1.0),
        (Beta(1e-3), 0.0),
        (Noiseless(), -2.5),
    ],
    ids=repr,
)
def test_a_mean_at_the_end_of_its_range_is_paid_surely(noise: Noise, mean: float) -> None:
    assert set(sample(noise, mean, 300).tolist()) == {mean}
    if not isinstance(noise, Beta | Noiseless):
        assert paid(noise, mean, *[unit(0, 0)] * 5) == mean
        assert paid(noise, mean, *[LARGEST] * 5) == mean


@pytest.mark.parametrize("mean", [1e-300, 1e-20, 0.5, 1 - 2.0**-53])
@pytest.mark.parametrize(
    "noise", [Bernoulli(), Binomial(1), Binomial(3), Beta(1e-3), Beta(1.0), Beta(1e12), Poisson()], ids=repr
)
def test_means_near_the_end_of_their_range_stay_in_the_support(noise: Noise, mean: float) -> None:
    rewards = sample(noise, mean, 200)
    low, high = noise.support
    assert np.all(np.isfinite(rewards))
    assert low <= rewards.min()
    assert rewards.max() <= high


@pytest.mark.parametrize(("concentration", "mean"), [(1e-3, 5e-324), (1e-310, 0.5)])
def test_vanishing_beta_shapes_stay_in_the_support(concentration: float, mean: float) -> None:
    for clock in range(20):
        assert 0.0 <= Beta(concentration).draw(mean, concentration, KEY, 1, 2, clock) <= 1.0


def test_a_beta_in_the_limit_is_a_bernoulli() -> None:
    """Of the same numbers: all or nothing."""
    paid = [Beta(1e-300).draw(0.3, 1e-300, KEY, 1, 2, clock) for clock in range(40)]
    assert paid == [Bernoulli().draw(0.3, 0.0, KEY, 1, 2, clock) for clock in range(40)]


# Values for people.

KINDS = "Gaussian, Bernoulli, Binomial, Beta, Poisson, Noiseless"


IMPORT = "(if it is your own, import the module that defines it)"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gaussian(0), "sigma must be a positive number of at most 1e+100, got 0"),
        (lambda: Gaussian(-1.0), "sigma must be a positive number of at most 1e+100, got -1.0"),
        (lambda: Gaussian(1.1e100), "sigma must be a positive number of at most 1e+100, got 1.1e+100"),
        (lambda: Gaussian(math.nan), "sigma must be a positive number of at most 1e+100, got nan"),
        (lambda: Gaussian(math.inf), "sigma must be a positive number of at most 1e+100, got inf"),
        (lambda: Beta(0.0), "concentration must be a positive finite number, got 0.0"),
        (lambda: Beta(-math.inf), "concentration must be a positive finite number, got -inf"),
        (lambda: Binomial(0), "n must be a whole number, 1 or more, got 0"),
        (lambda: Binomial(-3), "n must be a whole number, 1 or more, got -3"),
        (lambda: Binomial(2.5), "n must be a whole number, 1 or more, got 2.5"),  # type: ignore[arg-type]
        (lambda: Bernoulli().check_means(-0.1, 0.5), "means must be a probability in [0, 1] under Bernoulli() noise, got -0.1"),
        (lambda: Bernoulli().check_means(0.0, 1.1), "means must be a probability in [0, 1] under Bernoulli() noise, got 1.1"),
        (
            lambda: Bernoulli().check_means(math.nan, 1.0),
            "means must be a probability in [0, 1] under Bernoulli() noise, got nan",
        ),
        (lambda: Binomial(3).check_means(0.0, 3.5), "means must be in [0, n] under Binomial(n=3) noise, got 3.5"),
        (lambda: Beta(2.0).check_means(0.5, 2.0), "means must be in [0, 1] under Beta(concentration=2.0) noise, got 2.0"),
        (
            lambda: Poisson().check_means(-1.0, 2.0),
            "means must be a number in [0, 1e+07] under Poisson() noise, got -1.0",
        ),
        (
            lambda: from_json({"noise": "Gausian"}),
            f"noise must be one of {KINDS}, got 'Gausian' {IMPORT}; did you mean 'Gaussian'?",
        ),
        (lambda: from_json({"noise": "Zipf"}), f"noise must be one of {KINDS}, got 'Zipf' {IMPORT}"),
        (lambda: from_json({}), f"noise must be one of {KINDS}, got None {IMPORT}"),
        (lambda: from_json({"noise": "Gaussian", "sigma": -1}), "sigma must be a positive number of at most 1e+100, got -1"),
    ],
)
def test_bad_values_are_refused_in_one_sentence(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        make()
    assert str(caught.value).replace(", ".join(known_kinds()), KINDS) == message


def test_own_noises_are_read_back_once_they_are_defined() -> None:
    assert {*KINDS.split(", ")} < {*known_kinds()}

    @dataclasses.dataclass(frozen=True)
    class Tripled(Gaussian):
        times: int = 3

    noise = Tripled(0.5, 4)
    assert from_json(json.loads(json.dumps(noise.to_json()))) == noise


@pytest.mark.parametrize("value", ["1", True, None, [1.0]])
@pytest.mark.parametrize(
    ("kind", "start"), [(Gaussian, "sigma must be"), (Binomial, "n must be"), (Beta, "concentration must be")]
)
def test_wrong_types_are_refused(kind: type[Any], start: str, value: object) -> None:
    with pytest.raises(TypeError) as caught:
        kind(value)
    assert str(caught.value).startswith(start)
    assert str(caught.value).endswith(f"got {value!r}")


@pytest.mark.parametrize("noise", ALL, ids=repr)
def test_a_noise_is_a_value(noise: Noise) -> None:
    again = from_json(json.loads(json.dumps(noise.to_json())))
    assert again == noise
    assert type(again) is type(noise)
    assert hash(again) == hash(noise)
    assert eval(repr(noise)) == noise
    assert [other == noise for other in ALL].count(True) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        noise.sigma = 2.0  # type: ignore[attr-defined]
    noise.check_means(0.0, 1.0)


def test_parameters_are_stored_as_plain_numbers() -> None:
    assert type(Gaussian(np.float64(2)).sigma) is float
    assert type(Gaussian(1).sigma) is float
    assert type(Binomial(np.int64(5)).n) is int  # type: ignore[arg-type]
    assert Binomial(5.0) == Binomial(5)  # type: ignore[arg-type]


def test_a_noise_without_a_kernel_says_so() -> None:
    with pytest.raises(NotImplementedError):
        Noise.draw(0.0, 0.0, 0, 0, 0, 0)


def test_a_noise_by_arm_accepts_the_means_that_every_arm_can_have() -> None:
    """A family draws any mean for any arm, and a reward comes from any arm."""
    noise = ByArm([Binomial(5), Binomial(2), Binomial(3)])
    assert (noise.lowest_mean, noise.highest_mean, noise.support) == (0.0, 2.0, (0.0, 5.0))
    noise.check_means(0.0, 2.0)
    for low, high in ((0.0, 2.5), (-0.5, 2.0)):
        with pytest.raises(ValueError, match=r"^means must be in \[0, n\] under ByArm"):
            noise.check_means(low, high)


def test_a_noise_by_arm_pays_what_the_noise_of_each_arm_pays() -> None:
    """In a whole game, and in one whose scales are pairs."""
    means = [0.5, 0.4, 0.3]
    for kinds in ([Gaussian(0.1), Gaussian(1.0), Gaussian(3.0)], [Student(3.0, 0.1), Student(4.0, 1.0), Student(5.0, 3.0)]):
        problem = stationary(means, ByArm(kinds), horizon=60)
        game = play(UCB1(), problem, seed=3)
        key = derive_key(3, "noise")
        pulls = [0, 0, 0]
        for arm, reward in zip(game.arm.tolist(), game.reward.tolist(), strict=True):
            each = kinds[arm]
            assert reward == each.draw(means[arm], each.scale, key, 0, arm, pulls[arm])
            pulls[arm] += 1
        assert min(pulls) > 0


class Drawing:
    """Something with a `draw` that is not a noise."""

    draw = Gaussian.draw


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        (Drawing(), "; its class must inherit from rotting.kit.Noise"),
        (0.5, ""),
        ("gaussian", ""),
        (Gaussian, ""),
        (Drawing, ""),
    ],
)
def test_a_base_class_is_asked_for_only_of_what_draws(given: Any, hint: str) -> None:
    with pytest.raises(TypeError, match=r"^noise must be a noise such as Gaussian\(1.0\), got ") as caught:
        stationary([0.5], given)
    assert str(caught.value).partition(";")[2] == hint.removeprefix(";")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LogNormal(6.0), "sigma must be a positive number of at most 5, got 6.0"),
        (lambda: Contaminated(share=2.0), "share must be a probability in [0, 1], got 2.0"),
        (lambda: Resampled([]), "residuals must hold at least one number, got none"),
        (lambda: Resampled("12"), "residuals must be numbers, got '12'"),
        (lambda: Resampled([1.0], relative=1), "relative must be True or False, got 1"),
        (lambda: Resampled([-2.0, 0.0, 2.0], relative=True), "residuals must be at least -1 if they are relative, got -2.0"),
        (lambda: ByArm([]), "noises must hold one noise for each arm, got none"),
        (lambda: ByArm(Gaussian(1.0)), "noises must be one noise for each arm, got Gaussian(sigma=1.0)"),
        (lambda: ByArm([ByArm([Gaussian(1.0)])]), "noise must be a noise such as Gaussian(1.0), got ByArm"),
        (lambda: stationary([0.5], ByArm([Gaussian()] * 2)), "noise must be one for each of the 1 arms, got 2 in ByArm"),
        (
            lambda: stationary([0.5, 3.0], ByArm([Binomial(3), Binomial(2)])),
            "arm 1: means must be in [0, n] under Binomial(n=2)",
        ),
        (
            lambda: stationary([-0.5], LogNormal()),
            "arm 0: means must be zero or more under LogNormal(sigma=1.0) noise, got -0.5",
        ),
    ],
)
def test_what_is_wrong_with_a_noise_is_told(make: Callable[[], Noise], message: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        make()
    assert str(caught.value).startswith(message)


def test_resampled_rewards_are_the_mean_and_a_residual_of_the_table() -> None:
    residuals = [-2.0, -1.0, 3.0]
    assert [paid(Resampled(residuals), 10.0, u) for u in (0.1, 0.4, 0.9)] == [8.0, 9.0, 13.0]
    assert [paid(Resampled([-1.0, 0.0, 1.0], relative=True), 10.0, u) for u in (0.0, 0.5, LARGEST)] == [0.0, 10.0, 20.0]
    assert Resampled([0.0, 1.0, 5.0]) == Resampled(residuals)  # centred
    assert repr(Resampled(residuals)) == "Resampled((-2.0, -1.0, 3.0))"
    assert repr(Resampled(range(9))) != repr(Resampled([0.0] * 8 + [9.0]))


def test_gaussian_rewards_have_standard_deviation_one_unless_told_otherwise() -> None:
    assert Gaussian() == Gaussian(sigma=1.0)
