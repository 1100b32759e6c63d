"""Chunks on disk: found again when everything that decides them is the same, redone when damaged, whole after any kill."""

import os
import random
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rotting import problems
from rotting.common.progress import Progress
from rotting.problems import Problem
from rotting.problems.noise import Gaussian
from rotting.registry import make
from rotting.simulation.engines import chunk_store as chunks
from rotting.simulation.engines import task as task_module
from rotting.simulation.engines import threads
from rotting.simulation.engines.chunk_store import ChunkStore
from rotting.simulation.engines.game import CANCEL
from rotting.simulation.engines.task import Chunk, Game, Origin, Task, cut
from rotting.simulation.plan import Simulation
from rotting.simulation.result import Result
from rotting.simulation.simulate import simulate, simulate_all
from tests.conftest import STRESS

PROBLEM = problems.two_arms(L=1.0, horizon=40)
POLICIES = [make("ucb1"), make("eff-raw-ucb"), make("exp3", gamma=0.1, low=-9.0, high=9.0, outside="clip")]


FEW_ROUNDS = task_module._SMALLEST_TASK


@pytest.fixture(autouse=True)
def short_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks of one run, however short it is: many chunks of a small game."""
    monkeypatch.setattr(task_module, "_SMALLEST_TASK", 1)


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("runs", [1, 5, 16, 37])
def test_kept_games_give_the_same_result(tmp_path: Path, runs: int) -> None:
    plain = simulate(POLICIES, PROBLEM, runs=runs, seed=3)
    first = simulate(POLICIES, PROBLEM, runs=runs, seed=3, keep=tmp_path, workers=1)
    names = files(tmp_path)
    second = simulate(POLICIES, PROBLEM, runs=runs, seed=3, keep=tmp_path, workers=3)
    assert first == plain
    assert second == plain
    assert np.isfinite(first.us_per_round).all()
    assert np.isnan(second.us_per_round).all()  # all of these games were timed by another call
    assert [row["us_per_round"] for row in second.table().rows] == [None] * len(POLICIES)
    assert files(tmp_path) == names


def test_what_is_kept_is_not_played_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simulate(POLICIES, PROBLEM, runs=5, keep=tmp_path)
    monkeypatch.delattr(threads, "compiled_loop")
    simulate(POLICIES[::-1], PROBLEM, runs=5, keep=tmp_path)
    with pytest.raises(NameError):
        simulate(POLICIES, PROBLEM, runs=6, keep=tmp_path)


CHANGES: list[dict[str, Any]] = [
    {"seed": 1},
    {"policies": make("ucb1", sigma=2.0)},
    {"policies": make("uniform")},
    {"problem": problems.two_arms(L=1.0000001, horizon=40)},
    {"problem": problems.two_arms(L=1.0, horizon=40, sigma=1.5)},
    {"problem": Problem.restless([[0.0] * 40, [0.5] * 40], noise=Gaussian(1.0))},
    {"horizon": 39},
    {"checkpoints": [7]},
]


@pytest.mark.parametrize("change", CHANGES, ids=[next(iter(each)) + str(k) for k, each in enumerate(CHANGES)])
def test_nothing_is_taken_for_something_else(tmp_path: Path, change: dict[str, Any]) -> None:
    usual: dict[str, Any] = {"policies": make("ucb1"), "problem": PROBLEM, "runs": 4, "seed": 0}
    simulate(**usual, keep=tmp_path)
    before = len(files(tmp_path))
    assert simulate(**{**usual, **change}, keep=tmp_path) == simulate(**{**usual, **change})
    assert len(files(tmp_path)) == 2 * before


def test_checkpoints_of_the_same_optimum_are_told_apart(tmp_path: Path) -> None:
    problem = Problem.restless([[-1.0] * 40, [0.0] * 40], noise=Gaussian(1.0))  # whose optimal reward is 0 at every round
    for checkpoints in ([7], [8], [7]):
        kept = simulate(make("ucb1"), problem, runs=4, checkpoints=checkpoints, keep=tmp_path)
        assert kept == simulate(make("ucb1"), problem, runs=4, checkpoints=checkpoints)
    assert len(files(tmp_path)) == 8


def runs_played(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Every run that is played from now on: the policy's name and the run."""
    played: list[tuple[str, int]] = []
    real = threads._play

    def counted(task: Task, *rest: Any) -> Chunk:
        played.extend((task.game.policy.name, run) for run in range(task.first_run, task.end))
        return real(task, *rest)

    monkeypatch.setattr(threads, "_play", counted)
    return played


