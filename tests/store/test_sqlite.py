"""The file of a store: what is no store, or a damaged one, is refused in one sentence, and left as it is."""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from rotting.errors import (
    InvalidTypeError,
    InvalidValueError,
    NotAStoreError,
    PathMissingError,
    StoreDamagedError,
    StoreError,
    StoreFormatError,
)
from rotting.store.sqlite import APPLICATION_ID, FORMAT, SQLiteStore
from rotting.store.verify import verify
from tests.helpers.stores import numbered, says


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store of 90 events that was closed in order."""
    with SQLiteStore(tmp_path / "songs.rot") as store:
        store.add_bandit("songs", {"seed": 1})
        store.append(numbered(1, 90))
        for number in (30, 60, 90):
            store.save_snapshot("songs", number, {"n": number})
    return tmp_path / "songs.rot"


def sql(path: Path, *statements: str) -> list[Any]:
    """What another program does with the file."""
    connection = apsw.Connection(str(path))
    rows = [row for statement in statements for row in connection.execute(statement)]
    connection.close()
    return rows


def run(code: str, *arguments: object, **options: Any) -> str:
    """What a program prints; it must end well."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


def text_file(path: Path) -> None:
    path.write_text("dear diary\n" * 500)


def other_program(path: Path) -> None:
    sql(path, "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")


def other_program_writing_ahead(path: Path) -> None:
    sql(path, "PRAGMA journal_mode = wal", "PRAGMA application_id = 7", "CREATE TABLE t (a)")


STRANGERS: list[tuple[Callable[[Path], object], str]] = [
    (Path.touch, "it is an empty file"),
    (Path.mkdir, "it is a folder"),
    (text_file, "it is no database"),
    (other_program, r"it is another program's database \(application id 0\)"),
    (other_program_writing_ahead, r"it is another program's database \(application id 7\)"),
]


@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize(("make", "why"), STRANGERS)
def test_what_is_no_store_is_refused_and_left_alone(
    tmp_path: Path, make: Callable[[Path], object], why: str, readonly: bool
) -> None:
    path = tmp_path / "songs.rot"
    make(path)
    before = None if path.is_dir() else path.read_bytes()
    with pytest.raises(NotAStoreError, match=f"^{path} must be a store, but {why}$"):
        SQLiteStore(path, readonly)
    assert before is None or path.read_bytes() == before
    assert not path.with_name("songs.rot-lock").exists()


@pytest.mark.parametrize(("version", "age"), [(FORMAT - 1, "an older"), (FORMAT + 1, "a newer")])
def test_another_format_is_refused_by_its_number(path: Path, version: int, age: str) -> None:
    sql(path, f"PRAGMA user_version = {version}")
    with pytest.raises(StoreFormatError, match=rf"has format {version}, of {age} version; rotting .* reads format {FORMAT}$"):
        SQLiteStore(path)


def test_the_file_says_whose_it_is(path: Path) -> None:
    assert sql(path, "PRAGMA application_id", "PRAGMA user_version") == [(APPLICATION_ID,), (FORMAT,)]
    assert path.read_bytes()[68:72] == b"ROT!"


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(PathMissingError, match="^no such store: .*songs.rot$"):
        SQLiteStore(tmp_path / "songs.rot", readonly=True)
    with pytest.raises(PathMissingError, match="^no such folder: .*nowhere$"):
        SQLiteStore(tmp_path / "nowhere" / "songs.rot")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("durability", "error"), [("tape", InvalidValueError), (3, InvalidTypeError)])
def test_durability_is_one_of_three(tmp_path: Path, durability: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="^durability must be one of 'disk', 'os', 'memory', got "):
        SQLiteStore(tmp_path / "songs.rot", durability=durability)


def test_only_the_store_and_its_lock_stay(path: Path) -> None:
    assert {each.name for each in path.parent.iterdir()} == {"songs.rot", "songs.rot-lock"}
    assert path.with_name("songs.rot-lock").stat().st_size == 0


