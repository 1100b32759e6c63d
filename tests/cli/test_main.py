"""The command: what it prints, what it refuses in one line, what it leaves on disk."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rotting import cli, theory
from rotting.cli import command_line
from rotting.common.version import __version__
from rotting.problems import list_problems, two_arms
from rotting.registry import list_policies, make
from rotting.simulation.result import Result
from rotting.simulation.simulate import simulate
from tests.conftest import INTERPRETED

SMALL = ("--horizon", "60", "--runs", "3")
SIMULATE = ("simulate", "--problem", "two-arms:L=0.5", "--policy", "ucb1", "uniform", *SMALL)


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def strict(text: str) -> Any:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def process(*arguments: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "rotting", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)


# --- list ----------------------------------------------------------------------------------------------------


def test_list_names_every_policy_and_problem_with_every_parameter(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list"]) == 0
    out, err = capsys.readouterr()
    assert not err
    for each in list_policies():
        assert each.name in out.splitlines()
        for parameter in each.parameters():
            assert parameter.rule.text in out
            assert parameter.doc.rstrip(".") in out
    for name in list_problems():
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
    listed = strict(capsys.readouterr().out)
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


# --- simulate ------------------------------------------------------------------------------------------------


def test_simulate_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(SIMULATE) == 0
    out, err = capsys.readouterr()
    assert not err
    assert "two-arms: horizon 60, 3 runs, seed 0" in out
    assert "UCB1(sigma=1.0)" in out
    assert "Uniform()" in out
    assert not list(Path.cwd().iterdir())


def test_simulate_in_json_is_what_the_library_computes(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*SIMULATE, "--seed", "7", "--workers", "2", "--json"]) == 0
    out, err = capsys.readouterr()
    assert not err
    shown = strict(out)
    problem = two_arms(L=0.5, horizon=60)
    result = simulate([make("ucb1"), make("uniform")], problem, runs=3, seed=7)
    assert shown["problem"] == result.to_json()["problem"]
    assert (shown["horizon"], shown["runs"], shown["seed"]) == (60, 3, 7)
    assert [each["mean"] for each in shown["policies"]] == [row["mean"] for row in result.table().rows]
    assert [each["policy"] for each in shown["policies"]] == ["ucb1", "uniform"]


def test_policies_may_be_given_together_or_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    shown = []
    for policies in (["--policy", "ucb1:sigma=0.5", "uniform"], ["--policy", "ucb1:sigma=0.5", "--policy", "uniform"]):
        assert cli.main(["simulate", *policies, *SMALL, "--json"]) == 0
        shown.append([each["label"] for each in strict(capsys.readouterr().out)["policies"]])
    assert shown == [["UCB1(sigma=0.5)", "Uniform()"]] * 2


def test_the_horizon_is_the_problems_unless_it_says_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    for problem, own in (("two-arms", 60), ("two-arms:horizon=100", 100)):
        assert cli.main(["simulate", "--problem", problem, "--policy", "ucb1", *SMALL, "--json"]) == 0
        shown = strict(capsys.readouterr().out)
        assert shown["horizon"] == 60
        assert shown["problem"]["horizon"] == own


@pytest.mark.parametrize("noise", ["bernoulli", "gaussian/0.5", "binomial/10", "noiseless"])
def test_lists_and_noises_can_be_written(noise: str, capsys: pytest.CaptureFixture[str]) -> None:
    problem = f"stationary:means=0.9/0.5/1e-1,noise={noise}"
    assert cli.main(["simulate", "--problem", problem, "--policy", "uniform", *SMALL, "--json"]) == 0
    shown = strict(capsys.readouterr().out)["problem"]
    assert shown["n_arms"] == 3
    assert shown["noise"]["noise"].lower() == noise.partition("/")[0]


def test_out_saves_and_plot_draws(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert cli.main([*SIMULATE, "--out", "deep/result", "--plot", "regret.png", "--json"]) == 0
    out, err = capsys.readouterr()
    strict(out)
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


# --- Bad input -----------------------------------------------------------------------------------------------

POLICY = ("simulate", "--policy")
PROBLEM = ("simulate", "--policy", "ucb1", "--problem")
UCB1 = ("simulate", "--policy", "ucb1")
BAD: list[tuple[Sequence[str], str]] = [
    ([*POLICY, "raw-ubc"], "got 'raw-ubc'; did you mean 'raw-ucb'?"),
    ([*POLICY, ""], "policy must be one of"),
    ([*POLICY, "raw-ucb:alpha=-1"], "alpha must be a positive finite number, got -1"),
    ([*POLICY, "ucb1", "raw-ucb:alpha=nan"], "policy 'raw-ucb:alpha=nan': alpha must be a positive finite number, got nan"),
    ([*POLICY, "raw-ucb:alpha=1e999"], "alpha must be a positive finite number, got inf"),
    ([*POLICY, "raw-ucb:alpha=big"], "alpha must be a positive finite number, got 'big'"),
    ([*POLICY, "eff-raw-ucb:m=1"], "m must be a finite number above 1, got 1"),
    ([*POLICY, "raw-ucb:alhpa=1"], "must be among: alpha, sigma, got 'alhpa'; did you mean 'alpha'?"),
    ([*POLICY, "raw-ucb:self=1"], "must be among: alpha, sigma, got 'self'"),
    ([*POLICY, "uniform:alpha=1"], "must be among: none, got 'alpha'"),
    ([*POLICY, "raw-ucb:alpha"], "policy must be written NAME:key=value,key=value, got 'raw-ucb:alpha'"),
    ([*POLICY, "raw-ucb:"], "policy must be written NAME:key=value,key=value, got 'raw-ucb:'"),
    ([*POLICY, "raw-ucb:alpha=1,alpha=2"], "alpha must be given once, got it twice"),
    ([*PROBLEM, "two-arm"], "got 'two-arm'; did you mean 'two-arms'?"),
    ([*PROBLEM, "two-arms:L=-1"], "L must be a finite number, zero or more, got -1"),
    ([*PROBLEM, "two-arms:l=1"], "must be among: L, horizon, sigma, got 'l'"),
    ([*PROBLEM, "two-arms:name=x"], "must be among: L, horizon, sigma, got 'name'"),
    ([*PROBLEM, "stationary"], "means must be given for stationary, got nothing"),
    ([*PROBLEM, "stationary:means=0.5"], "horizon must be given"),
    ([*PROBLEM, "stationary:means=0.5/x"], "means[1] must be a finite number, got 'x'"),
    ([*PROBLEM, "stationary:means=2,noise=bernoulli", *SMALL], "means must be a probability in [0, 1]"),
    ([*PROBLEM, "stationary:means=1,noise=gauss"], "got 'gauss'; did you mean 'gaussian'?"),
    ([*PROBLEM, "stationary:means=1,noise=binomial"], "noise must be written binomial/n, got 'binomial'"),
    ([*UCB1, "--horizon", "0"], "horizon must be a whole number, 1 or more, got 0"),
    ([*UCB1, "--horizon", "1.5"], "horizon must be a whole number, 1 or more, got 1.5"),
    ([*UCB1, "--runs", "many", "--horizon", "60"], "runs must be a whole number, 1 or more, got 'many'"),
    ([*UCB1, "--seed", "-1", "--horizon", "60"], "seed must be a whole number, 0 or more, got -1"),
    ([*UCB1, "--workers", "0", "--horizon", "60"], "workers must be a whole number, 1 or more, got 0"),
    ([*UCB1, "--out", "taken"], "out must be new, but 'taken' exists"),
    ([*UCB1, "--out", "taken/file/x"], "out must be in a folder that can be written to"),
    ([*UCB1, "--plot", "taken"], "plot must be new, but 'taken' exists"),
    ([*UCB1, "--plot", "regret"], "plot must end in one of .avif, "),
    ([*UCB1, "--plot", "regret.xyz"], "got 'regret.xyz'"),
    (["simulate"], "the following arguments are required: --policy"),
    ([*UCB1, "--run", "3"], "unrecognized arguments: --run 3"),
    ([*UCB1, "--runs"], "argument --runs: expected one argument"),
    (["simulat"], "command must be one of list, simulate, theory, reproduce, got 'simulat'; did you mean 'simulate'?"),
    (["list", "polices"], "got 'polices'; did you mean 'policies'?"),
    (["reproduce", "rested-two-arm"], "got 'rested-two-arm'; did you mean 'rested-two-arms'?"),
    (["reproduce", "runtime", "rested"], "got 'rested'"),
    (["reproduce", "--out", "taken"], "out must be new, but 'taken' exists"),
    (["reproduce", "--workers", "0"], "workers must be a whole number, 1 or more, got 0"),
    (["reproduce", "--quick", "--full"], "not allowed with argument"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[" ".join(arguments) for arguments, _ in BAD])
def test_bad_input_gets_one_line_and_writes_nothing(
    arguments: Sequence[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    Path("taken").mkdir()
    Path("taken/file").touch()
    assert cli.main(arguments) == command_line.REFUSED
    out, err = capsys.readouterr()
    assert not out
    assert err.startswith("rotting: error: ")
    assert err.endswith("\n")
    assert err.count("\n") == 1
    assert message in err
    assert sorted(map(str, Path().rglob("*"))) == ["taken", "taken/file"]


# --- Interrupts, pipes, imports ------------------------------------------------------------------------------


def test_an_interrupt_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rotting.simulation.simulate.simulate", interrupt)
    assert cli.main([*SIMULATE, "--out", "result"]) == command_line.INTERRUPTED
    assert capsys.readouterr() == ("", "rotting: interrupted\n")
    assert not list(Path.cwd().iterdir())


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")
def test_control_c_stops_games_under_way() -> None:
    started = (
        "import sys, rotting.engines.threads as e; real = e._Pool.finished\n"
        "def told(pool, *awaited):\n"
        "    if awaited: print('started', flush=True)\n"
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
    assert (running.returncode, out, err) == (130, "", "rotting: interrupted\n")
    assert not list(Path.cwd().iterdir())


@pytest.mark.skipif(os.name == "nt", reason="pipes are POSIX")
@pytest.mark.parametrize("arguments", [["list"], ["--help"], [*SIMULATE, "--json"]], ids=["list", "help", "simulate"])
def test_a_broken_pipe_is_silent(arguments: Sequence[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "rotting", *arguments], stdout=write, stderr=subprocess.PIPE, timeout=120, check=False
        )
    finally:
        os.close(write)
    # argparse itself swallows the error when the output is not buffered.
    assert done.returncode in ({0, command_line.BROKEN_PIPE} if arguments == ["--help"] else {command_line.BROKEN_PIPE})
    assert done.stderr == b""


@pytest.mark.parametrize(
    "arguments", [[], ["--help"], ["list", "--help"], ["simulate", "--help"], ["reproduce", "--help"], ["--version"]]
)
def test_help_imports_neither_numpy_nor_numba(arguments: list[str]) -> None:
    code = (
        f"import sys; from rotting.cli import main; assert main({arguments!r}) == 0\n"
        "sys.exit(str([name for name in ('numpy', 'numba', 'matplotlib') if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr.strip() == "[]"
    assert "rotting" in done.stdout


def test_list_compiles_nothing() -> None:
    code = "import sys; from rotting.cli import main; main(['list', '--json']); sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False).returncode == 0


def test_the_module_is_the_command() -> None:
    done = process("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"rotting {__version__}\n", "")


def test_the_same_result_compiled_and_interpreted() -> None:
    other = {**os.environ, "NUMBA_DISABLE_JIT": "0" if INTERPRETED else "1"}
    shown = [strict(process(*SIMULATE, "--json", env=env).stdout) for env in (dict(os.environ), other)]
    means = [[each["mean"] for each in one["policies"]] for one in shown]
    assert np.isfinite(means).all()
    assert means[0] == means[1]


# --- theory --------------------------------------------------------------------------------------------------


def test_theory_prints_the_constants_and_the_bounds(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["theory", "two-arms:L=0.5", "--horizon", "100"]) == 0
    out, err = capsys.readouterr()
    assert not err
    assert out == f"{theory.table(two_arms(L=0.5, horizon=100))}\n"
    assert cli.main(["theory", "two-arms:L=0.5", "--horizon", "100", "--policy", "raw-ucb:alpha=5", "ucb1", "--json"]) == 0
    shown = strict(capsys.readouterr().out)
    assert shown["constants"]["rested"] == {"largest_fall": 0.5, "smallest_reward": 0.0, "optimal_pulls": [75, 25]}
    assert list(shown["theorems"][3]["bounds"]) == ["RAWUCB(alpha=5.0, sigma=1.0)", "UCB1(sigma=1.0)"]


def test_theory_refuses_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["theory", "stationary:means=0.5/0.25"]) == command_line.REFUSED
    assert "horizon must be given" in capsys.readouterr().err
