"""Times are measured in fresh processes, one by one."""

import io
import json
import os
import pickle
import runpy
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from rotting import UCB1, Uniform
from rotting.problems import two_arms
from rotting.simulation import timing
from rotting.simulation.plan import Simulation
from rotting.simulation.timing import time_rounds


def test_every_process_measures_every_policy(capfd: pytest.CaptureFixture[str]) -> None:
    games = [Simulation((UCB1(), Uniform()), two_arms(horizon=30), runs=2), Simulation(UCB1(), two_arms(horizon=20), runs=1)]
    times = time_rounds(games, processes=2, progress=True)
    assert [each.shape for each in times] == [(2, 2), (2, 1)]
    assert all(np.isfinite(each).all() and (each > 0).all() for each in times)
    assert "2/2" in capfd.readouterr().err


def test_a_process_that_measures_prints_the_times_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    games = [Simulation((UCB1(), Uniform()), two_arms(horizon=30), runs=2), Simulation(UCB1(), two_arms(horizon=20), runs=1)]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(pickle.dumps(games))))
    runpy.run_path(timing.__file__, run_name="__main__")
    printed = capsys.readouterr()
    times = json.loads(printed.out)
    assert [len(each) for each in times] == [2, 1]
    assert all(time > 0.0 for each in times for time in each)
    assert printed.err == ""


def test_nothing_to_time_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subprocess.run", None)
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
