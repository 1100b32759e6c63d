"""With widths that are lost in rounding, indices are means of few values: bounds, floors and lines tie all the time."""

import numpy as np
import pytest

from rotting.policy import Policy
from rotting.registry import make
from tests.helpers.games import play, play_naive

NAMES = ("raw-ucb", "eff-raw-ucb", "raw-ucb-pp", "eff-raw-ucb-pp", "fewa", "eff-fewa")


@pytest.mark.parametrize("policy", [make(name, sigma=1e-40) for name in NAMES], ids=lambda policy: policy.name)
@pytest.mark.parametrize("seed", range(6))
def test_choices_equal_the_reference(policy: Policy, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = (rng.integers(1, 5, (3, 90)) / 4).tolist()
    assert play(policy, table, 90) == play_naive(policy, table, 90)
