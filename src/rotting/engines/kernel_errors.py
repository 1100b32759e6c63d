"""Mistakes in the functions of a policy or of a noise, told in one sentence: whose, where, and what.

A compiler writes pages about what it does not know, and compiled code does not say which of its indices was wrong. The first
are read for the place and the cause; for the second, the call that failed is made again interpreted, which is the same game.
"""

import re
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from rotting.common.arrays import Ints
from rotting.engines.compiler_words import cause, is_about_a_dict, type_name
from rotting.engines.game import mean_now, play, visit_checked
from rotting.errors import KernelError, KernelIndexError
from rotting.kernels.binding import reached_functions
from rotting.kernels.nested import check_state
from rotting.kernels.refusals import line_of_dict, place
from rotting.policy import Policy, Reason

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
        f"{_whose(policy)}{_refused_choice(function, text) or f'{_refused_place(function, text)}: {cause(text)}'}"
    )


def _refused_choice(function: Kernels, text: str) -> str | None:
    """Return that `choose` returns no whole number, if that is what the loop of a game stumbles over."""
    looks_at_the_choice = {mean_now.__code__.co_filename: _lines(mean_now) | _lines(visit_checked)}
    if not any(line in looks_at_the_choice.get(file, set()) for file, line in _named_lines(text)[:1]):
        return None
    (loop,) = (each for each in reached_functions(function) if each.__code__ is play.__code__)
    found = re.search(r"Unsupported array index type (\w+)|[(<](none|float64|OptionalType\(.*?\))", text)
    got = "" if found is None else f", got {type_name(found[1] or found[2])}"
    return f"{place(loop.__globals__['choose'].__code__)} must return a whole number{got}"


def _lines(function: Kernels) -> set[int | None]:
    return {line for *_, line in function.__code__.co_lines()}


def _named_lines(text: str) -> list[tuple[str, int]]:
    """Return the files and lines that the compiler speaks of, the innermost first."""
    found = re.findall(r'(?: at|Raised from) (\S.*?) \((\d+)\)|File "(.+?)", line (\d+):', text)
    return [(file, int(line)) if file else (str(Path(near).resolve()), int(there)) for file, line, near, there in found]


def _refused_place(function: Kernels, text: str) -> str:
    functions = reached_functions(function)
    foreign = [each for each in functions if not _is_own(each.__module__)]
    for candidates in (foreign, functions):
        for file, line in _named_lines(text):
            for each in candidates:
                code = each.__code__
                if code.co_filename == file and line in _lines(each):
                    fits = "" if candidates is foreign or not foreign else "what the policy or the noise returns does not fit "
                    return fits + place(code, (line_of_dict(code) if is_about_a_dict(text) else None) or line)
    return _suspects(function)


def _suspects(function: Kernels) -> str:
    """Return the functions that are not the library's own, any of which may be meant."""
    functions = reached_functions(function)
    foreign = [each for each in functions if not _is_own(each.__module__)]
    return " or ".join(place(each.__code__) for each in foreign or functions[-1:])


# Mistakes while the code runs: an index out of bounds, and all else that Python tells by an error of its own.

MISTAKES = (ArithmeticError, AttributeError, LookupError, NameError, TypeError, ValueError)


def telling(policy: Policy | None, function: Kernels, call: Callable[..., Any]) -> Callable[..., Any]:
    """Return `call`, which is `function` with its indices checked; its mistakes are told with function and line."""

    def told(*arguments: Any) -> Any:
        try:
            return call(*arguments)
        except MISTAKES as error:
            found = error if frames_of(function, error) else replay(type(error), function, *deepcopy(arguments))
            raise mistake(policy, function, error, found) from error

    return told


def new_state(policy: Policy, n_arms: int, capacity: int) -> Any:
    """Return the state of a policy that has seen nothing."""
    init = policy.kernel.init
    state = telling(policy, init, init)(policy.params, n_arms, capacity)
    with blaming(policy):
        check_state(state)
        if policy.kernel.enlarge is not None and "full" not in state._fields:
            raise KernelError("a state that can be enlarged must have a field `full`, which says when it must be, got none")
    return state


def _no_arm(choose: Kernels, choice: object) -> str:
    name = "choose" if _is_own(choose.__module__) else place(choose.__code__)
    return f"{name} must return one of `arms`, got {choice!r}"


def check_choice(policy: Policy, choice: object, arms: Ints) -> None:
    """Refuse what `choose` returned if it is none of `arms`."""
    if not isinstance(choice, int | np.integer) or choice not in arms:
        raise KernelIndexError(f"{policy!r}: {_no_arm(policy.kernel.choose, choice)}")


def check_reason(policy: Policy, reason: object) -> None:
    """Refuse what `explain` returned if it is no `Reason`."""
    explain: Any = policy.kernel.explain
    if not isinstance(reason, tuple) or len(reason) != len(Reason._fields):
        raise KernelError(f"{policy!r}: {place(explain.__code__)} must return a Reason, got {reason!r}")


def replay(kind: type[Exception], function: Kernels, *arguments: Any) -> Exception | None:
    """Return the error of the same call, interpreted, which knows its lines.

    There is none where the interpreter stops earlier, at what compiled code lets pass, such as `math.log(0.0)`.
    """
    try:
        with np.errstate(all="ignore"):
            function(*arguments)
    except kind as error:
        return error
    except Exception:  # noqa: BLE001 (others' code, interpreted, can raise anything)
        return None
    return None


def frames_of(function: Kernels, error: BaseException) -> list[tuple[FrameType, int]]:
    """Return the interpreted calls of `function`, and of what it reaches, that an error went through, innermost first."""
    codes = {each.__code__ for each in reached_functions(function)}
    return [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code in codes][::-1]


def mistake(policy: Policy | None, function: Kernels, error: Exception, found: Exception | None, when: str = "") -> KernelError:
    """Return what went wrong in a call, and where, as far as the error that was `found` in an interpreted call tells."""
    kind = KernelIndexError if isinstance(error, IndexError) else KernelError
    return kind(f"{_whose(policy)}{_mistake_place(function, error, found)}{when}")


def _mistake_place(function: Kernels, error: Exception, found: Exception | None) -> str:
    outside = isinstance(error, IndexError)
    frames = [] if found is None else frames_of(function, found)
    if not frames:
        return f"{_suspects(function)} reaches outside an array" if outside else f"{_suspects(function)}: {_words(error)}"
    words = f"{found}" if outside else _words(error)
    for frame, line in frames:
        if not _is_own(frame.f_globals["__name__"]):
            return f"{place(frame.f_code, line)}: {words}"
    for frame, _ in frames:
        if frame.f_code is play.__code__ and "i" in frame.f_locals:  # the loop itself is right, so the arm is not
            return _no_arm(frame.f_globals["choose"], frame.f_locals["i"])
    frame, line = frames[0]
    return f"{place(frame.f_code, line)}: {words}"


def _words(error: Exception) -> str:
    return f"{type(error).__name__}, {error}"
