"""Functions that are to be called from Python, and what identifies their machine code, without Numba.

Importing Numba takes longer than playing a small game, and only Numba can read its cache on disk. So a small file of ours, a
marker, says that the machine code of an entry point is there. A marker that is missing or wrong costs time and nothing else.
"""

import hashlib
import os
import sys
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rotting.common.files import cache_folder, write_atomically
from rotting.common.machine import machine
from rotting.policies.kernels.binding import KernelFunction, digest, plain_function, reached_functions
from rotting.policies.kernels.policy_functions import classes, new_state
from rotting.policies.kernels.readable_errors import is_library_code, naming_owner, with_readable_errors
from rotting.policy import Policy
from rotting.problems.noise import Noise

machine_code: dict[str, KernelFunction] = {}
"""The machine code that this process has in memory, by the keys of the entry points."""


class EntryPoint(NamedTuple):
    """A plain function that is to be called with arguments of the types of `example`.

    Machine code for it does not check the types of its arguments.
    """

    function: KernelFunction
    policy: Policy | None  # the policy whose parameters and state it is called with
    example: tuple[object, ...]  # the arguments of a call
    allocates: bool = False  # whether it may create arrays, except in functions marked `@allocates_nothing`
    checked: bool = False  # whether an index out of bounds raises IndexError
    noise: Noise | None = None  # the noise whose `draw` it calls

    @property
    def is_library_code(self) -> bool:
        """Whether all of its code belongs to the library."""
        with naming_owner(self.policy):
            return is_library_code(plain_function("function", self.function))

    @property
    def key(self) -> str:
        """A digest of its code, of the types of its arguments and of everything else that decides its machine code."""
        kinds = tuple(map(_kind, self.example))
        parts = self.function.__qualname__, code_mark(self.function, self.policy), self.allocates, self.checked, kinds
        return hashlib.sha256(repr((parts, _stamp(self.function.__code__.co_filename), _toolchain())).encode()).hexdigest()

    @property
    def is_cached(self) -> bool:
        """Whether its machine code is in the cache on disk."""
        marker = _marker(self.key)
        try:
            return (marker.parent / marker.read_text("utf-8")).is_file()
        except (OSError, ValueError):
            return False

    @property
    def is_available(self) -> bool:
        """Whether its machine code is in the memory of this process, or in the cache on disk."""
        return self.key in machine_code or self.is_cached


def mark_cached(key: str, file: Path) -> None:
    """Note that Numba keeps the machine code of an entry point in this file.

    The marker names the file by the way from one to the other: a folder that holds both, as one that the user has set for
    Numba's cache does, can be copied elsewhere.
    """
    marker = _marker(key)
    with suppress(OSError, ValueError):
        write_atomically(marker, os.path.relpath(file, marker.parent).encode())


def _marker(key: str) -> Path:
    folder = os.environ.get("NUMBA_CACHE_DIR")
    return (Path(folder, "rotting") if folder else cache_folder() / "compiled") / key[:2] / f"{key[2:]}.marker"


def code_mark(function: KernelFunction, policy: Policy | None) -> str:
    """Return a digest of the code of a function, and of the modules and types that Numba reads with its machine code."""
    with naming_owner(policy):
        plain = plain_function("function", function)
        mark = digest(plain)
    names = sorted({each.__module__ for each in reached_functions(plain)})
    if policy is not None:
        kinds: list[Any] = [type(policy.params), *classes(new_state(policy, 1, 1))]
        names += [f"{kind.__module__}.{kind.__qualname__}{kind._fields}" for kind in kinds]
    return hashlib.sha256("|".join([mark, *names]).encode()).hexdigest()[:16]


def interpreted(entry: EntryPoint) -> KernelFunction:
    """Return the plain function, with readable errors if it is not the library's own; what cannot be compiled is refused."""
    own = entry.is_library_code
    with naming_owner(entry.policy):
        digest(plain_function("function", entry.function))
    return entry.function if own else with_readable_errors(entry.policy, entry.function, entry.function)


def _kind(value: object) -> object:
    """Return what decides the type that Numba gives a value."""
    if isinstance(value, np.ndarray):
        layout = "C" if value.flags.c_contiguous else "F" if value.flags.f_contiguous else "A"
        return str(value.dtype), value.ndim, layout, value.flags.writeable
    if isinstance(value, tuple):
        return f"{type(value).__module__}.{type(value).__qualname__}", tuple(map(_kind, value))
    return type(value).__name__


def _stamp(file: str) -> tuple[str, int, int]:
    """Return what Numba compares: after an edit of the file, it compiles again."""
    try:
        found = Path(file).stat()
    except OSError:
        return file, 0, 0
    return file, found.st_mtime_ns, found.st_size


@cache
def _toolchain() -> tuple[object, ...]:
    """Return the versions, the processor and the settings that decide the machine code.

    Neither the folder of the cache nor the number of cores does: an image can be built on one machine and run on another.
    """
    described = machine()
    settings = sorted(each for each in os.environ.items() if each[0].startswith("NUMBA_") and each[0] != "NUMBA_CACHE_DIR")
    processor = described["processor"], described["system"]
    return version("numba"), version("llvmlite"), sys.version, sys.implementation.cache_tag, processor, settings
