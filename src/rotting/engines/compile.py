"""Compiling linked kernels with Numba: the only module that imports it.

Numba caches a function on disk under its name and its file's stamp, so an edit in another file would be missed. An entry point
is therefore compiled under a name that carries a digest of its code and of all it calls and of the types it is for, and says
whether its indices are checked: the cache is hit after a restart, and never stale after an edit. (The types, because Numba's
index of a function refers to the types it was called with: one that was renamed since would make the index unreadable for all
others. The modules of code that is not the library's own, because Numba imports them when it reads what it kept: code that was
copied would bring in the module that it was copied from.) What an entry point calls is part of its compiled code and needs no
cache of its own.

The cache only saves time. One that cannot be read is made anew; one that cannot be written is done without.
"""

import hashlib
import pickle
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import FunctionType
from typing import Any, NamedTuple

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

from rotting.engines.kernel_errors import blaming, compile_error, is_own, is_own_work, new_state, no_number, telling
from rotting.errors import InvalidValueError, KernelError
from rotting.kernels.binding import Rebuild, bound_functions, digest, plain_function, reached_functions, with_names
from rotting.kernels.nested import classes
from rotting.policy import Policy
from rotting.problems.noise import Noise


class _Options(NamedTuple):
    """What is part of the name of a compiled function, beside its digest."""

    allocates: bool
    checked: bool


_compiled: dict[tuple[str, _Options, bool], Callable[..., Any]] = {}
_lock = threading.RLock()


def indices_checked() -> bool | None:
    """Return whether NUMBA_BOUNDSCHECK has all indices checked or none, and None if it says nothing."""
    always: Any = getattr(numba.config, "BOUNDSCHECK", None)
    return None if always is None else bool(always)


def compiled(
    function: Callable[..., Any], policy: Policy | None = None, allocates: bool = False, checked: bool = False
) -> Callable[..., Any]:
    """Return `function`, and every plain function it reaches, compiled; the GIL is released while it runs.

    Under `NUMBA_DISABLE_JIT=1` the plain functions run instead. Every call looks at the types of its arguments, which takes
    longer than a round: `compiled_for` is for functions that are called often.

    Args:
        function: a plain function, an entry point.
        policy: whose parameters and state it will be called with, if any.
        allocates: whether it may create arrays, as far as it is not marked `@allocates_nothing`. One that may not is spared all
            counting of references, which costs more than a round of the fastest policies.
        checked: whether an index out of bounds raises IndexError. Otherwise it reads or writes somewhere else in memory, or
            ends the process.
    """
    with blaming(policy):
        plain = plain_function("function", function)
        mark = digest(plain)
    names = sorted({each.__module__ for each in reached_functions(plain) if not is_own(each.__module__)})
    if policy is not None:
        kinds: list[Any] = [type(policy.params), *classes(new_state(policy, 1, 1))]
        names += [f"{kind.__module__}.{kind.__qualname__}{kind._fields}" for kind in kinds]
    if names:
        mark = hashlib.sha256("|".join([mark, *names]).encode()).hexdigest()[:16]
    always = indices_checked()
    options = _Options(allocates, checked if always is None else always)
    with _lock:
        return _remember(plain, partial(_compiled_parts, plain, options), mark, options, entry=True)


def _compiled_parts(function: FunctionType, options: _Options) -> dict[str, Any]:
    """Return what `function` calls, compiled."""
    quiet = Rebuild(_compiler(options._replace(allocates=False)), {})
    marked = [each for each in reached_functions(function) if getattr(each, "allocates_nothing", False)]
    inner = Rebuild(_compiler(options), {each: quiet(each) for each in marked})
    return {name: inner(part) for name, part in bound_functions(function).items()}


def compiled_for(
    function: Callable[..., Any],
    policy: Policy,
    *example: object,
    allocates: bool = False,
    checked: bool = False,
    noise: Noise | None = None,
) -> Callable[..., Any]:
    """Return `function` compiled for arguments of the types of `example`, and for no others.

    Calls go straight to the machine code: looking at the types of a state of a dozen arrays costs ten times what a round does.
    The caller must keep to these types.

    Args:
        function: as for `compiled`, and so are the keywords.
        policy: as for `compiled`.
        example: the arguments of a call.
        allocates: as for `compiled`.
        checked: as for `compiled`.
        noise: whose `draw` is among what `function` calls, if any: a mistake there is told as the noise's, not the policy's.
    """
    general: Any = compiled(function, policy, allocates, checked)
    if not hasattr(general, "overloads"):  # nothing is compiled
        return general  # type: ignore[no-any-return]
    types = tuple(map(numba.typeof, example))
    try:
        general.compile(types)
    except Exception as error:  # noqa: BLE001 (there is no end to what it raises at code that it does not know)
        told = None if noise is None else draw_error(noise)
        raise told or compile_error(function, policy, error) from None  # its pages stay at hand as the context
    return general.overloads[types].entry_point  # type: ignore[no-any-return]


def draw_error(noise: Noise) -> KernelError | None:
    """Return why `draw` does not compile by itself, or that it returns no number; None if it is sound."""
    made: Any = compiled(noise.draw)
    types: Any = (numba.float64, numba.typeof(noise.scale), *[numba.int64] * 4)
    try:
        made.compile(types)
    except Exception as error:  # noqa: BLE001 (as above)
        return compile_error(noise.draw, noise, error)
    returned = made.overloads[types].signature.return_type
    return None if isinstance(returned, numba.types.Number | numba.types.Boolean) else no_number(noise, str(returned))


