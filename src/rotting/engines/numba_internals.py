"""Everything that the library uses of Numba beyond its public API.

The public `numba.njit` is enough to play every game. Some private parts of Numba save time:

- Functions that only compiled code calls get no machine code of their own (`_InlinedLibrary`).
- Code that creates no arrays does without reference counting (the option `_nrt`), and without wrappers for Python.
- Files of the disk cache carry a checksum (`_ChecksummedCache`), and a cache that cannot be read or written is ignored.
- Calls of known argument types go straight to the machine code (`machine_code`).

A release of Numba may change any of these. If one is missing or fails, the library warns once and uses `numba.njit` alone:
compiling takes longer, results are the same. Set the environment variable `ROTTING_PLAIN_NUMBA=1` to do so from the start.

On a GPU, one private part cannot be replaced: without it, results would differ in their last bits, so the engine refuses to
play.
"""

import functools
import hashlib
import importlib
import os
import pickle
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeAlias

import numba

from rotting.errors import EngineError, InvalidValueError
from rotting.kernels.binding import KernelFunction, with_names

if TYPE_CHECKING:
    from numba.core.dispatcher import Dispatcher

_missing: Exception | None = None
try:
    from numba.core.caching import FunctionCache, IndexDataCacheFile
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler, Flags
    from numba.core.registry import cpu_target
except ImportError as error:
    _missing = error
    FunctionCache = IndexDataCacheFile = JITCodeLibrary = Compiler = object  # type: ignore[assignment,misc]

_given_up = os.environ.get("ROTTING_PLAIN_NUMBA", "0") not in {"", "0"}
_warned: set[str] = set()


Compiled: TypeAlias = "Dispatcher[KernelFunction] | FunctionType"
"""A function as Numba compiles it; the plain function under `NUMBA_DISABLE_JIT=1`."""


def jit(function: KernelFunction, entry: bool, allocates: bool, checked: bool) -> Compiled:
    """Return `function` as Numba compiles it on its first call, or `function` itself under `NUMBA_DISABLE_JIT=1`.

    Args:
        function: a plain function. What it calls must be compiled already.
        entry: whether Python calls it. Other functions are compiled into their callers, and not cached by themselves.
        allocates: whether it creates arrays.
        checked: whether an index out of bounds raises IndexError.
    """
    if _is_usable():
        try:
            made: Compiled = _private_jit(function, entry, allocates, checked)
        except Exception as error:  # noqa: BLE001 - another version of Numba may raise anything here
            _give_up(error)
        else:
            return made
    return _public_jit(function, entry, checked)


def machine_code(made: "Dispatcher[KernelFunction]", types: tuple[numba.types.Type, ...]) -> KernelFunction:
    """Return the machine code of a function that was compiled for these types, which calls do not check again."""
    found: KernelFunction = made
    if not _given_up:
        try:
            code: Any = made.overloads[types]
            found = code.entry_point
        except (AttributeError, KeyError) as error:
            _give_up(error)
    return found


def cache_index(made: Any) -> Path | None:
    """Return the file in which Numba's cache lists the machine code of a function; None if it is not cached."""
    try:
        files = made._cache._cache_file
        return Path(files._index_path)
    except AttributeError:
        return None


def compiler_lock() -> threading.RLock:
    """Return the lock that a thread holds while it compiles or loads machine code; an unused one if Numba has no such lock."""
    found = threading.RLock()
    with suppress(AttributeError, ImportError):
        found = importlib.import_module("numba.core.compiler_lock").global_compiler_lock._lock
    return found


def _public_options(checked: bool) -> dict[str, Any]:
    return {"nogil": True, "error_model": "numpy", "boundscheck": checked}


def _public_jit(function: KernelFunction, cache: bool, checked: bool) -> Compiled:
    options = _public_options(checked)
    made: Compiled
    try:
        made = numba.njit(**options, cache=cache)(function)
    except (OSError, RuntimeError) as error:  # Numba found no folder that it may write to
        warn_uncached(error)
        made = numba.njit(**options)(function)
    return made


def warn_uncached(error: Exception) -> None:
    """Warn, once per process, that the next process has to compile again."""
    _warn_once("compiled code is not kept for the next process", error)


