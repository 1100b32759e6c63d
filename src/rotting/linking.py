"""Binding plain functions to each other by name, and telling two bindings apart by a digest.

Kernels call each other through their module's global names. `rebind` copies a function and gives the copy other functions
under some of those names; the game loop gets its policy this way, and RAW-UCB its windows. The copy is still a plain
function: interpreted, it just runs; `compile.py` compiles it together with all it is bound to.
"""

import builtins
import dis
import functools
import hashlib
import math
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, NoReturn, ParamSpec, TypeVar, cast

import numpy as np

P = ParamSpec("P")
R = TypeVar("R")


@functools.cache
def _loaded_names(code: CodeType) -> tuple[str, ...]:
    # Not co_names: that mixes in attribute names, and `reason.index` is not the global `index`.
    loads = (each for each in dis.get_instructions(code) if each.opname == "LOAD_GLOBAL")
    return tuple(dict.fromkeys(each.argval for each in loads))


def _global_names(function: FunctionType) -> tuple[str, ...]:
    return _loaded_names(function.__code__)  # asked for time and again: reading the code takes longer than a short simulation


def rebind(function: Callable[P, R], **bound: Callable[..., Any]) -> Callable[P, R]:
    """Return a copy of `function` in which each global name in `bound` means the given function.

    Example:
        >>> def base(): return 1
        >>> def twice(): return 2 * base()
        >>> rebind(twice, base=lambda: 5)(), twice()
        (10, 2)
    """
    if not isinstance(function, FunctionType):
        raise TypeError(f"function must be a plain Python function, got {function!r}")
    for name in bound:
        if name not in _global_names(function):
            raise ValueError(f"bound names must be used by {function.__qualname__}, got {name!r}")
    scope = {**function.__globals__, **bound}
    copy = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, function.__closure__)
    copy.__qualname__, copy.__module__, copy.__doc__ = (
        function.__qualname__,
        function.__module__,
        function.__doc__,
    )
    copy.__annotations__, copy.__kwdefaults__ = function.__annotations__, function.__kwdefaults__
    return cast("Callable[P, R]", copy)


def bound_functions(function: FunctionType) -> dict[str, FunctionType]:
    """Return the plain functions that `function` reaches through its global names."""
    found = {name: function.__globals__.get(name) for name in _global_names(function)}
    return {name: value for name, value in found.items() if isinstance(value, FunctionType)}


def _refuse(function: FunctionType, why: str) -> NoReturn:
    raise TypeError(
        f"a kernel must be a plain function of its arguments and of numbers, tuples, arrays, NamedTuple classes and kernels "
        f"in its module; {function.__qualname__} {why}"
    )


def _value_part(function: FunctionType, name: str, value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{hashlib.sha256(value.tobytes()).hexdigest()}"
    if value is math or value is np or value is getattr(builtins, name, None):
        return name
    if isinstance(value, type) and hasattr(value, "_fields"):
        return f"{value.__module__}.{value.__qualname__}{value._fields}"
    if isinstance(value, tuple):
        return str([_value_part(function, name, each) for each in value])
    if value is None or type(value) in {bool, int, float, str}:
        return repr(value)
    _refuse(function, f"uses {name} = {value!r}")


def digest(function: FunctionType, _above: tuple[FunctionType, ...] = ()) -> str:
    """Return a digest of everything that decides what `function` computes: its code, constants, and bound functions.

    What the digest could not see, such as a constant read through a module, is refused: a compiled function that is found
    again by its digest must never be another one.
    """
    code = function.__code__
    if any(function is each for each in _above):
        _refuse(function, "calls itself")
    if function.__closure__:
        _refuse(function, f"closes over {', '.join(code.co_freevars)}")
    if any(isinstance(each, CodeType) for each in code.co_consts):
        _refuse(function, "defines a function or a comprehension")
    parts = [code.co_name, code.co_code.hex(), repr(code.co_consts), repr(code.co_names), repr(code.co_varnames)]
    parts += [repr(function.__defaults__), repr(function.__kwdefaults__), repr(function.__annotations__)]
    functions = bound_functions(function)
    for name in _global_names(function):
        if name in functions:
            parts.append(f"{name}={digest(functions[name], (*_above, function))}")
        else:
            value = function.__globals__.get(name, getattr(builtins, name, None))
            parts.append(f"{name}={_value_part(function, name, value)}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
