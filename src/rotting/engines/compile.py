"""Compiling linked kernels with Numba for the CPU.

Numba caches a function on disk under its name and the time stamp of its file, so it would miss an edit in another file. An
entry point is therefore compiled under a name that carries a digest of its code, of all the functions that it calls and of the
types that it is for. The cache is hit after a restart, and never stale after an edit.

- The types are part of the digest because Numba's index of a function names the types of its arguments: after one of them is
  renamed, Numba could not read the index for any of them.
- The modules of code that is not the library's own are part of it because Numba imports them when it reads cached code: code
  that was copied to another module would otherwise import the module that it was copied from.

The functions that an entry point calls are part of its machine code and are not cached by themselves.
"""

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import FunctionType
from typing import NamedTuple

import numba

from rotting.engines.code_cache import compiling, mark_cached, note_loaded
from rotting.engines.entry_points import EntryPoint, code_mark
from rotting.engines.kernel_errors import compile_error, no_number
from rotting.engines.numba_internals import Compiled, cache_index, compiler_lock, jit, machine_code
from rotting.errors import KernelError
from rotting.kernels.binding import Converter, KernelFunction, digest, plain_function, reached_functions, with_names
from rotting.kernels.readable_errors import with_readable_errors
from rotting.policy import Policy
from rotting.problems.noise import Noise


class _CompileOptions(NamedTuple):
    """The options in the name of a compiled function, beside its digest."""

    allocates: bool
    checked: bool


_compiled: dict[tuple[str, _CompileOptions, bool], Compiled] = {}
_lock = threading.RLock()
_numba_lock = compiler_lock()
_FORK_SECONDS = 30.0  # a fork waits this long for a thread that compiles


def _before_fork() -> None:
    """Wait until no thread compiles: the child could neither go on with it nor begin anew."""
    _numba_lock.acquire(timeout=_FORK_SECONDS)


def _after_fork() -> None:
    with suppress(RuntimeError):  # the other thread compiles still
        _numba_lock.release()


def _after_fork_in_child() -> None:
    """Forget a lock that a thread of the parent may hold."""
    global _lock  # noqa: PLW0603 (the process decides)
    _lock = threading.RLock()
    _after_fork()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)


def indices_checked() -> bool | None:
    """Return whether NUMBA_BOUNDSCHECK turns all checks of indices on or off; None if it is not set."""
    always: object = getattr(numba.config, "BOUNDSCHECK", None)
    return None if always is None else bool(always)


def compiled(
    function: KernelFunction, policy: Policy | None = None, allocates: bool = False, checked: bool = False
) -> Compiled:
    """Return `function`, and every plain function it reaches, compiled; the GIL is released while it runs.

    Under `NUMBA_DISABLE_JIT=1` the plain functions run instead. Every call looks up the types of its arguments, which can take
    longer than a round: use `compiled_for` for functions that are called often.

    Args:
        function: a plain function, the entry point.
        policy: the policy whose parameters and state it will be called with, if any.
        allocates: whether it may create arrays, except in functions marked `@allocates_nothing`.
        checked: whether an index out of bounds raises IndexError. Otherwise it reads or writes somewhere else in memory, or
            ends the process.
    """
    mark = code_mark(function, policy)
    plain = plain_function("function", function)
    always = indices_checked()
    options = _CompileOptions(allocates, checked if always is None else always)
    with _lock:
        return _compiled_once(plain, partial(_compiled_callees, plain, options), mark, options, entry=True)


def _compiled_callees(function: FunctionType, options: _CompileOptions) -> dict[str, Compiled]:
    """Return the functions that `function` calls, compiled, by their global names."""
    without_arrays = Converter(_compiler(options._replace(allocates=False)))
    marked = [each for each in reached_functions(function) if getattr(each, "allocates_nothing", False)]
    inner = Converter(_compiler(options), converted={each: without_arrays(each) for each in marked})
    return inner.callees(function)


def compiled_for(entry: EntryPoint) -> KernelFunction:
    """Return a function compiled for arguments of the types of the entry point's example, and for no others.

    Calls go straight to the machine code, which does not check the types of its arguments: the caller must keep to these. An
    error in the `draw` of a noise names the noise, not the policy.
    """
    general = compiled(entry.function, entry.policy, entry.allocates, entry.checked)
    if isinstance(general, FunctionType):  # nothing is compiled
        return general
    types = tuple(map(numba.typeof, entry.example))
    try:
        if types not in general.overloads:
            key = entry.key
            with compiling(key):
                general.compile(types)
                index = cache_index(general)
                if index is not None:
                    mark_cached(key, index)
            note_loaded(key)
    except Exception as error:  # noqa: BLE001 (Numba may raise anything at code that it does not support)
        of_noise = None if entry.noise is None else draw_error(entry.noise)
        raise of_noise or compile_error(entry.function, entry.policy, error) from None  # Numba's own message is the context
    return machine_code(general, types)


def draw_error(noise: Noise) -> KernelError | None:
    """Return the error of a `draw` that does not compile or returns no number; None if it is right."""
    made = compiled(noise.draw)
    if isinstance(made, FunctionType):  # nothing is compiled
        return None
    types: tuple[numba.types.Type, ...] = (numba.float64, numba.typeof(noise.scale), *[numba.int64] * 4)
    try:
        made.compile(types)
    except Exception as error:  # noqa: BLE001 (as above)
        return compile_error(noise.draw, noise, error)
    returned = next(each.return_type for each in made.nopython_signatures if each.args == types)
    return None if isinstance(returned, numba.types.Number | numba.types.Boolean) else no_number(noise, str(returned))


def guarded_for(entry: EntryPoint) -> KernelFunction:
    """Return what `compiled_for` returns, with checked indices and readable errors if the code is not the library's own."""
    if entry.is_library_code:
        return compiled_for(entry)
    return with_readable_errors(entry.policy, entry.function, compiled_for(entry._replace(checked=True)))


def _compiler(options: _CompileOptions) -> Callable[[FunctionType, dict[str, Compiled]], Compiled]:
    return lambda function, parts: _compiled_once(function, lambda: parts, digest(function), options, entry=False)


def _compiled_once(
    function: FunctionType, parts: Callable[[], dict[str, Compiled]], mark: str, options: _CompileOptions, entry: bool
) -> Compiled:
    key = (f"{function.__module__}.{function.__qualname__}.{mark}", options, entry)
    if key not in _compiled:
        linked = with_names(function, parts())
        endings = "".join(f"_{name}" for name, chosen in options._asdict().items() if chosen)
        linked.__name__ = linked.__qualname__ = f"{linked.__name__}_{mark}{endings}"
        _compiled[key] = jit(linked, entry, **options._asdict())
    return _compiled[key]
