"""Many bandits in one store: gathered, written, undone, resumed."""

import time
from pathlib import Path

import apsw
import pytest

import rotting
from rotting.errors import (
    InvalidTypeError,
    InvalidValueError,
    RottingError,
    StoreDamagedError,
    StoreError,
    StoreFailedError,
    StoreFullError,
    StoreLockedError,
)
from rotting.live.saved_state import StateParts
from rotting.store.descriptions import is_made_with
from rotting.store.host import Host
from rotting.store.hosted import Hosted
from rotting.store.protocol import DURABILITIES, Durability, StoredEvent
from rotting.store.sqlite import SQLiteStore
from tests.helpers.stores import KINDS, checked, newest_snapshot, place

ARMS = ["a", "b", "c"]


def made(host: Host, name: str = "songs", seed: int = 0) -> Hosted:
    return host.adopt(host.make(name, rotting.UCB1(), ARMS, seed=seed))


def play(host: Host, hosted: Hosted, rounds: int) -> list[object]:
    arms = []
    for _ in range(rounds):
        decision = hosted.bandit.decide()
        arms.append(decision.arm)
        hosted.bandit.reward(decision.id, 0.5 if decision.arm == "b" else 0.0)
    host.collect(hosted)
    return arms


def write(host: Host) -> None:
    batch = host.take()
    host.write(batch)
    host.finish(batch)


