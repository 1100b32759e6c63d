"""Binding: slots are filled however deep they lie, and digests tell functions apart."""

import enum
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

from rotting.errors import KernelError
from rotting.policies.kernels.binding import (
    Converter,
    bind,
    bind_all,
    bound_functions,
    digest,
    reached_functions,
    slot,
)
from rotting.simulation.engines.compile import compiled


def base(x: int) -> int:
    return x + 1


def other(x: int) -> int:
    return x + 2


def define(source: str, **scope: object) -> FunctionType:
    """The function f of a piece of source, among the given globals."""
    names: dict[str, Any] = {"__name__": "defined", **scope}
    exec(source, names)
    function = names["f"]
    assert isinstance(function, FunctionType)
    return function


F = "def f(x):\n    return g(x) + K\n"


def digest_of(function: Callable[..., Any]) -> str:
    assert isinstance(function, FunctionType)
    return digest(function)


def g_of(source: str) -> FunctionType:
    return define(f"def f(x):\n    return {source}\n")


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (define("def f(x): return x + 1"), define("def f(x): return x + 2")),
        (define("def f(x): return x + 1"), define("def f(x): return x + 1.0")),
        (define("def f(x): return x + 1"), define("def f(x): return x + True")),
        (define("def f(x): return x * 0.0"), define("def f(x): return x * -0.0")),
        (define("def f(x): return x + 1"), define("def f(x): return x - 1")),
        (define("def f(x): return x < 1"), define("def f(x): return x <= 1")),
        (define("def f(x): return x.a"), define("def f(x): return x.b")),
        (define("def f(x, y): return x - y"), define("def f(y, x): return y - x")),
        (define("def f(x, y=1): return x + y"), define("def f(x, y=2): return x + y")),
        (define("def f(x, y=1): return x + y"), define("def f(x, y=1.0): return x + y")),
        (define(F, g=g_of("x"), K=1), define(F, g=g_of("x"), K=2)),
        (define(F, g=g_of("x"), K=1), define(F, g=g_of("x"), K=1.0)),
        (define(F, g=g_of("x"), K=(1, 2)), define(F, g=g_of("x"), K=(1, 3))),
        (define(F, g=g_of("x"), K=1), define(F, g=g_of("-x"), K=1)),
        (define(F, g=define(F, g=g_of("x"), K=1), K=1), define(F, g=define(F, g=g_of("x"), K=2), K=1)),
        (define(F, g=g_of("x"), K=np.array([1.0, 2.0])), define(F, g=g_of("x"), K=np.array([1.0, 3.0]))),
    ],
)
def test_digests_tell_apart_what_computes_differently(one: FunctionType, two: FunctionType) -> None:
    assert digest(one) != digest(two)


class Colour(enum.IntEnum):
    RED = 1


def adder(k: int) -> FunctionType:
    def f(x: int) -> int:
        return x + k

    assert isinstance(f, FunctionType)
    return f


def long_table(middle: float) -> Any:
    table = np.zeros(5_000)
    table[2_500] = middle
    return table


def module_of(**values: object) -> ModuleType:
    module = ModuleType("settings")
    vars(module).update(values)
    return module


KEYWORD = "def f(x, *, y={}): return x + y"

MODULE = "def f(x): return x + settings.K"

TABLE = "def f(i): return K[i]"

MEMBER = "def f(): return int(E.RED)"

NESTED = "def f(x):\n    def inner():\n        return K\n    return x + inner()\n"


@pytest.mark.parametrize(
    ("one", "two"),
    [
        pytest.param(define(KEYWORD.format(1)), define(KEYWORD.format(2)), id="keyword default"),
        pytest.param(define(TABLE, K=long_table(1.0)), define(TABLE, K=long_table(2.0)), id="long table"),
    ],
)
def test_digests_tell_apart_what_hides_deeper(one: FunctionType, two: FunctionType) -> None:
    assert digest(one) != digest(two)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (adder(1), "must not close over k"),
        (define(MODULE, settings=module_of(K=1)), "uses settings = "),
        (define(MEMBER, E=Colour), "uses E = "),
        (define(NESTED, K=1), r"f \(<string>, line 2\) must not define a function or a comprehension"),
    ],
)
def test_what_a_digest_could_not_see_is_refused(function: FunctionType, why: str) -> None:
    with pytest.raises(TypeError, match=why):
        compiled(function)


def test_recursive_functions_are_refused() -> None:
    with pytest.raises(TypeError, match=r"^f \(<string>, line 1\) must not call itself$"):
        digest(define("def f(n): return 1 if n == 0 else n * f(n - 1)"))


def test_digests_ignore_what_does_not_matter() -> None:
    plain = define("def f(x): return g(x) + K", g=g_of("x"), K=1)
    moved = define("\n\n# a remark\ndef f(x):\n    return g(x) + K\n", g=g_of("x"), K=1, unused=5)
    annotated = define("def f(x: float) -> float: return g(x) + K", g=g_of("x"), K=1)
    assert digest(plain) == digest(moved) == digest(annotated)
    assert digest_of(bind(plain, {plain.__globals__["g"]: g_of("x")})) == digest(plain)
    assert len(digest(plain)) == 16
    assert int(digest(plain), 16) >= 0


def test_digests_do_not_change_when_a_function_warms_up() -> None:
    """The interpreter rewrites the code of functions that run often."""
    function = define(F, g=g_of("x * 2"), K=1)
    before = digest(function)
    for x in range(2_000):
        function(x)
    assert digest(function) == before


