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
from types import CodeType, FrameType, ModuleType
from typing import Any

import numpy as np

from rotting.common.arrays import Ints
from rotting.engines.compiler_words import cause, is_about_a_dict, type_name
from rotting.engines.game import draw_checked, mean_now, play, visit_checked
from rotting.errors import KernelError, KernelIndexError
from rotting.kernels.binding import reached_functions
from rotting.kernels.nested import check_state
from rotting.kernels.refusals import line_of_dict, place
from rotting.policy import Policy, Reason
from rotting.problems.noise import Noise

Kernels = Callable[..., Any]
"""A plain function and all that it reaches."""
Owner = Policy | Noise
"""Whose function it is."""


@contextmanager
def blaming(owner: Owner | None) -> Iterator[None]:
    """Say which policy or noise it is that a kernel error speaks of."""
    try:
        yield
    except KernelError as error:
        if owner is None:
            raise
        raise KernelError(f"{_whose(owner)}{error}") from None


def _whose(*owners: Owner | None) -> str:
    """Return the beginning of a message about one of `owners`."""
    named = [repr(each) for each in owners if each is not None]
    return f"{' or '.join(named)}: " if named else ""


def is_own(module: str) -> bool:
    """Return whether a module is the library's own."""
    return module.startswith("rotting.")


def is_own_work(function: Kernels) -> bool:
    """Return whether a function, and all that it reaches, is the library's own."""
    return all(is_own(each.__module__) for each in reached_functions(function))


# What the compiler refuses.


def compile_error(function: Kernels, owner: Owner | None, error: Exception) -> KernelError:
    """Return what the compiler said of `function` in one sentence."""
    text = str(error)
    return KernelError(
        f"{_whose(owner)}{_refused_choice(function, text) or f'{_refused_place(function, text)}: {cause(text)}'}"
    )


def speaks_of(function: Kernels, error: Exception) -> bool:
    """Return whether an error names a line of `function`, or of what it reaches."""
    named = set(_named_lines(str(error)))
    return any((each.__code__.co_filename, line) in named for each in reached_functions(function) for line in _lines(each))


def no_number(noise: Noise, kind: str) -> KernelError:
    """Return that `draw` returns something else, of a kind that the compiler calls so."""
    return KernelError(f"{_whose(noise)}{place(noise.draw.__code__)} must return a number, got {type_name(kind)}")


def _refused_choice(function: Kernels, text: str) -> str | None:
    """Return that `choose` returns no whole number, if that is what the loop of a game stumbles over."""
    looks_at_the_choice = {mean_now.__code__.co_filename: _lines(mean_now) | _lines(visit_checked)}
    if not any(line in looks_at_the_choice.get(file, set()) for file, line in _named_lines(text)[:1]):
        return None
    found = re.search(r"Unsupported array index type (\w+)|[(<](none|float64|OptionalType\(.*?\))", text)
    got = "" if found is None else f", got {type_name(found[1] or found[2])}"
    return f"{place(_callee(function, play, 'choose').__code__)} must return a whole number{got}"


def _callee(function: Kernels, caller: Kernels, name: str) -> Any:
    """Return what `caller` calls by a name, as `function` reaches it: what a slot was filled with."""
    (bound,) = (each for each in reached_functions(function) if each.__code__ is caller.__code__)
    return bound.__globals__[name]


def _lines(function: Kernels) -> set[int | None]:
    return {line for *_, line in function.__code__.co_lines()}


def _named_lines(text: str) -> list[tuple[str, int]]:
    """Return the files and lines that the compiler speaks of, the innermost first."""
    found = re.findall(r'(?: at|Raised from) (\S.*?) \((\d+)\)|File "(.+?)", line (\d+):', text)
    return [(file, int(line)) if file else (str(Path(near).resolve()), int(there)) for file, line, near, there in found]


def _refused_place(function: Kernels, text: str) -> str:
    functions = reached_functions(function)
    foreign = [each for each in functions if not is_own(each.__module__)]
    for candidates in (foreign, functions):
        for file, line in _named_lines(text):
            for each in candidates:
                code = each.__code__
                if code.co_filename == file and line in _lines(each):
                    fits = "" if candidates is foreign or not foreign else "what is returned does not fit "
                    return fits + place(code, (line_of_dict(code) if is_about_a_dict(text) else None) or line)
    return _listed(_suspects(function))


def _suspects(function: Kernels) -> list[CodeType]:
    """Return the functions that are not the library's own, any of which may be meant."""
    functions = reached_functions(function)
    foreign = [each for each in functions if not is_own(each.__module__)]
    return [each.__code__ for each in foreign or functions[-1:]]


