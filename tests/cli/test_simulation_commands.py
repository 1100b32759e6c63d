"""`rotting list`, `simulate` and `compile`."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from rotting import cli, problems
from rotting.cli import command_line
from rotting.live.bandit import Bandit
from rotting.problems import two_arms
from rotting.registry import list_policies, make
from rotting.simulation.engines.threads import Threads
from rotting.simulation.result import Result
from rotting.simulation.simulate import default_workers, simulate
from tests.conftest import INTERPRETED
from tests.helpers.command import SIMULATE, SMALL, parse_strict_json, run_command
from tests.helpers.compiler_programs import compiled_only, run


def test_list_names_every_policy_and_problem_with_every_parameter(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list"]) == 0
    out, err = capsys.readouterr()
    assert not err
    for each in list_policies():
        assert each.name in out.splitlines()
        for parameter in each.parameters():
            assert parameter.rule.text in out
            assert parameter.doc.rstrip(".") in out
    for name in problems.list():
        assert name in out.splitlines()
    assert "L       = 0.3" in out
    assert "binomial/n" in out


def test_list_can_be_asked_for_one_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list", "problems"]) == 0
    out = capsys.readouterr().out
    assert "two-arms" in out
    assert "raw-ucb" not in out


def test_list_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list", "--json"]) == 0
    listed = parse_strict_json(capsys.readouterr().out)
    assert list(listed) == ["policies", "problems"]
    raw_ucb = next(each for each in listed["policies"] if each["name"] == "raw-ucb")
    assert raw_ucb["parameters"][0] == {
        "name": "alpha",
        "required": False,
        "default": 1.4,
        "rule": "a positive finite number",
        "meaning": "confidence level: delta_t = 2 / t**alpha",
    }
    stationary = next(each for each in listed["problems"] if each["name"] == "stationary")
    means, noise, horizon = stationary["parameters"]
    assert means["required"]
    assert means["default"] is None
    assert noise["default"] == "gaussian/1.0"
    assert not horizon["required"]
    assert all(
        each["summary"] and p["rule"] and p["meaning"] for kind in listed.values() for each in kind for p in each["parameters"]
    )


def test_list_shows_the_words_for_sigma(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list", "--json"]) == 0
    found = {
        (policy["name"], each["default"], each["rule"])
        for policy in parse_strict_json(capsys.readouterr().out)["policies"]
        for each in policy["parameters"]
        if each["name"] == "sigma" and policy["name"] in {"raw-ucb", "d-ucb"}
    }
    assert found == {
        ("raw-ucb", 1.0, "a positive finite number or 'estimate'"),
        ("d-ucb", "range", "a positive finite number, 'estimate' or 'range'"),
    }


def test_list_compiles_nothing() -> None:
    code = "import sys; from rotting.cli import main; main(['list', '--json']); sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False).returncode == 0


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
        "import sys, rotting.simulation.engines.threads as e; real = e._Pool.finished\n"
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
    from rotting.simulation.engines import dask

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


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled under NUMBA_DISABLE_JIT=1")
def test_what_was_compiled_ahead_is_found(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli.main(["compile", "uniform", "greedy-oracle"]) == 0
    assert [line.split(" in ")[0] for line in capsys.readouterr().err.splitlines()] == [
        "compiled uniform",
        "compiled greedy-oracle",
    ]
    monkeypatch.setenv("ROTTING_COMPILE", "auto")
    assert Bandit(make("uniform"), arms=[1, 2, 3]).is_compiled  # from the start, since it is cached


IMAGE = """
import subprocess, sys
real = subprocess.Popen.__init__


def start(self, command, *others, **options):
    assert sys.executable not in command, command
    real(self, command, *others, **options)


subprocess.Popen.__init__ = start
import rotting
bandit = rotting.Bandit(rotting.Uniform(), arms=[1, 2, 3])
assert bandit.is_compiled
for _ in range(3):
    bandit.decide(count=2)
bandit.reward(bandit.decide(), 1.0)
bandit.learn([(1, 0.5)])
bandit.explain()
bandit.propensities()
assert bandit.is_compiled
result = rotting.simulate(rotting.Uniform(), rotting.problems.two_arms(horizon=10_000), runs=100, progress=False)
assert result.us_per_round[0] > 0  # compiled from the start
"""


@pytest.mark.slow
@compiled_only
@pytest.mark.skipif(os.name == "nt", reason="permissions of files are those of POSIX")
def test_a_read_only_copy_of_a_cache_is_used_without_a_compiler(tmp_path: Path) -> None:
    cache, image = tmp_path / "cache", tmp_path / "image"
    run("import sys; from rotting.cli import main; sys.exit(main(['compile', 'uniform']))", cache)
    shutil.copytree(cache, image)
    before = sorted(image.rglob("*"))
    for path in [image, *before]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    run(IMAGE, image)
    assert sorted(image.rglob("*")) == before  # root may write anywhere
    for path in [image, *before]:
        path.chmod(0o755)


def test_unknown_policies_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compile", "raw-ucv"]) == 2
    assert "raw-ucb" in capsys.readouterr().err


@pytest.mark.skipif(not INTERPRETED, reason="the cache is turned off under NUMBA_DISABLE_JIT=1")
def test_a_cache_that_keeps_nothing_is_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert cli.main(["compile", "uniform"]) == 2
    assert "compiled code must be kept on disk" in capsys.readouterr().err
