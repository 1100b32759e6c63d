"""The engine of a cluster: the result of threads bit for bit, whoever dies; nothing twice, and nothing left behind."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

distributed = pytest.importorskip("distributed")

from rotting.common.progress import Progress  # noqa: E402 (after the check that it is there)
from rotting.engines import dask as engine  # noqa: E402
from rotting.engines import task as task_module  # noqa: E402
from rotting.engines.chunk_store import ChunkStore  # noqa: E402
from rotting.engines.dask import Dask, connect, play_on_worker  # noqa: E402
from rotting.engines.task import Game, Task, cut  # noqa: E402
from rotting.engines.threads import Threads  # noqa: E402
from rotting.errors import EngineError, InvalidValueError  # noqa: E402
from rotting.problems import (  # noqa: E402
    GeometricDelay,
    Linear,
    Problem,
    ProblemFamily,
    RandomBreakpoints,
    Recovering,
    Rested,
    Visiting,
    two_arms,
)
from rotting.registry import make  # noqa: E402
from rotting.simulation.plan import Simulation, plan  # noqa: E402
from rotting.simulation.simulate import simulate  # noqa: E402
from tests.helpers.games import some  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own, of sockets and event loops that are being closed
POLICIES = (make("ucb1"), make("uniform"))
PROBLEM = two_arms(L=1.0, horizon=60)


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
    return plan(Simulation(POLICIES[0], two_arms(L=1.0, horizon=horizon), seed=3)).games()[0][0]


def test_the_result_is_that_of_threads(client: Any) -> None:
    games: Any = {"policies": POLICIES, "problem": PROBLEM, "runs": 50, "seed": 3}
    expected = simulate(**games)
    assert simulate(engine=client, **games) == expected
    assert simulate(engine="dask", **games) == expected  # the current client's cluster


BEYOND: tuple[dict[str, Any], ...] = (
    {"problem": RandomBreakpoints(3, 60)},
    {"problem": PROBLEM.delayed(GeometricDelay(5, lost=0.1))},
    {"problem": Problem([Recovering(Linear(0.0, slope=0.01)), Visiting(Rested(0.3), first=9, last=30)], horizon=60)},
    {"problem": PROBLEM, "record": ("arms", "rewards")},
)


@pytest.mark.parametrize("games", some(BEYOND, 1), ids=lambda games: repr(games["problem"])[:24])
def test_games_that_are_more_than_a_table_are_those_of_threads(client: Any, games: dict[str, Any]) -> None:
    assert simulate(POLICIES, engine=client, runs=20, seed=3, **games) == simulate(POLICIES, runs=20, seed=3, **games)


def test_a_function_that_draws_problems_is_not_sent_to_a_cluster(client: Any) -> None:
    family = ProblemFamily(lambda rng: two_arms(L=rng.uniform(0.1, 1.0), horizon=60))
    with pytest.raises(
        InvalidValueError, match="problem must be a family of the library where games are kept or sent to a clu"
    ):
        simulate(POLICIES, family, engine=client, runs=20)


def test_a_gpu_of_a_worker_plays_what_it_can_and_threads_the_rest() -> None:
    asked = []

    class Flight:
        def submit(self, group: list[Task], on_gpu: bool) -> None:
            asked.append(on_gpu)

        def landed(self, most: int) -> Iterator[Any]:
            return iter(())

        def close(self) -> None:
            pass

    class Client:
        def nthreads(self) -> dict[str, int]:
            return {"worker": 1}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "_Flight", lambda client, bar: Flight())
        patch.setattr(Dask, "_have_gpus", lambda self, bar: True)
        for record in ((), "arms"):
            simulation = Simulation(POLICIES[0], PROBLEM, record=record)
            list(Dask(Client()).play([Task(plan(simulation).games()[0][0], 0, 2)], bar()))
    assert asked == [True, False]


def kernels_of_the_gpu() -> int:
    """Return how many kernels this process has compiled or read for its GPU."""
    from rotting.engines import cuda_device

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
        late = games | {"problem": PROBLEM.delayed(GeometricDelay(5, lost=0.1)), "runs": 50}
        assert simulate(engine=made, **late) == simulate(**late)  # on threads of the same workers


def test_every_task_comes_back_once_with_its_own_game(client: Any) -> None:
    tasks = list(cut(game(), 40))
    found = list(Dask(client).play(tasks, bar()))
    assert sorted((task.first_run, task.runs) for task, _ in found) == sorted((task.first_run, task.runs) for task in tasks)
    assert all(task.game is tasks[0].game for task, _ in found)


def test_keys_are_made_of_digests(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[str] = []
    submit = type(client).submit

    def noted(self: Any, function: Any, *rest: Any, key: str, **more: Any) -> Any:
        keys.append(key)
        return submit(self, function, *rest, key=key, **more)

    monkeypatch.setattr(type(client), "submit", noted)
    monkeypatch.setattr(task_module, "_FEW_ROUNDS", 1)
    tasks = list(cut(game(), 5))
    monkeypatch.setattr(engine, "_CPU_ROUNDS", 2 * tasks[0].rounds)
    list(Dask(client).play(tasks, Progress(10**9, show=False)))
    assert keys == [
        f"rotting-game-{tasks[0].game.digest}",
        *(f"rotting-{tasks[first].digest}-{sum(task.runs for task in tasks[first : first + 2])}" for first in (0, 2, 4)),
    ]


def scheduled(client: Any) -> list[str]:
    def names(dask_scheduler: Any = None) -> list[str]:
        return [str(key) for key in dask_scheduler.tasks]

    return [key for key in client.run_on_scheduler(names) if key.startswith("rotting")]


def until_nothing_is_scheduled(client: Any) -> None:
    for _ in range(300):
        if not scheduled(client):
            return
        time.sleep(0.1)
    pytest.fail(f"still there: {scheduled(client)}")


def test_closing_leaves_no_work(client: Any) -> None:
    playing = Dask(client).play(cut(game(2_000), 500), bar())
    next(playing)
    assert scheduled(client)
    playing.close()
    until_nothing_is_scheduled(client)


def test_a_client_that_goes_away_leaves_no_work(client: Any) -> None:
    other = distributed.Client(client.scheduler.address, set_as_default=False)
    playing = Dask(other).play(cut(game(2_000), 500), bar())
    next(playing)
    assert scheduled(client)
    other.close()  # without a word to the engine
    until_nothing_is_scheduled(client)
    playing.close()


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
        play_on_worker(game(), "abc", [(0, 1)], on_gpu=False)


def test_a_worker_plays_what_threads_play() -> None:
    one = game()
    ((first_run, chunk),) = play_on_worker(one, one.code, [(7, 3)], on_gpu=False)
    ((_, expected),) = Threads(1).play([Task(one, 7, 3)], bar())
    assert first_run == 7
    assert np.array_equal(chunk.regret, expected.regret)


def test_another_version_on_a_worker_is_told(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "__version__", "99.0")
    with pytest.raises(EngineError, match=r"workers must have rotting 99\.0, got [\d.]\S* at tcp://"):
        list(Dask(client).play(cut(game(), 2), bar()))


def test_a_scheduler_that_does_not_answer_is_told() -> None:
    with pytest.raises(EngineError, match=r"scheduler must be one that answers within 0\.2 s, got 'tcp://127\.0\.0\.1:1': "):
        connect("tcp://127.0.0.1:1", timeout=0.2)


def test_tasks_of_one_game_go_together_up_to_some_rounds() -> None:
    one, two = game(), game()
    tasks = [Task(one, 0, 5), Task(one, 5, 5), Task(one, 10, 5), Task(two, 0, 5)]
    groups = [[each.first_run for each in group] for group in engine._groups(tasks, 10 * 60, 10**9, 1)]
    assert groups == [[0, 5], [10], [0]]


def test_groups_get_smaller_towards_the_end() -> None:
    one = game()
    tasks = [Task(one, 5 * k, 5) for k in range(40)]
    groups = list(engine._groups(tasks, 10**9, sum(task.rounds for task in tasks), 4))
    assert [task for group in groups for task in group] == tasks
    left = 40
    for group in groups:
        assert len(group) == max(1, left // 4)
        left -= len(group)
