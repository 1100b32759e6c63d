"""The files of a store that is open: one writer whatever the file is called, and none goes on without its files."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rotting.common.progress import Progress
from rotting.errors import PathMissingError, StoreDamagedError, StoreError, StoreFailedError, StoreLockedError
from rotting.store import backup, limits, opening
from rotting.store.event_appender import EventAppender
from rotting.store.files import lock_for_writing
from rotting.store.protocol import Durability
from rotting.store.sqlite import SQLiteStore
from rotting.store.verify import verify
from tests.helpers.stores import appending, numbered_events, read_numbers, run

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="only there the inode is locked")

OPEN = """
import sys
from rotting.errors import StoreError
from rotting.store.sqlite import SQLiteStore
try:
    SQLiteStore(sys.argv[1]).close()
except StoreError as error:
    print(type(error).__name__, error.reason)
"""


# --- One writer ---------------------------------------------------------------------------------------------------------------


@linux_only
def test_a_hard_link_does_not_let_a_second_writer_in(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.rot"
    link.hardlink_to(path)
    with SQLiteStore(path) as store:
        assert run(OPEN, link) == "StoreLockedError is locked: another writer has it\n"
        with pytest.raises(StoreLockedError, match="link.rot is locked: another writer has it$"):
            SQLiteStore(link)
        assert store.append(numbered_events(91, 91)) == 91
        assert run(OPEN, path) == "StoreLockedError is locked: another writer has it\n"
    with SQLiteStore(path) as store:
        assert read_numbers(store) == list(range(1, 92))


@linux_only
def test_a_lock_file_that_was_removed_does_not_let_a_second_writer_in(path: Path) -> None:
    with SQLiteStore(path) as store:
        path.with_name("songs.rot-lock").unlink()
        assert run(OPEN, path) == "StoreLockedError is locked: another writer has it\n"
        with pytest.raises(StoreLockedError, match="another writer has it$"):
            SQLiteStore(path)
        assert store.append(numbered_events(91, 91)) == 91
    with SQLiteStore(path) as store:
        assert read_numbers(store) == list(range(1, 92))


@linux_only
def test_a_refused_writer_does_not_take_the_locks_of_a_reader_in_its_process(path: Path) -> None:
    """Closing a descriptor of a file drops all POSIX locks of the process: the reader would lose its shared lock."""
    with appending(path) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with SQLiteStore(path, readonly=True) as reader:
            assert posix_locks(path) == 1
            for _ in range(3):
                with pytest.raises(StoreLockedError):
                    SQLiteStore(path)
            path.with_name("songs.rot-lock").unlink()
            with pytest.raises(StoreLockedError):
                SQLiteStore(path)
            assert posix_locks(path) == 1
            assert reader.last > 90


def posix_locks(path: Path) -> int:
    """How many POSIX locks this process has on a file."""
    found = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    return sum(
        kind == "POSIX" and int(process) == os.getpid() and where.endswith(f":{path.stat().st_ino}")
        for _, kind, _, _, process, where, *_ in found
        if "->" not in kind
    )


@linux_only
def test_a_backup_keeps_its_locks_when_a_store_of_its_process_is_closed(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, held = SQLiteStore(path), list[int]()
    store.append(numbered_events(91, 91))

    class ClosingProgress(Progress):
        def advance(self, amount: int = 1) -> None:
            store.close()
            held.append(posix_locks(path))
            super().advance(amount)

    monkeypatch.setattr(backup, "Progress", ClosingProgress)
    assert backup.backup(path, tmp_path / "copy.rot") == 91
    assert held
    assert all(held)


@linux_only
def test_a_child_process_that_lives_on_does_not_keep_the_lock(path: Path) -> None:
    code = """
import os, sys, time
from rotting.store.sqlite import SQLiteStore
store = SQLiteStore(sys.argv[1])
child = os.fork()
if child == 0:
    print("ready", flush=True)
    os.kill(os.getppid(), 9)
    sys.stdin.readline()
    os._exit(0)
