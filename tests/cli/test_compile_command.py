"""`rotting compile`: machine code ahead of its use."""

from pathlib import Path

import pytest

from rotting import cli
from rotting.live.bandit import Bandit
from rotting.registry import make
from tests.conftest import INTERPRETED


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled under NUMBA_DISABLE_JIT=1")
def test_what_was_compiled_ahead_is_found(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli.main(["compile", "uniform", "greedy-oracle"]) == 0
    assert [line.split(" in ")[0] for line in capsys.readouterr().err.splitlines()] == [
        "compiled uniform",
        "compiled greedy-oracle",
    ]
    monkeypatch.setenv("ROTTING_COMPILE", "auto")
    assert Bandit(make("uniform"), arms=[1, 2, 3]).is_compiled  # from the start, since it is cached


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
