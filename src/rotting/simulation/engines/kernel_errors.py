"""Errors in the functions of a policy or a noise, as one sentence: the owner, the line and the cause.

Numba's messages about code that it cannot compile are pages long: `compile_error` finds the line and the cause in them. A game
that fails while it is played is repeated in the interpreter, up to the round that failed (`game_error`).
"""

import re
from pathlib import Path
from types import CodeType, FunctionType

import numpy as np

from rotting.common.arrays import Ints
from rotting.errors import KernelError, KernelIndexError
from rotting.policies.kernels.binding import KernelFunction, bound_functions, reached_functions
from rotting.policies.kernels.code_checks import place
from rotting.policies.kernels.policy_functions import choose
from rotting.policies.kernels.readable_errors import (
    error_kind,
    frames_of,
    is_library_module,
    locate,
    owner_prefix,
    replay,
    suspects,
)
from rotting.policy import Policy, Reason
from rotting.problems.noise import Noise
from rotting.simulation.engines.game import CANCEL, check_arm_in_range, draw_checked, mean_now, noise_draw, play
from rotting.simulation.engines.task import Chunk, Task

# Code that Numba does not compile.

_CAUSES = [
    (r">>> setitem\(readonly ", "an array of a module must not be written to: what changes belongs into the state"),
    (r"Unsupported array index type (\w+)", "an index must be a whole number, got {0}"),
    (r"DictType|build_map|typed[./]typeddict|typed/dictobject|[Dd]ict\[", "a dict is not allowed in compiled code"),
    (r"Unknown attribute '(\w+)' of type (\w+)", "{1} has no {0}"),
    (r"Cannot unify (.+?) and (.+?) for '(\w+)", "{2} must keep its type, got {0} and {1}"),
    (
        r"NRT required|Only accept returning of array|format spec in f-strings",
        "nothing may be created in compiled code, neither arrays nor lists nor texts",
    ),
    (r"(?:Use of unsupported NumPy function|Untyped global name) '([\w.]+)'", "{0} is not allowed in compiled code"),
    (r">>> (\w+)\((.*)\)", "{0}({1}) is not allowed in compiled code"),
]
_TYPES = {"unicode_type": "str", "none": "None", "boolean": "bool", "OptionalType": "number or None", "reflected": "list"}


def compile_error(function: KernelFunction, owner: Policy | Noise | None, error: Exception) -> KernelError:
    """Return Numba's message about `function` in one sentence."""
    text = str(error)
    return KernelError(f"{owner_prefix(owner)}{_bad_choice(function, text) or f'{_place(function, text)}: {cause(text)}'}")


def names_line_of(function: KernelFunction, error: Exception) -> bool:
    """Return whether Numba's message names a line of `function` or of a function that it reaches."""
    named = set(_named_lines(str(error)))
    return any((each.__code__.co_filename, line) in named for each in reached_functions(function) for line in _lines(each))


def no_number(noise: Noise, kind: str) -> KernelError:
    """Return the error of a `draw` that returns a value of this type, as Numba calls it."""
    return KernelError(f"{owner_prefix(noise)}{place(noise.draw.__code__)} must return a number, got {_type_name(kind)}")


def cause(text: str) -> str:
    """Return the cause that Numba gives, in a few words.

    Example:
        >>> cause("Cannot unify Literal[int](1) and unicode_type for 'x.2', defined at")
        'x must keep its type, got int and str'
        >>> cause("No implementation of function ... >>> add(int64, Literal[str](a))")
        'add(int, str) is not allowed in compiled code'
    """
    for pattern, words in _CAUSES:
        found = re.search(pattern, text)
        if found is not None:
            return words.format(*(", ".join(map(_type_name, _split(each))) for each in found.groups()))
    lines = [line.strip() for line in text.splitlines()]
    said = next((line for line in lines if line and not line.startswith("Failed in")), "it cannot be compiled")
    return said.partition(" Raised from ")[0].rstrip(".")


def _type_name(text: str) -> str:
    """Return Numba's name of a type as Python writes it: `float` for `float64`; other text stays."""
    name = re.sub(r"^Literal\[(\w+)\].*|^(\w+)[(<\[ ].*", r"\1\2", text)
    return _TYPES.get(name, re.sub(r"^u?(int|float)\d+$", r"\1", name))


def _split(text: str) -> list[str]:
    """Return the arguments of a call, which may have commas of their own inside brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([<") - (character in ")]>")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [each.strip() for each in parts]


def _bad_choice(function: KernelFunction, text: str) -> str | None:
    """Return a sentence about `choose` if Numba fails where the game loop uses the choice as an index; else None."""
    uses = {mean_now.__code__.co_filename: _lines(mean_now) | _lines(check_arm_in_range)}
    if not any(line in uses.get(file, set()) for file, line in _named_lines(text)[:1]):
        return None
    found = re.search(r"Unsupported array index type (\w+)|[(<](none|float64|OptionalType\(.*?\))", text)
    got = "" if found is None else f", got {_type_name(found[1] or found[2])}"
    return f"{place(_callee(function, play, choose).__code__)} must return a whole number{got}"


def _callee(function: KernelFunction, caller: KernelFunction, slot: KernelFunction) -> FunctionType:
    """Return what fills a slot that `caller` calls, where `function` reaches `caller`."""
    (bound,) = (each for each in reached_functions(function) if each.__code__ is caller.__code__)
    return bound_functions(bound)[slot.__name__]


def _lines(function: KernelFunction) -> set[int | None]:
    return {line for *_, line in function.__code__.co_lines()}


def _named_lines(text: str) -> list[tuple[str, int]]:
    """Return the files and lines that Numba's message names, the innermost first."""
    found = re.findall(r'(?: at|Raised from) (\S.*?) \((\d+)\)|File "(.+?)", line (\d+):', text)
    return [(file, int(line)) if file else (str(Path(near).resolve()), int(there)) for file, line, near, there in found]


