"""Binding plain functions to each other by name, and telling two bindings apart by a digest.

Kernels call each other through their module's global names. `rebind` copies a function and gives the copy other functions
under some of those names; the game loop gets its policy this way, and RAW-UCB its windows. The copy is still a plain
function: interpreted, it just runs; `compile.py` compiles it together with all it is bound to.
"""

import dis
import hashlib
from collections.abc import Callable
from types import CodeType, FunctionType, ModuleType
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")


def _global_names(function: FunctionType) -> list[str]:
    # Not co_names: that mixes in attribute names, and `reason.index` is not the global `index`.
    loads = (each for each in dis.get_instructions(function.__code__) if each.opname == "LOAD_GLOBAL")
    return list(dict.fromkeys(each.argval for each in loads))


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
    copy.__annotations__ = function.__annotations__
    return cast("Callable[P, R]", copy)


def bound_functions(function: FunctionType) -> dict[str, FunctionType]:
    """Return the plain functions that `function` reaches through its global names."""
    found = {name: function.__globals__.get(name) for name in _global_names(function)}
    return {name: value for name, value in found.items() if isinstance(value, FunctionType)}


def _code_parts(code: CodeType) -> str:
    consts = [_code_parts(each) if isinstance(each, CodeType) else repr(each) for each in code.co_consts]
    return f"{code.co_name}|{code.co_code.hex()}|{consts}|{code.co_names}|{code.co_varnames}|{code.co_freevars}"


def _value_part(value: object) -> str:
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}{getattr(value, '_fields', '')}"
    return repr(value)


def digest(function: FunctionType) -> str:
    """Return a digest of everything that decides what `function` computes: its code, constants, and bound functions."""
    parts = [_code_parts(function.__code__), repr(function.__defaults__)]
    functions = bound_functions(function)
    for name in _global_names(function):
        if name in functions:
            parts.append(f"{name}={digest(functions[name])}")
        elif name in function.__globals__:
            parts.append(f"{name}={_value_part(function.__globals__[name])}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
