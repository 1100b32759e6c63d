"""Every test of the command has an empty folder of its own; experiments are played in a size of a blink."""

from pathlib import Path

import pytest

from tests.helpers.tiny_experiments import tiny

__all__ = ["tiny"]


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
