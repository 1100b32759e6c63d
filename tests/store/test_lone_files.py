"""A main file without its write-ahead log (WAL) is complete or refused, whenever its writer was killed."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import apsw
import pytest

from rotting import cli
from rotting.errors import StoreDamagedError, StoreError, StoreFullError
from rotting.store import limits
from rotting.store.backup import backup
from rotting.store.high_water_mark import mark_path
from rotting.store.sqlite import SQLiteStore
from rotting.store.verify import verify
from tests.conftest import STRESS
from tests.helpers.disks import failing_disk
from tests.helpers.stores import numbered_events, open_without_privileges, read_numbers, run, sql, view_held_open

REFUSED = (
    "has not been closed by its last writer, and its -wal file, which may hold acknowledged events, is missing or empty: open "
    "it where its -wal file is, or restore a backup; to go on without them, put an empty -mark file beside it$"
)
WRITER = """
import os, signal, sys
from rotting.store.sqlite import SQLiteStore
store = SQLiteStore(sys.argv[1])
store.append([("songs", {"n": 91})])
os.kill(os.getpid(), signal.SIGKILL)
"""


def kill_writer(path: Path) -> None:
    """Append event 91 in a process that is killed."""
    assert subprocess.run([sys.executable, "-c", WRITER, str(path)], check=False).returncode == -signal.SIGKILL


@pytest.fixture
def killed(path: Path) -> Path:
    """A store of 91 events, the last one in the WAL only, whose writer was killed."""
    kill_writer(path)
    return path


def opens(path: Path, readonly: bool = True) -> int:
    """Open a store and return the number of its last event."""
    with SQLiteStore(path, readonly) as store:
        return store.last


def lone_copy(path: Path, folder: Path) -> Path:
    """Copy the main file only."""
    folder.mkdir()
    return Path(shutil.copy(path, folder))


# --- A main file alone --------------------------------------------------------------------------------------------------------


def move(path: Path) -> Path:
    return path.rename(path.with_name("moved.rot"))


def copy(path: Path) -> Path:
    return Path(shutil.copy(path, path.with_name("copy.rot")))


def link(path: Path) -> Path:
    path.with_name("link.rot").hardlink_to(path)
    return path.with_name("link.rot")


@pytest.mark.parametrize("rename", [move, copy, link])
def test_a_main_file_without_the_log_of_its_killed_writer_is_refused(
    killed: Path, rename: Callable[[Path], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    alone = rename(killed)
    before = alone.read_bytes()
    for readonly in (True, False, True):  # the first attempts leave an empty WAL
        with pytest.raises(StoreDamagedError, match=REFUSED):
            SQLiteStore(alone, readonly)
    with pytest.raises(StoreDamagedError, match=REFUSED):
        backup(alone, killed.with_name("backup.rot"))
    assert cli.main(["log", str(alone), "--verify"]) == 1
    assert "has not been closed by its last writer" in capsys.readouterr().err
    assert alone.read_bytes() == before
    killed.with_name("songs.rot-wal").replace(f"{alone}-wal")
    assert opens(alone) == 91


def test_a_store_opens_in_its_place_after_a_crash(killed: Path) -> None:
    assert opens(killed) == 91
    mark_path(killed).unlink()
    assert opens(killed) == opens(killed, readonly=False) == 91
    assert opens(lone_copy(killed, killed.parent / "after")) == 91


def test_the_mark_of_an_older_copy_does_not_hide_a_loss(path: Path) -> None:
    older = path.parent / "older"
    older.mkdir()
    for each in (path, mark_path(path)):
        shutil.copy(each, older)
    kill_writer(path)
    shutil.copy(path, older)
    for readonly in (True, False):
        with pytest.raises(StoreDamagedError, match=REFUSED):
            SQLiteStore(older / "songs.rot", readonly)


def test_an_empty_mark_accepts_what_is_left(killed: Path) -> None:
    alone = move(killed)
    mark_path(alone).touch()
    for readonly in (True, False):
        assert opens(alone, readonly) == 90
    with SQLiteStore(alone) as store:
        assert verify(store).problems == ()


def test_another_program_may_empty_the_log_in_its_place(killed: Path) -> None:
    """As SQLite's own shell does when it is closed: the mark shows that nothing is missing."""
    sql(killed, "SELECT * FROM writer")
    assert not killed.with_name("songs.rot-wal").exists()
    assert opens(killed) == opens(killed, readonly=False) == 91


