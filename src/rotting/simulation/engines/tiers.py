"""Interpreted functions and machine code: two tiers with the same results, bit for bit.

Interpreted functions can be called at once, even before Numba is imported. Machine code is faster, and takes seconds to compile
unless it is cached. With `compile="auto"`, a game that ends soon is interpreted (see `threads.py`), and the functions of a live
bandit are interpreted while a child process compiles them, and change over between two calls. Only what is called is compiled.

Only the library's own code is interpreted then. Code from outside the library may behave differently there: `1 / 0` raises an
error in Python and is infinite in machine code. It is compiled first, as with `compile="now"`.

Importing Numba takes longer than playing a small game, and only Numba can read its cache on disk. So a small file of ours, a
marker, says that the machine code of an entry point is there. A marker that is missing or wrong costs time and nothing else.
"""

import hashlib
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from rotting.common.files import cache_folder, write_atomically
from rotting.common.machine import machine
from rotting.common.rules import option
from rotting.policies.kernels.binding import KernelFunction, digest, plain_function, reached_functions
from rotting.policies.kernels.policy_functions import classes, new_state
from rotting.policies.kernels.readable_errors import is_library_code, naming_owner, with_readable_errors
from rotting.policy import Policy
from rotting.problems.noise import Noise

CompileMode = Literal["auto", "now", "never"]
MODES: tuple[CompileMode, ...] = get_args(CompileMode)
_MODE = option(*MODES)
COMPILE_SECONDS = 5.0
"""About how long compiling the loop of a game takes; with "auto", games that end sooner interpreted are not compiled."""


def resolve_mode(compile: object) -> CompileMode:
    """Return whether to compile at once, where it pays or never.

    The environment variable `ROTTING_COMPILE` says what "auto" means. Under Numba's own `NUMBA_DISABLE_JIT` it means "now".

    Example:
        >>> resolve_mode("later")
        Traceback (most recent call last):
        ...
        rotting.errors.InvalidValueError: compile must be one of 'auto', 'now', 'never', got 'later'
    """
    mode = MODES[int(_MODE.check("compile", compile))]
    if mode != "auto":
        return mode
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in {"", "0"}:
        return "now"
    return MODES[int(_MODE.check("ROTTING_COMPILE", os.environ.get("ROTTING_COMPILE") or "auto"))]


# --- Entry points, and what identifies their machine code ---------------------------------------------------------------------

loaded: dict[str, KernelFunction] = {}
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
        return hashlib.sha256(repr((parts, _toolchain())).encode()).hexdigest()

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
        return self.key in loaded or self.is_cached


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


@cache
def _toolchain() -> tuple[object, ...]:
    """Return the versions, the processor and the settings that decide the machine code.

    Neither the folder of the cache nor the number of cores does: an image can be built on one machine and run on another.
    """
    described = machine()
    settings = sorted(each for each in os.environ.items() if each[0].startswith("NUMBA_") and each[0] != "NUMBA_CACHE_DIR")
    processor = described["processor"], described["system"]
    return version("numba"), version("llvmlite"), sys.version, sys.implementation.cache_tag, processor, settings


# --- Functions that start when they are called --------------------------------------------------------------------------------

Entries = Mapping[str, EntryPoint | None]
"""Entry points by name; None if there is no such function."""


