"""A short game is the beginning of a long one, whatever the arms are: no mean, reward or choice knows the horizon."""

import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rotting
from rotting import problems
from rotting.policy import Policy
from rotting.problems import (
    Abrupt,
    Arm,
    Constant,
    Decay,
    DirichletDecay,
    Exponential,
    FallingGaussianProcess,
    FixedDelay,
    Function,
    General,
    GeometricDelay,
    Linear,
    Logistic,
    Piecewise,
    Polynomial,
    Problem,
    ProblemFamily,
    Product,
    RandomBreakpoints,
    Recovering,
    ReflectedWalk,
    Rested,
    Restless,
    Stateful,
    Sum,
    Table,
    UniformDelay,
    Visiting,
    stationary,
    ten_arms,
    two_arms,
)
from rotting.problems.noise import Gaussian, Noiseless
from tests.conftest import EXAMPLES, FEW
from tests.helpers.games import some

LONG = 24
EVERY: list[Policy] = [rotting.RAWUCB(), rotting.GreedyOracle(), rotting.ThompsonSampling(kind="gaussian")]
POLICIES = some(EVERY, 1)

VALUES = st.floats(-2.0, 2.0)
TICKS = st.integers(0, LONG + 6)  # where something changes; it may be after the end
RATES = st.floats(1e-3, 3.0)


def scattered(*numbers: int) -> float:
    """A number in [0, 1) without a pattern."""
    return zlib.crc32(repr(numbers).encode()) / 2**32


def pieces(values: list[float], starts: list[int]) -> Piecewise:
    return Piecewise(values[: len(starts)], starts=starts)


DECAYS: st.SearchStrategy[Decay] = st.one_of(
    st.builds(Constant, VALUES),
    st.builds(Abrupt, VALUES, VALUES, at=TICKS),
    st.builds(
        pieces, st.lists(VALUES, min_size=4, max_size=4), st.sets(TICKS, max_size=3).map(lambda found: sorted({0, *found}))
    ),
    st.builds(Table, st.lists(VALUES, min_size=LONG, max_size=LONG)),
    st.builds(Linear, VALUES, slope=VALUES),
    st.builds(Linear, VALUES, slope=VALUES, floor=st.just(-2.0)),
    st.builds(Polynomial, VALUES, power=RATES, scale=RATES, limit=VALUES),
    st.builds(Exponential, VALUES, rate=RATES, limit=VALUES),
    st.builds(Logistic, VALUES, VALUES, at=st.floats(-3.0, LONG), width=RATES),
    st.integers(0, 99).map(lambda salt: Function(lambda x: scattered(salt, x))),
)
STANDING: st.SearchStrategy[Arm] = st.one_of(
    st.builds(Rested, DECAYS),
    st.builds(Restless, DECAYS),
    st.builds(Sum, DECAYS, DECAYS),
    st.builds(Product, DECAYS, DECAYS),
    st.integers(0, 99).map(lambda salt: General(lambda t, n: scattered(salt, t, n))),
)
REMEMBERING: st.SearchStrategy[Arm] = st.sampled_from(
    [
        each
        for name in ("rebounding", "last-switch", "blocking", "autoregressive", "markov", "many-arms")
        for each in problems.make(name).arms[:2]
        if isinstance(each, Stateful)
    ]
)
RECOVERING: st.SearchStrategy[Arm] = st.one_of(
    st.builds(Recovering, DECAYS.filter(lambda rise: rise.limit is not None)), st.builds(Recovering, DECAYS, fresh=VALUES)
)


def visit(arm: Arm, first: int, stay: int | None) -> Visiting:
    return Visiting(arm, first, None if stay is None else first + stay)


VISITING: st.SearchStrategy[Arm] = st.builds(
    visit, st.one_of(STANDING, RECOVERING), st.integers(1, LONG), st.none() | st.integers(0, LONG)
)
NOISES = st.sampled_from(some([Gaussian(0.5), Noiseless()], 1))
DELAYS = st.sampled_from(some([None, GeometricDelay(4, lost=0.2), FixedDelay(3), UniformDelay(0, 5)]))