def documented(x: int, by: int = 3) -> int:
    """Add."""
    return base(x) + by


def test_binding_copies_everything_else() -> None:
    copy = bind(documented, {base: other})
    assert (copy(1), copy(1, 0), documented(1)) == (6, 3, 5)
    for name in ("__name__", "__qualname__", "__module__", "__doc__", "__defaults__", "__annotations__"):
        assert getattr(copy, name) == getattr(documented, name)
    for function, bound in ((copy, other), (documented, base)):
        assert isinstance(function, FunctionType)
        assert bound_functions(function) == {"base": bound}


def test_binding_keeps_closures() -> None:
    k = 7

    def f(x: int) -> int:
        return base(x) + k

    assert bind(f, {base: other})(1) == 10


def test_binding_keeps_keyword_defaults_and_marks() -> None:
    function: Any = define("def f(x, *, y=5): return g(x) + y", g=base)
    function.mark = "kept"
    copy: Any = bind(function, {base: other})
    assert (copy(1), copy.mark) == (8, "kept")


@slot
def start(x: int) -> int:
    raise NotImplementedError


@slot
def step(x: int) -> int:
    raise NotImplementedError


def walk(x: int) -> int:
    return step(start(x))


def stride(x: int) -> int:
    return walk(x) + step(x)


def leap(x: int) -> int:
    return 10 * base(x)


def test_parts_are_found_however_deep_they_lie() -> None:
    """Also under another name: functions are told apart by identity."""
    assert bind(stride, {start: base, step: leap})(1) == 10 * 3 + 10 * 2
    renamed = define("def f(x): return begin(x) + again(x)", begin=start, again=start)
    assert bind(renamed, {start: base})(1) == 4


def test_replacements_are_bound_too() -> None:
    """`leap`, put in the place of `step`, calls `base`, which is replaced there; `base` in the place of `start` stays."""
    assert bind(walk, {start: base, step: leap, base: other})(1) == 10 * (2 + 2)
    assert bind(walk, {start: other, step: leap})(1) == 10 * 4
    half = define("def f(x): return start(x) // 2", start=start)
    assert bind(walk, {step: half, start: other})(1) == 2
    assert walk.__globals__["step"] is step


def test_what_nothing_changes_is_not_copied() -> None:
    assert bind(leap, {}) is leap
    bound: Any = bind(stride, {start: base, step: leap})
    assert bound.__globals__["step"] is leap
    assert bound.__globals__["walk"] is not walk


def test_binding_can_be_repeated() -> None:
    once = bind(walk, {start: base, step: leap})
    assert bind(once, {base: other})(1) == 10 * (3 + 2)
    assert once(1) == 10 * 3


def test_several_functions_share_their_parts() -> None:
    bound = bind_all({"one": walk, "two": leap}, {start: base, step: other})
    assert (bound["one"](1), bound["two"](1)) == (4, 20)
    with pytest.raises(ValueError, match="^parts must be used by walk or leap, got other, which is not$"):
        bind_all({"one": walk, "two": leap}, {start: base, step: base, other: base})


def test_an_open_slot_is_refused() -> None:
    with pytest.raises(ValueError, match="^parts must fill every slot that stride reaches, got none for start$"):
        bind(stride, {step: leap})
    with pytest.raises(ValueError, match="^parts must fill every slot that walk reaches, got none for step$"):
        bind(walk, {start: base, base: step})


def test_a_part_that_nothing_uses_is_refused() -> None:
    with pytest.raises(ValueError, match="^parts must be used by leap, got step, which is not$"):
        bind(leap, {step: base})


def test_parts_that_lead_back_to_themselves_are_refused() -> None:
    again = define("def f(x): return base(x) + 1", base=base)
    with pytest.raises(KernelError, match=r"^f \(<string>, line 1\) must not call itself$"):
        bind(leap, {base: again})


def test_a_part_must_take_the_arguments_of_its_slot() -> None:
    pair = define("def f(x, y): return x")
    with pytest.raises(KernelError, match=r"^f \(<string>, line 1\) must take \(x\), got \(x, y\)$"):
        bind(walk, {start: base, step: pair})
    assert bind(walk, {start: base, step: define("def f(x, y=1): return x + y")})(1) == 3


def test_an_attribute_is_not_a_function_that_is_reached() -> None:
    function = define("def f(s): return s.index(1)", index=base)
    with pytest.raises(ValueError, match="^parts must be used by f, got base, which is not$"):
        bind(function, {base: other})


def twice(x: int) -> int:
    return 2 * base(x)


def through_both(x: int) -> int:
    return twice(x) + base(x)


def test_one_walk_makes_something_of_every_function_once() -> None:
    made: list[str] = []

    def decorate(function: FunctionType, parts: dict[str, str]) -> str:
        made.append(function.__name__)
        return f"{function.__name__}({', '.join(f'{name}={part}' for name, part in parts.items())})"

    assert Converter(decorate)(through_both) == "through_both(twice=twice(base=base()), base=base())"
    assert made == ["base", "twice", "through_both"]
    # What was made already stands as it is: another device's function, or one compiled otherwise.
    assert Converter(decorate, converted={twice: "DONE"})(through_both) == "through_both(twice=DONE, base=base())"
    assert [each.__name__ for each in reached_functions(through_both)] == ["base", "twice", "through_both"]
