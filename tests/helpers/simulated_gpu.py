"""Games on Numba's GPU simulator, in a process of its own: it must be enabled before Numba is imported.

`python -m tests.helpers.simulated_gpu NAME` runs one of the functions below and prints what it returns as JSON.
"""

import importlib
import inspect
import json
import os
import subprocess
import sys
import tempfile
import weakref
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

PATCH = pytest.MonkeyPatch()  # for as long as the process lives


def on_simulated_gpu(name: str) -> Any:
    """Run a function of this module in a process that simulates a GPU and compiles nothing; return its result."""
    simulated = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-m", "tests.helpers.simulated_gpu", name]
    done = subprocess.run(command, env=simulated, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def every_policy() -> dict[str, bool]:
    """Return, for each policy, whether its games are the same as on the CPU."""
    from rotting.simulation.simulate import simulate
    from tests.helpers.gpu_games import PROBLEM, players

    found = {}
    for policy in players(40):
        games: Any = {"problem": PROBLEM, "horizon": 40, "runs": 3, "seed": 7}
        found[policy.name] = simulate(policy, **games) == simulate(policy, engine="cuda", **games)
    return found


def every_noise() -> dict[str, bool]:
    """Return, for each noise, whether its rewards are the same as on the CPU."""
    from rotting.registry import make
    from rotting.simulation.simulate import simulate
    from tests.helpers.gpu_games import NOISES, problem

    found = {}
    for noise in NOISES:
        games: Any = {"policies": make("ucb1"), "problem": problem(noise), "horizon": 30, "runs": 2}
        found[repr(noise)] = simulate(**games) == simulate(engine="cuda", **games)
    return found


def arms_with_a_memory() -> dict[str, bool]:
    """Return, for each problem without visits and delays, whether its games are the same as on the CPU."""
    from rotting.registry import make
    from rotting.simulation.simulate import simulate
    from tests.simulation.engines.test_memories import PROBLEMS

    found = {}
    for name, problem in PROBLEMS.items():
        if not problem.has_dynamic_arms:
            games: Any = {"policies": make("raw-ucb"), "problem": problem, "runs": 3, "seed": 7}
            found[name] = simulate(**games) == simulate(engine="cuda", **games)
    return found


def fused_operations() -> str:
    """Return the error for a GPU whose code rounds a product and a sum once, not twice."""
    from fractions import Fraction

    from rotting.errors import EngineError
    from rotting.simulation.engines import cuda_device
    from rotting.simulation.engines.cuda import Cuda

    def multiply_and_add(numbers: Any) -> None:
        numbers[2] = float(Fraction(float(numbers[0])) ** 2 + Fraction(float(numbers[1])))

    PATCH.setattr(cuda_device, "_multiply_and_add", multiply_and_add)
    try:
        Cuda()
    except EngineError as error:
        return str(error)
    return ""


def full_states() -> list[Any]:
    """Return how often states are enlarged, of how many runs at most, and whether the games equal the CPU's."""
    from rotting.registry import make
    from rotting.simulation.engines import cuda
    from rotting.simulation.simulate import simulate
    from tests.helpers.gpu_games import PROBLEM

    times = []
    enlarge = cuda._Batch._enlarge

    def counted(batch: Any, left: Any) -> None:
        times.append(len(left))
        enlarge(batch, left)

    PATCH.setattr(cuda, "small_capacity", lambda n_arms, rounds: 3)
    PATCH.setattr(cuda._Batch, "_enlarge", counted)
    games: Any = {"policies": make("raw-ucb"), "problem": PROBLEM, "horizon": 150, "runs": 4}
    same = simulate(**games) == simulate(engine="cuda", **games)
    return [len(times), max(times), same]


class _Memory:
    """The memory of a GPU: unused arrays are freed by `release`; if no memory is left, CUDA's own error is raised."""

    def __init__(self) -> None:
        from rotting.simulation.engines.cuda_device import Device

        self._total = self._used = self._unused = 0
        self.launches: list[tuple[int, int]] = []  # runs, and what is used
        put, release, launch = Device.put, Device.release, Device.launch

        def counted_put(device: Any, array: Any, stream: Any) -> Any:
            made = put(device, array, stream)
            self._used += array.nbytes
            weakref.finalize(made, self._lose, array.nbytes)
            if self._used > self._total:
                raise RuntimeError("CUDA_ERROR_OUT_OF_MEMORY")
            return made

        def counted_release(device: Any) -> None:
            release(device)
            self._used, self._unused = self._used - self._unused, 0

        def counted_launch(device: Any, kernel: Any, runs: int, *rest: Any) -> None:
            self.launches.append((runs, self._used))
            launch(device, kernel, runs, *rest)

        PATCH.setattr(Device, "put", counted_put)
        PATCH.setattr(Device, "release", counted_release)
        PATCH.setattr(Device, "launch", counted_launch)
        PATCH.setattr(Device, "free_bytes", lambda device: float(self._total - self._used))

    def _lose(self, size: int) -> None:
        self._unused += size

    def set(self, total: int) -> None:
        """Simulate a new GPU with `total` bytes."""
        self._total, self._used, self._unused = total, 0, 0
        self.launches.clear()


def full_states_on_a_full_gpu() -> list[Any]:
    """Return the runs per launch with much and with little memory, whether they equal the CPU's, and the error if none fits."""
    from rotting.errors import EngineError
    from rotting.registry import make
    from rotting.simulation.engines import cuda
    from rotting.simulation.simulate import simulate
    from tests.helpers.gpu_games import PROBLEM

    PATCH.setattr(cuda, "small_capacity", lambda n_arms, rounds: 3)
    memory = _Memory()
    games: Any = {"policies": make("raw-ucb"), "problem": PROBLEM, "horizon": 100, "checkpoints": [100]}
    on_cpu = simulate(runs=6, **games)
    found = []
    total = 10**9
    for _ in range(2):
        memory.set(total)
        same = simulate(runs=6, engine="cuda", **games) == on_cpu
        found.append([[runs for runs, _ in memory.launches], same])
        total = int(memory.launches[0][1] / 0.85)  # enough for the first launch
    try:
        memory.set(10**9)
        simulate(runs=1, engine="cuda", **games)
        memory.set(int(memory.launches[0][1] / 0.85))
        simulate(runs=1, engine="cuda", **games)
    except EngineError as error:
        return [*found, str(error)]
    return [*found, None]


def little_memory() -> list[Any]:
    """Play in several batches; return their sizes, whether they equal the CPU's, and the errors if not even one run fits."""
    from rotting.errors import EngineError
    from rotting.registry import make
    from rotting.simulation.engines import cuda
    from rotting.simulation.engines.cuda_device import Device
    from rotting.simulation.simulate import simulate
    from tests.helpers.gpu_games import PROBLEM

    sizes = []
    begin = cuda._Batch.__init__

    def counted(batch: Any, device: Any, table: Any, tasks: Any) -> None:
        sizes.append(sum(task.runs for task in tasks))
        begin(batch, device, table, tasks)

    PATCH.setattr(cuda._Batch, "__init__", counted)
    games: Any = {"policies": make("ucb1"), "problem": PROBLEM, "horizon": 20, "runs": 10}
    per_run = []
    room = cuda._SharedByRuns.room

    def three_runs(table: Any) -> float:
        per_run.append(table.bytes_per_run)
        return min(room(table), 3.9)

    PATCH.setattr(cuda._SharedByRuns, "room", three_runs)
    same = simulate(**games) == simulate(engine="cuda", **games)
    PATCH.setattr(cuda._SharedByRuns, "room", room)
    messages = []
    for free, page in ((100.0, 0), (1e9, 10**8)):
        PATCH.setattr(Device, "free_bytes", lambda device, free=free: free)
        PATCH.setattr(Device, "page_bytes", page)
        try:
            simulate(engine="cuda", **games)
        except EngineError as error:
            messages.append(str(error))
    return [sizes, same, *messages]


def kept_and_cancelled() -> list[Any]:
    """Return the runs played beside kept ones, whether all equal the CPU's, and the progress of a game that was closed."""
    from rotting.common.progress import Progress
    from rotting.registry import make
    from rotting.simulation.engines.cuda import Cuda
    from rotting.simulation.engines.task import cut
    from rotting.simulation.plan import Simulation
    from rotting.simulation.simulate import simulate
    from tests.helpers.gpu_games import PROBLEM

    games: Any = {"policies": make("ucb1"), "problem": PROBLEM, "horizon": 20}
    with tempfile.TemporaryDirectory() as folder:
        simulate(engine="cuda", runs=5, keep=folder, **games)
        launched = []
        from rotting.simulation.engines.cuda_device import Device

        launch = Device.launch

        def counted(device: Any, kernel: Any, runs: int, *rest: Any) -> None:
            launched.append(runs)
            launch(device, kernel, runs, *rest)

        PATCH.setattr(Device, "launch", counted)
        same = simulate(engine="cuda", runs=8, keep=folder, **games) == simulate(runs=8, **games)
        bar = Progress(100, show=False)
        (game,), _ = Simulation(make("ucb1"), PROBLEM, horizon=20).games()
        playing = Cuda().play([cut(game, 5)], bar)
        next(playing)
        playing.close()
    return [launched[0], same, bar.done]


def progress() -> list[int]:
    """Return the progress after each launch of five runs of 20 rounds: first 4 rounds at once, then one by one."""
    from rotting.common.progress import Progress
    from rotting.registry import make
    from rotting.simulation.engines import cuda
    from rotting.simulation.engines.task import cut
    from rotting.simulation.plan import Simulation
    from tests.helpers.gpu_games import PROBLEM

    counted = []

    class Noted(Progress):
        def advance(self, amount: int = 1) -> None:
            super().advance(amount)
            if amount > 0:  # else nothing was played since the last look
                counted.append(self.done)

    PATCH.setattr(cuda, "_FIRST_ROUNDS", 4)
    PATCH.setattr(cuda, "_LAUNCH_SECONDS", 0.0)  # no launch is short enough: the next one has as few rounds as possible
    (game,), _ = Simulation(make("ucb1"), PROBLEM, horizon=20).games()
    list(cuda.Cuda().play([cut(game, 5)], Noted(100, show=False)))
    return counted


def unsupported_features() -> list[Any]:
    """Return whether games with means by a function equal the CPU's, and the errors for games that a GPU cannot play."""
    from rotting.errors import EngineError
    from rotting.problems import FixedDelay, Problem, RandomBreakpoints, Recovering, two_arms
    from rotting.registry import make
    from rotting.simulation.simulate import simulate

    def mean(i: int, t: int, n: int) -> float:
        return 1.0 / (1.0 + 0.1 * i * t + 0.05 * n)

    by_function: Any = {"policies": make("raw-ucb"), "problem": Problem.by_function(mean, 3), "horizon": 40, "runs": 3}
    same = simulate(**by_function) == simulate(engine="cuda", **by_function)
    two = two_arms(horizon=20)
    messages = []
    for more in (
        {"problem": two, "record": "arms"},
        {"problem": RandomBreakpoints(2, 20)},
        {"problem": two.delayed(FixedDelay(3))},
        {"problem": Problem([Recovering(0.9), Recovering(0.5)], horizon=20)},
    ):
        games: Any = {"policies": make("ucb1"), "runs": 2, **more}
        try:
            simulate(engine="cuda", **games)
        except EngineError as error:
            messages.append(str(error))
    return [same, messages]


def foreign_code() -> str:
    """Return the error for a user's policy that reaches outside an array."""
    from rotting.errors import KernelIndexError
    from rotting.simulation.simulate import simulate
    from tests.helpers.bad_policy import Bad
    from tests.helpers.gpu_games import PROBLEM

    try:
        simulate(Bad(), PROBLEM, horizon=10, runs=2, engine="cuda")
    except KernelIndexError as error:
        return str(error)
    return ""


@contextmanager
def _clusters() -> "Iterator[None]":
    """Replace every cluster that a page starts by one thread of this process."""
    import dask.distributed
    import distributed

    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster:
        made: list[Any] = []

        def local(**options: Any) -> Any:
            inspect.signature(distributed.LocalCluster).bind(**options)
            return cluster

        def client(where: Any) -> Any:
            assert where is cluster or isinstance(where, Queue) or where.startswith("tcp://")
            made.append(distributed.Client(cluster))
            return made[-1]

        class Queue(SimpleNamespace):
            def scale(self, jobs: int) -> None:
                assert jobs >= 1

        PATCH.setattr(dask.distributed, "LocalCluster", local)
        PATCH.setattr(dask.distributed, "Client", client)
        PATCH.setitem(sys.modules, "dask_jobqueue", SimpleNamespace(SLURMCluster=Queue))
        try:
            yield
        finally:
            for each in made:  # before their cluster, which they would look for
                each.close()


def page_of_engines() -> list[Any]:
    """Run the programs of docs/engines.md; return their engines, and whether their games equal those of threads."""
    import rotting
    from rotting.simulation.simulate import simulate
    from tests.helpers.blocks import block

    played: list[Any] = []

    def small(policies: Any, problem: Any, **options: Any) -> Any:
        inspect.signature(simulate).bind(policies, problem, **options)
        engine = options["engine"]
        played.append(engine if isinstance(engine, str) else type(engine).__name__)
        return simulate(policies, problem, horizon=20, runs=3, engine=engine)

    PATCH.setattr(rotting, "simulate", small)
    names: dict[str, Any] = {}
    same = []
    with _clusters():
        for start in ("import rotting", "from dask.distributed", "from dask_jobqueue"):
            exec(block("docs/engines.md", start), names)
            same.append(names["result"] == simulate(names["policies"], names["problem"], horizon=20, runs=3))
    return [played, same]


def page_of_a_sweep() -> bool:
    """Return whether the tutorial's sweep on a job queue equals that of threads."""
    import rotting
    from rotting.simulation.sweep import sweep
    from tests.helpers.blocks import block

    def small(policies: Any, problems: Any, **options: Any) -> Any:
        inspect.signature(sweep).bind(policies, problems, **options)
        return sweep(policies, problems, horizon=20, runs=3, engine=options["engine"])

    PATCH.setattr(rotting, "sweep", small)
    policies = [rotting.UCB1()]
    problems = rotting.grid(rotting.problems.two_arms, L=[0.1, 1.0], horizon=100)
    names: dict[str, Any] = {"rotting": rotting, "policies": policies, "problems": problems}
    with _clusters():
        names["Client"] = importlib.import_module("dask.distributed").Client
        exec(block("docs/pages/tutorials/sweep.py", "from dask_jobqueue"), names)
    return bool(names["study"] == sweep(policies, problems, horizon=20, runs=3))


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]]()))
