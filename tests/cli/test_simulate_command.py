"""`rotting simulate`: the table, the numbers for programs, files and plots."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from rotting import cli
from rotting.cli import command_line
from rotting.engines.threads import Threads
from rotting.problems import two_arms
from rotting.registry import make
from rotting.simulation.result import Result
from rotting.simulation.simulate import default_workers, simulate
from tests.conftest import INTERPRETED
from tests.helpers.command import SIMULATE, SMALL, parse_strict_json, run_command


def test_simulate_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(SIMULATE) == 0
    out, err = capsys.readouterr()
    assert not err
    assert "two-arms(L=0.5): horizon 60, 3 runs, seed 0" in out
    assert "UCB1  " in out
    assert "uniform " in out
    assert not list(Path.cwd().iterdir())


def test_simulate_in_json_is_what_the_library_computes(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*SIMULATE, "--seed", "7", "--workers", "2", "--json"]) == 0
    out, err = capsys.readouterr()
    assert not err
    shown = parse_strict_json(out)
    problem = two_arms(L=0.5, horizon=60)
    result = simulate([make("ucb1"), make("uniform")], problem, runs=3, seed=7)
    assert shown["problem"] == result.to_json()["problem"]
    assert (shown["horizon"], shown["runs"], shown["seed"]) == (60, 3, 7)
    assert [each["mean"] for each in shown["policies"]] == [row["mean"] for row in result.table().rows]
    assert [each["policy"] for each in shown["policies"]] == ["ucb1", "uniform"]


def test_the_horizon_is_the_problems_unless_it_says_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    for problem, own in (("two-arms", 60), ("two-arms:horizon=100", 100)):
        assert cli.main(["simulate", "--problem", problem, "--policy", "ucb1", *SMALL, "--json"]) == 0
        shown = parse_strict_json(capsys.readouterr().out)
        assert shown["horizon"] == 60
        assert shown["problem"]["horizon"] == own


def test_out_saves_and_plot_draws(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert cli.main([*SIMULATE, "--out", "deep/result", "--plot", "regret.png", "--json"]) == 0
    out, err = capsys.readouterr()
    parse_strict_json(out)
    assert err.splitlines() == ["saved to deep/result", "plotted to regret.png"]
    assert Result.load("deep/result").runs == 3
    assert Path("regret.png").read_bytes().startswith(b"\x89PNG")


def test_a_folder_that_vanishes_costs_no_result(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def full(self: Result, path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Result, "save", full)
    assert cli.main([*SIMULATE, "--out", "result"]) == command_line.FAILED
    out, err = capsys.readouterr()
    assert "UCB1" in out
    assert err == "rotting: error: [Errno 28] No space left on device\n"


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")
def test_control_c_stops_games_under_way() -> None:
    started = (
        "import sys, rotting.engines.threads as e; real = e._Pool.finished\n"
        "def told(pool, *awaited):\n"
        "    if awaited:\n"
        "        e._Pool.finished = real\n"
        "        print('started', flush=True)\n"
        "    return real(pool, *awaited)\n"
        "e._Pool.finished = told; from rotting.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    arguments = ["simulate", "--policy", "ucb1", "--horizon", "2000000", "--runs", "500", "--workers", "2", "--out", "result"]
    command = [sys.executable, "-c", started, *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "started\n"
        time.sleep(0.3)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert (running.returncode, out, err) == (130, "", "rotting: interrupted: no games are kept\n")
    assert not list(Path.cwd().iterdir())


def test_the_same_result_compiled_and_interpreted() -> None:
    other = {**os.environ, "NUMBA_DISABLE_JIT": "0" if INTERPRETED else "1"}
    shown = [parse_strict_json(run_command(*SIMULATE, "--json", env=env).stdout) for env in (dict(os.environ), other)]
    means = [[each["mean"] for each in one["policies"]] for one in shown]
    assert np.isfinite(means).all()
    assert means[0] == means[1]


def test_engines_and_parts(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert cli.main([*SIMULATE, "--engine", "auto", "--first-run", "2", "--out", str(tmp_path / "part")]) == 0
    assert Result.load(tmp_path / "part").first_run == 2
    capsys.readouterr()
    for options, why in (
        (["--engine", "gpu"], "engine must be one of threads, cuda, dask, auto"),
        (["--scheduler", "tcp://127.0.0.1:1"], "scheduler must be given with --engine dask, got --engine threads"),
        (["--engine", "dask", "--scheduler", "x", "--timeout", "0"], "timeout must be a positive finite number, got 0"),
        (["--engine", "dask", "--timeout", "inf"], "timeout must be a positive finite number, got inf"),
        (["--timeout", "banana"], "timeout must be a positive finite number, got 'banana'"),
        (["--first-run", "-1"], "first_run must be a whole number, 0 or more, got -1"),
    ):
        assert cli.main([*SIMULATE, *options]) == 2
        assert why in capsys.readouterr().err


def test_a_scheduler_that_does_not_answer(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("distributed")
    silent = ["--engine", "dask", "--scheduler", "tcp://127.0.0.1:1", "--timeout", "0.2"]
    assert cli.main([*SIMULATE, *silent]) == 2
    assert "scheduler must answer within 0.2 s, got 'tcp://127.0.0.1:1'" in capsys.readouterr().err


def test_a_scheduler_of_the_settings_that_does_not_answer(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("distributed")
    import dask.config

    with dask.config.set({"scheduler-address": "tcp://127.0.0.1:1"}):
        assert cli.main([*SIMULATE, "--engine", "dask", "--timeout", "0.2"]) == 2
    assert "scheduler must answer within 0.2 s, got 'tcp://127.0.0.1:1'" in capsys.readouterr().err


@pytest.mark.parametrize(("asked", "runs", "code"), [("3", "2", 0), (None, "2", 0), ("3", "0", 2)])
def test_dask_is_asked_for_the_workers_and_closed(
    asked: str | None, runs: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    from rotting.engines import dask

    made: list[object] = []

    class Closed(Threads):
        def close(self) -> None:
            made.append("closed")
            super().close()

    def connect(address: str | None = None, timeout: float | None = None, workers: int | None = None) -> Threads:
        made.append((address, timeout, workers))
        return Closed(1)

    monkeypatch.setattr(dask, "connect", connect)
    workers = [] if asked is None else ["--workers", asked]
    assert cli.main(["simulate", "--policy", "ucb1", *SMALL, "--runs", runs, "--engine", "dask", *workers]) == code
    assert made[0] == (None, 30.0, default_workers() if asked is None else int(asked))
    assert set(made[1:]) == {"closed"}
