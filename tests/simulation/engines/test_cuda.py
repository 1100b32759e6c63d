"""The engine of a GPU plays the games of the CPU bit for bit: small ones in a simulator, large ones with `make test-gpu`."""

import importlib
import re
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rotting.errors import EngineError, InvalidValueError, KernelError, MissingExtraError
from rotting.policies.kernels.elementary import exp, expm1, log, log1p, power
from rotting.policies.kernels.policy_functions import flatten, unflatten
from rotting.policies.parts.divergences import kl_bernoulli_upper
from rotting.policies.ucb1 import UCB1
from rotting.policy import Policy
from rotting.problems import FixedDelay
from rotting.problems.noise import Gaussian, Noise
from rotting.registry import make
from rotting.simulation import simulate as simulation
from rotting.simulation.engines import cuda_device
from rotting.simulation.engines.cuda_device import (
    cuda_without_fused_operations,
    cuda_without_negative_indices,
    run_selector,
    runs_axis,
    thread_number,
)
from rotting.simulation.plan import Simulation
from rotting.simulation.simulate import simulate
from tests.helpers.games import examples
from tests.helpers.gpu_games import NOISES, PROBLEM, players, problem
from tests.helpers.simulated_gpu import on_simulated_gpu


def test_every_policy_plays_the_games_of_the_cpu() -> None:
    found = on_simulated_gpu("every_policy")
    assert set(found) == {policy.name for policy in players(40)}
    assert [name for name, same in found.items() if not same] == []


def test_every_noise_pays_what_it_pays_on_the_cpu() -> None:
    assert on_simulated_gpu("every_noise") == {repr(noise): True for noise in NOISES}


def test_a_gpu_that_fuses_operations_is_refused() -> None:
    assert on_simulated_gpu("fused_operations") == (
        "engine='cuda' needs versions of numba-cuda and the CUDA libraries that round each operation by itself, "
        "got ones that fuse products and sums; engine='threads' plays on the CPU"
    )


def test_states_that_are_full_get_more_room() -> None:
    times, runs, same = on_simulated_gpu("full_states")
    assert (times > 1, runs > 1, same) == (True, True, True)


def test_states_that_are_full_wait_where_the_gpu_is_full_too() -> None:
    (at_once, same), (in_parts, same_in_parts), message = on_simulated_gpu("full_states_on_a_full_gpu")
    assert same
    assert same_in_parts
    assert set(at_once) == {6}
    assert sum(in_parts) == sum(at_once)  # each run goes on as often
    assert len(in_parts) > len(at_once)
    assert re.fullmatch(r"engine='cuda' needs \S+ GB of the GPU's memory for one run of RAWUCB\(.*\), got \S+ GB; .*", message)


def test_little_memory_makes_several_batches_and_too_little_is_told() -> None:
    sizes, same, message, by_pages = on_simulated_gpu("little_memory")
    assert sizes == [3, 3, 3, 1]
    assert same
    assert re.fullmatch(r"engine='cuda' needs \S+ GB of the GPU's memory for one run of UCB1\(.*\), got 1e-07 GB; .*", message)
    assert re.fullmatch(r"engine='cuda' needs 2.11 GB of the GPU's memory for one run of UCB1\(.*\), got 1 GB; .*", by_pages)


def test_what_is_kept_is_not_played_again_and_a_closed_game_ends() -> None:
    assert on_simulated_gpu("kept_and_cancelled") == [3, True, 100]


def test_the_bar_counts_the_rounds_of_every_launch() -> None:
    assert on_simulated_gpu("progress") == [20, *range(25, 101, 5)]


def test_a_mistake_of_others_is_told_before_the_gpu_plays() -> None:
    message = on_simulated_gpu("foreign_code")
    assert "index" in message
    assert "in round 1 of run 0" in message


def test_means_by_a_function_are_played_and_what_is_not_is_told() -> None:
    same, messages = on_simulated_gpu("unsupported_features")
    assert same
    lacks = ["a record of every round", "a new problem in every run", "late rewards", "arms that come, leave or recover"]
    assert messages == [f"engine='cuda' does not support {each}; engine='threads' plays on the CPU" for each in lacks]


