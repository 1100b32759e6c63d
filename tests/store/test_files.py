"""The file of a store: what is not a store is refused in one sentence, and left as it is."""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from rotting.errors import InvalidTypeError, InvalidValueError, NotAStoreError, PathMissingError, StoreError, StoreFormatError
from rotting.store.backup import backup
from rotting.store.files import APPLICATION_ID, FORMAT, create_store
from rotting.store.sqlite import SQLiteStore
from tests.helpers.stores import numbered_events, open_without_privileges, run, sql


def text_file(path: Path) -> None:
    path.write_text("dear diary\n" * 500)


def other_program(path: Path) -> None:
    sql(path, "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")


def other_program_writing_ahead(path: Path) -> None:
    sql(path, "PRAGMA journal_mode = wal", "PRAGMA application_id = 7", "CREATE TABLE t (a)")


NOT_STORES: list[tuple[Callable[[Path], object], str]] = [
    (Path.touch, "it is an empty file"),
    (Path.mkdir, "it is a folder"),
    (text_file, "it is not a database"),
    (other_program, r"it is another program's database \(application id 0\)"),
    (other_program_writing_ahead, r"it is another program's database \(application id 7\)"),
]


@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize(("make", "why"), NOT_STORES)
def test_a_file_that_is_not_a_store_is_refused_and_unchanged(
    tmp_path: Path, make: Callable[[Path], object], why: str, readonly: bool
) -> None:
    path = tmp_path / "songs.rot"
    make(path)
    before = None if path.is_dir() else path.read_bytes()
    with pytest.raises(NotAStoreError, match=f"^{path} is not a store: {why}$"):
        SQLiteStore(path, readonly)
    assert before is None or path.read_bytes() == before
    assert not path.with_name("songs.rot-lock").exists()


@pytest.mark.parametrize(("version", "age"), [(FORMAT - 1, "an older"), (FORMAT + 1, "a newer")])
def test_another_format_is_refused_by_its_number(path: Path, version: int, age: str) -> None:
    sql(path, f"PRAGMA user_version = {version}")
    with pytest.raises(StoreFormatError, match=rf"has format {version}, of {age} version; rotting .* reads format {FORMAT}$"):
        SQLiteStore(path)


def test_the_file_has_an_application_id(path: Path) -> None:
    assert sql(path, "PRAGMA application_id", "PRAGMA user_version") == [(APPLICATION_ID,), (FORMAT,)]
    assert path.read_bytes()[68:72] == b"ROT!"


@pytest.mark.skipif(os.name != "posix", reason="folders can be synchronised on POSIX alone")
def test_the_name_of_a_new_store_outlives_a_power_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder is synchronised when it has the name: that of a store, and that of a backup."""
    store, copy = tmp_path / "songs.rot", tmp_path / "copy.rot"
    synchronised = []

    def noted(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode) and os.path.samestat(os.fstat(handle), tmp_path.stat()):
            synchronised.append([path.exists() for path in (store, copy)])

    monkeypatch.setattr(os, "fsync", noted)
    SQLiteStore(store).close()
    backup(store, copy, progress=False)
    assert synchronised == [[True, False], [True, True]]


def test_a_new_file_is_in_wal_mode_before_it_is_opened(tmp_path: Path) -> None:
    """Changing the mode needs the file alone: a reader that is quicker than the writer would be in the way."""
    create_store(tmp_path / "songs.rot")
    assert [each.name for each in tmp_path.iterdir()] == ["songs.rot"]
    assert sql(tmp_path / "songs.rot", "PRAGMA journal_mode") == [("wal",)]


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(PathMissingError, match="^no such store: .*songs.rot$"):
        SQLiteStore(tmp_path / "songs.rot", readonly=True)
    with pytest.raises(PathMissingError, match="^no such folder: .*nowhere$"):
        SQLiteStore(tmp_path / "nowhere" / "songs.rot")
    assert list(tmp_path.iterdir()) == []


def test_a_link_to_a_store_is_the_same_store(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.rot"
    link.symlink_to(path)
    with SQLiteStore(path), pytest.raises(StoreError, match="locked"):
        SQLiteStore(link)


@pytest.mark.parametrize("path_", [None, 7, b"songs.rot", "songs\0.rot"])
def test_a_path_is_a_path(path_: Any) -> None:
    with pytest.raises(InvalidTypeError, match="^path must be the path of a file, got "):
        SQLiteStore(path_)


@pytest.mark.parametrize("name", ["x" * 300, "x" * 250, f"{'x' * 300}/songs.rot"])
def test_a_path_that_is_too_long_is_refused_by_the_name_of_its_parameter(path: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidValueError, match="^path must be short enough for the file system, got "):
        SQLiteStore(tmp_path / name)
    with pytest.raises(InvalidValueError, match="^copy must be short enough for the file system, got "):
        backup(path, tmp_path / name)


def test_links_that_lead_nowhere(tmp_path: Path) -> None:
    link = tmp_path / "link.rot"
    link.symlink_to(tmp_path / "songs.rot")
    with pytest.raises(PathMissingError):
        SQLiteStore(link, readonly=True)
    with SQLiteStore(link) as store:
        store.add_bandit("songs", {})
    with SQLiteStore(tmp_path / "songs.rot") as store:
        assert list(store.bandits()) == ["songs"]
    loop = tmp_path / "loop.rot"
    loop.symlink_to(loop)
    with pytest.raises((StoreError, PathMissingError, InvalidTypeError)):
        SQLiteStore(loop)


def test_read_only_files_and_folders_can_be_read_and_say_so_to_writers(folder: Path) -> None:
    path = folder / "songs.rot"
    with SQLiteStore(path) as store:
        store.add_bandit("songs", {})
        store.append(numbered_events(1, 3))
    path.with_name("songs.rot-lock").unlink()
    path.chmod(0o444)
    folder.chmod(0o777)
    assert open_without_privileges(path) == f"StoreReadOnlyError {path} is read-only: it cannot be written to\n"
    assert open_without_privileges(path, readonly=True) == "3\n"
    for each in folder.glob("songs.rot-*"):
        each.unlink()
    folder.chmod(0o555)
    assert open_without_privileges(path, readonly=True) == "3\n"
    assert open_without_privileges(path).startswith(
        f"StoreReadOnlyError {path} cannot be written to: its -lock file cannot be created or locked "
    )


def test_a_file_that_nobody_may_read(folder: Path) -> None:
    path = folder / "songs.rot"
    SQLiteStore(path).close()
    path.chmod(0o000)
    folder.chmod(0o777)
    for readonly in (False, True):
        error = f"StoreReadOnlyError {path} cannot be opened: unable to open database file\n"
        assert open_without_privileges(path, readonly) == error


def test_a_missing_dependency_is_named_in_one_sentence() -> None:
    code = """
import sys
sys.modules["apsw"] = None
try:
    import rotting.store.sqlite
except ImportError as error:
    print(type(error).__name__, error)
"""
    assert run(code) == "MissingExtraError a store needs apsw, which brings SQLite: pip install 'rotting[store]'\n"


def test_sqlite_is_one_that_does_not_damage_what_is_written_ahead() -> None:
    assert tuple(map(int, apsw.sqlite_lib_version().split("."))) >= (3, 51, 3)
