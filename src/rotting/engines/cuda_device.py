"""The GPU: its memory, compiling for it, and launching what was compiled. The only module that imports Numba's CUDA target.

Compiled code must give the numbers of the CPU, bit for bit. Sums, products, quotients and square roots do on every device that
keeps IEEE 754; a product and a sum that are fused into one operation, which the compiler does unless told, do not. Numba has no
option that tells it: `_unfused` hands the compiler's own option on.
"""

import hashlib
import importlib
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from typing import Any

import numba
import numpy as np
from numba.core.errors import NumbaError
from numpy.typing import NDArray

from rotting.engines.compile import draw_error
from rotting.engines.compiler_words import cause
from rotting.engines.cuda_game import thread_number
from rotting.engines.kernel_errors import compile_error, is_own, speaks_of
from rotting.errors import EngineError, MissingExtraError
from rotting.kernels.binding import Rebuild, bound_functions, digest, plain_function, reached_functions, with_names
from rotting.policy import Policy

cuda: Any = importlib.import_module("numba.cuda")  # the simulator's, if it is on, which knows it by this name
config: Any = numba.config
ELSEWHERE = "engine='threads' plays on the CPU"
_INSTALL = "pip install 'rotting[cuda]', or 'rotting[cuda12]' for CUDA 12"
_THREADS = 64  # of a block
_BLOCKS = 8192  # that fill an array
_QUEUES = 32  # launches that may run side by side
_OLDEST = (12, 0)  # version of CUDA that the driver must know
_OPTIONS: dict[str, Any] = {"lto": False}  # a linker would fuse what the compiler left apart
_lock = threading.RLock()
_kernels: dict[str, Any] = {}


def simulated() -> bool:
    """Return whether Numba's simulator, which plays on the CPU without compiling, stands for a GPU."""
    return bool(config.ENABLE_CUDASIM)


def why_not() -> Exception | None:
    """Return what is missing for games on a GPU, or None if nothing is."""
    if simulated():
        return None
    if find_spec("numba_cuda") is None:
        return MissingExtraError(f"engine='cuda' needs numba-cuda: {_INSTALL}")
    os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", str(_QUEUES))  # read when the device is opened
    if not cuda.is_available():
        return EngineError(f"engine='cuda' needs an NVIDIA GPU and its driver, got none; {ELSEWHERE}")
    version = tuple(cuda.cudadrv.driver.driver.get_version())
    if version < _OLDEST:
        wanted, got = (".".join(map(str, each)) for each in (_OLDEST, version))
        return EngineError(f"engine='cuda' needs a driver for CUDA {wanted} or newer, got one for {got}; {ELSEWHERE}")
    return None