@pytest.mark.parametrize("policy", examples(), ids=lambda policy: policy.name)
def test_a_run_gets_its_part_of_the_arrays(policy: Policy) -> None:
    state = policy.kernel.init(policy.params, 3, 40)
    arrays = list(flatten(state).values())
    rng = np.random.default_rng(1)
    own = [[rng.integers(0, 9, each.shape).astype(each.dtype) for each in arrays] for _ in range(5)]
    many = unflatten(state, (np.stack(each, axis=runs_axis(first)) for first, *each in zip(arrays, *own, strict=True)))
    part = run_selector("state_of", state)(many, 2)
    assert type(part) is type(state)
    for mine, given in zip(flatten(part).values(), own[2], strict=True):
        assert mine.tolist() == given.tolist()
        mine[...] = 0
    assert all(not each.any() for each in flatten(run_selector("state_of", state)(many, 2)).values())  # it is no copy


class NonNegative(np.ndarray[Any, Any]):
    """An array that refuses negative indices, which the library's own code on a GPU does not look for."""

    def _check(self, key: Any) -> None:
        for each in key if isinstance(key, tuple) else (key,):
            if isinstance(each, int | np.integer):
                assert each >= 0

    def __getitem__(self, key: Any) -> Any:
        self._check(key)
        return super().__getitem__(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._check(key)
        super().__setitem__(key, value)


def test_a_negative_index_would_be_found() -> None:
    with pytest.raises(AssertionError):
        np.zeros(3).view(NonNegative)[-1]


@pytest.mark.parametrize("policy", players(60), ids=lambda policy: policy.name)
def test_indices_of_the_library_are_never_negative(policy: Policy) -> None:
    kernel = policy.kernel
    state: Any = kernel.init(policy.params, 4, 60)
    state = unflatten(state, (each.view(NonNegative) for each in flatten(state).values()))
    arms = np.arange(4)
    rng = np.random.default_rng(2)
    for t in range(1, 61):
        if policy.sees_means:
            state.means[:] = rng.random(4)
        arm = int(kernel.choose(policy.params, state, t, 7, arms))
        kernel.update(policy.params, state, t, arm, float(rng.integers(0, 2)))


def test_a_missing_package_or_gpu_is_told_in_a_sentence() -> None:
    from rotting.simulation.engines import cuda_device

    missing = cuda_device.why_no_gpu()
    message = "" if missing is None else f"{type(missing).__name__} {missing}"
    assert message in {
        "MissingExtraError engine='cuda' needs numba-cuda: pip install 'rotting[cuda]', or 'rotting[cuda12]' for CUDA 12",
        "EngineError engine='cuda' needs an NVIDIA GPU and its driver, got none; engine='threads' plays on the CPU",
        "",  # there is one
    }


def test_a_gpu_that_others_have_filled_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from rotting.simulation.engines import cuda_device

    def refuse() -> None:
        raise RuntimeError("CUDA_ERROR_OUT_OF_MEMORY")

    monkeypatch.setattr(cuda_device, "why_no_gpu", lambda: None)
    monkeypatch.setattr(cuda_device, "cuda", type("Fake", (), {"current_context": staticmethod(refuse)}))
    with pytest.raises(EngineError, match="needs some memory of the GPU, which other programs may hold, got CUDA_ERROR_OUT_OF"):
        cuda_device.Device()


FAULTS = {
    "RuntimeError, libNVVM cannot be found": RuntimeError("libNVVM cannot be found. Do `conda install cuda-python`"),
    "OSError, [222] CUDA_ERROR_UNSUPPORTED_PTX_VERSION": OSError(
        "Failed in cuda mode pipeline (step: native lowering)\n[222] CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
    ),
}


@pytest.fixture
def refusing_device(monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception], Any]:
    """A GPU for which nothing can be compiled, for the reason that is given."""
    from rotting.simulation.engines import cuda_device

    def device(error: Exception) -> Any:
        def refuse(*_: Any, **options: Any) -> None:
            raise error

        class Kernel:
            def __getitem__(self, layout: Any) -> Any:
                return refuse

        fake = SimpleNamespace(current_context=lambda: None, device_array=np.empty, jit=lambda function: Kernel())
        fake.to_device = lambda array, stream: array
        monkeypatch.setattr(cuda_device, "why_no_gpu", lambda: None)
        monkeypatch.setattr(cuda_device, "simulated", lambda: False)
        monkeypatch.setattr(cuda_device, "draw_error", lambda noise: None)
        monkeypatch.setattr(cuda_device, "cuda", fake)
        monkeypatch.setattr(cuda_device, "_kernels", {})
        monkeypatch.setattr(cuda_device.Device, "_compiled", refuse)
        return cuda_device.Device()

    return device


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_installation_is_not_the_policys(fault: str, refusing_device: Callable[[Exception], Any]) -> None:
    device = refusing_device(FAULTS[fault])
    game = Simulation(make("ucb1"), PROBLEM, horizon=10).games()[0][0]
    message = (
        f"engine='cuda' needs a GPU that works and libraries of CUDA that its driver knows, got {fault}: "
        "pip install 'rotting[cuda]', or 'rotting[cuda12]' for CUDA 12; engine='threads' plays on the CPU"
    )
    with pytest.raises(EngineError, match=f"^{re.escape(message)}$"):
        device.kernel(game.loop, game.policy, game.setting.noise, ())
    with pytest.raises(EngineError, match=f"^{re.escape(message)}$"):
        device.spread(np.zeros(3), 2, 0, SimpleNamespace(synchronize=lambda: None))


