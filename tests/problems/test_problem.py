"""Problems are values, and bad input gets one clear sentence."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from rotting import problems
from rotting.errors import AxesWarning, InvalidTypeError, InvalidValueError
from rotting.problems import (
    Abrupt,
    FixedDelay,
    General,
    Linear,
    Piecewise,
    Problem,
    Product,
    Recovering,
    Rested,
    Restless,
    Sum,
    Visiting,
    two_arms,
)
from rotting.problems.noise import Bernoulli, Binomial, Gaussian, Noise, Noiseless, Poisson
from rotting.problems.problem import means_if_always_pulled

NAN, INF = math.nan, math.inf


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
        (
            lambda: problem([*Problem.by_function(lambda i, t, n: 0.5, 1).arms, Rested(1)]),
            ValueError,
            "arms must not mix arms of Problem.by_function with other arms",
        ),
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


def test_some_arm_must_be_present_in_every_round_up_to_the_last() -> None:
    visits = [Visiting(Rested(0.5), last=5), Visiting(Rested(0.9), first=6, last=8)]
    assert Problem(visits, horizon=8).horizon == 8
    for arms, horizon, absent in ((visits, 9, 9), (visits[1:], 8, 1), ([visits[0], Visiting(Rested(0.9), first=7)], 8, 6)):
        with pytest.raises(ValueError, match=f"in every round up to {horizon}, got none in round {absent}$"):
            Problem(arms, horizon=horizon)


def test_errors_of_a_users_function_pass() -> None:
    def broken(n: int) -> float:
        raise KeyError(n)

    with pytest.raises(KeyError):
        Problem.rested([broken], horizon=3)


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


def test_the_last_table_is_kept() -> None:
    problem = two_arms(horizon=100)
    assert problem.means() is problem.means(100)
    assert problem.mean(1, t=400, n=300) == -0.15  # beyond the table that is kept


def test_a_mean_does_not_depend_on_the_tables_that_were_made_before() -> None:
    arms = [Restless(Linear(1.0, slope=-0.125)), Rested(Linear(1.0, slope=-0.25))]
    expected = [Problem(arms).mean(i, t, t - 1) for i in (0, 1) for t in (1, 4, 5, 9)]
    assert expected == [1.0, 0.625, 0.5, 0.0, 1.0, 0.25, 0.0, -1.0]
    problem = Problem(arms)
    problem.means(4)
    assert [problem.mean(i, t, t - 1) for i in (0, 1) for t in (1, 4, 5, 9)] == expected


def test_a_problem_does_not_change() -> None:
    values = np.ones((1, 3))
    problem = Problem.rested(values)
    values[:] = 7.0
    assert problem.mean(0, t=3, n=2) == 1.0
    with pytest.raises(AttributeError):
        problem.horizon = 3  # type: ignore[misc]


def test_is_rotting_looks_as_far_as_the_horizon() -> None:
    problem = Problem.rested([Abrupt(0, 1, at=10)])
    assert problem.is_rotting(10)
    assert not problem.is_rotting(11)


def test_describe_is_json_and_repr_is_readable() -> None:
    problem = two_arms(L=0.5, horizon=100)
    assert json.loads(json.dumps(problem.describe())) == {
        "name": "two-arms(L=0.5)",
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
        "noise=Gaussian(sigma=1.0), horizon=100, name='two-arms(L=0.5)')"
    )
    assert len(repr(Problem.rested(np.random.default_rng(0).random((100, 1_000))))) < 1_000


def test_all_is_exact() -> None:
    public = {name for name, value in vars(problems).items() if not name.startswith("_") and hasattr(value, "__module__")}
    assert set(problems.__all__) == public - {"list"}  # with `import *`, it would hide that of Python
    assert problems.__all__ == sorted(problems.__all__)


@pytest.mark.parametrize("make", [Problem.rested, Problem.restless])
def test_a_table_with_exchanged_axes_is_pointed_out(make: Callable[..., Problem]) -> None:
    table = np.full((3, 60), 0.5)
    message = r"means has 60 arms of 3 values each, since its axes are \[arm, clock\]; did you mean means\.T\?"
    for means in (table.T, table.T.tolist()):
        with pytest.warns(AxesWarning, match=message) as caught:
            make(means)
        assert caught[0].filename == __file__
    make(table)  # warnings are errors here
    with pytest.warns(AxesWarning, match="means has 20 arms of 9 values"):
        make(np.full((20, 9), 0.5))
    make(np.full((20, 10), 0.5))  # half of the arms can be pulled
    with pytest.warns(AxesWarning, match="means has 21 arms of 10 values"):
        make(np.full((21, 10), 0.5))
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


class PlainClass(Noise):
    draw = staticmethod(Gaussian.draw)


@dataclass
class Unfrozen(Noise):
    draw = staticmethod(Gaussian.draw)


FROZEN = "noise must be a frozen dataclass, with @dataclass(frozen=True) above its class, got "


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        (PlainClass(), f"{FROZEN}PlainClass"),
        (Unfrozen(), f"{FROZEN}Unfrozen"),
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


def mu(i: int, t: int, n: int) -> float:
    return 1 / (1 + i) - 0.01 * n - 0.001 * t


def test_a_notebook_shows_the_means_of_every_kind_of_problem() -> None:
    rise = [0.0, 0.2, 0.4, 0.6]
    visits = Problem([Rested(0.5), Visiting(Rested([0.9, 0.8, 0.7, 0.6]), first=2, last=3), Recovering(rise)], horizon=4)
    late = visits.delayed(FixedDelay(2))
    for problem in (visits, late, Problem.by_function(mu, 3), Problem.by_function(mu, 3, horizon=9), two_arms(horizon=9)):
        shown = problem._repr_html_()
        assert 'aria-label="mean against round t.' in shown
        assert shown.count('class="line"') == problem.n_arms
    assert "FixedDelay(lost=0.0, rounds=2)" in late._repr_html_()
    assert "or in its first one alone if it recovers" in visits._repr_html_()
    drawn = [means_if_always_pulled(visits, i, np.arange(1, 5)).tolist() for i in range(3)]
    assert drawn[0] == [0.5] * 4
    assert drawn[1][1:3] == [0.9, 0.8]
    assert np.isnan(drawn[1]).tolist() == [True, False, False, True]
    assert drawn[2] == [0.6, 0.0, 0.2, 0.4]  # at first it is fully rested
    always = means_if_always_pulled(Problem.by_function(mu, 3), 1, np.arange(1, 4))
    assert always.tolist() == [mu(1, t, t - 1) for t in (1, 2, 3)]
    falls = Problem([Rested(Piecewise([0.9, 0.5, 0.1], starts=[0, 2, 4]))])  # without a horizon
    assert means_if_always_pulled(falls, 0, np.arange(1, 7)).tolist() == [0.9, 0.9, 0.5, 0.5, 0.1, 0.1]


def test_an_error_of_a_mean_names_its_arm_unless_it_is_of_a_kind_of_its_own() -> None:
    class OwnError(ValueError):
        """An error that somebody may want to catch."""

    def fails(error: Exception) -> Problem:
        def f(t: int, n: int) -> float:
            raise error

        return Problem([Rested(0.5), General(f)], horizon=3)

    for error, kind in ((ValueError("no data"), InvalidValueError), (TypeError("no data"), InvalidTypeError)):
        with pytest.raises(kind, match=r"^arm 1: means must be computable, got an error: no data$"):
            fails(error).tables()
    with pytest.raises(OwnError, match="^no data$"):
        fails(OwnError("no data")).tables()
