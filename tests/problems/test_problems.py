"""Decays follow their formulas, problems are values, and bad input gets one clear sentence."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting import problems
from rotting.errors import AxesWarning
from rotting.problems import (
    Abrupt,
    Constant,
    Decay,
    Exponential,
    Function,
    General,
    Linear,
    Logistic,
    Piecewise,
    Polynomial,
    Problem,
    Product,
    Rested,
    Restless,
    Sum,
    Table,
    list_problems,
    make,
    stationary,
    ten_arms,
    two_arms,
)
from rotting.problems.noise import Bernoulli, Binomial, Gaussian, Noise, Noiseless, Poisson

NAN, INF = math.nan, math.inf


def dense(decay: Decay, length: int) -> list[float]:
    starts, values = decay.steps(length)
    assert starts[0] == 0
    assert np.all(np.diff(starts) > 0)
    assert np.all(values[1:] != values[:-1]), "equal neighbours are merged"
    return np.repeat(values, np.diff(starts, append=length)).tolist()


FORMULAS: list[tuple[Decay, Callable[[int], float]]] = [
    (Constant(0.5), lambda x: 0.5),
    (Abrupt(0.5, -0.5, at=7), lambda x: 0.5 if x < 7 else -0.5),
    (Abrupt(0.5, -0.5, at=0), lambda x: -0.5),
    (Piecewise([1, 0.5, 0.5, 2], [0, 3, 5, 9]), lambda x: 1.0 if x < 3 else 0.5 if x < 9 else 2.0),
    (Linear(1.0, slope=-0.125, floor=0.25), lambda x: max(0.25, 1 - x / 8)),
    (Linear(-1.0, slope=0.5), lambda x: -1 + x / 2),
    (Polynomial(1.0, power=1.0, scale=4.0), lambda x: 4 / (4 + x)),
    (Polynomial(0.0, power=2.0, limit=1.0), lambda x: 1 - 1 / (1 + x) ** 2),
    (Exponential(2.0, rate=0.25, limit=1.0), lambda x: 1 + math.exp(-x / 4)),
    (Logistic(1.0, 0.25, at=10.0, width=2.0), lambda x: 0.25 + 0.75 / (1 + math.exp((x - 10) / 2))),
    (Table(np.arange(20)[::-1] / 4), lambda x: (19 - x) / 4),
    (Function(lambda x: x // 5), lambda x: float(x // 5)),
]


@pytest.mark.parametrize(("decay", "formula"), FORMULAS, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("length", [1, 2, 7, 8, 20])
def test_decays_follow_their_formula(decay: Decay, formula: Callable[[int], float], length: int) -> None:
    assert dense(decay, length) == pytest.approx([formula(x) for x in range(length)], rel=1e-14)


@pytest.mark.parametrize("decay", [decay for decay, _ in FORMULAS], ids=repr)
def test_a_longer_game_begins_as_a_shorter_one(decay: Decay) -> None:
    assert dense(decay, 20)[:11] == dense(decay, 11)


@pytest.mark.parametrize("decay", [decay for decay, _ in FORMULAS], ids=repr)
def test_decays_are_values(decay: Decay) -> None:
    assert hash(decay) == hash(decay)
    assert decay == decay  # noqa: PLR0124
    assert decay != Constant(123.0)
    with pytest.raises(AttributeError):
        decay.start = 1.0  # type: ignore[attr-defined]


def test_equal_contents_are_equal() -> None:
    assert Table([1, 0.5]) == Table(np.array([1.0, 0.5]))
    assert hash(Table([1, 0.0])) == hash(Table([1, -0.0]))
    assert Table([1, 1]) != Table([1, 1, 1])
    assert Piecewise([1, 0], [0, 2]) == Piecewise((1.0, 0.0), (0, 2))
    assert Piecewise([1], [0]) != Table([1])
    assert Constant(1) == Constant(1.0)
    assert two_arms() == two_arms()
    assert hash(two_arms()) == hash(two_arms())
    assert two_arms(L=0.5) != two_arms()


@pytest.mark.parametrize(
    ("decay", "text"),
    [
        (Abrupt(1, 0, 3), "Abrupt(before=1.0, after=0.0, at=3)"),
        (Table([1, 1, 0.5]), "Table([1.0, 1.0, 0.5])"),
        (
            Table(np.arange(100.0)),
            "Table(100 values: [0.0, 1.0, 2.0, 3.0, ..., 98.0, 99.0] from [0, 1, 2, 3, ..., 98, 99])",
        ),
        (Piecewise([1, 0], [0, 9]), "Piecewise([1.0, 0.0], starts=[0, 9])"),
        (Function(math.sqrt), "Function(sqrt)"),
    ],
)
def test_decays_print_what_they_are(decay: Decay, text: str) -> None:
    assert repr(decay) == text


@given(
    st.sampled_from([Polynomial, Exponential]),
    st.floats(-2, 2),
    st.floats(-2, 2),
    st.floats(1e-9, 1e3),
)
def test_smooth_decays_go_one_way_and_stay_between_their_ends(
    kind: Callable[..., Decay], start: float, limit: float, speed: float
) -> None:
    values = np.array(dense(kind(start, speed, limit=limit), 300))
    assert values[0] == start
    assert min(start, limit) <= values.min()
    assert values.max() <= max(start, limit)
    assert np.all(np.diff(values) * (start - limit) <= 0)


def test_extreme_parameters_do_not_warn() -> None:
    assert dense(Exponential(1.0, rate=1e308), 30)[1:] == [0.0] * 29
    assert dense(Polynomial(1.0, power=1e300, scale=1e-308), 30)[1:] == [0.0] * 29
    assert dense(Logistic(1.0, 0.0, at=3, width=1e-308), 6) == [1, 1, 1, 0.5, 0, 0]


def bad_decays() -> list[Any]:
    f: Any = Function
    table: Any = Table
    return [
        (lambda: Constant(NAN), ValueError, "value must be a finite number, got nan"),
        (lambda: Constant("a"), TypeError, "value must be a finite number, got 'a'"),  # type: ignore[arg-type]
        (lambda: Constant(True), TypeError, "value must be a finite number, got True"),
        (lambda: Abrupt(1, INF, 3), ValueError, "after must be a finite number, got inf"),
        (lambda: Abrupt(1, 0, -3), ValueError, "at must be a whole number, 0 or more, got -3"),
        (lambda: Abrupt(1, 0, 2.5), ValueError, "at must be a whole number, 0 or more, got 2.5"),  # type: ignore[arg-type]
        (lambda: Piecewise([], []), ValueError, "values must have at least one value, got none"),
        (lambda: Piecewise([1, 2], [0]), ValueError, "starts must have one entry per value, 2, got 1"),
        (lambda: Piecewise([1, 2], [1, 2]), ValueError, r"starts\[0\] must be 0, got 1"),
        (lambda: Piecewise([1, 2, 3], [0, 5, 5]), ValueError, r"starts\[2\] must be above starts\[1\] = 5, got 5"),
        (lambda: Piecewise([1, 2], [0, 0.5]), ValueError, r"starts\[1\] must be a whole number, 0 or more, got 0.5"),
        (lambda: Piecewise([1, NAN], [0, 1]), ValueError, r"values\[1\] must be a finite number, got nan"),
        (lambda: Linear(1, NAN), ValueError, "slope must be a finite number, got nan"),
        (lambda: Linear(1, -1, floor=2), ValueError, "floor must be at most start = 1.0, got 2.0"),
        (lambda: Linear(0, 1e308).steps(9), ValueError, "the mean at tick 2 must be a finite number, got inf"),
        (lambda: Polynomial(1, 0), ValueError, "power must be a positive finite number, got 0"),
        (lambda: Polynomial(1, 1, scale=-1), ValueError, "scale must be a positive finite number, got -1"),
        (lambda: Exponential(1, -1), ValueError, "rate must be a positive finite number, got -1"),
        (lambda: Logistic(1, 0, 3, 0), ValueError, "width must be a positive finite number, got 0"),
        (lambda: Table([1, 2, INF]), ValueError, r"values\[2\] must be a finite number, got inf"),
        (lambda: Table([]), ValueError, "values must have at least one value, got none"),
        (lambda: Table([[1, 2], [3, 4]]), ValueError, "values must have one dimension, got 2"),
        (lambda: Table("abc"), TypeError, "values must be a one-dimensional sequence of numbers, got 'abc'"),
        (lambda: Table(3.0), TypeError, "values must be a one-dimensional sequence of numbers, got 3.0"),
        (lambda: Table([1, True]), TypeError, r"values\[1\] must be a finite number, got True"),
        (lambda: table([1, "a"]), TypeError, r"values\[1\] must be a finite number, got 'a'"),
        (lambda: table([1, [2, 3]]), TypeError, r"values\[1\] must be a finite number, got \[2, 3\]"),
        (lambda: Table(np.array([True])), TypeError, r"values\[0\] must be a finite number, got np.True_"),
        (lambda: Table(np.ma.array([1.0, 2.0], mask=[False, True])), ValueError, r"values\[1\] must be a finite number"),
        (lambda: Table([1, 2]).steps(3), ValueError, "horizon must be at most 2, the length of the table, got 3"),
        (lambda: f(3), TypeError, "f must be a callable of one int, got 3"),
        (lambda: f(lambda x: 1 / (3 - x) if x < 3 else NAN).steps(9), ValueError, r"f\(3\) must be a finite number, got nan"),
        (lambda: f(lambda x: "a").steps(1), TypeError, r"f\(0\) must be a finite number, got 'a'"),
        (lambda: f(lambda x: True).steps(1), TypeError, r"f\(0\) must be a finite number, got True"),
    ]


@pytest.mark.parametrize(("build", "error", "message"), bad_decays())
def test_bad_decays_are_refused(build: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{message}"):
        build()


def bad_problems() -> list[Any]:
    rested: Any = Problem.rested
    problem: Any = Problem
    good = [[0.5, 0.25], [0.75, 0.5]]
    return [
        (lambda: rested([]), ValueError, "means must hold at least one arm, got none"),
        (lambda: rested(np.empty((0, 5))), ValueError, "means must hold at least one arm, got none"),
        (lambda: rested(np.empty((2, 0))), ValueError, r"means\[0\] must have at least one value, got none"),
        (lambda: rested([[], []]), ValueError, r"means\[0\] must have at least one value, got none"),
        (lambda: rested(np.ones(3)), ValueError, r"means must have two dimensions, \[arm, clock\], got 1"),
        (lambda: rested(np.ones((2, 2, 2))), ValueError, r"means must have two dimensions, \[arm, clock\], got 3"),
        (lambda: rested([[[1.0]]]), ValueError, r"means\[0\] must have one dimension, got 2"),
        (lambda: rested([[1, 2], [1]]), ValueError, r"means\[1\] must have as many values as means\[0\], 2, got 1"),
        (lambda: rested([0.5, [1], [1, 2]]), ValueError, r"means\[2\] must have as many values as means\[1\], 1, got 2"),
        (lambda: rested([[1, 2], [1, NAN]]), ValueError, r"means\[1\]\[1\] must be a finite number, got nan"),
        (lambda: rested(np.array([[1, 2], [INF, 1]])), ValueError, r"means\[1\]\[0\] must be a finite number, got inf"),
        (lambda: rested(np.ma.array([[1.0, 2.0]], mask=[[False, True]])), ValueError, r"means\[0\]\[1\] must be a finite"),
        (lambda: rested([0.5, NAN]), ValueError, r"means\[1\] must be a finite number, got nan"),
        (lambda: rested([0.5, True]), TypeError, r"means\[1\] must be a decay, a number, a table of numbers or a call"),
        (lambda: rested([0.5, None]), TypeError, r"means\[1\] must be a decay, .* got None"),
        (lambda: rested(["a"]), TypeError, r"means\[0\] must be a decay, .* got 'a'"),
        (lambda: rested([["a", "b"]]), TypeError, r"means\[0\]\[0\] must be a finite number, got 'a'"),
        (lambda: rested("abc"), TypeError, "means must be a table .* got 'abc'"),
        (lambda: rested(0.5), TypeError, "means must be a table .* got 0.5"),
        (lambda: rested({0: 0.5}), TypeError, "means must be a table .* got {0: 0.5}"),
        (lambda: rested([Rested(0.5)]), TypeError, r"means\[0\] must be a decay, .* got Rested"),
        (lambda: problem([]), ValueError, "arms must hold at least one arm, got none"),
        (lambda: problem([Rested(1), 0.5]), TypeError, r"arms\[1\] must be an arm such as Rested or Restless, got 0.5"),
        (lambda: problem("ab"), TypeError, "arms must be a sequence of arms, got 'ab'"),
        (lambda: rested(good, noise=1.0), TypeError, r"noise must be a noise such as Gaussian\(1.0\), got 1.0"),
        (lambda: rested(good, name=3), TypeError, "name must be a string or None, got 3"),
        (lambda: rested(good, horizon=0), ValueError, "horizon must be a whole number, 1 or more, got 0"),
        (lambda: rested(good, horizon=3), ValueError, "horizon must be at most 2, the length of the shortest table, got 3"),
        (lambda: rested(good).means(3), ValueError, "horizon must be at most 2, the length of the shortest table, got 3"),
        (lambda: rested([0.5]).means(), ValueError, "horizon must be given"),
        (lambda: rested(good).mean(2, 1, 0), ValueError, "i must be an arm below 2, got 2"),
        (lambda: rested(good).mean(0, 1, 1), ValueError, "n must be below t = 1"),
        (lambda: rested(good).mean(0, 0, 0), ValueError, "t must be a whole number, 1 or more, got 0"),
        (lambda: rested([lambda n: NAN], horizon=5), ValueError, r"arm 0: f\(0\) must be a finite number, got nan"),
        (lambda: General(3), TypeError, "f must be a callable of t and n, got 3"),  # type: ignore[arg-type]
        (
            lambda: problem([Rested(0), General(lambda t, n: NAN if n == 2 else 0.0)], horizon=4),
            ValueError,
            r"arm 1: f\(3, 2\) must be a finite number, got nan",
        ),
        (
            lambda: problem([General(lambda t, n: 0.0)] * 10, horizon=1_001),
            ValueError,
            r"horizon must be at most 1000 to tabulate 10 General arm\(s\) over rounds and pulls, got 1001",
        ),
        (lambda: problem([Product(1e200, 1e200)]), ValueError, "arm 0: means must be .* of at most 1e\\+100 in size, got inf"),
        (lambda: rested([0.5, -1.1e100]), ValueError, "arm 1: means must be .* of at most 1e\\+100 in size, got -1.1e\\+100"),
        (lambda: problem([Sum(1e100, 1e100)]), ValueError, "arm 0: means must be .* of at most 1e\\+100 in size, got 2e\\+100"),
    ]


@pytest.mark.parametrize(("build", "error", "message"), bad_problems())
def test_bad_problems_are_refused(build: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{message}"):
        build()


@pytest.mark.parametrize(
    "arms",
    [
        [Rested(0.5), Rested(-0.1)],
        [Rested(0.5), Rested(Abrupt(0.5, 1.5, at=1_000_000))],
        [Rested(0.5), Restless([0.5, 0.25, -0.25])],
        [Rested(0.5), Sum([0.5, 0.25], [0.25, 0.8])],
        [Rested(0.5), Product(Abrupt(0.5, -0.5, at=3), 1.0)],
        [Rested(0.5), Rested(lambda n: 2.0)],
        [Rested(0.5), General(lambda t, n: -1.0)],
    ],
)
def test_means_that_are_no_probabilities_are_refused_when_the_problem_is_built(arms: list[problems.Arm]) -> None:
    with pytest.raises(ValueError, match=r"^arm 1: means must be a probability in \[0, 1\] under Bernoulli\(\) noise"):
        Problem(arms, noise=Bernoulli())


def test_means_that_leave_the_unit_interval_late_are_refused_at_that_horizon() -> None:
    problem = Problem.restless([Linear(1.0, slope=-0.125)], noise=Bernoulli())
    assert problem.means(9).round_values[-1] == 0.0
    with pytest.raises(ValueError, match=r"got -0.125$"):
        problem.means(10)


def test_only_means_that_a_game_can_meet_are_checked() -> None:
    # The third pull is never before round 3, when the other factor has fallen to 0.
    Problem([Product([1.0, 1.0, 5.0], [1.0, 1.0, 0.0]), Rested(0.5)], noise=Bernoulli())
    Problem.rested([3.5], noise=Binomial(4))
    with pytest.raises(ValueError, match="Binomial"):
        Problem.rested([4.5], noise=Binomial(4))
    with pytest.raises(ValueError, match="Poisson"):
        Problem.rested([-1], noise=Poisson())


def test_errors_of_a_users_function_pass() -> None:
    def broken(n: int) -> float:
        raise KeyError(n)

    with pytest.raises(KeyError):
        Problem.rested([broken], horizon=3)


@pytest.mark.parametrize(
    ("arms", "kind"),
    [
        ([Rested(0.5), Restless([0.25, 0.25])], "stationary"),
        ([Rested([1, 0]), Restless(0.5)], "rested"),
        ([Rested(0.5), Restless([1, 0])], "restless"),
        ([Rested([1, 0]), Restless([1, 0])], "both"),
        ([Sum([1, 0], 0.5)], "rested"),
        ([Product(0.5, [1, 0])], "restless"),
        ([Sum([1, 0], [1, 0])], "both"),
        ([General(lambda t, n: 0.0)], "both"),
        ([Rested(lambda n: 0.0)], "rested"),
    ],
)
def test_kind(arms: list[problems.Arm], kind: str) -> None:
    assert Problem(arms).kind == kind


def test_horizons() -> None:
    tables = Problem([Rested(np.ones(7)), Restless(np.ones(5)), Sum(np.ones(9), 0.0)])
    assert (tables.horizon, tables.max_horizon, tables.resolve_horizon()) == (5, 5, 5)
    assert tables.resolve_horizon(3) == 3
    endless = Problem.rested([0.5])
    assert (endless.horizon, endless.max_horizon, endless.resolve_horizon(10)) == (None, None, 10)
    assert Problem.rested(np.ones((2, 10)), horizon=4).horizon == 4


def test_a_rested_table_is_over_pulls_and_a_restless_one_over_rounds() -> None:
    table = [[1.0, 0.5, 0.25], [0.75, 0.75, 0.0]]
    rested, restless = Problem.rested(table), Problem.restless(np.array(table))
    assert [rested.mean(0, t=3, n=n) for n in range(3)] == table[0]
    assert [restless.mean(1, t=t, n=0) for t in (1, 2, 3)] == table[1]
    assert Problem.rested(tuple(map(tuple, table))) == rested


def test_numbers_tables_and_callables_stand_for_decays() -> None:
    problem = Problem.rested([0.5, [1, 0.5], lambda n: 1 / (n + 1), Linear(1, -0.5)], noise=Noiseless())
    assert [problem.mean(i, t=2, n=1) for i in range(4)] == [0.5, 0.5, 0.5, 0.5]
    assert problem.horizon == 2


def test_a_callable_of_a_restless_arm_counts_rounds_from_zero() -> None:
    assert Problem.restless([float], horizon=4).mean(0, t=4, n=0) == 3.0


def test_the_last_table_is_kept() -> None:
    problem = two_arms(horizon=100)
    assert problem.means() is problem.means(100)
    assert problem.mean(1, t=400, n=300) == -0.15  # beyond the table that is kept


def test_a_problem_does_not_change() -> None:
    values = np.ones((1, 3))
    problem = Problem.rested(values)
    values[:] = 7.0
    assert problem.mean(0, t=3, n=2) == 1.0
    with pytest.raises(AttributeError):
        problem.horizon = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("arm", "sentence"),
    [
        (Rested([0.5, 0.5, 0.75]), "arm 1 rises with its pulls, from 0.5 at n = 1 to 0.75 at n = 2 (at round t = 3)"),
        (
            Restless([0.5, 0.25, 1.0]),
            "arm 1 rises with its rounds, from 0.25 at t = 2 to 1.0 at t = 3 (after n = 0 pulls)",
        ),
        (
            Sum([1, 0, 0], [0, 0.5, 0]),
            "arm 1 rises with its rounds, from 1.0 at t = 1 to 1.5 at t = 2 (after n = 0 pulls)",
        ),
        (
            Product([1, -1, -1], [1, 1, 0.5]),
            "arm 1 rises with its rounds, from -1.0 at t = 2 to -0.5 at t = 3 (after n = 1 pulls)",
        ),
        (
            Product([-1, -2, -3], [1, -1, -1]),
            "arm 1 rises with its pulls, from 1.0 at n = 0 to 2.0 at n = 1 (at round t = 2)",
        ),
        (
            General(lambda t, n: -1.0 if (t, n) == (2, 1) else -2.0),
            "arm 1 rises with its pulls, from -2.0 at n = 0 to -1.0 at n = 1 (at round t = 2)",
        ),
    ],
)
def test_is_rotting_says_where_it_fails(arm: problems.Arm, sentence: str) -> None:
    answer = Problem([Rested(0.0), arm], horizon=3).is_rotting()
    assert not answer
    assert str(answer) == f"not rotting: {sentence}"
    assert answer.where is not None
    assert answer.where.arm == 1


@pytest.mark.parametrize(
    "arm",
    [
        Rested([1, 1, 0.5]),
        Restless([1, 1, 0.5]),
        Sum([1, 0, -1], [1, 1, -5]),
        Product([3, 2, 1], [3, 2, 1]),
        Product([-1, -2, -3], [1, 2, 3]),  # a negative factor: the other one may rise
        General(lambda t, n: -t - n),
        Rested(Exponential(1, 1e-12)),
        Rested(Logistic(1, 0, at=1.5, width=1e3)),
    ],
)
def test_is_rotting_when_nothing_rises(arm: problems.Arm) -> None:
    answer = Problem([arm], horizon=3).is_rotting()
    assert answer
    assert answer.where is None
    assert str(answer) == "rotting: no mean rises up to round 3"


def test_is_rotting_looks_as_far_as_the_horizon() -> None:
    problem = Problem.rested([Abrupt(0, 1, at=10)])
    assert problem.is_rotting(10)
    assert not problem.is_rotting(11)


def test_slow_decays_do_not_rise_by_a_bit() -> None:
    slow = [Exponential(1.7, 6e-17, limit=1.0), Exponential(1.9, 2e-16, limit=1.5), Logistic(1, 0.7, at=1e5, width=1e13)]
    assert Problem.rested(slow, horizon=50_000).is_rotting()


def test_two_arms() -> None:
    problem = two_arms(L=0.5)
    assert (problem.n_arms, problem.horizon, problem.kind, problem.noise) == (2, 10_000, "rested", Gaussian(1.0))
    assert [problem.mean(1, t=10_000, n=n) for n in (0, 2_499, 2_500, 9_999)] == [0.25, 0.25, -0.25, -0.25]
    assert problem.mean(0, t=10_000, n=5_000) == 0.0
    assert problem.is_rotting()
    assert two_arms(horizon=3).mean(1, t=1, n=0) == -0.15
    with pytest.raises(ValueError, match=r"^L must be a finite number, zero or more, got -1$"):
        two_arms(L=-1)


def test_ten_arms() -> None:
    problem = ten_arms()
    sizes = [0.0, *(0.001 * math.sqrt(10) ** i for i in range(9))]
    assert (problem.n_arms, problem.horizon, problem.kind) == (10, 25_000, "rested")
    for i, size in enumerate(sizes):
        for n, sign in ((0, 1), (999, 1), (1_000, -1), (24_999, -1)):
            assert problem.mean(i, t=25_000, n=n) == pytest.approx(sign * size, rel=1e-14)
    assert [problem.mean(i, t=1, n=0) for i in (1, 3, 5, 7, 9)] == [0.001, 0.01, 0.1, 1.0, 10.0]
    assert problem.is_rotting()


def test_stationary() -> None:
    problem = stationary([0.5, 0.25], noise=Bernoulli(), horizon=10)
    assert (problem.kind, problem.horizon, problem.mean(0, t=9, n=3)) == ("stationary", 10, 0.5)
    with pytest.raises(ValueError, match="at least one arm"):
        stationary([])


def test_presets_by_name() -> None:
    assert list_problems() == {"two-arms": two_arms, "ten-arms": ten_arms, "stationary": stationary}
    assert make("ten-arms", horizon=50) == ten_arms(horizon=50)
    with pytest.raises(ValueError, match=r"got 'two-arm'; did you mean 'two-arms'\?$"):
        make("two-arm")
    with pytest.raises(TypeError, match=r"among L, horizon, sigma, got 'horizn'; did you mean 'horizon'\?$"):
        make("two-arms", horizn=3)
    with pytest.raises(TypeError, match=r"^means must be given for stationary"):
        make("stationary")


def test_describe_is_json_and_repr_is_readable() -> None:
    problem = two_arms(L=0.5, horizon=100)
    assert json.loads(json.dumps(problem.describe())) == {
        "name": "two-arms",
        "kind": "rested",
        "n_arms": 2,
        "horizon": 100,
        "arms": [
            "Rested(decay=Constant(value=0.0))",
            "Rested(decay=Abrupt(before=0.25, after=-0.25, at=25))",
        ],
        "noise": {"noise": "Gaussian", "sigma": 1.0},
    }
    assert repr(problem) == (
        "Problem([Rested(decay=Constant(value=0.0)), Rested(decay=Abrupt(before=0.25, after=-0.25, at=25))], "
        "noise=Gaussian(sigma=1.0), horizon=100, name='two-arms')"
    )
    assert len(repr(Problem.rested(np.random.default_rng(0).random((100, 1_000))))) < 1_000


def test_all_is_exact() -> None:
    public = {name for name, value in vars(problems).items() if not name.startswith("_") and hasattr(value, "__module__")}
    assert set(problems.__all__) == public
    assert problems.__all__ == sorted(problems.__all__)


@pytest.mark.parametrize("make", [Problem.rested, Problem.restless])
def test_a_table_with_exchanged_axes_is_pointed_out(make: Callable[..., Problem]) -> None:
    table = np.full((3, 60), 0.5)
    message = r"means has 60 arms of 3 values each: its axes are \[arm, clock\]; was its transpose meant\?"
    for means in (table.T, table.T.tolist()):
        with pytest.warns(AxesWarning, match=message) as caught:
            make(means)
        assert caught[0].filename == __file__
    make(table)  # warnings are errors here
    make(np.full((19, 1), 0.5))
    make([0.5] * 60, horizon=3)  # numbers, not a table


@dataclass(frozen=True)
class NoDraw(Noise):
    pass


@dataclass(frozen=True)
class BoundDraw(Noise):
    def draw(self, mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:  # type: ignore[override]
        return mean


@dataclass(frozen=True)
class ShortDraw(Noise):
    @staticmethod
    def draw(mean: float, scale: float) -> float:  # type: ignore[override]
        return mean


@dataclass(frozen=True)
class WordScale(Gaussian):
    @property
    def scale(self) -> float:
        return "wide"  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        (NoDraw(), "noise must have a static method draw(mean, scale, key, run, arm, clock), got NoDraw, which has none"),
        (BoundDraw(), "noise must have a draw that is a plain function, a @staticmethod, got BoundDraw.draw"),
        (ShortDraw(), "noise must have a draw(mean, scale, key, run, arm, clock), got ShortDraw.draw(mean, scale)"),
        (WordScale(), "WordScale.scale must be a finite number, got 'wide'"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_noise_that_cannot_be_played_is_refused(noise: Noise, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        Problem.rested([[0.5, 0.25]], noise=noise)
    assert str(caught.value) == message