def test_bandits_share_a_store_and_a_batch(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    host = Host(path)
    first, second = made(host), made(host, "more", seed=3)
    twin = rotting.Bandit(rotting.UCB1(), ARMS)
    played = [play(host, first, 10), play(host, second, 5), play(host, first, 10)]
    batch = host.take()
    assert (len(batch.bandits), batch.first, len(batch.events)) == (2, 1, 50)
    with SQLiteStore(path, readonly=True) as reader:
        assert (reader.last, reader.bandits()) == (0, {})  # gathered, not written
    host.write(batch)
    assert host.take().is_empty
    host.close()
    expected = []
    for _ in range(20):
        expected.append(twin.pull())
        twin.update(expected[-1], 0.5 if expected[-1] == "b" else 0.0)
    assert played[0] + played[2] == expected
    assert checked(path) == 50
    with rotting.open(path, name="songs") as bandit:  # as any other durable bandit
        assert bandit.rounds == 20


def test_a_bandit_is_resumed_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    host = Host(path)
    hosted = made(host)
    play(host, hosted, 7)
    write(host)
    state = hosted.bandit.get_state()
    host.close()
    host = Host(path)
    assert host.loaded == {}
    resumed = host.adopt(host.load("songs"))
    assert resumed.bandit.get_state() == state
    assert host.adopt(host.load("songs")) is resumed  # the one in use stays
    play(host, resumed, 2)
    assert host.take().first == 15
    host.close()


def test_nothing_in_memory_is_ahead_of_the_store_after_a_failed_write(tmp_path: Path) -> None:
    host = Host(tmp_path / "songs.rot")
    first, second = made(host), made(host, "more")
    play(host, first, 3)
    play(host, second, 3)
    write(host)
    kept = first.bandit.get_state()
    play(host, first, 1)
    host.add_note(first, "key:a", body="x")
    host.take()  # is not written
    play(host, first, 1)
    new = made(host, "new")
    loaded_before = host.load("more")
    host.fail(StoreFullError("the disk is full"))
    assert host.loaded == {}
    assert host.note("songs", "key:a") is None
    assert isinstance(host.trouble, StoreFullError)
    first.bandit.decide()
    with pytest.raises(StoreFullError):
        host.collect(first)  # a request that went on meanwhile
    host.recover()
    host.resume_writing()
    assert host.trouble is None
    assert "new" not in host.descriptions
    for stale in (new, loaded_before):
        with pytest.raises(StoreFailedError, match="try again"):
            host.adopt(stale)
    back = host.adopt(host.load("songs"))
    assert back.bandit.get_state() == kept
    play(host, back, 1)
    assert host.take().first == 13
    host.close()
    assert checked(tmp_path / "songs.rot") == 12


def test_nothing_of_the_next_batch_survives_a_failed_write(tmp_path: Path) -> None:
    """All that was collected while the batch before it was being written: events, notes, bandits, an archive."""
    path = tmp_path / "songs.rot"
    host = Host(path)
    first, second = made(host), made(host, "more")
    play(host, first, 2)
    write(host)
    kept = first.bandit.get_state()
    play(host, first, 1)
    host.take()  # is not written
    first.bandit.decide()
    host.collect(first, {"note": "key:a", "body": "x", "answer": "y"})
    new = made(host, "new")
    play(host, new, 1)
    host.add_note(new, "key:b", body="x")
    host.archive(second)

    def check() -> None:
        assert host.take().is_empty
        assert sorted(host.descriptions) == ["more", "songs"]
        assert host.note("songs", "key:a") is None
        assert not host.is_archived("more")

    for _ in range(2):  # the second time there is nothing to drop
        host.fail(StoreFullError("the disk is full"))
        check()
        host.recover()
        host.resume_writing()
        check()
    assert host._batch.last == 4
    back = host.adopt(host.load("songs"))
    assert back.bandit.get_state() == kept
    play(host, back, 1)
    batch = host.take()
    assert (batch.first, batch.bandits, [name for name, _ in batch.events]) == (5, [], ["songs", "songs"])
    made(host, "new")  # its name is free
    assert host.note("new", "key:b") is None
    host.write(batch)
    write(host)
    host.close()
    assert checked(path) == 6


def test_events_on_the_disk_count_although_the_write_failed(tmp_path: Path) -> None:
    host = Host(tmp_path / "songs.rot")
    play(host, made(host), 2)
    batch = host.take()
    host.write(batch)
    host.fail(StoreFailedError("could not be synced"))  # after all of it was written
    assert (list(host.descriptions), host.loaded) == (["songs"], {})
    host.recover()
    host.resume_writing()
    assert list(host.descriptions) == ["songs"]
    back = host.adopt(host.load("songs"))
    assert back.bandit.rounds == 2
    play(host, back, 1)
    assert host.take().first == 5
    host.close()


def test_a_state_that_holds_events_which_were_not_written_is_never_saved(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    host = Host(path)
    first, second = made(host), made(host, "more")
    play(host, first, 3)
    play(host, second, 1)
    write(host)
    play(host, first, 2)  # collected, and never written
    with pytest.raises(StoreFailedError, match="lacks the last changes, which were not acknowledged"):
        host.close()
    with SQLiteStore(path, readonly=True) as store:
        assert newest_snapshot(store, "songs") is None
        saved = newest_snapshot(store, "more")
        assert saved is not None
        assert saved.state["rounds"] == 1
    assert checked(path) == 8
    host = Host(path)
    assert host.adopt(host.load("songs")).bandit.rounds == 3
    host.close()


def test_what_is_loaded_while_nothing_can_be_written_is_read_again_afterwards(tmp_path: Path) -> None:
    host = Host(tmp_path / "songs.rot")
    made(host)
    write(host)
    host.fail(StoreFullError("has no room"))
    reading = host.adopt(host.load("songs"))  # reads go on
    reading.bandit.decide()
    for refused in (lambda: host.collect(reading), lambda: host.add_note(reading, "key:a"), lambda: made(host, "new")):
        with pytest.raises(StoreFullError):
            refused()
    host.recover()
    host.resume_writing()
    assert host.loaded == {}
    with pytest.raises(StoreFailedError, match="try again"):
        host.check_current(reading)
    host.close()


def test_a_store_that_was_replaced_or_removed_is_not_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    host = Host(path)
    made(host)
    write(host)
    for each in tmp_path.iterdir():
        each.unlink()
    with pytest.raises(StoreError):
        host.check_file()
    host.fail(StoreFailedError("is gone"))
    with pytest.raises(RottingError):
        host.recover()
    assert not path.exists()
    Host(path).close()  # another store in its place
    with pytest.raises(StoreFailedError, match="is not the file that was opened at the start"):
        host.recover()
    with pytest.raises(StoreFailedError):
        host.close()


def test_a_long_log_gets_a_snapshot_while_bandits_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rotting.store.limits.SNAPSHOT_EVENTS", 10)
    path = tmp_path / "songs.rot"
    host = Host(path)
    hosted = made(host)
    play(host, hosted, 6)
    batch = host.take()
    host.write(batch)
    assert host.finish(batch) == [hosted]
    assert host.finish(batch) == []  # it is being saved
    host.save_snapshot(hosted, hosted.last_number, StateParts.of(hosted.state))
    with SQLiteStore(path, readonly=True) as store:
        found = newest_snapshot(store, "songs")
        assert found is not None
        assert (found.number, found.state["rounds"]) == (12, 6)
    host.close()
    assert checked(path) == 12


def test_notes_are_found_before_and_after_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    host = Host(path)
    hosted = made(host)
    assert host.note("songs", "key:a") is None  # the bandit is not written yet
    batch = host.take()
    assert host.note("songs", "key:a") is None
    host.write(batch)
    host.add_note(hosted, "key:a", body="x")
    host.add_note(hosted, "key:a", body="y")
    assert host.note("songs", "key:a") == {"note": "key:a", "body": "y"}
    write(host)
    host.close()
    host = Host(path)
    assert host.note("songs", "key:a") == {"note": "key:a", "body": "y"}
    assert host.note("songs", "key:b") is None
    with pytest.raises(InvalidValueError, match="^bandit must be one of "):
        host.note("none", "key:a")
    host.archive(host.adopt(host.load("songs")))
    host.archive(host.loaded["songs"])
    assert len(host.take().events) == 1
    host.close()


def test_notes_are_held_in_memory_only_until_they_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "songs.rot"
    host = Host(path)
    hosted = made(host)
    write(host)
    for number in range(100):
        hosted.bandit.decide()
        host.collect(hosted, {"note": f"key:{number}", "body": "x", "answer": str(number)})
    batch = host.take()
    host.add_note(hosted, "key:7", cancelled=True)
    host.write(batch)
    host.finish(batch)
    looked_up, note = list[str](), SQLiteStore.note

    def noted(store: SQLiteStore, bandit: str, name: str) -> StoredEvent | None:
        looked_up.append(name)
        return note(store, bandit, name)

    monkeypatch.setattr(SQLiteStore, "note", noted)
    keys = {f"key:{number}": host.note("songs", f"key:{number}") for number in range(101)}
    assert keys.keys() - {*looked_up} == {"key:7", "key:100"}  # one that is not written, and one that is new
    found = [keys[f"key:{number}"] for number in (3, 7, 100)]
    assert [None if each is None else (each.get("answer"), each.get("cancelled")) for each in found] == [
        ("3", None),
        (None, True),
        None,
    ]
    write(host)
    host.close()
    assert checked(path) == 101
    host = Host(path)
    hosted = host.adopt(host.load("songs"))
    assert hosted.bandit.rounds == 100
    assert not hosted.has_no_note("key:100")  # it is not known yet
    hosted.learn_notes(host.note_names("songs"))
    assert hosted.has_no_note("key:none")
    assert not any(hosted.has_no_note(f"key:{number}") for number in range(100))
    assert host.note("songs", "key:99") is not None
    host.close()


@pytest.mark.parametrize("durability", DURABILITIES)
def test_what_is_written_can_be_read(tmp_path: Path, durability: Durability, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rotting.store.host._IDLE_SECONDS", 0.0)
    host = Host(tmp_path / "songs.rot", durability)
    hosted = made(host)
    write(host)
    play(host, hosted, 3)
    hosted.bandit.decide()
    host.collect(hosted, {"note": "key:a", "body": "x", "answer": "y"})
    write(host)
    found = host.note("songs", "key:a")
    assert found is not None
    assert found["answer"] == "y"
    assert len(host.read("songs", 0, 100, 1 << 20).rows) == 7
    host.unload(hosted)
    assert host.find("songs") is None
    assert host.load("songs").bandit.rounds == 4
    host.close()


def test_the_log_is_read_in_pages(tmp_path: Path) -> None:
    host = Host(tmp_path / "songs.rot")
    first, second = made(host), made(host, "more")
    for _ in range(3):
        play(host, first, 1)
        play(host, second, 1)
    write(host)
    page = host.read("songs", 0, 3, 1 << 20)
    assert ([number for number, _, _ in page.rows], page.last, page.left) == ([1, 2, 5], 5, 3)
    assert [number for number, _, _ in host.read("songs", 0, 3, 1).rows] == [1]  # one is more than a byte
    assert host.read("songs", 10, 3, 1 << 20) == ([], 10, 0)
    made(host, "new")
    assert host.read("new", 0, 3, 1 << 20) == ([], 0, 0)
    host.take()
    host.close()


def test_a_host_that_is_closed_leaves_no_reader_open(tmp_path: Path) -> None:
    host = Host(tmp_path / "songs.rot")
    hosted = made(host)
    play(host, hosted, 2)
    write(host)
    with host.reader() as one, host.reader() as other:
        assert one.last == other.last == 4
    host.read("songs", 0, 3, 1 << 20)  # by one of the two, which are idle
    host.close()
    for reader in (one, other):
        with pytest.raises(StoreError, match="closed"):
            reader.encoded_events("songs", 0, 3, 1 << 20)


def test_other_bandits_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    host = Host(tmp_path / "songs.rot")
    made(host, seed=3)
    options = {"seed": 3, "pending": "shrink", "max_pending": 10_000}
    description = host.descriptions["songs"]
    assert is_made_with(description, rotting.UCB1(), list(ARMS), options)
    assert not is_made_with(description, rotting.UCB1(sigma=2.0), list(ARMS), options)
    assert not is_made_with(description, rotting.UCB1(), ["a"], options)
    assert not is_made_with(description, rotting.UCB1(), list(ARMS), {**options, "seed": 4})
    with pytest.raises(InvalidValueError, match="^name must be"):
        host.make("", rotting.UCB1(), ARMS)
    with pytest.raises(InvalidTypeError, match="^policy must be"):
        host.make("x", rotting.GreedyOracle(), ARMS)
    write(host)
    host.close()


def test_a_store_has_at_most_one_host(tmp_path: Path) -> None:
    host = Host(tmp_path / "songs.rot")
    with pytest.raises(StoreLockedError, match="another writer has it"):
        Host(tmp_path / "songs.rot")
    host.close()
    Host(tmp_path / "songs.rot").close()


@pytest.mark.parametrize("kind", KINDS)
def test_every_store_finds_notes_by_their_names(tmp_path: Path, kind: str) -> None:
    at = place(kind, tmp_path)
    with at.open() as store:
        for name in ("songs", "more"):
            store.add_bandit(name, {})
        notes: list[tuple[str, dict[str, object]]] = [
            ("songs", {"note": "key:a", "n": 1}),
            ("more", {"note": "key:a", "n": 2}),
            ("songs", {"event": "decided", "n": 3, "note_of": "key:a"}),
            ("songs", {"note": 'key:"\u0000é', "n": 4}),
            ("songs", {"note": "key:a", "n": 5}),
        ]
        store.append(notes)
        found = {name: store.note("songs", name) for name in ("key:a", 'key:"\u0000é', "key:b", "decided")}
        assert {name: each and (each.number, each.payload["n"]) for name, each in found.items()} == {
            "key:a": (5, 5),
            'key:"\u0000é': (4, 4),
            "key:b": None,
            "decided": None,
        }
        with pytest.raises(InvalidValueError, match="^bandit must be one of "):
            store.note("none", "key:a")
    with at.open(readonly=True) as store:
        assert store.note("more", "key:a") == (2, 1, "more", {"note": "key:a", "n": 2})


def test_a_changed_note_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    with SQLiteStore(path) as store:
        store.add_bandit("songs", {})
        store.append([("songs", {"note": f"key:{each}", "n": 1}) for each in "abc"])
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE events SET payload = ? WHERE number = 1", (b'{"note":"key:a","n":2}',))
    connection.close()
    with SQLiteStore(path, readonly=True) as store:
        with pytest.raises(StoreDamagedError, match="event 1 is not what was written"):
            store.note("songs", "key:a")
        assert store.note("songs", "key:c") is not None


# --- Many bandits -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let bandits be idle as soon as nobody uses them."""
    monkeypatch.setattr("rotting.store.host._IDLE_SECONDS", 0.0)


def unload_idle(host: Host) -> list[str]:
    idle = host.find_idle(time.monotonic())
    for each in idle:
        host.unload(each)
    return [each.name for each in idle]


@pytest.mark.usefixtures("_at_once")
def test_bandits_beyond_the_bound_are_unloaded_and_loaded_again_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    host, twins = Host(path, max_loaded=2), {}
    for k, name in enumerate("abcd"):
        twins[name] = rotting.Bandit(rotting.EffRAWUCB(), ARMS, seed=k)
        hosted = host.adopt(host.make(name, rotting.EffRAWUCB(), ARMS, seed=k))
        for _ in range(30):
            assert hosted.bandit.decide().arm == twins[name].pull()
            twins[name].update(hosted.state.arms.names[1], 1.0)
            hosted.bandit.update(hosted.state.arms.names[1], 1.0)
        host.collect(hosted)
    write(host)
    assert host.find("a") is not None  # the others were used longer ago now
    assert unload_idle(host) == ["b", "c"]
    assert list(host.loaded) == ["d", "a"]
    for name in "bc":
        hosted = host.adopt(host.load(name))
        assert [hosted.bandit.decide().arm for _ in range(20)] == [twins[name].pull() for _ in range(20)]
        host.collect(hosted)
    write(host)
    host.close()
    assert checked(path) == 280


@pytest.mark.usefixtures("_at_once")
def test_a_bandit_with_unwritten_events_is_not_unloaded(tmp_path: Path) -> None:
    host = Host(tmp_path / "songs.rot", max_loaded=1)
    first, second = made(host, "first"), made(host, "second")
    assert unload_idle(host) == ["first"]
    assert "first" in host.loaded  # the store does not have it yet
    write(host)
    play(host, first, 1)
    unload_idle(host)
    assert "first" in host.loaded  # its events are collected, and not written
    batch = host.take()
    host.write(batch)
    unload_idle(host)
    assert "first" in host.loaded  # they are written, but not reported yet
    host.finish(batch)
    unload_idle(host)
    assert list(host.loaded) == [second.name]
    host.close()


def test_a_bandit_in_use_is_not_unloaded(tmp_path: Path) -> None:
    host = Host(tmp_path / "songs.rot", max_loaded=1)
    first, _ = made(host, "first"), made(host, "second")
    write(host)
    assert host.find_idle(time.monotonic()) == []  # both were used just now
    assert host.find_idle(time.monotonic() + 3_600.0) == [first]
    host.unload(first)
    assert "first" in host.loaded  # it was used too recently
    host.close()


@pytest.mark.usefixtures("_at_once")
def test_an_unloaded_bandit_is_refused(tmp_path: Path) -> None:
    host = Host(tmp_path / "songs.rot", max_loaded=1)
    first, _ = made(host, "first"), made(host, "second")
    write(host)
    unload_idle(host)
    first.bandit.decide()
    with pytest.raises(StoreFailedError, match="had bandit 'first' unloaded meanwhile: try again"):
        host.collect(first)
    assert host.take().is_empty
    host.close()


def test_replayed_events_count_towards_the_next_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "songs.rot"
    host = Host(path)
    play(host, made(host), 6)
    write(host)
    monkeypatch.setattr("rotting.store.limits.SNAPSHOT_EVENTS", 14)
    hosted = host.load("songs")
    assert (hosted.unsaved, hosted.last_number) == (12, 12)
    host.loaded.clear()
    play(host, host.adopt(hosted), 1)
    batch = host.take()
    host.write(batch)
    assert host.finish(batch) == [hosted]
    host.save_snapshot(hosted, hosted.last_number, StateParts.of(hosted.state))
    assert (host.load("songs").unsaved, host.load("songs").last_number) == (0, 14)
    host.close()
    assert checked(path) == 14


def test_a_bandit_that_was_only_loaded_is_saved_with_the_number_of_its_last_event(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    host = Host(path)
    play(host, made(host), 6)
    write(host)
    host.loaded.clear()  # as after a crash: no snapshot
    host.close()
    host = Host(path)
    host.adopt(host.load("songs"))
    host.close()
    with SQLiteStore(path, readonly=True) as store:
        found = newest_snapshot(store, "songs")
    assert found is not None
    assert (found.number, found.state["rounds"]) == (12, 6)
    assert checked(path) == 12


def test_loading_a_bandit_does_not_read_the_others(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    host = Host(path)
    for name in ("first", "second"):
        play(host, made(host, name), 3)
    write(host)
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE bandits SET meta = x'00' WHERE name = 'second'")
    connection.close()
    assert host.load("first").bandit.rounds == 3
    host.close()
    with pytest.raises(StoreDamagedError, match="bandit 2 is not what was written"):
        Host(path)  # every row is checked when the store is opened


def test_a_reader_of_the_process_sees_bandits_that_come_later(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "songs.rot") as store, store.new_reader() as reader:
        store.append([("songs", {"n": 1})], bandits=[("songs", {"arms": []})])
        assert [event.payload for event in reader.read("songs")] == [{"n": 1}]
        assert reader.bandits() == {"songs": {"arms": []}}
        assert [event.bandit for event in reader.read()] == ["songs"]
        with pytest.raises(InvalidValueError):
            reader.read("films")


def test_descriptions_are_those_of_the_store_and_of_new_bandits(tmp_path: Path) -> None:
    host = Host(tmp_path / "songs.rot")
    made(host)
    write(host)
    made(host, "films", seed=3)
    assert (list(host.descriptions), len(host.descriptions)) == (["songs", "films"], 2)
    assert (host.descriptions["songs"]["seed"], host.descriptions["films"]["seed"]) == (0, 3)
    assert "radio" not in host.descriptions
    with pytest.raises(KeyError):
        host.descriptions["radio"]
    host.fail(StoreFullError("cannot grow"))
    assert list(host.descriptions) == ["songs"]
    with pytest.raises(StoreFullError):
        host.close()
