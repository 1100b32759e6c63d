"""The bound by Newton's method and by bisection: the same bits, whatever the level."""

import numpy as np
import pytest

from rotting.parts.divergences import kl_bernoulli_upper
from tests.reference import naive


@pytest.mark.parametrize("exponent", [-15, -12, -9, -6, -4, -2, -1, 0, 1, 2])
def test_the_bound_is_the_one_of_bisection(exponent: int) -> None:
    rng = np.random.default_rng(exponent + 20)
    for x, factor in rng.random((60, 2)):
        d = float(10.0 ** (exponent + factor))
        for mean in (float(x), float(x) ** 8, 1.0 - float(x) ** 8):
            assert kl_bernoulli_upper(mean, d) == naive.upper("bernoulli", mean, d, 1.0), (mean, d)
