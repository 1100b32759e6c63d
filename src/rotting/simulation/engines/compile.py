"""Compiling bound functions with Numba for the CPU.

Numba caches a function on disk under its name and the time stamp of its file, so it would miss an edit in another file. An
entry point is therefore compiled under a name that carries a digest of its code, of all the functions that it calls and of the
types that it is for. The cache is hit after a restart, and never stale after an edit.

- The types are part of the digest because Numba's index of a function names the types of its arguments: after one of them is
  renamed, Numba could not read the index for any of them.
- The modules of all functions are part of it because Numba imports them when it reads cached code: code that was moved to
  another module would otherwise import the module that it was moved from.
- Two processes may compile the same entry point at once. Both write the same code under the same names, and Numba's files are
  renamed into place.

The functions that an entry point calls are part of its machine code and are not cached by themselves. What they save is most of
the time: without wrappers for Python, the loop of RAW-UCB compiles in 10 s instead of 28; inlined and without reference
counting, it plays a round in 0.12 us instead of 1.7.
"""

import os
import threading
import warnings
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeAlias

import numba
from numba.core.errors import NumbaError

from rotting.errors import KernelError
from rotting.policies.kernels.binding import Converter, KernelFunction, digest, plain_function, reached_functions, with_names
from rotting.policies.kernels.readable_errors import with_readable_errors
from rotting.policy import Policy
from rotting.problems.noise import Noise
from rotting.simulation.engines.kernel_errors import compile_error, no_number
from rotting.simulation.engines.tiers import EntryPoint, code_mark, loaded, mark_cached

if TYPE_CHECKING:
    from numba.core.dispatcher import Dispatcher

Compiled: TypeAlias = "Dispatcher[KernelFunction] | FunctionType"
"""A function as Numba compiles it; the plain function under `NUMBA_DISABLE_JIT=1`."""

_INLINED = {"forceinline": True, "no_cpython_wrapper": True}
_njit: Any = numba.njit  # which declares not all of its options
_compiled: dict[object, Compiled] = {}  # by digests of the code and by options
_lock = threading.RLock()  # held while anything is compiled
_warned: list[str] = []

# A fork waits until no thread compiles: the child could neither go on with it nor begin anew.
os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


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
    key = function.__module__, function.__qualname__, mark, allocates, checked
    with _lock:
        if key not in _compiled:
            _compiled[key] = _entry(function, f"{mark}_{allocates:d}{checked:d}", allocates, checked)
        return _compiled[key]


def _entry(function: KernelFunction, mark: str, allocates: bool, checked: bool, cache: bool = True) -> Compiled:
    """Return an entry point, to be compiled under a name with this mark."""
    plain, options = plain_function("function", function), _options(allocates, checked)
    without_arrays = Converter(partial(_inlined, False, checked))
    marked = [each for each in reached_functions(plain) if getattr(each, "allocates_nothing", False)]
    inner = Converter(partial(_inlined, allocates, checked), converted={each: without_arrays(each) for each in marked})
    named = with_names(plain, inner.callees(plain))
    named.__name__ = named.__qualname__ = f"{plain.__name__}_{mark}"
    try:
        made: Compiled = _njit(**options, cache=cache)(named)
    except (OSError, RuntimeError) as error:  # Numba found no folder that it may write to
        warn_uncached(error)
        made = _njit(**options)(named)
    return made


def _inlined(allocates: bool, checked: bool, function: FunctionType, parts: dict[str, Compiled]) -> Compiled:
    """Return a function that only compiled code calls, given the functions that it calls itself."""
    key = function.__module__, function.__qualname__, digest(function), allocates, checked, "inlined"
    if key not in _compiled:
        _compiled[key] = _njit(**_options(allocates, checked), **_INLINED)(with_names(function, parts))
    return _compiled[key]


def _options(allocates: bool, checked: bool) -> dict[str, Any]:
    return {"nogil": True, "error_model": "numpy", "boundscheck": checked, "_nrt": allocates, "no_cfunc_wrapper": True}


def warn_uncached(error: Exception) -> None:
    """Warn, once per process, that the next process has to compile again."""
    if not _warned:
        _warned.append(str(error))
        warnings.warn(f"compiled code is not kept for the next process: {error}", RuntimeWarning, stacklevel=3)


def compiled_for(entry: EntryPoint) -> KernelFunction:
    """Return a function compiled for arguments of the types of the entry point's example, and for no others.

    Calls go straight to the machine code, which does not check the types of its arguments: the caller must keep to these. An
    error in the `draw` of a noise names the noise, not the policy.
    """
    key = entry.key
    with _lock:
        if key not in loaded:
            loaded[key] = compile_entry(entry, key)
        return loaded[key]


def compile_entry(entry: EntryPoint, key: str) -> KernelFunction:
    """Return the machine code of an entry point, from the cache on disk if it is there."""
    make = partial(_entry, entry.function, key[:16], entry.allocates, entry.checked)
    made: Any = make()
    if isinstance(made, FunctionType):  # nothing is compiled
        return made
    types = tuple(map(numba.typeof, entry.example))
    try:
        try:
            made.compile(types)
        except NumbaError:
            raise
        except Exception as error:  # noqa: BLE001 - a cache that cannot be read or written costs time and nothing else
            if types not in made.overloads:
                made = make(cache=False)
                made.compile(types)
            warn_uncached(error)
    except Exception as error:  # noqa: BLE001 (Numba may raise anything at code that it does not support)
        of_noise = None if entry.noise is None else draw_error(entry.noise)
        raise of_noise or compile_error(entry.function, entry.policy, error) from None  # Numba's own message is the context
    if made.stats.cache_path is not None:
        for index in Path(made.stats.cache_path).glob(f"*_{key[:16]}-*.nbi"):
            mark_cached(key, index)
    # A call of `made` looks up the types of its arguments, which takes 4 us for UCB1 and 9 us for RAW-UCB.
    code: KernelFunction = getattr(made.overloads.get(types), "entry_point", made)
    return code


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
