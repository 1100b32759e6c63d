"""Work in child processes: failures are told, and nothing is left behind."""

import operator
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from rotting.common.child_process import run_in_child

SECONDS = 60


def test_it_works_in_a_child_whatever_it_prints_and_reads(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code = f"""
import os, sys
print("ddd", flush=True)
print("ddd", file=sys.stderr)
assert sys.stdin.read() == ""
open({str(tmp_path / "parent")!r}, "w").write(str(os.getppid()))
"""
    run_in_child(partial(exec, code))
    assert (tmp_path / "parent").read_text() == str(os.getpid())
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("work", "code"), [(partial(operator.truediv, 1, 0), 1), (partial(os._exit, 3), 3), (os.abort, -6)])
def test_work_that_fails_is_told_by_the_exit_code(work: "partial[object]", code: int) -> None:
    with pytest.raises(subprocess.CalledProcessError) as caught:
        run_in_child(work)
    assert caught.value.returncode == code


def test_the_path_of_python_may_have_spaces_and_must_exist(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    python = tmp_path / "my programs" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    run_in_child(int)
    for missing in ("/nowhere/python", ""):
        monkeypatch.setattr(sys, "executable", missing)
        with pytest.raises(OSError, match="no Python to start|No such file"):
            run_in_child(int)


LEAVE = """
import os, sys, threading, time
from functools import partial
from pathlib import Path
from rotting.common.child_process import run_in_child
pid, end = Path(sys.argv[1]), sys.argv[2]
code = f"import os, time; print(os.getpid(), file=open({sys.argv[1]!r}, 'w'), flush=True); time.sleep(600)"
threading.Thread(target=run_in_child, args=(partial(exec, code),), daemon=True).start()
while not (pid.exists() and pid.read_text().strip()):
    time.sleep(0.01)
if "fork" in end and os.fork() == 0:
    while pid.exists():
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


@pytest.mark.parametrize("end", ["return", "interrupt", "kill", "fork and kill"])
def test_the_child_ends_with_its_parent(tmp_path: Path, end: str) -> None:
    """Even if a fork of the parent lives on, and has the pipes of the child open."""
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


def test_a_child_that_is_sent_nothing_says_nothing() -> None:
    """Ctrl-C may stop the parent before it writes."""
    command = [sys.executable, "-m", "rotting.common.child_process", str(os.getpid())]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")