def _listed(codes: list[CodeType]) -> str:
    return " or ".join(map(place, codes))


# Mistakes while the code runs: an index out of bounds, and all else that Python tells by an error of its own.

MISTAKES = (ArithmeticError, AttributeError, LookupError, NameError, TypeError, ValueError)


def telling(owner: Owner | None, function: Kernels, call: Callable[..., Any]) -> Callable[..., Any]:
    """Return `call`, which is `function` with its indices checked; its mistakes are told with function and line."""

    def told(*arguments: Any) -> Any:
        try:
            return call(*arguments)
        except MISTAKES as error:
            found = error if frames_of(function, error) else replay(type(error), function, *deepcopy(arguments))
            raise mistake(owner, function, error, found) from None

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
    name = "choose" if is_own(choose.__module__) else place(choose.__code__)
    if not _is_whole(choice):
        return f"{name} must return a whole number, got {_kind(choice)}"
    return f"{name} must return one of `arms`, got {choice!r}"


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer)


def _kind(value: object) -> str:
    return "None" if value is None else type_name(type(value).__name__)


def check_choice(policy: Policy, choice: object, arms: Ints) -> None:
    """Refuse what `choose` returned if it is none of `arms`."""
    if not _is_whole(choice) or choice not in arms:
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


def mistake(
    owner: Owner | None,
    function: Kernels,
    error: Exception,
    found: Exception | None,
    when: str = "",
    noise: Noise | None = None,
) -> KernelError:
    """Return what went wrong in a call, and where, as far as the error that was `found` in an interpreted call tells.

    Args:
        owner: whose `function` is.
        function: what was called.
        error: what the call raised.
        found: what the same call raises when it is interpreted, if that is known.
        when: the end of the sentence.
        noise: whose functions are among those that `function` reaches, and not the owner's.
    """
    kind = KernelIndexError if isinstance(error, IndexError) else KernelError
    codes, what = _mistake_place(function, error, found)
    drawing = set() if noise is None else {each.__code__ for each in reached_functions(noise.draw)}
    owners = (owner if {*codes} - drawing else None, noise if {*codes} & drawing else None)
    return kind(f"{_whose(*owners)}{what}{when}")


def _mistake_place(function: Kernels, error: Exception, found: Exception | None) -> tuple[list[CodeType], str]:
    """Return the functions that may be meant, and a sentence about them."""
    outside = isinstance(error, IndexError)
    frames = [] if found is None else frames_of(function, found)
    if isinstance(error, FloatingPointError) and not frames:  # which `draw_checked` alone raises in compiled code
        return _no_reward(function)
    if not frames:
        suspects = _suspects(function)
        return suspects, f"{_listed(suspects)} reaches outside an array" if outside else f"{_listed(suspects)}: {_words(error)}"
    words = _words(found if outside and found is not None else error)
    for frame, line in frames:
        if not is_own(frame.f_globals["__name__"]):
            return [frame.f_code], f"{place(frame.f_code, line)}: {words}"
    for frame, _ in frames:
        if frame.f_code is draw_checked.__code__ and "reward" in frame.f_locals:  # it is right, so the reward is not
            return _no_reward(function, frame.f_locals["reward"])
        if frame.f_code is play.__code__ and "i" in frame.f_locals:  # the loop itself is right, so the arm is not
            choose = frame.f_globals["choose"]
            return [choose.__code__], _no_arm(choose, frame.f_locals["i"])
    frame, line = frames[0]
    return [frame.f_code], f"{place(frame.f_code, line)}: {words}"


def _no_reward(function: Kernels, *reward: object) -> tuple[list[CodeType], str]:
    """Return what is said of a `draw`, with the reward if it is known."""
    draw = _callee(function, draw_checked, "draw_of_noise")
    numbers = all(isinstance(each, float | int | np.number) for each in reward)
    got = "".join(f", got {each!r}" for each in reward)
    return [draw.__code__], f"{place(draw.__code__)} must return a {'finite ' if numbers else ''}number{got}"


def _words(error: Exception) -> str:
    """Return what Python said; what the compiler says too, in the same words."""
    if isinstance(error, AttributeError) and error.name is not None:
        owner = error.obj.__name__ if isinstance(error.obj, ModuleType) else type(error.obj).__name__
        return f"{owner} has no {error.name}"
    if isinstance(error, IndexError):
        return "an index must be a whole number" if str(error).startswith("only integers") else str(error)
    return f"{type(error).__name__}, {error}"
