"""Two draws for each arm: the probability that an arm's f(x, y) is the largest."""

from collections.abc import Sequence

import numpy as np
import pytest

from rotting.policies.parts.paired_draws import AGGREGATION, winning_probabilities
from rotting.policies.parts.posteriors import probabilities_of_largest
from rotting.policies.parts.reward_scale import BOUNDED
from rotting.simulation.engines.compile import compiled


def probabilities(f: str, shapes: Sequence[Sequence[float]] | np.ndarray) -> np.ndarray:
    out = np.zeros(len(shapes))
    compiled(winning_probabilities, allocates=True)(AGGREGATION.words.index(f), np.array(shapes, float), out)
    return out


def draw_shapes(rng: np.random.Generator, n_arms: int) -> np.ndarray:
    return np.asarray(10 ** rng.uniform(0, 2, (n_arms, 4)))


def test_the_largest_maximum_is_the_largest_of_all_draws() -> None:
    rng = np.random.default_rng(1)
    for n_arms in (1, 2, 5):
        shapes = draw_shapes(rng, n_arms)
        each = np.zeros(2 * n_arms)
        compiled(probabilities_of_largest, allocates=True)(BOUNDED, shapes.reshape(-1, 2), each)
        assert probabilities("max", shapes) == pytest.approx(each.reshape(-1, 2).sum(axis=1), abs=1e-6)


def test_of_two_minima_the_larger_is_above_the_smallest_of_all_draws() -> None:
    """The smallest of four draws is the largest of their mirror images, Beta(b, a)."""
    rng = np.random.default_rng(2)
    for _ in range(3):
        shapes = draw_shapes(rng, 2)
        each = np.zeros(4)
        compiled(probabilities_of_largest, allocates=True)(BOUNDED, shapes.reshape(-1, 2)[:, ::-1].copy(), each)
        assert probabilities("min", shapes)[::-1] == pytest.approx(each.reshape(-1, 2).sum(axis=1), abs=1e-6)


def test_the_largest_mean_of_powers_of_uniform_numbers() -> None:
    """Beta(a, 1) is U^(1/a), Beta(1, b) its mirror image: each by 400 quantiles, every sum against every other."""
    u = (np.arange(400) + 0.5) / 400

    def sums(a: float, b: float) -> np.ndarray:
        return np.sort(np.add.outer(u ** (1 / a), 1 - u ** (1 / b)).ravel())

    for a, b, c, d in [(1.0, 1.0, 2.5, 1.5), (1.0, 3.0, 1.1, 2.0), (20.0, 2.0, 9.0, 1.0)]:
        above = np.searchsorted(sums(c, d), sums(a, b)).mean() / 400**2
        assert probabilities("mean", [(a, 1.0, 1.0, b), (c, 1.0, 1.0, d)])[0] == pytest.approx(above, abs=2e-4)


@pytest.mark.parametrize("f", ["min", "max", "mean"])
def test_equal_arms_win_alike_and_an_arm_far_above_wins(f: str) -> None:
    assert probabilities(f, [(1.0, 1.0, 7.5, 3.0)] * 3) == pytest.approx([1 / 3] * 3, abs=1e-12)
    assert probabilities(f, [(90.0, 1.0, 90.0, 1.0), (1.0, 90.0, 1.0, 90.0)]) == pytest.approx([1.0, 0.0], abs=1e-12)
