"""Many bandits in one store: gathered, written, undone, resumed."""

from pathlib import Path

import apsw
import pytest

import rotting
from rotting.errors import InvalidTypeError, InvalidValueError, StoreDamagedError, StoreFullError, StoreLockedError
from rotting.store.durable import replaying
from rotting.store.host import Host, Hosted
from rotting.store.sqlite import SQLiteStore
from rotting.store.verify import verify
from tests.helpers.stores import KINDS, place

ARMS = ["a", "b", "c"]


def made(host: Host, name: str = "songs", **options: int) -> Hosted:
    return host.adopt(host.make(name, rotting.UCB1(), ARMS, **options))


def play(hosted: Hosted, rounds: int) -> list[object]:
    arms = []
    for _ in range(rounds):
        decision = hosted.bandit.decide()
        arms.append(decision.arm)
        hosted.bandit.reward(decision.id, 0.5 if decision.arm == "b" else 0.0)
    return arms


def checked(path: Path) -> int:
    with SQLiteStore(path, readonly=True) as store:
        found = verify(store, replaying(store))
    assert found.problems == ()
    return found.events


def test_bandits_share_a_store_and_a_batch(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    host = Host(path)
    first, second = made(host), made(host, "more", seed=3)
    twin = rotting.Bandit(rotting.UCB1(), ARMS)
    played = [play(first, 10), play(second, 5), play(first, 10)]
    batch = host.take()
    assert (len(batch.made), batch.first, len(batch.events)) == (2, 1, 50)
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
    play(hosted, 7)
    host.write(host.take())
    state = hosted.bandit.get_state()
    host.close()
    host = Host(path)
    assert host.live == {}
    resumed = host.adopt(host.load("songs"))
    assert resumed.bandit.get_state() == state
    assert host.adopt(host.load("songs")) is resumed  # the one in use stays
    play(resumed, 2)
    assert host.take().first == 15
    host.close()


def test_what_was_not_written_is_undone(tmp_path: Path) -> None:
    host = Host(tmp_path / "songs.rot")
    first, second = made(host), made(host, "more")
    play(first, 3)
    play(second, 3)
    host.write(host.take())
    kept = first.bandit.get_state()
    play(first, 1)
    host.add_note("songs", "key:a", body="x")
    failed = host.take()
    play(first, 1)
    new = made(host, "new")
    host.undo(failed, StoreFullError("the disk is full"))
    assert set(host.live) == {"more"}  # which is not ahead of the store
    assert host.note("songs", "key:a") is None
    assert isinstance(host.trouble, StoreFullError)
    (back,) = host.mend()
    assert host.trouble is None
    assert host.adopt(back).bandit.get_state() == kept
    assert "new" not in host.metas
    assert host.adopt(new).name == "new"
    play(host.live["songs"], 1)
    play(second, 1)
    batch = host.take()
    assert batch.first == 13
    host.write(batch)
    host.close()
    assert checked(tmp_path / "songs.rot") == 16


def test_notes_are_found_before_and_after_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    host = Host(path)
    made(host)
    assert host.note("songs", "key:a") is None  # the bandit is not written yet
    batch = host.take()
    assert host.note("songs", "key:a") is None
    host.write(batch)
    host.add_note("songs", "key:a", body="x")
    host.add_note("songs", "key:a", body="y")
    assert host.note("songs", "key:a") == {"note": "key:a", "body": "y"}
    host.write(host.take())
    host.close()
    host = Host(path)
    assert host.note("songs", "key:a") == {"note": "key:a", "body": "y"}
    assert host.note("songs", "key:b") is None
    with pytest.raises(InvalidValueError, match="^bandit must be one of "):
        host.note("none", "key:a")
    host.archive(host.adopt(host.load("songs")))
    host.archive(host.live["songs"])
    assert len(host.take().events) == 1
    host.close()


def test_few_notes_are_held_in_memory(tmp_path: Path) -> None:
    host = Host(tmp_path / "songs.rot", durability="memory")
    made(host)
    for number in range(10_010):
        host.add_note("songs", f"key:{number}", body=str(number))
    host.write(host.take())
    assert len(host._notes) == 10_000
    host._store.flush()
    assert [host.note("songs", f"key:{number}") for number in (3, 10_003)] == [
        {"note": f"key:{number}", "body": str(number)} for number in (3, 10_003)
    ]
    host.close()


def test_the_log_is_read_in_pages(tmp_path: Path) -> None:
    host = Host(tmp_path / "songs.rot")
    first, second = made(host), made(host, "more")
    for _ in range(3):
        play(first, 1)
        play(second, 1)
    host.write(host.take())
    assert [each.number for each in host.read("songs", 0, 3)[0]] == [1, 2, 5]
    assert host.read("songs", 0, 3)[1] == 5
    assert host.read("songs", 10, 3) == ([], 12)
    assert host.read("songs", 100, 3) == ([], 100)
    made(host, "new")
    assert host.read("new", 0, 3) == ([], 12)
    host.close()


def test_other_bandits_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    host = Host(tmp_path / "songs.rot")
    made(host, seed=3)
    options = {"seed": 3, "pending": "young", "max_pending": 10_000}
    assert host.is_same("songs", rotting.UCB1(), list(ARMS), options)
    assert not host.is_same("songs", rotting.UCB1(sigma=2.0), list(ARMS), options)
    assert not host.is_same("songs", rotting.UCB1(), ["a"], options)
    assert not host.is_same("songs", rotting.UCB1(), list(ARMS), {**options, "seed": 4})
    with pytest.raises(InvalidValueError, match="^bandit must be"):
        host.make("", rotting.UCB1(), ARMS)
    with pytest.raises(InvalidTypeError, match="^policy must be"):
        host.make("x", rotting.GreedyOracle(), ARMS)
    host.close()


def test_there_is_one_host_of_a_store(tmp_path: Path) -> None:
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


def test_a_note_that_is_not_what_was_written_is_told(tmp_path: Path) -> None:
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
