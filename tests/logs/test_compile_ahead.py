"""Compiling ahead: all loops of an analysis are in the cache before it plays, unless it plays little."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import rotting
from rotting.logs.compile_ahead import compile_ahead
from rotting.logs.fit import fit
from rotting.logs.log import Log
from rotting.logs.stacks import FEW_ROUNDS

LOG = Log({"arm": ["a", "b"] * 20, "reward": [1.0, 0.0] * 20})
SCRIPT = """
import rotting
from rotting.engines.code_cache import is_cached
from rotting.engines.game_start import loop_entry
from rotting.logs.compile_ahead import compile_ahead
from rotting.logs.fit import fit
from rotting.logs.log import Log
from rotting.logs.stacks import FEW_ROUNDS, stack_entry
from rotting.simulation.plan import Simulation, plan

if __name__ == "__main__":
    policies = [rotting.Uniform(), rotting.UCB1(), rotting.UCB1(sigma="estimate")]
    family = fit(Log({"arm": ["a", "b"] * 20, "reward": [1.0, 0.0] * 20}), "pulls")
    compile_ahead(policies, family, FEW_ROUNDS, progress=True)
    games, _ = plan(Simulation(policies, family, runs=1, checkpoints=[])).games()
    print([is_cached(loop_entry(game).key) and is_cached(stack_entry(game.policy).key) for game in games])
    compile_ahead(policies, family, FEW_ROUNDS, progress=True)  # there is nothing to compile
"""


@pytest.mark.slow
def test_all_loops_are_in_the_cache_afterwards(tmp_path: Path) -> None:
    environment = {key: value for key, value in os.environ.items() if key not in {"NUMBA_DISABLE_JIT", "ROTTING_COMPILE"}}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**environment, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "[True, True, True]\n", done.stderr
    bars = done.stderr.splitlines()  # more than one if compiling takes long
    assert all(bar.startswith("compiling [") for bar in bars), done.stderr
    assert bars[-1].startswith("compiling [########################] 100 %  3/3")


def test_little_work_is_not_compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("NUMBA_DISABLE_JIT", "ROTTING_COMPILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    compile_ahead([rotting.UCB1()], fit(LOG, "pulls"), FEW_ROUNDS - 1, progress=None)
    assert not list(tmp_path.iterdir())


def test_nothing_is_compiled_in_the_mode_never(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    monkeypatch.setenv("ROTTING_COMPILE", "never")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    compile_ahead([rotting.UCB1()], fit(LOG, "pulls"), FEW_ROUNDS, progress=None)
    assert not list(tmp_path.iterdir())
