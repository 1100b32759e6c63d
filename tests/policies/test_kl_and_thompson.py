"""KL-UCB, RAW-UCB++, RAW-klUCB and Thompson sampling: bounds and chances are exact, choices equal the slow references."""

import itertools
import math
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.engines.compile import compiled
from rotting.kernels.random_numbers import normal_quantile
from rotting.live import policy_state as states
from rotting.live.bandit import Bandit
from rotting.live.checks import check_policy
from rotting.parts.divergences import BERNOULLI, GAUSSIAN, exploration, kl_bernoulli, kl_bernoulli_upper, kl_gaussian, upper
from rotting.parts.posteriors import probabilities_of_largest
from rotting.policy import Policy
from rotting.problems import Problem
from rotting.problems.noise import Gaussian
from rotting.registry import make
from rotting.simulation.simulate import simulate
from tests.conftest import INTERPRETED
from tests.helpers.games import KEY, play, play_naive, reference
from tests.reference import naive

HORIZON = 50 if INTERPRETED else 250
FINE = 1 + 1e-15

KL = [
    make("kl-ucb"),
    make("kl-ucb", c=3, low=-1, high=2),
    make("kl-ucb", kind="gaussian", c=3, sigma=0.5),
    make("raw-kl-ucb"),
    make("raw-kl-ucb", alpha=0.3, low=-3, high=3),
    make("raw-kl-ucb", kind="gaussian"),
]
PLUS = [
    make("raw-ucb-pp"),
    make("raw-ucb-pp", alpha=1, beta=3.5, sigma=0.5),
    make("raw-ucb-pp", alpha=0.3, beta=2),
    *(make("eff-raw-ucb-pp", alpha=1, beta=beta, m=m) for beta, m in [(0, 2), (3.5, 1.1), (1, FINE)]),
    make("eff-raw-ucb-pp", alpha=0.3, beta=2),
]
MEMORIES: list[tuple[str, dict[str, Any]]] = [
    ("thompson-sampling", {}),
    ("discounted-ts", {"gamma": 0.9}),
    ("discounted-ts", {"gamma": 1.0}),
    ("sliding-window-ts", {"tau": 7}),
    ("sliding-window-ts", {"tau": 10_000}),
]
PRIORS: list[dict[str, Any]] = [{}, {"a": 0.5, "b": 2.5, "low": -2, "high": 3}, {"kind": "gaussian", "sigma": 0.7}]
THOMPSON = [make(name, **memory, **prior) for name, memory in MEMORIES for prior in PRIORS]
OURS = [*KL, *PLUS, *THOMPSON]


def tables(n_arms: int, horizon: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    noise = rng.normal(size=(n_arms, horizon))
    chances = np.linspace(0.9, 0.1, horizon) ** (1 + np.arange(n_arms)[:, None])
    return {
        "noise": noise,
        "falling coins": (rng.random((n_arms, horizon)) < chances).astype(float),
        "unit": rng.random((n_arms, horizon)),
        "constant": np.full((n_arms, horizon), 0.1),
        "extremes": np.repeat(np.arange(n_arms)[:, None] % 2.0, horizon, axis=1),
        "offset": 1e6 + noise,
        "tiny": 1e-9 * noise,
    }


# --- Choices ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", OURS, ids=repr)
def test_choices_equal_the_reference(policy: Policy) -> None:
    horizon = 60 if policy.name == "raw-kl-ucb" else HORIZON  # the reference bisects for every window
    for name, table in tables(3, horizon).items():
        assert play(policy, table.tolist(), horizon) == play_naive(policy, table.tolist(), horizon), name
    for n_arms, horizon in [(1, 30), (5, 3), (7, 7), (2, 1)]:
        rows = tables(n_arms, horizon)["unit"].tolist()
        assert play(policy, rows, horizon) == play_naive(policy, rows, horizon), (n_arms, horizon)


@pytest.mark.parametrize("policy", OURS, ids=repr)
def test_choices_among_some_arms_equal_the_reference(policy: Policy) -> None:
    """Another set of arms in every round, so that arms stay out of use for long."""
    rng = np.random.default_rng(3)
    rewards = rng.random((4, max(60, HORIZON)))
    horizon = 60 if policy.name == "raw-kl-ucb" else HORIZON
    slow, state = reference(policy, 4), states.new_state(policy, 4, horizon)
    choose, update = compiled(policy.kernel.choose), compiled(policy.kernel.update)
    for t in range(1, horizon + 1):
        arms = np.flatnonzero(rng.random(4) < (0.2 if t % 40 > 20 else 0.9))
        arms = arms if arms.size else np.array([t % 4])
        arm = int(choose(policy.params, state, t, KEY, arms))
        assert arm == slow.choose(t, arms.tolist()), t
        reward = float(rewards[arm, t - 1])
        update(policy.params, state, t, arm, reward)
        slow.update(t, arm, reward)


@pytest.mark.parametrize("policy", [*KL, *PLUS], ids=repr)
@given(
    table=st.integers(1, 4).flatmap(
        lambda n: st.lists(
            st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0, 1 / 3]), min_size=24, max_size=24), min_size=n, max_size=n
        )
    )
)
def test_ties_equal_the_reference(policy: Policy, table: list[list[float]]) -> None:
    assert play(policy, table, 24) == play_naive(policy, table, 24)


