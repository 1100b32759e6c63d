"""Simulation: paired noise, the same result on any number of workers, exact regret, honest interruption."""

import inspect
import math
import os
import subprocess
import sys
import textwrap
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rotting import problems
from rotting.common import progress
from rotting.errors import SigmaWarning
from rotting.policies.kernels.random_numbers import derive_key
from rotting.policies.ucb1 import UCB1
from rotting.policies.uniform import Uniform
from rotting.policy import Policy
from rotting.problems import Problem, Rested, Restless
from rotting.problems.noise import Bernoulli, Beta, Binomial, Gaussian, Noise, Noiseless, Poisson
from rotting.problems.oracle import GREEDY_TWO_CLOCKS, OPTIMAL, greedy_rewards
from rotting.registry import make
from rotting.simulation.engines.chunk_store import ChunkStore
from rotting.simulation.engines.game import _POLL, CANCEL, DONE, bind_game
from rotting.simulation.plan import Simulation
from rotting.simulation.result import Result
from rotting.simulation.simulate import simulate, simulate_all
from tests.conftest import INTERPRETED, STRESS

HORIZON, RUNS = (60, 3) if INTERPRETED else (500, 20)
FOUR = [make("raw-ucb"), make("eff-raw-ucb"), make("fewa"), make("eff-fewa")]


@pytest.fixture(scope="module")
def two_arms() -> Problem:
    return problems.two_arms(L=1.0, horizon=HORIZON)


@pytest.mark.parametrize("workers", [2, 7])
def test_any_number_of_workers_gives_the_same_result(two_arms: Problem, workers: int) -> None:
    policies = [*FOUR, make("uniform"), make("ucb1")]
    one = simulate(policies, two_arms, runs=RUNS, seed=3, workers=1)
    assert simulate(policies, two_arms, runs=RUNS, seed=3, workers=workers) == one


def test_a_second_simulation_equals_the_first_and_seeds_differ(two_arms: Problem) -> None:
    first, second = (simulate(FOUR, two_arms, runs=RUNS, seed=3) for _ in range(2))
    assert first == second
    assert simulate(FOUR, two_arms, runs=RUNS, seed=4) != first


def test_a_result_depends_on_no_other_policy_and_no_other_run(two_arms: Problem) -> None:
    together = simulate([*FOUR, make("uniform")], two_arms, runs=RUNS, seed=1)
    alone = simulate(make("uniform"), two_arms, runs=RUNS - 1, seed=1)
    assert np.array_equal(together.regret[-1, :-1], alone.regret[0])


