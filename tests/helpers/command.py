"""The command in a process of its own, and arguments for it."""

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from rotting import cli
from rotting.cli import command_line

SMALL = ("--horizon", "60", "--runs", "3")

SIMULATE = ("simulate", "--problem", "two-arms:L=0.5", "--policy", "ucb1", "uniform", *SMALL)


def parse_strict_json(text: str) -> Any:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def run_command(*arguments: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "rotting", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)


def assert_refused_in_one_line(arguments: Sequence[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Run the command in this process: it must print an error of one line, with this message in it, and nothing else."""
    assert cli.main(arguments) == command_line.REFUSED
    out, err = capsys.readouterr()
    assert not out
    assert err.startswith("rotting: error: ")
    assert message in err
    assert err.endswith("\n")
    assert err.count("\n") == 1
