"""A store that lost acknowledged events says so, and how many."""

import errno
import logging
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rotting import cli
from rotting.errors import StoreDamagedError
from rotting.store.backup import backup
from rotting.store.high_water_mark import Mark, MarkWriter, mark_path, read_mark
from rotting.store.records import digest
from rotting.store.sqlite import SQLiteStore
from rotting.store.verify import verify
from tests.helpers.stores import numbered_events, read_numbers

WRITER = """
import os, signal, sys
from rotting.store.sqlite import SQLiteStore
store = SQLiteStore(sys.argv[1], durability=sys.argv[2])
if not store.bandits():
    store.add_bandit("songs", {})
for number in range(store.last + 1, store.last + 41):
    store.append([("songs", {"n": number})])
if sys.argv[3:]:
    store.append([], bandits=[("films", {})])
os.kill(os.getpid(), signal.SIGKILL)
"""


def killed_writer(path: Path, durability: str = "disk", *more: str) -> None:
    """Append 40 events in a process that is killed before its write-ahead log is copied."""
    command = [sys.executable, "-c", WRITER, str(path), durability, *more]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert path.with_name(f"{path.name}-wal").stat().st_size > 0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store of 60 events, 20 of them in the main file, whose writer was killed."""
    with SQLiteStore(tmp_path / "songs.rot") as store:
        store.append(numbered_events(1, 20), bandits=[("songs", {})])
    killed_writer(tmp_path / "songs.rot")
    return tmp_path / "songs.rot"


def remove_wal(path: Path) -> None:
    path.with_name(f"{path.name}-wal").unlink()
    path.with_name(f"{path.name}-shm").unlink()


def truncate_wal(path: Path) -> None:
    wal = path.with_name(f"{path.name}-wal")
    wal.write_bytes(wal.read_bytes()[: wal.stat().st_size // 2])


def flip_byte(path: Path) -> None:
    wal = path.with_name(f"{path.name}-wal")
    content = bytearray(wal.read_bytes())
    content[len(content) // 2] ^= 1
    wal.write_bytes(content)


@pytest.mark.parametrize("lose", [remove_wal, truncate_wal, flip_byte])
def test_a_lost_end_of_the_write_ahead_log_is_refused_with_its_length(
    path: Path, lose: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    lose(path)
    without_mark = path.parent / "copy" / "songs.rot"
    shutil.copytree(path.parent, without_mark.parent)
    mark_path(without_mark).write_bytes(b"")
    with SQLiteStore(without_mark, readonly=True) as store:
        lost = 60 - store.last
    assert lost > 15
    why = f"songs.rot lost the last {lost} of its 60 events, which were acknowledged: restore its -wal file or a backup; "
    for readonly in (True, False):
        with pytest.raises(StoreDamagedError, match=f"{why}to go on without them, empty its -mark file$") as caught:
            SQLiteStore(path, readonly)
        assert str(path.parent) not in caught.value.reason
    assert cli.main(["log", str(path), "--verify"]) == 1
    assert why in capsys.readouterr().err


def test_emptying_the_mark_accepts_the_loss(path: Path) -> None:
    remove_wal(path)
    mark_path(path).write_bytes(b"")
    with SQLiteStore(path) as store:
        assert store.append(numbered_events(21, 21)) == 21
        assert verify(store).problems == ()
    mark = read_mark(path)
    assert mark is not None
    assert (mark.events, mark.synced_events) == (21, 21)


def test_a_complete_write_ahead_log_is_read(path: Path) -> None:
    for readonly in (True, False):
        with SQLiteStore(path, readonly) as store:
            assert read_numbers(store) == list(range(1, 61))
            assert verify(store).problems == ()


def test_a_lost_bandit_without_events_is_missed_too(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    with SQLiteStore(path) as store:
        store.append(numbered_events(1, 20), bandits=[("songs", {})])
    killed_writer(path, "disk", "a new bandit")
    mark = read_mark(path)
    assert mark is not None
    assert (mark.events, mark.bandits) == (60, 2)
    remove_wal(path)
    with pytest.raises(StoreDamagedError, match="lost the last 40 of its 60 events"):
        SQLiteStore(path)


def test_events_that_were_not_synchronised_are_missed_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "songs.rot"
    with SQLiteStore(path) as store:
        store.append(numbered_events(1, 20), bandits=[("songs", {})])
    killed_writer(path, "os")
    remove_wal(path)
    problem = "it lost the last 40 of its 60 events, which were acknowledged, but not synchronised to the disk "
    problem += '(durability "os" or "memory")'
    with SQLiteStore(path, readonly=True) as reader:
        assert verify(reader).problems == (problem,)
    assert [(record.levelno, record.name) for record in caplog.records] == [(logging.WARNING, "rotting.store")]
    with SQLiteStore(path, durability="os") as writer:
        assert writer.append(numbered_events(21, 21)) == 21
    with SQLiteStore(path, readonly=True) as reader:
        assert verify(reader).problems == ()


def test_what_a_writer_found_synchronised_is_required_of_the_next_one(path: Path) -> None:
    with SQLiteStore(path, durability="os") as store:  # it makes sure of the 60 events of the killed one
        store.append(numbered_events(61, 61))
    mark = read_mark(path)
    assert mark is not None
    assert (mark.events, mark.synced_events) == (61, 60)


def test_an_old_backup_is_not_put_beside_a_newer_mark(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.rot"
    assert backup(path, copy) == 60
    assert not mark_path(copy).exists()
    with SQLiteStore(path) as store:
        store.append(numbered_events(61, 65))
    copy.rename(path)
    with pytest.raises(StoreDamagedError, match="lost the last 5 of its 65 events"):
        SQLiteStore(path)
    mark_path(path).unlink()
    with SQLiteStore(path) as store:
        assert read_numbers(store) == list(range(1, 61))


@pytest.mark.parametrize("content", [b"", b"R", bytes(60), b"ROTMARK1" + bytes(48)])
def test_a_mark_that_is_damaged_is_reported_and_written_anew(path: Path, content: bytes) -> None:
    mark_path(path).write_bytes(content)
    with SQLiteStore(path, readonly=True) as reader:
        expected = ("its -mark file is not what was written: it is not known whether acknowledged events are missing",)
        assert verify(reader).problems == (expected if content else ())
    with SQLiteStore(path) as writer:
        assert verify(writer).problems == ()
    mark = read_mark(path)
    assert mark is not None
    assert mark.events == 60


def test_the_mark_of_another_store_is_reported_and_written_anew(path: Path, tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "films.rot") as store:
        store.append(numbered_events(1, 3), bandits=[("songs", {})])
    shutil.copyfile(mark_path(path), mark_path(tmp_path / "films.rot"))
    with SQLiteStore(tmp_path / "films.rot", readonly=True) as reader:
        (problem,) = verify(reader).problems
        assert problem.startswith("its -mark file belongs to another store")
    with SQLiteStore(tmp_path / "films.rot") as writer:
        assert verify(writer).problems == ()


def test_a_mark_that_cannot_be_written_is_logged_and_the_store_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mark_path(tmp_path / "songs.rot").mkdir()
    with SQLiteStore(tmp_path / "songs.rot") as store:
        assert store.append(numbered_events(1, 3), bandits=[("songs", {})]) == 3
        store.append(numbered_events(4, 4))
    assert len([message for message in caplog.messages if "cannot be written" in message]) == 1


def test_readers_beside_a_writer_never_miss_events(tmp_path: Path) -> None:
    """The mark is read before the file, so a reader never sees a mark that is ahead of it."""
    path = tmp_path / "songs.rot"
    with SQLiteStore(path, durability="os") as store:
        store.append([], bandits=[("songs", {})])
        command = [sys.executable, "-c", READER, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as reader:
            while reader.poll() is None:
                store.append(numbered_events(store.last + 1, store.last + 1))
            assert reader.stdout is not None
            assert reader.stdout.read() == "100\n"


READER = """
import sys
from rotting.store.sqlite import SQLiteStore
for opened in range(1, 101):
    with SQLiteStore(sys.argv[1], readonly=True) as store:
        assert store.damages() == [] if opened % 50 == 0 else True
print(opened)
"""


def test_a_new_mark_is_complete_before_the_first_commit_and_replaces_a_longer_one(tmp_path: Path) -> None:
    path, mark = tmp_path / "songs.rot", Mark(digest("id of the store"), 5, 1, 5, 1)
    path.touch()
    mark_path(path).write_bytes(bytes(200))
    MarkWriter(path, mark, synced=False).close()
    assert read_mark(path) == mark


def test_a_mark_that_fails_later_is_logged_once_and_the_store_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with SQLiteStore(tmp_path / "songs.rot") as store:
        store.append(numbered_events(1, 3), bandits=[("songs", {})])
        with monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", full)
            assert store.append(numbered_events(4, 4)) == 4
        store.append(numbered_events(5, 5))
    (message,) = [each for each in caplog.messages if "cannot be written" in each]
    assert message.endswith("No space left on device")
