"""A backup is the store at one moment, whole, whoever writes meanwhile."""

import threading
from pathlib import Path

import pytest

import rotting
from rotting.common.progress import Progress
from rotting.errors import InvalidTypeError, PathExistsError, PathMissingError, StoreError, StoreFullError
from rotting.store import backup as module
from rotting.store import limits
from rotting.store.backup import backup
from rotting.store.sqlite import SQLiteStore
from rotting.store.verify import verify
from tests.helpers.disks import failing_disk
from tests.helpers.stores import newest_snapshot, numbered_events, read_numbers, sql


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store of 3,000 events with a snapshot."""
    with SQLiteStore(tmp_path / "songs.rot", durability="os") as store:
        store.add_bandit("songs", {})
        store.append(numbered_events(1, 3_000))
        store.save_snapshot("songs", 3_000, {"n": 3_000})
    return tmp_path / "songs.rot"


def test_a_copy_is_the_same_store(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.rot"
    assert backup(path, copy) == 3_000
    with SQLiteStore(path, readonly=True) as old, SQLiteStore(copy) as new:
        assert (new.id, newest_snapshot(new, "songs")) == (old.id, newest_snapshot(old, "songs"))
        assert list(new.read()) == list(old.read())
        assert verify(new).problems == ()
        assert new.append(numbered_events(3_001, 3_001)) == 3_001
    assert {each.name for each in tmp_path.iterdir()} >= {"songs.rot", "copy.rot", "copy.rot-lock"}
    assert not list(tmp_path.glob(".*"))


def test_a_copy_has_what_was_acknowledged_when_it_began_and_the_writer_goes_on(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "BACKUP_PAGES", 3)  # many steps, with events between them
    appended, done = [3_000], threading.Event()

    def write() -> None:
        with SQLiteStore(path, durability="os") as store:
            while not done.is_set():
                appended.append(store.append(numbered_events(store.last + 1, store.last + 7)))
                if len(appended) % 5 == 0:
                    store.save_snapshot("songs", appended[-1], {"n": appended[-1], "long": "x" * 100_000})

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for k in range(5):
            before = appended[-1]
            last = backup(path, tmp_path / f"{k}.rot")
            assert before <= last <= appended[-1] + 7
            with SQLiteStore(tmp_path / f"{k}.rot", readonly=True) as copy:
                assert read_numbers(copy) == list(range(1, last + 1))
                assert verify(copy).problems == ()
    finally:
        done.set()
        writer.join()
    with SQLiteStore(path, readonly=True) as store:
        assert verify(store).problems == ()
        assert store.last == appended[-1]


def test_a_copy_of_a_bandit_decides_as_the_bandit_would_have(tmp_path: Path) -> None:
    with rotting.open(tmp_path / "songs.rot", rotting.Uniform(), arms=["a", "b", "c"]) as bandit:
        decision = bandit.decide()
        backup(tmp_path / "songs.rot", tmp_path / "copy.rot")
        later = [bandit.pull() for _ in range(20)]
    with rotting.open(tmp_path / "copy.rot") as twin:
        assert [twin.pull() for _ in range(20)] == later
        assert twin.reward(decision.id, 1.0) == "applied"
    with SQLiteStore(tmp_path / "copy.rot", readonly=True) as store:
        assert verify(store, replay=True).problems == ()


@pytest.mark.parametrize("target", ["songs.rot", "link.rot", "folder"])
def test_nothing_is_overwritten(path: Path, tmp_path: Path, target: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.rot").symlink_to(path)
    before = path.read_bytes()
    with pytest.raises(PathExistsError, match="^copy must be new, got '.*', which exists$"):
        backup(path, tmp_path / target)
    assert path.read_bytes() == before


def test_a_file_that_comes_meanwhile_is_not_overwritten(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "copy.rot"

    class Meanwhile(Progress):
        def advance(self, amount: int = 1) -> None:
            copy.write_text("mine")
            super().advance(amount)

    monkeypatch.setattr(module, "Progress", Meanwhile)
    with pytest.raises(PathExistsError):
        backup(path, copy)
    assert copy.read_text() == "mine"
    assert not list(tmp_path.glob(".*"))


def test_errors_of_a_backup_name_the_reason(path: Path, tmp_path: Path) -> None:
    with pytest.raises(PathMissingError, match="^no such store: "):
        backup(tmp_path / "nowhere.rot", tmp_path / "copy.rot")
    with pytest.raises(PathMissingError, match="^no such folder: "):
        backup(path, tmp_path / "nowhere" / "copy.rot")
    with pytest.raises(InvalidTypeError, match="^copy must be the path of a file, got None$"):
        backup(path, None)  # type: ignore[arg-type]
    (tmp_path / "text.rot").write_text("dear diary\n" * 500)
    with pytest.raises(StoreError, match="is not a store: it is not a database$"):
        backup(tmp_path / "text.rot", tmp_path / "copy.rot")
    assert {each.name for each in tmp_path.iterdir() if each.name.startswith((".", "copy"))} == set()


def test_a_full_disk_leaves_no_half_copy(path: Path, tmp_path: Path) -> None:
    with failing_disk() as disk:
        disk.full = True
        with pytest.raises(StoreFullError, match="cannot grow: the disk is full"):
            backup(path, tmp_path / "copy.rot")
        disk.full = False
        assert backup(path, tmp_path / "copy.rot") == 3_000
    assert not list(tmp_path.glob(".*"))


def test_a_failed_synchronisation_leaves_no_copy(path: Path, tmp_path: Path) -> None:
    with failing_disk() as disk:
        disk.syncs_fail = True
        with pytest.raises(StoreError, match="songs.rot could not be copied: "):
            backup(path, tmp_path / "copy.rot")
    assert not list(tmp_path.glob(".*"))
    assert not (tmp_path / "copy.rot").exists()


def test_progress_is_shown_on_request(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    backup(path, tmp_path / "copy.rot", progress=True)
    assert "100 %" in capsys.readouterr().err


def test_progress_counts_each_page_once(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a store that is copied in several steps."""
    with SQLiteStore(path) as store:
        store.save_snapshot("songs", 3_000, {"long": ["x" * 10_000] * 1_500})
    backup(path, tmp_path / "copy.rot", progress=True)
    pages = sql(tmp_path / "copy.rot", "PRAGMA page_count")[0][0]
    assert pages > 2_000
    assert f" {pages:,}/{pages:,} " in capsys.readouterr().err