def test_a_read_only_folder_holds_a_complete_store_or_refuses_it(killed: Path, folder: Path) -> None:
    shutil.copy(killed, folder)
    folder.chmod(0o555)
    assert "has not been closed by its last writer" in open_without_privileges(folder / "songs.rot", readonly=True)
    folder.chmod(0o755)
    shutil.copy(f"{killed}-wal", folder)
    assert opens(folder / "songs.rot", readonly=False) == 91
    for each in folder.glob("songs.rot-*"):
        each.unlink()
    folder.chmod(0o555)
    assert open_without_privileges(folder / "songs.rot", readonly=True) == "91\n"


# --- Copies that are complete -------------------------------------------------------------------------------------------------


def vacuum(path: Path, target: Path) -> None:
    sql(path, f"VACUUM INTO '{target}'")


def copy_with_sqlite(path: Path, target: Path) -> None:
    with (
        closing(apsw.Connection(str(path))) as source,
        closing(apsw.Connection(str(target))) as written,
        written.backup("main", source, "main") as copying,
    ):
        copying.step()


@pytest.mark.parametrize("make", [backup, vacuum, copy_with_sqlite])
def test_a_backup_of_a_store_in_use_opens(path: Path, tmp_path: Path, make: Callable[[Path, Path], object]) -> None:
    with SQLiteStore(path) as store:
        store.append(numbered_events(91, 95))
        make(path, tmp_path / "backup.rot")
        with pytest.raises(StoreDamagedError, match=REFUSED):
            opens(lone_copy(path, tmp_path / "alone"))
    assert opens(tmp_path / "backup.rot") == 95


@pytest.mark.parametrize("make", [backup, vacuum, copy_with_sqlite])
def test_a_backup_that_was_restored_can_be_copied_in_turn(
    path: Path, tmp_path: Path, make: Callable[[Path, Path], object]
) -> None:
    copied = tmp_path / "0.rot"
    make(path, copied)
    for k in range(1, 4):
        with SQLiteStore(copied) as store:
            store.append(numbered_events(store.last + 1, store.last + 1))
            make(copied, tmp_path / f"{k}.rot")
            with pytest.raises(StoreDamagedError, match=REFUSED):
                opens(lone_copy(copied, tmp_path / f"alone{k}"))
        copied = tmp_path / f"{k}.rot"
        assert opens(copied) == 90 + k


def test_a_copy_by_sqlite_may_overwrite_the_one_before(path: Path, tmp_path: Path) -> None:
    """As a nightly `.backup` of SQLite's shell does."""
    with SQLiteStore(path) as store:
        for _ in range(12):
            last = store.append(numbered_events(store.last + 1, store.last + 1))
            copy_with_sqlite(path, tmp_path / "nightly.rot")
            assert opens(tmp_path / "nightly.rot") == last


def test_a_copy_after_a_writer_of_an_earlier_version_closed_the_store_opens(killed: Path, tmp_path: Path) -> None:
    """Such a writer does not reset the record of the writer that was killed."""
    sql(killed, "UPDATE writer SET epoch = epoch + 1")
    assert opens(lone_copy(killed, tmp_path / "alone")) == 91


def test_a_copy_after_an_orderly_close_opens_although_a_reader_is_connected(path: Path, tmp_path: Path) -> None:
    with SQLiteStore(path, readonly=True) as reader:
        with SQLiteStore(path) as store:
            store.append(numbered_events(91, 95))
        assert reader.last == 95
        assert opens(lone_copy(path, tmp_path / "alone")) == 95


def test_a_store_that_is_closed_while_a_reader_holds_an_older_view_keeps_its_log(path: Path, tmp_path: Path) -> None:
    store = SQLiteStore(path)
    store.append(numbered_events(91, 93))
    with view_held_open(path):
        store.append(numbered_events(94, 95))
        store.close()
        mark_path(path).unlink()
        assert opens(path) == 95
        with pytest.raises(StoreDamagedError, match=REFUSED):
            opens(lone_copy(path, tmp_path / "alone"))
        with SQLiteStore(path) as store:
            assert store.append(numbered_events(96, 96)) == 96


