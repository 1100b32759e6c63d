"""The GPU: memory, compiling and launching, and the game of one thread.

Compiled code must give the numbers of the CPU, bit for bit. Sums, products, quotients and square roots do so on every device
that follows IEEE 754. A product and a sum that are fused into one operation do not, so the compiler is told not to fuse them.

The arrays of many runs are stored together. In small arrays the runs are on the last axis, so that neighbouring threads read
neighbouring memory. In large arrays, where each thread reads at another position, the runs are on the first axis, so that the
next value of a thread is near the last. `play_one` gives a thread its part of the arrays and plays the game of `game.py`.
"""

import importlib
import math
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from importlib.util import find_spec
from types import FunctionType
from typing import Any, NamedTuple, Protocol

import numba
import numpy as np
from numba.core.errors import NumbaError

from rotting.common.arrays import AnyArray, Floats, Ints
from rotting.errors import EngineError, MissingExtraError
from rotting.policies.kernels.binding import Bindings, Converter, KernelFunction, bind, plain_function, slot, with_names
from rotting.policies.kernels.policy_functions import is_nested
from rotting.policies.kernels.random_numbers import subkey
from rotting.policies.kernels.readable_errors import is_library_code
from rotting.policy import Params, Policy
from rotting.problems.mean_table import Means
from rotting.problems.noise import Noise
from rotting.simulation.engines.compile import draw_error, warn_uncached
from rotting.simulation.engines.game import is_full, play, policy_parts, report_rounds
from rotting.simulation.engines.kernel_errors import cause, compile_error, names_line_of
from rotting.simulation.engines.tiers import code_mark

cuda = importlib.import_module("numba.cuda")  # by its name, under which the simulator replaces it
ELSEWHERE = "engine='threads' plays on the CPU"
_INSTALL = "pip install 'rotting[cuda]', or 'rotting[cuda12]' for CUDA 12"
_THREADS = 64  # per block
_BLOCKS = 8192  # at most, of the kernel that fills an array
_QUEUES = 32  # launches that may run at the same time
_OLDEST = (12, 0)  # the oldest version of CUDA that the driver may support
_OPTIONS = {"lto": False}  # with link-time optimisation, the linker would fuse operations
_INEXACT_ROOT = 1.0 + 2.0**-30  # its square has more digits than a float holds, so that rounding changes it
_SMALL = 64  # the size up to which an array counts as small
_lock = threading.RLock()
_kernels: dict[str, "CudaKernel"] = {}


class Stream(Protocol):
    """What the library uses of a stream: launches on one stream follow each other."""

    def synchronize(self) -> object:
        """Wait until everything that was launched on the stream has finished."""


class CudaKernel(Protocol):
    """What the library uses of a compiled kernel."""

    def __getitem__(self, launch: tuple[int, int, Stream], /) -> Callable[..., None]:
        """Return the kernel for this number of blocks and of threads per block, on this stream."""


def simulated() -> bool:
    """Return whether Numba's CUDA simulator is on, which runs on the CPU without compiling."""
    return bool(getattr(numba.config, "ENABLE_CUDASIM", False))


def why_no_gpu() -> Exception | None:
    """Return the error that says why no GPU can be used, or None if one can."""
    if simulated():
        return None
    if find_spec("numba_cuda") is None:
        return MissingExtraError(f"engine='cuda' needs numba-cuda: {_INSTALL}")
    os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", str(_QUEUES))  # CUDA reads it when the device is opened
    if not cuda.is_available():
        return EngineError(f"engine='cuda' needs an NVIDIA GPU and its driver, got none; {ELSEWHERE}")
    version = tuple(cuda.cudadrv.driver.driver.get_version())
    if version < _OLDEST:
        wanted, got = (".".join(map(str, each)) for each in (_OLDEST, version))
        return EngineError(f"engine='cuda' needs a driver for CUDA {wanted} or newer, got one for {got}; {ELSEWHERE}")
    return None


