"""Errors of the functions of a policy or a noise while they run, as one sentence: the owner, the line and the cause.

Compiled code does not say where an error arose. The same call is therefore repeated in the interpreter, which does.
"""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from types import CodeType, FrameType, ModuleType

import numpy as np

from rotting.errors import KernelError, KernelIndexError
from rotting.policies.kernels.binding import KernelFunction, reached_functions
from rotting.policies.kernels.code_checks import place

MISTAKES = (ArithmeticError, AttributeError, LookupError, NameError, TypeError, ValueError)
"""The errors that a mistake in a kernel raises."""


def owner_prefix(*owners: object) -> str:
    """Return the start of a message about a policy or a noise, or about either of two."""
    named = [repr(each) for each in owners if each is not None]
    return f"{' or '.join(named)}: " if named else ""


@contextmanager
def naming_owner(owner: object) -> Iterator[None]:
    """Add the policy or the noise whose function is at fault to every `KernelError`; None adds nothing."""
    try:
        yield
    except KernelError as error:
        if owner is None:
            raise
        raise KernelError(f"{owner_prefix(owner)}{error}") from None


def is_library_module(module: str) -> bool:
    """Return whether a module belongs to this library."""
    return module.startswith("rotting.")


def is_library_code(function: KernelFunction) -> bool:
    """Return whether a function, and every function that it reaches, belongs to this library."""
    return all(is_library_module(each.__module__) for each in reached_functions(function))


def with_readable_errors(owner: object, function: KernelFunction, call: KernelFunction) -> KernelFunction:
    """Return `call` with its errors raised as `KernelError`, which names the owner, the function and the line.

    Args:
        owner: the policy or the noise that `function` belongs to.
        function: the plain function.
        call: the same function, plain or compiled with its indices checked.
    """

    def readable(*arguments: object) -> object:
        try:
            return call(*arguments)
        except MISTAKES as error:
            found = error if frames_of(function, error) else replay(type(error), function, *deepcopy(arguments))
            _, sentence = locate(function, error, found)
            raise error_kind(error)(f"{owner_prefix(owner)}{sentence}") from None

    return readable


def error_kind(error: Exception) -> type[KernelError]:
    """Return the class of the error that users see."""
    return KernelIndexError if isinstance(error, IndexError) else KernelError


def replay(kind: type[Exception], function: KernelFunction, *arguments: object) -> Exception | None:
    """Return the error of this kind that the plain function raises; its traceback has the line.

    Return None if the interpreter raises another error first: `math.log(0.0)`, for example, is not an error in compiled code.
    """
    try:
        with np.errstate(all="ignore"):
            function(*arguments)
    except kind as error:
        return error
    except Exception:  # noqa: BLE001 - the code of others can raise anything
        return None
    return None


def frames_of(function: KernelFunction, error: BaseException | None) -> list[tuple[FrameType, int]]:
    """Return the frames of an error in `function` and the functions it reaches, with lines, the innermost first."""
    if error is None:
        return []
    codes = {each.__code__ for each in reached_functions(function)}
    return [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code in codes][::-1]


def suspects(function: KernelFunction) -> list[CodeType]:
    """Return the functions that an error without a line may come from: those that are not the library's own."""
    functions = reached_functions(function)
    return [each.__code__ for each in functions if not is_library_module(each.__module__)] or [functions[-1].__code__]


def locate(function: KernelFunction, error: Exception, found: Exception | None) -> tuple[list[CodeType], str]:
    """Return the functions that may be at fault, and a sentence about them.

    Args:
        function: what was called.
        error: what the call raised.
        found: what `replay` found, or the error itself if its traceback has the line.
    """
    frames = frames_of(function, found)
    if not frames:
        codes = suspects(function)
        what = " reaches outside an array" if isinstance(error, IndexError) else f": {_words(error)}"
        return codes, " or ".join(map(place, codes)) + what
    frame, line = next((each for each in frames if not is_library_module(each[0].f_globals["__name__"])), frames[0])
    return [frame.f_code], f"{place(frame.f_code, line)}: {_words(found or error)}"


def _words(error: Exception) -> str:
    """Return the cause, in the words of `compile_error` for mistakes that Numba would find."""
    if isinstance(error, AttributeError) and error.name is not None:
        owner = error.obj.__name__ if isinstance(error.obj, ModuleType) else type(error.obj).__name__
        return f"{owner} has no {error.name}"
    if isinstance(error, IndexError):
        return "an index must be a whole number" if str(error).startswith("only integers") else str(error)
    return f"{type(error).__name__}, {error}"