def _warn_once(what: str, error: Exception) -> None:
    if what not in _warned:
        _warned.add(what)
        warnings.warn(f"{what}: {error}", RuntimeWarning, stacklevel=3)


def _give_up(error: Exception) -> None:
    """Use public Numba alone from now on, with one warning."""
    global _given_up  # noqa: PLW0603 - the process is what decides
    _given_up = True
    _warn_once(f"compiling takes longer, since rotting does not know the internals of Numba {numba.__version__}", error)


def _is_usable() -> bool:
    """Return whether the private parts exist and are not known to fail."""
    problem = None if _given_up else _missing or _unknown_option()
    if problem is not None:
        _give_up(problem)
    return not _given_up


@functools.cache
def _unknown_option() -> Exception | None:
    try:
        options = _private_options(entry=True, allocates=False, checked=False)
        options.pop("pipeline_class")
        cpu_target.options.parse_as_flags(Flags(), options)
    except Exception as error:  # noqa: BLE001 - another version of Numba may raise anything here
        return error
    return None


def _private_options(entry: bool, allocates: bool, checked: bool) -> dict[str, Any]:
    return {
        **_public_options(checked),
        "_nrt": allocates,
        "forceinline": not entry,
        "no_cpython_wrapper": not entry,
        "no_cfunc_wrapper": True,
        "pipeline_class": _EntryPointCompiler if entry else _InlinedCompiler,
    }


def _private_jit(function: KernelFunction, entry: bool, allocates: bool, checked: bool) -> Any:
    made: Any = numba.njit(**_private_options(entry, allocates, checked))(function)
    if entry and made is not function:
        made._cache.flush  # noqa: B018 - an attribute of another name would be ignored without an error
        try:
            made._cache = _ChecksummedCache(function)
        except (OSError, RuntimeError) as error:  # Numba found no folder that it may write to
            warn_uncached(error)
    return made


class _InlinedLibrary(JITCodeLibrary):
    """The code of a function that is compiled into the entry points that reach it, and never called from Python.

    Numba would optimise it in full, once by itself and again with each function that calls it, and make machine code each time.
    """

    class _NoMachineCode:
        """Numba's code generator, where it is asked to set up machine code."""

        def set_env(self, name: str, env: object) -> None:
            """Do nothing: only printing and the messages of exceptions need this, and kernels have neither."""

    @property
    def codegen(self) -> _NoMachineCode:
        return self._NoMachineCode()

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout
        for function in ll_module.functions:
            passes, builder = self._codegen._function_pass_manager(opt=1)  # leaves less to link and to optimise in the callers
            passes.run(function, builder)

    def _optimize_final_module(self) -> None:
        """Do nothing: the entry point is optimised as a whole."""

    def _finalize_final_module(self) -> None:
        """Make no machine code."""
        self._finalize_dynamic_globals()
        self._finalized = True