class Functions:
    """Functions as attributes, each of which starts when it is first called.

    A function starts as machine code if `compile` is "now", or "auto" and its machine code is there. Otherwise it starts
    interpreted; with "auto", a child process then compiles it, and machine code replaces it between two calls. Code from
    outside the library starts with the object, so that its mistakes are found early, and is interpreted with "never" only.

    Subclasses declare the attributes; a function without an entry point is None.

    Args:
        make_entries: returns the entry points. It is sent to the child process, too.
        compile: when to compile.
        at_once: functions that everybody calls. They start with the object, too.
    """

    def __init__(self, make_entries: Callable[[], Entries], compile: CompileMode, at_once: tuple[str, ...] = ()) -> None:
        entries = make_entries()
        self._make_entries, self._mode = make_entries, resolve_mode(compile)
        self._entries = {name: entry for name, entry in entries.items() if entry is not None}
        self._not_started: set[str] = set()
        self._interpreted: set[str] = set()  # functions that are to become machine code
        self._is_warm = False  # thousands of bandits that share the functions may call `warm_up`
        for name in entries:
            setattr(self, name, None)
        for name in self._entries:
            self.start_when_called(name)
        if not all(entry.is_library_code for entry in self._entries.values()):
            self._mode = "never" if self._mode == "never" else "now"
            at_once = tuple(self._entries)
        for name in at_once:
            self._start(name)

    @property
    def is_compiled(self) -> bool:
        """Whether all functions that have started are machine code."""
        return self._mode != "never" and not self._interpreted

    def warm_up(self) -> None:
        """Start all functions, except those that would start interpreted and be compiled later: these wait for a call."""
        for name in () if self._is_warm else sorted(self._not_started):
            if self._mode != "auto" or self._entries[name].is_available:
                self._start(name)
        self._is_warm = True

    def start_when_called(self, name: str) -> None:
        """Let the next call of a function start it."""

        def first_call(*arguments: object) -> object:
            self._start(name)
            return getattr(self, name)(*arguments)

        setattr(self, name, first_call)
        self._not_started.add(name)

    def _start(self, name: str) -> None:
        """Put machine code in the place of a function, or the interpreted function."""
        entry = self._entries[name]
        if self._mode == "now" or (self._mode == "auto" and entry.is_available):
            self.compile(name)
            return
        with _lock:
            if name not in self._not_started:  # another thread was faster
                return
            setattr(self, name, interpreted(entry))
            self._not_started.discard(name)
            if self._mode == "auto":
                self._interpreted.add(name)
                _waiting.append((self, name))
                if len(_waiting) == 1:
                    threading.Thread(target=_compile_waiting, name="rotting-compiling", daemon=True).start()

    def compile(self, name: str) -> None:
        """Put machine code in the place of a function; it is compiled here unless it is cached."""
        code = load_machine_code(self._entries[name])
        with _lock:
            setattr(self, name, code)
            self._not_started.discard(name)
            self._interpreted.discard(name)

    def compile_in_child(self, name: str) -> None:
        """Have a child process fill the cache before `compile` is called; that compiles if the child could not.

        If the child was killed, the function stays interpreted: compiling may need more memory than there is.
        """
        try:
            run_in_child(partial(compile_function, self._make_entries, name))
        except subprocess.CalledProcessError as error:
            if error.returncode < 0:  # the number of the signal
                return
        except Exception:  # noqa: BLE001, S110 - it could not be started, or the entry points cannot be pickled
            pass
        with suppress(Exception):  # the function stays interpreted, which gives the same results
            self.compile(name)


def run_in_child(work: Callable[[], object]) -> None:
    """Call a picklable function without arguments in a new process, whose output is dropped, and wait until it has returned.

    It is not a fork, and has a session of its own, so that Ctrl-C does not reach it. If it fails or is killed,
    `subprocess.CalledProcessError` is raised; if it cannot be started, `OSError`.
    """
    if not sys.executable or getattr(sys, "frozen", False):
        raise OSError("there is no Python to start")
    paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)  # it finds the modules that this process finds
    subprocess.run(
        [sys.executable, "-P", "-c", "import pickle, sys; pickle.load(sys.stdin.buffer)()"],
        input=pickle.dumps(work),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": paths},
        start_new_session=True,
        check=True,
    )


def compile_function(make_entries: Callable[[], Entries], name: str) -> None:
    """Compile one of several functions, and keep it in the cache on disk."""
    entry = make_entries()[name]
    if entry is not None:
        load_machine_code(entry)


def load_machine_code(entry: EntryPoint) -> KernelFunction:
    """Return the machine code of an entry point; compile it if it is not cached."""
    from rotting.simulation.engines.compile import guarded_for  # noqa: PLC0415 - imports Numba

    return guarded_for(entry)


_lock = threading.RLock()
_waiting: list[tuple[Functions, str]] = []  # functions for the child process; the first is being compiled


def _compile_waiting() -> None:
    """Have a child process compile one function after the other until none waits."""
    while True:
        functions, name = _waiting[0]
        functions.compile_in_child(name)
        with _lock:
            _waiting.pop(0)
            if not _waiting:
                return


def _after_fork_in_child() -> None:
    """Forget a lock that a thread of the parent may hold, and the thread, which does not exist here."""
    global _lock  # noqa: PLW0603 (the process decides)
    _lock = threading.RLock()
    for functions, name in _waiting:
        functions.start_when_called(name)
    _waiting.clear()


os.register_at_fork(after_in_child=_after_fork_in_child)
