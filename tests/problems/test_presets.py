"""The presets are the problems of the papers, and are found by name."""

import math

import pytest

from rotting.problems import list_problems, make, stationary, ten_arms, two_arms
from rotting.problems.noise import Bernoulli, Gaussian


def test_two_arms() -> None:
    problem = two_arms(L=0.5)
    assert (problem.n_arms, problem.horizon, problem.kind, problem.noise) == (2, 10_000, "rested", Gaussian(1.0))
    assert [problem.mean(1, t=10_000, n=n) for n in (0, 2_499, 2_500, 9_999)] == [0.25, 0.25, -0.25, -0.25]
    assert problem.mean(0, t=10_000, n=5_000) == 0.0
    assert problem.is_rotting()
    assert two_arms(horizon=3).mean(1, t=1, n=0) == -0.15
    with pytest.raises(ValueError, match=r"^L must be a finite number, zero or more, got -1$"):
        two_arms(L=-1)


def test_ten_arms() -> None:
    problem = ten_arms()
    sizes = [0.0, *(0.001 * math.sqrt(10) ** i for i in range(9))]
    assert (problem.n_arms, problem.horizon, problem.kind) == (10, 25_000, "rested")
    for i, size in enumerate(sizes):
        for n, sign in ((0, 1), (999, 1), (1_000, -1), (24_999, -1)):
            assert problem.mean(i, t=25_000, n=n) == pytest.approx(sign * size, rel=1e-14)
    assert [problem.mean(i, t=1, n=0) for i in (1, 3, 5, 7, 9)] == [0.001, 0.01, 0.1, 1.0, 10.0]
    assert problem.is_rotting()


def test_stationary() -> None:
    problem = stationary([0.5, 0.25], noise=Bernoulli(), horizon=10)
    assert (problem.kind, problem.horizon, problem.mean(0, t=9, n=3)) == ("stationary", 10, 0.5)
    with pytest.raises(ValueError, match="at least one arm"):
        stationary([])


def test_presets_by_name() -> None:
    assert list_problems() == {"two-arms": two_arms, "ten-arms": ten_arms, "stationary": stationary}
    assert make("ten-arms", horizon=50) == ten_arms(horizon=50)
    with pytest.raises(ValueError, match=r"got 'two-arm'; did you mean 'two-arms'\?$"):
        make("two-arm")
    with pytest.raises(TypeError, match=r"among L, horizon, sigma, got 'horizn'; did you mean 'horizon'\?$"):
        make("two-arms", horizn=3)
    with pytest.raises(TypeError, match=r"^means must be given for stationary"):
        make("stationary")