def test_a_link_to_a_store_is_the_same_store(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.rot"
    link.symlink_to(path)
    with SQLiteStore(path), pytest.raises(StoreError, match="locked"):
        SQLiteStore(link)


def test_two_snapshots_are_kept(path: Path) -> None:
    assert sql(path, "SELECT number FROM snapshots ORDER BY number") == [(60,), (90,)]


TAMPERED = [
    ("UPDATE events SET payload = CAST('{\"n\":8}' AS BLOB) WHERE number = 7", "event 7 is not what was written"),
    ("UPDATE events SET epoch = 2 WHERE number = 7", "event 7 is not what was written"),
    ("DELETE FROM events WHERE number = 7", "event 7 is missing"),
    ("DELETE FROM events WHERE number > 80", "the last of its 90 events are missing"),
    ("DELETE FROM events WHERE number = 89", "event 89 is missing"),
    ("DELETE FROM events", "the last of its 90 events are missing"),
    ("UPDATE events SET number = 91 WHERE number = 90", "event 90 is missing"),
    ("UPDATE bandits SET meta = CAST('{}' AS BLOB)", "bandit 1 is not what was written"),
    ("UPDATE bandits SET name = 'films'", "bandit 1 is not what was written"),
    ("DELETE FROM bandits", "the last of its 1 bandits are missing"),
    ("UPDATE store SET id = 'another'", "its name is not what was written"),
    ("DELETE FROM writer", "a table is empty"),
    ("DROP TABLE events", "no such table: events"),
]


@pytest.mark.parametrize(("change", "why"), TAMPERED)
def test_what_another_program_changed_is_found(path: Path, change: str, why: str) -> None:
    sql(path, change)
    with (
        pytest.raises(StoreDamagedError, match=f"^{path} is damaged: .*{why}"),
        SQLiteStore(path, readonly=True) as store,
    ):
        says(store)


def test_a_damaged_snapshot_is_left_out_and_told(path: Path) -> None:
    sql(path, "UPDATE snapshots SET state = CAST('{}' AS BLOB) WHERE number = 90")
    with SQLiteStore(path) as store:
        assert store.snapshot("songs") == (60, {"n": 60})
        assert verify(store).problems == ("the snapshot at event 90 is not what was written",)


def test_events_of_another_store_are_found(path: Path, tmp_path: Path) -> None:
    twin = tmp_path / "twin.rot"
    with SQLiteStore(twin) as store:
        store.add_bandit("songs", {"seed": 1})
        store.append(numbered(1, 90))
    sql(path, f"ATTACH '{twin}' AS twin", "DELETE FROM events", "INSERT INTO events SELECT * FROM twin.events")
    with pytest.raises(StoreDamagedError, match="event 1 is not"), SQLiteStore(path, readonly=True) as store:
        says(store)


def lose_a_row(path: Path) -> None:
    """Make the page that holds the last events say that it holds fewer."""
    ((page,),) = sql(path, "SELECT max(pageno) FROM dbstat WHERE name = 'events' AND pagetype = 'leaf'")
    content = bytearray(path.read_bytes())
    place = (page - 1) * 4_096 + 3
    count = int.from_bytes(content[place : place + 2], "big")
    content[place : place + 2] = (count - 1).to_bytes(2, "big")
    path.write_bytes(content)


def test_a_page_that_lost_a_row_is_found_after_a_crash_too(path: Path) -> None:
    sql(path, "UPDATE writer SET clean = 0, last = 0")  # as if the writer had died before it counted
    lose_a_row(path)
    with SQLiteStore(path, readonly=True) as reader:
        assert any("is damaged" in problem for problem in verify(reader).problems)
    with pytest.raises(StoreDamagedError, match=f"^{path} is damaged: "):
        SQLiteStore(path)


def test_who_closes_in_order_counts_the_events(path: Path) -> None:
    assert sql(path, "SELECT clean, last FROM writer") == [(1, 90)]
    store = SQLiteStore(path)
    assert sql(path, "SELECT clean FROM writer") == [(0,)]
    store.append(numbered(91, 92))
    store.close()
    assert sql(path, "SELECT clean, bandits, last FROM writer") == [(1, 1, 92)]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that everybody can enter."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)
        Path(name).chmod(0o755)


OPEN = """
import os, sys
from rotting.errors import StoreError
from rotting.store.sqlite import SQLiteStore
if os.geteuid() == 0:  # who may write everywhere becomes somebody who may not
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    with SQLiteStore(sys.argv[1], readonly=len(sys.argv) > 2) as store:
        print(store.last)
except StoreError as error:
    print(type(error).__name__, error)
"""


def test_read_only_files_and_folders_can_be_read_and_say_so_to_writers(folder: Path) -> None:
    path = folder / "songs.rot"
    with SQLiteStore(path) as store:
        store.add_bandit("songs", {})
        store.append(numbered(1, 3))
    path.with_name("songs.rot-lock").unlink()
    path.chmod(0o444)
    folder.chmod(0o777)
    assert run(OPEN, path) == f"StoreReadOnlyError {path} is read-only: it cannot be written to\n"
    assert run(OPEN, path, "readonly") == "3\n"
    for each in folder.glob("songs.rot-*"):
        each.unlink()
    folder.chmod(0o555)
    assert run(OPEN, path, "readonly") == "3\n"
    assert run(OPEN, path).startswith(f"StoreReadOnlyError {path} cannot be written to: its lock ")


def test_a_child_process_leaves_the_store_to_its_parent(path: Path) -> None:
    code = """
import os, sys
from rotting.errors import StoreFailedError
from rotting.store.sqlite import SQLiteStore
store = SQLiteStore(sys.argv[1])
store.append([("songs", {"n": 91})])
child = os.fork()
if child == 0:
    try:
        store.append([("songs", {"n": 0})])
    except StoreFailedError as error:
        print(error)
    store.close()
    sys.exit()
os.waitpid(child, 0)
print(store.append([("songs", {"n": 92})]))
try:
    SQLiteStore(sys.argv[1])
except OSError as error:
    print(error)
store.close()
"""
    assert run(code, path).splitlines() == [
        f"{path} was opened by the parent of this process: open it again",
        "92",
        f"{path} is locked: another writer has it",
    ]
    with SQLiteStore(path) as store:
        assert says(store) == list(range(1, 93))


def test_what_is_missing_is_said_in_one_sentence() -> None:
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