FORGETFUL = """
import sys
from rotting.store.sqlite import SQLiteStore
def write(number):
    store = SQLiteStore(sys.argv[1])
    store.append([("songs", {"n": number})])
    return store
write(91)
store = write(92)
"""


def test_a_program_that_forgets_to_close_its_store_leaves_a_complete_file(path: Path, tmp_path: Path) -> None:
    run(FORGETFUL, path)
    assert opens(lone_copy(path, tmp_path / "alone")) == 92


LATE = """
import atexit, sys, threading, time
def finish():
    store.append([("songs", {"n": store.last + 1})])
    print(store.last)
atexit.register(finish)
from rotting.store.sqlite import SQLiteStore
store = SQLiteStore(sys.argv[1])
store.append([("songs", {"n": 91})])
"""


def test_a_function_that_runs_at_the_end_of_a_program_may_use_its_store(path: Path, tmp_path: Path) -> None:
    assert run(LATE, path) == "92\n"
    with pytest.raises(StoreDamagedError, match=REFUSED):
        opens(lone_copy(path, tmp_path / "alone"))
    mark_path(path).unlink()
    assert opens(path) == opens(path, readonly=False) == 92
    assert opens(lone_copy(path, tmp_path / "after")) == 92


ENDLESS = """
import sys, threading, time
from rotting.store.sqlite import SQLiteStore
store = SQLiteStore(sys.argv[1], durability=sys.argv[2])
written = threading.Event()
def write():
    while True:
        store.append([("songs", {"n": store.last + 1})])
        written.set()
threading.Thread(target=write, daemon=True).start()
written.wait()
"""


@pytest.mark.parametrize("durability", ["disk", "os", "memory"])
def test_a_thread_may_write_until_its_program_ends(path: Path, durability: str) -> None:
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", ENDLESS, str(path), durability], check=True, stderr=subprocess.PIPE, text=True
        )
        assert done.stderr == ""
        with SQLiteStore(path, readonly=True) as store:
            assert read_numbers(store) == list(range(1, store.last + 1))
    assert opens(path, readonly=False) > 90


def test_a_store_of_an_earlier_version_opens_and_is_protected_from_then_on(path: Path, tmp_path: Path) -> None:
    sql(path, "ALTER TABLE writer DROP COLUMN unclosed")
    mark_path(path).unlink()
    assert opens(path) == 90
    with SQLiteStore(path, readonly=True) as reader, SQLiteStore(path) as store:
        store.append(numbered_events(91, 91))
        assert reader.last == 91
        with pytest.raises(StoreDamagedError, match=REFUSED):
            opens(lone_copy(path, tmp_path / "alone"))
    assert opens(lone_copy(path, tmp_path / "closed")) == 91


def test_a_store_is_protected_as_soon_as_no_reader_holds_an_older_view(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "TAKE_OVER_MS", 20)
    monkeypatch.setattr(limits, "CHECK_SECONDS", 0.0)
    with view_held_open(path):
        store = SQLiteStore(path)
    with store:
        store.append(numbered_events(91, 91))
        with pytest.raises(StoreDamagedError, match=REFUSED):
            opens(lone_copy(path, tmp_path / "alone"))


def test_a_writer_that_fails_leaves_the_log_in_place(path: Path) -> None:
    with failing_disk() as disk:
        store = SQLiteStore(path)
        store.append(numbered_events(91, 91))
        disk.syncs_fail = True
        with pytest.raises(StoreError):
            store.append(numbered_events(92, 92))
        disk.syncs_fail = False
        store.close()
    mark_path(path).unlink()
    assert path.with_name("songs.rot-wal").stat().st_size > 0
    assert opens(path) == opens(path, readonly=False) >= 91


# --- Killed at any moment -----------------------------------------------------------------------------------------------------


def write_on(path: Path, acknowledged: list[int]) -> None:
    """Open a store, append, copy the WAL now and then, save a snapshot, and close the store."""
    with SQLiteStore(path) as store:
        acknowledged[0] = store.last
        for _ in range(6):
            acknowledged[0] = store.append(numbered_events(store.last + 1, store.last + 3))
        store.save_snapshot("songs", store.last, {"n": store.last})
        acknowledged[0] = store.append(numbered_events(store.last + 1, store.last + 1))