def mu(i: int, t: int, n: int) -> float:
    return 1.0 / (1.0 + i + 0.05 * n) - 0.001 * t


def saved(problem: Problem) -> Problem:
    """The problem of a table alone, as a result has it that was saved."""
    return Problem.from_means(problem.means(LONG), LONG, problem.noise)


def moving(still: list[Arm], others: list[Arm], noise: Any, delay: Any) -> Problem:
    return Problem([*still, *others], noise, delay=delay)


PLAIN = st.builds(Problem, st.lists(STANDING, min_size=1, max_size=3), NOISES)
PROBLEMS = {
    "tables": PLAIN,
    "saved tables": PLAIN.map(saved),
    "late rewards": st.builds(moving, st.lists(STANDING, min_size=1, max_size=2), st.just([]), NOISES, DELAYS),
    "recovering arms": st.builds(
        moving, st.lists(STANDING, max_size=1), st.lists(RECOVERING, min_size=1, max_size=2), NOISES, DELAYS
    ),
    "visiting arms": st.builds(
        moving, st.lists(STANDING, min_size=1, max_size=1), st.lists(VISITING, min_size=1, max_size=2), NOISES, DELAYS
    ),
    "arms with a memory": st.builds(
        moving,
        st.lists(STANDING, min_size=1, max_size=1),
        st.lists(
            st.one_of(REMEMBERING, st.builds(Visiting, REMEMBERING, first=TICKS.map(lambda t: t + 1))), min_size=1, max_size=3
        ),
        NOISES,
        DELAYS,
    ),
}


def assert_prefix(policy: Policy, problem: Problem | ProblemFamily, horizon: int, run: int = 0) -> None:
    """All that is known of the rounds up to a horizon is the same in the long game.

    The sums of the optimum, and so the regret, are rounded as the horizon says: they agree to a few units in the last place.
    """
    short, long = (rotting.play(policy, problem, run, horizon=rounds) for rounds in (horizon, LONG))
    assert short.arm.tolist() == long.arm[:horizon].tolist()
    assert short.reward.tobytes() == long.reward[:horizon].tobytes()
    assert short.means.tobytes() == long.means[:horizon].tobytes()
    np.testing.assert_allclose(short.regret, long.regret[:horizon], rtol=0.0, atol=1e-12 * LONG**2)


@pytest.mark.parametrize("kind", PROBLEMS)
@settings(max_examples=3 * EXAMPLES)
@given(st.data())
def test_a_short_game_is_the_beginning_of_a_long_one(kind: str, data: st.DataObject) -> None:
    policy, horizon = data.draw(st.sampled_from(POLICIES)), data.draw(st.integers(1, LONG))
    assert_prefix(policy, data.draw(PROBLEMS[kind]), horizon)


FIXED: dict[str, Problem | ProblemFamily] = {
    "two-arms": two_arms(L=1.0, horizon=LONG),
    "ten-arms": ten_arms(horizon=LONG),
    "many-arms": problems.many_arms(30),
    "stationary": stationary([0.5, 0.25]),
    "by a function": Problem.by_function(mu, 3),
    **{
        f"{family.name} over {family.clock}": family
        for clock in ("pulls", "rounds")
        for family in (
            RandomBreakpoints(3, LONG, clock=clock),
            FallingGaussianProcess(3, LONG, clock=clock),
            ReflectedWalk(3, LONG, step=0.3, clock=clock),
            DirichletDecay(3, LONG, clock=clock),
        )
    },
    "of a function": ProblemFamily(lambda rng: Problem.rested([Exponential(rng.random(), rate=0.1), 0.3])),
}


def test_every_kind_of_arm_and_decay_is_drawn_here() -> None:
    kinds = {name for name in problems.__all__ if isinstance(getattr(problems, name), type)}
    assert kinds - {"Arm", "Decay", "Delay", "Rotting"} <= set(globals())


@pytest.mark.parametrize("name", FIXED)
@settings(max_examples=FEW)
@given(st.integers(1, LONG), st.integers(0, 20))
def test_so_it_is_for_the_problems_of_the_library(name: str, horizon: int, run: int) -> None:
    for policy in POLICIES[:2]:
        assert_prefix(policy, FIXED[name], horizon, run)