def same_choices(a: Policy, b: Policy, names: Sequence[str]) -> None:
    for name in names:
        table = tables(3, HORIZON)[name].tolist()
        assert play(a, table, HORIZON) == play(b, table, HORIZON), name


@pytest.mark.parametrize("kind", ["beta", "gaussian"])
def test_without_forgetting_all_are_thompson_sampling(kind: str) -> None:
    plain = make("thompson-sampling", kind=kind)
    names = ["unit", "falling coins", "offset", "constant"]
    same_choices(make("discounted-ts", kind=kind, gamma=1), plain, names)
    same_choices(make("sliding-window-ts", kind=kind, tau=10**15), plain, names)
    same_choices(make("sliding-window-ts", kind=kind, tau=HORIZON), plain, names)


@pytest.mark.parametrize(("alpha", "beta"), [(1.4, 0.0), (1.0, 3.5)])
def test_a_fine_grid_is_every_window(alpha: float, beta: float) -> None:
    names = ["noise", "falling coins", "constant", "offset"]
    same_choices(make("eff-raw-ucb-pp", alpha=alpha, beta=beta, m=FINE), make("raw-ucb-pp", alpha=alpha, beta=beta), names)


def test_the_gaussian_divergence_is_the_sub_gaussian_policy() -> None:
    same_choices(make("raw-kl-ucb", kind="gaussian", alpha=1.4, sigma=0.5), make("raw-ucb", sigma=0.5), ["noise", "offset"])
    same_choices(make("kl-ucb", kind="gaussian", sigma=0.5), make("ucb1", sigma=0.5), ["noise", "offset"])


def test_the_range_is_only_a_change_of_units() -> None:
    """Dyadic rewards, so that mapping them loses nothing."""
    unit = np.random.default_rng(8).integers(0, 2**10, (3, HORIZON)) / 2**10
    for name in ("kl-ucb", "raw-kl-ucb", "thompson-sampling", "discounted-ts", "sliding-window-ts"):
        wide = make(name, low=-4.0, high=12.0)
        assert play(make(name), unit.tolist(), HORIZON) == play(wide, (16.0 * unit - 4.0).tolist(), HORIZON), name


@pytest.mark.parametrize("policy", [each for each in OURS if each.shown_params().get("kind") == "gaussian"], ids=repr)
def test_the_contract_is_kept(policy: Policy) -> None:
    check_policy(policy)


# --- The kl bound -------------------------------------------------------------------------------------------


def precise_kl(x: Decimal, q: Decimal) -> Decimal:
    return (x * (x / q).ln() if x > 0 else Decimal(0)) + (1 - x) * ((1 - x) / (1 - q)).ln()


def precise_upper(x: float, d: float) -> Decimal:
    """Bisection in 80 digits, until the ends are 1e-30 apart."""
    with localcontext() as context:
        context.prec = 80
        mean, level = Decimal(x), Decimal(d)
        low, high = mean, Decimal(1)
        while high - low > Decimal("1e-30"):
            middle = (low + high) / 2
            if precise_kl(mean, middle) <= level:
                low = middle
            else:
                high = middle
        return low


MEANS = [0.0, 1e-300, 1e-12, 1e-3, 0.1, 1 / 3, 0.5, 0.9, 1 - 1e-6, 1 - 2**-53]
LEVELS = [1e-9, 1e-4, 0.05, 0.7, 3.0, 40.0]


@pytest.mark.parametrize("x", MEANS)
def test_the_bound_is_exact(x: float) -> None:
    fast = compiled(kl_bernoulli_upper)
    for d in LEVELS:
        assert abs(Decimal(fast(x, d)) - precise_upper(x, d)) <= Decimal(1e-15 + 1e-16 / math.sqrt(d)), d
        assert fast(x, d) == kl_bernoulli_upper(x, d)