def test_more_runs_play_only_those_that_are_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a simulation ended within a chunk, and ended there again a few runs later."""
    played = runs_played(monkeypatch)
    before = 0
    complete = simulate(POLICIES, PROBLEM, runs=100)
    for runs in (1, 40, 41, 43, 100):
        played.clear()
        result = simulate(POLICIES, PROBLEM, runs=runs, keep=tmp_path, workers=1)
        assert sorted(played) == sorted((each.name, run) for each in POLICIES for run in range(before, runs))
        assert result.regret.tolist() == complete.regret[:, :runs].tolist()
        assert result.pulls.tolist() == complete.pulls[:, :runs].tolist()
        before = runs
    played.clear()
    for runs in (99, 42, 40, 3):
        assert simulate(POLICIES, PROBLEM, runs=runs, keep=tmp_path).regret.tolist() == complete.regret[:, :runs].tolist()
    assert played == []


@pytest.mark.slow
def test_two_thousand_runs_then_three_thousand_play_a_thousand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simulate(make("ucb1"), PROBLEM, runs=2_000, keep=tmp_path)
    played = runs_played(monkeypatch)
    simulate(make("ucb1"), PROBLEM, runs=3_000, keep=tmp_path)
    assert sorted(run for _, run in played) == list(range(2_000, 3_000))
    played.clear()
    simulate(make("ucb1"), PROBLEM, runs=2_000, keep=tmp_path)
    assert played == []


def test_a_hole_in_what_is_kept_is_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = simulate(make("ucb1"), PROBLEM, runs=60, keep=tmp_path)
    lost = files(tmp_path)[7]
    lost.unlink()
    played = runs_played(monkeypatch)
    assert simulate(make("ucb1"), PROBLEM, runs=60, keep=tmp_path) == plain
    assert 0 < len(played) <= 60 // 16
    assert lost.exists()


def game(horizon: int) -> Game:
    return Simulation(make("ucb1"), problems.two_arms(L=1.0, horizon=horizon)).games()[0][0]


@pytest.mark.parametrize("horizon", [1, 40, 300_000, 3_000_000])
def test_tasks_do_not_depend_on_the_number_of_runs(horizon: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_module, "_SMALLEST_TASK", FEW_ROUNDS)
    playing = game(horizon)

    def spans(runs: int) -> list[tuple[int, int]]:
        first, *others = [(task.first_run, task.end) for task in cut(playing, runs)]
        assert first == (0, 1)  # to be tried
        assert others == sorted(others, reverse=True)  # the long ones before the short ones
        return [first, *others[::-1]]

    longest = spans(500)
    assert [first for first, _ in longest] == [0, *(end for _, end in longest[:-1])]
    assert longest[-1][1] == 500
    for runs in (1, 16, 17, 33, 499):
        tasks = spans(runs)
        assert tasks[:-1] == longest[: len(tasks) - 1]
        assert tasks[-1] == (longest[len(tasks) - 1][0], runs)
    # Work is shared out: a task is a small share of the runs, or of no more than some milliseconds; and no longer than seconds.
    assert all(end - first <= max(1, first // 16, 50_000 // horizon) for first, end in longest)
    assert len(longest) <= 2 + 500 * horizon // 50_000  # each takes as long to hand over as many rounds do
    assert all((end - first) * horizon <= max(horizon, 2_000_000) for first, end in longest)


def test_the_name_of_a_chunk_says_where_it_begins_and_not_how_long_it_is() -> None:
    playing, other = game(40), game(40)
    assert Task(playing, 5, 1).digest == Task(other, 5, 9).digest
    assert len({Task(playing, first, 1).digest for first in range(20)}) == 20


def test_the_time_of_a_chunk_is_shared_by_its_runs(tmp_path: Path) -> None:
    store, task = ChunkStore(tmp_path), Task(game(40), 0, 4)
    regret = np.arange(4 * 40.0).reshape(4, 40)
    store.write(task.digest, Chunk(regret, np.arange(8).reshape(4, 2), 2.0))
    taken: list[tuple[Task, Chunk]] = []
    longer = Task(task.game, 0, 6)
    (left,) = store.missing([longer], lambda *each: taken.append(each))
    assert (left.first_run, left.runs) == (4, 2)
    assert list(store.missing([Task(task.game, 0, 1)], lambda *each: taken.append(each))) == []
    assert [(each.first_run, each.runs, chunk.seconds) for each, chunk in taken] == [(0, 4, 2.0), (0, 1, 0.5)]
    assert taken[1][1].regret.tolist() == regret[:1].tolist()
    assert taken[1][1].pulls.tolist() == [[0, 1]]


def test_the_time_of_a_round_is_that_of_the_games_played_by_this_call(tmp_path: Path) -> None:
    """Of six runs four are kept, whose time is absurd."""
    (playing,), _ = Simulation(POLICIES[0], PROBLEM, runs=6).games()
    store = ChunkStore(tmp_path)
    for task in cut(playing, 4):
        store.write(task.digest, _played(task)._replace(seconds=1e9))
    result = simulate(POLICIES[0], PROBLEM, runs=6, keep=tmp_path)
    assert result == simulate(POLICIES[0], PROBLEM, runs=6)
    assert 0 < result.us_per_round[0] < 1e9
    kept = simulate(POLICIES[0], PROBLEM, runs=6, keep=tmp_path)
    more = simulate(POLICIES[0], PROBLEM, runs=2, first_run=6)
    assert Result.merge(kept, more).us_per_round.tolist() == more.us_per_round.tolist()


def test_games_that_were_reused_are_counted(tmp_path: Path) -> None:
    simulate(POLICIES[0], PROBLEM, runs=3, keep=tmp_path)
    store = ChunkStore(tmp_path)
    games = [Simulation(POLICIES[0], PROBLEM, runs=5), Simulation(POLICIES[:1], PROBLEM, runs=5)]
    one, two = simulate_all(games, keep=store)
    assert one == two
    assert store.reused == 6  # the last two runs were played here


def test_fresh_games_are_played_whatever_is_kept_and_replace_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = simulate(POLICIES, PROBLEM, runs=5, keep=tmp_path)
    for path in files(tmp_path):
        path.write_bytes(b"")
    played = runs_played(monkeypatch)
    for _ in range(2):
        played.clear()
        store = ChunkStore(tmp_path, fresh=True)
        assert simulate_all([Simulation(POLICIES, PROBLEM, runs=5)], keep=store) == [plain]
        assert len(played) == 5 * len(POLICIES)
        assert not store.reused
        assert (
            store.describe(99) == f"{len(played)} of 99 games were played anew; the older ones are still kept in '{tmp_path}'"
        )
    played.clear()
    assert simulate(POLICIES, PROBLEM, runs=5, keep=tmp_path) == plain
    assert played == []


def test_cancelled_games_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One chunk fails while another is at play, which is cancelled before its end."""
    at_play = threading.Event()

    compiled_loop = threads.compiled_loop

    def hindered(*arguments: Any, **options: Any) -> Any:
        game = compiled_loop(*arguments, **options)

        def play(*its: Any) -> None:
            first, signal = its[5], its[-1]
            if first == 1:
                at_play.set()
                while not signal[CANCEL]:
                    time.sleep(0.001)
            if first == 2:
                at_play.wait()
                raise RuntimeError("out of order")
            game(*its)

        return play

    with monkeypatch.context() as patch:
        patch.setattr(threads, "compiled_loop", hindered)
        with pytest.raises(RuntimeError, match="out of order"):
            simulate(make("ucb1"), PROBLEM, runs=3, keep=tmp_path, workers=2)
    (kept,) = files(tmp_path)  # of run 0
    assert ChunkStore(tmp_path).read(kept.stem) is not None
    assert simulate(make("ucb1"), PROBLEM, runs=3, keep=tmp_path) == simulate(make("ucb1"), PROBLEM, runs=3)


