"""Every policy equals its slow, obvious reference, the class `Naive` of its test module, decision by decision."""

import numpy as np
import pytest

from rotting.policy import Policy
from rotting.registry import make
from tests.conftest import INTERPRETED
from tests.helpers.games import (
    assert_equals_reference,
    assert_equals_reference_on_ties,
    examples,
    play,
    play_naive,
    tables,
    taking_priors,
)
from tests.reference.by_name import naive_class
from tests.reference.policy import Policy as Reference

HORIZON = 60 if INTERPRETED else 250
SLOW = {"raw-kl-ucb": 80}  # rounds: its reference looks for a bound in every window of every arm
GRIDS = [1 + 1e-15, 1.01, 1.1, 1.5, 2.0, 3.0]


def variants() -> list[Policy]:
    """Every learner with its defaults, and those of the paper with its parameters and every kind of grid."""
    found = [each for each in examples() if not each.sees_means and each.name != "ad-switch"]  # slow: test_detectors.py
    found += [make("raw-ucb", alpha=4), make("fewa", alpha=4), make("raw-ucb", alpha=0.1, sigma=3)]
    found += [make(name, m=m) for name in ("eff-raw-ucb", "eff-fewa") for m in GRIDS]
    return found


@pytest.mark.parametrize("policy", [each for each in examples() if not each.sees_means], ids=lambda each: each.name)
def test_every_learner_has_a_reference_in_its_test(policy: Policy) -> None:
    assert issubclass(naive_class(policy), Reference)


@pytest.mark.parametrize("policy", variants(), ids=repr)
def test_choices_equal_the_reference(policy: Policy) -> None:
    horizon = min(HORIZON, SLOW.get(policy.name, HORIZON))
    assert_equals_reference(policy, horizon)


@pytest.mark.parametrize("policy", variants(), ids=repr)
def test_ties_equal_the_reference(policy: Policy) -> None:
    assert_equals_reference_on_ties(policy, 40)


@pytest.mark.parametrize("policy", taking_priors(examples()), ids=repr)
def test_choices_after_priors_equal_the_reference(policy: Policy) -> None:
    """Round 1, where the level ln(t) of most bounds is 0, is no first pull then. Arms with equal priors tie."""
    horizon, priors = 40, [(arm, mean) for arm, mean in enumerate([1 / 3, 1 / 3, 0.25]) for _ in range(2)]
    for name, table in tables(3, horizon).items():
        assert play(policy, table.tolist(), horizon, priors=priors) == play_naive(
            policy, table.tolist(), horizon, priors=priors
        ), name


@pytest.mark.parametrize("name", ["raw-ucb", "eff-raw-ucb", "fewa", "eff-fewa"])
def test_an_offset_changes_no_choice(name: str) -> None:
    """Dyadic rewards, so that the offset itself is exact."""
    steps = np.random.default_rng(8).integers(-(2**20), 2**20, (3, HORIZON)) / 2**20
    assert play(make(name), steps.tolist(), HORIZON) == play(make(name), (steps + 2.0**20).tolist(), HORIZON)


def test_grid_of_one_window_each_is_the_exact_policy() -> None:
    table = tables(3, HORIZON)["falling"].tolist()
    fine = 1 + 1e-15
    assert play(make("eff-raw-ucb", m=fine), table, HORIZON) == play(make("raw-ucb"), table, HORIZON)
    assert play(make("eff-fewa", m=fine), table, HORIZON) == play(make("fewa"), table, HORIZON)
