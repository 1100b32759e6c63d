"""RAW-UCB++ and EFF-RAW-UCB++: the widths."""

import math

import pytest

from rotting.live.bandit import Bandit
from rotting.registry import make
from tests.reference import windows

Naive = windows.RAWUCBpp  # what the common tests compare the policy with


@pytest.mark.parametrize("name", ["raw-ucb-pp", "eff-raw-ucb-pp"])
def test_plus_plus_widths_are_those_of_the_definition(name: str) -> None:
    """The logarithm of the product, as it is written: the weights alpha and beta must not be taken for one another."""
    for alpha, beta, sigma in [(0.5, 2.0, 1.0), (2.0, 0.5, 3.0), (1.4, 3.5, 0.5)]:
        bandit = Bandit(make(name, alpha=alpha, beta=beta, sigma=sigma), arms=["a", "b"])
        for arm in "ab" + 40 * "b":
            bandit.update(arm, 0.5)
        x = 43 / 2
        expected = sigma * math.sqrt(2 * alpha * math.log(x * (1 + math.log(x)) ** (beta / alpha)))
        assert bandit.explain()["a"].width == pytest.approx(expected, rel=1e-14)


def test_plus_plus_widths_vanish() -> None:
    bandit = Bandit(make("raw-ucb-pp"), arms=["a", "b"])
    for arm in "ab" + 100 * "a":
        bandit.update(arm, 0.5)
    reasons = bandit.explain()
    assert reasons["a"].width == 0.0
    assert reasons["b"].width == pytest.approx(windows.width_pp(103, 1, 2, 1.4, 0.0, 1.0))
