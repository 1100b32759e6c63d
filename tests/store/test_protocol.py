"""What every store must do: each kind passes all of this."""

import pickle
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotting.errors import (
    InvalidTypeError,
    InvalidValueError,
    StoreError,
    StoreFailedError,
    StoreLockedError,
    StoreReadOnlyError,
)
from rotting.store.protocol import Snapshot, Store, StoredEvent
from rotting.store.verify import verify
from tests.helpers.stores import KINDS, Place, newest_snapshot, numbered_events, place, read_numbers


@pytest.fixture(params=KINDS)
def here(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return place(request.param, tmp_path)


def started(here: Place) -> Store:
    """The writer of a new store with a bandit."""
    store = here.open()
    store.add_bandit("songs", {"arms": ["a", "b"], "seed": 0})
    return store


def test_events_come_back_as_they_were_given_after_reopening(here: Place) -> None:
    with started(here) as store:
        assert (store.last, store.epoch) == (0, 1)
        assert store.append([("songs", {"decided": "a", "p": 0.1 + 0.2, "é": [1, None, True, {"x": ()}]})]) == 1
        assert store.append(numbered_events(2, 3)) == store.last == 3
        before = list(store.read())
        name = store.id
    with here.open() as store:
        assert (store.id, store.last, store.epoch) == (name, 3, 2)
        assert store.bandits() == {"songs": {"arms": ["a", "b"], "seed": 0}}
        assert list(store.read()) == before
        assert before[0] == StoredEvent(1, 1, "songs", {"decided": "a", "p": 0.1 + 0.2, "é": [1, None, True, {"x": []}]})
        assert store.append(numbered_events(4, 4)) == 4
        assert [event.epoch for event in store.read()] == [1, 1, 1, 2]
        assert verify(store).problems == ()


def test_two_stores_have_two_names(tmp_path: Path) -> None:
    for kind in KINDS:
        folders = [tmp_path / kind / each for each in "ab"]
        for folder in folders:
            folder.mkdir(parents=True)
        assert len({place(kind, folder).open().id for folder in folders}) == 2


def test_reading_starts_where_it_is_asked_to(here: Place) -> None:
    with started(here) as store:
        store.append(numbered_events(1, 2_500))  # more than a chunk of any store
        for after in (0, 1, 999, 1_000, 2_499, 2_500, 2_501, 10**9):
            assert read_numbers(store, after) == list(range(after + 1, 2_501))
        with pytest.raises(InvalidValueError, match="after must be a whole number, 0 or more, got -1"):
            store.read(after=-1)


def test_several_bandits_share_a_log(here: Place) -> None:
    with started(here) as store:
        store.add_bandit("films", {})
        store.append([("songs", {"n": 1}), ("films", {"n": 2}), ("songs", {"n": 3})])
        assert [event.number for event in store.read("songs")] == [1, 3]
        assert [event.number for event in store.read("films", after=1)] == [2]
        for after in range(5):
            assert [event.number for event in store.read("songs", after)] == [n for n in (1, 3) if n > after]
        assert list(store.read("songs", 10**30)) == []
        assert [event.bandit for event in store.read()] == ["songs", "films", "songs"]
    with here.open(readonly=True) as store:
        assert list(store.bandits()) == ["songs", "films"]
        assert [event.number for event in store.read("films")] == [2]


def test_all_events_of_a_call_are_appended_or_none(here: Place) -> None:
    with started(here) as store:
        store.append(numbered_events(1, 2))
        with pytest.raises(InvalidValueError, match="bandit must be one of .'songs'., got 'film'"):
            store.append([*numbered_events(3, 4), ("film", {})])
        with pytest.raises(InvalidValueError, match="payload must hold finite numbers only"):
            store.append([*numbered_events(3, 4), ("songs", {"n": float("nan")})])
        assert store.append([]) == 2
        assert read_numbers(store) == [1, 2]
        assert store.append(numbered_events(3, 3)) == 3


def test_bandits_and_their_events_are_added_together_or_not_at_all(here: Place) -> None:
    with started(here) as store:
        store.append(numbered_events(1, 2))
        films: tuple[str, dict[str, Any]] = ("films", {"seed": 1})
        games: tuple[str, dict[str, Any]] = ("games", {})
        with pytest.raises(InvalidValueError, match="bandit must be one of .*, got 'plays'"):
            store.append([("films", {"n": 3}), ("plays", {})], [films, games])
        with pytest.raises(InvalidValueError, match="bandit must be new to the store, got 'songs', which exists"):
            store.append([("films", {"n": 3})], [films, ("songs", {})])
        with pytest.raises(InvalidValueError, match="bandit must be new to the store, got 'films', which exists"):
            store.append([], [films, films])
        assert list(store.bandits()) == ["songs"]
        assert store.append([("games", {"n": 3}), ("songs", {"n": 4}), ("films", {"n": 5})], iter([films, games])) == 5
        assert store.append([], [("plays", {})]) == 5
        assert store.append([("games", {"n": 6})]) == 6
        expected = {"songs": {"arms": ["a", "b"], "seed": 0}, "films": {"seed": 1}, "games": {}, "plays": {}}
        assert store.bandits() == expected
    with here.open() as store:
        assert store.bandits() == expected
        assert [event.payload["n"] for event in store.read("games")] == [3, 6]
        assert read_numbers(store) == list(range(1, 7))
        assert verify(store).problems == ()


@pytest.mark.parametrize("name", ["", "a\nb", 7, None])
def test_bad_names_are_refused(here: Place, name: Any) -> None:
    with started(here) as store, pytest.raises((InvalidValueError, InvalidTypeError), match="^name must be a string"):
        store.add_bandit(name, {})


def test_a_bandit_is_added_once_and_must_be_there(here: Place) -> None:
    with started(here) as store:
        with pytest.raises(InvalidValueError, match="bandit must be new to the store, got 'songs', which exists"):
            store.add_bandit("songs", {})
        for ask in (store.read, store.snapshots):
            with pytest.raises(InvalidValueError, match="bandit must be one of .'songs'., got 'film'"):
                ask("film")


def test_snapshots_come_newest_first(here: Place) -> None:
    with started(here) as store:
        assert list(store.snapshots("songs")) == []
        store.append(numbered_events(1, 9))
        for number in (3, 7):
            store.save_snapshot("songs", number, {"at": number})
        kept = list(store.snapshots("songs"))
        assert kept[0] == newest_snapshot(store, "songs") == Snapshot(7, {"at": 7})
        assert kept[1:] in ([], [Snapshot(3, {"at": 3})])  # a store may keep only the newest
        with pytest.raises(InvalidValueError, match="bandit must be one of .'songs'., got 'film'"):
            store.snapshots("film")


def test_the_newest_snapshot_is_kept(here: Place) -> None:
    with started(here) as store:
        store.add_bandit("films", {})
        assert newest_snapshot(store, "songs") is None
        store.append(numbered_events(1, 9))
        store.save_snapshot("songs", 0, {"at": 0})
        for number in (3, 5, 7, 7, 6):
            store.save_snapshot("songs", number, {"at": number})
        assert newest_snapshot(store, "films") is None
        with pytest.raises(InvalidValueError, match="number must be at most 9, the last event, got 10"):
            store.save_snapshot("songs", 10, {})
    with here.open() as store:
        assert newest_snapshot(store, "songs") == Snapshot(7, {"at": 7})
        assert read_numbers(store) == list(range(1, 10))


def test_there_is_one_writer_and_its_successor_has_a_higher_epoch(here: Place) -> None:
    first = started(here)
    with pytest.raises(StoreLockedError, match="another writer has it"):
        here.open()
    first.append(numbered_events(1, 1))
    first.close()
    with here.open() as second:
        assert second.epoch == first.epoch + 1


def test_a_reader_that_is_closed_leaves_the_writer_its_lock(here: Place) -> None:
    with started(here) as writer:
        here.open(readonly=True).close()
        with pytest.raises(StoreLockedError, match="another writer has it"):
            here.open()
        writer.append(numbered_events(1, 1))


def test_a_writer_that_is_closed_twice_leaves_its_successor_the_lock(here: Place) -> None:
    first = started(here)
    first.close()
    with here.open():
        first.close()
        with pytest.raises(StoreLockedError, match="another writer has it"):
            here.open()


def append_and_flush(store: Store, batch: list[tuple[str, Any]]) -> None:
    """What is held back finds out when it is handed over."""
    store.append(batch)
    store.flush()


def test_a_writer_that_lost_its_lock_is_refused(here: Place) -> None:
    first = started(here)
    first.append(numbered_events(1, 1))
    first.flush()
    here.lose_lock()
    with here.open() as second:
        second.append(numbered_events(2, 2))
        for batch in (numbered_events(3, 3), numbered_events(3, 4)):
            with pytest.raises(StoreLockedError, match="the writer of epoch 2 has replaced that of epoch 1"):
                append_and_flush(first, batch)
        with pytest.raises(StoreLockedError):
            first.save_snapshot("songs", 1, {})
        with pytest.raises(StoreLockedError):
            first.add_bandit("films", {})
        with pytest.raises(StoreLockedError):
            first.append([("films", {})], [("films", {})])
    with here.open() as third:
        assert read_numbers(third) == [1, 2]
        assert list(third.bandits()) == ["songs"]


def test_readers_follow_the_writer_and_change_nothing(here: Place) -> None:
    with started(here) as writer, here.open(readonly=True) as reader, here.open(readonly=True) as other:
        for number in range(1, 4):
            writer.append(numbered_events(number, number))
            writer.flush()
            assert read_numbers(reader) == read_numbers(other) == list(range(1, number + 1))
            assert reader.last == number
        writer.add_bandit("films", {})
        writer.append([("films", {"n": 4})])
        writer.flush()
        assert reader.last == 4
        assert [event.bandit for event in reader.read(after=3)] == ["films"]
        assert (reader.epoch, reader.id) == (writer.epoch, writer.id)
        for forbidden in (
            lambda: reader.append(numbered_events(5, 5)),
            lambda: reader.add_bandit("x", {}),
            lambda: reader.save_snapshot("songs", 1, {}),
        ):
            with pytest.raises(StoreReadOnlyError, match="was opened for reading: it cannot be written to"):
                forbidden()


def test_a_closed_store_says_so(here: Place) -> None:
    store = started(here)
    events = store.read()
    store.close()
    store.close()
    for use in (
        store.bandits,
        store.flush,
        store.damages,
        store.read,
        lambda: store.append(numbered_events(1, 1)),
        lambda: store.last,
    ):
        with pytest.raises(StoreFailedError, match="is closed: open it again"):
            use()
    assert isinstance(StoreFailedError(), StoreError)
    del events


def test_errors_have_a_reason_that_does_not_name_the_file(here: Place) -> None:
    store = started(here)
    with pytest.raises(StoreLockedError) as locked:
        here.open()
    store.close()
    with pytest.raises(StoreFailedError) as closed:
        store.flush()
    assert (locked.value.reason, closed.value.reason) == ("is locked: another writer has it", "is closed: open it again")
    assert str(closed.value).endswith(f" {closed.value.reason}")
    twin = pickle.loads(pickle.dumps(closed.value))
    assert (str(twin), twin.reason) == (str(closed.value), closed.value.reason)


def test_threads_may_append_at_once(here: Place) -> None:
    with started(here) as store:
        threads = [
            threading.Thread(target=lambda k=k: [store.append([("songs", {"n": [k, i]})]) for i in range(50)]) for k in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        numbers = read_numbers(store)
    assert sorted(numbers) == [[k, i] for k in range(4) for i in range(50)]
    for k in range(4):
        assert [i for who, i in numbers if who == k] == list(range(50))


def test_threads_may_read_while_others_write(here: Place) -> None:
    with started(here) as store:
        store.add_bandit("films", {})
        wrong: list[BaseException] = []

        def write(name: str) -> None:
            for number in range(60):
                store.append([(name, {"n": number})])
                if number % 20 == 0:
                    store.save_snapshot(name, store.last, {"n": number})

        def read() -> None:
            try:
                for _ in range(10):
                    for name in ("songs", "films"):
                        numbers = [event.payload["n"] for event in store.read(name)]
                        assert numbers == list(range(len(numbers)))
                        snapshot = newest_snapshot(store, name)
                        assert snapshot is None or snapshot.state["n"] % 20 == 0
                    assert verify(store).problems == ()
            except BaseException as error:  # noqa: BLE001 - the thread that asks is another one
                wrong.append(error)

        threads = [threading.Thread(target=write, args=(name,)) for name in ("songs", "films")]
        threads += [threading.Thread(target=read) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3),
    max_leaves=6,
)
payloads = st.dictionaries(st.text(st.characters(codec="utf-8")), json_values, max_size=4)
steps = st.one_of(
    st.tuples(st.just("append"), st.lists(payloads, max_size=4)),
    st.tuples(st.just("snapshot"), payloads),
    st.tuples(st.just("reopen"), st.none()),
)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25, deadline=None)
@given(script=st.lists(steps, max_size=12))
def test_a_store_does_what_a_list_does(kind: str, script: list[tuple[str, Any]]) -> None:
    with TemporaryDirectory() as folder:
        here = place(kind, Path(folder))
        store, kept, epoch = started(here), None, 1
        log: list[StoredEvent] = []
        for what, given_ in script:
            if what == "append":
                log += [StoredEvent(len(log) + 1 + i, epoch, "songs", payload) for i, payload in enumerate(given_)]
                assert store.append(("songs", payload) for payload in given_) == len(log)
            elif what == "snapshot":
                kept = Snapshot(len(log), given_)
                store.save_snapshot("songs", *kept)
            else:
                store.close()
                store, epoch = here.open(), epoch + 1
            assert (store.last, store.epoch, newest_snapshot(store, "songs")) == (len(log), epoch, kept)
        assert list(store.read()) == log
        assert verify(store).problems == ()
        store.close()
