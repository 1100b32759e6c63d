"""Random variates: those of slow, obvious loops to the last bit, and of the distribution that they are named after."""

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import pytest

from rotting.problems.families import gammas, normals, uniforms
from tests.reference import variates as reference

SHAPES = [1e-3, 0.01, 0.5, 0.999, 1.0, 3.0, 1e6]
RUNS = 20_000


@pytest.mark.parametrize("seed", range(5))
def test_uniform_and_normal_numbers_are_those_of_the_reference(seed: int) -> None:
    one, two = (np.random.default_rng(seed) for _ in range(2))
    for size in (1, 2, 7, 300):
        assert uniforms(one, -0.3, 1.7, (size,)).tolist() == reference.uniforms(two, -0.3, 1.7, size)
        assert normals(one, (size, 3)).ravel().tolist() == reference.normals(two, 3 * size)


@pytest.mark.parametrize("a", SHAPES)
def test_gamma_variates_are_those_of_the_reference(a: float) -> None:
    one, two = (np.random.default_rng(4) for _ in range(2))
    for size in (1, 7, 500):
        assert gammas(one, a, (size, 2)).ravel().tolist() == reference.gammas(two, a, 2 * size)


def distance(drawn: np.ndarray, cdf: Callable[[float], float]) -> float:
    """Kolmogorov and Smirnov's, in units in which 1.95 is exceeded once in a thousand times."""
    expected = np.array([cdf(x) for x in np.sort(drawn).tolist()])
    seen = np.arange(drawn.size + 1) / drawn.size
    return math.sqrt(drawn.size) * float(max(np.max(seen[1:] - expected), np.max(expected - seen[:-1])))


DISTRIBUTIONS: dict[str, tuple[Callable[[np.random.Generator], np.ndarray], Callable[[float], float]]] = {
    "uniform": (lambda rng: uniforms(rng, 2.0, 5.0, (RUNS,)), lambda x: (x - 2.0) / 3.0),
    "normal": (lambda rng: normals(rng, (RUNS,)), NormalDist().cdf),
    "gamma 1/2": (lambda rng: gammas(rng, 0.5, (RUNS,)), lambda x: math.erf(math.sqrt(x))),
    "gamma 1": (lambda rng: gammas(rng, 1.0, (RUNS,)), lambda x: -math.expm1(-x)),
    "gamma 3": (lambda rng: gammas(rng, 3.0, (RUNS,)), lambda x: 1.0 - math.exp(-x) * (1.0 + x + x * x / 2.0)),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_variates_have_the_distribution_of_their_name(name: str) -> None:
    draw, cdf = DISTRIBUTIONS[name]
    assert distance(draw(np.random.default_rng(1)), cdf) < 1.95


@pytest.mark.parametrize("a", [0.01, 50.0, 1e6])
def test_gamma_variates_have_the_mean_and_the_variance_of_their_shape(a: float) -> None:
    """Both are a; the standard errors are from the kurtosis 3 + 6 / a."""
    drawn = gammas(np.random.default_rng(2), a, (10 * RUNS,))
    assert abs(drawn.mean() - a) < 4.0 * math.sqrt(a / drawn.size)
    assert abs(drawn.var() - a) < 4.0 * a * math.sqrt((2.0 + 6.0 / a) / drawn.size)


def test_no_normal_numbers_take_nothing_from_the_generator() -> None:
    rng, untouched = np.random.default_rng(3), np.random.default_rng(3)
    assert normals(rng, (0, 4)).shape == (0, 4)
    assert rng.random() == untouched.random()