@given(x=st.floats(0, 1), d=st.one_of(st.floats(1e-3, 50), st.floats(0, 1e300)))
def test_the_bound_is_the_one_of_bisection(x: float, d: float) -> None:
    assert compiled(kl_bernoulli_upper)(x, d) == naive.upper("bernoulli", x, d, 1.0)


@given(x=st.floats(0, 1), y=st.floats(0, 1), d=st.floats(1e-9, 50), e=st.floats(1e-9, 50))
def test_the_bound_is_monotone(x: float, y: float, d: float, e: float) -> None:
    fast = compiled(kl_bernoulli_upper)
    assert fast(min(x, y), d) <= fast(max(x, y), d) + 1e-15 + 1e-16 / math.sqrt(d)
    assert fast(x, min(d, e)) <= fast(x, max(d, e)) + 1e-15 + 1e-16 / math.sqrt(d)


def test_the_bound_at_the_edges() -> None:
    for d in (0.0, 0.3, 1e9):
        assert kl_bernoulli_upper(1.0, d) == 1.0
        assert kl_bernoulli_upper(1.5, d) == 1.0
    for d in (0.0, 5e-324, 1e-300):  # no round has such a level: ln(2) / N is the smallest
        assert kl_bernoulli_upper(0.25, d) == pytest.approx(0.25, abs=1e-7)
        assert kl_bernoulli_upper(-3.0, d) == pytest.approx(0.0, abs=1e-15)
    assert kl_bernoulli_upper(0.0, math.log(2)) == pytest.approx(0.5, abs=1e-16)
    assert kl_bernoulli_upper(0.0, 1e9) == kl_bernoulli_upper(0.5, 1e9) == 1 - 2**-53
    assert kl_bernoulli_upper(5e-324, 1.0) == pytest.approx(1 - math.exp(-1), abs=1e-15)
    assert kl_bernoulli_upper(1 - 2**-53, 1.0) == 1 - 2**-53


def test_divergences() -> None:
    for x, y in itertools.product([0.0, 0.2, 0.5, 1.0], repeat=2):
        assert kl_bernoulli(x, y) == naive.kl_bernoulli(x, y)
        assert kl_gaussian(x, y, 0.5) == pytest.approx(naive.kl_gaussian(x, y, 0.5))
        assert upper(GAUSSIAN, x, y, 0.5) == naive.upper("gaussian", x, y, 0.5)
        assert upper(BERNOULLI, x, y, 0.5) == naive.upper("bernoulli", x, y, 0.5)
    for n in (1, 2, 3, 10**6):
        assert exploration(n, 3.0) == naive.exploration(n, 3.0)


# --- Chances ------------------------------------------------------------------------------------------------


def chances(kind: int, posteriors: Sequence[Sequence[float]]) -> np.ndarray:
    out = np.zeros(len(posteriors))
    compiled(probabilities_of_largest, allocates=True)(kind, np.array(posteriors, float), out)
    return out


def test_chances_of_two_gaussians() -> None:
    rng = np.random.default_rng(1)
    for _ in range(3 if INTERPRETED else 200):
        offset = rng.choice([0.0, 1e6, -1e9])
        mean, sd = offset + rng.normal(size=2) * 10 ** rng.uniform(-3, 1), 10 ** rng.uniform(-5, 3, 2)
        exact = math.erfc((mean[1] - mean[0]) / math.hypot(*sd) / math.sqrt(2)) / 2
        assert chances(GAUSSIAN, [(mean[0], sd[0]), (mean[1], sd[1])])[0] == pytest.approx(exact, abs=1e-12)


def beta_exceeds(a: int, b: int, c: int, d: int) -> float:
    """The chance that Beta(a, b) is above Beta(c, d), by the sum over i < a for whole numbers."""

    def beta(x: int, y: int) -> Fraction:
        return Fraction(math.factorial(x - 1) * math.factorial(y - 1), math.factorial(x + y - 1))

    return float(sum(beta(c + i, b + d) / ((b + i) * beta(1 + i, b) * beta(c, d)) for i in range(a)))


def test_chances_of_two_betas() -> None:
    rng = np.random.default_rng(2)
    for _ in range(3 if INTERPRETED else 100):
        a, b, c, d = (math.ceil(x) for x in 10 ** rng.uniform(0, 2.3, 4))
        assert chances(BERNOULLI, [(a, b), (c, d)])[0] == pytest.approx(beta_exceeds(a, b, c, d), abs=1e-12)


