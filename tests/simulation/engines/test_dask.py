"""The engine of a cluster: the result of threads bit for bit, whoever dies; nothing twice, and nothing left behind."""

import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

distributed = pytest.importorskip("distributed")

from rotting import problems  # noqa: E402
from rotting.common.progress import Progress  # noqa: E402 - after the check that it is there
from rotting.errors import EngineError, InvalidValueError  # noqa: E402
from rotting.problems import Problem, ProblemFamily, RandomBreakpoints, two_arms  # noqa: E402
from rotting.registry import make  # noqa: E402
from rotting.simulation.engines import dask as engine  # noqa: E402
from rotting.simulation.engines import task as task_module  # noqa: E402
from rotting.simulation.engines.chunk_store import ChunkStore  # noqa: E402
from rotting.simulation.engines.dask import Dask, connect, play_on_worker  # noqa: E402
from rotting.simulation.engines.task import Game, Task, cut, take  # noqa: E402
from rotting.simulation.engines.threads import Threads  # noqa: E402
from rotting.simulation.plan import Simulation  # noqa: E402
from rotting.simulation.simulate import simulate, simulate_all  # noqa: E402
from tests.helpers.games import some  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own, of sockets and event loops that are being closed
POLICIES = (make("ucb1"), make("uniform"))
HORIZON = 60
PROBLEM = two_arms(L=1.0, horizon=HORIZON)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as made,
    ):
        yield made


def bar() -> Progress:
    return Progress(1, show=False)


def game(horizon: int = 60) -> Game:
    return Simulation(POLICIES[0], two_arms(L=1.0, horizon=horizon), seed=3).games()[0][0]


def test_the_result_is_that_of_threads(client: Any) -> None:
    games: Any = {"policies": POLICIES, "problem": PROBLEM, "runs": 50, "seed": 3}
    expected = simulate(**games)
    assert simulate(engine=client, **games) == expected
    assert simulate(engine="dask", **games) == expected  # the current client's cluster


BEYOND: tuple[dict[str, Any], ...] = (
    {"problem": RandomBreakpoints(3, 60)},
    {"problem": PROBLEM.delayed(problems.GeometricDelay(5, lost=0.1))},
    {
        "problem": Problem(
            [
                problems.Recovering(problems.Linear(0.0, slope=0.01), fresh=0.6),
                problems.Visiting(problems.Rested(0.3), first=9, last=30),
            ],
            horizon=60,
        )
    },
    {"problem": PROBLEM, "record": ("arms", "rewards")},
    {
        "problem": Problem(
            [*problems.rebounding().arms[:2], problems.autoregressive().arms[0], problems.Rested(0.3)], horizon=60
        )
    },
)


@pytest.mark.parametrize("games", some(BEYOND, 1), ids=lambda games: repr(games["problem"])[:24])
def test_games_that_are_more_than_a_table_are_those_of_threads(client: Any, games: dict[str, Any]) -> None:
    assert simulate(POLICIES, engine=client, runs=20, seed=3, **games) == simulate(POLICIES, runs=20, seed=3, **games)


def test_a_function_that_draws_problems_is_not_sent_to_a_cluster(client: Any) -> None:
    family = ProblemFamily(lambda rng: two_arms(L=rng.uniform(0.1, 1.0), horizon=60))
    with pytest.raises(
        InvalidValueError, match="problem must be a family of the library, or of a class with is_value = True, wh"
    ):
        simulate(POLICIES, family, engine=client, runs=20)


def test_a_gpu_of_a_worker_plays_what_it_can_and_threads_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    requested = []

    class Flight:
        rounds = 0

        def submit(self, game: Game, parts: Any, on_gpu: bool) -> None:
            requested.append((on_gpu, len(parts)))

        def finished(self, most: int) -> Iterator[Any]:
            return iter(())

        def close(self) -> None:
            pass

    class FakeClient:
        asynchronous, status = False, "running"

        def nthreads(self) -> dict[str, int]:
            return {"worker": 16}

    client: Any = FakeClient()
    monkeypatch.setattr(engine, "_PendingFutures", lambda *_: Flight())
    monkeypatch.setattr(Dask, "_have_gpus", lambda self, bar: True)
    monkeypatch.setattr(engine, "_CPU_ROUNDS", 1)
    for record in ((), "arms"):
        one = Simulation(POLICIES[0], PROBLEM, record=record).games()[0][0]
        list(Dask(client).play([[Task(one, k, 1) for k in range(40)]], Progress(40 * HORIZON, show=False)))
    on_gpu, on_threads = requested[0], requested[-1]
    assert on_gpu == (True, 10)  # a worker has one GPU, whatever its threads: a fourth of the work
    assert on_threads == (False, 1)


