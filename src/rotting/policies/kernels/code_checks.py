"""Checks of a kernel's bytecode for what kernels must not do, before anything is compiled."""

import dis
import functools
import inspect
import linecache
import math
import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

import numpy as np

from rotting.errors import KernelError

_QUIET = "compiled code can only return numbers and write into arrays"
_REPEATABLE = (
    "whose numbers cannot be reproduced: use rotting.kit.uniform(key, t, draw) in a policy, "
    "rotting.kit.reward_uniform(key, run, arm, clock, draw) in a noise"
)

_KIT_FUNCTIONS = {"log": "log", "log1p": "log1p", "exp": "exp", "expm1": "expm1", "pow": "power", "power": "power"}
_INEXACT = {
    *_KIT_FUNCTIONS,
    *("log2", "log10", "logaddexp", "logaddexp2", "exp2", "float_power", "cbrt", "hypot", "erf", "erfc", "gamma", "lgamma"),
    *("sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "atan2", "asinh", "acosh", "atanh"),
    *("arcsin", "arccos", "arctan", "arctan2", "arcsinh", "arccosh", "arctanh"),
}
"""Functions of `math` and NumPy whose last bit differs between machines. IEEE 754 rounds others, such as `sqrt`, in one way."""


def place(code: CodeType, line: int | None = None) -> str:
    """Return the place of a function, or of a line of it, with the source if available: `choose (mine.py, line 7)`."""
    name = getattr(code, "co_qualname", code.co_name)
    text = "" if line is None else linecache.getline(code.co_filename, line).strip()
    return f"{name} ({Path(code.co_filename).name}, line {line or code.co_firstlineno}{f': `{text}`' if text else ''})"


@functools.lru_cache(maxsize=256)
def instructions(code: CodeType) -> tuple[dis.Instruction, ...]:
    """Return the instructions of a function. Several checks read them, one after the other, and decoding them takes time."""
    return tuple(dis.get_instructions(code))


def _line(instruction: dis.Instruction) -> int | None:
    return instruction.positions.lineno if instruction.positions else None


def line_of_global(code: CodeType, name: str) -> int | None:
    """Return the first line of a function that uses a global name."""
    return next((_line(each) for each in instructions(code) if each.argval == name and "GLOBAL" in each.opname), None)


_NEVER_COMPILED = {"IMPORT_NAME": "import", "BEFORE_WITH": "use `with`", "LOAD_SPECIAL": "use `with`", "YIELD_VALUE": "yield"}


@functools.cache
def _forbidden(code: CodeType) -> str | None:
    asserts = False
    for instruction in instructions(code):
        line = _line(instruction)
        # From Python 3.14 on, AssertionError is a common constant.
        asserts = asserts or instruction.opname == "LOAD_ASSERTION_ERROR" or "AssertionError" in instruction.argrepr
        if instruction.opname == "RAISE_VARARGS":
            return f"{place(code, line)} must not {'assert' if asserts else 'raise'}: {_QUIET}"
        if instruction.opname == "LOAD_GLOBAL" and instruction.argval == "print":
            return f"{place(code, line)} must not print: {_QUIET}"
        if instruction.opname in _NEVER_COMPILED:
            return f"{place(code, line)} must not {_NEVER_COMPILED[instruction.opname]} in compiled code"
        if instruction.opname in {"STORE_GLOBAL", "DELETE_GLOBAL"}:
            return (
                f"{place(code, line)} must not assign to the global {instruction.argval}: what changes belongs into the state"
            )
        if instruction.opname == "STORE_ATTR":
            return f"{place(code, line)} must not assign to the field {instruction.argval}: write into the array that it is"
    return None


@functools.cache
def _owners_of_random(code: CodeType) -> tuple[tuple[str, int | None], ...]:
    """Return the global names whose attribute `random` is read, each with the line."""
    found = []
    for before, instruction in pairwise(instructions(code)):
        if before.opname == "LOAD_GLOBAL" and instruction.argval == "random":
            found.append((before.argval, _line(instruction)))
    return tuple(found)


def _is_random(value: object) -> bool:
    generators = random.Random | np.random.RandomState | np.random.Generator
    if isinstance(value, ModuleType):
        return value.__name__ == "random" or value.__name__.startswith("numpy.random")
    return isinstance(value, generators) or isinstance(getattr(value, "__self__", None), generators)


def check_arguments(function: FunctionType, arguments: Sequence[str]) -> None:
    """Refuse a function that does not take this number of arguments; their names are only for the message."""
    code, count = function.__code__, len(arguments)
    most, least = code.co_argcount, code.co_argcount - len(function.__defaults__ or ())
    if not least <= count <= most and not code.co_flags & inspect.CO_VARARGS:
        raise KernelError(f"{place(code)} must take ({', '.join(arguments)}), got ({', '.join(code.co_varnames[:most])})")


def check_code(function: FunctionType) -> None:
    """Refuse a kernel that does what compiled code must not do."""
    why = _forbidden(function.__code__)
    if why is not None and not getattr(function, "raises", False):
        raise KernelError(why)
    for name, line in _owners_of_random(function.__code__):
        if function.__globals__.get(name) is np:
            raise KernelError(f"{place(function.__code__, line)} must not use {name}.random, {_REPEATABLE}")


def check_exact(function: FunctionType) -> None:
    """Refuse a kernel that uses powers, logarithms or other functions whose last bit differs between machines.

    Only checks call this: a policy that does not keep the rule can be played, but not everywhere with the same result.
    """
    for before, instruction in pairwise(instructions(function.__code__)):
        owner = function.__globals__.get(before.argval) if before.opname == "LOAD_GLOBAL" else None
        if instruction.opname == "BINARY_OP" and instruction.argrepr in {"**", "**="}:
            used, instead = "**", "math.sqrt, a product, or power"
        elif (owner is math or owner is np) and instruction.argval in _INEXACT:
            used = f"{before.argval}.{instruction.argval}"
            instead = _KIT_FUNCTIONS.get(instruction.argval, "log, log1p, exp, expm1 or power")
        elif instruction.opname == "LOAD_GLOBAL" and instruction.argval == "pow" and "pow" not in function.__globals__:
            used, instead = "pow", "power"
        else:
            continue
        why = "whose last bit differs between machines"
        raise KernelError(
            f"{place(function.__code__, _line(instruction))} must not use {used}, {why}: use {instead} of rotting.kit"
        )


def check_global(function: FunctionType, name: str, value: object) -> None:
    """Refuse a global name that refers to a source of random numbers."""
    if _is_random(value):
        code = function.__code__
        raise KernelError(f"{place(code, line_of_global(code, name))} must not use {name}, {_REPEATABLE}")