def test_the_bar_counts_the_rounds_of_every_policy_run_and_game(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """3 policies for 2 runs of 10 rounds, and 1 policy for 5 runs of 7: 60 and 35 rounds."""
    first = Simulation(tuple(FOUR[:3]), problems.two_arms(L=1.0, horizon=10), runs=2)
    second = Simulation(FOUR[0], problems.two_arms(L=1.0, horizon=7), runs=5)
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    simulate_all([first, second], progress=True)
    assert "| 95/95 [" in capsys.readouterr().err.splitlines()[-1]


def replay(policy: Policy, problem: Problem, horizon: int, run: int, seed: int) -> tuple[list[float], list[int]]:
    """The obvious loop, with exact sums: mean collected at each round, and the arms pulled."""
    kernel, noise = policy.kernel, problem.noise
    key = derive_key(seed, "noise")
    state = kernel.init(policy.params, problem.n_arms, horizon)
    arms = np.arange(problem.n_arms)
    pulls = [0] * problem.n_arms
    means, chosen = [], []
    on_rounds = problem.means(horizon).on_rounds
    for t in range(1, horizon + 1):
        i = int(kernel.choose(policy.params, state, t, 0, arms))
        mean = problem.mean(i, t, pulls[i])
        clock = t - 1 if on_rounds[i] else pulls[i]
        kernel.update(policy.params, state, t, i, noise.draw(mean, noise.scale, key, run, i, clock))
        pulls[i] += 1
        means.append(mean)
        chosen.append(i)
    return means, chosen


MIXED = Problem([Rested(problems.Linear(1.0, -0.01)), Restless(problems.Exponential(0.9, 0.02))], noise=Gaussian(0.3))
GAMES = [
    problems.two_arms(L=2.0, horizon=120),
    Problem.restless([problems.Abrupt(0.9, 0.1, 40), 0.5, problems.Linear(0.8, -0.003)], noise=Bernoulli()),
    Problem.rested([[3.0] * 50 + [1.0] * 70, [2.0] * 120], noise=Binomial(4)),
    Problem.restless([0.5, 0.4], noise=Beta(3.0)),
    Problem.rested([5.0, problems.Abrupt(6.0, 1.0, 20)], noise=Poisson()),
    Problem.rested([1e6, problems.Abrupt(1e6 + 1, 1e6 - 1, 20)], noise=Noiseless()),
    MIXED,
]


# To compile every policy for every noise takes long: one is compiled for all of them, the others for three.
PLAYED = [("ucb1", game) for game in range(len(GAMES))]
PLAYED += [
    (name, game) for name in ("raw-ucb", "eff-fewa") for game in (range(len(GAMES)) if INTERPRETED or STRESS else (0, 1, 6))
]


@pytest.mark.parametrize(("name", "game"), PLAYED)
def test_regret_and_pulls_equal_the_obvious_loop(name: str, game: int) -> None:
    from rotting.problems.oracle import optimal_rewards

    problem = GAMES[game]
    horizon = 120
    result = simulate(make(name), problem, horizon=horizon, runs=2, seed=5, checkpoints=range(1, horizon + 1))
    best = optimal_rewards(problem, horizon).cumulative
    for run in range(2):
        means, chosen = replay(make(name), problem, horizon, run, 5)
        assert result.pulls[0, run].tolist() == [chosen.count(i) for i in range(problem.n_arms)]
        for t in (1, 7, 60, horizon):
            exact = math.fsum([best[t - 1], *(-mean for mean in means[:t])])
            assert result.regret[0, run, t - 1] == exact


def test_noise_is_paired() -> None:
    """The n-th pull of a rested arm pays the same to every policy."""
    result = simulate([make("ucb1"), make("uniform")], Problem.rested([0.0], horizon=HORIZON), runs=RUNS, record="rewards")
    assert result.rewards is not None
    assert np.array_equal(result.rewards[0], result.rewards[1])


def test_greedy_oracle_has_no_regret_where_it_is_optimal(two_arms: Problem) -> None:
    for problem in (two_arms, GAMES[1]):
        result = simulate(make("greedy-oracle"), problem, horizon=60, runs=2)
        assert result.reference == OPTIMAL
        assert np.abs(result.regret).max() < 1e-12
    collected = greedy_rewards(MIXED, 60)
    result = simulate(make("greedy-oracle"), MIXED, horizon=60, runs=1, checkpoints=[60])
    assert result.regret[0, 0, 0] >= 0
    assert collected[-1] > 0


def test_a_greedy_reference_is_labelled() -> None:
    problem = Problem([problems.Sum(problems.Linear(0.5, -1e-3), problems.Linear(0.5, -1e-4)) for _ in range(6)], horizon=100)
    assert simulate(make("ucb1"), problem, runs=1).reference == GREEDY_TWO_CLOCKS


@pytest.mark.slow
def test_the_rested_benchmark_has_the_size_and_order_of_the_paper() -> None:
    """L = 0.3, T = 10,000: tens to a few hundred, and RAW-UCB(1.4) < RAW-UCB(4) < FEWA(4), each gap beyond its interval."""
    policies = [make("raw-ucb", alpha=1.4), make("raw-ucb", alpha=4), make("fewa", alpha=4)]
    problem = problems.two_arms(L=0.3, horizon=10_000)
    result = simulate(policies, problem, runs=200, seed=0, checkpoints=[10_000])
    means = result.regret[:, :, -1].mean(axis=1)
    assert (means > 20).all()
    assert (means < 500).all()
    better, _, worse = result.compare(against=1).rows
    assert better["difference_high"] < 0 < worse["difference_low"]


def test_checkpoints() -> None:
    problem = problems.two_arms(horizon=50)
    assert simulate(make("ucb1"), problem, runs=1, checkpoints=[7, 3, 7]).checkpoints.tolist() == [3, 7, 50]
    assert simulate(make("ucb1"), problem, runs=1).checkpoints.tolist() == list(range(1, 51))
    assert simulate(make("ucb1"), problem, horizon=1, runs=1).checkpoints.tolist() == [1]
    for dtype in (np.int64, np.uint8, np.uint64):
        marks = np.array([7, 3, 7], dtype)
        assert simulate(make("ucb1"), problem, runs=1, checkpoints=marks).checkpoints.tolist() == [3, 7, 50]
    assert simulate(make("ucb1"), problem, runs=1, checkpoints=np.arange(0)).checkpoints.tolist() == [50]


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"runs": 0}, ValueError, "runs must be a whole number, 1 or more, got 0"),
        ({"runs": 1.5}, ValueError, "runs must be a whole number, 1 or more, got 1.5"),
        ({"horizon": 0}, ValueError, "horizon must be .* got 0"),
        ({"horizon": -5}, ValueError, "horizon must be .* got -5"),
        ({"seed": -1}, ValueError, "seed must be a whole number, 0 or more, got -1"),
        ({"workers": 0}, ValueError, "workers must be a whole number, 1 or more, got 0"),
        ({"checkpoints": [0]}, ValueError, "checkpoints must be a whole number, 1 or more, got 0"),
        ({"checkpoints": np.arange(5)}, ValueError, "checkpoints must be a whole number, 1 or more, got 0"),
        ({"checkpoints": np.array([5, 10**9])}, ValueError, "checkpoints must be at most the horizon"),
        ({"checkpoints": np.array([1.5])}, ValueError, "checkpoints must be a whole number, 1 or more, got .*1.5"),
        ({"checkpoints": [10**9]}, ValueError, "checkpoints must be at most the horizon"),
        ({"policies": "raw-ucb"}, TypeError, "policies must be policies such as .* got 'raw-ucb'"),
        ({"policies": type(make("ucb1"))}, TypeError, "policies must be policies such as .* got <class"),
        ({"policies": []}, ValueError, "policies must hold at least one policy, got none"),
        ({"policies": ["raw-ucb"]}, TypeError, "policies must be policies such as .* got 'raw-ucb'"),
        ({"problem": "two-arms"}, TypeError, "problem must be a Problem .* got str"),
        (
            {"engine": "thread"},
            ValueError,
            "engine must be one of threads, .*, got 'thread'; did you mean 'threads'",
        ),
        ({"first_run": -1}, ValueError, "first_run must be a whole number, 0 or more, got -1"),
        ({"first_run": 2**32}, ValueError, r"first_run \+ runs must be at most 4294967296, got \d+"),
        (
            {"engine": None},
            ValueError,
            "engine must be one of threads, .*, got None",
        ),
        (
            {"engine": ["threads"]},
            ValueError,
            r"engine must be one of threads, .*, got \['threads'\]",
        ),
    ],
)
def test_bad_input(two_arms: Problem, arguments: dict[str, object], error: type[Exception], words: str) -> None:
    given: dict[str, object] = {"policies": make("ucb1"), "problem": two_arms, "runs": 1, **arguments}
    with pytest.raises(error, match=words):
        simulate(**given)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize("build", ["rested", "restless"])