def kernels_of_the_gpu() -> int:
    """Return how many kernels this process has compiled or read for its GPU."""
    from rotting.simulation.engines import cuda_device

    return sum(mark != "fill" for mark in cuda_device._kernels)


@pytest.mark.gpu
def test_gpus_of_workers_play_the_games_of_threads() -> None:
    policies = [*POLICIES, make("eff-raw-ucb")]
    games: Any = {"policies": policies, "problem": two_arms(L=1.0, horizon=1_000), "runs": 2_000, "seed": 3}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, resources={"GPU": 1}, dashboard_address=None) as cluster,
        distributed.Client(cluster) as made,
    ):
        assert simulate(engine=made, **games) == simulate(**games)
        assert all(made.run(kernels_of_the_gpu).values())
        late = games | {"problem": PROBLEM.delayed(problems.GeometricDelay(5, lost=0.1)), "runs": 50}
        assert simulate(engine=made, **late) == simulate(**late)  # on threads of the same workers


def test_every_task_comes_back_once_with_its_own_game(client: Any) -> None:
    tasks = list(cut(game(), 40))
    found = list(Dask(client).play([tasks], bar()))
    assert sorted((task.first_run, task.runs) for task, _ in found) == sorted((task.first_run, task.runs) for task in tasks)
    assert all(task.game is tasks[0].game for task, _ in found)


def test_a_key_stands_for_the_same_runs_of_the_same_game(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    requested: dict[str, set[str]] = {}
    submit = type(client).submit

    def noted(self: Any, function: Any, *rest: Any, key: str, **more: Any) -> Any:
        if function is play_on_worker:
            requested.setdefault(key, set()).add(repr(rest[1:]))
        return submit(self, function, *rest, key=key, **more)

    monkeypatch.setattr(type(client), "submit", noted)
    monkeypatch.setattr(task_module, "_SMALLEST_TASK", 1)
    monkeypatch.setattr(engine, "_CPU_ROUNDS", 2 * HORIZON)
    for runs in (5, 9, 5):
        list(Dask(client).play([cut(game(), runs)], Progress(10**9, show=False)))
    assert len(requested) > 5
    assert all(len(each) == 1 for each in requested.values())
    assert all(re.fullmatch("rotting-[0-9a-f]{64}", key) for key in requested)


def test_the_same_game_may_be_asked_for_twice(client: Any) -> None:
    games: Any = {"policies": [POLICIES[0], POLICIES[0]], "problem": PROBLEM, "runs": 30}
    assert simulate(engine=client, **games) == simulate(**games)
    several = [Simulation(POLICIES[0], PROBLEM, runs=runs) for runs in (20, 40)]
    assert simulate_all(several, engine=client) == simulate_all(several)


@pytest.mark.slow
def test_what_a_worker_stopped_for_another_client_is_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    stops = iter([True, False, True])
    advance = engine._CancelCheck.advance

    def stop(check: Any, amount: int = 1) -> None:
        advance(check, amount)
        if next(stops, False):
            raise engine._CancelledError

    monkeypatch.setattr(engine._CancelCheck, "advance", stop)
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as here,
    ):
        monkeypatch.setattr("distributed.client.default_client", None)  # the engine has a client, and needs no other
        found = list(Dask(here).play([cut(game(), 200)], bar()))
    assert next(stops, None) is None
    assert sorted(run for task, _ in found for run in range(task.first_run, task.end)) == list(range(200))
    expected = {task.first_run + k: row for task, chunk in Threads(1).play([cut(game(), 200)], bar()) for k, row in rows(chunk)}
    assert {task.first_run + k: row for task, chunk in found for k, row in rows(chunk)} == expected


def rows(chunk: Any) -> Iterator[tuple[int, list[float]]]:
    return enumerate(chunk.regret.tolist())


@pytest.mark.parametrize("runs", [1, 2, 6, math.inf])
def test_the_first_tasks_are_taken_up_to_some_runs(runs: float) -> None:
    one = game()
    waiting = deque([Task(one, 0, 1), Task(one, 9, 3), Task(one, 12, 2)])
    taken = take(waiting, runs)
    assert [run for task in (*taken, *waiting) for run in range(task.first_run, task.end)] == [0, 9, 10, 11, 12, 13]
    assert sum(task.runs for task in taken) == min(6, runs)


def scheduled(client: Any) -> list[str]:
    def names(dask_scheduler: Any = None) -> list[str]:
        return [str(key) for key in dask_scheduler.tasks]

    return [key for key in client.run_on_scheduler(names) if key.startswith("rotting")]