def guarded_for(function: Callable[..., Any], policy: Policy, *example: object, allocates: bool = False) -> Callable[..., Any]:
    """Return what `compiled_for` does, safe to call whoever wrote it.

    Code that is not the library's own has its indices checked in every call, which costs little beside the call itself, and an
    index out of bounds is told with function and line.
    """
    with blaming(policy):
        own = is_own_work(plain_function("function", function))
    if own:
        return compiled_for(function, policy, *example, allocates=allocates)
    return telling(policy, function, compiled_for(function, policy, *example, allocates=allocates, checked=True))


def _compiler(options: _Options) -> Callable[[FunctionType, dict[str, Any]], Any]:
    return lambda function, parts: _remember(function, lambda: parts, digest(function), options, entry=False)


def _remember(
    function: FunctionType, parts: Callable[[], dict[str, Any]], mark: str, options: _Options, entry: bool
) -> Callable[..., Any]:
    key = (f"{function.__module__}.{function.__qualname__}.{mark}", options, entry)
    if key not in _compiled:
        _compiled[key] = _compile(with_names(function, parts()), mark, options, entry)
    return _compiled[key]


def _compile(linked: Callable[..., Any], mark: str, options: _Options, entry: bool) -> Callable[..., Any]:
    endings = "".join(f"_{name}" for name, chosen in options._asdict().items() if chosen)
    linked.__name__ = linked.__qualname__ = f"{linked.__name__}_{mark}{endings}"
    jit: Any = numba.njit
    made: Any = jit(
        nogil=True,
        error_model="numpy",
        _nrt=options.allocates,
        boundscheck=options.checked,
        forceinline=not entry,
        no_cpython_wrapper=not entry,  # only entry points are called from Python, and wrappers take as long to compile as code
        no_cfunc_wrapper=True,
        pipeline_class=Compiler if entry else _CompilerOfParts,
    )(linked)
    if entry and made is not linked:  # which it is where nothing is compiled
        try:
            made._cache = _Cache(linked)
        except (OSError, RuntimeError) as error:  # Numba found no folder it may write its cache to
            _Cache.do_without(error)
    return made  # type: ignore[no-any-return]


class _Part(JITCodeLibrary):
    """The code of a function that no one calls from Python: it is compiled in place, in the entry points that reach it.

    Numba would optimise it in full by itself, again with each function that calls it, and make machine code of it each time:
    a third more work for code that is no faster.
    """

    class _NoMachineCode:
        """Numba's code generator, as far as it is asked for once the machine code is made."""

        def set_env(self, name: str, env: Any) -> None:
            """Leave out what printing and messages of exceptions need, which kernels do without."""

    @property
    def codegen(self) -> _NoMachineCode:
        return self._NoMachineCode()

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout
        for function in ll_module.functions:
            passes, builder = self._codegen._function_pass_manager(opt=1)  # less is left to link and to optimise in place
            passes.run(function, builder)

    def _optimize_final_module(self) -> None:
        """Leave it to the entry point."""

    def _finalize_final_module(self) -> None:
        """Make no machine code."""
        self._finalize_dynamic_globals()
        self._finalized = True


class _CompilerOfParts(Compiler):
    """Numba's compiler, which makes a `_Part` of a function."""

    def define_pipelines(self) -> Any:
        name = self.state.func_id.func_qualname
        self.state.library = _Part(self.state.targetctx.codegen(), name)
        return super().define_pipelines()


class _Sealed(IndexDataCacheFile):
    """Numba's files of one function: an index, and the code for each key in a file of its own.

    Numba would run whatever code it finds: of a file that was damaged, or of another key, since processes that save two keys
    at once may give both the same file. So the key is kept with the code, under a digest.
    """

    def save(self, key: Any, data: Any) -> None:
        body = self._dump((key, data))
        super().save(key, (hashlib.sha256(body).digest(), body))

    def load(self, key: Any) -> Any:
        found = super().load(key)
        if found is None:
            return None
        mark, body = found
        if hashlib.sha256(body).digest() != mark:
            raise InvalidValueError("compiled code", "match its digest", mark)
        kept, data = pickle.loads(body)  # noqa: S301 (Numba's own format; it trusts the folder as it trusts the sources)
        return data if kept == key else None


class _Cache(FunctionCache):
    """Numba's cache of one function, whose failures cost time and nothing else."""

    warned = False

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        path, stamp = self._impl.locator.get_cache_path(), self._impl.locator.get_source_stamp()
        name = f"{self._impl.filename_base}.sealed"  # not under Numba's own name, which means files without a digest
        self._cache_file = _Sealed(cache_path=path, filename_base=name, source_stamp=stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # noqa: BLE001 (garbage can make a pickle, or LLVM, raise anything)
            with suppress(OSError):
                self.flush()  # an index that cannot be read could not be added to either
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception as error:  # noqa: BLE001 (as above, where the index could not be made anew)
            self.do_without(error)

    @classmethod
    def do_without(cls, error: Exception) -> None:
        """Say so, once a process."""
        if not cls.warned:
            cls.warned = True
            warnings.warn(f"compiled code is not kept for the next process: {error}", RuntimeWarning, stacklevel=1)