def test_what_the_compiler_refuses_is_the_policys(refusing_device: Callable[[Exception], Any]) -> None:
    game = Simulation(make("ucb1"), PROBLEM, horizon=10).games()[0][0]
    code = game.policy.kernel.choose.__code__
    line = code.co_firstlineno
    refused: Any = importlib.import_module("numba.core.errors").TypingError
    for error in (refused("it is too long"), Exception(f'unsupported\n\nFile "{code.co_filename}", line {line}:')):
        with pytest.raises(KernelError, match=r"^UCB1\(sigma=1.0\): "):
            refusing_device(error).kernel(game.loop, game.policy, game.setting.noise, ())


@pytest.mark.parametrize(("version", "message"), [((11, 8), "CUDA 12.0 or newer, got one for 11.8"), ((12, 4), None)])
def test_an_old_driver_is_told(version: tuple[int, int], message: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    from rotting.simulation.engines import cuda_device

    class Driver:
        driver = type("", (), {"get_version": staticmethod(lambda: version)})

    class Fake:
        cudadrv = type("", (), {"driver": Driver})
        is_available = staticmethod(lambda: True)

    monkeypatch.setattr(cuda_device, "cuda", Fake)
    monkeypatch.setattr(cuda_device, "find_spec", lambda name: name)
    monkeypatch.setattr(cuda_device, "simulated", lambda: False)
    monkeypatch.setenv("CUDA_DEVICE_MAX_CONNECTIONS", "8")
    found = cuda_device.why_no_gpu()
    assert (found is None) if message is None else (isinstance(found, EngineError) and message in str(found))


@pytest.mark.parametrize(
    ("runs", "missing", "gpu"), [(10_000, None, True), (10, None, False), (10_000, MissingExtraError("none"), False)]
)
def test_auto_takes_a_gpu_where_it_is_worth_it(
    runs: int, missing: Exception | None, gpu: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rotting.simulation.engines import cuda_device

    monkeypatch.setattr(simulation, "find_spec", lambda name: name)
    monkeypatch.setattr(cuda_device, "why_no_gpu", lambda: missing)
    plans = [Simulation(make("ucb1"), PROBLEM, horizon=10**6, runs=runs)]
    assert simulation._is_worth_a_gpu(plans, threads=2) == gpu


def test_auto_leaves_to_threads_what_a_gpu_does_not_play(monkeypatch: pytest.MonkeyPatch) -> None:
    from rotting.simulation.engines import cuda_device

    monkeypatch.setattr(simulation, "find_spec", lambda name: name)
    monkeypatch.setattr(cuda_device, "why_no_gpu", lambda: None)
    plain, late = (
        Simulation(make("ucb1"), each, horizon=10**6, runs=10_000) for each in (PROBLEM, PROBLEM.delayed(FixedDelay(9)))
    )
    assert simulation._is_worth_a_gpu([plain], threads=2)
    assert not simulation._is_worth_a_gpu([plain, late], threads=2)


def test_auto_plays_the_same() -> None:
    games: Any = {"policies": make("ucb1"), "problem": PROBLEM, "horizon": 20, "runs": 3}
    assert simulate(engine="auto", **games) == simulate(**games)


@pytest.mark.gpu
@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize("policy", players(5_000), ids=lambda policy: policy.name)
def test_a_gpu_plays_the_games_of_the_cpu(policy: Policy, noise: Noise) -> None:
    games: Any = {"policies": policy, "problem": problem(noise), "horizon": 5_000, "runs": 1_000, "seed": 3}
    assert simulate(engine="cuda", **games) == simulate(**games)


def _elementary_functions(x: Any, y: Any, out: Any) -> None:
    r = thread_number()
    if r < x.size:
        out[0, r] = log(x[r])
        out[1, r] = log1p(x[r] - y[r])
        out[2, r] = exp(-x[r])
        out[3, r] = expm1(y[r] - x[r])
        out[4, r] = power(x[r], y[r])
        out[5, r] = kl_bernoulli_upper(y[r], x[r])


@pytest.mark.gpu
def test_compiled_functions_round_every_operation_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """A game shows a wrong last bit only if it decides a choice; this test shows every one."""
    from rotting.simulation.engines.cuda_device import Device

    rng = np.random.default_rng(4)
    x, y, out = rng.exponential(size=20_000), rng.random(20_000), np.zeros((6, 20_000))
    device = Device()
    stream = device.stream()
    on_device = tuple(device.put(each, stream) for each in (x, y, out))
    device.launch(device.kernel(_elementary_functions, UCB1(), Gaussian(), on_device), x.size, stream, *on_device)
    found = device.get(on_device[2], stream)
    for r in range(x.size):
        monkeypatch.setitem(_elementary_functions.__globals__, "thread_number", lambda r=r: r)
        _elementary_functions(x, y, out)
    assert (found == out).all(axis=1).tolist() == [True] * 6


@pytest.mark.gpu
@pytest.mark.parametrize("policy", players(100), ids=lambda policy: policy.name)
def test_compiled_code_has_no_fused_or_approximate_operations(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    from rotting.simulation.engines import cuda_device

    kernels: dict[str, Any] = {}
    monkeypatch.setattr(cuda_device, "_kernels", kernels)
    simulate(policy, PROBLEM, horizon=10, runs=2, engine="cuda")
    (made,) = (kernel for mark, kernel in kernels.items() if mark not in {"fill", "rounding"})
    # The code that runs: `inspect_asm` would compile it once more, for another kind of device, and without our options.
    (library,) = (each._codelibrary for each in made.overloads.values())
    (codes,) = library._ptx_cache.values()
    assert not re.findall(r"\bfma\.|\.approx|\.ftz|\bcall\b", "\n".join(codes))
    assert not library._ltoir_cache  # from which machine code would be made instead, with other options


NVVM, ARRAYS = "numba.cuda.cudadrv.nvvm", "numba.cuda.np.arrayobj"


def test_the_cuda_compiler_is_told_not_to_fuse_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    def compile_ir(irs: Any, **options: Any) -> Any:
        return irs, options

    nvvm = SimpleNamespace(compile_ir=compile_ir)
    monkeypatch.setitem(sys.modules, NVVM, nvvm)
    with cuda_without_fused_operations():
        assert nvvm.compile_ir("ir", opt=3) == ("ir", {"opt": 3, "fma": False})
    assert nvvm.compile_ir is compile_ir


def test_a_gpu_that_would_round_otherwise_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, NVVM, SimpleNamespace())
    with pytest.raises(EngineError, match="engine='cuda' needs a version of numba-cuda that rotting knows, got "):
        cuda_without_fused_operations().__enter__()


def test_a_gpu_plays_without_the_saving_on_indices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, ARRAYS, SimpleNamespace())
    with pytest.warns(RuntimeWarning, match="games on the GPU take longer"), cuda_without_negative_indices():
        pass


def test_where_nothing_may_be_compiled_auto_means_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "_is_worth_a_gpu", lambda *_: True)
    games: Any = {"policies": make("ucb1"), "problem": PROBLEM, "horizon": 10, "runs": 2}
    expected = simulate(**games)
    assert simulate(**games, engine="auto", compile="never") == expected
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    monkeypatch.setenv("ROTTING_COMPILE", "never")
    assert simulate(**games, engine="auto") == expected
    modes: Any = [("compile", "never"), ("ROTTING_COMPILE", "auto")]
    for name, compile in modes:
        with pytest.raises(InvalidValueError, match=f"^{name} must be 'auto' or 'now' on a GPU, got 'never'"):
            simulate(**games, engine="cuda", compile=compile)


def test_an_array_is_copied_to_the_device_before_its_owner_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy on a stream may read the array later, when its memory is used for something else."""
    pending: list[Any] = []
    copied: list[Any] = []

    class Stream:
        def synchronize(self) -> None:
            copied.extend(array.tolist() for array in pending)
            pending.clear()

    def to_device(array: Any, stream: Any) -> Any:
        pending.append(array)
        return array

    monkeypatch.setattr(cuda_device, "cuda", SimpleNamespace(to_device=to_device))
    array = np.arange(3)
    cuda_device.Device.__new__(cuda_device.Device).put(array, Stream())
    array[:] = 9
    assert (copied, pending) == ([[0, 1, 2]], [])
