"""Compiling linked kernels with Numba: the only module that imports it.

Numba caches a function on disk under its name and its file's stamp, so an edit in another file would be missed. An entry point
is therefore compiled under a name that carries a digest of its code and of all it calls, and of the types it is for: the cache
is hit after a restart, and never stale after an edit. (The types, because Numba's index of a function refers to the types it
was called with: one that was renamed since would make the index unreadable for all others.) What an entry point calls is part
of its compiled code and needs no cache of its own.
"""

import hashlib
import threading
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numba

from rotting.linking import bound_functions, digest, with_names
from rotting.policy import Policy

_compiled: dict[tuple[str, bool, bool], Callable[..., Any]] = {}
_lock = threading.RLock()


def compiled(function: Callable[..., Any], policy: Policy | None = None, allocates: bool = False) -> Callable[..., Any]:
    """Return `function`, and every plain function it reaches, compiled; the GIL is released while it runs.

    Under `NUMBA_DISABLE_JIT=1` the plain functions run instead.

    Args:
        function: a plain function, an entry point.
        policy: whose parameters and state it will be called with, if any.
        allocates: whether it may create arrays. One that may not is spared all counting of references, which costs more than
            a round of the fastest policies.
    """
    if not isinstance(function, FunctionType):
        raise TypeError(f"function must be a plain Python function, got {function!r}")
    mark = digest(function)
    if policy is not None:
        kinds: list[Any] = [policy.kernel.params, type(policy.kernel.init(policy.params, 1, 1))]
        names = [f"{kind.__module__}.{kind.__qualname__}{kind._fields}" for kind in kinds]
        for kind in kinds:
            # Numba's fast path tells NamedTuples apart by this name alone: two called `Params` slow every call down.
            kind.__name__ = f"{kind.__module__}.{kind.__qualname__}"
        mark = hashlib.sha256("|".join([mark, *names]).encode()).hexdigest()[:16]
    return _remember(function, mark, allocates, entry=True)


def compiled_for(function: Callable[..., Any], policy: Policy, *example: object) -> Callable[..., Any]:
    """Return `function` compiled for arguments of the types of `example`, and for no others.

    Calls go straight to the machine code: looking at the types of a state of a dozen arrays costs ten times what a round does.
    The caller must keep to these types.
    """
    general: Any = compiled(function, policy)
    if not hasattr(general, "overloads"):  # nothing is compiled
        return general  # type: ignore[no-any-return]
    types = tuple(map(numba.typeof, example))
    general.compile(types)
    return general.overloads[types].entry_point  # type: ignore[no-any-return]


def _remember(function: FunctionType, mark: str, allocates: bool, entry: bool) -> Callable[..., Any]:
    key = (f"{function.__module__}.{function.__qualname__}.{mark}", allocates, entry)
    with _lock:
        if key not in _compiled:
            _compiled[key] = _compile(function, mark, allocates, entry)
        return _compiled[key]


def _compile(function: FunctionType, mark: str, allocates: bool, entry: bool) -> Callable[..., Any]:
    parts = {
        # The game itself allocates nothing, though what sets it up does.
        name: _remember(part, digest(part), allocates and part.__name__ != "play", entry=False)
        for name, part in bound_functions(function).items()
    }
    linked = with_names(function, parts)
    linked.__name__ = linked.__qualname__ = f"{function.__name__}_{mark}{'_allocates' if allocates else ''}"
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": allocates, "forceinline": not entry}
    jit: Any = numba.njit
    made: Callable[..., Any]
    try:
        made = jit(**options, cache=entry)(linked)
    except RuntimeError:  # Numba found no folder it may write its cache to
        made = jit(**options)(linked)
    return made