def until(condition: Callable[[], bool]) -> None:
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    pytest.fail("it never came")


def until_nothing_is_scheduled(client: Any) -> None:
    until(lambda: not scheduled(client))


def test_closing_leaves_no_work(client: Any) -> None:
    playing = Dask(client).play([cut(game(2_000), 500)], bar())
    next(playing)
    assert scheduled(client)
    playing.close()
    until_nothing_is_scheduled(client)


def test_a_client_that_goes_away_leaves_no_work(client: Any) -> None:
    other = distributed.Client(client.scheduler.address, set_as_default=False)
    playing = Dask(other).play([cut(game(2_000), 500)], bar())
    next(playing)
    assert scheduled(client)
    other.close()  # without a word to the engine
    until_nothing_is_scheduled(client)
    playing.close()


def at_play(client: Any) -> int:
    def executing(dask_worker: Any = None) -> int:
        return int(dask_worker.state.executing_count)

    return sum(client.run(executing).values())


def test_a_game_without_end_ends_when_nobody_waits_for_it(client: Any) -> None:
    until(lambda: at_play(client) == 0)
    endless = Problem([problems.Rested(0.5), problems.Rested(0.4)], horizon=10**11)
    one = Simulation(POLICIES[0], endless, checkpoints=[10**11]).games()[0][0]
    playing = Dask(client).play([[Task(one, 0, 1)]], bar())
    waiting = threading.Thread(target=lambda: list(playing), daemon=True)
    waiting.start()
    until(lambda: at_play(client) == 1 and len(scheduled(client)) == 2)  # the game, and its future
    client.cancel([distributed.Future(key, client) for key in scheduled(client)])
    until(lambda: at_play(client) == 0)


def test_a_client_that_stops_leaves_the_games_that_another_waits_for(client: Any) -> None:
    with distributed.Client(client.scheduler.address, set_as_default=False) as other, ThreadPoolExecutor(1) as pool:
        for moment in range(8):  # at which one stops while the other begins
            one, two = (Dask(each).play([cut(game(100 + moment), 100)], bar()) for each in (client, other))
            next(one)
            played = pool.submit(list, two)
            time.sleep(moment / 400)
            one.close()
            assert sum(task.runs for task, _ in played.result()) == 100