def test_other_code_is_another_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simulate(make("ucb1"), PROBLEM, runs=4, keep=tmp_path)
    before = len(files(tmp_path))
    monkeypatch.setattr(task_module, "digest", lambda _: "another policy")
    simulate(make("ucb1"), PROBLEM, runs=4, keep=tmp_path)
    assert len(files(tmp_path)) == 2 * before


@pytest.mark.parametrize("harm", ["truncate", "empty"])
def test_a_damaged_chunk_is_redone(tmp_path: Path, harm: str) -> None:
    plain = simulate(make("ucb1"), PROBLEM, runs=4, seed=3, keep=tmp_path)
    for path in files(tmp_path):
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2] if harm == "truncate" else b"")
        assert ChunkStore(tmp_path).read(path.stem) is None
    assert simulate(make("ucb1"), PROBLEM, runs=4, seed=3, keep=tmp_path) == plain
    assert all(ChunkStore(tmp_path).read(path.stem) is not None for path in files(tmp_path))


@pytest.mark.filterwarnings("always")
def test_folders_in_the_place_of_chunks_cost_one_warning(tmp_path: Path) -> None:
    plain = simulate(POLICIES, PROBLEM, runs=4, keep=tmp_path)
    kept = files(tmp_path)
    for path in kept:
        path.unlink()
        path.mkdir()
    with pytest.warns(RuntimeWarning, match="finished games are not kept: ") as caught:
        assert simulate(POLICIES, PROBLEM, runs=4, keep=tmp_path) == plain
    assert len(caught) == 1
    assert files(tmp_path) == []  # nothing unfinished is left
    for path in kept:
        path.rmdir()
    assert simulate(POLICIES, PROBLEM, runs=4, keep=tmp_path) == plain
    assert files(tmp_path) == kept