def _place(function: KernelFunction, text: str) -> str:
    functions = reached_functions(function)
    foreign = [each for each in functions if not is_library_module(each.__module__)]
    for candidates in (foreign, functions):
        for file, line in _named_lines(text):
            for candidate in candidates:
                if candidate.__code__.co_filename == file and line in _lines(candidate):
                    fits = "" if candidates is foreign or not foreign else "what is returned does not fit "
                    return fits + place(candidate.__code__, line)
    return " or ".join(map(place, suspects(function)))


# Values that a policy's functions must not return.


def check_choice(policy: Policy, choice: object, arms: Ints) -> None:
    """Refuse a choice that is none of `arms`."""
    if not isinstance(choice, int | np.integer) or choice not in arms:
        raise KernelIndexError(f"{policy!r}: {_no_arm(policy.kernel.choose, choice)}")


def check_reason(policy: Policy, reason: object) -> None:
    """Refuse an explanation that is not a `Reason`."""
    explain = policy.kernel.explain
    if explain is not None and (not isinstance(reason, tuple) or len(reason) != len(Reason._fields)):
        raise KernelError(f"{policy!r}: {place(explain.__code__)} must return a Reason, got {reason!r}")


def _no_arm(choose: KernelFunction, choice: object) -> str:
    name = "choose" if is_library_module(choose.__module__) else place(choose.__code__)
    if not isinstance(choice, int | np.integer):
        return f"{name} must return a whole number, got {'None' if choice is None else _type_name(type(choice).__name__)}"
    return f"{name} must return one of `arms`, got {choice!r}"


# Games that fail while they are played.

_REPLAY_ROUNDS = 100_000  # the most that are repeated, which takes the interpreter a few seconds


class _StopAfter:
    """A stand-in for the `signal` of a game, which cancels the game after a number of rounds."""

    def __init__(self, rounds: int) -> None:
        self._rounds = rounds
        self._done = 0

    def __getitem__(self, k: int) -> int:
        return int(self._done >= self._rounds) if k == CANCEL else self._done

    def __setitem__(self, k: int, value: int) -> None:
        self._done = value


def game_error(task: Task, chunk: Chunk, error: Exception) -> KernelError:
    """Return the error of a task that failed, with its round and run.

    Args:
        task: what was played.
        chunk: its results up to the round that failed.
        error: what the compiled game raised.
    """
    game, loop = task.game, task.game.checked_loop
    played = chunk.pulls.sum(axis=1)
    row = int(np.argmax(played < game.setting.horizon))  # the run that was not played to its end
    t, run = int(played[row]) + 1, task.first_run + row
    if isinstance(error, KernelError):  # of a plain class
        return type(error)(f"{error}, in round {t} of run {run}")
    found: Exception | None = error if frames_of(loop, error) else None
    if found is None and t <= _REPLAY_ROUNDS:
        found = replay(type(error), loop, *game.arguments(run, task.blank().first(1), _StopAfter(t)))
    codes, sentence = _bad_value(loop, error, found) or locate(loop, error, found)
    of_noise = {each.__code__ for each in reached_functions(game.setting.noise.draw)}
    policy = game.policy if {*codes} - of_noise else None
    noise = game.setting.noise if {*codes} & of_noise else None
    return error_kind(error)(f"{owner_prefix(policy, noise)}{sentence}, in round {t} of run {run}")


def _bad_value(function: KernelFunction, error: Exception, found: Exception | None) -> tuple[list[CodeType], str] | None:
    """Return the function at fault and a sentence about the reward or the choice that it returned; None if neither is wrong.

    An error that arises in the game loop itself is due to one of these two.
    """
    frames = frames_of(function, found)
    if not frames and isinstance(error, FloatingPointError):  # compiled, only `draw_checked` raises it
        return _bad_reward(function)
    if any(not is_library_module(frame.f_globals["__name__"]) for frame, _ in frames):
        return None
    for frame, _ in frames:
        if frame.f_code is draw_checked.__code__ and "reward" in frame.f_locals:
            return _bad_reward(function, frame.f_locals["reward"])
        if frame.f_code is play.__code__ and "i" in frame.f_locals:
            chosen_by = frame.f_globals["choose"]
            return [chosen_by.__code__], _no_arm(chosen_by, frame.f_locals["i"])
    return None


def _bad_reward(function: KernelFunction, *reward: object) -> tuple[list[CodeType], str]:
    draw = _callee(function, draw_checked, noise_draw)
    is_number = all(isinstance(each, float | int | np.number) for each in reward)
    got = "".join(f", got {each!r}" for each in reward)
    return [draw.__code__], f"{place(draw.__code__)} must return a {'finite ' if is_number else ''}number{got}"