@pytest.mark.slow
def test_killed_workers_change_nothing(tmp_path: Path) -> None:
    games: Any = {"policies": make("ucb1"), "problem": two_arms(L=1.0, horizon=20_000), "runs": 1_000, "seed": 3}
    written: list[str] = []
    with (
        distributed.LocalCluster(n_workers=4, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as four,
        pytest.MonkeyPatch.context() as patch,
    ):
        write = ChunkStore.write

        def counted(store: ChunkStore, key: str, chunk: Any) -> None:
            written.append(key)
            write(store, key, chunk)

        patch.setattr(ChunkStore, "write", counted)
        victims = sorted(four.run(os.getpid).values())

        def kill() -> None:
            for enough, victim in zip((5, 40), victims, strict=False):
                while len(written) < enough:
                    time.sleep(0.01)
                os.kill(victim, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        result = simulate(engine=four, keep=tmp_path, **games)
        killer.join()
        assert len(written) == len(set(written))  # what was finished and stored was not played again
    assert result == simulate(**games)


def test_other_code_on_a_worker_is_told() -> None:
    with pytest.raises(EngineError, match=r"workers must have the code of UCB1\(.*\) .*, of digest abc, got \w+: "):
        play_on_worker(game(), "abc", [(0, 1)], on_gpu=False, compile="now")


def test_a_worker_plays_what_threads_play() -> None:
    one = game()
    found = play_on_worker(one, one.code_digest, [(7, 3)], on_gpu=False, compile="now")
    assert found is not None
    ((first_run, chunk),) = found
    ((_, expected),) = Threads(1).play([[Task(one, 7, 3)]], bar())
    assert first_run == 7
    assert np.array_equal(chunk.regret, expected.regret)


def test_another_version_on_a_worker_is_told(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "__version__", "99.0")
    with pytest.raises(EngineError, match=r"scheduler and workers must have rotting 99\.0, got [\d.]\S* at tcp://"):
        list(Dask(client).play([cut(game(), 2)], bar()))


def test_a_scheduler_that_does_not_answer_is_told() -> None:
    with pytest.raises(EngineError, match=r"scheduler must answer within 0\.2 s, got 'tcp://127\.0\.0\.1:1': "):
        connect("tcp://127.0.0.1:1", timeout=0.2)


SCRIPT = """
import rotting
from distributed import Client, LocalCluster
from typing import NamedTuple
import numpy as np


class State(NamedTuple):
    pulls: np.ndarray


def init(p, n_arms, capacity):
    return State(np.zeros(n_arms, np.int64))


def choose(p, s, t, key, arms):
    return arms[int(s.pulls.sum() + p.first) % arms.size]


def update(p, s, t, arm, reward):
    s.pulls[arm] += 1


class InTurn(rotting.kit.Policy):
    first: float = rotting.kit.parameter(rotting.kit.FINITE, "the arm that begins", default=1.0)
    name = "in-turn-of-a-script"
    kernel = rotting.kit.Kernel(init, choose, update)


games = {"policies": InTurn(), "problem": rotting.problems.two_arms(horizon=50), "runs": 20}
"""


def run_script(tmp_path: Path, end: str) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT + end, "utf-8")
    plain = {**os.environ, "NUMBA_DISABLE_JIT": "1"}  # what travels is the same
    return subprocess.run([sys.executable, str(script)], env=plain, capture_output=True, text=True, check=False)


def test_a_policy_of_a_script_plays_on_a_cluster(tmp_path: Path) -> None:
    done = run_script(
        tmp_path,
        """
if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        print(rotting.simulate(engine=client, **games) == rotting.simulate(**games))
""",
    )
    assert done.stdout == "True\n", done.stderr


def test_a_script_that_every_worker_would_play_is_told(tmp_path: Path) -> None:
    done = run_script(tmp_path, "rotting.simulate(engine='dask', **games)\n")
    message = (
        "rotting.errors.EngineError: engine='dask' must be able to start workers, got RuntimeError, Nanny failed to start: "
    )
    assert done.stderr.splitlines()[-1] == f"{message}{engine._GUARD}"


def test_clients_that_cannot_play_are_told(client: Any) -> None:
    closed = distributed.Client(client.scheduler.address, set_as_default=False)
    closed.close()
    with pytest.raises(InvalidValueError, match="engine must be a client that is connected, got one that is closed"):
        simulate(POLICIES, PROBLEM, runs=2, engine=closed)
    later = type("Later", (), {"asynchronous": True})()
    with pytest.raises(InvalidValueError, match="engine must be a client that is not asynchronous, got "):
        Dask(later)
    with pytest.raises(InvalidValueError, match=r"engine must be one of .*, or a dask.distributed.Client, got LocalCluster"):
        simulate(POLICIES, PROBLEM, runs=2, engine=client.cluster)


def test_a_scheduler_without_the_library_is_told(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(self: Any, function: Any) -> None:
        raise ModuleNotFoundError("No module named 'rotting'")

    monkeypatch.setattr(type(client), "run_on_scheduler", missing)
    with pytest.raises(EngineError, match=r"scheduler and workers must have rotting \S+, got ModuleNotFoundError, No module"):
        list(Dask(client).play([cut(game(), 2)], bar()))


def test_a_cluster_that_is_gone_is_told(client: Any) -> None:
    playing = Dask(client).play([cut(game(2_000), 500)], bar())
    next(playing)
    client.cancel([distributed.Future(key, client) for key in scheduled(client)], force=True)
    with pytest.raises(
        EngineError, match="the cluster must run until the games are finished, but cancelled a future: FutureCancelledError"
    ):
        list(playing)


def test_who_waits_long_for_a_worker_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class FakeClient:
        asynchronous, status, looks = False, "running", 0

        def nthreads(self) -> dict[str, int]:
            self.looks += 1
            return {"worker": 1} if self.looks > 4 else {}

        def run_on_scheduler(self, function: Any) -> str:
            return str(function())

        def run(self, function: Any) -> dict[str, Any]:
            return {"worker": (self.run_on_scheduler(engine._version), [])}

    client: Any = FakeClient()
    monkeypatch.setattr(engine, "_PATIENCE", 0.0)
    monkeypatch.setattr(engine, "_POLL_SECONDS", 0.001)
    with pytest.warns(RuntimeWarning, match="the cluster has no workers yet") as caught:
        assert not Dask(client)._have_gpus(bar())
    assert len(caught) == 1


@pytest.mark.parametrize("on", ["threads", "dask"])
def test_the_bar_ends_at_its_end_whatever_was_kept(
    on: str, client: Any, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rotting.common.progress.LINE_SECONDS", 0.0)
    simulate(POLICIES, PROBLEM, runs=30, keep=tmp_path)
    simulate(POLICIES, PROBLEM, runs=40, keep=tmp_path, progress=True, engine=client if on == "dask" else "threads")
    assert "| 4800/4800 [" in capsys.readouterr().err.splitlines()[-1]
