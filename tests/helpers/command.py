"""The command in a process of its own, and arguments for it."""

import json
import subprocess
import sys
from typing import Any

SMALL = ("--horizon", "60", "--runs", "3")

SIMULATE = ("simulate", "--problem", "two-arms:L=0.5", "--policy", "ucb1", "uniform", *SMALL)


def parse_strict_json(text: str) -> Any:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def run_command(*arguments: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "rotting", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)
