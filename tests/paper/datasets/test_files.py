"""Data files: what is said when they are missing or different."""

from collections.abc import Callable
from pathlib import Path

import pytest

from rotting.paper.datasets import DataWarning, MissingDataError, batteries, files, news
from rotting.paper.datasets.batteries import SOURCE as CAPACITIES
from rotting.paper.datasets.news import SOURCE as SHARES
from rotting.problems import Problem
from rotting.problems.noise import Gaussian
from tests.helpers.data_files import capacity_text

# --- folders and files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("load", "source"), [(news, SHARES), (batteries, CAPACITIES)])
def test_a_missing_file_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, load: Callable[[], Problem], source: files.Source
) -> None:
    monkeypatch.setenv("ROTTING_DATA", str(tmp_path))
    with pytest.raises(MissingDataError) as caught:
        load()
    text = str(caught.value)
    assert isinstance(caught.value, FileNotFoundError)
    assert "\n" not in text
    assert text.startswith(f"{source.path} is not in '{tmp_path}' (set ROTTING_DATA")
    assert "get it from" in text
    assert "https://" in text


def test_another_version_is_said_and_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ROTTING_DATA", str(tmp_path))
    path = tmp_path / CAPACITIES.path
    path.parent.mkdir()
    path.write_bytes(("\ufeff" + capacity_text().replace("\n", "\r\n")).encode())
    with pytest.warns(DataWarning, match="capacity_by_discharge.csv is not the version that rotting knows: its SHA-256 is"):
        problem = batteries(sigma=0.5)
    assert problem.mean(1, t=5, n=4) == 1.6
    assert problem.noise == Gaussian(0.5)
