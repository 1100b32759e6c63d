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

from rotting.linking import bound_functions, digest, rebind
from rotting.policy import Policy

_compiled: dict[tuple[str, bool], Callable[..., Any]] = {}
_lock = threading.RLock()


def compiled(function: Callable[..., Any], policy: Policy | None = None) -> Callable[..., Any]:
    """Return `function`, and every plain function it reaches, compiled; the GIL is released while it runs.

    Under `NUMBA_DISABLE_JIT=1` the plain functions run instead.

    Args:
        function: a plain function, an entry point.
        policy: whose parameters and state it will be called with, if any.
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
    return _remember(function, mark, cache=True)


def _remember(function: FunctionType, mark: str, cache: bool) -> Callable[..., Any]:
    name = f"{function.__module__}.{function.__qualname__}.{mark}"
    with _lock:
        if (name, cache) not in _compiled:
            _compiled[name, cache] = _compile(function, mark, cache)
        return _compiled[name, cache]


def _compile(function: FunctionType, mark: str, cache: bool) -> Callable[..., Any]:
    parts = {name: _remember(part, digest(part), cache=False) for name, part in bound_functions(function).items()}
    linked = rebind(function, **parts)
    linked.__name__ = linked.__qualname__ = f"{function.__name__}_{mark}"
    try:
        return numba.njit(nogil=True, error_model="numpy", cache=cache)(linked)
    except RuntimeError:  # Numba found no folder it may write its cache to
        return numba.njit(nogil=True, error_model="numpy")(linked)