@pytest.mark.parametrize("shape", [(1e-9, 1e-9), (1e-4, 2.0), (0.5, 0.5), (1e-3, 1e3), (1.0, 1e6), (1e9, 1e9), (1e12, 3.0)])
def test_chances_of_extreme_betas(shape: tuple[float, float]) -> None:
    a, b = shape
    assert chances(BERNOULLI, [shape, (1.0, 1.0)])[0] == pytest.approx(a / (a + b), abs=1e-9)  # above a uniform: its mean
    assert chances(BERNOULLI, [shape] * 3) == pytest.approx([1 / 3] * 3, abs=1e-9)


@pytest.mark.parametrize("kind", [BERNOULLI, GAUSSIAN])
def test_chances_of_many_equal_arms(kind: int) -> None:
    size = 4 if INTERPRETED else 300
    equal = chances(kind, [(2.0, 3.0)] * size)
    assert equal == pytest.approx([1 / size] * size, abs=1e-12)
    assert chances(kind, [(2.0, 3.0)]) == pytest.approx([1.0])


def midpoint_chances(kind: int, posteriors: Sequence[tuple[float, float]]) -> np.ndarray:
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


def test_chances_of_several_arms() -> None:
    for kind, posteriors in [
        (BERNOULLI, [(3.0, 5.0), (40.5, 61.5), (2.0, 2.0), (900.0, 1400.0)]),
        (GAUSSIAN, [(0.0, 1.0), (0.5, 0.1), (-2.0, 3.0), (0.6, 0.02)]),
    ]:
        assert chances(kind, posteriors) == pytest.approx(midpoint_chances(kind, posteriors), abs=1e-6)


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
    choose, state = compiled(policy.kernel.choose), bandit._state
    counts = np.zeros(3)
    for key in range(draws):
        counts[choose(policy.params, state, 10, key, np.arange(3))] += 1
    assert np.abs(counts / draws - list(promised.values())).max() < tail_bound(draws, 1e-8)
    assert bandit.propensities(arms=[2]) == {2: pytest.approx(1.0)}


@pytest.mark.parametrize("policy", THOMPSON, ids=repr)
def test_propensities_know_first_pulls(policy: Policy) -> None:
    bandit = Bandit(policy, arms=["a", "b"])
    assert bandit.propensities() == {"a": 1.0, "b": 0.0}
    bandit.update("a", 0.5)
    assert bandit.propensities() == {"a": 0.0, "b": 1.0}


def test_a_flat_gaussian_is_played_at_once() -> None:
    bandit = Bandit(make("sliding-window-ts", kind="gaussian", tau=4), arms=["a", "b"])
    for arm in "abaaaa":
        bandit.update(arm, 1.0)
    assert bandit.propensities() == {"a": 0.0, "b": 1.0}
    assert math.isnan(bandit.explain()["b"].mean)
    assert bandit.pull() == "b"


# --- What the policies forget, and say -------------------------------------------------------------------------


def test_the_window_forgets_and_the_discount_fades() -> None:
    """After 200 rounds of another arm, only plain Thompson sampling still knows that arm a paid 1."""

    def known(policy: Policy) -> float:
        bandit = Bandit(policy, arms=["a", "b"])
        for arm in 20 * "a" + 200 * "b":
            bandit.update(arm, 1.0)
        return bandit.explain()["a"].mean

    assert known(make("thompson-sampling")) == pytest.approx(21 / 22)
    assert known(make("sliding-window-ts", tau=200)) == 0.5
    assert known(make("sliding-window-ts", tau=201)) == pytest.approx(2 / 3)
    assert known(make("discounted-ts", gamma=0.9)) == pytest.approx(0.5, abs=1e-8)


@pytest.mark.parametrize("name", ["thompson-sampling", "discounted-ts", "sliding-window-ts"])
def test_an_arm_in_a_used_slot_starts_afresh(name: str) -> None:
    memory = {"tau": 14} if name == "sliding-window-ts" else {}
    bandit = Bandit(make(name, kind="gaussian", **memory), arms=["a", "b"])
    for arm in "abab":
        bandit.update(arm, 1.0)
    bandit.remove_arm("a")
    bandit.add_arm("c")
    assert bandit.pull() == "c"
    bandit.update("c", 0.25)
    for _ in range(12):  # the rewards of arm a leave the window, and must not be taken from arm c
        bandit.update("b", 1.0)
    assert bandit.explain()["c"].mean == 0.25
    assert bandit.explain()["b"].mean == pytest.approx(1.0)


