"""Logarithms, exponentials and powers: correct to a unit in the last place, the same compiled, the only ones of kernels."""

import math
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from decimal import Decimal, localcontext
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from rotting.errors import KernelError
from rotting.policies.kernels import elementary
from rotting.policies.kernels.binding import reached_functions
from rotting.policies.kernels.code_checks import check_exact
from rotting.policy import Policy
from rotting.problems.noise import ByArm, Noise, known_kinds
from rotting.simulation.engines.compile import compiled
from tests.conftest import INTERPRETED
from tests.helpers.games import examples

DIGITS = 50
POINTS = 300
Range = Callable[[random.Random], tuple[float, ...]]


def _log1p(x: Decimal) -> Decimal:
    return (1 + x).ln()


def _expm1(x: Decimal) -> Decimal:
    return x.exp() - 1


def _power(x: Decimal, y: Decimal) -> Decimal:
    return (y * x.ln()).exp()


CASES: dict[str, tuple[str, Callable[..., Decimal], Range]] = {
    "log of a probability": ("log", Decimal.ln, lambda r: (r.random(),)),
    "log of a round": ("log", Decimal.ln, lambda r: (float(r.randint(2, 10**9)),)),
    "log near one": ("log", Decimal.ln, lambda r: (1 + r.uniform(-0.01, 0.01),)),
    "log anywhere": ("log", Decimal.ln, lambda r: (2.0 ** r.uniform(-1070, 1020),)),
    "log1p": ("log1p", _log1p, lambda r: (r.uniform(-0.9999, 3),)),
    "log1p near zero": ("log1p", _log1p, lambda r: (10 ** r.uniform(-20, -1) * r.choice((-1, 1)),)),
    "log1p of large numbers": ("log1p", _log1p, lambda r: (10 ** r.uniform(0, 30),)),
    "exp": ("exp", Decimal.exp, lambda r: (r.uniform(-5, 5),)),
    "exp anywhere": ("exp", Decimal.exp, lambda r: (r.uniform(-745, 709),)),
    "expm1": ("expm1", _expm1, lambda r: (r.uniform(-3, 3),)),
    "expm1 near zero": ("expm1", _expm1, lambda r: (10 ** r.uniform(-20, -1) * r.choice((-1, 1)),)),
    "expm1 anywhere": ("expm1", _expm1, lambda r: (r.uniform(-38, 700),)),
    "power of a tuning": ("power", _power, lambda r: (10 ** r.uniform(-3, 9), r.choice((1 / 3, 2 / 3, -2 / 3)))),
    "power of a discount": ("power", _power, lambda r: (r.uniform(0.5, 1), float(r.randint(1, 1000)))),
}


def points(name: str) -> Iterator[tuple[float, ...]]:
    rng = random.Random(name)
    return (CASES[name][2](rng) for _ in range(POINTS))


@pytest.mark.parametrize("name", CASES)
def test_correct_to_a_unit_in_the_last_place(name: str) -> None:
    function: Callable[..., float] = getattr(elementary, CASES[name][0])
    with localcontext() as context:
        context.prec = DIGITS
        for arguments in points(name):
            value = function(*arguments)
            assert type(value) is float
            exact = CASES[name][1](*map(Decimal, arguments))
            assert abs(Decimal(value) - exact) <= Decimal("1.02") * Decimal(math.ulp(value)), arguments


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
@pytest.mark.parametrize("name", ["log", "log1p", "exp", "expm1", "power"])
def test_compiled_the_same_to_the_last_bit(name: str) -> None:
    function = getattr(elementary, name)
    fast = compiled(function)
    given = [arguments for case in CASES if CASES[case][0] == name for arguments in points(case)]
    given += [(x,) if name != "power" else (x, 0.5) for x in (0.0, -1.0, 1.0, math.inf, 1e-310, 5e-324, 1e308)]
    for arguments in given:
        assert np.float64(fast(*arguments)).tobytes() == np.float64(function(*arguments)).tobytes(), arguments


