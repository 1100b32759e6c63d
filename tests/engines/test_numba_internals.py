"""Without the private parts of Numba, games are the same, and compiled code is still cached."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rotting.engines.numba_internals import cuda_without_fused_operations, cuda_without_negative_indices
from rotting.errors import EngineError
from rotting.policies.ucb1 import UCB1
from rotting.problems import two_arms
from rotting.simulation.simulate import simulate
from tests.conftest import INTERPRETED

compiled_only = pytest.mark.skipif(INTERPRETED, reason="nothing is compiled under NUMBA_DISABLE_JIT=1")

GAME = """
import json
import warnings

{before}

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import rotting
    from rotting.engines.compile import compiled
    from rotting.engines.game import link

    policy = rotting.UCB1()
    result = rotting.simulate(policy, rotting.problems.two_arms(horizon=200), runs=6)
    loop = compiled(link(policy, rotting.Gaussian()), policy, allocates=True)
said = [f"{{each.category.__name__}}: {{each.message}}" for each in caught]
hits = sum(loop.stats.cache_hits.values())
print(json.dumps({{"regret": result.regret.tolist(), "hits": hits, "warnings": said}}))
"""


def play(folder: Path, before: str = "", **env: str) -> Any:
    """Play a few games in a process of its own, which runs some code before it imports the library."""
    setting = os.environ | {"NUMBA_CACHE_DIR": str(folder)} | env
    command = [sys.executable, "-c", GAME.format(before=before)]
    done = subprocess.run(command, env=setting, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def regret() -> Any:
    return simulate(UCB1(), two_arms(horizon=200), runs=6).regret.tolist()


@compiled_only
def test_plain_numba_plays_the_same_games_and_caches_them(tmp_path: Path, regret: Any) -> None:
    for hits in (0, 1):
        found = play(tmp_path, ROTTING_PLAIN_NUMBA="1")
        assert found == {"regret": regret, "hits": hits, "warnings": []}


# What a later Numba might change: each makes one private part of today's Numba unusable for the library, not for Numba.
CHANGES = {
    "class that is gone": "import numba.core.codegen; del numba.core.codegen.JITCodeLibrary",
    "option that is gone": "import numba.core.cpu; del numba.core.cpu._options_mixin._nrt",
    "method without its argument": """
from numba.core.codegen import CPUCodegen
passes = CPUCodegen._function_pass_manager
CPUCodegen._function_pass_manager = lambda self: passes(self)
""",
}


@compiled_only
@pytest.mark.parametrize("change", CHANGES)
def test_a_numba_without_a_private_part_plays_the_same_games_with_one_warning(change: str, tmp_path: Path, regret: Any) -> None:
    found = play(tmp_path, CHANGES[change])
    assert found["regret"] == regret
    (warning,) = found["warnings"]
    assert warning.startswith("RuntimeWarning: compiling takes longer, since rotting does not know the internals of Numba ")


NVVM, ARRAYS = "numba.cuda.cudadrv.nvvm", "numba.cuda.np.arrayobj"


def test_the_cuda_compiler_is_told_not_to_fuse_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    def compile_ir(irs: Any, **options: Any) -> Any:
        return irs, options

    nvvm = SimpleNamespace(compile_ir=compile_ir)
    monkeypatch.setitem(sys.modules, NVVM, nvvm)
    with cuda_without_fused_operations():
        assert nvvm.compile_ir("ir", opt=3) == ("ir", {"opt": 3, "fma": False})
    assert nvvm.compile_ir is compile_ir


def test_a_gpu_that_would_round_otherwise_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, NVVM, SimpleNamespace())
    with pytest.raises(EngineError, match="engine='cuda' needs a version of numba-cuda that rotting knows, got "):
        cuda_without_fused_operations().__enter__()


def test_a_gpu_plays_without_the_saving_on_indices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, ARRAYS, SimpleNamespace())
    with pytest.warns(RuntimeWarning, match="games on the GPU take longer"), cuda_without_negative_indices():
        pass
    with cuda_without_negative_indices():  # one warning is enough
        pass
