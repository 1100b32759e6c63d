"""The engine of threads, and the contract of every engine: tasks are values, chunks come as they finish, closing cancels."""

import pickle
import threading
import time
from typing import Any

import numpy as np
import pytest

from rotting.common.progress import Progress
from rotting.policy import Policy
from rotting.problems import RandomBreakpoints, two_arms
from rotting.registry import make
from rotting.simulation.engines import threads
from rotting.simulation.engines.extensions import Extensions
from rotting.simulation.engines.game import CANCEL
from rotting.simulation.engines.task import Chunk, Game, Setting, Task, cut
from rotting.simulation.engines.threads import Threads
from rotting.simulation.plan import Simulation
from rotting.simulation.simulate import simulate

HORIZON = 40
PROBLEM = two_arms(L=1.0, horizon=HORIZON)
FAMILY = RandomBreakpoints(n_arms=2, horizon=HORIZON)
POLICIES = (make("ucb1"), make("uniform"))


def games(*policies: Policy) -> list[Game]:
    return Simulation(policies, PROBLEM, seed=3).games()[0]


def bar() -> Progress:
    return Progress(1, show=False)


def played(tasks: list[Task], workers: int = 2) -> list[tuple[Task, Chunk]]:
    return list(Threads(workers).play([tasks], bar()))


def test_every_task_is_yielded_once_with_its_runs() -> None:
    of_games = [cut(game, 37) for game in games(*POLICIES)]
    tasks = [task for tasks in of_games for task in tasks]
    found = list(Threads(2).play(of_games, bar()))
    assert {id(task) for task, _ in found} == {id(task) for task in tasks}
    assert len(found) == len(tasks)
    complete = simulate(POLICIES, PROBLEM, runs=37, seed=3)
    for task, chunk in found:
        index = POLICIES.index(task.game.policy)
        assert chunk.regret.tolist() == complete.regret[index, task.first_run : task.end].tolist()
        assert chunk.pulls.tolist() == complete.pulls[index, task.first_run : task.end].tolist()
        assert chunk.seconds >= 0


def test_a_task_that_was_pickled_plays_the_same() -> None:
    (game,) = games(POLICIES[0])
    for digested in (False, True):  # a digest that is known travels along
        assert ("digest" in vars(game)) == digested
        task = Task(game, 5, 3)
        again = pickle.loads(pickle.dumps(task))
        assert again.game is not game
        ((_, one),), ((_, two),) = played([task]), played([again])
        assert (one.regret.tolist(), one.pulls.tolist()) == (two.regret.tolist(), two.pulls.tolist())
        assert again.digest == task.digest


def test_a_digest_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the setting, with its tables, for all policies; that of a game for all of its tasks."""
    calls = []
    one, two = games(*POLICIES)
    real = Setting.__dict__["digest"].func

    def counted(setting: Setting) -> str:
        calls.append(setting)
        return str(real(setting))

    monkeypatch.setattr(Setting.__dict__["digest"], "func", counted)
    assert one.setting is two.setting
    assert len({task.digest for game in (one, two) for task in cut(game, 50)}) == 2 * len(list(cut(one, 50)))
    assert calls == [one.setting]


def test_a_setting_is_known_by_its_values() -> None:
    (one,), (two,) = games(POLICIES[0]), games(POLICIES[0])
    assert one.setting is not two.setting
    assert one.digest == two.digest
    fields = vars(one.setting) | {}
    fields.pop("digest")
    fields.pop("unsupported_feature")  # follows from the others
    changes: dict[str, Any] = {
        "noise_key": fields["noise_key"] + 1,
        "policy_key": fields["policy_key"] + 1,
        "checkpoints": fields["checkpoints"] + 1,
        "optimum": fields["optimum"] + 1e-9,
        "means": fields["means"]._replace(pull_values=fields["means"].pull_values + 1e-9),
        "noise": two_arms(L=1.0, horizon=HORIZON, sigma=2.0).noise,
        "record": ("arms",),
        "extensions": Extensions(dynamic_arms=True),
        "draws": Simulation(POLICIES[0], FAMILY).games()[0][0].setting.draws,
    }
    assert changes.keys() == fields.keys()
    digests = [Setting(**(fields | {name: value})).digest for name, value in changes.items()]
    assert len({one.setting.digest, *digests}) == 1 + len(digests)


def test_closing_cancels_what_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """One task is finished; another, at play, would never end by itself."""
    at_play, cancelled = threading.Event(), threading.Event()

    def ready(*_: Any, **__: Any) -> Any:
        def loop(*arguments: Any) -> None:
            if arguments[5] == 1:
                at_play.set()
                while not arguments[-1][CANCEL]:
                    time.sleep(0.001)
                cancelled.set()

        return loop

    monkeypatch.setattr(threads, "compiled_loop", ready)
    (game,) = games(POLICIES[0])
    before = set(threading.enumerate())
    playing = Threads(2).play([[Task(game, run, 1) for run in range(9)]], bar())
    task, _ = next(playing)
    assert task.first_run != 1
    at_play.wait()
    playing.close()
    assert cancelled.is_set()
    assert not [each for each in set(threading.enumerate()) - before if each.name.startswith("rotting")]


def test_tasks_are_taken_while_others_play(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first game ends only after the second one was asked for: nobody may wait for it before."""
    requested = threading.Event()
    real = threads._play

    def waits(task: Task, *rest: Any) -> Chunk:
        assert requested.wait(timeout=60)
        return real(task, *rest)

    def tasks() -> Any:
        one, two = games(*POLICIES)
        yield [Task(one, 0, 1)]
        requested.set()
        yield [Task(two, 0, 1)]

    monkeypatch.setattr(threads, "_play", waits)
    assert len(list(Threads(1).play(tasks(), bar()))) == 2