class Device:
    """One GPU, the current one.

    Freeing memory waits for all that is at play. So nothing is freed between `hold` and `release`, and large arrays that are
    `done` with are used again.
    """

    page_bytes = 0 if simulated() else 2 << 20  # of which an array takes whole ones

    def __init__(self) -> None:
        missing = why_not()
        if missing is not None:
            raise missing
        try:
            cuda.current_context()
        except Exception as error:
            raise EngineError(
                f"engine='cuda' needs some memory of the GPU, which other programs may hold, got {error}; {ELSEWHERE}"
            ) from error
        self._held = ExitStack()
        self._spare: dict[tuple[Any, ...], list[Any]] = {}

    def hold(self) -> None:
        """Free nothing until `release`."""
        self._held.enter_context(cuda.defer_cleanup())

    def release(self) -> None:
        """Free what nobody needs any more."""
        self._spare.clear()
        self._held.close()
        if not simulated():
            context = cuda.current_context()
            context.deallocations.clear()  # of streams and events
            context.memory_manager.deallocations.clear()

    def free_all(self) -> None:
        """Free what nobody needs any more, between `hold` and `release`."""
        self.release()
        self.hold()

    def done(self, arrays: Iterable[Any]) -> None:
        """Take arrays of `spread` back."""
        for each in arrays:
            self._spare.setdefault((each.shape, each.dtype.str), []).append(each)

    def free_bytes(self) -> float:
        """Return how much memory is free."""
        return float(cuda.current_context().get_memory_info()[0])

    def put(self, array: NDArray[Any], stream: Any) -> Any:
        """Return a copy of an array on the device; other streams go on."""
        return cuda.to_device(np.ascontiguousarray(array), stream=stream)

    def get(self, array: Any, stream: Any) -> NDArray[Any]:
        """Return a copy of an array of the device; other streams go on."""
        copy: NDArray[Any] = array.copy_to_host(stream=stream)
        if not simulated():
            stream.synchronize()
        return copy

    def spread(self, array: NDArray[Any], runs: int, axis: int, stream: Any) -> Any:
        """Return an array on the device that holds `array` for each run, with the runs on the first or the last axis."""
        shape = (*array.shape, runs) if axis == -1 else (runs, *array.shape)
        if simulated():
            return self.put(np.broadcast_to(np.expand_dims(array, axis), shape), stream)
        spare = self._spare.get((shape, array.dtype.str))
        made = spare.pop() if spare else cuda.device_array(shape, array.dtype)
        if made.size > 0:
            blocks = min(-(-made.size // _THREADS), _BLOCKS)
            times = runs if axis == -1 else 1  # that a number is repeated before the next
            fill = _laid_out(self._fill(), blocks, _THREADS, stream)
            values = self.put(array.ravel(), stream)
            try:
                fill(made.reshape(made.size), values, times)
            except Exception as error:  # the first launch compiles
                raise _fault(error) from error
        return made

    def _fill(self) -> Any:
        with _lock:
            if "fill" not in _kernels:
                _kernels["fill"] = cuda.jit(_fill)
            return _kernels["fill"]

    def stream(self) -> Any:
        """Return a queue of launches of its own."""
        return cuda.stream()

    def mark(self, stream: Any) -> Callable[[], bool]:
        """Return a function that tells whether all that was launched before is done."""
        if simulated():  # where a launch returns when it is
            return lambda: True
        event = cuda.event(timing=False)
        event.record(stream)
        return lambda: bool(event.query())

    def launch(self, kernel: Any, runs: int, stream: Any, *arguments: Any) -> None:
        """Run a kernel on as many threads as there are runs."""
        threads = runs if simulated() else _THREADS
        _laid_out(kernel, -(-runs // threads), threads, stream)(*arguments)

    def kernel(self, function: Callable[..., None], policy: Policy, noise: Any, arguments: tuple[Any, ...]) -> Any:
        """Return `function` compiled for arguments like these.

        Args:
            function: a plain function, an entry point.
            policy: whose parameters and state are among the arguments.
            noise: whose draw is called.
            arguments: those of a launch.
        """
        plain = plain_function("function", function)
        kinds = [f"{kind.__module__}.{kind.__qualname__}{getattr(kind, '_fields', '')}" for kind in _classes(arguments)]
        others = sorted({each.__module__ for each in reached_functions(plain) if not is_own(each.__module__)})
        mark = hashlib.sha256("|".join([digest(plain), *kinds, *others]).encode()).hexdigest()[:16]
        with _lock:
            if mark not in _kernels:
                try:
                    _kernels[mark] = self._compiled(plain, mark, arguments, own=not others)
                except Exception as error:
                    if not isinstance(error, NumbaError) and not speaks_of(plain, error):
                        raise _fault(error) from error
                    raise draw_error(noise) or compile_error(plain, policy, error) from error
            return _kernels[mark]

    def _compiled(self, plain: Any, mark: str, arguments: tuple[Any, ...], own: bool) -> Any:
        grid = cuda.jit(device=True)(_number)
        if simulated():
            inner = Rebuild(with_names, {thread_number: grid})
            return cuda.jit(with_names(plain, {name: inner(part) for name, part in bound_functions(plain).items()}))
        make = cuda.jit(device=True, forceinline=True)
        inner = Rebuild(lambda function, parts: make(with_names(function, parts)), {thread_number: grid})
        linked = with_names(plain, {name: inner(part) for name, part in bound_functions(plain).items()})
        linked.__name__ = linked.__qualname__ = f"{plain.__name__}_{mark}_unfused"  # the cache knows it by its name
        made = cuda.jit(**_OPTIONS)(linked)
        try:
            made.enable_caching()
        except (OSError, RuntimeError) as error:
            warnings.warn(f"compiled code is not kept for the next process: {error}", RuntimeWarning, stacklevel=1)
        with _unfused(), _unsigned(own):
            made.compile(tuple(map(_typeof, arguments)))
        return made


def _fault(error: Exception) -> EngineError:
    """Return what CUDA said of code that is not to blame: a library is missing, or does not fit the driver."""
    said = cause(str(error)).partition(". ")[0]
    return EngineError(
        f"engine='cuda' needs a GPU that works and libraries of CUDA that its driver knows, "
        f"got {type(error).__name__}, {said}: {_INSTALL}; {ELSEWHERE}"
    )


def _laid_out(kernel: Any, blocks: int, threads: int, stream: Any) -> Any:
    """Return a kernel for so many blocks and threads; few are no mistake, since others are at play beside them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*under-utilization")
        return kernel[blocks, threads, stream]


def _typeof(value: Any) -> Any:
    return importlib.import_module("numba.cuda.typing.typeof").typeof(value)


@contextmanager
def _unfused() -> Iterator[None]:
    """Have the compiler leave products and sums apart."""
    nvvm: Any = importlib.import_module("numba.cuda.cudadrv.nvvm")
    plain = nvvm.compile_ir
    nvvm.compile_ir = lambda irs, **options: plain(irs, **{**options, "fma": False})
    try:
        yield
    finally:
        nvvm.compile_ir = plain


@contextmanager
def _unsigned(own: bool) -> Iterator[None]:
    """Spare the library's own code, whose indices are never negative, the question whether they are.

    That question, asked at every access, took 26 % of the time of EFF-RAW-UCB, and 6 to 9 % of UCB1 and RAW-UCB.
    """
    arrayobj: Any = importlib.import_module("numba.cuda.np.arrayobj")
    plain = arrayobj.fix_integer_index
    if own:
        whole: Any = importlib.import_module("numba.cuda.types").intp
        arrayobj.fix_integer_index = lambda context, builder, kind, k, size: context.cast(builder, k, kind, whole)
    try:
        yield
    finally:
        arrayobj.fix_integer_index = plain


def _number() -> Any:
    return cuda.grid(1)


def _fill(out: Any, values: Any, times: int) -> None:
    for k in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[k] = values[k // times % values.size]


def _classes(arguments: tuple[Any, ...]) -> list[Any]:
    """Return the classes of the tuples among arguments, and among what these are made of."""
    found: list[Any] = []
    for each in arguments:
        if isinstance(each, tuple):
            found += [type(each), *_classes(tuple(each))]
    return found