def leave_closed(path: Path) -> None:
    """Leave the store as it is: closed by its last writer."""


def downgrade(path: Path) -> None:
    sql(path, "ALTER TABLE writer DROP COLUMN unclosed")


@pytest.mark.parametrize("wal_bytes", [2**30, 20_000])
@pytest.mark.parametrize("power_cut", [False, True])
@pytest.mark.parametrize("before", [leave_closed, kill_writer, downgrade])
def test_at_every_moment_a_killed_writer_leaves_a_store_that_opens_in_place_and_loses_nothing_silently(
    path: Path, tmp_path: Path, before: Callable[[Path], None], power_cut: bool, wal_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mark is left out, since it would hide that a store is refused without need."""
    before(path)
    monkeypatch.setattr(limits, "WAL_PAGES", 12)
    monkeypatch.setattr(limits, "WAL_BYTES", wal_bytes)
    monkeypatch.setattr(limits, "CHECK_SECONDS", 0.0)
    found: list[tuple[Path, int]] = []
    acknowledged = [90]

    def copy_files() -> None:
        place = tmp_path / str(len(found))
        place.mkdir()
        if power_cut:
            disk.after_power_cut(place)
        else:
            for each in ("songs.rot", "songs.rot-wal"):
                if path.with_name(each).exists():
                    shutil.copy(path.with_name(each), place)
        found.append((place / "songs.rot", acknowledged[0]))

    with failing_disk() as disk:
        disk.before_change = copy_files
        write_on(path, acknowledged)
    assert len(found) > 60
    reasons: list[str] = []
    for place, least in found:
        if not place.exists():  # nothing is written to the main file yet
            continue
        alone = lone_copy(place, place.parent / "alone")
        try:
            with SQLiteStore(alone, readonly=True) as store:
                assert read_numbers(store) == list(range(1, store.last + 1))
                assert store.last >= least
        except StoreDamagedError as error:
            reasons.append(error.reason)
        last = opens(place)
        assert last >= least
        if STRESS or int(place.parent.name) % 4 == 0:  # a writer synchronises its files several times
            assert opens(place, readonly=False) == last
    assert len(found) > len(reasons) > 30
    assert all(reason.startswith("has not been closed by its last writer") for reason in reasons)
    assert opens(lone_copy(path, tmp_path / "closed")) == acknowledged[0]


def test_a_copy_by_sqlite_opens_whenever_its_first_writer_is_killed(path: Path, tmp_path: Path) -> None:
    """Such a copy is not in WAL mode, and says that a writer had the store open."""
    with SQLiteStore(path):
        vacuum(path, tmp_path / "backup.rot")
    places: list[Path] = []

    def copy_files() -> None:
        place = tmp_path / str(len(places))
        place.mkdir()
        for each in tmp_path.glob("backup.rot*"):
            if each.name.endswith(("rot", "-wal", "-journal")):
                shutil.copy(each, place)
        places.append(place / "backup.rot")

    with failing_disk() as disk:
        disk.before_change = copy_files
        assert opens(tmp_path / "backup.rot", readonly=False) == 90
    assert places
    for place in places:
        assert opens(place) == opens(place, readonly=False) == 90


OPENING = """
import pathlib, sys
from rotting.store.sqlite import SQLiteStore
for _ in range(150):
    pathlib.Path(f"{sys.argv[1]}-mark").unlink(missing_ok=True)
    with SQLiteStore(sys.argv[1], readonly=True):
        pass
"""


def test_writers_that_come_and_go_do_not_keep_readers_from_opening(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WAL_BYTES", 10_000)
    monkeypatch.setattr(limits, "CHECK_SECONDS", 0.0)
    with subprocess.Popen([sys.executable, "-c", OPENING, str(path)]) as reader:
        while reader.poll() is None:
            with SQLiteStore(path, durability="os") as store:
                for _ in range(5):
                    with suppress(StoreFullError):  # while the reader holds its view
                        store.append(numbered_events(store.last + 1, store.last + 20))
    assert reader.returncode == 0
