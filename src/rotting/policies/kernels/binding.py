"""Composing plain functions, and digests of their code.

Kernels call each other through the global names of their modules. Where a function is chosen later, a stub marked `@slot` takes
its place. `bind` fills the slots: it copies a function, and every function between it and a slot, and gives those names the
chosen functions. This is how the game loop gets its policy. The copy is still a plain function, which the interpreter can run
and an engine can compile, together with all the functions that it reaches (`Converter`).
"""

import builtins
import functools
import hashlib
import math
from collections.abc import Callable, Mapping
from types import CodeType, FunctionType
from typing import Any, Generic, NoReturn, ParamSpec, TypeVar, cast

import numpy as np

from rotting.errors import InvalidValueError, KernelError, brief
from rotting.policies.kernels.code_checks import check_arguments, check_code, check_global, instructions, line_of_global, place

P = ParamSpec("P")
R = TypeVar("R")
Converted = TypeVar("Converted")
KernelFunction = Callable[..., Any]
"""A plain function, with all the functions that it reaches."""
Bindings = Mapping[Any, Any]
"""Which plain function is replaced by which."""
NO_BINDINGS: Bindings = {}


@functools.cache
def _loaded_names(code: CodeType) -> tuple[str, ...]:
    # Not co_names: that mixes in attribute names, and `reason.index` is not the global `index`.
    loads = (each for each in instructions(code) if each.opname == "LOAD_GLOBAL")
    return tuple(dict.fromkeys(each.argval for each in loads))


def _global_names(function: FunctionType) -> tuple[str, ...]:
    return _loaded_names(function.__code__)


def slot(function: Callable[P, R]) -> Callable[P, R]:
    """Mark a stub that `bind` replaces by a function that is chosen later.

    Example:
        >>> @slot
        ... def base() -> int:
        ...     raise NotImplementedError
        >>> def twice() -> int:
        ...     return 2 * base()
        >>> bind(twice, {base: lambda: 5})()
        10
        >>> bind(twice, {})
        Traceback (most recent call last):
        ...
        rotting.errors.InvalidValueError: parts must fill every slot that twice reaches, got none for base
    """
    function.is_slot = True  # type: ignore[attr-defined]
    return function


def allocates_nothing(function: Callable[P, R]) -> Callable[P, R]:
    """Mark a function that creates no array, and calls none that does: it is compiled without reference counting.

    Copies keep the mark.
    """
    function.allocates_nothing = True  # type: ignore[attr-defined]
    return function


def raises(function: Callable[P, R]) -> Callable[P, R]:
    """Mark a function of the library that may raise in compiled code, where the error is caught. Other kernels must not."""
    function.raises = True  # type: ignore[attr-defined]
    return function


def bind(root: Callable[P, R], parts: Bindings) -> Callable[P, R]:
    """Return a copy of `root` in which some of the functions that it reaches are replaced by others.

    Functions are compared by identity and replaced wherever `root` reaches them, also inside replacements. It is an error to
    leave a slot open, or to give a part that is never used.

    Args:
        root: a plain function.
        parts: maps functions to their replacements. Most of them are slots, but any function that `root` reaches can be
            replaced.
    """
    return cast("Callable[P, R]", bind_all({"root": root}, parts)["root"])


def plain_function(name: str, function: object) -> FunctionType:
    """Return `function` if it is a plain Python function; raise an error for methods and other callables."""
    if not isinstance(function, FunctionType):
        raise KernelError(f"{name} must be a plain Python function, got {function!r}")
    return function


def bind_all(roots: Mapping[str, Any], parts: Bindings) -> dict[str, KernelFunction]:
    """Return copies of several functions with the same parts; at least one of them must use each part.

    Args:
        roots: plain functions under names of their own, such as those of a `Kernel`.
        parts: as for `bind`.
    """
    for name, root in roots.items():
        plain_function(name, root)
    for replaced, part in parts.items():
        code = plain_function("a replaced function", replaced).__code__
        plain_function(replaced.__name__, part)
        if getattr(replaced, "is_slot", False):
            check_arguments(part, code.co_varnames[: code.co_argcount])
    binding = Converter(_copy, parts)
    bound = {name: binding(root) for name, root in roots.items()}
    unused = [each.__qualname__ for each in parts if each not in binding.used]
    if unused:
        names = " or ".join(root.__qualname__ for root in roots.values())
        raise InvalidValueError("parts", f"be used by {names}", unused, got=f"{', '.join(unused)}, which is not")
    return bound


