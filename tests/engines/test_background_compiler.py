"""Jobs that a child process does: how they end, and that nothing is left behind."""

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

from rotting.engines.background_compiler import Background, Job

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
    made = Background()
    yield made
    made.stop()


def test_jobs_are_done_one_after_the_other_by_one_child(background: Background, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    ask = f"import os; print(os.getpid(), file=open({str(pids)!r}, 'a'))"
    jobs = [background.submit(work(exec, f"{ask} # {k}")) for k in range(3)]
    assert [outcome(job) for job in jobs] == ["done"] * 3
    first, *others = pids.read_text().split()
    assert others == [first, first]
    assert first != str(os.getpid())


def test_the_same_work_is_done_once(background: Background, tmp_path: Path) -> None:
    count = work(exec, f"import time; time.sleep(0.5); print(1, file=open({str(tmp_path / 'count')!r}, 'a'))")
    assert background.submit(count) is background.submit(count)
    assert outcome(background.submit(count)) == "done"
    assert (tmp_path / "count").read_text() == "1\n"


def test_a_job_that_fails_or_kills_the_child_does_not_end_the_next_one(background: Background) -> None:
    jobs = [background.submit(each) for each in (work(operator.truediv, 1, 0), work(os._exit, 3), b"no pickle", work(int))]
    assert [outcome(job) for job in jobs] == ["failed", "killed", "failed", "done"]


def test_what_the_work_prints_is_no_answer(background: Background) -> None:
    assert outcome(background.submit(work(exec, "import os; os.write(1, b'ddd'); print('ddd', flush=True); 1 / 0"))) == "failed"


def test_a_job_that_nobody_needs_is_given_up(background: Background) -> None:
    long, next_one = background.submit(work(time.sleep, 600)), background.submit(work(int))
    time.sleep(0.1)
    background.cancel(long)
    assert outcome(next_one) == "done"
    assert long.outcome == "cancelled"
    background.cancel(next_one)
    assert next_one.outcome == "done"


def test_without_a_python_to_start_jobs_end_as_killed(background: Background, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert outcome(background.submit(work(int))) == "killed"
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert outcome(background.submit(work(float))) == "killed"


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
if end == "kill":
    os.kill(os.getpid(), 9)
if end == "interrupt":
    raise KeyboardInterrupt
"""


def is_running(pid: int) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return state.strip() != "" and not state.startswith("Z")  # nobody may have asked for the exit status of an orphan


@pytest.mark.skipif(os.name == "nt", reason="processes are watched by signals")
@pytest.mark.parametrize("end", ["return", "interrupt", "kill"])
def test_the_child_ends_with_its_parent(tmp_path: Path, end: str) -> None:
    pid = tmp_path / "pid"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", LEAVE, str(pid), end], capture_output=True, timeout=SECONDS, check=False
    )
    assert done.returncode == {"return": 0, "interrupt": -signal.SIGINT, "kill": -signal.SIGKILL}[end], done.stderr
    assert b"Warning" not in done.stderr
    until = time.monotonic() + SECONDS
    while is_running(int(pid.read_text())):
        assert time.monotonic() < until
        time.sleep(0.02)