class Device:
    """The current GPU.

    To free memory, CUDA waits until all running kernels have finished. So nothing is freed between `hold` and `release`, and
    large arrays that are no longer needed are reused.
    """

    page_bytes = 0 if simulated() else 2 << 20  # the memory of an array is a multiple of this

    def __init__(self) -> None:
        missing = why_no_gpu()
        if missing is not None:
            raise missing
        try:
            cuda.current_context()
        except Exception as error:
            raise EngineError(
                f"engine='cuda' needs some memory of the GPU, which other programs may hold, got {error}; {ELSEWHERE}"
            ) from error
        self._held = ExitStack()
        self._spare: dict[tuple[tuple[int, ...], str], list[Any]] = {}

    def check_rounding(self) -> None:
        """Refuse a device whose compiled code fuses a product and a sum: its games would differ from those of the CPU.

        Which step of compiling fuses them differs between the versions of numba-cuda and of the CUDA libraries.
        """
        stream = self.stream()
        numbers = self.put(np.array([_INEXACT_ROOT, -(_INEXACT_ROOT * _INEXACT_ROOT), math.nan]), stream)
        try:
            with _lock:
                if "rounding" not in _kernels:
                    _kernels["rounding"] = self._compiled(
                        plain_function("function", _multiply_and_add), "rounding", (numbers,), own=True
                    )
            _configured(_kernels["rounding"], 1, 1, stream)(numbers)
            rounding_error = self.get(numbers, stream)[2]  # of the square: 0 if the square is rounded before it is added
        except Exception as error:
            raise _setup_error(error) from error
        if rounding_error != 0.0:
            raise EngineError(
                "engine='cuda' needs versions of numba-cuda and the CUDA libraries that round each operation by itself, "
                f"got ones that fuse products and sums; {ELSEWHERE}"
            )

    def hold(self) -> None:
        """Free nothing until `release`."""
        self._held.enter_context(cuda.defer_cleanup())

    def release(self) -> None:
        """Free all memory that is no longer used."""
        self._spare.clear()
        self._held.close()
        if not simulated():
            context = cuda.current_context()
            context.deallocations.clear()  # streams and events
            context.memory_manager.deallocations.clear()

    def free_all(self) -> None:
        """Free all memory that is no longer used, between `hold` and `release`."""
        self.release()
        self.hold()

    def take_back(self, arrays: Iterable[Any]) -> None:
        """Let `spread` reuse these arrays, which it returned."""
        for array in arrays:
            self._spare.setdefault((array.shape, array.dtype.str), []).append(array)

    def free_bytes(self) -> float:
        """Return the free memory in bytes."""
        return float(cuda.current_context().get_memory_info()[0])

    def put(self, array: AnyArray, stream: Stream) -> Any:
        """Return a copy of an array on the device, without waiting for other streams.

        The caller may change or drop the array at once. A copy on a stream may read it later: where the device can read all of
        the host's memory, CUDA need not copy it elsewhere first.
        """
        copy = cuda.to_device(np.ascontiguousarray(array), stream=stream)
        stream.synchronize()
        return copy

    def get(self, array: Any, stream: Stream) -> AnyArray:
        """Return a copy of an array of the device, without waiting for other streams."""
        copy: AnyArray = array.copy_to_host(stream=stream)
        if not simulated():
            stream.synchronize()
        return copy

    def spread(self, array: AnyArray, runs: int, axis: int, stream: Stream) -> Any:
        """Return an array on the device that holds a copy of `array` for each run, with the runs on axis 0 or -1."""
        shape = (*array.shape, runs) if axis == -1 else (runs, *array.shape)
        if simulated():
            return self.put(np.broadcast_to(np.expand_dims(array, axis), shape), stream)
        spare = self._spare.get((shape, array.dtype.str))
        made = spare.pop() if spare else cuda.device_array(shape, array.dtype)
        if made.size > 0:
            blocks = min(-(-made.size // _THREADS), _BLOCKS)
            times = runs if axis == -1 else 1  # how often a value is repeated before the next
            fill = _configured(self._fill(), blocks, _THREADS, stream)
            values = self.put(array.ravel(), stream)
            try:
                fill(made.reshape(made.size), values, times)
            except Exception as error:  # the first launch compiles the kernel
                raise _setup_error(error) from error
        return made

    def _fill(self) -> CudaKernel:
        with _lock:
            if "fill" not in _kernels:
                _kernels["fill"] = cuda.jit(_fill)
            return _kernels["fill"]

    def stream(self) -> Stream:
        """Return a new stream, whose launches run beside those of others."""
        made: Stream = cuda.stream()
        return made

    def mark(self, stream: Stream) -> Callable[[], bool]:
        """Return a function that returns whether everything launched on the stream so far has finished."""
        if simulated():  # a launch returns when it has finished
            return lambda: True
        event = cuda.event(timing=False)
        event.record(stream)
        return lambda: bool(event.query())

    def launch(self, kernel: CudaKernel, runs: int, stream: Stream, *arguments: object) -> None:
        """Run a kernel with one thread for each run."""
        threads = runs if simulated() else _THREADS
        _configured(kernel, -(-runs // threads), threads, stream)(*arguments)

    def kernel(self, function: Callable[..., None], policy: Policy, noise: Noise, arguments: tuple[object, ...]) -> CudaKernel:
        """Return `function` compiled for arguments like these.

        Args:
            function: a plain function, the entry point.
            policy: the policy whose parameters and state are among the arguments.
            noise: the noise whose `draw` is called.
            arguments: the arguments of a launch.
        """
        plain = plain_function("function", function)
        mark = code_mark(plain, policy)
        with _lock:
            if mark not in _kernels:
                try:
                    _kernels[mark] = self._compiled(plain, mark, arguments, own=is_library_code(plain))
                except Exception as error:
                    if not isinstance(error, NumbaError) and not names_line_of(plain, error):
                        raise _setup_error(error) from error
                    raise draw_error(noise) or compile_error(plain, policy, error) from error
            return _kernels[mark]

    def _compiled(self, plain: FunctionType, mark: str, arguments: tuple[object, ...], own: bool) -> Any:
        grid: KernelFunction = cuda.jit(device=True)(_number)
        if simulated():
            inner = Converter(with_names, converted={thread_number: grid})
            return cuda.jit(with_names(plain, inner.callees(plain)))
        make = cuda.jit(device=True, forceinline=True)
        inner = Converter(lambda function, parts: make(with_names(function, parts)), converted={thread_number: grid})
        linked = with_names(plain, inner.callees(plain))
        linked.__name__ = linked.__qualname__ = f"{plain.__name__}_{mark}_without_lto"  # the name is the key of Numba's cache
        made = cuda.jit(linked, **_OPTIONS)  # as a decorator with arguments, `cuda.jit` ignores `lto`
        try:
            made.enable_caching()
        except (OSError, RuntimeError) as error:
            warn_uncached(error)
        # Indices of the library's own code are never negative.
        with cuda_without_fused_operations(), cuda_without_negative_indices() if own else nullcontext():
            made.compile(tuple(map(cuda_type, arguments)))
        return made


def _setup_error(error: Exception) -> EngineError:
    """Return the error of a CUDA installation in which a library is missing, or does not fit the driver."""
    said = cause(str(error)).partition(". ")[0]
    return EngineError(
        f"engine='cuda' needs a GPU that works and libraries of CUDA that its driver knows, "
        f"got {type(error).__name__}, {said}: {_INSTALL}; {ELSEWHERE}"
    )


def _configured(kernel: CudaKernel, blocks: int, threads: int, stream: Stream) -> Callable[..., None]:
    """Return a kernel for this many blocks and threads; few are fine, since other launches run at the same time."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*under-utilization")
        return kernel[blocks, threads, stream]


def _number() -> object:
    return cuda.grid(1)


def _multiply_and_add(numbers: AnyArray) -> None:
    if thread_number() == 0:
        numbers[2] = numbers[0] * numbers[0] + numbers[1]


def _fill(out: AnyArray, values: AnyArray, times: int) -> None:
    for k in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[k] = values[k // times % values.size]


# Private parts of Numba's CUDA target.


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
        why = f"rotting does not know this version of numba-cuda: {error}"
        warnings.warn(f"games on the GPU take longer, since {why}", RuntimeWarning, stacklevel=4)
        yield
        return
    arrays.fix_integer_index = lambda context, builder, kind, k, size: context.cast(builder, k, kind, integer)
    try:
        yield
    finally:
        arrays.fix_integer_index = plain


# The game of one thread.


class Boards(NamedTuple):
    """The first fields of a `Board`, its arrays, or those of many boards; a GPU plays no games that need the other fields."""

    pulls: Ints
    round_piece: Ints
    pull_piece: Ints
    done: Ints
    memory_key: Ints
    collected: Floats
    states: Floats


@slot
def state_of(states: object, r: int) -> object:
    """Slot: returns the r-th run's part of the states."""
    raise NotImplementedError


@slot
def board_of(boards: Boards, r: int) -> Any:
    """Slot: returns the r-th run's part of the boards."""
    raise NotImplementedError


def thread_number() -> int:
    """Return the number of this thread; replaced on the device."""
    return 0


def never_cancelled(signal: Ints, rounds: int) -> bool:
    """Return False: a launch is short, and to cancel a game is to launch no more."""
    return False


def optimum_of_thread(optimal: Floats, regret: Floats) -> Floats:
    """Return what the optimal policy collects in a run: the same in all runs."""
    return optimal


def optimum_in_regret(optimal: Floats, regret: Floats) -> Floats:
    """Return what the optimal policy collects in this run, where `regret` holds it until a checkpoint is reached."""
    return regret


def play_one(
    p: Params,
    states: object,
    boards: Boards,
    m: Means,
    scale: float,
    noise_key: int,
    policy_key: int,
    runs: Ints,
    arms: Ints,
    checkpoints: Ints,
    optimal: Floats,
    regret: Floats,
    last: int,
    signal: Ints,
) -> None:
    """Play the run of this thread up to round `last`, unless its state is full."""
    r = thread_number()
    if r < runs.size:
        s = state_of(states, r)
        if not is_full(s):
            run = runs[r]
            b, key, best = board_of(boards, r), subkey(policy_key, run), optimum_of_thread(optimal, regret[r])
            play(p, s, b, m, scale, noise_key, key, run, arms, checkpoints, best, regret[r], last, signal)


def runs_axis(array: AnyArray) -> int:
    """Return the axis of the runs, 0 or -1, in the arrays that hold one such array for each run."""
    return -1 if array.size <= _SMALL else 0


def run_selector(name: str, tree: NamedTuple) -> KernelFunction:
    """Return a function of that name, which returns the r-th run's part of a state or a board of many runs.

    Compiled code cannot loop over the fields of a NamedTuple, so the function is generated as source code.

    Args:
        name: the name of the function.
        tree: the state or the board of one run.
    """
    kinds: dict[str, type] = {}

    def written(part: Any, path: str) -> str:
        if not is_nested(part):
            return f"{path}[{':, ' * part.ndim}r]" if runs_axis(part) == -1 else f"{path}[r]"
        kind = f"Kind{len(kinds)}"
        kinds[kind] = type(part)
        return f"{kind}({', '.join(written(getattr(part, field), f'{path}.{field}') for field in part._fields)})"

    scope: dict[str, Any] = {"__name__": __name__}
    exec(f"def {name}(s, r):\n    return {written(tree, 's')}\n", scope)  # noqa: S102 - made of names of fields
    scope.update(kinds)
    function: KernelFunction = scope[name]
    return function


def link_thread(policy: Policy, noise: Noise, state: NamedTuple, board: Boards, more: Bindings) -> Callable[..., None]:
    """Return `play_one` bound to this policy and this noise, and to states and boards like these: a plain function.

    Args:
        policy: its `choose` and `update` are called.
        noise: its `draw` is called.
        state: the state of a run.
        board: the board of a run.
        more: other functions to replace, such as those that give the means.
    """
    of_thread = {
        state_of: run_selector("state_of", state),
        board_of: run_selector("board_of", board),
        report_rounds: never_cancelled,
    }
    return bind(play_one, {**policy_parts(policy, noise), **of_thread, **more})
