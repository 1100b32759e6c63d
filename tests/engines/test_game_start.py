"""The start of a game: when it is interpreted, and when it is compiled."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rotting.common.progress import Part, Progress
from rotting.engines import background_compiler, code_cache, game_start
from rotting.engines.background_compiler import BackgroundCompiler, Job
from rotting.engines.game_start import GameStart, compile_game, loop_entry
from rotting.engines.task import Game, Task
from rotting.problems import two_arms
from rotting.registry import make
from rotting.simulation.plan import Simulation, plan
from tests.conftest import INTERPRETED
from tests.helpers.compiler_programs import claimants


@pytest.fixture
def empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """No machine code on disk or in memory, and no child process that an earlier test has started with another cache.

    It also deletes the variables that change what `compile="auto"` means.
    """
    for name in ("NUMBA_DISABLE_JIT", "ROTTING_COMPILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(code_cache, "_loaded", set())
    compiler = BackgroundCompiler()
    monkeypatch.setattr(background_compiler, "_background", compiler)
    yield
    compiler.stop()


def game() -> Game:
    (made,), _ = plan(Simulation(make("ucb1"), two_arms(horizon=100))).games()
    return made


def start(compile: Any, rounds: int = 0) -> tuple[GameStart, Progress]:
    bar = Progress(10**9, show=False)
    bar.part = Part(2, 3, rounds)
    return GameStart(game(), bar, compile), bar


@pytest.mark.usefixtures("empty_cache")
def test_a_game_begins_interpreted_if_it_is_not_cached() -> None:
    assert start("auto")[0].begins_interpreted
    assert start("never")[0].begins_interpreted
    assert not start("now")[0].begins_interpreted


@pytest.mark.usefixtures("empty_cache")
def test_a_game_that_ends_soon_is_not_compiled_and_a_longer_one_is() -> None:
    """The time of the rounds that were played decides."""
    task = Task(game(), 0, 1_000)
    for rounds, seconds, compiles in ((100_000, 0.1, False), (100_000, 10.0, True), (10**8, 0.1, True)):
        begun, bar = start("auto", rounds)
        assert not begun.is_ready(task, 10_000, seconds)
        assert bar.status == ("compiling UCB1 (2 of 3)" if compiles else ""), (rounds, seconds)
        begun.close()
        assert bar.status == ""
    begun, bar = start("never", 10**8)
    assert not begun.is_ready(task, 10_000, 100.0)
    assert bar.status == ""


@pytest.mark.usefixtures("empty_cache")
def test_the_compiler_of_a_game_that_continues_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a cluster, a worker plays a game in pieces that may take less time than compiling it."""
    jobs = [Job(b"") for _ in range(2)]
    cancelled: list[Job] = []
    waiting = iter(jobs)
    monkeypatch.setattr(game_start, "submit", lambda _: next(waiting))
    monkeypatch.setattr(game_start, "cancel", cancelled.append)
    for continues in (True, False):
        bar = Progress(10**9, show=False)
        bar.part = Part(2, 3, 10**8)
        begun = GameStart(game(), bar, "auto", continues)
        assert not begun.is_ready(Task(game(), 0, 1_000), 10_000, 10.0)
        begun.close()
        assert bar.status == ""
    assert cancelled == jobs[1:]


@pytest.mark.usefixtures("empty_cache")
def test_a_game_whose_machine_code_is_in_memory_needs_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the cache cannot be written, each game would start a compiler otherwise."""
    monkeypatch.setattr(code_cache, "_loaded", {loop_entry(game()).key})
    assert not start("auto")[0].begins_interpreted
    assert start("never")[0].begins_interpreted


@pytest.mark.usefixtures("empty_cache")
def test_rounds_that_were_played_interpreted_no_longer_count() -> None:
    begun, bar = start("auto", 10**8)
    begun.played(Task(game(), 0, 10**6 - 1_000))
    assert not begun.is_ready(Task(game(), 0, 10), 1_000, 0.01)
    assert bar.status == ""


@pytest.mark.usefixtures("empty_cache")
@pytest.mark.skipif(INTERPRETED or os.name == "nt", reason="the compiler is killed while it compiles")
def test_a_game_whose_compiler_is_killed_twice_stays_interpreted(tmp_path: Path) -> None:
    begun, bar = start("auto", 10**8)
    killed = set[int]()

    def kill_compilers() -> None:
        task, end = Task(game(), 0, 1_000), time.monotonic() + 60
        while not begun.stays_interpreted and time.monotonic() < end:
            assert not begun.is_ready(task, 10_000, 10.0)
            for compiler in set(claimants(tmp_path)) - killed:
                os.kill(compiler, signal.SIGKILL)
                killed.add(compiler)
            time.sleep(0.01)

    with pytest.warns(RuntimeWarning, match="UCB1 is interpreted to the end, since its compiler was killed twice"):
        kill_compilers()
    assert begun.stays_interpreted
    assert bar.status == ""
    assert len(killed) == 2
    begun.close()


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled under NUMBA_DISABLE_JIT=1")
def test_a_game_that_is_cached_is_compiled_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROTTING_COMPILE", "auto")
    assert compile_game(game())
    assert not start("auto")[0].begins_interpreted
    assert loop_entry(game()).key in code_cache._loaded
