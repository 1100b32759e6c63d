"""Decays follow their formulas, are values, and bad ones get one clear sentence."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.problems import (
    Abrupt,
    Constant,
    Decay,
    Exponential,
    Function,
    Linear,
    Logistic,
    Piecewise,
    Polynomial,
    Problem,
    Table,
    two_arms,
)

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


SETTLING = [decay for decay, _ in FORMULAS if decay.settles is not None]


def test_steps_and_tables_settle_and_formulas_do_not() -> None:
    assert {type(decay) for decay in SETTLING} == {Constant, Abrupt, Piecewise, Table}


@pytest.mark.parametrize("decay", SETTLING, ids=repr)
def test_a_decay_settles_with_its_last_change(decay: Decay) -> None:
    """One tick less would not show the last value, and from there on nothing changes."""
    assert decay.settles is not None
    starts, _ = decay.steps(decay.length or 100)
    assert decay.settles == starts[-1] + 1


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


KNOWN = [decay for decay, _ in FORMULAS if not isinstance(decay, Function) and decay != Linear(-1.0, slope=0.5)]


@pytest.mark.parametrize("decay", [*KNOWN, Linear(0.75, slope=0.0), Linear(0.75, slope=0.0, floor=0.5)], ids=repr)
def test_a_limit_is_what_the_values_tend_to(decay: Decay) -> None:
    far = decay.steps(decay.length or 100_000)[1][-1]
    assert decay.limit == pytest.approx(far, abs=1e-4)


@pytest.mark.parametrize("decay", [Linear(0.0, slope=1.0, floor=-1.0), Linear(0.0, slope=-1.0), Function(float)], ids=repr)
def test_what_grows_for_ever_or_is_unknown_has_no_limit(decay: Decay) -> None:
    assert decay.limit is None


def test_slow_decays_do_not_rise_by_a_bit() -> None:
    slow = [Exponential(1.7, 6e-17, limit=1.0), Exponential(1.9, 2e-16, limit=1.5), Logistic(1, 0.7, at=1e5, width=1e13)]
    assert Problem.rested(slow, horizon=50_000).is_rotting()
