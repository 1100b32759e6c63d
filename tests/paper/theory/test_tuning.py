"""What the theorems ask of a policy's parameters, and of the noise."""

import math
from typing import Any

import pytest

from rotting import theory
from rotting.problems.noise import Bernoulli, Beta, Binomial, ByArm, Contaminated, Gaussian, Noise, Noiseless, Poisson, Student
from rotting.registry import make

FOUR = ("raw-ucb", "eff-raw-ucb", "fewa", "eff-fewa")

RESTLESS_ALPHA = dict(zip(FOUR, (4.0, 3.0, 4.0, 3.0), strict=True))

RESTED_ALPHA = dict(zip(FOUR, (5.0, 4.0, 5.0, 4.0), strict=True))


def test_the_constant_of_each_policy() -> None:
    """2 sqrt(8) = 2 * 2.828427 and 4 sqrt(3) / (sqrt 2 - 1) = 4 * 1.732051 / 0.414214, and their doubles."""
    found = [theory.constant(make(name, alpha=alpha)) for name, alpha in RESTLESS_ALPHA.items()]
    assert found == pytest.approx([5.656854249492380, 16.726162201408222, 11.313708498984760, 33.452324402816443], rel=1e-15)
    found = [theory.constant(make(name, alpha=alpha)) for name, alpha in RESTED_ALPHA.items()]
    assert found == pytest.approx([6.324555320336759, 19.313708498984760, 12.649110640673517, 38.627416997969521], rel=1e-15)


@pytest.mark.parametrize(
    ("noise", "sigma"),
    [
        *[
            (Gaussian(0.3), 0.3),
            (Bernoulli(), 0.5),
            (Binomial(16), 2.0),
            (Beta(3.0), 0.25),
            (Noiseless(), 0.0),
            (Poisson(), None),
        ],
        *[(Contaminated(0.5, times=4), 2.0), (Contaminated(0.5, times=0.1), 0.5), (Student(3), None)],
        *[(ByArm([Gaussian(0.3), Gaussian(2.0)]), 2.0), (ByArm([Noiseless()]), 0.0), (ByArm([Poisson()]), None)],
    ],
)
def test_the_scale_of_a_noise(noise: Noise, sigma: float | None) -> None:
    assert theory.subgaussian_scale(noise) == sigma


@pytest.mark.parametrize("mean", [0.02, 0.3, 0.5])
@pytest.mark.parametrize("x", [-4.0, -0.5, 0.5, 4.0])
def test_bounded_noises_are_sub_gaussian(mean: float, x: float) -> None:
    """E exp(x (X - mean)) <= exp(sigma^2 x^2 / 2), with sigma^2 and not sigma as printed."""

    def allowed(noise: Noise) -> float:
        sigma: Any = theory.subgaussian_scale(noise)
        return math.exp(sigma**2 * x**2 / 2)

    one = mean * math.exp(x * (1 - mean)) + (1 - mean) * math.exp(-x * mean)
    assert one <= allowed(Bernoulli())
    assert one**7 <= allowed(Binomial(7))
    # E exp(x U) of a Beta is the sum of x^k / k! times its k-th moment, the product of (a + r) / (a + b + r) over r < k.
    terms = [1.0]
    for k in range(60):
        terms.append(terms[-1] * x / (k + 1) * (3 * mean + k) / (3 + k))
    assert math.fsum(terms) * math.exp(-x * mean) <= allowed(Beta(3.0)) * (1 + 1e-12)