def test_explain_speaks_in_rewards() -> None:
    for name in ("kl-ucb", "raw-kl-ucb"):
        bandit = Bandit(make(name, low=-10, high=10), arms=["a", "b"])
        for arm, reward in [("a", 4.0), ("b", -10.0), ("a", 6.0)]:
            bandit.update(arm, reward)
        said = bandit.explain()["a"]
        assert said.mean == pytest.approx(5.0)
        assert 5.0 < said.index <= 10.0
        assert said.index == pytest.approx(said.mean + said.width)
        assert said.window == 2
    bandit = Bandit(make("thompson-sampling", low=-10, high=10), arms=["a"])
    bandit.update("a", 10.0)
    assert bandit.explain()["a"].mean == pytest.approx(-10 + 20 * 2 / 3)
    assert bandit.explain()["a"].width == pytest.approx(20 * math.sqrt(2 / 9 / 4))


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
    said = bandit.explain()
    assert said["a"].width == 0.0
    assert said["b"].width == pytest.approx(naive.width_pp(103, 1, 2, 1.4, 0.0, 1.0))


# --- Simulation, and bad input ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("policy", [*KL, *PLUS, *THOMPSON], ids=repr)
def test_they_learn(policy: Policy) -> None:
    """Means 0.1 and 0.9 over 2,000 rounds: well over half of the pulls go to the better arm, at this fixed seed.

    Only a window of 7 rounds keeps its lead small. For it, the share is a mean of 2,000 choices that remember 7 rounds:
    its standard deviation is below sqrt(7 * 0.25 / 2,000) = 0.03.
    """
    coins = (np.random.default_rng(6).random((2, 2_000)) < [[0.1], [0.9]]).astype(float)
    assert np.mean(play(policy, coins.tolist(), 2_000)) > 0.6


def test_gaussian_noise_is_refused_where_a_range_is_declared() -> None:
    problem = Problem.restless(np.zeros((2, 10)), noise=Gaussian(1.0))
    for name in ("kl-ucb", "raw-kl-ucb", "thompson-sampling", "discounted-ts", "sliding-window-ts"):
        with pytest.raises(ValueError, match=r"rewards must be in \[0.0, 1.0\], the range that"):
            simulate(make(name), problem, runs=1)
        assert make(name, outside="clip").reward_range is None
        assert make(name, kind="gaussian").reward_range is None
    assert simulate(make("kl-ucb", outside="clip"), problem, runs=2).pulls.sum() == 20


@pytest.mark.parametrize("name", ["kl-ucb", "raw-kl-ucb", "thompson-sampling", "discounted-ts", "sliding-window-ts"])
def test_rewards_outside_the_range_are_refused(name: str) -> None:
    bandit = Bandit(make(name, low=0, high=2), arms=["a", "b"])
    with pytest.raises(ValueError, match=r"reward must be in \[0.0, 2.0\], the range that .* declares, got 2.5"):
        bandit.update("a", 2.5)
    assert bandit.rounds == 0
    clipping, inside = (Bandit(make(name, outside="clip"), arms=["a", "b"]) for _ in range(2))
    clipping.update("a", 2.5)
    inside.update("a", 1.0)
    assert clipping.get_state() == inside.get_state()


@pytest.mark.parametrize(
    ("make_it", "message"),
    [
        (lambda: make("discounted-ts", gamma=0), r"gamma must be a number in \(0, 1\], got 0"),
        (lambda: make("discounted-ts", gamma=1.01), r"gamma must be a number in \(0, 1\], got 1.01"),
        (lambda: make("sliding-window-ts", tau=0), "tau must be a whole number, 1 or more, got 0"),
        (lambda: make("sliding-window-ts", tau=2.5), "tau must be a whole number, 1 or more, got 2.5"),
        (lambda: make("kl-ucb", low=1, high=1), "low must be below high, got low=1.0 and high=1.0"),
        (lambda: make("thompson-sampling", low=1), "low must be below high, got low=1.0 and high=1.0"),
        (lambda: make("kl-ucb", kind="gausian"), "kind must be one of 'bernoulli', 'gaussian', .*did you mean 'gaussian'"),
        (lambda: make("raw-kl-ucb", outside="ignore"), "outside must be one of 'refuse', 'clip', got 'ignore'"),
        (lambda: make("raw-ucb-pp", beta=-1), "beta must be a finite number, zero or more, got -1"),
        (lambda: make("eff-raw-ucb-pp", m=1), "m must be a finite number above 1, got 1"),
        (lambda: make("thompson-sampling", a=0), "a must be a positive finite number, got 0"),
    ],
)
def test_bad_parameters_are_refused(make_it: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_it()


def test_the_quantile_behind_gaussian_draws_is_the_reference_s() -> None:
    """What the equality of random choices rests on."""
    stream = naive.Stream(lambda _t, draw: (draw + 0.5) / 1_000, 1)
    for k in range(1_000):
        assert normal_quantile((k + 0.5) / 1_000) == pytest.approx(stream.normal(), rel=1e-13, abs=1e-15)
