"""Where the files of a user lie, on every platform."""

import sys
from pathlib import Path

import pytest

from rotting.common.folders import cache_folder
from rotting.datasets import data_folder

HOME = Path.home()


@pytest.mark.parametrize(
    ("platform", "variables", "data", "cache"),
    [
        ("linux", {}, HOME / ".local/share/rotting", HOME / ".cache/rotting"),
        ("linux", {"XDG_DATA_HOME": "/d", "XDG_CACHE_HOME": "/c"}, Path("/d/rotting"), Path("/c/rotting")),
        ("linux", {"XDG_DATA_HOME": "relative"}, HOME / ".local/share/rotting", HOME / ".cache/rotting"),
        ("linux", {"ROTTING_DATA": "/mine"}, Path("/mine"), HOME / ".cache/rotting"),
        ("linux", {"ROTTING_DATA": "~/mine"}, HOME / "mine", HOME / ".cache/rotting"),
        ("linux", {"ROTTING_DATA": ""}, HOME / ".local/share/rotting", HOME / ".cache/rotting"),
        ("darwin", {}, HOME / "Library/Application Support/rotting", HOME / "Library/Caches/rotting"),
        ("win32", {"LOCALAPPDATA": "/local"}, Path("/local/rotting"), Path("/local/rotting")),
        ("win32", {}, HOME / "AppData/Local/rotting", HOME / "AppData/Local/rotting"),
    ],
)
def test_the_folders_of_a_platform(
    monkeypatch: pytest.MonkeyPatch, platform: str, variables: dict[str, str], data: Path, cache: Path
) -> None:
    for name in ("ROTTING_DATA", "XDG_DATA_HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert (data_folder(), cache_folder()) == (data, cache)