SPECIAL = [0.0, 5e-324, 1e-310, 2.0**-1022, 0.7071067811865475, 0.7071067811865476, 1.0, 1e308, math.inf]
ARRAYS: dict[str, tuple[Callable[..., Any], list[float]]] = {
    "log": (elementary.logs, SPECIAL),
    "exp": (elementary.exps, [*SPECIAL, *(-x for x in SPECIAL), 709.782712893384, 709.79, -745.1332191019412, -745.14]),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_gives_what_its_entries_give(name: str) -> None:
    function, special = ARRAYS[name]
    given = special + [x for case in CASES if CASES[case][0] == name for (x,) in points(case)]
    expected = np.array([getattr(elementary, name)(x) for x in given])
    assert function(np.array(given)).tobytes() == expected.tobytes()


@pytest.mark.parametrize("y", [0.0, 1.0, -0.7, 1 / 3, 100.0, 1e300, -1e300, 5e-324])
def test_powers_of_an_array_are_those_of_its_entries(y: float) -> None:
    given = SPECIAL + [arguments[0] for case in CASES if CASES[case][0] in {"log", "power"} for arguments in points(case)]
    expected = np.array([elementary.power(x, y) for x in given])
    assert elementary.powers(np.array(given), y).tobytes() == expected.tobytes()


def test_where_a_library_would_raise() -> None:
    assert elementary.log(0.0) == elementary.log1p(-1.0) == -math.inf
    assert math.isnan(elementary.log(-1.0))
    assert math.isnan(elementary.log1p(-2.0))
    assert math.isnan(elementary.log(math.nan))
    assert (
        elementary.log(math.inf) == elementary.log1p(math.inf) == elementary.exp(math.inf) == elementary.exp(710.0) == math.inf
    )
    assert elementary.exp(-math.inf) == elementary.exp(-746.0) == 0.0
    assert elementary.exp(-745.0) == 5e-324
    assert elementary.expm1(-math.inf) == -1.0
    assert math.isnan(elementary.exp(math.nan))
    assert elementary.power(0.0, 2.0) == elementary.power(math.inf, -1.0) == elementary.power(0.5, 1e9) == 0.0
    assert elementary.power(0.0, -1.0) == elementary.power(2.0, 1e9) == elementary.power(math.inf, 1.0) == math.inf
    assert elementary.power(1.0, math.inf) == elementary.power(7.0, 0.0) == 1.0
    assert math.isnan(elementary.power(-1.0, 0.5))


INEXACT: dict[str, tuple[Any, str]] = {
    "math.log": (lambda x: math.sqrt(x) + math.log(x), "log"),
    "np.exp": (lambda x: 2.0 * np.exp(x), "exp"),
    "math.pow": (lambda x: math.pow(x, 3.0), "power"),
    "pow": (lambda x: pow(x, 3.0), "power"),
    "**": (lambda x: x**1.5, "math.sqrt, a product, or power"),
    "math.sin": (lambda x: 2.0 * math.sin(x), "log, log1p, exp, expm1 or power"),
}


@pytest.mark.parametrize("used", INEXACT)
def test_an_inexact_kernel_is_found(used: str) -> None:
    kernel, instead = INEXACT[used]
    line = kernel.__code__.co_firstlineno
    with pytest.raises(KernelError) as error:
        check_exact(kernel)
    assert re.fullmatch(
        rf"<lambda> \(test_elementary.py, line {line}: `.*`\) must not use {re.escape(used)}, "
        rf"whose last bit differs between machines: use {instead} of rotting\.kit",
        str(error.value),
    )


def test_an_exact_kernel_is_not_refused() -> None:
    def kernel(x: float) -> float:
        return float(math.sqrt(x) + math.floor(x) + np.abs(x) * math.pi + elementary.log(x) + 2.0**-3)

    check_exact(kernel)  # type: ignore[arg-type]  # mypy: a callable, not a FunctionType
    check_exact(FunctionType(INEXACT["pow"][0].__code__, {"pow": elementary.power}))


@pytest.mark.parametrize("policy", examples(), ids=lambda policy: policy.name)
def test_policies_use_no_others(policy: Policy) -> None:
    for field in fields(policy.kernel):
        function = getattr(policy.kernel, field.name)
        for each in reached_functions(function) if function is not None else []:
            check_exact(each)


OWN = [kind for kind in known_kinds().values() if kind.__module__.startswith("rotting.")]


@pytest.mark.parametrize("noise", [each for each in OWN if each is not ByArm])  # which draws as the noises of its arms do
def test_noises_use_no_others(noise: type[Noise]) -> None:
    for each in reached_functions(noise.draw):
        check_exact(each)