class Converter(Generic[Converted]):
    """Converts a function and every function that it reaches, callees first, each once.

    Binding converts functions to copies; engines convert them to compiled functions.

    Args:
        convert: converts one function. It is called with the function, and with its converted callees by global name.
        parts: replaces functions by others before they are converted.
        converted: functions that are converted already.
    """

    def __init__(
        self,
        convert: Callable[[FunctionType, dict[str, Converted]], Converted],
        parts: Bindings = NO_BINDINGS,
        converted: Mapping[KernelFunction, Converted] | None = None,
    ) -> None:
        self._convert = convert
        self._parts = parts
        self._converted = dict(converted or {})
        self.used: set[KernelFunction] = set()

    def __call__(self, given: KernelFunction, above: tuple[FunctionType, ...] = ()) -> Converted:
        """Return the converted function."""
        if given in self._parts:
            self.used.add(given)
        function = plain_function("function", self._parts.get(given, given))
        if function in self._converted:
            return self._converted[function]
        if getattr(function, "is_slot", False):
            root = (*above, function)[0].__qualname__
            raise InvalidValueError(
                "parts", f"fill every slot that {root} reaches", function, got=f"none for {function.__qualname__}"
            )
        if function in above:
            _refuse(function, "must not call itself")
        self._converted[function] = self._convert(function, self.callees(function, (*above, function)))
        return self._converted[function]

    def callees(self, function: FunctionType, above: tuple[FunctionType, ...] = ()) -> dict[str, Converted]:
        """Return the functions that `function` calls, converted, by their global names."""
        return {name: self(part, above) for name, part in bound_functions(function).items()}


def _copy(function: FunctionType, bound: dict[str, KernelFunction]) -> KernelFunction:
    reached = bound_functions(function)
    changed = {name: part for name, part in bound.items() if part is not reached[name]}
    return with_names(function, changed) if changed else function


def reached_functions(function: KernelFunction) -> list[FunctionType]:
    """Return `function` and all plain functions that it reaches, callees first."""
    found: list[FunctionType] = []
    Converter(lambda each, _: found.append(each))(function)
    return found


def with_names(function: Callable[P, R], names: Mapping[str, KernelFunction]) -> Callable[P, R]:
    """Return a copy of `function` in which each of these global names means the given function."""
    scope = {**function.__globals__, **names}
    copy = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, function.__closure__)
    copy.__qualname__, copy.__module__, copy.__doc__ = function.__qualname__, function.__module__, function.__doc__
    copy.__annotations__, copy.__kwdefaults__ = function.__annotations__, function.__kwdefaults__
    copy.__dict__.update(function.__dict__)
    return cast("Callable[P, R]", copy)


def bound_functions(function: FunctionType) -> dict[str, FunctionType]:
    """Return the plain functions that `function` reaches through its global names."""
    found = {name: function.__globals__.get(name) for name in _global_names(function)}
    return {name: value for name, value in found.items() if isinstance(value, FunctionType)}


def _refuse(function: FunctionType, why: str, line: int | None = None) -> NoReturn:
    raise KernelError(f"{place(function.__code__, line)} {why}")


def _value_part(function: FunctionType, name: str, value: object) -> str:
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
    what = "which is not a number, tuple, array, NamedTuple class or plain function"
    _refuse(function, f"uses {name} = {brief(value)}, {what}", line_of_global(function.__code__, name))


def digest(function: KernelFunction) -> str:
    """Return a digest of everything that decides the results of `function`: its code, constants and reached functions.

    Code that depends on anything else, such as a constant of an imported module, is refused: compiled functions are found by
    their digest.
    """
    return Converter(_digest_over)(function)


def _digest_over(function: FunctionType, reached: dict[str, str]) -> str:
    """Return the digest of a function, given those of the functions that it reaches."""
    code = function.__code__
    if function.__closure__:
        _refuse(function, f"must not close over {', '.join(code.co_freevars)}: compiled code has arguments and constants alone")
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _refuse(function, "must not define a function or a comprehension in compiled code", constant.co_firstlineno)
    check_code(function)
    parts = [code.co_name, code.co_code.hex(), repr(code.co_consts), repr(code.co_names), repr(code.co_varnames)]
    parts += [repr(function.__defaults__), repr(function.__kwdefaults__)]
    for name in _global_names(function):
        if name in reached:
            parts.append(f"{name}={reached[name]}")
        else:
            if name not in function.__globals__ and not hasattr(builtins, name):
                _refuse(function, f"uses {name}, which is not defined", line_of_global(code, name))
            value = function.__globals__.get(name, getattr(builtins, name, None))
            check_global(function, name, value)
            parts.append(f"{name}={_value_part(function, name, value)}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