def test_a_long_game_starts_in_little_memory_and_ctrl_c_ends_it(build: str) -> None:
    """Of 10**9 rounds, which take minutes: nothing grows with them before the game, and the next simulation is right."""
    script = textwrap.dedent(f"""
        import os, resource, signal, sys, threading, rotting
        from rotting.simulation.engines import threads
        from rotting.problems import Abrupt, Problem

        def peak():
            unit = 1 if sys.platform == "darwin" else 1024
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit

        def submit_and_interrupt(pool, *task):
            submit(pool, *task)
            print("playing")
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()

        policy = rotting.UCB1()
        rotting.simulate(policy, Problem.rested([0.5, 0.4], horizon=10), runs=1)
        submit, threads._Pool.submit = threads._Pool.submit, submit_and_interrupt
        before = peak()
        problem = Problem.{build}([Abrupt(0.9, 0.1, at=3 * 10**8), Abrupt(0.5, 0.2, at=5 * 10**8)], horizon=10**9)
        try:
            rotting.simulate(policy, problem, runs=1)
        except KeyboardInterrupt:
            threads._Pool.submit = submit
            again = rotting.simulate(policy, problem, horizon=100, runs=3)
            print("interrupted", int(again.pulls.sum()), "lean" if peak() - before < 100e6 else peak() - before)
    """)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.split() == ["playing", "interrupted", "300", "lean"], done.stderr


@pytest.mark.parametrize("pressed", [True, False])
def test_ctrl_c_that_a_lock_turns_into_another_error_is_ctrl_c(monkeypatch: pytest.MonkeyPatch, pressed: bool) -> None:
    def submit(*task: object) -> None:
        try:
            if pressed:
                raise KeyboardInterrupt
        finally:  # as the exit of a lock that the signal has left unlocked
            threading.Lock().release()

    monkeypatch.setattr(ThreadPoolExecutor, "submit", submit)
    error, words = (KeyboardInterrupt, "no games are kept") if pressed else (RuntimeError, "release unlocked lock")
    with pytest.raises(error, match=words):
        simulate(make("ucb1"), PROBLEM, runs=1)


def test_a_result_survives_saving(two_arms: Problem, tmp_path: object) -> None:
    from pathlib import Path

    result = simulate([make("ucb1"), make("uniform")], two_arms, runs=2)
    folder = Path(str(tmp_path)) / "result"
    result.save(folder)
    assert Result.load(folder) == result


PROBLEM = Problem.rested([1.0, 0.0], horizon=12)


def test_games_and_simulate_have_the_same_defaults() -> None:
    arguments = inspect.signature(simulate).parameters
    for name, argument in inspect.signature(Simulation).parameters.items():
        assert argument.default == arguments[name].default, name
    assert (Simulation(UCB1(), PROBLEM).runs, Simulation(UCB1(), PROBLEM).seed) == (100, 0)
    assert simulate(UCB1(), PROBLEM, runs=1).seed == 0