time.sleep(60)
"""
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert process.wait() == -signal.SIGKILL
        with SQLiteStore(path) as store:
            assert store.last == 90
        assert process.stdin is not None
        process.stdin.close()


def test_a_store_that_is_forgotten_without_closing_is_released(path: Path) -> None:
    for _ in range(2):
        store = SQLiteStore(path)
        store.append(numbered_events(store.last + 1, store.last + 1))
        del store


@pytest.mark.parametrize("durability", ["disk", "os", "memory"])
def test_closing_releases_the_lock_whatever_fails(path: Path, monkeypatch: pytest.MonkeyPatch, durability: Durability) -> None:
    def fail(appender: EventAppender) -> None:
        raise RuntimeError("no")

    store = SQLiteStore(path, durability=durability)
    with monkeypatch.context() as patch:
        patch.setattr(EventAppender, "flush", fail)
        with pytest.raises(RuntimeError, match="^no$"):
            store.close()
    with pytest.raises(StoreFailedError, match="is closed: open it again$"):
        store.append(numbered_events(91, 91))
    with SQLiteStore(path) as store:
        assert store.append(numbered_events(91, 91)) == 91


# --- A file that is not there -------------------------------------------------------------------------------------------------


def test_a_store_is_made_only_when_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    with pytest.raises(PathMissingError, match="^no such store: .*songs.rot$"):
        SQLiteStore(path, create=False)
    assert list(tmp_path.iterdir()) == []
    SQLiteStore(path).close()
    SQLiteStore(path, create=False).close()


def test_a_store_that_vanishes_while_it_is_opened_is_not_made(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def vanish(place: Path) -> object:
        place.unlink()
        return lock_for_writing(place)

    monkeypatch.setattr(opening, "lock_for_writing", vanish)
    with pytest.raises(PathMissingError):
        SQLiteStore(path, create=False)
    assert not path.exists()


@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize("create", [False, True])
def test_the_log_of_a_file_that_is_gone_is_not_destroyed(path: Path, tmp_path: Path, readonly: bool, create: bool) -> None:
    left = tmp_path / "left"
    with SQLiteStore(path) as store:
        store.append(numbered_events(91, 95))
        left.mkdir()
        shutil.copyfile(path.with_name("songs.rot-wal"), left / "songs.rot-wal")
    before = (left / "songs.rot-wal").read_bytes()
    with pytest.raises(StoreDamagedError, match=r"songs.rot is missing, but its -wal file holds events"):
        SQLiteStore(left / "songs.rot", readonly, create=create)
    assert {each.name: each.read_bytes() for each in left.iterdir()} == {"songs.rot-wal": before}


# --- Files that change under an open store ------------------------------------------------------------------------------------


def delete(path: Path) -> None:
    path.unlink()


def move_away(path: Path) -> None:
    path.rename(path.with_name("elsewhere.rot"))


def replace(path: Path) -> None:
    other = path.with_name("other.rot")
    SQLiteStore(other).close()
    other.replace(path)


def overwrite(path: Path) -> None:
    """Write another store of the same size into the same file, as `cp` does."""
    other = path.with_name("other.rot")
    with SQLiteStore(other) as store:
        store.append(numbered_events(1, 200), bandits=[("songs", {"seed": 1})])
    content = other.read_bytes()
    assert len(content) >= path.stat().st_size
    with path.open("r+b") as file:
        file.write(content)


def truncate(path: Path) -> None:
    os.truncate(path, 4_096)


def delete_wal(path: Path) -> None:
    path.with_name("songs.rot-wal").unlink()


def replace_wal(path: Path) -> None:
    wal = path.with_name("songs.rot-wal")
    shutil.copyfile(wal, wal.with_name("copy"))
    wal.with_name("copy").replace(wal)


def truncate_wal(path: Path) -> None:
    os.truncate(path.with_name("songs.rot-wal"), 0)


def delete_index(path: Path) -> None:
    path.with_name("songs.rot-shm").unlink()


CHANGES: list[tuple[Callable[[Path], None], str]] = [
    (delete, "was deleted or moved away while it was open"),
    (move_away, "was deleted or moved away while it was open"),
    (replace, "was replaced by another file while it was open"),
    (overwrite, "was replaced by another file while it was open"),
    (truncate, "is damaged: its main file was truncated while it was open"),
    (delete_wal, "is damaged: its -wal file was deleted while it was open"),
    (replace_wal, "is damaged: its -wal file was replaced while it was open"),
    (truncate_wal, "is damaged: its -wal file was truncated while it was open"),
    (delete_index, "is damaged: its -shm file was deleted while it was open"),
]


@pytest.mark.parametrize(("change", "reason"), CHANGES)
def test_a_writer_without_its_files_appends_no_more(
    path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None], reason: str
) -> None:
    store = SQLiteStore(path)
    store.check_file()
    store.append(numbered_events(91, 91))
    store.check_file()
    monkeypatch.setattr(limits, "CHECK_BYTES", 1)  # in place of waiting for a second
    change(path)
    for use in (
        lambda: store.append(numbered_events(92, 92)),
        lambda: store.append(numbered_events(92, 94)),
        store.check_file,
        store.flush,
        lambda: store.save_snapshot("songs", 90, {}),
        lambda: store.add_bandit("films", {}),
    ):
        with pytest.raises(StoreError) as caught:
            use()
        assert caught.value.reason == reason
    store.close()


def test_a_log_that_was_truncated_before_an_append_is_noticed_by_the_next_check(path: Path) -> None:
    """The append makes the file as long as it was, with zeros where the events were."""
    store = SQLiteStore(path)
    store.append(numbered_events(91, 91))
    truncate_wal(path)
    store.append(numbered_events(92, 92))
    for _ in range(2):
        with pytest.raises(StoreDamagedError, match="its -wal file was truncated while it was open"):
            store.check_file()
    with pytest.raises(StoreDamagedError, match="its -wal file was truncated while it was open"):
        store.append(numbered_events(93, 93))
    store.close()


def test_what_goes_into_a_deleted_file_is_never_acknowledged(path: Path) -> None:
    with SQLiteStore(path, durability="disk") as store:
        store.append(numbered_events(91, 91))
        path.unlink()
        for number in (92, 93):
            with pytest.raises(StoreFailedError, match="was deleted or moved away"):
                store.append(numbered_events(number, number))


def test_the_files_are_checked_once_a_second_if_nothing_is_synced(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    with SQLiteStore(path, durability="os") as store:
        path.unlink()
        store.append(numbered_events(91, 91))
        now[0] += 1.0
        with pytest.raises(StoreFailedError, match="was deleted or moved away"):
            store.append(numbered_events(92, 92))


@pytest.mark.parametrize(("change", "reason"), [each for each in CHANGES if each[0] is not truncate_wal])
def test_a_reader_can_ask_whether_its_files_are_still_there(path: Path, change: Callable[[Path], None], reason: str) -> None:
    with SQLiteStore(path, readonly=True) as reader:
        reader.check_file()
        change(path)
        for _ in range(2):
            with pytest.raises(StoreError) as caught:
                reader.check_file()
            assert caught.value.reason == reason


def test_writers_that_come_and_go_do_not_alarm_a_reader(path: Path) -> None:
    with SQLiteStore(path, readonly=True) as reader:
        for _ in range(3):
            with SQLiteStore(path) as store:
                store.append(numbered_events(store.last + 1, store.last + 50))
                reader.check_file()
            reader.check_file()
        assert reader.last == 240


def test_events_whose_log_was_deleted_under_the_writer_are_rescued(path: Path) -> None:
    store = SQLiteStore(path)
    store.append(numbered_events(91, 95))
    delete_wal(path)
    with pytest.raises(StoreDamagedError):
        store.check_file()
    store.close()
    with SQLiteStore(path) as store:
        assert read_numbers(store) == list(range(1, 96))
        assert verify(store).problems == ()


def test_a_closed_store_is_not_checked(path: Path) -> None:
    store = SQLiteStore(path)
    store.close()
    with pytest.raises(StoreFailedError, match="is closed"):
        store.check_file()
