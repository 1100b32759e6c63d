"""Mistakes in the functions of a policy or of a noise, told in one sentence: whose, where, and what.

A compiler writes pages about what it does not know, and compiled code does not say which of its indices was wrong. The first
are read for the place and the cause; for the second, the call that failed is made again interpreted, which is the same game.
"""

import re
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from types import FrameType
from typing import Any

import numpy as np

from rotting.common.arrays import Ints
from rotting.engines.game import mean_now, play, visit_checked
from rotting.errors import KernelError, KernelIndexError
from rotting.kernels.binding import reached_functions
from rotting.kernels.refusals import place
from rotting.policy import Policy

Kernels = Callable[..., Any]
"""A plain function and all that it reaches."""


@contextmanager
def blaming(policy: Policy | None) -> Iterator[None]:
    """Say which policy it is that a kernel error speaks of."""
    try:
        yield
    except KernelError as error:
        if policy is None:
            raise
        raise KernelError(f"{_whose(policy)}{error}") from None


def _whose(policy: Policy | None) -> str:
    return "" if policy is None else f"{policy!r}: "


def _is_own(module: str) -> bool:
    return module.startswith("rotting.")


def is_own_work(function: Kernels) -> bool:
    """Return whether a function, and all that it reaches, is the library's own."""
    return all(_is_own(each.__module__) for each in reached_functions(function))


# What the compiler refuses.


def compile_error(function: Kernels, policy: Policy | None, error: Exception) -> KernelError:
    """Return what the compiler said of `function` in one sentence."""
    text = str(error)
    return KernelError(
        f"{_whose(policy)}{_refused_choice(function, text) or f'{_refused_place(function, text)}: {_cause(text)}'}"
    )


def _refused_choice(function: Kernels, text: str) -> str | None:
    """Return that `choose` returns no whole number, if that is what the loop of a game stumbles over."""
    looks_at_the_choice = {mean_now.__code__.co_filename: _lines(mean_now) | _lines(visit_checked)}
    if not any(line in looks_at_the_choice.get(file, set()) for file, line in _named_lines(text)[:1]):
        return None
    (loop,) = (each for each in reached_functions(function) if each.__code__ is play.__code__)
    found = re.search(r"Unsupported array index type (\w+)|[(<](none|float64|OptionalType\(.*?\))", text)
    got = "" if found is None else f", got {found[1] or found[2]}"
    return f"{place(loop.__globals__['choose'].__code__)} must return a whole number{got}"


def _lines(function: Kernels) -> set[int | None]:
    return {line for *_, line in function.__code__.co_lines()}


def _named_lines(text: str) -> list[tuple[str, int]]:
    """Return the files and lines that the compiler speaks of, the innermost first."""
    return [(file, int(line)) for file, line in re.findall(r" at (\S.*?) \((\d+)\)", text)]


def _refused_place(function: Kernels, text: str) -> str:
    functions = reached_functions(function)
    foreign = [each for each in functions if not _is_own(each.__module__)]
    for candidates in (foreign, functions):
        for file, line in _named_lines(text):
            for each in candidates:
                code = each.__code__
                if code.co_filename == file and line in _lines(each):
                    fits = "" if candidates is foreign or not foreign else "what the policy or the noise returns does not fit "
                    return fits + place(code, line)
    return _suspects(function)


def _suspects(function: Kernels) -> str:
    """Return the functions that are not the library's own, any of which may be meant."""
    functions = reached_functions(function)
    foreign = [each for each in functions if not _is_own(each.__module__)]
    return " or ".join(place(each.__code__) for each in foreign or functions[-1:])


_CAUSES = [
    (r"Unsupported array index type (\w+)", "an index must be a whole number, got {0}"),
    (r"DictType|build_map|typed[./]typeddict|typed/dictobject|[Dd]ict\[", "a dict is not allowed in compiled code"),
    (r"Unknown attribute '(\w+)' of type (\w+)", "{1} has no {0}"),
    (r"Cannot unify (.+?) and (.+?) for '(\w+)", "{2} must keep its type, got {0} and {1}"),
    (r">>> (.+)", "{0} is not allowed in compiled code"),
    (r"NRT required", "nothing may be created in compiled code, neither arrays nor lists nor texts"),
]


def _cause(text: str) -> str:
    for pattern, words in _CAUSES:
        found = re.search(pattern, text)
        if found is not None:
            return words.format(*(re.sub(r"Literal\[(\w+)\]\(.*?\)", r"\1", each) for each in found.groups()))
    lines = [line.strip() for line in text.splitlines()]
    return next((line for line in lines if line and not line.startswith("Failed in")), "it cannot be compiled")


# Indices out of bounds.


def telling(policy: Policy | None, function: Kernels, call: Callable[..., Any]) -> Callable[..., Any]:
    """Return `call`, which is `function` with its indices checked; one that is out of bounds is told with function and line."""

    def told(*arguments: Any) -> Any:
        try:
            return call(*arguments)
        except IndexError as error:
            found = error if frames_of(function, error) else replay(function, *deepcopy(arguments))
            raise KernelIndexError(f"{_whose(policy)}{index_place(function, found)}") from error

    return told


def _no_arm(choice: object) -> str:
    return f"choose must return one of `arms`, got {choice!r}"


def check_choice(policy: Policy, choice: object, arms: Ints) -> None:
    """Refuse what `choose` returned if it is none of `arms`."""
    if not isinstance(choice, int | np.integer) or choice not in arms:
        raise KernelIndexError(f"{policy!r}: {_no_arm(choice)}")


def replay(function: Kernels, *arguments: Any) -> IndexError | None:
    """Return the error of the same call, interpreted, which knows its lines.

    There is none where the interpreter stops earlier, at what compiled code lets pass, such as `math.log(0.0)`.
    """
    try:
        with np.errstate(all="ignore"):
            function(*arguments)
    except IndexError as error:
        return error
    except Exception:  # noqa: BLE001 (others' code, interpreted, can raise anything)
        return None
    return None


def frames_of(function: Kernels, error: BaseException) -> list[tuple[FrameType, int]]:
    """Return the interpreted calls of `function`, and of what it reaches, that an error went through, innermost first."""
    codes = {each.__code__ for each in reached_functions(function)}
    return [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code in codes][::-1]


def index_place(function: Kernels, error: IndexError | None) -> str:
    """Return where an index was out of bounds, as far as the error of an interpreted call tells."""
    frames = [] if error is None else frames_of(function, error)
    if not frames:
        return f"{_suspects(function)} reaches outside an array"
    for frame, line in frames:
        if not _is_own(frame.f_globals["__name__"]):
            return f"{place(frame.f_code, line)}: {error}"
    for frame, _ in frames:
        if frame.f_code is play.__code__ and "i" in frame.f_locals:  # the loop itself is right, so the arm is not
            return _no_arm(frame.f_locals["i"])
    frame, line = frames[0]
    return f"{place(frame.f_code, line)}: {error}"