@pytest.mark.parametrize(
    ("policy", "noise", "warns"),
    [
        (UCB1(), Gaussian(0.4), True),
        (UCB1(), Gaussian(2.5), True),
        (UCB1(), Gaussian(0.5), False),
        (UCB1(sigma=1.0), Gaussian(0.4), False),
        (UCB1(sigma="estimate"), Gaussian(0.4), False),
        (UCB1(), Noiseless(), False),
        (UCB1(), Poisson(), False),
    ],
)
def test_a_sigma_that_was_left_at_its_default_far_from_the_noise_gets_a_warning(
    policy: Policy, noise: Noise, warns: bool
) -> None:
    problem = Problem.rested([0.5, 0.4], noise, 10)
    with warnings.catch_warnings(record=True, action="always") as caught:
        simulate([policy, policy, Uniform()], problem, runs=1)
    scale = noise.subgaussian_scale
    told = (
        f"the noise has sigma = {scale}, which was not given to UCB1(sigma=1.0): pass sigma={scale}, or the one that you mean"
    )
    assert [(each.category, str(each.message), each.filename) for each in caught] == [(SigmaWarning, told, __file__)] * warns


def last_line(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err.splitlines()[-1]


def test_the_last_line_says_nothing_of_compiling(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    simulate([UCB1(), Uniform()], PROBLEM, runs=2, progress=True)
    line = last_line(capsys)
    assert "| 48/48 [" in line
    assert "compiling" not in line


def test_games_that_were_kept_count_as_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    for _ in range(2):
        simulate(UCB1(), PROBLEM, runs=3, progress=True, keep=tmp_path)
        assert "| 36/36 [" in last_line(capsys)


def workers() -> list[threading.Thread]:
    """The threads of engines. That of the compiler ends when it had no job for two seconds, whoever sent the last one."""
    own = [each for each in threading.enumerate() if each.name.startswith("rotting")]
    return [each for each in own if each.name != "rotting-compiling"]


def test_the_time_of_a_round_is_that_of_all_chunks_over_all_rounds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, two_arms: Problem
) -> None:
    chunks: list[Any] = []
    monkeypatch.setattr(ChunkStore, "write", lambda self, digest, chunk: chunks.append(chunk))
    result = simulate(UCB1(), two_arms, runs=RUNS, keep=tmp_path)
    assert sum(len(each.regret) for each in chunks) == RUNS
    seconds = sum(each.seconds for each in chunks)
    assert result.us_per_round.tolist() == pytest.approx([seconds * 1e6 / (RUNS * HORIZON)])


def test_no_thread_outlives_a_simulation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nor one that fails, here on its last step: the error holds on to all that was under way."""
    simulate(UCB1(), PROBLEM, runs=20, workers=4)
    assert workers() == []

    def fail(*_: Any) -> None:
        raise MemoryError("none left")

    monkeypatch.setattr(ChunkStore, "write", fail)
    with pytest.raises(MemoryError, match="none left") as caught:
        simulate(UCB1(), PROBLEM, runs=20, workers=4, keep=tmp_path)
    assert caught.tb is not None
    assert workers() == []


@pytest.mark.parametrize("horizon", [5, _POLL - 1, _POLL, _POLL + 3])
def test_every_round_is_counted_and_a_game_that_is_cancelled_stops(horizon: int) -> None:
    problem = Problem.restless([1.0], Noiseless(), horizon=horizon)
    game = bind_game(Uniform(), problem.noise)
    marks, optimal = np.array([horizon]), np.array([float(horizon)])

    def played(signal: Any) -> int:
        pulls = np.zeros((1, 1), np.int64)
        game(Uniform().params, problem.means(horizon), 0.0, 1, 2, 0, marks, optimal, np.zeros((1, 1)), pulls, (), signal)
        return int(pulls.sum())

    signal = np.zeros(2, np.int64)
    assert played(signal) == signal[DONE] == horizon
    signal = np.zeros(2, np.int64)
    signal[CANCEL] = 1
    assert played(signal) == signal[DONE] == 0


def test_games_that_this_process_played_for_an_earlier_simulation_keep_their_time(tmp_path: Path) -> None:
    store = ChunkStore(tmp_path)
    simulation = Simulation(UCB1(), problems.two_arms(horizon=40), runs=3)
    first, second = (simulate_all([simulation], keep=store)[0] for _ in range(2))
    assert second.us_per_round.tolist() == pytest.approx(first.us_per_round.tolist())
    other = simulate_all([simulation], keep=ChunkStore(tmp_path))[0]
    assert np.isnan(other.us_per_round).all()
