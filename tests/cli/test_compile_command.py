"""`rotting compile`: machine code ahead of its use."""

import os
import shutil
from pathlib import Path

import pytest

from rotting import cli
from rotting.live.bandit import Bandit
from rotting.registry import make
from tests.conftest import INTERPRETED
from tests.helpers.compiler_programs import compiled_only, run


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
    assert "rotting.engines.compiler_process" not in command, command
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