class _InlinedCompiler(Compiler):
    """Numba's compiler, which puts the code of a function into an `_InlinedLibrary`."""

    def define_pipelines(self) -> object:
        self.state.library = _InlinedLibrary(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        return super().define_pipelines()


class _EntryPointCompiler(Compiler):
    """Numba's compiler, which starts again with public Numba alone if its private parts fail."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)
        self._arguments = arguments

    def compile_extra(self, func: FunctionType) -> object:
        try:
            return super().compile_extra(func)
        except Exception as error:
            if _private_parts_work():  # then `func` itself cannot be compiled
                raise
            _give_up(error)
            return Compiler(*self._arguments).compile_extra(_with_plain_callees(func, {}))


@functools.cache
def _private_parts_work() -> bool:
    """Return whether a small program that needs all of them compiles and gives the right result."""
    options = [_private_options(entry, allocates=False, checked=False) for entry in (True, False)]
    options[0]["pipeline_class"] = Compiler
    callee = numba.njit(**options[1])(_probe_callee)
    try:
        return bool(numba.njit(**options[0])(with_names(_probe, {"_probe_callee": callee}))(1) == _probe(1))
    except Exception:  # noqa: BLE001 - another version of Numba may raise anything here
        return False


def _probe_callee(x: int) -> int:
    return x + 1


def _probe(x: int) -> int:
    return 2 * _probe_callee(x)


def _with_plain_callees(function: FunctionType, made: "dict[Dispatcher[KernelFunction], Compiled]") -> KernelFunction:
    """Return `function` with all that it calls compiled by public Numba."""
    callees = {name: each for name, each in function.__globals__.items() if hasattr(each, "py_func")}
    for callee in callees.values():
        if callee not in made:
            plain = _with_plain_callees(callee.py_func, made)
            made[callee] = _public_jit(plain, cache=False, checked=callee.targetoptions["boundscheck"])
    return with_names(function, {name: made[each] for name, each in callees.items()})


class _ChecksummedFiles(IndexDataCacheFile):
    """Numba's files of one function: an index, and a file of machine code for each key.

    Numba would run whatever code it finds: that of a damaged file, or of another key, since two processes that save two keys at
    once may give both the same file. So the file holds the key, too, and a checksum of both.
    """

    def save(self, key: object, data: object) -> None:
        body = self._dump((key, data))
        super().save(key, (hashlib.sha256(body).digest(), body))

    def load(self, key: object) -> object:
        found = super().load(key)
        if found is None:
            return None
        checksum, body = found
        if hashlib.sha256(body).digest() != checksum:
            raise InvalidValueError("compiled code", "match its checksum", checksum)
        kept, data = pickle.loads(body)  # noqa: S301 - Numba's own format; it trusts the folder as it trusts the sources
        return data if kept == key else None


class _ChecksummedCache(FunctionCache):
    """Numba's cache of one function. A cache that fails costs time and nothing else."""

    def __init__(self, function: KernelFunction) -> None:
        super().__init__(function)
        path, stamp = self._impl.locator.get_cache_path(), self._impl.locator.get_source_stamp()
        name = f"{self._impl.filename_base}.sealed"  # Numba's own name means files without a checksum
        self._cache_file = _ChecksummedFiles(cache_path=path, filename_base=name, source_stamp=stamp)

    def load_overload(self, sig: object, target_context: object) -> object:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # noqa: BLE001 - damaged files can make a pickle, or LLVM, raise anything
            with suppress(OSError):
                self.flush()  # nothing can be added to an index that cannot be read
            return None

    def save_overload(self, sig: object, data: object) -> None:
        try:
            super().save_overload(sig, data)
        except Exception as error:  # noqa: BLE001 - as above, where the index could not be removed
            warn_uncached(error)


# CUDA.


def cuda_type(value: object) -> object:
    """Return the type that Numba's CUDA target has for an argument."""
    try:
        return importlib.import_module("numba.cuda.typing.typeof").typeof(value)
    except (AttributeError, ImportError):
        return numba.typeof(value)


@contextmanager
def cuda_without_fused_operations() -> Iterator[None]:
    """Have the CUDA compiler round products and sums one by one, as the CPU does.

    Numba's CUDA target has no option for this, only the compiler that it calls.
    """
    try:
        nvvm: Any = importlib.import_module("numba.cuda.cudadrv.nvvm")
        plain = nvvm.compile_ir
    except (AttributeError, ImportError) as error:
        raise EngineError(f"engine='cuda' needs a version of numba-cuda that rotting knows, got {error}") from error
    nvvm.compile_ir = lambda irs, **options: plain(irs, **{**options, "fma": False})
    try:
        yield
    finally:
        nvvm.compile_ir = plain


@contextmanager
def cuda_without_negative_indices() -> Iterator[None]:
    """Leave out the code that lets a negative index count from the end, where the CUDA target allows that.

    That code took 26 % of the time of EFF-RAW-UCB, and 6 to 9 % of UCB1 and RAW-UCB, on an H200.
    """
    try:
        arrays: Any = importlib.import_module("numba.cuda.np.arrayobj")
        plain, integer = arrays.fix_integer_index, importlib.import_module("numba.cuda.types").intp
    except (AttributeError, ImportError) as error:
        _warn_once("games on the GPU take longer, since rotting does not know this version of numba-cuda", error)
        yield
        return
    arrays.fix_integer_index = lambda context, builder, kind, k, size: context.cast(builder, k, kind, integer)
    try:
        yield
    finally:
        arrays.fix_integer_index = plain