def test_the_bar_counts_what_was_played() -> None:
    counted = Progress(7 * HORIZON, show=False)
    counted.resume(2 * HORIZON)
    (game,) = games(POLICIES[0])
    for _ in Threads(2).play([[Task(game, 2, 4), Task(game, 6, 1)]], counted):
        pass
    assert counted.done == 7 * HORIZON


def test_the_bar_says_which_of_all_games_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    shown = bar()

    def compile_nothing(game: Game, checked: bool = False) -> Any:
        found.append(shown.status)
        return game.loop

    monkeypatch.setattr(threads, "compiled_loop", compile_nothing)
    some, _ = Simulation(POLICIES, PROBLEM).games("now", place=3, count=8)
    for tasks in ([[Task(game, 0, 1)] for game in some], [[Task(games(POLICIES[0])[0], 0, 1)]]):
        assert list(Threads(1, "now").play(tasks, shown))
    assert found == ["compiling UCB1 (4 of 8)", "compiling uniform (5 of 8)", "compiling UCB1"]


def test_a_chunk_gives_its_first_runs() -> None:
    chunk = Chunk(np.arange(8.0).reshape(4, 2), np.arange(4).reshape(4, 1), 2.0)
    first = chunk.first(1)
    assert (first.regret.tolist(), first.pulls.tolist(), first.seconds) == ([[0.0, 1.0]], [[0]], 0.5)
    assert chunk.first(4).seconds == 2.0


def test_the_bar_is_moved_by_the_clock_and_not_by_the_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """While it is not yet time to look again, many tasks move it as often as one."""
    monkeypatch.setattr(threads, "_SHOW_SECONDS", 60.0)

    def moves(tasks: int) -> int:
        found: list[int] = []
        counted = bar()
        monkeypatch.setattr(counted, "advance", found.append)
        (game,) = games(POLICIES[0])
        assert len(list(Threads(2).play([[Task(game, run, 1) for run in range(tasks)]], counted))) == tasks
        return len(found)

    assert moves(9) <= moves(1) + 3  # each wait for the compiler moves it, too


@pytest.mark.parametrize("first_run", [0, 1, 2, 40, 1_251, 1_252])
def test_tasks_from_any_run_on_are_never_empty_and_have_every_run_once(first_run: int) -> None:
    (game,) = games(POLICIES[0])
    tasks = list(cut(game, 30, first_run))
    assert all(task.runs > 0 for task in tasks)
    assert sorted(run for task in tasks for run in range(task.first_run, task.end)) == list(range(first_run, first_run + 30))


def test_the_seconds_of_the_tasks_are_a_part_of_the_time_that_one_worker_took() -> None:
    (game,) = games(POLICIES[0])
    tasks = [Task(game, 25 * k, 25) for k in range(20)]
    played(tasks[:1])  # compiles
    began = time.monotonic()
    seconds = [chunk.seconds for _, chunk in played(tasks, workers=1)]
    assert min(seconds) > 0
    assert sum(seconds) <= time.monotonic() - began
