"""Compiling linked kernels with Numba: the only module that imports it.

Numba caches a function on disk under its name and its file's stamp, so an edit in another file would be missed. Each kernel is
therefore compiled under a name that carries a digest of its code and of all it calls: the cache is hit after a restart, and
never stale after an edit.
"""

import threading
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numba

from rotting.linking import bound_functions, digest, rebind

_compiled: dict[str, Callable[..., Any]] = {}
_lock = threading.RLock()


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function`, and every plain function it reaches, compiled; the GIL is released while it runs.

    Under `NUMBA_DISABLE_JIT=1` the plain functions run instead.
    """
    if not isinstance(function, FunctionType):
        raise TypeError(f"function must be a plain Python function, got {function!r}")
    name = f"{function.__module__}.{function.__qualname__}.{digest(function)}"
    with _lock:
        if name not in _compiled:
            _compiled[name] = _compile(function, name.rsplit(".", 1)[1])
        return _compiled[name]


def _compile(function: FunctionType, mark: str) -> Callable[..., Any]:
    parts = {name: compiled(part) for name, part in bound_functions(function).items()}
    linked = rebind(function, **parts)
    linked.__name__ = linked.__qualname__ = f"{function.__name__}_{mark}"
    try:
        return numba.njit(nogil=True, error_model="numpy", cache=True)(linked)
    except RuntimeError:  # Numba found no folder it may write its cache to
        return numba.njit(nogil=True, error_model="numpy")(linked)
