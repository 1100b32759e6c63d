"""Posteriors: the chance that an arm's draw is the largest is exact, and what draws do."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from rotting.common.arrays import Floats, Ints
from rotting.live.bandit import Bandit
from rotting.live.learner import Learner
from rotting.policies.parts.divergences import BERNOULLI, GAUSSIAN
from rotting.policies.parts.posteriors import probabilities_of_largest
from rotting.policy import Policy
from rotting.simulation.engines.compile import compiled
from tests.conftest import INTERPRETED
from tests.helpers.variants import THOMPSON


def propensities(kind: int, posteriors: Sequence[Sequence[float]]) -> np.ndarray:
    out = np.zeros(len(posteriors))
    compiled(probabilities_of_largest, allocates=True)(kind, np.array(posteriors, float), out)
    return out


def test_propensities_of_two_gaussians() -> None:
    rng = np.random.default_rng(1)
    for _ in range(3 if INTERPRETED else 200):
        offset = rng.choice([0.0, 1e6, -1e9])
        mean, sd = offset + rng.normal(size=2) * 10 ** rng.uniform(-3, 1), 10 ** rng.uniform(-5, 3, 2)
        exact = math.erfc((mean[1] - mean[0]) / math.hypot(*sd) / math.sqrt(2)) / 2
        assert propensities(GAUSSIAN, [(mean[0], sd[0]), (mean[1], sd[1])])[0] == pytest.approx(exact, abs=1e-12)


def beta_exceeds(a: int, b: int, c: int, d: int) -> float:
    """The chance that Beta(a, b) is above Beta(c, d), by the sum over i < a for whole numbers."""

    def beta(x: int, y: int) -> Fraction:
        return Fraction(math.factorial(x - 1) * math.factorial(y - 1), math.factorial(x + y - 1))

    return float(sum(beta(c + i, b + d) / ((b + i) * beta(1 + i, b) * beta(c, d)) for i in range(a)))


def test_propensities_of_two_betas() -> None:
    rng = np.random.default_rng(2)
    for _ in range(3 if INTERPRETED else 100):
        a, b, c, d = (math.ceil(x) for x in 10 ** rng.uniform(0, 2.3, 4))
        assert propensities(BERNOULLI, [(a, b), (c, d)])[0] == pytest.approx(beta_exceeds(a, b, c, d), abs=1e-12)


@pytest.mark.parametrize("shape", [(1e-9, 1e-9), (1e-4, 2.0), (0.5, 0.5), (1e-3, 1e3), (1.0, 1e6), (1e9, 1e9), (1e12, 3.0)])
def test_propensities_of_extreme_betas(shape: tuple[float, float]) -> None:
    a, b = shape
    assert propensities(BERNOULLI, [shape, (1.0, 1.0)])[0] == pytest.approx(a / (a + b), abs=1e-9)  # above a uniform: its mean
    assert propensities(BERNOULLI, [shape] * 3) == pytest.approx([1 / 3] * 3, abs=1e-9)


@pytest.mark.parametrize(("a", "c"), [(0.002, 0.005), (0.0004, 0.3), (0.05, 0.07), (1e-5, 2e-5)])
def test_propensities_of_powers_of_uniform_numbers(a: float, c: float) -> None:
    """Beta(a, 1) is U^(1/a): where a is small, its log-odds have a straight tail of many thousands."""
    assert propensities(BERNOULLI, [(a, 1.0), (c, 1.0)])[0] == pytest.approx(a / (a + c), abs=1e-11)


@pytest.mark.parametrize("kind", [BERNOULLI, GAUSSIAN])
def test_propensities_of_many_equal_arms(kind: int) -> None:
    size = 4 if INTERPRETED else 300
    equal = propensities(kind, [(2.0, 3.0)] * size)
    assert equal == pytest.approx([1 / size] * size, abs=1e-12)
    assert propensities(kind, [(2.0, 3.0)]) == pytest.approx([1.0])


def midpoint_propensities(kind: int, posteriors: Sequence[tuple[float, float]]) -> np.ndarray:
    """Chances of being largest by the plainest rule: many cells, densities and their cumulated sums."""
    x = (np.arange(400_000) + 0.5) / 400_000
    if kind == GAUSSIAN:
        x = 40.0 * x - 20.0
        log_f = [-0.5 * ((x - m) / s) ** 2 for m, s in posteriors]
    else:
        log_f = [(a - 1) * np.log(x) + (b - 1) * np.log1p(-x) for a, b in posteriors]
    f = np.exp([each - each.max() for each in log_f])
    f /= f.sum(axis=1, keepdims=True)
    below = np.cumsum(f, axis=1) - f / 2
    return np.array([(f[i] * np.delete(below, i, axis=0).prod(axis=0)).sum() for i in range(len(posteriors))])


def test_propensities_of_several_arms() -> None:
    for kind, posteriors in [
        (BERNOULLI, [(3.0, 5.0), (40.5, 61.5), (2.0, 2.0), (900.0, 1400.0)]),
        (GAUSSIAN, [(0.0, 1.0), (0.5, 0.1), (-2.0, 3.0), (0.6, 0.02)]),
    ]:
        assert propensities(kind, posteriors) == pytest.approx(midpoint_propensities(kind, posteriors), abs=1e-6)


def tail_bound(draws: int, false_alarm: float) -> float:
    """Hoeffding: the frequency of an event in so many draws is further from its chance with at most this probability."""
    return math.sqrt(math.log(2 / false_alarm) / (2 * draws))


@pytest.mark.parametrize("policy", THOMPSON, ids=repr)
def test_propensities_match_the_frequencies(policy: Policy) -> None:
    """False-alarm rate: 3 arms, 15 policies, 1e-8 each: below 1e-6."""
    draws = 1_000 if INTERPRETED else 10_000
    table = np.random.default_rng(4).random((3, 30)) * [[1.0], [0.8], [0.6]]
    bandit = Bandit(policy, arms=[0, 1, 2], seed=1)
    for n in range(9):
        bandit.update(n % 3, float(table[n % 3, n]))
    promised = bandit.propensities()
    assert sum(promised.values()) == pytest.approx(1.0, abs=1e-12)
    assert min(promised.values()) > 0.01
    choose, state = compiled(policy.kernel.choose), bandit._state.learner.state
    counts = np.zeros(3)
    for key in range(draws):
        counts[choose(policy.params, state, 10, key, np.arange(3))] += 1
    assert np.abs(counts / draws - list(promised.values())).max() < tail_bound(draws, 1e-8)
    assert bandit.propensities(arms=[2]) == {2: pytest.approx(1.0)}


@pytest.mark.parametrize("policy", THOMPSON, ids=repr)
def test_only_who_wants_a_propensity_pays_for_it(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    bandit, asked = Bandit(policy, arms=["a", "b"]), []
    probabilities = Learner.probabilities

    def count(learner: Learner, t: int, arms: Ints) -> Floats | None:
        asked.append(t)
        return probabilities(learner, t, arms)

    monkeypatch.setattr(Learner, "probabilities", count)
    bandit.pull()
    assert not asked
    bandit.decide()
    assert asked == [2]


@pytest.mark.parametrize("policy", THOMPSON, ids=repr)
def test_propensities_know_first_pulls(policy: Policy) -> None:
    bandit = Bandit(policy, arms=["a", "b"])
    assert bandit.propensities() == {"a": 1.0, "b": 0.0}
    bandit.update("a", 0.5)
    assert bandit.propensities() == {"a": 0.0, "b": 1.0}


@pytest.mark.parametrize(
    "posterior", [(6.589052075762277e32, 1.206826984387259e31), (3.648124705728732e32, 4.9371999033228275e31)]
)
def test_posteriors_narrower_than_the_numbers_around_them_come_to_an_end(posterior: tuple[float, float]) -> None:
    """Their log-odds are 4 and 2, where numbers become half as dense: a panel leads on below, and not above."""
    assert propensities(BERNOULLI, [posterior, posterior]).tolist() == [0.5, 0.5]


def test_an_arm_without_a_chance_has_none() -> None:
    """Nor is it shown as -0.0."""
    assert [str(chance) for chance in propensities(GAUSSIAN, [(0.0, 1.0), (100.0, 1.0)])] == ["0.0", "1.0"]
