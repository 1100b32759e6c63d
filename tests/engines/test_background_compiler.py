"""Jobs that a child process does: how they end, that nothing is left behind, and that no failure changes a decision."""

import operator
import os
import pickle
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from rotting.engines.background_compiler import BackgroundCompiler, Job
from tests.helpers.compiler_programs import CHANGE, claimants, compiled_only, environment, run
from tests.helpers.windows_rules import windows_rules

SECONDS = 60


def work(function: Any, *arguments: Any) -> bytes:
    return pickle.dumps(partial(function, *arguments))


def outcome(job: Job) -> str:
    over = Event()
    job.then(lambda _: over.set())
    assert over.wait(SECONDS)
    return job.outcome


@pytest.fixture
def background() -> Any:
    made = BackgroundCompiler()
    yield made
    made.stop()


def test_jobs_are_done_one_after_the_other_by_one_child(background: BackgroundCompiler, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    ask = f"import os; print(os.getpid(), file=open({str(pids)!r}, 'a'))"
    jobs = [background.submit(work(exec, f"{ask} # {k}")) for k in range(3)]
    assert [outcome(job) for job in jobs] == ["done"] * 3
    first, *others = pids.read_text().split()
    assert others == [first, first]
    assert first != str(os.getpid())


def test_the_same_work_is_done_once(background: BackgroundCompiler, tmp_path: Path) -> None:
    count = work(exec, f"import time; time.sleep(0.5); print(1, file=open({str(tmp_path / 'count')!r}, 'a'))")
    assert background.submit(count) is background.submit(count)
    assert outcome(background.submit(count)) == "done"
    assert (tmp_path / "count").read_text() == "1\n"


def test_a_job_that_fails_or_kills_the_child_does_not_end_the_next_one(background: BackgroundCompiler) -> None:
    jobs = [background.submit(each) for each in (work(operator.truediv, 1, 0), work(os._exit, 3), b"no pickle", work(int))]
    assert [outcome(job) for job in jobs] == ["failed", "killed", "failed", "done"]


def test_what_the_work_prints_is_no_answer(background: BackgroundCompiler) -> None:
    assert outcome(background.submit(work(exec, "import os; os.write(1, b'ddd'); print('ddd', flush=True); 1 / 0"))) == "failed"


def test_the_work_reads_nothing_from_the_pipe_that_brings_it(background: BackgroundCompiler) -> None:
    """On Windows, importing NumPy would even wait for a thread that reads standard input."""
    ask = "import os, sys; assert sys.stdin.read() == '' and os.read(0, 1) == b''; assert os.fstat(0) == os.stat(os.devnull)"
    assert [outcome(background.submit(work(exec, f"{ask} # {k}"))) for k in range(2)] == ["done"] * 2


def test_a_job_that_nobody_needs_is_given_up(background: BackgroundCompiler) -> None:
    long, next_one = background.submit(work(time.sleep, 600)), background.submit(work(int))
    time.sleep(0.1)
    background.cancel(long)
    assert outcome(next_one) == "done"
    assert long.outcome == "cancelled"
    background.cancel(next_one)
    assert next_one.outcome == "done"


def test_a_job_whose_child_is_killed_gets_another_child(background: BackgroundCompiler, tmp_path: Path) -> None:
    die_once = "import os\nif not os.path.exists({0}):\n    open({0}, 'x').close()\n    os._exit(9)"
    assert outcome(background.submit(work(exec, die_once.format(repr(str(tmp_path / "died")))))) == "done"
    assert (tmp_path / "died").exists()


def test_without_a_python_to_start_jobs_fail(background: BackgroundCompiler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert outcome(background.submit(work(int))) == "failed"
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert outcome(background.submit(work(float))) == "failed"


@pytest.mark.skipif(os.name == "nt", reason="the program that starts Python is a shell script")
def test_the_path_of_python_may_have_spaces(
    background: BackgroundCompiler, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    python = tmp_path / "my programs" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    assert outcome(background.submit(work(int))) == "done"


LEAVE = """
import os, pickle, sys, time
from functools import partial
from pathlib import Path
from rotting.engines.background_compiler import submit
code = f"import os, time; print(os.getpid(), file=open({sys.argv[1]!r}, 'w'), flush=True); time.sleep(600)"
submit(pickle.dumps(partial(exec, code)))
while not (Path(sys.argv[1]).exists() and Path(sys.argv[1]).read_text().strip()):
    time.sleep(0.01)
end = sys.argv[2]
if "fork" in end and os.fork() == 0:
    while Path(sys.argv[1]).exists():
        time.sleep(0.05)
    os._exit(0)
if "kill" in end:
    os.kill(os.getpid(), 9)
if end == "interrupt":
    raise KeyboardInterrupt
"""


def is_running(pid: int) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return state.strip() != "" and not state.startswith("Z")  # nobody may have asked for the exit status of an orphan


@pytest.mark.skipif(os.name == "nt", reason="processes are watched by signals")
@pytest.mark.parametrize("end", ["return", "interrupt", "kill", "fork and kill"])
def test_the_child_ends_with_its_parent(tmp_path: Path, end: str) -> None:
    """Even if a fork of the parent lives on, and has the pipe to the child open."""
    pid = tmp_path / "pid"
    with (tmp_path / "errors").open("w+") as errors:  # a fork that lives on would keep a pipe open
        command = [sys.executable, "-W", "error", "-c", LEAVE, str(pid), end]
        done = subprocess.run(command, stdout=errors, stderr=errors, timeout=SECONDS, check=False)
    said = (tmp_path / "errors").read_text()
    assert done.returncode == {"return": 0, "interrupt": -signal.SIGINT}.get(end, -signal.SIGKILL), said
    assert "Warning" not in said
    until = time.monotonic() + SECONDS / 2
    while is_running(int(pid.read_text())):
        assert time.monotonic() < until
        time.sleep(0.02)
    pid.unlink()  # which ends the fork


# --- What bandits and games do if the compiler fails --------------------------------------------------------------------------


NO_FORK = """
import os
del os.fork, os.register_at_fork
"""
FULL_DISK = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # every write to a file fails
"""
SIGNALS = """
import os, signal, sys, threading
from contextlib import suppress
from pathlib import Path

signalled = set()


def watch(name, most):
    while len(signalled) < most:
        for claim in Path(os.environ["NUMBA_CACHE_DIR"]).rglob("*.claim"):
            with suppress(OSError, ValueError, IndexError):  # gone, or not written yet
                compiler = int(claim.read_text().split()[1])
                if compiler not in {os.getpid(), *signalled}:
                    os.kill(compiler, signal.Signals[name])
                    signalled.add(compiler)
        time.sleep(0.001)


threading.Thread(target=watch, args=(sys.argv[1], int(sys.argv[2])), daemon=True).start()
"""
posix = pytest.mark.skipif(os.name == "nt", reason="it needs signals or limits that Windows does not have")


@compiled_only
@pytest.mark.parametrize("before", [NO_FORK, pytest.param(FULL_DISK, marks=posix)], ids=["no fork", "full disk"])
def test_bandits_change_over(before: str, tmp_path: Path) -> None:
    run(f"{before}{CHANGE}assert play(300)", tmp_path)


@compiled_only
@posix
@pytest.mark.parametrize(("name", "most"), [("SIGINT", 1), ("SIGKILL", 1)])
def test_a_bandit_changes_over_after_a_signal_to_its_compiler(name: str, most: int, tmp_path: Path) -> None:
    run(f"{CHANGE}{SIGNALS}assert play(300) and len(signalled) == 1", tmp_path, name, most)


@compiled_only
@posix
def test_a_bandit_whose_compiler_is_killed_again_and_again_stays_interpreted(tmp_path: Path) -> None:
    """Two functions, and two children for each."""
    run(f"{CHANGE}{SIGNALS}assert not play(300, until=lambda: len(signalled) == 4) and not play(3)", tmp_path, "SIGKILL", 4)


GAME = """
import rotting
rotting.simulate(rotting.RAWUCB(), rotting.problems.two_arms(horizon=10**6), runs=100, progress=False)
"""


@compiled_only
@posix
def test_control_c_ends_a_game_and_its_compiler(tmp_path: Path) -> None:
    """As a terminal does, which signals the whole process group."""
    command = [sys.executable, "-c", GAME]
    with subprocess.Popen(command, env=environment(tmp_path), stderr=subprocess.PIPE, start_new_session=True) as playing:
        until = time.monotonic() + SECONDS
        while not (compilers := claimants(tmp_path)):
            assert time.monotonic() < until
            time.sleep(0.01)
        os.killpg(playing.pid, signal.SIGINT)
        _, errors = playing.communicate(timeout=SECONDS)
    assert playing.returncode == -signal.SIGINT, errors
    assert errors.splitlines()[-1].startswith(b"KeyboardInterrupt")
    while any(map(is_running, compilers)):
        assert time.monotonic() < until
        time.sleep(0.02)


SPAWN = """
import multiprocessing
import rotting

def play(bandit):
    made = []
    for k in range(50):
        decision = bandit.decide()
        bandit.reward(decision, decision.arm * (k % 3) / 3)
        made.append(repr(decision._replace(id="")))
    games = rotting.simulate(bandit.policy, rotting.problems.two_arms(horizon=50), runs=4, workers=2, progress=False)
    return made, games.regret.tolist()

if __name__ == "__main__":
    bandits = [rotting.Bandit(rotting.UCB1(), arms=[1, 2], seed=1, compile=mode) for mode in ("auto", "never")]
    expected = play(bandits[1])
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(play, [bandits[0], rotting.Bandit(rotting.UCB1(), arms=[1, 2], seed=1)]) == [expected] * 2
"""


def test_spawned_processes_play_the_same(tmp_path: Path) -> None:
    """As multiprocessing starts them on Windows and macOS, from a script and with a cache whose paths have spaces."""
    script = tmp_path / "a folder" / "a script.py"
    script.parent.mkdir()
    script.write_text(SPAWN)
    run(script, tmp_path / "the cache")


WINDOWS = """
import os, sys
from pathlib import Path
assert not hasattr(os, "fork") and not hasattr(os, "register_at_fork")
assert play(300)
folder = Path(os.environ["NUMBA_CACHE_DIR"])
games = {"policies": rotting.UCB1(), "problem": rotting.problems.two_arms(horizon=2_000)}
result = rotting.simulate(**games, runs=3_000, keep=folder / "kept", progress=False)
assert result.us_per_round[0] > 0  # so the last games were compiled
some = rotting.simulate(**games, runs=20, compile="never", progress=False)
assert (some.regret == result.regret[:, :20]).all()
again = rotting.simulate(**games, runs=3_000, keep=folder / "kept", progress=False)
assert again == result
sys.platform = "win32"  # not before: NumPy and Numba are those of this system
with rotting.open(folder / "songs.rot", policy=rotting.Uniform(), arms=["a", "b"]) as bandit:
    bandit.reward(bandit.decide(), 1.0)
with rotting.open(folder / "songs.rot") as bandit:
    bandit.decide()
assert not list(folder.rglob("*.partial"))
"""


@compiled_only
@posix
def test_bandits_and_games_change_over_under_the_rules_of_windows(tmp_path: Path) -> None:
    run(CHANGE + WINDOWS, tmp_path / "cache", more=windows_rules(tmp_path / "rules"))