def test_a_chunk_that_may_not_be_read_is_redone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    plain = simulate(make("ucb1"), PROBLEM, runs=4, keep=tmp_path)
    monkeypatch.setattr(Path, "read_bytes", denied)
    assert simulate(make("ucb1"), PROBLEM, runs=4, keep=tmp_path) == plain


def test_keep_must_be_a_folder(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(ValueError, match=re.escape(f"keep must be a folder, got the file '{file}'")):
        simulate_all([], keep=file)
    wrong: Any = 5
    with pytest.raises(TypeError, match="keep must be a folder, got 5"):
        simulate_all([], keep=wrong)


def test_a_chunk_survives_the_disk(tmp_path: Path) -> None:
    chunk = Chunk(np.array([[0.1, np.pi]]), np.array([[3, 4]]), 0.25, origin=Origin("Größe 9, 2 cores", 1.7e9))
    ChunkStore(tmp_path / "new").write("abc", chunk)
    again = ChunkStore(tmp_path / "new").read("abc")
    assert again is not None
    assert (again.regret.tolist(), again.pulls.tolist(), again.seconds) == (chunk.regret.tolist(), [[3, 4]], 0.25)
    assert again.origin == chunk.origin
    assert [path.name for path in files(tmp_path)] == ["abc.chunk"]


def test_several_simulations_equal_one_by_one(tmp_path: Path) -> None:
    games = [Simulation(POLICIES, problems.two_arms(L=L, horizon=40), runs=3, seed=2) for L in (0.1, 2.0)]
    one_by_one = [simulate(each.policies, each.problem, runs=3, seed=2) for each in games]
    assert simulate_all(games, workers=2) == one_by_one
    assert simulate_all(games, keep=tmp_path) == one_by_one
    assert simulate_all([]) == []


def test_a_full_disk_does_not_stop_the_games(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(*_: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(chunks, "write_atomically", full)
    with pytest.warns(RuntimeWarning, match="finished games are not kept: the disk is full"):
        result = simulate(make("ucb1"), PROBLEM, runs=40, keep=tmp_path)
    assert result == simulate(make("ucb1"), PROBLEM, runs=40)


def test_an_error_in_a_thread_is_passed_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("out of order")

    monkeypatch.setattr(ChunkStore, "write", broken)
    with pytest.raises(RuntimeError, match="out of order"):
        simulate(make("ucb1"), PROBLEM, runs=40, keep=tmp_path)


SCRIPT = textwrap.dedent("""
    import sys, rotting
    policies = [rotting.UCB1(), rotting.EffRAWUCB(), rotting.Uniform()]
    games = [p.Simulation(policies, rotting.problems.two_arms(L=L, horizon=5_000), runs=600) for L in (0.1, 1.0)]
    print("playing", flush=True)
    for L, result in zip("ab", s.simulate_all(games, workers=2, keep=sys.argv[1])):
        result.save(sys.argv[2] + L)
""")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_killed_again_and_again_the_result_is_that_of_one_run(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import rotting, rotting.simulation.plan as p, rotting.simulation.simulate as s\n" + SCRIPT)

    def play(keep: str, out: str, until: int | None = None) -> None:
        """Let it play to the end, or kill it a moment after so many chunks are there."""
        command = [sys.executable, str(script), str(tmp_path / keep), str(tmp_path / out)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "playing\n"
            while until is not None and len(files(tmp_path / keep)) < until:
                assert process.poll() is None
            if until is not None:
                time.sleep(moments.uniform(0, 0.05))
                assert process.poll() is None
                process.kill()
        assert process.returncode == (0 if until is None else -signal.SIGKILL)

    moments = random.Random(5)
    play("one", "whole")
    for _ in range(10 if STRESS else 3):
        play("two", "killed", until=len(files(tmp_path / "two")) + moments.randint(2, 5))
    complete = [path.name for path in files(tmp_path / "one")]
    assert 3 < len(files(tmp_path / "two")) < len(complete)
    play("two", "resumed")
    assert [path.name for path in files(tmp_path / "two") if path.suffix == ".chunk"] == complete
    assert not list(tmp_path.glob("killed*"))
    for L in "ab":
        assert Result.load(tmp_path / f"resumed{L}") == Result.load(tmp_path / f"whole{L}")


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")
def test_an_interrupt_says_in_one_sentence_how_many_games_are_kept(tmp_path: Path) -> None:
    script = textwrap.dedent("""
        import rotting, sys
        problem = rotting.problems.two_arms(horizon=2_000)
        rotting.simulate(rotting.UCB1(), problem, runs=1_000_000, checkpoints=[2_000], workers=1, keep=sys.argv[1])
    """)
    folder, environment = tmp_path / "kept", {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-c", script, str(folder)]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as running:
        while not list(folder.rglob("*.chunk")) and running.poll() is None:
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=60)
    assert running.returncode == -signal.SIGINT
    chunks = [ChunkStore(folder).read(path.stem) for path in folder.rglob("*.chunk")]
    games = sum(len(chunk.regret) for chunk in chunks if chunk is not None)
    message = f"{games:,} of 1,000,000 games are kept in '{folder}': run it again to continue from there"
    assert err.splitlines()[-1] == f"KeyboardInterrupt: {message}"
    assert err.count("File ") == 3  # the script, `simulate` and `simulate_all`: nothing of the engine


def _played(task: Task) -> Chunk:
    ((_, chunk),) = threads.Threads(1).play([[task]], Progress(1, show=False))
    return chunk


def test_processes_that_share_a_folder_and_play_at_once_have_the_same_result(tmp_path: Path) -> None:
    code = f"""
        import os, rotting
        from tests.simulation.engines.test_chunk_store import POLICIES, PROBLEM
        result = rotting.simulate(POLICIES, PROBLEM, runs=60, seed=5, workers=1, keep={str(tmp_path)!r})
        result.save({str(tmp_path)!r} + f"/result-{{os.getpid()}}")
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    running = [subprocess.Popen(command) for _ in range(2)]
    assert [each.wait() for each in running] == [0, 0]
    results = [Result.load(path) for path in tmp_path.glob("result-*")]
    assert results == [simulate(POLICIES, PROBLEM, runs=60, seed=5)] * 2
    assert not list(tmp_path.rglob("*.partial"))
