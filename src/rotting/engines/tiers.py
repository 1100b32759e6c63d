"""Interpreted functions and machine code: two tiers with the same results, bit for bit.

Interpreted functions can be called at once, even before Numba is imported. Machine code is faster, and takes seconds to compile
unless it is cached. With `compile="auto"`, work begins interpreted while a child process compiles, and changes over.

Only the library's own code begins interpreted. Code from outside the library may behave differently there: `1 / 0` raises an
error in Python and is infinite in machine code. It is compiled first, as with `compile="now"`.
"""

import os
import pickle
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Literal, Self
from weakref import WeakValueDictionary

from rotting.common.rules import option
from rotting.engines.background_compiler import Job, submit
from rotting.engines.code_cache import is_kept
from rotting.engines.entry_points import EntryPoint, interpreted

CompileMode = Literal["auto", "now", "never"]
MODES = ("auto", "now", "never")


def check_mode(compile: object) -> CompileMode:  # noqa: A002 (the name of the argument that users know)
    """Return whether to compile at once, in the background or never.

    The environment variable `ROTTING_COMPILE` says what "auto" means. Under Numba's own `NUMBA_DISABLE_JIT` and
    `NUMBA_BOUNDSCHECK` it means "now".

    Example:
        >>> check_mode("later")
        Traceback (most recent call last):
        ...
        rotting.errors.InvalidValueError: compile must be one of 'auto', 'now', 'never', got 'later'
    """
    mode = _one_of_modes("compile", compile)
    if mode != "auto":
        return mode
    if any(os.environ.get(name, "0") not in {"", "0"} for name in ("NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK")):
        return "now"
    return _one_of_modes("ROTTING_COMPILE", os.environ.get("ROTTING_COMPILE") or "auto")


def _one_of_modes(name: str, value: Any) -> CompileMode:
    option(*MODES).check(name, value)
    return value  # type: ignore[no-any-return]


def pickled(work: Callable[[], object]) -> bytes | None:
    """Return a piece of work for the child process, or None if it cannot be sent."""
    try:
        return pickle.dumps(work)
    except Exception:  # noqa: BLE001 (objects of users can raise anything)
        return None


class Functions:
    """Functions as attributes: interpreted until machine code replaces them, between two calls.

    Subclasses declare the attributes. Functions of the same code are one object, so that all who hold it change over together.
    """

    is_compiled: bool
    """Whether the functions are machine code."""
    _entries: Mapping[str, EntryPoint]

    @classmethod
    def of(cls, entries: Mapping[str, EntryPoint | None], work: Callable[[], object], compile: CompileMode) -> Self:  # noqa: A002
        """Return the functions.

        Args:
            entries: the entry point of each attribute; None if there is no such function.
            work: what compiles all of them in a child process.
            compile: when to compile.
        """
        mode, own = check_mode(compile), all(entry.is_own_work for entry in entries.values() if entry is not None)
        if mode == "auto" and own:
            return cls._shared_by_all(entries, work)
        return cls._made(entries, is_compiled=mode != "never")

    @classmethod
    def _shared_by_all(cls, entries: Mapping[str, EntryPoint | None], work: Callable[[], object]) -> Self:
        """Return the functions that others have, or make them: interpreted if they are not cached and can be compiled later."""
        keys = {name: entry.key for name, entry in entries.items() if entry is not None}
        key = f"{cls.__module__}.{cls.__qualname__} {keys}"
        known = _shared.get(key)
        if isinstance(known, cls):
            return known
        sent = None if all(map(is_kept, keys.values())) else pickled(work)
        made = cls._made(entries, is_compiled=sent is None)
        _shared[key] = made
        if sent is not None:
            submit(sent).then(made.change_over_after)
        return made

    @classmethod
    def _made(cls, entries: Mapping[str, EntryPoint | None], is_compiled: bool) -> Self:
        made = cls()
        for name, entry in entries.items():
            setattr(made, name, None if entry is None else _machine_code(entry) if is_compiled else interpreted(entry))
        made._entries = {name: entry for name, entry in entries.items() if entry is not None}
        made.is_compiled = is_compiled
        return made

    def change_over(self) -> None:
        """Replace the functions by machine code, which is compiled here unless it is cached."""
        for name, code in {name: _machine_code(entry) for name, entry in self._entries.items()}.items():
            setattr(self, name, code)
        self.is_compiled = True

    def change_over_after(self, job: Job) -> None:
        """Change over after the child process has compiled, or here if it could not.

        If the child was killed, the functions stay interpreted: compiling may need more memory than there is.
        """
        if job.outcome in {"done", "failed"}:
            with suppress(Exception):  # the functions stay interpreted, which gives the same results
                self.change_over()


_shared: "WeakValueDictionary[str, Functions]" = WeakValueDictionary()


def _after_fork_in_child() -> None:
    """Share no more functions of the parent: nobody would tell them here that their machine code is ready."""
    global _shared  # noqa: PLW0603 - the process decides
    _shared = WeakValueDictionary()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork_in_child)


def _machine_code(entry: EntryPoint) -> Callable[..., Any]:
    from rotting.engines.compile import guarded_for  # noqa: PLC0415 (imports Numba)

    return guarded_for(entry)
