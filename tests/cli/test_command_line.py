"""The command: bad input, interrupts and pipes end in one line or none, and help imports little."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from rotting import cli
from rotting.cli import command_line
from rotting.common.version import __version__
from tests.helpers.command import SIMULATE, SMALL, assert_refused_in_one_line, run_command

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
    (
        ["simulat"],
        (
            "reproduce, analyse, serve, token, log, verify, copy, migrate, backup, compile, "
            "got 'simulat'; did you mean 'simulate'?"
        ),
    ),
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
    assert_refused_in_one_line(arguments, message, capsys)
    assert sorted(map(str, Path().rglob("*"))) == ["taken", "taken/file"]


def test_an_interrupt_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rotting.simulation.simulate.simulate", interrupt)
    assert cli.main([*SIMULATE, "--out", "result"]) == command_line.INTERRUPTED
    assert capsys.readouterr() == ("", "rotting: interrupted\n")
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


def test_the_module_is_the_command() -> None:
    done = run_command("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"rotting {__version__}\n", "")
