"""The same games on every engine that is there: threads, a GPU, a cluster of this machine's processes."""

import dataclasses
import time
from contextlib import nullcontext
from importlib.util import find_spec
from typing import Any

import rotting
from benchmarks.measure import Contestant, Sample, Size, UnavailableError
from benchmarks.ours import SEED, named, tuple_of
from rotting.experiments import rested_two_arms
from rotting.policy import Policy
from rotting.problems import two_arms
from rotting.simulation.plan import Simulation
from rotting.simulation.simulate import default_workers, simulate_all

HORIZON = 10_000
POLICIES: dict[str, Policy] = {
    "EffRAWUCB(m=2)": rotting.EffRAWUCB(m=2.0),
    "RAWUCB": rotting.RAWUCB(),
    "UCB1": rotting.UCB1(),
    "FEWA": rotting.FEWA(),
    "Uniform": rotting.Uniform(),
}
RUNS = {"tiny": 3, "quick": 10_000, "full": 30_000}  # seconds on a few CPUs: a cluster takes a tenth of one to begin
RUNS_ON_A_GPU = {"tiny": 3, "quick": 300_000, "full": 1_000_000}
SLOW_ON_A_GPU = {"FEWA": 100_000}  # runs: its states are large, and each of its rounds reads much of them
COMPARED = 3  # runs whose pulls are compared


def _needs(engine: str) -> None:
    """Refuse an engine that is not there."""
    if engine == "dask" and find_spec("distributed") is None:
        raise UnavailableError("distributed is not installed")
    if engine == "cuda":
        from rotting.engines.cuda_device import why_no_gpu  # noqa: PLC0415 - an extra

        missing = why_no_gpu()
        if missing is not None:
            raise UnavailableError(str(missing))


def _cluster() -> Any:
    """Return the client of a cluster of this machine's CPUs."""
    import distributed  # noqa: PLC0415 - an extra

    client: Any = distributed.Client
    return client(n_workers=default_workers(), threads_per_worker=1, dashboard_address=None)


def game(label: str, engine: str, size: Size) -> Contestant:
    """Return games of one policy on one engine, timed by the clock, from the call to the result; compiling is not timed."""
    policy, horizon = POLICIES[label], min(HORIZON, size.rounds)
    problem = two_arms(L=1.0, horizon=horizon)
    runs = RUNS[size.name]
    if engine == "cuda":
        runs = min(RUNS_ON_A_GPU[size.name], SLOW_ON_A_GPU.get(label, RUNS_ON_A_GPU[size.name]))

    def play() -> Sample:
        _needs(engine)
        games: Any = {"policies": policy, "problem": problem, "seed": SEED, "checkpoints": [horizon], "progress": False}
        cluster: Any = _cluster() if engine == "dask" else nullcontext(engine)
        with cluster as playing:
            rotting.simulate(runs=COMPARED, engine=playing, **games)
            if engine == "dask":
                playing.run(rotting.simulate, runs=COMPARED, **games)  # on every worker
            began = time.perf_counter()
            result = rotting.simulate(runs=runs, engine=playing, **games)
            seconds = time.perf_counter() - began
        pulls = tuple_of(result.pulls[0, :COMPARED])
        return Sample(seconds * 1e6 / (runs * horizon), seconds, named(policy.name, problem, horizon), pulls)

    return play


def figure(size: Size) -> Contestant:
    """Return the paper's rested figure in full: 30 drops, 8 policies, 2,000 runs each, on the GPU."""
    settings = rested_two_arms.SIZES["full"]
    if size.name == "tiny":
        settings = dataclasses.replace(settings, drops=settings.drops[:1], horizon=size.slow_rounds, runs=2)

    def games(runs: int) -> list[Simulation]:
        T, sigma = settings.horizon, rested_two_arms.SIGMA
        return [
            Simulation(
                tuple(rested_two_arms.policies(L, T).values()),
                two_arms(L, T, sigma),
                runs=runs,
                seed=settings.seed,
                checkpoints=None if L in settings.curves else (T,),
            )
            for L in settings.drops
        ]

    def play() -> Sample:
        _needs("cuda")
        simulate_all(games(1)[:1], engine="cuda", progress=False)
        began = time.perf_counter()
        results = simulate_all(games(settings.runs), engine="cuda", progress=False)
        seconds = time.perf_counter() - began
        rounds = sum(len(each.policies) * each.runs * each.horizon for each in results)
        return Sample(seconds * 1e6 / rounds, seconds)

    return play


def contestants(size: Size) -> dict[str, Contestant]:
    """Return every policy on every engine, and the figure."""
    found = {f"{label}, {engine}": game(label, engine, size) for label in POLICIES for engine in ("threads", "cuda", "dask")}
    return {**found, "the paper's rested figure, cuda": figure(size)}
