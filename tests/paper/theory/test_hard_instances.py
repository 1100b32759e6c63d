"""Games on the hard instances: no policy that learns beats the lower bounds."""

import math

import pytest

from rotting import theory
from rotting.policy import Policy
from rotting.problems import ProblemFamily
from rotting.registry import make
from rotting.simulation.simulate import simulate
from tests.helpers.games import examples


def fitted(policy: Policy, horizon: int) -> Policy:
    """The policy with its defaults, made ready for Gaussian rewards and this horizon."""
    known = {each.name: each for each in type(policy).parameters()}
    params: dict[str, float | str] = {name: horizon for name, each in known.items() if each.required}
    if "outside" in known:
        params |= {"low": -4.0, "high": 4.0, "outside": "clip"}
    return type(policy)(**params)


def problems(family: theory.HardFamily) -> ProblemFamily:
    """The problems of a family, with best arms drawn uniformly in every run."""
    return ProblemFamily(lambda rng: family.problem(rng.integers(family.n_arms, size=family.pieces).tolist()))


LEARNERS = [each for each in examples() if not each.sees_means]


@pytest.mark.slow
@pytest.mark.parametrize("policy", LEARNERS, ids=lambda each: each.name)
def test_no_policy_beats_the_lower_bounds_on_the_hard_instances(policy: Policy) -> None:
    """On average over the family: Lemma 5 and Proposition 4 with its pieces, Proposition 3 with its budget."""
    family = theory.HardFamily.of_budget(n_arms=2, horizon=1_000, V=1.0)
    regret = simulate(fitted(policy, family.horizon), problems(family), runs=400).regret[0, :, -1]
    error = regret.std(ddof=1) / math.sqrt(len(regret))
    for bound in (family.bound, theory.variation_lower(1_000, 2, V=1.0)):
        assert regret.mean() >= bound - 3 * error
        assert 3 * error < bound / 2  # so that half the bound would not do


def test_a_play_that_sees_the_means_is_told_from_one_that_learns() -> None:
    """The greedy oracle is below both bounds: the comparison is not true of everything."""
    family = theory.HardFamily.of_budget(n_arms=2, horizon=1_000, V=1.0)
    regret = simulate(make("greedy-oracle"), problems(family), runs=2).regret[0, :, -1]
    assert abs(regret.mean()) < 1e-9 < min(family.bound, theory.variation_lower(1_000, 2, V=1.0))


def test_problems_drawn_with_the_same_seed_are_the_same() -> None:
    family = theory.HardFamily(n_arms=2, horizon=40, pieces=3)
    assert family.random(3) == family.problem(family.random_best(3))
    assert family.random(3) != family.random(4)
