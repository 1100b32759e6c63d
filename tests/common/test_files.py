"""Where the files of a user lie, and files that appear whole or not at all."""

import sys
from pathlib import Path

import pytest

from rotting.common.files import cache_folder, partial_path, write_atomically
from rotting.paper.datasets import data_folder

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
    ],
)
def test_the_folders_of_a_platform(
    monkeypatch: pytest.MonkeyPatch, platform: str, variables: dict[str, str], data: Path, cache: Path
) -> None:
    for name in ("ROTTING_DATA", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert (data_folder(), cache_folder()) == (data, cache)


def test_a_file_takes_the_place_of_an_older_one(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file"
    for content in (b"first", b"", b"second"):
        write_atomically(path, content)
        assert path.read_bytes() == content
        assert list(path.parent.iterdir()) == [path]


def test_what_fails_leaves_the_older_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"older")
    real = Path.write_bytes

    def full_disk(self: Path, content: bytes) -> int:
        real(self, content[:2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full_disk)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, b"newer")
    assert path.read_bytes() == b"older"
    assert list(tmp_path.iterdir()) == [path]


def test_unfinished_files_have_names_of_their_own(tmp_path: Path) -> None:
    names = {partial_path(tmp_path / "file") for _ in range(100)}
    assert len(names) == 100
    assert {name.parent for name in names} == {tmp_path}
    assert all(name.name.startswith(".file.") for name in names)
