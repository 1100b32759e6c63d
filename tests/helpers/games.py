"""Games between a policy and a table of rewards: the n-th pull of arm i pays table[i][n]."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rotting.common.arrays import Ints
from rotting.common.rules import Option
from rotting.live import policy_state as states
from rotting.paper.experiments.theory import problems
from rotting.paper.theory.lower_bounds import HardFamily
from rotting.policies.kernels.random_numbers import uniform
from rotting.policy import Policy
from rotting.problems import (
    Abrupt,
    Constant,
    Exponential,
    Linear,
    Logistic,
    Piecewise,
    Polynomial,
    Problem,
    stationary,
    ten_arms,
    two_arms,
)
from rotting.problems.noise import Bernoulli, Beta, Binomial, Gaussian, Noiseless
from rotting.registry import list_policies
from rotting.simulation.engines.compile import compiled_for
from rotting.simulation.engines.tiers import EntryPoint
from tests.conftest import FEW, INTERPRETED, STRESS
from tests.reference.by_name import naive_class, reference_of
from tests.reference.policy import Policy as Reference

KEY = 7
T = TypeVar("T")


def examples() -> list[Policy]:
    """Return every policy of the library with its defaults; a parameter without a default is a horizon, and gets 1,000."""
    classes = [each for each in list_policies() if each.__module__.startswith("rotting.policies")]
    return [each(**{every.name: 1_000 for every in each.parameters() if every.required}) for each in classes]


KINDS = {"ad-switch", "eff-raw-ucb", "exp3", "fewa", "raw-ucb", "thompson-sampling", "ucb1", "uniform"}
"""A policy of each kind: hulls that grow, windows on a grid, no index, draws, weights, an episode for all arms, nothing."""


def learners() -> list[Policy]:
    """Return every policy that can decide live, or one of each kind if tests are compiled: for tests of the bandit itself."""
    return [each for each in examples() if not each.sees_means and (INTERPRETED or each.name in KINDS)]


def in_order(policies: Sequence[Policy]) -> list[Policy]:
    """Return the policies whose rewards are learned in the order of the decisions: not Exp3 and its relatives."""
    return [each for each in policies if each.first_pulls or each.kernel.explain is not None]


def taking_priors(policies: Sequence[Policy]) -> list[Policy]:
    """Return the policies that accept an arm with a prior, once for each value of their parameter `kind`."""
    found: list[Policy] = []
    for each in policies:
        if not each.sees_means and "propensity" not in states.new_state(each, 1, 1)._fields:
            rules = [every.rule for every in each.parameters() if every.name == "kind"]
            words = [word for rule in rules if isinstance(rule, Option) for word in rule.words]
            found += [type(each)(**{**each.shown_params(), "kind": word}) for word in words] or [each]
    return found


POSTERIORS = {"thompson-sampling", "discounted-ts", "sliding-window-ts"}


def some(policies: Sequence[T], number: int = 2) -> Sequence[T]:
    """Return all policies, or only the first `number` if tests are compiled, since each takes seconds to compile.

    For tests that do not depend on the compiler: games against references compile every policy. `ROTTING_STRESS=1` returns all.
    """
    return policies if INTERPRETED or STRESS else policies[:number]


def affordable(policy: Policy, rounds: int) -> int:
    """Return `rounds`, or a quarter of them for Thompson policies that are interpreted, whose exact propensities are slow.

    `ROTTING_STRESS=1` plays all rounds.
    """
    return rounds // 4 if INTERPRETED and not STRESS and policy.name in POSTERIORS else rounds


def reference(policy: Policy, n_arms: int) -> Reference:
    """Return the reference implementation of a policy, with the random numbers of `play`.

    Example:
        >>> from rotting.policies.greedy_oracle import GreedyOracle
        >>> reference(GreedyOracle(), 2)
        Traceback (most recent call last):
        ...
        AssertionError: tests/policies/test_greedy_oracle.py must have a class Naive, the reference of GreedyOracle
    """
    cls = type(policy)
    module = f"tests/policies/test_{cls.__module__.rpartition('.')[2]}.py"
    try:
        naive_class(policy)
    except AttributeError:
        raise AssertionError(f"{module} must have a class Naive, the reference of {cls.__name__}") from None
    try:
        return reference_of(policy, n_arms, lambda t, draw: uniform(KEY, t, draw))
    except TypeError as error:
        names = ", ".join(["n_arms", *(each.name for each in policy.parameters()), "uniform"])
        raise AssertionError(f"Naive of {module} must take no other arguments than {names}: {error}") from error


Available = Callable[[int], list[int]]  # round -> the arms that may be pulled
Priors = Sequence[tuple[int, float]]  # arms, and what each is assumed to have paid before the first round


def play_naive(
    policy: Policy,
    table: Sequence[Sequence[float]],
    horizon: int,
    available: Available | None = None,
    priors: Priors = (),
) -> list[int]:
    slow = reference(policy, len(table))
    for arm, reward in priors:
        slow.update(1, arm, reward)
    pulls = [0] * len(table)
    chosen = []
    for t in range(1, horizon + 1):
        arm = slow.choose(t, None if available is None else available(t))
        slow.update(t, arm, table[arm][pulls[arm]])
        pulls[arm] += 1
        chosen.append(arm)
    return chosen


def compiled_kernels(policy: Policy) -> tuple[Callable[..., int], Callable[..., None]]:
    """Return `choose` and `update`, compiled unless tests are interpreted, for thousands of calls."""
    kernel, state = policy.kernel, states.new_state(policy, 1, 1)
    choose = compiled_for(EntryPoint(kernel.choose, policy, (policy.params, state, 1, KEY, np.arange(1))))
    return choose, compiled_for(EntryPoint(kernel.update, policy, (policy.params, state, 1, 0, 0.0)))


class Player:
    """A policy that plays: its `choose` and `update`, and its state, which is enlarged when it is full."""

    def __init__(self, policy: Policy, n_arms: int, rounds: int, fast: bool = True) -> None:
        self.policy = policy
        self.capacity = states.first_capacity(policy, n_arms, rounds)
        self.state = states.new_state(policy, n_arms, self.capacity)
        self._choose, self._update = compiled_kernels(policy) if fast else (policy.kernel.choose, policy.kernel.update)

    def choose(self, t: int, arms: Ints, key: int = KEY) -> int:
        return int(self._choose(self.policy.params, self.state, t, key, arms))

    def update(self, t: int, arm: int, reward: float) -> None:
        self._update(self.policy.params, self.state, t, arm, reward)
        enlarge = self.policy.kernel.enlarge
        while enlarge is not None and self.state.full[0]:
            self.capacity *= 2
            self.state = enlarge(self.policy.params, self.state, self.capacity)
            self._update(self.policy.params, self.state, t, arm, reward)


def play(
    policy: Policy,
    table: Sequence[Sequence[float]],
    horizon: int,
    fast: bool = True,
    available: Available | None = None,
    priors: Priors = (),
) -> list[int]:
    player = Player(policy, len(table), horizon + len(priors), fast)
    for prior in priors:
        player.update(1, *prior)
    arms = np.arange(len(table))
    pulls = [0] * len(table)
    chosen = []
    for t in range(1, horizon + 1):
        if available is not None:
            arms = np.array(available(t))
        arm = player.choose(t, arms)
        player.update(t, arm, table[arm][pulls[arm]])
        pulls[arm] += 1
        chosen.append(arm)
    return chosen


def assert_same_choices(game: str, chosen: Sequence[int], expected: Sequence[int]) -> None:
    """Assert that a policy and its reference make the same choices, or name the first round in which they differ.

    Example:
        >>> assert_same_choices("noise", [0, 1, 0], [0, 1, 1])
        Traceback (most recent call last):
        ...
        AssertionError: noise, round 3: the policy pulls arm 0, the reference arm 1
    """
    for t, (arm, other) in enumerate(zip(chosen, expected, strict=True), 1):
        if arm != other:
            raise AssertionError(f"{game}, round {t}: the policy pulls arm {arm}, the reference arm {other}")


ODD_SIZES = [(1, 40), (5, 3), (7, 7), (2, 1)]  # arms and rounds


def assert_equals_reference(policy: Policy, rounds: int, odd: str = "noise") -> None:
    """Assert that a policy and its reference make the same choices.

    They play every kind of table with three arms, and those of the kind `odd` with one arm, or fewer rounds than arms.
    """
    for name, table in tables(3, rounds).items():
        assert_same_choices(name, play(policy, table.tolist(), rounds), play_naive(policy, table.tolist(), rounds))
    for n_arms, few in ODD_SIZES:
        rows = tables(n_arms, few)[odd].tolist()
        game = f"{odd} with {n_arms} arms in {few} rounds"
        assert_same_choices(game, play(policy, rows, few), play_naive(policy, rows, few))


def assert_equals_reference_while_arms_change(policy: Policy, rounds: int, *names: str) -> None:
    """Assert that a policy and its reference make the same choices among four arms that come and go."""
    for name in names:
        table = tables(4, rounds)[name].tolist()
        chosen = play(policy, table, rounds, available=changing_arms)
        assert_same_choices(f"{name} while arms change", chosen, play_naive(policy, table, rounds, changing_arms))


def changing_arms(t: int) -> list[int]:
    """Return which of four arms are available: each in turn leaves for five rounds; every seventh round, the last two do."""
    return [i for i in range(4) if (t // 5) % 4 != i and (t % 7 != 0 or i < 2)]


@st.composite
def tied_tables(draw: st.DrawFn, rounds: int) -> list[list[float]]:
    """Draw tables with few distinct values, so that many rewards are tied, and sometimes with an offset."""
    n_arms = draw(st.integers(1, 4))
    values = st.sampled_from([0.0, 0.1, 0.5, 1.0, -1.0, 1 / 3])
    offset = draw(st.sampled_from([0.0, 1e6, -1e9]))
    rows = draw(st.lists(st.lists(values, min_size=rounds, max_size=rounds), min_size=n_arms, max_size=n_arms))
    return [[offset + x for x in row] for row in rows]


def assert_equals_reference_on_ties(policy: Policy, rounds: int) -> None:
    """Assert that a policy and its reference make the same choices on tables full of ties."""

    @settings(max_examples=FEW)
    @given(tied_tables(rounds))
    def check(table: list[list[float]]) -> None:
        assert_same_choices("ties", play(policy, table, rounds), play_naive(policy, table, rounds))

    check()


def tables(n_arms: int, horizon: int) -> dict[str, np.ndarray]:
    """Return tables of rewards that are difficult in different ways, by name."""
    rng = np.random.default_rng(5)
    noise = rng.normal(size=(n_arms, horizon))
    fall = noise - np.linspace(0, 3, horizon) * np.arange(n_arms)[:, None]
    return {
        "noise": noise,
        "falling": fall,
        "coins": rng.integers(0, 2, (n_arms, horizon)).astype(float),
        "constant": np.full((n_arms, horizon), 0.1),
        "offset": 1e6 + noise,
        "negative offset": -1e6 + fall,
        "offset coins": 1e6 + rng.integers(0, 2, (n_arms, horizon)),
        "tiny": 1e-9 * noise,
    }


def suite(T: int) -> dict[str, Problem]:
    """Return problems of every kind that a theorem covers, by name; most have little noise, so that the bounds are informative.

    They are the presets, those of the experiments and lemmas, and others with every kind of decay and every noise with a scale.
    """
    quiet = Gaussian(0.01)
    pieces = [Piecewise([2.0, 0.0, -2.0], starts=[0, T // 3, T // 2]), Piecewise([1.0, -1.0], starts=[0, T // 3])]
    slow = [
        Linear(3.0, slope=-4 / T),
        Exponential(4.0, rate=8 / T),
        Logistic(2.0, -1.0, at=T / 3, width=T / 20),
        Constant(-1.0),
    ]
    steep = [Polynomial(2.0, power=0.5, scale=T / 50), Linear(1.5, slope=-2 / T, floor=0.2), Constant(0.1)]
    coins = [Abrupt(0.95, 0.05, at=T // 5), Linear(0.9, slope=-1 / T, floor=0.1), Constant(0.3)]
    once = [Abrupt(0.9, 0.05, at=30), Linear(0.8, slope=-0.004, floor=0.1), Constant(0.4)]  # of the lemmas' tests
    often = [Piecewise([0.95, 0.6, 0.02], starts=[0, 40, 90]), Exponential(0.85, rate=0.01, limit=0.05), Constant(0.35)]
    listed = {
        "rested lemma": Problem.rested(once, quiet, T),
        "restless lemma": Problem.restless(often, quiet, T),
        "two-arms": two_arms(L=1.0, horizon=T, sigma=0.02),
        "two-arms, a long fall": two_arms(L=20.0, horizon=T),
        "ten-arms": ten_arms(horizon=T, sigma=0.02),
        "stationary, two arms": stationary([1.0, 0.0], quiet, T),
        "stationary, no gap": stationary([0.5, 0.5], quiet, T),
        "rested pieces": Problem.rested(pieces, quiet, T),
        "rested, falling slowly": Problem.rested(slow, quiet, T),
        "rested, falling steeply": Problem.rested(steep, quiet, T),
        "restless pieces": Problem.restless([*pieces, Abrupt(0.5, -1.5, at=2 * T // 3)], quiet, T),
        "restless, falling slowly": Problem.restless(slow, quiet, T),
        "restless, falling steeply": Problem.restless(steep, quiet, T),
        "restless, a large fall": Problem.restless([Abrupt(50.0, -50.0, at=T // 2), 0.0], Gaussian(1.0), T),
        "rested coins": Problem.rested(coins, Bernoulli(), T),
        "restless coins": Problem.restless(coins, Bernoulli(), T),
        "stationary coins": stationary([0.95, 0.5, 0.05], Bernoulli(), T),
        "rested counts": Problem.rested([Abrupt(3.9, 0.1, at=T // 5), 2.0], Binomial(4), T),
        "restless counts": Problem.restless([Abrupt(3.9, 0.1, at=T // 5), 2.0], Binomial(4), T),
        "rested shares": Problem.rested(coins, Beta(9_999.0), T),
        "restless shares": Problem.restless(coins, Beta(9_999.0), T),
        "rested, no noise": Problem.rested([[40.0] * (T // 2) + [0.0] * (T - T // 2), 20.0], Noiseless(), T),
        "restless, no noise": Problem.restless([Abrupt(40.0, 0.0, at=T // 2), 20.0], Noiseless(), T),
        "hard": HardFamily(n_arms=3, horizon=T, pieces=4, sigma=0.02).random(seed=0),
    }
    return listed | problems(T, sigma=0.05)
