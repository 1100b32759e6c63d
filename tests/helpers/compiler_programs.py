"""Programs whose functions are compiled while they run, in processes of their own with an empty cache."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.conftest import INTERPRETED

compiled_only = pytest.mark.skipif(INTERPRETED, reason="nothing is compiled under NUMBA_DISABLE_JIT=1")
CHANGE = """
import time
import rotting


def play(seconds, until=lambda: False):
    '''Play an interpreted bandit, and one that changes to machine code; return whether it has changed.'''
    bandits = [rotting.Bandit(rotting.Uniform(), arms=[1, 2, 3], seed=5, compile=mode) for mode in ("auto", "never")]
    end = time.monotonic() + seconds
    while not bandits[0].is_compiled and not until() and time.monotonic() < end:
        arms = [bandit.pull() for bandit in bandits]
        assert arms[0] == arms[1]
        for bandit, arm in zip(bandits, arms):
            bandit.update(arm, arm * 0.25)
        time.sleep(0.001)
    return bandits[0].is_compiled


"""


def environment(cache: Path) -> dict[str, str]:
    """Return the environment of a program that compiles as by default, with this folder as its cache."""
    kept = {name: value for name, value in os.environ.items() if name != "ROTTING_COMPILE"}
    return kept | {"NUMBA_CACHE_DIR": str(cache)}


def run(program: str | Path, cache: Path, *arguments: object, more: Mapping[str, str] | None = None) -> None:
    """Run the code of a program, or a script, with `compile="auto"` as users have it, and more environment variables."""
    command = [sys.executable, *(["-c", program] if isinstance(program, str) else [str(program)]), *map(str, arguments)]
    variables = environment(cache) | dict(more or {})
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
