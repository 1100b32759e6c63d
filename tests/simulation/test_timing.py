"""Times are measured in fresh processes, one by one."""

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

from rotting import UCB1, Uniform
from rotting.problems import two_arms
from rotting.simulation.plan import Simulation
from rotting.simulation.timing import time_rounds


def test_every_process_measures_every_policy(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("rotting.common.progress.LINE_SECONDS", 0.0)
    games = [Simulation((UCB1(), Uniform()), two_arms(horizon=30), runs=2), Simulation(UCB1(), two_arms(horizon=20), runs=1)]
    times = time_rounds(games, processes=2, progress=True)
    assert [each.shape for each in times] == [(2, 2), (2, 1)]
    assert all(np.isfinite(each).all() and (each > 0).all() for each in times)
    assert "2/2" in capfd.readouterr().err


def test_nothing_to_time_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subprocess.Popen", None)
    assert time_rounds([], processes=3) == []


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")
@pytest.mark.parametrize("seconds", [0.3, 3.0])  # while the child imports, and while it plays
def test_control_c_prints_no_traceback_of_the_child(seconds: float) -> None:
    script = textwrap.dedent("""
        import os, signal, sys
        from rotting import UCB1
        from rotting.problems import two_arms
        from rotting.simulation.plan import Simulation
        from rotting.simulation.timing import time_rounds

        game = Simulation(UCB1(), two_arms(horizon=2_000), runs=1_000_000, checkpoints=(2_000,))
        signal.signal(signal.SIGALRM, lambda *_: os.killpg(0, signal.SIGINT))
        signal.setitimer(signal.ITIMER_REAL, float(sys.argv[1]))
        try:
            time_rounds([game], processes=1, progress=False)
        except KeyboardInterrupt:
            print("interrupted")
    """)
    command, environment = [sys.executable, "-c", script, str(seconds)], {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, check=True, start_new_session=True
    )
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="finds the child in /proc")
def test_a_child_ends_with_its_parent_although_interrupts_are_ignored() -> None:
    script = textwrap.dedent("""
        import signal
        from rotting import UCB1
        from rotting.problems import two_arms
        from rotting.simulation.plan import Simulation
        from rotting.simulation.timing import time_rounds

        signal.signal(signal.SIGINT, signal.SIG_IGN)
        game = Simulation(UCB1(), two_arms(horizon=2_000), runs=1_000_000, checkpoints=(2_000,))
        print("ready", flush=True)
        time_rounds([game], processes=1, progress=False)
    """)
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    with subprocess.Popen([sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        (child,) = wait_for(lambda: children(parent.pid))
        wait_for(lambda: cpu_seconds(child) > 1.5)  # it plays
        parent.kill()
    wait_for(lambda: not Path(f"/proc/{child}").exists())


def test_a_child_that_fails_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "false")
    with pytest.raises(subprocess.CalledProcessError):
        time_rounds([Simulation(UCB1(), two_arms(horizon=30), runs=1)], processes=1, progress=False)


T = TypeVar("T")


def wait_for(condition: Callable[[], T]) -> T:
    """Return the first true value of a condition."""
    end = time.monotonic() + 30
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return found


def children(process: int) -> list[int]:
    """Return the numbers of the processes that a process has started."""
    return [int(each) for each in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def cpu_seconds(process: int) -> float:
    """Return how long a process has run on a CPU."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
